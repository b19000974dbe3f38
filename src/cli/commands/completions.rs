//! `postern completions SHELL`: a script that asks this program what may follow.
//!
//! The scripts know nothing of commands: they pass on the words, and what the table and the per-user directory say to
//! them comes back, a line each: the word, a tab, what it is. A line that begins with a colon is for the shell to do.

use crate::cli::args::command::{Kind, Parsed};
use crate::cli::args::completion::{Expected, expected};
use crate::cli::commands::{app, docs, relay, server};
use crate::cli::failure::print;
use crate::cli::failure::{Failure, printable, quoted};

/// The hidden command that the scripts call.
pub(crate) const NAMES: &str = "__complete";

const BASH: &str = include_str!("completions/postern.bash");
const ZSH: &str = include_str!("completions/postern.zsh");
const FISH: &str = include_str!("completions/postern.fish");

/// Prints the script.
pub(crate) fn script(parsed: &Parsed) -> Result<(), Failure> {
    print(match parsed.operand() {
        "bash" => BASH,
        "zsh" => ZSH,
        "fish" => FISH,
        other => {
            let message = format!("unknown shell {}", quoted(other));
            return Err(Failure::usage(message).hint("give bash, zsh or fish"));
        }
    })
}

/// Prints what may stand in the place of the last word. What cannot be looked up is left out: nobody reads an error
/// here.
pub(crate) fn names(words: &[String]) -> Result<(), Failure> {
    let Expected {
        candidates,
        kind,
        prefix,
    } = expected(words);
    let current = words.last().map_or("", String::as_str);
    let looked_up = match kind {
        Kind::Application => app::names(),
        Kind::Connector => relay::names(),
        Kind::Server => server::names(),
        Kind::Topic => docs::names(),
        _ => Vec::new(),
    };
    let looked_up = looked_up
        .into_iter()
        .map(|(word, about)| (format!("{prefix}{word}"), about));
    let mut lines: String = candidates
        .into_iter()
        .chain(looked_up)
        .filter(|(word, _)| word.starts_with(current))
        .map(|(word, about)| format!("{word}\t{}\n", printable(&about)))
        .collect();
    lines.push_str(match kind {
        Kind::File => ":file\n",
        Kind::Directory => ":directory\n",
        _ => "",
    });
    print(&lines)
}
