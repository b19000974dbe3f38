//! Views, routines, triggers and events as statements that recreate them, each with its original modes, character sets
//! and time zone; and the order of views that read each other.

use mysql::Row;

use super::one_statement::{self, ReadingModes, comment, quoted};
use crate::sqlweb::catalogue::{identifier, text};

/// Mode in which the file is read: backslashes escape, a 0 does not mean a new number, invalid dates are allowed, and a
/// missing engine is an error.
pub(super) const MODE: &str = "NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION";

/// Statements that create a view from a text on every server.
const PREPARED: &str = "\
PREPARE postern_view FROM @postern_text;
EXECUTE postern_view;
DEALLOCATE PREPARE postern_view;
";

/// A view, routine, trigger or event.
pub(super) struct Program {
    /// Its kind in `SHOW CREATE` and `DROP`: `VIEW`, `PACKAGE BODY`.
    pub(super) kind: String,
    pub(super) name: String,
    /// The statement that creates it.
    pub(super) create: String,
    /// Values of session variables when it was created.
    session: Vec<(&'static str, String)>,
    /// The database's collation when it was created.
    collation: Option<String>,
    /// True for a view that needs a temporary one in its place until it can be created.
    pub(super) needs_placeholder: bool,
}

/// Properties of a file and its server on which a program's statements depend.
pub(super) struct DumpContext {
    /// The database's collation.
    pub(super) collation: String,
    /// True if the server runs any statement from a text, as MariaDB since 10.6.2. Consoles remove comments and
    /// carriage returns from statements, but not from texts.
    pub(super) runs_texts: bool,
    /// True if existing objects are dropped first.
    pub(super) drop: bool,
}

impl Program {
    /// Reads the answer to `SHOW CREATE`; `None` if the server does not show the text.
    pub(super) fn of(kind: &str, name: &str, row: &Row) -> Option<Self> {
        let column = |wanted: &dyn Fn(&str) -> bool| {
            let columns = row.columns_ref();
            let at = columns.iter().position(|c| wanted(&c.name_str()))?;
            text(row, at)
        };
        let named = |name: &str| column(&|column| column == name);
        let create =
            column(&|name| name.starts_with("Create ") || name == "SQL Original Statement")?;
        let variables = [
            "character_set_client",
            "collation_connection",
            "sql_mode",
            "time_zone",
        ];
        let set = |variable: &&'static str| Some((*variable, named(variable)?));
        Some(Self {
            kind: kind.to_owned(),
            name: name.to_owned(),
            create,
            session: variables.iter().filter_map(set).collect(),
            collation: named("Database Collation"),
            needs_placeholder: false,
        })
    }

    /// Its kind and name, for people.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.kind.to_lowercase(), identifier(&self.name))
    }

    /// Removes the definer, so that it will run as the restoring user.
    pub(super) fn without_definer(&mut self) {
        if let Some((start, end)) = definer(&self.create) {
            self.create.replace_range(start..end, "");
        }
    }

    /// Removes the database from a trigger's head, where MariaDB keeps it if it was written.
    pub(super) fn without_database(&mut self, db: &str) {
        let start = definer(&self.create).map_or(0, |(_, end)| end);
        let mut at = start;
        for word in ["TRIGGER", "ON"] {
            let Some(behind) = after_word(&self.create, at, word) else {
                return;
            };
            at = behind;
            let skipped = after_word(&self.create, at, "EXISTS");
            // `IF NOT EXISTS` may follow immediately.
            if word == "TRIGGER" && skipped.is_some_and(|skipped| skipped < at + 20) {
                at = skipped.unwrap_or(at);
            }
            let rest = self.create.split_at(at).1;
            let blanks = rest.len() - rest.trim_start().len();
            for qualifier in [format!("{}.", identifier(db)), format!("{db}.")] {
                if rest.trim_start().starts_with(&qualifier) {
                    let from = at + blanks;
                    self.create.replace_range(from..from + qualifier.len(), "");
                    break;
                }
            }
        }
    }

