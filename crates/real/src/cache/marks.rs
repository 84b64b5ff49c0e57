//! The witness of the backing device: how it is recognised, and marks of where it was written since.

use flatwater_core::cache::journal::Witness;

use super::devices::Devices;

/// The marks of a cache; a plain device has none.
pub(super) struct Marks {
    witness: Option<Witness>,
    /// Whether a mark could not be made durable.
    unmarked: bool,
}

impl Marks {
    /// The marks of this witness.
    pub(super) fn new(witness: Option<Witness>) -> Self {
        Self { witness, unmarked: false }
    }

    /// Marks a range of the backing device that is about to be written, durably. The caller waits for that. It happens for a
    /// few dozen ranges between two stops.
    #[inline]
    pub(super) fn touch(&mut self, devices: &mut Devices, offset: u64, bytes: u64) {
        let Some(witness) = &mut self.witness else { return };
        if witness.touch(offset, bytes) || self.unmarked {
            // The engine gives up a cache device that fails. Until then each write tries again.
            self.unmarked = witness.store(&mut devices.fast).is_err();
        }
    }

    /// After a stop: records the state of the backing device, so that no other device is mistaken for it.
    pub(super) fn seal(&mut self, devices: &mut Devices) {
        if let Some(witness) = &mut self.witness {
            witness.look_again(&mut devices.slow);
            // If that fails, the earlier marks are still valid.
            let _ = witness.store(&mut devices.fast);
        }
    }
}
