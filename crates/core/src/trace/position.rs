//! Input with a position: numbered lines of bounded length, and numbered bytes.

use std::io::{self, BufRead, BufReader, Read};

/// A line of a text trace is never longer; binary garbage is.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Bytes that are read from a file at once.
const BUFFER_BYTES: usize = 256 << 10;

/// A problem at the reader's position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong.
    pub what: String,
    /// What to do; may be empty.
    pub hint: &'static str,
}

impl Wrong {
    /// A problem, without advice.
    pub fn new(what: impl Into<String>, hint: &'static str) -> Self {
        Self { what: what.into(), hint }
    }
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Self {
        Self::new(format!("cannot be read: {error}"), "")
    }
}

/// Input with a position.
pub struct Input {
    inner: BufReader<Box<dyn Read + Send>>,
    /// Lines read.
    pub line: u64,
    /// Bytes read.
    pub byte: u64,
    text: Vec<u8>,
}

impl Input {
    /// Starts at the beginning of the input.
    pub fn new(inner: Box<dyn Read + Send>) -> Self {
        Self { inner: BufReader::with_capacity(BUFFER_BYTES, inner), line: 0, byte: 0, text: Vec::new() }
    }

    /// The rest of the input, for a decoder.
    pub fn into_inner(self) -> BufReader<Box<dyn Read + Send>> {
        self.inner
    }

    /// The next bytes, without taking them: at most one buffer.
    pub fn peek(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    /// The next line without its end; None at the end of the input.
    pub fn next_line(&mut self) -> Result<Option<&str>, Wrong> {
        self.text.clear();
        let read = (&mut self.inner).take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut self.text)?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        self.byte += read as u64;
        if read > LINE_BYTES_MAX {
            return Err(Wrong::new(format!("a line longer than {LINE_BYTES_MAX} bytes"), "is this a text trace?"));
        }
        while matches!(self.text.last(), Some(b'\n' | b'\r')) {
            self.text.pop();
        }
        std::str::from_utf8(&self.text)
            .map(Some)
            .map_err(|_| Wrong::new("a line that is not text", "say the format: --format"))
    }

    /// Fills `into` as far as there is input. Returns how many bytes there were.
    pub fn fill(&mut self, into: &mut [u8]) -> Result<usize, Wrong> {
        let mut filled = 0;
        while filled < into.len() {
            match self.inner.read(&mut into[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.byte += filled as u64;
        Ok(filled)
    }
}

/// A whole number in decimal digits, as fields of text traces have it.
pub fn number<T: std::str::FromStr>(field: Option<&str>, name: &str) -> Result<T, Wrong> {
    let text = field.ok_or_else(|| Wrong::new(format!("{name} is missing"), ""))?;
    text.parse().map_err(|_| {
        let shown: String = text.chars().take(40).collect();
        Wrong::new(format!("{name} is {shown:?}, not a whole number in range"), "")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(bytes: &'static [u8]) -> Input {
        Input::new(Box::new(bytes))
    }

    #[test]
    fn lines_are_counted_and_their_ends_taken_off() {
        let mut input = input(b"one\r\ntwo\n\nlast");
        for (expected, at) in [("one", 1), ("two", 2), ("", 3), ("last", 4)] {
            assert_eq!(input.next_line().unwrap(), Some(expected));
            assert_eq!(input.line, at);
        }
        assert_eq!(input.next_line().unwrap(), None);
        assert_eq!(input.byte, 14);
    }

    #[test]
    fn input_that_is_no_text_is_an_error() {
        assert!(input(b"\xff\xfe\n").next_line().unwrap_err().what.contains("not text"));
        let long = Box::leak(vec![b'x'; 1 << 20].into_boxed_slice());
        assert!(input(long).next_line().unwrap_err().what.contains("longer"));
        assert!(number::<u32>(Some("5000000000"), "the size").unwrap_err().what.contains("5000000000"));
        assert!(number::<u32>(None, "the size").unwrap_err().what.contains("missing"));
    }
}
