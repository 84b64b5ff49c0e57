//! Character sets of clients in which a quote or a backslash can be the second half of a character (MySQL's manual,
//! "mysql_real_escape_string_quote()"). A log has their bytes as the client sent them.

use std::borrow::Cow;

/// What stands in the place of both halves where a text is read: a part of a word, and no sign.
const LETTER: u8 = 0x80;

/// Such a character set, by the bytes that begin a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wide {
    /// GBK, GB18030, Big5.
    Chinese,
    /// Shift JIS: between its two ranges are letters of one byte.
    Japanese,
}

impl Wide {
    /// The one with this name, in capitals; None of any other character set.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "GBK" | "GB18030" | "BIG5" => Some(Self::Chinese),
            "SJIS" | "CP932" => Some(Self::Japanese),
            _ => None,
        }
    }

    fn begins(self, byte: u8) -> bool {
        match self {
            Self::Chinese => matches!(byte, 0x81..=0xfe),
            Self::Japanese => matches!(byte, 0x81..=0x9f | 0xe0..=0xfc),
        }
    }

    /// A text of as many bytes, in which no half of a character looks like a sign. Lines end between characters.
    fn plain(self, text: &[u8]) -> Vec<u8> {
        let mut plain = text.to_vec();
        let mut at = 0;
        while at + 1 < plain.len() {
            if self.begins(plain[at]) && matches!(plain[at + 1], 0x40..=0x7e | 0x80..=0xfe) {
                plain[at..at + 2].fill(LETTER);
                at += 1;
            }
            at += 1;
        }
        plain
    }
}

/// A text as it can be read, in a session with this character set.
pub(crate) fn readable(text: &[u8], wide: Option<Wide>) -> Cow<'_, [u8]> {
    wide.map_or(Cow::Borrowed(text), |wide| Cow::Owned(wide.plain(text)))
}

/// Gives a statement that was read so its own bytes again, `raw`, of which it may lack some at the end.
pub(crate) fn as_sent(sql: &mut Vec<u8>, mut raw: Vec<u8>) {
    if !raw.is_empty() {
        raw.truncate(sql.len());
        *sql = raw;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_of_a_character_is_no_sign() {
        let plain = |text: &[u8], wide| readable(text, Some(wide)).into_owned();
        assert_eq!(plain(b"'\xbf\x5c', '\\''", Wide::Chinese), b"'\x80\x80', '\\''");
        assert_eq!(plain(b"'\x83\x5c\xb1\\''", Wide::Japanese), b"'\x80\x80\xb1\\''", "a letter of one byte");
        assert_eq!(plain(b"a\xbf", Wide::Chinese), b"a\xbf");
        assert_eq!(plain(b"\xbf'", Wide::Chinese), b"\xbf'", "no such character");
        assert_eq!(&*readable(b"\xbf\x5c", None), b"\xbf\x5c");
    }
}
