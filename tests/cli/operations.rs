//! Commands that look after the rest: what is there, whether it works, who was here, and what belongs to the shell.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use support::http::Client;
use support::manager::{Manager, Target};
use support::postern::{Finished, binary};
use support::relay::Relay;
use support::{Home, TIMEOUT, free_port, wait_until};

/// A script that takes the place of `systemctl` and `loginctl`: it writes down its arguments and says what it is told.
const SYSTEMCTL: &str = "#!/bin/sh\necho \"$*\" >> \"$CALLS\"\ncase \"$*\" in *is-active*) echo active;; *is-enabled*) echo enabled;; *Linger*) echo no;; esac\n";

fn json_of(said: &Finished) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

/// The words that a shell is offered, with what stands beside them.
fn offered(home: &Home, words: &[&str]) -> Vec<(String, String)> {
    let said = home.run(&[&["__complete"], words].concat());
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    let pair = |line: &str| {
        let (word, about) = line.split_once('\t').unwrap_or((line, ""));
        (word.to_owned(), about.to_owned())
    };
    said.stdout.lines().map(pair).collect()
}

#[test]
fn a_shell_is_offered_commands_values_and_names() {
    let home = Home::new();
    home.run(&["app", "add", "http", "1", "--name", "shop"]);
    let odd = home
        .run(&["app", "add", "http", "2", "--name", "the printer"])
        .stdout;
    home.run(&["server", "add", "https://127.0.0.1:1", "--label", "ours"]);
    let pair = |word: &str, about: &str| (word.to_owned(), about.to_owned());
    let apps = [pair("shop", "http"), pair(odd.trim(), "the printer")];
    assert_eq!(offered(&home, &["app", "connect", ""]), apps);
    assert_eq!(offered(&home, &["app", "connect", "sh"]), apps[..1]);
    assert_eq!(offered(&home, &["logs", "-f", ""]), apps);
    let servers = [pair("https://127.0.0.1:1", "ours")];
    assert_eq!(offered(&home, &["start", "--server", ""]), servers);
    let inline = offered(&home, &["start", "--server=https"]);
    assert_eq!(inline, [pair("--server=https://127.0.0.1:1", "ours")]);
    assert_eq!(offered(&home, &["man", ""]), [pair(":directory", "")]);
    assert!(offered(&home, &["docs", "rel"]).contains(&pair("relay", "A relay of your own")));
    let first: Vec<String> = offered(&home, &[""])
        .into_iter()
        .map(|(word, _)| word)
        .collect();
    for word in ["start", "mariadb", "app", "server", "doctor", "completions"] {
        assert!(first.contains(&word.to_owned()), "{first:?}");
    }
}

/// In a bash of its own, as it is sourced in ~/.bashrc.
#[test]
fn bash_completes() {
    let home = Home::new();
    home.run(&["app", "add", "http", "1", "--name", "shop"]);
    let script = r#"
        source <("$POSTERN" completions bash)
        try() { COMP_LINE=$1; COMP_POINT=${#1}; COMPREPLY=(); _postern 2>/dev/null; echo "${COMPREPLY[*]}"; }
        try "$POSTERN app conn"; try "$POSTERN app connect "; try "$POSTERN mysql --tls=verify"
        try "$POSTERN tunnel-server --authfile /etc/passw"
    "#;
    let output = Command::new("bash")
        .args(["--norc", "-c", script])
        .env("POSTERN", binary())
        .env("POSTERN_HOME", home.path())
        .output()
        .expect("bash is there");
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[..3],
        ["connect", "shop", "verify-ca verify"],
        "{said}"
    );
    assert!(
        lines[3].split(' ').any(|file| file == "/etc/passwd"),
        "{said}"
    );
}

#[test]
fn each_shell_has_a_script_and_others_are_refused() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let said = home.run(&["completions", shell]);
        assert!(
            said.code == Some(0) && said.stdout.contains("__complete"),
            "{said:?}"
        );
        // Where the shell is there, it takes the script as one of its own.
        let Ok(mut child) = Command::new(shell)
            .arg("-n")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
        else {
            continue;
        };
        use std::io::Write;
        child
            .stdin
            .take()
            .unwrap()
            .write_all(said.stdout.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{shell}: {output:?}"
        );
    }
    assert_eq!(home.run(&["completions", "tcsh"]).code, Some(2));
}

