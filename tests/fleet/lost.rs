//! A change whose `COMMIT` was made and whose answer was lost.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use support::database::{PASSWORD as STORE_PASSWORD, USER};
use support::fleet::{Fleet, TOKEN};
use support::kill_on_drop::KillOnDrop;
use support::relay::{Relay, body, with};
use support::{Home, TIMEOUT, holds_within};

/// A way to a server that ends with each `COMMIT` that it has passed on, as often as `losses` says.
fn way(to: SocketAddr, losses: &Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let losses = Arc::clone(losses);
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(to) else {
                continue;
            };
            let (mut down, mut back) = (far.try_clone().unwrap(), near.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut down, &mut back);
                let _ = back.shutdown(Shutdown::Both);
            });
            let losses = Arc::clone(&losses);
            std::thread::spawn(move || carry(near, far, &losses));
        }
    });
    address
}

fn carry(mut near: TcpStream, mut far: TcpStream, losses: &AtomicUsize) {
    let mut piece = [0; 64 * 1024];
    while let Ok(read @ 1..) = near.read(&mut piece) {
        let is_commit = piece[..read].ends_with(b"COMMIT");
        let left = |left: usize| left.checked_sub(1);
        let is_lost = is_commit
            && losses
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left)
                .is_ok();
        if is_lost {
            // Nothing comes back from here on.
            let _ = near.shutdown(Shutdown::Both);
        }
        if far.write_all(&piece[..read]).is_err() || is_lost {
            break;
        }
    }
    // The server is to have taken it before the connection ends.
    let _ = far.shutdown(Shutdown::Write);
    let _ = near.shutdown(Shutdown::Both);
}

#[test]
fn a_change_whose_answer_was_lost_is_neither_lost_nor_made_twice() {
    let fleet = Fleet::start(1, &[]);
    let losses = Arc::<AtomicUsize>::default();
    let through = way(fleet.database().target().parse().unwrap(), &losses);
    let program = KillOnDrop::new(support::postern::binary());
    let args = [
        "--listen=127.0.0.1:0",
        "--tunnel-listen=127.0.0.1:0",
        "--peer-listen=127.0.0.1:0",
        "--enroll-token",
        TOKEN,
        "--drain=0",
        "--store",
        &format!("mysql://{USER}@{through}/fleet"),
    ];
    let program = program.env("POSTERN_STORE_PASS", STORE_PASSWORD);
    let relay = Relay::try_start_by(program, &Arc::new(Home::new()), &args).unwrap();
    let number = || {
        let number = fleet
            .database()
            .value("SELECT number FROM fleet.postern_fleet");
        number.parse::<u64>().unwrap()
    };
    for round in 0..5 {
        let name = format!("site{round}");
        let changes = json!({"enroll_token": TOKEN, "site_name": name});
        let before = number();
        losses.store(1, Ordering::SeqCst);
        let answer = relay.assign(&with(body("c", &name, "http", 9), changes.clone()));
        assert_eq!(losses.load(Ordering::SeqCst), 0, "a COMMIT was lost");
        assert_eq!(number(), before + 1, "it was made once");
        let there = fleet
            .relay(0)
            .assign(&with(body("c", &name, "http", 9), changes));
        assert_eq!(there["app"]["app_id"], answer["app"]["app_id"]);
    }
    assert!(holds_within(TIMEOUT, || {
        relay.client().get("/health").json()["store"] == "ok"
    }));
}
