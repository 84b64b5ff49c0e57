//! What servers on one machine share: its devices and its cores.

use super::spec::Spec;
use crate::fileio::DeviceInterval;
use crate::storage::{self, Command, Device, Ended, Opening};

/// The machine. A server has it while it is its turn.
#[derive(Default)]
pub(super) struct Machine {
    devices: Vec<Box<dyn Device>>,
    /// When each core has done what it was given.
    cores: Vec<u64>,
}

impl Machine {
    /// Makes it, with devices on which so many bytes are used.
    ///
    /// # Errors
    /// What cannot be, in words.
    pub(super) fn new(spec: &Spec, used_bytes: &[u64]) -> Result<Self, String> {
        let mut devices = vec![open_device(&spec.device, spec.seed, used_bytes[0], "the data")?];
        for (other, used_bytes) in spec.others.iter().zip(&used_bytes[1..]) {
            let what = format!("what database.{} holds", other.name);
            devices.push(open_device(&other.device, spec.seed, *used_bytes, &what)?);
        }
        Ok(Self { devices, cores: vec![0; spec.cores.max(1) as usize] })
    }

    /// A machine of one core with these devices.
    #[cfg(test)]
    pub(super) fn with_devices(devices: Vec<Box<dyn Device>>) -> Self {
        Self { devices, cores: vec![0] }
    }

    /// How many devices it has.
    pub(super) fn devices(&self) -> usize {
        self.devices.len()
    }

    /// Hands a command to a device.
    #[inline]
    pub(super) fn submit(&mut self, now_ns: u64, device: usize, tag: u64, command: Command) {
        self.devices[device].submit(now_ns, tag, command);
    }

    /// Whether a device should be used before time begins (`Device::needs_warm_up`).
    pub(super) fn needs_warm_up(&self) -> bool {
        self.devices.iter().any(|device| device.needs_warm_up())
    }

    /// Lets a device see a command before the run. False: the device does not want to.
    pub(super) fn warm_up(&mut self, device: usize, command: Command) -> bool {
        let wants = self.devices[device].needs_warm_up();
        if wants {
            self.devices[device].warm_up(command);
        }
        wants
    }

    /// Gives a core work of so many ns. Returns when it will be done. First come, first served, without preemption.
    #[inline]
    pub(super) fn book(&mut self, now_ns: u64, work_ns: u64) -> u64 {
        let core = (0..self.cores.len()).min_by_key(|core| self.cores[*core]).unwrap_or(0);
        self.cores[core] = self.cores[core].max(now_ns) + work_ns;
        self.cores[core]
    }

    /// Lets its devices work until one of them answers, or to `until_ns`. Returns that moment.
    #[inline]
    pub(super) fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) -> u64 {
        match &mut self.devices[..] {
            [one] => {
                one.advance(until_ns, ended);
                ended.first().map_or(until_ns, |first| first.at_ns)
            }
            several => {
                // No device may go past the moment at which another one answers.
                let next = |device: &dyn Device| device.next_ns().unwrap_or(u64::MAX);
                let first_ns = several.iter().map(|device| next(device.as_ref())).min().unwrap_or(u64::MAX);
                let until_ns = until_ns.min(first_ns);
                for device in several {
                    device.advance(until_ns, ended);
                }
                until_ns
            }
        }
    }

    /// Appends the series and incidents of its devices in the interval that ends now, under their names.
    pub(super) fn observe(&mut self, spec: &Spec, now_ns: u64, interval: &mut DeviceInterval) {
        for (number, device) in self.devices.iter_mut().enumerate() {
            let from = interval.series.len();
            device.observe(now_ns, &mut interval.series);
            interval.incidents.extend(device.incidents());
            if number > 0 {
                for (name, _) in &mut interval.series[from..] {
                    *name = format!("{}_{}", spec.others[number - 1].name, name.replace('.', "_"));
                }
            }
        }
    }
}

fn open_device(spec: &storage::Spec, seed: u64, used_bytes: u64, what: &str) -> Result<Box<dyn Device>, String> {
    let device = spec.open(Opening { seed, used_bytes })?;
    if used_bytes > device.capacity_bytes() {
        return Err(format!("{what} take {used_bytes} B, and the device has {} B", device.capacity_bytes()));
    }
    Ok(device)
}
