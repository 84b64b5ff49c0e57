//! The figures of a modelled cache.

use std::collections::BTreeMap;

use flatwater_core::cache::journal::layout::{Geometry, Layout, Sizes};
use flatwater_core::cache::{Change, Settings};
use flatwater_core::seed::splitmix;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::storage::{Device, Figures, Opening};

/// A fast device in front of a slow one. `D` are the figures of a device.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec<D> {
    /// The device that holds the cache.
    pub fast: Box<D>,
    /// The device that is cached.
    pub slow: Box<D>,
    /// Bytes of the fast device that are used, with journal and checkpoints; 0: all of it.
    pub fast_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// The settings on which `settings` are based: `flashcache`, `vcache`; none: the defaults of the engine.
    pub preset: Option<String>,
    /// Settings by name, as `flatwater cache set` takes them.
    pub settings: BTreeMap<String, String>,
    /// Whether the cache is warmed up before time begins.
    pub warm: bool,
}

/// Both devices, and the layout of the cache on them.
pub(super) struct Opened {
    /// The device that holds the cache.
    pub fast: Box<dyn Device>,
    /// The device that is cached.
    pub slow: Box<dyn Device>,
    /// The layout of the cache on them.
    pub layout: Layout,
}

impl<D> Spec<D> {
    /// The settings with preset and defaults.
    ///
    /// # Errors
    /// An unknown setting or an impossible value, in words.
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
    /// Figures that are impossible, in words.
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
            // No cache of virtual time is opened a second time, so its id does not matter.
            uuid: [0; 16],
            fast_bytes: if self.fast_bytes == 0 { room } else { self.fast_bytes } / block * block,
            slow_bytes: slow.capacity_bytes() / block * block,
            block_bytes: self.block_bytes,
        };
        Geometry::new(&layout, Sizes::default())?;
        Ok(Opened { fast, slow, layout })
    }
}
