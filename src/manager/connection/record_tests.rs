//! Tests of the record of one connection.

use super::*;
use crate::api::ErrorClass;
use crate::manager::apps::app_input::AppInput;
use crate::manager::quick_setup::Wait;
use crate::manager::request_log::RequestRecord;
use crate::tunnel::client::Settings;
use crate::tunnel::group::TunnelGroup;
use crate::tunnel::ws::Endpoint;

fn app() -> AppConfig {
    let app = AppInput::parse(&serde_json::json!({"protocol": "http"}), true);
    app.unwrap().into_new()
}

fn active() -> ConnectionOwner {
    ConnectionOwner::begin(
        RecordNumbers::default(),
        &app(),
        crossbeam_channel::bounded(0).1,
        Arc::default(),
    )
}

#[test]
fn a_late_outcome_does_not_bring_back_what_was_ended() {
    let active = active();
    assert!(!active.is_stopped());
    active.stop();
    assert!(active.is_stopped());
    active.change().complete(ConnectResult::default());
    active.fail(ConnectError::new(ErrorClass::Local, "late"), None);
    assert_eq!(active.state(), ConnectionState::Disconnected);
    assert_eq!(active.result(None).error, "");
}

#[test]
fn a_fault_and_a_pause_are_shown() {
    let active = active();
    let until = Instant::now() + std::time::Duration::from_secs(3);
    let pause = Wait {
        attempt: 1,
        until,
        reason: "busy".into(),
    };
    active.change().pause_calls(Some(pause));
    let shown = active.result(None);
    assert_eq!((shown.error.as_str(), shown.step), ("busy", Some(1)));
    assert!(
        shown
            .next_retry_ms
            .is_some_and(|ms| ms > 2000 && ms <= 3000)
    );
    active.fail(ConnectError::new(ErrorClass::QuickSetup, "no"), None);
    let shown = active.result(None);
    assert_eq!(
        (shown.status, shown.class()),
        (ConnectionState::Failed, "quick-setup")
    );
    assert_eq!((shown.error.as_str(), shown.next_retry_ms), ("no", None));
}

/// A tunnel that has tried in vain, and says why.
fn failing_tunnel() -> Arc<TunnelGroup> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("ws://{}", listener.local_addr().unwrap());
    drop(listener);
    let remote = "R:127.0.0.1:1:127.0.0.1:1".parse().unwrap();
    let settings = Settings::new(Endpoint::parse(&endpoint).unwrap(), vec![remote]);
    let tunnel = Arc::new(TunnelGroup::start(settings, None).unwrap());
    let deadline = Instant::now() + Duration::from_secs(20);
    while tunnel.snapshot().error.is_none() {
        assert!(Instant::now() < deadline, "it has not failed");
        std::thread::yield_now();
    }
    tunnel
}

#[test]
fn a_tunnels_error_is_the_reason_of_what_waits_for_it_and_of_nothing_else() {
    let tunnel = failing_tunnel();
    let failed = |step: Step, failure: ConnectError| {
        let active = active();
        active.change().wait_for(step, Arc::clone(&tunnel));
        let awaited = active.fail(failure, Some(Duration::from_secs(5)));
        (active.result(None), awaited)
    };
    let late = ConnectError::new(ErrorClass::Timeout, "App tunnel connect timeout").of_tunnel();
    let (shown, awaited) = failed(Step::Signal, late);
    assert_eq!(shown.class(), "network");
    assert!(!shown.detail.is_empty());
    assert!(matches!(awaited, Some(Awaited::Moment(_))));
    let local = ConnectError::new(ErrorClass::OwnListener, "not shared");
    let (shown, _) = failed(Step::Serving, local);
    assert_eq!((shown.class(), shown.detail.as_str()), ("own-listener", ""));
    let refused = ConnectError::new(ErrorClass::NoServer, "no server given");
    let (_, awaited) = failed(Step::Serving, refused);
    assert_eq!(awaited, Some(Awaited::Change));
    let denied = ConnectError::new(ErrorClass::Plugin, "in any words").refused(true);
    assert_eq!(failed(Step::WebClient, denied).1, Some(Awaited::Change));
}

