//! A proxy in front that sends many visitors' requests on one connection: what one of them sends, or
//! makes an application send, is never another's.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use postern::http::Limits;
use support::gateway::{Answer, Client, Relay, application, read_request, wait_until};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const ATTACKER: &str = "203.0.113.9";
const VICTIM: &str = "198.51.100.1";

fn behind_a_proxy() -> Relay {
    Relay::start_with(Limits::default(), |config| {
        config.trust_proxy = vec!["127.0.0.0/8".parse().unwrap()];
    })
}

fn head_from(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

fn ask(
    relay: &Relay,
    client: &mut Client,
    method: &str,
    path: &str,
    from: &str,
    rest: &str,
) -> Answer {
    let lines = format!("X-Forwarded-For: {from}\r\n{rest}");
    client.send(relay.request(method, "shop", path, &lines).as_bytes());
    client.answer(method == "HEAD").unwrap()
}

/// The finding's own attack: what an application leaves unread of a body would be the beginning of
/// the next request on its connection.
#[test]
fn a_body_that_is_left_unread_never_meets_another_visitors_request() {
    never_meets_anothers(&behind_a_proxy());
}

/// The gateway cannot know it for a proxy.
#[test]
fn nor_does_it_behind_a_proxy_that_was_not_named() {
    never_meets_anothers(&Relay::start());
}

fn never_meets_anothers(relay: &Relay) {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let theirs = Arc::clone(&seen);
    let port = application(move |mut stream| {
        while let Some(head) = head_from(&mut stream) {
            theirs.lock().unwrap().push(head);
            let _ = stream.write_all(OK);
        }
    });
    let _shared = relay.share("shop", port);
    // Even the same address is many visitors: a company, or a provider's customers.
    for victim in [VICTIM, ATTACKER] {
        let mut proxy = relay.connect();
        let prefix = "GET /attacker-chosen HTTP/1.1\r\nX-Glue: ";
        let lines = format!(
            "X-Forwarded-For: {ATTACKER}\r\nContent-Length: {}\r\n",
            prefix.len()
        );
        let request = relay.request("POST", "shop", "/noread", &lines) + prefix;
        proxy.send(request.as_bytes());
        assert_eq!(proxy.answer(false).unwrap().status, 200);
        let cookie = "Cookie: session=VICTIM\r\n";
        let answer = ask(relay, &mut proxy, "GET", "/account", victim, cookie);
        assert_eq!(answer.status, 200);
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        let of_victim: Vec<_> = seen.iter().filter(|head| head.contains("VICTIM")).collect();
        assert_eq!(of_victim.len(), 1, "{seen:?}");
        assert!(of_victim[0].starts_with("GET /account "), "{seen:?}");
    }
}

/// Says with each answer which of its connections it came on.
fn numbered(answers: &'static [(&str, &str)]) -> u16 {
    let count = AtomicUsize::new(0);
    application(move |mut stream| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        let mut rest = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut rest) {
            let line = String::from_utf8_lossy(&request).into_owned();
            let path = line.split(' ').nth(1).unwrap();
            let answer = match answers.iter().find(|(wanted, _)| *wanted == path) {
                Some((_, answer)) => (*answer).to_owned(),
                None => format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{number:03}"),
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    })
}

#[test]
fn a_stream_is_one_visitors_and_kept_for_him() {
    let relay = behind_a_proxy();
    let _shared = relay.share("shop", numbered(&[]));
    let mut proxy = relay.connect();
    let mut on = |from: &str, lines: &str| {
        let method = if lines.is_empty() { "GET" } else { "POST" };
        ask(&relay, &mut proxy, method, "/", from, lines).text()
    };
    assert_eq!([on(VICTIM, ""), on(VICTIM, "")], ["000", "000"]);
    let through = format!("{VICTIM}, 127.0.0.7");
    assert_eq!(on(&through, ""), "001", "another way here");
    assert_eq!(on(ATTACKER, ""), "002");
    assert_eq!(on(VICTIM, ""), "003");
    assert_eq!(on(VICTIM, "Content-Length: 0\r\n"), "003", "no body");
}

#[test]
fn no_stream_is_kept_after_a_body_whoever_sends_it() {
    let relay = Relay::start();
    let _shared = relay.share("shop", numbered(&[]));
    let mut client = relay.connect();
    let mut send = |method: &str, lines: &str, body: &str| {
        let request = relay.request(method, "shop", "/", lines) + body;
        client.send(request.as_bytes());
        client.answer(false).unwrap().text()
    };
    assert_eq!(send("GET", "", ""), "000");
    assert_eq!(send("POST", "Content-Length: 2\r\n", "hi"), "000");
    assert_eq!(send("GET", "Content-Length: 2\r\n", "hi"), "001");
    let chunked = "Transfer-Encoding: chunked\r\n";
    assert_eq!(send("POST", chunked, "2\r\nhi\r\n0\r\n\r\n"), "002");
    assert_eq!(send("POST", chunked, "0\r\n\r\n"), "003");
    assert_eq!(send("GET", "", ""), "004");
    assert_eq!(send("GET", "", ""), "004", "no body");
}

/// Two people behind one address are two visitors where they show that they are: the application signs in
/// connections, and what it signed in for the one is not for the other.
#[test]
fn what_an_application_knows_of_a_connection_holds_for_one_sign_in_alone() {
    let named = behind_a_proxy();
    let unnamed = Relay::start();
    for (relay, sign_of_proxy) in [(&named, ""), (&unnamed, "Via: 1.1 office\r\n")] {
        let _shared = relay.share("shop", numbered(&[]));
        let mut proxy = relay.connect();
        let mut on = |lines: &str| {
            let lines = format!("{sign_of_proxy}{lines}");
            ask(relay, &mut proxy, "GET", "/", VICTIM, &lines).text()
        };
        let of_victim = "Cookie: session=VICTIM; theme=dark\r\n";
        assert_eq!([on(of_victim), on(of_victim)], ["000", "000"]);
        for (number, lines) in [
            "",
            "Cookie: session=OTHER\r\n",
            of_victim,
            "Authorization: NTLM b25l\r\n",
            "Authorization: NTLM dHdv\r\n",
            "Cookie: session=VICTIM\r\nCookie: theme=dark\r\n",
            "",
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(on(lines), format!("{:03}", number + 1), "{lines}");
        }
    }
}

/// It is one visitor's connection: a sign-in of several steps stays on its stream.
#[test]
fn a_visitor_without_a_proxy_has_one_stream_whatever_is_shown() {
    let relay = Relay::start();
    let _shared = relay.share("shop", numbered(&[]));
    let mut visitor = relay.connect();
    for lines in [
        "",
        "Authorization: NTLM b25l\r\n",
        "Authorization: NTLM dHdv\r\n",
        "Cookie: a=1\r\n",
    ] {
        visitor.send(relay.request("GET", "shop", "/", lines).as_bytes());
        assert_eq!(visitor.answer(false).unwrap().text(), "000", "{lines}");
    }
}

/// A late answer of an application would go to the next visitor.
#[test]
fn a_proxy_that_does_not_say_whom_it_speaks_for_keeps_no_stream() {
    let relay = behind_a_proxy();
    let _shared = relay.share("shop", numbered(&[]));
    let mut proxy = relay.connect();
    let unnamed = [
        "",
        "X-Forwarded-For: unknown\r\n",
        "X-Forwarded-For: 127.0.0.9\r\n",
    ];
    for (number, lines) in unnamed.iter().flat_map(|lines| [lines; 2]).enumerate() {
        proxy.send(relay.request("GET", "shop", "/", lines).as_bytes());
        let text = proxy.answer(false).unwrap().text();
        assert_eq!(text, format!("{number:03}"), "{lines}");
    }
}

/// Visitors come by https, which the gateway does not speak: whoever connects is a proxy.
#[test]
fn where_visitors_come_by_https_a_peer_that_was_not_named_keeps_no_stream() {
    for (is_named, expected) in [(false, ["000", "001"]), (true, ["000", "000"])] {
        let relay = Relay::start_with(Limits::default(), |config| {
            config.secure = true;
            if is_named {
                config.trust_proxy = vec!["127.0.0.0/8".parse().unwrap()];
            }
        });
        let _shared = relay.share("shop", numbered(&[]));
        let mut proxy = relay.connect();
        let mut get = || ask(&relay, &mut proxy, "GET", "/", VICTIM, "").text();
        assert_eq!([get(), get()], expected);
    }
}

/// An application that sends a body where none may be sends it sooner or later, announced or not.
#[test]
fn an_answer_that_has_no_body_ends_its_stream() {
    let relay = Relay::start();
    let port = numbered(&[
        (
            "/chunks-204",
            "HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        ("/length-204", "HTTP/1.1 204 N\r\nContent-Length: 5\r\n\r\n"),
        (
            "/chunks-304",
            "HTTP/1.1 304 N\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        (
            "/chunks-head",
            "HTTP/1.1 200 O\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        ("/empty-205", "HTTP/1.1 205 R\r\nContent-Length: 0\r\n\r\n"),
        ("/empty-200", "HTTP/1.1 200 O\r\nContent-Length: 0\r\n\r\n"),
        ("/empty-204", "HTTP/1.1 204 N\r\nContent-Length: 0\r\n\r\n"),
        ("/length-304", "HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n"),
        (
            "/length-head",
            "HTTP/1.1 200 O\r\nContent-Length: 5\r\n\r\n",
        ),
    ]);
    let _shared = relay.share("shop", port);
    let mut client = relay.connect();
    let mut get = |method: &str, path: &str| {
        client.send(relay.request(method, "shop", path, "").as_bytes());
        client.answer(method == "HEAD").unwrap()
    };
    let mut number = get("GET", "/").text().parse::<u32>().unwrap();
    for (method, path, is_kept) in [
        ("GET", "/chunks-204", false),
        ("GET", "/length-204", false),
        ("GET", "/chunks-304", false),
        ("HEAD", "/chunks-head", false),
        ("GET", "/empty-204", false),
        ("GET", "/empty-205", false),
        ("GET", "/length-304", false),
        ("HEAD", "/length-head", false),
        ("HEAD", "/empty-200", false),
        ("GET", "/empty-200", true),
    ] {
        assert!([200, 204, 205, 304].contains(&get(method, path).status));
        let next: u32 = get("GET", "/").text().parse().unwrap();
        assert_eq!(next == number, is_kept, "{path}: {number}, then {next}");
        number = next;
    }
}

/// A second answer to one request, after the visitor has got the first.
#[test]
fn a_late_second_answer_reaches_nobody_else() {
    let relay = behind_a_proxy();
    let late = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&late);
    let port = application(move |mut stream| {
        while let Some(head) = head_from(&mut stream) {
            let _ = stream.write_all(OK);
            if head.starts_with("GET /twice") {
                std::thread::yield_now();
                let second = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nLATE";
                let _ = stream.write_all(second);
                count.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    let _shared = relay.share("shop", port);
    for number in 1..=50 {
        let mut proxy = relay.connect();
        let first = ask(&relay, &mut proxy, "GET", "/twice", ATTACKER, "");
        assert_eq!(first.text(), "ok");
        let second = ask(&relay, &mut proxy, "GET", "/", VICTIM, "");
        assert_eq!(second.text(), "ok", "turn {number}");
        wait_until("the late answer", || late.load(Ordering::SeqCst) == number);
    }
}
