//! Packets of the MySQL protocol, as MySQL's "Client/Server Protocol" and MariaDB's protocol pages describe them.

/// Capabilities that client and server agree on (the protocol's CLIENT_*).
pub(super) mod capability {
    /// The password is hashed as of 4.1; absent where MariaDB speaks its extended protocol.
    pub const LONG_PASSWORD: u64 = 1;
    /// Flags of columns have two bytes.
    pub const LONG_FLAG: u64 = 1 << 2;
    /// The login names a schema.
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    /// LOAD DATA LOCAL.
    pub const LOCAL_FILES: u64 = 1 << 7;
    /// The protocol of 4.1 and later.
    pub const PROTOCOL_41: u64 = 1 << 9;
    /// TLS begins after the first 32 bytes of the login.
    pub const SSL: u64 = 1 << 11;
    /// The state of transactions is told with each reply.
    pub const TRANSACTIONS: u64 = 1 << 13;
    /// The scramble of 4.1 and later.
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    /// CLIENT_MULTI_RESULTS: a CALL may have several results.
    pub const MULTI_RESULTS: u64 = 1 << 17;
    /// Authentication by plugins.
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    /// The length of the first proof of a plugin may have more than one byte.
    pub const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
    /// Rows end with an OK packet instead of an EOF packet.
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    /// MariaDB only: a statement's columns are described once, and not with each of its results.
    pub const CACHE_METADATA: u64 = 1 << 36;
}

/// Ends the session.
pub(super) const COM_QUIT: u8 = 0x01;
/// Runs a statement that is sent as text.
pub(super) const COM_QUERY: u8 = 0x03;
/// Prepares a statement.
pub(super) const COM_STMT_PREPARE: u8 = 0x16;
/// Executes a prepared statement.
pub(super) const COM_STMT_EXECUTE: u8 = 0x17;

/// First byte of an answer: the statement was done.
pub(super) const OK: u8 = 0x00;
/// First byte of an answer: the login goes on.
pub(super) const MORE_AUTH_DATA: u8 = 0x01;
/// First byte of an answer: the server asks for a file.
pub(super) const LOCAL_INFILE: u8 = 0xfb;
/// First byte of an answer: the end of columns or rows, or another authentication.
pub(super) const EOF: u8 = 0xfe;
/// First byte of an answer: the statement was refused.
pub(super) const ERROR: u8 = 0xff;

/// Column and parameter types.
pub(super) mod column {
    /// TINYINT.
    pub const TINY: u8 = 1;
    /// SMALLINT.
    pub const SHORT: u8 = 2;
    /// INT.
    pub const LONG: u8 = 3;
    /// FLOAT.
    pub const FLOAT: u8 = 4;
    /// DOUBLE.
    pub const DOUBLE: u8 = 5;
    /// TIMESTAMP.
    pub const TIMESTAMP: u8 = 7;
    /// BIGINT.
    pub const LONGLONG: u8 = 8;
    /// MEDIUMINT.
    pub const INT24: u8 = 9;
    /// DATE.
    pub const DATE: u8 = 10;
    /// TIME.
    pub const TIME: u8 = 11;
    /// DATETIME.
    pub const DATETIME: u8 = 12;
    /// YEAR.
    pub const YEAR: u8 = 13;
    /// CHAR, and what is sent as text.
    pub const STRING: u8 = 254;
}

/// A packet carries at most this; more is split, which nothing here needs.
pub(super) const PACKET_BYTES_MAX: usize = (1 << 24) - 2;
/// Length (3 bytes) and sequence number.
pub(super) const HEADER_BYTES: usize = 4;

/// Reads a payload from front to back. A payload that ends too early gives None.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// An unsigned whole number of 1 to 8 bytes, the low one first.
    pub fn number(&mut self, bytes: usize) -> Option<u64> {
        let mut eight = [0; 8];
        eight[..bytes].copy_from_slice(self.take(bytes)?);
        Some(u64::from_le_bytes(eight))
    }

    /// A length-encoded whole number.
    #[inline]
    pub fn length(&mut self) -> Option<u64> {
        match self.byte()? {
            short @ 0..=0xfa => Some(u64::from(short)),
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            _ => None,
        }
    }

    /// Length-encoded bytes.
    #[inline]
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// Bytes up to a zero, which is taken too; all that is left if there is none.
    pub fn text(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = &self.0[..end.unwrap_or(self.0.len())];
        self.0 = &self.0[end.map_or(self.0.len(), |end| end + 1)..];
        text
    }
}

