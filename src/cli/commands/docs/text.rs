//! A page of the manual as text of 80 columns: its HTML is our own, and plain.

use crate::cli::args::help::wrapped;

/// Columns of a line.
const WIDTH: usize = 80;
/// The most columns of a table's first cell.
const CELL: usize = 36;

/// The page without its head.
pub(super) fn of_html(html: &str) -> String {
    let body = html.split_once("<main>").map_or(html, |(_, body)| body);
    let mut writer = Writer::default();
    let mut rest = body;
    while let Some((before, tagged)) = rest.split_once('<') {
        writer.text(before);
        let (tag, after) = tagged.split_once('>').unwrap_or((tagged, ""));
        writer.tag(tag.split([' ', '\n']).next().unwrap_or_default());
        rest = after;
    }
    writer.text(rest);
    writer.end_block();
    writer.out
}

#[derive(Default)]
struct Writer {
    out: String,
    /// The text of the paragraph, item or row so far.
    block: String,
    /// Mark before its first line: a bullet.
    mark: &'static str,
    is_verbatim: bool,
    /// The rows of the table so far, the last one unfinished.
    rows: Vec<Vec<String>>,
}

impl Writer {
    fn text(&mut self, text: &str) {
        self.block.push_str(&decoded(text));
    }

    fn tag(&mut self, tag: &str) {
        match tag {
            "h1" | "h2" | "h3" | "p" | "ul" | "ol" | "table" => {
                self.end_block();
                self.blank_line();
            }
            "/h1" | "/h2" | "/h3" => self.end_heading(),
            "li" => {
                self.end_block();
                self.mark = "- ";
            }
            "pre" => {
                self.end_block();
                self.blank_line();
                self.is_verbatim = true;
            }
            "tr" => self.rows.push(Vec::new()),
            "td" | "th" => self.block.clear(),
            "/td" | "/th" => {
                let cell = std::mem::take(&mut self.block);
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell.trim().to_owned());
                }
            }
            "/table" => self.end_table(),
            "/p" | "/li" | "/pre" | "/ul" | "/ol" | "/main" => self.end_block(),
            _ => {}
        }
    }

    fn end_heading(&mut self) {
        let heading = wrapped(&std::mem::take(&mut self.block), WIDTH).join(" ");
        self.push(&heading);
        self.push(&"-".repeat(heading.chars().count()));
    }

    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        let mark = std::mem::take(&mut self.mark);
        if std::mem::take(&mut self.is_verbatim) {
            for line in block.trim_matches('\n').lines() {
                self.push(&format!("    {line}"));
            }
            return;
        }
        self.push_wrapped(&block, mark, WIDTH);
    }

    /// The first cells in a column; the others of a row beside it.
    fn end_table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let length = |row: &Vec<String>| row.first().map_or(0, |cell| cell.chars().count());
        let column = rows.iter().map(length).max().unwrap_or(0).min(CELL);
        for row in &rows {
            let Some((first, rest)) = row.split_first() else {
                continue;
            };
            let rest = rest.join("; ");
            let mut first = first.as_str();
            if length(row) > column {
                wrapped(first, WIDTH)
                    .iter()
                    .for_each(|line| self.push(line));
                first = "";
            }
            for line in wrapped(&rest, WIDTH - column - 2) {
                self.push(format!("{first:column$}  {line}").trim_end());
                first = "";
            }
            if rest.is_empty() {
                self.push(first);
            }
        }
        self.block.clear();
    }

    /// `mark` stands before the first line; spaces of its width before the others.
    fn push_wrapped(&mut self, text: &str, mark: &str, width: usize) {
        let indent = mark.chars().count();
        for (number, line) in wrapped(text, width - indent).iter().enumerate() {
            let begin = if number == 0 { mark } else { "" };
            self.push(&format!("{begin:indent$}{line}"));
        }
    }

    fn blank_line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn push(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }
}

fn decoded(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ];
    let replace = |text: String, (entity, plain): &(&str, &str)| text.replace(entity, plain);
    entities.iter().fold(text.to_owned(), replace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_text() {
        let html = "<head><title>x</title></head><main>\n<h1>One <em>word</em></h1>\n<p>Run <code>a &lt;b&gt;</code>\nnow.</p>\
            <ul><li>first</li>\n<li>second</li></ul><pre>$ x\n  y</pre>\
            <table><tbody><tr><td><code>k</code></td><td>v</td></tr></tbody></table></main>";
        assert_eq!(
            of_html(html),
            "One word\n--------\n\nRun a <b> now.\n\n- first\n- second\n\n    $ x\n      y\n\nk  v\n"
        );
    }
}
