//! Random streams of a client that is nearly right.

use flatwater_serve::nbd::protocol::{command, info, option};
use rand::Rng;

use crate::client::{DEVICE_BYTES, hello, named, option, queries, request};

fn an_option(random: &mut impl Rng) -> Vec<u8> {
    let name: &[u8] = [&b""[..], b"disk", b"dusk", &[0xff; 5000]][random.random_range(0..4)];
    let asked: &[&[u8]] = &[b"base:allocation", b"base:", b"x-own:thing", b""];
    let some = &asked[..random.random_range(0..=asked.len())];
    match random.random_range(0..9) {
        0 => option(option::LIST, &[]),
        1 => option(option::STRUCTURED_REPLY, &[]),
        2 => option(option::SET_META_CONTEXT, &queries(name, some)),
        3 => option(option::LIST_META_CONTEXT, &queries(name, some)),
        4 => option(option::INFO, &named(name, &[info::BLOCK_SIZE, info::NAME])),
        5 => option(option::STARTTLS, &[]),
        6 if random.random_ratio(1, 4) => option(option::ABORT, &[]),
        _ => option(random.random_range(0..16), &vec![0; random.random_range(0..40)]),
    }
}

fn a_request(random: &mut impl Rng) -> Vec<u8> {
    let numbers = [command::READ, command::WRITE, command::FLUSH, command::TRIM, command::CACHE];
    let more = [command::WRITE_ZEROES, command::BLOCK_STATUS, command::READ, random.random_range(0..20)];
    let all = [&numbers[..], &more].concat();
    let number = if random.random_ratio(1, 60) { command::DISC } else { all[random.random_range(0..all.len())] };
    let mut offset = 512 * random.random_range(0..DEVICE_BYTES / 512);
    let mut bytes = 512 * random.random_range(1..20u32);
    match random.random_range(0..20) {
        0 => offset = random.random(),
        1 => bytes = random.random(),
        2 => (offset, bytes) = (u64::MAX - offset, u32::MAX - bytes),
        3 => (offset, bytes) = (offset + 1, bytes - 1),
        _ => {}
    }
    if number == command::FLUSH && random.random_ratio(3, 4) {
        (offset, bytes) = (0, 0);
    }
    let flags = if random.random_ratio(1, 6) { random.random_range(0..64) } else { 0 };
    let mut all = request(flags, number, random.random(), offset, bytes);
    if number == command::WRITE {
        let bytes = if random.random_ratio(1, 20) { random.random_range(0..1000) } else { bytes.min(1 << 16) };
        all.extend((0..bytes).map(|at| at as u8));
    }
    all
}

/// A session's bytes.
pub fn of(random: &mut impl Rng) -> Vec<u8> {
    let mut bytes = hello();
    (0..random.random_range(0..4)).for_each(|_| bytes.extend(an_option(random)));
    match random.random_range(0..8) {
        0 => {}
        1 => bytes.extend(option(option::EXPORT_NAME, b"disk")),
        _ => bytes.extend(option(option::GO, &named(b"disk", if random.random() { &[info::BLOCK_SIZE] } else { &[] }))),
    }
    (0..random.random_range(0..12)).for_each(|_| bytes.extend(a_request(random)));
    for _ in 0..random.random_range(0..5) / 2 {
        damage(random, &mut bytes);
    }
    bytes
}

/// Does something to bytes that a client would not do.
pub fn damage(random: &mut impl Rng, bytes: &mut Vec<u8>) {
    if bytes.len() < 8 {
        return;
    }
    let at = random.random_range(0..bytes.len() - 4);
    let until = at + random.random_range(1..=(bytes.len() - at).min(64));
    match random.random_range(0..6) {
        0 => bytes[at] ^= 1 << random.random_range(0..8),
        1 => bytes.truncate(at),
        2 => drop(bytes.drain(at..until)),
        3 => bytes[at..at + 4].copy_from_slice(&u32::MAX.to_be_bytes()),
        4 => {
            let again = bytes[at..until].to_vec();
            bytes.splice(at..at, again);
        }
        _ => bytes[at..until].iter_mut().for_each(|byte| *byte = random.random()),
    }
}
