//! The text of rows, for LOAD DATA or for INSERT.

/// Which text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A line of LOAD DATA: values apart by tabs, `\N` for NULL.
    Line,
    /// A tuple of INSERT: quotes, commas, parentheses.
    Tuple,
}

/// Builds rows in one growing buffer; no value allocates.
#[derive(Debug)]
pub struct Row {
    form: Form,
    text: Vec<u8>,
    /// Whether the next value is the first of its row.
    first: bool,
}

/// Decimal digits of 00 to 99, two characters each.
const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut n = 0;
    while n < 100 {
        pairs[2 * n] = b'0' + (n / 10) as u8;
        pairs[2 * n + 1] = b'0' + (n % 10) as u8;
        n += 1;
    }
    pairs
};

impl Row {
    /// No rows yet.
    pub fn new(form: Form) -> Self {
        Self { form, text: Vec::new(), first: true }
    }

    /// Adds a whole number.
    #[inline]
    pub fn int(&mut self, value: i64) {
        self.separate();
        self.sign(value);
        self.digits(value.unsigned_abs());
    }

    /// Adds a decimal number: `value` in units of its last place, `places` digits behind the point (at least 1).
    /// -1050 with 2 places is -10.50.
    #[inline]
    pub fn decimal(&mut self, value: i64, places: u32) {
        self.separate();
        self.sign(value);
        let unit = 10_u64.pow(places);
        let value = value.unsigned_abs();
        self.digits(value / unit);
        self.text.push(b'.');
        // One digit more that is always 1 keeps the zeros behind the point; it becomes the point.
        let at = self.text.len() - 1;
        self.digits(value % unit + unit);
        self.text.copy_within(at + 2.., at + 1);
        self.text.truncate(self.text.len() - 1);
    }

    /// Adds text.
    #[inline]
    pub fn text(&mut self, value: &[u8]) {
        self.separate();
        self.quote();
        // Without an early end the compiler looks at many bytes at a time.
        let special = value.iter().fold(false, |any, byte| any | (*byte < b' ') | (*byte == b'\\') | (*byte == b'\''));
        if special {
            self.escape(value);
        } else {
            self.text.extend_from_slice(value);
        }
        self.quote();
    }

    /// Adds a date and time, `2026-01-01 00:00:00`.
    #[inline]
    pub fn datetime(&mut self, value: &str) {
        self.separate();
        self.quote();
        self.text.extend_from_slice(value.as_bytes());
        self.quote();
    }

    /// Adds NULL.
    #[inline]
    pub fn null(&mut self) {
        self.separate();
        let null: &[u8] = match self.form {
            Form::Line => b"\\N",
            Form::Tuple => b"NULL",
        };
        self.text.extend_from_slice(null);
    }

