//! Replies of the gateway itself to a request for a site.

use std::io;

use super::gateway_state::GatewayState;
use super::pages::Message;
use super::request_state::Full;
use super::request_stats::Cause;
use super::site::{Served, SiteRequest};
use crate::http::Response;
use crate::http::h1::Refusal;
use crate::http::h1::head::Head;
use crate::http::h1::hop_by_hop;
use crate::http::proxy::Outcome;
use crate::http::server::connection_handler::ClientConnection;
use crate::net::in_words;

/// Seconds after which one who found no room may try again. Default 5.
const RETRY_AFTER: &str = "5";

/// Characters of a protocol's name that are shown. Default 60.
const SHOWN_PROTOCOL: usize = 60;
/// Message if nobody is at the target, or it says nothing.
pub(crate) const REFUSED: &str = "It refused the connection, or closed it without an answer.";

impl GatewayState {
    /// Sends a message in place of the application's answer. The request may not have been read to its end.
    pub(super) fn send_message(
        &self,
        request: &SiteRequest<'_>,
        visitor: &mut dyn ClientConnection,
        what: &Message<'_>,
    ) -> Served {
        self.stats.refuse(what.cause);
        answer(request.head, visitor, self.page(request, what), false)
    }

    pub(super) fn page(&self, request: &SiteRequest<'_>, what: &Message<'_>) -> Response {
        let page = self.pages().message(request.head, request.site, what);
        match what.status {
            405 => page.header("Allow", "GET, POST"),
            503 => page.header("Retry-After", RETRY_AFTER),
            _ => page,
        }
    }
}

pub(crate) fn answer(
    head: &Head,
    visitor: &mut dyn ClientConnection,
    page: Response,
    is_read: bool,
) -> Served {
    let (status, bytes) = (page.status(), page.body().len());
    Served {
        after: visitor.answer(head, page, is_read),
        status,
        bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
    }
}

pub(crate) fn message<'a>(
    status: u16,
    title: &'a str,
    text: &'a str,
    hint: &'a str,
) -> Message<'a> {
    Message {
        status,
        title,
        text,
        hint,
        cause: Cause::of(status),
    }
}

impl Message<'_> {
    /// Counts it with this cause instead of the usual one of its status.
    pub(crate) fn because(self, cause: Cause) -> Self {
        Self { cause, ..self }
    }
}

pub(super) fn too_busy_page(full: Full) -> Message<'static> {
    let (text, cause) = match full {
        Full::Source => (
            "There are too many requests from your address.",
            Cause::SourceBusy,
        ),
        Full::Connector | Full::Application => (
            "Too many visitors use the sites of this member.",
            Cause::ConnectorBusy,
        ),
        Full::Sites => (
            "There are too many visitors at the moment.",
            Cause::RelayBusy,
        ),
    };
    message(503, "Too busy", text, "Wait a moment, then reload.").because(cause)
}

pub(super) fn expired_page() -> Message<'static> {
    message(
        410,
        "This site has ended",
        "It was shared for a limited time, which is over.",
        "Ask the person who shared it to extend the time.",
    )
}

pub(super) fn not_shared_page() -> Message<'static> {
    message(
        410,
        "This site has ended",
        "It is no longer shared.",
        "Ask the person who shared it to share it again.",
    )
}

pub(super) fn changed_page() -> Message<'static> {
    let text = "Access to this site has just changed.";
    message(503, "Changed", text, "Reload.").because(Cause::Changed)
}

pub(super) fn not_allowed_page() -> Message<'static> {
    message(
        403,
        "Not from this address",
        "This site is limited to certain networks, and your address is not in one of them.",
        "Ask the person who shared it to allow your network.",
    )
    .because(Cause::NotAllowed)
}

pub(super) fn tunnel_down_page() -> Message<'static> {
    message(
        502,
        "The tunnel is down",
        "This site exists, but the person who shares it is not connected.",
        "Try again later. If this is your site: connect it in postern, then reload.",
    )
    .because(Cause::TunnelDown)
}

pub(crate) fn target_down_page(why: &str) -> Message<'_> {
    message(
        502,
        "The application does not answer",
        why,
        "Try again later. If this is your site: start the application, then reload. The tunnel works.",
    )
}

/// Calls `say` with the message about an exchange that ended without an answer.
pub(crate) fn message_for<T>(outcome: &Outcome, say: impl FnOnce(&Message<'_>) -> T) -> Option<T> {
    Some(match outcome {
        Outcome::Unanswered(error) => say(&target_down_page(&unanswered(error.as_ref()))),
        Outcome::NotHttp(why) => say(&target_down_page(&not_http(why))),
        Outcome::TooSlow { has_request } => say(&too_slow(*has_request)),
        Outcome::Refused(refusal) => say(&refused(refusal)),
        _ => return None,
    })
}

fn too_slow(has_request: bool) -> Message<'static> {
    let text = if has_request {
        "It received the request but did not answer in time."
    } else {
        "It did not read the whole request in time."
    };
    message(504, "The application is too slow", text, "Try again later.")
}

/// Answer to a request whose body cannot be passed on.
fn refused(refusal: &Refusal) -> Message<'_> {
    if refusal.status == 408 {
        let text = "The rest of the request did not arrive in time.";
        return message(408, "The upload stopped", text, "Send it again.");
    }
    message(refusal.status, "A malformed request", &refusal.message, "")
}

/// Refusal of a protocol that a request asks to change to.
pub(crate) struct OtherProtocol(String);

/// Refuses it by name.
pub(crate) fn other_protocol(name: &str) -> OtherProtocol {
    let passed = hop_by_hop::PASSED.join(", ");
    let name: String = name.chars().take(SHOWN_PROTOCOL).collect();
    OtherProtocol(format!(
        "The request asks to switch to “{name}”. Only these protocols are passed on: {passed}."
    ))
}

impl OtherProtocol {
    /// The page.
    pub(crate) fn message(&self) -> Message<'_> {
        message(501, "Protocol not supported", &self.0, "")
    }
}

/// Message by the error that ended the connection.
fn unanswered(error: Option<&io::Error>) -> String {
    let of_tls = error.and_then(io::Error::get_ref);
    match (error, of_tls.and_then(|error| error.downcast_ref())) {
        (_, Some(rustls::Error::InvalidMessage(_))) => {
            "It does not speak TLS: share it as http.".to_owned()
        }
        (_, Some(rustls::Error::AlertReceived(_))) => {
            "It rejects the TLS name it is asked for.".to_owned()
        }
        (Some(error), _) if error.kind() != io::ErrorKind::ConnectionReset => {
            format!("The connection to it failed: {}.", in_words(error))
        }
        _ => REFUSED.to_owned(),
    }
}

/// Message about an answer that is not HTTP.
fn not_http(why: &str) -> String {
    format!("Its answer is not valid HTTP: {why}.")
}
