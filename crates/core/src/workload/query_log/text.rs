//! The text of a statement of a slow log, line by line, and where it may have ended.

use super::entry::extend;
use super::literals::Literals;
use super::scan::Scan;
use crate::workload::sql::effect;
use crate::workload::sql::token::{Escapes, Token, Tokens, is_open};
use crate::workload::sql::wide::{Wide, readable};

/// What was read of a statement.
#[derive(Clone, Default)]
pub(super) struct Text {
    pub(super) sql: Vec<u8>,
    /// Its bytes, where it is not read as it stands: in a session with such a character set.
    pub(super) raw: Vec<u8>,
    wide: Option<Wide>,
    scan: Scan,
    /// The last line ends with `;`.
    pub(super) ended: bool,
    /// The bytes up to the last such line, and the line behind it.
    pub(super) last_end: Option<(usize, u64)>,
    /// The file ended in the middle of a line.
    pub(super) cut: bool,
    /// Comments behind such a line, and the line of the first: the statement's, or what is left of a head.
    pub(super) held: Vec<u8>,
    pub(super) held_at: u64,
}

impl Text {
    /// Begins, in a session whose strings are read so.
    pub(super) fn begin(&mut self, literals: &Literals, session: u64) {
        (self.scan, self.wide) = (Scan::with(literals.escapes(session)), literals.wide(session));
    }

    /// Adds a line.
    pub(super) fn push(&mut self, line: &[u8], number: u64) {
        self.more(line);
        if self.ended {
            self.last_end = Some((self.sql.len(), number + 1));
        }
    }

    /// Adds a piece of a line.
    pub(super) fn more(&mut self, piece: &[u8]) {
        self.read(piece);
        self.ended = ends(piece);
    }

    fn read(&mut self, piece: &[u8]) {
        let text = readable(piece, self.wide);
        extend(&mut self.sql, &text);
        self.scan.read(&text);
        if self.wide.is_some() {
            extend(&mut self.raw, piece);
        }
    }

    /// Whether the statement may be whole.
    pub(super) fn is_closed(&self) -> bool {
        self.ended && !self.scan.is_open()
    }

    /// Keeps a comment behind a statement that may be whole.
    pub(super) fn hold(&mut self, line: &[u8], number: u64) {
        if self.held.is_empty() {
            self.held_at = number;
        }
        extend(&mut self.held, line);
        if ends(line) {
            self.unhold();
            self.last_end = Some((self.sql.len(), number + 1));
        }
    }

    /// The file ends here; `inside` of a line.
    pub(super) fn end(&mut self, inside: bool) {
        self.cut = self.held.is_empty() && (inside || self.is_cut());
    }

    /// Whether no session can have sent it so.
    pub(super) fn is_cut(&self) -> bool {
        self.scan.is_open() && is_open(&self.sql)
    }

    /// What was held is the statement's.
    pub(super) fn unhold(&mut self) {
        if !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            self.read(&held);
        }
    }

    /// Before a line of a head: what stands behind the end of the statement is what is left of the head's beginning.
    pub(super) fn drop_rest(&mut self) {
        if let Some((length, next)) = self.last_end
            && !self.ended
            && self.held.is_empty()
            && is_whole(&self.sql, length)
        {
            self.sql.truncate(length);
            self.raw.truncate(length);
            self.scan = Scan::default();
            self.ended = true;
            self.held_at = next;
            self.held = b"#".to_vec();
        }
    }
}

/// Whether a line is the last one of a statement, as servers end it.
fn ends(line: &[u8]) -> bool {
    line.trim_ascii_end().ends_with(b";")
}

/// Whether a statement may hold others, each with a `;`: a stored program.
pub(super) fn holds_statements(sql: &[u8]) -> bool {
    matches!(effect::verb(sql).as_str(), "CREATE" | "ALTER" | "BEGIN" | "DECLARE" | "IF" | "FOR" | "WHILE" | "LOOP")
}

/// Whether so much of a text is a statement with its end, and what stands behind it is none of it.
pub(super) fn is_whole(sql: &[u8], length: usize) -> bool {
    ends_statement(&sql[..length]) && !holds_statements(sql)
}

/// Whether a text ends with a `;` that no string and no comment has.
fn ends_statement(text: &[u8]) -> bool {
    !is_open(text) && Tokens::new(text.trim_ascii_end()).last().is_some_and(|(token, _)| token == Token::Semicolon)
}

/// Whether something stands behind the first statement of a text.
pub(super) fn has_several(text: &[u8], escapes: Escapes) -> bool {
    let mut tokens = Tokens::with(text, escapes).map(|(token, _)| token).filter(|token| *token != Token::Nothing);
    tokens.any(|token| token == Token::Semicolon) && tokens.any(|token| token != Token::Semicolon)
}
