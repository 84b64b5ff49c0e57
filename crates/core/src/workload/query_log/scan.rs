//! Where a statement that is read line by line stands: in a string, in a comment, in parentheses. As `Tokens` reads it in a
//! session with the server's own escapes, but each byte once: a statement may have megabytes.

use crate::workload::sql::effect;
use crate::workload::sql::token::Escapes;

/// A longer SET is of values.
const SET_BYTES_MAX: usize = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Plain,
    /// In quotes of this kind.
    Quoted(u8),
    /// Behind a backslash in them.
    Escaped(u8),
    Slash,
    Dash,
    DoubleDash,
    Line,
    /// Behind `/*`: a `!` makes it code.
    Begun,
    /// Behind `/*M`.
    BegunM,
    Comment,
    Star,
    /// Behind a `*` in code.
    CodeStar,
}

/// The state behind the bytes that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scan {
    escapes: Option<Escapes>,
    state: State,
    /// Inside of `/*! ... */`.
    executable: bool,
    /// Parentheses that are open.
    depth: i64,
}

impl Scan {
    /// In a session of which the log tells its escapes; None: the server's own.
    pub(super) fn with(escapes: Option<Escapes>) -> Self {
        Self { escapes, ..Self::default() }
    }

    pub(super) fn read(&mut self, text: &[u8]) {
        for &byte in text {
            self.state = self.next(byte);
        }
    }

    /// In a string, a name in quotes or a comment.
    pub(super) fn is_open(self) -> bool {
        matches!(
            self.state,
            State::Quoted(_) | State::Escaped(_) | State::Begun | State::BegunM | State::Comment | State::Star
        )
    }

    /// In one of them or in parentheses.
    pub(super) fn is_unfinished(self) -> bool {
        self.is_open() || self.depth > 0
    }

    fn next(&mut self, byte: u8) -> State {
        match self.state {
            State::Quoted(quote) if byte == quote => State::Plain,
            State::Quoted(quote) if byte == b'\\' && self.escapes.unwrap_or(Escapes::Strings).hold_in(quote) => {
                State::Escaped(quote)
            }
            State::Quoted(quote) | State::Escaped(quote) => State::Quoted(quote),
            State::Slash if byte == b'*' => State::Begun,
            State::Dash if byte == b'-' => State::DoubleDash,
            // Two dashes begin a comment only before white space or a control character.
            State::DoubleDash if byte <= b' ' || byte == 0x7f => {
                if byte == b'\n' {
                    State::Plain
                } else {
                    State::Line
                }
            }
            State::DoubleDash if byte == b'-' => State::DoubleDash,
            State::Line if byte == b'\n' => State::Plain,
            State::Line => State::Line,
            State::Begun if byte == b'M' => State::BegunM,
            State::Begun | State::BegunM if byte == b'!' => {
                self.executable = true;
                State::Plain
            }
            State::Star if byte == b'/' => State::Plain,
            State::Begun | State::BegunM | State::Comment | State::Star => {
                if byte == b'*' {
                    State::Star
                } else {
                    State::Comment
                }
            }
            State::CodeStar if byte == b'/' => {
                self.executable = false;
                State::Plain
            }
            State::Plain | State::Slash | State::Dash | State::DoubleDash | State::CodeStar => self.plain(byte),
        }
    }

    fn plain(&mut self, byte: u8) -> State {
        match byte {
            b'\'' | b'"' | b'`' => State::Quoted(byte),
            b'#' => State::Line,
            b'/' => State::Slash,
            b'-' => State::Dash,
            b'*' if self.executable => State::CodeStar,
            b'(' | b')' => {
                self.depth += if byte == b'(' { 1 } else { -1 };
                State::Plain
            }
            _ => State::Plain,
        }
    }
}

/// The escapes of a session behind a SET of its sql_mode; None of another statement.
pub(super) fn escapes_of(sql: &[u8]) -> Option<Escapes> {
    let is_short = sql.len() < SET_BYTES_MAX;
    let text = if is_short { String::from_utf8_lossy(sql).to_ascii_uppercase() } else { String::new() };
    let value = text.split_once("SQL_MODE").filter(|_| effect::verb(sql) == "SET")?.1;
    Some(match () {
        () if value.contains("NO_BACKSLASH_ESCAPES") => Escapes::Nowhere,
        () if value.contains("ANSI") => Escapes::Apostrophes,
        () => Escapes::Strings,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::workload::sql::token::{Token, Tokens};

    proptest! {
        #[test]
        fn it_reads_as_the_tokens_do(text in "[ab'\"`\\\\#/*! \n\t;()M-]{0,24}") {
            let mut scan = Scan::default();
            scan.read(text.as_bytes());
            let open = Tokens::new(text.as_bytes()).last().is_some_and(|(token, _)| token == Token::Open);
            prop_assert_eq!(scan.is_open(), open, "{}", text);
        }
    }
}
