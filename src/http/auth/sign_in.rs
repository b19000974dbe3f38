//! Sign-ins: the fields that bring a code, the code, and the signed cookie in exchange for it.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ring::{digest, hmac};

use super::rate_limiter::{RateLimiter, WhenFull};
use super::signed::{CookieKey, SIGNED_IN_FOR, Scope, Visitor, new_id};
use crate::http::h1::Refusal;
use crate::http::h1::head::form_fields;
use crate::http::{Method, Request};
use crate::store::expiry::Clocks;
use crate::sync::RwLock;

/// Wrong codes a minute that a source may send. Default 5.
const WRONG_CODES: usize = crate::limits::WRONG_CODES;
/// Seconds after which a request renews a cookie whose time counts from the last one. Default 60.
const RENEWED_AFTER: u64 = 60;
/// Visitors who are remembered as ended. Default 1,024, 120 KiB.
const MAX_ENDED: usize = 1024;
/// Bytes of a path that a sign-in leads on to. Default 2048; a longer one is not kept.
const MAX_NEXT: usize = 2048;
/// Bytes of a SHA-256 digest.
const DIGEST: usize = digest::SHA256_OUTPUT_LEN;

/// Start of a cookie's lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// From the sign-in, which the cookie's `Max-Age` says too.
    FromSignIn,
    /// From the last request; the browser keeps the cookie until it ends.
    FromLastUse,
}

/// Result of a code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SignInOutcome {
    /// The code was right; the value is for `Set-Cookie`.
    SignedIn(String),
    /// The code was wrong.
    WrongCode,
    /// The code was wrong, and so were too many before it: the time to wait before the next one.
    TooMany(Duration),
}

/// Gives and checks the cookies of one kind.
pub(crate) struct SignIn {
    /// The cookie's name by `http`, and by `https`: there its prefix keeps every other server of this host name,
    /// whatever its port, from setting it, and its `Secure` from reading it (RFC 6265bis section 4.1.3.2).
    names: [String; 2],
    lifetime: Lifetime,
    key: CookieKey,
    /// False as long as nobody was ended: requests then take no lock.
    has_ended: AtomicBool,
    ended: RwLock<EndedSignIns>,
    wrong: RateLimiter,
}

/// Visitors whose sign-in ended before its time.
#[derive(Default)]
struct EndedSignIns {
    /// End of the last value that was given to each visitor, in seconds since 1970.
    until: HashMap<String, u64>,
    /// Time up to which ended values are refused: they may be of visitors whose note was dropped.
    floor: u64,
}

impl SignIn {
    /// Cookies are shared by all ports of a host: `cookie` names the server.
    pub(crate) fn new(cookie: &str, lifetime: Lifetime, key: CookieKey) -> Self {
        Self {
            names: ["", "__Host-"].map(|prefix| format!("{prefix}{cookie}")),
            lifetime,
            key,
            has_ended: AtomicBool::new(false),
            ended: RwLock::default(),
            wrong: RateLimiter::new(WRONG_CODES, WhenFull::Refuse),
        }
    }

    /// Returns the cookie's name. Of visitors who come by `https` the plain one is never read: any server of this host
    /// name can set it.
    pub(crate) fn cookie(&self, is_secure: bool) -> &str {
        let [plain, prefixed] = &self.names;
        if is_secure { prefixed } else { plain }
    }

    /// True if other relays know these sign-ins too.
    pub(crate) fn is_shared(&self) -> bool {
        self.key.made.is_none()
    }

    /// Returns the visitor who has this cookie, if it opens the scope.
    pub(crate) fn visitor(&self, value: &[u8], scope: &Scope, now: Clocks) -> Option<Visitor> {
        let visitor = self.key.visitor(value, scope, now)?;
        let has_ended = self.has_ended.load(Ordering::Acquire) && self.ended.read().has(&visitor);
        (!has_ended).then_some(visitor)
    }

    /// Signs in to the scope that a code opens. A wrong one opens none, and is counted by its source.
    pub(crate) fn enter(
        &self,
        opened: Option<Scope>,
        source: IpAddr,
        is_secure: bool,
        now: Clocks,
    ) -> SignInOutcome {
        if let Some(scope) = opened {
            return SignInOutcome::SignedIn(self.set_cookie(
                &self.give(&scope, now),
                &scope,
                is_secure,
            ));
        }
        match self.wrong.count(source, Instant::now()) {
            Ok(()) => SignInOutcome::WrongCode,
            Err(wait) => SignInOutcome::TooMany(wait),
        }
    }

