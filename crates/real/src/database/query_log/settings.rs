//! What a client has set in its session: a connection that was lost is made anew with it.

use flatwater_core::workload::sql::effect;

/// A session with more settings than these keeps the last ones. Clients set a few when they connect.
const KEPT_MAX: usize = 256;

/// The `SET` statements of a session that had effect, each as it was last sent, in this order.
#[derive(Default)]
pub(super) struct Settings(Vec<Vec<u8>>);

impl Settings {
    /// Keeps a statement that a server has run, if it sets something of the session and nothing else.
    pub(super) fn keep(&mut self, sql: &[u8]) {
        if !is_of_session(sql) {
            return;
        }
        let key = variable_of(sql);
        self.0.retain(|kept| variable_of(kept) != key);
        if self.0.len() == KEPT_MAX {
            self.0.remove(0);
        }
        self.0.push(sql.to_vec());
    }

    /// Nothing is set: the session is another one.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }
}

/// Whether it is a SET that reaches no further than the session, and holds longer than the next transaction.
fn is_of_session(sql: &[u8]) -> bool {
    let words: Vec<String> = effect::words_of(sql).take(8).collect();
    let is_level = words.starts_with(&["SET", "SESSION", "TRANSACTION", "ISOLATION"].map(String::from))
        && !words.iter().any(|word| word == "ONLY" || word == "WRITE");
    is_level || (words.first().is_some_and(|word| word == "SET") && effect::reads(sql))
}

/// What a statement sets; the whole statement where that may be several variables, or has no `=`.
fn variable_of(sql: &[u8]) -> &[u8] {
    match sql.iter().position(|byte| *byte == b'=') {
        Some(end) if !sql.contains(&b',') => sql[..end].trim_ascii_end(),
        _ => sql,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(statements: &[&str]) -> Vec<String> {
        let mut settings = Settings::default();
        for sql in statements {
            settings.keep(sql.as_bytes());
        }
        settings.iter().map(|sql| String::from_utf8_lossy(sql).into_owned()).collect()
    }

    #[test]
    fn the_last_value_of_each() {
        let set =
            ["SET autocommit=0", "set names latin1", "SET sql_mode = ''", "SET autocommit = 1", "SET autocommit=0"];
        assert_eq!(kept(&set), ["set names latin1", "SET sql_mode = ''", "SET autocommit=0"]);
        let several =
            ["SET a=1, b=1", "SET a=2", "SET a=1, b=1", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"];
        assert_eq!(kept(&several), [several[1], several[2], several[3]]);
    }

    #[test]
    fn nothing_that_reaches_further() {
        let others = [
            "SET GLOBAL sort_buffer_size = 1",
            "SET @@global.sort_buffer_size = 1",
            "SET PASSWORD = 'x'",
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "SET SESSION TRANSACTION READ ONLY",
            "SET STATEMENT max_statement_time=1 FOR DELETE FROM t",
            "SET @next = NEXTVAL(s)",
            "INSERT INTO t SET a = 1",
            "SELECT 1",
        ];
        assert_eq!(kept(&others), [""; 0]);
    }

    #[test]
    fn a_flood_of_them_takes_no_memory() {
        let flood: Vec<String> = (0..10_000).map(|number| format!("SET @a{number} = 1")).collect();
        let kept = kept(&flood.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((kept.len(), kept.last()), (KEPT_MAX, flood.last()));
    }
}
