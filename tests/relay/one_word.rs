//! `postern http 3000` and the like, with a real relay and with the one that is embedded.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use support::http::{Client, Response};
use support::manager::{Manager, Target};
use support::postern::status_field;
use support::relay::{Relay, with};
use support::share::Sharing;
use support::{Home, TIMEOUT, free_port, keep_the_usual_port_away, wait_until};

/// The site behind a link, at this machine's address.
fn visit(link: &str) -> Response {
    let (_, rest) = link.split_once("://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let port = host.rsplit(':').next().unwrap();
    let headers = [("Host", host), ("Origin", "")];
    Client::new(&format!("127.0.0.1:{port}")).send("GET", &format!("/{path}"), &headers, b"")
}

#[test]
fn without_any_server_it_is_shared_on_this_machine_and_says_so() {
    let (home, target) = (Home::new(), Target::start());
    let mut sharing = Sharing::start(&home, &["http", &target.port().to_string()]);
    let link = sharing.link();
    assert!(
        link.starts_with(&format!("http://http-{}.localhost:", target.port())),
        "{link}"
    );
    assert_eq!(visit(&link).text(), "hello from the target");
    sharing.wait_said("Ctrl-C stops it.\n");
    sharing.wait_said(
        "Only this machine can open this address. To share with others, run 'postern relay'",
    );
    assert_eq!(sharing.stdout(), format!("{link}\n"), "the link alone");
    assert_eq!(sharing.stop().and_then(|status| status.code()), Some(0));
    let last = sharing.stderr();
    let last = last.lines().last().unwrap_or_default();
    assert!(last.starts_with("Shared for "), "{last}");
    assert_eq!(home.run(&["app", "list", "--json"]).stdout, "[]\n");
}

/// A share that nobody visits is told of changes: its command does not ask for them.
#[test]
fn a_share_without_visitors_does_nothing() {
    let (home, target) = (Home::new(), Target::start());
    let sharing = Sharing::start(&home, &["http", &target.port().to_string()]);
    let link = sharing.link();
    let waits = || status_field(sharing.pid(), "voluntary_ctxt_switches:");
    wait_until(TIMEOUT, "a command that only waits", || {
        let before = waits();
        // The time of three questions, if it asked.
        std::thread::sleep(Duration::from_secs(3));
        waits() == before
    });
    assert_eq!(visit(&link).status(), 200);
    sharing.wait_said("visitor");
}

/// A hint to name a server is not shown if one was named.
#[test]
fn a_server_whose_sites_are_on_this_machine_is_said_to_be_that() {
    let (relay, home, target) = (Relay::start(&[]), Home::new(), Target::start());
    let port = target.port().to_string();
    let sharing = Sharing::start(&home, &["http", &port, "--server", &relay.url()]);
    sharing.link();
    sharing.wait_said("Only this machine can open this address, because of the relay's domain.");
    assert!(!sharing.stderr().contains("on a public server"));
}

#[test]
fn who_is_revoked_is_told_to_run_it_again_and_not_that_it_comes_back() {
    let (relay, home, target) = (Relay::start(&[]), Home::new(), Target::start());
    let port = target.port().to_string();
    let (args, url) = (["http", &port], relay.url());
    let args = [&args[..], &["--server", &url]].concat();
    let mut sharing = Sharing::start(&home, &args);
    sharing.link();
    assert_eq!(sharing.stop().and_then(|status| status.code()), Some(0));
    let name = relay.status()["connectors"][0]["name"].clone();
    let name = name.as_str().unwrap();
    let run = |command: &str| relay.home().run(&["relay", command, name]);
    assert_eq!(run("revoke").code, Some(0));
    let refused = home.run(&args);
    assert_ne!(refused.code, Some(0));
    let is_said = ["'postern relay allow'", "then run the command again"];
    let said = &refused.stderr;
    assert!(
        is_said.iter().all(|part| said.contains(part)),
        "{refused:?}"
    );
    assert!(!said.contains("reconnects"), "{refused:?}");
    assert_eq!(run("allow").code, Some(0));
    Sharing::start(&home, &args).link();
}

/// A target keeps its address for the next share; two shares of it at a time get two.
#[test]
fn the_address_stays_and_two_shares_of_one_target_have_one_each() {
    let (relay, home, target) = (Relay::start(&[]), Home::new(), Target::start());
    let url = format!("http://127.0.0.1:{}/", target.port());
    let args = ["http", &url, "--server", &relay.url()];
    let mut first = Sharing::start(&home, &args);
    let link = first.link();
    let second = Sharing::start(&home, &args);
    assert_ne!(second.link(), link);
    for link in [&link, &second.link()] {
        assert_eq!(visit(link).text(), "hello from the target");
    }
    assert_eq!(first.stop().and_then(|status| status.code()), Some(0));
    assert_eq!(visit(&link).status(), 410, "it is given back");
    assert_eq!(Sharing::start(&home, &args).link(), link);
}

#[test]
fn events_are_a_json_object_a_line_and_the_link_has_the_code() {
    let (relay, home, target) = (Relay::start(&[]), Home::new(), Target::start());
    let port = target.port().to_string();
    let args = [
        "http",
        &port,
        "--server",
        &relay.url(),
        "--invisible",
        "--name",
        "Field notes",
        "--for",
        "1h",
        "--json",
    ];
    let mut sharing = Sharing::start(&home, &args);
    let shared = sharing.event("shared");
    assert_eq!(
        (
            &shared["name"],
            &shared["protocol"],
            &shared["this_machine_only"]
        ),
        (&json!("Field notes"), &json!("http"), &json!(true))
    );
    assert!(
        shared["expires"].is_string() && shared["auth_url"] == shared["link"],
        "{shared}"
    );
    let site = shared["site_url"].as_str().unwrap();
    assert!(site.starts_with("http://field-notes.localhost:"), "{site}");
    assert_eq!(visit(site).status(), 401);
    assert_eq!(visit(shared["link"].as_str().unwrap()).status(), 303);
    assert_eq!(sharing.stop().and_then(|status| status.code()), Some(0));
    let ended = sharing.event("ended");
    assert_eq!(ended["reason"], "interrupted");
    assert_eq!(
        sharing.events("visitor"),
        [] as [serde_json::Value; 0],
        "nobody came in"
    );
    assert!(
        ended["seconds"].is_u64() && ended["bytes_out"].is_u64(),
        "{ended}"
    );
}

#[test]
fn it_ends_when_its_time_is_over() {
    let (relay, home, target) = (Relay::start(&[]), Home::new(), Target::start());
    let port = target.port().to_string();
    let args = [
        "http",
        &port,
        "--server",
        &relay.url(),
        "--for",
        "3s",
        "--json",
    ];
    let mut sharing = Sharing::start(&home, &args);
    let link = sharing.event("shared")["link"].clone();
    assert_eq!(sharing.code(), Some(0));
    assert_eq!(sharing.event("ended")["reason"], "expired");
    assert_eq!(visit(link.as_str().unwrap()).status(), 410);
}

/// An open request is cut off at the end, and counts with the bytes sent.
#[test]
fn what_is_open_when_the_time_is_over_counts_in_the_last_line() {
    const SENT: usize = 200_000;
    let (relay, home) = (Relay::start(&[]), Home::new());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut head = [0; 4096];
                let is_visit = stream
                    .read(&mut head)
                    .is_ok_and(|count| head[..count].starts_with(b"GET"));
                let answer = if is_visit {
                    "Content-Length: 9999999"
                } else {
                    "Content-Length: 0"
                };
                let _ = write!(stream, "HTTP/1.1 200 OK\r\n{answer}\r\n\r\n");
                if is_visit {
                    let _ = stream.write_all(&[b'x'; SENT]);
                    // It goes on for longer than it is shared.
                    let _ = stream.read(&mut head);
                }
            });
        }
    });
    let url = relay.url();
    let args = ["http", &port, "--server", &url, "--for", "4s", "--json"];
    let mut sharing = Sharing::start(&home, &args);
    let link = sharing.event("shared")["link"].as_str().unwrap().to_owned();
    let host = link.trim_start_matches("http://").trim_end_matches('/');
    let mut visitor =
        TcpStream::connect(format!("127.0.0.1:{}", host.rsplit(':').next().unwrap())).unwrap();
    write!(visitor, "GET /large HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut got = Vec::new();
    let _ = visitor.read_to_end(&mut got);
    assert!(got.len() > SENT, "{}", got.len());
    assert_eq!(sharing.code(), Some(0));
    let ended = sharing.event("ended");
    assert_eq!(
        (&ended["reason"], &ended["requests"], &ended["visitors"]),
        (&json!("expired"), &json!(1), &json!(1))
    );
    assert!(ended["bytes_out"].as_u64() > Some(200_000), "{ended}");
    assert_eq!(sharing.event("visitor")["source"], "127.0.0.1");
}

