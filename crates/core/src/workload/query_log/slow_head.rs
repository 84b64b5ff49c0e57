//! The lines before a statement of a slow log.

use super::doubt::{Line, Step};
use super::slow_state::Command;
use super::time::{read_seconds, read_time};

/// Fields with which a line of a head begins; a statement's own comment hardly does.
const FIELDS: [&[u8]; 8] = [
    b"Time:",
    b"User@Host:",
    b"Thread_id:",
    b"Schema:",
    b"Query_time:",
    b"Rows_affected:",
    b"Rows_sent:",
    b"Bytes_sent:",
];
/// What servers log of a command that is no statement.
const COMMAND: &[u8] = b"# administrator command: ";

/// What servers log of a command, which is all of its line; None of another line.
pub(super) fn command_of(line: &[u8]) -> Option<Command> {
    Some(match line.strip_prefix(COMMAND)?.trim_ascii_end().strip_suffix(b";")? {
        b"Quit" => Command::Quit,
        b"Reset Connection" | b"Change user" => Command::Reset,
        _ => Command::Other,
    })
}

/// What lines may be of a head: servers write its lines in one order, and the SET timestamp last.
pub(super) fn step_of(lines: &[Line]) -> Step {
    let mut lines = lines.iter().map(|(line, _)| &line[..]).peekable();
    lines.next_if(|line| read_logged(line).is_some());
    match lines.next() {
        None => return Step::More,
        Some(line) if line.starts_with(b"# User@Host: ") => {}
        Some(_) => return Step::No,
    }
    let mut is_timed = false;
    while let Some(line) = lines.next_if(|line| line.starts_with(b"# ") || line.trim_ascii_end() == b"#") {
        if let Some((_, value)) = fields(line).find(|(name, _)| *name == b"Query_time") {
            is_timed = read_seconds(value).is_some();
        }
    }
    if lines.peek().is_some() && !is_timed {
        return Step::No;
    }
    lines.next_if(|line| line.starts_with(b"use ") && line.trim_ascii_end().ends_with(b";"));
    match lines.next() {
        None => Step::More,
        Some(line) if stamp(line).is_some() => Step::Whole,
        Some(_) => Step::No,
    }
}

/// The time that a whole head tells.
pub(super) fn time_of(head: &[Line]) -> Option<i64> {
    let logged = head.first().and_then(|(line, _)| read_logged(line)).filter(|(_, exact)| *exact);
    logged.map(|(us, _)| us).or_else(|| stamp(&head.last()?.0))
}

fn stamp(line: &[u8]) -> Option<i64> {
    read_set(line.trim_ascii_end().strip_suffix(b";")?)
}

/// Whether a line begins with a field of a head, with whatever value.
pub(super) fn is_field(line: &[u8]) -> bool {
    let rest = line.strip_prefix(b"#").unwrap_or_default().trim_ascii_start();
    FIELDS.iter().any(|name| rest.starts_with(name))
}

/// The time of a `# Time:`, which is all of its line.
pub(super) fn read_logged(line: &[u8]) -> Option<(i64, bool)> {
    let text = line.strip_prefix(b"# Time: ")?.trim_ascii();
    let (at_us, exact, length) = read_time(text)?;
    (length == text.len()).then_some((at_us, exact))
}

/// Whether a line begins an entry. A comment in a statement may look alike, but has no time.
pub(super) fn is_head(line: &[u8]) -> bool {
    read_logged(line).is_some() || line.starts_with(b"# User@Host: ")
}

/// The time of a `SET last_insert_id=1,insert_id=2,timestamp=1700745300`: servers write the first two where the statement
/// used or made such a number (`MYSQL_QUERY_LOG::write` in MySQL's sql/log.cc). None of another text.
pub(super) fn read_set(text: &[u8]) -> Option<i64> {
    let mut rest = text.strip_prefix(b"SET ")?;
    for name in [&b"last_insert_id="[..], b"insert_id="] {
        if let Some(value) = rest.strip_prefix(name) {
            let end = value.iter().position(|byte| *byte == b',')?;
            value[..end].iter().all(u8::is_ascii_digit).then_some(())?;
            rest = &value[end + 1..];
        }
    }
    read_seconds(rest.strip_prefix(b"timestamp=")?)
}

/// What a line tells of the schema, whose name may have spaces: up to the field that MariaDB or Percona Server writes next.
fn schema(line: &[u8]) -> &[u8] {
    let begin = |text: &[u8], wanted: &[u8]| text.windows(wanted.len()).position(|bytes| bytes == wanted);
    let told = begin(line, b"Schema:").map_or(&[][..], |at| &line[at + b"Schema:".len()..]);
    let end = [&b"  QC_hit: "[..], b"  Last_errno: "].iter().filter_map(|next| begin(told, next)).min();
    told[..end.unwrap_or(told.len())].trim_ascii()
}

/// The `Name: value` of a line: names end with a colon, values at white space.
pub(super) fn fields(line: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        if let Some(name) = word.strip_suffix(b":") {
            let next = words.get(place + 1).copied().unwrap_or_default();
            // A field without a value is followed by the next name.
            let value = if next.ends_with(b":") { &[][..] } else { next };
            found.push((name, if name == b"Schema" { schema(line) } else { value }));
        }
    }
    found.into_iter()
}
