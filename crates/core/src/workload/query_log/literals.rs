//! How the strings of each session are read: which escapes they have, and the character set of its client.

use std::collections::HashMap;

use super::scan::escapes_of;
use crate::workload::sql::token::{Escapes, Token, Tokens};
use crate::workload::sql::wide::Wide;

/// Of the sessions that set it.
#[derive(Clone, Default)]
pub(super) struct Literals {
    escapes: HashMap<u64, Escapes>,
    wide: HashMap<u64, Wide>,
}

impl Literals {
    /// What a SET tells of the session's next statements.
    pub(super) fn note(&mut self, session: u64, sql: &[u8]) {
        self.escapes.extend(escapes_of(sql).map(|escapes| (session, escapes)));
        match wide_of(sql) {
            Some(Some(wide)) => _ = self.wide.insert(session, wide),
            Some(None) => _ = self.wide.remove(&session),
            None => {}
        }
    }

    /// The session has no settings of its own any more.
    pub(super) fn forget(&mut self, session: u64) {
        self.escapes.remove(&session);
        self.wide.remove(&session);
    }

    pub(super) fn escapes(&self, session: u64) -> Option<Escapes> {
        self.escapes.get(&session).copied()
    }

    pub(super) fn wide(&self, session: u64) -> Option<Wide> {
        self.wide.get(&session).copied()
    }
}

/// The character set that a SET names: None where it names none, and Some(None) of one that is not wide.
fn wide_of(sql: &[u8]) -> Option<Option<Wide>> {
    let pieces: Vec<String> = Tokens::new(sql)
        .filter(|(token, _)| matches!(token, Token::Word | Token::Quoted))
        .map(|(_, place)| String::from_utf8_lossy(&sql[place]).to_ascii_uppercase())
        .collect();
    let mut names = pieces.windows(2).filter_map(|pair| {
        let variable = pair[0].trim_start_matches('@');
        let is_named = matches!(variable, "NAMES" | "CHARSET" | "CHARACTER_SET_CLIENT")
            || (variable == "SET" && pieces.iter().any(|piece| piece == "CHARACTER"));
        is_named.then_some(pair[1].trim_matches(['\'', '"']))
    });
    names.next_back().map(Wide::named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_names_it() {
        for (sql, wide) in [
            ("SET NAMES gbk", Some(Some(Wide::Chinese))),
            ("set names 'SJIS' collate sjis_bin", Some(Some(Wide::Japanese))),
            ("SET CHARACTER SET big5", Some(Some(Wide::Chinese))),
            ("SET a = 1, @@session.character_set_client = cp932", Some(Some(Wide::Japanese))),
            ("SET character_set_client = gb18030", Some(Some(Wide::Chinese))),
            ("SET NAMES utf8mb4", Some(None)),
            ("SET @a = 'gbk'", None),
        ] {
            assert_eq!(wide_of(sql.as_bytes()), wide, "{sql}");
        }
    }
}
