//! Cookies: ours is kept from applications, and theirs from other sites. Bytes in, bytes out.

/// The value of the cookie `name` in a `Cookie` header.
pub(super) fn find<'a>(header: &'a [u8], name: &str) -> Option<&'a [u8]> {
    header.split(|b| *b == b';').find_map(|pair| {
        let value = pair.trim_ascii().strip_prefix(name.as_bytes())?;
        value.strip_prefix(b"=")
    })
}

/// A `Cookie` header without `name`, the others byte for byte; `None` when nothing is left.
pub(super) fn without(header: &[u8], name: &str) -> Option<Vec<u8>> {
    let is_ours = |pair: &&[u8]| find(pair, name).is_some();
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
/// alone. `None` when it would set `ours`.
pub(super) fn confined(header: &[u8], ours: &str) -> Option<Vec<u8>> {
    if find(header.split(|b| *b == b';').next()?, ours).is_some() {
        return None;
    }
    let is_domain = |part: &[u8]| {
        let name = part.split(|b| *b == b'=').next().unwrap_or_default();
        name.trim_ascii().eq_ignore_ascii_case(b"domain")
    };
    let parts = header.split(|b| *b == b';').enumerate();
    let kept: Vec<&[u8]> = parts
        .filter(|(at, part)| *at == 0 || !is_domain(part))
        .map(|(_, part)| part)
        .collect();
    Some(kept.join(&b';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_cookie_is_taken_out_and_others_stay_as_they_are() {
        let left = |header: &str| {
            without(header.as_bytes(), "own").map(|left| String::from_utf8(left).unwrap())
        };
        assert_eq!(left("a=1;  b=\"2\" ;c").unwrap(), "a=1;  b=\"2\" ;c");
        assert_eq!(left("a=1; own=x; b=2").unwrap(), "a=1; b=2");
        assert_eq!(left("own=x; a=1;b=2").unwrap(), "a=1;b=2");
        assert_eq!(left("a=1; own=x").unwrap(), "a=1");
        assert_eq!(
            left("own=x;own=y; owner=z; xown=q").unwrap(),
            "owner=z; xown=q"
        );
        assert_eq!(left("own=x"), None);
        assert_eq!(left("own"), Some("own".into()), "that is no pair");
        assert_eq!(find(b"a=1; own=x=y", "own"), Some(&b"x=y"[..]));
        assert_eq!(find(b"a=own=1", "own"), None);
    }

    #[test]
    fn cookies_of_applications_lose_their_domain() {
        let kept = |header: &str| {
            confined(header.as_bytes(), "own").map(|left| String::from_utf8(left).unwrap())
        };
        assert_eq!(
            kept("a=1; Path=/; Domain=example.com; Secure").unwrap(),
            "a=1; Path=/; Secure"
        );
        assert_eq!(kept("a=1;domain = .example.com;DOMAIN=x").unwrap(), "a=1");
        assert_eq!(kept("domain=1; Path=/").unwrap(), "domain=1; Path=/");
        assert_eq!(kept("a=1; domain").unwrap(), "a=1");
        assert_eq!(kept("own=x; Path=/"), None);
    }
}
