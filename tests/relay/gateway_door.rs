//! Invisible sites, proxies in front, TLS behind, and the access log.

use std::io::Write;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, Once, mpsc};

use log::{LevelFilter, Log, Metadata, Record};
use postern::gateway::{Code, Gateway, GatewayConfig};
use postern::http::{HostPolicy, Limits, Request, Response, Server, ServerConfig};
use support::gateway::{
    Answer, Client, Relay, Shared, Table, application, read_request, wait_until,
};

const CODE: &str = "correct horse";

/// Lines of the log, all levels, of everything in this process.
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Keep;

impl Log for Keep {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let line = format!("{} {}", record.target(), record.args());
        LINES.lock().unwrap().push(line);
    }

    fn flush(&self) {}
}

fn keep_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Keep).unwrap();
        log::set_max_level(LevelFilter::Trace);
    });
}

type Seen = Arc<Mutex<Vec<String>>>;

/// Answers with `ok` and keeps what it got.
fn recording() -> (u16, Seen) {
    let seen: Seen = Arc::default();
    let theirs = Arc::clone(&seen);
    let port = application(move |mut stream| {
        let mut rest = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut rest) {
            let request = String::from_utf8_lossy(&request).into_owned();
            theirs.lock().unwrap().push(request);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    (port, seen)
}

fn invisible(relay: &Relay, name: &str) -> (Shared, Seen) {
    let (port, seen) = recording();
    let shared = relay.share_as(name, port, |site| site.code = Some(Code::new(CODE)));
    (shared, seen)
}

fn ask(relay: &Relay, request: &str) -> Answer {
    let mut client = relay.connect();
    client.send(request.as_bytes());
    client.answer(request.starts_with("HEAD")).unwrap()
}

/// Sends the form of the sign-in page.
fn post(relay: &Relay, site: &str, body: &str, lines: &str) -> Answer {
    let lines = format!(
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n{lines}",
        body.len()
    );
    ask(
        relay,
        &(relay.request("POST", site, "/.postern/auth", &lines) + body),
    )
}

/// The cookie that a right code gives.
fn cookie(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{}", answer.head);
    let header = answer.header("set-cookie").unwrap();
    header.split(';').next().unwrap().to_owned()
}

#[test]
fn an_invisible_site_asks_everybody_and_reaches_the_application_for_nobody() {
    keep_log();
    let relay = Relay::start();
    let (_shared, seen) = invisible(&relay, "shop");
    for path in [
        "/",
        "/api/x",
        "/auth/",
        "/Auth",
        "/%61uth",
        "//auth",
        "/auth",
        "/.postern/auth",
        "/.postern/auth/",
        "/.postern/x",
        "/.Postern/auth",
        "/%2epostern/auth",
        "/auth?code=theirs",
        "/auth?app_id=app-other&code=correct%20horse",
    ] {
        let answer = relay.get("shop", path);
        assert_eq!(answer.status, 401, "{path}");
        let page = answer.text();
        assert!(
            page.contains("<form method=\"post\" action=\"/.postern/auth\">"),
            "{path}"
        );
        assert!(!page.contains("app-shop"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.head.matches("Cache-Control").count(), 1);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"));
    }
    for lines in [
        "Accept: application/json\r\n",
        "Sec-Fetch-Dest: empty\r\n",
        "X-Requested-With: XMLHttpRequest\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\n",
    ] {
        let answer = ask(&relay, &relay.request("GET", "shop", "/api", lines));
        assert_eq!(answer.status, 401);
        let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(json["code"], 401, "{lines}");
    }
    let head = ask(&relay, &relay.request("HEAD", "shop", "/", ""));
    assert_eq!((head.status, head.body.len()), (401, 0));
    let forged = "Cookie: postern-visitor=0000000000000000000000000000000000000000\r\n";
    assert_eq!(
        ask(&relay, &relay.request("GET", "shop", "/", forged)).status,
        401
    );
    assert_eq!(
        ask(
            &relay,
            &relay.request("PUT", "shop", "/.postern/auth?code=x", "")
        )
        .status,
        405
    );
    assert!(seen.lock().unwrap().is_empty(), "{seen:?}");
}

#[test]
fn a_right_code_gives_a_cookie_that_opens_this_site_alone() {
    keep_log();
    let relay = Relay::start();
    let (_shop, shop) = invisible(&relay, "shop");
    let (_other, other) = invisible(&relay, "other");
    let link = "/.postern/auth?app_id=app-shop&code=correct%20horse";
    let answer = relay.get("shop", link);
    let pair = cookie(&answer);
    let whole = answer.header("set-cookie").unwrap();
    assert!(
        whole.ends_with("; HttpOnly; SameSite=Lax; Path=/; Max-Age=43200"),
        "{whole}"
    );
    assert_eq!(answer.header("location"), Some("/"));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.head.matches("Cache-Control").count(), 1);
    assert!(pair.len() >= "postern-visitor=".len() + 32);

    let lines = format!("Cookie: a=1; {pair}; b=2\r\n");
    let with = |site: &str, path: &str| ask(&relay, &relay.request("GET", site, path, &lines));
    assert_eq!(with("shop", "/page?q").status, 200);
    assert_eq!(with("other", "/").status, 401);
    let got = shop.lock().unwrap().concat();
    assert!(got.starts_with("GET /page?q HTTP/1.1\r\n"));
    assert!(got.contains("\r\nCookie: a=1; b=2\r\n"), "{got}");
    assert!(!got.contains(&pair) && !got.contains("horse"));
    assert!(other.lock().unwrap().is_empty());

    // A page of another site can put a cookie of this name in front.
    let tossed = format!("Cookie: postern-visitor=x; {pair}\r\n");
    let tossed = ask(&relay, &relay.request("GET", "shop", "/", &tossed));
    assert_eq!(tossed.status, 200);

    let again = relay.get("shop", link);
    assert_ne!(cookie(&again), pair, "every visitor has his own");
    let wrong_app = relay.get("shop", "/.postern/auth?app_id=app-other&code=correct+horse");
    assert_eq!(wrong_app.status, 401);
    let text = LINES.lock().unwrap().join("\n");
    let secret = pair.split_once('=').unwrap().1;
    assert!(!text.contains(secret) && !text.contains("horse"));
}

#[test]
fn the_form_signs_in_from_its_own_page_alone() {
    let relay = Relay::start();
    let (_shared, _) = invisible(&relay, "shop");
    let own = format!("Origin: http://shop.localhost:{}\r\n", relay.addr.port());
    let form = "code=correct+horse";
    for lines in [
        own.as_str(),
        "Origin: null\r\nSec-Fetch-Site: same-origin\r\n",
        "Sec-Fetch-Site: same-origin\r\n",
        "",
    ] {
        cookie(&post(&relay, "shop", form, lines));
    }
    for lines in [
        "Origin: http://evil.example\r\n",
        "Origin: http://other.localhost\r\nSec-Fetch-Site: same-site\r\n",
        "Origin: null\r\n",
        "Origin: null\r\nSec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ] {
        assert_eq!(post(&relay, "shop", form, lines).status, 403, "{lines}");
    }
    assert_eq!(post(&relay, "shop", "code=wrong", &own).status, 401);
    assert!(
        post(&relay, "shop", "code=wrong", &own)
            .text()
            .contains("Wrong code")
    );
    assert_eq!(post(&relay, "shop", "", &own).status, 401);
    assert_eq!(post(&relay, "shop", "code=%zz", &own).status, 401);
    let json = relay.request("POST", "shop", "/.postern/auth", "Content-Length: 2\r\n") + "{}";
    assert_eq!(ask(&relay, &json).status, 415);
}

/// A page of the same name by `http` is anybody's who stands between.
#[test]
fn where_visitors_come_by_https_a_page_by_http_is_not_the_sites_own() {
    let secure = Relay::start_with(Limits::default(), |config| config.secure = true);
    let told = Relay::start_with(Limits::default(), |config| {
        config.trust_proxy = vec!["127.0.0.0/8".parse().unwrap()];
    });
    for (relay, lines) in [(&secure, ""), (&told, "X-Forwarded-Proto: https\r\n")] {
        let (_shared, _) = invisible(relay, "shop");
        let from = |scheme: &str| {
            let own = format!("shop.localhost:{}", relay.addr.port());
            let lines = format!("{lines}Origin: {scheme}://{own}\r\n");
            post(relay, "shop", "code=correct+horse", &lines).status
        };
        assert_eq!([from("https"), from("http")], [303, 403], "{lines}");
    }
}

#[test]
fn wrong_codes_are_limited_and_a_right_one_passes_all_the_same() {
    let relay = Relay::start();
    let (_shared, _) = invisible(&relay, "shop");
    let _other = invisible(&relay, "other");
    for site in ["shop", "other", "shop", "other", "shop"] {
        assert_eq!(relay.get(site, "/.postern/auth?code=wrong").status, 401);
    }
    let answer = relay.get("other", "/.postern/auth?code=wrong");
    assert_eq!(answer.status, 429);
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((50..=60).contains(&wait));
    cookie(&relay.get("shop", "/.postern/auth?code=correct%20horse"));
}

#[test]
fn behind_https_the_cookie_is_secure_and_bound_to_its_host() {
    let relay = Relay::start_with(Limits::default(), |config| config.secure = true);
    let (_shared, seen) = invisible(&relay, "shop");
    let answer = relay.get("shop", "/.postern/auth?code=correct%20horse");
    let pair = cookie(&answer);
    assert!(pair.starts_with("__Host-postern-visitor="));
    assert!(answer.header("set-cookie").unwrap().ends_with("; Secure"));
    let lines = format!("Cookie: {pair}; postern-visitor=planted\r\n");
    let with = |lines: &str| ask(&relay, &relay.request("GET", "shop", "/", lines)).status;
    assert_eq!(with(&lines), 200);
    let got = seen.lock().unwrap().concat();
    assert!(
        got.contains("X-Forwarded-Proto: https\r\n") && !got.contains("Cookie"),
        "{got}"
    );
    // Another server of this host name, on another port, can read and set a cookie without the prefix.
    let value = pair.split_once('=').unwrap().1;
    assert_eq!(with(&format!("Cookie: postern-visitor={value}\r\n")), 401);
}

#[test]
fn a_visitor_whom_a_trusted_proxy_brings_by_https_has_the_bound_cookie_alone() {
    let relay = Relay::start_with(Limits::default(), |config| {
        config.trust_proxy = vec!["127.0.0.0/8".parse().unwrap()];
    });
    let (_shared, _) = invisible(&relay, "shop");
    let https = "X-Forwarded-Proto: https\r\n";
    let get = |path: &str, lines: &str| ask(&relay, &relay.request("GET", "shop", path, lines));
    let answer = get("/.postern/auth?code=correct%20horse", https);
    let pair = cookie(&answer);
    assert!(pair.starts_with("__Host-postern-visitor="));
    assert!(answer.header("set-cookie").unwrap().ends_with("; Secure"));
    assert_eq!(get("/", &format!("{https}Cookie: {pair}\r\n")).status, 200);
    let plain = pair.trim_start_matches("__Host-");
    assert_eq!(get("/", &format!("{https}Cookie: {plain}\r\n")).status, 401);
}

/// Answers each request with these header lines.
fn answering(lines: &'static str) -> u16 {
    application(move |mut stream| {
        let mut rest = Vec::new();
        while read_request(&mut stream, &mut rest).is_some() {
            let answer = format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 2\r\n\r\nok");
            let _ = stream.write_all(answer.as_bytes());
        }
    })
}

#[test]
fn every_answer_of_an_https_gateway_keeps_browsers_on_https_on_every_port() {
    const OURS: &str = "Strict-Transport-Security: max-age=31536000\r\n";
    for secure in [true, false] {
        let relay = Relay::start_with(Limits::default(), |config| config.secure = secure);
        let theirs = "strict-transport-security: max-age=0; includeSubDomains\r\n";
        let _shop = relay.share("shop", answering(theirs));
        let _veiled = invisible(&relay, "veiled");
        let own = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", relay.addr);
        for (what, request) in [
            (
                "an application's answer",
                relay.request("GET", "shop", "/", ""),
            ),
            ("an unknown site", relay.request("GET", "nobody", "/", "")),
            ("a sign-in page", relay.request("GET", "veiled", "/", "")),
            ("the relay's own page", own),
            ("a malformed request", "GET / HTTP/1.1\r\n\r\n".to_owned()),
            (
                "another name",
                "GET / HTTP/1.1\r\nHost: x.example\r\n\r\n".to_owned(),
            ),
        ] {
            let head = ask(&relay, &request).head;
            let count = head
                .to_ascii_lowercase()
                .matches("strict-transport-security")
                .count();
            let is_ours = head.contains(OURS);
            match (secure, what) {
                (true, _) => assert!(count == 1 && is_ours, "{what}: {head}"),
                (false, "an application's answer") => assert_eq!(count, 1, "it passes: {head}"),
                (false, _) => assert_eq!(count, 0, "{what}: {head}"),
            }
        }
    }
}

/// A gateway for 8 connections, the fewest, whose own pages answer when `released` is closed.
fn busy_gateway(secure: bool, released: mpsc::Receiver<()>) -> (Server, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let mut limits = Limits::default();
    limits.connections = 8;
    let config = ServerConfig {
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        hosts: HostPolicy::loopback(),
        check_other_users: false,
        run_dir: dir.path().join("run"),
        workers: 2,
        limits,
    };
    let mut gateway = GatewayConfig::new("localhost", config.listener.local_addr().unwrap().port());
    gateway.secure = secure;
    let gateway = Gateway::new(gateway, Arc::new(Table::default()));
    let released = Mutex::new(released);
    let own = move |request: Request| {
        let _ = released.lock().unwrap().recv();
        request.respond(Response::text(200, "late"));
    };
    let server = Server::start_with_gateway(Arc::new(gateway), config, Arc::new(own));
    (server.unwrap(), dir)
}

#[test]
fn who_is_turned_away_from_an_https_gateway_is_kept_on_https_too() {
    for secure in [true, false] {
        let (release, released) = mpsc::channel();
        let (server, _dir) = busy_gateway(secure, released);
        let (mut clients, mut away) = (Vec::<Client>::new(), None);
        // A client that is not served yet gives way to the next.
        wait_until("there is no room", || {
            let mut client = Client::connect(server.addr());
            let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", server.addr());
            client.send(request.as_bytes());
            clients.push(client);
            let heard = clients.iter_mut().filter(|client| client.has_heard());
            let answers = heard.filter_map(|client| client.answer(false));
            away = answers
                .filter(|answer| answer.text().contains("too many connections"))
                .last();
            away.is_some()
        });
        let away = away.unwrap();
        let stamp = away.header("strict-transport-security").is_some();
        assert_eq!((away.status, stamp), (503, secure), "{}", away.head);
        drop(release);
    }
}

#[test]
fn answers_of_an_invisible_site_are_kept_by_no_cache_in_front() {
    let relay = Relay::start();
    let lines = "Cache-Control: public, max-age=60\r\nCache-Control: s-maxage=600\r\n\
                 CDN-Cache-Control: max-age=600\r\nSurrogate-Control: max-age=600\r\n\
                 X-Accel-Expires: 600\r\nX-LiteSpeed-Cache-Control: public\r\nX-Reverse-Proxy-TTL: 9\r\n";
    let _veiled = relay.share_as("veiled", answering(lines), |site| {
        site.code = Some(Code::new(CODE));
    });
    let _shop = relay.share("shop", answering(lines));
    let pair = cookie(&relay.get("veiled", "/.postern/auth?code=correct%20horse"));
    let lines = format!("Cookie: {pair}\r\n");
    let head = ask(&relay, &relay.request("GET", "veiled", "/", &lines)).head;
    assert!(
        head.contains("Cache-Control: private, max-age=60\r\n"),
        "{head}"
    );
    for gone in [
        "public",
        "s-maxage",
        "CDN-",
        "Surrogate",
        "X-Accel",
        "LiteSpeed",
        "TTL",
    ] {
        assert!(!head.contains(gone), "{gone}: {head}");
    }
    let open = relay.get("shop", "/").head;
    assert!(
        open.contains("Cache-Control: public, max-age=60\r\n"),
        "{open}"
    );
}

/// Headers that a server in front would obey, and cookies of a form that nothing here limits to the site.
#[test]
fn orders_to_a_server_in_front_do_not_pass() {
    let relay = Relay::start();
    let lines = "X-Reproxy-URL: http://127.0.0.1/\r\nX-Accel-Expires: 600\r\nX-Accel-Buffering: no\r\n\
                 Set-Cookie2: a=b; Version=1\r\nX-LiteSpeed-Location: /etc\r\n";
    let _shop = relay.share("shop", answering(lines));
    let head = relay.get("shop", "/").head;
    for gone in ["Reproxy", "X-Accel-Expires", "Set-Cookie2", "LiteSpeed"] {
        assert!(!head.contains(gone), "{gone}: {head}");
    }
    assert!(head.contains("X-Accel-Buffering: no\r\n"), "{head}");
}

#[test]
fn a_visible_site_has_its_own_auth_path() {
    let relay = Relay::start();
    let (port, seen) = recording();
    let _shared = relay.share("shop", port);
    assert_eq!(relay.get("shop", "/auth?code=theirs").status, 200);
    assert!(
        seen.lock()
            .unwrap()
            .concat()
            .starts_with("GET /auth?code=theirs ")
    );
}

#[test]
fn an_applications_own_auth_path_is_its_own_for_whom_is_signed_in() {
    let relay = Relay::start();
    let (_shared, seen) = invisible(&relay, "shop");
    let pair = cookie(&relay.get("shop", "/auth?app_id=app-shop&code=correct%20horse"));
    let lines = format!("Cookie: {pair}\r\n");
    for _ in 0..8 {
        let callback = relay.request("GET", "shop", "/auth?code=theirs&state=1", &lines);
        assert_eq!(ask(&relay, &callback).status, 200);
        let stranger = relay.get("shop", "/auth?code=theirs&state=1");
        assert_eq!(stranger.status, 401, "a callback is no try of a code");
        assert!(
            stranger
                .text()
                .contains("value=\"/auth?code=theirs&#38;state=1\"")
        );
    }
    let got = seen.lock().unwrap().concat();
    assert!(
        got.starts_with("GET /auth?code=theirs&state=1 HTTP/1.1\r\n"),
        "{got}"
    );
    let wrong = relay.get("shop", "/auth?app_id=app-shop&code=wrong");
    assert!(wrong.text().contains("Wrong code"), "{}", wrong.head);
}

#[test]
fn a_sign_in_leads_on_to_what_was_asked_for_and_never_to_another_site() {
    let relay = Relay::start();
    let (_shared, _) = invisible(&relay, "shop");
    let deep = relay.get("shop", "/deep/path?x=1&y=%2F%22");
    let hidden = "<input type=\"hidden\" name=\"next\" value=\"/deep/path?x=1&#38;y=%2F%22\">";
    assert!(deep.text().contains(hidden), "{}", deep.text());
    let form = "code=correct+horse&next=%2Fdeep%2Fpath%3Fx%3D1%26y%3D%252F%2522";
    let entered = post(&relay, "shop", form, "");
    cookie(&entered);
    assert_eq!(entered.header("location"), Some("/deep/path?x=1&y=%2F%22"));
    let wrong = post(&relay, "shop", &form.replace("horse", "cow"), "");
    assert!(
        wrong.status == 401 && wrong.text().contains(hidden),
        "a typing mistake keeps it"
    );
    let link = "/.postern/auth?app_id=app-shop&code=correct%20horse&next=%2Fa%3Fb%3Dc";
    assert_eq!(relay.get("shop", link).header("location"), Some("/a?b=c"));

    for next in [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "/%09/evil.example",
        "/%0D%0ASet-Cookie:%20a=1",
        "%5C%5Cevil.example",
        "javascript:alert(1)",
        "evil.example",
        "",
        "/.postern/auth?code=x",
    ] {
        let link = format!("/.postern/auth?code=correct%20horse&next={next}");
        let answer = relay.get("shop", &link);
        assert!(
            matches!(answer.status, 303 | 400),
            "{next}: {}",
            answer.head
        );
        let location = answer.header("location");
        assert!(matches!(location, None | Some("/")), "{next}: {location:?}");
    }
    let posted = relay.request("POST", "shop", "/deep", "");
    let text = ask(&relay, &posted).text();
    assert!(text.contains("name=\"next\" value=\"/\""), "{text}");
}

#[test]
fn a_whole_link_is_understood_where_its_code_is_asked_for() {
    let relay = Relay::start();
    let (_shared, _) = invisible(&relay, "shop");
    let paste = |link: &str| post(&relay, "shop", &format!("code={link}&next=%2F"), "");
    let link = "https%3A%2F%2Fshop.localhost%2F.postern%2Fauth%3Fapp_id%3Dapp-shop%26code%3Dcorrect%2520horse";
    cookie(&paste(link));
    let on = paste(&format!("{link}%26next%3D%252Fa"));
    assert_eq!(on.header("location"), Some("/a"));
    let other = paste(&link.replace("app-shop", "app-other"));
    assert_eq!(other.status, 401, "a link of another site");
}

#[test]
fn a_trusted_proxy_tells_where_a_visitor_comes_from() {
    keep_log();
    let relay = Relay::start_with(Limits::default(), |config| {
        config.trust_proxy = vec!["127.0.0.0/8".parse().unwrap()];
    });
    let (_shared, seen) = invisible(&relay, "shop");
    let from = |address: &str, path: &str| {
        let lines = format!("X-Forwarded-For: 6.6.6.6, {address}\r\nX-Forwarded-Proto: https\r\n");
        ask(&relay, &relay.request("GET", "shop", path, &lines))
    };
    for _ in 0..5 {
        assert_eq!(from("192.0.2.7", "/.postern/auth?code=wrong").status, 401);
    }
    assert_eq!(from("192.0.2.7", "/.postern/auth?code=wrong").status, 429);
    assert_eq!(from("192.0.2.8", "/.postern/auth?code=wrong").status, 401);
    let pair = cookie(&from("192.0.2.7", "/.postern/auth?code=correct%20horse"));
    let lines =
        format!("Cookie: {pair}\r\nX-Forwarded-For: 192.0.2.9\r\nX-Forwarded-Proto: https\r\n");
    ask(&relay, &relay.request("GET", "shop", "/seen", &lines));
    let got = seen.lock().unwrap().concat();
    assert!(
        got.contains("X-Forwarded-For: 192.0.2.9, 127.0.0.1\r\n"),
        "{got}"
    );
    wait_until("the log line", || {
        let lines = LINES.lock().unwrap();
        lines
            .iter()
            .any(|line| line.starts_with("postern::access 192.0.2.9 shop GET /seen 200 "))
    });
}

#[test]
fn the_log_tells_each_request_and_no_secret() {
    keep_log();
    let relay = Relay::start();
    let (port, _) = recording();
    let _shared = relay.share("logged", port);
    ask(
        &relay,
        &relay.request("GET", "logged", "/a/path?secret=1", "Cookie: c=hidden\r\n"),
    );
    ask(
        &relay,
        &relay.request("DELETE", "unknown-site", "/b?secret=1", ""),
    );
    let long = format!("/{}", "x".repeat(20_000));
    ask(&relay, &relay.request("GET", "unknown-site", &long, ""));
    let cut = format!("unknown-site GET {}… 404 ", &long[..500]);
    wait_until("all lines", || {
        let lines = LINES.lock().unwrap();
        let has = |begin: &str| {
            let begin = format!("postern::access 127.0.0.1 {begin}");
            lines.iter().any(|line| line.starts_with(&begin))
        };
        has("logged GET /a/path 200 ") && has("unknown-site DELETE /b 404 ") && has(&cut)
    });
    let text = LINES.lock().unwrap().join("\n");
    assert!(!text.contains("secret=1") && !text.contains("hidden"));
}

/// Requests for missing sites and pages write a line each: the number and the length of these lines are limited.
#[test]
fn a_flood_of_failures_does_not_fill_the_log() {
    keep_log();
    let relay = Relay::start();
    let (port, _) = recording();
    let _shared = relay.share("flooded-shop", port);
    let mut client = relay.connect();
    let path = format!("/{}", "x".repeat(10_000));
    for _ in 0..500 {
        client.send(relay.request("GET", "flood", &path, "").as_bytes());
        assert_eq!(client.answer(false).unwrap().status, 404);
        client.send(relay.request("GET", "flooded-shop", "/", "").as_bytes());
        assert_eq!(client.answer(false).unwrap().status, 200);
    }
    let long = relay.request(&"M".repeat(10_000), "flood", "/", "");
    client.send(long.as_bytes());
    assert_eq!(client.answer(false).unwrap().status, 501);
    assert!(client.is_closed());
    let lines = LINES.lock().unwrap();
    let of = |site: &str| {
        let site = format!("postern::access 127.0.0.1 {site} ");
        lines
            .iter()
            .filter(move |line| line.starts_with(&site))
            .count()
    };
    assert!((120..500).contains(&of("flood")), "{} lines", of("flood"));
    assert!(of("flooded-shop") >= 499, "what goes well is all told");
    let ours = lines
        .iter()
        .filter(|line| line.starts_with("postern::access "));
    let longest = ours.map(String::len).max();
    assert!(longest < Some(1000), "{longest:?}");
}

#[test]
fn a_site_that_gets_another_code_asks_again() {
    let relay = Relay::start();
    let (shared, _) = invisible(&relay, "shop");
    let pair = cookie(&relay.get("shop", "/.postern/auth?code=correct%20horse"));
    let lines = format!("Cookie: {pair}\r\n");
    let mut client: Client = relay.connect();
    let request = relay.request("GET", "shop", "/", &lines);
    client.send(request.as_bytes());
    assert_eq!(client.answer(false).unwrap().status, 200);
    let (port, _) = recording();
    let _again = relay.share_as("shop", port, |site| site.code = Some(Code::new("new")));
    client.send(request.as_bytes());
    assert_eq!(
        client.answer(false).unwrap().status,
        401,
        "on the same connection"
    );
    drop(shared);
}

/// A body that nobody has read must not become the next request: what stands in front may send
/// other visitors' requests on the same connection.
#[test]
fn an_unread_body_ends_the_connection() {
    let relay = Relay::start();
    let (_shared, seen) = invisible(&relay, "shop");
    let lines = "Content-Length: 60\r\n";
    for (method, path) in [
        ("GET", "/.postern/auth?code=wrong"),
        ("GET", "/.postern/auth?code=correct%20horse"),
        ("GET", "/.postern/auth"),
        ("GET", "/"),
        ("POST", "/"),
        ("DELETE", "/.postern/auth"),
    ] {
        let mut client = relay.connect();
        client.send(relay.request(method, "shop", path, lines).as_bytes());
        client.send(relay.request("GET", "shop", "/smuggled", "").as_bytes());
        let answer = client.answer(false).unwrap();
        assert_eq!(
            answer.header("connection"),
            Some("close"),
            "{method} {path}"
        );
        assert!(client.is_closed(), "{method} {path}");
    }
    let large = "x".repeat(17_000);
    assert_eq!(post(&relay, "shop", &large, "").status, 413);
    assert!(seen.lock().unwrap().is_empty());
}

#[test]
fn an_identity_header_passes_from_a_trusted_proxy_that_is_named_for_it_alone() {
    let lines = "Remote-User: eve\r\nRemote_User: eve\r\nRemote-Groups: admins\r\nX-WEBAUTH-USER: eve\r\n\
        X-Postern-Link: 7\r\nX-Auth-Token: mine\r\n";
    let got = |trusted: &[&str]| {
        let relay = Relay::start_with(Limits::default(), |config| {
            config.trust_proxy = trusted.iter().map(|net| net.parse().unwrap()).collect();
            config.pass_headers = vec!["remote-user".into()];
        });
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&heads);
        let port = application(move |mut stream| {
            let head = read_request(&mut stream, &mut Vec::new()).unwrap_or_default();
            noted
                .lock()
                .unwrap()
                .push(String::from_utf8_lossy(&head).into_owned());
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
        });
        let _shop = relay.share("shop", port);
        let mut visitor = relay.connect();
        visitor.send(relay.request("GET", "shop", "/", lines).as_bytes());
        visitor.answer(false).unwrap();
        let head = heads.lock().unwrap().pop().unwrap();
        [
            "Remote-User",
            "Remote_User",
            "Remote-Groups",
            "X-WEBAUTH-USER",
            "X-Postern-Link",
            "X-Auth-Token",
        ]
        .map(|name| head.contains(&format!("\r\n{name}: ")))
    };
    assert_eq!(
        got(&["127.0.0.1"]),
        [true, false, false, false, false, true]
    );
    assert_eq!(
        got(&["192.0.2.0/24"]),
        [false, false, false, false, false, true]
    );
}
