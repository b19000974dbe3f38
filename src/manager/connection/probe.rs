//! Probe of an application, and the health that follows from its result.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use httparse::{EMPTY_HEADER, ParserConfig, Response, Status};
use rustls::Connection;

use crate::api::Word;
use crate::gateway::{Naming, ServerKind, TARGETS_HOST, head_of_visitor};
use crate::limits::ANSWER_HEADERS;
use crate::manager::apps::app::AppConfig;
use crate::manager::apps::protocol::Protocol;
use crate::manager::site::SiteNames;
use crate::net::authority::authority;
use crate::net::in_words;
use crate::plugin::SignIn;
use crate::store::time::rfc3339;
use crate::tunnel::target::{self, MayDial};
use crate::tunnel::ws::Tls;

pub(super) use crate::api::{Health, HealthState};

/// Time for one answer of an application, from the name's resolution on: the same as for a visitor's stream.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Bytes shown of a first message in another protocol: usually its first line.
const SHOWN: usize = 80;
/// First bytes of every HTTP/1 answer.
const HTTP: &[u8] = b"HTTP/";
/// First bytes of a TLS server's answer to a client without TLS: an alert (RFC 8446 §5.1).
const TLS: &[u8] = b"\x15\x03";

/// Bytes read of the head of a redirect.
const HEAD: usize = 8 * 1024;
/// Statuses of servers that reject the host name (RFC 9110 section 15.5): Django says 400, Vite 403, a
/// web server with other names 404 or 421.
const REFUSES_NAME: [u16; 4] = [400, 403, 404, 421];
/// Hint for an application that does not know the name of its site.
const HINT: &str =
    "set its Host header to 'target' (--host target) or to a name it accepts (--host NAME)";
/// Hint for an application that requires `https` and does not see that visitors use it.
const HTTPS_HINT: &str = "put https:// before the name in its Host header (--host https://NAME)";

/// Target of a health check, and how it is checked. Nothing else is ever probed.
#[derive(Clone)]
pub(super) enum Probe {
    /// A database: by its web client's own sign-in.
    Database(SignIn),
    /// Anything else: by one connection to it, and where HTTP is spoken, `HEAD /`.
    Target(TargetProbe),
}

/// An application with its own address.
#[derive(Clone)]
pub(super) struct TargetProbe {
    protocol: Protocol,
    host: String,
    port: u16,
    may_dial: Option<MayDial>,
    /// Names by which visitors ask for an application that speaks HTTP.
    names: Option<Arc<SiteNames>>,
}

/// Answer of an HTTP application.
#[derive(Debug, PartialEq, Eq)]
struct HeadAnswer {
    /// None if that is invalid.
    status: Option<u16>,
    location: Option<Vec<u8>>,
}

/// Asks an application once, without a password.
pub(crate) fn answers(app: &AppConfig) -> Result<(), String> {
    let answer = Probe::of(app, None, None).ask();
    answer.map_err(|failing| failing.error)
}

impl Probe {
    /// Probe of an application with its own address.
    pub(super) fn of(
        app: &AppConfig,
        names: Option<Arc<SiteNames>>,
        may_dial: Option<MayDial>,
    ) -> Self {
        Self::Target(TargetProbe {
            protocol: app.protocol,
            host: app.ip.clone(),
            port: app.port,
            may_dial,
            names,
        })
    }

    /// Asks, and waits for the answer: for [`ANSWER_WITHIN`] a question, or the sign-in's own time.
    pub(super) fn ask(&self) -> HealthResult {
        match self {
            Self::Database(sign_in) => Ok(sign_in()?),
            Self::Target(target) => match target.protocol {
                Protocol::Http | Protocol::Https => target.ask_http(),
                _ => Ok(target.connect().map(drop)?),
            },
        }
    }
}

impl TargetProbe {
    fn name(&self) -> String {
        authority(&self.host, self.port)
    }

