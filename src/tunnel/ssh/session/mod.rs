//! Everything but encryption: the state of a connection, its queues, its channels.
//!
//! ```text
//!        KEXINIT both ways      NEWKEYS both ways      USERAUTH_SUCCESS
//! start ──────────────> exchange ───────────────> login ──────────────> open
//!                          ^                                             │
//!                          └───────────── KEXINIT of either side ────────┘
//! ```

mod auth;
mod channel;
mod channels;
mod global_requests;
mod kex;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cipher::Open;
use super::error::{Error, Reason};
use super::event::{ChannelId, Event};
use super::hostkey::ServerKey;
use super::names::{self, msg};
use super::negotiate::Offer;
use super::output::{Batch, Output};
use super::wire::{Fields, Put, printable, wide};
use super::{Config, Role, limits};
use auth::Auth;
use channels::Channels;
use global_requests::GlobalRequests;
use kex::Exchange;

/// The state of one connection: keep it behind one lock, shared by all threads that use it.
///
/// No method blocks, encrypts or does more than copy what it is given.
pub struct Session {
    out: Output,
    exchange: Exchange,
    login: Auth,
    requests: GlobalRequests,
    channels: Channels,
    rekey_bytes: u64,
    rekey_time: Duration,
    /// Bytes taken by the writer under the present keys.
    sent: u64,
    /// Since when the present keys are in use.
    keys_since: Option<Instant>,
    ended: bool,
}

/// Keys for the direction inward.
pub(super) struct OpenKeys {
    pub(super) open: Open,
    /// Strict key exchange: count from zero again.
    pub(super) restart: bool,
    /// These are not the connection's first.
    pub(super) again: bool,
}

/// A packet's payload, and where it stood.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) payload: &'a [u8],
    /// Its sequence number (RFC 4253 §6.4).
    pub(super) sequence: u32,
    pub(super) now: Instant,
}

impl Session {
    pub(super) fn new(role: Role, config: &Config, keys: Arc<[ServerKey]>) -> Result<Self, Error> {
        let offer = Offer {
            role,
            ciphers: config.ciphers.clone(),
            host_keys: match role {
                Role::Client => config.host_keys.clone(),
                Role::Server => keys.iter().map(ServerKey::algorithm).collect(),
            },
        };
        let mut out = Output::new(role.ident());
        let exchange = Exchange::begin(offer, keys, &mut out)?;
        Ok(Self {
            out,
            exchange,
            login: Auth::new(role),
            requests: GlobalRequests::default(),
            channels: Channels::new(config.channels.clone()),
            rekey_bytes: config.rekey_bytes,
            rekey_time: config.rekey_time,
            sent: 0,
            keys_since: None,
            ended: false,
        })
    }

    /// Whether [`Writer::fill`](super::Writer::fill) is to be called: there is something to
    /// write, or a stream to wake.
    pub fn has_output(&self) -> bool {
        self.out.is_ready() || self.channels.owes_turn()
    }

    /// Whether all that waits to be written is no more than `bytes`.
    pub fn has_at_most(&self, bytes: usize) -> bool {
        self.out.size() <= bytes
    }

    /// Whether both sides may open channels and send requests.
    pub fn is_open(&self) -> bool {
        self.login.is_done() && !self.ended
    }

    /// Starts a re-key, unless one is under way (RFC 4253 §9). It ends with
    /// [`Event::Rekeyed`]; data may be written meanwhile, and is sent after it.
    pub fn rekey(&mut self) -> Result<(), Error> {
        self.check_alive()?;
        if self.keys_since.is_none() {
            return Err(Error::Misuse("the first key exchange is not finished"));
        }
        self.exchange.start(&mut self.out)
    }

    pub(super) fn rekey_if_alive(&mut self) -> Result<(), Error> {
        match self.ended {
            true => Ok(()),
            false => self.rekey(),
        }
    }

    /// Does what is due by time: call it every minute or more often.
    pub fn tick(&mut self, now: Instant) -> Result<(), Error> {
        let old = self
            .keys_since
            .is_some_and(|since| now.saturating_duration_since(since) >= self.rekey_time);
        match old {
            true => self.rekey_if_alive(),
            false => Ok(()),
        }
    }

    /// Ends the connection (RFC 4253 §11.1). What waited is dropped; write out the rest, then
    /// close the stream.
    pub fn disconnect(&mut self, reason: Reason, text: &str) {
        if self.ended {
            return;
        }
        let mut message = vec![msg::DISCONNECT];
        message.put_u32(reason.code());
        message.put_string(cut(text).as_bytes());
        message.put_string(b"");
        self.out.end(&message);
        self.ended = true;
    }

    /// Ends the connection after a failure, telling the peer where that helps it.
    pub(super) fn fail(&mut self, error: &Error) {
        match error.reason() {
            Some(reason) => self.disconnect(reason, &error.to_string()),
            None => self.ended = true,
        }
    }

    fn check_alive(&self) -> Result<(), Error> {
        if self.ended {
            return Err(Error::Closed);
        }
        Ok(())
    }

    fn check_open(&self) -> Result<(), Error> {
        self.check_alive()?;
        if !self.login.is_done() {
            return Err(Error::Misuse("nobody is logged in yet"));
        }
        Ok(())
    }

    // What the writer calls.

