//! The retry table row by row, in a time of its own; `tests/quick_setup.rs` has the real one.

use crate::sync::Mutex;
use std::sync::Arc;

use crossbeam_channel::{Sender, bounded, unbounded};
use zeroize::Zeroizing;

use super::*;
use crate::api::relay::SetupCall;
use crate::store::{Credentials, DataDir, Fingerprint, to_json};

#[path = "../../../tests/support/quick_setup.rs"]
mod server;
use server::{Act, QuickSetup, good};

/// A second is 20 ms, and a call may take 500 ms.
const FAST: Pace = Pace {
    call: Duration::from_millis(500),
    second: Duration::from_millis(20),
};

struct Fake {
    base: Credentials,
    reloads: Mutex<Vec<bool>>,
    waits: Mutex<Vec<Option<(u32, Duration, String)>>>,
    accepted: Sender<Setup>,
}

impl Fake {
    fn body(&self, password: &str) -> Zeroizing<Vec<u8>> {
        let body = SetupCall {
            protocol: "http".into(),
            ip: "127.0.0.1".into(),
            port: 80,
            connector_name: self.base.connector_name.clone(),
            password: Zeroizing::new(password.to_owned()),
            client_app_id: "00ff".into(),
            enroll_token: Some(Zeroizing::new("enrol-token".to_owned())),
            reset: true,
            ..SetupCall::default()
        };
        to_json(&body).unwrap()
    }
}

impl Caller for Arc<Fake> {
    fn prepare(&mut self, reload: bool) -> Result<PreparedCall, Failure> {
        self.reloads.lock().push(reload);
        let accepted = self.accepted.clone();
        Ok(PreparedCall {
            body: if reload {
                self.body("reloaded-password")
            } else {
                self.body(&self.base.password)
            },
            accepted: Box::new(move |setup| accepted.send(setup.clone()).unwrap()),
        })
    }

    fn waiting(&mut self, wait: Option<Wait>) {
        let left = wait.map(|wait| {
            let left = wait.until.saturating_duration_since(Instant::now());
            (wait.attempt, left, wait.reason)
        });
        self.waits.lock().push(left);
    }
}

struct Scene {
    server: QuickSetup,
    url: ServerUrl,
    fake: Arc<Fake>,
    accepted: Receiver<Setup>,
    stop: (Sender<()>, Receiver<()>),
    retry: (Sender<()>, Receiver<()>),
    began: Instant,
}

impl Scene {
    fn new(script: impl IntoIterator<Item = Act>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let fingerprint = Fingerprint::of(&DataDir::at(home.path())).unwrap();
        let mut base = Credentials::generate(&fingerprint);
        base.password = Zeroizing::new("first-password".to_owned());
        let (accepted, heard) = unbounded();
        let fake = Fake {
            base,
            reloads: Mutex::default(),
            waits: Mutex::default(),
            accepted,
        };
        let server = QuickSetup::start(script);
        Self {
            url: ServerUrl::parse(&server.url(), false).unwrap(),
            server,
            fake: Arc::new(fake),
            accepted: heard,
            stop: bounded(1),
            retry: bounded(8),
            began: Instant::now(),
        }
    }

    fn run(&self) -> Result<Setup, Failure> {
        self.run_at(FAST)
    }

    fn run_at(&self, pace: Pace) -> Result<Setup, Failure> {
        let mut caller = Arc::clone(&self.fake);
        run_at(pace, &self.url, &mut caller, &self.stop.1, &self.retry.1)
    }

    /// The text of the failure, in which no secret may be.
    #[track_caller]
    fn failure(&self) -> String {
        let failure = self.run().unwrap_err();
        let text = format!("{failure}; {}", failure.hint());
        for secret in [
            "first-password",
            "reloaded-password",
            "enrol-token",
            "assigned-password",
        ] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(
            !text.chars().any(char::is_control) && text.len() < 800,
            "{text}"
        );
        text
    }

    /// Times of the requests after the first, in units of [`FAST`]'s second since the scene began, so that a request
    /// that is noted late makes no pause shorter.
    fn times(&self) -> Vec<f64> {
        let requests = self.server.requests();
        let since = |at: Instant| (at - self.began).as_secs_f64() / 0.02;
        requests.iter().skip(1).map(|r| since(r.at)).collect()
    }

    /// Before each request but the first there was at least that pause, in the same unit.
    #[track_caller]
    fn paused(&self, pauses: &[f64]) {
        let times = self.times();
        assert_eq!(times.len(), pauses.len(), "{times:?}");
        let mut least = 0.0;
        for (time, pause) in times.iter().zip(pauses) {
            least += pause;
            assert!(*time >= least, "{times:?} with pauses of {pauses:?}");
        }
    }
}

