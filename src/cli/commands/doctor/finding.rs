//! Findings of the doctor and their output.

use serde_json::{Value, json};

use crate::cli::failure::printable;
use crate::net::in_words;

/// Result of one check.
pub(super) struct Finding {
    /// Name of the check.
    check: &'static str,
    pub(super) state: Severity,
    text: String,
    /// Suggested fix.
    hint: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Good,
    /// It may be meant.
    Note,
    Wrong,
}

impl Finding {
    pub(super) fn good(check: &'static str, text: impl Into<String>) -> Self {
        Self {
            check,
            state: Severity::Good,
            text: in_words(text.into()),
            hint: None,
        }
    }

    pub(super) fn note(
        check: &'static str,
        text: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            state: Severity::Note,
            hint: Some(hint.into()),
            ..Self::good(check, text)
        }
    }

    pub(super) fn wrong(
        check: &'static str,
        text: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            state: Severity::Wrong,
            ..Self::note(check, text, hint)
        }
    }

    pub(super) fn word(&self) -> &'static str {
        match self.state {
            Severity::Good => "ok",
            Severity::Note => "note",
            Severity::Wrong => "WRONG",
        }
    }

    pub(super) fn lines(&self) -> String {
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

    pub(super) fn to_json(&self) -> Value {
        json!({"check": self.check, "state": self.word().to_lowercase(), "text": self.text, "hint": self.hint})
    }
}
