//! Numbers of the NBD protocol, named and ordered as in its document (doc/proto.md of the NBD project), and its bytes.

/// `NBDMAGIC`: what a server says first.
pub const GREETING_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// `IHAVEOPT`: before every option, and after the greeting of a newstyle server.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// Before every answer to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Before every request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// Before a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// Before a chunk of a structured reply.
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Bytes of an option's header: magic, option, length.
pub const OPTION_HEADER_BYTES: usize = 16;
/// Bytes of a request's header: magic, flags, type, cookie, offset, length.
pub const REQUEST_HEADER_BYTES: usize = 28;

/// Handshake flags.
pub mod handshake {
    /// The server speaks fixed newstyle; the client's own flag has the same value.
    pub const FIXED_NEWSTYLE: u16 = 1 << 0;
    /// No 124 zeros after `EXPORT_NAME`; the client's own flag has the same value.
    pub const NO_ZEROES: u16 = 1 << 1;
}

/// Transmission flags.
pub mod transmission {
    /// Always.
    pub const HAS_FLAGS: u16 = 1 << 0;
    /// Nothing can be written.
    pub const READ_ONLY: u16 = 1 << 1;
    /// There is `FLUSH`.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// There is `FUA`.
    pub const SEND_FUA: u16 = 1 << 3;
    /// There is `TRIM`.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// There is `WRITE_ZEROES`.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// Reads are not fragmented if the client asks so.
    pub const SEND_DF: u16 = 1 << 7;
    /// A flush on one connection covers what was answered on any.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    /// There is `CACHE`.
    pub const SEND_CACHE: u16 = 1 << 10;
    /// `WRITE_ZEROES` can be told to fail when it would be slow.
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Options.
pub mod option {
    /// Takes an export and ends the haggling, with no way to say no.
    pub const EXPORT_NAME: u32 = 1;
    /// Ends the session.
    pub const ABORT: u32 = 2;
    /// Lists the exports.
    pub const LIST: u32 = 3;
    /// Asks for TLS.
    pub const STARTTLS: u32 = 5;
    /// Asks about an export.
    pub const INFO: u32 = 6;
    /// Asks about an export and takes it.
    pub const GO: u32 = 7;
    /// Asks for structured replies.
    pub const STRUCTURED_REPLY: u32 = 8;
    /// Lists metadata contexts.
    pub const LIST_META_CONTEXT: u32 = 9;
    /// Chooses metadata contexts.
    pub const SET_META_CONTEXT: u32 = 10;
}

/// Answers to options.
pub mod option_reply {
    /// Done.
    pub const ACK: u32 = 1;
    /// An export.
    pub const SERVER: u32 = 2;
    /// Something of an export.
    pub const INFO: u32 = 3;
    /// A metadata context.
    pub const META_CONTEXT: u32 = 4;
    /// No such option here.
    pub const ERR_UNSUP: u32 = (1 << 31) + 1;
    /// The option makes no sense.
    pub const ERR_INVALID: u32 = (1 << 31) + 3;
    /// No such export.
    pub const ERR_UNKNOWN: u32 = (1 << 31) + 6;
    /// The server is going down.
    pub const ERR_SHUTDOWN: u32 = (1 << 31) + 7;
    /// Too long.
    pub const ERR_TOO_BIG: u32 = (1 << 31) + 9;
}

/// What `INFO` and `GO` tell.
pub mod info {
    /// Size and transmission flags.
    pub const EXPORT: u16 = 0;
    /// The export's own name.
    pub const NAME: u16 = 1;
    /// What people read.
    pub const DESCRIPTION: u16 = 2;
    /// Smallest, preferred and largest request.
    pub const BLOCK_SIZE: u16 = 3;
}

/// Requests.
pub mod command {
    /// Reads.
    pub const READ: u16 = 0;
    /// Writes what follows.
    pub const WRITE: u16 = 1;
    /// Says good-bye.
    pub const DISC: u16 = 2;
    /// Makes durable what was answered.
    pub const FLUSH: u16 = 3;
    /// Gives a range back.
    pub const TRIM: u16 = 4;
    /// Will read a range soon.
    pub const CACHE: u16 = 5;
    /// Writes zeros.
    pub const WRITE_ZEROES: u16 = 6;
    /// Asks what is known of a range.
    pub const BLOCK_STATUS: u16 = 7;
}

/// Flags of requests.
pub mod command_flag {
    /// Durable before the answer.
    pub const FUA: u16 = 1 << 0;
    /// Zeros that keep their room.
    pub const NO_HOLE: u16 = 1 << 1;
    /// Not in fragments.
    pub const DF: u16 = 1 << 2;
    /// One extent only.
    pub const REQ_ONE: u16 = 1 << 3;
    /// Zeros fast, or not at all.
    pub const FAST_ZERO: u16 = 1 << 4;
}

/// Structured replies.
pub mod reply {
    /// The last chunk of a reply.
    pub const FLAG_DONE: u16 = 1 << 0;
    /// Nothing to say but that it is done.
    pub const NONE: u16 = 0;
    /// Data.
    pub const OFFSET_DATA: u16 = 1;
    /// Extents of a metadata context.
    pub const BLOCK_STATUS: u16 = 5;
    /// It failed.
    pub const ERROR: u16 = (1 << 15) + 1;
}

/// Errors of requests.
pub mod error {
    /// The export is read-only.
    pub const EPERM: u32 = 1;
    /// A device failed.
    pub const EIO: u32 = 5;
    /// The request makes no sense.
    pub const EINVAL: u32 = 22;
    /// A write outside of the export.
    pub const ENOSPC: u32 = 28;
    /// Not as fast as was asked for.
    pub const ENOTSUP: u32 = 95;
    /// The server is going down.
    pub const ESHUTDOWN: u32 = 108;
}

/// Reads big-endian numbers off the front of bytes; None once there are too few.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next so many bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(first)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    /// 16 bits.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// 32 bits.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// 64 bits.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// 32 bits of length, and so many bytes.
    pub fn counted(&mut self) -> Option<&'a [u8]> {
        let count = self.u32()?;
        self.bytes(count as usize)
    }

    /// Whether nothing is left.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_where_the_bytes_end() {
        let mut fields = Fields(&[0, 1, 0, 0, 0, 2, 7, 8, 0, 0, 0, 9, 1]);
        assert_eq!(fields.u16(), Some(1));
        assert_eq!(fields.counted(), Some(&[7, 8][..]));
        assert_eq!(fields.counted(), None, "nine bytes are promised and one is there");
        assert_eq!(Fields(&[1; 7]).u64(), None);
        assert!(Fields(&[]).is_empty());
    }
}
