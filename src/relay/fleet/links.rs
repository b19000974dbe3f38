//! The links between the relays of a fleet, and the search for a connector's tunnel at another relay ([`Links::open`]).
//! Each relay dials every other one's `--peer-listen`, with a tunnel through which the other one opens streams to it.
//!
//! ```text
//! visitor ── relay A ──── a stream of B's link ────> relay B ── the connector's tunnel ── application
//! ```

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use zeroize::Zeroizing;

use super::hop;
use super::hop::{HopError, HopStream};
use super::member::{FleetOverview, Held, Member, Peer, PeerState, Roster};
use super::store::MemberRow;
use crate::gateway::Unreachable;
use crate::http::auth::sha256;
use crate::http::proxy::ByteStream;
use crate::sync::{Mutex, Permits, RwLock, Thread, spawn};
use crate::tunnel::client::{HostKeyCheck, Settings, Tunnel};
use crate::tunnel::fleet_keys::FleetKeys;
use crate::tunnel::remote::Remote;
use crate::tunnel::server;
use crate::tunnel::server::{Grant, OpenError, Opener, Policy};
use crate::tunnel::ssh::{HostKey, ServerKey};
use crate::tunnel::ws::Endpoint;

/// Number under which a link is held; nothing listens there.
const LINK: u16 = 1;
/// The longest pause before a relay is dialled again. Default 1 s: it may be back, and its visitors wait.
const PAUSE: Duration = Duration::from_secs(1);
/// Relays that quick-setup names beside the first. Default 3; a connector of ours uses one of them.
const ALTERNATES: usize = 3;
/// Connectors whose last relay is remembered. Default 10,000, about a megabyte; then all are forgotten.
const REMEMBERED: usize = 10_000;
/// Time in which a silent relay is asked after all others, and in which bytes must come over its link. Default 3 s;
/// then the link is cut.
const SILENT: Duration = Duration::from_secs(3);
/// Time for a relay's answer if no other one has the tunnel. Default 5 s: a busy machine answers late.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time for the list of held ports of all other relays together. Default 2 s: the operator waits for it.
const OVERVIEW: Duration = Duration::from_secs(2);
/// Purpose of a password between two relays.
const PURPOSE: &[u8] = b"postern link";
/// Time after the start in which links are awaited before visitors are accepted.
const READY: Duration = Duration::from_secs(3);

/// The links of one relay.
pub(in crate::relay) struct Links {
    id: String,
    own: Member,
    secret: hmac::Key,
    /// Host keys; the others know the fingerprint of the first one.
    keys: Arc<[ServerKey]>,
    roster: Arc<RwLock<Roster>>,
    /// Server that other relays dial.
    server: server::Server,
    opener: Opener,
    /// Tunnels to the others, by their ids, with the address and key that each was made for.
    tunnels: Mutex<HashMap<String, (String, String, Tunnel)>>,
    /// Relay at which a connector's tunnel was found last.
    found: Mutex<HashMap<String, String>>,
    /// Time at which a relay did not answer, until it does.
    silent: Mutex<HashMap<String, Instant>>,
    /// Opens streams through this relay's own tunnels.
    of_connectors: Opener,
    revoked: Arc<dyn Fn(&str) + Send + Sync>,
    is_leaving: AtomicBool,
    /// Streams that are served for other relays.
    served: Permits,
    began: Instant,
}

/// Settings of links.
pub(in crate::relay) struct LinkSettings {
    /// ID of this relay, and its entry for the others.
    pub(in crate::relay) id: String,
    pub(in crate::relay) own: Member,
    /// Secret that all relays know.
    pub(in crate::relay) secret: Zeroizing<[u8; 32]>,
    pub(in crate::relay) listener: TcpListener,
    pub(in crate::relay) keys: Arc<[ServerKey]>,
    /// Opens streams through this relay's own tunnels.
    pub(in crate::relay) opener: Opener,
    /// Asks the store for the members if one is unknown.
    pub(in crate::relay) look: Box<dyn Fn() + Send + Sync>,
    /// Applies a revocation that another relay has made.
    pub(in crate::relay) revoked: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Links {
    /// Starts to accept links.
    pub(in crate::relay) fn start(settings: LinkSettings) -> io::Result<Self> {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &*settings.secret);
        let roster = Arc::<RwLock<Roster>>::default();
        let keys = Arc::clone(&settings.keys);
        let mut of_server = server::Settings::new(settings.listener, settings.keys);
        of_server.policy = Box::new(LinkPolicy {
            id: settings.id.clone(),
            secret: secret.clone(),
            roster: Arc::clone(&roster),
            look: settings.look,
        });
        let server = server::Server::start(of_server)?;
        Ok(Self {
            opener: server.opener(),
            server,
            id: settings.id,
            own: settings.own,
            secret,
            keys,
            roster,
            tunnels: Mutex::default(),
            found: Mutex::default(),
            silent: Mutex::default(),
            of_connectors: settings.opener,
            revoked: settings.revoked,
            is_leaving: AtomicBool::new(false),
            served: Permits::default(),
            began: Instant::now(),
        })
    }

