//! Tables: aligned columns on a terminal, columns separated by tabs for a program.

use std::io::IsTerminal;

use rustix::termios::tcgetwinsize;
use serde::Serialize;

use super::args::command::Parsed;
use super::args::table::WIDE;
use super::clock::Zone;
use super::failure::{Failure, print, print_json, printable};

/// Gap between two columns on a terminal.
const GAP: &str = "  ";

/// Least width at which a column is shown in part.
const LEAST: usize = 10;

/// A cell: the text without control characters, `-` for an empty one.
pub(super) fn shown(text: &str) -> String {
    match text {
        "" => "-".to_owned(),
        text => printable(text),
    }
}

/// Columns of a table.
#[derive(Clone, Copy)]
pub(super) struct Columns<const N: usize> {
    pub(super) heading: [&'static str; N],
    /// Headings of the columns that come first on a terminal; empty for the order of `heading`.
    pub(super) first: &'static [&'static str],
}

impl<const N: usize> Columns<N> {
    pub(super) fn all(heading: [&'static str; N]) -> Self {
        Self {
            heading,
            first: &[],
        }
    }
}

/// Prints a list: with `--json` unchanged, else its rows as a table. A command without `--wide` shows all columns.
pub(super) fn print_list<const N: usize>(
    parsed: &Parsed,
    list: &impl Serialize,
    columns: Columns<N>,
    rows: &[[String; N]],
    hint: &str,
) -> Result<(), Failure> {
    if parsed.wants_json() {
        return print_json(list);
    }
    let is_wide = columns.first.is_empty() || parsed.has(&WIDE);
    print_table(columns, rows, hint, is_wide)
}

/// Prints a heading and rows of as many cells, none of which holds a control character. A terminal shows a row in one
/// line: the first columns, then the others, as far as there is room; `is_wide` shows all of them in their order. If
/// there is no row, a terminal shows `hint` instead of the heading.
pub(super) fn print_table<const N: usize>(
    Columns { heading, first }: Columns<N>,
    rows: &[[String; N]],
    hint: &str,
    is_wide: bool,
) -> Result<(), Failure> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        let heading = [heading.map(str::to_owned)];
        let lines = heading.iter().chain(rows);
        return print(
            &lines
                .map(|cells| cells.join("\t") + "\n")
                .collect::<String>(),
        );
    }
    if rows.is_empty() {
        return print(&format!("{hint}\n"));
    }
    let zone = Zone::local();
    let in_local_time = |cells: &[String; N]| cells.clone().map(|cell| zone.shown_text(&cell));
    let rows: Vec<_> = rows.iter().map(in_local_time).collect();
    print(&match tcgetwinsize(stdout) {
        Ok(size) if size.ws_col > 0 && !is_wide => {
            fitting(heading, first, &rows, size.ws_col.into())
        }
        _ => fitting(heading, &[], &rows, usize::MAX),
    })
}

/// Lays out columns as wide as their widest cell, together no wider than `width`; the last one is not padded.
fn fitting<const N: usize>(
    heading: [&str; N],
    first: &[&str],
    rows: &[[String; N]],
    width: usize,
) -> String {
    let heading = heading.map(str::to_owned);
    let rank = |at: &usize| {
        first
            .iter()
            .position(|name| Some(*name) == heading.get(*at).map(String::as_str))
    };
    let mut order: Vec<usize> = (0..N).collect();
    order.sort_by_key(|at| rank(at).unwrap_or(usize::MAX));
    let lines = || std::iter::once(&heading).chain(rows);
    let mut columns: Vec<(usize, usize)> = Vec::new();
    let mut room = width;
    for at in order {
        let gap = if columns.is_empty() { 0 } else { GAP.len() };
        let most = if columns.is_empty() { width / 3 } else { width };
        let cells = lines().filter_map(|cells| cells.get(at));
        let wanted = cells
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
            .min(most);
        if room >= gap + wanted.min(LEAST) {
            let given = wanted.min(room - gap);
            columns.push((at, given));
            room -= gap + given;
        }
    }
    let line = |cells: &[String; N]| {
        let shown = columns
            .iter()
            .filter_map(|(at, width)| Some((cells.get(*at)?, *width)));
        let shown: Vec<String> = shown
            .map(|(cell, width)| format!("{:width$}", shortened(cell, width)))
            .collect();
        shown.join(GAP).trim_end().to_owned() + "\n"
    };
    lines().map(line).collect()
}

/// A cell of at most `width` characters; one that is cut ends in `…`, an address in `…:PORT`.
fn shortened(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_owned();
    }
    let digits = cell.bytes().rev().take_while(u8::is_ascii_digit).count();
    let port = cell.len().checked_sub(digits + 1);
    let port = port.and_then(|at| cell.get(at..));
    let port = port.filter(|port| port.starts_with(':') && digits > 0 && port.len() + 1 < width);
    let end = format!("…{}", port.unwrap_or_default());
    let kept = width.saturating_sub(end.chars().count());
    cell.chars().take(kept).chain(end.chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_line_of_the_terminal() {
        let heading = ["ID", "STATUS", "SITE", "NAME"];
        let rows = [[
            "0123456789abcdef",
            "connected",
            "http://shop.localhost:8180/",
            "my shop",
        ]];
        let rows = rows.map(|cells| cells.map(str::to_owned));
        let first = ["NAME", "STATUS", "SITE"];
        let shown = |width| fitting(heading, &first, &rows, width);
        assert_eq!(
            shown(80),
            "NAME     STATUS     SITE                         ID\n\
             my shop  connected  http://shop.localhost:8180/  0123456789abcdef\n"
        );
        assert_eq!(
            shown(40),
            "NAME     STATUS     SITE\nmy shop  connected  http://shop.localho…\n"
        );
        assert_eq!(shown(9), "NA…\nmy…\n");
    }

    #[test]
    fn a_shortened_address_keeps_its_port() {
        for (cell, width, shown) in [
            ("127.0.0.1:30001", 15, "127.0.0.1:30001"),
            ("127.0.0.1:30001", 14, "127.0.0…:30001"),
            ("127.0.0.1:30001", 10, "127…:30001"),
            ("127.0.0.1:30001", 7, "127.0.…"),
            ("tcp://[2001:db8::1]:22", 12, "tcp://[2…:22"),
            ("2001:db8", 4, "200…"),
            ("käse-and-wine:", 5, "käse…"),
            ("abc", 0, "…"),
        ] {
            assert_eq!(shortened(cell, width), shown, "{cell} in {width}");
        }
    }

    #[test]
    fn columns_line_up_by_characters() {
        let rows = [["käse", "-"], ["x", "http://x"]];
        let rows = rows.map(|cells| cells.map(str::to_owned));
        assert_eq!(
            fitting(["NAME", "SITE"], &[], &rows, usize::MAX),
            "NAME  SITE\nkäse  -\nx     http://x\n"
        );
    }
}
