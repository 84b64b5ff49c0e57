//! A flash card in time: its translation layer is in `ftl`, the rest of the files are the stages around it.

use crate::storage::{Device, Opening};

mod buffer;
mod card;
mod ends;
mod flash;
pub mod ftl;
mod modules;
mod requests;
pub mod spec;
mod stages;
#[cfg(test)]
mod tests;
mod told;

pub use spec::Spec;

/// Makes the card.
///
/// # Errors
/// A figure that cannot be, by name.
pub fn open(spec: &Spec, opening: Opening) -> Result<Box<dyn Device>, String> {
    if spec.modules == 1 {
        return Ok(Box::new(card::Card::new(spec.clone(), opening)?));
    }
    Ok(Box::new(modules::Modules::new(spec, opening)?))
}