    /// Returns the entry of this relay.
    pub(in crate::relay) fn own(&self) -> Member {
        Member {
            is_leaving: self.is_leaving.load(Ordering::SeqCst),
            ..self.own.clone()
        }
    }

    /// Marks this relay as leaving.
    pub(in crate::relay) fn leave(&self) {
        self.is_leaving.store(true, Ordering::SeqCst);
    }

    /// Takes over the list of members, and dials new ones.
    pub(in crate::relay) fn see(&self, rows: Vec<MemberRow>) {
        let others = rows.into_iter().filter(|row| row.id != self.id);
        let read = others.filter_map(|row| {
            let member = serde_json::from_slice::<Member>(row.body.as_bytes());
            let known = member.map_err(|error| {
                log::debug!("unreadable entry of relay {}: {error}", row.id);
            });
            Some((row.id, row.beat, known.ok()?))
        });
        let mut roster = self.roster.write();
        roster.see(read, Instant::now());
        let members: HashMap<String, Member> = roster
            .members()
            .map(|(id, member)| (id.to_owned(), member.clone()))
            .collect();
        drop(roster);
        let mut tunnels = self.tunnels.lock();
        tunnels.retain(|id, (peer, fingerprint, _)| {
            let member = members.get(id);
            member.is_some_and(|is| is.peer == *peer && is.fingerprint == *fingerprint)
        });
        for (id, member) in members {
            if tunnels.contains_key(&id) {
                continue;
            }
            match self.dial(&id, &member) {
                Ok(tunnel) => {
                    tunnels.insert(id, (member.peer, member.fingerprint, tunnel));
                }
                Err(error) => log::debug!("no link to relay {id}: {error}"),
            }
        }
    }

    fn dial(&self, id: &str, member: &Member) -> Result<Tunnel, String> {
        if !member.url.is_empty() && member.url != self.own.url {
            log::warn!(
                "relay {id} ({}) has the address {} and this one {}: give all relays of a fleet the same --domain \
                 and --public-url, or their sites get different addresses",
                member.peer,
                member.url,
                self.own.url
            );
        }
        let endpoint = Endpoint::parse(&format!("http://{}/", member.peer))?;
        let remote = Remote {
            local_host: "0.0.0.0".to_owned(),
            local_port: LINK,
            remote_host: "localhost".to_owned(),
            remote_port: LINK,
        };
        let mut settings = Settings::new(endpoint, vec![remote]);
        settings.user.clone_from(&self.id);
        settings.password = self.password(id)?;
        settings.host_key = HostKeyCheck::Fingerprint(member.fingerprint.clone());
        settings.max_retry_interval = PAUSE;
        let (opener, served) = (self.of_connectors.clone(), self.served.clone());
        let revoked = Arc::clone(&self.revoked);
        settings.serve = Some(Arc::new(move |relay| {
            let _permit = served.take(usize::MAX);
            hop::serve(relay, &opener, &*revoked);
        }));
        let named = format!("{id} ({})", member.peer);
        let (of_up, of_down) = (named.clone(), named);
        settings.on_connected = Some(Box::new(move || {
            log::info!("linked to relay {of_up}");
        }));
        settings.on_failed = Some(Box::new(move |failure, was_connected| {
            if was_connected {
                log::warn!("lost the link to relay {of_down}: {failure}");
            }
        }));
        Tunnel::start(settings).map_err(|error| error.to_string())
    }

    /// Returns the password for another relay: its sender knows the fleet's secret, and has the key that the store
    /// names for this one. It opens nothing at a third relay.
    fn password(&self, to: &str) -> Result<Zeroizing<String>, String> {
        let (said, key) = (signed(&self.id, to), self.keys.first());
        let key = key.ok_or("this relay has no host key")?;
        let proof = key.prove(&said).map_err(|error| error.to_string())?;
        let tag = STANDARD.encode(hmac::sign(&self.secret, &said));
        Ok(Zeroizing::new(format!("{tag} {proof}")))
    }

