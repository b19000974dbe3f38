//! `postern service`, with a `systemctl` that is a script.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use support::Home;
use support::manager::Manager;
use support::postern::Finished;

/// A script that takes the place of `systemctl` and `loginctl`: it writes down its arguments and says what it is told.
const SYSTEMCTL: &str = "#!/bin/sh\necho \"$*\" >> \"$CALLS\"\ncase \"$*\" in *is-active*) echo active;; *is-enabled*) echo enabled;; *Linger*) echo no;; esac\n";

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
            "HTTP_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
            "POSTERN_SERVER",
            "POSTERN_ENROLL_TOKEN",
        ] {
            command.env_remove(name).env_remove(name.to_lowercase());
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

/// A service does not see the shell's variables: in a network with a proxy it connected to nothing.
#[test]
fn the_variables_of_proxies_are_kept_for_the_service() {
    let systemd = Systemd::new();
    let variables = [
        ("HTTP_PROXY", "http://me:planted%20$@proxy.test:3128"),
        ("https_proxy", "http://me:planted@proxy.test:3128"),
        ("ALL_PROXY", "socks5h://proxy.test"),
        ("no_proxy", "*.intern.test"),
        ("SSL_CERT_FILE", "/etc/office.pem"),
    ];
    let installed = systemd.run(&["install"], &variables);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    let kept = fs::read_to_string(systemd.file("postern.env")).unwrap();
    for (name, value) in variables {
        let line = format!("\n{name}=\"{}\"\n", value.replace('$', "\\$"));
        assert!(kept.contains(&line), "{line}{kept}");
        assert!(installed.stdout.contains(name), "{installed:?}");
    }
    let unit = fs::read_to_string(systemd.file("postern.service")).unwrap();
    assert!(
        !unit.contains("planted") && !installed.stdout.contains("planted"),
        "{unit}"
    );
    let mode = |name| systemd.file(name).metadata().unwrap().permissions().mode();
    assert_eq!(mode("postern.env") & 0o777, 0o600);
    // A relay goes through none.
    let installed = systemd.run(&["install", "relay"], &variables);
    assert!(!installed.stdout.contains("_PROXY"), "{installed:?}");
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
            .contains("is already running")
    );
}
