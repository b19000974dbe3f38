//! Figures as Prometheus reads them: by the rules of its text format, version 0.0.4, and by Prometheus itself.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A sample: its name and labels, and its value.
pub type Samples = BTreeMap<(String, BTreeMap<String, String>), f64>;

/// Compares a page with `tests/data/metrics-NAME.txt`, but for the values; `POSTERN_BLESS=1` writes that file.
#[track_caller]
pub fn same_lines(text: &str, name: &str) {
    let kept = format!("../data/metrics-{name}.txt");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(kept);
    let line = |line: &str| match line.rsplit_once(' ') {
        Some((sample, _)) if !line.starts_with('#') => format!("{sample}\n"),
        _ => format!("{line}\n"),
    };
    let now: String = text.lines().map(line).collect();
    if std::env::var_os("POSTERN_BLESS").is_some_and(|value| !value.is_empty()) {
        std::fs::write(&path, &now).unwrap();
    }
    assert_eq!(now, std::fs::read_to_string(&path).unwrap());
}

/// The samples of a text that keeps every rule of the format, and the names' own.
#[track_caller]
pub fn parsed(text: &str) -> Samples {
    assert!(text.ends_with('\n'));
    let (mut samples, mut kinds) = (Samples::new(), BTreeMap::new());
    let (mut helped, mut family) = (BTreeSet::new(), String::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect(line);
            assert!(helped.insert(name.to_owned()), "twice: {line}");
            assert!(!help.is_empty(), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect(line);
            assert!(["gauge", "counter", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(
                name.starts_with("postern_") || name.starts_with("process_"),
                "{line}"
            );
            assert!(
                !["_ms", "_kib", "_minutes"]
                    .iter()
                    .any(|unit| name.contains(unit)),
                "{line}"
            );
            assert!(helped.contains(name), "no help: {line}");
            assert!(
                kinds.insert(name.to_owned(), kind).is_none(),
                "twice: {line}"
            );
            name.clone_into(&mut family);
        } else {
            let (name, labels, value) = sample(line);
            let suffixes: &[&str] = match kinds.get(&family) {
                Some(&"histogram") => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            assert!(
                suffixes
                    .iter()
                    .any(|suffix| name == format!("{family}{suffix}")),
                "not of {family}: {line}"
            );
            assert!(
                samples.insert((name, labels), value).is_none(),
                "twice: {line}"
            );
        }
    }
    for (name, _) in kinds.iter().filter(|(_, kind)| **kind == "histogram") {
        is_cumulative(&samples, name);
    }
    samples
}

/// `name{label="value",…} number`.
fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = line.find(|c| !is_of_name(c)).expect(line);
    let (name, mut rest) = line.split_at(end);
    assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{line}");
    let mut labels = BTreeMap::new();
    if rest.starts_with('{') {
        while !rest.starts_with('}') {
            let (label, after) = rest[1..].split_once("=\"").expect(line);
            assert!(!label.is_empty() && label.chars().all(is_of_name), "{line}");
            let (mut value, mut chars) = (String::new(), after.char_indices());
            let end = loop {
                match chars.next().expect(line) {
                    (at, '"') => break at,
                    (_, '\\') => value.push(match chars.next().expect(line).1 {
                        'n' => '\n',
                        c @ ('"' | '\\') => c,
                        c => panic!("\\{c}: {line}"),
                    }),
                    (_, c) => value.push(c),
                }
            };
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
            rest = &after[end + 1..];
            assert!(rest.starts_with([',', '}']), "{line}");
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').expect(line).parse().expect(line);
    (name.to_owned(), labels, value)
}

/// Buckets count what those below them do, and the last one everything.
fn is_cumulative(samples: &Samples, name: &str) {
    for ((_, labels), count) in samples
        .iter()
        .filter(|((of, _), _)| *of == format!("{name}_count"))
    {
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        for ((of, more), value) in samples {
            let mut series = more.clone();
            if let Some(bound) = series.remove("le").filter(|_| series == *labels)
                && *of == format!("{name}_bucket")
            {
                buckets.push((bound.replace("+Inf", "inf").parse().unwrap(), *value));
            }
        }
        buckets.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert!(
            buckets.is_sorted_by(|a, b| a.1 <= b.1),
            "{name}: {buckets:?}"
        );
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, *count)), "{name}");
        assert!(samples.contains_key(&(format!("{name}_sum"), labels.clone())));
    }
}

/// The value of the one sample with this name and these labels.
#[track_caller]
pub fn value(samples: &Samples, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let has = |of: &BTreeMap<String, String>| {
        labels
            .iter()
            .all(|(label, value)| of.get(*label).is_some_and(|of| of == value))
    };
    let mut found = samples
        .iter()
        .filter(|((of, labels), _)| of == name && has(labels));
    let (_, value) = found.next()?;
    assert!(found.next().is_none(), "{name}: more than one");
    Some(*value)
}

/// A program of Prometheus: the system's, else what `tests/setup.sh` has unpacked.
#[track_caller]
pub fn program(name: &str) -> PathBuf {
    let unpacked =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/prometheus/usr/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs = std::env::split_paths(&path).chain([unpacked]);
    let found = dirs.find_map(|dir| Some(dir.join(name)).filter(|program| program.is_file()));
    found.unwrap_or_else(|| panic!("{name} is missing: run tests/setup.sh"))
}

/// Fails on whatever `promtool check metrics` has to say of a text.
#[track_caller]
pub fn promtool(text: &str) {
    let mut promtool = Command::new(program("promtool"))
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool starts");
    let mut input = promtool.stdin.take().expect("it is piped");
    // It reads everything before it says anything.
    input.write_all(text.as_bytes()).expect("promtool reads");
    drop(input);
    let said = promtool.wait_with_output().expect("promtool ends");
    let words = [said.stdout, said.stderr].concat();
    let words = String::from_utf8_lossy(&words);
    assert!(said.status.success() && words.is_empty(), "{words}");
}
