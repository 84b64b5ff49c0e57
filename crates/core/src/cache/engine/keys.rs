//! The keys of things under way, each of a type of its own.

use crate::slab_key;

slab_key!(
    /// A request under way.
    pub(super) RequestId
);
slab_key!(
    /// A fill under way.
    pub(super) FillId
);
slab_key!(
    /// A write into the cache under way.
    pub(super) WriteId
);
slab_key!(
    /// A write past the cache under way.
    pub(super) BypassId
);
slab_key!(
    /// A write-back under way.
    pub(super) WriteBackId
);
