//! Which slot holds a block: an open hash table of slot numbers. The blocks' numbers stand in the slots.
