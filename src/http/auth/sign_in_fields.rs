//! The fields of a sign-in: a code, and where it leads on to. Pure.

use crate::http::h1::Refusal;
use crate::http::h1::target::form_fields;
use crate::http::{Method, Request};

/// Bytes of a path that a sign-in leads on to. Default 2048; a longer one is not kept.
const MAX_NEXT: usize = 2048;

/// Fields of a query or a form. The code may be entered as the whole link that carries it, which is read as well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SignInFields {
    /// The code, where there is one.
    pub(crate) code: Option<String>,
    /// The application that is named.
    pub(crate) app_id: Option<String>,
    /// Where it leads on to, the best first; not checked.
    pub(crate) next: Vec<String>,
}

impl SignInFields {
    /// From a query, or the body of a form.
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

    /// From what was entered for a code: the code, or the whole link that carries it.
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

    /// The code of a `POST`'s form, an empty one where the form has none, or of the query of any other request.
    pub(crate) fn code_of(request: &Request) -> Option<String> {
        if *request.method() != Method::Post {
            return request.query("code").and_then(Self::code_in);
        }
        let form = std::str::from_utf8(request.body()).ok()?;
        let fields = Self::parse(form).unwrap_or_default();
        Some(fields.code.unwrap_or_default())
    }

    /// The code in what was entered for one.
    pub(crate) fn code_in(text: &str) -> Option<String> {
        Self::of_code(text).code
    }
}

fn take(fields: &mut Vec<(String, String)>, name: &str) -> Option<String> {
    let at = fields.iter().position(|(key, _)| key == name)?;
    Some(fields.remove(at).1)
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
}
