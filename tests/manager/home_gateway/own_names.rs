//! By which name an application is asked, and what of its answers is written afresh.

use serde_json::json;
use support::Home;
use support::share::Sharing;

use super::{App, Way, host, ok};

/// As Vite's does: 403 for each name that it was not told.
fn dev_server() -> App {
    App::start(|head| {
        let name = host(head).split(':').next().unwrap();
        if ["localhost", "127.0.0.1"].contains(&name) {
            return ok("");
        }
        let body = "Blocked request. This host is not allowed.";
        let length = body.len();
        // Nothing follows HEAD.
        let body = if head.starts_with("HEAD") { "" } else { body };
        format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {length}\r\n\r\n{body}")
    })
}

#[test]
fn one_that_refuses_the_sites_name_is_told_apart_and_answers_to_its_own() {
    let (way, app) = (Way::new(), dev_server());
    let (id, _) = way.connected(&json!({"protocol": "http", "port": app.port, "name": "vite"}));
    let health = way.manager.wait_for(&id, "the hint", |result| {
        result["health"]["state"] == "failing"
    })["health"]
        .clone();
    let error = format!(
        "127.0.0.1:{} answers 403 for the host name {}, but 200 for its own name",
        app.port,
        way.host("vite")
    );
    assert_eq!(health["error"], error);
    assert!(
        health["hint"].as_str().unwrap().contains("--host target"),
        "{health}"
    );
    assert!(way.get("vite", "/", "").starts_with("HTTP/1.1 403"));
    let told = way.manager.home().run(&["app", "connect", "vite"]);
    assert!(
        told.stderr.contains(&error) && told.stderr.contains("\nset its Host"),
        "{told:?}"
    );

    way.manager.disconnect(&id);
    let (id, _) = way.connected(
        &json!({"protocol": "http", "port": app.port, "name": "mended", "host_header": "target"}),
    );
    assert!(way.get("mended", "/", "").ends_with("\r\n\r\nok"));
    way.manager
        .wait_for(&id, "health", |result| result["health"]["state"] == "ok");
    assert_eq!(
        host(&app.heads_of("/").pop().unwrap()),
        format!("127.0.0.1:{}", app.port)
    );
}

/// The command tells what the page tells: also what to do about it.
#[test]
fn a_share_of_one_that_refuses_the_sites_name_says_what_helps() {
    let app = dev_server();
    let home = Home::new();
    let port = app.port.to_string();
    let shared = Sharing::start(&home, &["http", &port]);
    shared.wait_said("but 200 for its own name; set its Host header to 'target' (--host target)");
}

/// As a program behind a proxy does that was told its own name alone, Grafana's or Django's, say.
#[test]
fn under_another_name_links_lead_to_the_site_and_back() {
    let way = Way::new();
    let app = App::start(|head| {
        let host = host(head);
        match head.split(' ').nth(1).unwrap() {
            "/login" => format!(
                "HTTP/1.1 302 Found\r\nLocation: http://{host}/home?next=http://{host}/\r\n\
                 Set-Cookie: session=1; Domain=intranet.example; Path=/; HttpOnly\r\n\
                 Refresh: 5; url=http://{host}/r\r\nContent-Location: http://{host}/c\r\n\
                 Link: <http://{host}/s.css>; rel=preload, <https://cdn.example/x>\r\n\
                 Content-Length: 0\r\n\r\n"
            ),
            "/away" => "HTTP/1.1 302 Found\r\nLocation: https://elsewhere.example/\r\n\
                 Content-Length: 0\r\n\r\n"
                .to_owned(),
            _ => ok(""),
        }
    });
    way.connected(&json!({
        "protocol": "http", "port": app.port, "name": "wiki", "host_header": "intranet.example:8080",
    }));
    let site = format!("http://{}", way.host("wiki"));
    let lines = format!("Origin: {site}\r\nReferer: {site}/form?x\r\n");
    let answer = way.get("wiki", "/login", &lines);
    for line in [
        format!("Location: {site}/home?next=http://intranet.example:8080/"),
        "Set-Cookie: session=1; Path=/; HttpOnly".to_owned(),
        format!("Refresh: 5; url={site}/r"),
        format!("Content-Location: {site}/c"),
        format!("Link: <{site}/s.css>; rel=preload, <https://cdn.example/x>"),
    ] {
        assert!(
            answer.contains(&format!("\r\n{line}\r\n")),
            "{line}: {answer}"
        );
    }
    let head = app.heads_of("/login").pop().unwrap();
    for line in [
        "Host: intranet.example:8080",
        "Origin: http://intranet.example:8080",
        "Referer: http://intranet.example:8080/form?x",
        "X-Forwarded-Host: intranet.example:8080",
        "X-Forwarded-Proto: http",
        "X-Forwarded-Port: 8080",
        "X-Real-IP: 127.0.0.1",
    ] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
    }
    assert!(
        head.contains("\r\nForwarded: for=127.0.0.1;host=\"intranet.example:8080\";proto=http\r\n")
    );
    assert!(
        way.get("wiki", "/away", "")
            .contains("\r\nLocation: https://elsewhere.example/\r\n")
    );
    way.get("wiki", "/other", "Origin: http://evil.example\r\n");
    let head = app.heads_of("/other").pop().unwrap();
    assert!(
        head.contains("\r\nOrigin: http://evil.example\r\n"),
        "{head}"
    );
}

