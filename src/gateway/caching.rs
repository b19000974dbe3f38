//! Answers of invisible sites: only their visitor's own browser may keep them. Bytes in, bytes out.

/// Header lines that tell caches in front what `Cache-Control` tells all others (RFC 9213), or in
/// place of it.
const FOR_CACHES: [&str; 4] = [
    "edge-control",
    "surrogate-control",
    "x-litespeed-cache-control",
    "x-reverse-proxy-ttl",
];
/// Endings of names of such headers.
const FOR_CACHES_SUFFIX: &str = "cdn-cache-control";
/// Directives that let caches in front keep an answer, or that `private` says already.
const SHARED: [&str; 4] = ["public", "private", "s-maxage", "proxy-revalidate"];

/// True if a line speaks to caches alone.
pub(crate) fn is_for_caches(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    FOR_CACHES.contains(&name.as_str()) || name.ends_with(FOR_CACHES_SUFFIX)
}

/// The value of `Cache-Control` that keeps caches in front out, else says what these values say
/// (RFC 9111 section 5.2.2).
pub(crate) fn private<'a>(values: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = b"private".to_vec();
    for directive in values.flat_map(directives) {
        let name = directive.split(|b| *b == b'=').next();
        let name = name.expect("a split has a first part");
        let is = |shared: &&str| name.trim_ascii().eq_ignore_ascii_case(shared.as_bytes());
        if !directive.is_empty() && !SHARED.iter().any(is) {
            out.extend_from_slice(b", ");
            out.extend_from_slice(directive);
        }
    }
    out
}

/// Splits at commas, but not inside quotes.
fn directives(value: &[u8]) -> Vec<&[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = value.split(|byte| {
        let escaped = std::mem::take(&mut is_escaped);
        match byte {
            b'\\' if is_quoted && !escaped => is_escaped = true,
            b'"' if !escaped => is_quoted = !is_quoted,
            b',' => return !is_quoted,
            _ => {}
        }
        false
    });
    parts.map(<[u8]>::trim_ascii).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_stays_with_its_visitor() {
        let made = |values: &[&str]| {
            let values = values.iter().map(|value| value.as_bytes());
            String::from_utf8(private(values)).unwrap()
        };
        for (values, expected) in [
            (&[][..], "private"),
            (&[""], "private"),
            (&["public, max-age=60, S-MaxAge=600"], "private, max-age=60"),
            (&["no-store"], "private, no-store"),
            (&["Public", "max-age=1"], "private, max-age=1"),
            (
                &["private=\"set-cookie, x\", no-cache=\"a\\\", public\""],
                "private, no-cache=\"a\\\", public\"",
            ),
            (&["s-maxage = 5 ,immutable"], "private, immutable"),
            (&["x=\"open, public"], "private, x=\"open, public"),
        ] {
            assert_eq!(made(values), expected, "{values:?}");
        }
    }

    #[test]
    fn what_speaks_to_caches_alone_is_known() {
        for name in [
            "CDN-Cache-Control",
            "Cloudflare-CDN-Cache-Control",
            "Surrogate-Control",
        ] {
            assert!(is_for_caches(name), "{name}");
        }
        for name in ["Cache-Control", "Expires", "Vary"] {
            assert!(!is_for_caches(name), "{name}");
        }
    }
}