    fn is_linked(&self, id: &str) -> bool {
        self.opener.is_held(id, LINK)
    }

    /// Returns the relays that a connector should dial, in that order, including this one.
    pub(in crate::relay) fn places(&self, connector: &str) -> Vec<Member> {
        let roster = self.roster.read();
        let live = roster.live(|id| self.is_linked(id));
        let own = std::iter::once((self.id.as_str(), &self.own));
        let takers = live.filter(|(_, member)| !member.is_leaving).chain(own);
        let order = order(connector, takers).into_iter();
        let places = order.take(1 + ALTERNATES);
        places.map(|(_, member)| member.clone()).collect()
    }

    /// Returns them with this relay first, for a public port at this relay's address.
    pub(in crate::relay) fn places_from_here(&self, connector: &str) -> Vec<Member> {
        let mut places = self.places(connector);
        places.retain(|member| *member != self.own);
        places.insert(0, self.own.clone());
        places
    }

    /// Signs the keys of these relays.
    pub(in crate::relay) fn vouch(&self, relays: &[Member]) -> Result<FleetKeys, String> {
        let seed = hmac::sign(&self.secret, b"postern fleet's key");
        let seed = seed.as_ref().first_chunk().expect("a SHA-256 of 32 bytes");
        let own = self.keys.first().ok_or("this relay has no host key")?;
        let of_relays = relays.iter().map(|relay| relay.fingerprint.clone());
        let keys = ServerKey::from_seed(seed)
            .and_then(|fleet| FleetKeys::new(of_relays.collect(), &fleet, own));
        keys.map_err(|error| error.to_string())
    }

    /// Opens a stream to a port that a connector holds at another relay. Each relay is asked until one has it; those
    /// that do not answer are asked once more at the end, with patience.
    pub(in crate::relay) fn open(
        &self,
        connector: &str,
        port: u16,
    ) -> Result<Box<dyn ByteStream>, Unreachable> {
        let (ids, mut silent) = self.candidates(connector);
        for id in ids {
            match self.open_at(&id, connector, port, hop::ANSWER) {
                Err(HopError::NotThere | HopError::Lost) => {}
                Err(HopError::Silent) => {
                    self.note_silence(&id);
                    silent.push(id);
                }
                found => return self.found(found, connector, id),
            }
        }
        for id in silent {
            match self.open_at(&id, connector, port, PATIENCE) {
                Err(HopError::NotThere | HopError::Lost | HopError::Silent) => {}
                found => return self.found(found, connector, id),
            }
        }
        self.found.lock().remove(connector);
        Err(Unreachable::Tunnel)
    }

    /// Handles the answer of relay `id`, which has the connector's tunnel.
    fn found(
        &self,
        found: Result<Box<dyn ByteStream>, HopError>,
        connector: &str,
        id: String,
    ) -> Result<Box<dyn ByteStream>, Unreachable> {
        let stream = found.map_err(|error| match error {
            HopError::Full => Unreachable::Full,
            _ => Unreachable::Target("The other end of its tunnel refused the stream.".to_owned()),
        })?;
        self.remember(connector, id);
        Ok(stream)
    }

    /// Asks a silent relay last for a while. If nothing at all comes from it, its link is cut, with all its streams; an
    /// overloaded relay keeps its link.
    fn note_silence(&self, id: &str) {
        let mut silent = self.silent.lock();
        if silent.get(id).is_some_and(is_recent) {
            return;
        }
        silent.insert(id.to_owned(), Instant::now());
        drop(silent);
        log::warn!("relay {id} does not answer: others are asked first");
        let (opener, id) = (self.opener.clone(), id.to_owned());
        let probe = move || {
            if opener.probe(&id, LINK, SILENT) == Some(false) {
                log::warn!("relay {id} sends nothing: its link is closed");
                opener.cut(&id, LINK);
            }
        };
        if let Err(error) = spawn(Thread::FleetProbe, probe) {
            log::debug!("cannot probe the link: {error}");
        }
    }

    fn open_at(
        &self,
        id: &str,
        connector: &str,
        port: u16,
        within: Duration,
    ) -> Result<Box<dyn ByteStream>, HopError> {
        let opened = self.opener.open_within(id, LINK, within);
        let mut stream = opened.map_err(|error| match error {
            OpenError::Refused | OpenError::Full => HopError::Silent,
            OpenError::NotHeld | OpenError::Tunnel => HopError::Lost,
        })?;
        let asked = hop::ask(&mut stream, connector, port, within);
        if asked != Err(HopError::Silent) {
            self.silent.lock().remove(id);
        }
        asked?;
        Ok(Box::new(HopStream(stream)))
    }

