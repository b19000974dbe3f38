//! Visitors through HAProxy, with keep-alive and from as many addresses, while relays are killed, come back and are
//! restarted one after another.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use serde_json::{Value, json};
use support::fleet::{Fleet, Member, Store, TOKEN};
use support::galera::Cluster;
use support::gateway::{application, read_request};
use support::http::Client;
use support::relay::{Relay, body, with};
use support::share::Sharing;
use support::{Home, TIMEOUT, wait_until};

struct Size {
    relays: usize,
    connectors: usize,
    visitors: usize,
    /// True if the store is a cluster in each of the tests.
    on_cluster: bool,
    /// Time for which the store is away.
    away: Duration,
}

impl Size {
    /// The small form, or with `make fleet` the whole.
    fn of_run() -> Size {
        if std::env::var_os("POSTERN_FLEET_WHOLE").is_some() {
            return Size {
                relays: 3,
                connectors: 20,
                visitors: 200,
                on_cluster: true,
                away: Duration::from_secs(60),
            };
        }
        Size {
            relays: 2,
            connectors: 3,
            visitors: 20,
            on_cluster: false,
            away: Duration::from_secs(2),
        }
    }

    #[track_caller]
    fn fleet(&self, args: &[&str]) -> Fleet {
        Fleet::on(self.store(), self.relays, args)
    }

    fn store(&self) -> Store {
        if self.on_cluster {
            Store::Cluster(Cluster::start())
        } else {
            Store::single()
        }
    }
}

/// A call of another connector than those that share.
fn call(name: &str) -> Value {
    let changes = json!({"enroll_token": TOKEN, "site_name": name});
    with(body("other", name, "http", 9), changes)
}

/// Requests of visitors that a relay has answered since it was started.
fn served(relay: &Relay) -> u64 {
    let status = relay.status();
    status["metrics"]["postern_relay_requests_total"]["2xx"]
        .as_u64()
        .unwrap_or(0)
}

/// Bytes of an answer: several pieces of a stream.
const BODY: usize = 40_000;

/// Number of posts to any application of this process, by content.
static POSTED: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// Results of the visits.
#[derive(Default)]
struct Met {
    whole: AtomicUsize,
    /// Requests with a body that were answered, and those that were refused or cut off: nobody else tries them again.
    posted: AtomicUsize,
    refused: AtomicUsize,
    /// Between two requests of one visitor.
    pause: Duration,
    /// Of requests whose answer had not begun.
    failed: Mutex<Vec<String>>,
    /// Answers that were cut off, each seen as such.
    broken: AtomicUsize,
    /// The longest time in which a visitor that wanted a whole answer had none.
    longest: Mutex<Duration>,
}

/// Visitors at work; they end with it.
struct Visitors {
    met: Arc<Met>,
    is_over: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Visitors {
    /// So many, each at one site of these in turn, from 127.1.0.x on.
    fn start(count: usize, front: SocketAddr, sites: &[String]) -> Visitors {
        let (mut met, is_over) = (Met::default(), Arc::<AtomicBool>::default());
        // A thousand requests a second of them all, at most.
        met.pause = Duration::from_millis(count as u64);
        let met = Arc::new(met);
        let threads = (0..count)
            .map(|number| {
                let (met, is_over) = (Arc::clone(&met), Arc::clone(&is_over));
                let host = sites[number % sites.len()].clone();
                std::thread::spawn(move || {
                    let source =
                        Ipv4Addr::new(127, 1, (number / 200) as u8, (number % 200) as u8 + 1);
                    visit(&met, &is_over, (source, front), &host);
                })
            })
            .collect();
        Visitors {
            met,
            is_over,
            threads,
        }
    }

    fn whole(&self) -> usize {
        self.met.whole.load(Ordering::SeqCst)
    }

    /// Waits until so many more answers came than there are visitors.
    #[track_caller]
    fn go_on(&self) {
        let until = self.whole() + 5 * self.threads.len();
        wait_until(TIMEOUT, "answers", || self.whole() >= until);
    }

    /// Ends them; nothing may have failed.
    #[track_caller]
    fn end(self, what: &str) -> Arc<Met> {
        self.is_over.store(true, Ordering::SeqCst);
        for thread in self.threads {
            thread.join().unwrap();
        }
        let failed = self.met.failed.lock().unwrap();
        let posted = POSTED.lock().unwrap();
        let twice: Vec<_> = posted.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "{what}: made twice: {twice:?}");
        drop(posted);
        eprintln!(
            "{what}: {} whole, {} posted and {} not, {} broken off, {} failed, the longest wait {:?}",
            self.met.whole.load(Ordering::SeqCst),
            self.met.posted.load(Ordering::SeqCst),
            self.met.refused.load(Ordering::SeqCst),
            self.met.broken.load(Ordering::SeqCst),
            failed.len(),
            self.met.longest.lock().unwrap(),
        );
        assert!(
            failed.is_empty(),
            "{what}: {:?}",
            &failed[..failed.len().min(5)]
        );
        drop(failed);
        self.met
    }
}

