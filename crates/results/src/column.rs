//! Columns as Arrow lays them out (Arrow's columnar format, 1.5): bits of validity, and buffers of values.

/// The buffer of a column's values; numbers are little-endian.
pub enum Values {
    /// Where each text begins in `text`, and where the last one ends; the texts one after another, UTF-8.
    Text {
        /// Numbers of 32 bits, one more than there are rows.
        offsets: Vec<u8>,
        /// The bytes of all texts.
        text: Vec<u8>,
    },
    /// Whole numbers of 64 bits.
    Whole(Vec<u8>),
    /// Numbers of 64 bits (IEEE 754).
    Real(Vec<u8>),
    /// A bit a row, the lowest of a byte first.
    Yes(Vec<u8>),
}

/// One column: a value or none in each row.
pub struct Column {
    /// How many rows it has.
    pub rows: usize,
    /// A bit a row, the lowest of a byte first: whether there is a value.
    pub valid: Vec<u8>,
    /// The values; what stands where there is none means nothing.
    pub values: Values,
}

impl Column {
    fn new(values: Values) -> Self {
        Self { rows: 0, valid: Vec::new(), values }
    }

    fn end_row(&mut self, is_valid: bool) {
        push_bit(&mut self.valid, self.rows, is_valid);
        self.rows += 1;
    }
}

fn push_bit(bits: &mut Vec<u8>, at: usize, bit: bool) {
    if at.is_multiple_of(8) {
        bits.push(0);
    }
    if let (true, Some(last)) = (bit, bits.last_mut()) {
        *last |= 1 << (at % 8);
    }
}

/// A table: the run of each row, and columns whose types are those of its first row.
#[derive(Default)]
pub struct Table {
    /// The number of each row's run, little-endian, 32 bits.
    pub runs: Vec<u8>,
    /// The other columns; none before the first row.
    pub columns: Vec<Column>,
}

impl Table {
    /// A further row of this run. Its values are given in the order of the columns.
    pub fn row(&mut self, run: i32) -> Row<'_> {
        self.runs.extend_from_slice(&run.to_le_bytes());
        Row { columns: &mut self.columns, next: 0 }
    }
}

/// A row that is being filled from the left.
pub struct Row<'a> {
    columns: &'a mut Vec<Column>,
    next: usize,
}

impl Row<'_> {
    fn column(&mut self, new: fn() -> Values) -> &mut Column {
        if self.next == self.columns.len() {
            self.columns.push(Column::new(new()));
        }
        self.next += 1;
        &mut self.columns[self.next - 1]
    }

    /// A text.
    pub fn text(&mut self, value: Option<&str>) -> &mut Self {
        let column = self.column(|| Values::Text { offsets: vec![0; 4], text: Vec::new() });
        if let Values::Text { offsets, text } = &mut column.values {
            text.extend_from_slice(value.unwrap_or_default().as_bytes());
            let end = i32::try_from(text.len()).expect("a part has less than 2 GiB of text");
            offsets.extend_from_slice(&end.to_le_bytes());
        }
        column.end_row(value.is_some());
        self
    }

    /// A whole number.
    pub fn whole(&mut self, value: Option<i64>) -> &mut Self {
        let column = self.column(|| Values::Whole(Vec::new()));
        if let Values::Whole(values) = &mut column.values {
            values.extend_from_slice(&value.unwrap_or_default().to_le_bytes());
        }
        column.end_row(value.is_some());
        self
    }

    /// A number.
    pub fn real(&mut self, value: Option<f64>) -> &mut Self {
        let column = self.column(|| Values::Real(Vec::new()));
        if let Values::Real(values) = &mut column.values {
            values.extend_from_slice(&value.unwrap_or_default().to_le_bytes());
        }
        column.end_row(value.is_some());
        self
    }

    /// Yes or no.
    pub fn yes(&mut self, value: Option<bool>) -> &mut Self {
        let column = self.column(|| Values::Yes(Vec::new()));
        let at = column.rows;
        if let Values::Yes(bits) = &mut column.values {
            push_bit(bits, at, value.unwrap_or_default());
        }
        column.end_row(value.is_some());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_filled_from_the_left_and_may_lack_values() {
        let mut table = Table::default();
        table.row(3).text(Some("ab")).whole(None).real(Some(0.5)).yes(Some(true));
        table.row(4).text(None).whole(Some(7)).real(None).yes(Some(false));
        for _ in 0..7 {
            table.row(5).text(Some("c")).whole(Some(1)).real(Some(1.0)).yes(Some(true));
        }
        assert_eq!(table.runs[..12], [3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0]);
        let valid: Vec<&[u8]> = table.columns.iter().map(|column| &column.valid[..]).collect();
        assert_eq!(valid, [&[0b1111_1101, 1][..], &[0b1111_1110, 1], &[0b1111_1101, 1], &[0xff, 1]]);
        let Values::Text { offsets, text } = &table.columns[0].values else { panic!("a text") };
        assert_eq!((&offsets[..12], &text[..3]), (&[0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0][..], &b"abc"[..]));
        let Values::Yes(bits) = &table.columns[3].values else { panic!("bits") };
        assert_eq!(bits[..], [0b1111_1101, 1]);
    }
}
