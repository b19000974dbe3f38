//! One key exchange after another (RFC 4253 §7 to §9), on either side.
//!
//! ```text
//!          start: KEXINIT >           < KEXINIT               ECDH both ways, NEWKEYS >
//! idle ────────────────────> offered ────────────> sharing ───────────────────────────> ending
//!   │                                                 ^                                   │
//!   └────────────── < KEXINIT, KEXINIT > ─────────────┘          < NEWKEYS: idle ─────────┘
//! ```

use std::sync::Arc;

use super::cipher::Open;
use super::error::Error;
use super::event::Event;
use super::hostkey::{HostKey, ServerKey};
use super::kex_crypto::{EphemeralKey, Hash, Keys, Secret, Transcript};
use super::names::msg;
use super::negotiate::{Agreed, Offer};
use super::output::{Output, SealKeys};
use super::role::Role;
use super::wire::{Fields, Put};

/// Keys for the direction inward.
pub(super) struct OpenKeys {
    pub(super) open: Open,
    /// Strict key exchange: count from zero again.
    pub(super) restart: bool,
    /// These are not the connection's first.
    pub(super) again: bool,
}

/// The key exchanges of a connection.
pub(super) struct KeyExchange {
    offer: Offer,
    server_keys: Arc<[ServerKey]>,
    peer_ident: Vec<u8>,
    /// The first exchange hash (RFC 4253 §7.2); absent before there is one.
    session: Option<Hash>,
    /// Strict key exchange was agreed in the first exchange, for good.
    strict: bool,
    /// Client: the key that the server has shown first.
    host_key: Option<HostKey>,
    stage: Stage,
}

enum Stage {
    Idle,
    Offered { ours: Vec<u8> },
    Sharing(Sharing),
    Ending { open: Open },
}

struct Sharing {
    ours: Vec<u8>,
    theirs: Vec<u8>,
    agreed: Agreed,
    share: EphemeralKey,
    /// The next message is a wrong guess.
    skip: bool,
}

impl KeyExchange {
    /// The first exchange: KEXINIT follows the identification at once (RFC 4253 §7.1).
    pub(super) fn begin(
        offer: Offer,
        server_keys: Arc<[ServerKey]>,
        out: &mut Output,
    ) -> Result<Self, Error> {
        let mut exchange = Self {
            offer,
            server_keys,
            peer_ident: Vec::new(),
            session: None,
            strict: false,
            host_key: None,
            stage: Stage::Idle,
        };
        exchange.start(out)?;
        Ok(exchange)
    }

    pub(super) fn peer_ident(&mut self, line: &[u8]) {
        self.peer_ident = line.to_vec();
    }

    pub(super) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Client: whether the server has proved its key.
    pub(super) fn has_host_key(&self) -> bool {
        self.host_key.is_some()
    }

    /// Sends KEXINIT, unless an exchange is under way.
    pub(super) fn start(&mut self, out: &mut Output) -> Result<(), Error> {
        if matches!(self.stage, Stage::Idle) {
            let ours = self.offer.message(self.session.is_none())?;
            out.transport(&ours);
            out.hold();
            self.stage = Stage::Offered { ours };
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
            _ => self.shared(payload, out),
        }
    }

