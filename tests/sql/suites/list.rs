//! `tests/data/suites.txt`: the files that are run, and the statements that are no proof of anything.

use regex_lite::Regex;
use support::database::Kind;

/// Lines and patterns of the list.
pub(super) struct List {
    files: Vec<(String, String)>,
    rules: Vec<(Treatment, Regex)>,
}

/// Treatment of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Treatment {
    /// Run and compared.
    Whole,
    /// Run; of a result its columns alone are compared, of an error its number.
    Volatile,
    /// Not run.
    LeftOut,
}

impl List {
    /// Reads the list.
    pub(super) fn read() -> List {
        let mut list = List {
            files: Vec::new(),
            rules: Vec::new(),
        };
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/suites.txt");
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#');
        for line in text.lines().filter(is_entry) {
            list.take_in(line)
                .unwrap_or_else(|| panic!("suites.txt: {line}"));
        }
        list
    }

    fn take_in(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ')?;
        let treatment = match word {
            "volatile" => Treatment::Volatile,
            "left-out" => Treatment::LeftOut,
            kind => {
                let names = rest.split_whitespace();
                self.files
                    .extend(names.map(|name| (kind.to_owned(), name.to_owned())));
                return Some(());
            }
        };
        let (pattern, reason) = rest.rsplit_once(" -- ")?;
        let pattern = Regex::new(&format!("(?i){}", pattern.trim())).ok()?;
        self.rules.push((treatment, pattern));
        (!reason.is_empty()).then_some(())
    }

    /// Names of the files for a server of that kind.
    pub(super) fn files(&self, kind: Kind) -> Vec<&str> {
        let own = match kind {
            Kind::MariaDb => "mariadb",
            Kind::MySql => "mysql",
        };
        let files = self
            .files
            .iter()
            .filter(|(kind, _)| kind == own || kind == "both");
        files.map(|(_, name)| name.as_str()).collect()
    }

    /// The treatment of a statement of a file: the strongest of the patterns that fit `FILE: STATEMENT`.
    pub(super) fn treatment(&self, file: &str, sql: &str) -> Treatment {
        let words: Vec<&str> = sql.split_whitespace().collect();
        let text = format!("{file}: {}", words.join(" "));
        let fitting = self
            .rules
            .iter()
            .filter(|(_, pattern)| pattern.is_match(&text));
        let strongest = fitting.map(|(treatment, _)| *treatment).max();
        strongest.unwrap_or(Treatment::Whole)
    }
}
