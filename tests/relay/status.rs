//! Queries of the operator on a relay with much to show.

use serde_json::{Value, json};
use support::relay::crowded;

/// Connectors, and applications of each.
const CROWD: (usize, usize) = (300, 5);

#[test]
fn a_status_is_searched_sorted_and_paged_by_the_relay() {
    let relay = crowded(CROWD);
    let bearer = format!("Bearer {}", relay.operator_token());
    let headers = [("Authorization", bearer.as_str())];
    let ask = |query: &str| {
        let path = format!("/api/status?{query}");
        relay.client().send("GET", &path, &headers, b"")
    };
    let names = |status: &Value| -> Vec<String> {
        let all = status["connectors"].as_array().unwrap().iter();
        all.map(|of| of["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let whole = relay.status();
    assert_eq!(names(&whole).len(), CROWD.0, "without a query it is whole");
    assert_eq!(whole["next"], Value::Null);
    let mut all = Vec::new();
    let mut offset = json!(0);
    while offset != Value::Null {
        let page = ask(&format!("sort=name&lines=1000&offset={offset}")).data();
        assert_eq!(page["matching"], CROWD.0);
        all.extend(names(&page));
        offset = page["next"].clone();
    }
    assert_eq!(all, names(&whole), "each once");
    let found = ask("search=machine-000&lines=9999").data();
    assert_eq!((names(&found).len(), &found["matching"]), (10, &json!(10)));
    assert_eq!(found["enrolled"], CROWD.0);
    assert_eq!(relay.visit("site-42-0", "/").status(), 502);
    for sort in ["visit", "traffic", "called"] {
        let page = ask(&format!("sort={sort}&lines=1")).data();
        assert_eq!(names(&page).len(), 1, "{sort}");
    }
    assert_eq!(names(&ask("sort=visit&lines=1").data()), ["postern_0042"]);
    assert_eq!(names(&ask("offset=99999").data()), Vec::<String>::new());
    for wrong in ["sort=size", "lines=many", "offset=-1"] {
        assert_eq!(ask(wrong).status(), 400, "{wrong}");
    }
}
