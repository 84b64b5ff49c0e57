//! What the backing device is known by, and the marks that say where it was written since.

use flatwater_core::cache::journal::Witness;

use super::devices::Devices;

/// The marks of a cache; a plain device has none.
pub(super) struct Marks {
    witness: Option<Witness>,
    /// A mark could not be made durable.
    unmarked: bool,
}

impl Marks {
    /// Those of this witness.
    pub(super) fn new(witness: Option<Witness>) -> Self {
        Self { witness, unmarked: false }
    }

    /// The backing device is about to be written: what it is known by says so before, durably. That is waited for, in all
    /// for a few dozen places between two stops.
    #[inline]
    pub(super) fn touch(&mut self, devices: &mut Devices, offset: u64, bytes: u64) {
        let Some(witness) = &mut self.witness else { return };
        if witness.touch(offset, bytes) || self.unmarked {
            // A cache device that fails is given up by the engine; until then it is tried again with each write.
            self.unmarked = witness.store(&mut devices.fast).is_err();
        }
    }

    /// After a stop: looks at the backing device, so that no other one is taken for it.
    pub(super) fn seal(&mut self, devices: &mut Devices) {
        if let Some(witness) = &mut self.witness {
            witness.look_again(&mut devices.slow);
            // If it does not go, the marks of before still hold.
            let _ = witness.store(&mut devices.fast);
        }
    }
}
