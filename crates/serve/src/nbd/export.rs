//! What is offered to clients, and how far they may go.

use super::protocol::transmission as flag;

/// The smallest block that is advertised: a sector, which most devices take without a detour. A client that asked for it
/// and does not keep to it gets EINVAL, as the protocol says; one that never asked is served at any offset. So does qemu.
pub const BLOCK_BYTES_MIN: u32 = 512;
/// The longest read or write: what the protocol wants every server to take.
pub const REQUEST_BYTES_MAX: u32 = 32 << 20;
/// A write longer than this is an attack and ends the session; up to it, it is skipped and refused.
pub const SKIPPED_BYTES_MAX: u32 = 2 * REQUEST_BYTES_MAX;
/// The longest name or text, by the protocol.
pub const NAME_BYTES_MAX: usize = 4096;

/// A device as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// What clients ask for; the empty name, which stands for a default, finds it too.
    pub name: String,
    /// What people read in lists.
    pub description: String,
    /// Its length, a multiple of `BLOCK_BYTES_MIN`.
    pub bytes: u64,
    /// Best length of a request: the cache's block.
    pub preferred_bytes: u32,
    /// Nothing can be written.
    pub read_only: bool,
    /// Zeros are written faster than data. If not, a client that wants them fast or not at all is told so.
    pub fast_zero: bool,
}

impl Export {
    /// An export of so many bytes, rounded down to whole blocks.
    ///
    /// # Errors
    /// What cannot be, in words.
    pub fn new(name: &str, bytes: u64, preferred_bytes: u32) -> Result<Self, String> {
        if name.len() > NAME_BYTES_MAX || name.contains('\0') {
            return Err(format!("an export's name has at most {NAME_BYTES_MAX} bytes, and no zero byte"));
        }
        if !preferred_bytes.is_power_of_two() || !(BLOCK_BYTES_MIN..=REQUEST_BYTES_MAX).contains(&preferred_bytes) {
            return Err(format!(
                "the preferred block is a power of two from {BLOCK_BYTES_MIN} to {REQUEST_BYTES_MAX} B, \
                 and not {preferred_bytes}"
            ));
        }
        let bytes = bytes - bytes % u64::from(BLOCK_BYTES_MIN);
        if bytes == 0 || bytes > i64::MAX as u64 {
            return Err(format!("{bytes} B cannot be exported"));
        }
        let description = String::new();
        Ok(Self { name: name.into(), description, bytes, preferred_bytes, read_only: false, fast_zero: false })
    }

    /// Whether a client that asks for `name` means this one.
    pub fn is_called(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name.as_bytes()
    }

    /// The transmission flags. Multi-conn is honest: all connections share one engine, which flushes what any of them wrote.
    pub const fn flags(&self, structured: bool) -> u16 {
        let always = flag::HAS_FLAGS | flag::SEND_FLUSH | flag::SEND_FUA | flag::CAN_MULTI_CONN | flag::SEND_CACHE;
        let writes = flag::SEND_TRIM | flag::SEND_WRITE_ZEROES | flag::SEND_FAST_ZERO;
        let whole = if structured { flag::SEND_DF } else { 0 };
        always | whole | if self.read_only { flag::READ_ONLY } else { writes }
    }

    /// Whether a range lies within.
    pub const fn holds(&self, offset: u64, bytes: u64) -> bool {
        match offset.checked_add(bytes) {
            Some(end) => end <= self.bytes,
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_cannot_be() {
        assert!(Export::new("", 511, 4096).unwrap_err().contains("0 B"));
        assert!(Export::new("", 1 << 20, 3000).unwrap_err().contains("3000"));
        assert!(Export::new("", 1 << 20, 256).is_err());
        assert!(Export::new(&"x".repeat(4097), 1 << 20, 4096).is_err());
        assert!(Export::new("", u64::MAX, 4096).is_err());
        assert_eq!(Export::new("", (1 << 20) + 700, 4096).unwrap().bytes, (1 << 20) + 512);
    }

    #[test]
    fn a_range_that_wraps_around_is_outside() {
        let export = Export::new("", 1 << 20, 4096).unwrap();
        assert!(export.holds(0, 1 << 20) && export.holds(1 << 20, 0));
        assert!(!export.holds(512, 1 << 20));
        assert!(!export.holds(u64::MAX - 511, 512) && !export.holds(u64::MAX, u64::MAX));
    }

    #[test]
    fn a_read_only_export_offers_no_writes() {
        let mut export = Export::new("", 1 << 20, 4096).unwrap();
        let before = export.flags(true);
        export.read_only = true;
        assert_eq!(before & !export.flags(true), flag::SEND_TRIM | flag::SEND_WRITE_ZEROES | flag::SEND_FAST_ZERO);
        assert_eq!(export.flags(false) & flag::SEND_DF, 0, "the protocol wants it clear without structured replies");
    }
}
