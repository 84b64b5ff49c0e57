//! A value of a reply's first row, as a later statement gets it.

use flatwater_core::workload::sql::draw::Drawn;

use crate::database::rows::Rows;
use crate::database::wire::column;

/// The value of a column of the first row; NULL if there is no row.
pub(super) fn first_value(rows: &Rows, place: usize) -> Drawn {
    let kind = rows.types.get(place).copied().unwrap_or_default();
    let is_time = matches!(kind, column::DATE | column::DATETIME | column::TIMESTAMP | column::TIME);
    match rows.bytes(0, place) {
        Some(packed) if rows.binary && is_time => time_text(kind, packed).map_or(Drawn::Null, Drawn::Text),
        Some(bytes) => Drawn::Text(bytes.to_vec()),
        None if matches!(kind, column::FLOAT | column::DOUBLE) => {
            rows.double(0, place).map_or(Drawn::Null, Drawn::Double)
        }
        None => rows.int(0, place).map_or(Drawn::Null, Drawn::Int),
    }
}

/// A date or a time of the binary protocol ("Binary Protocol Value" of MySQL's internals manual) as text.
fn time_text(kind: u8, packed: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize, bytes: usize| {
        packed.get(at..at + bytes).map(|some| some.iter().rev().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)))
    };
    let clock = |at: usize| -> Option<String> {
        let mut text = format!("{:02}:{:02}", number(at, 1)?, number(at + 1, 1)?);
        text += &format!(":{:02}", number(at + 2, 1)?);
        if let Some(micros) = number(at + 3, 4) {
            text += &format!(".{micros:06}");
        }
        Some(text)
    };
    let text = if kind == column::TIME {
        if packed.is_empty() {
            "00:00:00".to_owned()
        } else {
            let sign = if number(0, 1)? == 1 { "-" } else { "" };
            let hours = number(1, 4)? * 24 + number(5, 1)?;
            let rest = clock(5)?;
            format!("{sign}{hours:02}{}", &rest[2..])
        }
    } else if packed.is_empty() {
        "0000-00-00".to_owned()
    } else {
        let date = format!("{:04}-{:02}-{:02}", number(0, 2)?, number(2, 1)?, number(3, 1)?);
        if packed.len() >= 7 { format!("{date} {}", clock(4)?) } else { date }
    };
    Some(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: u8, packed: &[u8]) -> String {
        String::from_utf8(time_text(kind, packed).expect("a time")).expect("text")
    }

    #[test]
    fn packed_times_become_text() {
        assert_eq!(told(column::DATE, &[0xea, 0x07, 11, 23]), "2026-11-23");
        assert_eq!(told(column::DATETIME, &[0xea, 0x07, 11, 23, 13, 5, 59]), "2026-11-23 13:05:59");
        assert_eq!(told(column::DATETIME, &[0xea, 0x07, 1, 2, 3, 4, 5, 7, 0, 0, 0]), "2026-01-02 03:04:05.000007");
        assert_eq!(told(column::TIME, &[1, 2, 0, 0, 0, 3, 4, 5]), "-51:04:05");
        assert_eq!(told(column::TIMESTAMP, &[]), "0000-00-00");
        assert_eq!(time_text(column::DATE, &[1]), None);
    }
}
