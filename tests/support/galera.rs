//! A Galera cluster of three nodes on loopback.

use tempfile::TempDir;

use super::database::{Database, Options};
use super::{TIMEOUT, free_port, wait_until};

/// Debian's.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// The position that all nodes begin at, with the same data, so that none has to be copied from another.
const POSITION: &str = "6a1e2f34-0000-11f1-8000-0123456789ab";

/// Shortest times after which a node that is silent counts as lost.
const QUICK: &str = "evs.keepalive_period=PT0.2S;evs.suspect_timeout=PT2S;evs.inactive_timeout=PT3S;\
    evs.inactive_check_period=PT0.2S;evs.install_timeout=PT3S";

/// Three nodes on loopback.
pub struct Cluster {
    /// The nodes.
    pub nodes: Vec<Database>,
    _homes: Vec<TempDir>,
}

impl Cluster {
    /// The nodes find a saved view of their cluster, and form it again as soon as all three are there.
    #[track_caller]
    pub fn start() -> Cluster {
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
pub fn status(node: &Database, name: &str) -> String {
    let mut rows: Vec<(String, String)> =
        mysql::prelude::Queryable::query(&mut node.conn(), format!("SHOW STATUS LIKE '{name}'"))
            .unwrap();
    rows.pop().map_or_else(String::new, |(_, value)| value)
}

/// True if a node takes statements.
pub fn is_ready(node: &Database) -> bool {
    status(node, "wsrep_ready") == "ON"
}
