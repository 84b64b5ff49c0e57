//! Any bytes at the NBD session: after the greeting, or after a handshake that went well. Nothing panics, nothing outside of
//! the export is asked for, and what is said in return stays small.

use std::sync::Arc;

use flatwater_serve::nbd::Export;
use flatwater_serve::nbd::session::{Ask, Event, INPUT_BYTES_MAX, Session};

use crate::Outcome;

/// The client's flags, structured replies, `base:allocation`, and `GO` for the default export with its block size.
const HANDSHAKE: &[u8] = b"\0\0\0\x03\
    IHAVEOPT\0\0\0\x08\0\0\0\0\
    IHAVEOPT\0\0\0\x0a\0\0\0\x1b\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation\
    IHAVEOPT\0\0\0\x07\0\0\0\x08\0\0\0\0\0\x01\0\x03";

/// Says an input to a session, and checks what it answers.
pub fn run(input: &[u8]) -> Outcome {
    let mut outcome = Outcome::default();
    let Some((choice, bytes)) = input.split_first() else { return outcome };
    let export = Arc::new(Export::new("disk", 1 << 20, 16384).unwrap());
    let mut session = Session::new(export);
    let all = if choice & 1 == 1 { [HANDSHAKE, bytes].concat() } else { bytes.to_vec() };
    // In pieces of a length that the input chooses.
    let piece = 1 + usize::from(choice >> 1) * 31;
    let (mut staged, mut said) = (Vec::new(), 0);
    'pieces: for new in all.chunks(piece) {
        staged.extend_from_slice(new);
        loop {
            let data = staged.len().min(session.payload_bytes() as usize);
            staged.drain(..data);
            session.received(data as u32);
            if session.payload_bytes() > 0 {
                break;
            }
            let (taken, event) = session.step(&staged);
            assert!(taken <= staged.len());
            staged.drain(..taken);
            said += session.output().len();
            outcome.add(&(std::mem::discriminant(&event), session.transmits(), session.output().len().min(64)));
            session.output().clear();
            match event {
                Event::More => {
                    assert!(staged.len() < INPUT_BYTES_MAX);
                    break;
                }
                Event::Request(request) => {
                    outcome.add(&request.ask);
                    assert!(request.offset.checked_add(request.bytes.into()).is_some_and(|end| end <= 1 << 20));
                    assert_eq!(request.ask == Ask::Write, session.payload_bytes() > 0);
                    said += session.reply(&request, Ok(())).bytes().len();
                }
                Event::Left | Event::Refused(_) => break 'pieces,
            }
        }
    }
    assert!(said <= 20 * all.len() + 65_536, "{said} B are said to {} B", all.len());
    outcome
}
