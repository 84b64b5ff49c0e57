//! Lists whose links stand in their members: the LRU list and the flush list of a buffer pool.

use super::pool::NONE;

/// A member's neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Links {
    /// The one that came after it.
    pub newer: u32,
    /// The one that came before it.
    pub older: u32,
}

impl Links {
    /// In no list.
    pub const NONE: Self = Self { newer: NONE, older: NONE };
}

/// Where the links of a member stand.
pub trait Nodes {
    /// Those of one.
    fn links(&mut self, node: u32) -> &mut Links;
}

/// A list, the newest member first.
#[derive(Clone, Copy, Debug)]
pub struct List {
    /// The newest.
    pub head: u32,
    /// The oldest.
    pub tail: u32,
    /// How many.
    pub len: u64,
}

impl List {
    /// Without members.
    pub const EMPTY: Self = Self { head: NONE, tail: NONE, len: 0 };

    /// Puts a member at the newest end.
    #[inline]
    pub fn push_front(&mut self, node: u32, nodes: &mut impl Nodes) {
        let head = self.head;
        self.between(NONE, head, node, nodes);
    }

    /// Puts a member at the oldest end.
    pub fn push_back(&mut self, node: u32, nodes: &mut impl Nodes) {
        let tail = self.tail;
        self.between(tail, NONE, node, nodes);
    }

    /// Puts a member on the newer side of `older`; at the oldest end when that is none.
    pub fn insert_before(&mut self, older: u32, node: u32, nodes: &mut impl Nodes) {
        let newer = if older == NONE { self.tail } else { nodes.links(older).newer };
        self.between(newer, older, node, nodes);
    }

    #[inline]
    fn between(&mut self, newer: u32, older: u32, node: u32, nodes: &mut impl Nodes) {
        *nodes.links(node) = Links { newer, older };
        match newer {
            NONE => self.head = node,
            _ => nodes.links(newer).older = node,
        }
        match older {
            NONE => self.tail = node,
            _ => nodes.links(older).newer = node,
        }
        self.len += 1;
    }

    /// Takes a member out.
    #[inline]
    pub fn remove(&mut self, node: u32, nodes: &mut impl Nodes) {
        let Links { newer, older } = std::mem::replace(nodes.links(node), Links::NONE);
        match newer {
            NONE => self.head = older,
            _ => nodes.links(newer).older = older,
        }
        match older {
            NONE => self.tail = newer,
            _ => nodes.links(older).newer = newer,
        }
        self.len -= 1;
    }
}
