//! What one application's gateway knows.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use crossbeam_channel::Sender;

use super::door::Door;
use super::host_header::Naming;
use crate::manager::visits::Visits;
use crate::relay::gateway::Pages;
use crate::tunnel::target::MayDial;
use crate::tunnel::ws::Tls;

/// What is said in place of an application. Made when it is first needed: most say everything themselves.
static PAGES: LazyLock<Pages> = LazyLock::new(Pages::load);

/// One application's gateway.
pub(crate) struct SiteGateway {
    /// Host and port of the application.
    pub(crate) target: (String, u16),
    pub(crate) names: Arc<SiteNames>,
    /// How it is spoken to; none for plain text.
    pub(crate) tls: Option<Tls>,
    /// Asks for the code; none where nobody has to show one, or the server asks.
    pub(crate) door: Option<Door>,
    /// Whether the server's own word about a visitor's address is believed.
    pub(crate) is_server_ours: bool,
    pub(crate) visits: Arc<Visits>,
    /// Whether an address may be connected to.
    pub(crate) may_dial: Option<MayDial>,
    /// Gets a message, as far as there is room, when nobody was found at the target.
    pub(crate) missed: Sender<()>,
}

/// The names of an application, and what became of them.
pub(crate) struct SiteNames {
    pub(crate) naming: Naming,
    /// It has sent a visitor to its own address, where no visitor is.
    is_self_named: AtomicBool,
}

impl SiteNames {
    pub(crate) fn new(naming: Naming) -> SiteNames {
        SiteNames {
            naming,
            is_self_named: AtomicBool::new(false),
        }
    }

    /// Whether it has sent a visitor to its own address.
    pub(crate) fn has_named_itself(&self) -> bool {
        self.is_self_named.load(Ordering::Relaxed)
    }
}

impl SiteGateway {
    pub(super) fn pages(&self) -> &'static Pages {
        &PAGES
    }

    /// Nobody was found at the target.
    pub(super) fn note_missed(&self) {
        // One message is enough.
        let _ = self.missed.try_send(());
    }

    /// The application has sent a visitor to its own address.
    pub(super) fn note_self_named(&self) {
        if !self.names.is_self_named.swap(true, Ordering::Relaxed) {
            self.note_missed();
        }
    }
}