    /// Returns the linked relays, the most likely first, and those that did not answer just now.
    fn candidates(&self, connector: &str) -> (Vec<String>, Vec<String>) {
        let last = self.found.lock().get(connector).cloned();
        let roster = self.roster.read();
        let linked = roster.members().filter(|(id, _)| self.is_linked(id));
        let order = order(connector, linked).into_iter();
        let mut ids: Vec<String> = order.map(|(id, _)| id.to_owned()).collect();
        let goes = |id: &String| roster.get(id).is_some_and(|member| member.is_leaving);
        ids.sort_by_key(|id| (goes(id), Some(id) != last.as_ref()));
        let silent = self.silent.lock();
        let answers = |id: &String| !silent.get(id).is_some_and(is_recent);
        ids.into_iter().partition(answers)
    }

    fn remember(&self, connector: &str, id: String) {
        let mut found = self.found.lock();
        if found.len() >= REMEMBERED {
            found.clear();
        }
        found.insert(connector.to_owned(), id);
    }

    /// Returns the state of the whole fleet. Each linked relay is asked for its held ports, as far as there is time.
    pub(in crate::relay) fn overview(&self) -> FleetOverview {
        let roster = self.roster.read();
        let others = roster.members();
        let others: Vec<_> = others
            .map(|(id, member)| (id.to_owned(), member.clone()))
            .collect();
        drop(roster);
        let own = Peer {
            id: self.id.clone(),
            member: self.own(),
            state: PeerState::Own,
            held: Some(self.of_connectors.all_held()),
        };
        let until = Instant::now() + OVERVIEW;
        let others = others.into_iter().map(|(id, member)| {
            let state = match (self.is_linked(&id), member.is_leaving) {
                (false, _) => PeerState::Away,
                (true, true) => PeerState::Leaving,
                (true, false) => PeerState::Linked,
            };
            let left = until.saturating_duration_since(Instant::now());
            let is_asked = state != PeerState::Away && !left.is_zero();
            let held = is_asked.then(|| self.held_at(&id, left.min(hop::ANSWER)));
            Peer {
                id,
                member,
                state,
                held: held.flatten(),
            }
        });
        FleetOverview(std::iter::once(own).chain(others).collect())
    }

    /// Tells the other relays that a connector is revoked, as one of them may not reach the store; returns the
    /// addresses of those that have not confirmed.
    pub(in crate::relay) fn send_revocation(&self, name: &str) -> Vec<String> {
        let roster = self.roster.read();
        let others = roster.members();
        let others: Vec<_> = others
            .map(|(id, member)| (id.to_owned(), member.peer.clone()))
            .collect();
        drop(roster);
        let until = Instant::now() + OVERVIEW;
        let knows = |id: &str| {
            let left = until.saturating_duration_since(Instant::now());
            let within = left.min(hop::ANSWER);
            let stream = self.opener.open_within(id, LINK, within);
            stream.is_ok_and(|mut stream| hop::send_revocation(&mut stream, name, within))
        };
        let unreached = others.into_iter().filter(|(id, _)| !knows(id));
        unreached.map(|(_, peer)| peer).collect()
    }

    /// Number of connectors, of those that `dials_two` accepts, with a tunnel here and at no other linked relay.
    pub(in crate::relay) fn only_here(&self, dials_two: impl Fn(&str) -> bool) -> usize {
        let overview = self.overview();
        if !overview.has_linked() {
            return 0;
        }
        let held = self.of_connectors.all_held();
        let alone = held.keys().filter(|name| dials_two(name));
        alone
            .filter(|name| overview.relays_of(name).len() < 2)
            .count()
    }

    fn held_at(&self, id: &str, within: Duration) -> Option<Held> {
        if self.silent.lock().get(id).is_some_and(is_recent) {
            return None;
        }
        let mut stream = self.opener.open_within(id, LINK, within).ok()?;
        hop::ask_held(&mut stream, within).ok()
    }

    /// Numbers of the fleet's relays that are linked to this one, and that are not.
    pub(in crate::relay) fn counts(&self) -> (usize, usize) {
        let roster = self.roster.read();
        let linked = roster.members().filter(|(id, _)| self.is_linked(id));
        let linked = linked.count();
        (linked, roster.members().count() - linked)
    }