    /// Takes the next batch, and notes in `woken` who may write again.
    pub(super) fn take(
        &mut self,
        batch: &mut Batch,
        woken: &mut Vec<ChannelId>,
    ) -> Result<bool, Error> {
        let channels = &mut self.channels;
        let taken = self
            .out
            .take(batch, |channel, size| channels.freed(channel, size));
        if taken || self.channels.owes_turn() {
            self.channels.wake(self.out.bulk_room(), woken);
        }
        if !taken {
            return Ok(false);
        }
        self.sent += wide(batch.bytes.len());
        if batch.keys.is_some() {
            self.sent = 0;
        } else if self.sent >= self.rekey_bytes && self.keys_since.is_some() {
            self.rekey_if_alive()?;
        }
        Ok(true)
    }

    // What the reader calls.

    pub(super) fn logged_in(&self) -> bool {
        self.login.is_done()
    }

    pub(super) fn peer_ident(&mut self, line: &[u8]) {
        self.exchange.peer_ident(line);
    }

    /// The peer has sent NEWKEYS (RFC 4253 §7.3).
    pub(super) fn new_keys(&mut self, payload: &[u8], now: Instant) -> Result<OpenKeys, Error> {
        Fields::after_kind(payload).end()?;
        let again = self.keys_since.replace(now).is_some();
        self.exchange.finish(again)
    }

    /// Whether strict key exchange was agreed; known after the first KEXINIT.
    pub(super) fn is_strict(&self) -> bool {
        self.exchange.is_strict()
    }

    /// Whether the reader must stand still until the server's owner has decided.
    pub(super) fn awaits_verdict(&self) -> bool {
        self.login.awaits_verdict() && !self.ended
    }

    /// Deals with any message but NEWKEYS, channel data and the end of a channel.
    pub(super) fn handle<'a>(&mut self, message: Message<'a>) -> Result<Event<'a>, Error> {
        let kind = message.payload.first().copied().unwrap_or_default();
        let fields = Fields::after_kind(message.payload);
        let event = match kind {
            msg::DISCONNECT => disconnected(fields),
            // RFC 4253 §11.2, §11.3, §11.4; RFC 8308 §2.3: nothing here depends on them.
            msg::IGNORE | msg::DEBUG | msg::UNIMPLEMENTED | msg::EXT_INFO => Ok(Event::Quiet),
            msg::KEXINIT | msg::ECDH_INIT | msg::ECDH_REPLY => {
                self.exchange.handle(message.payload, &mut self.out)
            }
            msg::SERVICE_REQUEST..=msg::SERVICE_ACCEPT
            | msg::USERAUTH_REQUEST..=msg::USERAUTH_PASSWD_CHANGEREQ => {
                self.login.handle(kind, fields, &mut self.out)
            }
            msg::GLOBAL_REQUEST..=msg::CHANNEL_FAILURE if self.login.is_done() => {
                self.handle_connection(kind, fields, message.now)
            }
            msg::GLOBAL_REQUEST..=msg::CHANNEL_FAILURE => {
                Err(Error::Protocol("a request came before login"))
            }
            _ => Ok(self.unimplemented(message.sequence)),
        }?;
        self.check_answers()?;
        Ok(event)
    }

    /// Whether the peer reads what it is told, or has memory filled with it.
    fn check_answers(&self) -> Result<(), Error> {
        match self.out.answers() > limits::URGENT_QUEUE {
            true => Err(Error::Flooded),
            false => Ok(()),
        }
    }

    /// Messages of RFC 4254.
    fn handle_connection<'a>(
        &mut self,
        kind: u8,
        fields: Fields<'a>,
        now: Instant,
    ) -> Result<Event<'a>, Error> {
        match kind {
            msg::GLOBAL_REQUEST => self.requests.asked(fields),
            msg::REQUEST_SUCCESS | msg::REQUEST_FAILURE => {
                let success = kind == msg::REQUEST_SUCCESS;
                self.requests.answered(success, fields.rest(), now)
            }
            _ => self.channels.handle(kind, fields, &mut self.out),
        }
    }

    /// RFC 4253 §11.4: unknown messages are answered by their sequence number.
    fn unimplemented(&mut self, sequence: u32) -> Event<'static> {
        let mut message = vec![msg::UNIMPLEMENTED];
        message.put_u32(sequence);
        // While keys change this too must pass (RFC 4253 §7.1).
        self.out.transport(&message);
        Event::Quiet
    }
}

#[allow(unexpected_cfgs)] // cargo-fuzz sets it
impl Session {
    /// Sends any message at all, as a broken or hostile peer would.
    #[cfg(any(test, fuzzing))]
    pub fn inject(&mut self, payload: &[u8]) {
        self.out.urgent(&[payload]);
    }
}

fn disconnected(mut fields: Fields<'_>) -> Result<Event<'static>, Error> {
    let code = fields.uint32()?;
    let text = fields.string().unwrap_or_default();
    Err(Error::Disconnected {
        code,
        text: printable(text, limits::MAX_TEXT),
    })
}

/// The beginning of a text that is sent.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(limits::MAX_TEXT))
        .unwrap_or(text)
}

impl Role {
    fn ident(self) -> &'static str {
        match self {
            Role::Client => names::CLIENT_IDENT,
            Role::Server => names::SERVER_IDENT,
        }
    }
}