#[test]
fn a_port_is_shared_by_one_word_too() {
    let (relay, home, target) = (Relay::start(&[]), Home::new(), Target::start());
    let port = target.port().to_string();
    let tcp = Sharing::start(&home, &["tcp", &port, "--server", &relay.url()]);
    let link = tcp.link();
    let address = link.replace("localhost", "127.0.0.1");
    assert!(TcpStream::connect(&address).is_ok(), "{link}");
    let ssh = Sharing::start(&home, &["ssh", &port, "--server", &relay.url()]);
    let link = ssh.link();
    assert!(
        link.starts_with("ssh -p ") && link.ends_with(" 127.0.0.1"),
        "{link}"
    );
}

/// Both the enrolment token of the line, and none.
#[test]
fn a_relay_that_asks_for_a_token_gets_the_one_of_the_line() {
    let relay = Relay::start(&["--trust-proxy", "127.0.0.0/8"]);
    let (home, target) = (Home::new(), Target::start());
    let port = target.port().to_string();
    let mut refused = Sharing::start(&home, &["http", &port, "--server", &relay.url()]);
    assert_eq!(refused.code(), Some(4), "{}", refused.stderr());
    assert!(
        refused.stderr().contains("--enroll-token"),
        "{}",
        refused.stderr()
    );
    let token = relay.enrol_token();
    let args = [
        "http",
        &port,
        "--server",
        &relay.url(),
        "--enroll-token",
        &token,
    ];
    assert_eq!(visit(&Sharing::start(&home, &args).link()).status(), 200);
}