fn visit(met: &Met, is_over: &AtomicBool, (source, front): (Ipv4Addr, SocketAddr), host: &str) {
    let mut wanted = Instant::now();
    let mut number = 0;
    while !is_over.load(Ordering::SeqCst) {
        let mut socket = match from(source, front) {
            Ok(socket) => socket,
            Err(error) => {
                met.failed.lock().unwrap().push(format!("connect: {error}"));
                continue;
            }
        };
        // A connection that ends between answers is opened anew, as browsers do.
        while !is_over.load(Ordering::SeqCst) {
            number += 1;
            let method = match number % 8 {
                3 => "HEAD",
                6 => "POST",
                _ => "GET",
            };
            let got = ask(&mut socket, (method, host), &format!("{source} {number}"));
            match (got, method) {
                (Got::Whole { keeps: true }, "POST") => {
                    met.posted.fetch_add(1, Ordering::SeqCst);
                    wanted = Instant::now();
                }
                (_, "POST") => {
                    met.refused.fetch_add(1, Ordering::SeqCst);
                    wanted = Instant::now();
                    break;
                }
                (Got::Whole { keeps }, _) => {
                    met.whole.fetch_add(1, Ordering::SeqCst);
                    let mut longest = met.longest.lock().unwrap();
                    *longest = longest.max(wanted.elapsed());
                    drop(longest);
                    std::thread::sleep(met.pause);
                    wanted = Instant::now();
                    if !keeps {
                        break;
                    }
                }
                (Got::Nothing(why), _) => {
                    met.failed.lock().unwrap().push(why);
                    break;
                }
                (Got::Broken, _) => {
                    met.broken.fetch_add(1, Ordering::SeqCst);
                    break;
                }
            }
        }
    }
}

enum Got {
    Whole {
        keeps: bool,
    },
    /// Not a byte of an answer, or one that is not the application's.
    Nothing(String),
    /// A part of it, and it is clear that it is a part.
    Broken,
}

fn ask(socket: &mut TcpStream, (method, host): (&str, &str), id: &str) -> Got {
    let body = match method {
        "POST" => format!("Content-Length: {}\r\n\r\n{id}", id.len()),
        _ => "\r\n".to_owned(),
    };
    let request = format!("{method} /page HTTP/1.1\r\nHost: {host}\r\n{body}");
    if let Err(error) = socket.write_all(request.as_bytes()) {
        return Got::Nothing(format!("write: {error}"));
    }
    let (mut got, mut piece) = (Vec::new(), [0; 16 * 1024]);
    let head = loop {
        match socket.read(&mut piece) {
            Ok(0) => return Got::Nothing(format!("closed after {} bytes", got.len())),
            Ok(read) => got.extend_from_slice(&piece[..read]),
            Err(error) => return Got::Nothing(format!("read: {error}")),
        }
        if let Some(at) = support::gateway::find(&got, b"\r\n\r\n") {
            break at + 4;
        }
    };
    let text = String::from_utf8_lossy(&got[..head]).to_ascii_lowercase();
    if !text.starts_with("http/1.1 200") || !text.contains(&format!("content-length: {BODY}\r\n")) {
        return Got::Nothing(String::from_utf8_lossy(&got).into_owned());
    }
    let length = if method == "HEAD" { 0 } else { BODY };
    while got.len() < head + length {
        match socket.read(&mut piece) {
            Ok(0) | Err(_) => return Got::Broken,
            Ok(read) => got.extend_from_slice(&piece[..read]),
        }
    }
    assert!(got[head..] == vec![b'x'; length]);
    let keeps = !text.contains("connection: close");
    Got::Whole { keeps }
}

