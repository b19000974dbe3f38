//! Data in browsers of a site's earlier owner: dropped once for each visitor if the name was taken from one.
//!
//! A browser that comes without the mark is told to empty the site's cache and storage, service workers with it. The
//! cookies that it sends are not passed on, and are ended at every path that they may have. `Clear-Site-Data` never says
//! `"cookies"`: browsers would drop those of the whole domain.

use super::cookies::{self, CLEARED};
use super::site::Site;
use crate::http::h1::head::Head;
use crate::http::h1::hop_by_hop::write_line;

/// Seconds for which a browser keeps the mark: as long as any does (400 days).
const MARKED_FOR: u64 = 400 * 24 * 3600;
/// Cookies that one answer ends, each at every directory of its path.
const MOST: usize = 50;

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
    asks && !cookies.any(|header| cookies::all(header, CLEARED).any(|it| it == mark.as_bytes()))
}

/// The lines of the answer that end it. They come before the application's own, which are the later ones.
pub(super) fn write_end(head: &Head, site: &Site, is_https: bool, out: &mut Vec<u8>) {
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
    for name in headers.flat_map(cookies::names).take(MOST) {
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
