//! Streams of consecutive requests, found among those of the last ones.

/// Streams that are followed at once (FlashCache follows 32).
const STREAMS: usize = 32;

/// The ends of the streams, and how long each one is.
pub(super) struct Streams {
    ends: [u64; STREAMS],
    /// A part of each end: a few vector instructions compare them all, and nearly every random request differs from
    /// all.
    tags: [u32; STREAMS],
    bytes: [u64; STREAMS],
    oldest: usize,
}

/// The low bits of an offset in sectors.
#[inline]
fn tag(offset: u64) -> u32 {
    (offset >> 9) as u32
}

impl Streams {
    pub(super) fn new() -> Self {
        Self { ends: [u64::MAX; STREAMS], tags: [tag(u64::MAX); STREAMS], bytes: [0; STREAMS], oldest: 0 }
    }

    /// The stream that ends at `offset`.
    #[inline]
    fn find(&self, offset: u64) -> Option<usize> {
        let wanted = tag(offset);
        let may_be_one = self.tags.iter().fold(false, |any, tag| any | (*tag == wanted));
        if may_be_one { self.ends.iter().rposition(|end| *end == offset) } else { None }
    }

    /// A request comes. Returns how long the stream is that it continues or begins, itself included.
    #[inline]
    pub(super) fn length(&mut self, offset: u64, bytes: u64) -> u64 {
        let stream = self.find(offset).unwrap_or_else(|| {
            // The one that was begun longest ago gives way; long streams begin anew at worst.
            let oldest = self.oldest;
            self.oldest = (oldest + 1) % STREAMS;
            self.bytes[oldest] = 0;
            oldest
        });
        self.ends[stream] = offset + bytes;
        self.tags[stream] = tag(offset + bytes);
        self.bytes[stream] += bytes;
        self.bytes[stream]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_distinguished_and_random_requests_are_none() {
        let mut streams = Streams::new();
        for step in 0..10u64 {
            assert_eq!(streams.length(step * 4096, 4096), (step + 1) * 4096);
            assert_eq!(streams.length((1 << 30) + step * 8192, 8192), (step + 1) * 8192);
            assert_eq!(streams.length((1 << 40) + step * step * 99 * 512, 512), 512);
        }
    }
}
