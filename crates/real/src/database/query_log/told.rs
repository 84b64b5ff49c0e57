//! What a log tells before it is replayed: which one it is, its schemas, its length.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Seek, SeekFrom, Take};
use std::path::Path;

use flatwater_core::workload::query_log::{
    Entry, Format, Forms, Reader, Sendable, Unread, is_digests, is_of_transaction, schema_of_use,
};
use flatwater_core::workload::sql::effect;

/// A log may have any size: so many of its first statements are looked at, and so much of its end. More of the end where
/// less has no statement.
const FIRST_STATEMENTS: usize = 10_000;
const LAST_BYTES: [u64; 2] = [1 << 20, 64 << 20];
/// Schemas of the servers' own: whoever reads them works in another one.
const OF_SERVERS: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// What a log tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Which log it is.
    pub format: Format,
    /// The default schemas of its first and its last statements, without the servers' own.
    pub schemas: BTreeSet<String>,
    /// From its first statement to its last one, microseconds; None where the end has no statement with a time.
    pub length_us: Option<u64>,
}

/// What a log tells.
///
/// # Errors
/// What the system says; that it is no query log, or has no statement that can be sent.
pub fn tell(path: &Path) -> Result<Told, String> {
    if let Some(forms) = forms_of(path)? {
        return match forms.sendable() {
            told if !told.samples => Err("it was observed without samples of statements".into()),
            told if told.sent.count == 0 => Err("none of its statements has a sample that can be sent".into()),
            _ => {
                let schemas = forms.schemas().filter(|schema| is_of_users(schema)).map(str::to_owned).collect();
                Ok(Told { format: Format::Digests, schemas, length_us: Some(forms.length_us()) })
            }
        };
    }
    let mut reader = Reader::new(source(path)?);
    let Some(first) = reader.next_statement()? else { return Err(no_statement(reader.tally().unread)) };
    let format = reader.format().ok_or("it is no query log")?;
    let mut seen = Seen::default();
    let first_us = first.at_us;
    seen.add(first);
    let whole = seen.read(&mut reader, FIRST_STATEMENTS);
    if !whole {
        seen.last_us = None;
        for bytes in LAST_BYTES {
            seen.read_end(path, bytes)?;
            if seen.last_us.is_some() {
                break;
            }
        }
    }
    let length_us = seen.last_us.map(|last_us| u64::try_from(last_us.saturating_sub(first_us)).unwrap_or(0));
    Ok(Told { format, schemas: seen.schemas, length_us })
}

/// What was seen of a log.
#[derive(Default)]
struct Seen {
    schemas: BTreeSet<String>,
    last_us: Option<i64>,
}

impl Seen {
    fn add(&mut self, entry: Entry) {
        self.last_us = self.last_us.max(Some(entry.at_us));
        // A USE beside another schema may have failed.
        if entry.schema.is_none() {
            self.schemas.extend(schema_of_use(&entry.sql).filter(|schema| is_of_users(schema)));
        }
        self.schemas.extend(entry.schema.filter(|schema| is_of_users(schema)));
    }

    /// Reads so many statements; whether the log has no more. What cannot be read is for the replay to tell.
    fn read(&mut self, reader: &mut Reader<impl BufRead>, statements: usize) -> bool {
        for _ in 0..statements {
            match reader.next_statement() {
                Ok(Some(entry)) => self.add(entry),
                Ok(None) | Err(_) => return true,
            }
        }
        false
    }

    /// Reads the last bytes of a log, from a whole line on.
    fn read_end(&mut self, path: &Path, bytes: u64) -> Result<(), String> {
        let told = |error: std::io::Error| error.to_string();
        let mut source = source(path)?;
        let from = source.seek(SeekFrom::End(0)).map_err(told)?.saturating_sub(bytes);
        source.seek(SeekFrom::Start(from)).map_err(told)?;
        if from > 0 {
            source.skip_until(b'\n').map_err(told)?;
        }
        self.read(&mut Reader::new(source), usize::MAX);
        Ok(())
    }
}

/// Where a log that does not tell connections has the first statement of a transaction, if its statements write, too: as
/// the transactions of each user would be mixed, what was rolled back could be committed. None of another log.
///
/// # Errors
/// What the system says; that it is no query log.
pub fn mixing(path: &Path) -> Result<Option<(u64, String)>, String> {
    let mut reader = open(path)?;
    let (mut first, mut writes) = (None, false);
    while let Some(entry) = reader.next_statement()? {
        // A log tells them all, or none.
        if !reader.tally().notes.nameless {
            break;
        }
        let is_of_transaction = is_of_transaction(&entry.sql);
        writes |= !is_of_transaction && !effect::reads(&entry.sql);
        if is_of_transaction && first.is_none() {
            first = Some((entry.line, effect::verb(&entry.sql)));
        }
        if writes && first.is_some() {
            return Ok(first);
        }
    }
    Ok(None)
}

fn no_statement(unread: Unread) -> String {
    match unread.first {
        Some((line, what)) => format!("there is no statement in it that can be read; line {line}: {what}"),
        None => "there is no statement in it".into(),
    }
}

fn is_of_users(schema: &str) -> bool {
    !OF_SERVERS.contains(&schema.to_ascii_lowercase().as_str())
}

/// What of a record of digests can be sent; None of another log.
///
/// # Errors
/// What the system says.
pub fn sendable_of(path: &Path) -> Result<Option<Sendable>, String> {
    Ok(forms_of(path)?.map(|forms| forms.sendable()))
}

