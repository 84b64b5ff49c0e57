//! Logging in: the handshake of protocol version 10, TLS in the middle of it, and the exchange of the account's plugin.

use std::sync::Arc;
use std::time::Duration;

use super::channel::Channel;
use super::error::SqlError;
use super::reply::read_error;
use crate::database::address::Address;
use crate::database::login::Login;
use crate::database::plugins::{self, Account, Plugin};
use crate::database::tls::{self, Mode, Tls};
use crate::database::wire::{EOF, ERROR, Greeting, MORE_AUTH_DATA, OK, Reader, capability, put_bytes, read_greeting};

/// How long logging in may take: a server that accepts and says nothing for longer is frozen, and not only busy with
/// 10,000 others.
pub const LOGIN: Duration = Duration::from_secs(60);
/// utf8mb4_general_ci, which every server since 5.5.3 has.
const CHARACTER_SET: u8 = 45;
/// The largest packet that we take, as the server is told.
const MAX_PACKET: u32 = 1 << 24;
/// Packets of a server in one login: the longest of plugins needs four.
const PACKETS_MAX: u32 = 16;

/// What both sides have agreed on.
pub(super) struct Agreed {
    /// The server's version.
    pub(super) version: String,
    /// What both sides are capable of.
    pub(super) capabilities: u64,
}

/// Logs in. `withheld`: what the server could read the password from is not sent.
///
/// # Errors
/// What the server answers; `Handshake` where it wants what this client does not have, or has not what the login wants.
pub(super) fn log_in(
    channel: &mut Channel,
    buffer: &mut Vec<u8>,
    login: &Login,
    withheld: bool,
) -> Result<Agreed, SqlError> {
    let (sequence, span) = channel.packet(buffer)?;
    let payload = &buffer[span.0..span.1];
    if payload.first() == Some(&ERROR) {
        return Err(read_error(payload));
    }
    let greeting = read_greeting(payload).ok_or_else(|| SqlError::Protocol("no greeting of version 10".into()))?;
    let mut capabilities = agree(&greeting, login)?;
    let mut sequence = sequence.wrapping_add(1);
    if let Some(tls) = wants_tls(&greeting, login)? {
        capabilities |= capability::SSL;
        channel.queue(sequence, |out| put_head(out, capabilities));
        channel.send(buffer, false)?;
        encrypt(channel, tls, &login.address, &greeting.version)?;
        sequence = sequence.wrapping_add(1);
    }
    let account = Account {
        password: &login.password,
        privacy: channel.privacy(),
        server_public_key: login.server_public_key.as_deref(),
        withheld,
    };
    // A plugin that we do not know: answer as if it were the usual one, and let the server ask for a change.
    let (name, plugin) = match Plugin::named(&greeting.plugin) {
        Some(plugin) => (greeting.plugin.as_str(), plugin),
        None => ("mysql_native_password", Plugin::Native),
    };
    let answer = plugin.answer(&account, &greeting.scramble)?;
    channel.queue(sequence, |out| {
        put_head(out, capabilities);
        out.extend_from_slice(login.user.as_bytes());
        out.push(0);
        put_bytes(out, &answer);
        if let Some(schema) = &login.schema {
            out.extend_from_slice(schema.as_bytes());
            out.push(0);
        }
        out.extend_from_slice(name.as_bytes());
        out.push(0);
    });
    channel.send(buffer, false)?;
    let done = prove(channel, buffer, &account, &login.user, (plugin, greeting.scramble));
    match (done, &login.tls) {
        // TLS 1.3: the server looks at our certificate when our side of the handshake is over.
        (Err(SqlError::Lost(error)), Some(tls)) if error.get_ref().is_some_and(|own| own.is::<rustls::Error>()) => {
            Err(tls::broken(&error, tls, &login.address, &greeting.version).into())
        }
        (done, _) => done.map(|()| Agreed { version: greeting.version, capabilities }),
    }
}

