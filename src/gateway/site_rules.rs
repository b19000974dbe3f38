//! Rules for an application's answer on its way to the visitor: the lines that pass, caching, and the names of
//! protocols other than HTTP.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::connector_side::ConnectorSide;
use super::cookies;
use super::cookies::OURS;
use super::gateway_state::GatewayState;
use super::request_state::BusyPermit;
use super::request_state::RequestContext;
use super::request_stats::RequestStats;
use super::site::ActiveVisit;
use crate::http::h1::answer::AnswerHead;
use crate::http::h1::head::Head;
use crate::http::h1::hop_by_hop::{Upgrade, end_to_end, write_line};
use crate::http::proxy::Rules;
use crate::http::response::HSTS;

/// Orders to a web server in front of the gateway: nginx would send a file of its own in place of the
/// answer. `Set-Cookie2` (RFC 2965, obsolete) would set cookies that nothing here confines.
const DROPPED: [&str; 8] = [
    "set-cookie2",
    "x-accel-expires",
    "x-accel-redirect",
    "x-litespeed-location",
    "x-litespeed-purge",
    "x-sendfile",
    "x-sendfile2",
    "x-lighttpd-send-file",
];
/// A family of such lines, by how their names begin (Perlbal, and modules of Apache and nginx that read its orders).
const DROPPED_FAMILY: &str = "x-reproxy-";
/// First bytes of known protocols, and the message about each.
const KNOWN: [(&[u8], &str); 8] = [
    (b"SSH-", "it speaks SSH: share it as ssh"),
    (b"RFB ", "it speaks VNC: share it as vnc"),
    // A record of TLS: an alert, or a handshake (RFC 8446 section 5.1).
    (b"\x15\x03", "it speaks TLS: share it as https"),
    (b"\x16\x03", "it speaks TLS: share it as https"),
    // IAC, which begins each command of Telnet (RFC 854).
    (b"\xff", "it speaks Telnet: share it as telnet"),
    (b"220", "it speaks SMTP or FTP: share it as tcp"),
    (b"-ERR", "it speaks Redis or POP3: share it as tcp"),
    // A frame of SETTINGS (RFC 9113 section 6.5): HTTP/2 without its beginning.
    (b"\x00\x00", "it speaks only HTTP/2, not HTTP/1.1"),
];
/// Header lines that tell caches in front what `Cache-Control` tells all others (RFC 9213), or in
/// place of it.
const FOR_CACHES: [&str; 4] = [
    "edge-control",
    "surrogate-control",
    "x-litespeed-cache-control",
    "x-reverse-proxy-ttl",
];
/// Endings of names of such headers.
const FOR_CACHES_SUFFIX: &str = "cdn-cache-control";
/// Directives that let caches in front keep an answer, or that `private` says already.
const SHARED: [&str; 4] = ["public", "private", "s-maxage", "proxy-revalidate"];

/// An exchange with a site's application.
pub(super) struct SiteRules<'a> {
    pub(super) present: &'a ActiveVisit,
    pub(super) permit: &'a BusyPermit,
    pub(super) connector_side: Option<&'a ConnectorSide>,
    /// The protocol that was asked for.
    pub(super) upgrade: Option<&'static str>,
    pub(super) answer_time: Duration,
    /// True if only its visitor may keep the answer: it is not for everybody, or not without end.
    pub(super) is_private: bool,
    /// The request, where its browser may keep something of the site's earlier owner.
    pub(super) of_earlier: Option<&'a Head>,
    /// True if browsers are told to come back by `https` alone, on every port (RFC 6797).
    pub(super) is_https: bool,
    pub(super) stats: &'a RequestStats,
    /// Time at which the request came.
    pub(super) began: Instant,
    /// True if the visitor has a byte of the answer.
    pub(super) has_begun: &'a Cell<bool>,
}

