//! The sign-in of an invisible application whose server asks for no code: page, form and cookie are those of a relay.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use crate::http::auth::Code;
use crate::http::h1::head::Head;
use crate::http::server::connection_handler::ClientConnection;
use crate::relay::gateway::{
    Down, ForwardDefaults, GatewayConfig, GatewayState, Origin, Served, Site, SiteRequest, answer,
    is_sign_in,
};
use crate::sync::Mutex;

/// Asks for one application's code.
pub(crate) struct Door {
    state: GatewayState,
    /// As visitors are let in now.
    site: Mutex<Arc<Site>>,
}

impl Door {
    /// For the application that its server calls `app_id`, at a site with this URL; `name` is what visitors read.
    pub(crate) fn new(name: &str, app_id: &str, code: Code, site_url: &str) -> Door {
        let mut config = GatewayConfig::new("", 0);
        config.secure = site_url.starts_with("https:");
        Door {
            state: GatewayState::without_sites(config),
            site: Mutex::new(Arc::new(site(name, app_id, code, 0))),
        }
    }

    /// From now on this code lets visitors in. Who came in by another, or when this was another number, is signed in no
    /// more.
    pub(crate) fn admit(&self, code: &str, generation: u64) {
        let mut kept = self.site.lock();
        *kept = Arc::new(site(&kept.name, &kept.app_id, Code::new(code), generation));
    }

    /// Answers a request that does not get in, or that is for the sign-in itself; none for one that passes.
    ///
    /// What a server that is not ours says of a visitor's address is not believed: a visitor could have written it, and
    /// then be counted as somebody else at each wrong code. So all are counted as one; a right code always passes.
    pub(super) fn turn_away(
        &self,
        head: &Head,
        host: &[u8],
        visitor: &mut dyn ClientConnection,
    ) -> Option<Served> {
        let site = Arc::clone(&self.site.lock());
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
            site: &site.name,
            origin: &origin,
        };
        if is_sign_in(head, &site) {
            return Some(self.state.enter(&request, &site, visitor));
        }
        if self.state.is_signed_in(&request, &site) {
            return None;
        }
        let page = self.state.asking(&request);
        Some(answer(head, visitor, page, false))
    }
}

fn site(name: &str, app_id: &str, code: Code, generation: u64) -> Site {
    let mut site = Site::new(name, app_id, Box::new(|| Err(Down::Tunnel)));
    (site.code, site.epoch) = (Some(code), generation);
    site
}
