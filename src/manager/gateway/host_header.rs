//! By which name an application is asked, and which addresses are its own. Text in, text out.

use super::origin::{self, Origin, default_port, host_of};
use crate::manager::apps::sharing::{TARGETS_HOST, VISITORS_HOST};
use crate::net::authority;

/// By which name an application is asked, and the addresses that stand for one another at its two sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Naming {
    /// The `Host` that it gets; none for the visitor's own.
    pub(super) host: Option<String>,
    /// Its name in TLS; none for the visitor's.
    pub(super) tls_name: Option<String>,
    /// Its own addresses: what links to these leads visitors nowhere.
    own: Vec<Origin>,
    /// Its own address as it knows it.
    pub(super) origin: String,
    /// The site's.
    pub(super) site: String,
}

impl Naming {
    /// That of an application at `ip` and `port`, which speaks TLS or not, with the setting `host_header`, at a site
    /// with this URL; that may be empty where the server gave none.
    pub(crate) fn new(
        host_header: &str,
        (ip, port): (&str, u16),
        is_tls: bool,
        site_url: &str,
    ) -> Naming {
        let scheme = if is_tls { "https" } else { "http" };
        let target = host_of(scheme, ip, port);
        let (host, named) = match host_header {
            VISITORS_HOST => (None, None),
            TARGETS_HOST => (Some(target.clone()), Some((ip, Some(port)))),
            name => {
                let named = authority::split(name);
                let named = named.map(|(name, port)| (name, port.and_then(authority::port)));
                (Some(name.to_owned()), named)
            }
        };
        let site = origin::of_site(site_url);
        let schemes = [Some(scheme), site.as_deref().map(origin::scheme_of)];
        let mut own = Vec::new();
        // Behind a proxy that speaks `https` many applications name themselves so.
        for scheme in schemes.into_iter().flatten() {
            let named = named.iter().flat_map(|(name, named)| {
                let usual = named.or(default_port(scheme));
                [usual, Some(port)].map(|port| (*name, port))
            });
            for (name, port) in named.chain([(ip, Some(port))]) {
                own.extend(port.map(|port| Origin::new(scheme, name, port)));
            }
        }
        Naming {
            origin: format!("{scheme}://{}", host.as_ref().unwrap_or(&target)),
            tls_name: named.map(|(name, _)| name.to_owned()),
            site: site.unwrap_or_default(),
            host,
            own,
        }
    }

    /// The `Host` that the application gets of a visitor; none where the site has no address.
    pub(crate) fn asked_host(&self) -> Option<&str> {
        self.host.as_deref().or(self.site_host())
    }

    fn site_host(&self) -> Option<&str> {
        self.site.split_once("://").map(|(_, host)| host)
    }

    /// The name that it gets in TLS.
    pub(crate) fn asked_tls_name(&self) -> Option<&str> {
        let host = || authority::split(self.asked_host()?).map(|(name, _)| name);
        self.tls_name.as_deref().or_else(host)
    }

    /// The `Host` by which it knows itself.
    pub(super) fn own_host(&self) -> &str {
        self.origin.split_once("://").map_or("", |(_, host)| host)
    }

    /// True if it is asked by the visitors' name for it, which it may not know.
    pub(crate) fn is_visitors(&self) -> bool {
        self.host.is_none() && !self.site.is_empty()
    }

    /// True if the application's answers are rewritten: it does not know the site's name.
    pub(super) fn rewrites(&self) -> bool {
        self.host.is_some() && !self.site.is_empty()
    }

    /// True if a redirect leads visitors to the application's own address, which they cannot reach, unrewritten.
    /// At a site on loopback all visitors are on this machine.
    pub(crate) fn is_trap(&self, link: &[u8]) -> bool {
        let host = self.site_host().and_then(|host| authority::split(host));
        let is_local = host.is_none_or(|(host, _)| authority::is_loopback(host));
        !self.rewrites() && !is_local && self.after_own_origin(link).is_some()
    }

    /// Returns the part of a link after an origin of the application.
    pub(super) fn after_own_origin<'l>(&self, link: &'l [u8]) -> Option<&'l [u8]> {
        let (scheme, after) = origin::split_scheme(link)?;
        let is_end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#' | b'\\');
        let end = after.iter().position(is_end).unwrap_or(after.len());
        let (named, rest) = after.split_at_checked(end)?;
        let (host, port) = authority::split(std::str::from_utf8(named).ok()?)?;
        let port = match port {
            None | Some("") => None,
            Some(port) => Some(authority::port(port)?),
        };
        let leads_to = |own: &Origin| {
            scheme.is_none_or(|scheme| scheme == own.scheme)
                && port.or(default_port(own.scheme)) == Some(own.port)
                && origin::spelled(host) == own.host
        };
        self.own.iter().any(leads_to).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_an_application_is_asked_by() {
        for (setting, target, is_tls, host, name) in [
            ("visitor", ("10.0.0.5", 80), false, None, None),
            (
                "target",
                ("10.0.0.5", 80),
                false,
                Some("10.0.0.5"),
                Some("10.0.0.5"),
            ),
            (
                "target",
                ("in.example", 443),
                true,
                Some("in.example"),
                Some("in.example"),
            ),
            (
                "target",
                ("::1", 8443),
                true,
                Some("[::1]:8443"),
                Some("::1"),
            ),
            (
                "a.example",
                ("10.0.0.5", 3000),
                true,
                Some("a.example"),
                Some("a.example"),
            ),
            (
                "a.example:8",
                ("10.0.0.5", 3000),
                true,
                Some("a.example:8"),
                Some("a.example"),
            ),
        ] {
            let naming = Naming::new(setting, target, is_tls, "https://shop.relay.example/");
            let found = (naming.host.as_deref(), naming.tls_name.as_deref());
            assert_eq!(found, (host, name), "{setting} {target:?}");
        }
    }
}
