//! Addresses in header lines: in answers, the application's own become the site's for visitors; in requests, the site's
//! become the application's. Text in, text out.

use super::host_header::Naming;

/// Lines of an answer that are one link: to all browsers, and to scripts that follow it (htmx, Inertia, Turbolinks).
const LINKS: [&str; 7] = [
    "location",
    "content-location",
    "hx-redirect",
    "hx-push-url",
    "hx-replace-url",
    "x-inertia-location",
    "turbolinks-location",
];
/// Lines of a request that are an address of the site: the asking page, and the destination of a WebDAV move.
const ADDRESSES: [&str; 4] = ["referer", "destination", "hx-current-url", "x-xhr-referer"];

impl Naming {
    /// The value of a header line of an answer as the visitor gets it; none where it stays as it is.
    pub(in crate::gateway) fn to_visitor(&self, name: &str, value: &[u8]) -> Option<Vec<u8>> {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        if LINKS.into_iter().any(is) {
            self.to_site(value)
        } else if is("refresh") {
            self.refresh(value)
        } else if is("link") {
            self.links(value)
        } else {
            None
        }
    }

    /// The value of a header line of a request as the application gets it; none where it stays as it is.
    pub(super) fn to_target(&self, name: &str, value: &[u8]) -> Option<Vec<u8>> {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        let is_link = ADDRESSES.into_iter().any(is);
        if !self.rewrites() || !(is("origin") || is_link) {
            return None;
        }
        let begins = value.get(..self.site.len())?;
        let rest = value.get(self.site.len()..)?;
        let is_origin = begins.eq_ignore_ascii_case(self.site.as_bytes());
        let ends = rest.is_empty() || (is_link && matches!(rest, [b'/' | b'?' | b'#', ..]));
        (is_origin && ends).then(|| [self.origin.as_bytes(), rest].concat())
    }

    /// A link to the application as one to the site, and a link to the site with the site's own scheme.
    fn to_site(&self, link: &[u8]) -> Option<Vec<u8>> {
        let own = self
            .rewrites()
            .then(|| self.after_own_origin(link))
            .flatten();
        let rest = own.or_else(|| self.after_plain_site(link))?;
        Some([self.site.as_bytes(), rest].concat())
    }

    /// `SECONDS; url=LINK`, the link in quotes or not.
    fn refresh(&self, value: &[u8]) -> Option<Vec<u8>> {
        let at = value
            .windows(3)
            .position(|w| w.eq_ignore_ascii_case(b"url"))?;
        let skip = |from: usize| {
            let rest = value.get(from..).unwrap_or_default();
            from + rest.len() - rest.trim_ascii_start().len()
        };
        let equals = skip(at + 3);
        let start = skip((value.get(equals) == Some(&b'=')).then_some(equals + 1)?);
        let quote = value.get(start).filter(|byte| matches!(byte, b'"' | b'\''));
        let start = start + usize::from(quote.is_some());
        let rest = value.get(start..)?;
        let end = rest.iter().position(|byte| Some(byte) == quote);
        let link = rest.get(..end.unwrap_or(rest.len()))?;
        let after = rest.get(link.len()..)?;
        Some([value.get(..start)?, &self.to_site(link)?, after].concat())
    }

