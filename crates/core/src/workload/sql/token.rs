//! The tokens of a statement, as far as its parameters and its end can be found by them.
//!
//! Strings, names in quotes and comments are passed over, as MySQL 8.0's manual describes them ("Comments", "String
//! Literals"). The inside of `/*! ... */` and MariaDB's `/*M! ... */` is code: servers run it.

/// What a piece of a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// A keyword, a name without quotes, a number, a user variable.
    Word,
    /// `:name`.
    Parameter,
    /// `:name` directly behind a name or a number.
    Glued,
    /// `?`.
    Placeholder,
    /// `;`.
    Semicolon,
    /// A string, or a name in quotes.
    Quoted,
    /// White space, a comment.
    Nothing,
    /// Any other sign.
    Sign,
    /// A string, a name in quotes or a comment that does not end.
    Open,
}

/// In which quotes a backslash takes the next sign's meaning away. It depends on the session's `sql_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escapes {
    /// In both kinds of strings.
    Strings,
    /// In `'...'`: under ANSI_QUOTES `"..."` is a name.
    Apostrophes,
    /// NO_BACKSLASH_ESCAPES.
    Nowhere,
}

impl Escapes {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Strings, Self::Apostrophes, Self::Nowhere];

    pub(crate) fn hold_in(self, quote: u8) -> bool {
        match quote {
            b'\'' => self != Self::Nowhere,
            b'"' => self == Self::Strings,
            _ => false,
        }
    }
}

/// Whether a text ends inside of a string, a name in quotes or a comment, whichever escapes its session has.
pub(crate) fn is_open(text: &[u8]) -> bool {
    let ends_open = |escapes| Tokens::with(text, escapes).last().is_some_and(|(token, _)| token == Token::Open);
    Escapes::ALL.into_iter().all(ends_open)
}

/// Goes through a statement, whatever bytes it has.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    text: &'a [u8],
    escapes: Escapes,
    at: usize,
    /// Inside of `/*! ... */`.
    executable: bool,
}

impl<'a> Tokens<'a> {
    /// The tokens of a text, in a session whose strings have escapes.
    pub fn new(text: &'a [u8]) -> Self {
        Self::with(text, Escapes::Strings)
    }