/// Begins a packet: the length is filled in by `end_packet`.
pub(super) fn begin_packet(out: &mut Vec<u8>, sequence: u8) -> usize {
    let at = out.len();
    out.extend_from_slice(&[0, 0, 0, sequence]);
    at
}

/// Ends the packet that began `at`.
pub(super) fn end_packet(out: &mut [u8], at: usize) {
    let length = out.len() - at - HEADER_BYTES;
    debug_assert!(length <= PACKET_BYTES_MAX, "a packet of {length} B");
    out[at..at + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
}

/// Appends length-encoded bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        short @ 0..=0xfa => out.push(short as u8),
        middle @ 0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(middle as u16).to_le_bytes());
        }
        long => {
            out.push(0xfd);
            out.extend_from_slice(&(long as u32).to_le_bytes()[..3]);
        }
    }
    out.extend_from_slice(bytes);
}

/// What a server says when it is connected to.
pub(super) struct Greeting {
    /// The server's version, in its words.
    pub version: String,
    /// What it is capable of.
    pub capabilities: u64,
    /// What the password is hashed with.
    pub scramble: Vec<u8>,
    /// The authentication that it prefers.
    pub plugin: String,
}

/// Reads the server's first packet (handshake version 10).
pub(super) fn read_greeting(payload: &[u8]) -> Option<Greeting> {
    let mut reader = Reader(payload);
    if reader.byte()? != 10 {
        return None;
    }
    let version = String::from_utf8_lossy(reader.text()).into_owned();
    reader.take(4)?; // thread id
    let mut scramble = reader.take(8)?.to_vec();
    reader.byte()?;
    let mut capabilities = reader.number(2)?;
    let mut plugin = String::new();
    if !reader.0.is_empty() {
        reader.take(3)?; // character set, status
        capabilities |= reader.number(2)? << 16;
        let length = usize::from(reader.byte()?);
        reader.take(6)?;
        let own = reader.number(4)?;
        // MariaDB leaves out LONG_PASSWORD and tells its own capabilities where MySQL has zeros.
        if capabilities & capability::LONG_PASSWORD == 0 {
            capabilities |= own << 32;
        }
        let rest = reader.take(length.saturating_sub(8).max(13).min(reader.0.len()))?;
        scramble.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
        plugin = String::from_utf8_lossy(reader.text()).into_owned();
    }
    // Old versions of MariaDB say 5.5.5- first, so that MySQL's replicas would talk to them.
    let version = version.strip_prefix("5.5.5-").map_or(version.clone(), str::to_owned);
    Some(Greeting { version, capabilities, scramble, plugin })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_back() {
        for length in [0_usize, 1, 250, 251, 252, 65_535, 65_536, 1 << 20] {
            let mut out = Vec::new();
            put_bytes(&mut out, &vec![7; length]);
            let mut reader = Reader(&out);
            assert_eq!(reader.bytes().map(<[u8]>::len), Some(length));
            assert!(reader.0.is_empty());
        }
    }

    #[test]
    fn a_payload_that_ends_early_is_no_panic() {
        let greeting = b"\x0a10.11.6-MariaDB\0\x01\x02\x03\x04abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0mysql_native_password\0";
        let read = read_greeting(greeting).unwrap();
        assert_eq!((read.version.as_str(), read.plugin.as_str()), ("10.11.6-MariaDB", "mysql_native_password"));
        assert_eq!(read.scramble, b"abcdefghijklmnopqrst");
        for length in 0..greeting.len() {
            read_greeting(&greeting[..length]);
            let mut reader = Reader(&greeting[..length]);
            while reader.bytes().is_some() {}
        }
    }
}
