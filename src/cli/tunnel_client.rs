//! `postern tunnel-client URL REMOTE…`: a tunnel for operators and tests, in place of `chisel client`.

use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::command::{Command, Flag, Parsed};
use super::failure::{Failure, quoted};
use super::logging;
use super::output::print;
use super::signals::Watch;
use crate::store::DataDir;
use crate::tunnel::client::{
    HostKeyCheck, KEEPALIVE, MAX_RETRY_INTERVAL, Settings, Status, Tunnel,
};
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::remote::{MAX_REMOTES, Remote};
use crate::tunnel::ws::{Endpoint, Header, Proxy, ProxyChoice};

const AUTH: Flag = Flag {
    long: "auth",
    alias: "",
    value: "USER:PASS",
    repeatable: false,
    help: "log in as this user (default: the environment variable AUTH)",
};
const FINGERPRINT: Flag = Flag {
    long: "fingerprint",
    alias: "",
    value: "BASE64",
    repeatable: false,
    help: "accept the host key with this SHA-256 only (default: the one seen first)",
};
pub(super) const KEEPALIVE_FLAG: Flag = Flag {
    long: "keepalive",
    alias: "",
    value: "TIME",
    repeatable: false,
    help: "pause between keep-alive requests, as in 25s (default) or 2m; 0s for none",
};
const MAX_RETRY_COUNT: Flag = Flag {
    long: "max-retry-count",
    alias: "",
    value: "N",
    repeatable: false,
    help: "give up after so many attempts in a row (default: never)",
};
const MAX_RETRY_INTERVAL_FLAG: Flag = Flag {
    long: "max-retry-interval",
    alias: "",
    value: "TIME",
    repeatable: false,
    help: "longest pause before another attempt (default 10s)",
};
const HEADER: Flag = Flag {
    long: "header",
    alias: "",
    value: "'NAME: VALUE'",
    repeatable: true,
    help: "send this HTTP header along with the upgrade",
};
const PROXY: Flag = Flag {
    long: "proxy",
    alias: "",
    value: "URL",
    repeatable: false,
    help: "go through this HTTP proxy (default: HTTPS_PROXY, HTTP_PROXY, NO_PROXY)",
};
pub(super) const VERBOSE: Flag = Flag {
    long: "verbose",
    alias: "v",
    value: "",
    repeatable: true,
    help: "log what is done",
};

pub(super) const COMMAND: Command = Command {
    name: "tunnel-client",
    operands: "URL REMOTE…",
    operand_count: 2..=MAX_REMOTES + 1,
    about: "Keeps a tunnel to a chisel-v3 server, for reverse TCP remotes.",
    flags: &[
        AUTH,
        FINGERPRINT,
        KEEPALIVE_FLAG,
        MAX_RETRY_COUNT,
        MAX_RETRY_INTERVAL_FLAG,
        HEADER,
        PROXY,
        VERBOSE,
    ],
    notes: "\
REMOTE is R:[LOCAL_HOST:]LOCAL_PORT:REMOTE_HOST:REMOTE_PORT: the server listens on
the local side, and visitors come out at the remote side, reached from here.",
};

/// Keeps the tunnel until a signal, or until it gives up.
pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let parsed = COMMAND.parse(arguments)?;
    if parsed.wants_help() {
        return print(&COMMAND.help(COMMAND.name));
    }
    let settings = settings(&parsed)?;
    logging::start_informing(parsed.has(&VERBOSE));
    let watch = Watch::start()
        .map_err(|error| Failure::operation(format!("cannot watch for signals: {error}")))?;
    let stopped = watch.running();
    let tunnel = Tunnel::start(settings)
        .map_err(|error| Failure::operation(format!("cannot start the tunnel: {error}")))?;
    crossbeam_channel::select! {
        recv(stopped) -> _ => {}
        recv(tunnel.ended()) -> _ => {}
    }
    let last = tunnel.snapshot();
    tunnel.stop();
    match (last.status, last.error) {
        (Status::Failed, Some(error)) => Err(Failure::operation(error.to_string())),
        _ => Ok(()),
    }
}

