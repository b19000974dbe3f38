//! Address of a database on the command line.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use zeroize::Zeroizing;

use super::failure::{Failure, quoted};
use crate::net::authority::{self, InvalidHost};
use crate::net::percent;
use crate::sqlweb::Target;

/// The port of MySQL-protocol servers.
const DEFAULT_PORT: u16 = 3306;
/// The longest path of a Unix socket, in bytes, without its end mark.
const SOCKET_CAP: usize = 107;
const HINT: &str =
    "give PORT, HOST, HOST:PORT, [IPV6]:PORT, /path/to/socket or mysql://USER:PASS@HOST:PORT/DB";

/// A target and the other parts of its URL.
pub(crate) struct Address {
    pub(crate) target: Target,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Zeroizing<String>>,
    pub(crate) database: Option<String>,
}

/// Shows everything but the password.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("target", &self.target)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "***"))
            .field("database", &self.database)
            .finish()
    }
}

/// Reads the target; `None` is this machine.
///
/// | input | meaning |
/// |---|---|
/// | none | 127.0.0.1:3306 |
/// | `PORT`, 1 to 65535 | 127.0.0.1:PORT |
/// | `HOST`, `[IPV6]` | port 3306 there |
/// | `HOST:PORT`, `[IPV6]:PORT` | as given |
/// | `/path` | a Unix socket |
/// | `mysql://…`, `mariadb://…` | `USER:PASS@HOST:PORT/DB`, all but the host optional, percent-decoded |
pub(crate) fn parse(text: Option<&str>) -> Result<Address, Failure> {
    let Some(text) = text else {
        return Ok(plain(local(DEFAULT_PORT)));
    };
    read(text).map_err(|reason| {
        let shown = quoted(&redacted(text));
        Failure::usage(format!("target {shown} is malformed: {reason}")).hint(HINT)
    })
}

/// Replaces a possible password by `***`; the text may be a malformed URL.
pub(crate) fn redacted(text: &str) -> String {
    let (scheme, rest) = match text.find("://") {
        Some(at) => text.split_at(at + 3),
        None => ("", text),
    };
    // A password may hold an unescaped `@`, `/`, `?` or `#`, so it ends at the last `@`.
    let (secret, rest) = match rest.rsplit_once('@') {
        Some((account, place)) => (mask_after_colon(account, |_| true) + "@", place.to_owned()),
        None if scheme.is_empty() => (String::new(), rest.to_owned()),
        None => (String::new(), mask_port(rest)),
    };
    let end = rest.find(['?', '#']).filter(|_| !scheme.is_empty());
    match end.and_then(|end| rest.get(..end)) {
        Some(kept) => format!("{scheme}{secret}{kept}…"),
        None => format!("{scheme}{secret}{rest}"),
    }
}

/// Masks the part after the colon unless it is a port: `USER:PASS` without a host looks like `HOST:PORT`.
fn mask_port(rest: &str) -> String {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.starts_with('[') {
        return rest.to_owned();
    }
    let is_no_port = |port: &str| !port.bytes().all(|byte| byte.is_ascii_digit());
    mask_after_colon(authority, is_no_port) + path
}

fn mask_after_colon(text: &str, is_secret: impl Fn(&str) -> bool) -> String {
    match text.split_once(':') {
        Some((before, after)) if is_secret(after) => format!("{before}:***"),
        _ => text.to_owned(),
    }
}

/// Reason that a target is malformed; never contains the user's text.
type Reason = &'static str;

/// Like [`parse`], with the bare reason as its error.
pub(super) fn read(text: &str) -> Result<Address, Reason> {
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.starts_with('/') {
        return socket(text).map(plain);
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return url(scheme, rest);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return port(text).map(|port| plain(local(port)));
    }
    host_and_port(text).map(plain)
}

fn plain(target: Target) -> Address {
    Address {
        target,
        user: None,
        password: None,
        database: None,
    }
}

fn local(port: u16) -> Target {
    let host = Ipv4Addr::LOCALHOST.to_string();
    Target::Tcp { host, port }
}

fn socket(path: &str) -> Result<Target, Reason> {
    if path.len() > SOCKET_CAP {
        return Err("a socket's path has at most 107 bytes");
    }
    if path.ends_with('/') {
        return Err("it names a directory, not a socket");
    }
    Ok(Target::Unix(PathBuf::from(path)))
}

