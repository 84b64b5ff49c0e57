//! Logging in: the handshake of protocol version 10.

use std::time::Duration;

use super::reply::read_error;
use super::{Connection, SqlError};
use crate::database::address::{Login, Stream};
use crate::database::wire::{
    EOF, ERROR, MORE_AUTH_DATA, OK, Reader, begin_packet, capability, end_packet, put_bytes, read_greeting, scramble,
};

/// How long logging in may take: a server that accepts and says nothing for longer is frozen, and not only busy with
/// 10,000 others.
pub const LOGIN: Duration = Duration::from_secs(60);
/// utf8mb4_general_ci, which every server since 5.5.3 has.
const CHARACTER_SET: u8 = 45;
/// The largest packet that we take, as the server is told.
const MAX_PACKET: u32 = 1 << 24;

impl Connection {
    pub(super) fn log_in(&mut self, login: &Login) -> Result<(), SqlError> {
        let (sequence, span) = self.packet()?;
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
        self.finish_login(login)
    }

    fn finish_login(&mut self, login: &Login) -> Result<(), SqlError> {
        loop {
            let (sequence, span) = self.packet()?;
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
}
