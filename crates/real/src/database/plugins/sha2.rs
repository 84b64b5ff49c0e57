//! `caching_sha2_password` and `sha256_password`: the password itself where nobody can listen, else under the server's
//! public key (MySQL's manual, "Caching SHA-2 Pluggable Authentication").

use sha2::{Digest as _, Sha256};

use super::account::{Account, Privacy};
use super::rsa::PublicKey;
use crate::database::cause::Cause;

/// The server remembers the password: an OK follows.
const REMEMBERED: u8 = 3;
/// The server needs the password itself.
const WANTED: u8 = 4;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::database) enum Kind {
    /// `caching_sha2_password`.
    Caching,
    /// `sha256_password`.
    Plain,
}

impl Kind {
    /// What asks the server for its public key.
    fn request(self) -> u8 {
        match self {
            Self::Caching => 2,
            Self::Plain => 1,
        }
    }

    /// Whether the server takes the password as it is. Only one of the two takes it over a socket.
    fn takes_it(self, privacy: Privacy) -> bool {
        privacy == Privacy::Encrypted || self == Self::Caching && privacy == Privacy::Socket
    }
}

/// The first answer to a challenge.
pub(super) fn answer(kind: Kind, account: &Account<'_>, challenge: &[u8]) -> Result<Vec<u8>, Cause> {
    match kind {
        Kind::Caching if account.password.is_empty() => Ok(Vec::new()),
        Kind::Caching => Ok(scramble(account.password, challenge)),
        Kind::Plain if account.password.is_empty() => Ok(vec![0]),
        Kind::Plain => give(kind, account, challenge),
    }
}

/// What follows on data of the server: the next packet, or None if an answer of the server comes next.
pub(super) fn go_on(
    kind: Kind,
    account: &Account<'_>,
    challenge: &[u8],
    data: &[u8],
) -> Result<Option<Vec<u8>>, Cause> {
    match (kind, data) {
        (Kind::Caching, [REMEMBERED]) => Ok(None),
        (Kind::Caching, [WANTED]) => give(kind, account, challenge).map(Some),
        (_, key) => encrypted(account, challenge, &read_key(key)?).map(Some),
    }
}

/// The password, or what it takes to send it.
fn give(kind: Kind, account: &Account<'_>, challenge: &[u8]) -> Result<Vec<u8>, Cause> {
    if account.withheld {
        return Err(Cause::new("the server wants the password itself", "it is not sent to find out a cause"));
    }
    if kind.takes_it(account.privacy) {
        return Ok([account.password.as_bytes(), &[0]].concat());
    }
    let Some(path) = account.server_public_key else { return Ok(vec![kind.request()]) };
    let hint = "the server's file is public_key.pem in its data directory";
    let pem = std::fs::read(path)
        .map_err(|error| Cause::new(format!("database.server_public_key_path: {}: {error}", path.display()), hint))?;
    let key = PublicKey::read(&pem)
        .map_err(|why| Cause::new(format!("database.server_public_key_path: {} holds {why}", path.display()), hint))?;
    encrypted(account, challenge, &key)
}

fn read_key(pem: &[u8]) -> Result<PublicKey, Cause> {
    PublicKey::read(pem).map_err(|why| {
        let what = format!("the server was asked for its public key, and sent {why}");
        Cause::new(
            what,
            "use TLS: database.ssl_mode = \"REQUIRED\"; or look at its caching_sha2_password_public_key_path",
        )
    })
}

fn encrypted(account: &Account<'_>, challenge: &[u8], key: &PublicKey) -> Result<Vec<u8>, Cause> {
    let mut seed = [0; 20];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut seed)
        .map_err(|_| Cause::new("the system gives no random numbers", "is /dev/urandom there?"))?;
    let masked = challenge.iter().cycle().zip(account.password.bytes().chain([0])).map(|(mask, byte)| mask ^ byte);
    if challenge.is_empty() {
        return Err(Cause::new("the server sent no challenge", "is it a MySQL-compatible server?"));
    }
    key.encrypt(&masked.collect::<Vec<u8>>(), seed).ok_or_else(|| {
        Cause::new("the password is too long for the server's public key", "use TLS: database.ssl_mode = \"REQUIRED\"")
    })
}

fn scramble(password: &str, challenge: &[u8]) -> Vec<u8> {
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mask = Sha256::new().chain_update(twice).chain_update(challenge).finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &[u8] = b"abcdefghijklmnopqrst";

    fn account(password: &str, privacy: Privacy) -> Account<'_> {
        Account { password, privacy, server_public_key: None, withheld: false }
    }

    #[test]
    fn the_server_can_verify_a_scramble() {
        // It keeps SHA256(SHA256(password)), and looks whether SHA256(answer XOR SHA256(kept + challenge)) is that.
        let answered = answer(Kind::Caching, &account("secret", Privacy::Open), CHALLENGE).unwrap();
        let kept = Sha256::digest(Sha256::digest("secret"));
        let mask = Sha256::new().chain_update(kept).chain_update(CHALLENGE).finalize();
        let once: Vec<u8> = answered.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert_eq!(Sha256::digest(once), kept);
    }

    #[test]
    fn the_password_itself_goes_only_where_nobody_listens() {
        for (kind, privacy, bare) in [
            (Kind::Caching, Privacy::Open, false),
            (Kind::Caching, Privacy::Socket, true),
            (Kind::Caching, Privacy::Encrypted, true),
            (Kind::Plain, Privacy::Open, false),
            (Kind::Plain, Privacy::Socket, false),
            (Kind::Plain, Privacy::Encrypted, true),
        ] {
            let own = account("secret", privacy);
            let sent = give(kind, &own, CHALLENGE).unwrap();
            let asked = if kind == Kind::Caching { [2] } else { [1] };
            assert_eq!(sent, if bare { &b"secret\0"[..] } else { &asked }, "{kind:?} {privacy:?}");
            assert!(give(kind, &Account { withheld: true, ..own }, CHALLENGE).is_err());
        }
    }

    #[test]
    fn a_key_that_is_garbage_is_told() {
        let own = account("secret", Privacy::Open);
        for data in [&[][..], &[4, 4], b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
            let told = go_on(Kind::Caching, &own, CHALLENGE, data).unwrap_err().to_string();
            assert!(told.contains("public key") && told.contains("ssl_mode") && !told.contains("secret"), "{told}");
        }
        assert_eq!(go_on(Kind::Caching, &own, CHALLENGE, &[REMEMBERED]), Ok(None));
    }
}
