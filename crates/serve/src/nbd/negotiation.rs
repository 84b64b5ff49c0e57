//! The handshake: fixed newstyle, from the server's greeting to the export.

use super::export::{BLOCK_BYTES_MIN, Export, NAME_BYTES_MAX, REQUEST_BYTES_MAX};
use super::protocol::{self as p, Fields, handshake, info, option, option_reply as answer};

/// Data of an option that are looked at: a name, and queries that are one as well. Longer ones are skipped and refused.
pub const OPTION_BYTES_MAX: u32 = 8192;
/// Longer ones end the session.
const SKIPPED_OPTION_BYTES_MAX: u32 = 1 << 20;
/// Options of one session: clients need a handful (nbdkit ends a session after 32).
const OPTIONS_MAX: u32 = 128;
/// The metadata context that we have, and our number for it.
pub const CONTEXT: (&str, u32) = ("base:allocation", 1);

/// How the handshake goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// With more bytes.
    More,
    /// With what the rest of the bytes say.
    Again,
    /// It is over: requests follow.
    Go,
    /// The session ends: the client asked for it.
    Left,
    /// The session ends: why.
    Refused(&'static str),
}

/// A handshake under way.
#[derive(Debug, Default)]
pub struct Negotiation {
    greeted: bool,
    no_zeroes: bool,
    options: u32,
    /// An option that is too long, and how much of it is still to come.
    skipped: Option<(u32, u32)>,
    /// Structured replies were asked for.
    pub structured: bool,
    /// `base:allocation` was chosen.
    pub allocation: bool,
    /// The client asked for the sizes of requests, and so promised to keep to them.
    pub sized: bool,
}

impl Negotiation {
    /// Begins one, with the server's greeting.
    pub fn new(out: &mut Vec<u8>) -> Self {
        out.extend(p::GREETING_MAGIC.to_be_bytes());
        out.extend(p::OPTION_MAGIC.to_be_bytes());
        out.extend((handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES).to_be_bytes());
        Self::default()
    }

    /// Takes what it can from the front of `input`, answers to `out`, and says how many bytes it took. An option must lie
    /// in `input` as a whole, so that this is to hold `OPTION_HEADER_BYTES + OPTION_BYTES_MAX`.
    pub fn step(&mut self, export: &Export, stopping: bool, input: &[u8], out: &mut Vec<u8>) -> (usize, Step) {
        if !self.greeted {
            return self.client_flags(input);
        }
        if let Some((option, left)) = self.skipped {
            let taken = input.len().min(left as usize);
            self.skipped = Some((option, left - taken as u32));
            if taken < left as usize {
                return (taken, Step::More);
            }
            self.skipped = None;
            refuse(out, option, answer::ERR_TOO_BIG, "the option is too long");
            return (taken, Step::Again);
        }
        let mut fields = Fields(input);
        let (Some(magic), Some(option), Some(bytes)) = (fields.u64(), fields.u32(), fields.u32()) else {
            return (0, Step::More);
        };
        if magic != p::OPTION_MAGIC {
            return (p::OPTION_HEADER_BYTES, Step::Refused("what came is no option"));
        }
        if bytes > OPTION_BYTES_MAX {
            if bytes > SKIPPED_OPTION_BYTES_MAX || option == option::EXPORT_NAME {
                return (p::OPTION_HEADER_BYTES, Step::Refused("an option is too long"));
            }
            self.skipped = Some((option, bytes));
            return (p::OPTION_HEADER_BYTES, Step::Again);
        }
        let Some(data) = fields.bytes(bytes as usize) else { return (0, Step::More) };
        self.options += 1;
        let step = if self.options > OPTIONS_MAX {
            Step::Refused("too many options")
        } else {
            self.option(export, stopping, option, data, out)
        };
        (p::OPTION_HEADER_BYTES + bytes as usize, step)
    }

    fn client_flags(&mut self, input: &[u8]) -> (usize, Step) {
        let Some(flags) = Fields(input).u32() else { return (0, Step::More) };
        // Those of the client have the values of the server's that they answer.
        let known = u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        if flags & !known != 0 {
            return (4, Step::Refused("unknown client flags"));
        }
        self.greeted = true;
        self.no_zeroes = flags & u32::from(handshake::NO_ZEROES) != 0;
        (4, Step::Again)
    }

