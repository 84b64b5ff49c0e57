//! The NBD session against clients that behave, and clients that do not.

#[path = "nbd/client.rs"]
#[allow(dead_code, reason = "each test uses its part of it")]
mod client;

use client::*;
use flatwater_core::cache::Failure;
use flatwater_serve::nbd::export::{REQUEST_BYTES_MAX, SKIPPED_BYTES_MAX};
use flatwater_serve::nbd::protocol::{
    Fields, command, command_flag as flag, error, info, option, option_reply, reply, transmission,
};
use flatwater_serve::nbd::session::{Ask, Event};

fn structured() -> Vec<u8> {
    option(option::STRUCTURED_REPLY, &[])
}

fn one(server: &mut Server, flags: u16, command: u16, offset: u64, bytes: u32) -> Reply {
    server.take_sent();
    server.receive(&request(flags, command, 77, offset, bytes));
    let sent = server.take_sent();
    let mut found = replies(&sent, |_| if command == command::READ { bytes as usize } else { 0 });
    assert_eq!(found.len(), 1, "one request, one reply");
    assert_eq!(found[0].cookie, 77);
    found.remove(0)
}

#[test]
fn greets_as_a_fixed_newstyle_server() {
    let mut server = Server::new(export());
    assert_eq!(server.take_sent(), b"NBDMAGICIHAVEOPT\0\x03");
    server.receive(&[0, 0, 0, 4]);
    assert_eq!(server.ended, Some(Event::Refused("unknown client flags")));
}

#[test]
fn export_name_sends_zeros_only_to_those_who_want_them() {
    for (flags, bytes) in [(1u32, 8 + 2 + 124), (3, 8 + 2), (0, 8 + 2 + 124)] {
        let mut server = Server::new(export());
        server.take_sent();
        server.receive(&flags.to_be_bytes());
        server.receive(&option(option::EXPORT_NAME, b"disk"));
        let sent = server.take_sent();
        assert_eq!(sent.len(), bytes);
        let mut fields = Fields(&sent);
        assert_eq!((fields.u64(), fields.u16()), (Some(DEVICE_BYTES), Some(export().flags(false))));
        assert!(server.session.transmits());
    }
    let mut server = Server::new(export());
    server.receive(&hello());
    server.receive(&option(option::EXPORT_NAME, b"dusk"));
    assert_eq!(server.ended, Some(Event::Refused("no such export")));
}

#[test]
fn go_tells_size_flags_and_blocks() {
    let mut server = Server::new(export());
    server.receive(&hello());
    server.take_sent();
    server.receive(&option(option::INFO, &named(b"", &[info::NAME, info::BLOCK_SIZE, 99])));
    let told = option_replies(&server.take_sent());
    assert!(!server.session.transmits());
    server.receive(&option(option::GO, &named(b"", &[info::NAME, info::BLOCK_SIZE, 99])));
    let again = option_replies(&server.take_sent());
    assert!(server.session.transmits());
    assert_eq!(told.iter().map(|one| &one.2).collect::<Vec<_>>(), again.iter().map(|one| &one.2).collect::<Vec<_>>());
    assert_eq!(again.last(), Some(&(option::GO, option_reply::ACK, vec![])));
    assert_eq!(again[1].2, b"\0\x01disk");
    let mut sizes = Fields(&again[2].2);
    assert_eq!(sizes.u16(), Some(info::BLOCK_SIZE));
    assert_eq!([sizes.u32(), sizes.u32(), sizes.u32()], [Some(512), Some(16384), Some(32 << 20)]);
}

