//! How the answer of an application is passed on to its visitor.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::site_gateway::SiteGateway;
use crate::gateway::{caching, cookies, is_order_to_proxy, name_protocol};
use crate::http::h1::answer::AnswerHead;
use crate::http::h1::hop_by_hop::{end_to_end, write_line};
use crate::http::proxy::Rules;

/// An exchange with the application. How long it may take is the server's matter, which knows the visitor: whoever gives
/// up closes the stream.
pub(super) struct AppRules<'a> {
    pub(super) gateway: &'a SiteGateway,
    /// The protocol that was asked for.
    pub(super) upgrade: Option<&'static str>,
    /// When the request came.
    pub(super) began: Instant,
    /// True if the visitor has received a byte of the answer.
    pub(super) has_begun: Cell<bool>,
}

impl Rules for AppRules<'_> {
    fn write_lines(&self, answer: &AnswerHead, out: &mut Vec<u8>) {
        let is_private = self.gateway.door.is_closed();
        for (name, value) in end_to_end(&answer.headers) {
            let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
            let is_afresh = is_private && (is("cache-control") || caching::is_for_caches(name));
            if is_afresh || is_order_to_proxy(name) {
                continue;
            }
            if is("set-cookie") {
                if let Some(confined) = cookies::confined(value, &cookies::OURS) {
                    write_line(out, name, &confined);
                }
                continue;
            }
            let naming = &self.gateway.names.naming;
            match naming.to_visitor(name, value) {
                Some(value) => write_line(out, name, &value),
                None => write_line(out, name, value),
            }
            if is("location") && naming.is_trap(value) {
                self.gateway.note_self_named();
            }
        }
        if is_private && answer.status >= 200 {
            let told = answer.headers.all("cache-control");
            write_line(out, "Cache-Control", &caching::private(told));
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
        None
    }

    fn count_down(&self, _: usize) {
        if !self.has_begun.replace(true) {
            let stats = &self.gateway.requests.stats;
            stats.first_byte.note(self.began.elapsed());
        }
    }
}
