//! Guarantees of an owner to concurrent users of one server.

use std::time::{Duration, Instant};

use crossbeam_channel::bounded;

use super::*;
use crate::manager::connection::{Connections, Ended};
use crate::manager::own_listeners::OwnListeners;
use crate::manager::remote::tests::setup;
use crate::manager::remote::{RemoteServer, Servers};
use crate::store::{CredentialStore, DataDir};
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::registry::Registry;

const ORIGIN: &str = "https://a.example:443";
const TIMEOUT: Duration = Duration::from_secs(20);

/// The owners of a per-user directory.
struct Scene {
    servers: Servers,
    store: CredentialStore,
    dir: tempfile::TempDir,
}

/// A connection that asks: its stop signal, and the channel that closes with it.
struct Asking {
    stop: Option<Sender<()>>,
    stopped: Receiver<()>,
}

impl Asking {
    fn new() -> Self {
        let (stop, stopped) = bounded(0);
        Self {
            stop: Some(stop),
            stopped,
        }
    }

    fn call(&self, remote: &Arc<RemoteServer>) -> BegunCall {
        let begun = remote.begin_call(false, &self.stopped);
        begun.unwrap_or_else(|ended| panic!("{ended:?}"))
    }
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path().join("home"));
        let environment = Environment {
            credentials: CredentialStore::new(home.clone()),
            known: KnownServers::new(home.clone()),
            tunnels: Arc::<Registry>::default(),
            listeners: OwnListeners::new(Vec::new()),
            connections: Arc::<Connections>::default(),
            run_dir: dir.path().to_owned(),
            check_other_users: false,
        };
        Self {
            servers: Servers::new(Arc::new(environment)),
            store: CredentialStore::new(home),
            dir,
        }
    }

    fn remote(&self) -> Arc<RemoteServer> {
        let remote = self.servers.of(ORIGIN);
        remote.unwrap_or_else(|ended| panic!("{ended:?}"))
    }

    /// The name on disk.
    fn name(&self) -> String {
        self.store.load(ORIGIN).unwrap().connector_name
    }

    /// Waits until the server has no owner.
    fn wait_until_gone(&self) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.servers.all().is_empty() {
            assert!(Instant::now() < deadline, "it has an owner still");
            std::thread::yield_now();
        }
    }
}

/// The answer to a call; true where it was saved.
fn answer(call: BegunCall, username: &str) -> bool {
    let (saving, saved) = bounded(1);
    let answer = CallAnswer {
        setup: Box::new(setup(username)),
        own_port: None,
        saved: saving,
    };
    let is_taken = call.answer.send(answer).is_ok();
    let saved = saved.recv_timeout(TIMEOUT);
    assert_ne!(
        saved.as_ref().err(),
        Some(&crossbeam_channel::RecvTimeoutError::Timeout)
    );
    is_taken && saved.is_ok_and(|saved| saved.is_ok())
}

#[test]
fn an_answer_that_nobody_awaits_does_not_replace_that_of_a_later_call() {
    let (scene, mut first, mut second, third) =
        (Scene::new(), Asking::new(), Asking::new(), Asking::new());
    let remote = scene.remote();
    let slow = first.call(&remote);
    let [late, later] = std::array::from_fn(|_| second.call(&remote));
    let new = third.call(&remote);
    second.stop = None;
    assert!(answer(late, "late"), "nothing newer is there");
    assert_eq!(scene.name(), "late");
    assert!(answer(new, "new"));
    assert!(!answer(later, "later"));
    let held = third.call(&remote).credentials;
    assert_eq!(
        (held.connector_name.as_str(), scene.name().as_str()),
        ("new", "new")
    );
    assert!(answer(slow, "slow"), "its connection goes on with it");
    assert_eq!(scene.name(), "slow");
    first.stop = None;
}

#[test]
fn a_reset_during_a_call_leaves_its_answer_without_a_reader() {
    let (scene, asking) = (Scene::new(), Asking::new());
    let remote = scene.remote();
    let forget = || remote.forget().unwrap_or_else(|ended| panic!("{ended:?}"));
    assert!(!forget().unwrap(), "there are none");
    let [first, late] = std::array::from_fn(|_| asking.call(&remote));
    assert!(answer(first, "server's"));
    let changed = remote.snapshot().identity_changed.clone();
    assert_eq!(changed.try_recv(), Err(TryRecvError::Empty));
    assert!(forget().unwrap());
    assert_eq!(changed.try_recv(), Err(TryRecvError::Disconnected));
    assert!(!answer(late, "server's") && !scene.store.knows(ORIGIN).unwrap());
    let fresh = asking.call(&remote);
    assert!(fresh.credentials.connector_name != "server's" && !fresh.credentials.accepted);
    assert!(answer(fresh, "anew"));
}

