//! Replacement policies: which block is evicted when another one comes in. One file a policy; `Policies` lists them
//! all.
//!
//! A policy keeps slots in lists that run through arrays of slot numbers (`list.rs`). A slot that is *held* (dirty or
//! pinned) keeps its place. When its turn to be evicted comes, it is taken out of its list. When it is released, it
//! returns to that end, or to where its uses meanwhile put it. So holding a slot costs nothing, a held slot is passed
//! over once at most, and after its release the order is as if it had never been held.

mod fifo;
mod flashcache;
mod list;
mod lru;
mod replacement;
mod s3fifo;

pub use fifo::Fifo;
pub use flashcache::{Flashcache, SET_SLOTS};
pub use lru::Lru;
pub use replacement::Policy;
pub use s3fifo::S3Fifo;

use super::slots::Blocks;
use super::{Block, Slot};

/// The policies' names and what they are, in the order in which users see them.
pub const NAMES: [(&str, &str); 5] = [
    ("lru", "the least recently used leaves"),
    ("fifo", "the oldest leaves"),
    (
        "s3-fifo",
        "a small queue for newcomers, a main one for what was used twice, a memory of what left (Yang et al. 2023)",
    ),
    ("flashcache", "sets of 512 slots, in each the oldest leaves (FlashCache, reclaim_policy 0)"),
    ("flashcache-lru", "sets of 512 slots with a hot and a warm list each (FlashCache, reclaim_policy 1)"),
];

/// Every policy. One is chosen at the start and called without indirection.
pub enum Policies {
    /// `lru`
    Lru(Lru),
    /// `fifo`
    Fifo(Fifo),
    /// `s3-fifo`
    S3Fifo(S3Fifo),
    /// `flashcache` and `flashcache-lru`
    Flashcache(Flashcache),
}

impl Policies {
    /// The policy of this name for so many slots.
    ///
    /// # Errors
    /// No policy has this name. The error lists the names.
    pub fn new(name: &str, slots: u32) -> Result<Self, String> {
        Ok(match name {
            "lru" => Self::Lru(Lru::new(slots)),
            "fifo" => Self::Fifo(Fifo::new(slots)),
            "s3-fifo" => Self::S3Fifo(S3Fifo::new(slots)),
            "flashcache" => Self::Flashcache(Flashcache::new(slots, false)),
            "flashcache-lru" => Self::Flashcache(Flashcache::new(slots, true)),
            _ => {
                let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
                return Err(format!("there is no policy `{name}`; there are {}", names.join(", ")));
            }
        })
    }
}

macro_rules! each {
    ($self:expr, $policy:ident => $call:expr) => {
        match $self {
            Policies::Lru($policy) => $call,
            Policies::Fifo($policy) => $call,
            Policies::S3Fifo($policy) => $call,
            Policies::Flashcache($policy) => $call,
        }
    };
}

impl Policy for Policies {
    #[inline]
    fn insert(&mut self, slot: Slot, block: Block) {
        each!(self, policy => policy.insert(slot, block));
    }

    #[inline]
    fn hit(&mut self, slot: Slot, block: Block) {
        each!(self, policy => policy.hit(slot, block));
    }

    fn remove(&mut self, slot: Slot, block: Block) {
        each!(self, policy => policy.remove(slot, block));
    }

    fn hold(&mut self, slot: Slot) {
        each!(self, policy => policy.hold(slot));
    }

    fn release(&mut self, slot: Slot, block: Block) {
        each!(self, policy => policy.release(slot, block));
    }

    #[inline]
    fn victim(&mut self, block: Block, blocks: &(impl Blocks + ?Sized)) -> Option<Slot> {
        each!(self, policy => policy.victim(block, blocks))
    }

    fn moved(&mut self, from: Slot, to: Slot, block: Block) {
        each!(self, policy => policy.moved(from, to, block));
    }

    fn room(&self, block: Block) -> bool {
        each!(self, policy => policy.room(block))
    }

    #[inline]
    fn prefetch_slot(&self, slot: Slot) {
        each!(self, policy => policy.prefetch_slot(slot));
    }

    #[inline]
    fn prefetch_block(&self, block: Block) {
        each!(self, policy => policy.prefetch_block(block));
    }

    #[inline]
    fn next(&self) -> Option<Slot> {
        each!(self, policy => policy.next())
    }

    fn resize(&mut self, slots: u32, blocks: &(impl Blocks + ?Sized)) {
        each!(self, policy => policy.resize(slots, blocks));
    }

    fn bytes(&self) -> usize {
        each!(self, policy => policy.bytes())
    }
}

#[cfg(test)]
mod tests;
