//! Raw requests from `data/fence.json` through a real server: what passes, what is refused.
//!
//! In `send` each character stands for the byte of its number; `{port}` is the server's
//! port and `{pad:N}` is N times `x`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::fixture::{Client, Fixture, echo, start};
use postern::http::Limits;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    send: String,
    status: Vec<u16>,
    reached: usize,
    /// Another status that is as good for the last answer.
    alt: Option<u16>,
    /// The connection ends though all went well.
    #[serde(default)]
    closes: bool,
    body: Option<String>,
    path: Option<String>,
}

#[test]
fn every_raw_request_is_treated_as_written() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../data/fence.json")).unwrap();
    assert!(cases.len() >= 80);
    let mut limits = Limits::default();
    limits.head_time = Duration::from_millis(300);
    limits.body_stall = Duration::from_millis(700);
    let server = start(limits, echo);
    server.hosts.allow("allowed.example").unwrap();
    server.hosts.allow("fixed.example:443").unwrap();
    let failed: Vec<String> = cases.iter().filter_map(|c| run(&server, c).err()).collect();
    assert!(
        failed.is_empty(),
        "{} failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
    assert_eq!(server.get("/still-there").status, 200);
}

fn run(server: &Fixture, case: &Case) -> Result<(), String> {
    let before = server.reached.load(Ordering::SeqCst);
    let bytes = bytes(&case.send, server.addr.port());
    let mut client = server.connect(); // after that, as the time to the head is short
    client.send(&bytes);
    let seen = answers(&mut client, case)?;
    let reached = server.reached.load(Ordering::SeqCst) - before;
    if seen != case.status || reached != case.reached {
        return Err(format!(
            "{}: {seen:?}, {reached} reached, wanted {:?}, {}",
            case.name, case.status, case.reached
        ));
    }
    Ok(())
}

fn answers(client: &mut Client, case: &Case) -> Result<Vec<u16>, String> {
    let mut seen = Vec::new();
    let to_head = case.send.starts_with("HEAD ");
    for (at, wanted) in case.status.iter().enumerate() {
        let Some(answer) = client.answer(to_head && at == 0) else {
            return Ok(seen);
        };
        let last = at + 1 == case.status.len();
        let alike = last && case.alt == Some(answer.status);
        seen.push(if alike { *wanted } else { answer.status });
        if answer.status == 200 && last {
            check_echo(case, &answer.json()["data"])?;
        }
        if answer.status != 200 && answer.status != 405 && !to_head {
            let code = answer.json()["code"].as_u64();
            assert_eq!(code, Some(answer.status.into()), "{}", case.name);
        }
    }
    let closes = case.closes || case.status.last() != Some(&200);
    if closes && !client.is_closed() {
        return Err(format!("{}: the connection stays open", case.name));
    }
    Ok(seen)
}

fn check_echo(case: &Case, echo: &serde_json::Value) -> Result<(), String> {
    for (wanted, key) in [(&case.body, "body"), (&case.path, "path")] {
        if wanted.as_ref().is_some_and(|wanted| echo[key] != **wanted) {
            return Err(format!("{}: {key} is {}", case.name, echo[key]));
        }
    }
    Ok(())
}

fn bytes(text: &str, port: u16) -> Vec<u8> {
    let mut text = text.replace("{port}", &port.to_string());
    while let Some(at) = text.find("{pad:") {
        let end = at + text[at..].find('}').unwrap();
        let count = text[at + 5..end].parse().unwrap();
        text.replace_range(at..=end, &"x".repeat(count));
    }
    text.chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect()
}

#[path = "../fuzz/inputs/http.rs"]
mod fuzz_input;

#[test]
fn the_inputs_of_the_fuzz_target_are_survived() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../data/fence.json")).unwrap();
    for case in cases {
        fuzz_input::run(&bytes(&case.send, 80));
    }
}
