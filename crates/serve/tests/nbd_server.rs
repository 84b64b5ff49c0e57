//! The NBD server on a real reactor, with clients that vanish, stall and lie, over a socket.

#[path = "nbd/client.rs"]
#[allow(dead_code, reason = "each test uses its part of it")]
mod client;
#[path = "nbd/served.rs"]
#[allow(dead_code, reason = "each test uses its part of it")]
mod served;
#[path = "nbd/stream.rs"]
mod stream;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use client::request;
use flatwater_serve::nbd::Limits;
use flatwater_serve::nbd::protocol::{command, reply};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use served::{DEVICE_BYTES, Served, connect, until};

/// The error of the next reply, which carries no data.
fn error_of(stream: &mut UnixStream) -> u32 {
    let mut head = [0; 4];
    stream.read_exact(&mut head).unwrap();
    let mut rest = vec![0; if head == [0x67, 0x44, 0x66, 0x98] { 12 } else { 16 }];
    stream.read_exact(&mut rest).unwrap();
    if rest.len() == 12 {
        return u32::from_be_bytes(rest[..4].try_into().unwrap());
    }
    assert_eq!(u16::from_be_bytes(rest[2..4].try_into().unwrap()), reply::ERROR);
    let mut text = vec![0; u32::from_be_bytes(rest[12..16].try_into().unwrap()) as usize];
    stream.read_exact(&mut text).unwrap();
    u32::from_be_bytes(text[..4].try_into().unwrap())
}

fn write(stream: &mut UnixStream, offset: u64, data: &[u8]) {
    stream.write_all(&request(0, command::WRITE, 1, offset, data.len() as u32)).unwrap();
    stream.write_all(data).unwrap();
    assert_eq!(error_of(stream), 0);
}

fn read(stream: &mut UnixStream, offset: u64, bytes: usize) -> Vec<u8> {
    stream.write_all(&request(0, command::READ, 2, offset, bytes as u32)).unwrap();
    let mut answer = vec![0; 28 + bytes];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[4..8], [0, 1, 0, 1], "one chunk of data, and the last");
    answer.split_off(28)
}

#[test]
fn clients_see_each_others_writes_at_any_offset() {
    let served = Served::start(Limits::default());
    let (mut first, mut second) = (served.client(), served.client());
    for (offset, bytes) in [(0u64, 16384usize), (1 << 20, 512), (12_345, 6789), (DEVICE_BYTES - 5, 5), (0, 32 << 20)] {
        let data: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8 ^ offset as u8).collect();
        write(&mut first, offset, &data);
        assert!(read(&mut second, offset, bytes) == data, "{bytes} B at {offset}");
    }
    for (flags, command, offset, bytes) in [
        (1, command::WRITE_ZEROES, 4096u64, 200u32 << 20),
        (1, command::TRIM, 0, DEVICE_BYTES as u32),
        (0, command::FLUSH, 0, 0),
        (0, command::CACHE, 0, 1 << 20),
    ] {
        second.write_all(&request(flags, command, 3, offset, bytes)).unwrap();
        assert_eq!(error_of(&mut second), 0, "command {command}");
    }
    assert!(read(&mut first, 4096, 1 << 20).iter().all(|byte| *byte == 0));
    // Half-closed: what was asked for is still answered.
    first.write_all(&request(0, command::READ, 4, 0, 65536)).unwrap();
    first.shutdown(std::net::Shutdown::Write).unwrap();
    let mut all = Vec::new();
    first.read_to_end(&mut all).unwrap();
    assert_eq!(all.len(), 28 + 65536);
    drop(second);
    assert!(served.is_quiet());
    served.stop();
}

#[test]
fn those_who_vanish_leave_nothing_behind() {
    let served = Served::start(Limits::default());
    let mut witness = served.client();
    write(&mut witness, 0, &[7; 16384]);
    for round in 0..40u64 {
        let mut stream = served.client();
        let header = request(0, command::WRITE, 1, 0, 16384);
        match round % 5 {
            // In a header, before the data, in the data, with answers unread, with writes under way.
            0 => stream.write_all(&header[..13]).unwrap(),
            1 => stream.write_all(&header).unwrap(),
            2 => stream.write_all(&[header, vec![9; 1000]].concat()).unwrap(),
            3 => (0..20).for_each(|at| stream.write_all(&request(0, command::READ, at, 0, 1 << 20)).unwrap()),
            _ => stream.write_all(&[request(0, command::WRITE, 1, 1 << 20, 8192), vec![5; 8192]].concat()).unwrap(),
        }
    }
    assert!(read(&mut witness, 0, 16384).iter().all(|byte| *byte == 7), "a write that did not come whole is none");
    drop(witness);
    assert!(served.is_quiet());
    served.stop();
}

