//! A flash card in virtual time. `ftl` is its translation layer; the other files are the stages around it.

use crate::storage::{Device, Opening};

mod buffer;
mod card;
mod ends;
mod event;
mod flash;
pub mod ftl;
mod ids;
mod modules;
mod requests;
pub mod spec;
mod stages;
mod statistics;
#[cfg(test)]
mod tests;

pub use spec::Spec;

/// Makes the card.
///
/// # Errors
/// A figure that is impossible, by name.
pub fn open(spec: &Spec, opening: Opening) -> Result<Box<dyn Device>, String> {
    if spec.modules == 1 {
        return Ok(Box::new(card::Card::new(spec.clone(), opening)?));
    }
    Ok(Box::new(modules::Modules::new(spec, opening)?))
}
