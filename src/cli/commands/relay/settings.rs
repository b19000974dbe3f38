//! Flags of `postern relay`, checked.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use zeroize::Zeroizing;

use super::state_dir::data;
use super::store::{self, FleetSettings};
use crate::cli::args::command::{Flag, Parsed};
use crate::cli::args::table::relay::{
    ALLOW_OTHER_USERS, ANSWER_TIMEOUT, COMMAND, CONNECTIONS, DOMAIN, DRAIN, EXTERNAL_IP, LISTEN,
    METRICS_LISTEN, PASS_HEADER, PORT_LISTEN, PORTS, PUBLIC_URL, QUOTA_MBPS, QUOTA_SITES,
    SHARED_HOST_PORTS, STORE, TRUST_PROXY, TUNNEL_LISTEN, TUNNEL_URL,
};
use crate::cli::args::values::{listen_address, socket_address, whole_number, whole_seconds};
use crate::cli::commands::sharing::line::given_token;
use crate::cli::failure::Failure;
use crate::gateway::is_never_kept;
use crate::net::Cidr;
use crate::relay::{Enrolment, Options, PublicPorts, PublicUrl, Quota, TunnelUrl, check_domain};
use crate::store::{DataDir, RunDir};

/// Default address for visitors.
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8180);
/// The tunnel server's port. 62888 by the specification.
const DEFAULT_TUNNEL_PORT: u16 = 62888;
const DEFAULT_DOMAIN: &str = "localhost";
/// Bytes of an enrolment token: accepted by quick-setup, and too long to be guessed in 30 calls a minute.
const TOKEN: RangeInclusive<usize> = 12..=256;
/// Range of `--connections`: each is a thread, and a systemd service needs most of its threads for tunnels.
const CONNECTION_COUNTS: RangeInclusive<usize> = 16..=4096;
/// Range of public ports: below are ports of well-known services, which nobody may imitate.
const PORTS_TO_CHOOSE: RangeInclusive<u16> = 1024..=65_535;
/// Range of `--answer-timeout`, in seconds: up to a day.
const ANSWER_SECONDS: RangeInclusive<u64> = 1..=86_400;
/// Range of `--drain`, in seconds: up to an hour.
const DRAIN_SECONDS: RangeInclusive<u64> = 0..=3600;
/// Default of `--drain` in a fleet, where other relays serve new visitors meanwhile.
const FLEET_DRAIN: Duration = crate::limits::FLEET_DRAIN;
/// Range of `--quota-sites`: up to the limit without a quota.
const SITES: RangeInclusive<usize> = 1..=100;
/// Range of `--quota-mbps`.
const MBPS: RangeInclusive<u32> = 1..=100_000;

/// A checked command line.
pub(super) struct Settings {
    pub(super) data: DataDir,
    pub(super) listen: SocketAddr,
    pub(super) tunnel_listen: Option<SocketAddr>,
    tunnel_url: Option<TunnelUrl>,
    pub(super) metrics_listen: Option<SocketAddr>,
    domain: String,
    public_url: Option<PublicUrl>,
    external_ip: String,
    pub(super) ports: PublicPorts,
    port_range: Option<RangeInclusive<u16>>,
    enroll_token: Option<Zeroizing<String>>,
    trust_proxy: Vec<Cidr>,
    pass_headers: Vec<String>,
    connections: Option<usize>,
    answer_time: Option<Duration>,
    /// Time for running requests at the end.
    pub(super) drain: Duration,
    quota: Quota,
    pub(super) fleet: Option<FleetSettings>,
    allow_other_users: bool,
}

