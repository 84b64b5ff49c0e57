//! One thread's session with the server that is loaded: chunks of rows and statements, each with its mark.

use std::sync::atomic::Ordering::SeqCst;

use super::dataset::Chunk;
use super::job::Job;
use super::marks::{self, quoted};
use super::refusal::{exists, in_the_way, refuses_local_files};
use super::row::{Form, Row};
use crate::database::connection::{Connection, SqlError};

/// Text that is sent at a time with LOAD DATA: large against a system call, small against a processor's cache.
const SEND_BYTES: usize = 128 << 10;
/// Text of one INSERT, about, where the server takes so much.
const INSERT_BYTES: usize = 1 << 20;
/// Bytes of a packet that are not the statement's: its command and what servers count with it.
const PACKET_SPARE_BYTES: usize = 64;
/// Attempts at one chunk or statement when others are in its way.
const ATTEMPTS: u32 = 5;

/// One thread's session.
pub(super) struct Session {
    connection: Connection,
    line: Row,
    tuple: Row,
    /// The longest INSERT.
    insert_bytes: usize,
}

impl Session {
    /// Connects, and sets the session up for loading.
    pub(super) fn open(job: &Job) -> Result<Self, SqlError> {
        let mut connection = Connection::open(&job.spec.login, job.stop.clone())?;
        // With both checks off, MariaDB's first transaction into an empty table locks it and sorts its rows by itself:
        // measured on 10.11, that costs twice the CPU of rows that come in the order of the primary key.
        connection.query(
            "SET SESSION autocommit = 0, foreign_key_checks = 0, unique_checks = 1, sql_mode = 'STRICT_TRANS_TABLES'",
        )?;
        // Generated rows have no place in a binary log. Not every account may say so.
        match connection.query("SET SESSION sql_log_bin = 0") {
            Ok(_) | Err(SqlError::Server { .. }) => {}
            Err(error) => return Err(error),
        }
        connection.query("SELECT @@max_allowed_packet, @@local_infile")?;
        let rows = connection.rows();
        let max_packet = rows.int(0, 0).and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(INSERT_BYTES);
        if rows.int(0, 1) == Some(0) {
            job.bulk.store(false, SeqCst);
        }
        Ok(Self {
            connection,
            line: Row::new(Form::Line),
            tuple: Row::new(Form::Tuple),
            insert_bytes: INSERT_BYTES.min(max_packet.saturating_sub(PACKET_SPARE_BYTES)),
        })
    }

    /// Loads a chunk and its mark in one transaction.
    pub(super) fn load(&mut self, job: &Job, chunk: &Chunk) -> Result<(), SqlError> {
        let mut attempt = 0;
        loop {
            let sent = if job.bulk.load(SeqCst) { self.send_lines(job, chunk) } else { self.send_tuples(job, chunk) };
            let committed = sent.and_then(|()| {
                marks::mark(&mut self.connection, &marks::rows_step(&chunk.table), chunk.part, None)?;
                self.connection.query("COMMIT")
            });
            let Err(error) = committed else { return Ok(()) };
            attempt += 1;
            match &error {
                error if refuses_local_files(error) && job.spec.bulk => job.bulk.store(false, SeqCst),
                error if in_the_way(error) && attempt < ATTEMPTS => {}
                _ => return Err(error),
            }
            self.connection.query("ROLLBACK")?;
        }
    }

    fn send_lines(&mut self, job: &Job, chunk: &Chunk) -> Result<(), SqlError> {
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'flatwater' INTO TABLE {} CHARACTER SET binary FIELDS TERMINATED BY '\\t' \
             ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({})",
            quoted(&chunk.table),
            chunk.columns
        );
        let mut rows = job.dataset.rows(chunk);
        let line = &mut self.line;
        let mut sent = 0;
        let mut fill = |buffer: &mut Vec<u8>| {
            // Rows are built where they are sent from.
            std::mem::swap(buffer, line.buffer());
            let more = loop {
                line.begin();
                if !rows.next(line) {
                    break false;
                }
                line.end();
                sent += 1;
                if line.buffer().len() >= SEND_BYTES {
                    break !job.stop.load(SeqCst);
                }
            };
            std::mem::swap(buffer, line.buffer());
            more
        };
        let reply = self.connection.load_data(&sql, &mut fill)?;
        if job.stop.load(SeqCst) {
            // The data may have been cut short: it must not be committed.
            return Err(SqlError::Abandoned);
        }
        // LOCAL makes errors of single rows into warnings.
        if reply.rows == sent && reply.warnings == 0 {
            return Ok(());
        }
        Err(self.complaint(sent, reply.rows, reply.warnings))
    }

    /// What the server had against rows that it left out or changed.
    fn complaint(&mut self, sent: u64, loaded: u64, warnings: u16) -> SqlError {
        let told = match self.connection.query("SHOW WARNINGS LIMIT 1") {
            Ok(_) => self.connection.rows().bytes(0, 2).map(|text| String::from_utf8_lossy(text).into_owned()),
            Err(error) => return error,
        };
        SqlError::Protocol(format!(
            "of {sent} rows the server took {loaded}, with {warnings} warnings: {}",
            told.unwrap_or_default()
        ))
    }

    fn send_tuples(&mut self, job: &Job, chunk: &Chunk) -> Result<(), SqlError> {
        let head = format!("INSERT INTO {} ({}) VALUES ", quoted(&chunk.table), chunk.columns);
        let mut rows = job.dataset.rows(chunk);
        let tuple = &mut self.tuple;
        tuple.buffer().clear();
        tuple.buffer().extend_from_slice(head.as_bytes());
        loop {
            let before = tuple.buffer().len();
            tuple.begin();
            let more = rows.next(tuple);
            if more {
                tuple.end();
            } else {
                tuple.buffer().truncate(before);
            }
            let text = tuple.buffer();
            // A statement that the last row made too long goes without it.
            if before > head.len() && (!more || text.len() - 1 > self.insert_bytes) {
                self.connection.queue_query(&text[..before - 1]);
                self.connection.reply()?;
                text.drain(head.len()..before);
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Runs a statement that commits by itself, and marks it.
    pub(super) fn change(&mut self, sql: &str, step: &str, part: u64) -> Result<(), SqlError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.connection.query(sql) {
                Ok(_) => break,
                Err(error) if exists(&error) => break,
                Err(error) if in_the_way(&error) && attempt < ATTEMPTS => {}
                Err(error) => return Err(error),
            }
        }
        marks::mark(&mut self.connection, step, part, Some(sql))?;
        self.connection.query("COMMIT").map(drop)
    }
}
