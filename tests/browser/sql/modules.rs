//! The unit tests of the pages' modules, in the browser that runs the pages.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use support::Browser;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_unit_tests_pass_in_the_browser() {
    let origin = serve_sources();
    let page = Browser::shared().open(&format!("{origin}/blank.html"));
    let mut files: Vec<String> = std::fs::read_dir(format!("{ROOT}/tests/js"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".test.mjs"))
        .collect();
    files.sort();
    let outcomes = page.eval(&format!(
        "(async () => {{ for (const file of {}) await import(`/tests/js/${{file}}`); return (await import('/tests/js/shim.mjs')).runRegistered(); }})()",
        json!(files)
    ));
    let outcomes = outcomes.as_array().unwrap();
    assert!(outcomes.len() > 20, "{} tests", outcomes.len());
    let failed: Vec<_> = outcomes.iter().filter(|o| o["ok"] != true).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Serves the modules and their tests from the source tree; ends with the process.
fn serve_sources() -> String {
    serve_sources_with(|_| json!(null))
}

/// As [`serve_sources`], and gives what is posted to `ask`.
pub(crate) fn serve_sources_with(ask: impl Fn(&Value) -> Value + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let ask = ask.clone();
            std::thread::spawn(move || answer(stream, &ask));
        }
    });
    origin
}

fn answer(mut stream: TcpStream, ask: &dyn Fn(&Value) -> Value) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let head: Vec<String> = std::iter::from_fn(|| {
        let mut line = String::new();
        let read = reader.read_line(&mut line).ok()?;
        (read > 0 && !line.trim().is_empty()).then_some(line)
    })
    .collect();
    let Some(first) = head.first() else {
        return;
    };
    let mut words = first.split(' ');
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default();
    let (kind, body) = if method == "POST" {
        let length = head.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse().ok())?
        });
        let mut posted = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut posted).unwrap();
        let answered = ask(&serde_json::from_slice(&posted).unwrap());
        ("application/json", answered.to_string().into_bytes())
    } else {
        match source(path) {
            Some(body) => ("text/javascript", body),
            None => ("text/html", b"<!doctype html><title>tests</title>".to_vec()),
        }
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&body));
}

/// A file of the source tree or of the servers' suites, or the names in a folder, a line each.
fn source(path: &str) -> Option<Vec<u8>> {
    let folders = ["/html/", "/tests/js/", "/tests/data/", "/target/suites/"];
    folders.iter().find(|folder| path.starts_with(**folder))?;
    let place = format!("{ROOT}{path}");
    if !std::path::Path::new(&place).is_dir() {
        return std::fs::read(place).ok();
    }
    let entries = std::fs::read_dir(place).ok()?.flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    Some(names.join("\n").into_bytes())
}
