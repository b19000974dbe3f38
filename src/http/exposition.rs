//! Figures as Prometheus reads them: its text format, version 0.0.4.

use std::fmt::{Display, Write as _};

/// The media type.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of a histogram's buckets, in milliseconds, and as they are written: in seconds.
const BOUNDS: [(u64, &str); 8] = [
    (5, "0.005"),
    (25, "0.025"),
    (100, "0.1"),
    (500, "0.5"),
    (1000, "1"),
    (5000, "5"),
    (30_000, "30"),
    (u64::MAX, "+Inf"),
];

/// Names and values; the names differ from each other.
pub(crate) type Labels<'a> = &'a [(&'static str, &'a str)];

/// How long things took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Durations {
    /// How many there were in each bucket, and in none before.
    counts: [u64; BOUNDS.len()],
    /// All together, in milliseconds.
    ms: u64,
}

impl Durations {
    /// One more.
    pub(crate) fn note(&mut self, ms: u64) {
        let buckets = self.counts.iter_mut().zip(BOUNDS);
        for (count, _) in buckets.filter(|(_, (bound, _))| ms <= *bound).take(1) {
            *count += 1;
        }
        self.ms = self.ms.saturating_add(ms);
    }
}

/// A text in the making: families, each followed by its samples, which differ in their labels.
#[derive(Default)]
pub(crate) struct Exposition(String);

impl Exposition {
    /// Begins the family `name`; `kind` is `gauge`, `counter` or `histogram`. The help is one line.
    pub(crate) fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    /// A sample of the family that was begun.
    pub(crate) fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        self.0.push_str(name);
        for (n, (label, text)) in labels.iter().enumerate() {
            let before = if n == 0 { '{' } else { ',' };
            // Writing to a String cannot fail.
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(text));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        self.line(format_args!("{end} {value}"));
    }

    /// A family of one sample without labels.
    pub(crate) fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    /// The samples of a histogram whose unit is seconds.
    pub(crate) fn histogram(&mut self, name: &str, labels: Labels<'_>, of: &Durations) {
        let mut all = 0;
        for (count, (_, bound)) in of.counts.iter().zip(BOUNDS) {
            all += count;
            let labels = [labels, &[("le", bound)]].concat();
            self.sample(&format!("{name}_bucket"), &labels, all);
        }
        let (seconds, ms) = (of.ms / 1000, of.ms % 1000);
        self.sample(
            &format!("{name}_sum"),
            labels,
            format_args!("{seconds}.{ms:03}"),
        );
        self.sample(&format!("{name}_count"), labels, all);
    }

    /// The text.
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    fn line(&mut self, line: impl Display) {
        let _ = writeln!(self.0, "{line}");
    }
}

/// A label's value.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_leave_its_label() {
        assert_eq!(escaped("a\"} 1\n\\"), "a\\\"} 1\\n\\\\");
        let mut text = Exposition::default();
        text.sample("a", &[("x", "1\n"), ("y", "\"")], 0.5);
        assert_eq!(text.into_text(), "a{x=\"1\\n\",y=\"\\\"\"} 0.5\n");
    }

    #[test]
    fn buckets_hold_all_below_them() {
        let mut took = Durations::default();
        for ms in [0, 5, 6, 1000, 40_000] {
            took.note(ms);
        }
        let mut text = Exposition::default();
        text.histogram("t", &[("a", "b")], &took);
        let text = text.into_text();
        for line in [
            "t_bucket{a=\"b\",le=\"0.005\"} 2",
            "t_bucket{a=\"b\",le=\"0.025\"} 3",
            "t_bucket{a=\"b\",le=\"1\"} 4",
            "t_bucket{a=\"b\",le=\"30\"} 4",
            "t_bucket{a=\"b\",le=\"+Inf\"} 5",
            "t_sum{a=\"b\"} 41.011",
            "t_count{a=\"b\"} 5",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}: {text}");
        }
    }
}
