//! `postern completions SHELL`: a script that asks this program for candidates.
//!
//! The scripts contain no commands: they pass on the typed words. The answer, from the table and the per-user
//! directory,
//! has one line per candidate: the word, a tab, a description. A line that begins with a colon is a task for the shell.

use crate::cli::args::command::{Kind, Parsed};
use crate::cli::args::completion::{Expected, expected};
use crate::cli::commands::{app, docs, relay, server};
use crate::cli::failure::{Failure, print, printable, quoted};

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

/// Prints the candidates for the last word. Names that cannot be looked up are skipped, because nobody reads an error
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
