//! Why a connection could not be made as it was asked for, and what to do about it.

/// One line: what happened, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (hint: {hint})")]
pub struct Cause {
    what: String,
    hint: String,
}

impl Cause {
    /// From the two halves of the line.
    pub(super) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

/// Words from outside are told up to here.
const TOLD_CHARS_MAX: usize = 200;

/// Words from outside, of a bearable length and without signs that act on a terminal.
pub(super) fn told(text: &str) -> String {
    let plain = |sign: char| if sign.is_ascii_graphic() || sign == ' ' { sign } else { '?' };
    text.chars().take(TOLD_CHARS_MAX).map(plain).collect()
}