impl Rules for SiteRules<'_> {
    fn write_lines(&self, answer: &AnswerHead, out: &mut Vec<u8>) {
        if let Some(head) = self.of_earlier.filter(|_| answer.status >= 200) {
            cookies::end_earlier(head, &self.present.site, self.is_https, out);
        }
        let lines = end_to_end(&answer.headers).filter(|(name, _)| self.passes(name));
        for (name, value) in lines {
            let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
            let confined = if is("set-cookie") {
                cookies::confined(value, &OURS)
            } else if is("clear-site-data") && self.has_neighbours() {
                cookies::kept_apart(value)
            } else {
                self.write_named(name, value, out);
                continue;
            };
            if let Some(confined) = confined {
                write_line(out, name, &confined);
            }
        }
        let is_interim = answer.status < 200;
        if self.is_private && !is_interim {
            let sent = answer.headers.all("cache-control");
            write_line(out, "Cache-Control", &private_cache_control(sent));
        }
        if self.is_https && !is_interim {
            write_line(out, "Strict-Transport-Security", HSTS.as_bytes());
        }
    }

    fn upgrade(&self) -> Option<&'static str> {
        self.upgrade
    }

    fn passes_trailer(&self, name: &str) -> bool {
        !is_order_to_proxy(name)
    }

    fn name_protocol(&self, input: &[u8]) -> &'static str {
        name_protocol(input)
    }

    fn answer_time(&self) -> Option<Duration> {
        Some(self.answer_time)
    }

    /// Marks the request as not to be given up for others, unless too many came while its body did.
    fn on_sent(&self) -> bool {
        self.permit.take().is_ok()
    }

    fn gives_way(&self) -> bool {
        self.present.mark_answered();
        true
    }

    fn count_up(&self, bytes: usize) {
        self.present.site.stats.count_in(bytes);
    }

    fn count_down(&self, bytes: usize) {
        if !self.has_begun.replace(true) {
            self.stats.first_byte.note(self.began.elapsed());
        }
        self.present.mark_answered();
        self.present.site.stats.count_out(bytes);
    }
}

impl<'a> SiteRules<'a> {
    /// Rules of a request in this context.
    pub(super) fn new(
        gateway: &'a GatewayState,
        head: &'a Head,
        context: &'a RequestContext,
    ) -> SiteRules<'a> {
        let site = &context.present.site;
        SiteRules {
            present: &context.present,
            permit: &context.permit,
            connector_side: gateway.connector_side.as_ref(),
            upgrade: Upgrade::passed(head),
            answer_time: gateway.config.limits.answer_time,
            is_private: context.present.site.is_private(),
            of_earlier: Some(head).filter(|head| cookies::is_of_earlier(head, site)),
            is_https: gateway.config.secure,
            stats: &gateway.stats,
            began: context.began,
            has_begun: &context.has_begun,
        }
    }

    /// Writes a line; a line that names the application is changed to lead visitors to the site.
    fn write_named(&self, name: &str, value: &[u8], out: &mut Vec<u8>) {
        let Some(connector_side) = self.connector_side else {
            return write_line(out, name, value);
        };
        match connector_side.naming.to_visitor(name, value) {
            Some(value) => write_line(out, name, &value),
            None => write_line(out, name, value),
        }
        if name.eq_ignore_ascii_case("location") && connector_side.naming.is_trap(value) {
            connector_side.events.on_named_itself();
        }
    }

    /// True if other sites have the same domain, or the answer's cookies are not all the application's.
    fn has_neighbours(&self) -> bool {
        self.connector_side.is_none() || self.is_private
    }

    /// True if a line of the application's passes; some are written afresh.
    fn passes(&self, name: &str) -> bool {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        let is_afresh = (self.is_private && (is("cache-control") || is_for_caches(name)))
            || (self.is_https && is("strict-transport-security"));
        !is_afresh && !is_order_to_proxy(name)
    }
}

/// True if a line of an answer is an order to a web server in front.
fn is_order_to_proxy(name: &str) -> bool {
    let mut dropped = DROPPED.iter();
    let begin = name.get(..DROPPED_FAMILY.len());
    dropped.any(|dropped| name.eq_ignore_ascii_case(dropped))
        || begin.is_some_and(|begin| begin.eq_ignore_ascii_case(DROPPED_FAMILY))
}

