//! Real frameworks as the application, which compare the names and schemes that they hear: Django, and PHP with Symfony's
//! requests. Visitors come by `https`, the applications speak `http`.

use std::path::Path;

use serde_json::json;
use support::kill_on_drop::{KillOnDrop, Leashed};
use support::{TIMEOUT, free_port, wait_until};

use super::{Way, ask};

/// Believes every forwarding line, as behind a proxy, and knows its own address and one name alone.
const DJANGO: &str = r#"
import sys
from django.conf import settings
settings.configure(
    DEBUG=True, SECRET_KEY="a key for tests", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1", "wiki.lan"],
    USE_X_FORWARDED_HOST=True, SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"),
    SECURE_SSL_REDIRECT="https" in sys.argv,
    MIDDLEWARE=["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware",
                "django.middleware.csrf.CsrfViewMiddleware"],
)
from django.http import HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.urls import path
def page(request):
    return HttpResponse("%s token=%s=" % (request.build_absolute_uri("/"), get_token(request)))
def form(request):
    return HttpResponse("posted from " + request.META.get("HTTP_X_REAL_IP", ""))
def away(request):
    return HttpResponseRedirect(request.build_absolute_uri("/page"))
urlpatterns = [path("", page), path("form", form), path("away", away)]
from django.core.management import execute_from_command_line
execute_from_command_line(["app", "runserver", "--noreload", "127.0.0.1:" + sys.argv[1]])
"#;

const PHP: &str = r#"<?php
require 'Symfony/Component/HttpFoundation/autoload.php';
use Symfony\Component\HttpFoundation\Request;
Request::setTrustedHosts(['^127\.0\.0\.1$', '^wiki\.lan$']);
Request::setTrustedProxies(['127.0.0.1'], Request::HEADER_X_FORWARDED_FOR | Request::HEADER_X_FORWARDED_HOST
    | Request::HEADER_X_FORWARDED_PORT | Request::HEADER_X_FORWARDED_PROTO);
$request = Request::createFromGlobals();
try {
    $own = $request->getSchemeAndHttpHost();
} catch (\Exception $error) {
    http_response_code(400);
    exit($error->getMessage());
}
switch ($request->getPathInfo()) {
    case '/form':
        http_response_code($request->headers->get('origin') === $own ? 200 : 403);
        exit('posted from ' . $request->headers->get('x-real-ip'));
    case '/away':
        header("Location: $own/page", true, 302);
        exit;
}
echo "$own/ token==";
"#;

struct Framework {
    port: u16,
    process: Leashed,
}

impl Framework {
    fn start(
        file: &str,
        text: &str,
        program: &str,
        args: impl Fn(&Path, u16) -> Vec<String>,
    ) -> Framework {
        let (dir, port) = (tempfile::tempdir().unwrap(), free_port());
        let file = dir.path().join(file);
        std::fs::write(&file, text).unwrap();
        let process = KillOnDrop::new(program)
            .args(args(&file, port))
            .owning(dir)
            .start();
        let listens = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        wait_until(TIMEOUT, program, listens);
        Framework { port, process }
    }

    /// Debian's own Python has Debian's Django.
    fn django(more: &str) -> Framework {
        Framework::start("app.py", DJANGO, "/usr/bin/python3", |file, port| {
            vec![
                file.display().to_string(),
                port.to_string(),
                more.to_owned(),
            ]
        })
    }

    fn php() -> Framework {
        Framework::start("app.php", PHP, "php", |file, port| {
            let path = "include_path=.:/usr/share/php".to_owned();
            let listen = format!("127.0.0.1:{port}");
            vec![
                "-d".into(),
                path,
                "-S".into(),
                listen,
                file.display().to_string(),
            ]
        })
    }
}

impl Drop for Framework {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("it said:\n{}", self.process.stderr.text());
        }
    }
}

/// Asks as a browser does that is at `https://SITE.localhost`.
#[track_caller]
fn browse(way: &Way, (method, site, path): (&str, &str, &str), lines: &str, body: &str) -> String {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {site}.localhost\r\nX-Forwarded-For: 192.0.2.7\r\n\
         X-Forwarded-Proto: https\r\nConnection: close\r\n{lines}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    ask(way.relay.address, &request)
}

/// A page, its form and a redirect.
#[track_caller]
fn works(way: &Way, site: &str, own: &str) {
    let page = browse(way, ("GET", site, "/"), "", "");
    assert!(page.contains(&format!("\r\n{own}/ token=")), "{page}");
    let between = |begin: &str, end: char| {
        let rest = page.split_once(begin).map_or("", |(_, rest)| rest);
        rest.split(end).next().unwrap_or_default()
    };
    let (token, cookie) = (between(" token=", '='), between("Set-Cookie: ", ';'));
    let lines = format!(
        "Origin: https://{site}.localhost\r\nReferer: https://{site}.localhost/\r\nCookie: {cookie}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n"
    );
    let form = format!("csrfmiddlewaretoken={token}");
    let answer = browse(way, ("POST", site, "/form"), &lines, &form);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("posted from 192.0.2.7"), "{answer}");
    let away = browse(way, ("GET", site, "/away"), "", "");
    let location = format!("\r\nLocation: https://{site}.localhost/page\r\n");
    assert!(away.contains(&location), "{away}");
}

#[test]
fn pages_forms_and_redirects_work_under_every_name_that_they_know() {
    let way = Way::by_https();
    for (name, app) in [("django", Framework::django("")), ("php", Framework::php())] {
        let port = app.port;
        let target = format!("http://127.0.0.1:{port}");
        for (at, header, own) in [
            (0, "target", target.as_str()),
            (1, "wiki.lan", "http://wiki.lan"),
            (2, "https://wiki.lan", "https://wiki.lan"),
        ] {
            let site = format!("{name}-{at}");
            let (_, result) = way.connected(
                &json!({"protocol": "http", "port": port, "name": site, "host_header": header}),
            );
            assert_eq!(result["health"]["state"], "ok", "{result}");
            works(&way, &site, own);
        }
        for (at, header) in [(3, "visitor"), (4, "shop.lan")] {
            let site = format!("{name}-{at}");
            let (_, result) = way.connected(
                &json!({"protocol": "http", "port": port, "name": site, "host_header": header}),
            );
            assert_eq!(result["health"]["state"], "failing", "{result}");
            let page = browse(&way, ("GET", &site, "/"), "", "");
            assert!(page.starts_with("HTTP/1.1 400 "), "{page}");
        }
    }
}

#[test]
fn one_that_insists_on_https_is_told_that_visitors_come_so() {
    let (way, app) = (Way::by_https(), Framework::django("https"));
    let named = |name: &str, header: &str| {
        way.connected(
            &json!({"protocol": "http", "port": app.port, "name": name, "host_header": header}),
        )
    };
    let (_, result) = named("loop", "target");
    let error = format!("127.0.0.1:{} redirects to https in a loop", app.port);
    assert_eq!(result["health"]["error"], error);
    assert_eq!(
        result["health"]["hint"],
        "put https:// before the name in its Host header (--host https://NAME)"
    );
    let (_, result) = named("told", "https://wiki.lan");
    assert_eq!(result["health"]["state"], "ok", "{result}");
    works(&way, "told", "https://wiki.lan");
}
