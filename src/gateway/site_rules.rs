//! How the answer of an application is passed on to its visitor.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::caching::{self, is_for_caches};
use super::connector_side::ConnectorSide;
use super::cookies::{self, OURS};
use super::earlier_owner;
use super::gateway_state::GatewayState;
use super::permits::BusyPermit;
use super::protocol;
use super::request_stats::RequestStats;
use super::site::ActiveVisit;
use super::under_way::RequestContext;
use crate::http::h1::answer::AnswerHead;
use crate::http::h1::head::Head;
use crate::http::h1::hop_by_hop::{end_to_end, write_line};
use crate::http::h1::upgrade::Upgrade;
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

/// An exchange with a site's application.
pub(super) struct SiteRules<'a> {
    pub(super) present: &'a ActiveVisit,
    pub(super) permit: &'a BusyPermit,
    pub(super) connector_side: Option<&'a ConnectorSide>,
    /// The protocol that was asked for.
    pub(super) upgrade: Option<&'static str>,
    pub(super) answer_time: Duration,
    /// Only its visitor may keep the answer: not everybody sees it, or not for ever.
    pub(super) is_private: bool,
    /// The request, where its browser may keep something of the site's earlier owner.
    pub(super) of_earlier: Option<&'a Head>,
    /// Browsers are to come back by `https` alone, whatever the port (RFC 6797).
    pub(super) is_https: bool,
    pub(super) stats: &'a RequestStats,
    /// When the request came.
    pub(super) began: Instant,
    /// True if the visitor has a byte of the answer.
    pub(super) has_begun: &'a Cell<bool>,
}

impl Rules for SiteRules<'_> {
    fn write_lines(&self, answer: &AnswerHead, out: &mut Vec<u8>) {
        if let Some(head) = self.of_earlier.filter(|_| answer.status >= 200) {
            earlier_owner::write_end(head, &self.present.site, self.is_https, out);
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
            write_line(out, "Cache-Control", &caching::private(sent));
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
        protocol::name_protocol(input)
    }

    fn answer_time(&self) -> Option<Duration> {
        Some(self.answer_time)
    }

    /// From here on it is not given up for others, unless too many such came while its body did.
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
            of_earlier: Some(head).filter(|head| earlier_owner::is_of_earlier(head, site)),
            is_https: gateway.config.secure,
            stats: &gateway.stats,
            began: context.began,
            has_begun: &context.has_begun,
        }
    }

    /// Writes a line, which beside the application leads visitors to the site.
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
