//! Modelled storage. Each kind has its file or folder, and `Spec` lists them all.
//!
//! A device is driven from outside: its driver submits commands and lets time pass, and the device returns the commands that
//! ended. So the same device serves a run in virtual time, an array of which it is a member, and an emulation in real time.

use schemars::JsonSchema;
use serde::Deserialize;

pub mod cached;
mod device;
pub mod hdd;
pub mod memory;
pub mod raid;
pub mod ssd;
mod stepped;
pub mod volume;

pub use device::{Command, Device, Ended, Failure, Figures, Incident, Opening, Operation};

/// A device, resolved and checked by the experiment file's loader.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Spec {
    /// A flash cache: a fast device in front of a slow one.
    Cached(cached::Spec<Self>),
    /// A hard disk.
    Hdd(hdd::Spec),
    /// An appliance of memory.
    Memory(memory::Spec),
    /// An array of devices.
    Raid(raid::Spec<Self>),
    /// A flash card.
    Ssd(ssd::Spec),
    /// A volume in the network.
    Volume(volume::Spec),
}

impl Spec {
    /// Makes the device.
    ///
    /// # Errors
    /// Figures that are impossible, in words.
    pub fn open(&self, opening: Opening) -> Result<Box<dyn Device>, String> {
        match self {
            Self::Cached(spec) => Ok(Box::new(cached::Cached::new(spec, opening)?)),
            Self::Hdd(spec) => Ok(Box::new(hdd::Hdd::new(spec.clone(), opening)?)),
            Self::Memory(spec) => Ok(Box::new(memory::Memory::new(spec.clone())?)),
            Self::Raid(spec) => Ok(Box::new(raid::Raid::new(spec.clone(), opening)?)),
            Self::Ssd(spec) => ssd::open(spec, opening),
            Self::Volume(spec) => Ok(Box::new(volume::Volume::new(spec.clone(), opening)?)),
        }
    }
}

impl Figures for Spec {
    fn open(&self, opening: Opening) -> Result<Box<dyn Device>, String> {
        self.open(opening)
    }

    fn open_unworn(&self, opening: Opening) -> Result<Box<dyn Device>, String> {
        match self {
            Self::Ssd(worn) => Self::Ssd(worn.unworn()).open(opening),
            other => other.open(opening),
        }
    }
}
