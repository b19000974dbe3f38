//! `postern completions SHELL`: a script that asks this program for candidates.
//!
//! The scripts contain no commands: they pass on the typed words. The answer, from the table and the per-user
//! directory,
//! has one line per candidate: the word, a tab, a description. A line that begins with a colon is a task for the shell.

use crate::cli::args::command::{Command, Flag, Kind, Parsed};
use crate::cli::args::root::ROOT;
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

/// Candidates for the last word.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    /// Words from the table, each with a short description, which may be empty.
    pub(crate) candidates: Vec<(String, String)>,
    /// Kind of value, if the shell can look it up.
    pub(crate) kind: Kind,
    /// Text before the value in the same word: `--server=`.
    pub(crate) prefix: String,
}

/// The arguments up to the one that is being typed.
struct TypedLine<'a> {
    command: &'static Command,
    operands: usize,
    /// The flag whose value is the next word.
    flag: Option<Flag>,
    /// True after `--`.
    only_operands: bool,
    current: &'a str,
}

/// Returns the candidates for the last of `words`, the arguments of the program.
pub(crate) fn expected(words: &[String]) -> Expected {
    let (current, before) = match words.split_last() {
        Some((current, before)) => (current.as_str(), before),
        None => ("", words),
    };
    if let Some((help, rest)) = before.split_first()
        && help == "help"
    {
        return TypedLine::read(rest, current).subcommands();
    }
    TypedLine::read(before, current).expected()
}

impl<'a> TypedLine<'a> {
    fn read(before: &[String], current: &'a str) -> Self {
        let mut line = Self {
            command: &ROOT,
            operands: 0,
            flag: None,
            only_operands: false,
            current,
        };
        for word in before {
            line.take(word);
        }
        line
    }

    fn take(&mut self, word: &str) {
        if self.flag.take().is_some() {
            return;
        }
        if word == "--" {
            self.only_operands = true;
        } else if word.starts_with('-') && !self.only_operands {
            self.flag = self.flag_of(word).filter(|flag| !flag.value.is_empty());
        } else if let Some(command) = self.subcommand(word) {
            self.command = command;
        } else {
            self.operands += 1;
        }
    }

    fn subcommand(&self, word: &str) -> Option<&'static Command> {
        let mut commands = self.command.commands.iter().copied();
        commands.find(|command| self.operands == 0 && command.words().any(|own| own == word))
    }

    fn flag_of(&self, word: &str) -> Option<Flag> {
        let name = word.trim_start_matches('-');
        let mut flags = self.command.all_flags();
        flags.find(|flag| [flag.long, flag.alias].contains(&name))
    }

    fn expected(&self) -> Expected {
        if let Some(flag) = self.flag {
            return value(flag.kind, "");
        }
        if let Some((name, _)) = self.current.split_once('=')
            && let Some(flag) = self.flag_of(name)
        {
            return value(flag.kind, &format!("{name}="));
        }
        let takes_none = self.command.operand_kinds.is_empty() && self.command.commands.is_empty();
        if self.current.starts_with('-') || takes_none && self.command.operands.is_empty() {
            return self.flags();
        }
        let kinds = self.command.operand_kinds;
        let kind = kinds.get(self.operands).or_else(|| kinds.last());
        let takes_more = self.operands < self.command.most_operands();
        let mut expected = match kind {
            Some(kind) if takes_more => value(*kind, ""),
            _ => value(Kind::Text, ""),
        };
        if self.operands == 0 {
            expected.candidates.extend(self.subcommands().candidates);
        }
        expected
    }

    fn subcommands(&self) -> Expected {
        let all = self.command.commands.iter();
        let named = all.flat_map(|command| command.words().map(|word| (word, command.brief)));
        Expected {
            candidates: named
                .map(|(word, about)| (word.to_owned(), about.to_owned()))
                .collect(),
            ..value(Kind::Text, "")
        }
    }

    fn flags(&self) -> Expected {
        let long = |flag: Flag| (format!("--{}", flag.long), few_words(flag.help).to_owned());
        Expected {
            candidates: self.command.all_flags().map(long).collect(),
            ..value(Kind::Text, "")
        }
    }
}

fn value(kind: Kind, prefix: &str) -> Expected {
    let candidates = match kind {
        Kind::Choice(words) => {
            let whole = words.iter().map(|word| format!("{prefix}{word}"));
            whole.map(|word| (word, String::new())).collect()
        }
        Kind::Command => return TypedLine::read(&[], "").subcommands(),
        _ => Vec::new(),
    };
    Expected {
        candidates,
        kind,
        prefix: prefix.to_owned(),
    }
}

/// The help up to its first pause: a shell shows it in a column.
fn few_words(help: &'static str) -> &'static str {
    let end = help.find([';', ':', '(', ',']).unwrap_or(help.len());
    help.get(..end).unwrap_or(help).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn offered(line: &str) -> Vec<String> {
        let expected = expected(&words(line));
        let candidates = expected.candidates.into_iter();
        candidates.map(|(word, _)| word).collect()
    }

    #[test]
    fn commands_and_their_flags_are_offered() {
        assert!(offered("").contains(&"start".to_owned()));
        assert!(offered("").contains(&"mariadb".to_owned()));
        assert!(offered("app ").contains(&"connect".to_owned()));
        assert!(!offered("app ").contains(&"start".to_owned()));
        assert!(offered("start --").contains(&"--server".to_owned()));
        assert!(offered("start --").contains(&"--help".to_owned()));
        assert!(offered("app list ").contains(&"--json".to_owned()));
        assert!(offered("help app ").contains(&"list".to_owned()));
        assert!(offered("help ").contains(&"app".to_owned()));
        assert!(
            offered("app list extra ").is_empty()
                || !offered("app list extra ").contains(&"app".to_owned())
        );
    }

    #[test]
    fn values_are_offered_where_they_stand() {
        assert!(offered("mysql --tls ").contains(&"verify-ca".to_owned()));
        assert!(offered("mariadb --tls=").contains(&"--tls=verify".to_owned()));
        assert_eq!(offered("completions "), ["bash", "zsh", "fish"]);
        assert!(offered("app add ").contains(&"https".to_owned()));
        for (line, kind) in [
            ("app connect ", Kind::Application),
            ("app connect --json ", Kind::Application),
            ("app connect one ", Kind::Application),
            ("app trust one ", Kind::Text),
            ("relay revoke --data dir ", Kind::Connector),
            ("relay --data ", Kind::Directory),
            ("start --server ", Kind::Server),
            ("start --server u ", Kind::Text),
            ("tunnel-server --authfile ", Kind::File),
            ("man ", Kind::Directory),
            ("start -- --server ", Kind::Text),
        ] {
            assert_eq!(expected(&words(line)).kind, kind, "{line}");
        }
        let server = expected(&words("start --server=ht"));
        assert_eq!(
            (server.kind, server.prefix.as_str()),
            (Kind::Server, "--server=")
        );
    }
}
