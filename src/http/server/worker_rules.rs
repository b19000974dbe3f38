//! How an answer of a worker of ours is passed on.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use super::backend::PendingResponse;
use super::connection_handler::After;
use super::server_state::ServerState;
use crate::http::CancelToken;
use crate::http::h1::Refusal;
use crate::http::h1::answer::AnswerHead;
use crate::http::h1::hop_by_hop::{end_to_end, write_line};
use crate::http::proxy::{Outcome, Rules, Timeouts};
use crate::http::response::HSTS;

/// An exchange with a worker. A worker that has taken the request has no time limit: an export may
/// run for hours.
pub(super) struct WorkerRules<'a> {
    pub(super) state: &'a ServerState,
    pub(super) pending: &'a dyn PendingResponse,
    pub(super) cancel: &'a CancelToken,
}

impl Rules for WorkerRules<'_> {
    fn write_lines(&self, answer: &AnswerHead, out: &mut Vec<u8>) {
        for (name, value) in end_to_end(&answer.headers) {
            if !name.eq_ignore_ascii_case("date") {
                write_line(out, name, value);
            }
        }
        write_line(out, "Date", now().as_bytes());
        if self.state.is_https() {
            write_line(out, "Strict-Transport-Security", HSTS.as_bytes());
        }
    }

    /// tiny_http's own are for this process alone.
    fn passes_interim(&self) -> bool {
        false
    }

    fn answer_time(&self) -> Option<Duration> {
        (!self.pending.is_taken()).then_some(self.state.limits.upstream_timeout)
    }

    fn on_client_left(&self) {
        self.cancel.fire();
    }
}

impl WorkerRules<'_> {
    pub(super) fn timeouts(&self) -> Timeouts {
        let limits = &self.state.limits;
        Timeouts {
            write_stall: limits.write_stall,
            body_stall: limits.body_stall,
            gone_grace: Some(limits.gone_grace),
            silence: None,
        }
    }

    /// How the connection goes on, or what its client is still to be told.
    pub(super) fn after(&self, outcome: &Outcome) -> Result<After, Refusal> {
        match outcome {
            Outcome::Unanswered(_) => Err(self.broken("the request was not answered")),
            Outcome::NotHttp(why) => Err(self.broken(why.clone())),
            Outcome::TooSlow { .. } => Err(too_busy()),
            Outcome::Refused(refusal) => Err(refusal.clone()),
            ended => Ok(After::from(ended)),
        }
    }

    fn broken(&self, why: impl Into<Cow<'static, str>>) -> Refusal {
        let status = if self.pending.is_taken() { 500 } else { 503 };
        Refusal::new(status, why)
    }
}

pub(super) fn too_busy() -> Refusal {
    Refusal::new(503, "too busy: try again")
}

/// The `Date` of an answer (RFC 9110 section 6.6.1).
pub(super) fn now() -> String {
    httpdate::fmt_http_date(SystemTime::now())
}