/// Names the protocol of an answer that is not HTTP.
pub(crate) fn name_protocol(input: &[u8]) -> &'static str {
    // A packet of MySQL's protocol: three bytes of length, number 0, version 10 or an error.
    if let [_, _, 0, 0, 10 | 0xff, ..] = input {
        return "it speaks MySQL's protocol: share it as mysql";
    }
    let mut known = KNOWN.iter();
    let found = known.find(|(begin, _)| input.starts_with(begin));
    found.map_or("it is not HTTP", |(_, said)| said)
}

/// True if a line speaks to caches alone.
fn is_for_caches(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    FOR_CACHES.contains(&name.as_str()) || name.ends_with(FOR_CACHES_SUFFIX)
}

/// Returns the value of `Cache-Control` that keeps caches in front out and otherwise says the same as these values (RFC
/// 9111 section 5.2.2).
fn private_cache_control<'a>(values: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = b"private".to_vec();
    for directive in values.flat_map(directives) {
        let name = directive.split(|b| *b == b'=').next();
        let name = name.expect("a split has a first part");
        let is = |shared: &&str| name.trim_ascii().eq_ignore_ascii_case(shared.as_bytes());
        if !directive.is_empty() && !SHARED.iter().any(is) {
            out.extend_from_slice(b", ");
            out.extend_from_slice(directive);
        }
    }
    out
}

/// Splits at commas, but not inside quotes.
fn directives(value: &[u8]) -> Vec<&[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = value.split(|byte| {
        let escaped = std::mem::take(&mut is_escaped);
        match byte {
            b'\\' if is_quoted && !escaped => is_escaped = true,
            b'"' if !escaped => is_quoted = !is_quoted,
            b',' => return !is_quoted,
            _ => {}
        }
        false
    });
    parts.map(<[u8]>::trim_ascii).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_named() {
        for (begin, named) in [
            (&b"SSH-2.0-OpenSSH_9.2p1\r\n"[..], "SSH"),
            (b"RFB 003.008\n", "VNC"),
            (b"\x15\x03\x01\x00\x02\x02\x46", "https"),
            (b"\xff\xfd\x18\xff\xfd\x20", "Telnet"),
            (b"\x4a\x00\x00\x00\x0a8.0.36\x00", "MySQL"),
            (b"\x6a\x00\x00\x00\xff\x6a\x04Host", "MySQL"),
            (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00", "HTTP/2"),
            (b"hello\r\n", "is not HTTP"),
        ] {
            assert!(
                name_protocol(begin).contains(named),
                "{named}: {}",
                name_protocol(begin)
            );
        }
    }

    #[test]
    fn an_answer_stays_with_its_visitor() {
        let made = |values: &[&str]| {
            let values = values.iter().map(|value| value.as_bytes());
            String::from_utf8(private_cache_control(values)).unwrap()
        };
        for (values, expected) in [
            (&[][..], "private"),
            (&[""], "private"),
            (&["public, max-age=60, S-MaxAge=600"], "private, max-age=60"),
            (&["no-store"], "private, no-store"),
            (&["Public", "max-age=1"], "private, max-age=1"),
            (
                &["private=\"set-cookie, x\", no-cache=\"a\\\", public\""],
                "private, no-cache=\"a\\\", public\"",
            ),
            (&["s-maxage = 5 ,immutable"], "private, immutable"),
            (&["x=\"open, public"], "private, x=\"open, public"),
        ] {
            assert_eq!(made(values), expected, "{values:?}");
        }
    }

    #[test]
    fn what_speaks_to_caches_alone_is_known() {
        for name in [
            "CDN-Cache-Control",
            "Cloudflare-CDN-Cache-Control",
            "Surrogate-Control",
        ] {
            assert!(is_for_caches(name), "{name}");
        }
        for name in ["Cache-Control", "Expires", "Vary"] {
            assert!(!is_for_caches(name), "{name}");
        }
    }
}
