//! The flags of `postern mysql`, and what they say.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use zeroize::Zeroizing;

use super::command::{Command, Flag, Parsed};
use super::failure::{Failure, quoted};
use super::prompt::{self, Credentials, Given, Stdin};
use super::share::{self, READWRITE, SERVER, SHARE, VISIBLE};
use super::target::{self, Address};
use crate::sqlweb::{Options, TlsMode};

/// The variable that may hold the database password.
pub(crate) const PASSWORD_VARIABLE: &str = "POSTERN_DB_PASS";
/// The largest `--query-timeout`, in seconds: the most that a server takes for it.
const QUERY_TIMEOUT_CAP: u64 = 31_536_000;

const USER: Flag = Flag {
    long: "db-user",
    alias: "username",
    value: "NAME",
    repeatable: false,
    help: "database user (default root)",
};
const PASSWORD: Flag = Flag {
    long: "db-pass",
    alias: "auth-pass",
    value: "PASSWORD",
    repeatable: false,
    help: "its password; other users of this machine can see it in the list of processes: \
           POSTERN_DB_PASS or the prompt is safer",
};
const DATABASE: Flag = Flag {
    long: "db-name",
    alias: "",
    value: "NAME",
    repeatable: false,
    help: "database to begin with",
};
const READONLY: Flag = Flag {
    long: "readonly",
    alias: "",
    value: "",
    repeatable: false,
    help: "refuse every statement that could write (default: read-write)",
};
const INVISIBLE: Flag = Flag {
    long: "invisible",
    alias: "",
    value: "",
    repeatable: false,
    help: "ask visitors for the authorization code that is printed at the start",
};
const LISTEN: Flag = Flag {
    long: "listen",
    alias: "",
    value: "HOST:PORT",
    repeatable: false,
    help: "address of the web client (default 127.0.0.1:8306, or the next free port up to 8405); \
           one that other machines reach needs --invisible",
};
pub(super) const NO_OPEN: Flag = Flag {
    long: "no-open",
    alias: "",
    value: "",
    repeatable: false,
    help: "do not open a browser",
};
const ALLOW_HOST: Flag = Flag {
    long: "allow-host",
    alias: "",
    value: "HOST[:PORT]",
    repeatable: true,
    help: "also serve requests made to this name, as through a proxy; may be repeated",
};
const TLS: Flag = Flag {
    long: "tls",
    alias: "",
    value: "MODE",
    repeatable: false,
    help: "encryption to the database: off, prefer (default: where the server offers it), \
           require, verify (require, and check the certificate)",
};
const QUERY_TIMEOUT: Flag = Flag {
    long: "query-timeout",
    alias: "",
    value: "SECONDS",
    repeatable: false,
    help: "end statements that run longer (default: no limit)",
};
const ALLOW_OTHER_USERS: Flag = Flag {
    long: "allow-other-users",
    alias: "",
    value: "",
    repeatable: false,
    help: "also serve the other users of this machine",
};
pub(super) const VERBOSE: Flag = Flag {
    long: "verbose",
    alias: "v",
    value: "",
    repeatable: true,
    help: "log what is done to stderr",
};

pub(super) const COMMAND: Command = Command {
    name: "mysql",
    operands: "[target]",
    operand_count: 0..=1,
    about: "Opens a web SQL client for a MySQL or MariaDB database.",
    flags: &[
        USER,
        PASSWORD,
        DATABASE,
        READONLY,
        INVISIBLE,
        LISTEN,
        NO_OPEN,
        ALLOW_HOST,
        TLS,
        QUERY_TIMEOUT,
        ALLOW_OTHER_USERS,
        SHARE,
        SERVER,
        READWRITE,
        VISIBLE,
        VERBOSE,
    ],
    notes: "\
Target (default 127.0.0.1:3306):
  PORT                        that port of 127.0.0.1
  HOST, HOST:PORT             a host, by name or address
  [IPV6], [IPV6]:PORT         an IPv6 address
  /path/to/socket             a Unix socket
  mysql://USER:PASS@HOST:PORT/DB
                              all but the host optional, percent-encoded;
                              a password here is as visible as --db-pass

What neither flags, URL nor POSTERN_DB_PASS say is asked for. Where standard
input is no terminal, its lines answer: user, password, database.",
};

/// The command line, read and checked.
pub(super) struct Settings {
    address: Address,
    user: Option<String>,
    password: Option<Zeroizing<String>>,
    database: Option<String>,
    readonly: bool,
    invisible: bool,
    listen: Option<SocketAddr>,
    allow_hosts: Vec<String>,
    tls: TlsMode,
    query_timeout: Option<Duration>,
    check_other_users: bool,
    /// What is to be shared; none without `--share`.
    pub(super) share: Option<share::Wanted>,
}