#[test]
fn options_that_make_no_sense_are_refused_and_the_haggling_goes_on() {
    let mut long_name = named(b"disk", &[]);
    long_name[0] = 0xff;
    let cases: [(u32, Vec<u8>, u32); 14] = [
        (option::STARTTLS, vec![], option_reply::ERR_UNSUP),
        (4, vec![], option_reply::ERR_UNSUP),
        (11, vec![], option_reply::ERR_UNSUP),
        (u32::MAX, vec![1; 100], option_reply::ERR_UNSUP),
        (option::LIST, vec![1], option_reply::ERR_INVALID),
        (option::STRUCTURED_REPLY, vec![1], option_reply::ERR_INVALID),
        (option::GO, vec![], option_reply::ERR_INVALID),
        (option::GO, vec![0, 0, 0, 1, 65, 0], option_reply::ERR_INVALID),
        (option::GO, long_name, option_reply::ERR_INVALID),
        (option::GO, named(b"dusk", &[]), option_reply::ERR_UNKNOWN),
        (option::INFO, [named(b"disk", &[3]), vec![0]].concat(), option_reply::ERR_INVALID),
        (option::SET_META_CONTEXT, queries(b"disk", &[b"base:allocation"]), option_reply::ERR_INVALID),
        (option::LIST_META_CONTEXT, queries(b"dusk", &[]), option_reply::ERR_UNKNOWN),
        (option::LIST, vec![0; 9000], option_reply::ERR_TOO_BIG),
    ];
    let mut server = Server::new(export());
    server.receive(&hello());
    server.take_sent();
    for (number, data, error) in cases {
        server.receive(&option(number, &data));
        let told = option_replies(&server.take_sent());
        assert_eq!(told.iter().map(|one| (one.0, one.1)).collect::<Vec<_>>(), [(number, error)]);
        assert_eq!(server.ended, None);
    }
    server.receive(&option(option::LIST, &[]));
    let told = option_replies(&server.take_sent());
    assert_eq!(told[0], (option::LIST, option_reply::SERVER, b"\0\0\0\x04disk".to_vec()));
    server.receive(&option(option::ABORT, b"whatever"));
    assert_eq!(option_replies(&server.take_sent()), [(option::ABORT, option_reply::ACK, vec![])]);
    assert_eq!(server.ended, Some(Event::Left));
}

#[test]
fn floods_end_the_session() {
    let mut server = Server::new(export());
    server.receive(&hello());
    for _ in 0..1000 {
        server.receive(&option(option::LIST, &[]));
    }
    assert_eq!(server.ended, Some(Event::Refused("too many options")));
    assert!(server.sent.len() < 1 << 16, "and what is sent is bounded");
    let mut server = Server::new(export());
    server.receive(&hello());
    server.receive(&option(option::LIST, &[])[..12]);
    server.receive(&u32::MAX.to_be_bytes());
    assert_eq!(server.ended, Some(Event::Refused("an option is too long")));
    let mut server = Server::new(export());
    server.receive(&hello());
    server.receive(b"GET / HTTP/1.1\r\n");
    assert_eq!(server.ended, Some(Event::Refused("what came is no option")));
}

#[test]
fn contexts_are_chosen_anew_each_time() {
    let mut server = Server::new(export());
    server.receive(&hello());
    server.receive(&structured());
    server.take_sent();
    for (number, asked, expected) in [
        (option::LIST_META_CONTEXT, queries(b"", &[]), Some(0)),
        (option::LIST_META_CONTEXT, queries(b"", &[b"base:"]), Some(0)),
        (option::LIST_META_CONTEXT, queries(b"", &[b"x-other:", b"qemu:dirty"]), None),
        (option::SET_META_CONTEXT, queries(b"", &[]), None),
        (option::SET_META_CONTEXT, queries(b"", &[b"base:", b"base:unknown"]), None),
        (option::SET_META_CONTEXT, queries(b"", &[b"x-other:", b"base:allocation", b"base:allocation"]), Some(1)),
    ] {
        server.receive(&option(number, &asked));
        let told = option_replies(&server.take_sent());
        assert_eq!(told.last(), Some(&(number, option_reply::ACK, vec![])));
        let named = expected.map(|id: u32| [&id.to_be_bytes()[..], b"base:allocation"].concat());
        assert_eq!(told[..told.len() - 1].iter().map(|one| one.2.clone()).next(), named);
    }
    server.receive(&option(option::GO, &named(b"disk", &[])));
    let status = one(&mut server, 0, command::BLOCK_STATUS, 512, 1024);
    assert_eq!(status.kind, Some(reply::BLOCK_STATUS));
    assert_eq!(status.data, [0, 0, 0, 1, 0, 0, 4, 0, 0, 0, 0, 0]);

    let mut server = Server::new(export());
    for bytes in [
        hello(),
        structured(),
        option(option::SET_META_CONTEXT, &queries(b"", &[b"base:allocation"])),
        option(option::SET_META_CONTEXT, &[1]),
        option(option::GO, &named(b"disk", &[])),
    ] {
        server.receive(&bytes);
    }
    assert_eq!(one(&mut server, 0, command::BLOCK_STATUS, 0, 512).error, error::EINVAL, "the last choice failed");
}