    /// The statements that create it, and then restore the session.
    pub(super) fn write(&self, frame: &DumpContext) -> String {
        let mut out = comment(&self.title());
        let other = self.collation.as_ref();
        let other = other.filter(|collation| **collation != frame.collation);
        if let Some(collation) = other {
            out += &format!("ALTER DATABASE COLLATE {};\n", quoted(collation));
        }
        let as_text = self.goes_as_text(frame);
        if as_text {
            out += &format!("SET @postern_text = {};\n", quoted(&self.create));
        }
        out += &self.settings(as_text);
        if frame.drop || self.needs_placeholder {
            // Under its own mode, since packages exist only in one mode.
            let name = identifier(&self.name);
            out += &format!("DROP {} IF EXISTS {name};\n", self.kind);
        }
        out += &match (as_text, self.is_view()) {
            (true, true) => PREPARED.to_owned(),
            (true, false) => "EXECUTE IMMEDIATE @postern_text;\n".to_owned(),
            (false, true) => format!("{};\n", self.create),
            (false, false) => delimited(&self.create),
        };
        out += &format!("SET NAMES utf8mb4;\nSET sql_mode = '{MODE}', time_zone = '+00:00';\n");
        if other.is_some() {
            out += &format!("ALTER DATABASE COLLATE {};\n", quoted(&frame.collation));
        }
        out.push('\n');
        out
    }

    fn is_view(&self) -> bool {
        self.kind == "VIEW"
    }

    /// True if the server is to run it from a text: a program, which a console would change, or a view that was created
    /// in another character set than the file's.
    fn goes_as_text(&self, frame: &DumpContext) -> bool {
        if self.is_view() {
            return !self.create.is_ascii() && !self.is_utf8();
        }
        frame.runs_texts
    }

    /// True if it was created in UTF-8.
    fn is_utf8(&self) -> bool {
        let client = self
            .session
            .iter()
            .find(|(name, _)| *name == "character_set_client");
        client.is_none_or(|(_, charset)| charset.starts_with("utf8"))
    }

    /// Sets the original session. If the statement itself is in the file, which is UTF-8, its client's character set is
    /// left out.
    fn settings(&self, as_text: bool) -> String {
        let keeps_client = as_text || self.create.is_ascii();
        let wanted = |(name, _): &&(&str, String)| keeps_client || *name != "character_set_client";
        let set = |(name, value): &(&str, String)| format!("{name} = {}", quoted(value));
        let all: Vec<String> = self.session.iter().filter(wanted).map(set).collect();
        format!("SET {};\n", all.join(", "))
    }

    /// Reason that its text must not be in a file; `None` if it is one statement that creates it.
    pub(super) fn fault(&self, frame: &DumpContext) -> Option<&'static str> {
        let mode = self.session.iter().find(|(name, _)| *name == "sql_mode");
        let mode = mode.map_or(MODE, |(_, mode)| mode);
        let reading = ReadingModes {
            is_program: !self.is_view(),
            ..ReadingModes::of_mode(mode)
        };
        // A console knows no names in double quotes: a backslash before the last one takes it for an escaped one.
        let of_console = ReadingModes {
            ansi_quotes: false,
            ..reading
        };
        one_statement::fault(&self.create, &self.kind, reading).or_else(|| {
            let is_read = reading.ansi_quotes && !self.goes_as_text(frame);
            let fault =
                is_read.then(|| one_statement::fault(&self.create, &self.kind, of_console))?;
            fault.and(Some(
                "a console reads a backslash in a double quoted name differently",
            ))
        })
    }

    /// Its text as a comment, for a broken view.
    pub(super) fn as_comment(&self) -> String {
        let title = format!("{} does not work; it was created by:", self.title());
        let lines = std::iter::once(title.as_str()).chain(self.create.lines());
        lines.map(comment).chain(["\n".to_owned()]).collect()
    }

    /// Describes differences of the restored program.
    pub(super) fn losses(&self, frame: &DumpContext) -> Option<&'static str> {
        if frame.runs_texts || self.is_view() {
            return None;
        }
        if self.create.contains("\r\n") {
            return Some(
                "has lines ending in CR LF; without --binary-mode the console changes them to LF",
            );
        }
        (!self.create.is_ascii() && !self.is_utf8())
            .then_some("will say that its client used utf8mb4")
    }
}

/// Ends a statement that may contain semicolons by a delimiter that it does not contain.
fn delimited(create: &str) -> String {
    let signs = ["$$", "//", ";;", "||", "~~", "@@", "^^"].map(str::to_owned);
    // For a console a delimiter is one word without quotes.
    let words = (1..).map(|n: u64| format!("$postern{n}$"));
    let mut signs = signs.into_iter().chain(words);
    let sign = signs.find(|sign| !create.contains(sign.as_str()));
    let sign = sign.expect("no text holds all numbers");
    // On a line of its own, since the last line may be a comment.
    format!("DELIMITER {sign}\n{create}\n{sign}\nDELIMITER ;\n")
}

