//! Paths and queries of our own APIs: decoded once, strictly.

use std::borrow::Cow;

use super::Refusal;
use crate::net::percent;

/// A decoded target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The path, decoded; begins with `/`, without empty, `.` or `..` segments.
    pub path: String,
    /// The parameters in order, decoded.
    pub query: Vec<(String, String)>,
}

impl Target {
    /// Decodes a target in origin form. What could name the same place in two ways is
    /// refused: encoded slashes, dot segments, empty segments, control characters.
    pub fn parse(raw: &str) -> Result<Target, Refusal> {
        let (path, query) = raw.split_once('?').unwrap_or((raw, ""));
        Ok(Target {
            path: decode_path(path)?,
            query: form_fields(query)?,
        })
    }
}

fn decode_path(raw: &str) -> Result<String, Refusal> {
    let odd = || Refusal::malformed("invalid path");
    let rest = raw.strip_prefix('/').ok_or_else(odd)?;
    let slashes = raw.matches('/').count();
    let path = decode(raw, false)?;
    let doubled = path.matches('/').count() != slashes || path.contains('\\');
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let inner = segments.peek().is_some();
        if matches!(segment, "." | "..") || (segment.is_empty() && (inner && !rest.is_empty())) {
            return Err(odd());
        }
    }
    if doubled || path.chars().any(char::is_control) {
        return Err(odd());
    }
    Ok(path)
}

/// The fields of a query or a form (`application/x-www-form-urlencoded`), decoded, in order.
pub fn form_fields(raw: &str) -> Result<Vec<(String, String)>, Refusal> {
    raw.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(key, true)?, decode(value, true)?))
        })
        .collect()
}

/// Percent-decoding to UTF-8; `plus` as in forms, where `+` is a space.
fn decode(raw: &str, plus: bool) -> Result<String, Refusal> {
    let spaced = if plus {
        Cow::Owned(raw.replace('+', " "))
    } else {
        Cow::Borrowed(raw)
    };
    let bytes = percent::decode(&spaced).ok_or(Refusal::malformed("malformed percent-encoding"))?;
    let text = std::str::from_utf8(&bytes);
    text.map(str::to_owned)
        .map_err(|_| Refusal::malformed("the target is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_paths_and_queries() {
        let target = Target::parse("/a%20b/%c3%a9?db=x+y%2F&t=%00&flag&=v").unwrap();
        assert_eq!(target.path, "/a b/é");
        let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        assert_eq!(
            target.query,
            [
                pair("db", "x y/"),
                pair("t", "\0"),
                pair("flag", ""),
                pair("", "v")
            ]
        );
        assert_eq!(Target::parse("/").unwrap().path, "/");
        assert_eq!(Target::parse("/a/").unwrap().path, "/a/");
    }

    #[test]
    fn refuses_what_names_a_place_in_two_ways() {
        for raw in [
            "//",
            "//a",
            "/a//b",
            "/a//",
            "/.",
            "/..",
            "/a/../b",
            "/a/./b",
            "/%2e%2e/a",
            "/%2E/a",
            "/a%2fb",
            "/a%5cb",
            "/a\\b",
            "/%00",
            "/%0a",
            "/%7f",
            "/%",
            "/%4",
            "/%zz",
            "/%+1",
            "/%ff",
            "/?a=%",
            "/?%zz",
            "/?a=%ff",
        ] {
            assert!(Target::parse(raw).is_err(), "{raw}");
        }
    }
}