#[test]
fn what_cannot_be_reached_is_exit_status_3() {
    let (home, target) = (Home::new(), Target::start());
    let server = format!("http://127.0.0.1:{}", free_port());
    let port = target.port().to_string();
    let mut sharing = Sharing::start(&home, &["http", &port, "--server", &server]);
    assert_eq!(sharing.code(), Some(3), "{}", sharing.stderr());
    assert_eq!(sharing.stdout(), "");
}

/// It was no success before: a script would have gone on as if something had been shared.
#[test]
fn what_is_interrupted_before_it_is_connected_says_that_nothing_is_shared() {
    let (home, target) = (Home::new(), Target::start());
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", silent.local_addr().unwrap());
    let port = target.port().to_string();
    let mut sharing = Sharing::start(&home, &["http", &port, "--server", &server]);
    // Nobody answers the call that has come.
    let _call = silent.accept().unwrap();
    let waits = format!("asking {} for an address\n", silent.local_addr().unwrap());
    sharing.wait_said(&waits);
    assert_eq!(sharing.stop().and_then(|status| status.code()), Some(130));
    assert!(
        sharing.stderr().contains("nothing is shared"),
        "{}",
        sharing.stderr()
    );
    assert_eq!(sharing.stdout(), "");
}

#[test]
fn a_path_is_where_the_link_opens_the_site_with_a_code_and_without() {
    let (relay, home, target) = (Relay::start(&[]), Home::new(), Target::start());
    let url = format!("http://127.0.0.1:{}/admin?x=1", target.port());
    let args = ["http", &url, "--server", &relay.url()];
    let sharing = Sharing::start(&home, &args);
    let link = sharing.link();
    assert!(link.ends_with("/admin?x=1"), "{link}");
    sharing.wait_said("The whole site is shared; the link opens /admin?x=1.\n");
    let with_code = Sharing::start(&home, &[&args[..], &["--invisible"]].concat());
    let led = visit(&with_code.link());
    assert_eq!(
        (led.status(), led.header("location")),
        (303, Some("/admin?x=1"))
    );
}

