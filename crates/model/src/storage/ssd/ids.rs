//! The numbers of the parts of a card that work side by side, each of a type of its own. `Layout` says what they are.

use flatwater_core::id;

id!(
    /// A way: planes that always work together.
    pub WayNo(u32)
);

id!(
    /// A lane: the channels of a way.
    pub LaneNo(u32)
);
