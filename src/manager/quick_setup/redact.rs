//! Received text, fit to be shown: one line, capped, and without the secrets that we sent.

use serde::Deserialize;
use zeroize::Zeroizing;

use super::answer;
use crate::store::is_hidden;

/// Characters of an excerpt: two lines of a card.
const EXCERPT: usize = 200;
/// Characters of a message that is meant for people: more than any that is one.
const MESSAGE: usize = 4096;
/// Bytes of an answer that an excerpt is made of.
const LOOKED_AT: usize = 4096;
const MASK: &str = "***";
/// Bytes of the shortest secret that is masked: connectors' passwords have 43 and tokens of a relay of ours at least 12.
/// A shorter one may be any word of the message, such as "wrong", and masking it would reveal it.
const SHORTEST_SECRET: usize = 8;

/// The secrets of one call, which none of its outcome may repeat.
#[derive(Deserialize)]
pub(super) struct SentSecrets {
    #[serde(default)]
    password: Zeroizing<String>,
    #[serde(default)]
    enroll_token: Zeroizing<String>,
}

impl SentSecrets {
    /// Those of a body that was sent.
    pub(super) fn of(body: &[u8]) -> Self {
        serde_json::from_slice(body).expect("what was sent is JSON of ours")
    }

    /// Message of a server to people, whole up to [`MESSAGE`].
    pub(super) fn message(&self, text: &str) -> String {
        line(&self.masked(text), MESSAGE)
    }

    /// Message in the body of a refusal.
    pub(super) fn said(&self, body: &[u8]) -> String {
        match answer::message(body) {
            Some(text) => self.message(&text),
            None => self.excerpt(body),
        }
    }

    /// The beginning of what came in place of an answer. Nothing of what is JSON, wherever that begins: it may be an
    /// answer, half or behind a byte order mark or a warning, with the credentials that the server assigns.
    pub(super) fn excerpt(&self, bytes: &[u8]) -> String {
        let start = bytes.get(..LOOKED_AT).unwrap_or(bytes);
        if start.trim_ascii_start().starts_with(b"[") {
            return String::new();
        }
        let text = self.masked(&String::from_utf8_lossy(start));
        let before = text.split_once('{').map_or(text.as_str(), |(text, _)| text);
        line(before, EXCERPT)
    }

    fn masked(&self, text: &str) -> String {
        let secrets = [&self.password, &self.enroll_token].into_iter();
        let secrets = secrets.filter(|secret| secret.len() >= SHORTEST_SECRET);
        secrets.fold(text.to_owned(), |text, secret| {
            text.replace(secret.as_str(), MASK)
        })
    }
}

/// One line of at most [`MESSAGE`] characters.
pub(super) fn clean(text: &str) -> String {
    line(text, MESSAGE)
}

/// One line of at most `cap` characters; the mark at its end says that there was more.
fn line(text: &str, cap: usize) -> String {
    // Marks that turn the direction of writing would let a server disguise what it says.
    let spaced = text.replace(|c: char| c.is_control() || is_hidden(c), " ");
    let line = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(cap) {
        Some((end, _)) => format!("{}… (cut)", line.split_at(end).0),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> SentSecrets {
        SentSecrets::of(br#"{"ip":"1.2.3.4","password":"hushhush","enroll_token":"token-two"}"#)
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        let shown = |text: &str| secrets().excerpt(text.as_bytes());
        assert_eq!(
            shown("<html>\r\n\t<b>\u{1b}[31mno\u{202e}</b>\0"),
            "<html> <b> [31mno </b>"
        );
        assert_eq!(shown(""), "");
        let long = shown(&"\u{e4}".repeat(5000));
        assert_eq!(long, "\u{e4}".repeat(EXCERPT) + "… (cut)");
        let words = "give it with --enroll-token. ".repeat(40);
        assert_eq!(secrets().message(&words), words.trim_end());
        assert_eq!(secrets().excerpt(b"\xff\xfeab"), "\u{fffd}\u{fffd}ab");
    }

    /// A token that is a word is none; masked, the message would say nothing and tell the token.
    #[test]
    fn a_word_that_was_sent_as_a_token_is_left_in_the_message() {
        let sent = SentSecrets::of(br#"{"password":"hushhush","enroll_token":"wrong"}"#);
        let said = "the enrolment token is wrong";
        assert_eq!(sent.message(said), said);
    }

    #[test]
    fn no_secret_that_was_sent_and_none_of_an_answer_is_shown() {
        assert_eq!(secrets().excerpt(b"name=x&p=hushhush&q"), "name=x&p=***&q");
        assert_eq!(
            secrets().message("wrong token-two, hushhush!"),
            "wrong ***, ***!"
        );
        for half in [
            r#"{"Connector":{"Password":"other1"#,
            " \n[{\"password\":\"other1\"",
        ] {
            assert_eq!(secrets().excerpt(half.as_bytes()), "");
        }
    }

    /// Some servers write a mark or a warning of their own before their JSON, which is none then.
    #[test]
    fn no_secret_is_shown_of_an_answer_that_something_stands_before() {
        let answer = r#"{"connector":{"password":"other1"}}"#;
        let shown = |before: &str| secrets().excerpt(format!("{before}{answer}").as_bytes());
        assert_eq!(shown("\u{feff}"), "");
        assert_eq!(
            shown("<b>Warning</b>: no index\n"),
            "<b>Warning</b>: no index"
        );
        let wide: Vec<u8> = answer.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = [&[0xff, 0xfe], wide.as_slice()].concat();
        assert!(!secrets().excerpt(&marked).contains("o t h e r"));
    }
}
