//! A password under a server's public key, as `sha256_password` and `caching_sha2_password` take it where the
//! connection is not private: RSA with OAEP and SHA-1 (RFC 8017, section 7.1.1), an empty label.
//!
//! This side only raises to a public power, once a login. Nothing here keeps a private key, whose use would have to
//! take the same time whatever its value.

use num_bigint::BigUint;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject as _;
use sha1::{Digest as _, Sha1};

use crate::database::der::{BIT_STRING, Elements, INTEGER, SEQUENCE};

/// Bytes of a SHA-1.
const HASH_BYTES: usize = 20;
/// rsaEncryption, 1.2.840.113549.1.1.1.
const RSA: [u8; 9] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
/// Bits of a key that a client takes: below, anyone can break it; above, a hostile server could let us compute for long
/// (OpenSSL's OPENSSL_RSA_MAX_MODULUS_BITS is the same limit).
const BITS: std::ops::RangeInclusive<u64> = 1024..=16_384;
/// Bits of a public exponent (OpenSSL's OPENSSL_RSA_MAX_PUBEXP_BITS).
const EXPONENT_BITS_MAX: u64 = 64;

/// A server's public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublicKey {
    modulus: BigUint,
    exponent: BigUint,
}

impl PublicKey {
    /// Reads PEM (`-----BEGIN PUBLIC KEY-----`).
    ///
    /// # Errors
    /// Why it is no key that can be used.
    pub fn read(pem: &[u8]) -> Result<Self, &'static str> {
        let info = SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| "not a public key in PEM")?;
        let key = Self::from_info(&info).ok_or("not a public key of RSA")?;
        if !BITS.contains(&key.modulus.bits()) {
            return Err("an RSA key of less than 1024 or more than 16384 bits");
        }
        let fits = (2..=EXPONENT_BITS_MAX).contains(&key.exponent.bits());
        if fits && key.exponent.bit(0) && key.modulus.bit(0) {
            Ok(key)
        } else {
            Err("an RSA key of impossible numbers")
        }
    }

    /// RFC 5280, section 4.1 (SubjectPublicKeyInfo), and RFC 8017, appendix A.1.1.
    fn from_info(info: &[u8]) -> Option<Self> {
        let mut info = Elements(Elements(info).expect(SEQUENCE)?);
        let algorithm = info.expect(SEQUENCE)?;
        if Elements(algorithm).next()?.1 != RSA {
            return None;
        }
        let key = info.expect(BIT_STRING)?.strip_prefix(&[0])?;
        let mut numbers = Elements(Elements(key).expect(SEQUENCE)?);
        let mut number = || numbers.expect(INTEGER).map(BigUint::from_bytes_be);
        Some(Self { modulus: number()?, exponent: number()? })
    }

    /// The message under the key; `seed` must be random. None for a message that is too long for the key.
    pub fn encrypt(&self, message: &[u8], seed: [u8; HASH_BYTES]) -> Option<Vec<u8>> {
        let length = self.modulus.bits().div_ceil(8) as usize;
        let padding = length.checked_sub(message.len() + 2 * HASH_BYTES + 2)?;
        let mut block = Sha1::digest([]).to_vec();
        block.resize(HASH_BYTES + padding, 0);
        block.push(1);
        block.extend_from_slice(message);
        mask(&mut block, &seed);
        let mut masked_seed = seed;
        mask(&mut masked_seed, &block);
        let encoded = BigUint::from_bytes_be(&[&masked_seed[..], &block].concat());
        let power = encoded.modpow(&self.exponent, &self.modulus).to_bytes_be();
        Some([vec![0; length - power.len()], power].concat())
    }
}

