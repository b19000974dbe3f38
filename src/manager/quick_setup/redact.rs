//! What came, fit to be shown: short, without control characters, without secrets.

use zeroize::Zeroizing;

/// Characters of an excerpt. Default 200: two lines of a card.
const EXCERPT: usize = 200;
/// Characters of a message that is meant for people. Default 4 Ki: more than any that is one.
const MESSAGE: usize = 4096;
/// Bytes of an answer that an excerpt is made of. Default 4 KiB.
const LOOKED_AT: usize = 4096;
const MASK: &str = "***";
/// What is part of the key of a secret, in lower case.
const SECRET_KEYS: [&str; 4] = ["pass", "token", "secret", "code"];
/// A shorter string is no secret, and masking it would tear words apart.
const SHORTEST_SECRET: usize = 4;

/// An excerpt of `bytes` in which none of `secrets` and no value of a secret's key stands.
pub(super) fn excerpt(bytes: &[u8], secrets: &[Zeroizing<String>]) -> String {
    shown(bytes, secrets, EXCERPT)
}

/// The same for what a server says to people, whole up to [`MESSAGE`].
pub(super) fn message(text: &str, secrets: &[Zeroizing<String>]) -> String {
    shown(text.as_bytes(), secrets, MESSAGE)
}

fn shown(bytes: &[u8], secrets: &[Zeroizing<String>], cap: usize) -> String {
    let looked_at = LOOKED_AT.max(cap * 4);
    let cut = bytes.len() > looked_at;
    let start = bytes.get(..looked_at).unwrap_or(bytes);
    let text = Zeroizing::new(String::from_utf8_lossy(start).into_owned());
    let text = masked(&without_values(&text), secrets);
    line(&text, cap, cut)
}

/// The strings under keys that sound secret in the JSON `bytes`; for what was sent by us.
pub(super) fn secrets_of(bytes: &[u8]) -> Vec<Zeroizing<String>> {
    let text = String::from_utf8_lossy(bytes);
    let mut found = Vec::new();
    for_each_secret(&text, |start, end| {
        found.extend(
            text.get(start..end)
                .map(|text| Zeroizing::new(text.to_owned())),
        );
    });
    found
}

fn masked(text: &str, secrets: &[Zeroizing<String>]) -> String {
    let mut text = text.to_owned();
    for secret in secrets
        .iter()
        .filter(|secret| secret.len() >= SHORTEST_SECRET)
    {
        text = text.replace(secret.as_str(), MASK);
    }
    text
}

fn without_values(text: &str) -> String {
    let mut kept = String::new();
    let mut from = 0;
    for_each_secret(text, |start, end| {
        kept.push_str(text.get(from..start).unwrap_or_default());
        kept.push_str(MASK);
        from = end;
    });
    kept.push_str(text.get(from..).unwrap_or_default());
    kept
}

/// The borders of each value that follows a secret's key (of a string without its quotes); also where the text is cut
/// off in it.
fn for_each_secret(text: &str, mut found: impl FnMut(usize, usize)) {
    let mut at = 0;
    while let Some(start) = text
        .get(at..)
        .and_then(|rest| rest.find('"'))
        .map(|i| at + i + 1)
    {
        let (end, next) = string_end(text, start);
        let key = text.get(start..end).unwrap_or_default().to_lowercase();
        let rest = text.get(next..).unwrap_or_default().trim_start();
        at = next;
        if let Some(value) = rest.strip_prefix(':').map(str::trim_start)
            && SECRET_KEYS.iter().any(|part| key.contains(part))
            && let Some((start, end, next)) = value_borders(text, text.len() - value.len(), &key)
        {
            found(start, end);
            at = next;
        }
    }
}