#[test]
fn a_manual_page_for_each_command() {
    let home = Home::new();
    let dir = home.path().join("man1");
    let written = home.run(&["man", dir.to_str().unwrap()]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let names: Vec<String> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for name in ["postern.1", "postern-app-add.1", "postern-tunnel-server.1"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    let page = fs::read_to_string(dir.join("postern-relay.1")).unwrap();
    for part in [
        ".SH NAME",
        ".SH OPTIONS",
        ".SH ENVIRONMENT",
        "\\fB\\-\\-listen HOST:PORT\\fR",
        "postern relay list",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(home.run(&["man", "/proc/nowhere"]).code, Some(1));
}

#[test]
fn the_version_is_one_line_and_more_where_it_is_asked_for() {
    let home = Home::new();
    let line = format!("postern {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(home.run(&["--version"]).stdout, line);
    let more = home.run(&["version"]).stdout;
    assert!(
        more.starts_with(&line) && more.lines().count() == 2,
        "{more}"
    );
    assert_eq!(
        json_of(&home.run(&["version", "--json"]))["tunnel_protocol"],
        "chisel-v3"
    );
}

#[test]
fn the_manual_is_text_and_on_the_managers_page() {
    let home = Arc::new(Home::new());
    let list = home.run(&["docs"]).stdout;
    let topics: Vec<&str> = list
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(
        topics.len() > 5 && topics.contains(&"troubleshooting"),
        "{list}"
    );
    let manager = Manager::start_in(&home, &[]);
    for topic in topics {
        let page = home.run(&["docs", topic]).stdout;
        assert!(page.lines().count() > 3, "{page}");
        assert!(!page.contains("</"), "{page}");
        assert!(
            page.lines()
                .all(|line| line.starts_with(' ') || line.chars().count() <= 80),
            "{page}"
        );
        let served = manager.client().get(&format!("/docs/{topic}"));
        assert!(
            served.status() == 200 && served.text().contains("<h1>"),
            "{topic}"
        );
    }
    assert!(
        manager
            .client()
            .get("/docs")
            .text()
            .contains("/docs/troubleshooting")
    );
    assert_eq!(manager.client().get("/docs/nothing").status(), 404);
    let with_slash = manager.client().get("/docs/");
    assert_eq!(
        (with_slash.status(), with_slash.header("location")),
        (308, Some("/docs"))
    );
    let outside = manager.client().get("/docs/..%2fmanage%2findex");
    assert!(
        matches!(outside.status(), 400 | 404),
        "{}",
        outside.status()
    );
    let unknown = home.run(&["docs", "trubleshooting"]);
    assert!(
        unknown.stderr.contains("did you mean 'troubleshooting'?"),
        "{unknown:?}"
    );
}

#[test]
fn the_status_says_what_is_in_force_without_codes() {
    let relay = Relay::start(&[]);
    let home = Arc::new(Home::new());
    home.run(&["app", "add", "http", "1", "--name", "dead", "--invisible"]);
    let idle = home.run(&["status"]);
    assert_eq!(idle.code, Some(1), "{idle:?}");
    assert!(
        idle.stdout.contains("dead\tidle\twill be invisible\t"),
        "{idle:?}"
    );
    let off = home.run(&["status", "--json"]);
    assert_eq!(
        (off.code, &json_of(&off)["running"]),
        (Some(1), &json!(false))
    );
    let manager = Manager::start_in(&home, &["--server", &relay.url()]);
    let connected = home.run(&["app", "connect", "dead"]);
    let code = connected
        .stdout
        .split("code=")
        .nth(1)
        .expect("an address with a code")
        .trim()
        .to_owned();
    let said = home.run(&["status"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    let url = manager.url();
    assert!(
        said.stdout
            .starts_with(&format!("Manager: {url}/ (process {})\n", manager.pid())),
        "{said:?}"
    );
    assert!(
        said.stdout.contains("\ndead\tconnected\tinvisible\t"),
        "{said:?}"
    );
    assert!(
        said.stdout
            .contains("dead: 127.0.0.1:1 refuses connections\n"),
        "{said:?}"
    );
    let json = home.run(&["status", "--json"]);
    let shown = json_of(&json);
    assert_eq!(
        (&shown["running"], &shown["pid"]),
        (&json!(true), &json!(manager.pid()))
    );
    assert_eq!(shown["servers"][0]["status"], "connected", "{shown}");
    assert_eq!(
        shown["applications"][0]["connection"]["exposed"]["invisible"], true,
        "{shown}"
    );
    for text in [&said.stdout, &json.stdout] {
        assert!(!text.contains(&code), "{text}");
    }
}

#[test]
fn the_log_of_an_application_says_who_was_here() {
    let relay = Relay::start(&[]);
    let target = Target::start();
    let manager = Manager::start(&["--server", &relay.url()]);
    let home = manager.home();
    let mut app = target.app();
    app["name"] = json!("shop");
    let id = manager.add(&app);
    let nobody = home.run(&["logs", "shop"]);
    assert!(
        nobody.code == Some(0) && nobody.stdout.starts_with("shop: it is not connected"),
        "{nobody:?}"
    );
    manager.connect(&id);
    let site = manager.connected(&id)["site_url"]
        .as_str()
        .unwrap()
        .to_owned();
    let name = site
        .trim_start_matches("http://")
        .split('.')
        .next()
        .unwrap()
        .to_owned();
    relay.visit(&name, "/a?secret=planted");
    wait_until(TIMEOUT, "the request in the log", || {
        home.run(&["logs", "shop"]).stdout.contains("\tGET\t/a\n")
    });
    let said = home.run(&["logs"]);
    assert!(
        said.stdout.contains("\tshop\t") && !said.stdout.contains("planted"),
        "{said:?}"
    );
    let line = home.run(&["logs", "shop", "--json"]).stdout;
    let entry: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&entry["app"], &entry["path"]),
        (&json!("shop"), &json!("/a"))
    );
    let unknown = home.run(&["logs", "shap"]);
    assert!(
        unknown.code == Some(1) && unknown.stderr.contains("'shap'"),
        "{unknown:?}"
    );
    assert_eq!(Home::new().run(&["logs"]).code, Some(1));
}

/// Every file below a directory, with its content.
fn files_below(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files_below(&path));
        } else {
            all.insert(
                path.to_string_lossy().into_owned(),
                fs::read(&path).unwrap(),
            );
        }
    }
    all
}

#[test]
fn the_doctor_names_what_is_wrong_and_changes_nothing() {
    let relay = Relay::start(&[]);
    let target = Target::start();
    let home = Home::new();
    let dead = free_port().to_string();
    home.run(&[
        "app",
        "add",
        "http",
        &target.port().to_string(),
        "--name",
        "alive",
    ]);
    home.run(&["app", "add", "tcp", &dead, "--name", "gone"]);
    home.run(&["server", "add", &relay.url(), "--default"]);
    let before = files_below(home.path());
    let said = home.run(&["doctor"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    let port = target.port();
    for line in [
        format!("ok     application: alive: 127.0.0.1:{port} answers\n"),
        format!("WRONG  application: gone: 127.0.0.1:{dead} refuses connections\n"),
        format!("ok     quick-setup: {} takes calls\n", relay.url()),
        "ok     sealed files: open; applications: 2,".to_owned(),
    ] {
        assert!(said.stdout.contains(&line), "{line}: {}", said.stdout);
    }
    assert_eq!(home.run(&["doctor", "--strict"]).code, Some(1));
    let found = json_of(&home.run(&["doctor", "--json"]));
    let of_check = |check: &str| {
        found
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["check"] == check)
            .count()
    };
    assert_eq!(
        (of_check("application"), of_check("clock")),
        (2, 1),
        "{found}"
    );
    assert_eq!(files_below(home.path()), before);
    // An unreadable file stays where it is: another command sets it aside.
    fs::write(home.path().join(".apps"), "damaged").unwrap();
    let before = files_below(home.path());
    let said = home.run(&["doctor"]);
    assert!(said.stdout.contains("WRONG  sealed files: "), "{said:?}");
    assert_eq!(files_below(home.path()), before);
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let said = home.run(&["doctor"]);
    assert!(
        said.stdout.contains("other users can write in it"),
        "{said:?}"
    );
}

#[test]
fn a_server_that_is_not_there_is_told_step_by_step() {
    let home = Home::new();
    let nobody = format!("http://127.0.0.1:{}", free_port());
    home.run(&["server", "add", &nobody]);
    let said = home.run(&["doctor"]).stdout;
    assert!(
        said.contains("ok     DNS: 127.0.0.1 is 127.0.0.1\n"),
        "{said}"
    );
    assert!(
        said.contains(&format!("WRONG  connection: {nobody}: ")),
        "{said}"
    );
    assert!(!said.contains("quick-setup"), "{said}");
    // A web server that is no relay.
    let target = Target::start();
    let home = Home::new();
    home.run(&[
        "server",
        "add",
        &format!("http://127.0.0.1:{}", target.port()),
    ]);
    let said = home.run(&["doctor"]).stdout;
    assert!(said.contains("WRONG  quick-setup: "), "{said}");
}

#[test]
fn servers_are_kept_with_and_without_a_running_start() {
    let home = Arc::new(Home::new());
    let run = |args: &[&str]| home.run(&[&["server"], args].concat());
    for is_running in [false, true] {
        let _manager = is_running.then(|| Manager::start_in(&home, &[]));
        let mut add = home.command(&["server", "add", "http://127.0.0.1:1", "--label", "one"]);
        let added = add
            .env("POSTERN_ENROLL_TOKEN", "planted-token-0123")
            .output()
            .unwrap();
        // Nobody is there, which is said; whoever starts it later need not add it again.
        assert_eq!(added.status.code(), Some(3), "{added:?}");
        let second = run(&["add", "http://127.0.0.1:2", "--default"]);
        assert!(
            second.code == Some(3)
                && second
                    .stderr
                    .contains("http://127.0.0.1:2 is kept, but not reached: connection refused"),
            "{second:?}"
        );
        let all = json_of(&run(&["list", "--json"]));
        let of = |url: &str| {
            let mut all = all.as_array().unwrap().iter();
            all.find(|server| server["url"] == url)
                .unwrap_or_else(|| panic!("{all:?}"))
                .clone()
        };
        let (one, two) = (of("http://127.0.0.1:1"), of("http://127.0.0.1:2"));
        assert_eq!(
            (&one["label"], &one["has_enroll_token"], &one["default"]),
            (&json!("one"), &json!(true), &json!(false))
        );
        assert_eq!(
            (&two["has_enroll_token"], &two["default"]),
            (&json!(false), &json!(true))
        );
        assert!(!all.to_string().contains("planted"), "{all}");
        assert_eq!(run(&["default", "http://127.0.0.1:1"]).code, Some(0));
        let listed = run(&["list"]).stdout;
        assert!(listed.contains("default\thttp://127.0.0.1:1\t"), "{listed}");
        for url in ["http://127.0.0.1:1", "http://127.0.0.1:2"] {
            assert_eq!(run(&["remove", url]).code, Some(0));
        }
        let again = run(&["remove", "http://127.0.0.1:2"]);
        assert!(
            again.code == Some(1) && again.stderr.contains("is not in the list"),
            "{again:?}"
        );
        assert_eq!(run(&["add", "relay"]).code, Some(2));
    }
}

/// A token that lets nobody in was found out with the first share.
#[test]
fn a_server_that_would_not_let_this_machine_in_is_not_added() {
    let relay = Relay::start(&["--public-url=https://localhost"]);
    let (url, token) = (relay.url(), relay.enrol_token());
    let home = Arc::new(Home::new());
    for is_running in [false, true] {
        let _manager = is_running.then(|| Manager::start_in(&home, &[]));
        let add = |token: &str| {
            let mut add = home.command(&["server", "add", &url]);
            let done = add.env("POSTERN_ENROLL_TOKEN", token).output().unwrap();
            let said = String::from_utf8(done.stderr).unwrap();
            (done.status.code(), said)
        };
        let known = || json_of(&home.run(&["server", "list", "--json"])).to_string();
        let (code, said) = add("wrong");
        assert_eq!(code, Some(4), "{said}");
        assert!(
            said.contains("the enrol token is wrong") && said.contains("nothing was kept"),
            "{said}"
        );
        assert!(!known().contains(&url));
        assert_eq!(add(&token), (Some(0), String::new()));
        assert!(known().contains(&url) && !known().contains(&token));
        assert_eq!(home.run(&["server", "remove", &url]).code, Some(0));
    }
    assert_eq!(
        relay.status()["connectors"],
        json!([]),
        "nobody is enrolled"
    );
}

/// A `postern service …` whose `systemctl` is [`SYSTEMCTL`].
struct Systemd {
    home: Home,
}

impl Systemd {
    fn new() -> Systemd {
        let home = Home::new();
        let bin = home.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for name in ["systemctl", "loginctl"] {
            fs::write(bin.join(name), SYSTEMCTL).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Systemd { home }
    }

    fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Finished {
        let mut command = self.home.command(&[&["service"], args].concat());
        let path = format!("{}:/usr/bin:/bin", self.home.path().join("bin").display());
        command
            .env("PATH", path)
            .env("CALLS", self.home.path().join("calls"));
        command.env("XDG_CONFIG_HOME", self.home.path().join("config"));
        for name in [
            "SSL_CERT_FILE",
            "HTTPS_PROXY",
            "NO_PROXY",
            "POSTERN_SERVER",
            "POSTERN_ENROLL_TOKEN",
        ] {
            command.env_remove(name);
        }
        command.envs(env.iter().copied());
        let output = command.output().unwrap();
        Finished {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.home.path().join("config/systemd/user").join(name)
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.home.path().join("calls")).unwrap_or_default();
        fs::remove_file(self.home.path().join("calls")).ok();
        calls.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_service_is_installed_shown_and_removed() {
    let systemd = Systemd::new();
    assert_eq!(systemd.run(&["status"], &[]).code, Some(1));
    let token = [("POSTERN_ENROLL_TOKEN", "planted-\"token$-0123")];
    let line = [
        "install",
        "start",
        "--",
        "9000",
        "--server",
        "https://127.0.0.1:1",
    ];
    let installed = systemd.run(&line, &token);
    assert_eq!(
        (installed.code, installed.stderr.as_str()),
        (Some(0), ""),
        "{installed:?}"
    );
    assert!(
        installed.stdout.contains("loginctl enable-linger"),
        "{installed:?}"
    );
    let unit = fs::read_to_string(systemd.file("postern.service")).unwrap();
    assert!(
        unit.contains(" start 9000 --no-open --server=https://127.0.0.1:1\n"),
        "{unit}"
    );
    let variables = systemd.file("postern.env");
    assert!(
        unit.contains(&format!("\nEnvironmentFile=-{}\n", variables.display())),
        "{unit}"
    );
    assert!(
        !unit.contains("planted") && !installed.stdout.contains("planted"),
        "{unit}"
    );
    assert_eq!(
        fs::metadata(&variables).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let kept = fs::read_to_string(&variables).unwrap();
    assert!(
        kept.contains("POSTERN_ENROLL_TOKEN=\"planted-\\\"token\\$-0123\"\n"),
        "{kept}"
    );
    assert!(
        kept.contains(&format!(
            "POSTERN_HOME=\"{}\"\n",
            systemd.home.path().display()
        )),
        "{kept}"
    );
    let calls = systemd.calls();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    assert_eq!(
        calls[..3],
        [
            "--user daemon-reload",
            "--user enable --quiet postern.service",
            "--user restart postern.service"
        ]
    );
    let status = systemd.run(&["status"], &[]);
    assert!(
        status.code == Some(0) && status.stdout.contains("enabled, active"),
        "{status:?}"
    );
    // By option it stands in the file too, never in the unit.
    let by_option = systemd.run(
        &["install", "--", "--enroll-token", "another-planted-0123"],
        &[],
    );
    assert_eq!(by_option.code, Some(0), "{by_option:?}");
    assert!(
        !fs::read_to_string(systemd.file("postern.service"))
            .unwrap()
            .contains("planted")
    );
    assert!(
        fs::read_to_string(&variables)
            .unwrap()
            .contains("another-planted-0123")
    );
    systemd.calls();
    assert_eq!(systemd.run(&["remove"], &[]).code, Some(0));
    assert_eq!(
        systemd.calls()[0],
        "--user disable --quiet --now postern.service"
    );
    assert!(!systemd.file("postern.service").exists() && !variables.exists());
    assert_eq!(
        systemd
            .run(&["install", "relay", "--", "--domain", "x.localhost"], &[])
            .code,
        Some(0)
    );
    assert!(
        fs::read_to_string(systemd.file("postern-relay.service"))
            .unwrap()
            .contains(" relay --domain=x.localhost\n")
    );
}

#[test]
fn a_unit_of_the_users_own_is_left_as_it_is() {
    let systemd = Systemd::new();
    let unit = systemd.file("postern.service");
    fs::create_dir_all(unit.parent().unwrap()).unwrap();
    for text in ["[Service]\nExecStart=/bin/true\n", ""] {
        fs::write(&unit, text).unwrap();
        for word in ["install", "remove"] {
            let refused = systemd.run(&[word], &[]);
            assert!(
                refused.code == Some(1)
                    && refused.stderr.contains("was not written by this command"),
                "{refused:?}"
            );
            assert_eq!(fs::read_to_string(&unit).unwrap(), text);
        }
    }
    fs::remove_file(&unit).unwrap();
    assert_eq!(systemd.run(&["install"], &[]).code, Some(0));
    let changed = fs::read_to_string(&unit).unwrap() + "# mine\n";
    fs::write(&unit, &changed).unwrap();
    assert_eq!(systemd.run(&["install"], &[]).code, Some(1));
    assert_eq!(fs::read_to_string(&unit).unwrap(), changed);
    assert_eq!(
        systemd.run(&["install", "--", "--nothing"], &[]).code,
        Some(2)
    );
    assert_eq!(systemd.run(&["install", "other"], &[]).code, Some(2));
    // A service beside a start of the user's own could not run.
    let manager = Manager::start(&[]);
    let home = manager.home();
    let mut command = home.command(&["service", "install"]);
    command.env("XDG_CONFIG_HOME", home.path().join("config"));
    let refused = command.output().unwrap();
    assert!(
        String::from_utf8(refused.stderr)
            .unwrap()
            .contains("runs already")
    );
}

/// `start` without `-v`, as people run it, until it has said `line`; what it said.
fn started(home: &Home, args: &[&str], line: &str) -> (String, String) {
    let mut process = support::kill_on_drop::KillOnDrop::new(binary())
        .args(["start", "0", "--no-open"])
        .args(args);
    for (name, value) in support::manager::environment(home.path()) {
        process = process.env(name, value);
    }
    let mut process = process.start();
    wait_until(TIMEOUT, line, || {
        process.stdout.text().contains(line)
            || process.stderr.text().contains(line)
            || process.ended().is_some()
    });
    process.terminate();
    process.drained();
    (process.stdout.text(), process.stderr.text())
}

#[test]
fn start_says_where_it_goes_and_its_log_names_applications() {
    let relay = Relay::start(&[]);
    let home = Arc::new(Home::new());
    let url = relay.url();
    let (said, _) = started(&home, &["--server", &url], "Ctrl-C");
    assert!(
        said.contains(&format!(
            "\nRelay: {url}, asked with the first connect\nApplications: 0\n"
        )),
        "{said}"
    );
    let added = home.run(&[
        "app",
        "add",
        "http",
        "1",
        "--name",
        "the shop",
        "--autoconnect",
    ]);
    let id = added.stdout.trim();
    let (said, log) = started(&home, &["--server", &url], "'the shop': connected");
    assert!(
        said.contains("\nApplications: 1, of which 1 are connected now\n"),
        "{said}"
    );
    assert!(
        log.contains(" WARN  application 'the shop': 127.0.0.1:1 refuses connections\n"),
        "{log}"
    );
    assert!(!log.contains(id) && !log.contains("postern::"), "{log}");
    let (said, _) = started(
        &home,
        &["--server", &url],
        &format!("Relay: {url} is reached\n"),
    );
    assert!(
        said.contains(&format!("Relay: {url} is reached\n")),
        "{said}"
    );
    let (_, log) = started(
        &home,
        &["--server", &url, "--log-format", "json"],
        "'the shop': connected",
    );
    for line in log.lines() {
        let event: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(
            event["time"].is_string() && event["level"].is_string() && event["message"].is_string()
        );
    }
    let (said, log) = started(&home, &["--server", &url, "-q"], "Management page");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!log.contains("INFO"), "{log}");
    drop(relay);
    let (said, _) = started(&home, &["--server", &url], "is not reached");
    assert!(
        said.contains(&format!(
            "Relay: {url} is not reached, and is tried again: "
        )),
        "{said}"
    );
}

#[test]
fn without_a_server_start_says_that_it_is_for_this_machine_alone() {
    let home = Home::new();
    let (said, _) = started(&home, &[], "Ctrl-C");
    assert!(
        said.contains(
            "\nRelay: in this process, for this machine alone\nSites: http://NAME.localhost:"
        ),
        "{said}"
    );
}

#[test]
fn a_second_start_says_where_the_first_is() {
    let manager = Manager::start(&[]);
    let second = manager.home().run(&["start", "0", "--no-open"]);
    assert_eq!(second.code, Some(1));
    assert!(
        second
            .stderr
            .contains(&format!("its page is at {}/", manager.url())),
        "{second:?}"
    );
    assert_eq!(
        Client::new(manager.authority())
            .get("/api/version")
            .status(),
        200
    );
}
