//! Lists whose links stand in their members: the LRU list and the flush list of a buffer pool.

use super::super::ids::FrameId;

/// A member's neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Links {
    /// The one that came after it.
    pub(super) newer: FrameId,
    /// The one that came before it.
    pub(super) older: FrameId,
}

impl Links {
    /// In no list.
    pub(super) const NONE: Self = Self { newer: FrameId::NONE, older: FrameId::NONE };
}

/// Where the links of a member stand.
pub(super) trait Nodes {
    /// The links of a member.
    fn links(&mut self, node: FrameId) -> &mut Links;
}

/// A list, the newest member first.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: FrameId,
    tail: FrameId,
    len: u64,
}

impl List {
    /// Without members.
    pub(super) const EMPTY: Self = Self { head: FrameId::NONE, tail: FrameId::NONE, len: 0 };

    /// The newest member, or `NONE`.
    #[cfg(test)]
    pub(super) const fn head(&self) -> FrameId {
        self.head
    }

    /// The oldest member, or `NONE`.
    #[inline]
    pub(super) const fn tail(&self) -> FrameId {
        self.tail
    }

    /// How many members it has.
    #[inline]
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// Puts a member at the newest end.
    #[inline]
    pub(super) fn push_front(&mut self, node: FrameId, nodes: &mut impl Nodes) {
        let head = self.head;
        self.insert_between(FrameId::NONE, head, node, nodes);
    }

    /// Puts a member at the oldest end.
    pub(super) fn push_back(&mut self, node: FrameId, nodes: &mut impl Nodes) {
        let tail = self.tail;
        self.insert_between(tail, FrameId::NONE, node, nodes);
    }

    /// Puts a member on the newer side of `older`; at the oldest end when that is none.
    pub(super) fn insert_before(&mut self, older: FrameId, node: FrameId, nodes: &mut impl Nodes) {
        let newer = if older == FrameId::NONE { self.tail } else { nodes.links(older).newer };
        self.insert_between(newer, older, node, nodes);
    }

    #[inline]
    fn insert_between(&mut self, newer: FrameId, older: FrameId, node: FrameId, nodes: &mut impl Nodes) {
        *nodes.links(node) = Links { newer, older };
        match newer {
            FrameId::NONE => self.head = node,
            _ => nodes.links(newer).older = node,
        }
        match older {
            FrameId::NONE => self.tail = node,
            _ => nodes.links(older).newer = node,
        }
        self.len += 1;
    }

    /// Takes a member out.
    #[inline]
    pub(super) fn remove(&mut self, node: FrameId, nodes: &mut impl Nodes) {
        let Links { newer, older } = std::mem::replace(nodes.links(node), Links::NONE);
        match newer {
            FrameId::NONE => self.head = older,
            _ => nodes.links(newer).older = older,
        }
        match older {
            FrameId::NONE => self.tail = newer,
            _ => nodes.links(older).newer = newer,
        }
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Nodes for Vec<Links> {
        fn links(&mut self, node: FrameId) -> &mut Links {
            &mut self[node.index()]
        }
    }

    #[test]
    fn members_keep_their_order() {
        let (mut list, mut nodes) = (List::EMPTY, vec![Links::NONE; 4]);
        let [a, b, c, d] = [0, 1, 2, 3].map(FrameId::new);
        list.push_front(b, &mut nodes);
        list.push_front(a, &mut nodes);
        list.push_back(d, &mut nodes);
        list.insert_before(d, c, &mut nodes);
        let order = |list: &List, nodes: &[Links]| {
            let newest_first = std::iter::successors(list.head().some(), |node| nodes[node.index()].older.some());
            let oldest_first = std::iter::successors(list.tail().some(), |node| nodes[node.index()].newer.some());
            let (forth, mut back): (Vec<_>, Vec<_>) = (newest_first.collect(), oldest_first.collect());
            back.reverse();
            assert_eq!((&forth, forth.len() as u64), (&back, list.len()));
            forth
        };
        assert_eq!(order(&list, &nodes), [a, b, c, d]);
        list.remove(c, &mut nodes);
        list.remove(a, &mut nodes);
        assert_eq!(order(&list, &nodes), [b, d]);
        list.insert_before(FrameId::NONE, a, &mut nodes);
        assert_eq!((order(&list, &nodes), nodes[c.index()]), (vec![b, d, a], Links::NONE));
    }
}
