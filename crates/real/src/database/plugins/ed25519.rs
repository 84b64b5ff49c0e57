//! MariaDB's `client_ed25519`: a signature of the server's challenge whose key is made of the password. It is Ed25519
//! (RFC 8032) but for the key's first step: SHA-512 of the password, of any length, in place of a seed of 32 bytes
//! (MariaDB's manual, "Authentication Plugin - ed25519").

use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use sha2::{Digest as _, Sha512};

/// Bytes of a challenge.
const CHALLENGE_BYTES: usize = 32;

/// The signature of a challenge; None for a challenge that is too short.
pub(super) fn answer(password: &str, challenge: &[u8]) -> Option<Vec<u8>> {
    let challenge = challenge.get(..CHALLENGE_BYTES)?;
    let expanded: [u8; 64] = Sha512::digest(password).into();
    let (own, prefix) = expanded.split_at(32);
    let own = Scalar::from_bytes_mod_order(clamp_integer(own.try_into().expect("half of 64 bytes")));
    let public = EdwardsPoint::mul_base(&own).compress();
    let once = scalar(Sha512::new().chain_update(prefix).chain_update(challenge));
    let commitment = EdwardsPoint::mul_base(&once).compress();
    let hashed = Sha512::new().chain_update(commitment.0).chain_update(public.0).chain_update(challenge);
    let response = once + scalar(hashed) * own;
    Some([commitment.0, response.to_bytes()].concat())
}

fn scalar(hash: Sha512) -> Scalar {
    Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use curve25519_dalek::edwards::CompressedEdwardsY;

    #[test]
    fn the_server_can_verify_the_signature() {
        let challenge = [7; CHALLENGE_BYTES];
        let signed = answer("secret", &challenge).unwrap();
        // What MariaDB stores of "secret", from its manual: ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY.
        let stored = [
            0x64, 0x88, 0x14, 0x44, 0x45, 0x20, 0xe4, 0xf5, 0x60, 0x43, 0xa2, 0xec, 0x92, 0x15, 0xe6, 0x3b, 0xe7, 0x99,
            0x2d, 0x2d, 0x27, 0x0b, 0xc6, 0xde, 0xe8, 0x73, 0xe3, 0x61, 0x64, 0x78, 0x60, 0x96,
        ];
        let public = CompressedEdwardsY(stored).decompress().unwrap();
        let hashed =
            scalar(Sha512::new().chain_update(&signed[..32]).chain_update(public.compress().0).chain_update(challenge));
        // RFC 8032, section 5.1.7: [S]B = R + [k]A.
        let response = Scalar::from_canonical_bytes(signed[32..].try_into().unwrap()).unwrap();
        let commitment = CompressedEdwardsY(signed[..32].try_into().unwrap()).decompress().unwrap();
        assert_eq!(EdwardsPoint::mul_base(&response), commitment + public * hashed);
        assert_eq!(answer("secret", &challenge[1..]), None);
    }
}