#[test]
fn those_who_do_not_read_hold_a_bounded_memory_and_harm_nobody() {
    let limits = Limits { client_bytes: 34 << 20, shared_bytes: 40 << 20, patience_s: 1, ..Limits::default() };
    let served = Served::start(limits);
    let mut greedy: Vec<_> = (0..3).map(|_| served.client()).collect();
    for stream in &mut greedy {
        stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        // Until the server does not take more.
        for at in 0..20_000 {
            if stream.write_all(&request(0, command::READ, at, 0, 1 << 20)).is_err() {
                break;
            }
        }
    }
    // And one that promises a long write and does not send it.
    let mut liar = served.client();
    liar.write_all(&request(0, command::WRITE, 1, 0, 32 << 20)).unwrap();
    let most = limits.shared_bytes + 5 * limits.own_bytes;
    assert!(served.tally.held_bytes.load(Relaxed) <= most);
    let mut witness = served.client();
    let data: Vec<u8> = (0..1usize << 20).map(|at| (at % 249) as u8).collect();
    for _ in 0..20 {
        write(&mut witness, 64 << 20, &data);
        assert!(read(&mut witness, 64 << 20, data.len()) == data);
    }
    // Who wants more than its own gets it too: those who do nothing with theirs are cut off.
    write(&mut witness, 64 << 20, &vec![3; 16 << 20]);
    assert!(served.tally.held_bytes.load(Relaxed) <= most);
    assert!(served.tally.cut_off.load(Relaxed) > 0);
    assert!(served.tally.latest().unwrap().contains("others wanted"));
    drop((greedy, liar, witness));
    assert!(served.is_quiet());
    served.stop();
}

#[test]
fn who_pauses_alone_is_waited_for() {
    let limits = Limits { client_bytes: 33 << 20, patience_s: 1, ..Limits::default() };
    let served = Served::start(limits);
    let mut paused = served.client();
    for at in 0..100 {
        paused.write_all(&request(0, command::READ, at, at << 20, 1 << 20)).unwrap();
    }
    let mut other = served.client();
    for _ in 0..6 {
        std::thread::sleep(Duration::from_millis(500));
        assert!(read(&mut other, 0, 16384).iter().all(|byte| *byte == 0));
    }
    let mut all = vec![0; 100 * (28 + (1 << 20))];
    paused.read_exact(&mut all).unwrap();
    assert_eq!(served.tally.cut_off.load(Relaxed), 0);
    drop((paused, other));
    assert!(served.is_quiet());
    served.stop();
}

#[test]
fn too_many_are_turned_away_and_the_dumb_let_go() {
    let served = Served::start(Limits { connections: 3, haggling_s: 1, ..Limits::default() });
    let mut kept = served.client();
    let dumb: Vec<_> = (0..2).map(|_| connect(&served.socket)).collect();
    assert!(until(|| served.tally.connections.load(Relaxed) == 3));
    let mut late = connect(&served.socket);
    assert_eq!(late.read_to_end(&mut Vec::new()).unwrap(), 0);
    assert_eq!(served.tally.turned_away.load(Relaxed), 1);
    assert!(served.tally.latest().unwrap().contains("there are 3 already"));
    assert!(until(|| served.tally.connections.load(Relaxed) == 1), "they said nothing");
    write(&mut kept, 0, &[1; 512]);
    let mut again = served.client();
    write(&mut again, 0, &[1; 512]);
    drop((dumb, kept, again));
    assert!(served.is_quiet());
    served.stop();
}

#[test]
fn garbage_on_many_sockets_does_not_disturb_a_good_client() {
    let seed = std::process::id().into();
    println!("seed {seed}");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let served = Served::start(Limits::default());
    let mut witness = served.client();
    let at = DEVICE_BYTES - (1 << 20);
    for round in 0..300u64 {
        let mut stream = connect(&served.socket);
        stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
        let mut bytes = stream::of(&mut random);
        stream::damage(&mut random, &mut bytes);
        // It may be cut off before all of it is sent.
        let _ = stream.write_all(&bytes);
        if round % 10 == 0 {
            let data = vec![round as u8; 16384];
            write(&mut witness, at, &data);
            assert!(read(&mut witness, at, 16384) == data, "seed {seed}");
        }
    }
    drop(witness);
    assert!(served.is_quiet(), "seed {seed}");
    served.stop();
}

#[test]
fn a_server_that_ends_answers_what_it_took() {
    let served = Served::start(Limits::default());
    let mut stream = served.client();
    let mut silent = served.client();
    for at in 0..32 {
        stream.write_all(&request(0, command::READ, at, at << 20, 65536)).unwrap();
    }
    let mut answers = vec![0; 28];
    stream.read_exact(&mut answers).unwrap();
    served.handle.stop(false);
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all.len()
    });
    served.stop();
    // Whole replies, then the end; those that were not taken yet are not answered.
    let bytes = reader.join().unwrap() + 28;
    assert_eq!(bytes % (28 + 65536), 0, "{bytes} B came");
    assert_eq!(silent.read(&mut [0; 10]).unwrap(), 0);
}
