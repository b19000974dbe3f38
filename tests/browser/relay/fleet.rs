//! The operator's page of a relay that shares its state with others.

use serde_json::json;
use support::Browser;
use support::fleet::{Fleet, TOKEN};
use support::relay::{PASSWORD, body, with};
use support::{TIMEOUT, wait_until};

use crate::relay::looks::look;

#[test]
fn the_page_shows_the_whole_fleet_and_a_store_that_is_away() {
    let mut fleet = Fleet::start(3, &[]);
    let front = fleet.front();
    let call = |app: &str| {
        let wish = json!({"enroll_token": TOKEN, "site_name": app, "label": "build box"});
        with(body("c", app, "http", 9), wish)
    };
    let shop = fleet.relay(0).assign(&call("shop"));
    let remote = format!("R:0.0.0.0:{}:127.0.0.1:9", shop["app"]["resource"]["port"]);
    let tunnels = [1, 2].map(|at| fleet.relay(at).tunnel("c", PASSWORD, &[&remote]));
    assert!(tunnels.iter().all(|tunnel| tunnel.wait(TIMEOUT)));
    let page = Browser::shared().page();
    page.goto(fleet.relay(0).said("Status page: ").trim());
    page.wait_for_text("1 enrolled, 1 connected");
    page.wait_for("document.querySelectorAll('#relays tr').length === 3");
    assert!(page.text("#relays").contains("this one"));
    let card = page.text(".connector");
    for at in [1, 2] {
        let address = fleet.relay(at).tunnel.to_string();
        assert!(card.contains(&address), "{card}");
    }
    look(&page, "fleet");
    fleet.members[2].kill();
    page.wait_for("document.querySelector('#relays').textContent.includes('away')");
    fleet.single().crash();
    page.wait_for_text("The shared store is unreachable");
    look(&page, "fleet-away");
    fleet.single().restart();
    wait_until(TIMEOUT, "its return", || {
        page.eval("document.querySelector('#store').hidden") == true
    });
    drop(front);
}
