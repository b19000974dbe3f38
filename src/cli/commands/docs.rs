//! `postern docs [TOPIC]`: the manual as text, or on the page of the running manager.

use crate::cli::args::command::Parsed;
use crate::cli::args::help::wrapped;
use crate::cli::args::operations::OPEN;
use crate::cli::args::values::guess;
use crate::cli::browser;
use crate::cli::failure::{Failure, print, quoted};
use crate::cli::manager_client::Manager;
use crate::cli::serve::data_dir;
use crate::http::assets;

/// The page that lists the others.
const INDEX: &str = "index";
/// Columns of a line.
const WIDTH: usize = 80;
/// Maximum width of a table's first column.
const CELL: usize = 36;

/// Completions for pages, each with its title.
pub(crate) fn names() -> Vec<(String, String)> {
    let topics = topics().into_iter();
    topics
        .map(|topic| (topic.to_owned(), title(topic)))
        .collect()
}

/// Prints a page, or opens it.
pub(crate) fn show(parsed: &Parsed) -> Result<(), Failure> {
    let topic = parsed.operands().first().map_or(INDEX, String::as_str);
    if topic != INDEX && !topics().contains(&topic) {
        return Err(unknown(topic));
    }
    if parsed.has(&OPEN) {
        return open(topic);
    }
    if topic == INDEX {
        let lines = names().into_iter();
        let lines = lines.map(|(name, title)| format!("  {name:16}{title}\n"));
        let lines: String = lines.collect();
        return print(&format!(
            "Pages of the manual ('postern docs TOPIC'):\n{lines}"
        ));
    }
    print(&text_of(&page(topic)))
}

/// Opens a page at the manager: a local file could not load its style.
fn open(topic: &str) -> Result<(), Failure> {
    let manager = Manager::running(&data_dir()?)?;
    let path = match topic {
        INDEX => "docs".to_owned(),
        topic => format!("docs/{topic}"),
    };
    let url = manager.url().unwrap_or_default() + &path;
    browser::open(&url);
    print(&format!("{url}\n"))
}

fn unknown(topic: &str) -> Failure {
    let guess = guess(topic, topics());
    Failure::operation(format!("there is no page {}", quoted(topic)))
        .hint(guess + "see 'postern docs'")
}

/// Names of all pages except the index.
fn topics() -> Vec<&'static str> {
    let pages = assets::names("docs/").filter_map(|name| name.strip_suffix(".html"));
    pages.filter(|name| *name != INDEX).collect()
}

fn page(topic: &str) -> String {
    let html = assets::source(&format!("docs/{topic}.html")).unwrap_or_default();
    String::from_utf8_lossy(&html).into_owned()
}

fn title(topic: &str) -> String {
    let html = page(topic);
    let title = html
        .split_once("<h1>")
        .and_then(|(_, rest)| rest.split_once("</h1>"));
    title.map_or(String::new(), |(title, _)| text_of(title).trim().to_owned())
}

/// Converts a page to text, without its head; the HTML is our own, and simple.
fn text_of(html: &str) -> String {
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

    /// Prints the first cells in a column, and the other cells of each row next to it.
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

    /// Prints wrapped text with `mark` before the first line, and spaces of the same width before the others.
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
            text_of(html),
            "One word\n--------\n\nRun a <b> now.\n\n- first\n- second\n\n    $ x\n      y\n\nk  v\n"
        );
    }
}
