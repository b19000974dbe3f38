//! A Galera cluster of three nodes, as it is met through a balancer.

use std::time::{Duration, Instant};

use support::balancer::Balancer;
use support::database::{Database, Options};
use support::{TIMEOUT, free_port, holds_within, wait_until};
use tempfile::TempDir;

use super::super::{ask, cancels, cell, message, web_client};

/// Debian's.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// The position that all nodes begin at, with the same data, so that none has to be copied from another.
const POSITION: &str = "6a1e2f34-0000-11f1-8000-0123456789ab";

/// Shortest times after which a node that is silent counts as lost.
const QUICK: &str = "evs.keepalive_period=PT0.2S;evs.suspect_timeout=PT2S;evs.inactive_timeout=PT3S;\
    evs.inactive_check_period=PT0.2S;evs.install_timeout=PT3S";

/// Three nodes on loopback.
struct Cluster {
    nodes: Vec<Database>,
    _homes: Vec<TempDir>,
}

impl Cluster {
    /// The nodes find a saved view of their cluster, and form it again as soon as all three are there.
    fn start() -> Cluster {
        let ports = [(); 3].map(|()| (free_port(), free_port()));
        let peers = ports
            .map(|(group, _)| format!("127.0.0.1:{group}"))
            .join(",");
        let homes = [0, 1, 2].map(home);
        let nodes = std::thread::scope(|scope| {
            let starting: Vec<_> = (0..3)
                .map(|n| {
                    let args = node_arguments(n, ports[n], &peers, &homes[n]);
                    scope.spawn(move || {
                        Database::start(Options {
                            args,
                            ..Options::default()
                        })
                    })
                })
                .collect();
            starting
                .into_iter()
                .map(|node| node.join().unwrap())
                .collect()
        });
        let cluster = Cluster {
            nodes,
            _homes: homes.into(),
        };
        for node in &cluster.nodes {
            wait_until(TIMEOUT, "all are one", || {
                status(node, "wsrep_cluster_size") == "3" && is_ready(node)
            });
        }
        cluster
    }

    fn balancer(&self) -> Balancer {
        let ports: Vec<u16> = self.nodes.iter().map(Database::port).collect();
        Balancer::before(&ports)
    }
}

/// A directory with what a node saves of its cluster when it stops.
fn home(number: usize) -> TempDir {
    let dir = tempfile::Builder::new()
        .prefix("postern-ga-")
        .tempdir()
        .unwrap();
    let id = |n: usize| format!("{n}{n}{n}{n}{n}{n}{n}{n}-e664-11f1-8ef9-00000000000{n}");
    let members: String = (1..=3).map(|n| format!("member: {} 0\n", id(n))).collect();
    let view = format!(
        "my_uuid: {}\n#vwbeg\nview_id: 3 {} 3\nbootstrap: 0\n{members}#vwend\n",
        id(number + 1),
        id(1)
    );
    let state = format!(
        "# GALERA saved state\nversion: 2.1\nuuid:    {POSITION}\nseqno:   0\nsafe_to_bootstrap: 0\n"
    );
    std::fs::write(dir.path().join("gvwstate.dat"), view).unwrap();
    std::fs::write(dir.path().join("grastate.dat"), state).unwrap();
    dir
}

fn node_arguments(number: usize, ports: (u16, u16), peers: &str, home: &TempDir) -> Vec<String> {
    let (group, transfer) = ports;
    vec![
        "--binlog-format=ROW".into(),
        "--innodb-autoinc-lock-mode=2".into(),
        format!("--server-id={}", number + 1),
        "--wsrep-on=ON".into(),
        format!("--wsrep-provider={PROVIDER}"),
        format!("--wsrep-cluster-address=gcomm://{peers}"),
        "--wsrep-sst-method=skip".into(),
        format!("--wsrep-start-position={POSITION}:0"),
        "--wsrep-node-address=127.0.0.1".into(),
        format!("--wsrep-data-home-dir={}", home.path().display()),
        format!(
            "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{group};ist.recv_addr=127.0.0.1:{transfer};\
             gcache.size=8M;{QUICK}"
        ),
    ]
}

/// A variable that a node answers for whatever state it is in.
fn status(node: &Database, name: &str) -> String {
    let mut rows: Vec<(String, String)> =
        mysql::prelude::Queryable::query(&mut node.conn(), format!("SHOW STATUS LIKE '{name}'"))
            .unwrap();
    rows.pop().map_or_else(String::new, |(_, value)| value)
}