/// The capabilities of both sides.
fn agree(greeting: &Greeting, login: &Login) -> Result<u64, SqlError> {
    let mut wanted = capability::LONG_FLAG
        | capability::LOCAL_FILES
        | capability::PROTOCOL_41
        | capability::TRANSACTIONS
        | capability::SECURE_CONNECTION
        | capability::MULTI_RESULTS
        | capability::PLUGIN_AUTH
        | capability::PLUGIN_AUTH_LENENC
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
    Ok(capabilities)
}

/// The TLS that this connection is to have, if any.
fn wants_tls<'a>(greeting: &Greeting, login: &'a Login) -> Result<Option<&'a Tls>, SqlError> {
    let Some(tls) = &login.tls else { return Ok(None) };
    let offered = greeting.capabilities & capability::SSL != 0;
    match tls.mode {
        // Nobody can listen on a socket.
        Mode::Preferred => Ok(Some(tls).filter(|_| offered && matches!(login.address, Address::Tcp(..)))),
        _ if offered => Ok(Some(tls)),
        _ => Err(tls::unavailable(tls, &login.address, &greeting.version).into()),
    }
}

fn encrypt(channel: &mut Channel, tls: &Tls, address: &Address, version: &str) -> Result<(), SqlError> {
    let session = tls.begin(address)?;
    channel.secure(session)?.map_err(|error| tls::broken(&error, tls, address, version).into())
}

/// What both the request for TLS and the login begin with.
fn put_head(out: &mut Vec<u8>, capabilities: u64) {
    out.extend_from_slice(&(capabilities as u32).to_le_bytes());
    out.extend_from_slice(&MAX_PACKET.to_le_bytes());
    out.push(CHARACTER_SET);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
}

/// Answers whatever the server asks of the account, until it says yes or no. `asked` is the plugin in use and its challenge.
fn prove(
    channel: &mut Channel,
    buffer: &mut Vec<u8>,
    account: &Account<'_>,
    user: &str,
    asked: (Plugin, Vec<u8>),
) -> Result<(), SqlError> {
    let (mut plugin, mut challenge) = asked;
    for _ in 0..PACKETS_MAX {
        let (sequence, span) = channel.packet(buffer)?;
        let mut reader = Reader(&buffer[span.0..span.1]);
        let answer = match reader.byte() {
            Some(OK) => return Ok(()),
            Some(ERROR) => return Err(read_error(&buffer[span.0..span.1])),
            // Before 4.1: the packet names no plugin.
            Some(EOF) if reader.0.is_empty() => return Err(plugins::unknown(user, "mysql_old_password").into()),
            Some(EOF) => {
                let name = String::from_utf8_lossy(reader.text()).into_owned();
                plugin = Plugin::named(&name).ok_or_else(|| plugins::unknown(user, &name))?;
                challenge = reader.0.to_vec();
                Some(plugin.answer(account, &challenge)?)
            }
            Some(MORE_AUTH_DATA) => plugin.go_on(account, &challenge, reader.0)?,
            _ => return Err(SqlError::Protocol("no answer to the login".into())),
        };
        if let Some(answer) = answer {
            channel.queue(sequence.wrapping_add(1), |out| out.extend_from_slice(&answer));
            channel.send(buffer, false)?;
        }
    }
    Err(SqlError::Protocol("the login has no end".into()))
}

/// Whether an account that was refused is let in over TLS: servers refuse one that requires it with the words of a wrong
/// password. Nothing is sent that the server could read the password from, because nobody has checked who it is.
pub fn requires_tls(login: &Login, patience: Duration) -> bool {
    let own = Login { tls: Some(Tls::unchecked()), ..login.clone() };
    let open = || {
        let mut channel = Channel::open(&own.address, Arc::default(), patience)?;
        let agreed = log_in(&mut channel, &mut Vec::new(), &own, true);
        channel.send_last(&[crate::database::wire::COM_QUIT]);
        agreed
    };
    login.tls.is_none() && open().is_ok()
}
