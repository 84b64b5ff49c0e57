//! The strings of sysbench's rows: groups of 11 random digits with dashes between them.

use rand::RngCore as _;

use crate::seed::Rng;

/// Digits of a group.
const GROUP_BYTES: usize = 11;
/// 10^11: how many groups there are.
const GROUPS: u128 = 100_000_000_000;
/// Length of a c string: 10 groups.
pub const C_BYTES: usize = 10 * (GROUP_BYTES + 1) - 1;
/// Length of a pad string: 5 groups.
pub const PAD_BYTES: usize = 5 * (GROUP_BYTES + 1) - 1;

/// The digits of 00 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Writes a new c string.
pub fn write_c(rng: &mut Rng, text: &mut [u8; C_BYTES]) {
    write_groups(rng, text);
}

/// Writes a new pad string.
pub fn write_pad(rng: &mut Rng, text: &mut [u8; PAD_BYTES]) {
    write_groups(rng, text);
}

#[inline]
fn write_groups(rng: &mut Rng, text: &mut [u8]) {
    for group in text.chunks_mut(GROUP_BYTES + 1) {
        // One random word a group: its product with 10^11 favours no digit by more than 10^11 / 2^64.
        let mut number = ((u128::from(rng.next_u64()) * GROUPS) >> 64) as u64;
        for at in [9, 7, 5, 3, 1] {
            group[at..at + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
            number /= 100;
        }
        group[0] = b'0' + number as u8;
        if let Some(dash) = group.get_mut(GROUP_BYTES) {
            *dash = b'-';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::stream;

    #[test]
    fn strings_have_sysbenchs_form() {
        let mut rng = stream(1, "test", 0);
        let (mut c, mut pad) = ([0; C_BYTES], [0; PAD_BYTES]);
        write_c(&mut rng, &mut c);
        write_pad(&mut rng, &mut pad);
        for (text, groups) in [(&c[..], 10), (&pad[..], 5)] {
            let text = std::str::from_utf8(text).unwrap();
            assert_eq!(text.split('-').count(), groups, "{text}");
            assert!(
                text.split('-').all(|group| group.len() == 11 && group.bytes().all(|b| b.is_ascii_digit())),
                "{text}"
            );
        }
        assert_eq!((C_BYTES, PAD_BYTES), (119, 59));
    }

    #[test]
    fn every_place_has_every_digit_alike() {
        let mut rng = stream(2, "test", 0);
        let mut counts = [[0_u32; 10]; C_BYTES];
        let mut text = [0; C_BYTES];
        for _ in 0..20_000 {
            write_c(&mut rng, &mut text);
            for (count, digit) in counts.iter_mut().zip(text).filter(|(_, digit)| *digit != b'-') {
                count[usize::from(digit - b'0')] += 1;
            }
        }
        for (place, count) in counts.iter().enumerate().filter(|(place, _)| place % 12 != 11) {
            // Six standard deviations of a binomial with 20,000 draws and a tenth: 255.
            assert!(count.iter().all(|n| n.abs_diff(2_000) < 255), "place {place}: {count:?}");
        }
    }
}
