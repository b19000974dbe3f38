//! Programs that listen on this machine, as the page offers them.

use std::net::TcpListener;

use serde_json::{Value, json};

use support::manager::Far;

#[test]
fn what_listens_is_named_and_posterns_own_is_left_out() {
    let far = Far::new();
    let manager = far.manager();
    let here = TcpListener::bind("127.0.0.1:0").unwrap();
    let everywhere = TcpListener::bind("0.0.0.0:0").unwrap();
    let ports = [&here, &everywhere].map(|listener| listener.local_addr().unwrap().port());
    let listed = || -> Vec<Value> {
        serde_json::from_value(manager.client().get("/api/listeners").data()).unwrap()
    };
    let name = std::fs::read_to_string("/proc/self/comm").unwrap();
    let found = listed();
    for port in ports {
        let wanted = json!({"port": port, "ip": "127.0.0.1", "process": name.trim_end()});
        assert!(found.contains(&wanted), "{wanted} in {found:?}");
    }
    let own = manager
        .url()
        .rsplit(':')
        .next()
        .unwrap()
        .parse::<u16>()
        .unwrap();
    assert!(
        found.iter().all(|listener| listener["port"] != own),
        "{found:?}"
    );
    assert!(found.is_sorted_by_key(|listener| listener["port"].as_u64()));
    drop(here);
    assert!(listed().iter().all(|listener| listener["port"] != ports[0]));
}
