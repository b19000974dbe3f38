//! A tenant that floods `postern tunnel-server` with requests after its login, played by Python's asyncssh: the server's
//! memory stays as it is, and another tenant is served meanwhile.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use postern::tunnel::client::Tunnel;
use support::kill_on_drop::KillOnDrop;
use support::postern::status_field;

use crate::fixture::{Target, WAIT, settings_for, visit};
use crate::peer_client::{GROUP, Server, server};
use support::{free_port, wait_until};

/// KiB that the server may have more in the middle of a flood, and after it. Answers that wait are 2 MiB at most, the
/// largest buffers of a connection and its threads' stacks the rest.
const GROWTH: u64 = 16 * 1024;

fn rss(server: &Server) -> u64 {
    status_field(server.process.pid(), "VmRSS:")
}

fn echo(port: u16) {
    let mut visitor = visit(port);
    visitor.write_all(b"there and back").unwrap();
    let mut answer = [0; 14];
    visitor.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"there and back");
}

/// Runs a flood to its good end; how often another tenant's visitor was served meanwhile is printed.
fn flood(kind: &str) -> String {
    let server = server();
    let (target, port) = (Target::echo(), free_port());
    let address = server.url.trim_start_matches("ws://").trim_end_matches('/');
    let mut settings = settings_for(address.parse().unwrap(), port, target.port());
    settings.user = "me".to_owned();
    settings.password = "secret".to_owned().into();
    let tenant = Tunnel::start(settings).unwrap();
    assert!(tenant.wait(WAIT), "{:?}", tenant.snapshot());
    echo(port);
    let before = rss(&server);
    let (python, script) = support::peers::script("flood.py");
    let mut peer = KillOnDrop::new(python)
        .args([script.as_os_str()])
        .args([kind, &server.url])
        .args(&server.fingerprints)
        .args([free_port().to_string()])
        .start();
    wait_until(WAIT, "the flood begins", || {
        peer.stdout.text().contains("flooding") || peer.ended().is_some()
    });
    let (served, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (status, most) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                echo(port);
                served.fetch_add(1, Ordering::SeqCst);
            }
        });
        let mut most = 0;
        let mut status = None;
        let ended = support::holds_within(2 * GROUP, || {
            most = most.max(rss(&server));
            status = peer.ended();
            status.is_some()
        });
        is_over.store(true, Ordering::SeqCst);
        (status.filter(|_| ended), most)
    });
    peer.kill();
    peer.drained();
    let said = format!(
        "{kind}: {}\n{}\nthe server said: {}",
        peer.stdout.text(),
        peer.stderr.text(),
        server.process.stderr.text()
    );
    assert!(status.is_some_and(|status| status.success()), "{said}");
    assert!(said.contains("passed: "), "{said}");
    let served = served.into_inner();
    println!(
        "{kind}: {served} visitors of another tenant served, {before} KiB before, {most} KiB at most"
    );
    assert!(served > 0, "{said}");
    assert!(most < before + GROWTH, "{before} KiB, then {most} KiB");
    assert_eq!(tenant.snapshot().reconnects, 0);
    echo(port);
    let after = rss(&server);
    assert!(after < before + GROWTH, "{before} KiB, then {after} KiB");
    tenant.stop();
    said
}

#[test]
fn requests_that_want_answers_get_them_and_hold_nobody_up() {
    flood("requests");
}

#[test]
fn channels_that_are_not_offered_are_refused_and_leave_nothing() {
    flood("opens");
}

#[test]
fn commands_variables_and_widened_windows_on_a_stream_change_nothing() {
    flood("channel_requests");
}

#[test]
fn a_window_wider_than_the_protocol_has_it_ends_the_connection() {
    let said = flood("too_wide");
    assert!(said.contains("a window is wider than 4 GiB"), "{said}");
}

#[test]
fn who_asks_without_reading_the_answers_is_cut() {
    let said = flood("unread");
    assert!(said.contains("Flooded"), "{said}");
}

#[test]
fn keys_that_change_all_the_time_hold_nobody_up() {
    flood("rekeys");
}
