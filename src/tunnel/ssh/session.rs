//! Everything but encryption: the state of a connection, its queues, its channels.
//!
//! ```text
//!        KEXINIT both ways      NEWKEYS both ways      USERAUTH_SUCCESS
//! start ──────────────> exchange ───────────────> login ──────────────> open
//!                          ^                                             │
//!                          └───────────── KEXINIT of either side ────────┘
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::auth::Auth;
use super::channels::Channels;
use super::config::{self, Config};
use super::error::{ChannelOpenFailure, DisconnectReason, Error};
use super::event::Event;
use super::hostkey::ServerKey;
use super::kex::{KeyExchange, OpenKeys};
use super::names::{ChannelId, RequestId, Role, msg};
use super::negotiate::Proposal;
use super::output::{Batch, Output};
use super::wire::{Fields, Put, capped, printable, wide};

/// The state of one connection: keep it behind one lock, shared by all threads that use it.
///
/// No method blocks, encrypts or does more than copy what it is given.
pub struct Session {
    out: Output,
    pub(super) kex: KeyExchange,
    pub(super) auth: Auth,
    requests: GlobalRequests,
    pub(super) channels: Channels,
    rekey_bytes: u64,
    rekey_time: Duration,
    /// Bytes taken by the writer under the present keys.
    sent: u64,
    /// Time at which the present keys came into use.
    keys_since: Option<Instant>,
    /// Bytes taken by the writer since then.
    moved: u64,
    /// Time at which the idle key exchanges so far would have been over at the allowed pace.
    rekeys_paced: Option<Instant>,
    ended: bool,
}

/// A packet's payload, with its number and time.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) payload: &'a [u8],
    /// Its sequence number (RFC 4253 §6.4).
    pub(super) sequence: u32,
    pub(super) now: Instant,
}

impl Session {
    pub(super) fn new(role: Role, config: &Config, keys: Arc<[ServerKey]>) -> Result<Self, Error> {
        let proposal = Proposal {
            role,
            ciphers: config.ciphers.clone(),
            host_keys: match role {
                Role::Client => config.host_keys.clone(),
                Role::Server => keys.iter().map(ServerKey::algorithm).collect(),
            },
        };
        let mut out = Output::new(role.ident());
        let kex = KeyExchange::begin(proposal, keys, &mut out)?;
        Ok(Self {
            out,
            kex,
            auth: Auth::new(role),
            requests: GlobalRequests::default(),
            channels: Channels::new(config.channels.clone()),
            rekey_bytes: config.rekey_bytes,
            rekey_time: config.rekey_time,
            sent: 0,
            keys_since: None,
            moved: 0,
            rekeys_paced: None,
            ended: false,
        })
    }

    /// True if [`Writer::fill`](super::Writer::fill) is to be called: there is something to
    /// write, or a stream to wake.
    pub fn has_output(&self) -> bool {
        self.out.is_ready() || self.channels.has_unused_quantum()
    }

    /// True if all that waits to be written is no more than `bytes`.
    pub fn has_at_most(&self, bytes: usize) -> bool {
        self.out.size() <= bytes
    }

    /// True if both sides may open channels and send requests.
    pub fn is_open(&self) -> bool {
        self.auth.is_done() && !self.ended
    }

    /// Starts a re-key, unless one is under way (RFC 4253 §9). It ends with
    /// [`Event::Rekeyed`]; data may be written meanwhile, and is sent after it.
    pub fn rekey(&mut self) -> Result<(), Error> {
        self.check_alive()?;
        if self.keys_since.is_none() {
            return Err(Error::Misuse("the first key exchange is not finished"));
        }
        self.kex.start(&mut self.out)
    }

    pub(super) fn rekey_if_alive(&mut self) -> Result<(), Error> {
        if self.ended { Ok(()) } else { self.rekey() }
    }

    /// Does what is due by time: call it every minute or more often.
    pub fn tick(&mut self, now: Instant) -> Result<(), Error> {
        let old = self
            .keys_since
            .is_some_and(|since| now.saturating_duration_since(since) >= self.rekey_time);
        if old { self.rekey_if_alive() } else { Ok(()) }
    }

