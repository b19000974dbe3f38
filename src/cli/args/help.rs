//! Help and man page of a command, printed from the table.

use std::fmt::Write as _;

use super::command::{Command, Flag, Variable};

/// Position of the second column, in characters.
const COLUMN: usize = 30;
/// The width that help is wrapped to, in characters.
const WIDTH: usize = 80;
/// Width of text in man pages, in characters: 80 with the escapes of most lines.
const PAGE_WIDTH: usize = 70;

/// Entries of a list, each with its description.
type Rows = Vec<(String, &'static str)>;

impl Command {
    /// Returns the help, with the name that was typed if the command has several.
    pub(crate) fn help(&self, name: &str) -> String {
        let mut text = String::new();
        for line in wrapped(self.about, WIDTH) {
            push_line(&mut text, &line);
        }
        push_line(&mut text, "");
        for (number, line) in self.usage_lines(name).iter().enumerate() {
            let begin = if number == 0 { "Usage:" } else { "      " };
            push_line(&mut text, &format!("{begin} {line}"));
        }
        for (heading, rows) in self.lists(Self::listed) {
            if !rows.is_empty() {
                push_line(&mut text, &format!("\n{heading}:"));
            }
            text.extend(rows.iter().map(|(first, about)| entry(first, about)));
        }
        if !self.notes.is_empty() {
            push_line(&mut text, "");
            push_line(&mut text, self.notes.trim_end());
        }
        text
    }

    /// Lists of subcommands with names by `named`, options and variables, each with its heading.
    pub(super) fn lists(&self, named: impl Fn(&Self) -> String) -> [(&'static str, Rows); 4] {
        let commands = self.commands.iter();
        let (common, last) = self.flag_groups();
        let option = |flag: Flag| (flag.spelling(), flag.help);
        let variable = |Variable { name, help }: &'static _| (format!("  {name}"), *help);
        [
            (
                "Commands",
                commands.map(|of| (named(of), of.brief)).collect(),
            ),
            ("Options", common.map(option).collect()),
            (self.of_last.1, last.iter().copied().map(option).collect()),
            (
                "Environment",
                self.environment.iter().map(variable).collect(),
            ),
        ]
    }

    /// Lines of the usage.
    pub(super) fn usage_lines(&self, name: &str) -> Vec<String> {
        let program = ["postern", name].join(" ");
        let program = program.trim_end();
        let mut lines = Vec::new();
        if self.commands.is_empty() || !self.flags.is_empty() && !name.is_empty() {
            let flags = if self.flags.is_empty() {
                ""
            } else {
                " [options]"
            };
            let operands = match self.operands {
                "" => String::new(),
                operands => format!(" {operands}"),
            };
            lines.push(format!("{program}{flags}{operands}"));
        }
        if !self.commands.is_empty() {
            lines.push(format!("{program} COMMAND"));
        }
        lines
    }

    /// `  http|https [target]`: its line in the list of commands.
    fn listed(&self) -> String {
        let mut text = format!("  {}", self.last_word());
        for word in self.also {
            text.push('|');
            text.push_str(word);
        }
        let words: Vec<&str> = self
            .commands
            .iter()
            .map(|command| command.last_word())
            .collect();
        let fits = |named: &str| text.chars().count() + 3 + named.chars().count() <= COLUMN;
        let shortened = |count: usize| Some(words.get(..count)?.join("|") + "|…");
        let named = match words.join("|") {
            all if all.is_empty() => self.operands.to_owned(),
            all if fits(&all) => all,
            all => [3, 2, 1]
                .into_iter()
                .filter_map(shortened)
                .find(|named| fits(named))
                .unwrap_or(all),
        };
        if !named.is_empty() {
            text.push(' ');
            text.push_str(&named);
        }
        text
    }
}

/// Puts `text` into the second column; below the first one if that is long.
fn entry(first: &str, text: &str) -> String {
    let mut lines = String::new();
    let mut column = first.to_owned();
    for words in wrapped(text, WIDTH - COLUMN) {
        if column.chars().count() + 2 > COLUMN {
            push_line(&mut lines, &column);
            column.clear();
        }
        push_line(&mut lines, &format!("{column:COLUMN$}{words}"));
        column.clear();
    }
    lines
}

fn push_line(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

/// Wraps a text to `width` characters; a longer word gets a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

impl Command {
    /// The name of its page: `postern-app-add`.
    pub(crate) fn page_name(&self) -> String {
        self.whole_name().replace(' ', "-")
    }

    /// `postern app add`.
    fn whole_name(&self) -> String {
        format!("postern {}", self.name).trim_end().to_owned()
    }

    /// The page, for section 1.
    pub(crate) fn page(&self, version: &str) -> String {
        let mut page = String::new();
        let name = self.page_name();
        let title = format!(".TH {} 1 \"\" \"postern {version}\"", name.to_uppercase());
        push_line(&mut page, &title.replace('-', "\\-"));
        section(&mut page, "NAME");
        let also = self.also.iter().map(|word| format!(", postern-{word}"));
        let names = name + &also.collect::<String>();
        let brief = format!("{} \\- {}", escaped(&names), escaped(self.brief));
        push_line(&mut page, &brief);
        section(&mut page, "SYNOPSIS");
        push_line(&mut page, ".nf");
        for line in self.usage_lines(self.name) {
            push_line(&mut page, &escaped(&line));
        }
        push_line(&mut page, ".fi");
        section(&mut page, "DESCRIPTION");
        push_text(&mut page, self.about);
        self.push_lists(&mut page);
        self.push_notes(&mut page);
        self.push_see_also(&mut page);
        page
    }

    fn push_lists(&self, page: &mut String) {
        let named = |of: &Self| format!("{} {}", of.whole_name(), of.operands);
        for (heading, rows) in self.lists(named) {
            match rows.as_slice() {
                [] => {}
                _ if heading == self.of_last.1 => {
                    push_line(page, &format!(".SS {}", escaped(heading)))
                }
                _ => section(page, &heading.to_uppercase()),
            }
            rows.iter()
                .for_each(|(tag, text)| item(page, tag.trim(), text));
        }
    }

    /// Adds the notes; their lines and columns stay as they are in the table.
    fn push_notes(&self, page: &mut String) {
        if self.notes.is_empty() {
            return;
        }
        section(page, "NOTES");
        push_line(page, ".nf");
        for line in self.notes.trim_end().lines() {
            push_line(page, &escaped(line));
        }
        push_line(page, ".fi");
    }

    /// Lists the parent command and the subcommands.
    fn push_see_also(&self, page: &mut String) {
        let parent = match self.name.rsplit_once(' ') {
            Some((parent, _)) => Some(format!("postern-{parent}").replace(' ', "-")),
            None => (!self.name.is_empty()).then(|| "postern".to_owned()),
        };
        let children = self.commands.iter().map(|command| command.page_name());
        let pages = parent.into_iter().chain(children);
        let named: Vec<String> = pages.map(|name| format!("{name}(1)")).collect();
        if !named.is_empty() {
            section(page, "SEE ALSO");
            push_text(page, &named.join(", "));
        }
    }
}

fn section(page: &mut String, title: &str) {
    push_line(page, &format!(".SH {title}"));
}

/// Adds a tagged paragraph.
fn item(page: &mut String, tag: &str, text: &str) {
    push_line(page, ".TP");
    push_line(page, &format!("\\fB{}\\fR", escaped(tag)));
    push_text(page, text);
}

/// Adds a text in lines of a length that checks of man pages accept.
fn push_text(page: &mut String, text: &str) {
    for line in wrapped(text, PAGE_WIDTH) {
        push_line(page, &escaped(&line));
    }
}

/// Escapes a line of text.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let text = text.replace('\'', "\\(aq").replace('…', "...");
    if text.starts_with('.') {
        return format!("\\&{text}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::root::every_command;
    use super::*;

    #[test]
    fn a_help_names_everything_and_fits_the_width() {
        for command in every_command() {
            let help = command.help(command.name);
            for flag in command.all_flags() {
                assert!(help.contains(&flag.spelling()), "{help}");
            }
            for variable in command.environment {
                assert!(help.contains(&format!("\n  {} ", variable.name)), "{help}");
            }
            for subcommand in command.commands {
                assert!(help.contains(&subcommand.listed()), "{help}");
            }
            for line in help.lines() {
                assert!(line.chars().count() <= WIDTH, "{}: {line}", command.name);
            }
        }
    }

    #[test]
    fn every_command_has_a_page_that_names_its_flags() {
        for command in every_command() {
            let page = command.page("1.2.3");
            assert!(page.starts_with(".TH POSTERN"), "{page}");
            assert!(page.is_ascii(), "{page}");
            assert!(
                !command.brief.is_empty() && !command.about.is_empty(),
                "{}",
                command.name
            );
            for flag in command.all_flags() {
                let spelled = format!("\\fB{}\\fR\n", escaped(flag.spelling().trim_start()));
                assert!(page.contains(&spelled), "{page}");
            }
        }
    }

    #[test]
    fn nothing_in_a_text_is_an_order_to_the_formatter() {
        assert_eq!(escaped(".so /etc/passwd"), "\\&.so /etc/passwd");
        assert_eq!(escaped("'a' \\ -x"), "\\(aqa\\(aq \\e \\-x");
    }
}