/// Where the value at `start` begins and ends, and where what follows it begins. None of a value that can be no secret.
fn value_borders(text: &str, start: usize, key: &str) -> Option<(usize, usize, usize)> {
    let borders = match text.as_bytes().get(start) {
        Some(b'"') => {
            let (end, next) = string_end(text, start + 1);
            (start + 1, end, next)
        }
        Some(b'[' | b'{') => {
            let end = nest_end(text, start);
            (start, end, end)
        }
        // The number of an envelope's code is no visitor's code.
        Some(b'0'..=b'9' | b'-') if key != "code" => {
            let number = text.bytes().skip(start);
            let end = start
                + number
                    .take_while(|byte| !b",]} \t\r\n".contains(byte))
                    .count();
            (start, end, end)
        }
        _ => return None,
    };
    Some(borders)
}

/// Where the array or object that begins at `start` ends.
fn nest_end(text: &str, start: usize) -> usize {
    let (mut depth, mut at) = (0_usize, start);
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b'"' => at = string_end(text, at + 1).0,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
        at += 1;
    }
    text.len()
}

/// Where the string that begins at `start` ends, and where what follows it begins.
fn string_end(text: &str, start: usize) -> (usize, usize) {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return (index, index + 1),
            _ => {}
        }
    }
    (text.len(), text.len())
}

/// One line of at most [`MESSAGE`] characters.
pub(super) fn clean(text: &str) -> String {
    line(text, MESSAGE, false)
}

/// One line of at most `cap` characters; the mark at its end says that there was more.
fn line(text: &str, cap: usize, cut: bool) -> String {
    // Marks that turn the direction of writing would let a server disguise what it says.
    let turning = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    let spaced: String = text
        .chars()
        .map(|c| if c.is_control() || turning(c) { ' ' } else { c })
        .collect();
    let line = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(cap).collect();
    match cut || short.len() < line.len() {
        true => format!("{short}… (cut)"),
        false => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        excerpt(text.as_bytes(), &[Zeroizing::new("hushhush".to_owned())])
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(
            shown("<html>\r\n\t<b>\u{1b}[31mno\u{202e}</b>\0"),
            "<html> <b> [31mno </b>"
        );
        assert_eq!(shown(""), "");
        let long = shown(&"\u{e4}".repeat(5000));
        assert_eq!(long, "\u{e4}".repeat(EXCERPT) + "… (cut)");
        let words = "give it with --enroll-token. ".repeat(40);
        assert_eq!(message(&words, &[]), words.trim_end());
        assert_eq!(excerpt(b"\xff\xfeab", &[]), "\u{fffd}\u{fffd}ab");
    }

    #[test]
    fn no_secret_is_shown() {
        assert_eq!(shown("name=x&p=hushhush&q"), "name=x&p=***&q");
        for text in [
            r#"{"Connector":{"Password":"other1"}}"#,
            r#"{"password" : "other1\"other1""#,
            r#"{"a":1,"enroll_token":"other1"#,
            r#"{"conn_password":"x","Code":"other1"}"#,
            r#"{"x":["a","b"],"password":"other1"}"#,
            r#"{"password":["other1"],"x":1}"#,
            r#"{"password" : {"a]}":["other1"#,
            r#"{"x":{"Token":[[{"a":"b"}],"other1"]}}"#,
        ] {
            let shown = shown(text);
            assert!(!shown.contains("other1") && shown.contains(MASK), "{shown}");
        }
        assert_eq!(
            shown(r#"{"passcode":12345, "pass":-1.5e3}"#),
            r#"{"passcode":***, "pass":***}"#
        );
        assert_eq!(
            shown(r#"{"password":null,"token":true,"x":[1]}"#),
            r#"{"password":null,"token":true,"x":[1]}"#
        );
        assert_eq!(
            shown(r#"{"code":400,"message":"bad"}"#),
            r#"{"code":400,"message":"bad"}"#
        );
    }

    #[test]
    fn what_was_sent_is_known() {
        let sent = br#"{"ip":"1.2.3.4","password":"pw-one","enroll_token":"token-two"}"#;
        let secrets = secrets_of(sent);
        assert_eq!(
            secrets.iter().map(|s| s.as_str()).collect::<Vec<_>>(),
            ["pw-one", "token-two"]
        );
        assert_eq!(excerpt(b"wrong token-two!", &secrets), "wrong ***!");
    }
}
