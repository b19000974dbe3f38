//! Tables: in aligned columns for a person, in columns that tabs separate for a program.

use std::io::IsTerminal;

use super::failure::Failure;
use super::output::print;

/// What stands between two columns that a person reads.
const GAP: &str = "  ";

/// Prints a heading and rows of as many cells, none of which holds a control character. Where there is no row, a person
/// reads `hint` in place of the heading.
pub(super) fn print_table<const N: usize>(
    heading: [&str; N],
    rows: &[[String; N]],
    hint: &str,
) -> Result<(), Failure> {
    if rows.is_empty() && std::io::stdout().is_terminal() {
        return print(&format!("{hint}\n"));
    }
    let heading = [heading.map(str::to_owned)];
    let lines = heading.iter().chain(rows);
    if std::io::stdout().is_terminal() {
        return print(&aligned(lines));
    }
    let lines = lines.map(|cells| cells.join("\t") + "\n");
    print(&lines.collect::<String>())
}

/// Columns as wide as their widest cell; the last one ends where it ends.
fn aligned<'a, const N: usize>(lines: impl Iterator<Item = &'a [String; N]> + Clone) -> String {
    let mut widths = [0; N];
    for cells in lines.clone() {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |cells: &[String; N]| {
        let padded = cells.iter().zip(widths);
        let padded: Vec<String> = padded
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        padded.join(GAP).trim_end().to_owned() + "\n"
    };
    lines.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_characters() {
        let rows = [["NAME", "SITE"], ["käse", "-"], ["x", "http://x"]];
        let rows = rows.map(|cells| cells.map(str::to_owned));
        assert_eq!(
            aligned(rows.iter()),
            "NAME  SITE\nkäse  -\nx     http://x\n"
        );
    }
}
