//! State of one application's gateway.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;

use super::door::Door;
use super::host_header::{Naming, Server};
use crate::gateway::Pages;
use crate::manager::apps::app::AppConfig;
use crate::manager::apps::protocol::Protocol;
use crate::manager::quick_setup::Setup;
use crate::manager::request_log::RequestLog;
use crate::net::authority::authority;
use crate::sync::Mutex;
use crate::tunnel::target::MayDial;
use crate::tunnel::ws::Tls;

/// Time for which an answer that could not be passed on shows on the application's card. Default 60 s: health is checked
/// every 30 s meanwhile.
const RECENT: Duration = Duration::from_secs(60);
/// Characters of its path that are logged. Default 100.
const SHOWN_PATH: usize = 100;

/// Pages shown instead of an application. Loaded on first use: most applications need none.
static PAGES: LazyLock<Pages> = LazyLock::new(Pages::load);

/// One application's gateway.
pub(crate) struct SiteGateway {
    /// Host and port of the application.
    pub(super) target: (String, u16),
    pub(super) names: Arc<SiteNames>,
    /// How it is spoken to; none for plain text.
    pub(super) tls: Option<Tls>,
    /// Asks for the code where the server does not.
    pub(super) door: Arc<Door>,
    /// True if the server's word about a visitor's address is trusted.
    pub(super) is_server_ours: bool,
    pub(super) requests: Arc<RequestLog>,
    /// Decides whether an address may be connected to.
    pub(super) may_dial: Option<MayDial>,
    /// Gets a message, as far as there is room, when nobody was found at the target.
    pub(super) missed: Sender<()>,
}

/// The names of an application, and what became of them.
pub(crate) struct SiteNames {
    pub(crate) naming: Naming,
    /// It has sent a visitor to its own address, where no visitor is.
    is_self_named: AtomicBool,
    /// The last answer to a visitor that could not be passed on.
    refused: Mutex<Option<RefusedAnswer>>,
}

/// An answer that could not be passed on.
struct RefusedAnswer {
    at: Instant,
    why: String,
}

impl SiteNames {
    /// Those of an application that a server has set up so.
    pub(crate) fn of(app: &AppConfig, setup: &Setup) -> SiteNames {
        let is_tls = app.protocol == Protocol::Https;
        let server = if setup.is_of_relay() {
            Server::Ours
        } else {
            Server::Foreign
        };
        let (host_header, site) = (&app.sharing.host_header, &setup.app.site_url);
        SiteNames {
            naming: Naming::new(host_header, (&app.ip, app.port), is_tls, (site, server)),
            is_self_named: AtomicBool::new(false),
            refused: Mutex::default(),
        }
    }

    /// True if it has sent a visitor to its own address.
    pub(crate) fn has_named_itself(&self) -> bool {
        self.is_self_named.load(Ordering::Relaxed)
    }

    /// Why an answer of the last [`RECENT`] could not be passed on, if one could not.
    pub(crate) fn refused_answer(&self) -> Option<String> {
        let refused = self.refused.lock();
        let recent = refused.as_ref().filter(|it| it.at.elapsed() < RECENT);
        recent.map(|refused| refused.why.clone())
    }

    /// Notes such an answer; true where nothing of the kind was noted lately.
    fn note_refused_answer(&self, why: &str) -> bool {
        let mut refused = self.refused.lock();
        let is_known = |it: &RefusedAnswer| it.at.elapsed() < RECENT && it.why == why;
        let is_new = !refused.as_ref().is_some_and(is_known);
        *refused = Some(RefusedAnswer {
            at: Instant::now(),
            why: why.to_owned(),
        });
        is_new
    }
}

impl SiteGateway {
    /// That of an application that a server has set up so.
    pub(crate) fn of(
        app: &AppConfig,
        setup: &Setup,
        (names, door, requests): (Arc<SiteNames>, Arc<Door>, Arc<RequestLog>),
        (may_dial, missed): (MayDial, Sender<()>),
    ) -> SiteGateway {
        SiteGateway {
            target: (app.ip.clone(), app.port),
            names,
            // Whose certificate it is nobody can say, as the form does.
            tls: (app.protocol == Protocol::Https).then(Tls::unverified),
            door,
            is_server_ours: setup.is_of_relay(),
            requests,
            may_dial: Some(may_dial),
            missed,
        }
    }

    pub(super) fn pages(&self) -> &'static Pages {
        &PAGES
    }

    /// Nobody was found at the target.
    pub(super) fn note_missed(&self) {
        // One message is enough.
        let _ = self.missed.try_send(());
    }

    /// An answer at this path could not be passed on.
    pub(super) fn note_refused_answer(&self, path: &str, why: &str) {
        if self.names.note_refused_answer(why) {
            let target = authority(&self.target.0, self.target.1);
            let path: String = path.chars().take(SHOWN_PATH).collect();
            log::warn!("the answer of {target} at {path} is not valid HTTP: {why}");
        }
        self.note_missed();
    }

    /// The application has sent a visitor to its own address.
    pub(super) fn note_self_named(&self) {
        if !self.names.is_self_named.swap(true, Ordering::Relaxed) {
            self.note_missed();
        }
    }
}
