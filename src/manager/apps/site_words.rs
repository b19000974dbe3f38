//! Site name of an application without a given one: never by its address, which is nobody's business.

use std::net::IpAddr;

use super::app::{AppConfig, is_default_name};
use crate::relay::names;
use crate::store::random;

/// Two of these and a number make a name that can be read out over a telephone.
const FIRST: [&str; 32] = [
    "amber", "bold", "brave", "bright", "calm", "clear", "clever", "cool", "coral", "early",
    "fair", "fresh", "gentle", "golden", "green", "happy", "jolly", "keen", "kind", "light",
    "lucky", "merry", "neat", "noble", "quick", "quiet", "silver", "smart", "sunny", "swift",
    "warm", "wise",
];
const SECOND: [&str; 32] = [
    "badger", "beaver", "cedar", "comet", "crane", "dolphin", "eagle", "falcon", "fern", "finch",
    "fox", "harbour", "hare", "heron", "lake", "lynx", "maple", "meadow", "otter", "owl", "panda",
    "pine", "raven", "river", "robin", "seal", "spruce", "swan", "tiger", "trout", "willow",
    "wren",
];
/// Numbers behind them, from 100 on.
const NUMBERS: u64 = 900;

/// A name that nobody chose: two words and three digits.
pub(super) fn draw() -> String {
    from(random::bytes())
}

/// The one of this text: it tells nobody the text.
pub(super) fn of(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("site {text}").as_bytes());
    let bytes = digest.as_ref().first_chunk();
    from(*bytes.expect("a SHA-256 digest has 32 bytes"))
}

fn from([first, second, number @ ..]: [u8; 10]) -> String {
    let number = u64::from_be_bytes(number) % NUMBERS + 100;
    let word = |words: [&'static str; 32], drawn: u8| {
        let at = usize::from(drawn) % words.len();
        words.get(at).copied().expect("it is below their count")
    };
    format!("{}-{}-{number}", word(FIRST, first), word(SECOND, second))
}

/// The wish for the site's name that the server is told; none leaves it to the server, which makes one of what the
/// application is called.
pub fn site_wish(app: &AppConfig) -> Option<String> {
    if app.site_name.is_some() {
        return app.site_name.clone();
    }
    // One that was added by an earlier version keeps the name that it has.
    let words = app.site_words.as_ref()?;
    let called = app.called();
    let label = names::label(called);
    if is_default_name(called) || label.is_empty() {
        return Some(words.clone());
    }
    let is_fine = names::check(&label).is_ok();
    let longer = (!is_fine).then(|| format!("{label}-{words}"))?;
    // Not even with a suffix is a reserved word a name.
    Some(names::check(&longer).map_or_else(|_| words.clone(), |()| longer))
}

/// The name that its owner wished for, where the site at this address has another one.
pub fn another_name(app: &AppConfig, site_url: &str) -> Option<String> {
    let called = app.called();
    let chosen = || Some(names::label(called)).filter(|_| !is_default_name(called));
    let fine = || chosen().filter(|label| names::check(label).is_ok());
    let wanted = app.site_name.clone().or_else(fine)?;
    let rest = site_url
        .strip_prefix("https://")
        .or(site_url.strip_prefix("http://"))?;
    let host = rest.split(['/', ':']).next()?;
    let (name, _) = host.split_once('.')?;
    (name != wanted && host.parse::<IpAddr>().is_err()).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::super::app_input::AppInput;
    use super::*;
    use serde_json::{Value, json};

    fn app(body: Value) -> AppConfig {
        AppInput::parse(&body, true).unwrap().into_new()
    }

    #[test]
    fn what_is_drawn_is_a_name_and_another_one_each_time() {
        let drawn: std::collections::BTreeSet<String> = (0..50).map(|_| draw()).collect();
        assert!(drawn.len() > 45);
        for name in drawn {
            assert_eq!(names::check(&name), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_share_has_the_same_words_at_each_run() {
        let words = |id| {
            let body = json!({"protocol": "http", "ip": "127.0.0.1", "port": 80, "name": "a"});
            let app = AppInput::parse(&body, true).unwrap().into_temporary(id);
            app.site_words
        };
        assert_eq!(words("0123"), words("0123"));
        assert_ne!(words("0123"), words("0124"));
        assert_eq!(names::check(&words("0123").unwrap()), Ok(()));
    }

    #[test]
    fn no_site_is_called_by_its_address_and_every_wish_is_a_name() {
        for (changes, expected) in [
            (json!({}), Some("W")),
            (json!({"name": "My shop"}), None),
            (json!({"name": "a"}), Some("a-W")),
            (json!({"name": "admin"}), Some("W")),
            (json!({"name": "api"}), Some("api-W")),
            (json!({"name": "日本"}), Some("W")),
            (json!({"display_name": "http 10.1.2.3:3000"}), Some("W")),
            (json!({"name": "https [::1]:443 (2)"}), Some("W")),
            (json!({"name": "http status"}), None),
            (json!({"name": "a", "display_name": "Shop"}), None),
            (json!({"name": "a", "site_name": "shop"}), Some("shop")),
        ] {
            let mut body = json!({"protocol": "http", "ip": "10.1.2.3", "port": 3000});
            body.as_object_mut()
                .unwrap()
                .extend(changes.as_object().unwrap().clone());
            let app = app(body);
            let words = app.site_words.clone().unwrap();
            let wish = site_wish(&app);
            assert!(wish.as_ref().is_none_or(|wish| names::check(wish).is_ok()));
            let wish = wish.map(|wish| wish.replace(&words, "W"));
            assert_eq!(wish.as_deref(), expected, "{changes}");
            let before = AppConfig {
                site_words: None,
                ..app
            };
            assert_eq!(site_wish(&before), before.site_name, "it keeps what it has");
        }
    }
}
