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

/// Nobody else decides what is written where.
#[test]
fn a_manual_page_replaces_nothing_but_a_manual_page() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Home::new();
    let dir = home.path().join("man1");
    let write = || home.run(&["man", dir.to_str().unwrap()]);
    let refused = |why: &str| {
        let refused = write();
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
    };
    let set = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&dir, mode).unwrap();
    };
    assert_eq!(write().code, Some(0));
    let page = dir.join("postern-relay.1");
    let readable = std::fs::metadata(&page).unwrap().permissions().mode();
    assert_eq!(readable & 0o600, 0o600);
    assert_eq!(write().code, Some(0), "its own are written anew");
    let pages = std::fs::read_dir(&dir).unwrap().count();
    // A link, wherever it leads.
    let victim = home.path().join("victim");
    std::fs::write(&victim, std::fs::read(&page).unwrap()).unwrap();
    std::fs::remove_file(&page).unwrap();
    for target in [&victim, &home.path().join("missing")] {
        symlink(target, &page).unwrap();
        refused("'postern-relay.1' in it was not written by postern");
        std::fs::remove_file(&page).unwrap();
    }
    assert!(!home.path().join("missing").exists());
    // Somebody's file.
    std::fs::write(&page, "mine").unwrap();
    refused("was not written by postern");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "mine");
    std::fs::remove_file(&page).unwrap();
    set(0o777);
    refused("all users can replace files in it");
    for mode in [0o775, 0o1777, 0o755] {
        set(mode);
        assert_eq!(write().code, Some(0), "{mode:o}");
    }
    let names = std::fs::read_dir(&dir).unwrap().count();
    assert_eq!(names, pages, "nothing is left over");
    let moved = home.path().join("moved");
    std::fs::rename(&dir, &moved).unwrap();
    symlink(&moved, &dir).unwrap();
    refused("it is a link, not a directory");
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
    let with_slash = manager.client().get("/docs/");
    assert_eq!(
        (with_slash.status(), with_slash.header("location")),
        (308, Some("/docs"))
    );
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
