//! `postern doctor`: looks at all that sharing needs, a line each. It changes nothing.

mod here;
mod network;

use serde_json::{Value, json};

use crate::cli::args::command::Parsed;
use crate::cli::args::operations::{DOCTOR, STRICT};
use crate::cli::args::table::JSON;
use crate::cli::failure::{Failure, printable};
use crate::cli::output::print;
use crate::cli::serve::data_dir;

/// What was found of one thing.
pub(super) struct Finding {
    /// What was looked at.
    check: &'static str,
    state: State,
    text: String,
    /// What to do.
    hint: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// It may be meant.
    Note,
    Wrong,
}

impl Finding {
    fn good(check: &'static str, text: impl Into<String>) -> Self {
        Self {
            check,
            state: State::Good,
            text: text.into(),
            hint: None,
        }
    }

    fn note(check: &'static str, text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            state: State::Note,
            hint: Some(hint.into()),
            ..Self::good(check, text)
        }
    }

    fn wrong(check: &'static str, text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            state: State::Wrong,
            ..Self::note(check, text, hint)
        }
    }

    fn word(&self) -> &'static str {
        match self.state {
            State::Good => "ok",
            State::Note => "note",
            State::Wrong => "WRONG",
        }
    }

    fn lines(&self) -> String {
        let mut lines = format!(
            "{:7}{}: {}\n",
            self.word(),
            self.check,
            printable(&self.text)
        );
        if let Some(hint) = &self.hint {
            lines.push_str(&format!("       {}\n", printable(hint)));
        }
        lines
    }

    fn to_json(&self) -> Value {
        json!({"check": self.check, "state": self.word().to_lowercase(), "text": self.text, "hint": self.hint})
    }
}

/// Looks, and says what it finds as it finds it.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    DOCTOR.run(arguments, examine)
}

fn examine(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let is_json = parsed.has(&JSON);
    let mut all = Vec::new();
    let mut tell = |findings: Vec<Finding>| {
        if !is_json {
            print(&findings.iter().map(Finding::lines).collect::<String>())?;
        }
        all.extend(findings);
        Ok::<(), Failure>(())
    };
    tell(here::directory(&home))?;
    let files = here::Files::look(&home);
    tell(here::files(&home, &files))?;
    tell(vec![here::manager(&home)])?;
    tell(here::ports(&home))?;
    tell(vec![here::clock(), here::plugin(&home, &files)])?;
    for server in network::servers(&files) {
        tell(network::server(&home, &server, &files))?;
    }
    tell(network::applications(&files))?;
    if is_json {
        let shown: Vec<Value> = all.iter().map(Finding::to_json).collect();
        print(&format!("{:#}\n", Value::from(shown)))?;
    }
    let wrong = all.iter().filter(|finding| finding.state == State::Wrong);
    match wrong.count() {
        count @ 1.. if parsed.has(&STRICT) => Err(Failure::operation(format!(
            "{count} of {} are wrong",
            all.len()
        ))),
        _ => Ok(()),
    }
}
