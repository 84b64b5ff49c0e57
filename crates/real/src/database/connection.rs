//! One session with a server: statements go out one by one or back to back, replies come in the same order.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::wire::{
    COM_QUERY, COM_QUIT, COM_STMT_EXECUTE, COM_STMT_PREPARE, EOF, ERROR, HEADER_BYTES, LOCAL_INFILE, MORE_AUTH_DATA,
    OK, PACKET_BYTES_MAX, Reader, begin_packet, capability, column, end_packet, put_bytes, read_greeting, scramble,
};

/// Where a server listens.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Address {
    /// A unix socket.
    Socket(PathBuf),
    /// Host and port.
    Tcp(String, u16),
}

/// Who connects where. JSON: `{"address": {"socket": "/run/x.sock"}, "user": "root", "password": "", "schema": null}`
/// or `{"address": {"tcp": ["127.0.0.1", 3306]}, ...}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// Where.
    pub address: Address,
    /// Account.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The schema to use, if any.
    pub schema: Option<String>,
}

/// Why a statement did not work.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The server refused it; the connection is usable.
    #[error("{message} (error {code})")]
    Server {
        /// The server's error number.
        code: u16,
        /// Its words.
        message: String,
    },
    /// The connection is gone.
    #[error("the connection to the server was lost: {0}")]
    Lost(std::io::Error),
    /// The server said something that this client does not understand.
    #[error("the server's answer is not understood: {0}")]
    Protocol(String),
    /// Nobody waits for the answer any more.
    #[error("abandoned")]
    Abandoned,
}

impl SqlError {
    /// Whether the server's error number is this one.
    pub fn is(&self, number: u16) -> bool {
        matches!(self, Self::Server { code, .. } if *code == number)
    }
}

/// A prepared statement of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    id: u32,
    /// Its place in the connection's list of statements.
    index: u32,
}

/// A parameter of a prepared statement.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A whole number (sent as BIGINT).
    Int(i64),
    /// A floating-point number (sent as DOUBLE).
    Double(f64),
    /// Text or bytes; decimals and dates too ("12.50", "2026-11-21 10:00:00").
    Bytes(&'a [u8]),
}

impl Value<'_> {
    fn column_type(self) -> Option<u8> {
        match self {
            Self::Null => None,
            Self::Int(_) => Some(column::LONGLONG),
            Self::Double(_) => Some(column::DOUBLE),
            Self::Bytes(_) => Some(column::STRING),
        }
    }
}

/// What the server said to one statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Rows changed, or rows returned.
    pub rows: u64,
    /// The last AUTO_INCREMENT value.
    pub last_insert_id: u64,
    /// The server's warnings.
    pub warnings: u16,
}

/// Rows of the last reply, valid until the next one is read.
#[derive(Debug, Default)]
pub struct Rows {
    /// What was received: the rows lie in it, and after them what was not read yet.
    data: Vec<u8>,
    spans: Vec<(usize, usize)>,
    types: Vec<u8>,
    binary: bool,
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.types.len()
    }

    /// A whole number; None for NULL or what is no number. Works for text and binary rows.
    pub fn int(&self, row: usize, column: usize) -> Option<i64> {
        match self.cell(row, column)? {
            Cell::Int(value) => Some(value),
            Cell::Double(value) => Some(value as i64),
            Cell::Bytes(text) => {
                let text = std::str::from_utf8(text).ok()?;
                text.split('.').next()?.parse().ok()
            }
        }
    }

    /// A number (DOUBLE, FLOAT, DECIMAL or whole).
    pub fn double(&self, row: usize, column: usize) -> Option<f64> {
        match self.cell(row, column)? {
            Cell::Int(value) => Some(value as f64),
            Cell::Double(value) => Some(value),
            Cell::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        }
    }

    /// Bytes of a text, decimal or blob column (of any column in a text reply); None for NULL.
    pub fn bytes(&self, row: usize, column: usize) -> Option<&[u8]> {
        match self.cell(row, column)? {
            Cell::Bytes(bytes) => Some(bytes),
            Cell::Int(_) | Cell::Double(_) => None,
        }
    }

    fn cell(&self, row: usize, wanted: usize) -> Option<Cell<'_>> {
        let (start, end) = *self.spans.get(row)?;
        let payload = self.data.get(start..end)?;
        if self.binary { binary_cell(payload, &self.types, wanted) } else { text_cell(payload, wanted) }
    }
}