impl Settings {
    /// Reads the flags.
    pub(super) fn read(parsed: &Parsed) -> Result<Self, Failure> {
        let listen = COMMAND.read(parsed, &LISTEN, listen_address)?;
        let listen = listen.unwrap_or(DEFAULT_LISTEN);
        let tunnel_listen = COMMAND.read(parsed, &TUNNEL_LISTEN, |text| match text {
            "none" => Ok(None),
            text => listen_address(text).map(Some),
        })?;
        let tunnel_listen =
            tunnel_listen.unwrap_or_else(|| Some((listen.ip(), DEFAULT_TUNNEL_PORT).into()));
        if Some(listen) == tunnel_listen && listen.port() != 0 {
            return Err(COMMAND.usage("--listen and --tunnel-listen are the same address"));
        }
        let domain = COMMAND.read(parsed, &DOMAIN, domain)?;
        let domain = domain.unwrap_or_else(|| DEFAULT_DOMAIN.to_owned());
        let public_url = COMMAND.read(parsed, &PUBLIC_URL, str::parse::<PublicUrl>)?;
        let external_ip = external_ip(parsed, tunnel_listen, &domain)?;
        let host = public_url.as_ref().map_or(&*domain, PublicUrl::host);
        let tunnel_url = tunnel_url(parsed, tunnel_listen.is_some(), host)?;
        let listens = [listen, tunnel_listen.unwrap_or(listen)];
        let fleet = store::settings(parsed, listens)?;
        let peers = fleet.as_ref().map(|fleet| fleet.peer_listen.ip());
        let is_given = tunnel_listen.is_some() || parsed.value(&EXTERNAL_IP).is_some();
        if peers.is_some_and(|ip| ip.is_unspecified()) && !is_given {
            let message = "--peer-listen does not say which address the other relays dial";
            let hint = "give --peer-listen the address of this machine, or add --external-ip";
            return Err(COMMAND.usage(message).hint(hint));
        }
        let is_private = match tunnel_listen {
            Some(at) => is_loopback(at),
            None => public_url.is_none(),
        };
        check_reach(listen, &domain, public_url.as_ref())?;
        let drain = COMMAND.read(parsed, &DRAIN, |text| {
            whole_seconds(text, &DRAIN_SECONDS)
                .ok_or("give whole seconds from 0 to 3600, or a time such as 1m")
        })?;
        let default_drain = match fleet {
            Some(_) => FLEET_DRAIN,
            None => Duration::ZERO,
        };
        Ok(Self {
            data: data(parsed)?,
            listen,
            tunnel_listen,
            tunnel_url,
            metrics_listen: metrics_listen(parsed, listens)?,
            domain,
            public_url,
            external_ip,
            ports: ports(parsed, listen, is_private && is_loopback(listen))?,
            port_range: COMMAND.read(parsed, &PORTS, port_range)?,
            enroll_token: enroll_token(parsed)?,
            trust_proxy: trust_proxy(parsed)?,
            pass_headers: pass_headers(parsed)?,
            connections: number(parsed, &CONNECTIONS, &CONNECTION_COUNTS)?,
            answer_time: COMMAND.read(parsed, &ANSWER_TIMEOUT, |text| {
                whole_seconds(text, &ANSWER_SECONDS)
                    .ok_or("give whole seconds from 1 to 86400, or a time such as 5m")
            })?,
            drain: drain.unwrap_or(default_drain),
            quota: Quota {
                sites: number(parsed, &QUOTA_SITES, &SITES)?,
                mbps: number(parsed, &QUOTA_MBPS, &MBPS)?,
            },
            fleet,
            allow_other_users: parsed.has(&ALLOW_OTHER_USERS),
        })
    }

    /// True if only this machine can reach the relay, without a proxy.
    fn is_private(&self) -> bool {
        let of_this_machine = is_of_this_machine(&self.domain);
        is_loopback(self.listen)
            && self.tunnel_listen.is_none_or(is_loopback)
            && self.public_url.is_none()
            && self.trust_proxy.is_empty()
            && of_this_machine
    }

    /// True if others can reach it and nothing says that they use TLS.
    fn is_exposed_without_tls(&self) -> bool {
        !is_loopback(self.listen) && self.public_url.is_none()
    }

    /// Warnings about settings that may be unintended.
    pub(super) fn warnings(&self) -> Vec<String> {
        let has_open_metrics = self.metrics_listen.is_some_and(|at| !is_loopback(at));
        // The address for connectors often serves the sites too.
        let has_ports_where_connectors_dial =
            matches!(self.ports, PublicPorts::At(ip) if self.external_ip == ip.to_string());
        // The relay itself does not terminate TLS.
        let is_secure = self.public_url.as_ref().is_some_and(PublicUrl::is_secure);
        let warnings = [
            (
                has_open_metrics,
                "--metrics-listen is not on loopback: anyone who can reach it can read the metrics",
            ),
            (
                has_ports_where_connectors_dial,
                "--port-listen equals --external-ip: if site names point there too, use another address",
            ),
            (
                self.is_exposed_without_tls(),
                "connectors' passwords and visitors' codes cross the network unprotected: put a web server that \
                 terminates TLS in front, and give its URL: --public-url https://…",
            ),
            (
                is_secure && self.trust_proxy.is_empty(),
                "--trust-proxy is missing: the headers of the proxy for --public-url are ignored, so visitors' \
                 addresses are unknown and all visitors share the limits of one. Tunnels through a proxy on this \
                 machine have no limit per address",
            ),
        ];
        let warnings = warnings.into_iter().filter(|(holds, _)| *holds);
        let password = self
            .fleet
            .as_ref()
            .and_then(FleetSettings::open_password_file);
        let password = password.map(|path| {
            let path = path.display();
            format!("every user of this machine can read the store's password: chmod o-r {path}")
        });
        let warnings = warnings.map(|(_, text)| text.to_owned());
        warnings.chain(password).collect()
    }