pub(super) fn from(source: Ipv4Addr, front: SocketAddr) -> std::io::Result<TcpStream> {
    let family = AddressFamily::INET;
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddr::from((source, 0)))?;
    connect(&socket, &front)?;
    let socket = TcpStream::from(socket);
    socket.set_read_timeout(Some(TIMEOUT))?;
    Ok(socket)
}

/// Answers each request with [`BODY`] bytes, and notes what is posted.
pub(super) fn page() -> u16 {
    application(|mut stream: TcpStream| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n");
        let whole = [head.as_bytes(), &[b'x'; BODY]].concat();
        let mut rest = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut rest) {
            let is_head = request.starts_with(b"HEAD ");
            if request.starts_with(b"POST ") {
                let text = String::from_utf8_lossy(&request);
                let (head, id) = text.split_once("\r\n\r\n").unwrap();
                let host = head
                    .lines()
                    .find(|line| line.to_ascii_lowercase().starts_with("host:"));
                let what = format!("{} {id}", host.unwrap());
                *POSTED.lock().unwrap().entry(what).or_default() += 1;
            }
            let answer = if is_head { head.as_bytes() } else { &whole };
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    })
}

/// Commands that share the page through the balancer, each with a tunnel to two relays, and the sites' names.
fn share(fleet: &Fleet, front: SocketAddr, count: usize) -> (Vec<(Home, Sharing)>, Vec<String>) {
    let server = format!("http://localhost:{}", front.port());
    let target = format!("127.0.0.1:{}", page());
    let shared = (0..count).map(|number| {
        let (home, name) = (Home::new(), format!("site{number}"));
        let args = [
            "http",
            &target,
            "--server",
            &server,
            "--name",
            &name,
            "--visible",
            "--no-open",
            "--enroll-token",
            TOKEN,
        ];
        let sharing = Sharing::start(&home, &args);
        (home, sharing)
    });
    let shared: Vec<_> = shared.collect();
    let link = |sharing: &Sharing| {
        let link = sharing.link();
        let host = link
            .strip_prefix("http://")
            .unwrap_or_else(|| panic!("{link}"));
        host.trim_end_matches('/').to_owned()
    };
    let sites: Vec<String> = shared.iter().map(|(_, sharing)| link(sharing)).collect();
    wait_until(TIMEOUT, "tunnels to two relays each", || {
        both(fleet) >= 2 * count
    });
    (shared, sites)
}

/// Tunnels of sites at all relays, as one of them sees it.
fn both(fleet: &Fleet) -> usize {
    let status = fleet.running().next().unwrap().status();
    let connectors = status["connectors"].as_array().unwrap().iter();
    let held = connectors.map(|connector| {
        let relays = connector["relays"].as_array().unwrap().len();
        let applications = connector["applications"].as_array().unwrap().iter();
        relays * applications.filter(|one| one["connected"] == true).count()
    });
    held.sum()
}

