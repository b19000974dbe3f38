//! Cookies: ours is kept from applications, theirs from other sites, and those of a site's earlier owner are ended.
//! Bytes in, bytes out.

use super::site::Site;
use crate::http::h1::head::Head;
use crate::http::h1::hop_by_hop::write_line;

/// Our cookie, of visitors who come by `http`, and by `https`.
pub(crate) const OURS: [&str; 2] = ["postern-visitor", "__Host-postern-visitor"];

/// The mark of a browser that keeps nothing of a site's earlier owner. Applications may see it.
const CLEARED: &str = "postern-cleared";
/// Seconds for which a browser keeps the mark: as long as any does (400 days).
const MARKED_FOR: u64 = 400 * 24 * 3600;
/// Cookies of an earlier owner that one answer ends, each at every directory of its path.
const MOST: usize = 50;

/// The names of the cookies in a `Cookie` header that are not ours.
pub(super) fn names(header: &[u8]) -> impl Iterator<Item = &[u8]> {
    let pairs = header.split(|b| *b == b';').map(<[u8]>::trim_ascii);
    let names = pairs.filter_map(|pair| pair.split(|b| *b == b'=').next());
    let is_ours = |name: &&[u8]| {
        OURS.iter()
            .chain([&CLEARED])
            .any(|ours| *name == ours.as_bytes())
    };
    names.filter(move |name| !name.is_empty() && !is_ours(name))
}

/// Every value of the cookie `name` in a `Cookie` header: a page of another site below the same
/// domain can put one of its own in front.
pub(super) fn all<'a>(header: &'a [u8], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let pairs = header.split(|b| *b == b';');
    pairs.filter_map(move |pair| value(pair, name))
}

/// A `Cookie` header without those of these names, the others byte for byte; `None` when nothing is
/// left.
pub(crate) fn without(header: &[u8], names: &[&str]) -> Option<Vec<u8>> {
    let is_ours = |pair: &&[u8]| names.iter().any(|name| value(pair, name).is_some());
    if !header.split(|b| *b == b';').any(|pair| is_ours(&pair)) {
        return Some(header.to_vec());
    }
    let others: Vec<&[u8]> = header
        .split(|b| *b == b';')
        .filter(|pair| !is_ours(pair))
        .collect();
    let left = others.join(&b';').trim_ascii_start().to_vec();
    (!left.is_empty()).then_some(left)
}

/// A `Set-Cookie` header of an application without its `Domain`: a site's cookie is for that site
/// alone. `None` when it would set one of `ours`.
pub(crate) fn confined(header: &[u8], ours: &[&str]) -> Option<Vec<u8>> {
    let pair = header.split(|b| *b == b';').next()?.trim_ascii();
    // A cookie without a name is sent back as its value alone.
    let nameless = pair.strip_prefix(b"=").unwrap_or_default();
    let sets = |name: &&str| value(pair, name).is_some() || value(nameless, name).is_some();
    if ours.iter().any(sets) {
        return None;
    }
    let is_domain = |part: &[u8]| {
        let name = part.split(|b| *b == b'=').next();
        let name = name.expect("a split has a first part");
        name.trim_ascii().eq_ignore_ascii_case(b"domain")
    };
    let parts = header.split(|b| *b == b';').enumerate();
    let kept: Vec<&[u8]> = parts
        .filter(|(at, part)| *at == 0 || !is_domain(part))
        .map(|(_, part)| part)
        .collect();
    Some(kept.join(&b';'))
}

/// A `Clear-Site-Data` header of an application without what would empty more than its site: browsers clear the cookies
/// of the whole domain for it, those of other sites and the relay's too. `None` when nothing is left.
pub(super) fn kept_apart(header: &[u8]) -> Option<Vec<u8>> {
    let kinds = header.split(|b| *b == b',').map(<[u8]>::trim_ascii);
    let kept = kinds.filter_map(|kind| match kind {
        b"\"cookies\"" => None,
        // All kinds: of them these are the site's own alone.
        b"\"*\"" => Some(&b"\"cache\", \"storage\""[..]),
        kind => Some(kind),
    });
    let kept = kept.collect::<Vec<_>>().join(&b", "[..]);
    (!kept.is_empty()).then_some(kept)
}

/// The value of a `NAME=VALUE` with this name. Browsers leave out the space around both.
fn value<'a>(pair: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let rest = pair.trim_ascii().strip_prefix(name.as_bytes())?;
    let value = rest.trim_ascii_start().strip_prefix(b"=")?;
    Some(value.trim_ascii_start())
}

// The earlier owner's data in browsers. A browser without the mark is told to empty the site's cache and storage, with
// the service workers. The cookies that it sends are not passed on, and are ended at every path that they may have.
// `Clear-Site-Data` never says `"cookies"`: browsers would drop those of the whole domain.

