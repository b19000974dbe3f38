//! Manual pages, the manual that the program carries, the version.

use std::fs;
use std::sync::Arc;

use support::Home;
use support::manager::Manager;

use super::json_of;

#[test]
fn a_manual_page_for_each_command() {
    let home = Home::new();
    let dir = home.path().join("man1");
    let written = home.run(&["man", dir.to_str().unwrap()]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let names: Vec<String> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for name in ["postern.1", "postern-app-add.1", "postern-tunnel-server.1"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    let page = fs::read_to_string(dir.join("postern-relay.1")).unwrap();
    for part in [
        ".SH NAME",
        ".SH OPTIONS",
        ".SH ENVIRONMENT",
        "\\fB\\-\\-listen HOST:PORT\\fR",
        "postern relay list",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(home.run(&["man", "/proc/nowhere"]).code, Some(1));
}

#[test]
fn the_version_is_one_line_and_more_where_it_is_asked_for() {
    let home = Home::new();
    let line = format!("postern {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(home.run(&["--version"]).stdout, line);
    let more = home.run(&["version"]).stdout;
    assert!(
        more.starts_with(&line) && more.lines().count() == 2,
        "{more}"
    );
    assert_eq!(
        json_of(&home.run(&["version", "--json"]))["tunnel_protocol"],
        "chisel-v3"
    );
}

#[test]
fn the_manual_is_text_and_on_the_managers_page() {
    let home = Arc::new(Home::new());
    let list = home.run(&["docs"]).stdout;
    let topics: Vec<&str> = list
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(
        topics.len() > 5 && topics.contains(&"troubleshooting"),
        "{list}"
    );
    let manager = Manager::start_in(&home, &[]);
    for topic in topics {
        let page = home.run(&["docs", topic]).stdout;
        assert!(page.lines().count() > 3, "{page}");
        assert!(!page.contains("</"), "{page}");
        assert!(
            page.lines()
                .all(|line| line.starts_with(' ') || line.chars().count() <= 80),
            "{page}"
        );
        let served = manager.client().get(&format!("/docs/{topic}"));
        assert!(
            served.status() == 200 && served.text().contains("<h1>"),
            "{topic}"
        );
    }
    assert!(
        manager
            .client()
            .get("/docs")
            .text()
            .contains("/docs/troubleshooting")
    );
    assert_eq!(manager.client().get("/docs/nothing").status(), 404);
    let outside = manager.client().get("/docs/..%2fmanage%2findex");
    assert!(
        matches!(outside.status(), 400 | 404),
        "{}",
        outside.status()
    );
    let unknown = home.run(&["docs", "trubleshooting"]);
    assert!(
        unknown.stderr.contains("did you mean 'troubleshooting'?"),
        "{unknown:?}"
    );
}
