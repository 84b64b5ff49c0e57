//! `mysql_native_password`: the password's SHA-1 under a mask that only its owner and the server can make.

use sha1::{Digest as _, Sha1};

/// The answer to a challenge.
pub(super) fn answer(password: &str, challenge: &[u8]) -> Vec<u8> {
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mask = Sha1::new().chain_update(challenge).chain_update(twice).finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_scrambled_as_the_protocol_says() {
        // The server checks SHA1(answer XOR SHA1(challenge + stored)) = stored, stored = SHA1(SHA1(password)).
        let challenge = b"abcdefghijklmnopqrst";
        let stored = Sha1::digest(Sha1::digest("secret"));
        let mask = Sha1::new().chain_update(challenge).chain_update(stored).finalize();
        let once: Vec<u8> = answer("secret", challenge).iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert_eq!(Sha1::digest(once), stored);
    }
}
