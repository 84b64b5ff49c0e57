//! What a client has set in its session: a connection that was lost is made anew with it.
//!
//! Only what has the same value whenever it is sent is kept: words, numbers, strings, and what is made of the server's own
//! variables. What was computed (`SET @id = LAST_INSERT_ID()`) is lost with its connection.

use std::ops::Range;

use flatwater_core::workload::sql::effect;
use flatwater_core::workload::sql::token::{Token, Tokens};

/// User variables of a session that are kept, and variables at all; of more, the last ones.
const USERS_MAX: usize = 256;
const KEPT_MAX: usize = 1024;
/// Values of one variable, each made of the one before.
const SAME_MAX: usize = 8;
/// Servers from 5.5.3 on run what is in comments for it and before: mysqldump writes SET NAMES utf8mb4 so. Older ones are
/// few, and refuse that character set.
const RUN_BY_ALL: u32 = 50_503;
/// What SET sets for the next statement or the next transaction, or not in the session alone.
const NOT_KEPT: [&str; 7] =
    ["INSERT_ID", "LAST_INSERT_ID", "IDENTITY", "RAND_SEED1", "RAND_SEED2", "GTID_NEXT", "PASSWORD"];
/// Behind `@@` and without a scope, these hold for the next transaction only.
const OF_NEXT_TRANSACTION: [&str; 4] =
    ["TX_ISOLATION", "TRANSACTION_ISOLATION", "TX_READ_ONLY", "TRANSACTION_READ_ONLY"];
/// Whether transactions may write: it is only ever sent again that they may not.
const ACCESS: &str = "TRANSACTION ACCESS";
/// Variables of what was run last, and words for the time.
const OF_STATEMENTS: [&str; 4] = ["IDENTITY", "INSERT_ID", "_COUNT", "TIMESTAMP"];
const CLOCKS: [&str; 4] = ["CURRENT_", "LOCALTIME", "UTC_", "SYSDATE"];
/// Functions that make a value of others, and nothing else.
const PURE: [&str; 4] = ["CONCAT", "CONCAT_WS", "REPLACE", "TRIM"];

/// What a session has set, as it is sent again, in this order.
#[derive(Default)]
pub(super) struct Settings(Vec<Setting>);

struct Setting {
    /// The variable, in capitals.
    name: String,
    sql: Vec<u8>,
}

impl Settings {
    /// Notes a statement that was run, if it is a SET of the session.
    pub(super) fn note(&mut self, sql: &[u8]) {
        for (name, found) in assignments(sql) {
            // A value of the server's variables may be made of the one before.
            if !found.as_ref().is_some_and(|sql| sql.windows(2).any(|pair| pair == b"@@")) {
                self.0.retain(|kept| kept.name != name);
            }
            if let Some(sql) = found {
                let same = self.0.iter().filter(|kept| kept.name == name).count();
                if same == SAME_MAX {
                    let oldest = self.0.iter().position(|kept| kept.name == name).expect("there are some");
                    self.0.remove(oldest);
                }
                self.0.push(Setting { name, sql });
            }
        }
        let is_users = |kept: &Setting| kept.name.starts_with('@');
        let mut surplus = self.0.iter().filter(|kept| is_users(kept)).count().saturating_sub(USERS_MAX);
        self.0.retain(|kept| {
            let is_old = surplus > 0 && is_users(kept);
            surplus -= usize::from(is_old);
            !is_old
        });
        let surplus = self.0.len().saturating_sub(KEPT_MAX);
        self.0.drain(..surplus);
    }

    /// Nothing is set: the session is another one.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|kept| kept.sql.as_slice())
    }
}

/// The pieces of a statement that have a meaning.
struct Pieces<'a> {
    sql: &'a [u8],
    pieces: Vec<(Token, Range<usize>)>,
}

impl<'a> Pieces<'a> {
    fn of(sql: &'a [u8]) -> Self {
        let mut pieces: Vec<_> = Tokens::new(sql).filter(|(token, _)| *token != Token::Nothing).collect();
        while pieces.last().is_some_and(|(token, _)| *token == Token::Semicolon) {
            pieces.pop();
        }
        Self { sql, pieces }
    }

