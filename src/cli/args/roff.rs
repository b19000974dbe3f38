//! The manual page of a command, printed from the table in roff's `man` macros.

use std::fmt::Write as _;

use super::command::Command;
use super::help::wrapped;

/// Characters of a line of text: 80 with the escapes that most lines have.
const LINE: usize = 70;

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
        push(&mut page, &title.replace('-', "\\-"));
        section(&mut page, "NAME");
        let also = self.also.iter().map(|word| format!(", postern-{word}"));
        let names = name + &also.collect::<String>();
        let brief = format!("{} \\- {}", escaped(&names), escaped(self.brief));
        push(&mut page, &brief);
        section(&mut page, "SYNOPSIS");
        push(&mut page, ".nf");
        for line in self.usage_lines(self.name) {
            push(&mut page, &escaped(&line));
        }
        push(&mut page, ".fi");
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
                _ if heading == self.of_last.1 => push(page, &format!(".SS {}", escaped(heading))),
                _ => section(page, &heading.to_uppercase()),
            }
            rows.iter()
                .for_each(|(tag, text)| item(page, tag.trim(), text));
        }
    }

    /// Their lines are the table's own, columns and all.
    fn push_notes(&self, page: &mut String) {
        if self.notes.is_empty() {
            return;
        }
        section(page, "NOTES");
        push(page, ".nf");
        for line in self.notes.trim_end().lines() {
            push(page, &escaped(line));
        }
        push(page, ".fi");
    }

    /// The command that it belongs to, and its own subcommands.
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
    push(page, &format!(".SH {title}"));
}

/// A tagged paragraph.
fn item(page: &mut String, tag: &str, text: &str) {
    push(page, ".TP");
    push(page, &format!("\\fB{}\\fR", escaped(tag)));
    push_text(page, text);
}

/// Text in lines of the length that formatters' own checks ask for.
fn push_text(page: &mut String, text: &str) {
    for line in wrapped(text, LINE) {
        push(page, &escaped(&line));
    }
}

fn push(page: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(page, "{line}");
}

/// A line of text whose every character is meant.
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