    /// What was built.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// What was built, to be sent.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// Begins a row.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.first = true;
        if self.form == Form::Tuple {
            self.text.push(b'(');
        }
    }

    /// Ends a row.
    #[inline]
    pub(super) fn end(&mut self) {
        match self.form {
            Form::Line => self.text.push(b'\n'),
            Form::Tuple => self.text.extend_from_slice(b"),"),
        }
    }

    #[inline]
    fn separate(&mut self) {
        if self.first {
            self.first = false;
            return;
        }
        self.text.push(match self.form {
            Form::Line => b'\t',
            Form::Tuple => b',',
        });
    }

    #[inline]
    fn quote(&mut self) {
        if self.form == Form::Tuple {
            self.text.push(b'\'');
        }
    }

    #[inline]
    fn sign(&mut self, value: i64) {
        if value < 0 {
            self.text.push(b'-');
        }
    }

    #[inline]
    fn digits(&mut self, mut value: u64) {
        /// Digits of the largest number.
        const DIGITS: usize = 20;
        let mut text = [0; DIGITS];
        let mut at = DIGITS;
        while value >= 100 {
            let pair = 2 * (value % 100) as usize;
            value /= 100;
            at -= 2;
            text[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        }
        if value >= 10 {
            let pair = 2 * value as usize;
            at -= 2;
            text[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        } else {
            at -= 1;
            text[at] = b'0' + value as u8;
        }
        self.text.extend_from_slice(&text[at..]);
    }

    /// What both forms read back as the same bytes: backslash and a letter for what would end a value or a row.
    #[cold]
    fn escape(&mut self, value: &[u8]) {
        for &byte in value {
            let letter = match byte {
                0 => b'0',
                b'\t' => b't',
                b'\n' => b'n',
                b'\r' => b'r',
                0x1a => b'Z',
                b'\\' | b'\'' => byte,
                _ => {
                    self.text.push(byte);
                    continue;
                }
            };
            self.text.extend_from_slice(&[b'\\', letter]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flatwater_core::seed::stream;
    use rand::Rng as _;

    fn built(form: Form, build: impl FnOnce(&mut Row)) -> String {
        let mut row = Row::new(form);
        row.begin();
        build(&mut row);
        row.end();
        String::from_utf8_lossy(row.as_bytes()).into_owned()
    }

    fn everything(row: &mut Row) {
        row.int(-7);
        row.decimal(-1050, 2);
        row.text(b"plain");
        row.null();
        row.datetime("2026-01-01 00:00:00");
        row.decimal(5, 4);
    }

    #[test]
    fn a_line_has_tabs() {
        assert_eq!(built(Form::Line, everything), "-7\t-10.50\tplain\t\\N\t2026-01-01 00:00:00\t0.0005\n");
    }

    #[test]
    fn a_tuple_has_quotes() {
        assert_eq!(built(Form::Tuple, everything), "(-7,-10.50,'plain',NULL,'2026-01-01 00:00:00',0.0005),");
    }

    #[test]
    fn special_characters_are_escaped() {
        let text = b"a\tb\nc\\d'e\0f\rg\x1ah";
        let escaped = "a\\tb\\nc\\\\d\\'e\\0f\\rg\\Zh";
        assert_eq!(built(Form::Line, |row| row.text(text)), format!("{escaped}\n"));
        assert_eq!(built(Form::Tuple, |row| row.text(text)), format!("('{escaped}'),"));
        assert_eq!(built(Form::Line, |row| row.text(b"\\N")), "\\\\N\n", "text that looks like NULL stays text");
    }

    #[test]
    fn rows_follow_each_other() {
        let mut row = Row::new(Form::Tuple);
        for value in 0..2 {
            row.begin();
            row.int(value);
            row.int(value);
            row.end();
        }
        assert_eq!(row.as_bytes(), b"(0,0),(1,1),");
    }

    #[test]
    fn numbers_are_written_as_they_are() {
        let mut rng = stream(1, "rows", 0);
        let drawn = (0..20_000).map(|_| rng.random::<i64>() >> rng.random_range(0..64));
        for value in drawn.chain([0, 9, 10, 99, 100, -1, i64::MIN, i64::MAX]).collect::<Vec<_>>() {
            assert_eq!(built(Form::Line, |row| row.int(value)), format!("{value}\n"));
            let places = rng.random_range(1..6);
            let unit = 10_u64.pow(places);
            let (sign, size) = (if value < 0 { "-" } else { "" }, value.unsigned_abs());
            let expected = format!("{sign}{}.{:0width$}\n", size / unit, size % unit, width = places as usize);
            assert_eq!(built(Form::Line, |row| row.decimal(value, places)), expected, "{places} places");
        }
    }

    #[test]
    fn a_line_reads_back() {
        for seed in 0..2000 {
            let mut rng = stream(seed, "rows", 1);
            let text: Vec<u8> = (0..rng.random_range(0..80)).map(|_| rng.random::<u8>() % 100).collect();
            let mut row = Row::new(Form::Line);
            row.begin();
            row.text(&text);
            row.end();
            let line = row.as_bytes();
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "seed {seed}");
            assert_eq!(read(&line[..line.len() - 1]), text, "seed {seed}");
        }
    }

    /// Reads a value as LOAD DATA does.
    fn read(line: &[u8]) -> Vec<u8> {
        let mut bytes = line.iter();
        let mut back = Vec::new();
        while let Some(&byte) = bytes.next() {
            back.push(match (byte, byte == b'\\') {
                (_, false) => byte,
                (_, true) => match bytes.next().expect("no line ends with a lone backslash") {
                    b'0' => 0,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b'Z' => 0x1a,
                    other => *other,
                },
            });
        }
        back
    }
}