/// Start and end of `DEFINER=… ` in the head of a statement from the server.
fn definer(create: &str) -> Option<(usize, usize)> {
    const MARK: &str = "DEFINER=";
    let start = create.find(MARK)?;
    // Anything behind the head is the person's own text.
    let before = create.split_at(start).0;
    let is_head = before.split_whitespace().all(|word| {
        matches!(word, "CREATE" | "OR" | "REPLACE" | "AGGREGATE") || word.starts_with("ALGORITHM=")
    });
    let mut at = start + MARK.len();
    at += name_length(create.get(at..)?)?;
    if create.get(at..)?.starts_with('@') {
        at += 1 + name_length(create.get(at + 1..)?)?;
    }
    (is_head && create.get(at..)?.starts_with(' ')).then_some((start, at + 1))
}

/// Bytes of the name at the beginning of a text, with its quotes.
fn name_length(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '`' | '"'));
    let Some(quote) = quote else {
        return text.find([' ', '@']);
    };
    let mut rest = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = rest.next() {
        if c != quote {
            continue;
        }
        if rest.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + 1);
        }
    }
    None
}

/// End of the first separate `word` from `at` on, in any case.
fn after_word(text: &str, at: usize, word: &str) -> Option<usize> {
    let upper = text.to_ascii_uppercase();
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_`\"$.".contains(c));
    let mut from = at;
    loop {
        let found = from + upper.get(from..)?.find(word)?;
        let end = found + word.len();
        let before = upper.get(..found)?.chars().next_back();
        if !is_part(before) && !is_part(upper.get(end..)?.chars().next()) {
            return Some(end);
        }
        from = end;
    }
}

/// Orders `views` so that each comes after those that its text names. Views that name each other need placeholders.
pub(super) fn ordered(views: Vec<Program>) -> Vec<Program> {
    let named = named_by_each(&views);
    let mut waiting: Vec<(usize, Program, Vec<usize>)> = views
        .into_iter()
        .zip(named)
        .enumerate()
        .map(|(i, (view, named))| (i, view, named))
        .collect();
    let mut done = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let Some(ready) = waiting.iter().position(|(_, _, named)| named.is_empty()) else {
            for (_, view, named) in &mut waiting {
                view.needs_placeholder = true;
                named.clear();
            }
            continue;
        };
        let (made, view, _) = waiting.remove(ready);
        for (_, _, named) in &mut waiting {
            named.retain(|i| *i != made);
        }
        done.push(view);
    }
    done
}

/// Numbers of the other views that each one names.
fn named_by_each(views: &[Program]) -> Vec<Vec<usize>> {
    let names = views
        .iter()
        .map(|view| identifier(&view.name).to_lowercase());
    let names: Vec<String> = names.collect();
    let named_by = |(own, view): (usize, &Program)| {
        let text = view.create.to_lowercase();
        let is_named = |(i, name): &(usize, &String)| *i != own && reads(&text, name);
        let named = names.iter().enumerate().filter(is_named);
        named.map(|(i, _)| i).collect()
    };
    views.iter().enumerate().map(named_by).collect()
}

/// True if the server's text of a view has `quoted` in the place of a table: in backquotes, and not as a part of a
/// column's name or behind `AS`. Both are in lower case.
fn reads(text: &str, quoted: &str) -> bool {
    text.match_indices(quoted).any(|(at, found)| {
        let (before, behind) = (text.split_at(at).0, text.split_at(at + found.len()).1);
        let is_alias = before.ends_with(" as ") || before.ends_with("` ");
        !is_alias && !behind.starts_with(['.', '`']) && !before.ends_with('`')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Program {
        pub(in crate::sqlweb::dump) fn view(name: &str, create: String) -> Self {
            Self {
                kind: "VIEW".to_owned(),
                name: name.to_owned(),
                create,
                session: Vec::new(),
                collation: None,
                needs_placeholder: false,
            }
        }
    }

    fn trigger(create: &str) -> Program {
        Program::view("t", create.to_owned())
    }

    #[test]
    fn a_definer_is_left_out_and_nothing_else() {
        for (with, without) in [
            (
                "CREATE DEFINER=`a b``@`@`%` PROCEDURE `p`() SELECT 'DEFINER=`x`@`y` '",
                "CREATE PROCEDURE `p`() SELECT 'DEFINER=`x`@`y` '",
            ),
            (
                "CREATE ALGORITHM=MERGE DEFINER=`a`@`h` SQL SECURITY INVOKER VIEW `v` AS select 1",
                "CREATE ALGORITHM=MERGE SQL SECURITY INVOKER VIEW `v` AS select 1",
            ),
            (
                "CREATE DEFINER=\"a\"@\"h\" PACKAGE \"p\" AS END",
                "CREATE PACKAGE \"p\" AS END",
            ),
            ("CREATE DEFINER=`role` EVENT `e`", "CREATE EVENT `e`"),
            (
                "CREATE PROCEDURE `p`() SELECT ' DEFINER=`x`@`y` '",
                "CREATE PROCEDURE `p`() SELECT ' DEFINER=`x`@`y` '",
            ),
        ] {
            let mut program = trigger(with);
            program.without_definer();
            assert_eq!(program.create, without);
        }
    }

    #[test]
    fn a_trigger_is_not_tied_to_its_database() {
        for (from, to) in [
            (
                "CREATE DEFINER=`a`@`h` TRIGGER shop.t BEFORE INSERT ON `shop`.`on` FOR EACH ROW INSERT INTO shop.log VALUES (1)",
                "CREATE DEFINER=`a`@`h` TRIGGER t BEFORE INSERT ON `on` FOR EACH ROW INSERT INTO shop.log VALUES (1)",
            ),
            (
                "CREATE DEFINER=`a`@`h` trigger if not exists `shop`.t before insert on shop.x for each row set @a = 1",
                "CREATE DEFINER=`a`@`h` trigger if not exists t before insert on x for each row set @a = 1",
            ),
            (
                "CREATE DEFINER=`a`@`h` TRIGGER t AFTER DELETE ON other FOR EACH ROW SET @a = 1",
                "CREATE DEFINER=`a`@`h` TRIGGER t AFTER DELETE ON other FOR EACH ROW SET @a = 1",
            ),
        ] {
            let mut program = trigger(from);
            program.without_database("shop");
            assert_eq!(program.create, to);
        }
    }

    #[test]
    fn what_a_console_would_read_differently_is_refused() {
        let frame = |runs_texts| DumpContext {
            collation: String::new(),
            runs_texts,
            drop: false,
        };
        for (name, is_refused) in [
            (r#""a\" # " \g DROP USER b \g SELECT 1 AS ""#, true),
            (r#""a\""#, true),
            (r#""a""b""#, false),
        ] {
            let program = Program {
                kind: "PROCEDURE".to_owned(),
                session: vec![("sql_mode", "ANSI_QUOTES".to_owned())],
                ..trigger(&format!("CREATE PROCEDURE p() SELECT 1 AS {name}"))
            };
            assert_eq!(program.fault(&frame(false)).is_some(), is_refused, "{name}");
            assert_eq!(program.fault(&frame(true)), None, "{name}");
        }
    }

    #[test]
    fn a_delimiter_is_none_that_the_text_holds() {
        let text = delimited("SELECT '$$', ';;', 8 // 2");
        assert!(text.starts_with("DELIMITER ||\n"), "{text}");
        let all = "SELECT '$$ // ;; || ~~ @@ ^^ $postern$ $postern1$'";
        let text = delimited(all);
        assert_eq!(
            text,
            format!("DELIMITER $postern2$\n{all}\n$postern2$\nDELIMITER ;\n")
        );
    }

    #[test]
    fn a_view_reads_what_stands_as_a_table() {
        let create = "create view `v` as select `a`.`b` as `c` from (`d` `e` join `x`.`f` on(1 = 1)) where `g`";
        for name in ["`d`", "`f`", "`v`"] {
            assert!(reads(create, name), "{name}");
        }
        for name in ["`a`", "`c`", "`e`", "`q`"] {
            assert!(!reads(create, name), "{name}");
        }
    }

    #[test]
    fn views_come_after_those_that_they_read() {
        let view = |name: &str, reads: &str| {
            let create = format!("CREATE VIEW `{name}` AS select 1 from {reads}");
            Program::view(name, create)
        };
        let order = ordered(vec![
            view("a", "`B` join `z`"),
            view("b", "`z`"),
            view("x", "`y`"),
            view("y", "`x`"),
            view("z", "`t`"),
        ]);
        let told: Vec<_> = order
            .iter()
            .map(|view| (view.name.as_str(), view.needs_placeholder))
            .collect();
        let expected = [
            ("z", false),
            ("b", false),
            ("a", false),
            ("x", true),
            ("y", true),
        ];
        assert_eq!(told, expected);
    }
}