enum Cell<'a> {
    Int(i64),
    Double(f64),
    Bytes(&'a [u8]),
}

fn text_cell(payload: &[u8], wanted: usize) -> Option<Cell<'_>> {
    let mut reader = Reader(payload);
    for _ in 0..wanted {
        skip_text(&mut reader)?;
    }
    if reader.0.first() == Some(&NULL_TEXT) {
        return None;
    }
    reader.bytes().map(Cell::Bytes)
}

/// In place of a text value's length.
const NULL_TEXT: u8 = 0xfb;

fn skip_text(reader: &mut Reader<'_>) -> Option<()> {
    if reader.0.first() == Some(&NULL_TEXT) {
        reader.byte()?;
    } else {
        reader.bytes()?;
    }
    Some(())
}

fn binary_cell<'a>(payload: &'a [u8], types: &[u8], wanted: usize) -> Option<Cell<'a>> {
    let mut reader = Reader(payload);
    reader.byte()?;
    // The bitmap of a row begins with two bits that mean nothing.
    let nulls = reader.take((types.len() + 2).div_ceil(8))?;
    let is_null = |place: usize| nulls[(place + 2) / 8] >> ((place + 2) % 8) & 1 == 1;
    for (place, kind) in types.iter().enumerate().take(wanted + 1) {
        if is_null(place) {
            if place == wanted {
                return None;
            }
            continue;
        }
        let cell = match *kind {
            column::TINY => Cell::Int(i64::from(reader.byte()? as i8)),
            column::SHORT | column::YEAR => Cell::Int(i64::from(reader.number(2)? as i16)),
            column::LONG | column::INT24 => Cell::Int(i64::from(reader.number(4)? as i32)),
            column::LONGLONG => Cell::Int(reader.number(8)? as i64),
            column::FLOAT => Cell::Double(f64::from(f32::from_bits(reader.number(4)? as u32))),
            column::DOUBLE => Cell::Double(f64::from_bits(reader.number(8)?)),
            column::DATE | column::DATETIME | column::TIMESTAMP | column::TIME => {
                let length = reader.byte()?;
                Cell::Bytes(reader.take(usize::from(length))?)
            }
            _ => Cell::Bytes(reader.bytes()?),
        };
        if place == wanted {
            return Some(cell);
        }
    }
    None
}

/// What a reply belongs to.
#[derive(Clone, Copy)]
enum Sent {
    Query,
    /// Index of the statement.
    Execute(u32),
}

/// What a connection knows of one of its prepared statements.
#[derive(Default)]
struct Known {
    /// Types of its result's columns.
    columns: Vec<u8>,
    /// Types of the parameters that were sent last: they need not be sent again.
    bound: Vec<u8>,
}

enum Stream {
    Socket(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }

    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Socket(stream) => stream.write(buffer),
            Self::Tcp(stream) => stream.write(buffer),
        }
    }
}

/// A session.
pub struct Connection {
    stream: Stream,
    abandon: Arc<AtomicBool>,
    version: String,
    capabilities: u64,
    /// Packets that were not sent yet.
    out: Vec<u8>,
    sent: VecDeque<Sent>,
    known: Vec<Known>,
    rows: Rows,
    /// What was received and not read yet: from..to of `rows.data`.
    unread: (usize, usize),
    /// Names of the last result's columns, where they are kept.
    names: Option<Vec<String>>,
    statements: u64,
}

/// How long a wait for the server lasts before it is looked whether anyone still wants the answer.
const LOOK_UP: Duration = Duration::from_millis(100);
/// How long connecting and logging in may take: a server that accepts and says nothing is frozen.
const LOGIN: Duration = Duration::from_secs(10);
/// First size of the receive buffer: most replies are smaller; it grows to the largest one.
const RECEIVE_BYTES: usize = 16 << 10;
/// utf8mb4_general_ci, which every server since 5.5.3 has.
const CHARACTER_SET: u8 = 45;
/// The largest packet that we take, as the server is told.
const MAX_PACKET: u32 = 1 << 24;