    /// Options for the relay.
    pub(super) fn options(
        self,
        listener: TcpListener,
        tunnel_listener: Option<TcpListener>,
        metrics_listener: Option<TcpListener>,
        peer_listener: Option<TcpListener>,
        run_dir: &RunDir,
    ) -> Options {
        let is_private = self.is_private();
        let enrolment = if is_private && self.enroll_token.is_none() {
            Enrolment::Open
        } else {
            Enrolment::WithToken
        };
        Options {
            data: self.data,
            listener,
            tunnel_listener,
            tunnels_by_url: true,
            tunnel_url: self.tunnel_url,
            metrics_listener,
            ports: self.ports,
            port_range: self.port_range,
            fleet: self
                .fleet
                .zip(peer_listener)
                .map(|(fleet, listener)| fleet.options(listener)),
            run_dir: run_dir.path().to_owned(),
            domain: self.domain,
            public_url: self.public_url,
            external_ip: self.external_ip,
            enrolment,
            enroll_token: self.enroll_token,
            makes_invite: true,
            begins_anew: false,
            quota: self.quota,
            trust_proxy: self.trust_proxy,
            pass_headers: self.pass_headers,
            connections: self.connections,
            answer_time: self.answer_time,
            // A proxy may run as another user.
            check_other_users: is_private && !self.allow_other_users,
        }
    }
}

/// Refuses settings that would give sites addresses that nobody can open.
fn check_reach(
    listen: SocketAddr,
    domain: &str,
    public_url: Option<&PublicUrl>,
) -> Result<(), Failure> {
    match public_url {
        Some(url) if !url.goes_with(domain) => Err(COMMAND
            .usage(format!(
                "sites would be in {domain}, but the relay is at {}: the domains differ",
                url.host()
            ))
            .hint("give --domain and --public-url the same name, or names in one domain")),
        None if !is_loopback(listen) && is_of_this_machine(domain) => Err(COMMAND
            .usage(format!(
                "--listen {listen} is open to others, but NAME.{domain} points each visitor to their own machine"
            ))
            .hint("give a domain that points here with --domain, or listen on 127.0.0.1")),
        _ => Ok(()),
    }
}

