//! Record of the soak: counts by kind, and violations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Result of one visit.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All of it came, and is right.
    Whole,
    /// It was said that it cannot be had now: a status such as 502.
    Refused(u16),
    /// It broke, and that could be seen: an early end, a reset, silence.
    Broken(String),
}

/// Answer to a statement that adds a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Ran,
    DidNotRun,
    /// Nobody could say.
    Unknown,
}

#[derive(Default)]
pub(crate) struct Ledger(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    visits: BTreeMap<&'static str, Counts>,
    faults: BTreeMap<String, u64>,
    /// Number of breaks by cause.
    breaks: BTreeMap<String, u64>,
    statuses: BTreeMap<u16, u64>,
    wrong: Vec<String>,
    /// Requests that must not come twice.
    seen: BTreeSet<u64>,
    statements: BTreeMap<u64, Told>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    whole: u64,
    refused: u64,
    broken: u64,
}

impl Ledger {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn visited(&self, kind: &'static str, outcome: Outcome) {
        let mut entries = self.entries();
        let counts = entries.visits.entry(kind).or_default();
        match outcome {
            Outcome::Whole => counts.whole += 1,
            Outcome::Refused(status) => {
                counts.refused += 1;
                *entries.statuses.entry(status).or_default() += 1;
            }
            Outcome::Broken(how) => {
                counts.broken += 1;
                *entries.breaks.entry(how).or_default() += 1;
            }
        }
    }

    pub(crate) fn done(&self, fault: &str) {
        *self.entries().faults.entry(fault.to_owned()).or_default() += 1;
    }

    /// Records a violation.
    pub(crate) fn wrong(&self, what: String) {
        eprintln!("WRONG: {what}");
        self.entries().wrong.push(what);
    }

    /// A request with a number of its own has come to the application.
    pub(crate) fn came(&self, number: u64) {
        if !self.entries().seen.insert(number) {
            self.wrong(format!("the request {number} came twice"));
        }
    }

    pub(crate) fn told(&self, number: u64, told: Told) {
        self.entries().statements.insert(number, told);
    }

    pub(crate) fn statements(&self) -> BTreeMap<u64, Told> {
        self.entries().statements.clone()
    }

    pub(crate) fn all_wrong(&self) -> Vec<String> {
        self.entries().wrong.clone()
    }

    /// Kinds of which nothing came whole.
    pub(crate) fn never_whole(&self, kinds: &[&'static str]) -> Vec<&'static str> {
        let entries = self.entries();
        let whole = |kind: &&&str| entries.visits.get(*kind).is_some_and(|of| of.whole > 0);
        let never = kinds.iter().filter(|kind| !whole(kind));
        never.copied().collect()
    }

    pub(crate) fn print(&self) {
        let entries = self.entries();
        println!(
            "{:<22} {:>8} {:>8} {:>8}",
            "visits", "whole", "refused", "broken"
        );
        for (kind, of) in &entries.visits {
            let Counts {
                whole,
                refused,
                broken,
            } = of;
            println!("{kind:<22} {whole:>8} {refused:>8} {broken:>8}");
        }
        println!("faults: {}", list(&entries.faults));
        println!("refused with: {}", list(&entries.statuses));
        println!("broken by: {}", list(&entries.breaks));
        let told = |what| {
            entries
                .statements
                .values()
                .filter(|told| **told == what)
                .count()
        };
        println!(
            "statements: {} ran, {} did not, of {} nobody could say",
            told(Told::Ran),
            told(Told::DidNotRun),
            told(Told::Unknown)
        );
    }
}

fn list<K: std::fmt::Display>(counts: &BTreeMap<K, u64>) -> String {
    let each = counts
        .iter()
        .map(|(what, count)| format!("{count} × {what}"));
    each.collect::<Vec<_>>().join(", ")
}
