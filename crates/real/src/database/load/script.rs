//! Statements of a file as MySQL's clients read it: several lines each, `DELIMITER`, comments. A file of any size is read
//! piece by piece.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// A longer statement does not fit into one packet, with what stands around it.
const STATEMENT_BYTES_MAX: usize = (1 << 24) - 1024;

/// Where the reader is within a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Code,
    /// A string or a name in quotes, by its quote.
    Quotes(u8),
    /// `/* ... */`, whether servers run its inside or not.
    Comment,
    /// To the end of the line.
    Line,
}

/// Reads a file's statements one after the other.
pub(super) struct Script<R> {
    source: R,
    delimiter: Vec<u8>,
    /// What was read and belongs to no statement yet.
    text: Vec<u8>,
    /// Up to here it was looked at.
    seen: usize,
    within: Within,
    /// The line that was read last, from 1 on.
    line: u64,
    /// The line on which the statement begins.
    began: u64,
}

/// A statement, and the line on which it begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) sql: Vec<u8>,
    pub(super) line: u64,
}

impl Script<BufReader<File>> {
    /// Opens a file.
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Self::new(BufReader::new(File::open(path)?)))
    }
}

impl<R: BufRead> Script<R> {
    fn new(source: R) -> Self {
        Self { source, delimiter: b";".into(), text: Vec::new(), seen: 0, within: Within::Code, line: 0, began: 0 }
    }

    /// The next statement; None at the end of the file.
    ///
    /// # Errors
    /// What the system says, or that a statement is too long: with the line.
    pub(super) fn next(&mut self) -> Result<Option<Found>, (u64, String)> {
        loop {
            if let Some(end) = self.find_end() {
                let mut sql: Vec<u8> = self.text.drain(..end + self.delimiter.len()).collect();
                sql.truncate(end);
                self.seen = 0;
                let line = self.began;
                self.began = self.line;
                if !is_blank(&sql) {
                    return Ok(Some(Found { sql, line }));
                }
                continue;
            }
            if self.text.len() > STATEMENT_BYTES_MAX {
                return Err((self.began, "the statement is longer than 16 MiB, which fits into no packet".into()));
            }
            if is_blank(&self.text) && self.within == Within::Code {
                self.text.clear();
                self.seen = 0;
                self.began = self.line + 1;
            }
            let begin = self.text.len();
            // A line without an end is read only as far as a statement may go.
            let mut limited = std::io::Read::take(&mut self.source, 2 * STATEMENT_BYTES_MAX as u64);
            let read = limited.read_until(b'\n', &mut self.text).map_err(|error| (self.line + 1, error.to_string()))?;
            if read == 0 {
                let sql = std::mem::take(&mut self.text);
                self.seen = 0;
                return Ok((!is_blank(&sql)).then_some(Found { sql, line: self.began }));
            }
            self.line += 1;
            if begin == 0 && self.within == Within::Code && self.take_delimiter() {
                self.text.clear();
            }
        }
    }

    /// A line `DELIMITER //` is for the client alone.
    fn take_delimiter(&mut self) -> bool {
        let words: Vec<&[u8]> = self.text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let [command, delimiter] = words[..] else { return false };
        if !command.eq_ignore_ascii_case(b"DELIMITER") {
            return false;
        }
        self.delimiter = delimiter.to_vec();
        true
    }

    /// Where the statement ends in what was read: goes on from where it stopped before.
    fn find_end(&mut self) -> Option<usize> {
        while let Some(&byte) = self.text.get(self.seen) {
            let rest = &self.text[self.seen..];
            let mut step = 1;
            match self.within {
                Within::Code if rest.starts_with(&self.delimiter) => return Some(self.seen),
                Within::Code => match byte {
                    b'\'' | b'"' | b'`' => self.within = Within::Quotes(byte),
                    b'#' => self.within = Within::Line,
                    b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(|next| *next <= b' ') => {
                        self.within = Within::Line;
                    }
                    b'/' if rest.starts_with(b"/*") => {
                        self.within = Within::Comment;
                        step = 2;
                    }
                    _ => {}
                },
                Within::Quotes(quote) if byte == quote => self.within = Within::Code,
                Within::Quotes(quote) if byte == b'\\' && quote != b'`' => step = 2,
                Within::Comment if rest.starts_with(b"*/") => {
                    self.within = Within::Code;
                    step = 2;
                }
                Within::Line if byte == b'\n' => self.within = Within::Code,
                Within::Quotes(_) | Within::Comment | Within::Line => {}
            }
            self.seen += step;
        }
        None
    }
}

/// Whether there is nothing but white space and comments to the end of a line.
fn is_blank(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').all(|line| {
        let line = line.trim_ascii();
        line.is_empty() || line.starts_with(b"#") || line == b"--" || line.starts_with(b"-- ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(text: &[u8]) -> Vec<(String, u64)> {
        let mut script = Script::new(text);
        let mut found = Vec::new();
        while let Some(Found { sql, line }) = script.next().expect("a statement") {
            found.push((String::from_utf8_lossy(&sql).trim().to_owned(), line));
        }
        found
    }

    fn texts(text: &str) -> Vec<String> {
        statements(text.as_bytes()).into_iter().map(|(sql, _)| sql).collect()
    }

    #[test]
    fn semicolons_in_quotes_and_comments_end_nothing() {
        assert_eq!(
            texts("SELECT ';'; SELECT \"a\\\";\";SELECT `;`"),
            ["SELECT ';'", "SELECT \"a\\\";\"", "SELECT `;`"]
        );
        assert_eq!(texts("-- a; b\nSELECT 1 /* ; */;\n# c;\n"), ["SELECT 1 /* ; */"]);
        assert_eq!(texts("/*!40101 SET NAMES utf8 */;\nSELECT 5--;\n"), ["/*!40101 SET NAMES utf8 */", "SELECT 5--"]);
        assert_eq!(texts(";;\n ; "), Vec::<String>::new());
    }

    #[test]
    fn a_delimiter_holds_until_the_next() {
        let text = "DELIMITER ;;\nCREATE PROCEDURE p() BEGIN\n SELECT 1; SELECT 2;\nEND ;;\ndelimiter ;\nSELECT 3;";
        assert_eq!(texts(text), ["CREATE PROCEDURE p() BEGIN\n SELECT 1; SELECT 2;\nEND", "SELECT 3"]);
    }

    #[test]
    fn statements_know_their_lines() {
        let lines: Vec<u64> =
            statements(b"\n-- x\nSELECT\n1;\n\n\nSELECT 2; SELECT 3;\n").into_iter().map(|one| one.1).collect();
        assert_eq!(lines, [3, 7, 7]);
    }

    #[test]
    fn a_statement_without_an_end_is_refused() {
        let mut text = b"SELECT 1;\nINSERT INTO t VALUES ('".to_vec();
        text.resize(STATEMENT_BYTES_MAX + 100, b'x');
        let mut script = Script::new(&text[..]);
        assert!(script.next().is_ok());
        assert_eq!(script.next().expect_err("too long").0, 2);
    }
}