    /// `<LINK>; rel=…, <LINK>…` (RFC 8288): what stands in quotes is no link.
    fn links(&self, value: &[u8]) -> Option<Vec<u8>> {
        let (mut out, mut rest, mut changed) = (Vec::new(), value, false);
        let mut is_quoted = false;
        while let Some((byte, after)) = rest.split_first() {
            is_quoted ^= *byte == b'"';
            out.push(*byte);
            rest = after;
            if *byte == b'<' && !is_quoted {
                // A link that does not end is none, and nothing follows it.
                let end = after.iter().position(|byte| *byte == b'>')?;
                let (link, after) = after.split_at_checked(end)?;
                let site = self.to_site(link);
                changed |= site.is_some();
                out.extend_from_slice(site.as_deref().unwrap_or(link));
                rest = after;
            }
        }
        changed.then_some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::host_header::ServerKind;
    use super::*;

    const SITE: &str = "https://shop.relay.example/";

    fn naming(host_header: &str, target: (&str, u16), is_tls: bool) -> Naming {
        Naming::new(host_header, target, is_tls, SITE, ServerKind::Ours)
    }

    fn location(naming: &Naming, link: &str) -> String {
        let value = naming.to_visitor("Location", link.as_bytes());
        value.map_or(link.to_owned(), |value| String::from_utf8(value).unwrap())
    }

    #[test]
    fn links_to_the_application_lead_to_the_site() {
        let target = naming("target", ("10.0.0.5", 3000), false);
        let site = "https://shop.relay.example";
        for (link, expected) in [
            ("http://10.0.0.5:3000/a?b#c", format!("{site}/a?b#c")),
            ("HTTP://10.0.0.5:3000", site.to_owned()),
            ("http://10.0.0.5:3000?x", format!("{site}?x")),
            ("//10.0.0.5:3000/a", format!("{site}/a")),
            // Links of an application that heard X-Forwarded-Proto.
            ("https://10.0.0.5:3000/a", format!("{site}/a")),
        ] {
            assert_eq!(location(&target, link), expected, "{link}");
        }
        for link in [
            "/a",
            "a",
            "http://10.0.0.5/a",
            "http://10.0.0.5:3001/a",
            "http://10.0.0.50:3000/a",
            "http://10.0.0.5:3000.evil.example/a",
            "http://10.0.0.5:3000@evil.example/",
            "http://u@10.0.0.5:3000/",
            "ftp://10.0.0.5:3000/",
            "http:/10.0.0.5:3000/",
            "https://login.example/?next=http://10.0.0.5:3000/",
            "",
        ] {
            assert_eq!(location(&target, link), link);
        }
        let named = naming("In.Example", ("10.0.0.5", 8443), true);
        for link in [
            "https://in.example/a",
            "https://IN.example.:443/a",
            "https://in.example:8443/a",
            "https://10.0.0.5:8443/a",
        ] {
            assert_eq!(location(&named, link), format!("{site}/a"), "{link}");
        }
        assert_eq!(
            location(&named, "http://in.example/a"),
            "http://in.example/a"
        );
        let local = naming("target", ("127.0.0.1", 3000), false);
        for link in ["http://localhost:3000/a", "http://[::1]:3000/a"] {
            assert_eq!(location(&local, link), format!("{site}/a"), "{link}");
        }
    }

    /// The rule holds also for an application that is asked by the site's name and does not know of its TLS.
    #[test]
    fn a_link_to_the_site_has_the_sites_scheme() {
        let site = "https://shop.relay.example";
        for host_header in ["visitor", "target"] {
            let naming = naming(host_header, ("10.0.0.5", 3000), false);
            for link in [
                "http://shop.relay.example/a?b",
                "HTTP://SHOP.relay.example:80/a?b",
                "http://shop.relay.example:443/a?b",
            ] {
                assert_eq!(location(&naming, link), format!("{site}/a?b"), "{link}");
            }
            assert_eq!(location(&naming, "http://shop.relay.example"), site);
            for link in [
                "https://shop.relay.example/a",
                "//shop.relay.example/a",
                "http://shop.relay.example:8080/a",
                "http://shop.relay.example.evil.example/",
                "http://shop.relay.example@evil.example/",
                "http://relay.example/",
                "http://wiki.relay.example/",
            ] {
                assert_eq!(location(&naming, link), link);
            }
        }
        let with = |url: &str| {
            Naming::new(
                "visitor",
                ("10.0.0.5", 3000),
                false,
                url,
                ServerKind::Foreign,
            )
        };
        let plain = with("http://shop.relay.example/");
        assert_eq!(
            location(&plain, "http://shop.relay.example/a"),
            "http://shop.relay.example/a"
        );
        let other = with("https://shop.relay.example:8443/");
        assert_eq!(
            location(&other, "http://shop.relay.example:8443/a"),
            "https://shop.relay.example:8443/a"
        );
        assert_eq!(
            location(&other, "http://shop.relay.example/a"),
            "http://shop.relay.example/a"
        );
    }

    #[test]
    fn where_the_visitors_name_is_kept_nothing_is_written_afresh() {
        let naming = naming("visitor", ("127.0.0.1", 9001), false);
        let own = "http://127.0.0.1:9001/headers";
        assert_eq!(location(&naming, own), own);
        assert!(naming.is_trap(own.as_bytes()) && !naming.is_trap(b"/headers"));
        let local = Naming::new(
            "visitor",
            ("127.0.0.1", 9001),
            false,
            "http://a.localhost:80/",
            ServerKind::Ours,
        );
        assert!(
            !local.is_trap(own.as_bytes()),
            "its visitors are on this machine"
        );
        assert_eq!(
            naming.to_target("Origin", b"https://shop.relay.example"),
            None
        );
    }

    #[test]
    fn other_lines_that_hold_links() {
        let naming = naming("target", ("10.0.0.5", 3000), false);
        let to_visitor = |name: &str, value: &str| {
            let written = naming.to_visitor(name, value.as_bytes());
            written.map(|value| String::from_utf8(value).unwrap())
        };
        for (name, value, expected) in [
            (
                "Content-Location",
                "http://10.0.0.5:3000/a",
                Some("https://shop.relay.example/a"),
            ),
            (
                "Refresh",
                "5; url=http://10.0.0.5:3000/a",
                Some("5; url=https://shop.relay.example/a"),
            ),
            (
                "refresh",
                "0;URL = 'http://10.0.0.5:3000/a'",
                Some("0;URL = 'https://shop.relay.example/a'"),
            ),
            ("Refresh", "5", None),
            ("Refresh", "5; url=/a", None),
            ("Refresh", "5; url", None),
            (
                "Link",
                "<http://10.0.0.5:3000/s.css>; rel=preload, </x>; title=\"<http://10.0.0.5:3000/>\"",
                Some(
                    "<https://shop.relay.example/s.css>; rel=preload, </x>; title=\"<http://10.0.0.5:3000/>\"",
                ),
            ),
            ("Link", "<https://other.example/>; rel=next", None),
            ("Link", "<http://10.0.0.5:3000/", None),
            ("X-Else", "http://10.0.0.5:3000/a", None),
        ] {
            assert_eq!(
                to_visitor(name, value).as_deref(),
                expected,
                "{name}: {value}"
            );
        }
    }

    #[test]
    fn only_the_sites_own_origin_becomes_the_applications() {
        let naming = naming("target", ("10.0.0.5", 3000), false);
        let to_target = |name: &str, value: &str| {
            let written = naming.to_target(name, value.as_bytes());
            written.map(|value| String::from_utf8(value).unwrap())
        };
        for (name, value, expected) in [
            (
                "Origin",
                "https://shop.relay.example",
                Some("http://10.0.0.5:3000"),
            ),
            ("Origin", "http://shop.relay.example", None),
            ("Origin", "https://shop.relay.example:8443", None),
            ("Origin", "https://shop.relay.example/", None),
            ("Origin", "https://shop.relay.example.evil.example", None),
            ("Origin", "null", None),
            (
                "Referer",
                "https://shop.relay.example/a?b",
                Some("http://10.0.0.5:3000/a?b"),
            ),
            ("Referer", "https://shop.relay.example.evil.example/", None),
            (
                "Destination",
                "https://shop.relay.example/dav/b",
                Some("http://10.0.0.5:3000/dav/b"),
            ),
            (
                "Referer",
                "https://evil.example/https://shop.relay.example/",
                None,
            ),
            ("X-Origin", "https://shop.relay.example", None),
        ] {
            assert_eq!(
                to_target(name, value).as_deref(),
                expected,
                "{name}: {value}"
            );
        }
    }

    #[test]
    fn a_site_without_an_address_leaves_all_as_it_is() {
        let naming = Naming::new("target", ("10.0.0.5", 3000), false, "", ServerKind::Ours);
        assert_eq!(
            location(&naming, "http://10.0.0.5:3000/"),
            "http://10.0.0.5:3000/"
        );
        assert_eq!(naming.host.as_deref(), Some("10.0.0.5:3000"));
    }
}
