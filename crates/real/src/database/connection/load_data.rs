//! Data for a server that asks for a file of its client.

use super::reply::{read_error, read_ok};
use super::{Connection, Reply, SqlError};
use crate::database::wire::{ERROR, LOCAL_INFILE, OK, PACKET_BYTES_MAX};

impl Connection {
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
}
