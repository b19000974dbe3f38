//! `postern tunnel-client URL REMOTE…`: a tunnel for operators and tests, like `chisel client`.

use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::cli::args::command::{Command, Flag, Parsed};
use crate::cli::args::table::tunnel::{
    AUTH, CLIENT, FINGERPRINT, HEADER, KEEPALIVE, MAX_RETRY_COUNT, MAX_RETRY_INTERVAL, PROXY,
    VERBOSE,
};
use crate::cli::args::values::{self, environment};
use crate::cli::failure::{Failure, quoted};
use crate::cli::serve::SignalWatch;
use crate::cli::{logging, serve};
use crate::tunnel::client::{self, HostKeyCheck, Settings, Status, Tunnel};
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::remote::Remote;
use crate::tunnel::ws::{Endpoint, Header, Proxy, ProxyChoice};

/// Upper limit of times in flags. Default a day.
const LONGEST: Duration = Duration::from_secs(86_400);

/// Keeps the tunnel until a signal, or until it gives up.
pub(crate) fn keep_tunnel(parsed: &Parsed) -> Result<(), Failure> {
    let settings = settings(parsed)?;
    logging::start_informing(parsed.has(&VERBOSE));
    let stopped = SignalWatch::start()?.running();
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
    let usage = |message: String| CLIENT.usage(message);
    let endpoint = Endpoint::parse(parsed.operand()).map_err(usage)?;
    let remotes = parsed.operands().iter().skip(1);
    let remotes: Result<Vec<Remote>, _> = remotes.map(|text| text.parse()).collect();
    let mut settings = Settings::new(endpoint, remotes.map_err(|error| usage(error.to_string()))?);
    if let Some(auth) = auth(parsed) {
        let (user, password) = auth.split_once(':').unwrap_or((&auth, ""));
        settings.user = user.to_owned();
        settings.password = Zeroizing::new(password.to_owned());
    }
    settings.host_key = host_key(parsed)?;
    settings.keepalive = keepalive(&CLIENT, parsed)?;
    settings.max_retry_interval =
        time(&CLIENT, parsed, &MAX_RETRY_INTERVAL)?.unwrap_or(client::MAX_RETRY_INTERVAL);
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

/// User and password by flag or, as for chisel, by a variable, which hides them from the process list.
pub(super) fn auth(parsed: &Parsed) -> Option<Zeroizing<String>> {
    let given = parsed.value(&AUTH).or_else(|| environment("AUTH"));
    given.filter(|auth| !auth.is_empty()).map(Zeroizing::new)
}

fn host_key(parsed: &Parsed) -> Result<HostKeyCheck, Failure> {
    if let Some(fingerprint) = parsed.value(&FINGERPRINT) {
        return Ok(HostKeyCheck::Fingerprint(fingerprint));
    }
    let known = KnownServers::new(serve::data_dir()?);
    Ok(HostKeyCheck::Pinned(Arc::new(known)))
}

fn retries(parsed: &Parsed) -> Result<Option<u32>, Failure> {
    match parsed.value(&MAX_RETRY_COUNT) {
        None => Ok(None),
        // As in chisel, -1 means no limit.
        Some(text) if text == "-1" => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            let text = quoted(&text);
            CLIENT.usage(format!(
                "'--max-retry-count' is {text}: give a whole number"
            ))
        }),
    }
}

/// The pause between keep-alive requests; none if it is 0.
pub(super) fn keepalive(command: &Command, parsed: &Parsed) -> Result<Option<Duration>, Failure> {
    let pause = time(command, parsed, &KEEPALIVE)?.unwrap_or(client::KEEPALIVE);
    Ok(Some(pause).filter(|pause| !pause.is_zero()))
}

fn time(command: &Command, parsed: &Parsed, flag: &Flag) -> Result<Option<Duration>, Failure> {
    let Some(text) = parsed.value(flag) else {
        return Ok(None);
    };
    let within = values::time(&text).filter(|time| *time <= LONGEST);
    match within {
        Some(time) => Ok(Some(time)),
        None => Err(command.usage(format!(
            "'--{}' is {}: give a time such as 25s",
            flag.long,
            quoted(&text)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_line_is_refused() {
        let refused = |line: &[&str]| {
            let words: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
            CLIENT.run(&words, keep_tunnel).unwrap_err().parts().0
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
