//! A Galera cluster of three nodes, as it is met through a balancer.

use std::time::{Duration, Instant};

use support::balancer::Balancer;
use support::database::Database;
use support::galera::{Cluster, is_ready};
use support::{TIMEOUT, holds_within, wait_until};

use super::super::{ask, cancels, cell, message, web_client};

fn balancer(cluster: &Cluster) -> Balancer {
    let ports: Vec<u16> = cluster.nodes.iter().map(Database::port).collect();
    Balancer::before(&ports)
}

#[test]
fn a_cluster_behind_a_balancer_is_browsed_asked_and_survives_the_loss_of_its_nodes() {
    let began = Instant::now();
    let mut cluster = Cluster::start();
    eprintln!("the cluster took {:.1?}", began.elapsed());
    let balancer = balancer(&cluster);
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