#[test]
fn of_what_was_refused_only_credentials_are_tried_when_the_server_is_back() {
    let pause = Some(Duration::from_secs(5));
    let has_wish = |active: &ConnectionOwner| active.retries().try_recv().is_ok();
    let active = active();
    active.retry();
    let awaited = active.fail(ConnectError::new(ErrorClass::Network, "gone"), pause);
    assert!(matches!(awaited, Some(Awaited::Moment(_))));
    assert!(!has_wish(&active), "that wish was for an earlier pause");
    assert!(active.has_place() && active.result(None).next_retry_ms.is_some());
    active.retry_for_returned_server();
    assert!(has_wish(&active));
    assert!(active.change().begin_again(Step::QuickSetup));
    assert_eq!(active.result(None).error, "");
    let awaited = active.fail(ConnectError::new(ErrorClass::Forbidden, "not you"), pause);
    assert_eq!(awaited, Some(Awaited::Change));
    assert_eq!(active.result(None).next_retry_ms, None);
    active.retry_with_trusted_key("t:1");
    assert!(!has_wish(&active));
    active.retry_for_returned_server();
    assert!(has_wish(&active), "it takes the credentials again");
    assert!(active.change().begin_again(Step::QuickSetup));
    active.fail(ConnectError::new(ErrorClass::NoServer, "none"), pause);
    active.retry_for_returned_server();
    assert!(!has_wish(&active));
    assert!(active.change().begin_again(Step::QuickSetup));
    let key = ConnectError::new(ErrorClass::HostKeyChanged, "another key");
    let Some(Awaited::Moment(at)) = active.fail(key, pause) else {
        panic!("the known key may be back");
    };
    assert!(at > Instant::now() + Duration::from_secs(9));
    active.retry_for_returned_server();
    assert!(has_wish(&active), "its main tunnel has seen the known key");
    assert!(active.change().begin_again(Step::QuickSetup));
    active.fail(ConnectError::new(ErrorClass::Forbidden, "not you"), pause);
    active.notify_application_changed();
    assert!(has_wish(&active));
    active.retry();
    assert!(has_wish(&active), "the user may always");
    active.stop();
    assert!(!active.change().begin_again(Step::QuickSetup));
}

/// The server of a connection is saved a moment after it connects, whatever the clock says of both moments.
#[test]
fn the_server_that_it_stays_with_is_no_change_before_it_is_noted() {
    let (active, saved) = (active(), app());
    active.change().set_active_settings(&saved);
    active.change().complete(ConnectResult::default());
    let through = AppConfig {
        used_server: Some("https://a.example".into()),
        ..saved.clone()
    };
    active.change().set_active_settings(&through);
    assert!(!active.result(Some(&saved)).pending_changes);
    let required = AppConfig {
        site_name_required: true,
        ..saved.clone()
    };
    active.change().set_active_settings(&required);
    active.change().is_saving_server = false;
    assert!(
        !active.result(Some(&saved)).pending_changes,
        "of one connect"
    );
    active.change().set_active_settings(&through);
    assert!(!active.result(Some(&through)).pending_changes);
    assert!(
        active.result(Some(&saved)).pending_changes,
        "it was taken back since"
    );
}

/// A reader that continues after a reconnect misses nothing.
#[test]
fn records_of_the_next_connection_are_numbered_on() {
    let record = |path| {
        let time = std::time::SystemTime::UNIX_EPOCH;
        RequestRecord::new("GET", path, None, time, Duration::ZERO, 200, 1)
    };
    let before = active();
    for path in ["/a1", "/a2"] {
        before.requests.note(record(path));
    }
    let expected = RecordNumbers {
        requests: 2,
        statements: 0,
    };
    assert_eq!(before.numbers(), expected);
    let done = crossbeam_channel::bounded(0).1;
    let next = ConnectionOwner::begin(before.numbers(), &app(), done, Arc::default());
    next.requests.note(record("/b1"));
    let (last, later) = next.requests.records.after(2);
    assert_eq!((last, later.len(), later[0].n), (3, 1, 3));
    assert_eq!(next.requests.visitors().requests, 1);
}
