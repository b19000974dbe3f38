//! The sign-in of an invisible application whose server asks for no code: page, form and cookie are those of a relay.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use crate::gateway::{
    Down, ForwardDefaults, GatewayConfig, GatewayState, Origin, RequestStats, Served, Site,
    SiteRequest, answer, is_sign_in,
};
use crate::http::auth::Code;
use crate::http::h1::head::Head;
use crate::http::server::connection_handler::ClientConnection;
use crate::sync::Mutex;

/// Asks for one application's code, or lets everybody in. What it is told holds from the next request on.
#[derive(Default)]
pub(crate) struct Door(Mutex<Option<Arc<Desk>>>);

/// Sign-in for one code.
struct Desk {
    state: GatewayState,
    site: Site,
}

impl Door {
    /// Asks for this code from now on, of the application that its server calls `app_id` at a site with this URL; `name`
    /// is what visitors read. Whoever was signed in under another code or `generation` is so no more.
    pub(crate) fn ask_for(
        &self,
        (name, app_id): (&str, &str),
        (code, generation): (Code, u64),
        site_url: &str,
        stats: &Arc<RequestStats>,
    ) {
        let mut config = GatewayConfig::new("", 0);
        config.secure = site_url.starts_with("https:");
        let mut site = Site::new(name, app_id, Box::new(|| Err(Down::Tunnel)));
        (site.code, site.generation) = (Some(code), generation);
        let mut desk = self.0.lock();
        if !desk
            .as_ref()
            .is_some_and(|desk| desk.is_for(&site, config.secure))
        {
            let state = GatewayState::without_sites(config, Arc::clone(stats));
            *desk = Some(Arc::new(Desk { state, site }));
        }
    }

    /// Lets everybody in from now on.
    pub(crate) fn open(&self) {
        *self.0.lock() = None;
    }

    /// True if visitors need a code.
    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Answers a request that does not get in, or that is for the sign-in itself; none for one that passes.
    pub(super) fn turn_away(
        &self,
        head: &Head,
        host: &[u8],
        visitor: &mut dyn ClientConnection,
    ) -> Option<Served> {
        let desk = self.0.lock().clone();
        desk.and_then(|desk| desk.turn_away(head, host, visitor))
    }
}

impl Desk {
    fn is_for(&self, site: &Site, is_https: bool) -> bool {
        let of = |site: &Site| {
            let code = site.code.as_ref().map(|code| *code.digest());
            let names = (site.name.clone(), site.app_id.clone());
            (names, code, site.generation)
        };
        self.state.is_https() == is_https && of(&self.site) == of(site)
    }

    /// An address from a server that is not ours is not trusted: a visitor could have written it, and
    /// then be counted as somebody else at each wrong code. So all are counted as one; a right code always passes.
    fn turn_away(
        &self,
        head: &Head,
        host: &[u8],
        visitor: &mut dyn ClientConnection,
    ) -> Option<Served> {
        let nobody = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let shown = String::from_utf8_lossy(host);
        let defaults = ForwardDefaults {
            trusted: &[],
            secure: self.state.is_https(),
            port: 0,
        };
        let origin = Origin::read(&head.headers, nobody, &shown, &defaults);
        let request = SiteRequest {
            head,
            host,
            site: &self.site.name,
            origin: &origin,
        };
        if is_sign_in(head, &self.site) {
            return Some(self.state.enter(&request, &self.site, visitor));
        }
        if self.state.is_signed_in(&request, &self.site) {
            return None;
        }
        let page = self.state.asking(&request, &self.site);
        Some(answer(head, visitor, page, false))
    }
}