#[test]
fn a_relay_is_killed_and_comes_back_and_no_request_fails_whose_answer_had_not_begun() {
    let size = Size::of_run();
    let mut fleet = size.fleet(&[]);
    let front = fleet.front();
    let (_shared, sites) = share(&fleet, front.address, size.connectors);
    let visitors = Visitors::start(size.visitors, front.address, &sites);
    visitors.go_on();
    for killed in 0..size.relays {
        fleet.members[killed].kill();
        visitors.go_on();
        fleet.members[killed].begin();
        fleet.wait_linked();
        wait_until(TIMEOUT, "tunnels to two relays each", || {
            both(&fleet) >= 2 * sites.len()
        });
        // It has its share of the visitors again.
        let served = || served(fleet.relay(killed));
        wait_until(TIMEOUT, "visitors", || served() > 0);
        visitors.go_on();
    }
    let met = visitors.end("each relay was killed and came back");
    let longest = *met.longest.lock().unwrap();
    assert!(
        longest < support::load::allowed(Duration::from_secs(1)),
        "{longest:?}"
    );
}

#[test]
fn relays_are_restarted_one_after_another_and_no_request_fails() {
    let size = Size::of_run();
    let mut fleet = size.fleet(&["--drain", "30"]);
    let front = fleet.front();
    let (_shared, sites) = share(&fleet, front.address, size.connectors);
    let visitors = Visitors::start(size.visitors, front.address, &sites);
    visitors.go_on();
    for restarted in 0..size.relays {
        let mut relay = fleet.members[restarted].relay.take().unwrap();
        assert_eq!(relay.stop().and_then(|status| status.code()), Some(0));
        drop(relay);
        fleet.members[restarted].begin();
        fleet.wait_linked();
        wait_until(TIMEOUT, "tunnels to two relays each", || {
            both(&fleet) >= 2 * sites.len()
        });
        // The next one goes when the balancer has this one back.
        wait_until(TIMEOUT, "visitors", || served(fleet.relay(restarted)) > 0);
        visitors.go_on();
    }
    let met = visitors.end("relays were restarted one after another");
    let lost = [&met.broken, &met.refused].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(lost, [0, 0], "nor one with a body");
}

/// From the last version whose store has form 1, as the manual says: one relay after the other. Until it is its turn, a
/// relay of that version serves what it knows, and accepts nothing new. `make fleet` builds that version and names it in
/// `POSTERN_EARLIER`.
#[test]
fn a_fleet_is_upgraded_one_relay_after_another_and_no_request_fails() {
    let size = Size::of_run();
    let Some(earlier) = std::env::var_os("POSTERN_EARLIER").filter(|path| !path.is_empty()) else {
        return;
    };
    let mut fleet = Fleet::of(
        earlier.as_ref(),
        size.store(),
        size.relays,
        &["--drain", "30"],
    );
    let front = fleet.front();
    let (_shared, sites) = share(&fleet, front.address, size.connectors);
    let known = fleet.relay(0).assign(&call("before"));
    fleet
        .relay(0)
        .assign(&with(call("gone"), json!({"connector_name": "gone"})));
    fleet
        .relay(0)
        .operators("DELETE", "/api/connectors/gone", b"");
    let visitors = Visitors::start(size.visitors, front.address, &sites);
    visitors.go_on();
    let refused = Instant::now();
    let mut accepted = None;
    for at in 0..size.relays {
        let began = Instant::now();
        let mut relay = fleet.members[at].relay.take().unwrap();
        assert_eq!(relay.stop().and_then(|status| status.code()), Some(0));
        drop(relay);
        fleet.members[at].program = support::postern::binary();
        fleet.members[at].begin();
        fleet.wait_linked();
        wait_until(TIMEOUT, "tunnels to two relays each", || {
            both(&fleet) >= 2 * sites.len()
        });
        wait_until(TIMEOUT, "visitors", || served(fleet.relay(at)) > 0);
        accepted.get_or_insert_with(|| refused.elapsed());
        eprintln!("relay {at} was upgraded within {:.1?}", began.elapsed());
        let new = fleet.relay(at).assign(&call(&format!("new{at}")));
        assert!(new["app"]["site_url"].is_string());
        for later in at + 1..size.relays {
            let name = format!("refused{at}");
            assert_eq!(fleet.relay(later).call(&call(&name)).status(), 503);
            let again = fleet.relay(later).assign(&call("before"));
            assert_eq!(again["app"]["app_id"], known["app"]["app_id"]);
        }
        visitors.go_on();
    }
    eprintln!("the first relay accepted new ones again after {accepted:.1?}");
    for relay in fleet.running() {
        let gone = with(call("gone"), json!({"connector_name": "gone"}));
        assert_eq!(relay.call(&gone).status(), 403, "who was revoked is");
        let again = relay.assign(&call("before"));
        assert_eq!(again["app"]["app_id"], known["app"]["app_id"]);
    }
    let met = visitors.end("a fleet was upgraded");
    let lost = [&met.broken, &met.refused].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(lost, [0, 0], "nor one with a body");
}

