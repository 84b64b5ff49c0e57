//! As much of DER (X.690) as certificates and public keys take to say whose they are.

/// A whole number.
pub(super) const INTEGER: u8 = 0x02;
/// Bits, after a byte that says how many of the last byte's are unused.
pub(super) const BIT_STRING: u8 = 0x03;
/// Parts in a row.
pub(super) const SEQUENCE: u8 = 0x30;
/// A time with a year of two digits.
const UTC_TIME: u8 = 0x17;
/// A time with a year of four digits.
const GENERALIZED_TIME: u8 = 0x18;
/// A certificate's version, which is absent from those of version 1.
const VERSION: u8 = 0xa0;

/// Reads elements one after the other. What ends too early, or has another tag, gives None.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a>(pub &'a [u8]);

impl<'a> Elements<'a> {
    /// The next element: its tag and its contents.
    pub fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let length = if first < 0x80 {
            usize::from(first)
        } else {
            // Four bytes of length are more than any packet has.
            let count = usize::from(first & 0x7f);
            let (bytes, after) = rest.split_at_checked(count).filter(|_| (1..=4).contains(&count))?;
            rest = after;
            bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte))
        };
        let (contents, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, contents))
    }

    /// The contents of the next element, which must have this tag.
    pub fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(own, _)| *own == tag).map(|(_, contents)| contents)
    }
}

/// What a certificate says of itself (RFC 5280, section 4.1), unchecked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outline {
    /// Issuer and subject are the same.
    pub self_issued: bool,
    /// Version 1: it has no extensions, and so no names of hosts.
    pub first_version: bool,
    /// The first moment of its validity, `2026-11-23 09:30:00`, UTC.
    pub from: String,
    /// The last one.
    pub until: String,
}

/// Reads a certificate; None for what is none.
pub(super) fn outline(certificate: &[u8]) -> Option<Outline> {
    let mut parts = Elements(Elements(Elements(certificate).expect(SEQUENCE)?).expect(SEQUENCE)?);
    let mut ahead = parts;
    let first_version = ahead.next()?.0 != VERSION;
    if !first_version {
        parts = ahead;
    }
    parts.expect(INTEGER)?; // serial number
    parts.expect(SEQUENCE)?; // algorithm of the signature
    let issuer = parts.expect(SEQUENCE)?;
    let mut validity = Elements(parts.expect(SEQUENCE)?);
    let (from, until) = (time(validity.next()?)?, time(validity.next()?)?);
    let subject = parts.expect(SEQUENCE)?;
    Some(Outline { self_issued: issuer == subject, first_version, from, until })
}

/// A time in words that sort as the times do.
fn time((tag, contents): (u8, &[u8])) -> Option<String> {
    let digits = std::str::from_utf8(contents).ok()?.strip_suffix('Z')?;
    let century = match tag {
        // RFC 5280, section 4.1.2.5.1.
        UTC_TIME if digits.get(..2)? < "50" => "20",
        UTC_TIME => "19",
        GENERALIZED_TIME => "",
        _ => return None,
    };
    let text = format!("{century}{digits}");
    if text.len() != 14 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (date, clock) = text.split_at(8);
    Some(format!("{}-{}-{} {}:{}:{}", &date[..4], &date[4..6], &date[6..], &clock[..2], &clock[2..4], &clock[4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate's parts up to its subject, from the fewest bytes; the signature and the rest are not looked at.
    fn certificate(version: &[u8], issuer: u8, subject: u8, from: &[u8], until: &[u8]) -> Vec<u8> {
        let element = |tag: u8, contents: &[u8]| [&[tag, contents.len() as u8], contents].concat();
        let validity = element(SEQUENCE, &[element(UTC_TIME, from), element(GENERALIZED_TIME, until)].concat());
        let body = [
            version,
            &element(INTEGER, &[7]),
            &element(SEQUENCE, &[]),
            &element(SEQUENCE, &[issuer]),
            &validity,
            &element(SEQUENCE, &[subject]),
        ];
        element(SEQUENCE, &element(SEQUENCE, &body.concat()))
    }

    const THIRD: [u8; 5] = [VERSION, 3, INTEGER, 1, 2];

    #[test]
    fn a_certificate_says_whose_it_is_and_until_when() {
        let own = certificate(&THIRD, 1, 1, b"260102030405Z", b"20511231235959Z");
        let told = outline(&own).unwrap();
        assert!(told.self_issued && !told.first_version);
        assert_eq!((told.from.as_str(), told.until.as_str()), ("2026-01-02 03:04:05", "2051-12-31 23:59:59"));
        let other = outline(&certificate(&[], 1, 2, b"990102030405Z", b"20511231235959Z")).unwrap();
        assert!(!other.self_issued && other.first_version);
        assert_eq!(other.from, "1999-01-02 03:04:05");
    }

    #[test]
    fn what_is_no_certificate_is_no_panic() {
        let good = certificate(&THIRD, 1, 1, b"260102030405Z", b"20511231235959Z");
        for length in 0..good.len() {
            assert_eq!(outline(&good[..length]), None);
            let mut wrong = good.clone();
            wrong[length] ^= 0xff;
            outline(&wrong);
        }
        assert_eq!(outline(&certificate(&THIRD, 1, 1, b"26010203040\xc3Z", b"20511231235959Z")), None);
        for length in [&[0x84_u8, 0xff, 0xff, 0xff, 0xff][..], &[0x80], &[0x88, 0, 0, 0, 0, 0, 0, 0, 1]] {
            assert_eq!(Elements(&[&[SEQUENCE], length].concat()).next(), None);
        }
    }
}