    fn connect(&self) -> Result<Timed, String> {
        let deadline = Instant::now() + ANSWER_WITHIN;
        let may_dial = self.may_dial.as_ref();
        let socket = target::connect(&self.host, self.port, ANSWER_WITHIN, may_dial, || false);
        let socket = socket.map_err(|error| refusal(&self.name(), &error))?;
        Ok(Timed { socket, deadline })
    }

    /// Asks as a visitor would.
    fn ask_http(&self) -> HealthResult {
        let own = self.name();
        let Some(names) = &self.names else {
            return Ok(self.head(&self.naming_by_address()).map(drop)?);
        };
        let answer = self.head(&names.naming)?;
        if let Some(why) = names.refused_answer() {
            let error = format!("an answer of {own} to a visitor is not valid HTTP: {why}");
            return Err(error.into());
        }
        match answer {
            None => failing(format!(
                "{own} refuses TLS for the name {}",
                self.tls_name(&names.naming)
            )),
            Some(answer) => self.judge(names, &answer),
        }
    }

    /// Naming of the setting `target`, with the scheme that the application sees now.
    fn naming_by_address(&self) -> Naming {
        let is_tls = self.protocol == Protocol::Https;
        let (scheme, (site_url, server)) = match &self.names {
            Some(names) => (names.naming.asked_scheme(), names.naming.at()),
            None => (self.protocol.name(), ("", ServerKind::Ours)),
        };
        let header = format!("{scheme}://{TARGETS_HOST}");
        let target = (self.host.as_str(), self.port);
        Naming::new(&header, target, is_tls, site_url, server)
    }

    fn tls_name<'a>(&'a self, naming: &'a Naming) -> &'a str {
        naming.asked_tls_name().unwrap_or(&self.host)
    }

    /// Checks an answer for problems that visitors would have.
    fn judge(&self, names: &SiteNames, answer: &HeadAnswer) -> HealthResult {
        let (own, naming) = (self.name(), &names.naming);
        let link = answer.location.as_ref();
        if link.is_some_and(|link| naming.insists_on_https(link)) {
            return Err(HealthFailure {
                error: format!("{own} redirects to https in a loop"),
                hint: Some(HTTPS_HINT),
            });
        }
        if link.is_some_and(|link| names.naming.is_trap(link)) || names.has_named_itself() {
            let error = format!("{own} redirects visitors to its own, unreachable address");
            return failing(error);
        }
        let is_visitors = naming.is_visitors();
        // A name that the user set may have no first page.
        let is_refusal =
            |status: &u16| REFUSES_NAME.contains(status) && (is_visitors || *status != 404);
        let by_address = self.naming_by_address();
        let (Some(status), Some(host)) = (answer.status.filter(is_refusal), naming.asked_host())
        else {
            return Ok(());
        };
        if by_address.asked_host() == Some(host) {
            return Ok(());
        }
        let by_own = self.head(&by_address).ok().flatten();
        match by_own.and_then(|answer| answer.status) {
            Some(by_own @ ..400) => failing(format!(
                "{own} answers {status} for the host name {host}, but {by_own} for its own name"
            )),
            _ => Ok(()),
        }
    }

    /// The answer to a visitor's `HEAD /`; none where TLS was refused by an alert.
    fn head(&self, naming: &Naming) -> Result<Option<HeadAnswer>, String> {
        let timed = self.connect()?;
        let request = head_of_visitor(naming);
        match self.protocol {
            Protocol::Https => {
                let tls_name = self.tls_name(naming);
                head_by_tls(timed, &request, tls_name, &self.name())
            }
            _ => head(timed, &request, &self.name()).map(Some),
        }
    }
}

/// Failure of an application that does not know the name it is asked by.
fn failing(error: String) -> HealthResult {
    let hint = Some(HINT);
    Err(HealthFailure { error, hint })
}

/// A socket whose reads and writes all end at one time.
struct Timed {
    socket: TcpStream,
    deadline: Instant,
}

