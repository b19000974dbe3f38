//! `/metrics` of the manager: read by the rules of Prometheus' text format, version 0.0.4, and by its own tool.

use std::net::TcpStream;

use serde_json::json;
use support::http::Client;
use support::manager::{Far, Manager, Target};
use support::prometheus::{Samples, parsed, promtool, same_lines, value};
use support::relay::with;
use support::{TIMEOUT, free_port, wait_until};

fn figures(manager: &Manager) -> Samples {
    let answer = manager.client().get("/metrics");
    assert_eq!(answer.status(), 200);
    let text = answer.text();
    assert!(!text.contains("code="), "{text}");
    promtool(text);
    parsed(text)
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
    let first_byte = "postern_application_first_byte_seconds_count";
    assert!(value(&of, first_byte, &labels).unwrap() >= count);
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
fn the_page_of_the_manager_keeps_its_lines() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&with(target.app(), json!({"name": "a \\ \"b\""})));
    far.assign();
    manager.connected(&id);
    let answer = manager.client().get("/metrics");
    let text = answer.text().replace(&id, "ID");
    let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    same_lines(&text.replace(&far.quick.url(), "SERVER"), "manager");
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

/// Of what speaks HTTP its requests, of everything the streams of its tunnel; each by its cause.
#[test]
fn what_comes_to_nothing_is_counted_by_cause() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let away = json!({"protocol": "http", "name": "down", "port": free_port()});
    let shell = json!({"protocol": "tcp", "name": "shell", "port": free_port()});
    let narrow = json!({"protocol": "tcp", "name": "narrow", "max_streams": 1});
    let narrow = with(target.app(), narrow);
    let shared = [away, shell, narrow].map(|app| {
        let id = manager.add(&app);
        let port = far.assign();
        manager.connected(&id);
        (id, port)
    });
    let counted = |of: &(String, u16), name: &str, cause: &str| {
        let name = format!("postern_application_{name}_total");
        let labels = [("id", of.0.as_str()), ("cause", cause)];
        value(&figures(&manager), &name, &labels).is_some_and(|count| count >= 1.0)
    };
    let [down, shell, narrow] = &shared;
    let get = |port: u16| Client::new(&format!("127.0.0.1:{port}")).try_send("GET", "/", &[], b"");
    wait_until(TIMEOUT, "the answer of the gateway", || {
        get(down.1).is_ok_and(|answer| answer.status() == 502)
    });
    assert!(counted(down, "refusals", "target_down"));
    assert!(get(shell.1).is_err(), "nobody is there");
    wait_until(TIMEOUT, "nobody at the target", || {
        counted(shell, "stream_refusals", "target")
    });
    let connect = || TcpStream::connect(("127.0.0.1", narrow.1)).unwrap();
    let held = [connect(), connect()];
    wait_until(TIMEOUT, "the second", || {
        counted(narrow, "stream_refusals", "max_streams")
    });
    drop(held);
    assert!(
        !counted(down, "refusals", "loop"),
        "what never was is left out"
    );
}

/// Each figure is in the documentation, where long beginnings are written once.
#[test]
fn every_figure_of_the_manager_is_documented() {
    let manager = Manager::start(&[]);
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/html/docs/reference.html");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("id=\"metrics\"").unwrap();
    let (section, _) = section.split_once("</table>").unwrap();
    let answer = manager.client().get("/metrics");
    let families = answer.text().lines();
    let families = families.filter_map(|line| line.strip_prefix("# TYPE "));
    let names = families.map(|family| family.split(' ').next().unwrap());
    let mut known = 0;
    for name in names.filter(|name| name.starts_with("postern_")) {
        let short = name.strip_prefix("postern_application_");
        let short = short.or(name.strip_prefix("postern_main_tunnel_"));
        let short = short.unwrap_or(name);
        let is_there = [
            format!("<code>{short}</code>"),
            format!("<code>…_{short}</code>"),
        ];
        assert!(is_there.iter().any(|text| section.contains(text)), "{name}");
        known += 1;
    }
    assert!(known > 10, "{known} figures");
}