/// As Rails does: 403 for a name that it was not told, in whatever line.
#[test]
fn health_is_asked_with_the_lines_that_visitors_bring() {
    let way = Way::by_https();
    let app = App::start(|head| {
        let line = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let names = [Some(host(head)), line("X-Forwarded-Host: ")];
        match names
            .into_iter()
            .flatten()
            .all(|name| name.starts_with("127.0.0.1:"))
        {
            true => ok(""),
            false => "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".to_owned(),
        }
    });
    for (mode, state) in [
        ("visitor", "failing"),
        ("target", "ok"),
        ("wiki.lan", "failing"),
    ] {
        let name = format!("as-{}", mode.replace('.', "-"));
        let (_, result) = way.connected(
            &json!({"protocol": "http", "port": app.port, "name": name, "host_header": mode}),
        );
        assert_eq!(result["health"]["state"], state, "{mode}: {result}");
        let asked = app
            .heads
            .lock()
            .unwrap()
            .iter()
            .rev()
            .find(|head| head.starts_with("HEAD / "))
            .cloned();
        let lines = "X-Forwarded-Proto: https\r\nUser-Agent: x\r\nAccept: x\r\n";
        let request =
            format!("GET / HTTP/1.1\r\nHost: {name}.localhost\r\nConnection: close\r\n{lines}\r\n");
        let answer = super::ask(way.relay.address, &request);
        assert_eq!(
            answer.starts_with("HTTP/1.1 200 "),
            state == "ok",
            "{mode}: {answer}"
        );
        let visited = app
            .heads
            .lock()
            .unwrap()
            .iter()
            .rev()
            .find(|head| head.starts_with("GET / "))
            .cloned();
        let names = |head: Option<String>| {
            let head = head.unwrap();
            let lines = head
                .lines()
                .skip(1)
                .filter_map(|line| line.split(": ").next());
            lines
                .map(str::to_owned)
                .collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(names(asked), names(visited), "{mode}");
    }
}

#[test]
fn a_redirect_to_the_site_keeps_to_https() {
    let (way, app) = (
        Way::by_https(),
        App::start(|head| {
            let host = host(head);
            format!(
                "HTTP/1.1 302 Found\r\nLocation: http://{host}/next\r\nContent-Length: 0\r\n\r\n"
            )
        }),
    );
    for (site, mode) in [("visited", "visitor"), ("named", "target")] {
        way.connected(
            &json!({"protocol": "http", "port": app.port, "name": site, "host_header": mode}),
        );
        let request = format!(
            "GET /a HTTP/1.1\r\nHost: {site}.localhost\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n\r\n"
        );
        let answer = super::ask(way.relay.address, &request);
        assert!(
            answer.contains(&format!("\r\nLocation: https://{site}.localhost/next\r\n")),
            "{answer}"
        );
    }
}

/// It would lead a visitor to the visitor's own machine.
#[test]
fn a_redirect_to_the_applications_own_address_is_told() {
    let way = Way::elsewhere();
    let app = App::start(|head| match head.split(' ').nth(1).unwrap() {
        "/redir" => {
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:PORT/x\r\nContent-Length: 0\r\n\r\n"
                .replace(
                    "PORT",
                    head.split("port=")
                        .nth(1)
                        .unwrap()
                        .split('\r')
                        .next()
                        .unwrap(),
                )
        }
        _ => ok(""),
    });
    let (id, result) =
        way.connected(&json!({"protocol": "http", "port": app.port, "name": "redir"}));
    assert_eq!(result["health"]["state"], "ok", "{result}");
    let answer = way.get("redir", "/redir", &format!("X-Mine: port={}\r\n", app.port));
    let own = format!("\r\nLocation: http://127.0.0.1:{}/x\r\n", app.port);
    assert!(
        answer.contains(&own),
        "it is asked by the visitors' name: {answer}"
    );
    let result = way.manager.wait_for(&id, "the hint", |result| {
        result["health"]["state"] == "failing"
    });
    let error = result["health"]["error"].as_str().unwrap();
    assert!(
        error.ends_with("redirects visitors to its own, unreachable address"),
        "{error}"
    );
}
