//! Values as literals of SQL, where a statement is sent as text.

use std::io::Write as _;

use flatwater_core::workload::sql::draw::Drawn;

/// Appends a value. `backslashes`: the session's strings have escapes (no NO_BACKSLASH_ESCAPES).
pub(super) fn push_literal(sql: &mut Vec<u8>, value: &Drawn, backslashes: bool) {
    // Writing to a Vec cannot fail.
    let _ = match value {
        Drawn::Null | Drawn::Now => write!(sql, "NULL"),
        Drawn::Int(value) => write!(sql, "{value}"),
        // With an exponent it is a DOUBLE to the server, and not a DECIMAL.
        Drawn::Double(value) => write!(sql, "{value:e}"),
        Drawn::Text(text) => {
            sql.push(b'\'');
            for &byte in text {
                if byte == b'\'' || (byte == b'\\' && backslashes) {
                    sql.push(byte);
                }
                sql.push(byte);
            }
            sql.write_all(b"'")
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(value: &Drawn, backslashes: bool) -> String {
        let mut sql = Vec::new();
        push_literal(&mut sql, value, backslashes);
        String::from_utf8(sql).expect("text")
    }

    #[test]
    fn text_cannot_end_its_own_quotes() {
        let text = Drawn::Text(b"it's \\' OR 1".to_vec());
        assert_eq!(literal(&text, true), "'it''s \\\\'' OR 1'");
        assert_eq!(literal(&text, false), "'it''s \\'' OR 1'");
    }

    #[test]
    fn numbers_are_bare() {
        let told = [Drawn::Null, Drawn::Int(-7), Drawn::Double(0.25)].map(|value| literal(&value, true));
        assert_eq!(told, ["NULL", "-7", "2.5e-1"]);
    }
}
