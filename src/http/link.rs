//! Links that carry an authorization code, and where they lead on to. Pure.

use super::h1::target::form_fields;

/// Bytes of a path that a sign-in leads on to. Default 2048; a longer one is not kept.
const MAX_NEXT: usize = 2048;

/// What somebody has entered for a code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entered {
    /// The code itself.
    pub(crate) code: String,
    /// The application that a link names.
    pub(crate) app_id: Option<String>,
    /// Where a link leads on to; not checked.
    pub(crate) next: Option<String>,
}

impl Entered {
    /// A code, or the whole link that carries it.
    pub(crate) fn read(text: &str) -> Entered {
        let text = text.trim();
        let query = text.split_once('?').map(|(_, rest)| rest);
        let query = query.map(|rest| rest.split('#').next().unwrap_or_default());
        let mut fields = query
            .and_then(|query| form_fields(query).ok())
            .unwrap_or_default();
        let mut take = |name: &str| {
            let at = fields.iter().position(|(key, _)| key == name)?;
            Some(fields.swap_remove(at).1)
        };
        match take("code") {
            Some(code) => Entered {
                code: code.trim().to_owned(),
                app_id: take("app_id"),
                next: take("next"),
            },
            None => Entered {
                code: text.to_owned(),
                ..Entered::default()
            },
        }
    }
}

/// A path with its query, as it stands in a request, where every browser takes it for one of the
/// same site. Browsers read `\` as `/`, leave out tabs and line breaks, and take what follows `//` for
/// another host.
pub(crate) fn same_site(next: &str) -> Option<&str> {
    let plain = |b: u8| b.is_ascii_graphic() && b != b'\\';
    let is_path = next.starts_with('/') && !next.starts_with("//");
    (is_path && next.len() <= MAX_NEXT && next.bytes().all(plain)).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_found_in_a_whole_link() {
        let entered = |text: &str| {
            let Entered { code, app_id, next } = Entered::read(text);
            (code, app_id.unwrap_or_default(), next.unwrap_or_default())
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
}