    /// Returns the value of a new cookie; also that of a link, which opens another scope than cookies.
    pub(crate) fn give(&self, scope: &Scope, now: Clocks) -> String {
        self.key.give(&new_id(), scope, now)
    }

    /// Returns the `Set-Cookie` value that moves the end of a sign-in, if its time counts from this request.
    pub(crate) fn renewed(&self, of: &Visitor, is_secure: bool, now: Clocks) -> Option<String> {
        let left = of.end.saturating_sub(self.key.seconds(now));
        let is_due = left + RENEWED_AFTER <= SIGNED_IN_FOR.as_secs();
        (is_due && self.lifetime == Lifetime::FromLastUse).then(|| {
            let value = self.key.give(&of.id, &of.scope, now);
            self.set_cookie(&value, &of.scope, is_secure)
        })
    }

    /// Ends a visitor's sign-in, or a link that was opened. False if it has ended already.
    pub(crate) fn end(&self, visitor: &Visitor, now: Clocks) -> bool {
        let now = self.key.seconds(now);
        let until = match self.lifetime {
            Lifetime::FromSignIn => visitor.end,
            // A request may renew it at this moment.
            Lifetime::FromLastUse => now + SIGNED_IN_FOR.as_secs() + RENEWED_AFTER,
        };
        let is_new = self.ended.write().note(visitor, until, now);
        self.has_ended.store(true, Ordering::Release);
        is_new
    }

    fn set_cookie(&self, value: &str, scope: &Scope, is_secure: bool) -> String {
        let age = match self.lifetime {
            Lifetime::FromSignIn => format!("; Max-Age={}", scope.life.as_secs()),
            Lifetime::FromLastUse => String::new(),
        };
        let secure = if is_secure { "; Secure" } else { "" };
        let name = self.cookie(is_secure);
        format!("{name}={value}; HttpOnly; SameSite=Lax; Path=/{age}{secure}")
    }
}

impl EndedSignIns {
    fn has(&self, visitor: &Visitor) -> bool {
        visitor.end <= self.floor || self.until.contains_key(&visitor.id)
    }

    /// Remembers a visitor; false for one who has ended already. Of too many, the note that ends first is dropped.
    /// Values that end no later than a dropped note are refused from then on, even if the clock is set back.
    fn note(&mut self, visitor: &Visitor, until: u64, now: u64) -> bool {
        if self.has(visitor) {
            return false;
        }
        while let Some(first) = self.until.values().min().copied()
            && (first <= now || self.until.len() >= MAX_ENDED)
        {
            self.floor = first;
            self.until.retain(|_, until| first < *until);
        }
        self.until.insert(visitor.id.clone(), until);
        true
    }
}

/// Fields of a query or a form. The code may be entered as the whole link that carries it, which is read as well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SignInFields {
    /// The code, if there is one.
    pub(crate) code: Option<String>,
    /// ID of the application that is named.
    pub(crate) app_id: Option<String>,
    /// Paths after the sign-in, the best first; not checked.
    pub(crate) next: Vec<String>,
}

impl SignInFields {
    /// Reads a query, or the body of a form.
    pub(crate) fn parse(encoded: &str) -> Result<Self, Refusal> {
        let mut fields = form_fields(encoded)?;
        let code = take(&mut fields, "code");
        let of_link = code.as_deref().map(Self::of_code).unwrap_or_default();
        let next = take(&mut fields, "next").into_iter();
        Ok(Self {
            code: of_link.code,
            app_id: take(&mut fields, "app_id").or(of_link.app_id),
            next: next.chain(of_link.next).collect(),
        })
    }

    /// Reads the text that was entered for a code: the code, or the whole link that contains it.
    fn of_code(text: &str) -> Self {
        let text = text.trim();
        let query = text.split_once('?').map(|(_, rest)| rest);
        let query = query.map(|rest| rest.split('#').next().unwrap_or_default());
        let mut fields = query
            .and_then(|query| form_fields(query).ok())
            .unwrap_or_default();
        match take(&mut fields, "code") {
            Some(code) => Self {
                code: Some(code.trim().to_owned()),
                app_id: take(&mut fields, "app_id"),
                next: take(&mut fields, "next").into_iter().collect(),
            },
            None => Self {
                code: Some(text.to_owned()),
                ..Self::default()
            },
        }
    }