impl Connection {
    /// Connects and logs in. `abandon`: when it becomes true, whatever waits for the server gives up.
    ///
    /// # Errors
    /// `Lost` when nobody answers, `Server` when the login is refused, `Protocol` for a server that asks for an
    /// authentication that this client does not know.
    pub fn open(login: &Login, abandon: Arc<AtomicBool>) -> Result<Self, SqlError> {
        let stream = match &login.address {
            Address::Socket(path) => {
                let stream = UnixStream::connect(path).map_err(SqlError::Lost)?;
                stream.set_read_timeout(Some(LOOK_UP)).map_err(SqlError::Lost)?;
                stream.set_write_timeout(Some(LOOK_UP)).map_err(SqlError::Lost)?;
                Stream::Socket(stream)
            }
            Address::Tcp(host, port) => {
                let stream = connect_tcp(host, *port).map_err(SqlError::Lost)?;
                stream.set_read_timeout(Some(LOOK_UP)).map_err(SqlError::Lost)?;
                stream.set_write_timeout(Some(LOOK_UP)).map_err(SqlError::Lost)?;
                stream.set_nodelay(true).map_err(SqlError::Lost)?;
                Stream::Tcp(stream)
            }
        };
        let mut connection = Self {
            stream,
            abandon,
            version: String::new(),
            capabilities: 0,
            out: Vec::new(),
            sent: VecDeque::new(),
            known: Vec::new(),
            rows: Rows { data: vec![0; RECEIVE_BYTES], ..Rows::default() },
            unread: (0, 0),
            names: None,
            statements: 0,
        };
        connection.log_in(login)?;
        Ok(connection)
    }

    fn log_in(&mut self, login: &Login) -> Result<(), SqlError> {
        let deadline = Instant::now() + LOGIN;
        let (sequence, span) = self.packet(Some(deadline))?;
        let payload = &self.rows.data[span.0..span.1];
        if payload.first() == Some(&ERROR) {
            return Err(read_error(payload));
        }
        let greeting = read_greeting(payload).ok_or_else(|| SqlError::Protocol("no greeting of version 10".into()))?;
        let mut wanted = capability::LONG_FLAG
            | capability::LOCAL_FILES
            | capability::PROTOCOL_41
            | capability::TRANSACTIONS
            | capability::SECURE_CONNECTION
            | capability::PLUGIN_AUTH
            | capability::DEPRECATE_EOF;
        // MariaDB reads our extended capabilities only where this one is absent.
        wanted |= if greeting.capabilities & capability::LONG_PASSWORD == 0 {
            capability::CACHE_METADATA
        } else {
            capability::LONG_PASSWORD
        };
        self.capabilities = wanted & greeting.capabilities;
        if self.capabilities & capability::PROTOCOL_41 == 0 {
            return Err(SqlError::Protocol("the server is older than 4.1".into()));
        }
        if self.capabilities & capability::DEPRECATE_EOF == 0 {
            self.capabilities &= !capability::CACHE_METADATA;
        }
        if login.schema.is_some() {
            self.capabilities |= capability::CONNECT_WITH_DB;
        }
        self.version = greeting.version;
        let known = scramble(&greeting.plugin, &login.password, &greeting.scramble);
        // A plugin that we do not know: answer as if it were the usual one, and let the server ask for a change.
        let (plugin, answer) = match known {
            Some(answer) => (greeting.plugin, answer),
            None => ("mysql_native_password".to_owned(), Vec::new()),
        };
        let at = begin_packet(&mut self.out, sequence.wrapping_add(1));
        self.out.extend_from_slice(&(self.capabilities as u32).to_le_bytes());
        self.out.extend_from_slice(&MAX_PACKET.to_le_bytes());
        self.out.push(CHARACTER_SET);
        self.out.extend_from_slice(&[0; 19]);
        self.out.extend_from_slice(&((self.capabilities >> 32) as u32).to_le_bytes());
        self.out.extend_from_slice(login.user.as_bytes());
        self.out.push(0);
        put_bytes(&mut self.out, &answer);
        if let Some(schema) = &login.schema {
            self.out.extend_from_slice(schema.as_bytes());
            self.out.push(0);
        }
        self.out.extend_from_slice(plugin.as_bytes());
        self.out.push(0);
        end_packet(&mut self.out, at);
        self.send()?;
        self.finish_login(login, deadline)
    }

