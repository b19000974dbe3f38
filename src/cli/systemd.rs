//! Unit files for systemd, printed for the operator to install.

use std::fmt::Write as _;
use std::time::Duration;

use super::args::command::{Command, Flag, Parsed};

/// Seconds for the end, after running requests have finished.
const STOP_SECONDS: u64 = 5;

/// The systemd instance that runs the service.
pub(super) enum UnitScope {
    /// The system, as a user that exists only while it runs.
    System {
        /// The service's own directory below `/var/lib`.
        state: &'static str,
    },
    /// The user's own manager.
    User,
}

/// Values of a unit.
pub(super) struct Unit<'a> {
    pub(super) description: &'a str,
    pub(super) scope: UnitScope,
    /// The program and its arguments. `%S` means the parent of the state directory.
    pub(super) command: Vec<String>,
    /// A private file with variables.
    pub(super) environment_file: Option<&'a str>,
    /// Time for running requests at the end.
    pub(super) drain: Duration,
    /// True if it depends on something else and is restarted until that is available.
    pub(super) waits: bool,
    /// Advice on installing it: comment lines without their mark.
    pub(super) how: &'a [&'a str],
}

/// Hardening for both kinds. None of it needs privileges.
const HARDENING: &str = "\
NoNewPrivileges=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
UMask=0077
";
/// Hardening that only the system's manager can apply.
const SYSTEM_HARDENING: &str = "\
DynamicUser=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
AmbientCapabilities=CAP_NET_BIND_SERVICE
";
/// Directories that `ProtectHome` and `PrivateTmp` hide.
const HIDDEN: [&str; 5] = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"];

impl Unit<'_> {
    /// The file's text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for line in self.how {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# {line}");
        }
        if self.is_out_of_sight() {
            text.push_str("# ExecStart: the service cannot see this path. Move the program, e.g. to /usr/local/bin.\n");
        }
        let command: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        let environment = self.environment_file.map(escaped);
        let environment =
            environment.map_or(String::new(), |file| format!("EnvironmentFile=-{file}\n"));
        let _ = write!(
            text,
            "[Unit]\nDescription={}\nWants=network-online.target\nAfter=network-online.target\n{}\n\
             [Service]\nExecStart={}\n{environment}Restart=on-failure\nRestartSec=2\nTimeoutStopSec={}\n\
             LimitNOFILE=65536\nMemoryMax=512M\nTasksMax=40960\n{HARDENING}",
            self.description,
            if self.waits {
                "StartLimitIntervalSec=0\n"
            } else {
                ""
            },
            command.join(" "),
            STOP_SECONDS + self.drain.as_secs(),
        );
        let target = match self.scope {
            UnitScope::System { state } => {
                let _ = write!(
                    text,
                    "{SYSTEM_HARDENING}StateDirectory={state}\nStateDirectoryMode=0700\n"
                );
                "multi-user.target"
            }
            UnitScope::User => "default.target",
        };
        let _ = write!(text, "\n[Install]\nWantedBy={target}\n");
        text
    }

    /// True if the hardening hides the program from its own service.
    fn is_out_of_sight(&self) -> bool {
        let program = self.command.first().map_or("", String::as_str);
        matches!(self.scope, UnitScope::System { .. })
            && HIDDEN.iter().any(|place| program.starts_with(place))
    }
}

/// The command line of a unit: this program (its name if the path is unknown), the command, and its flags in `parsed`
/// without `except`.
pub(super) fn command_line(command: &Command, parsed: &Parsed, except: &[Flag]) -> Vec<String> {
    let path = std::env::current_exe().ok();
    let path = path.and_then(|path| path.into_os_string().into_string().ok());
    let program = path.map_or_else(|| "postern".to_owned(), |path| escaped(&path));
    let mut line = vec![program, command.name.to_owned()];
    let is_left_out = |flag: &&Flag| except.iter().any(|other| other.long == flag.long);
    for flag in command.flags.iter().filter(|flag| !is_left_out(flag)) {
        let values = parsed.values(flag);
        match flag.value {
            "" if parsed.has(flag) => line.push(format!("--{}", flag.long)),
            "" => {}
            _ => line.extend(
                values
                    .iter()
                    .map(|value| format!("--{}={}", flag.long, escaped(value))),
            ),
        }
    }
    line
}

/// Escapes `%` and `$`, which systemd would replace.
pub(super) fn escaped(word: &str) -> String {
    word.replace('%', "%%").replace('$', "$$")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=%$@,+[]{}".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let inner = word.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{inner}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_arrive_as_they_are() {
        assert_eq!(quoted("/usr/bin/postern"), "/usr/bin/postern");
        assert_eq!(quoted("%S/postern-relay"), "%S/postern-relay");
        assert_eq!(quoted("a b\"c\\"), "\"a b\\\"c\\\\\"");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(escaped("50%$x"), "50%%$$x");
    }

    #[test]
    fn a_system_unit_keeps_its_state_and_is_confined() {
        let unit = Unit {
            description: "d",
            scope: UnitScope::System { state: "s" },
            command: vec!["postern".into(), "relay".into()],
            environment_file: None,
            drain: Duration::from_secs(30),
            waits: true,
            how: &["first"],
        };
        let text = unit.text();
        assert!(text.starts_with("# first\n[Unit]\n"));
        assert!(text.contains("\nStartLimitIntervalSec=0\n\n[Service]\n"));
        assert!(
            text.contains("\nTimeoutStopSec=35\n"),
            "what runs is not cut off"
        );
        let at_home = Unit {
            command: vec!["/home/me/postern".into()],
            ..unit
        };
        assert!(
            at_home
                .text()
                .contains("\n# ExecStart: the service cannot see")
        );
        for line in [
            "ExecStart=postern relay",
            "DynamicUser=yes",
            "ProtectSystem=strict",
            "NoNewPrivileges=yes",
            "MemoryMax=512M",
            "StateDirectory=s",
            "WantedBy=multi-user.target",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}");
        }
    }
}