    fn kexinit(&mut self, theirs: &[u8], out: &mut Output) -> Result<Event<'static>, Error> {
        self.start(out)?;
        let Stage::Offered { ours } = std::mem::replace(&mut self.stage, Stage::Idle) else {
            return Err(Error::Protocol("KEXINIT came during a key exchange"));
        };
        let agreed = self.offer.agree(theirs)?;
        if self.session.is_none() {
            self.strict = agreed.strict;
        }
        let share = EphemeralKey::new()?;
        if self.offer.role == Role::Client {
            let mut init = vec![msg::ECDH_INIT];
            init.put_string(share.public());
            out.transport(&init);
        }
        self.stage = Stage::Sharing(Sharing {
            ours,
            theirs: theirs.to_vec(),
            agreed,
            share,
            skip: agreed.wrong_guess,
        });
        Ok(Event::Quiet)
    }

    /// ECDH_INIT at the server, ECDH_REPLY at the client (RFC 5656 §4).
    fn shared(&mut self, payload: &[u8], out: &mut Output) -> Result<Event<'static>, Error> {
        let mut sharing = match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Sharing(sharing) => sharing,
            _ => return Err(OUT_OF_ORDER),
        };
        if std::mem::take(&mut sharing.skip) {
            self.stage = Stage::Sharing(sharing);
            return Ok(Event::Quiet);
        }
        match (self.offer.role, payload.first()) {
            (Role::Server, Some(&msg::ECDH_INIT)) => self.init(sharing, payload, out),
            (Role::Client, Some(&msg::ECDH_REPLY)) => self.reply(sharing, payload, out),
            _ => Err(OUT_OF_ORDER),
        }
    }

    /// Server: proves its host key, and is done but for NEWKEYS.
    fn init(
        &mut self,
        sharing: Sharing,
        payload: &[u8],
        out: &mut Output,
    ) -> Result<Event<'static>, Error> {
        let mut fields = Fields::after_kind(payload);
        let theirs = fields.string()?;
        fields.end()?;
        let keys = Arc::clone(&self.server_keys);
        let key = keys
            .iter()
            .find(|key| key.algorithm() == sharing.agreed.host_key)
            .ok_or(Error::NoCommon("host key algorithm"))?;
        let public = key.public();
        let ours = sharing.share.public().to_vec();
        let secret = sharing.share.agree(theirs)?;
        let hash = Transcript {
            client_ident: &self.peer_ident,
            server_ident: self.offer.role.ident().as_bytes(),
            client_kexinit: &sharing.theirs,
            server_kexinit: &sharing.ours,
            host_key: public.blob(),
            client_share: theirs,
            server_share: &ours,
        }
        .hash(&secret);
        let mut reply = vec![msg::ECDH_REPLY];
        reply.put_string(public.blob());
        reply.put_string(&ours);
        reply.put_string(&key.sign(&hash)?);
        out.transport(&reply);
        self.switch(&sharing.agreed, &secret, &hash, out)?;
        Ok(Event::Quiet)
    }

    /// Client: has the server prove its host key.
    fn reply(
        &mut self,
        sharing: Sharing,
        payload: &[u8],
        out: &mut Output,
    ) -> Result<Event<'static>, Error> {
        let mut fields = Fields::after_kind(payload);
        let (blob, theirs, signature) = (fields.string()?, fields.string()?, fields.string()?);
        fields.end()?;
        let ours = sharing.share.public().to_vec();
        let secret = sharing.share.agree(theirs)?;
        let hash = Transcript {
            client_ident: self.offer.role.ident().as_bytes(),
            server_ident: &self.peer_ident,
            client_kexinit: &sharing.ours,
            server_kexinit: &sharing.theirs,
            host_key: blob,
            client_share: &ours,
            server_share: theirs,
        }
        .hash(&secret);
        let key = HostKey::new(blob);
        key.verify(sharing.agreed.host_key, &hash, signature)?;
        let event = self.shown(key)?;
        self.switch(&sharing.agreed, &secret, &hash, out)?;
        Ok(event)
    }

    fn shown(&mut self, key: HostKey) -> Result<Event<'static>, Error> {
        match &self.host_key {
            Some(first) if *first != key => Err(Error::HostKeyChanged),
            Some(_) => Ok(Event::Quiet),
            None => {
                self.host_key = Some(key.clone());
                Ok(Event::HostKey(key))
            }
        }
    }

    /// Sends NEWKEYS; what follows is sealed with the new keys (RFC 4253 §7.3).
    fn switch(
        &mut self,
        agreed: &Agreed,
        secret: &Secret,
        hash: &Hash,
        out: &mut Output,
    ) -> Result<(), Error> {
        let session = *self.session.get_or_insert(*hash);
        let keys = Keys::derive(self.offer.role, agreed, secret, hash, &session)?;
        let seal = SealKeys {
            seal: keys.seal,
            restart: self.strict,
        };
        out.switch(&[msg::NEWKEYS], seal);
        self.stage = Stage::Ending { open: keys.open };
        Ok(())
    }

    /// The peer has sent NEWKEYS.
    pub(super) fn finish(&mut self, again: bool) -> Result<OpenKeys, Error> {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Ending { open } => Ok(OpenKeys {
                open,
                restart: self.strict,
                again,
            }),
            _ => Err(OUT_OF_ORDER),
        }
    }
}

const OUT_OF_ORDER: Error = Error::Protocol("a key exchange message came out of order");