fn url(scheme: &str, rest: &str) -> Result<Address, Reason> {
    if !["mysql", "mariadb"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
    {
        return Err("the scheme is neither mysql nor mariadb");
    }
    if rest.contains(['?', '#']) {
        return Err("a URL has no '?' or '#' part here; in a name or password write %3F and %23");
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if path.contains(['/', '@']) {
        return Err("in a name or password write '/' as %2F and '@' as %40");
    }
    let (account, place) = match authority.rsplit_once('@') {
        Some((account, place)) => (Some(account), place),
        None => (None, authority),
    };
    let (user, password) = account.map_or(Ok((None, None)), credentials)?;
    Ok(Address {
        target: host_and_port(place)?,
        user,
        password,
        database: Some(decoded(path)?).filter(|name| !name.is_empty()),
    })
}

type Credentials = (Option<String>, Option<Zeroizing<String>>);

fn credentials(account: &str) -> Result<Credentials, Reason> {
    if account.contains('@') {
        return Err("in a name or password write '@' as %40");
    }
    let (user, password) = match account.split_once(':') {
        Some((user, password)) => (user, Some(Zeroizing::new(decoded(password)?))),
        None => (account, None),
    };
    let user = Some(decoded(user)?).filter(|user| !user.is_empty());
    Ok((user, password))
}

fn host_and_port(text: &str) -> Result<Target, Reason> {
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err("an IPv6 address needs brackets");
    }
    let (host, digits) = authority::split(text).ok_or("it is neither HOST:PORT nor [IPV6]:PORT")?;
    let host = match host.parse::<Ipv6Addr>() {
        Ok(address) => address.to_string(),
        Err(_) => check_host(host).map(|()| host.to_owned())?,
    };
    let port = digits.map_or(Ok(DEFAULT_PORT), port)?;
    Ok(Target::Tcp { host, port })
}

/// Checks a name or IPv4 address as resolvers accept it: ASCII letters, digits, `-` and `_` between dots; a number must
/// be an address.
pub(super) fn check_host(host: &str) -> Result<(), Reason> {
    authority::check_host(host).map_err(|invalid| match invalid {
        InvalidHost::Empty => "the host is missing",
        InvalidHost::TooLong => "a host name has at most 253 characters",
        InvalidHost::Label => "a host name has letters, digits, '-' and '_' between single dots",
        InvalidHost::Number => "it is neither an IPv4 address nor a name",
    })
}

/// A port that can be connected to.
pub(super) fn port(digits: &str) -> Result<u16, Reason> {
    authority::port(digits).ok_or("a port is a number from 1 to 65535")
}

/// Decodes percent-encoding (RFC 3986, 2.1). The intermediate bytes may be a password.
fn decoded(text: &str) -> Result<String, Reason> {
    let stray = "'%' is followed by two hexadecimal digits";
    let bytes = percent::decode(text).ok_or(stray)?;
    if bytes.contains(&0) {
        return Err("a name or password cannot contain NUL");
    }
    let text = str::from_utf8(&bytes).map_err(|_| "it does not decode to UTF-8")?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Target, user, password and database as one text.
    fn read(text: &str) -> String {
        let address = parse(Some(text)).unwrap();
        let part = |part: Option<&str>| part.map_or("-".to_owned(), |part| format!("<{part}>"));
        format!(
            "{} {} {} {}",
            address.target,
            part(address.user.as_deref()),
            part(address.password.as_ref().map(|password| password.as_str())),
            part(address.database.as_deref())
        )
    }

    #[test]
    fn well_formed_targets() {
        assert_eq!(parse(None).unwrap().target, local(3306));
        for (text, meaning) in [
            ("1", "127.0.0.1:1 - - -"),
            ("3307", "127.0.0.1:3307 - - -"),
            ("65535", "127.0.0.1:65535 - - -"),
            ("localhost", "localhost:3306 - - -"),
            ("db", "db:3306 - - -"),
            ("db.example.com", "db.example.com:3306 - - -"),
            ("db.example.com.", "db.example.com.:3306 - - -"),
            ("DB-1.example", "DB-1.example:3306 - - -"),
            ("my_service", "my_service:3306 - - -"),
            ("1db", "1db:3306 - - -"),
            ("3com.com", "3com.com:3306 - - -"),
            ("10.0.0.1", "10.0.0.1:3306 - - -"),
            ("db:3307", "db:3307 - - -"),
            ("mysql:3306", "mysql:3306 - - -"),
            ("10.0.0.1:1", "10.0.0.1:1 - - -"),
            ("db:65535", "db:65535 - - -"),
            ("[::1]", "[::1]:3306 - - -"),
            ("[::1]:3307", "[::1]:3307 - - -"),
            ("[2001:DB8:0:0::1]:1", "[2001:db8::1]:1 - - -"),
            ("[::ffff:10.0.0.1]", "[::ffff:10.0.0.1]:3306 - - -"),
            ("/run/mysqld/mysqld.sock", "/run/mysqld/mysqld.sock - - -"),
            ("/a b", "/a b - - -"),
            ("/3306", "/3306 - - -"),
            ("mysql://db", "db:3306 - - -"),
            ("mysql://db/", "db:3306 - - -"),
            ("mysql://db:3307", "db:3307 - - -"),
            ("mysql://db/shop", "db:3306 - - <shop>"),
            ("mysql://u@db", "db:3306 <u> - -"),
            ("mysql://u:p@db", "db:3306 <u> <p> -"),
            ("mysql://u:p@db:3307/shop", "db:3307 <u> <p> <shop>"),
            ("mariadb://u:p@db:3307/shop", "db:3307 <u> <p> <shop>"),
            ("MySQL://u:p@db", "db:3306 <u> <p> -"),
            ("mysql://u:@db", "db:3306 <u> <> -"),
            ("mysql://:p@db", "db:3306 - <p> -"),
            ("mysql://u:p:q@db", "db:3306 <u> <p:q> -"),
            (
                "mysql://u%40x:p%40%2F%3a%25@db/s%2Fh",
                "db:3306 <u@x> <p@/:%> <s/h>",
            ),
            ("mysql://u:k%C3%A4se@db", "db:3306 <u> <käse> -"),
            ("mysql://u:käse@db", "db:3306 <u> <käse> -"),
            ("mysql://u:a+b@db", "db:3306 <u> <a+b> -"),
            ("mysql://u:p@[::1]:3307/shop", "[::1]:3307 <u> <p> <shop>"),
            ("mysql://[::1]", "[::1]:3306 - - -"),
        ] {
            assert_eq!(read(text), meaning, "{text}");
        }
    }

    #[test]
    fn malformed_targets() {
        let long_label = "a".repeat(64);
        let long_name = "a.".repeat(127);
        let long_path = format!("/{}", "a".repeat(107));
        for text in [
            "",
            " ",
            "0",
            "00",
            "65536",
            "99999999999999999999",
            "+3306",
            "3306 ",
            " 3306",
            "３３０６",
            "3306.",
            "1.2.3",
            "127.1",
            "256.0.0.1",
            "1.2.3.4.5",
            "0x7f.1",
            "db:",
            "db:0",
            "db:65536",
            "db:abc",
            "db:33 06",
            "db:-1",
            "db:+1",
            "db:1:2",
            ":3306",
            ":",
            "::",
            "::1",
            "fe80::1",
            "[",
            "[]",
            "[::1",
            "::1]",
            "[::1]x",
            "[::1]:",
            "[::1]:0",
            "[::1]3306",
            "[db]",
            "[10.0.0.1]",
            "[fe80::1%eth0]",
            "a b",
            "a..b",
            ".a",
            "a-.b",
            "a/b",
            "./a.sock",
            "a@b",
            "u:p@db",
            "käse",
            "a\u{0}b",
            "/",
            "/run/",
            "mysql:",
            "mysql://",
            "mysql:///shop",
            "mysql://:3306",
            "mysql://@db:",
            "mysql://u:p@",
            "mysql://u:p@/shop",
            "mysql://db:0",
            "mysql://db:65536",
            "mysql://db/a/b",
            "mysql://db/shop?ssl=1",
            "mysql://db#x",
            "mysql://u:p%@db",
            "mysql://u:p%4@db",
            "mysql://u:p%zz@db",
            "mysql://u:p%+1@db",
            "mysql://u:p%00@db",
            "mysql://u:%ff@db",
            "mysql://u:p@q@db",
            "mysql://::1/",
            "mysql://db/a@b",
            "postgres://db",
            "http://db:3306",
            "://db",
            "mysqlx://db",
            &long_label,
            &long_name,
            &long_path,
        ] {
            let failure = parse(Some(text)).expect_err(text);
            let (status, message, hint) = failure.parts();
            assert_eq!(status, 2, "{text}");
            let shown = quoted(&redacted(text));
            assert!(message.starts_with(&format!("postern: target {shown} is malformed: ")));
            assert_eq!(hint, Some(HINT));
        }
    }

    #[test]
    fn a_password_is_never_in_the_message() {
        for text in [
            "mysql://u:secret@db:x",
            "mysql://u:sec/secret@db",
            "mysql://u:12/secret@db",
            "mysql://u:1?secret@db",
            "mysql://u:1#secret@db",
            "mysql://u:a@secret@db",
            "mysql://u:secret",
            "mysql://u:secret/shop",
            "mysql://db/shop?password=secret",
            "mysql://u:%zzsecret@db",
            "mysql://u:secret%@db",
            "mysql://u:secret@",
            "postgres://u:secret@db",
            "u:secret@db",
            "u:a:secret@db:1",
        ] {
            let failure = parse(Some(text)).expect_err(text);
            assert!(!format!("{failure:?}").contains("secret"), "{failure:?}");
        }
        let address = parse(Some("mysql://u:p@db/x")).unwrap();
        assert!(format!("{address:?}").contains(r#"password: Some("***")"#));
        assert_eq!(address.password.unwrap().as_str(), "p");
    }

    #[test]
    fn what_is_no_password_is_shown() {
        for (text, shown) in [
            ("db:abc", "db:abc"),
            ("mysql://db:65536/x", "mysql://db:65536/x"),
            ("mysql://[::1]:x", "mysql://[::1]:x"),
            ("mysql://u@db:x", "mysql://u@db:x"),
            ("mysql://u:p@db:x", "mysql://u:***@db:x"),
            ("a?b", "a?b"),
        ] {
            assert_eq!(redacted(text), shown);
        }
    }
}
