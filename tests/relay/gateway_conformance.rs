//! Raw requests from `data/gateway.json` through the gateway and a tunnel: what the application
//! gets, byte for byte, and what the visitor does.
//!
//! In all texts `{port}` is the gateway's port, `{host}` the shop's Host line, `{from}` the lines
//! that tell the application where the request came from and by which gateway, `{pad:N}` N times `x`. Each character
//! stands for the byte of its number.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use postern::http::Limits;
use serde::Deserialize;
use support::gateway::{Client, Relay, application, find, read_request};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    send: String,
    /// Answers of the application, one a request; it does not answer any further request.
    #[serde(default)]
    app: Vec<String>,
    /// The application closes after each answer.
    #[serde(default)]
    app_closes: bool,
    /// The statuses that the visitor gets.
    status: Vec<u16>,
    /// Requests that reach the application.
    #[serde(default)]
    got: Vec<String>,
    /// All answers to the visitor, in one text.
    back: Option<String>,
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    /// The visitor's connection ends after the answers; by default it does after a refusal of
    /// the server (400, 414, 431, …) alone.
    #[serde(default)]
    closes: bool,
    /// The last answer does not end as its framing says.
    #[serde(default)]
    cut: bool,
}

/// Next answers of the application, and the requests it got.
#[derive(Default)]
struct Script {
    answers: VecDeque<Vec<u8>>,
    closes: bool,
    got: Vec<Vec<u8>>,
}

#[test]
fn every_raw_request_is_passed_as_written() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../data/gateway.json")).unwrap();
    assert!(cases.len() >= 80, "{} cases", cases.len());
    let relay = Relay::start_with(Limits::default(), |config| {
        config.limits.answer_time = Duration::from_secs(2);
        config.own_names = vec!["own.localhost".into()];
        config.loop_id = "postern-test".into();
    });
    let script: Arc<Mutex<Script>> = Arc::default();
    let played = Arc::clone(&script);
    let port = application(move |stream| play(stream, &played));
    let _shop = relay.share("shop", port);
    let _deep = relay.share("deep.er", port);
    let failed: Vec<String> = cases
        .iter()
        .filter_map(|case| run(&relay, &script, case).err())
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {} failed:\n{}",
        failed.len(),
        cases.len(),
        failed.join("\n")
    );
}

fn play(mut stream: TcpStream, script: &Mutex<Script>) {
    let mut rest = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut rest) {
        let (answer, closes) = {
            let mut script = script.lock().unwrap();
            script.got.push(request);
            (script.answers.pop_front(), script.closes)
        };
        let Some(answer) = answer else {
            return;
        };
        if stream.write_all(&answer).is_err() {
            return;
        }
        if closes {
            let _ = stream.shutdown(Shutdown::Write);
        }
    }
}

fn run(relay: &Relay, script: &Mutex<Script>, case: &Case) -> Result<(), String> {
    let port = relay.addr.port();
    let text = |text: &str| bytes(text, port);
    *script.lock().unwrap() = Script {
        answers: case.app.iter().map(|answer| text(answer)).collect(),
        closes: case.app_closes,
        got: Vec::new(),
    };
    let mut client = relay.connect();
    client.send(&text(&case.send));
    let mut back = Vec::new();
    let mut seen = Vec::new();
    let mut whole = true;
    for _ in &case.status {
        let to_head = case.send.starts_with("HEAD ") && back.is_empty();
        let Some(answer) = client.answer(to_head) else {
            break;
        };
        seen.push(answer.status);
        whole = answer.whole;
        back.extend_from_slice(&answer.raw);
    }
    let fail = |what: &str, seen: &[u8], wanted: &[u8]| {
        let (seen, wanted) = (seen.escape_ascii(), wanted.escape_ascii());
        Err(format!(
            "{}: {what}\n  got    {seen}\n  wanted {wanted}",
            case.name
        ))
    };
    if seen != case.status || whole == case.cut {
        return fail(
            &format!("statuses {seen:?}, whole {whole}"),
            &back,
            format!("{:?}", case.status).as_bytes(),
        );
    }
    let got = script.lock().unwrap().got.clone();
    let wanted: Vec<Vec<u8>> = case.got.iter().map(|got| text(got)).collect();
    if got != wanted {
        return fail("what the application got", &got.concat(), &wanted.concat());
    }
    if let Some(wanted) = case.back.as_ref().map(|back| text(back))
        && wanted != back
    {
        return fail("what the visitor got", &back, &wanted);
    }
    for has in &case.has {
        if find(&back, &text(has)).is_none() {
            return fail("something is missing", &back, has.as_bytes());
        }
    }
    for lacks in &case.lacks {
        if find(&back, &text(lacks)).is_some() {
            return fail("something should not be there", &back, lacks.as_bytes());
        }
    }
    stands_as_it_should(relay, script, case, &mut client)
}

/// The connection ends, or serves another request.
fn stands_as_it_should(
    relay: &Relay,
    script: &Mutex<Script>,
    case: &Case,
    client: &mut Client,
) -> Result<(), String> {
    if case.closes || case.cut {
        return match client.is_closed() {
            true => Ok(()),
            false => Err(format!("{}: the connection stays open", case.name)),
        };
    }
    if case.status.last() == Some(&101) {
        return Ok(());
    }
    // Twice: on a stream that has just been closed it is asked, and its answer lost, once more.
    let again = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain";
    *script.lock().unwrap() = Script {
        answers: VecDeque::from([again.to_vec(), again.to_vec()]),
        ..Script::default()
    };
    client.send(relay.request("GET", "shop", "/again", "").as_bytes());
    match client.answer(false) {
        Some(answer) if answer.body == b"again" => Ok(()),
        other => {
            let status = other.map(|answer| answer.status);
            Err(format!("{}: a second request got {status:?}", case.name))
        }
    }
}

fn bytes(text: &str, port: u16) -> Vec<u8> {
    let mut text = text
        .replace("{host}", "Host: shop.localhost:{port}\r\n")
        .replace(
            "{from}",
            "X-Real-IP: 127.0.0.1\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\n\
             X-Forwarded-Host: shop.localhost:{port}\r\nX-Forwarded-Port: {port}\r\n\
             Forwarded: for=127.0.0.1;host=\"shop.localhost:{port}\";proto=http\r\nCDN-Loop: postern-test\r\n",
        )
        .replace("{port}", &port.to_string());
    while let Some(at) = text.find("{pad:") {
        let end = at + text[at..].find('}').unwrap();
        let count = text[at + 5..end].parse().unwrap();
        text.replace_range(at..=end, &"x".repeat(count));
    }
    text.chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect()
}
