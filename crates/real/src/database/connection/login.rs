//! Logging in: the handshake of protocol version 10.

use std::time::Duration;

use super::channel::Channel;
use super::error::SqlError;
use super::reply::read_error;
use crate::database::address::Login;
use crate::database::wire::{EOF, ERROR, MORE_AUTH_DATA, OK, Reader, capability, put_bytes, read_greeting, scramble};

/// How long logging in may take: a server that accepts and says nothing for longer is frozen, and not only busy with
/// 10,000 others.
pub const LOGIN: Duration = Duration::from_secs(60);
/// utf8mb4_general_ci, which every server since 5.5.3 has.
const CHARACTER_SET: u8 = 45;
/// The largest packet that we take, as the server is told.
const MAX_PACKET: u32 = 1 << 24;

/// Logs in; the server's version and the capabilities that both sides have.
///
/// # Errors
/// What the server answers; `Protocol` where it wants what this client does not know.
pub(super) fn log_in(channel: &mut Channel, buffer: &mut Vec<u8>, login: &Login) -> Result<(String, u64), SqlError> {
    let (sequence, span) = channel.packet(buffer)?;
    let payload = &buffer[span.0..span.1];
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
    let mut capabilities = wanted & greeting.capabilities;
    if capabilities & capability::PROTOCOL_41 == 0 {
        return Err(SqlError::Protocol("the server is older than 4.1".into()));
    }
    if capabilities & capability::DEPRECATE_EOF == 0 {
        capabilities &= !capability::CACHE_METADATA;
    }
    if login.schema.is_some() {
        capabilities |= capability::CONNECT_WITH_DB;
    }
    let known = scramble(&greeting.plugin, &login.password, &greeting.scramble);
    // A plugin that we do not know: answer as if it were the usual one, and let the server ask for a change.
    let (plugin, answer) = match known {
        Some(answer) => (greeting.plugin, answer),
        None => ("mysql_native_password".to_owned(), Vec::new()),
    };
    channel.queue(sequence.wrapping_add(1), |out| {
        out.extend_from_slice(&(capabilities as u32).to_le_bytes());
        out.extend_from_slice(&MAX_PACKET.to_le_bytes());
        out.push(CHARACTER_SET);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
        out.extend_from_slice(login.user.as_bytes());
        out.push(0);
        put_bytes(out, &answer);
        if let Some(schema) = &login.schema {
            out.extend_from_slice(schema.as_bytes());
            out.push(0);
        }
        out.extend_from_slice(plugin.as_bytes());
        out.push(0);
    });
    channel.send(buffer, false)?;
    finish_login(channel, buffer, login)?;
    Ok((greeting.version, capabilities))
}

fn finish_login(channel: &mut Channel, buffer: &mut Vec<u8>, login: &Login) -> Result<(), SqlError> {
    loop {
        let (sequence, span) = channel.packet(buffer)?;
        let mut reader = Reader(&buffer[span.0..span.1]);
        let answer = match reader.byte() {
            Some(OK) => return Ok(()),
            Some(ERROR) => return Err(read_error(&buffer[span.0..span.1])),
            Some(EOF) => {
                let plugin = String::from_utf8_lossy(reader.text()).into_owned();
                scramble(&plugin, &login.password, reader.0).ok_or_else(|| {
                    SqlError::Protocol(format!("the account uses {plugin:?}, which this client does not know"))
                })?
            }
            // caching_sha2_password: 3 is "the server remembers you", 4 asks for the password itself.
            Some(MORE_AUTH_DATA) if reader.0 == [3] => continue,
            Some(MORE_AUTH_DATA) if reader.0 == [4] && channel.is_private() => {
                [login.password.as_bytes(), &[0]].concat()
            }
            Some(MORE_AUTH_DATA) => {
                return Err(SqlError::Protocol(
                    "the server wants the password itself, which is sent over a unix socket only".into(),
                ));
            }
            _ => return Err(SqlError::Protocol("no answer to the login".into())),
        };
        channel.queue(sequence.wrapping_add(1), |out| out.extend_from_slice(&answer));
        channel.send(buffer, false)?;
    }
}
