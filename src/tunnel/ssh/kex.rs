//! One key exchange after another (RFC 4253 §7 to §9), on either side, with curve25519-sha256 (RFC 8731).
//!
//! ```text
//!         start: KEXINIT >             < KEXINIT        ECDH both ways, NEWKEYS >
//! Idle ───────────────────> KexInitSent ─────────> Ecdh ──────────────────────> NewKeysSent
//!   │                                               ^                                │
//!   └───────────── < KEXINIT, KEXINIT > ────────────┘        < NEWKEYS: Idle ────────┘
//! ```

use std::sync::Arc;

use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::digest::{Context, SHA256};
use ring::rand::SystemRandom;
use zeroize::{Zeroize, Zeroizing};

use super::error::Error;
use super::event::Event;
use super::hostkey::{HostKey, ServerKey};
use super::names::{Role, msg};
use super::negotiate::{Algorithms, Proposal};
use super::output::{Output, SealKeys};
use super::packet::{Cipher, OpeningKey, SealingKey};
use super::wire::{Fields, Put};

const OUT_OF_ORDER: Error = Error::Protocol("a key exchange message came out of order");

/// Keys for the direction inward.
pub(super) struct OpenKeys {
    pub(super) open: OpeningKey,
    /// Strict key exchange: count from zero again.
    pub(super) restart: bool,
    /// True if these are not the connection's first.
    pub(super) again: bool,
}

/// The key exchanges of a connection.
pub(super) struct KeyExchange {
    proposal: Proposal,
    server_keys: Arc<[ServerKey]>,
    peer_ident: Vec<u8>,
    /// The first exchange hash (RFC 4253 §7.2); absent before there is one.
    session_id: Option<Hash>,
    /// True if strict key exchange was agreed, in the first exchange.
    strict: bool,
    /// Client: the key that the server has shown first.
    host_key: Option<HostKey>,
    /// True if the peer has begun the last exchange.
    is_theirs: bool,
    state: KexState,
}

enum KexState {
    Idle,
    KexInitSent { our_kexinit: Vec<u8> },
    Ecdh(Ecdh),
    NewKeysSent { open: OpeningKey },
}

/// Values that the exchange hash will cover.
struct Ecdh {
    our_kexinit: Vec<u8>,
    peer_kexinit: Vec<u8>,
    algorithms: Algorithms,
    key: EphemeralKey,
    /// True if the next message is a wrong guess.
    skip: bool,
}

impl KeyExchange {
    /// The first exchange: KEXINIT follows the identification at once (RFC 4253 §7.1).
    pub(super) fn begin(
        proposal: Proposal,
        server_keys: Arc<[ServerKey]>,
        out: &mut Output,
    ) -> Result<Self, Error> {
        let mut exchange = Self {
            proposal,
            server_keys,
            peer_ident: Vec::new(),
            session_id: None,
            strict: false,
            host_key: None,
            is_theirs: false,
            state: KexState::Idle,
        };
        exchange.start(out)?;
        Ok(exchange)
    }

    pub(super) fn set_peer_ident(&mut self, line: &[u8]) {
        self.peer_ident = line.to_vec();
    }

    pub(super) fn is_strict(&self) -> bool {
        self.strict
    }

    /// True if it was the peer that began the last exchange.
    pub(super) fn is_theirs(&self) -> bool {
        self.is_theirs
    }

    /// Client: true if the server has proved its key.
    pub(super) fn has_host_key(&self) -> bool {
        self.host_key.is_some()
    }

    /// Sends KEXINIT, unless an exchange is under way.
    pub(super) fn start(&mut self, out: &mut Output) -> Result<(), Error> {
        if matches!(self.state, KexState::Idle) {
            let our_kexinit = self.proposal.message(self.session_id.is_none())?;
            out.transport(&our_kexinit);
            out.hold();
            self.state = KexState::KexInitSent { our_kexinit };
        }
        Ok(())
    }

