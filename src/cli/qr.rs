//! QR symbols for a terminal (ISO/IEC 18004).

use qrcodegen::{QrCode, QrCodeEcc};

/// Light modules around a symbol. The standard asks for 4; scanners take 2, and a terminal is small.
const QUIET: i32 = 2;

/// The symbol of a text in lines of half blocks, two modules of height each; none where it is too long for one. The
/// colours are named, so that it is dark on light in every terminal.
pub(super) fn drawn(text: &str) -> Option<String> {
    let symbol = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let end = symbol.size() + QUIET;
    let mut lines = String::new();
    let mut y = -QUIET;
    while y < end {
        lines.push_str("\u{1b}[30;107m");
        for x in -QUIET..end {
            lines.push(
                match (symbol.get_module(x, y), symbol.get_module(x, y + 1)) {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    (false, false) => ' ',
                },
            );
        }
        lines.push_str("\u{1b}[0m\n");
        y += 2;
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_the_same_width_and_resets_its_colours() {
        let drawn = drawn("http://shop.relay.example/").unwrap();
        let widths: Vec<usize> = drawn.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{widths:?}");
        assert!(drawn.lines().all(|line| line.ends_with("\u{1b}[0m")));
        // Version 2: 25 modules and the quiet zone.
        assert_eq!(
            (widths.len(), widths[0]),
            (15, 25 + 4 + "\u{1b}[30;107m\u{1b}[0m".len())
        );
        assert_eq!(super::drawn(&"x".repeat(3000)), None);
    }
}
