//! Running out of open files, in a process of its own: the limit is the process's.

use crate::fixture::{Client, TIMEOUT, get, start, wait_until};
use postern::http::{Limits, Request, Response};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::time::Instant;
use support::own_process::ran_apart;

#[test]
fn running_out_of_files_ends_neither_fence_nor_workers() {
    if ran_apart(running_out_of_files_ends_neither_fence_nor_workers) {
        return;
    }
    let files = Some(256);
    let low = Rlimit {
        current: files,
        maximum: files,
    };
    setrlimit(Resource::Nofile, low).unwrap();
    let server = start(Limits::default(), |request: Request| {
        request.respond(Response::text(200, "ok"));
    });
    assert_eq!(server.get("/").status, 200);
    for _ in 0..3 {
        exhaust(&server);
        wait_until("it serves again", || {
            let mut client = server.connect();
            client.send(&get(server.addr, "/"));
            client
                .answer(false)
                .is_some_and(|answer| answer.status == 200)
        });
    }
    assert_eq!(getrlimit(Resource::Nofile), low);
}

/// Takes every file there is, with requests under way meanwhile, and gives all back.
fn exhaust(server: &crate::fixture::Fixture) {
    // Served once, so that none waits to be accepted while there is no file for it.
    let mut clients: Vec<Client> = (0..8).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send(&get(server.addr, "/"));
        assert_eq!(client.answer(false).unwrap().status, 200);
    }
    let mut taken = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        taken.push(file);
    }
    for spare in 0..8 {
        for client in &mut clients {
            client.send(&get(server.addr, "/"));
        }
        let asked = Instant::now();
        for client in &mut clients {
            let _ = client.answer(false);
        }
        assert!(
            asked.elapsed() < TIMEOUT,
            "with {spare} files a request was neither answered nor refused"
        );
        drop(taken.pop());
    }
}