    /// True if visitors may come: every live relay is linked, or the time for that is over.
    pub(in crate::relay) fn is_ready(&self) -> bool {
        let roster = self.roster.read();
        let mut live = roster.live(|_| false);
        self.began.elapsed() >= READY || live.all(|(id, _)| self.is_linked(id))
    }

    /// Number of streams that are served for other relays now.
    pub(in crate::relay) fn served(&self) -> usize {
        self.served.out()
    }

    /// Address that other relays dial, and the one that it listens on.
    pub(in crate::relay) fn address(&self) -> (&str, SocketAddr) {
        (&self.own.peer, self.server.address())
    }

    /// Ends all links.
    pub(in crate::relay) fn stop(&self) {
        self.tunnels.lock().clear();
    }
}

/// True if a relay that did not answer at that time is still asked last.
fn is_recent(at: &Instant) -> bool {
    at.elapsed() < SILENT
}

fn signed(from: &str, to: &str) -> Vec<u8> {
    [PURPOSE, b"\n", from.as_bytes(), b"\n", to.as_bytes()].concat()
}

/// Permission to link.
struct LinkPolicy {
    id: String,
    secret: hmac::Key,
    roster: Arc<RwLock<Roster>>,
    look: Box<dyn Fn() + Send + Sync>,
}

impl Policy for LinkPolicy {
    fn login(&self, user: &str, password: &str, _: SocketAddr) -> Option<String> {
        let (tag, proof) = password.split_once(' ')?;
        let said = signed(user, &self.id);
        hmac::verify(&self.secret, &said, &STANDARD.decode(tag).ok()?).ok()?;
        let is_it = || {
            let roster = self.roster.read();
            let member = roster.get(user).filter(|_| user != self.id);
            member.is_some_and(|it| HostKey::is_proof(proof, &it.fingerprint, &said))
        };
        // The member may be new, or have a new key.
        if !is_it() {
            (self.look)();
        }
        is_it().then(|| user.to_owned())
    }

    fn grant(&self, _: &str, remote: &Remote) -> Grant {
        match remote.local_port {
            LINK => Grant::Held,
            _ => Grant::Denied,
        }
    }
}

// Placement of connectors' tunnels: rendezvous hashing (highest random weight, Thaler and Ravishankar 1998). Each relay
// has a weight for each connector; a relay that joins or leaves only moves connectors that it gets or had.

/// Returns the relays in the order in which a connector should use them.
pub(super) fn order<'m, M>(
    connector: &str,
    members: impl Iterator<Item = (&'m str, M)>,
) -> Vec<(&'m str, M)> {
    let mut weighed: Vec<_> = members
        .map(|(id, member)| (weight(connector, id), id, member))
        .collect();
    weighed.sort_by(|(a, a_id, _), (b, b_id, _)| b.cmp(a).then(a_id.cmp(b_id)));
    let in_order = weighed.into_iter();
    in_order.map(|(_, id, member)| (id, member)).collect()
}

fn weight(connector: &str, id: &str) -> [u8; 32] {
    let length = u64::try_from(connector.len()).expect("a length has at most 64 bits");
    sha256(&[
        b"postern placement",
        &length.to_be_bytes(),
        connector.as_bytes(),
        id.as_bytes(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONNECTORS: usize = 3000;

    fn firsts(ids: &[&str]) -> Vec<(String, String)> {
        let first = |number: usize| {
            let members = ids.iter().map(|id| (*id, ()));
            let order = order(&format!("c{number}"), members);
            assert_eq!(order.len(), ids.len());
            let mut names = order.into_iter().map(|(id, ())| id.to_owned());
            (names.next().unwrap(), names.next().unwrap_or_default())
        };
        (0..CONNECTORS).map(first).collect()
    }

    #[test]
    fn each_relay_has_its_share() {
        let firsts = firsts(&["a", "b", "c"]);
        for id in ["a", "b", "c"] {
            let count = firsts.iter().filter(|(first, _)| first == id).count();
            assert!((900..1100).contains(&count), "{id}: {count}");
        }
    }

    #[test]
    fn who_leaves_moves_only_what_it_had_and_to_where_the_second_tunnel_is() {
        let (before, after) = (firsts(&["a", "b", "c", "d"]), firsts(&["a", "b", "d"]));
        for ((first, second), (now, _)) in before.iter().zip(&after) {
            let expected = if first == "c" { second } else { first };
            assert_eq!(now, expected);
        }
    }
}
