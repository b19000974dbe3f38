//! QR symbols of the page (ISO/IEC 18004).

use std::fmt::Write as _;
use std::sync::Arc;

use qrcodegen::{QrCode, QrCodeEcc};
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use crate::http::{ApiError, Request, Response};
use crate::manager::app_state::AppState;

/// Light modules around a symbol, as the standard asks.
const QUIET: i32 = 4;
/// Bytes of a text. Default 1,000: a larger symbol is hard to scan.
const LONGEST: usize = 1000;

/// A text to draw.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "QrRequest"))]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// At most 1,000 bytes.
    text: String,
}

/// A QR code; a unit is a module.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "QrCode"))]
pub(super) struct Symbol {
    /// Modules of a side, with the light ones around it.
    size: i32,
    /// The dark modules, as the `d` of an SVG path.
    path: String,
}

/// The symbol of a text.
pub(super) fn draw(_: &Arc<AppState>, request: &Request) -> Answer {
    let wanted: Wanted = request.json()?;
    let symbol = symbol(&wanted.text);
    symbol.map(Response::ok).ok_or_else(|| {
        ApiError::too_large(format!("text: at most {LONGEST} bytes fit into a QR code"))
    })
}

fn symbol(text: &str) -> Option<Symbol> {
    let text = Some(text).filter(|text| text.len() <= LONGEST)?;
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let mut path = String::new();
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let end = (x..code.size()).find(|x| !code.get_module(*x, y));
            let length = end.unwrap_or(code.size()) - x;
            if length > 0 {
                let (left, top) = (x + QUIET, y + QUIET);
                // Writing to a String cannot fail.
                let _ = write!(path, "M{left} {top}h{length}v1h-{length}z");
            }
            x += length + 1;
        }
    }
    Some(Symbol {
        size: code.size() + 2 * QUIET,
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_covers_the_dark_modules_and_no_others() {
        let text = "https://a.example/";
        let code = QrCode::encode_text(text, QrCodeEcc::Medium).unwrap();
        let drawn = symbol(text).unwrap();
        let mut covered = Vec::new();
        for run in drawn.path.split('z').filter(|run| !run.is_empty()) {
            let run = run.strip_prefix('M').unwrap();
            let (place, rest) = run.split_once('h').unwrap();
            let (x, y) = place.split_once(' ').unwrap();
            let (length, _) = rest.split_once('v').unwrap();
            let [x, y, length] = [x, y, length].map(|text| text.parse::<i32>().unwrap());
            covered.extend((x..x + length).map(|x| (y - QUIET, x - QUIET)));
        }
        let side = 0..code.size();
        let all = side.clone().flat_map(|y| side.clone().map(move |x| (y, x)));
        let dark: Vec<_> = all.filter(|(y, x)| code.get_module(*x, *y)).collect();
        assert_eq!(covered, dark);
        assert_eq!(drawn.size, code.size() + 8);
        assert!(symbol(&"x".repeat(LONGEST + 1)).is_none());
    }
}
