//! Rows of a reply: they stay as they were received, and a value is read when it is asked for.

use super::wire::{Reader, column};

/// Rows of the last reply, valid until the next one is read.
#[derive(Debug, Default)]
pub struct Rows {
    /// What was received: the rows lie in it, and after them what was not read yet.
    pub(super) data: Vec<u8>,
    pub(super) spans: Vec<(usize, usize)>,
    pub(super) types: Vec<u8>,
    pub(super) binary: bool,
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.types.len()
    }

    /// A whole number; None for NULL or what is no number. Works for text and binary rows.
    pub fn int(&self, row: usize, column: usize) -> Option<i64> {
        match self.cell(row, column)? {
            Cell::Int(value) => Some(value),
            Cell::Double(value) => Some(value as i64),
            Cell::Bytes(text) => {
                let text = std::str::from_utf8(text).ok()?;
                text.split('.').next()?.parse().ok()
            }
        }
    }

    /// A number (DOUBLE, FLOAT, DECIMAL or whole).
    pub fn double(&self, row: usize, column: usize) -> Option<f64> {
        match self.cell(row, column)? {
            Cell::Int(value) => Some(value as f64),
            Cell::Double(value) => Some(value),
            Cell::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        }
    }

    /// Bytes of a text, decimal or blob column (of any column in a text reply); None for NULL.
    pub fn bytes(&self, row: usize, column: usize) -> Option<&[u8]> {
        match self.cell(row, column)? {
            Cell::Bytes(bytes) => Some(bytes),
            Cell::Int(_) | Cell::Double(_) => None,
        }
    }

    fn cell(&self, row: usize, wanted: usize) -> Option<Cell<'_>> {
        let (start, end) = *self.spans.get(row)?;
        let payload = self.data.get(start..end)?;
        if self.binary { binary_cell(payload, &self.types, wanted) } else { text_cell(payload, wanted) }
    }
}

enum Cell<'a> {
    Int(i64),
    Double(f64),
    Bytes(&'a [u8]),
}

fn text_cell(payload: &[u8], wanted: usize) -> Option<Cell<'_>> {
    let mut reader = Reader(payload);
    for _ in 0..wanted {
        skip_text(&mut reader)?;
    }
    if reader.0.first() == Some(&NULL_TEXT) {
        return None;
    }
    reader.bytes().map(Cell::Bytes)
}

/// In place of a text value's length.
const NULL_TEXT: u8 = 0xfb;

fn skip_text(reader: &mut Reader<'_>) -> Option<()> {
    if reader.0.first() == Some(&NULL_TEXT) {
        reader.byte()?;
    } else {
        reader.bytes()?;
    }
    Some(())
}

fn binary_cell<'a>(payload: &'a [u8], types: &[u8], wanted: usize) -> Option<Cell<'a>> {
    let mut reader = Reader(payload);
    reader.byte()?;
    // The bitmap of a row begins with two bits that mean nothing.
    let nulls = reader.take((types.len() + 2).div_ceil(8))?;
    let is_null = |place: usize| nulls[(place + 2) / 8] >> ((place + 2) % 8) & 1 == 1;
    for (place, kind) in types.iter().enumerate().take(wanted + 1) {
        if is_null(place) {
            if place == wanted {
                return None;
            }
            continue;
        }
        let cell = match *kind {
            column::TINY => Cell::Int(i64::from(reader.byte()? as i8)),
            column::SHORT | column::YEAR => Cell::Int(i64::from(reader.number(2)? as i16)),
            column::LONG | column::INT24 => Cell::Int(i64::from(reader.number(4)? as i32)),
            column::LONGLONG => Cell::Int(reader.number(8)? as i64),
            column::FLOAT => Cell::Double(f64::from(f32::from_bits(reader.number(4)? as u32))),
            column::DOUBLE => Cell::Double(f64::from_bits(reader.number(8)?)),
            column::DATE | column::DATETIME | column::TIMESTAMP | column::TIME => {
                let length = reader.byte()?;
                Cell::Bytes(reader.take(usize::from(length))?)
            }
            _ => Cell::Bytes(reader.bytes()?),
        };
        if place == wanted {
            return Some(cell);
        }
    }
    None
}