/// XORs with MGF1 of a seed (RFC 8017, appendix B.2.1).
fn mask(block: &mut [u8], seed: &[u8]) {
    for (counter, piece) in (0_u32..).zip(block.chunks_mut(HASH_BYTES)) {
        let hash = Sha1::new().chain_update(seed).chain_update(counter.to_be_bytes()).finalize();
        piece.iter_mut().zip(hash).for_each(|(byte, mask)| *byte ^= mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made for this test with `openssl genrsa 1024`; its private exponent is below.
    const PEM: &str = "-----BEGIN PUBLIC KEY-----\n\
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQC5SZ/ReHy+XQ7TWfMIuR4hpkIn\n\
        gvWiDpBtG4X6k3KQk2519ANOuk7klpLVc5ReRLWiWQ3LFveuTctaUIXpAv6nG30B\n\
        JvJNT2IyBvO4awXpNY9K3aeRo5IyCbTtel3NHbYXpRXdSXyrvx4JC3q+1Z8ikleE\n\
        2JTwqzP5uTMFXlunXQIDAQAB\n\
        -----END PUBLIC KEY-----";
    const PRIVATE: &str = "\
        221b8b6fe3de12acceadd94103ba0ff1e1c90bbcefba8533d0e1e027e03c96a08d14e9763267d95dfad9ccb119fec067\
        2f1b758e8d0bcaea4724b8eded96bf8973361da3b4c1f78fa71f88f3fa9074c54aa2af3890f626279ab07a9882d6b049\
        15c1065f7b3699f9158dab2aac6cbd2b1e3ef1cb9a34402f21b11c9f4109e801";

    /// What a server does: RFC 8017, section 7.1.2.
    fn decrypt(key: &PublicKey, encrypted: &[u8]) -> Vec<u8> {
        let private = BigUint::parse_bytes(PRIVATE.as_bytes(), 16).unwrap();
        let encoded = BigUint::from_bytes_be(encrypted).modpow(&private, &key.modulus).to_bytes_be();
        let (seed, block) = encoded.split_at(encoded.len() - (encrypted.len() - HASH_BYTES - 1));
        let mut masked_seed = vec![0; HASH_BYTES - seed.len()];
        masked_seed.extend_from_slice(seed);
        let mut block = block.to_vec();
        mask(&mut masked_seed, &block);
        mask(&mut block, &masked_seed);
        assert_eq!(block[..HASH_BYTES], Sha1::digest([])[..]);
        let begin = block[HASH_BYTES..].iter().position(|byte| *byte == 1).unwrap();
        assert!(block[HASH_BYTES..][..begin].iter().all(|byte| *byte == 0));
        block.split_off(HASH_BYTES + begin + 1)
    }

    #[test]
    fn the_owner_of_the_key_reads_what_was_encrypted() {
        let key = PublicKey::read(PEM.as_bytes()).unwrap();
        for (message, seed) in [(&b"secret\0"[..], 1), (&[], 2), (&[0; 86], 3)] {
            let encrypted = key.encrypt(message, [seed; HASH_BYTES]).unwrap();
            assert_eq!(encrypted.len(), 128);
            assert_eq!(decrypt(&key, &encrypted), message);
        }
        // 128 bytes less two hashes and two bytes.
        assert_eq!(key.encrypt(&[0; 87], [1; HASH_BYTES]), None);
    }

    /// A key in PEM, of these numbers.
    fn pem(modulus: &[u8], exponent: &[u8]) -> String {
        let element = |tag: u8, contents: &[u8]| {
            let length = u32::try_from(contents.len()).unwrap().to_be_bytes();
            [&[tag, 0x84][..], &length, contents].concat()
        };
        let numbers = element(SEQUENCE, &[element(INTEGER, modulus), element(INTEGER, exponent)].concat());
        let algorithm = element(SEQUENCE, &element(0x06, &RSA));
        let info = element(SEQUENCE, &[algorithm, element(BIT_STRING, &[&[0][..], &numbers].concat())].concat());
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", base64(&info))
    }

    fn base64(bytes: &[u8]) -> String {
        const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let group = |piece: &[u8]| {
            let bits = piece.iter().chain([&0; 3]).take(3).fold(0, |bits, byte| bits << 8 | usize::from(*byte));
            (0..4).map(move |place| SIGNS[bits >> (18 - 6 * place) & 63] as char).collect::<String>()
        };
        let text: String = bytes.chunks(3).map(group).collect();
        let unused = (3 - bytes.len() % 3) % 3;
        text[..text.len() - unused].to_owned() + &"=".repeat(unused)
    }

    #[test]
    fn keys_that_are_none_are_refused_and_take_no_time() {
        let odd = |bytes: usize| [vec![0xff; bytes - 1], vec![1]].concat();
        assert!(PublicKey::read(pem(&odd(128), &[3]).as_bytes()).is_ok());
        assert!(PublicKey::read(pem(&odd(2048), &[1, 0, 1]).as_bytes()).is_ok());
        for (modulus, exponent) in [
            (odd(64), vec![3]),
            (odd(2049), vec![3]),
            (odd(1 << 20), vec![3]),
            (vec![0; 128], vec![3]),
            (vec![0xfe; 128], vec![3]),
            (odd(128), vec![1]),
            (odd(128), vec![4]),
            (odd(128), vec![]),
            (odd(128), odd(9)),
        ] {
            assert!(PublicKey::read(pem(&modulus, &exponent).as_bytes()).is_err(), "{} {exponent:?}", modulus.len());
        }
        for text in ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----"] {
            assert!(PublicKey::read(text.as_bytes()).is_err());
        }
        for cut in (0..PEM.len()).step_by(7) {
            assert!(PublicKey::read(&PEM.as_bytes()[..cut]).is_err());
        }
    }
}
