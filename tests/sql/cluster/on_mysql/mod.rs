//! A MySQL server and a MariaDB server behind one address, as in the middle of a migration. Without TLS: this MariaDB does
//! not offer it, and a server that no longer offers what another has offered is refused.

mod router;

use support::balancer::Balancer;
use support::database::{Database, Options, Server};

use super::{ask, cancels, web_client};

/// The MySQL server under test, and the MariaDB that is installed.
fn both_kinds() -> [Database; 2] {
    let mariadb = Server::installed();
    [None, Some(mariadb)].map(|server| {
        Database::start(Options {
            server,
            ..Options::default()
        })
    })
}

#[test]
fn each_server_is_asked_in_its_own_words() {
    let servers = both_kinds();
    let address = Balancer::before(&[servers[0].port(), servers[1].port()]);
    let postern = web_client(&address.target(), &["--readonly", "--tls", "off"]);
    let mut client = postern.client();
    let (of_mysql, of_mariadb) = (
        "SELECT BIN_TO_UUID(UUID_TO_BIN(UUID()))",
        "SELECT NVL2(1, 2, 3)",
    );
    for round in 0..3 {
        for (server, own, others) in [(0, of_mysql, of_mariadb), (1, of_mariadb, of_mysql)] {
            address.fail_over_to(server);
            let (status, body) = ask(&mut client, own);
            assert_eq!(status, 200, "{round}: {own}: {body}");
            let (status, body) = ask(&mut client, others);
            assert_eq!(status, 403, "{round}: {others}: {body}");
        }
    }
}

#[test]
fn a_cancel_finds_its_server_among_both_kinds() {
    let servers = both_kinds();
    let address = Balancer::before(&[servers[0].port(), servers[1].port()]);
    address.lead_in_turn();
    let postern = web_client(&address.target(), &["--tls", "off"]);
    for _ in 0..3 {
        cancels(&postern, &servers);
    }
}