    /// Ends the connection (RFC 4253 §11.1). What waited is dropped; write out the rest, then
    /// close the stream.
    pub fn disconnect(&mut self, reason: DisconnectReason, text: &str) {
        if self.ended {
            return;
        }
        let mut message = vec![msg::DISCONNECT];
        message.put_u32(reason.code());
        message.put_string(capped(text, config::MAX_TEXT).as_bytes());
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
        if !self.auth.is_done() {
            return Err(Error::Misuse("nobody is logged in yet"));
        }
        Ok(())
    }
}

// Authentication.
impl Session {
    /// Client: trusts the key of [`Event::HostKey`], and logs in; also after
    /// [`Event::AuthFailure`]. The answer is an event.
    pub fn authenticate(&mut self, user: &str, password: &str) -> Result<(), Error> {
        self.check_alive()?;
        let has_host_key = self.kex.has_host_key();
        self.auth
            .authenticate(has_host_key, user, password, &mut self.out)
    }

    /// Server: answers [`Event::PasswordAuth`]. Call [`Reader::next`](super::Reader::next) afterwards:
    /// what came meanwhile has waited.
    pub fn answer_auth(&mut self, accepted: bool) -> Result<(), Error> {
        self.check_alive()?;
        match self.auth.decide(accepted, &mut self.out) {
            Err(error @ Error::TooManyAuthTries) => {
                self.fail(&error);
                Ok(())
            }
            decided => decided,
        }
    }
}

// Global requests.
impl Session {
    /// Sends a global request that wants a reply: [`Event::RequestReply`].
    pub fn request(&mut self, name: &str, data: &[u8], now: Instant) -> Result<RequestId, Error> {
        self.check_open()?;
        self.requests.request(name, data, now, &mut self.out)
    }

    /// Requests that await their answer.
    pub fn unanswered(&self) -> usize {
        self.requests.unanswered()
    }

    /// Answers [`Event::GlobalRequest`]. Answers may come in any order; they are sent in the order
    /// of the requests.
    pub fn reply(&mut self, id: RequestId, success: bool, data: &[u8]) -> Result<(), Error> {
        self.check_open()?;
        self.requests.reply(id, success, data, &mut self.out)
    }

    /// The least round trip among the last answers; absent before the first.
    pub fn round_trip(&self) -> Option<Duration> {
        self.requests.round_trip()
    }
}

// Channels.
impl Session {
    /// Opens a channel; `extra` is what follows the standard fields. The answer is
    /// [`Event::ChannelOpenConfirmation`] or [`Event::ChannelOpenFailure`].
    pub fn open(&mut self, kind: &str, extra: &[u8]) -> Result<ChannelId, Error> {
        self.check_open()?;
        self.channels.open(kind, extra, &mut self.out)
    }

    /// Accepts the channel of [`Event::ChannelOpen`].
    pub fn accept(&mut self, channel: ChannelId) -> Result<(), Error> {
        self.check_alive()?;
        self.channels.accept(channel, &mut self.out)
    }

    /// Refuses the channel of [`Event::ChannelOpen`], which exists no more.
    pub fn refuse(
        &mut self,
        channel: ChannelId,
        why: ChannelOpenFailure,
        text: &str,
    ) -> Result<(), Error> {
        self.check_alive()?;
        self.channels.refuse(channel, why, text, &mut self.out)
    }

    /// Sends data on a channel; returns the number of bytes taken. When that is less than all,
    /// keep the rest until the channel is named writable: by [`Event::Writable`], or by
    /// [`Writer::woken`](super::Writer::woken).
    pub fn write(&mut self, channel: ChannelId, data: &[u8]) -> Result<usize, Error> {
        self.check_alive()?;
        self.channels.write(channel, data, &mut self.out)
    }

    /// Bytes of the peer's window for this channel. When there are none, the channel is named
    /// writable as soon as there are, as after [`Session::write`].
    pub fn window(&mut self, channel: ChannelId) -> Result<usize, Error> {
        self.check_alive()?;
        self.channels.window(channel)
    }

    /// Notes that received data has been used: the peer may send as much again. [`Error::Flooded`] if it goes on
    /// sending without reading these grants; the connection is then to be ended.
    pub fn consume(&mut self, channel: ChannelId, bytes: usize, now: Instant) -> Result<(), Error> {
        self.check_alive()?;
        let round_trip = self.requests.round_trip();
        if self
            .channels
            .consume(channel, bytes, now, round_trip, &mut self.out)?
        {
            self.check_answers()?;
        }
        Ok(())
    }