fn settings(parsed: &Parsed) -> Result<Settings, Failure> {
    let (url, remotes) = parsed
        .operands()
        .split_first()
        .ok_or_else(|| usage("the URL is missing".into()))?;
    let endpoint = Endpoint::parse(url).map_err(usage)?;
    let remotes: Result<Vec<Remote>, _> = remotes.iter().map(|text| text.parse()).collect();
    let mut settings = Settings::new(endpoint, remotes.map_err(|error| usage(error.to_string()))?);
    if let Some(auth) = auth(parsed) {
        let (user, password) = auth.split_once(':').unwrap_or((&auth, ""));
        settings.user = user.to_owned();
        settings.password = Zeroizing::new(password.to_owned());
    }
    settings.host_key = host_key(parsed)?;
    settings.keepalive = keepalive(parsed)?;
    settings.max_retry_interval =
        time(parsed, &MAX_RETRY_INTERVAL_FLAG)?.unwrap_or(MAX_RETRY_INTERVAL);
    settings.max_retries = retries(parsed)?;
    let headers: Result<Vec<Header>, _> = parsed
        .values(&HEADER)
        .iter()
        .map(|line| Header::parse(line))
        .collect();
    settings.dial.headers = headers.map_err(usage)?;
    if let Some(proxy) = parsed.value(&PROXY) {
        settings.dial.proxy = ProxyChoice::Fixed(Proxy::parse(&proxy).map_err(usage)?);
    }
    Ok(settings)
}

/// As for chisel, so that the password need not stand in the list of processes.
fn auth(parsed: &Parsed) -> Option<Zeroizing<String>> {
    let given = parsed.value(&AUTH).or_else(|| std::env::var("AUTH").ok());
    given.filter(|auth| !auth.is_empty()).map(Zeroizing::new)
}

fn host_key(parsed: &Parsed) -> Result<HostKeyCheck, Failure> {
    if let Some(fingerprint) = parsed.value(&FINGERPRINT) {
        return Ok(HostKeyCheck::Fingerprint(fingerprint));
    }
    let home = DataDir::locate()
        .map_err(|error| Failure::operation(error.to_string()).hint(error.hint()))?;
    Ok(HostKeyCheck::Pinned(Arc::new(KnownServers::new(home))))
}

fn retries(parsed: &Parsed) -> Result<Option<u32>, Failure> {
    match parsed.value(&MAX_RETRY_COUNT) {
        None => Ok(None),
        // As in chisel, -1 is for ever.
        Some(text) if text == "-1" => Ok(None),
        Some(text) => match text.parse() {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(usage(format!(
                "'--max-retry-count' is {}: give a whole number",
                quoted(&text)
            ))),
        },
    }
}

/// The pause between keep-alive requests; none where it is 0.
pub(super) fn keepalive(parsed: &Parsed) -> Result<Option<Duration>, Failure> {
    let pause = time(parsed, &KEEPALIVE_FLAG)?.unwrap_or(KEEPALIVE);
    Ok(Some(pause).filter(|pause| !pause.is_zero()))
}

fn time(parsed: &Parsed, flag: &Flag) -> Result<Option<Duration>, Failure> {
    let Some(text) = parsed.value(flag) else {
        return Ok(None);
    };
    match duration(&text) {
        Some(time) => Ok(Some(time)),
        None => Err(usage(format!(
            "'--{}' is {}: give a time such as 25s",
            flag.long,
            quoted(&text)
        ))),
    }
}

/// A whole number of `ms`, `s`, `m` or `h`; without a unit, seconds. At most a day.
fn duration(text: &str) -> Option<Duration> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: u64 = number.parse().ok()?;
    let millis = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let time = Duration::from_millis(number.checked_mul(millis)?);
    (time <= Duration::from_secs(86_400)).then_some(time)
}

fn usage(message: String) -> Failure {
    Failure::usage(message).hint(COMMAND.see_help())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, millis) in [
            ("25s", 25_000),
            ("25", 25_000),
            ("2m", 120_000),
            ("100ms", 100),
            ("0s", 0),
            ("24h", 86_400_000),
        ] {
            assert_eq!(
                duration(text),
                Some(Duration::from_millis(millis)),
                "{text}"
            );
        }
        for text in ["", "s", "-1s", "1d", "25h", "1.5s", "99999999999999999999"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_wrong_line_is_refused() {
        let refused = |line: &[&str]| {
            let words: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
            run(&words).unwrap_err().parts().0
        };
        for line in [
            &["ws://h"][..],
            &["ftp://h", "R:1:h:2"],
            &["ws://h", "1:h:2"],
            &[
                "ws://h",
                "R:1:h:2",
                "--fingerprint",
                "x",
                "--keepalive",
                "x",
            ],
            &[
                "ws://h",
                "R:1:h:2",
                "--fingerprint",
                "x",
                "--max-retry-count",
                "x",
            ],
            &["ws://h", "R:1:h:2", "--fingerprint", "x", "--header", "x"],
        ] {
            assert_eq!(refused(line), 2, "{line:?}");
        }
    }
}