/// True if the request may bring what the site's earlier owner has left: a page is asked for, or a service worker's
/// program, and the browser has no mark. All other requests follow a page's.
pub(super) fn is_of_earlier(head: &Head, site: &Site) -> bool {
    let Some(at) = site.renamed_at else {
        return false;
    };
    let only = |name| head.headers.only(name).ok().flatten();
    let is_page = match only("sec-fetch-dest") {
        Some(dest) => dest == b"document",
        None => only("accept").is_some_and(|accept| accept.starts_with(b"text/html")),
    };
    let asks = head.method == "GET" && (is_page || only("service-worker").is_some());
    let mark = at.to_string();
    let mut cookies = head.headers.all("cookie");
    asks && !cookies.any(|header| all(header, CLEARED).any(|it| it == mark.as_bytes()))
}

/// Writes the lines that end the earlier owner's data. They come before the application's own, so the application's
/// win.
pub(super) fn end_earlier(head: &Head, site: &Site, is_https: bool, out: &mut Vec<u8>) {
    write_line(out, "Clear-Site-Data", br#""cache", "storage""#);
    let secure = if is_https { "; Secure" } else { "" };
    let path = head.target.split('?').next().unwrap_or_default();
    let ends = path.bytes().enumerate().filter(|(_, byte)| *byte == b'/');
    let directories = ends.flat_map(|(at, _)| [path.get(..at), path.get(..=at)]);
    let paths: Vec<&str> = directories
        .flatten()
        .chain([path])
        .filter(|path| !path.is_empty())
        .collect();
    let headers = head.headers.all("cookie");
    for name in headers.flat_map(names).take(MOST) {
        for path in &paths {
            let mut ended = name.to_vec();
            ended.extend_from_slice(format!("=; Path={path}; Max-Age=0{secure}").as_bytes());
            write_line(out, "Set-Cookie", &ended);
        }
    }
    let at = site.renamed_at.unwrap_or_default();
    let mark =
        format!("{CLEARED}={at}; Path=/; Max-Age={MARKED_FOR}; HttpOnly; SameSite=Lax{secure}");
    write_line(out, "Set-Cookie", mark.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_cookie_is_taken_out_and_others_stay_as_they_are() {
        let left = |header: &str| {
            without(header.as_bytes(), &["own", "other"])
                .map(|left| String::from_utf8(left).unwrap())
        };
        assert_eq!(left("a=1;  b=\"2\" ;c").unwrap(), "a=1;  b=\"2\" ;c");
        assert_eq!(left("a=1; own=x; b=2").unwrap(), "a=1; b=2");
        assert_eq!(left("own=x; a=1;b=2").unwrap(), "a=1;b=2");
        assert_eq!(left("a=1; own=x").unwrap(), "a=1");
        assert_eq!(
            left("own=x;own=y; owner=z; xown=q").unwrap(),
            "owner=z; xown=q"
        );
        assert_eq!(left("own=x; a=1; other=y").unwrap(), "a=1");
        assert_eq!(left("own=x"), None);
        assert_eq!(left("own"), Some("own".into()), "that is no pair");
        assert_eq!(left("a=1; own =x"), Some("a=1".into()));
    }

    #[test]
    fn each_of_several_cookies_of_one_name_is_found() {
        let found =
            |header: &'static str| -> Vec<&[u8]> { all(header.as_bytes(), "own").collect() };
        assert_eq!(found("a=1; own=x=y"), [b"x=y"]);
        assert_eq!(found("own=x; a=1; own = y;own="), [&b"x"[..], b"y", b""]);
        assert!(found("a=own=1; owner=1; own").is_empty());
    }

    #[test]
    fn no_site_clears_the_cookies_of_the_others() {
        let kept = |header: &str| {
            kept_apart(header.as_bytes()).map(|left| String::from_utf8(left).unwrap())
        };
        for (header, left) in [
            ("\"cookies\"", None),
            ("", None),
            ("\"cache\"", Some("\"cache\"")),
            ("\"cookies\",\"storage\"", Some("\"storage\"")),
            (" \"*\" ", Some("\"cache\", \"storage\"")),
            ("\"Cookies\"", Some("\"Cookies\"")),
        ] {
            assert_eq!(kept(header).as_deref(), left, "{header}");
        }
    }

    #[test]
    fn cookies_of_applications_lose_their_domain() {
        let kept = |header: &str| {
            confined(header.as_bytes(), &["own", "other"])
                .map(|left| String::from_utf8(left).unwrap())
        };
        assert_eq!(
            kept("a=1; Path=/; Domain=example.com; Secure").unwrap(),
            "a=1; Path=/; Secure"
        );
        assert_eq!(kept("a=1;domain = .example.com;DOMAIN=x").unwrap(), "a=1");
        assert_eq!(kept("domain=1; Path=/").unwrap(), "domain=1; Path=/");
        assert_eq!(kept("a=1; domain").unwrap(), "a=1");
        for ours in [
            "own=x; Path=/",
            " own\t=x",
            "=own=x",
            "= own=x; Path=/",
            "own=",
            "other=x",
        ] {
            assert_eq!(kept(ours), None, "{ours}");
        }
        assert_eq!(kept("=x; Domain=y").unwrap(), "=x");
    }
}