#[test]
fn reads_what_was_written_with_either_kind_of_reply() {
    for options in [vec![], vec![structured()]] {
        let mut server = Server::transmitting(export(), &options);
        let data: Vec<u8> = (0..8192u32).map(|at| (at % 251) as u8).collect();
        let bytes = [request(flag::FUA, command::WRITE, 1, 4096, 8192), data.clone()].concat();
        // However it comes in pieces.
        bytes.chunks(1000).for_each(|piece| server.receive(piece));
        assert!(server.taken[0].durable);
        assert_eq!(replies(&server.take_sent(), |_| 0)[0].error, 0);
        let read = one(&mut server, 0, command::READ, 4096, 8192);
        let head = if read.kind == Some(reply::OFFSET_DATA) { 8 } else { 0 };
        assert_eq!(read.data[head..], data);
        assert_eq!(head > 0, !options.is_empty());
        assert_eq!(&read.data[..head], &4096u64.to_be_bytes()[..head]);
    }
}

#[test]
fn each_bad_request_gets_the_protocols_error_and_harms_nothing() {
    let end = DEVICE_BYTES;
    let cases = [
        (0, command::READ, end, 512, error::EINVAL),
        (0, command::READ, end - 512, 1024, error::EINVAL),
        (0, command::READ, u64::MAX - 511, 512, error::EINVAL),
        (0, command::READ, u64::MAX, u32::MAX, error::EINVAL),
        (0, command::READ, 0, 0, error::EINVAL),
        (0, command::READ, 1, 512, error::EINVAL),
        (0, command::READ, 0, 100, error::EINVAL),
        (flag::DF, command::READ, 0, 512, error::EINVAL),
        (flag::NO_HOLE, command::READ, 0, 512, error::EINVAL),
        (0, command::TRIM, end, 512, error::EINVAL),
        (0, command::TRIM, 0, 511, error::EINVAL),
        (0, command::WRITE_ZEROES, end, 512, error::ENOSPC),
        (0, command::WRITE_ZEROES, u64::MAX - 511, 512, error::ENOSPC),
        (flag::FAST_ZERO, command::WRITE_ZEROES, 0, 512, error::ENOTSUP),
        (flag::DF, command::WRITE_ZEROES, 0, 512, error::EINVAL),
        (0, command::CACHE, end, 512, error::EINVAL),
        (flag::NO_HOLE, command::CACHE, 0, 512, error::EINVAL),
        (0, command::FLUSH, 512, 0, error::EINVAL),
        (0, command::FLUSH, 0, 512, error::EINVAL),
        (0, command::BLOCK_STATUS, 0, 512, error::EINVAL),
        (0, 8, 0, 512, error::EINVAL),
        (0, u16::MAX, 0, 512, error::EINVAL),
        (u16::MAX, command::READ, 0, 512, error::EINVAL),
    ];
    let mut server = Server::transmitting(export(), &[]);
    for (flags, command, offset, bytes, expected) in cases {
        let found = one(&mut server, flags, command, offset, bytes);
        assert_eq!(found.error, expected, "flags {flags:x}, command {command}, {bytes} B at {offset}");
    }
    assert!(server.taken.is_empty() && server.ended.is_none());
    assert_eq!(one(&mut server, flag::FUA, command::READ, 0, 512).error, 0, "FUA may come with any command");
    assert_eq!(one(&mut server, flag::NO_HOLE, command::WRITE_ZEROES, 0, u32::try_from(end).unwrap()).error, 0);
    assert_eq!(one(&mut server, 0, command::FLUSH, 0, 0).error, 0);
}

