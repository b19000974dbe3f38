//! Flags of `postern mysql`, checked.

use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use zeroize::Zeroizing;

use super::prompt::{self, GivenCredentials, Stdin};
use super::share::ShareRequest;
use crate::cli::args::command::Parsed;
use crate::cli::args::table::mysql::{
    ALLOW_HOST, ALLOW_OTHER_USERS, COMMAND, DATABASE, INVISIBLE, LISTEN, PASSWORD, QUERY_TIMEOUT,
    READONLY, TLS, USER,
};
use crate::cli::args::values::{PASSWORD_VARIABLE, socket_address, whole_seconds};
use crate::cli::failure::Failure;
use crate::cli::target;
use crate::net::authority;
use crate::sqlweb::{Options, TlsMode};

/// Default time for a statement in a shared web client.
pub(super) const SHARED_QUERY_TIMEOUT: Duration = crate::limits::SHARED_QUERY;

/// The largest `--query-timeout`, in seconds: the maximum of servers.
const QUERY_TIMEOUT_CAP: u64 = 31_536_000;

/// The command line, read and checked.
pub(super) struct Settings {
    /// Options without the account, the database and the directory for sockets.
    options: Options,
    given: GivenCredentials,
    /// Share settings; none without `--share`.
    pub(super) share: Option<ShareRequest>,
}

impl Settings {
    /// Checks every value before anything is asked or started. A flag takes precedence over the URL.
    pub(super) fn read(parsed: &Parsed) -> Result<Self, Failure> {
        let share = ShareRequest::read(parsed)?;
        let (readonly, invisible) = match &share {
            Some(share) => (!share.readwrite, !share.visible),
            None => (parsed.has(&READONLY), parsed.has(&INVISIBLE)),
        };
        let listen = COMMAND.read(parsed, &LISTEN, |text| {
            socket_address(text).ok_or("give ADDRESS:PORT, such as 127.0.0.1:8306 or [::1]:8306")
        })?;
        let tls = COMMAND.read(parsed, &TLS, tls)?;
        let query_timeout = COMMAND.read(parsed, &QUERY_TIMEOUT, |text| {
            whole_seconds(text, &(1..=QUERY_TIMEOUT_CAP))
                .ok_or("give whole seconds from 1 to 31536000, or a time such as 5m")
        })?;
        let allow_hosts = parsed.values(&ALLOW_HOST).into_iter();
        let address = target::parse(parsed.operands().first().map(String::as_str))?;
        let (user, database) = (parsed.value(&USER), parsed.value(&DATABASE));
        let user = user.or(address.user);
        let password = parsed.value(&PASSWORD).map(Zeroizing::new);
        let password = password.or(address.password);
        let given = GivenCredentials {
            explicit: user.is_some() || password.is_some() || database.is_some(),
            user,
            password,
            database: database.or(address.database),
        };
        let options = Options {
            target: address.target,
            user: String::new(),
            password: Zeroizing::default(),
            new_password: None,
            database: None,
            readonly,
            invisible,
            listen: listen.map(|at| protected(at, invisible)).transpose()?,
            allow_hosts: allow_hosts
                .map(|text| allowed_host(&text))
                .collect::<Result<_, _>>()?,
            tls: tls.unwrap_or_default(),
            is_shared: share.is_some(),
            statements: None,
            query_timeout: query_timeout.or(share.as_ref().map(|_| SHARED_QUERY_TIMEOUT)),
            check_other_users: !parsed.has(&ALLOW_OTHER_USERS),
            run_dir: PathBuf::new(),
            guest: None,
            home: None,
        };
        Ok(Self {
            options,
            given,
            share,
        })
    }

    /// Asks for values that neither the command line nor the environment gives. The directory for sockets is still
    /// missing.
    pub(super) fn ask(mut self) -> Result<Options, Failure> {
        if self.given.password.is_none() {
            self.given.password = password_of_environment()?;
        }
        let mut stdin = Stdin::open()
            .map_err(|error| Failure::operation(format!("cannot read standard input: {error}")))?;
        let credentials = prompt::complete(self.given, &mut stdin)?;
        Ok(Options {
            user: credentials.user,
            password: credentials.password,
            database: credentials.database.filter(|name| !name.is_empty()),
            ..self.options
        })
    }
}

fn password_of_environment() -> Result<Option<Zeroizing<String>>, Failure> {
    match std::env::var(PASSWORD_VARIABLE) {
        Ok(password) if password.is_empty() => Ok(None),
        Ok(password) => Ok(Some(Zeroizing::new(password))),
        Err(std::env::VarError::NotPresent) => Ok(None),
        // The error itself contains the value.
        Err(std::env::VarError::NotUnicode(_)) => Err(Failure::operation(format!(
            "{PASSWORD_VARIABLE} is not UTF-8"
        ))),
    }
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
    let refuse = |reason: &str| COMMAND.refuse(&ALLOW_HOST, text, reason);
    let parts = authority::split(text);
    let (host, port) = parts.ok_or_else(|| refuse("give HOST, HOST:PORT or [IPV6]:PORT"))?;
    if let Some(digits) = port {
        target::port(digits).map_err(refuse)?;
    }
    if host.parse::<Ipv6Addr>().is_err() {
        target::check_host(host).map_err(refuse)?;
    }
    Ok(text.to_ascii_lowercase())
}

fn tls(text: &str) -> Result<TlsMode, &'static str> {
    match text {
        "off" => Ok(TlsMode::Off),
        "prefer" => Ok(TlsMode::Prefer),
        "require" => Ok(TlsMode::Require),
        "verify-ca" => Ok(TlsMode::VerifyCa),
        "verify" => Ok(TlsMode::Verify),
        _ => Err("give off, prefer, require, verify-ca or verify"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::failure::quoted;

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
        let given = settings.given;
        assert_eq!(given.user.as_deref(), Some("u"));
        assert_eq!(given.password.as_ref().unwrap().as_str(), "p");
        assert_eq!(given.database.as_deref(), Some("shop"));
        let settings = settings.options;
        assert_eq!(settings.target.to_string(), "db:3307");
        assert!(settings.readonly && settings.invisible && !settings.check_other_users);
        assert_eq!(settings.listen.unwrap().to_string(), "0.0.0.0:0");
        assert_eq!(settings.allow_hosts, ["a.example", "[::1]:80"]);
        assert_eq!(settings.tls, TlsMode::Verify);
        assert_eq!(settings.query_timeout, Some(Duration::from_secs(30)));
    }

    #[test]
    fn without_flags_the_defaults_hold() {
        let settings = read(&[]).unwrap().options;
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
                    "1w",
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
        let given = read(&[url]).unwrap().given;
        assert_eq!(given.user.as_deref(), Some("url"));
        assert_eq!(given.password.unwrap().as_str(), "urlpass");
        assert_eq!(given.database.as_deref(), Some("urldb"));
        let flags = ["--db-user", "f", "--db-pass", "", "--db-name", "fdb"];
        let given = read(&[&[url], &flags[..]].concat()).unwrap().given;
        assert_eq!(given.user.as_deref(), Some("f"));
        assert_eq!(given.password.unwrap().as_str(), "");
        assert_eq!(given.database.as_deref(), Some("fdb"));
        assert!(!read(&["mysql://db/shop"]).unwrap().given.explicit);
    }
}
