//! curve25519-sha256 (RFC 8731): the shared secret, the exchange hash, the keys.

use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::digest::{Context, SHA256};
use ring::rand::SystemRandom;
use zeroize::{Zeroize, Zeroizing};

use super::cipher::{Cipher, OpeningKey, SealingKey};
use super::error::Error;
use super::negotiate::Algorithms;
use super::role::Role;
use super::wire::Put;

/// This side's key pair of one exchange.
pub(super) struct EphemeralKey {
    private: EphemeralPrivateKey,
    public: Vec<u8>,
}

impl EphemeralKey {
    pub(super) fn new() -> Result<Self, Error> {
        let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new())
            .map_err(|_| Error::NoRandom)?;
        let public = private.compute_public_key().map_err(|_| Error::NoRandom)?;
        Ok(Self {
            private,
            public: public.as_ref().to_vec(),
        })
    }

    pub(super) fn public(&self) -> &[u8] {
        &self.public
    }

    /// The secret that both sides now know. RFC 8731 §3: a peer's value of another length,
    /// or one that makes the secret zero, is refused (by the primitive).
    pub(super) fn agree(self, theirs: &[u8]) -> Result<SharedSecret, Error> {
        let peer = UnparsedPublicKey::new(&X25519, theirs);
        agree_ephemeral(self.private, &peer, |bytes| {
            let mut number = Zeroizing::new(Vec::with_capacity(4 + 1 + bytes.len()));
            number.put_unsigned(bytes);
            SharedSecret(number)
        })
        .map_err(|_| Error::Protocol("the key exchange value is not valid"))
    }
}

/// The shared secret as an mpint (RFC 8731 §3.1: its bytes are a big-endian number).
pub(super) struct SharedSecret(Zeroizing<Vec<u8>>);

/// Values that the exchange hash covers besides the secret (RFC 5656 §4).
pub(super) struct Transcript<'a> {
    pub(super) client_ident: &'a [u8],
    pub(super) server_ident: &'a [u8],
    pub(super) client_kexinit: &'a [u8],
    pub(super) server_kexinit: &'a [u8],
    pub(super) host_key: &'a [u8],
    pub(super) client_key: &'a [u8],
    pub(super) server_key: &'a [u8],
}

/// A SHA-256 value: the exchange hash, or the first of them, the session's identifier.
pub(super) type Hash = [u8; 32];

impl Transcript<'_> {
    /// The exchange hash.
    pub(super) fn hash(&self, secret: &SharedSecret) -> Hash {
        let mut context = Context::new(&SHA256);
        for part in [
            self.client_ident,
            self.server_ident,
            self.client_kexinit,
            self.server_kexinit,
            self.host_key,
            self.client_key,
            self.server_key,
        ] {
            context.put_string(part);
        }
        context.put(&secret.0);
        finish(context)
    }
}

/// The keys of both directions, as seen from one side.
pub(super) struct Keys {
    pub(super) seal: SealingKey,
    pub(super) open: OpeningKey,
}

impl Keys {
    /// RFC 4253 §7.2: letters A, C for client to server and B, D for server to client.
    pub(super) fn derive(
        role: Role,
        algorithms: &Algorithms,
        secret: &SharedSecret,
        hash: &Hash,
        session_id: &Hash,
    ) -> Result<Self, Error> {
        let parts = |cipher: Cipher, iv: u8, key: u8| {
            let stream = |letter, length| expand(secret, hash, session_id, letter, length);
            let mut start = [0; 12];
            start.copy_from_slice(stream(iv, 12).as_slice());
            (start, stream(key, cipher.key_length()))
        };
        let up = parts(algorithms.client_to_server, b'A', b'C');
        let down = parts(algorithms.server_to_client, b'B', b'D');
        let (ours, theirs) = match role {
            Role::Client => (
                (algorithms.client_to_server, &up),
                (algorithms.server_to_client, &down),
            ),
            Role::Server => (
                (algorithms.server_to_client, &down),
                (algorithms.client_to_server, &up),
            ),
        };
        Ok(Self {
            seal: SealingKey::new(ours.0, &ours.1.1, &ours.1.0)?,
            open: OpeningKey::new(theirs.0, &theirs.1.1, &theirs.1.0)?,
        })
    }
}

/// RFC 4253 §7.2: HASH(K || H || letter || session), lengthened by HASH(K || H || so far).
fn expand(
    secret: &SharedSecret,
    hash: &Hash,
    session_id: &Hash,
    letter: u8,
    length: usize,
) -> Zeroizing<Vec<u8>> {
    let mut stream = Zeroizing::new(Vec::with_capacity(length + 32));
    while stream.len() < length {
        let mut context = Context::new(&SHA256);
        context.put(&secret.0);
        context.put(hash);
        if stream.is_empty() {
            context.put_byte(letter);
            context.put(session_id);
        } else {
            context.put(&stream);
        }
        let mut block = finish(context);
        stream.put(&block);
        block.zeroize();
    }
    stream.truncate(length);
    stream
}

fn finish(context: Context) -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_know_the_same_secret() {
        let (here, there) = (EphemeralKey::new().unwrap(), EphemeralKey::new().unwrap());
        let (ours, theirs) = (here.public().to_vec(), there.public().to_vec());
        let first = here.agree(&theirs).unwrap();
        assert_eq!(first.0, there.agree(&ours).unwrap().0);
    }

    #[test]
    fn weak_values_are_refused() {
        // RFC 7748 §6.1: points of small order make the secret zero.
        let mut one = [0; 32];
        one[0] = 1;
        for theirs in [&[0; 32][..], &one, &[9; 31], &[9; 33], &[]] {
            assert!(EphemeralKey::new().unwrap().agree(theirs).is_err());
        }
    }

    #[test]
    fn long_keys_continue_the_stream() {
        let secret = SharedSecret(Zeroizing::new(vec![0, 0, 0, 1, 5]));
        let long = expand(&secret, &[1; 32], &[2; 32], b'C', 64);
        let short = expand(&secret, &[1; 32], &[2; 32], b'C', 16);
        assert_eq!(long[..16], short[..]);
        assert_ne!(long[..32], long[32..]);
        let mut context = Context::new(&SHA256);
        context.put(&[0, 0, 0, 1, 5]);
        context.put(&[1; 32]);
        context.put(&long[..32]);
        assert_eq!(finish(context), long[32..]);
    }
}
