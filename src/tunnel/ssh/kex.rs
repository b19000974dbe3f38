//! One key exchange after another (RFC 4253 §7 to §9), on either side.
//!
//! ```text
//!         start: KEXINIT >             < KEXINIT        ECDH both ways, NEWKEYS >
//! Idle ───────────────────> KexInitSent ─────────> Ecdh ──────────────────────> NewKeysSent
//!   │                                               ^                                │
//!   └───────────── < KEXINIT, KEXINIT > ────────────┘        < NEWKEYS: Idle ────────┘
//! ```

use std::sync::Arc;

use super::cipher::OpeningKey;
use super::error::Error;
use super::event::Event;
use super::hostkey::{HostKey, ServerKey};
use super::kex_crypto::{EphemeralKey, Hash, Keys, SharedSecret, Transcript};
use super::names::msg;
use super::negotiate::{Algorithms, Proposal};
use super::output::{Output, SealKeys};
use super::role::Role;
use super::wire::{Fields, Put};

/// Keys for the direction inward.
pub(super) struct OpenKeys {
    pub(super) open: OpeningKey,
    /// Strict key exchange: count from zero again.
    pub(super) restart: bool,
    /// These are not the connection's first.
    pub(super) again: bool,
}

/// The key exchanges of a connection.
pub(super) struct KeyExchange {
    proposal: Proposal,
    server_keys: Arc<[ServerKey]>,
    peer_ident: Vec<u8>,
    /// The first exchange hash (RFC 4253 §7.2); absent before there is one.
    session_id: Option<Hash>,
    /// Strict key exchange was agreed in the first exchange, for good.
    strict: bool,
    /// Client: the key that the server has shown first.
    host_key: Option<HostKey>,
    /// The peer has begun the last exchange.
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
    /// The next message is a wrong guess.
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

    /// Client: whether the server has proved its key.
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

    /// The peer has sent NEWKEYS.
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

const OUT_OF_ORDER: Error = Error::Protocol("a key exchange message came out of order");
