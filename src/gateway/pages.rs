//! Pages of the gateway itself: each page is one answer, with its style in it, as no path of a
//! site is ours.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest;

use super::request_stats::Cause;
use crate::http::h1::head::Head;
use crate::http::{ApiError, Response, assets};

/// The style of all pages; it goes with each, so it is small and leans on no other.
const STYLE: &str = "gateway/gateway.css";

/// The pages, complete except for the values of one request.
pub(crate) struct Pages {
    signin: String,
    message: String,
    /// Content security policy: this style only, and forms to the site itself.
    policy: String,
}

/// Message about a site in place of its own answer.
#[derive(Debug, Clone)]
pub(crate) struct Message<'a> {
    pub(crate) status: u16,
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
    /// Advice.
    pub(crate) hint: &'a str,
    /// Cause for the counters.
    pub(crate) cause: Cause,
}

impl Pages {
    /// Puts the embedded files together.
    pub(crate) fn load() -> Pages {
        let style = text(STYLE);
        let hash = STANDARD.encode(digest::digest(&digest::SHA256, style.as_bytes()));
        let page = |name| text(name).replace("{{style}}", &style);
        Pages {
            signin: page("gateway/signin.html"),
            message: page("gateway/message.html"),
            policy: format!(
                "default-src 'none'; style-src 'sha256-{hash}'; form-action 'self'; \
                 base-uri 'none'; frame-ancestors 'none'"
            ),
        }
    }

    /// Returns the page that asks for a code; `error` is the fault of the last one, `next` the path after a correct
    /// one. The site's title, if known, stands above its name.
    pub(super) fn signin(
        &self,
        head: &Head,
        status: u16,
        site: &str,
        title: Option<&str>,
        next: &str,
        error: &str,
    ) -> Response {
        if wants_json(head) || is_script(head) {
            let message = match error {
                "" => "this site needs an authorization code: open it in a browser",
                error => error,
            };
            return private(Response::error(&ApiError::new(status, message)));
        }
        let filled = fill(
            &self.signin,
            &[
                ("title", title.unwrap_or(site)),
                (
                    "above",
                    title.map_or("", |title| if title == site { "" } else { site }),
                ),
                ("error", error),
                ("next", next),
            ],
        );
        self.page(status, filled)
    }

    /// Returns a page with a message in place of an answer.
    pub(crate) fn message(&self, head: &Head, site: &str, message: &Message<'_>) -> Response {
        if wants_json(head) {
            let text = format!("{}: {}", message.title, message.text);
            return private(Response::error(&ApiError::new(message.status, text)));
        }
        let status = message.status.to_string();
        let text = sentence(message.text);
        let filled = fill(
            &self.message,
            &[
                ("site", site),
                ("status", &status),
                ("title", message.title),
                ("text", &text),
                ("hint", message.hint),
            ],
        );
        self.page(message.status, filled)
    }

    fn page(&self, status: u16, html: String) -> Response {
        let page = Response::new(status, "text/html; charset=utf-8", html);
        private(page)
            .header("Cache-Control", "no-store")
            .header("Content-Security-Policy", &self.policy)
    }
}

/// Sets the headers of every answer of the gateway: the page that was asked for is told to nobody.
pub(super) fn private(response: Response) -> Response {
    response.header("Referrer-Policy", "no-referrer")
}

/// True if the visitor asked for JSON rather than for a page.
fn wants_json(head: &Head) -> bool {
    let accepts = |kind: &str| {
        head.headers
            .all("accept")
            .flat_map(|value| value.split(|b| *b == b','))
            .filter_map(|item| item.split(|b| *b == b';').next())
            .any(|item| item.trim_ascii().eq_ignore_ascii_case(kind.as_bytes()))
    };
    accepts("application/json") && !accepts("text/html")
}

/// True if a program in a page sent the request: it cannot show a page.
fn is_script(head: &Head) -> bool {
    let is = |name, wanted: &[u8]| {
        let mut values = head.headers.all(name);
        values.any(|value| value.eq_ignore_ascii_case(wanted))
    };
    is("sec-fetch-dest", b"empty")
        || is("sec-fetch-mode", b"websocket")
        || is("x-requested-with", b"XMLHttpRequest")
        || head.headers.lists("upgrade", "websocket")
}

/// Makes a sentence of another layer's text, which has no capital and no full stop.
fn sentence(text: &str) -> String {
    let before = if text.starts_with(char::is_lowercase) {
        "What happened: "
    } else {
        ""
    };
    let after = if text.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("{before}{text}{after}")
}

/// An embedded file; one that is missing leaves its place empty.
fn text(name: &str) -> String {
    let bytes = assets::source(name).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

fn fill(page: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(page.len() + 256);
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, next) = after.split_once("}}").unwrap_or((after, ""));
        out.push_str(before);
        let value = values.iter().find(|(key, _)| *key == name);
        escape(&mut out, value.map_or("", |(_, value)| value));
        rest = next;
    }
    out.push_str(rest);
    out
}

/// Escapes text for elements and for attributes in double quotes.
fn escape(out: &mut String, text: &str) {
    for character in text.chars() {
        if matches!(character, '&' | '<' | '>' | '"' | '\'') {
            // Writing to a string cannot fail.
            let _ = write!(out, "&#{};", u32::from(character));
        } else {
            out.push(character);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(lines: &str) -> Head {
        let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n");
        Head::parse(head.as_bytes(), 100).unwrap()
    }

    #[test]
    fn the_policy_lets_the_style_of_the_page_through() {
        let pages = Pages::load();
        let (_, rest) = pages.signin.split_once("<style>").unwrap();
        let (style, _) = rest.split_once("</style>").unwrap();
        let hash = STANDARD.encode(digest::digest(&digest::SHA256, style.as_bytes()));
        assert!(pages.policy.contains(&hash) && (500..2000).contains(&style.len()));
        assert!(!style.contains("/*"), "comments would go with each page");
        assert!(!pages.message.contains("{{style}}"));
    }

    #[test]
    fn what_other_layers_say_is_a_sentence_on_the_page() {
        assert_eq!(sentence("it refused"), "What happened: it refused.");
        assert_eq!(sentence("Gone."), "Gone.");
    }

    #[test]
    fn values_are_escaped_and_never_looked_into() {
        let filled = fill(
            "<p title=\"{{a}}\">{{b}}{{none}}</p>",
            &[("a", "\"<"), ("b", "{{a}}&'")],
        );
        assert_eq!(filled, "<p title=\"&#34;&#60;\">{{a}}&#38;&#39;</p>");
    }

    #[test]
    fn programs_get_json_and_people_pages() {
        assert!(wants_json(&head(
            "Accept: text/plain, application/JSON;q=0.9\r\n"
        )));
        assert!(!wants_json(&head(
            "Accept: text/html, application/json\r\n"
        )));
        assert!(!wants_json(&head("Accept: */*\r\n")));
        assert!(is_script(&head("Sec-Fetch-Dest: empty\r\n")));
        assert!(!is_script(&head("Sec-Fetch-Dest: document\r\n")));
    }
}
