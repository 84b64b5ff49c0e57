//! Whether a text is a statement, and no piece of one.

use super::entry::Entry;
use super::text::{has_several, holds_statements};
use crate::workload::sql::token::{Escapes, Token, Tokens};

/// Whether a text can be one statement, and no piece of one: what was cut and has others behind it is none. `escapes`: of
/// its session, where the log tells them.
pub(super) fn is_sound(entry: &Entry, escapes: Option<Escapes>) -> bool {
    is_statement(entry, escapes, true)
}

/// Whether this is so wherever it was found: the end of what a log was pasted into may stand in a comment of the piece.
pub(super) fn is_sound_alone(entry: &Entry, escapes: Option<Escapes>) -> bool {
    is_statement(entry, escapes, false)
}

fn is_statement(entry: &Entry, escapes: Option<Escapes>, may_comment: bool) -> bool {
    let sql = &entry.sql[..];
    let escapes = escapes.unwrap_or(Escapes::Strings);
    let mut depth = 0;
    for (token, place) in Tokens::with(sql, escapes) {
        let piece = &sql[place.clone()];
        match (token, piece) {
            (Token::Open, _) => return false,
            (Token::Sign, b"(") => depth += 1,
            (Token::Sign, b")") => depth -= 1,
            // Outside of a string there is only \N.
            (Token::Sign, b"\\") if sql.get(place.end) != Some(&b'N') => return false,
            (Token::Nothing, _) if !may_comment && piece.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'`')) => {
                return false;
            }
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0 && (holds_statements(sql) || !has_several(sql, escapes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_no_statement() {
        let sound = |sql: &str| is_sound_alone(&Entry { sql: sql.into(), ..Entry::default() }, None);
        for sql in
            ["SELECT ';', (1)", "SELECT \\N", "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END", "SELECT 1 -- c"]
        {
            assert!(sound(sql), "{sql}");
        }
        for sql in
            ["delete from t;\nthat\\'s it')", "SELECT 'a", "delete from t -- ')", "SELECT 1; SELECT 2", "f\\'x\\'"]
        {
            assert!(!sound(sql), "{sql}");
        }
    }
}