fn is_ready(node: &Database) -> bool {
    status(node, "wsrep_ready") == "ON"
}

#[test]
fn a_cluster_behind_a_balancer_is_browsed_asked_and_survives_the_loss_of_its_nodes() {
    let began = Instant::now();
    let mut cluster = Cluster::start();
    eprintln!("the cluster took {:.1?}", began.elapsed());
    let balancer = cluster.balancer();
    balancer.lead_in_turn();
    cluster.nodes[0].exec("CREATE DATABASE shop; CREATE TABLE shop.t (a INT PRIMARY KEY)");
    for node in &cluster.nodes {
        wait_until(TIMEOUT, "it is replicated", || {
            node.value("SHOW DATABASES LIKE 'shop'") == "shop"
        });
    }
    let (writing, reading) = (
        web_client(&balancer.target(), &[]),
        web_client(&balancer.target(), &["--readonly"]),
    );
    // Browse.
    for postern in [&writing, &reading] {
        let mut client = postern.client();
        let names = client.get("/api/databases").data();
        assert!(names.to_string().contains("\"shop\""), "{names}");
        let table = client.get("/api/schema?db=shop&table=t").data();
        assert!(table.to_string().contains("CREATE TABLE"), "{table}");
    }
    // A statement of each kind.
    let mut client = writing.client();
    assert_eq!(
        ask(&mut client, "INSERT INTO shop.t VALUES (1), (2)").0,
        200
    );
    for node in &cluster.nodes {
        wait_until(TIMEOUT, "it is replicated", || {
            node.value("SELECT COUNT(*) FROM shop.t") == "2"
        });
    }
    assert_eq!(
        cell(&mut reading.client(), "SELECT COUNT(*) FROM shop.t"),
        "2"
    );
    let (status, body) = ask(&mut reading.client(), "INSERT INTO shop.t VALUES (3)");
    assert_eq!(status, 403, "{body}");

    a_cancel_comes_to_its_node(&cluster, &balancer);
    a_lost_node_is_told(&mut cluster, &balancer);
    a_node_without_a_majority_says_so(&mut cluster, &balancer);
}

fn a_cancel_comes_to_its_node(cluster: &Cluster, balancer: &Balancer) {
    for mode in [&[][..], &["--readonly"]] {
        let postern = web_client(&balancer.target(), mode);
        cancels(&postern, &cluster.nodes);
    }
}

fn a_lost_node_is_told(cluster: &mut Cluster, balancer: &Balancer) {
    balancer.lead_to(2);
    let postern = web_client(&balancer.target(), &[]);
    let mut client = postern.client();
    for sql in ["BEGIN", "INSERT INTO shop.t VALUES (30)"] {
        assert_eq!(ask(&mut client, sql).0, 200, "{sql}");
    }
    balancer.lead_to(0);
    cluster.nodes[2].crash();
    let (status, body) = ask(&mut client, "INSERT INTO shop.t VALUES (31)");
    assert_eq!(status, 502, "{body}");
    assert!(message(&body).contains("nothing was run"), "{body}");
    // The majority goes on.
    let goes_on = || ask(&mut client, "INSERT INTO shop.t VALUES (32)").0 == 200;
    assert!(holds_within(TIMEOUT, goes_on));
    assert_eq!(
        cell(&mut client, "SELECT GROUP_CONCAT(a ORDER BY a) FROM shop.t"),
        "1,2,32"
    );
}

/// The last node of three, whose peers have crashed one after the other.
fn a_node_without_a_majority_says_so(cluster: &mut Cluster, balancer: &Balancer) {
    let (writing, reading) = (
        web_client(&balancer.target(), &[]),
        web_client(&balancer.target(), &["--readonly"]),
    );
    balancer.lead_to(0);
    cluster.nodes[1].crash();
    wait_until(Duration::from_secs(60), "it is alone", || {
        !is_ready(&cluster.nodes[0])
    });
    for postern in [&writing, &reading] {
        let (status, body) = ask(&mut postern.client(), "SELECT COUNT(*) FROM shop.t");
        let mut lines = message(&body).lines();
        assert!(status >= 400, "{body}");
        assert!(
            lines
                .next()
                .unwrap()
                .contains("WSREP has not yet prepared node"),
            "{body}"
        );
        assert!(
            lines.next().unwrap().contains("connect to another node"),
            "{body}"
        );
    }
}