    fn option(&mut self, export: &Export, stopping: bool, option: u32, data: &[u8], out: &mut Vec<u8>) -> Step {
        if option == option::ABORT {
            acknowledge(out, option);
            return Step::Left;
        }
        if stopping {
            if option == option::EXPORT_NAME {
                return Step::Refused("the server is going down");
            }
            refuse(out, option, answer::ERR_SHUTDOWN, "the server is going down");
            return Step::Again;
        }
        match option {
            option::EXPORT_NAME => return self.export_name(export, data, out),
            option::INFO | option::GO => {
                if self.info(export, option, data, out) && option == option::GO {
                    return Step::Go;
                }
            }
            option::LIST if data.is_empty() => {
                let name = export.name.as_bytes();
                let length = (name.len() as u32).to_be_bytes();
                reply(out, option, answer::SERVER, &[&length, name, export.description.as_bytes()]);
                acknowledge(out, option);
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                acknowledge(out, option);
            }
            option::LIST | option::STRUCTURED_REPLY => {
                refuse(out, option, answer::ERR_INVALID, "this option has no data");
            }
            option::STARTTLS => {
                refuse(out, option, answer::ERR_UNSUP, "no TLS here: who may connect is said by the socket's mode");
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(export, option, data, out),
            _ => refuse(out, option, answer::ERR_UNSUP, "unknown option"),
        }
        Step::Again
    }

    fn export_name(&mut self, export: &Export, name: &[u8], out: &mut Vec<u8>) -> Step {
        if !export.is_called(name) {
            return Step::Refused("no such export");
        }
        out.extend(export.bytes.to_be_bytes());
        out.extend(export.flags(self.structured).to_be_bytes());
        if !self.no_zeroes {
            out.extend([0; 124]);
        }
        Step::Go
    }

    /// Answers `INFO` or `GO`; whether the client may have the export.
    fn info(&mut self, export: &Export, option: u32, data: &[u8], out: &mut Vec<u8>) -> bool {
        let mut fields = Fields(data);
        let name = fields.counted().filter(|name| name.len() <= NAME_BYTES_MAX);
        let (Some(name), Some(count)) = (name, fields.u16()) else {
            refuse(out, option, answer::ERR_INVALID, "its length is wrong");
            return false;
        };
        let asked: Vec<u16> = std::iter::from_fn(|| fields.u16()).collect();
        if asked.len() != usize::from(count) || !fields.is_empty() {
            refuse(out, option, answer::ERR_INVALID, "its length is wrong");
            return false;
        }
        if !export.is_called(name) {
            refuse(out, option, answer::ERR_UNKNOWN, "no such export");
            return false;
        }
        let (bytes, flags) = (export.bytes.to_be_bytes(), export.flags(self.structured).to_be_bytes());
        reply(out, option, answer::INFO, &[&info::EXPORT.to_be_bytes(), &bytes, &flags]);
        if asked.contains(&info::NAME) {
            reply(out, option, answer::INFO, &[&info::NAME.to_be_bytes(), export.name.as_bytes()]);
        }
        if asked.contains(&info::DESCRIPTION) && !export.description.is_empty() {
            reply(out, option, answer::INFO, &[&info::DESCRIPTION.to_be_bytes(), export.description.as_bytes()]);
        }
        self.sized = asked.contains(&info::BLOCK_SIZE);
        // Told unasked as well: it binds nobody then, but most clients read it.
        let sizes = [BLOCK_BYTES_MIN, export.preferred_bytes, REQUEST_BYTES_MAX].map(u32::to_be_bytes);
        reply(out, option, answer::INFO, &[&info::BLOCK_SIZE.to_be_bytes(), &sizes[0], &sizes[1], &sizes[2]]);
        acknowledge(out, option);
        true
    }

    fn contexts(&mut self, export: &Export, option: u32, data: &[u8], out: &mut Vec<u8>) {
        let sets = option == option::SET_META_CONTEXT;
        // Whatever comes of it, what was chosen before is chosen no more.
        self.allocation &= !sets;
        if sets && !self.structured {
            return refuse(out, option, answer::ERR_INVALID, "structured replies come first");
        }
        let mut fields = Fields(data);
        let (Some(name), Some(count)) = (fields.counted(), fields.u32()) else {
            return refuse(out, option, answer::ERR_INVALID, "its length is wrong");
        };
        let mut found = count == 0 && !sets;
        for _ in 0..count {
            let Some(query) = fields.counted() else {
                return refuse(out, option, answer::ERR_INVALID, "its length is wrong");
            };
            found |= query == CONTEXT.0.as_bytes() || (!sets && query == b"base:");
        }
        if !fields.is_empty() {
            return refuse(out, option, answer::ERR_INVALID, "its length is wrong");
        }
        if !export.is_called(name) {
            return refuse(out, option, answer::ERR_UNKNOWN, "no such export");
        }
        if found {
            let number = if sets { CONTEXT.1 } else { 0 };
            reply(out, option, answer::META_CONTEXT, &[&number.to_be_bytes(), CONTEXT.0.as_bytes()]);
            self.allocation |= sets;
        }
        acknowledge(out, option);
    }
}

fn reply(out: &mut Vec<u8>, option: u32, kind: u32, parts: &[&[u8]]) {
    out.extend(p::OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((parts.iter().map(|part| part.len()).sum::<usize>() as u32).to_be_bytes());
    for part in parts {
        out.extend(*part);
    }
}

fn acknowledge(out: &mut Vec<u8>, option: u32) {
    reply(out, option, answer::ACK, &[]);
}

fn refuse(out: &mut Vec<u8>, option: u32, error: u32, why: &str) {
    reply(out, option, error, &[why.as_bytes()]);
}