    pub(super) fn handle(
        &mut self,
        payload: &[u8],
        out: &mut Output,
    ) -> Result<Event<'static>, Error> {
        match payload.first() {
            Some(&msg::KEXINIT) => self.kexinit(payload, out),
            _ => self.ecdh(payload, out),
        }
    }

    fn kexinit(&mut self, peer_kexinit: &[u8], out: &mut Output) -> Result<Event<'static>, Error> {
        self.is_theirs = matches!(self.state, KexState::Idle);
        self.start(out)?;
        let KexState::KexInitSent { our_kexinit } =
            std::mem::replace(&mut self.state, KexState::Idle)
        else {
            return Err(Error::Protocol("KEXINIT came during a key exchange"));
        };
        let algorithms = self.proposal.agree(peer_kexinit)?;
        if self.session_id.is_none() {
            self.strict = algorithms.strict;
            log::debug!(
                "tunnel ciphers: {} up, {} down",
                algorithms.client_to_server.name(),
                algorithms.server_to_client.name()
            );
        }
        let key = EphemeralKey::new()?;
        if self.proposal.role == Role::Client {
            let mut init = vec![msg::ECDH_INIT];
            init.put_string(key.public());
            out.transport(&init);
        }
        self.state = KexState::Ecdh(Ecdh {
            our_kexinit,
            peer_kexinit: peer_kexinit.to_vec(),
            skip: algorithms.wrong_guess,
            algorithms,
            key,
        });
        Ok(Event::Handled)
    }

    /// ECDH_INIT at the server, ECDH_REPLY at the client (RFC 5656 §4).
    fn ecdh(&mut self, payload: &[u8], out: &mut Output) -> Result<Event<'static>, Error> {
        let mut ecdh = match std::mem::replace(&mut self.state, KexState::Idle) {
            KexState::Ecdh(ecdh) => ecdh,
            _ => return Err(OUT_OF_ORDER),
        };
        if std::mem::take(&mut ecdh.skip) {
            self.state = KexState::Ecdh(ecdh);
            return Ok(Event::Handled);
        }
        match (self.proposal.role, payload.first()) {
            (Role::Server, Some(&msg::ECDH_INIT)) => self.init(ecdh, payload, out),
            (Role::Client, Some(&msg::ECDH_REPLY)) => self.reply(ecdh, payload, out),
            _ => Err(OUT_OF_ORDER),
        }
    }

    /// Server: proves its host key, and is done but for NEWKEYS.
    fn init(
        &mut self,
        ecdh: Ecdh,
        payload: &[u8],
        out: &mut Output,
    ) -> Result<Event<'static>, Error> {
        let mut fields = Fields::after_kind(payload);
        let theirs = fields.string()?;
        fields.end()?;
        let keys = Arc::clone(&self.server_keys);
        let key = keys
            .iter()
            .find(|key| key.algorithm() == ecdh.algorithms.host_key)
            .ok_or(Error::NoCommonAlgorithm("host key algorithm"))?;
        let public = key.public();
        let ours = ecdh.key.public().to_vec();
        let secret = ecdh.key.agree(theirs)?;
        let hash = Transcript {
            client_ident: &self.peer_ident,
            server_ident: self.proposal.role.ident().as_bytes(),
            client_kexinit: &ecdh.peer_kexinit,
            server_kexinit: &ecdh.our_kexinit,
            host_key: public.blob(),
            client_key: theirs,
            server_key: &ours,
        }
        .hash(&secret);
        let mut reply = vec![msg::ECDH_REPLY];
        reply.put_string(public.blob());
        reply.put_string(&ours);
        reply.put_string(&key.sign(&hash)?);
        out.transport(&reply);
        self.switch(&ecdh.algorithms, &secret, &hash, out)?;
        Ok(Event::Handled)
    }

    /// Client: has the server prove its host key.
    fn reply(
        &mut self,
        ecdh: Ecdh,
        payload: &[u8],
        out: &mut Output,
    ) -> Result<Event<'static>, Error> {
        let mut fields = Fields::after_kind(payload);
        let (blob, theirs, signature) = (fields.string()?, fields.string()?, fields.string()?);
        fields.end()?;
        let ours = ecdh.key.public().to_vec();
        let secret = ecdh.key.agree(theirs)?;
        let hash = Transcript {
            client_ident: self.proposal.role.ident().as_bytes(),
            server_ident: &self.peer_ident,
            client_kexinit: &ecdh.our_kexinit,
            server_kexinit: &ecdh.peer_kexinit,
            host_key: blob,
            client_key: &ours,
            server_key: theirs,
        }
        .hash(&secret);
        let key = HostKey::new(blob);
        key.verify(ecdh.algorithms.host_key, &hash, signature)?;
        let event = self.shown(key)?;
        self.switch(&ecdh.algorithms, &secret, &hash, out)?;
        Ok(event)
    }

    fn shown(&mut self, key: HostKey) -> Result<Event<'static>, Error> {
        match &self.host_key {
            Some(first) if *first != key => Err(Error::HostKeyChanged),
            Some(_) => Ok(Event::Handled),
            None => {
                self.host_key = Some(key.clone());
                Ok(Event::HostKey(key))
            }
        }
    }

    /// Sends NEWKEYS; what follows is sealed with the new keys (RFC 4253 §7.3).
    fn switch(
        &mut self,
        algorithms: &Algorithms,
        secret: &SharedSecret,
        hash: &Hash,
        out: &mut Output,
    ) -> Result<(), Error> {
        let session_id = *self.session_id.get_or_insert(*hash);
        let keys = Keys::derive(self.proposal.role, algorithms, secret, hash, &session_id)?;
        let seal = SealKeys {
            seal: keys.seal,
            restart: self.strict,
        };
        out.switch(&[msg::NEWKEYS], seal);
        self.state = KexState::NewKeysSent { open: keys.open };
        Ok(())
    }

    /// Ends the exchange: the peer has sent NEWKEYS.
    pub(super) fn finish(&mut self, again: bool) -> Result<OpenKeys, Error> {
        match std::mem::replace(&mut self.state, KexState::Idle) {
            KexState::NewKeysSent { open } => Ok(OpenKeys {
                open,
                restart: self.strict,
                again,
            }),
            _ => Err(OUT_OF_ORDER),
        }
    }
}