    fn text(&self, place: usize) -> &'a [u8] {
        self.pieces.get(place).map_or(b"", |(_, range)| &self.sql[range.clone()])
    }

    /// A word in capitals, without its backticks.
    fn word(&self, place: usize) -> String {
        let text = self.text(place);
        let bare = text.strip_prefix(b"`").and_then(|rest| rest.strip_suffix(b"`")).unwrap_or(text);
        String::from_utf8_lossy(bare).to_ascii_uppercase()
    }

    /// From the first of some pieces to the last, as it was written.
    fn whole(&self, places: Range<usize>) -> &'a [u8] {
        if places.is_empty() {
            b""
        } else {
            &self.sql[self.pieces[places.start].1.start..self.pieces[places.end - 1].1.end]
        }
    }

    /// From the piece `first` on: the ranges between the commas that are in no brackets.
    fn parts(&self, first: usize) -> Vec<Range<usize>> {
        let (mut found, mut begin, mut depth) = (Vec::new(), first, 0_i32);
        for place in first..self.pieces.len() {
            match self.text(place) {
                b"(" => depth += 1,
                b")" => depth -= 1,
                b"," if depth == 0 => {
                    found.push(begin..place);
                    begin = place + 1;
                }
                _ => {}
            }
        }
        found.push(begin..self.pieces.len());
        found
    }

    /// Whether a value is the same whenever it is asked for.
    fn is_constant(&self, places: Range<usize>) -> bool {
        let is_alone = places.len() == 1;
        !places.is_empty()
            && places.clone().all(|place| match self.pieces[place].0 {
                // In backticks is a name.
                Token::Quoted => self.text(place)[0] != b'`' || (place > places.start && self.text(place - 1) == b"."),
                Token::Word => {
                    let word = self.word(place);
                    let is_number = word.starts_with(|first: char| first.is_ascii_digit());
                    let is_call = self.text(place + 1) == b"(" && place + 1 < places.end;
                    let behind_point = place > places.start && self.text(place - 1) == b".";
                    let of_server = (word.starts_with("@@") || behind_point)
                        && !OF_STATEMENTS.iter().any(|own| word.ends_with(own));
                    let is_clock = CLOCKS.iter().any(|clock| word.starts_with(clock));
                    // X'4D', _utf8'a'.
                    let is_kind = matches!(self.text(place + 1).first(), Some(b'\'' | b'"'));
                    is_number
                        || of_server
                        || (!word.starts_with('@') && !is_clock && (is_alone || is_kind))
                        || (is_call && PURE.contains(&word.as_str()))
                }
                Token::Sign => matches!(self.text(place), b"(" | b")" | b"," | b"." | b"-" | b"+"),
                _ => false,
            })
    }
}

/// The variables of the session that a statement sets, each with a SET of its own; without one if its value was computed.
fn assignments(sql: &[u8]) -> Vec<(String, Option<Vec<u8>>)> {
    // Most statements are others, and may be long.
    if effect::verb(sql) != "SET" || !is_run_by_all(sql) {
        return Vec::new();
    }
    let pieces = Pieces::of(sql);
    match (pieces.word(1).as_str(), pieces.word(2).as_str()) {
        ("SESSION" | "LOCAL", "TRANSACTION") => {
            return pieces.parts(3).into_iter().map(|part| characteristic(&pieces, part)).collect();
        }
        // Its words are names.
        ("ROLE", _) => {
            let names = pieces.whole(2..pieces.pieces.len());
            return vec![("ROLE".into(), Some([b"SET ROLE ", names].concat()))];
        }
        ("TRANSACTION" | "PASSWORD" | "STATEMENT" | "RESOURCE", _) | ("DEFAULT", "ROLE") => return Vec::new(),
        _ => {}
    }
    let mut of_session = true;
    pieces.parts(1).into_iter().filter_map(|part| assignment(&pieces, part, &mut of_session)).collect()
}

/// One of the characteristics of a session's transactions: their isolation level, or whether they may write.
fn characteristic(pieces: &Pieces, part: Range<usize>) -> (String, Option<Vec<u8>>) {
    let is_access = pieces.word(part.start) == "READ";
    let is_kept = !is_access || pieces.word(part.start + 1) == "ONLY";
    let name = if is_access { ACCESS } else { "TRANSACTION ISOLATION" };
    (name.into(), is_kept.then(|| [b"SET SESSION TRANSACTION ", pieces.whole(part)].concat()))
}

