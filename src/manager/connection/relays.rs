//! Choice of the relays of a fleet that hold a connection's tunnel. If one has been away for long, the server is asked
//! for others, and one of them takes its place; open streams stay. A server without a fleet may have moved, so it is
//! asked for its address.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::Ended;
use super::sequence::{ConnectionWork, HeldResources};
use super::terms::{Applied, is_same_place};
use crate::manager::quick_setup::Setup;
use crate::manager::remote::Connector;
use crate::net::authority::authority;
use crate::tunnel::client::Pauses;
use crate::tunnel::group::TunnelGroup;

/// Pause between two checks of the tunnel. Default 5 s.
const LOOK: Duration = Duration::from_secs(5);
/// The pause after the first question. Default 15 s.
const FIRST_PAUSE: Duration = Duration::from_secs(15);
/// The longest pause. Default 5 min: a relay that is back at its address is reconnected without a question.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Schedule of a connection's checks for a wanted relay, and of the questions to the server.
pub(super) struct RelayWatch {
    pauses: Pauses,
    /// Time of the next check; none without a fleet.
    pub(super) look: Option<Instant>,
    /// Earliest time of the next question.
    ask: Option<Instant>,
}

impl RelayWatch {
    pub(super) fn new(tunnel: &TunnelGroup) -> Self {
        Self {
            pauses: Pauses::new(FIRST_PAUSE, LONGEST_PAUSE),
            look: tunnel.is_of_fleet().then(|| Instant::now() + LOOK),
            ask: None,
        }
    }

    /// True if the server is to be asked now; also sets the time of the next check.
    fn begin_ask_if_due(&mut self, tunnel: &TunnelGroup) -> bool {
        let now = Instant::now();
        self.look = Some(now + LOOK);
        if !tunnel.wants_relay() {
            self.pauses.reset();
            self.ask = None;
            return false;
        }
        self.ask.is_none_or(|at| at <= now)
    }
}

impl ConnectionWork<'_> {
    /// Asks for another relay if one is wanted. Without an answer, or if it names none, nothing changes.
    pub(super) fn look_for_relays(
        &self,
        held: &mut HeldResources,
        tunnel: &TunnelGroup,
        watch: &mut RelayWatch,
    ) -> Result<Applied, Ended> {
        if !tunnel.is_of_fleet() {
            return self.look_for_moved(held, tunnel);
        }
        if !watch.begin_ask_if_due(tunnel) {
            return Ok(Applied::Done);
        }
        let answered = self.ask_again(held);
        watch.ask = Some(Instant::now() + watch.pauses.next());
        match answered {
            Ok((setup, connector)) => Ok(self.hold_at(held, tunnel, setup, &connector)),
            Err(Ended::Stopped) => Err(Ended::Stopped),
            Err(Ended::Failed(error)) => {
                let why = error.in_one_line();
                log::info!("application '{}': no second relay: {why}", self.app.name);
                Ok(Applied::Done)
            }
        }
    }

    /// Asks the server for its address if the tunnel is down; one application asks for all. If the address is
    /// unchanged, the tunnel goes on trying there.
    fn look_for_moved(&self, held: &HeldResources, tunnel: &TunnelGroup) -> Result<Applied, Ended> {
        if tunnel.is_connected() {
            return Ok(Applied::Done);
        }
        let (origin, addresses) = (self.record.server(), &self.core.connections.addresses);
        if !addresses.is_elsewhere(&origin, held.setup())
            && addresses.begin_ask_if_due(&origin, Instant::now())
        {
            match self.ask_again(held) {
                Ok(_) => {}
                Err(Ended::Stopped) => return Err(Ended::Stopped),
                Err(Ended::Failed(error)) => {
                    log::debug!("no other address of {origin}: {}", error.in_one_line());
                }
            }
        }
        if addresses.is_elsewhere(&origin, held.setup()) {
            return Ok(Applied::Moved);
        }
        Ok(Applied::Done)
    }

    fn hold_at(
        &self,
        held: &mut HeldResources,
        tunnel: &TunnelGroup,
        setup: Setup,
        connector: &Connector,
    ) -> Applied {
        if !is_same_place(held.setup(), &setup, connector.others.is_some()) {
            held.setup = Some(setup);
            return Applied::Moved;
        }
        let origin = self.record.server();
        let known = Arc::new(self.core.known.named_by(&origin));
        if let Err(error) = tunnel.hold_at(connector.places(&known)) {
            log::warn!("application '{}': no second relay: {error}", self.app.name);
        }
        if !is_held_at(&tunnel.connected_at(), held.setup(), self.app.tunnel_port) {
            self.record.change().set_site_url(&setup.app.site_url);
            held.setup = Some(setup);
        }
        // The main tunnel is held at the same relays.
        if self.core.keeps_main_tunnels()
            && let Ok(remote) = self.core.servers.of(&origin)
        {
            drop(remote.set_up_main_tunnel());
        }
        Applied::Done
    }
}

/// True if the relay that gave this answer is one of these tunnel servers, or the address is a site's, which any relay
/// serves. The host of a public port may be another than its relay's.
fn is_held_at(servers: &[String], setup: &Setup, own_port: Option<u16>) -> bool {
    let connector = &setup.connector;
    let port = own_port.or(connector.tunnel_port);
    let relay = port.map(|port| match &connector.tunnel_url {
        Some(url) if port == 0 => url.server(),
        _ => authority(&connector.external_ip, port),
    });
    !setup.app.site_url.starts_with("tcp://") || relay.is_none_or(|relay| servers.contains(&relay))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::remote::tests::setup;

    #[test]
    fn a_port_stays_where_it_is_while_its_relay_is_there() {
        let mut held = setup("user");
        held.connector.tunnel_port = Some(7000);
        held.app.site_url = "tcp://127.0.0.9:20001".into();
        let [own, other] = ["127.0.0.1:7000", "127.0.0.2:7000"].map(str::to_owned);
        let both = [other.clone(), own];
        assert!(is_held_at(&both, &held, None));
        assert!(!is_held_at(&[other], &held, None), "it is away");
        assert!(!is_held_at(&both, &held, Some(7001)));
        held.app.site_url = "http://site.example/".into();
        assert!(is_held_at(&[], &held, None));
    }
}
