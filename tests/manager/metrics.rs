//! `/metrics` of the manager: read by the rules of Prometheus' text format, version 0.0.4.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use support::http::Client;
use support::manager::{Far, Manager, Target};
use support::relay::with;
use support::{TIMEOUT, wait_until};

/// A sample: its name and labels, and its value.
type Samples = BTreeMap<(String, BTreeMap<String, String>), f64>;

/// The samples of a text that keeps every rule of the format, and the names' own.
fn parsed(text: &str) -> Samples {
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

fn figures(manager: &Manager) -> Samples {
    let answer = manager.client().get("/metrics");
    assert_eq!(answer.status(), 200);
    let text = answer.text();
    assert!(!text.contains("code="), "{text}");
    parsed(text)
}

/// The value of the one sample with this name and these labels.
fn value(samples: &Samples, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
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

#[test]
fn figures_keep_the_rules_of_the_format_and_hold_no_secret() {
    const NAME: &str = "a \"quoted\" \\n name";
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&with(target.app(), json!({"name": NAME})));
    let other = manager.add(&with(
        target.app(),
        json!({"protocol": "tcp", "name": "plain"}),
    ));
    let port = far.assign();
    manager.connected(&id);
    far.assign();
    manager.connected(&other);
    let labels = [("application", NAME), ("id", id.as_str())];
    wait_until(TIMEOUT, "the site", || {
        let site = Client::new(&format!("127.0.0.1:{port}")).try_send("GET", "/", &[], b"");
        site.is_ok_and(|answer| answer.status() == 200)
    });
    wait_until(TIMEOUT, "the request", || {
        let of = figures(&manager);
        value(&of, "postern_application_requests_total", &labels).is_some_and(|count| count >= 1.0)
    });
    let of = figures(&manager);
    let answered = [&labels[..], &[("class", "2xx")]].concat();
    let count = value(&of, "postern_application_answers_total", &answered).unwrap();
    assert!(count >= 1.0);
    let took = "postern_application_answer_duration_seconds_count";
    assert!(value(&of, took, &labels).unwrap() >= count);
    for (name, least) in [
        ("postern_application_connected", 1.0),
        ("postern_application_sent_bytes_total", 1.0),
        ("postern_application_streams_total", 1.0),
        ("postern_application_streams", 0.0),
        ("postern_application_reconnects_total", 0.0),
    ] {
        assert!(value(&of, name, &labels).unwrap() >= least, "{name}");
    }
    assert_eq!(value(&of, took, &[("application", "plain")]), None);
    let server = far.quick.url();
    let of_main = |name: &str| value(&of, name, &[("server", &server)]);
    assert_eq!(of_main("postern_main_tunnel_up"), Some(1.0));
    assert_eq!(of_main("postern_main_tunnel_reconnects_total"), Some(0.0));
    assert_eq!(value(&of, "postern_applications", &[]), Some(2.0));
    assert_eq!(value(&of, "postern_store_errors_total", &[]), Some(0.0));
    for name in [
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_max_fds",
        "process_threads",
        "process_cpu_seconds_total",
        "process_start_time_seconds",
    ] {
        assert!(value(&of, name, &[]).unwrap() > 0.0, "{name}");
    }
}

#[test]
fn failures_are_counted_by_cause_and_files_that_cannot_be_used() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    manager.connect(&id);
    let failed = manager.wait_status(&id, "failed");
    let cause = failed["error_class"].as_str().unwrap();
    let of = figures(&manager);
    let failures = value(&of, "postern_connect_failures_total", &[("cause", cause)]);
    assert_eq!(failures, Some(1.0), "{failed}");
    let apps = manager.home().path().join(".apps");
    std::fs::remove_file(&apps).unwrap();
    std::fs::create_dir(&apps).unwrap();
    assert_ne!(manager.client().get("/api/apps").status(), 200);
    let errors = value(&figures(&manager), "postern_store_errors_total", &[]);
    assert!(errors.unwrap() >= 1.0);
}
