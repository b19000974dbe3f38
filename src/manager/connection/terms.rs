//! Changes that apply to a running connection: its end time, code and networks, the sign-out of all visitors, and the
//! recording of visitors. This end applies them at once; the server gets them with one more quick-setup call, which is
//! repeated until it succeeds.

use std::time::{Duration, Instant};

use super::enforcement::Enforcement;
use super::error::{ConnectError, Ended};
use super::sequence::{ConnectionWork, HeldResources};
use crate::manager::apps::app::AppConfig;
use crate::manager::apps::app_store;
use crate::manager::quick_setup::Setup;
use crate::tunnel::client::Pauses;
use crate::tunnel::group::TunnelGroup;

/// Result of a change.
pub(super) enum Applied {
    /// The change is active, or there was none.
    Done,
    /// The server has not applied it: it is sent again at this moment.
    Pending(Instant),
    /// The server has assigned something else: only another sequence helps.
    Moved,
}

impl ConnectionWork<'_> {
    /// Applies the stored settings, as far as that needs no new connection.
    pub(super) fn apply(
        &mut self,
        held: &mut HeldResources,
        tunnel: &TunnelGroup,
        pauses: &mut Pauses,
    ) -> Result<Applied, Ended> {
        // The code that removes an application also ends its connection.
        if let Ok(saved) = self.core.apps.find(&self.app.id) {
            self.core.end_in_time(&saved);
            // Records of visitors are this end's alone.
            self.record.set_recording(&saved, &self.core.audit);
            let wanted = self.core.apps.with_code(self.app.with_terms_of(&saved));
            self.apply_here(held, tunnel, wanted.map_err(local)?)?;
        }
        if self.record.has_same_terms(&self.app) {
            self.record.change().set_pending_change(None);
            return Ok(Applied::Done);
        }
        match self.apply_at_server(held) {
            Ok(applied) => {
                pauses.reset();
                self.record.change().set_pending_change(None);
                Ok(applied)
            }
            Err(Ended::Failed(error)) if !error.is_refusal => {
                Ok(self.retry_later(&error, pauses.next()))
            }
            // Nobody enforces the settings, so the connection must not go on.
            Err(ended) => Err(ended),
        }
    }

    /// Applies a change at this end, whatever the server does.
    fn apply_here(
        &mut self,
        held: &mut HeldResources,
        tunnel: &TunnelGroup,
        wanted: AppConfig,
    ) -> Result<(), Ended> {
        let admits_as_before = wanted.admits_as(&self.app);
        let client = held.web_client.as_ref();
        if let Some(client) = client.filter(|_| wanted.expires != self.app.expires) {
            client.set_end(wanted.expires.as_deref());
        }
        self.app = wanted;
        self.record.change().ends_at.clone_from(&self.app.expires);
        if !admits_as_before {
            let setup = held.setup().clone();
            let at_home = Enforcement::at_home(&self.app, &setup)?;
            held.admit(&at_home, &self.app.name, &setup);
            tunnel.cut_streams();
        }
        Ok(())
    }

    /// Applies a change at the server, if it is one of our relays.
    fn apply_at_server(&self, held: &mut HeldResources) -> Result<Applied, Ended> {
        if held.setup().is_of_relay() {
            let (setup, connector) = self.ask_again(held)?;
            let is_same = is_same_place(held.setup(), &setup, connector.others.is_some());
            held.setup = Some(setup);
            if !is_same {
                return Ok(Applied::Moved);
            }
        }
        let setup = held.setup().clone();
        let enforcement = Enforcement::of(&self.app, &setup)?;
        // The server may enforce other settings than before.
        held.admit(&enforcement, &self.app.name, &setup);
        self.record
            .change()
            .set_terms(&self.app, enforcement.auth_url);
        Ok(Applied::Done)
    }

    fn retry_later(&self, error: &ConnectError, pause: Duration) -> Applied {
        let again = Instant::now() + pause;
        let why = error.in_one_line();
        log::warn!(
            "application '{}': the relay has not applied a change: {why}",
            self.app.name
        );
        self.record.change().set_pending_change(Some((again, why)));
        Applied::Pending(again)
    }
}

/// True if visitors find the application at the same address. Each relay of a fleet has its own for public ports.
pub(super) fn is_same_place(before: &Setup, now: &Setup, is_of_fleet: bool) -> bool {
    let is_port = |setup: &Setup| setup.app.site_url.starts_with("tcp://");
    let is_same_site =
        before.app.site_url == now.app.site_url || (is_of_fleet && is_port(before) && is_port(now));
    before.app.resource.port == now.app.resource.port && is_same_site
}

fn local(error: app_store::Error) -> ConnectError {
    ConnectError::local(error.to_string())
}
