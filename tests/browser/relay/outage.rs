//! A relay of its own process that is killed under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};

use crate::relay::page::{open, url, wait_status};
use crate::relay::site::{GREETING, SmallSite};
use support::free_port;
use support::http::Client;
use support::manager::Manager;
use support::relay::Relay;
use support::{Home, TIMEOUT, wait_until};

/// Visitors at once.
const VISITORS: usize = 8;

/// Visitors that never stop asking.
struct Load {
    ends: Arc<AtomicBool>,
    good: Arc<AtomicUsize>,
    visitors: Vec<JoinHandle<Vec<String>>>,
}

impl Load {
    fn start(host: &str, address: std::net::SocketAddr) -> Load {
        let (ends, good) = (Arc::default(), Arc::default());
        let visitors = (0..VISITORS)
            .map(|_| {
                let (ends, good) = (Arc::clone(&ends), Arc::clone(&good));
                let (host, address) = (host.to_owned(), address.to_string());
                std::thread::spawn(move || visit(&host, &address, &ends, &good))
            })
            .collect();
        Load {
            ends,
            good,
            visitors,
        }
    }

    /// Waits for good answers from now on.
    #[track_caller]
    fn wait_served(&self, what: &str) {
        let before = self.good.load(Ordering::Relaxed);
        wait_until(TIMEOUT, what, || {
            self.good.load(Ordering::Relaxed) > before + 10 * VISITORS
        });
    }

    /// Ends the visitors; what they saw that nobody should see.
    fn end(self) -> Vec<String> {
        self.ends.store(true, Ordering::Relaxed);
        let faults = self
            .visitors
            .into_iter()
            .flat_map(|one| one.join().unwrap());
        faults.collect()
    }
}

/// An answer is the site's own whole page or the gateway's 502; a connection may end while the relay is away.
fn visit(host: &str, address: &str, ends: &AtomicBool, good: &AtomicUsize) -> Vec<String> {
    let mut faults = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        let headers = [("Host", host), ("Origin", "")];
        match Client::new(address).try_send("GET", "/", &headers, b"") {
            Ok(answer) if answer.status() == 200 && answer.text().contains(GREETING) => {
                good.fetch_add(1, Ordering::Relaxed);
            }
            Ok(answer) if answer.status() == 502 => {}
            Ok(answer) => faults.push(format!("{}: {}", answer.status(), answer.text())),
            // Refused and reset connections: the relay is not there. Asking at once would only heat the machine.
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    }
    faults
}

#[test]
fn a_relay_killed_under_load_comes_back_with_the_same_addresses() {
    let site = SmallSite::start();
    let home = Arc::new(Home::new());
    // Below the ports of outgoing connections: a visitor that dials one of those may meet itself while the relay is away.
    let [listen, tunnel] =
        ["--listen", "--tunnel-listen"].map(|flag| format!("{flag}=127.0.0.1:{}", free_port()));
    let mut relay = Relay::start_in(&home, &[&listen, &tunnel]);
    let manager = Manager::start(&["--server", &relay.url()]);
    let ids = ["first", "second"].map(|name| manager.add(&site.app(name)));
    let before: Vec<String> = ids
        .iter()
        .map(|id| {
            manager.connected(id)["site_url"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let page = open(&manager);
    let tab = support::Browser::shared().page();
    tab.goto(&before[0]);
    tab.wait_for_text(GREETING);

    for round in 0..2 {
        let host = format!("first.localhost:{}", relay.address.port());
        let load = Load::start(&host, relay.address);
        load.wait_served("the visitors are served");
        kill(&relay);
        for id in &ids {
            wait_status(&page, id, "connecting");
        }
        if round == 0 {
            // On the card, or once for all of them above the list.
            page.wait_for("/refused|again/.test(document.body.innerText)");
            page.screenshot("relay-away");
        }
        relay = relay.restart(&[]);
        for id in &ids {
            wait_status(&page, id, "connected");
        }
        load.wait_served("the visitors are served again");
        let faults = load.end();
        assert_eq!(faults, Vec::<String>::new());
        for (id, address) in ids.iter().zip(&before) {
            assert_eq!(&url(&page, id, "site"), address);
        }
        tab.reload();
        tab.wait_for_text(GREETING);
    }
    assert!(page.other_tabs().is_empty(), "nobody asked for a tab");
}

/// SIGKILL, as the machine's lack of memory does it.
fn kill(relay: &Relay) {
    let pid = Pid::from_raw(i32::try_from(relay.pid()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}
