//! Superblocks and pairing records with anything in them: the input is laid over one copy, with a right checksum if its
//! first byte is even.

use crate::Outcome;
use crate::journal::CACHE;

const SECTOR: usize = 512;

/// Changes the superblock or the pairing record as an input says, and tries the cache.
pub fn run(input: &[u8]) -> Outcome {
    let [how, input @ ..] = input else { return Outcome::default() };
    let mut cache = CACHE.clone();
    let device = if how & 2 == 0 { &mut cache.fast.0 } else { &mut cache.pair.0 };
    let mut sector = [0; SECTOR];
    sector.copy_from_slice(&device[..SECTOR]);
    for (byte, change) in sector.iter_mut().zip(input) {
        *byte ^= change;
    }
    if how & 1 == 0 {
        let crc = crc32c::crc32c(&sector[..SECTOR - 4]);
        sector[SECTOR - 4..].copy_from_slice(&crc.to_le_bytes());
    }
    for copy in device[..4096].chunks_exact_mut(SECTOR) {
        copy.copy_from_slice(&sector);
    }
    if device.len() > 4096 {
        let first = device[..4096].to_vec();
        device[64 << 10..][..4096].copy_from_slice(&first);
    }
    cache.try_all()
}