impl Settings {
    /// Checks every value before anything is asked or started.
    pub(super) fn read(parsed: &Parsed) -> Result<Self, Failure> {
        let share = share::Wanted::read(parsed)?;
        let readonly = share
            .as_ref()
            .map_or(parsed.has(&READONLY), |share| !share.readwrite);
        let invisible = share
            .as_ref()
            .map_or(parsed.has(&INVISIBLE), |share| !share.visible);
        let listen = parsed.value(&LISTEN).map(|text| listen(&text));
        let allow_hosts = parsed.values(&ALLOW_HOST);
        Ok(Self {
            address: target::parse(parsed.operands().first().map(String::as_str))?,
            user: parsed.value(&USER),
            password: parsed.value(&PASSWORD).map(Zeroizing::new),
            database: parsed.value(&DATABASE),
            readonly,
            invisible,
            listen: listen
                .transpose()?
                .map(|at| protected(at, invisible))
                .transpose()?,
            allow_hosts: allow_hosts
                .iter()
                .map(|text| allowed_host(text))
                .collect::<Result<_, _>>()?,
            tls: parsed
                .value(&TLS)
                .map_or(Ok(TlsMode::default()), |text| tls(&text))?,
            query_timeout: parsed
                .value(&QUERY_TIMEOUT)
                .map(|text| seconds(&text))
                .transpose()?,
            check_other_users: !parsed.has(&ALLOW_OTHER_USERS),
            share,
        })
    }

    /// What is known without asking. A flag goes before the URL, the URL before the environment.
    fn given(&mut self) -> Result<Given, Failure> {
        let user = self.user.take().or(self.address.user.take());
        let password = self.password.take().or(self.address.password.take());
        let explicit = user.is_some() || password.is_some() || self.database.is_some();
        let password = match password {
            None => password_of_environment()?,
            given => given,
        };
        Ok(Given {
            user,
            password,
            database: self.database.take().or(self.address.database.take()),
            explicit,
        })
    }

    /// Asks for the rest. The directory for sockets is still to be named.
    pub(super) fn ask(mut self) -> Result<Options, Failure> {
        let given = self.given()?;
        let mut stdin = Stdin::open()
            .map_err(|error| Failure::operation(format!("cannot read standard input: {error}")))?;
        let credentials = prompt::complete(given, &mut stdin)?;
        Ok(self.options(credentials))
    }

    fn options(self, credentials: Credentials) -> Options {
        Options {
            target: self.address.target,
            user: credentials.user,
            password: credentials.password,
            database: credentials.database.filter(|name| !name.is_empty()),
            readonly: self.readonly,
            invisible: self.invisible,
            listen: self.listen,
            allow_hosts: self.allow_hosts,
            tls: self.tls,
            query_timeout: self.query_timeout,
            check_other_users: self.check_other_users,
            run_dir: PathBuf::new(),
        }
    }
}

fn password_of_environment() -> Result<Option<Zeroizing<String>>, Failure> {
    match std::env::var(PASSWORD_VARIABLE) {
        Ok(password) if password.is_empty() => Ok(None),
        Ok(password) => Ok(Some(Zeroizing::new(password))),
        Err(std::env::VarError::NotPresent) => Ok(None),
        // The error itself holds the value.
        Err(std::env::VarError::NotUnicode(_)) => Err(Failure::operation(format!(
            "{PASSWORD_VARIABLE} is not UTF-8"
        ))),
    }
}

fn refused(flag: &Flag, text: &str, reason: &str) -> Failure {
    Failure::usage(format!("--{} {}: {reason}", flag.long, quoted(text))).hint(COMMAND.see_help())
}

fn listen(text: &str) -> Result<SocketAddr, Failure> {
    let literal = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    let reason = "give ADDRESS:PORT, such as 127.0.0.1:8306 or [::1]:8306";
    literal.parse().map_err(|_| refused(&LISTEN, text, reason))
}

fn protected(listen: SocketAddr, invisible: bool) -> Result<SocketAddr, Failure> {
    if invisible || listen.ip().to_canonical().is_loopback() {
        return Ok(listen);
    }
    let message =
        format!("--listen {listen} lets other machines reach the database without a code");
    Err(Failure::usage(message).hint("add --invisible, or listen on 127.0.0.1"))
}

/// A name or address as a `Host` header carries it, in lower case.
fn allowed_host(text: &str) -> Result<String, Failure> {
    let refuse = |reason: &str| refused(&ALLOW_HOST, text, reason);
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    if let Some(digits) = port {
        target::port(digits).map_err(refuse)?;
    }
    match host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        Some(inner) if inner.parse::<std::net::Ipv6Addr>().is_ok() => {}
        Some(_) => return Err(refuse("the brackets do not hold an IPv6 address")),
        None => target::check_host(host).map_err(refuse)?,
    }
    Ok(text.to_ascii_lowercase())
}