#[test]
fn a_relay_that_is_cut_off_from_the_store_serves_on_and_promises_nothing() {
    let size = Size::of_run();
    let fleet = size.fleet(&[]);
    let front = fleet.front();
    let (_shared, sites) = share(&fleet, front.address, size.connectors);
    let visitors = Visitors::start(size.visitors, front.address, &sites);
    fleet.members[0].cut_off();
    fleet.wait_store(0, "away");
    fleet.wait_store(1, "ok");
    visitors.go_on();
    assert_eq!(fleet.relay(0).call(&call("wanted")).status(), 503);
    let given = fleet.relay(1).assign(&call("wanted"));
    // The relay that knows nothing of it yet gives its name to nobody else.
    let rival = with(call("wanted"), json!({"connector_name": "rival"}));
    assert_eq!(fleet.relay(0).call(&rival).status(), 503);
    let before = served(fleet.relay(0));
    wait_until(TIMEOUT, "visitors of that relay", || {
        served(fleet.relay(0)) > before
    });
    fleet.members[0].heal();
    fleet.wait_store(0, "ok");
    let there = fleet.relay(0).assign(&call("wanted"));
    assert_eq!(there["app"]["app_id"], given["app"]["app_id"]);
    let second = fleet.relay(0).assign(&rival);
    assert_ne!(second["app"]["site_url"], given["app"]["site_url"]);
    visitors.end("a relay was cut off from the store");
}

#[test]
fn visitors_come_by_the_port_of_the_balancer() {
    let fleet = Fleet::start(2, &[]);
    let front = fleet.front();
    let (_shared, sites) = share(&fleet, front.address, 1);
    assert!(sites[0].ends_with(&format!(":{}", front.address.port())));
    let mut client = Client::new(&front.address.to_string());
    let headers = [("Host", sites[0].as_str()), ("Origin", "")];
    assert_eq!(client.send("GET", "/", &headers, b"").status(), 200);
}

/// A Galera cluster is MariaDB's.
mod on_mariadb {
    use super::*;

    /// A node of the database is killed; then no relay reaches any of them for a while.
    #[test]
    fn a_node_of_the_database_is_killed_and_then_the_whole_store_is_away() {
        let size = Size::of_run();
        let mut fleet = Fleet::on(Store::Cluster(Cluster::start()), size.relays, &[]);
        let front = fleet.front();
        let (_shared, sites) = share(&fleet, front.address, size.connectors);
        let visitors = Visitors::start(size.visitors, front.address, &sites);
        let known = fleet.relay(0).assign(&call("before"));
        let Store::Cluster(cluster) = &mut fleet.store else {
            unreachable!("it was started on one");
        };
        cluster.nodes[2].crash();
        visitors.go_on();
        for (at, relay) in fleet.running().enumerate() {
            let name = format!("after{at}");
            // The others elect for some seconds: who asks meanwhile is told to come again.
            wait_until(TIMEOUT, "the cluster goes on", || {
                relay.call(&call(&name)).status() == 200
            });
        }
        fleet.members.iter().for_each(Member::cut_off);
        for at in 0..size.relays {
            fleet.wait_store(at, "away");
        }
        let until = Instant::now() + size.away;
        while Instant::now() < until {
            for relay in fleet.running() {
                let refused = relay.call(&call("new"));
                assert_eq!(
                    (refused.status(), refused.header("retry-after")),
                    (503, Some("5"))
                );
                let again = relay.assign(&call("before"));
                assert_eq!(again["app"]["app_id"], known["app"]["app_id"]);
            }
            visitors.go_on();
        }
        fleet.members.iter().for_each(Member::heal);
        for at in 0..size.relays {
            fleet.wait_store(at, "ok");
        }
        let ids = fleet
            .running()
            .map(|relay| relay.assign(&call("new"))["app"]["app_id"].clone());
        let ids: Vec<_> = ids.collect();
        assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
        let stored =
            "SELECT body FROM fleet.postern_rows WHERE kind = 'connector' AND body IS NOT NULL";
        let stored = fleet.database().column(stored);
        let names = stored.iter().map(|body| body.matches("\"site\":{").count());
        assert_eq!(
            names.sum::<usize>(),
            sites.len() + 2 + size.relays,
            "{stored:?}"
        );
        visitors.end("a node was killed, and the store was away");
    }
}

