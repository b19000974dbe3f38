//! `postern docs [TOPIC]`: the manual as text, or on the page of the running manager.

mod text;

use crate::cli::args::command::Parsed;
use crate::cli::args::operations::OPEN;
use crate::cli::browser;
use crate::cli::failure::{Failure, quoted};
use crate::cli::manager_client::Manager;
use crate::cli::output::print;
use crate::cli::serve::data_dir;
use crate::cli::suggest::guess;
use crate::http::assets;

/// The page that lists the others.
const INDEX: &str = "index";

/// Every page for a shell to complete, and its title.
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
    print(&text::of_html(&page(topic)))
}

/// On the manager's page: a file of a directory could not load its style.
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

/// The names of the pages, but for the list of them.
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
    title.map_or(String::new(), |(title, _)| {
        text::of_html(title).trim().to_owned()
    })
}