fn tls(text: &str) -> Result<TlsMode, Failure> {
    match text {
        "off" => Ok(TlsMode::Off),
        "prefer" => Ok(TlsMode::Prefer),
        "require" => Ok(TlsMode::Require),
        "verify" => Ok(TlsMode::Verify),
        _ => Err(refused(&TLS, text, "give off, prefer, require or verify")),
    }
}

fn seconds(text: &str) -> Result<Duration, Failure> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|seconds| is_number && (1..=QUERY_TIMEOUT_CAP).contains(seconds))
        .map(Duration::from_secs)
        .ok_or_else(|| {
            let reason = format!("give whole seconds from 1 to {QUERY_TIMEOUT_CAP}");
            refused(&QUERY_TIMEOUT, text, &reason)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[&str]) -> Result<Settings, Failure> {
        let words: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
        Settings::read(&COMMAND.parse(&words)?)
    }

    #[test]
    fn every_flag_arrives() {
        let settings = read(&[
            "--username",
            "u",
            "--auth-pass=p",
            "db:3307",
            "--db-name",
            "shop",
            "--readonly",
            "--invisible",
            "--listen",
            "0.0.0.0:0",
            "--allow-host",
            "A.example",
            "--allow-host",
            "[::1]:80",
            "--tls",
            "verify",
            "--query-timeout=30",
            "--allow-other-users",
            "-v",
        ])
        .unwrap();
        assert_eq!(settings.address.target.to_string(), "db:3307");
        assert_eq!(settings.user.as_deref(), Some("u"));
        assert_eq!(settings.password.as_ref().unwrap().as_str(), "p");
        assert_eq!(settings.database.as_deref(), Some("shop"));
        assert!(settings.readonly && settings.invisible && !settings.check_other_users);
        assert_eq!(settings.listen.unwrap().to_string(), "0.0.0.0:0");
        assert_eq!(settings.allow_hosts, ["a.example", "[::1]:80"]);
        assert_eq!(settings.tls, TlsMode::Verify);
        assert_eq!(settings.query_timeout, Some(Duration::from_secs(30)));
    }

    #[test]
    fn without_flags_the_defaults_hold() {
        let settings = read(&[]).unwrap();
        assert!(!settings.readonly && !settings.invisible && settings.check_other_users);
        assert_eq!((settings.tls, settings.listen), (TlsMode::Prefer, None));
        assert_eq!(settings.query_timeout, None);
    }

    #[test]
    fn wrong_values_are_named() {
        for (flag, values) in [
            (
                "--listen",
                &[
                    "",
                    "8306",
                    "db:8306",
                    "*:1",
                    "127.0.0.1",
                    "::1:1",
                    "127.0.0.1:65536",
                ][..],
            ),
            ("--tls", &["", "on", "OFF"]),
            (
                "--query-timeout",
                &[
                    "",
                    "0",
                    "-1",
                    "+1",
                    "1.5",
                    "1s",
                    "31536001",
                    "99999999999999999999",
                ],
            ),
            (
                "--allow-host",
                &[
                    "", "*", "http://a", "a/b", "a:", "a:0", "::1", "[x]", "a b", "u@a",
                ],
            ),
        ] {
            for value in values {
                let failure = read(&[flag, value]).err().expect(value);
                let (status, message, _) = failure.parts();
                assert_eq!(status, 2, "{flag} {value}");
                assert!(
                    message.starts_with(&format!("postern: {flag} {}: ", quoted(value))),
                    "{message}"
                );
            }
        }
    }

    #[test]
    fn off_loopback_needs_a_code() {
        for (address, is_local) in [
            ("127.0.0.1:1", true),
            ("127.9.9.9:1", true),
            ("localhost:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("10.0.0.1:1", false),
        ] {
            assert_eq!(read(&["--listen", address]).is_ok(), is_local, "{address}");
            assert!(read(&["--listen", address, "--invisible"]).is_ok());
        }
    }

    #[test]
    fn a_flag_goes_before_the_url() {
        let url = "mysql://url:urlpass@db/urldb";
        let given = read(&[url]).unwrap().given().unwrap();
        assert_eq!(given.user.as_deref(), Some("url"));
        assert_eq!(given.password.unwrap().as_str(), "urlpass");
        assert_eq!(given.database.as_deref(), Some("urldb"));
        let flags = ["--db-user", "f", "--db-pass", "", "--db-name", "fdb"];
        let given = read(&[&[url], &flags[..]].concat())
            .unwrap()
            .given()
            .unwrap();
        assert_eq!(given.user.as_deref(), Some("f"));
        assert_eq!(given.password.unwrap().as_str(), "");
        assert_eq!(given.database.as_deref(), Some("fdb"));
        assert!(
            !read(&["mysql://db/shop"])
                .unwrap()
                .given()
                .unwrap()
                .explicit
        );
    }
}
