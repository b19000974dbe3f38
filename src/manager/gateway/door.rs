//! The sign-in of an invisible application whose server asks for no code: page, form and cookie are those of a relay.

use std::net::{IpAddr, Ipv4Addr};

use crate::http::auth::Code;
use crate::http::h1::head::Head;
use crate::http::server::connection_handler::ClientConnection;
use crate::relay::gateway::{
    Down, ForwardDefaults, GatewayConfig, GatewayState, Origin, Served, Site, SiteRequest, answer,
    is_sign_in,
};

/// Asks for one application's code.
pub(crate) struct Door {
    state: GatewayState,
    site: Site,
}

impl Door {
    /// For the application that its server calls `app_id`, at a site with this URL; `name` is what visitors read.
    pub(crate) fn new(name: &str, app_id: &str, code: Code, site_url: &str) -> Door {
        let mut config = GatewayConfig::new("", 0);
        config.secure = site_url.starts_with("https:");
        let mut site = Site::new(name, app_id, Box::new(|| Err(Down::Tunnel)));
        site.code = Some(code);
        Door {
            state: GatewayState::without_sites(config),
            site,
        }
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