/// A log up to the end that it has when it is opened: a server may be writing it, and this may be the one that it is
/// replayed on.
pub(super) type Source = Take<BufReader<File>>;

/// The statements of a log, whichever it is.
pub(super) fn open(path: &Path) -> Result<Reader<Source>, String> {
    let source = source(path)?;
    let length = source.get_ref().metadata().map_err(|error| error.to_string())?.len();
    let source = source.take(length);
    Ok(match forms_of(path)? {
        Some(forms) => Reader::of_digests(source, forms),
        None => Reader::new(source),
    })
}

/// What files of gzip, bzip2, xz and zstd begin with.
const PACKED: [&[u8]; 4] = [&[0x1f, 0x8b], b"BZh", &[0xfd, b'7', b'z', b'X', b'Z'], &[0x28, 0xb5, 0x2f, 0xfd]];

fn forms_of(path: &Path) -> Result<Option<Forms>, String> {
    let mut source = source(path)?;
    let begins = source.fill_buf().map_err(|error| error.to_string())?;
    if PACKED.iter().any(|magic| begins.starts_with(magic)) {
        return Err("it is packed: unpack it first".into());
    }
    if is_digests(begins) { Forms::gather(source).map(Some) } else { Ok(None) }
}

fn source(path: &Path) -> Result<BufReader<File>, String> {
    Ok(BufReader::with_capacity(1 << 20, File::open(path).map_err(|error| error.to_string())?))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::Write as _;

    use super::*;

    fn tell_text(text: &str) -> Result<Told, String> {
        let mut log = tempfile::NamedTempFile::new().expect("a temporary file");
        log.write_all(text.as_bytes()).expect("a temporary file");
        tell(log.path())
    }

    #[test]
    fn a_small_log_is_read_as_a_whole() {
        let told = tell_text(
            "261126 11:00:00\t  3 Connect\ta@b on shop\n\t\t  3 Query\tSELECT 1\n\
             261126 11:01:00\t  3 Init DB\tmysql\n\t\t  3 Query\tSELECT 2\n261126 11:01:30\t  3 Quit\t\n",
        )
        .expect("a log");
        assert_eq!((told.format, told.length_us), (Format::General, Some(60_000_000)));
        assert_eq!(told.schemas, BTreeSet::from(["shop".to_owned()]));
    }

    #[test]
    fn of_a_large_one_the_beginning_and_the_end() {
        let mut text = String::from("261126 10:00:00\t  3 Connect\ta@b on shop\n");
        for number in 0..40_000 {
            let (minute, second) = (number / 60 % 60, number % 60);
            let hour = 10 + number / 3600;
            writeln!(text, "261126 {hour}:{minute:02}:{second:02}\t  3 Query\tSELECT '{number:050}'").expect("memory");
        }
        text += "261126 23:00:00\t  4 Connect\ta@b on other\n\t\t  4 Query\tSELECT 1\n";
        let told = tell_text(&text).expect("a log");
        assert_eq!(told.length_us, Some(13 * 3600 * 1_000_000));
        assert_eq!(told.schemas, BTreeSet::from(["other".to_owned(), "shop".to_owned()]));
    }

    /// As MySQL 5.5 and, with the numbers of connections, MySQL 5.6 write it.
    fn slow(statements: &[&str], id: &str) -> tempfile::NamedTempFile {
        let mut log = tempfile::NamedTempFile::new().expect("a temporary file");
        for sql in statements {
            let head = format!("# User@Host: a[a] @ localhost []{id}\n# Query_time: 0.1  Lock_time: 0.0\n");
            write!(log, "{head}SET timestamp=1796001001;\n{sql};\n").expect("a temporary file");
        }
        log
    }

    #[test]
    fn transactions_of_connections_that_are_not_told_mix() {
        let (writes, reads) = (["SELECT 1", "BEGIN", "INSERT INTO t VALUES (1)"], ["BEGIN", "SELECT 1", "COMMIT"]);
        assert_eq!(mixing(slow(&writes, "").path()), Ok(Some((5, "BEGIN".into()))));
        assert_eq!(mixing(slow(&writes, "  Id:     7").path()), Ok(None));
        assert_eq!(mixing(slow(&reads, "").path()), Ok(None), "nothing is changed");
        assert_eq!(mixing(slow(&writes[2..], "").path()), Ok(None), "each is its own transaction");
    }

    #[test]
    fn what_is_written_meanwhile_is_not_of_the_log() {
        let mut log = slow(&["SELECT 1"], "");
        let mut reader = open(log.path()).expect("a log");
        let text = std::fs::read(log.path()).expect("a log");
        log.write_all(&text).expect("a temporary file");
        assert!(reader.next_statement().expect("a log").is_some());
        assert_eq!(reader.next_statement(), Ok(None));
    }

    #[test]
    fn what_is_packed_is_told() {
        let mut log = tempfile::NamedTempFile::new().expect("a temporary file");
        log.write_all(&[0x1f, 0x8b, 8, 0]).expect("a temporary file");
        assert_eq!(tell(log.path()), Err("it is packed: unpack it first".into()));
    }

    #[test]
    fn what_has_no_statement_is_told() {
        assert_eq!(tell_text("261126 11:00:00\t  3 Quit\t\n"), Err("there is no statement in it".into()));
        let cut = tell_text("# Time: 261126 11:00:00\n# User@Host: a[a] @ localhost []\nSET timestamp=5;\nSELECT");
        assert_eq!(cut, Err("there is no statement in it that can be read; line 1: it has no end".into()));
    }
}