impl Timed {
    /// The time that is left, never none: that would mean no limit.
    fn left(&self) -> io::Result<Option<Duration>> {
        self.socket.set_nonblocking(false)?;
        match self.deadline.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Asks inside TLS, without verifying the certificate, as for visitors.
fn head_by_tls(
    mut timed: Timed,
    request: &[u8],
    tls_name: &str,
    name: &str,
) -> Result<Option<HeadAnswer>, String> {
    let mut tls = match Tls::unverified().connection(tls_name) {
        Ok(Connection::Client(tls)) => tls,
        Ok(Connection::Server(_)) => return Err(format!("{name}: no TLS client")),
        Err(error) => return Err(format!("{name}: {}", in_words(error))),
    };
    while tls.is_handshaking() {
        if let Err(error) = tls.complete_io(&mut timed) {
            return no_handshake(name, &error).map(|()| None);
        }
    }
    head(rustls::Stream::new(&mut tls, &mut timed), request, name).map(Some)
}

/// Returns Ok for an alert, which is an answer: the server may not know the name.
fn no_handshake(name: &str, error: &io::Error) -> Result<(), String> {
    let of_tls = error.get_ref();
    match of_tls.and_then(|error| error.downcast_ref()) {
        Some(rustls::Error::AlertReceived(_)) => Ok(()),
        Some(rustls::Error::InvalidMessage(_)) => Err(format!("{name} does not speak TLS")),
        Some(error) => Err(format!(
            "{name} cannot be reached over TLS: {}",
            in_words(error)
        )),
        None => Err(refusal(name, error)),
    }
}

/// Sends the request and reads the answer; any answer in HTTP will do.
fn head(mut stream: impl Read + Write, request: &[u8], name: &str) -> Result<HeadAnswer, String> {
    // A server that speaks first and closes is read all the same.
    let sent = stream.write_all(request).and_then(|()| stream.flush());
    let mut said = Vec::new();
    let read = read_more(&mut said, &mut stream, SHOWN, is_known);
    match said.as_slice() {
        said if said.starts_with(HTTP) => Ok(HeadAnswer::of(said.to_vec(), stream)),
        [] => match sent.and(read) {
            Err(error) => Err(refusal(name, &error)),
            Ok(()) => Err(format!("{name} closed the connection without an answer")),
        },
        said if said.starts_with(TLS) => Err(format!(
            "{name} does not speak HTTP but TLS; is it an https application?"
        )),
        said => Err(format!(
            "{name} does not speak HTTP: it said “{}”",
            first_line(said)
        )),
    }
}

impl HeadAnswer {
    /// Reads an answer that begins with `said`; the rest of the head is read only for a redirect.
    fn of(mut said: Vec<u8>, mut rest: impl Read) -> Self {
        let is_enough = |said: &[u8]| {
            let (answer, is_partial) = Self::parse(said);
            !is_partial || answer.status.is_some_and(|status| status / 100 != 3)
        };
        // An answer that breaks off is judged by its beginning.
        let _ = read_more(&mut said, &mut rest, HEAD, is_enough);
        said.extend(b"\r\n\r\n");
        Self::parse(&said).0
    }

    /// Parses the answer so far, without invalid lines; also returns true if more may follow.
    fn parse(said: &[u8]) -> (Self, bool) {
        let mut lines = [EMPTY_HEADER; ANSWER_HEADERS];
        let mut answer = Response::new(&mut lines);
        let mut config = ParserConfig::default();
        config.ignore_invalid_headers_in_responses(true);
        let is_partial = config.parse_response(&mut answer, said) == Ok(Status::Partial);
        let (status, mut lines) = (answer.code, answer.headers.iter());
        let leads_on = status.filter(|status| status / 100 == 3);
        let line =
            leads_on.and_then(|_| lines.find(|line| line.name.eq_ignore_ascii_case("location")));
        let location = line.map(|line| line.value.to_vec());
        (Self { status, location }, is_partial)
    }
}

/// Reads on until `is_enough`, or until there are `most` bytes.
fn read_more(
    said: &mut Vec<u8>,
    from: &mut impl Read,
    most: usize,
    is_enough: impl Fn(&[u8]) -> bool,
) -> io::Result<()> {
    while said.len() < most && !is_enough(said) {
        let mut buffer = [0; 512];
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => said.extend(buffer.iter().take(count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// True if the protocol can be known: it is HTTP, or the first line of something else is complete.
fn is_known(said: &[u8]) -> bool {
    let begin = said.get(..HTTP.len());
    begin.is_some_and(|begin| begin == HTTP || said.contains(&b'\n'))
}

/// Returns the first line, escaped and cut for display.
fn first_line(said: &[u8]) -> String {
    let line = said.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let shown = String::from_utf8_lossy(line.get(..SHOWN).unwrap_or(line))
        .trim_end()
        .escape_debug()
        .to_string();
    let is_cut = line.len() > SHOWN || (line.len() == said.len() && said.len() >= SHOWN);
    if is_cut { format!("{shown}…") } else { shown }
}

fn refusal(name: &str, error: &io::Error) -> String {
    use io::ErrorKind::{
        ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable, NotFound,
        TimedOut, UnexpectedEof, WouldBlock,
    };
    match error.kind() {
        _ if target::is_forbidden(error) => {
            format!("{name} is postern itself, which cannot be shared")
        }
        ConnectionRefused => format!("{name} refuses connections"),
        TimedOut | WouldBlock => {
            format!(
                "{name} does not answer within {} s",
                ANSWER_WITHIN.as_secs()
            )
        }
        ConnectionReset | UnexpectedEof => {
            format!("{name} closed the connection without an answer")
        }
        HostUnreachable | NetworkUnreachable => format!("no route to {name}"),
        NotFound => format!("cannot find the host of {name} (no DNS entry); use PORT or HOST:PORT"),
        _ => format!("{name} cannot be reached: {}", in_words(error)),
    }
}

/// Failure of a health check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HealthFailure {
    /// Error.
    pub(super) error: String,
    /// Hint; none if the error contains it.
    pub(super) hint: Option<&'static str>,
}

impl From<String> for HealthFailure {
    fn from(error: String) -> Self {
        Self { error, hint: None }
    }
}

/// Result of a health check.
pub(super) type HealthResult = Result<(), HealthFailure>;

impl Health {
    /// Applies a result; true if the state has changed.
    pub(super) fn take(&mut self, answer: HealthResult) -> bool {
        let state = match answer {
            Ok(()) => HealthState::Ok,
            Err(_) => HealthState::Failing,
        };
        let is_new = state != self.state;
        if is_new {
            self.since = Some(rfc3339(SystemTime::now()));
        }
        let failing = answer.err();
        self.hint = failing
            .as_ref()
            .and_then(|failing| failing.hint.map(Word::from));
        (self.state, self.error) = (state, failing.map(|failing| failing.error));
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn ask(protocol: Protocol, port: u16) -> Result<(), String> {
        let probe = Probe::Target(TargetProbe {
            protocol,
            host: "127.0.0.1".into(),
            port,
            may_dial: None,
            names: None,
        });
        probe.ask().map_err(|failing| failing.error)
    }

    /// The answer about something that says this to whoever comes, and its address.
    fn about(protocol: Protocol, said: &'static [u8]) -> (Result<(), String>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let name = listener.local_addr().unwrap().to_string();
        let port = listener.local_addr().unwrap().port();
        let target = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            // A client that wants no answer has left by now.
            let _ = socket.write_all(said);
            let _ = socket.shutdown(std::net::Shutdown::Write);
            let _ = socket.read(&mut [0; 1024]);
        });
        let answer = ask(protocol, port);
        target.join().unwrap();
        (answer, name)
    }

    #[test]
    fn any_answer_in_http_is_well() {
        for said in [
            &b"HTTP/1.1 500 No\r\n\r\n"[..],
            b"HTTP/1.0 200\r\n\r\n",
            b"HTTP/2 200",
        ] {
            assert_eq!(about(Protocol::Http, said).0, Ok(()));
        }
        assert_eq!(about(Protocol::Ssh, b"SSH-2.0-x\r\n").0, Ok(()));
        assert_eq!(about(Protocol::Tcp, b"").0, Ok(()));
    }

    #[test]
    fn what_speaks_something_else_is_quoted() {
        let long = b"x".repeat(200).leak();
        for (said, shown) in [
            (
                &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
                "it said “SSH-2.0-OpenSSH_9.2”",
            ),
            (b"no\x1b[2J\nsecond", "it said “no\\u{1b}[2J”"),
            (b"\x15\x03\x01\0\x02\x02\x16", "is it an https application?"),
            (b"HTT", "it said “HTT”"),
            (long, "xxx…”"),
            (b"", "closed the connection without an answer"),
        ] {
            let (answer, name) = about(Protocol::Http, said);
            let error = answer.unwrap_err();
            assert!(
                error.starts_with(&name) && error.ends_with(shown),
                "{error}"
            );
        }
        let (answer, name) = about(Protocol::Https, b"HTTP/1.1 400 Bad Request\r\n\r\n");
        assert!(
            answer
                .unwrap_err()
                .starts_with(&format!("{name} does not speak TLS"))
        );
    }

    /// Half of a head is read too, and one with invalid lines.
    #[test]
    fn a_head_says_its_status_and_where_it_leads_as_far_as_it_can_be_read() {
        for (said, status, location) in [
            ("HTTP/1.1 200", Some(200), None),
            ("HTTP/1.1 20", None, None),
            ("HTTP/1.1 403 \u{1}\r\n", Some(403), None),
            ("HTTP/1.1 200 OK\r\nLocation: /a\r\n\r\n", Some(200), None),
            (
                "HTTP/1.1 302 F\r\nlocation:/a \r\n\r\n/b",
                Some(302),
                Some("/a"),
            ),
            ("HTTP/1.0 301\nLOCATION: /a\n\n", Some(301), Some("/a")),
            ("HTTP/1.1 302 F\r\nLocation: /a", Some(302), Some("/a")),
            (
                "HTTP/1.1 302 F\r\nLocation: /a\r\n b\r\n\r\n",
                Some(302),
                Some("/a"),
            ),
            ("HTTP/1.1 302 F\r\nLocation : /a\r\n\r\n", Some(302), None),
            (
                "HTTP/1.1 302 F\r\nno colon\r\nX: \u{1}\r\n\u{e4}: 1\r\nLocation: /a\r\n\r\n",
                Some(302),
                Some("/a"),
            ),
            (
                "HTTP/1.1 302 F\r\nLocation: /a\r\nLocation: /b\r\n\r\n",
                Some(302),
                Some("/a"),
            ),
            ("HTTP/1.1 302 F\r\n\r\n", Some(302), None),
            ("HTTP/2 200\r\n\r\n", None, None),
        ] {
            let answer = HeadAnswer::of(said.as_bytes().to_vec(), io::empty());
            let location = location.map(|link: &str| link.as_bytes().to_vec());
            assert_eq!(answer, HeadAnswer { status, location }, "{said}");
        }
    }

    #[test]
    fn one_that_is_not_there_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        for protocol in [Protocol::Http, Protocol::Https, Protocol::Tcp] {
            let answer = ask(protocol, port);
            assert_eq!(answer, Err(format!("127.0.0.1:{port} refuses connections")));
        }
    }

    #[test]
    fn a_state_has_the_time_of_its_beginning() {
        let mut health = Health::default();
        assert!(health.take(Err("a".to_owned().into())));
        let since = health.since.clone();
        assert!(since.is_some() && !health.take(Err("b".to_owned().into())));
        assert_eq!(
            (health.error.as_deref(), &health.since),
            (Some("b"), &since)
        );
        assert!(health.take(Ok(())));
        assert_eq!((health.state, health.error), (HealthState::Ok, None));
    }
}