/// This side's key pair of one exchange.
struct EphemeralKey {
    private: EphemeralPrivateKey,
    public: Vec<u8>,
}

impl EphemeralKey {
    fn new() -> Result<Self, Error> {
        let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new())
            .map_err(|_| Error::NoRandom)?;
        let public = private.compute_public_key().map_err(|_| Error::NoRandom)?;
        Ok(Self {
            private,
            public: public.as_ref().to_vec(),
        })
    }

    fn public(&self) -> &[u8] {
        &self.public
    }

    /// Returns the secret that both sides now know. RFC 8731 §3: a peer's value of another length,
    /// or one that makes the secret zero, is refused (by the primitive).
    fn agree(self, theirs: &[u8]) -> Result<SharedSecret, Error> {
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
struct SharedSecret(Zeroizing<Vec<u8>>);

/// Values that the exchange hash covers besides the secret (RFC 5656 §4).
struct Transcript<'a> {
    client_ident: &'a [u8],
    server_ident: &'a [u8],
    client_kexinit: &'a [u8],
    server_kexinit: &'a [u8],
    host_key: &'a [u8],
    client_key: &'a [u8],
    server_key: &'a [u8],
}

/// A SHA-256 value: the exchange hash, or the first of them, the session's identifier.
type Hash = [u8; 32];

impl Transcript<'_> {
    /// The exchange hash.
    fn hash(&self, secret: &SharedSecret) -> Hash {
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
struct Keys {
    seal: SealingKey,
    open: OpeningKey,
}

impl Keys {
    /// RFC 4253 §7.2: letters A, C for client to server and B, D for server to client.
    fn derive(
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
