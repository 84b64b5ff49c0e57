//! One statement of the user's: its parameters by name, and the text between them.

use super::effect;
use super::token::{Token, Tokens};

/// A statement that can be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// The text before, between and behind the parameters: one more than there are parameters.
    pub pieces: Vec<String>,
    /// The names of the parameters in the order in which they stand.
    pub parameters: Vec<String>,
    /// Whether it certainly changes no data.
    pub reads: bool,
}

impl Statement {
    /// Reads a statement. A semicolon at its end is left out.
    ///
    /// # Errors
    /// What is wrong with it, and what to do, each in words.
    pub fn read(text: &str) -> Result<Self, (&'static str, &'static str)> {
        let mut own = Self { reads: effect::reads(text.as_bytes()), ..Self::default() };
        let (mut piece, mut ended, mut empty) = (String::new(), false, true);
        for (token, place) in Tokens::new(text.as_bytes()) {
            // Tokens end at ASCII signs: they never cut a character.
            let told = &text[place];
            let is_nothing = token == Token::Nothing;
            if ended && !is_nothing && token != Token::Semicolon {
                return Err(("has several statements", "one statement an entry: the list runs them one by one"));
            }
            match token {
                Token::Open => return Err(("has a string, a name or a comment without an end", "close it")),
                Token::Placeholder => return Err(("has a ?", "parameters have names here, as in :id")),
                Token::Glued => {
                    return Err((
                        "has a parameter inside a name",
                        "a parameter stands for a value: set a space before it",
                    ));
                }
                Token::Semicolon => ended = true,
                Token::Parameter => {
                    own.parameters.push(told[1..].to_owned());
                    own.pieces.push(std::mem::take(&mut piece));
                }
                _ if ended => {}
                _ => piece.push_str(told),
            }
            empty &= is_nothing || token == Token::Semicolon;
        }
        own.pieces.push(piece);
        if empty { Err(("has no statement", "write one, or take it out")) } else { Ok(own) }
    }

    /// Its text with a question mark for each parameter, as servers prepare it.
    pub fn with_placeholders(&self) -> String {
        self.pieces.join("?")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_cut_at_its_parameters() {
        let read =
            Statement::read("UPDATE a SET b = b + :by WHERE c = ':by' AND id=:id; -- done").expect("a statement");
        assert_eq!(read.parameters, ["by", "id"]);
        assert_eq!(read.with_placeholders(), "UPDATE a SET b = b + ? WHERE c = ':by' AND id=?");
        assert!(!read.reads);
        assert_eq!(Statement::read("SELECT 'ü:a', :ä").expect("a statement").parameters, Vec::<String>::new());
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        for (text, told) in [
            ("SELECT 1; SELECT 2", "several statements"),
            ("SELECT 1; :a", "several statements"),
            ("  -- nothing", "no statement"),
            (";;", "no statement"),
            ("SELECT * FROM t WHERE a = ?", "a ?"),
            ("SELECT * FROM sbtest:n", "inside a name"),
            ("SELECT 'a", "without an end"),
        ] {
            let (what, _) = Statement::read(text).expect_err(text);
            assert!(what.contains(told), "{text}: {what}");
        }
        assert!(Statement::read("SELECT '?;', 1 ; ").is_ok());
    }
}
