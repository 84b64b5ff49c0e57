//! Numbers and texts drawn at random, as clause 4.3.2 has them.

use rand_xoshiro::rand_core::RngCore as _;

use super::rows::Address;
use crate::seed::Rng;
use crate::workload::tpcc::Text;

/// Share of items, stock and customers that are ORIGINAL, or of bad credit: one in so many.
pub(super) const ONE_IN: u32 = 10;
/// Characters of an a-string (clause 4.3.2.2).
pub(super) const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A whole number from `low` to `high`, both included, from one step of the generator. Its bias of less than
/// (high - low) / 2^32 is far under what a load of any size could show; in return it never draws twice.
#[inline]
pub(super) fn draw(rng: &mut Rng, low: u32, high: u32) -> u32 {
    low + (((rng.next_u64() >> 32) * u64::from(high - low + 1)) >> 32) as u32
}

/// Four letters a step of the generator; 65536 / 62 is whole to one part in a thousand.
#[inline]
pub(super) fn fill_letters(rng: &mut Rng, text: &mut [u8]) {
    for four in text.chunks_mut(4) {
        let mut bits = rng.next_u64();
        for letter in four {
            *letter = LETTERS[(((bits & 0xffff) * 62) >> 16) as usize];
            bits >>= 16;
        }
    }
}

/// A random a-string of `low` to `high` letters.
#[inline]
pub(super) fn letters<const N: usize>(rng: &mut Rng, low: u32, high: u32) -> Text<N> {
    let mut text = Text { bytes: [0; N], length: draw(rng, low, high) as u16 };
    fill_letters(rng, &mut text.bytes[..usize::from(text.length)]);
    text
}

/// 26 to 50 letters, of which 8 say ORIGINAL in one of ten.
#[inline]
pub(super) fn data(rng: &mut Rng) -> Text<50> {
    const ORIGINAL: &[u8] = b"ORIGINAL";
    let mut text = letters(rng, 26, 50);
    if draw(rng, 1, ONE_IN) == 1 {
        let at = draw(rng, 0, u32::from(text.length) - ORIGINAL.len() as u32) as usize;
        text.bytes[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
    text
}

/// `N` digits, at most 19.
#[inline]
pub(super) fn digits<const N: usize>(rng: &mut Rng) -> Text<N> {
    let mut text = Text { bytes: [0; N], length: N as u16 };
    let mut number = rng.next_u64();
    for digit in &mut text.bytes {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    text
}

/// A random address.
#[inline]
pub(super) fn address(rng: &mut Rng) -> Address {
    let mut zip = Text::<9>::EMPTY;
    zip.push(digits::<4>(rng).as_bytes());
    zip.push(b"11111");
    Address {
        street_1: letters(rng, 10, 20),
        street_2: letters(rng, 10, 20),
        city: letters(rng, 10, 20),
        state: letters(rng, 2, 2),
        zip,
    }
}
