//! Metrics, the tables of them that make a page, and the page's text; also the metrics of the process itself.

use std::fmt;
use std::fmt::{Display, Formatter, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::histogram::{BOUNDS, Durations};

/// The media type.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Row of a table: a metric, and the function that reads its values from `T`.
pub(crate) struct Metric<T> {
    pub(super) family: Family,
    pub(super) read: Read<T>,
}

type Read<T> = fn(&T) -> Values;
type Text = &'static str;

/// Name, type and help of a metric; the help is one line.
#[derive(Clone, Copy)]
pub(crate) struct Family {
    pub(crate) name: Text,
    pub(super) kind: Text,
    pub(super) help: Text,
}

/// Values of a metric of one thing.
pub(crate) enum Values {
    /// No value.
    None,
    Whole(u64),
    Real(f64),
    /// A value for each value of this label.
    By(Text, Counts),
    Took(Durations),
}

/// Counts by kind.
pub(crate) type Counts = Vec<(Text, u64)>;

/// A page that metrics are written on.
pub(crate) trait Page {
    /// Adds one metric.
    fn put(&mut self, family: Family, values: Values);

    /// Adds the metrics of `thing`; those without a value are left out.
    fn add<T>(&mut self, metrics: &[Metric<T>], thing: &T) {
        for metric in metrics {
            match (metric.read)(thing) {
                Values::None => {}
                values => self.put(metric.family, values),
            }
        }
    }
}

/// A value that rises and falls.
pub(crate) const fn gauge<T>(name: Text, help: Text, read: Read<T>) -> Metric<T> {
    metric(name, "gauge", help, read)
}

/// A value that only rises.
pub(crate) const fn counter<T>(name: Text, help: Text, read: Read<T>) -> Metric<T> {
    metric(name, "counter", help, read)
}

/// Durations.
pub(crate) const fn histogram<T>(name: Text, help: Text, read: Read<T>) -> Metric<T> {
    metric(name, "histogram", help, read)
}

const fn metric<T>(name: Text, kind: Text, help: Text, read: Read<T>) -> Metric<T> {
    let family = Family { name, kind, help };
    Metric { family, read }
}

impl From<u64> for Values {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<&AtomicU64> for Values {
    fn from(counter: &AtomicU64) -> Self {
        Self::Whole(counter.load(Ordering::Relaxed))
    }
}

impl<V: Into<Values>> From<Option<V>> for Values {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::None, V::into)
    }
}

pub(crate) fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Names and values; the names differ from each other.
pub(crate) type Labels<'a> = [(&'static str, &'a str)];

/// Text of a page in the making: families, each followed by its samples, which differ in their labels.
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

/// Source of the metrics of this process.
struct Process {
    /// `/proc/self/status`.
    status: String,
    since: SystemTime,
}

const PROCESS: [Metric<Process>; 8] = [
    gauge("postern_build_info", "Version; always 1.", |_| {
        Values::By("version", vec![(env!("CARGO_PKG_VERSION"), 1)])
    }),
    gauge("process_resident_memory_bytes", "Memory in use.", |of| {
        of.field("VmRSS:").map(|kib| kib * 1024).into()
    }),
    gauge(
        "process_virtual_memory_bytes",
        "Address space in use.",
        |of| of.field("VmSize:").map(|kib| kib * 1024).into(),
    ),
    gauge("process_threads", "Threads.", |of| {
        of.field("Threads:").into()
    }),
    gauge("process_open_fds", "Open files and sockets.", |_| {
        let entries = std::fs::read_dir("/proc/self/fd").ok();
        entries.map(|entries| wide(entries.count())).into()
    }),
    gauge(
        "process_max_fds",
        "Maximum number of open files and sockets.",
        |_| getrlimit(Resource::Nofile).current.into(),
    ),
    gauge(
        "process_start_time_seconds",
        "Start time in seconds since 1970.",
        |of| {
            let since = of.since.duration_since(SystemTime::UNIX_EPOCH).ok();
            since.map(|since| since.as_secs()).into()
        },
    ),
    counter("process_cpu_seconds_total", "CPU time used.", |_| {
        let used = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).ok();
        used.map(|used| Values::Real(used.as_secs_f64())).into()
    }),
];

impl Process {
    fn field(&self, name: &str) -> Option<u64> {
        let mut lines = self.status.lines();
        let line = lines.find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

/// Adds the version and the metrics of the process, which began to serve at `since`.
pub(crate) fn add_process(page: &mut impl Page, since: SystemTime) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    page.add(&PROCESS, &Process { status, since });
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
