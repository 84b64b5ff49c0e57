//! Constants that both servers negotiate with the kernel.

use std::time::Duration;

/// The block size of the file systems, and the sector size of an emulated device.
pub const BLOCK_BYTES: u32 = 4096;
/// The largest request that the kernel allows (256 pages, fs.fuse.max_pages_limit).
pub const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// Requests that the kernel keeps under way at once: more than any useful queue depth.
pub(super) const IN_FLIGHT_MAX: u16 = 4096;
/// How long the kernel may cache names and the attributes of the device. They do not change.
pub(super) const KNOWN_FOR: Duration = Duration::from_secs(60);

/// How much of a range is within a device.
pub(super) fn within(device_bytes: u64, offset: u64, bytes: u64) -> u64 {
    bytes.min(device_bytes.saturating_sub(offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_with_the_device() {
        assert_eq!([within(100, 0, 50), within(100, 80, 50), within(100, 100, 1), within(100, 200, 1)], [50, 20, 0, 0]);
    }
}
