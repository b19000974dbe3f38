//! The unit tests of the pages' modules, in the browser that runs the pages.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::json;

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
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    origin
}

fn answer(mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(first)) = lines.next() else {
        return;
    };
    let _ = lines
        .take_while(|l| l.as_ref().is_ok_and(|l| !l.is_empty()))
        .count();
    let path = first.split(' ').nth(1).unwrap_or_default();
    let source = ["/html/", "/tests/js/", "/tests/data/"]
        .iter()
        .any(|folder| path.starts_with(folder))
        .then(|| std::fs::read(format!("{ROOT}{path}")).ok())
        .flatten();
    let (kind, body) = match source {
        Some(body) => ("text/javascript", body),
        None => ("text/html", b"<!doctype html><title>tests</title>".to_vec()),
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&body));
}