    /// Returns the code of a `POST`'s form, empty if the form has none, or of the query of any other request.
    pub(crate) fn code_of(request: &Request) -> Option<String> {
        if *request.method() != Method::Post {
            return request.query("code").and_then(Self::code_in);
        }
        let form = std::str::from_utf8(request.body()).ok()?;
        let fields = Self::parse(form).unwrap_or_default();
        Some(fields.code.unwrap_or_default())
    }

    /// Returns the code in the text that was entered for one.
    pub(crate) fn code_in(text: &str) -> Option<String> {
        Self::of_code(text).code
    }
}

fn take(fields: &mut Vec<(String, String)>, name: &str) -> Option<String> {
    let at = fields.iter().position(|(key, _)| key == name)?;
    Some(fields.remove(at).1)
}

/// Returns a path with its query, as it stands in a request, if every browser takes it for one of the same site.
/// Browsers read `\` as `/`, leave out tabs and line breaks, and take the part after `//` for another host.
pub(crate) fn same_site(next: &str) -> Option<&str> {
    let plain = |b: u8| b.is_ascii_graphic() && b != b'\\';
    let is_path = next.starts_with('/') && !next.starts_with("//");
    (is_path && next.len() <= MAX_NEXT && next.bytes().all(plain)).then_some(next)
}

/// A code that lets its holder in; only its SHA-256 digest is kept.
pub struct Code([u8; DIGEST]);

impl Code {
    /// From the code itself.
    pub fn new(code: &str) -> Self {
        Self(sha256(&[code.as_bytes()]))
    }

    /// From the SHA-256 digest of the code.
    pub fn of_digest(digest: [u8; DIGEST]) -> Self {
        Self(digest)
    }

    /// The SHA-256 digest of the code.
    pub(crate) fn digest(&self) -> &[u8; DIGEST] {
        &self.0
    }

    /// True if `given` is the code. Digests are compared in constant time, so the time shows neither the place of a
    /// difference nor the length.
    pub(crate) fn is(&self, given: &str) -> bool {
        // ring compares HMACs in constant time; the key does not matter.
        let key = hmac::Key::new(hmac::HMAC_SHA256, &[]);
        let expected = hmac::sign(&key, &self.0);
        let given = sha256(&[given.as_bytes()]);
        hmac::verify(&key, &given, expected.as_ref()).is_ok()
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(***)")
    }
}

