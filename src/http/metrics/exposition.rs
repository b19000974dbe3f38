//! Metrics as Prometheus reads them: its text format, version 0.0.4.

use std::fmt::{self, Display, Formatter, Write as _};

use super::histogram::{BOUNDS, Durations};
use super::metric::{Family, Metric, Page, Values};

/// The media type.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Names and values; the names differ from each other.
pub(crate) type Labels<'a> = [(&'static str, &'a str)];

/// A text in the making: families, each followed by its samples, which differ in their labels.
#[derive(Default)]
pub(crate) struct Exposition(String);

impl Page for Exposition {
    fn put(&mut self, family: Family, values: Values) {
        self.begin(family);
        self.samples(family.name, &[], values);
    }
}

impl Exposition {
    /// Adds the metrics of several things, each with its labels; also a metric that none of them has.
    pub(crate) fn add_each<'a, T>(
        &mut self,
        metrics: &[Metric<T>],
        things: &[(impl AsRef<Labels<'a>>, T)],
    ) {
        for metric in metrics {
            self.begin(metric.family);
            for (labels, thing) in things {
                let values = (metric.read)(thing);
                self.samples(metric.family.name, labels.as_ref(), values);
            }
        }
    }

    /// The text.
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    fn begin(&mut self, Family { name, kind, help }: Family) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    fn samples(&mut self, name: &str, labels: &Labels<'_>, values: Values) {
        match values {
            Values::None => {}
            Values::Whole(value) => self.sample(name, labels, value),
            Values::Real(value) => self.sample(name, labels, value),
            Values::By(label, counts) => {
                for (kind, count) in counts {
                    self.sample(name, &[labels, &[(label, kind)]].concat(), count);
                }
            }
            Values::Took(took) => self.histogram(name, labels, &took),
        }
    }

    fn sample(&mut self, name: &str, labels: &Labels<'_>, value: impl Display) {
        self.0.push_str(name);
        for (n, (label, text)) in labels.iter().enumerate() {
            let before = if n == 0 { '{' } else { ',' };
            // Writing to a String cannot fail.
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(text));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        self.line(format_args!("{end} {value}"));
    }

    /// The samples of a histogram whose unit is seconds.
    fn histogram(&mut self, name: &str, labels: &Labels<'_>, of: &Durations) {
        let bounds = BOUNDS.iter().map(|(_, written)| *written);
        let mut all = 0;
        for (count, bound) in of.counts.iter().zip(bounds.chain(["+Inf"])) {
            all += count;
            let labels = [labels, &[("le", bound)]].concat();
            self.sample(&format!("{name}_bucket"), &labels, all);
        }
        self.sample(&format!("{name}_sum"), labels, Seconds(of.micros));
        self.sample(&format!("{name}_count"), labels, all);
    }

    fn line(&mut self, line: impl Display) {
        let _ = writeln!(self.0, "{line}");
    }
}

/// Microseconds, told in seconds.
struct Seconds(u64);

impl Display for Seconds {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// A label's value.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::http::metrics::Histogram;

    #[test]
    fn a_value_cannot_leave_its_label() {
        assert_eq!(escaped("a\"} 1\n\\"), "a\\\"} 1\\n\\\\");
        let mut text = Exposition::default();
        text.sample("a", &[("x", "1\n"), ("y", "\"")], 0.5);
        assert_eq!(text.into_text(), "a{x=\"1\\n\",y=\"\\\"\"} 0.5\n");
    }

    #[test]
    fn buckets_hold_all_below_them() {
        let took = Histogram::default();
        for ms in [0, 5, 6, 1000, 90_000] {
            took.note(Duration::from_millis(ms));
        }
        let mut text = Exposition::default();
        text.histogram("t", &[("a", "b")], &took.read());
        let text = text.into_text();
        for line in [
            "t_bucket{a=\"b\",le=\"0.005\"} 2",
            "t_bucket{a=\"b\",le=\"0.025\"} 3",
            "t_bucket{a=\"b\",le=\"1\"} 4",
            "t_bucket{a=\"b\",le=\"60\"} 4",
            "t_bucket{a=\"b\",le=\"+Inf\"} 5",
            "t_sum{a=\"b\"} 91.011000",
            "t_count{a=\"b\"} 5",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}: {text}");
        }
    }
}