#[test]
fn a_site_that_is_not_called_as_wished_says_so() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let (first, second) = (Home::new(), Home::new());
    let (url, port) = (relay.url(), target.port().to_string());
    let named = |name| ["http", &port, "--server", &url, "--name", name];
    let has_it = Sharing::start(&first, &named("shop"));
    assert!(has_it.link().starts_with("http://shop."));
    has_it.wait_said("Ctrl-C stops it.\n");
    assert!(!has_it.stderr().contains("The site is named"));
    let is_late = Sharing::start(&second, &named("shop"));
    is_late.wait_said(": 'shop' is already taken.\n");
    let is_short = Sharing::start(&second, &named("x"));
    is_short.wait_said(": 'x' is not a valid site name (2 to 63");
}

/// The embedded relay of the running start is used, and what is killed is not left there.
#[test]
fn through_a_running_start_it_goes_when_the_command_is_killed() {
    let (manager, target) = (Manager::start(&[]), Target::start());
    let port = target.port().to_string();
    let mut sharing = Sharing::start(manager.home(), &["http", &port]);
    let link = sharing.link();
    sharing.wait_said("Only this machine can open this address.");
    assert_eq!(visit(&link).text(), "hello from the target");
    let apps = || manager.client().get("/api/apps").data();
    let shown = apps();
    assert_eq!(
        (&shown[0]["temporary"], &shown[0]["conn_status"]),
        (&json!(true), &json!("connected"))
    );
    sharing.kill();
    wait_until(TIMEOUT, "its end", || apps() == json!([]));
    wait_until(TIMEOUT, "the site's end", || visit(&link).status() == 410);
}

/// The port in a link of an application.
fn port_of(link: &str) -> u16 {
    let host = link
        .trim_end_matches('/')
        .rsplit_once(':')
        .expect("a port")
        .1;
    host.parse().expect("a number")
}