/// Whether each server runs all of a statement: of others, nobody knows here what was run.
fn is_run_by_all(sql: &[u8]) -> bool {
    let mut rest = sql;
    while let Some(at) = rest.windows(3).position(|bytes| bytes == b"/*!" || bytes == b"/*M") {
        let digits = rest[at + 3..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let version = std::str::from_utf8(&rest[at + 3..at + 3 + digits]).unwrap_or_default().parse().unwrap_or(0);
        if rest[at + 2] == b'M' || version > RUN_BY_ALL {
            return false;
        }
        rest = &rest[at + 3..];
    }
    true
}

/// One of several assignments. A scope without `@@` holds for those behind it, too.
fn assignment(pieces: &Pieces, part: Range<usize>, of_session: &mut bool) -> Option<(String, Option<Vec<u8>>)> {
    if matches!(
        (pieces.word(part.start).as_str(), pieces.word(part.start + 1).as_str()),
        ("NAMES" | "CHARSET", _) | ("CHARACTER", "SET")
    ) {
        let words: Vec<&[u8]> = part.map(|place| pieces.text(place)).collect();
        return Some(("NAMES".into(), Some([&b"SET "[..], &words.join(&b' ')].concat())));
    }
    let equals = part.clone().find(|place| pieces.text(*place) == b"=")?;
    let end = if pieces.text(equals - 1) == b":" { equals - 1 } else { equals };
    let mut begin = part.start;
    match pieces.word(begin).as_str() {
        "GLOBAL" | "PERSIST" | "PERSIST_ONLY" => *of_session = false,
        "SESSION" | "LOCAL" => {
            *of_session = true;
            begin += 1;
        }
        _ => {}
    }
    let value = equals + 1..part.end;
    let first = pieces.word(begin);
    let is_users = first.starts_with('@') && !first.starts_with("@@");
    let mut name: String = (begin..end).map(|place| pieces.word(place)).collect();
    if is_users {
        let set = [b"SET ", pieces.whole(begin..end), b" = ", pieces.whole(value.clone())].concat();
        return Some((name, pieces.is_constant(value).then_some(set)));
    }
    let has_scope = begin > part.start || name.starts_with("@@SESSION.") || name.starts_with("@@LOCAL.");
    let is_own = if let Some(bare) = name.strip_prefix("@@") {
        let own = !["GLOBAL.", "PERSIST.", "PERSIST_ONLY."].iter().any(|scope| bare.starts_with(scope));
        let bare = bare.strip_prefix("SESSION.").or(bare.strip_prefix("LOCAL.")).unwrap_or(bare).to_owned();
        let is_next = !has_scope && OF_NEXT_TRANSACTION.contains(&bare.as_str());
        name = bare;
        own && !is_next
    } else {
        *of_session
    };
    if !is_own || NOT_KEPT.contains(&name.as_str()) || name.is_empty() {
        return None;
    }
    let set = [b"SET SESSION ", name.to_ascii_lowercase().as_bytes(), b" = ", pieces.whole(value.clone())].concat();
    if ["TX_READ_ONLY", "TRANSACTION_READ_ONLY"].contains(&name.as_str()) {
        let is_on = value.len() == 1 && matches!(pieces.word(value.start).as_str(), "1" | "ON" | "TRUE");
        return Some((ACCESS.into(), is_on.then_some(set)));
    }
    Some((name, pieces.is_constant(value).then_some(set)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(statements: &[&str]) -> Vec<String> {
        let mut settings = Settings::default();
        for sql in statements {
            settings.note(sql.as_bytes());
        }
        settings.iter().map(|sql| String::from_utf8_lossy(sql).into_owned()).collect()
    }

    #[test]
    fn the_last_value_of_each() {
        let set = ["SET autocommit=0", "set names latin1", "SET sql_mode = ''", "SET autocommit = 1", "SET NAMES gbk;"];
        assert_eq!(kept(&set), ["SET SESSION sql_mode = ''", "SET SESSION autocommit = 1", "SET NAMES gbk"]);
        let commented = ["/*a=b*/ SET autocommit=0", "/*a=b*/ SET `sql_mode`=''", "/*!40101 SET @@session.`x` := 5 */"];
        assert_eq!(kept(&commented), ["SET SESSION autocommit = 0", "SET SESSION sql_mode = ''", "SET SESSION x = 5"]);
        let level = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
        assert_eq!(
            kept(&["SET a=1, @b = 'x,=y', local c=-2", level]),
            ["SET SESSION a = 1", "SET @b = 'x,=y'", "SET SESSION c = -2", level]
        );
    }

    #[test]
    fn transactions_that_may_not_write() {
        let both = ["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY;"];
        let apart = ["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET SESSION TRANSACTION READ ONLY"];
        assert_eq!((kept(&both), kept(&apart)), (apart.map(String::from).to_vec(), apart.map(String::from).to_vec()));
        let variable = "SET SESSION tx_read_only = ON";
        assert_eq!(kept(&["SET SESSION TRANSACTION READ ONLY", variable]), [variable]);
        for again in
            ["SET LOCAL TRANSACTION READ WRITE", "SET @@session.transaction_read_only = 0", "SET tx_read_only=@x"]
        {
            assert_eq!(kept(&[both[0], again]), apart[..1], "{again}");
        }
    }

    #[test]
    fn the_last_role() {
        let roles = ["SET ROLE reader", "set role 'a'@'%', `b`;"];
        assert_eq!(kept(&roles), ["SET ROLE 'a'@'%', `b`"]);
        assert_eq!(kept(&["SET DEFAULT ROLE reader TO me"]), [""; 0]);
    }

    #[test]
    fn what_is_made_of_the_servers_variables() {
        let set = ["SET sql_mode=CONCAT(@@sql_mode, ',A')", "SET sql_mode=CONCAT(@@session.sql_mode, ',B'), @old=@@x"];
        assert_eq!(
            kept(&set),
            [
                "SET SESSION sql_mode = CONCAT(@@sql_mode, ',A')",
                "SET SESSION sql_mode = CONCAT(@@session.sql_mode, ',B')",
                "SET @old = @@x"
            ]
        );
    }

    #[test]
    fn names_beside_others() {
        let set = ["SET sql_mode='', NAMES latin1 /*!50000 COLLATE latin1_bin */, autocommit=0", "SET NAMES gbk"];
        assert_eq!(kept(&set), ["SET SESSION sql_mode = ''", "SET SESSION autocommit = 0", "SET NAMES gbk"]);
        assert_eq!(kept(&set[..1])[1], "SET NAMES latin1 COLLATE latin1_bin");
    }

    #[test]
    fn nothing_that_was_computed() {
        let computed = [
            "SET @a = 1",
            "SET @a = @a + 1",
            "SET @b = LAST_INSERT_ID()",
            "SET @c = (SELECT COUNT(*) FROM t)",
            "SET @d = shop.next_id()",
            "SET @e = SLEEP(62)",
            "SET sql_mode = @old",
            "SET timestamp = UNIX_TIMESTAMP()",
            "SET @f = `shop`.`next_id`()",
            "SET @g = (SELECT `n` FROM `shop`.`t`)",
            "SET @h = CURRENT_TIMESTAMP, @i = @@identity",
            "/*!99999 SET autocommit = 0 */",
        ];
        assert_eq!(kept(&computed), [""; 0]);
    }

    #[test]
    fn nothing_that_reaches_further_or_less_far() {
        let others = [
            "SET GLOBAL sort_buffer_size = 1, x = 2",
            "SET @@global.sort_buffer_size = 1",
            "SET @@persist.x = 1",
            "SET PASSWORD = 'x'",
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "SET @@tx_isolation = 'SERIALIZABLE', @@tx_read_only = 1",
            "SET TRANSACTION READ ONLY",
            "SET SESSION TRANSACTION READ WRITE",
            "SET STATEMENT max_statement_time=1 FOR DELETE FROM t",
            "SET insert_id = 50, last_insert_id = 3",
            "INSERT INTO t SET a = 1",
            "SELECT 1",
            "SET",
            "SET =",
        ];
        assert_eq!(kept(&others), [""; 0]);
    }

    #[test]
    fn a_flood_of_them_leaves_the_servers_variables() {
        let mut flood = vec!["SET autocommit = 0".to_owned()];
        flood.extend((0..10_000).map(|number| format!("SET @a{number} = {number}, @b = 'x'")));
        flood.extend((0..2_000).map(|number| format!("SET sql_mode = CONCAT(@@sql_mode, '{number}')")));
        let kept = kept(&flood.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(kept.len() <= USERS_MAX + 2 + SAME_MAX && kept[0] == "SET SESSION autocommit = 0", "{kept:?}");
    }
}