    fn finish_login(&mut self, login: &Login, deadline: Instant) -> Result<(), SqlError> {
        loop {
            let (sequence, span) = self.packet(Some(deadline))?;
            let mut reader = Reader(&self.rows.data[span.0..span.1]);
            let answer = match reader.byte() {
                Some(OK) => return Ok(()),
                Some(ERROR) => return Err(read_error(&self.rows.data[span.0..span.1])),
                Some(EOF) => {
                    let plugin = String::from_utf8_lossy(reader.text()).into_owned();
                    scramble(&plugin, &login.password, reader.0).ok_or_else(|| {
                        SqlError::Protocol(format!("the account uses {plugin:?}, which this client does not know"))
                    })?
                }
                // caching_sha2_password: 3 is "the server remembers you", 4 asks for the password itself.
                Some(MORE_AUTH_DATA) if reader.0 == [3] => continue,
                Some(MORE_AUTH_DATA) if reader.0 == [4] && matches!(self.stream, Stream::Socket(_)) => {
                    [login.password.as_bytes(), &[0]].concat()
                }
                Some(MORE_AUTH_DATA) => {
                    return Err(SqlError::Protocol(
                        "the server wants the password itself, which is sent over a unix socket only".into(),
                    ));
                }
                _ => return Err(SqlError::Protocol("no answer to the login".into())),
            };
            let at = begin_packet(&mut self.out, sequence.wrapping_add(1));
            self.out.extend_from_slice(&answer);
            end_packet(&mut self.out, at);
            self.send()?;
        }
    }

    /// The server's version as it says it, `10.11.6-MariaDB-...`.
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// Statements sent so far.
    pub fn statements(&self) -> u64 {
        self.statements
    }

    /// From now on keeps the names of each result's columns.
    pub fn keep_names(&mut self) {
        self.names = Some(Vec::new());
    }

    /// Names of the last result's columns, when they are kept.
    pub fn names(&self) -> &[String] {
        self.names.as_deref().unwrap_or_default()
    }

