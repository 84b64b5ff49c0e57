//! One session with a server: statements go out one by one or back to back, replies come in the same order.

mod channel;
mod commit;
mod error;
mod execution;
mod handshake;
mod load_data;
mod reply;
mod value;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use channel::{Channel, Span};
pub use error::SqlError;
use execution::write_execution;
use handshake::{Agreed, log_in};
pub use handshake::{LOGIN, requires_tls};
pub use reply::Reply;
use reply::{read_column, read_eof, read_error, read_ok, short};
pub use value::Value;

pub use super::address::Address;
pub use super::login::Login;
pub use super::rows::Rows;
use super::wire::{
    COM_QUERY, COM_QUIT, COM_STMT_PREPARE, EOF, ERROR, LOCAL_INFILE, OK, PACKET_BYTES_MAX, Reader, capability,
};

/// A prepared statement of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    id: u32,
    /// Its place in the connection's list of statements.
    index: u32,
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
    /// Their names, where they are kept.
    names: Vec<String>,
    /// Types of the parameters that were sent last: they need not be sent again.
    bound: Vec<u8>,
}

/// A session.
pub struct Connection {
    channel: Channel,
    version: String,
    capabilities: u64,
    /// Statements without a reply, the oldest first.
    sent: VecDeque<Sent>,
    known: Vec<Known>,
    /// Rows of the last reply. All packets are received into its data.
    rows: Rows,
    /// Names of the last result's columns, where they are kept.
    names: Option<Vec<String>>,
    /// Rows of a reply that are kept; the others are read and dropped.
    rows_max: usize,
    statements: u64,
    /// Time from commits to their answers, since it was taken the last time.
    committing: Duration,
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
        let mut channel = Channel::open(&login.address, abandon, patience)?;
        let mut rows = Rows { data: vec![0; RECEIVE_BYTES], ..Rows::default() };
        let Agreed { version, capabilities } = log_in(&mut channel, &mut rows.data, login, false)?;
        Ok(Self {
            channel,
            version,
            capabilities,
            sent: VecDeque::new(),
            known: Vec::new(),
            rows,
            names: None,
            rows_max: usize::MAX,
            statements: 0,
            committing: Duration::ZERO,
        })
    }

    /// The server's version as it says it, `10.11.6-MariaDB-...`.
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// Version and cipher of TLS, as `TLSv1.3 TLS_AES_256_GCM_SHA384`; None for a connection without TLS.
    pub fn tls(&self) -> Option<String> {
        self.channel.tls()
    }

    /// From now on, a server that lets wait for longer than this is as good as gone (`Lost`); None: for ever.
    pub fn wait_at_most(&mut self, patience: Option<Duration>) {
        self.channel.wait_at_most(patience);
    }

    /// Statements sent so far.
    pub fn statements(&self) -> u64 {
        self.statements
    }

    /// From now on keeps the names of each result's columns.
    pub fn keep_names(&mut self) {
        self.names = Some(Vec::new());
    }

    /// From now on keeps so many rows of each reply. The others are counted, and take no memory.
    pub fn keep_rows(&mut self, rows: usize) {
        self.rows_max = rows;
    }

    /// Names of the columns of the last result, or of the statement prepared last, when they are kept.
    pub fn names(&self) -> &[String] {
        self.names.as_deref().unwrap_or_default()
    }

    /// Prepares a statement (one round trip). Nothing else may be outstanding.
    ///
    /// # Errors
    /// As `reply`.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement, SqlError> {
        assert!(self.sent.is_empty(), "a statement is prepared between others");
        self.queue(COM_STMT_PREPARE, sql.as_bytes());
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
        self.names.iter_mut().for_each(Vec::clear);
        for _ in 0..columns {
            let (_, span) = self.packet()?;
            known.columns.push(read_column(&self.rows.data[span.0..span.1], self.names.as_mut())?);
        }
        if columns > 0 && has_eof {
            self.packet()?;
        }
        known.names = self.names.clone().unwrap_or_default();
        self.known.push(known);
        Ok(Statement { id, index: self.known.len() as u32 - 1 })
    }

    /// Adds a text statement to what is sent next.
    pub fn queue_query(&mut self, sql: &[u8]) {
        self.queue(COM_QUERY, sql);
        self.note(Sent::Query);
    }

    /// Adds an execution of a prepared statement to what is sent next.
    pub fn queue_execute(&mut self, statement: &Statement, values: &[Value<'_>]) {
        let bound = &mut self.known[statement.index as usize].bound;
        self.channel.queue(0, |out| write_execution(out, statement.id, bound, values));
        self.note(Sent::Execute(statement.index));
    }

    fn queue(&mut self, command: u8, text: &[u8]) {
        self.channel.queue(0, |out| {
            out.push(command);
            out.extend_from_slice(text);
        });
    }

    fn note(&mut self, sent: Sent) {
        self.sent.push_back(sent);
        self.statements += 1;
    }

    /// Sends what is queued (if anything) and reads the reply to the oldest statement without one. Replies come in the
    /// order in which statements were queued. A server error is of that statement alone: replies to later ones follow.
    /// Of several results (CALL), all rows are counted, and those of the last one are kept.
    ///
    /// # Errors
    /// What the server answers; that the connection is gone; that nobody wants the answer any more.
    pub fn reply(&mut self) -> Result<Reply, SqlError> {
        if self.channel.has_queued() {
            self.send()?;
        }
        let sent = self.sent.pop_front().expect("a reply is asked for what was queued");
        let mut reply = self.result(sent)?;
        while reply.more {
            let next = self.result(sent)?;
            reply = Reply { rows: reply.rows + next.rows, ..next };
        }
        Ok(reply)
    }

    fn result(&mut self, sent: Sent) -> Result<Reply, SqlError> {
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
                Err(SqlError::no_local_file())
            }
            Some(_) => self.result_set(sent, span),
            None => Err(short()),
        }
    }

    fn result_set(&mut self, sent: Sent, span: Span) -> Result<Reply, SqlError> {
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
                let known = &mut self.known[index as usize];
                known.columns.clone_from(&self.rows.types);
                if let Some(names) = &self.names {
                    known.names.clone_from(names);
                }
            }
        } else if let Sent::Execute(index) = sent {
            let known = &self.known[index as usize];
            self.rows.types.clone_from(&known.columns);
            if let Some(names) = &mut self.names {
                names.clone_from(&known.names);
            }
        }
        if has_eof {
            self.packet()?;
        }
        let mut rows = 0;
        loop {
            let (_, span) = self.packet()?;
            let payload = &self.rows.data[span.0..span.1];
            match payload.first() {
                Some(&ERROR) => return Err(read_error(payload)),
                // A row begins so only with a value of 16 MiB or more.
                Some(&EOF) if payload.len() < PACKET_BYTES_MAX => {
                    if has_eof {
                        return Ok(Reply { rows, more: read_eof(payload)?, ..Reply::default() });
                    }
                    let Reply { warnings, more, .. } = read_ok(payload)?;
                    return Ok(Reply { rows, warnings, more, ..Reply::default() });
                }
                _ if span.1 > REPLY_BYTES_MAX => return Err(SqlError::Protocol("its rows have no end".into())),
                _ if self.rows.spans.len() < self.rows_max => self.rows.spans.push(span),
                _ => self.channel.forget_behind(&mut self.rows.data, self.rows.spans.last().map_or(0, |last| last.1)),
            }
            rows += 1;
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

    fn send_packet(&mut self, sequence: u8, payload: &[u8]) -> Result<(), SqlError> {
        self.channel.queue(sequence, |out| out.extend_from_slice(payload));
        self.send()
    }

    fn send(&mut self) -> Result<(), SqlError> {
        self.channel.send(&mut self.rows.data, !self.sent.is_empty())
    }

    #[inline]
    fn packet(&mut self) -> Result<(u8, Span), SqlError> {
        self.channel.packet(&mut self.rows.data)
    }

    /// The rows of the reply before are read no more.
    fn forget_rows(&mut self) {
        self.rows.spans.clear();
        self.channel.forget(&mut self.rows.data);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // A server counts clients that just vanish as aborted.
        self.channel.send_last(&[COM_QUIT]);
    }
}
