//! MySQL Router before two servers: as a balancer, and where it shares connections.

use std::net::TcpStream;

use support::database::{Database, PASSWORD, Server, USER};
use support::kill_on_drop::{KillOnDrop, Leashed};
use support::postern::Home;
use support::{TIMEOUT, free_port, holds_within};
use tempfile::TempDir;

use super::super::{ask, cancels, cell, rows_on, two_servers, web_client};

/// A running router with a port that leads whole connections and one that shares them.
struct Router {
    whole: u16,
    shared: u16,
    _process: Leashed,
    _dir: TempDir,
}

impl Router {
    /// `tests/run.sh` leaves these tests out, and says so, where the package was not to be had.
    fn before(servers: &[Database; 2]) -> Router {
        let server = Server::chosen();
        let dir = tempfile::Builder::new()
            .prefix("postern-ro-")
            .tempdir()
            .unwrap();
        let (whole, shared) = (free_port(), free_port());
        let file = dir.path().join("router.conf");
        std::fs::write(&file, configuration(servers, whole, shared, &dir)).unwrap();
        let mut tool = server.command_line("mysqlrouter").into_iter();
        let mut process = KillOnDrop::new(tool.next().unwrap())
            .args(tool)
            .args(["-c".as_ref(), file.as_os_str()])
            .start();
        let listens = |port: u16| TcpStream::connect(("127.0.0.1", port)).is_ok();
        let is_up = holds_within(TIMEOUT, || {
            process.ended().is_some() || listens(whole) && listens(shared)
        });
        assert!(
            is_up && process.ended().is_none(),
            "{}",
            process.stderr.text()
        );
        Router {
            whole,
            shared,
            _process: process,
            _dir: dir,
        }
    }
}

fn configuration(servers: &[Database; 2], whole: u16, shared: u16, dir: &TempDir) -> String {
    let dir = dir.path().display();
    let to = servers.each_ref().map(Database::target).join(",");
    let root = Server::chosen().root().unwrap();
    let plugins = root.join("usr/lib/mysqlrouter/plugin");
    let port = |name: &str, number: u16, more: &str| {
        format!(
            "[routing:{name}]\nbind_address=127.0.0.1\nbind_port={number}\ndestinations={to}\n\
             routing_strategy=round-robin\nprotocol=classic\n{more}"
        )
    };
    // It needs the password itself, which no client gives it without TLS; the certificate is one that a server has made.
    let keys = servers[0].data_dir();
    let sharing = format!(
        "connection_sharing=1\nconnection_sharing_delay=0\nclient_ssl_mode=PREFERRED\nserver_ssl_mode=PREFERRED\n\
         client_ssl_cert={0}/server-cert.pem\nclient_ssl_key={0}/server-key.pem\n",
        keys.display()
    );
    format!(
        "[DEFAULT]\nplugin_folder={}\nruntime_folder={dir}\ndata_folder={dir}\nname=test\n\
         [logger]\nlevel=WARNING\n[connection_pool]\nmax_idle_server_connections=8\n{}{}",
        plugins.display(),
        port("whole", whole, ""),
        port("shared", shared, &sharing)
    )
}

#[test]
fn a_router_that_leads_whole_connections_is_a_balancer() {
    let servers = two_servers();
    let router = Router::before(&servers);
    for mode in [&[][..], &["--readonly"]] {
        let postern = web_client(&format!("127.0.0.1:{}", router.whole), mode);
        let mut client = postern.client();
        let at = cell(&mut client, "SELECT @@server_id");
        assert_eq!(cell(&mut client, "SELECT @@server_id"), at);
        cancels(&postern, &servers);
    }
}

#[test]
fn a_router_that_shares_connections_is_refused_in_read_only_mode() {
    let servers = two_servers();
    let router = Router::before(&servers);
    let target = format!("127.0.0.1:{}", router.shared);
    let arguments = [
        "mysql",
        "--no-open",
        "--listen",
        "127.0.0.1:0",
        &target,
        "--readonly",
    ];
    let account = ["--db-user", USER, "--db-pass", PASSWORD];
    let ended = Home::with_plugin().run(&[&arguments[..], &account].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("MySQL Router between"), "{ended:?}");
    assert!(
        ended.stderr.contains("connect to the server directly"),
        "{ended:?}"
    );
    let postern = web_client(&target, &[]);
    let mut client = postern.client();
    assert_eq!(ask(&mut client, "INSERT INTO shop.t VALUES (1)").0, 200);
    let written = servers.each_ref().map(rows_on).concat();
    assert!(["01", "10"].contains(&written.as_str()), "{written}");
}
