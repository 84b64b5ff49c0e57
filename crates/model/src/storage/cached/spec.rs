//! What a modelled cache is made of.

use std::collections::BTreeMap;

use flatwater_core::cache::journal::layout::{Geometry, Layout, Sizes};
use flatwater_core::cache::{Change, Settings};
use flatwater_core::seed::splitmix;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::storage::{Device, Figures, Opening};

/// A fast device in front of a slow one; `D` are the figures of either.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec<D> {
    /// The device that holds the cache.
    pub fast: Box<D>,
    /// The device that is cached.
    pub slow: Box<D>,
    /// Bytes of the fast device that are used, journal and checkpoints among them; 0: all of it.
    pub fast_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// The settings that all others stand on: `flashcache`, `vcache`; none: the engine's own.
    pub preset: Option<String>,
    /// Settings by name, as `flatwater cache set` takes them.
    pub settings: BTreeMap<String, String>,
    /// Whether what the workload would have left in it is in it when time begins.
    pub warm: bool,
}

/// Both devices, and how the cache lies on them.
pub(super) struct Opened {
    /// The device that holds the cache.
    pub fast: Box<dyn Device>,
    /// The device that is cached.
    pub slow: Box<dyn Device>,
    /// How the cache lies on them.
    pub layout: Layout,
}

impl<D> Spec<D> {
    /// The settings, resolved.
    ///
    /// # Errors
    /// One that there is not, or that cannot be, in words.
    pub(super) fn settings(&self) -> Result<Settings, String> {
        let mut settings = Settings::preset(self.preset.as_deref().unwrap_or("default"))?;
        for (name, value) in &self.settings {
            settings.change(&Change { name: name.clone(), value: value.clone() })?;
        }
        Ok(settings)
    }
}

impl<D: Figures> Spec<D> {
    /// Opens both devices.
    ///
    /// # Errors
    /// What cannot be, in words.
    pub(super) fn open(&self, opening: Opening) -> Result<Opened, String> {
        if !self.block_bytes.is_power_of_two() || !(4096..=65536).contains(&self.block_bytes) {
            return Err(format!("a cache's blocks are 4, 8, 16, 32 or 64 KiB, not {} B", self.block_bytes));
        }
        let slow = self.slow.open(opening).map_err(|why| format!("the cached device: {why}"))?;
        let seed = splitmix(opening.seed ^ splitmix(0xCAC4E));
        let fast = self.fast.open(Opening { seed, used_bytes: self.fast_bytes });
        let fast = fast.map_err(|why| format!("the cache device: {why}"))?;
        let room = fast.capacity_bytes();
        if self.fast_bytes > room {
            return Err(format!("a cache of {} B does not fit its device of {room} B", self.fast_bytes));
        }
        let block = u64::from(self.block_bytes);
        let layout = Layout {
            // Nothing of virtual time outlives it: one name is as good as another.
            uuid: [0; 16],
            fast_bytes: if self.fast_bytes == 0 { room } else { self.fast_bytes } / block * block,
            slow_bytes: slow.capacity_bytes() / block * block,
            block_bytes: self.block_bytes,
        };
        Geometry::new(&layout, Sizes::default())?;
        Ok(Opened { fast, slow, layout })
    }
}