/// A balancer leads the operator to any relay: links and sign-ins are good at each, and the page stays with one.
#[test]
fn the_operators_page_is_that_of_any_relay_and_stays_with_it() {
    let mut fleet = Fleet::start(2, &[]);
    let front = fleet.front();
    let host = format!("localhost:{}", front.address.port());
    let get = |client: &mut Client, path: &str, cookie: &str| {
        let headers = [("Host", host.as_str()), ("Origin", ""), ("Cookie", cookie)];
        client.send("GET", path, &headers, b"")
    };
    let (mut answering, mut cookies) = (Vec::new(), Vec::new());
    for at in [0, 1] {
        let link = fleet.relay(at).said("Status page: ");
        let (_, path) = link.trim().split_once(&host).unwrap();
        let mut client = Client::new(&front.address.to_string());
        let entered = get(&mut client, path, "");
        assert_eq!(entered.status(), 303, "{link}: {}", entered.text());
        assert_eq!(get(&mut client, path, "").status(), 401, "once");
        let cookie = entered.cookie().unwrap();
        for _ in 0..4 {
            let status = get(&mut client, "/api/status", &cookie);
            assert_eq!(status.status(), 200, "{}", status.text());
            answering.push(status.data()["relays"][0]["id"].clone());
        }
        cookies.push(cookie);
    }
    answering.dedup();
    assert_eq!(answering.len(), 1, "{answering:?}");
    let gone = (0..2).find(|at| fleet.relay(*at).status()["relays"][0]["id"] == answering[0]);
    fleet.members[gone.unwrap()].kill();
    wait_until(TIMEOUT, "the other one, and signed in there", || {
        let mut client = Client::new(&front.address.to_string());
        get(&mut client, "/api/status", &cookies[0]).status() == 200
    });
}

/// The balancer has a relay back sooner than connectors that gave it up for a while: the next one that ends waits for them.
#[test]
fn a_relay_that_ends_waits_for_connectors_that_have_no_other_one() {
    let mut fleet = Fleet::start(2, &["--drain", "30"]);
    let front = fleet.front();
    let (_shared, sites) = share(&fleet, front.address, 3);
    let visitors = Visitors::start(20, front.address, &sites);
    visitors.go_on();
    fleet.members[0].kill();
    let gone = Instant::now();
    wait_until(TIMEOUT, "pauses as long as they get", || {
        gone.elapsed() > Duration::from_secs(8)
    });
    fleet.members[0].begin();
    fleet.wait_linked();
    wait_until(TIMEOUT, "the balancer has it back", || {
        served(fleet.relay(0)) > 0
    });
    let mut relay = fleet.members[1].relay.take().unwrap();
    assert_eq!(relay.stop().and_then(|status| status.code()), Some(0));
    drop(relay);
    visitors.go_on();
    let met = visitors.end("one was gone for a while, and the other one ended as it was back");
    assert_eq!(met.broken.load(Ordering::SeqCst), 0);
}