    /// Prepares a statement (one round trip). Nothing else may be outstanding.
    ///
    /// # Errors
    /// As `reply`.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement, SqlError> {
        assert!(self.sent.is_empty(), "a statement is prepared between others");
        let at = begin_packet(&mut self.out, 0);
        self.out.push(COM_STMT_PREPARE);
        self.out.extend_from_slice(sql.as_bytes());
        end_packet(&mut self.out, at);
        self.send()?;
        self.forget_rows();
        let (_, span) = self.packet(None)?;
        let payload = &self.rows.data[span.0..span.1];
        let mut reader = Reader(payload);
        if reader.byte() != Some(OK) {
            return Err(read_error(payload));
        }
        let mut number = |bytes| reader.number(bytes).ok_or_else(short);
        let (id, columns, parameters) = (number(4)? as u32, number(2)?, number(2)?);
        for _ in 0..parameters {
            self.packet(None)?;
        }
        let has_eof = self.capabilities & capability::DEPRECATE_EOF == 0;
        if parameters > 0 && has_eof {
            self.packet(None)?;
        }
        let mut known = Known::default();
        for _ in 0..columns {
            let (_, span) = self.packet(None)?;
            known.columns.push(read_column(&self.rows.data[span.0..span.1], None)?);
        }
        if columns > 0 && has_eof {
            self.packet(None)?;
        }
        self.known.push(known);
        Ok(Statement { id, index: self.known.len() as u32 - 1 })
    }

    /// Adds a text statement to what is sent next.
    pub fn queue_query(&mut self, sql: &[u8]) {
        let at = begin_packet(&mut self.out, 0);
        self.out.push(COM_QUERY);
        self.out.extend_from_slice(sql);
        end_packet(&mut self.out, at);
        self.note(Sent::Query);
    }

    /// Adds an execution of a prepared statement to what is sent next.
    pub fn queue_execute(&mut self, statement: &Statement, values: &[Value<'_>]) {
        let at = begin_packet(&mut self.out, 0);
        let out = &mut self.out;
        out.push(COM_STMT_EXECUTE);
        out.extend_from_slice(&statement.id.to_le_bytes());
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !values.is_empty() {
            let nulls = out.len();
            out.resize(nulls + values.len().div_ceil(8), 0);
            let bound = &mut self.known[statement.index as usize].bound;
            // NULL has no type of its own: it goes with any that was bound before.
            let fits = |(value, bound): (&Value<'_>, &u8)| value.column_type().is_none_or(|kind| kind == *bound);
            if bound.len() == values.len() && values.iter().zip(bound.iter()).all(fits) {
                out.push(0);
            } else {
                bound.clear();
                bound.extend(values.iter().map(|value| value.column_type().unwrap_or(column::STRING)));
                out.push(1);
                for kind in &*bound {
                    out.extend_from_slice(&[*kind, 0]);
                }
            }
            for (place, value) in values.iter().enumerate() {
                match value {
                    Value::Null => out[nulls + place / 8] |= 1 << (place % 8),
                    Value::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
                    Value::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
                    Value::Bytes(bytes) => put_bytes(out, bytes),
                }
            }
        }
        end_packet(&mut self.out, at);
        self.note(Sent::Execute(statement.index));
    }

    fn note(&mut self, sent: Sent) {
        self.sent.push_back(sent);
        self.statements += 1;
    }

    /// Sends what is queued (if anything) and reads the reply to the oldest statement without one. Replies come in the
    /// order in which statements were queued. A server error here is of that statement alone: the replies to later
    /// ones follow.
    ///
    /// # Errors
    /// What the server answers; that the connection is gone; that nobody wants the answer any more.
    pub fn reply(&mut self) -> Result<Reply, SqlError> {
        if !self.out.is_empty() {
            self.send()?;
        }
        let sent = self.sent.pop_front().expect("a reply is asked for what was queued");
        self.forget_rows();
        let (_, span) = self.packet(None)?;
        let payload = &self.rows.data[span.0..span.1];
        match payload.first() {
            Some(&OK) => read_ok(payload),
            Some(&ERROR) => Err(read_error(payload)),
            Some(&LOCAL_INFILE) => {
                // We did not offer a file: say so with an empty one, and take what the server makes of it.
                self.send_packet(2, &[])?;
                self.packet(None)?;
                Err(SqlError::Protocol("the server asks for a file".into()))
            }
            Some(_) => self.result_set(sent, span),
            None => Err(short()),
        }
    }

    fn result_set(&mut self, sent: Sent, span: (usize, usize)) -> Result<Reply, SqlError> {
        let mut reader = Reader(&self.rows.data[span.0..span.1]);
        let columns = reader.length().ok_or_else(short)? as usize;
        let described = self.capabilities & capability::CACHE_METADATA == 0 || reader.byte().ok_or_else(short)? != 0;
        let has_eof = self.capabilities & capability::DEPRECATE_EOF == 0;
        self.rows.binary = matches!(sent, Sent::Execute(_));
        if described {
            self.rows.types.clear();
            if let Some(names) = &mut self.names {
                names.clear();
            }
            for _ in 0..columns {
                let (_, span) = self.packet(None)?;
                let kind = read_column(&self.rows.data[span.0..span.1], self.names.as_mut())?;
                self.rows.types.push(kind);
            }
            if let Sent::Execute(index) = sent {
                self.known[index as usize].columns.clone_from(&self.rows.types);
            }
        } else if let Sent::Execute(index) = sent {
            self.rows.types.clone_from(&self.known[index as usize].columns);
        }
        if has_eof {
            self.packet(None)?;
        }
        loop {
            let (_, span) = self.packet(None)?;
            let payload = &self.rows.data[span.0..span.1];
            match payload.first() {
                Some(&ERROR) => return Err(read_error(payload)),
                // A row begins so only with a value of 16 MiB or more.
                Some(&EOF) if payload.len() < PACKET_BYTES_MAX => {
                    let rows = self.rows.spans.len() as u64;
                    let warnings = if has_eof { 0 } else { read_ok(payload)?.warnings };
                    return Ok(Reply { rows, last_insert_id: 0, warnings });
                }
                _ => self.rows.spans.push(span),
            }
        }
    }

    /// Statements whose reply was not read yet.
    pub fn outstanding(&self) -> usize {
        self.sent.len()
    }

    /// Rows of the last reply.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// `queue_query` and `reply`.
    ///
    /// # Errors
    /// As `reply`.
    pub fn query(&mut self, sql: &str) -> Result<Reply, SqlError> {
        self.queue_query(sql.as_bytes());
        self.reply()
    }

    /// `queue_execute` and `reply`.
    ///
    /// # Errors
    /// As `reply`.
    pub fn execute(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<Reply, SqlError> {
        self.queue_execute(statement, values);
        self.reply()
    }

    /// Reads all outstanding replies.
    ///
    /// # Errors
    /// The first server error among them, after all were read; that the connection is gone.
    pub fn finish(&mut self) -> Result<(), SqlError> {
        let mut first = None;
        while self.outstanding() > 0 {
            match self.reply() {
                Ok(_) => {}
                Err(error @ SqlError::Server { .. }) => {
                    first.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Runs a `LOAD DATA LOCAL INFILE '...'` statement with data from memory: `fill` appends up to about a MiB to the
    /// (empty) buffer it is given and returns whether more will follow.
    ///
    /// # Errors
    /// As `reply`; a server that does not allow it answers 1148, 3948 or 4166.
    pub fn load_data(&mut self, sql: &str, fill: &mut dyn FnMut(&mut Vec<u8>) -> bool) -> Result<Reply, SqlError> {
        self.queue_query(sql.as_bytes());
        self.send()?;
        self.sent.clear();
        self.forget_rows();
        let (mut sequence, span) = self.packet(None)?;
        let payload = &self.rows.data[span.0..span.1];
        match payload.first() {
            Some(&LOCAL_INFILE) => {}
            Some(&OK) => return read_ok(payload),
            Some(&ERROR) => return Err(read_error(payload)),
            _ => return Err(SqlError::Protocol("the server did not ask for the data".into())),
        }
        let mut more = true;
        let mut data = Vec::new();
        while more {
            data.clear();
            more = fill(&mut data);
            for piece in data.chunks(PACKET_BYTES_MAX) {
                sequence = sequence.wrapping_add(1);
                self.send_packet(sequence, piece)?;
            }
        }
        self.send_packet(sequence.wrapping_add(1), &[])?;
        let (_, span) = self.packet(None)?;
        let payload = &self.rows.data[span.0..span.1];
        if payload.first() == Some(&OK) { read_ok(payload) } else { Err(read_error(payload)) }
    }

    fn send_packet(&mut self, sequence: u8, payload: &[u8]) -> Result<(), SqlError> {
        let at = begin_packet(&mut self.out, sequence);
        self.out.extend_from_slice(payload);
        end_packet(&mut self.out, at);
        self.send()
    }

    fn send(&mut self) -> Result<(), SqlError> {
        let mut done = 0;
        while done < self.out.len() {
            match self.stream.write(&self.out[done..]) {
                Ok(0) => return Err(SqlError::Lost(io::ErrorKind::WriteZero.into())),
                Ok(count) => done += count,
                Err(error) => self.look_up(error, None)?,
            }
        }
        self.out.clear();
        Ok(())
    }

    /// The next packet: its sequence number and where its payload lies in `rows.data`.
    #[inline]
    fn packet(&mut self, deadline: Option<Instant>) -> Result<(u8, (usize, usize)), SqlError> {
        let (from, to) = self.unread;
        if to - from < HEADER_BYTES {
            self.receive(HEADER_BYTES, deadline)?;
        }
        let header = &self.rows.data[from..from + HEADER_BYTES];
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        let sequence = header[3];
        if length > PACKET_BYTES_MAX {
            return Err(SqlError::Protocol("a packet of 16 MiB or more".into()));
        }
        let (start, end) = (from + HEADER_BYTES, from + HEADER_BYTES + length);
        if self.unread.1 < end {
            self.receive(HEADER_BYTES + length, deadline)?;
        }
        self.unread.0 = end;
        Ok((sequence, (start, end)))
    }

    /// Receives until at least `wanted` bytes are unread.
    fn receive(&mut self, wanted: usize, deadline: Option<Instant>) -> Result<(), SqlError> {
        let from = self.unread.0;
        if self.rows.data.len() < from + wanted {
            let size = (from + wanted).max(2 * self.rows.data.len());
            self.rows.data.resize(size, 0);
        }
        while self.unread.1 - from < wanted {
            match self.stream.read(&mut self.rows.data[self.unread.1..]) {
                Ok(0) => return Err(SqlError::Lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => self.unread.1 += count,
                Err(error) => self.look_up(error, deadline)?,
            }
        }
        Ok(())
    }

    /// What a failed system call means: nothing (a signal, a wait that was only cut to look up), or the end.
    fn look_up(&self, error: io::Error, deadline: Option<Instant>) -> Result<(), SqlError> {
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                if self.abandon.load(Relaxed) {
                    Err(SqlError::Abandoned)
                } else if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                    Err(SqlError::Lost(io::ErrorKind::TimedOut.into()))
                } else {
                    Ok(())
                }
            }
            _ => Err(SqlError::Lost(error)),
        }
    }

    /// The rows of the reply before are read no more: what is unread moves to the front of the buffer.
    fn forget_rows(&mut self) {
        self.rows.spans.clear();
        let (from, to) = self.unread;
        if from == to {
            self.unread = (0, 0);
        } else if from > self.rows.data.len() / 2 {
            self.rows.data.copy_within(from..to, 0);
            self.unread = (0, to - from);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // A server counts clients that just vanish as aborted; whether it hears this is its own affair.
        let mut out = Vec::with_capacity(HEADER_BYTES + 1);
        let at = begin_packet(&mut out, 0);
        out.push(COM_QUIT);
        end_packet(&mut out, at);
        let _ = self.stream.write(&out);
    }
}

fn connect_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, LOGIN) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn short() -> SqlError {
    SqlError::Protocol("a packet ends too early".into())
}

fn read_ok(payload: &[u8]) -> Result<Reply, SqlError> {
    let mut reader = Reader(payload);
    let mut read = || {
        reader.byte()?;
        let (rows, last_insert_id) = (reader.length()?, reader.length()?);
        reader.number(2)?; // status
        Some(Reply { rows, last_insert_id, warnings: reader.number(2)? as u16 })
    };
    read().ok_or_else(short)
}

fn read_error(payload: &[u8]) -> SqlError {
    let mut reader = Reader(payload);
    let mut read = || {
        if reader.byte()? != ERROR {
            return None;
        }
        let code = reader.number(2)? as u16;
        let text = match reader.0 {
            [b'#', _, _, _, _, _, text @ ..] => text,
            text => text,
        };
        Some(SqlError::Server { code, message: String::from_utf8_lossy(text).into_owned() })
    };
    read().unwrap_or_else(|| SqlError::Protocol("an answer that is neither good nor an error".into()))
}

/// The type of a column from its description; appends its name where names are kept.
fn read_column(payload: &[u8], names: Option<&mut Vec<String>>) -> Result<u8, SqlError> {
    let mut reader = Reader(payload);
    let mut read = || {
        for _ in 0..4 {
            reader.bytes()?; // catalog, schema, table, original table
        }
        let name = reader.bytes()?;
        reader.bytes()?; // original name
        reader.length()?;
        reader.take(6)?; // character set, length
        Some((name, reader.byte()?))
    };
    let (name, kind) = read().ok_or_else(short)?;
    if let Some(names) = names {
        names.push(String::from_utf8_lossy(name).into_owned());
    }
    Ok(kind)
}
