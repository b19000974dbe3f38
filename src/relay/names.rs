//! Names of sites: their form, and the reserved ones. Pure.

/// Bytes of a name: a label of a host name has at most 63 (RFC 1035 §2.3.4).
const LENGTH: std::ops::RangeInclusive<usize> = 2..=63;
/// Names that are the relay's own, that programs ask for by themselves and would believe, or that people take for the
/// operator's; also with a number appended.
const RESERVED: &[&str] = &[
    "admin",
    "api",
    "auth",
    "autoconfig",
    "autodiscover",
    "dns",
    "doh",
    "enterpriseenrollment",
    "enterpriseregistration",
    "gateway",
    "imap",
    "isatap",
    "ldap",
    "localhost",
    "login",
    "lyncdiscover",
    "mail",
    "mta-sts",
    "ns",
    "openpgpkey",
    "pop",
    "postern",
    "proxy",
    "relay",
    "sip",
    "smtp",
    "sso",
    "status",
    "tunnel",
    "wpad",
    "www",
];
/// Names that people take for the operator's; also with a number or a suffix (`login-eu`). A site that had one before
/// it was reserved keeps it.
#[rustfmt::skip]
const RESERVED_WORDS: &[&str] = &[
    "abuse", "account", "accounts", "admin", "administrator", "auth", "billing", "console", "dashboard",
    "helpdesk", "hostmaster", "idp", "log-in", "login", "logon", "mail", "mfa", "noc", "noreply", "oauth", "oauth2", "oidc",
    "operator", "passwd", "password", "payment", "payments", "postern", "postmaster", "register", "relay", "root",
    "saml", "secure", "security", "sign-in", "sign-on", "sign-up", "signin", "signon", "signup", "sso", "support",
    "sysadmin", "verification", "verify", "vpn", "webadmin", "webmail", "webmaster", "www",
];
/// Numbers that are tried after a name that is taken.
const MAX_SUFFIX: u32 = 10_000;

/// Returns the fault of a preferred name.
pub(crate) fn check(name: &str) -> Result<(), &'static str> {
    check_form(name)?;
    if is_word(name) {
        return Err("this name is reserved");
    }
    Ok(())
}

/// Returns the fault of a name that no site of any relay has: a site may have kept one of the reserved words.
pub(crate) fn check_form(name: &str) -> Result<(), &'static str> {
    let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !LENGTH.contains(&name.len()) || !name.bytes().all(legal) {
        return Err("2 to 63 of a-z, 0-9 and hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Err("no hyphen at either end, no two in a row");
    }
    if is_reserved(name) {
        return Err("this name is reserved");
    }
    Ok(())
}

/// True if no site gets this name, and none has it.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&stem(name))
}

/// True if the name is one of the reserved words, perhaps with a number or a suffix: only a site that has it keeps it.
pub(crate) fn is_word(name: &str) -> bool {
    let is_it = |word: &&str| {
        let rest = name.strip_prefix(word);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')) || stem(name) == *word
    };
    RESERVED_WORDS.iter().any(is_it)
}

fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Returns the part of a free text that can stand in a name; it may be empty.
pub(crate) fn label(text: &str) -> String {
    let mut name = String::new();
    for character in text.chars().flat_map(char::to_lowercase) {
        match character {
            'a'..='z' | '0'..='9' => name.push(character),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
    }
    name.truncate(*LENGTH.end());
    name.trim_matches('-').to_owned()
}

/// Returns the nearest name to a free text; `fallback` if nothing of the text can stand in a name.
pub(super) fn derived(text: &str, fallback: &str) -> String {
    let name = label(text);
    match check(&name) {
        Ok(()) => name,
        Err(_) if name.is_empty() => fallback.to_owned(),
        Err(_) => {
            let longer = format!("{name}-{fallback}");
            check(&longer).map_or_else(|_| fallback.to_owned(), |()| longer)
        }
    }
}

/// True if a site's name already shows its title, so that the title is no secret: the owner may have chosen another
/// name on purpose.
pub(super) fn is_recognizable_in(name: &str, called: &str) -> bool {
    let label = label(called);
    let rest = name.strip_prefix(&label).filter(|_| !label.is_empty());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Returns `name`, or if it is taken the first free of `name-2`, `name-3` and so on.
pub(super) fn free(name: &str, is_held: impl Fn(&str) -> bool) -> Option<String> {
    let numbered = |number: u32| match number {
        1 => name.to_owned(),
        _ => {
            let suffix = format!("-{number}");
            let room = LENGTH.end() - suffix.len();
            let stem = name.get(..room).unwrap_or(name).trim_end_matches('-');
            format!("{stem}{suffix}")
        }
    };
    (1..=MAX_SUFFIX).map(numbered).find(|name| !is_held(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_refuses_the_same_names() {
        let page = include_str!("../../html/manage/core/site.js");
        let (_, list) = page.split_once("RESERVED = [").unwrap();
        let (list, _) = list.split_once(']').unwrap();
        let names: Vec<&str> = list.split('\'').skip(1).step_by(2).collect();
        assert_eq!(names, RESERVED);
        let (_, list) = page.split_once("RESERVED_WORDS = [").unwrap();
        let (list, _) = list.split_once(']').unwrap();
        let words: Vec<&str> = list.split('\'').skip(1).step_by(2).collect();
        assert_eq!(words, RESERVED_WORDS);
    }

    #[test]
    fn a_name_is_a_label_of_a_host_that_is_nobodys() {
        for name in [
            "abc",
            "db",
            "a1-b2",
            "123",
            &"a".repeat(63),
            "wwww",
            "autodiscover-2",
            "nsx",
            "mailing",
            "supporters",
            "rooted",
            "my-dashboard",
        ] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for name in [
            "",
            "a",
            "ns",
            "Abc",
            "a_b",
            "a.b",
            "-ab",
            "ab-",
            "a--b",
            "xn--a",
            "käse",
            "a b",
            "www",
            "api",
            "wpad",
            "mail",
            "mail2",
            "ns1",
            "ns12",
            "openpgpkey",
            "enterpriseregistration",
            "sso",
            "support",
            "support-2",
            "login-eu",
            "sign-in",
            "vpn1",
            "account-security",
            "mail-2",
            "relay-2",
            "postern-status",
            "log-in",
            &"a".repeat(64),
            "abc\n",
        ] {
            assert!(check(name).is_err(), "{name}");
        }
    }

    #[test]
    fn any_text_gives_a_name() {
        for (text, name) in [
            ("My Shop", "my-shop"),
            ("  Käse & Brot!! ", "k-se-brot"),
            ("http 127.0.0.1:3000", "http-127-0-0-1-3000"),
            ("a", "a-http-80"),
            ("db", "db"),
            ("API", "api-http-80"),
            ("日本", "http-80"),
            ("", "http-80"),
            ("---", "http-80"),
        ] {
            assert_eq!(derived(text, "http-80"), name, "{text}");
            assert_eq!(check(name), Ok(()));
        }
        let long = derived(&format!("{}-x", "a".repeat(62)), "f-1");
        assert_eq!(long, "a".repeat(62));
    }

    #[test]
    fn a_held_name_gets_a_number() {
        let held = ["shop", "shop-2"];
        assert_eq!(free("shop", |name| held.contains(&name)).unwrap(), "shop-3");
        assert_eq!(free("other", |name| held.contains(&name)).unwrap(), "other");
        let long = "a".repeat(63);
        let numbered = free(&long, |name| name == long).unwrap();
        assert_eq!(numbered, format!("{}-2", "a".repeat(61)));
        assert_eq!(free("x-y", |_| true), None);
    }

    #[test]
    fn a_site_is_called_what_its_name_says() {
        for (name, called, is_told) in [
            ("my-shop", "My Shop", true),
            ("my-shop-2", "My Shop", true),
            ("a-brave-otter-123", "a", true),
            ("q3", "Secret merger", false),
            ("brave-otter-123", "http 10.0.0.1:80", false),
            ("shops", "shop", false),
            ("shop", "", false),
            ("shop", "日本", false),
        ] {
            assert_eq!(
                is_recognizable_in(name, called),
                is_told,
                "{name} of {called}"
            );
        }
    }
}
