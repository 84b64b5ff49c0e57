//! Transactions of the user's own statements: what a statement's text says, and where its parameters come from.

pub mod draw;
pub mod effect;
pub mod source;
pub mod text;
pub mod token;
pub(crate) mod wide;
