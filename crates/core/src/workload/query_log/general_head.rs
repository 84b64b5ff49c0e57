//! The first line of an entry of a general log.

use super::time::{digits, read_time};

/// A time, a connection's number, with their white space: so long a line's beginning may be.
const BEGINNING_BYTES_MAX: usize = 48;

/// Commands of the protocol as servers name them (`Command::Info` in MySQL's sources): a line begins an entry only with one
/// of them, because the lines of a statement may look alike.
const COMMANDS: [&[u8]; 36] = [
    b"Sleep",
    b"Quit",
    b"Init DB",
    b"Query",
    b"Field List",
    b"Create DB",
    b"Drop DB",
    b"Refresh",
    b"Shutdown",
    b"Statistics",
    b"Processlist",
    b"Connect",
    b"Kill",
    b"Debug",
    b"Ping",
    b"Time",
    b"Delayed insert",
    b"Change user",
    b"Binlog Dump",
    b"Table Dump",
    b"Connect Out",
    b"Register Slave",
    b"Register Replica",
    b"Prepare",
    b"Execute",
    b"Long Data",
    b"Close stmt",
    b"Reset stmt",
    b"Set option",
    b"Fetch",
    b"Daemon",
    b"Binlog Dump GTID",
    b"Reset Connection",
    b"Bulk_execute",
    b"clone",
    b"Error",
];

/// What an entry's first line says.
pub(super) struct Head<'a> {
    pub(super) at_us: Option<i64>,
    /// The time has parts of a second.
    pub(super) is_exact: bool,
    pub(super) session: u64,
    /// Its number stands as servers write it, and a tab behind the command.
    pub(super) is_padded: bool,
    pub(super) command: &'a [u8],
    pub(super) argument: &'a [u8],
}

/// Whether a line looks like the first one of an entry.
pub(super) fn is_head(line: &[u8]) -> bool {
    read_head(line).is_some()
}

/// `user@host on schema using Socket`, or `user@host as account on schema` (a change of the user).
pub(super) fn schema_of(argument: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(argument);
    // A user's name may have an ` on `, too.
    let behind = text.split_once('@').map_or(&*text, |(_, behind)| behind).split_once(" on ")?.1;
    let schema = behind.split(" using ").next()?.trim();
    (!schema.is_empty()).then(|| schema.to_owned())
}

/// What of a line cannot be read that has the form of an entry's first one; None of a line of a statement.
pub(super) fn why_no_head(line: &[u8]) -> Option<&'static str> {
    if line.first() == Some(&0) {
        return Some("zero bytes");
    }
    let is_time = |time: &[u8]| read_time(time).is_some_and(|(_, _, length)| length == time.len());
    let begins_with_id = |rest: &[u8]| rest.first().is_some_and(u8::is_ascii_digit);
    let tab = line.iter().take(BEGINNING_BYTES_MAX).position(|byte| matches!(byte, b'\t' | b'\r' | b'\n'))?;
    let (time, rest) = (&line[..tab], line[tab..].trim_ascii_start());
    // `7 Query` and a tab, or the end of the line.
    let named = COMMANDS.iter().find_map(|command| {
        let at = rest.iter().take(BEGINNING_BYTES_MAX).position(|byte| *byte == b' ')?;
        let behind = rest[at + 1..].strip_prefix(*command)?;
        matches!(behind.first(), None | Some(b'\t' | b'\r' | b'\n')).then_some(&rest[..at])
    });
    match named {
        _ if time.is_empty() && !line.starts_with(b"\t\t") => None,
        Some(id) if digits(id).is_none() => Some("the connection's number"),
        Some(_) => Some("the time of an entry"),
        // No line of a statement begins with a time, a tab and a number.
        None if is_time(time) && (rest.is_empty() || begins_with_id(rest)) => Some("the command of an entry"),
        None => None,
    }
}

pub(super) fn read_head(line: &[u8]) -> Option<Head<'_>> {
    let (at_us, is_exact, rest) = match read_time(line) {
        Some((at_us, is_exact, length)) => (Some(at_us), is_exact, &line[length..]),
        None if line.starts_with(b"\t\t") => (None, false, line),
        None => return None,
    };
    let padded = rest.trim_ascii_start();
    let blanks = rest.iter().rev().skip(padded.len()).take_while(|byte| **byte == b' ').count();
    let rest = padded;
    let place = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    let session = digits(&rest[..place])?.unsigned_abs();
    let rest = rest[place..].strip_prefix(b" ")?;
    let end = rest.iter().position(|byte| matches!(byte, b'\t' | b'\n')).unwrap_or(rest.len());
    let command = rest[..end].trim_ascii();
    let argument = rest.get(end + 1..).unwrap_or_default();
    let is_padded = blanks + place >= 5 && rest.get(end) == Some(&b'\t');
    COMMANDS.contains(&command).then_some(Head { at_us, is_exact, session, is_padded, command, argument })
}
