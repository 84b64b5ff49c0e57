//! Streams of consecutive requests, found among those of the last ones.

/// Streams that are followed at once (FlashCache follows 32).
const STREAMS: usize = 32;

/// The ends of the streams, and how long each one is.
pub(super) struct Streams {
    ends: [u64; STREAMS],
    bytes: [u64; STREAMS],
    oldest: usize,
}

impl Streams {
    pub(super) fn new() -> Self {
        Self { ends: [u64::MAX; STREAMS], bytes: [0; STREAMS], oldest: 0 }
    }

    /// A request comes: how long the stream is that it continues (or begins), itself included.
    #[inline]
    pub(super) fn length(&mut self, offset: u64, bytes: u64) -> u64 {
        let mut found = STREAMS;
        for (stream, end) in self.ends.iter().enumerate() {
            if *end == offset {
                found = stream;
            }
        }
        if found == STREAMS {
            // The one that was begun longest ago gives way; long streams begin anew at worst.
            found = self.oldest;
            self.oldest = (self.oldest + 1) % STREAMS;
            self.bytes[found] = 0;
        }
        self.ends[found] = offset + bytes;
        self.bytes[found] += bytes;
        self.bytes[found]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_told_apart_and_random_requests_are_none() {
        let mut streams = Streams::new();
        for step in 0..10u64 {
            assert_eq!(streams.length(step * 4096, 4096), (step + 1) * 4096);
            assert_eq!(streams.length((1 << 30) + step * 8192, 8192), (step + 1) * 8192);
            assert_eq!(streams.length((1 << 40) + step * step * 99 * 512, 512), 512);
        }
    }
}