    /// The tokens of a text.
    pub fn with(text: &'a [u8], escapes: Escapes) -> Self {
        Self { text, escapes, at: 0, executable: false }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Moves behind the next `end`; false if there is none.
    fn skip_to(&mut self, end: &[u8]) -> bool {
        let found = self.text[self.at..].windows(end.len()).position(|bytes| bytes == end);
        self.at = found.map_or(self.text.len(), |place| self.at + place + end.len());
        found.is_some()
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.at < self.text.len() && wanted(self.text[self.at]) {
            self.at += 1;
        }
    }

    fn quoted(&mut self, quote: u8) -> Token {
        self.at += 1;
        while let Some(&byte) = self.text.get(self.at) {
            self.at += 1;
            if byte == quote {
                return Token::Quoted;
            }
            if byte == b'\\' && self.escapes.hold_in(quote) {
                self.at += 1;
            }
        }
        self.at = self.text.len();
        Token::Open
    }

    fn comment(&mut self) -> Token {
        let mark = match (self.byte(2), self.byte(3)) {
            (b'!', _) => 3,
            (b'M', b'!') => 4,
            _ => 0,
        };
        if mark == 0 {
            self.at += 2;
            return if self.skip_to(b"*/") { Token::Nothing } else { Token::Open };
        }
        self.executable = true;
        self.at += mark;
        self.skip_while(|byte| byte.is_ascii_digit());
        Token::Nothing
    }

    fn colon(&mut self) -> Token {
        let follows = self.byte(1);
        let before = self.at.checked_sub(1).map_or(b' ', |at| self.text[at]);
        if before == b':' || !(follows.is_ascii_alphabetic() || follows == b'_') {
            self.at += 1;
            return Token::Sign;
        }
        self.at += 1;
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_word(before) { Token::Glued } else { Token::Parameter }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@') || byte >= 0x80
}

impl Iterator for Tokens<'_> {
    type Item = (Token, std::ops::Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let begin = self.at;
        let &first = self.text.get(begin)?;
        let token = match (first, self.byte(1)) {
            (b'\'' | b'"' | b'`', _) => self.quoted(first),
            (b'/', b'*') => self.comment(),
            (b'*', b'/') if self.executable => {
                self.executable = false;
                self.at += 2;
                Token::Nothing
            }
            (b'#', _) => {
                self.skip_to(b"\n");
                Token::Nothing
            }
            // Two dashes begin a comment only before white space or a control character: `5--3` is 8.
            (b'-', b'-') if self.text.len() == begin + 2 || self.byte(2) <= b' ' || self.byte(2) == 0x7f => {
                self.skip_to(b"\n");
                Token::Nothing
            }
            (b':', _) => self.colon(),
            (byte, _) if byte <= b' ' => {
                self.skip_while(|byte| byte <= b' ');
                Token::Nothing
            }
            (byte, _) if is_word(byte) => {
                self.skip_while(is_word);
                Token::Word
            }
            (sign, _) => {
                self.at += 1;
                match sign {
                    b'?' => Token::Placeholder,
                    b';' => Token::Semicolon,
                    _ => Token::Sign,
                }
            }
        };
        self.at = self.at.min(self.text.len());
        Some((token, begin..self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parameters(text: &str) -> Vec<&str> {
        Tokens::new(text.as_bytes())
            .filter(|(token, _)| matches!(token, Token::Parameter | Token::Glued))
            .map(|(_, place)| &text[place])
            .collect()
    }

    #[test]
    fn what_stands_in_quotes_and_comments_is_no_parameter() {
        for text in [
            "SELECT ':a', \":b\", `:c`",
            "SELECT 'it''s :a', 'it\\'s :b', '\\\\', ':c'",
            "SELECT 1 -- :a",
            "SELECT 1 # :a\n",
            "SELECT /* :a ' */ 1",
            "SELECT @a := 1, 12::3",
        ] {
            assert_eq!(parameters(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn parameters_are_found_beside_them() {
        assert_eq!(parameters("SELECT ':x' AS a, :a+:b_2, 5--:c"), [":a", ":b_2", ":c"]);
        assert_eq!(parameters("SELECT 'a\\'' , :a"), [":a"]);
        assert_eq!(parameters("SELECT /*!50000 :a */ :b /*M!100300 :c */"), [":a", ":b", ":c"]);
        assert_eq!(parameters("SELECT 1 -- it's\n, :a"), [":a"]);
        assert_eq!(Tokens::new(b"sbtest:a").nth(1), Some((Token::Glued, 6..8)));
    }

    #[test]
    fn what_does_not_end_is_told() {
        for text in ["SELECT 'a", "SELECT \"a\\\"", "SELECT `a", "SELECT /* a", "SELECT 'a\\"] {
            assert_eq!(Tokens::new(text.as_bytes()).last().map(|one| one.0), Some(Token::Open), "{text}");
        }
    }

    #[test]
    fn the_mode_of_the_session_says_where_a_string_ends() {
        let quoted = |text: &str, escapes| {
            let tokens = Tokens::with(text.as_bytes(), escapes);
            let quoted: Vec<String> =
                tokens.filter(|(token, _)| *token == Token::Quoted).map(|(_, place)| text[place].to_string()).collect();
            quoted
        };
        let text = r#"SELECT '\' , "\" , 'x', "x""#;
        assert_eq!(quoted(text, Escapes::Nowhere), [r"'\'", r#""\""#, "'x'", r#""x""#]);
        for escapes in [Escapes::Strings, Escapes::Apostrophes] {
            assert_eq!(quoted(text, escapes), [r#"'\' , "\" , '"#]);
        }
        assert_eq!(quoted(r#""\" "a""#, Escapes::Apostrophes), [r#""\""#, r#""a""#]);
    }

    proptest! {
        #[test]
        fn tokens_cover_any_bytes_without_a_gap(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut at = 0;
            for (_, place) in Tokens::new(&text) {
                prop_assert_eq!(place.start, at);
                prop_assert!(place.end > at);
                at = place.end;
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