    /// Sends no more data on this channel; receiving goes on (RFC 4254 §5.3).
    pub fn eof(&mut self, channel: ChannelId) -> Result<(), Error> {
        self.check_alive()?;
        self.channels.eof(channel, &mut self.out)
    }

    /// Ends a channel in both directions, behind what was written to it. To be called once
    /// for every channel, also after [`Event::Closed`]: its received data counts until then.
    /// No more events but data name it.
    pub fn close(&mut self, channel: ChannelId) -> Result<(), Error> {
        self.check_alive()?;
        self.channels.close(channel, &mut self.out)
    }

    /// Number of channels, opening and closing ones included.
    pub fn channels(&self) -> usize {
        self.channels.count()
    }

    /// Bytes that all receive windows and unconsumed data take of their budget.
    pub fn window_bytes(&self) -> u64 {
        self.channels.window_bytes()
    }
}

// Methods for the writer.
impl Session {
    /// Takes the next batch, and adds the channels that may write again to `woken`.
    pub(super) fn take(
        &mut self,
        batch: &mut Batch,
        woken: &mut Vec<ChannelId>,
    ) -> Result<bool, Error> {
        let channels = &mut self.channels;
        let taken = self
            .out
            .take(batch, |channel, size| channels.note_written(channel, size));
        if taken || self.channels.has_unused_quantum() {
            self.channels.wake(self.out.bulk_room(), woken);
        }
        if !taken {
            return Ok(false);
        }
        self.sent += wide(batch.bytes.len());
        self.moved += wide(batch.bytes.len());
        if batch.keys.is_some() {
            self.sent = 0;
        } else if self.sent >= self.rekey_bytes && self.keys_since.is_some() {
            self.rekey_if_alive()?;
        }
        Ok(true)
    }
}

// Methods for the reader.
impl Session {
    /// Takes new keys into use: the peer has sent NEWKEYS (RFC 4253 §7.3), and `received` bytes under the keys before.
    pub(super) fn new_keys(
        &mut self,
        payload: &[u8],
        received: u64,
        now: Instant,
    ) -> Result<OpenKeys, Error> {
        Fields::after_kind(payload).end()?;
        let again = self.keys_since.replace(now).is_some();
        let moved = received + std::mem::take(&mut self.moved);
        if again && self.kex.is_theirs() && moved < config::REKEY_WORTH {
            self.pace_rekeys(now)?;
        }
        self.kex.finish(again)
    }

    /// Counts an exchange that the peer began though the keys were hardly used. Each costs as much as a login.
    fn pace_rekeys(&mut self, now: Instant) -> Result<(), Error> {
        let paced = self.rekeys_paced.map_or(now, |paced| paced.max(now));
        self.rekeys_paced = Some(paced + config::REKEY_PAUSE);
        if paced > now + config::REKEY_AHEAD {
            return Err(Error::Protocol("the keys are changed over and over"));
        }
        Ok(())
    }

    /// True if the reader must stand still until the server's owner has decided.
    pub(super) fn awaits_answer(&self) -> bool {
        self.auth.awaits_answer() && !self.ended
    }

    /// Handles CLOSE of the peer, after `sent` bytes of data.
    pub(super) fn peer_close(&mut self, channel: u32, sent: u64) -> Result<Event<'static>, Error> {
        self.channels.peer_close(channel, sent, &mut self.out)
    }

    /// Deals with any message but NEWKEYS, channel data and the end of a channel.
    pub(super) fn handle<'a>(&mut self, message: Message<'a>) -> Result<Event<'a>, Error> {
        let kind = *message
            .payload
            .first()
            .expect("an empty payload was refused");
        let fields = Fields::after_kind(message.payload);
        let event = match kind {
            msg::DISCONNECT => disconnected(fields),
            // RFC 4253 §11.2, §11.3, §11.4; RFC 8308 §2.3: nothing here depends on them.
            msg::IGNORE | msg::DEBUG | msg::UNIMPLEMENTED | msg::EXT_INFO => Ok(Event::Handled),
            msg::KEXINIT | msg::ECDH_INIT | msg::ECDH_REPLY => {
                self.kex.handle(message.payload, &mut self.out)
            }
            msg::SERVICE_REQUEST..=msg::SERVICE_ACCEPT
            | msg::USERAUTH_REQUEST..=msg::USERAUTH_PASSWD_CHANGEREQ => {
                self.auth.handle(kind, fields, &mut self.out)
            }
            msg::GLOBAL_REQUEST..=msg::CHANNEL_FAILURE if self.auth.is_done() => {
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

    /// Checks that the peer reads its answers, instead of filling memory with them.
    fn check_answers(&self) -> Result<(), Error> {
        if self.out.answers() > config::URGENT_QUEUE {
            return Err(Error::Flooded);
        }
        Ok(())
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
        Event::Handled
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
        text: printable(text, config::MAX_TEXT),
    })
}