/// SHA-256 over these parts, one after the other.
pub(crate) fn sha256(parts: &[&[u8]]) -> [u8; DIGEST] {
    let mut context = digest::Context::new(&digest::SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut sum = [0; DIGEST];
    sum.copy_from_slice(context.finish().as_ref());
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: (IpAddr, bool) = (IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), false);
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;

    fn sign_in(lifetime: Lifetime) -> SignIn {
        SignIn::new("own", lifetime, CookieKey::random())
    }

    fn scope() -> Scope {
        Scope::new([7; 32], 0)
    }

    /// Returns the moment so many seconds later, by both clocks.
    fn after(start: Clocks, seconds: u64) -> Clocks {
        let passed = Duration::from_secs(seconds);
        Clocks {
            wall: start.wall + passed,
            monotonic: start.monotonic + passed,
        }
    }

    /// The cookie's value, and what is set with it.
    fn cookie(set: &str) -> (String, String) {
        let (pair, attributes) = set.split_once(';').unwrap();
        let (name, value) = pair.split_once('=').unwrap();
        (value.to_owned(), format!("{name};{attributes}"))
    }

    fn entered(sign_in: &SignIn, from: (IpAddr, bool), now: Clocks) -> (String, String) {
        match sign_in.enter(Some(scope()), from.0, from.1, now) {
            SignInOutcome::SignedIn(set) => cookie(&set),
            other => panic!("the right code was refused: {other:?}"),
        }
    }

    /// A new visitor.
    fn visitor(sign_in: &SignIn, now: Clocks) -> Visitor {
        let value = sign_in.give(&scope(), now);
        sign_in.visitor(value.as_bytes(), &scope(), now).unwrap()
    }

    #[test]
    fn a_cookie_says_how_long_it_lasts() {
        let (sites, now) = (sign_in(Lifetime::FromSignIn), Clocks::now());
        let (value, set) = entered(&sites, FROM, now);
        assert_eq!(set, "own; HttpOnly; SameSite=Lax; Path=/; Max-Age=43200");
        assert!(sites.visitor(value.as_bytes(), &scope(), now).is_some());
        let client = sign_in(Lifetime::FromLastUse);
        let (_, set) = entered(&client, (FROM.0, true), now);
        assert_eq!(set, "__Host-own; HttpOnly; SameSite=Lax; Path=/; Secure");
    }

    #[test]
    fn a_sign_in_ends_after_12_hours_or_12_hours_after_the_last_request() {
        let start = Clocks::now();
        for lifetime in [Lifetime::FromSignIn, Lifetime::FromLastUse] {
            let sign_in = sign_in(lifetime);
            let (mut value, _) = entered(&sign_in, FROM, start);
            let first = sign_in.visitor(value.as_bytes(), &scope(), start).unwrap();
            let renewed = |visitor: &Visitor, at| sign_in.renewed(visitor, false, after(start, at));
            assert_eq!(renewed(&first, MINUTE - 1), None);
            for hours in [11, 22, 33] {
                let now = after(start, hours * HOUR);
                let found = sign_in.visitor(value.as_bytes(), &scope(), now);
                let is_known = hours == 11 || lifetime == Lifetime::FromLastUse;
                assert_eq!(found.is_some(), is_known, "{lifetime:?} {hours}");
                let Some(set) = found.and_then(|found| {
                    assert_eq!(found.id, first.id);
                    renewed(&found, hours * HOUR)
                }) else {
                    assert_eq!(lifetime, Lifetime::FromSignIn);
                    continue;
                };
                value = cookie(&set).0;
            }
            let idle = after(start, 45 * HOUR);
            assert_eq!(sign_in.visitor(value.as_bytes(), &scope(), idle), None);
        }
    }

    #[test]
    fn wrong_codes_are_limited_and_a_right_one_passes_all_the_same() {
        let (sign_in, now) = (sign_in(Lifetime::FromSignIn), Clocks::now());
        let wrong = |source: &str| sign_in.enter(None, source.parse().unwrap(), false, now);
        let is_over = |outcome: &SignInOutcome| match outcome {
            SignInOutcome::TooMany(wait) => (1..=60).contains(&wait.as_secs()),
            _ => false,
        };
        for _ in 0..WRONG_CODES {
            assert_eq!(wrong("192.0.2.1"), SignInOutcome::WrongCode);
        }
        assert!(is_over(&wrong("192.0.2.1")));
        entered(&sign_in, ("192.0.2.1".parse().unwrap(), false), now);
        assert_eq!(wrong("192.0.2.2"), SignInOutcome::WrongCode);
        let tries: Vec<_> = (1..=6).map(|i| wrong(&format!("2001:db8::{i}"))).collect();
        assert!(tries.last().is_some_and(is_over), "one network");
        // From many networks at once there are no more tries than the limiter has room for.
        let source = |network| format!("2001:db8:1:{network:x}::1");
        let flood: Vec<_> = (0..=10_000)
            .map(|network| wrong(&source(network)))
            .collect();
        assert!(flood.last().is_some_and(is_over));
    }

    #[test]
    fn who_was_ended_stays_out_and_others_stay_in() {
        for (lifetime, renewed_at) in [
            (Lifetime::FromSignIn, 0),
            (Lifetime::FromLastUse, MINUTE / 2),
        ] {
            let (sign_in, now) = (sign_in(lifetime), Clocks::now());
            let (one, other) = (visitor(&sign_in, now), visitor(&sign_in, now));
            // A renewal that was on its way.
            let renewed = (sign_in.key).give(&one.id, &scope(), after(now, renewed_at));
            let knows = |value: &str, at| {
                let now = after(now, at);
                sign_in.visitor(value.as_bytes(), &scope(), now).is_some()
            };
            assert!(sign_in.end(&one, now) && !sign_in.end(&one, now));
            let value = |visitor: &Visitor| sign_in.key.give(&visitor.id, &scope(), now);
            assert!(!knows(&value(&one), 0) && !knows(&renewed, MINUTE));
            assert!(knows(&value(&other), 0));
            assert!(!knows(&value(&one), 12 * HOUR - 1), "{lifetime:?}");
            let late = after(now, 13 * HOUR);
            sign_in.end(&visitor(&sign_in, late), late);
            assert!(!sign_in.ended.read().until.contains_key(&one.id));
            assert!(!knows(&renewed, MINUTE), "the clock was set back");
        }
    }

    /// At the bound somebody has to sign in again; nobody who was ended comes back.
    #[test]
    fn who_was_ended_stays_out_whoever_else_is() {
        let (sign_in, start) = (sign_in(Lifetime::FromSignIn), Clocks::now());
        let at = |second: usize| after(start, u64::try_from(second).unwrap());
        let everybody: Vec<String> = (0..2 * MAX_ENDED)
            .map(|second| sign_in.give(&scope(), at(second)))
            .collect();
        let now = at(2 * MAX_ENDED);
        let find = |value: &String| sign_in.visitor(value.as_bytes(), &scope(), now);
        let bystander = sign_in.give(&scope(), now);
        for value in &everybody {
            assert!(sign_in.end(&find(value).unwrap(), now));
        }
        assert!(everybody.iter().all(|value| find(value).is_none()));
        assert_eq!(sign_in.ended.read().until.len(), MAX_ENDED);
        assert!(find(&bystander).is_some());
        // In one second as well.
        let crowd: Vec<String> = (0..=MAX_ENDED)
            .map(|_| sign_in.give(&scope(), now))
            .collect();
        for value in &crowd {
            find(value).inspect(|visitor| assert!(sign_in.end(visitor, now)));
        }
        assert!(crowd.iter().all(|value| find(value).is_none()));
        assert!(sign_in.ended.read().until.len() <= MAX_ENDED);
        let later = after(now, 1);
        visitor(&sign_in, later);
    }

    #[test]
    fn a_code_is_found_in_a_whole_link() {
        let entered = |text: &str| {
            let SignInFields { code, app_id, next } = SignInFields::of_code(text);
            (code.unwrap(), app_id.unwrap_or_default(), next.concat())
        };
        let three = |code: &str, app_id: &str, next: &str| {
            (code.to_owned(), app_id.to_owned(), next.to_owned())
        };
        for (text, expected) in [
            ("00ff", three("00ff", "", "")),
            ("  00ff\n", three("00ff", "", "")),
            (
                " https://a.example/.postern/auth?app_id=1f&code=c%20d+e#x ",
                three("c d e", "1f", ""),
            ),
            ("/auth?code=00ff&next=%2Fa%3Fb", three("00ff", "", "/a?b")),
            (
                "https://a.example/?x=1",
                three("https://a.example/?x=1", "", ""),
            ),
            ("what?", three("what?", "", "")),
            ("a?code=%zz", three("a?code=%zz", "", "")),
            ("", three("", "", "")),
        ] {
            assert_eq!(entered(text), expected, "{text}");
        }
    }

    #[test]
    fn fields_beside_a_link_come_first() {
        let link = "code=%2Fauth%3Fcode%3D00ff%26next%3D%2Fb%26app_id%3Dof-link";
        let read = |more: &str| SignInFields::parse(&format!("{link}{more}")).unwrap();
        let both = read("&next=/a&app_id=1f&next=/c");
        assert_eq!(both.code.as_deref(), Some("00ff"));
        assert_eq!(both.app_id.as_deref(), Some("1f"));
        assert_eq!(both.next, ["/a", "/b"]);
        assert_eq!(read("").app_id.as_deref(), Some("of-link"));
        assert_eq!(
            SignInFields::parse("next=/a").unwrap(),
            SignInFields {
                next: vec!["/a".to_owned()],
                ..SignInFields::default()
            }
        );
        assert!(SignInFields::parse("code=%zz").is_err());
    }

    #[test]
    fn nothing_leads_to_another_site() {
        for next in [
            "/",
            "/a/b?c=d&e=%2F%2Fevil#f",
            "/a//b",
            "/@evil.example",
            "/:80",
            "/%5cevil",
        ] {
            assert_eq!(same_site(next), Some(next));
        }
        let long = format!("/{}", "a".repeat(MAX_NEXT));
        for next in [
            "",
            "a",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/a\\b",
            "/\t/evil.example",
            "/\n/evil.example",
            "\t//evil.example",
            " /a",
            "/a b",
            "/é",
            "/a\u{7f}",
            "/a\0",
            "http://evil.example/",
            "javascript:alert(1)",
            "?a",
            &long,
        ] {
            assert_eq!(same_site(next), None, "{next:?}");
        }
    }

    #[test]
    fn only_the_code_itself_is_right_and_nothing_shows_it() {
        let code = Code::new("secret");
        assert!(code.is("secret") && Code::of_digest(*code.digest()).is("secret"));
        for wrong in ["", "secre", "secrets", "Secret", "\0"] {
            assert!(!code.is(wrong), "{wrong:?}");
        }
        assert_eq!(format!("{code:?}"), "Code(***)");
    }
}