#[test]
fn calls_at_the_same_time_are_made_with_one_credential() {
    let scene = Scene::new();
    let names: Vec<String> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let remote = scene.remote();
                    Asking::new().call(&remote).credentials.connector_name
                })
            })
            .collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let name = scene.name();
    assert!(names.iter().all(|other| *other == name), "{names:?} {name}");
}

#[test]
fn an_owner_waits_for_its_calls_and_for_nothing_else() {
    let (scene, asking) = (Scene::new(), Asking::new());
    drop(scene.remote());
    scene.wait_until_gone();
    let [call, failing] = std::array::from_fn(|_| asking.call(&scene.remote()));
    drop(asking);
    assert_eq!(scene.servers.all().len(), 1);
    drop(failing);
    assert!(answer(call, "late"), "nothing newer is there");
    scene.wait_until_gone();
    assert_eq!(scene.name(), "late");
}

/// The server may have assigned anew in the answer that came while the program ended: the next start needs it.
#[test]
fn closing_waits_for_no_call_and_an_answer_before_the_process_is_gone_is_saved() {
    let (scene, mut asking) = (Scene::new(), Asking::new());
    let remote = scene.remote();
    let [hanging, _silent] = std::array::from_fn(|_| asking.call(&remote));
    asking.stop = None;
    scene.servers.begin_close();
    assert!(scene.servers.finish_close(Instant::now() + TIMEOUT));
    assert!(answer(hanging, "late"));
    assert_eq!(scene.name(), "late");
    let asking = Asking::new();
    assert!(matches!(
        scene.servers.of("https://b.example:443"),
        Err(Ended::Stopped)
    ));
    let after = remote.begin_call(false, &asking.stopped);
    assert!(matches!(after, Err(Ended::Failed(_))));
}

#[test]
fn who_waits_is_told_at_once_when_the_connection_ends_or_nothing_can_be_set_up() {
    let (scene, mut asking) = (Scene::new(), Asking::new());
    let remote = scene.remote();
    let wait = |asking: &Asking| {
        remote
            .set_up_main_tunnel()
            .until_ready(&asking.stopped, |_| {})
    };
    let Err(Ended::Failed(error)) = wait(&asking) else {
        panic!("there is no connector info");
    };
    assert!(error.error.contains("incomplete"), "{}", error.error);
    // Nobody listens where this answer leads to.
    assert!(answer(asking.call(&remote), "user"));
    std::thread::scope(|scope| {
        let (wait, of_thread) = (&wait, &asking.stopped);
        let waiting = scope.spawn(move || {
            let asking = Asking {
                stop: None,
                stopped: of_thread.clone(),
            };
            wait(&asking)
        });
        let deadline = Instant::now() + TIMEOUT;
        while remote.snapshot().main.is_none() {
            assert!(Instant::now() < deadline, "no main tunnel");
            std::thread::yield_now();
        }
        asking.stop = None;
        assert!(matches!(waiting.join().unwrap(), Err(Ended::Stopped)));
    });
    let view = remote.snapshot();
    let shown = view.main.as_ref().unwrap().shown(ORIGIN);
    assert_eq!(shown.status, "connecting", "it goes on trying");
    remote.retire_main_tunnel();
    drop((view, remote));
    scene.wait_until_gone();
}

#[test]
fn a_command_that_cannot_be_done_says_why_and_the_next_one_is_taken() {
    let (scene, asking) = (Scene::new(), Asking::new());
    let remote = scene.remote();
    let file = scene.dir.path().join("home").join(".credential");
    std::fs::create_dir_all(&file).unwrap();
    let Err(Ended::Failed(error)) = remote.begin_call(false, &asking.stopped) else {
        panic!("a directory is no file");
    };
    assert!(error.error.contains(".credential"), "{}", error.error);
    std::fs::remove_dir(&file).unwrap();
    assert!(answer(asking.call(&remote), "user"));
}