fn fine() -> Act {
    Act::json(200, &good(62888, 20001))
}

#[test]
fn a_success_is_accepted_once_before_it_is_answered() {
    let scene = Scene::new([fine()]);
    let setup = scene.run().unwrap();
    assert_eq!(scene.accepted.try_iter().collect::<Vec<_>>(), [setup]);
    let request = &scene.server.requests()[0];
    assert!(
        request
            .head
            .starts_with("POST /api/public/quick-setup HTTP/1.1\r\n")
    );
    assert!(
        request
            .head
            .to_lowercase()
            .contains("content-type: application/json")
    );
    assert_eq!(request.json()["password"], "first-password");
    assert!(scene.fake.waits.lock().is_empty());
}

#[test]
fn unauthorized_reloads_and_retries() {
    let scene = Scene::new([
        Act::text(401, ""),
        Act::json(401, &serde_json::json!({})),
        fine(),
    ]);
    scene.run().unwrap();
    assert_eq!(*scene.fake.reloads.lock(), [false, true, true]);
    assert_eq!(
        scene.server.requests()[1].json()["password"],
        "reloaded-password"
    );
    assert!(scene.fake.waits.lock().is_empty(), "there is no pause");
}

#[test]
fn unauthorized_to_the_end_says_what_to_do() {
    let scene = Scene::new([Act::text(
        401,
        r#"{"code":401,"message":"no reloaded-password"}"#,
    )]);
    let text = scene.failure();
    assert!(
        text.contains("401 no ***") && text.contains("--reset-credentials"),
        "{text}"
    );
    assert_eq!(scene.server.requests().len(), 5);
}

#[test]
fn too_many_requests_waits_three_times_the_attempt() {
    let scene = Scene::new([Act::text(429, "slow down")]);
    let text = scene.failure();
    assert!(
        text.contains("429") && text.contains("5 attempts"),
        "{text}"
    );
    scene.paused(&[3.0, 6.0, 9.0, 12.0]);
    let waits = scene.fake.waits.lock();
    let attempts: Vec<_> = waits.iter().flatten().map(|wait| wait.0).collect();
    assert_eq!((attempts, waits.len()), (vec![1, 2, 3, 4], 8));
    assert!(waits.iter().skip(1).step_by(2).all(Option::is_none));
}

#[test]
fn retry_after_lengthens_a_pause_and_never_shortens_it() {
    let asks = |value: &str| Act::text(429, "").header(&format!("Retry-After: {value}"));
    let scene = Scene::new([asks("0"), asks("1"), asks("nonsense"), fine()]);
    scene.run().unwrap();
    // A second that the server asks for is a real one.
    scene.paused(&[3.0, 50.0, 9.0]);
}

/// Answer of a relay whose store is away; without a time it is a failure like others.
#[test]
fn a_503_that_says_when_is_asked_again_and_told_at_the_last() {
    let busy = || Act::text(503, "the store is away").header("Retry-After: 0");
    let scene = Scene::new([busy(), busy(), fine()]);
    scene.run().unwrap();
    scene.paused(&[1.0, 2.0]);
    let scene = Scene::new([busy(), busy(), busy(), busy(), busy()]);
    let text = scene.failure();
    assert!(
        text.contains("503") && text.contains("the store is away"),
        "{text}"
    );
    scene.paused(&[1.0, 2.0, 3.0, 4.0]);
    let scene = Scene::new([Act::text(503, "never")]);
    assert!(scene.failure().contains("503"));
    scene.paused(&[]);
}