/// The requests of both sides that await their answer.
#[derive(Default)]
struct GlobalRequests {
    ours: VecDeque<(RequestId, Instant)>,
    /// Requests of the peer, with an answer that waits for an earlier one.
    theirs: VecDeque<(RequestId, Option<Vec<u8>>)>,
    next: u64,
    /// The last round trips. The least is closest to the network's own: the others have waited behind data.
    round_trips: [Option<Duration>; 8],
    answers: usize,
}

impl GlobalRequests {
    /// Sends a request of this side.
    fn request(
        &mut self,
        name: &str,
        data: &[u8],
        now: Instant,
        out: &mut Output,
    ) -> Result<RequestId, Error> {
        if data.len() > config::MAX_EXTRA || name.len() > config::MAX_NAME {
            return Err(Error::Misuse("the request is too long"));
        }
        if self.ours.len() >= config::MAX_REQUESTS {
            return Err(Error::Exhausted("requests without an answer"));
        }
        let mut head = vec![msg::GLOBAL_REQUEST];
        head.put_string(name.as_bytes());
        head.put_bool(true);
        out.urgent(&[&head, data]);
        let id = self.id();
        self.ours.push_back((id, now));
        Ok(id)
    }

    /// Requests of this side that await their answer.
    fn unanswered(&self) -> usize {
        self.ours.len()
    }

    /// Answers a request of the peer; the answer waits for those to earlier requests.
    fn reply(
        &mut self,
        id: RequestId,
        success: bool,
        data: &[u8],
        out: &mut Output,
    ) -> Result<(), Error> {
        if data.len() > config::MAX_EXTRA {
            return Err(Error::Misuse("the reply is too long"));
        }
        let slot = self.theirs.iter_mut().find(|(of, _)| *of == id);
        let Some((_, answer @ None)) = slot else {
            return Err(Error::Misuse("no such request awaits a reply"));
        };
        let kind = if success {
            msg::REQUEST_SUCCESS
        } else {
            msg::REQUEST_FAILURE
        };
        *answer = Some([&[kind], data].concat());
        while let Some((_, Some(message))) = self.theirs.front() {
            out.urgent(&[message]);
            self.theirs.pop_front();
        }
        Ok(())
    }

    /// The least round trip among the last answers; absent before the first.
    fn round_trip(&self) -> Option<Duration> {
        self.round_trips.iter().flatten().min().copied()
    }

    fn id(&mut self) -> RequestId {
        self.next += 1;
        RequestId(self.next)
    }

    /// Handles a request of the peer.
    fn asked<'a>(&mut self, mut fields: Fields<'a>) -> Result<Event<'a>, Error> {
        let name = fields.name(config::MAX_NAME)?;
        let wants_reply = fields.boolean()?;
        if wants_reply && self.theirs.len() >= config::MAX_REQUESTS {
            return Err(Error::Flooded);
        }
        let id = wants_reply.then(|| self.id());
        self.theirs.extend(id.map(|id| (id, None)));
        let data = fields.rest();
        Ok(Event::GlobalRequest { id, name, data })
    }

    /// Handles an answer of the peer, which come in the order of the requests (RFC 4254 §4).
    fn answered<'a>(
        &mut self,
        success: bool,
        data: &'a [u8],
        now: Instant,
    ) -> Result<Event<'a>, Error> {
        let (id, since) = self
            .ours
            .pop_front()
            .ok_or(Error::Protocol("a reply came without a request"))?;
        let round_trip = now.saturating_duration_since(since);
        let next = self.answers % self.round_trips.len();
        *self.round_trips.get_mut(next).expect("below its length") = Some(round_trip);
        self.answers = next + 1;
        Ok(Event::RequestReply {
            id,
            success,
            data,
            round_trip,
        })
    }
}
