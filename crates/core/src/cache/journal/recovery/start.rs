//! Starts a cache: recovers what it holds and begins a new life of its journal.

use super::{
    Devices, FAST, Held, PAIR, Recovered, SLOW, Start, Terms, Trouble, check_pairing, check_witness, need_superblock,
    read_pair, read_witness, replay, sync, write, write_checkpoint, write_superblock,
};
use crate::cache::Slot;
use crate::cache::journal::superblock::{Pair, State, Superblock};
use crate::cache::journal::witness::Witness;
use crate::cache::journal::{Entry, Holding};

/// Recovers what a cache holds and begins a new life of its journal. With `give_up`, a cache whose device failed starts
/// empty, and the blocks whose only copy was on it are lost.
///
/// # Errors
/// The devices are not those of one cache, the cache is damaged, or a device failed. Nothing is changed then.
pub fn recover(devices: Devices, give_up: bool) -> Result<Recovered, Trouble> {
    recover_on(devices, &Terms { give_up, ..Terms::default() })
}

/// As `recover`, with conditions.
///
/// # Errors
/// As of `recover`.
pub fn recover_on(devices: Devices, terms: &Terms) -> Result<Recovered, Trouble> {
    let Devices { fast, slow, pair } = devices;
    let superblock = need_superblock(fast)?;
    let beside = check_pairing(&superblock, read_pair(pair)?.as_ref(), slow.bytes())?;
    if beside.degraded && beside.dirty_blocks > 0 && !terms.give_up {
        return Err(Trouble::Degraded { dirty_blocks: beside.dirty_blocks });
    }
    let mut witness = read_witness(fast, &superblock);
    let mut replayed = match replay::replay(fast, &superblock) {
        Err(Trouble::Damaged(what)) if beside.degraded => replay::Replayed::empty(&superblock, what),
        other => other?,
    };
    if beside.degraded {
        replayed.entries.fill(Entry::default());
        replayed.lost.clear();
        replayed.notes.push("the cache device had failed: it starts empty".into());
    }
    // Nothing on a failed device is trusted, nor its witness. An empty cache can do no harm.
    let empty = replayed.entries.iter().all(|entry| entry.holding == Holding::Nothing);
    let anew = beside.degraded || terms.trust || empty || witness.is_none();
    if !anew {
        check_witness(witness.as_ref(), slow)?;
    }
    if terms.trust {
        let held = replayed.entries.iter_mut().filter(|entry| entry.holding == Holding::Clean);
        held.for_each(|entry| *entry = Entry::default());
        replayed.notes.push("the backing device is trusted: what the cache held clean is forgotten".into());
    }
    // Writes of an earlier life that were not synced must not be lost once recovery trusts clean blocks again.
    sync(slow, SLOW)?;
    if anew {
        let said = witness.take().map_or_else(String::new, |witness| witness.identity);
        let layout = &superblock.layout;
        witness = Some(Witness::look(slow, layout, superblock.generation, &said).following(fast, layout));
    }
    if let (Some(witness), Some(identity)) = (&mut witness, &terms.identity) {
        witness.identity.clone_from(identity);
    }
    let (superblock, beside) = begin_life(fast, pair, superblock, beside, &replayed, witness.as_mut(), State::Open)?;
    let held = replayed.entries.iter().enumerate().filter(|(_, entry)| entry.holding != Holding::Nothing);
    Ok(Recovered {
        slow_bytes: superblock.layout.slow_bytes,
        layout: superblock.layout.clone(),
        geometry: superblock.geometry,
        held: held.map(|(slot, &entry)| Held { slot: Slot(slot as u32), entry }).collect(),
        lost: replayed.lost,
        generation: superblock.generation,
        was_clean: replayed.was_clean,
        degraded: beside.degraded,
        notes: replayed.notes,
        witness,
        blank: false,
        start: Start {
            superblock,
            pair: Pair { degraded: false, dirty_blocks: 0, ..beside },
            first_record: replayed.next_record,
        },
    })
}

/// Writes the witness of the backing device.
pub(super) fn store(fast: &mut dyn super::Blocks, witness: &mut Witness) -> Result<(), Trouble> {
    let what = || format!("write to {FAST} what the backing device is known by");
    witness.store(fast).map_err(|source| Trouble::Io { what: what(), source })
}

/// Writes the recovered slots as the first checkpoint of a new life, and then names that life in the superblock. The
/// order makes every power cut harmless: the checkpoint in use is kept until the superblock names another one.
pub(super) fn begin_life(
    fast: &mut dyn super::Blocks,
    pair: &mut dyn super::Blocks,
    old: Superblock,
    beside: Pair,
    replayed: &replay::Replayed,
    witness: Option<&mut Witness>,
    then: State,
) -> Result<(Superblock, Pair), Trouble> {
    let mut superblock = Superblock {
        sequence: old.sequence + 1,
        // A start after a power cut during a start counts as the same start: the pairing record is behind by one at
        // most.
        generation: if old.state == State::Starting { old.generation } else { old.generation + 1 },
        life: old.life + 1,
        state: State::Starting,
        last_page: 0,
        ..old
    };
    write_checkpoint(fast, &superblock, 1 - replayed.area, &replayed.entries, replayed.next_record)?;
    sync(fast, FAST)?;
    write_superblock(fast, &superblock)?;
    write_checkpoint(fast, &superblock, replayed.area, &replayed.entries, replayed.next_record)?;
    sync(fast, FAST)?;
    if let Some(witness) = witness {
        witness.generation = superblock.generation;
        store(fast, witness)?;
    }
    let record = Pair {
        sequence: beside.sequence + 1,
        generation: superblock.generation,
        degraded: false,
        dirty_blocks: 0,
        ..beside
    };
    write(pair, PAIR, 0, &record.page())?;
    sync(pair, PAIR)?;
    superblock.sequence += 1;
    superblock.state = then;
    write_superblock(fast, &superblock)?;
    Ok((superblock, Pair { degraded: beside.degraded, dirty_blocks: beside.dirty_blocks, ..record }))
}