#[test]
fn refused_writes_are_skipped_whole() {
    let mut server = Server::transmitting(export(), &[structured()]);
    for (offset, bytes, expected) in [
        (DEVICE_BYTES, 512, error::ENOSPC),
        (u64::MAX - 511, 512, error::ENOSPC),
        (100, 512, error::EINVAL),
        (0, 100, error::EINVAL),
        (0, REQUEST_BYTES_MAX + 512, error::ENOSPC),
        (0, 0, error::EINVAL),
    ] {
        server.receive(&request(0, command::WRITE, 5, offset, bytes));
        // Data that look like a request are data.
        let lure = request(0, command::WRITE_ZEROES, 6, 0, 512);
        let data: Vec<u8> = lure.iter().copied().cycle().take(bytes as usize).collect();
        data.chunks(100_000).for_each(|piece| server.receive(piece));
        let found = replies(&server.take_sent(), |_| 0);
        assert_eq!(found.iter().map(|one| (one.cookie, one.error)).collect::<Vec<_>>(), [(5, expected)]);
    }
    assert!(server.taken.is_empty());
    assert_eq!(one(&mut server, 0, command::READ, 0, 512).error, 0);
    server.receive(&request(0, command::WRITE, 5, 0, SKIPPED_BYTES_MAX + 1));
    assert_eq!(server.ended, Some(Event::Refused("a write is far too long")));
}

#[test]
fn who_never_asked_for_the_block_size_is_served_at_any_offset() {
    let mut server = Server::new(export());
    server.receive(&hello());
    server.receive(&option(option::EXPORT_NAME, b""));
    assert_eq!(one(&mut server, 0, command::READ, 3, 100).error, 0);
    assert_eq!((server.taken[0].offset, server.taken[0].bytes), (3, 100));
    assert_eq!(one(&mut server, 0, command::READ, DEVICE_BYTES - 99, 100).error, error::EINVAL);
}

#[test]
fn a_read_only_export_refuses_writes_and_skips_their_data() {
    let mut offered = export();
    offered.read_only = true;
    assert_ne!(offered.flags(false) & transmission::READ_ONLY, 0);
    let mut server = Server::transmitting(offered, &[]);
    for command in [command::WRITE, command::TRIM, command::WRITE_ZEROES] {
        assert_eq!(one(&mut server, 0, command, 0, 512).error, error::EPERM);
        if command == command::WRITE {
            server.receive(&[0; 512]);
        }
    }
    assert_eq!(one(&mut server, 0, command::READ, 0, 512).error, 0);
    assert_eq!(one(&mut server, 0, command::FLUSH, 0, 0).error, 0);
    assert!(server.taken.iter().all(|taken| matches!(taken.ask, Ask::Read | Ask::Flush)));
}

#[test]
fn failures_of_the_device_reach_the_client() {
    for (failure, write_error, read_error) in [
        (Failure::Medium, error::EIO, error::EIO),
        (Failure::Outside, error::ENOSPC, error::EINVAL),
        (Failure::Stopping, error::ESHUTDOWN, error::ESHUTDOWN),
    ] {
        for options in [vec![], vec![structured()]] {
            let mut server = Server::transmitting(export(), &options);
            server.result = Err(failure);
            let read = one(&mut server, 0, command::READ, 0, 512);
            assert_eq!((read.error, read.data.len()), (read_error, if options.is_empty() { 0 } else { 6 }));
            assert_eq!(one(&mut server, 0, command::WRITE_ZEROES, 0, 512).error, write_error);
        }
    }
}

#[test]
fn a_server_that_goes_down_says_so_in_both_phases() {
    let mut server = Server::transmitting(export(), &[]);
    server.session.stop();
    assert_eq!(one(&mut server, 0, command::READ, 0, 512).error, error::ESHUTDOWN);
    let mut server = Server::new(export());
    server.receive(&hello());
    server.session.stop();
    server.take_sent();
    server.receive(&option(option::LIST, &[]));
    assert_eq!(option_replies(&server.take_sent())[0].1, option_reply::ERR_SHUTDOWN);
    server.receive(&option(option::ABORT, &[]));
    assert_eq!(server.ended, Some(Event::Left));
}

#[test]
fn garbage_between_requests_ends_the_session() {
    let mut server = Server::transmitting(export(), &[]);
    server.receive(&[0; 28]);
    assert_eq!(server.ended, Some(Event::Refused("what came is no request")));
    let mut server = Server::transmitting(export(), &[]);
    server.receive(&request(0xffff, command::DISC, 1, 2, 3));
    assert_eq!(server.ended, Some(Event::Left));
    assert!(server.take_sent().is_empty(), "there is no reply to a disconnect");
}
