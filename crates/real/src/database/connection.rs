//! One session with a server: statements go out one by one or back to back, replies come in the same order.

mod login;
mod reply;
mod value;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub use login::LOGIN;
use reply::{read_column, read_error, read_ok, short};
pub use value::Value;

use super::address::Stream;
pub use super::address::{Address, Login};
pub use super::rows::Rows;
use super::wire::{
    COM_QUERY, COM_QUIT, COM_STMT_EXECUTE, COM_STMT_PREPARE, EOF, ERROR, HEADER_BYTES, LOCAL_INFILE, OK,
    PACKET_BYTES_MAX, Reader, begin_packet, capability, column, end_packet, put_bytes,
};

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
    /// Nobody listens there.
    #[error("cannot connect to {address}: {source}")]
    Unreachable {
        /// Where.
        address: Address,
        /// The system's answer.
        source: std::io::Error,
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

/// A session.
pub struct Connection {
    stream: Stream,
    abandon: Arc<AtomicBool>,
    /// When a wait for the server ends as if it had gone.
    deadline: Option<Instant>,
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

/// First size of the receive buffer: most replies are smaller; it grows to the largest one.
const RECEIVE_BYTES: usize = 16 << 10;
/// The largest reply: a thousand times what any statement here asks for.
const REPLY_BYTES_MAX: usize = 64 << 20;

impl Connection {
    /// Connects and logs in. `abandon`: when it becomes true, whatever waits for the server gives up.
    ///
    /// # Errors
    /// `Unreachable` when nobody listens, `Lost` when nobody answers, `Server` when the login is refused, `Protocol` for a server that asks for an
    /// authentication that this client does not know.
    pub fn open(login: &Login, abandon: Arc<AtomicBool>) -> Result<Self, SqlError> {
        let mut connection = Self::open_within(login, abandon, LOGIN)?;
        connection.wait_at_most(None);
        Ok(connection)
    }

    /// The same, for as long as `patience`; what is asked next has what is left of it.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_within(login: &Login, abandon: Arc<AtomicBool>, patience: Duration) -> Result<Self, SqlError> {
        let deadline = Instant::now() + patience;
        let stream = Stream::open(&login.address, deadline)
            .map_err(|source| SqlError::Unreachable { address: login.address.clone(), source })?;
        let mut connection = Self {
            stream,
            abandon,
            deadline: Some(deadline),
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

    /// The server's version as it says it, `10.11.6-MariaDB-...`.
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// From now on, a server that lets wait for longer than this is as good as gone (`Lost`); None: for ever.
    pub fn wait_at_most(&mut self, patience: Option<Duration>) {
        self.deadline = patience.map(|patience| Instant::now() + patience);
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
        let (_, span) = self.packet()?;
        let payload = &self.rows.data[span.0..span.1];
        let mut reader = Reader(payload);
        if reader.byte() != Some(OK) {
            return Err(read_error(payload));
        }
        let mut number = |bytes| reader.number(bytes).ok_or_else(short);
        let (id, columns, parameters) = (number(4)? as u32, number(2)?, number(2)?);
        for _ in 0..parameters {
            self.packet()?;
        }
        let has_eof = self.capabilities & capability::DEPRECATE_EOF == 0;
        if parameters > 0 && has_eof {
            self.packet()?;
        }
        let mut known = Known::default();
        for _ in 0..columns {
            let (_, span) = self.packet()?;
            known.columns.push(read_column(&self.rows.data[span.0..span.1], None)?);
        }
        if columns > 0 && has_eof {
            self.packet()?;
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
        let (_, span) = self.packet()?;
        let payload = &self.rows.data[span.0..span.1];
        match payload.first() {
            Some(&OK) => read_ok(payload),
            Some(&ERROR) => Err(read_error(payload)),
            Some(&LOCAL_INFILE) => {
                // We did not offer a file: say so with an empty one, and take what the server makes of it.
                self.send_packet(2, &[])?;
                self.packet()?;
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
                let (_, span) = self.packet()?;
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
            self.packet()?;
        }
        loop {
            let (_, span) = self.packet()?;
            let payload = &self.rows.data[span.0..span.1];
            match payload.first() {
                Some(&ERROR) => return Err(read_error(payload)),
                // A row begins so only with a value of 16 MiB or more.
                Some(&EOF) if payload.len() < PACKET_BYTES_MAX => {
                    let rows = self.rows.spans.len() as u64;
                    let warnings = if has_eof { 0 } else { read_ok(payload)?.warnings };
                    return Ok(Reply { rows, last_insert_id: 0, warnings });
                }
                _ if span.1 > REPLY_BYTES_MAX => return Err(SqlError::Protocol("its rows have no end".into())),
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
        let (mut sequence, span) = self.packet()?;
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
        let (_, span) = self.packet()?;
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
                Ok(count) => {
                    done += count;
                    self.still_wanted()?;
                }
                Err(error) => {
                    let full = error.kind() == io::ErrorKind::WouldBlock;
                    self.look_up(error)?;
                    // A server that cannot get rid of its replies takes no more statements: make room for them.
                    if full && !self.sent.is_empty() {
                        self.receive_some()?;
                    }
                }
            }
        }
        self.out.clear();
        Ok(())
    }

    /// The next packet: its sequence number and where its payload lies in `rows.data`.
    #[inline]
    fn packet(&mut self) -> Result<(u8, (usize, usize)), SqlError> {
        let (from, to) = self.unread;
        if to - from < HEADER_BYTES {
            self.receive(HEADER_BYTES)?;
        }
        let header = &self.rows.data[from..from + HEADER_BYTES];
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        let sequence = header[3];
        if length > PACKET_BYTES_MAX {
            return Err(SqlError::Protocol("a packet of 16 MiB or more".into()));
        }
        let (start, end) = (from + HEADER_BYTES, from + HEADER_BYTES + length);
        if self.unread.1 < end {
            self.receive(HEADER_BYTES + length)?;
        }
        self.unread.0 = end;
        Ok((sequence, (start, end)))
    }

    /// Receives until at least `wanted` bytes are unread.
    fn receive(&mut self, wanted: usize) -> Result<(), SqlError> {
        let from = self.unread.0;
        if self.rows.data.len() < from + wanted {
            let size = (from + wanted).max(2 * self.rows.data.len());
            self.rows.data.resize(size, 0);
        }
        while self.unread.1 - from < wanted {
            match self.stream.read(&mut self.rows.data[self.unread.1..]) {
                Ok(0) => return Err(SqlError::Lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => {
                    self.unread.1 += count;
                    self.still_wanted()?;
                }
                Err(error) => self.look_up(error)?,
            }
        }
        Ok(())
    }

    /// Receives once, whatever there is.
    fn receive_some(&mut self) -> Result<(), SqlError> {
        if self.unread.1 == self.rows.data.len() {
            self.rows.data.resize(2 * self.rows.data.len(), 0);
        }
        match self.stream.read(&mut self.rows.data[self.unread.1..]) {
            Ok(0) => Err(SqlError::Lost(io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => {
                self.unread.1 += count;
                self.still_wanted()
            }
            Err(error) => self.look_up(error),
        }
    }

    /// What a failed system call means: nothing (a signal, a wait that was only cut to look up), or the end.
    fn look_up(&self, error: io::Error) -> Result<(), SqlError> {
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => self.still_wanted(),
            _ => Err(SqlError::Lost(error)),
        }
    }

    /// Whether anyone still wants what is exchanged here. It is asked after every system call, not only after one that
    /// waited in vain: a server that sends a byte now and then, or rows without an end, would never be given up.
    fn still_wanted(&self) -> Result<(), SqlError> {
        if self.abandon.load(Relaxed) {
            Err(SqlError::Abandoned)
        } else if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            Err(SqlError::Lost(io::ErrorKind::TimedOut.into()))
        } else {
            Ok(())
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