#[test]
fn the_end_of_the_stream_waits_the_attempt() {
    let reset = Act::Raw(b"HTTP/1.1 200".to_vec());
    let scene = Scene::new([Act::Close, Act::Cut, reset, Act::Close, fine()]);
    scene.run().unwrap();
    scene.paused(&[1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn a_timeout_waits_the_attempt_and_gives_up_after_five() {
    let drip = Act::Drip(Duration::from_millis(10));
    let scene = Scene::new([
        Act::Hold,
        drip,
        fine().after(Duration::from_secs(9)),
        Act::Hold,
    ]);
    let text = scene.failure();
    assert!(text.contains("in time, 5 attempts"), "{text}");
    scene.paused(&[26.0, 27.0, 28.0, 29.0]);
}

#[test]
fn a_refused_connection_waits_the_attempt() {
    let mut scene = Scene::new([]);
    scene.url = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        ServerUrl::parse(&format!("http://{address}"), false).unwrap()
    };
    let begun = Instant::now();
    let text = scene.failure();
    assert!(text.contains("connection refused, 5 attempts"), "{text}");
    assert!(begun.elapsed() >= FAST.second * 10);
}

#[test]
fn anything_else_fails_at_once_and_shows_what_came() {
    let secretive = r#"{"connector":{"password":"assigned-password","external_ip":7}}"#;
    let mut hostile = good(1, 1);
    hostile["app"]["resource"]["port"] = 70000.into();
    for (act, part) in [
        (
            Act::text(400, "<h1>bad\u{1b}[2J\r\nrequest</h1>"),
            "400: <h1>bad [2J request</h1>",
        ),
        (
            Act::text(403, r#"{"message":"not you, first-password"}"#),
            "403: not you, ***",
        ),
        (Act::text(500, ""), "answered 500;"),
        (
            Act::text(302, "").header("Location: http://127.0.0.1:1/"),
            "answered 302;",
        ),
        (
            Act::text(307, "").header("Location: http://127.0.0.1:1/"),
            "answered 307;",
        ),
        (
            Act::text(200, "<html>portal</html>"),
            "not a JSON object; it sent: <html>portal</html>",
        ),
        (Act::text(200, secretive), "wrong type"),
        (
            Act::text(200, r#"{"code":500,"message":"full"}"#),
            "refused with code 500: full",
        ),
        (
            Act::json(200, &hostile),
            "app.resource.port: it is not a port from 1 to 65535",
        ),
        (Act::Raw(b"SSH-2.0-x\r\n".to_vec()), "is not a web server"),
        (Act::Huge(100 * 1024 * 1024), "larger than 1048576 bytes"),
    ] {
        let scene = Scene::new([act.clone()]);
        let text = scene.failure();
        assert!(text.contains(part), "{act:?}: {text}");
        assert_eq!(scene.server.requests().len(), 1, "{act:?}");
        assert!(scene.accepted.try_recv().is_err());
    }
}

/// A computer that has just been started has no name server yet.
#[test]
fn a_name_that_is_not_known_is_tried_again() {
    let mut scene = Scene::new([]);
    scene.url = ServerUrl::parse("https://no-such-host.invalid", false).unwrap();
    let text = scene.failure();
    assert!(
        text.contains("cannot be reached") && text.contains("5 attempts"),
        "{text}"
    );
}

/// The body of a status cannot move it to another row.
#[test]
fn the_body_of_a_429_changes_nothing() {
    let cut = Act::Raw(b"HTTP/1.1 429 X\r\nContent-Length: 9\r\n\r\nslow".to_vec());
    let huge = Act::text(429, &"x".repeat(2 * 1024 * 1024));
    let scene = Scene::new([cut, huge, fine()]);
    scene.run().unwrap();
    scene.paused(&[3.0, 6.0]);
}

#[test]
fn stop_ends_the_wait_at_once_and_a_late_success_is_still_accepted() {
    let scene = Scene::new([fine().after(Duration::from_millis(300))]);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| scene.run());
        scene.server.wait_for(1);
        scene.stop.0.send(()).unwrap();
        assert_eq!(running.join().unwrap(), Err(Failure::Stopped));
        assert!(begun.elapsed() < Duration::from_millis(290));
    });
    scene
        .accepted
        .recv_timeout(Duration::from_secs(10))
        .unwrap();
    assert_eq!(scene.server.requests().len(), 1);
}

#[test]
fn stop_ends_a_pause_and_prevents_a_call() {
    let scene = Scene::new([Act::text(429, "").header("Retry-After: 300")]);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| scene.run());
        scene.server.wait_for(1);
        scene.stop.0.send(()).unwrap();
        assert_eq!(running.join().unwrap(), Err(Failure::Stopped));
    });
    let (sender, closed) = bounded(0);
    drop(sender);
    let mut caller = Arc::clone(&scene.fake);
    let stopped = run_at(FAST, &scene.url, &mut caller, &closed, &scene.retry.1);
    assert_eq!(stopped, Err(Failure::Stopped));
    assert_eq!(scene.server.requests().len(), 1);
}

#[test]
fn retry_ends_a_pause_and_a_stale_one_does_not() {
    let busy = Act::text(429, "").header("Retry-After: 300");
    let scene = Scene::new([busy, fine()]);
    scene.retry.0.send(()).unwrap();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| scene.run());
        scene.server.wait_for(1);
        let deadline = Instant::now() + Duration::from_secs(10);
        while scene.fake.waits.lock().is_empty() && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(scene.server.requests().len(), 1);
        scene.retry.0.send(()).unwrap();
        running.join().unwrap().unwrap();
    });
}

#[test]
fn a_closed_retry_channel_shortens_nothing() {
    let mut scene = Scene::new([Act::Close, fine()]);
    scene.retry.0 = bounded(0).0;
    let slow = Pace {
        second: Duration::from_millis(200),
        ..FAST
    };
    scene.run_at(slow).unwrap();
    scene.paused(&[10.0]);
}
