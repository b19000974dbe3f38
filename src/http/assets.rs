//! The pages: embedded, put together (`build/`) and compressed once at build time, cached by content.
//!
//! HTML refers to scripts and styles as `/assets/@/…`; the build puts the hash of the whole
//! set in place of `@`, so relative imports of modules stay under it too. `POSTERN_HTML=DIR`
//! serves the files of a directory instead, uncached, while working on them.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::read::GzDecoder;

use super::{ApiError, Request, Response};

/// Content security policy of our pages: no inline script or style, nothing from elsewhere, no framing.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; \
    style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'none'; \
    base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// One embedded file.
struct File {
    /// Its path below `html/`.
    path: &'static str,
    gzip: &'static [u8],
}

// Defines `HASH` and `FILES`, sorted by path.
include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Answers with an HTML page such as `sql/index.html`, whatever the request's path.
pub fn page(request: Request, name: &str) {
    page_with_status(request, name, 200);
}

/// Answers with a page under another status, such as 401 for a sign-in page that follows a wrong code.
pub fn page_with_status(request: Request, name: &str, status: u16) {
    let response = match directory() {
        Some(dir) => {
            read(&dir, name).map(|body| plain(name, body).header("Cache-Control", "no-cache"))
        }
        None if status == 200 => embedded(name).map(|file| embedded_page(&request, file)),
        None => {
            embedded(name).map(|file| encoded(&request, file).header("Cache-Control", "no-store"))
        }
    };
    let response = match response {
        Some(response) if status != 200 => response.with_status(status),
        Some(response) => response,
        None => missing(name),
    };
    request.respond(secured(response));
}

/// Answers a request for `/assets/{hash}/…`.
pub fn asset(request: Request) {
    let path = request.path().strip_prefix("/assets/").unwrap_or_default();
    let (hash, name) = path.split_once('/').unwrap_or_default();
    let response = match directory() {
        Some(dir) => {
            read(&dir, name).map(|body| plain(name, body).header("Cache-Control", "no-store"))
        }
        None if hash == HASH => embedded(name).map(|file| {
            encoded(&request, file).header("Cache-Control", "public, max-age=31536000, immutable")
        }),
        None => None,
    };
    let response = response.unwrap_or_else(|| missing(request.path()));
    request.respond(secured(response));
}

/// Answers with the description of an API, such as `openapi/relay.json`.
pub(crate) fn description(request: Request, name: &str) {
    let file = embedded(name).expect("the build embeds the descriptions");
    let response = encoded(&request, file);
    request.respond(response);
}

/// Returns a file uncompressed, for a text that is put together from several.
pub(crate) fn source(name: &str) -> Option<Vec<u8>> {
    match directory() {
        Some(dir) => read(&dir, name),
        None => embedded(name).map(|file| inflate(file.gzip)),
    }
}

/// The names of the embedded files below a folder, without its name.
pub(crate) fn names(folder: &str) -> impl Iterator<Item = &'static str> {
    FILES
        .iter()
        .filter_map(move |file| file.path.strip_prefix(folder))
}

fn embedded(name: &str) -> Option<&'static File> {
    let at = FILES.binary_search_by(|file| file.path.cmp(name)).ok()?;
    FILES.get(at)
}

/// Answers with a page. Browsers ask for a page anew each time; its tag saves sending it again.
fn embedded_page(request: &Request, file: &'static File) -> Response {
    let tag = format!("\"{HASH}\"");
    let known = request.header("if-none-match").is_some_and(|known| {
        known
            .split(',')
            .any(|item| item.trim().trim_start_matches("W/") == tag)
    });
    let response = if known {
        Response::empty(304)
    } else {
        encoded(request, file)
    };
    response
        .header("Cache-Control", "no-cache")
        .header("ETag", tag)
}

fn encoded(request: &Request, file: &'static File) -> Response {
    let response = if accepts_gzip(request.header("accept-encoding").unwrap_or_default()) {
        Response::new(200, media_type(file.path), file.gzip).header("Content-Encoding", "gzip")
    } else {
        plain(file.path, inflate(file.gzip))
    };
    response.header("Vary", "Accept-Encoding")
}

fn accepts_gzip(header: &str) -> bool {
    header.split(',').any(|item| {
        let (coding, quality) = item.split_once(';').unwrap_or((item, ""));
        let quality = quality.trim().trim_start_matches("q=");
        let refused = quality.parse::<f32>().is_ok_and(|quality| quality == 0.0);
        matches!(coding.trim(), "gzip" | "x-gzip" | "*") && !refused
    })
}

/// Decompresses what the build compressed.
fn inflate(gzip: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let _ = GzDecoder::new(gzip).read_to_end(&mut plain);
    plain
}

fn plain(name: &str, body: impl Into<Vec<u8>>) -> Response {
    Response::new(200, media_type(name), body)
}

fn missing(what: &str) -> Response {
    Response::error(&ApiError::not_found(format!("there is nothing at {what}")))
}

/// Sets the headers of every answer with a page or a part of one.
fn secured(response: Response) -> Response {
    response
        .header("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        .header("Referrer-Policy", "no-referrer")
        .header("Cross-Origin-Opener-Policy", "same-origin")
}

fn media_type(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn directory() -> Option<PathBuf> {
    let dir = env::var_os("POSTERN_HTML").filter(|dir| !dir.is_empty())?;
    Some(PathBuf::from(dir))
}

/// A file below `dir`, links followed only within it.
fn read(dir: &Path, name: &str) -> Option<Vec<u8>> {
    let dir = dir.canonicalize().ok()?;
    let file = dir.join(safe(name)?).canonicalize().ok()?;
    let inside = file.starts_with(&dir) && file.is_file();
    inside.then(|| fs::read(file).ok()).flatten()
}

/// Returns the name as a path, if all its segments are plain.
fn safe(name: &str) -> Option<Cow<'_, Path>> {
    let plain = |segment: &str| !segment.is_empty() && !segment.starts_with('.');
    let ok = name.split('/').all(plain) && !name.contains(['\\', '\0', ':']);
    ok.then(|| Cow::Borrowed(Path::new(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_who_takes_it() {
        for yes in ["gzip", "gzip, deflate, br", "br;q=1, gzip;q=0.5", "*"] {
            assert!(accepts_gzip(yes), "{yes}");
        }
        for no in ["", "br", "gzip;q=0", "gzip; q=0.0", "identity"] {
            assert!(!accepts_gzip(no), "{no}");
        }
    }

    #[test]
    fn the_embedded_table_can_be_searched() {
        assert!(FILES.is_sorted_by(|a, b| a.path < b.path));
        assert_eq!(HASH.len(), 16);
        for file in FILES {
            assert!(embedded(file.path).is_some());
            if file.path.ends_with(".html") {
                let text = String::from_utf8(inflate(file.gzip)).unwrap();
                assert!(!text.contains("/assets/@/"));
            }
        }
    }

    #[test]
    fn a_directory_gives_only_what_is_in_it() {
        let outer = tempfile::tempdir().unwrap();
        let dir = outer.path().join("html");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("a.js"), "a").unwrap();
        fs::write(outer.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(outer.path().join("secret"), dir.join("link")).unwrap();
        assert_eq!(read(&dir, "a.js").unwrap(), b"a");
        for name in ["../secret", "link", "", "/etc/passwd", ".", "a.js/", "x"] {
            assert!(read(&dir, name).is_none(), "{name}");
        }
    }
}