/// Answer at the link; a connection to a relay that is ending is reset.
fn answer(link: &str) -> std::io::Result<String> {
    let host = link.trim_end_matches('/').trim_start_matches("http://");
    let mut stream = TcpStream::connect(("127.0.0.1", port_of(link)))?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    write!(
        stream,
        "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn is_there(link: &str) -> bool {
    answer(link).is_ok_and(|text| text.contains("hello from the target"))
}

/// Another share takes over the common relay when the share that runs it ends or is killed.
#[test]
fn the_relay_that_shares_have_in_common_outlives_each_of_them() {
    keep_the_usual_port_away();
    let home = Home::new();
    let targets = [Target::start(), Target::start(), Target::start()];
    let share = |target: &Target| Sharing::start(&home, &["http", &target.port().to_string()]);
    let mut first = share(&targets[0]);
    first.link();
    let mut others = [share(&targets[1]), share(&targets[2])];
    let links = [others[0].link(), others[1].link()];
    assert_eq!(first.stop().and_then(|status| status.code()), Some(0));
    for link in &links {
        wait_until(TIMEOUT, "the relay in another", || is_there(link));
    }
    others[0].kill();
    wait_until(TIMEOUT, "the relay in the last", || is_there(&links[1]));
    let ended = others[1].stop();
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
}

/// Has a port as soon as it is free, and answers nothing there, or this; ends with what is answered.
fn take_when_free(port: u16, says: &'static [u8]) -> mpsc::Sender<()> {
    let (keep, kept) = mpsc::channel();
    let goes_on = move || kept.try_recv() == Err(mpsc::TryRecvError::Empty);
    std::thread::spawn(move || {
        let mut taken = None;
        while taken.is_none() && goes_on() {
            taken = TcpListener::bind(("127.0.0.1", port)).ok();
        }
        let Some(listener) = taken else { return };
        listener.set_nonblocking(true).unwrap();
        let mut open = Vec::new();
        while goes_on() {
            match listener.accept() {
                Ok((mut stream, _)) => {
                    let _ = stream.write_all(says);
                    open.push(stream);
                }
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    });
    keep
}

/// The relay that comes after it has another port then, which only the relay itself tells.
#[test]
fn a_share_finds_its_relay_again_where_another_program_has_come_before_it_at_its_port() {
    keep_the_usual_port_away();
    let not_found = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    for says in [&b""[..], not_found] {
        let home = Home::new();
        let targets = [Target::start(), Target::start()];
        let share = |target: &Target| Sharing::start(&home, &["http", &target.port().to_string()]);
        let mut first = share(&targets[0]);
        first.link();
        let mut other = share(&targets[1]);
        let link = other.link();
        let ports = std::fs::read(home.path().join("relay/embedded.json")).unwrap();
        let ports: serde_json::Value = serde_json::from_slice(&ports).unwrap();
        let port = u16::try_from(ports["tunnel"].as_u64().unwrap()).unwrap();
        let _taken = take_when_free(port, says);
        first.kill();
        wait_until(TIMEOUT, "the relay in the other", || is_there(&link));
        assert_eq!(other.stop().and_then(|status| status.code()), Some(0));
    }
}

/// The link of an application of a manager, where that is connected.
fn link_of(manager: &Manager, id: &str) -> Option<String> {
    let status = manager.status(id);
    let is_connected = status["status"] == "connected";
    is_connected.then(|| status["site_url"].as_str().unwrap().to_owned())
}

/// `postern start` beside a share whose relay it goes through: neither takes anything from the other.
#[test]
fn a_start_beside_a_share_outlives_its_relay_and_it_that_of_the_start() {
    keep_the_usual_port_away();
    let (home, target) = (Arc::new(Home::new()), Target::start());
    let port = target.port().to_string();
    let mut share = Sharing::start(&home, &["http", &port, "--name", "shared"]);
    let shared = share.link();
    let mut manager = Manager::start_in(&home, &[]);
    let id = manager.add(&with(target.app(), json!({"name": "kept"})));
    manager.connected(&id);
    let kept = link_of(&manager, &id).unwrap();
    assert!(is_there(&shared) && is_there(&kept));
    // The start ends, and comes again: the share does not notice.
    manager.stop();
    assert!(is_there(&shared));
    manager = Manager::start_in(&home, &[]);
    manager.connected(&id);
    assert!(is_there(&shared) && is_there(&kept));

    assert_eq!(share.stop().and_then(|status| status.code()), Some(0));
    let link = || link_of(&manager, &id);
    wait_until(TIMEOUT, "the relay in the start", || {
        link().is_some_and(|link| is_there(&link))
    });
    // Another test can have come before it at that port.
    let port_of_kept = port_of(&kept);
    assert!(
        link().as_ref() == Some(&kept) || TcpListener::bind(("127.0.0.1", port_of_kept)).is_err()
    );
    let kept = link().unwrap();
    let version = || manager.client().get("/api/version").data();
    wait_until(TIMEOUT, "the start says whose relay it is", || {
        version()["embedded"] == true
    });
    let status_url = home.run(&["relay", "status-url"]);
    assert_eq!(status_url.code, Some(0), "{status_url:?}");
    // The other order: what is shared now goes through the start.
    let mut share = Sharing::start(&home, &["http", &port, "--name", "again"]);
    let again = share.link();
    assert!(is_there(&again) && is_there(&kept));
    assert_eq!(share.stop().and_then(|status| status.code()), Some(0));
    assert!(is_there(&kept));
}

/// Applications move to the relay's new address if another program has taken the port.
#[test]
fn a_start_keeps_a_relay_that_cannot_be_where_it_was() {
    keep_the_usual_port_away();
    let (home, target) = (Arc::new(Home::new()), Target::start());
    let port = target.port().to_string();
    let mut share = Sharing::start(&home, &["http", &port, "--name", "shared"]);
    let link = share.link();
    let manager = Manager::start_in(&home, &[]);
    let id = manager.add(&with(target.app(), json!({"name": "kept"})));
    manager.connected(&id);
    let kept = link_of(&manager, &id).unwrap();
    let address = link.trim_end_matches('/').rsplit(':').next().unwrap();
    let address = format!("127.0.0.1:{address}");
    let pause = |signal| {
        let pid = Pid::from_raw(manager.pid().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    };
    pause(Signal::STOP);
    share.kill();
    let mut taken = None;
    wait_until(TIMEOUT, "the port", || {
        taken = TcpListener::bind(&address).ok();
        taken.is_some()
    });
    pause(Signal::CONT);
    let moved = || link_of(&manager, &id).filter(|link| *link != kept);
    wait_until(TIMEOUT, "another address", || {
        moved().is_some_and(|link| is_there(&link))
    });
    assert!(moved().unwrap().starts_with("http://kept.localhost:"));
}

/// A share that cannot get its address again ends, and says why.
#[test]
fn where_the_relay_cannot_be_had_again_a_share_ends_with_status_3() {
    let (home, target) = (Home::new(), Target::start());
    let port = target.port().to_string();
    let mut first = Sharing::start(&home, &["http", &port]);
    let link = first.link();
    let mut second = Sharing::start(&home, &["http", &port]);
    second.link();
    let address = link.trim_end_matches('/').rsplit(':').next().unwrap();
    let address = format!("127.0.0.1:{address}");
    second.signal(Signal::STOP);
    first.kill();
    let mut taken = None;
    wait_until(TIMEOUT, "the port", || {
        taken = TcpListener::bind(&address).ok();
        taken.is_some()
    });
    second.signal(Signal::CONT);
    assert_eq!(second.code(), Some(3), "{}", second.stderr());
    let said = format!("the relay at {address} ended with the command that ran it");
    assert!(second.stderr().contains(&said), "{}", second.stderr());
}

/// Its name cannot be a site's: the words behind it are the same at each run.
#[test]
fn the_address_stays_where_words_are_added_to_the_name() {
    let (relay, home, target) = (Relay::start(&[]), Home::new(), Target::start());
    let port = target.port().to_string();
    let args = ["http", &port, "--name", "k", "--server", &relay.url()];
    let mut first = Sharing::start(&home, &args);
    let link = first.link();
    assert!(link.starts_with("http://k-"), "{link}");
    first.stop();
    assert_eq!(Sharing::start(&home, &args).link(), link);
}

/// A source is told once, however often it comes; what is lost is told, and that it is back.
#[test]
fn visitors_and_a_relay_that_comes_back_are_told() {
    let (mut relay, home, target) = (Relay::start(&[]), Home::new(), Target::start());
    let port = target.port().to_string();
    let args = ["http", &port, "--server", &relay.url(), "--json"];
    let mut sharing = Sharing::start(&home, &args);
    let link = sharing.event("shared")["link"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        assert_eq!(visit(&link).status(), 200);
    }
    assert_eq!(sharing.event("visitor")["source"], "127.0.0.1");
    relay.stop();
    sharing.event("lost");
    let _relay = relay.restart(&[]);
    sharing.event("back");
    assert_eq!(visit(&link).text(), "hello from the target");
    assert_eq!(sharing.stop().and_then(|status| status.code()), Some(0));
    let ended = sharing.event("ended");
    assert_eq!(
        (&ended["visitors"], &ended["requests"]),
        (&json!(1), &json!(4))
    );
    assert_eq!(sharing.events("visitor").len(), 1);
}

/// An application that does not answer is reported at once, and again when it answers.
#[test]
fn what_does_not_answer_is_told() {
    let (relay, home) = (Relay::start(&[]), Home::new());
    let port = free_port().to_string();
    let args = ["http", &port, "--server", &relay.url(), "--json"];
    let mut sharing = Sharing::start(&home, &args);
    let fails = sharing.event("fails");
    assert_eq!(
        fails["error"],
        format!("127.0.0.1:{port} refuses connections")
    );
    let _held = sharing.event("shared");
    assert_eq!(sharing.stop().and_then(|status| status.code()), Some(0));
    // A word that was meant for a port is a host name, of a machine in this network perhaps.
    let args = ["http", "not-a-port", "--server", &relay.url(), "--json"];
    let sharing = Sharing::start(&home, &args);
    assert_eq!(
        sharing.event("fails")["error"],
        "cannot find the host of not-a-port:80 (no DNS entry); use PORT or HOST:PORT"
    );
}
