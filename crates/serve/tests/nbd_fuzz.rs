//! 10,000 byte streams at the NBD session: clients that are nearly right, and then cut, flip, repeat and swap bytes. Whatever
//! comes, the session answers by the protocol or ends.

#[path = "nbd/client.rs"]
#[allow(dead_code, reason = "each test uses its part of it")]
mod client;
#[path = "nbd/stream.rs"]
mod stream;

use client::{DEVICE_BYTES, Server, export};
use flatwater_core::cache::Failure;
use flatwater_serve::nbd::session::{Ask, Event};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const STREAMS: u64 = 10_000;

/// The seed of all streams: FLATWATER_SEED, or a new one.
fn seed() -> u64 {
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    std::env::var("FLATWATER_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(now)
}

#[test]
fn ten_thousand_streams() {
    let seed = seed();
    println!("FLATWATER_SEED={seed}");
    let (mut transmitted, mut taken, mut refused, mut left) = (0, 0, 0, 0);
    for number in 0..STREAMS {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ number);
        let bytes = stream::of(&mut random);
        let mut server = Server::new(export());
        server.result = if random.random_ratio(1, 8) { Err(Failure::Medium) } else { Ok(()) };
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(random.random_range(1..=rest.len().min(5000)));
            server.receive(piece);
            rest = after;
        }
        // A client can make the server say little beyond what it asked to read.
        let read: u64 = server.taken.iter().filter(|one| one.ask == Ask::Read).map(|one| u64::from(one.bytes)).sum();
        let said = server.sent.len() as u64 - read.min(server.sent.len() as u64);
        assert!(said < 20 * bytes.len() as u64 + 65_536, "stream {number} of seed {seed}: {said} B said");
        assert!(server.taken.iter().all(|one| one.offset + u64::from(one.bytes) <= DEVICE_BYTES));
        transmitted += u64::from(server.session.transmits());
        taken += server.taken.len();
        refused += u64::from(matches!(server.ended, Some(Event::Refused(_))));
        left += u64::from(server.ended == Some(Event::Left));
    }
    println!("{transmitted} still transmit, {taken} requests were taken, {refused} were refused, {left} left");
    // The streams reach what they are to reach.
    assert!(taken as u64 > STREAMS && refused > STREAMS / 20 && left > STREAMS / 100 && transmitted > STREAMS / 20);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn however_the_bytes_are_cut_the_answers_are_the_same(seed in any::<u64>(), cuts in prop::collection::vec(1usize..3000, 1..20)) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let bytes = stream::of(&mut random);
        let mut whole = Server::new(export());
        whole.receive(&bytes);
        let mut pieces = Server::new(export());
        let (mut rest, mut cut) = (&bytes[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(*cut.next().unwrap()));
            pieces.receive(piece);
            rest = after;
        }
        prop_assert_eq!(&whole.taken, &pieces.taken);
        prop_assert_eq!(whole.ended, pieces.ended);
        prop_assert!(whole.sent == pieces.sent);
        prop_assert!(whole.device == pieces.device);
    }

    #[test]
    fn bytes_without_any_sense_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        Server::new(export()).receive(&bytes);
        let mut server = Server::transmitting(export(), &[]);
        server.receive(&bytes);
        prop_assert!(server.taken.is_empty(), "a request has a magic number of 32 bits");
    }
}