/// True if names in the domain point everybody to their own machine (RFC 6761 §6.3).
fn is_of_this_machine(domain: &str) -> bool {
    domain == DEFAULT_DOMAIN || domain.ends_with(".localhost")
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Address for metrics, separate so that access to it can be limited. A port alone means loopback.
fn metrics_listen(parsed: &Parsed, others: [SocketAddr; 2]) -> Result<Option<SocketAddr>, Failure> {
    let at = COMMAND.read(parsed, &METRICS_LISTEN, |text| {
        let port = whole_number(text, &(0..=u16::MAX));
        let port = port.map(|port| (Ipv4Addr::LOCALHOST, port).into());
        let at = port.or_else(|| socket_address(text));
        at.ok_or("give ADDRESS:PORT, such as 127.0.0.1:8182")
    })?;
    let is_used =
        |at: SocketAddr| at.port() != 0 && others.map(|at| at.port()).contains(&at.port());
    if at.is_some_and(is_used) {
        return Err(COMMAND
            .usage("--metrics-listen uses the port of --listen or --tunnel-listen")
            .hint("use another one, such as 127.0.0.1:8182"));
    }
    Ok(at)
}

fn domain(text: &str) -> Result<String, impl Display + use<>> {
    let name = text.strip_suffix('.').unwrap_or(text);
    check_domain(name).map(|()| name.to_ascii_lowercase())
}

/// URL for tunnels. A relay of a fleet needs its own, because the common address leads to any of them.
fn tunnel_url(parsed: &Parsed, listens: bool, host: &str) -> Result<Option<TunnelUrl>, Failure> {
    let url = COMMAND.read(parsed, &TUNNEL_URL, |text| {
        match text
            .parse::<TunnelUrl>()
            .map_err(|error| error.to_string())?
        {
            url if url.host() == host => Ok(url),
            _ => Err(format!(
                "connectors use no other host than the relay's own, {host}"
            )),
        }
    })?;
    if url.is_none() && !listens && parsed.has(&STORE) {
        let message = "--tunnel-listen none needs --tunnel-url in a fleet";
        let hint = "give each relay a path of its own, such as wss://HOST/.postern/tunnel/1";
        return Err(COMMAND.usage(message).hint(hint));
    }
    Ok(url)
}

fn external_ip(
    parsed: &Parsed,
    tunnel_listen: Option<SocketAddr>,
    domain: &str,
) -> Result<String, Failure> {
    let given = COMMAND.read(parsed, &EXTERNAL_IP, |text| {
        let is_whole = text.contains('.') || text.eq_ignore_ascii_case(DEFAULT_DOMAIN);
        match text.parse::<IpAddr>() {
            Ok(ip) if ip.is_unspecified() || ip.is_multicast() => Err("nobody can connect to it"),
            Err(_) if !is_whole || check_domain(text).is_err() => {
                Err("give an address, such as 203.0.113.7, or a whole host name")
            }
            _ => Ok(text.to_owned()),
        }
    })?;
    match (given, tunnel_listen) {
        (Some(given), _) => Ok(given),
        (None, None) => Ok(domain.to_owned()),
        (None, Some(at)) if at.ip().is_unspecified() => Err(COMMAND.usage(format!(
            "--external-ip is missing: {at} does not say which address connectors dial"
        ))),
        (None, Some(at)) => Ok(at.ip().to_string()),
    }
}

/// Public ports. On loopback nothing is refused, because only this machine's own user is affected.
fn ports(parsed: &Parsed, listen: SocketAddr, is_private: bool) -> Result<PublicPorts, Failure> {
    let is_shared = parsed.has(&SHARED_HOST_PORTS);
    let at = COMMAND.read(parsed, &PORT_LISTEN, |text| match text.parse::<IpAddr>() {
        Err(_) => Err("give an address of this machine, such as 203.0.113.8"),
        Ok(ip) if ip.is_unspecified() || ip.is_multicast() => Err("give a single address"),
        Ok(ip) if ip.to_canonical() == listen.ip().to_canonical() => {
            Err("the sites use this address: give another, or --shared-host-ports")
        }
        Ok(ip) => Ok(ip),
    })?;
    match at {
        Some(_) if is_shared => {
            Err(COMMAND.usage("give --port-listen or --shared-host-ports, not both"))
        }
        Some(ip) => Ok(PublicPorts::At(ip)),
        None if is_shared || is_private => Ok(PublicPorts::Shared),
        None => Ok(PublicPorts::Refused),
    }
}

/// `FIRST-LAST`.
fn port_range(text: &str) -> Result<RangeInclusive<u16>, &'static str> {
    let port = |text| whole_number(text, &PORTS_TO_CHOOSE);
    let ends = text.split_once('-');
    let range = ends.and_then(|(first, last)| Some(port(first)?..=port(last)?));
    let range = range.filter(|range| !range.is_empty());
    range.ok_or("give FIRST-LAST, such as 20000-29999, from 1024 to 65535")
}

/// Enrolment token; a secret that an error does not repeat.
fn enroll_token(parsed: &Parsed) -> Result<Option<Zeroizing<String>>, Failure> {
    let is_usable =
        |token: &str| TOKEN.contains(&token.len()) && !token.chars().any(char::is_control);
    match given_token(parsed) {
        Some(token) if !is_usable(&token) => {
            let message = "--enroll-token: give 12 to 256 bytes without control characters";
            Err(COMMAND.usage(message))
        }
        token => Ok(token),
    }
}

fn trust_proxy(parsed: &Parsed) -> Result<Vec<Cidr>, Failure> {
    let read = |text: &String| {
        let reason = "give an address or a network, such as 127.0.0.1 or 10.0.0.0/8";
        text.parse::<Cidr>()
            .map_err(|_| COMMAND.refuse(&TRUST_PROXY, text, reason))
    };
    parsed.values(&TRUST_PROXY).iter().map(read).collect()
}

fn pass_headers(parsed: &Parsed) -> Result<Vec<String>, Failure> {
    let names = parsed.values(&PASS_HEADER);
    for name in &names {
        let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if name.is_empty() || !name.bytes().all(is_name) {
            let reason = "give a header name, such as Remote-User";
            return Err(COMMAND.refuse(&PASS_HEADER, name, reason));
        }
        if is_never_kept(name) {
            let reason = "the relay sets or removes this header itself";
            return Err(COMMAND.refuse(&PASS_HEADER, name, reason));
        }
    }
    if !names.is_empty() && parsed.values(&TRUST_PROXY).is_empty() {
        return Err(
            COMMAND.usage("--pass-header needs --trust-proxy, the proxy that may set the header")
        );
    }
    Ok(names)
}

/// A whole number in digits.
fn number<T: FromStr + PartialOrd + Display>(
    parsed: &Parsed,
    flag: &Flag,
    range: &RangeInclusive<T>,
) -> Result<Option<T>, Failure> {
    COMMAND.read(parsed, flag, |text| {
        let (least, most) = (range.start(), range.end());
        let reason = || format!("give a whole number from {least} to {most}");
        whole_number(text, range).ok_or_else(reason)
    })
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
