//! One question to an application: does it answer?

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustls::Connection;

use crate::manager::apps::app::AppConfig;
use crate::manager::apps::protocol::Protocol;
use crate::net::authority::authority;
use crate::plugin::SignIn;
use crate::tunnel::target::{self, MayDial};
use crate::tunnel::ws::Tls;

/// Time for one answer of an application, from the name's resolution on: the same as for a visitor's stream.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Bytes of what another protocol says first that are shown: its first line, as a rule.
const SHOWN: usize = 80;
/// What every answer in HTTP/1 begins with.
const HTTP: &[u8] = b"HTTP/";
/// What a TLS server says to who speaks no TLS: an alert (RFC 8446 §5.1).
const TLS: &[u8] = b"\x15\x03";

/// Who is asked, and how. Nobody else ever is.
#[derive(Clone)]
pub(super) enum Probe {
    /// A database: by its web client's own sign-in.
    Database(SignIn),
    /// Anything else: by one connection to it, and where HTTP is spoken, `HEAD /`.
    Target(Protocol, String, u16, Option<MayDial>),
}

/// Asks an application once, without a password.
pub(crate) fn answers(app: &AppConfig) -> Result<(), String> {
    Probe::Target(app.protocol, app.ip.clone(), app.port, None).ask()
}

impl Probe {
    /// That of an application with its own address.
    pub(super) fn of(app: &AppConfig, may_dial: MayDial) -> Self {
        Self::Target(app.protocol, app.ip.clone(), app.port, Some(may_dial))
    }

    /// Asks, and waits for the answer: for [`ANSWER_WITHIN`], or the sign-in's own time.
    pub(super) fn ask(&self) -> Result<(), String> {
        let (protocol, host, port, may_dial) = match self {
            Self::Database(sign_in) => return sign_in(),
            Self::Target(protocol, host, port, may_dial) => {
                (*protocol, host, *port, may_dial.as_ref())
            }
        };
        let deadline = Instant::now() + ANSWER_WITHIN;
        let name = authority(host, port);
        let socket = target::connect(host, port, ANSWER_WITHIN, may_dial, || false)
            .map_err(|error| refusal(&name, &error))?;
        let timed = Timed { socket, deadline };
        match protocol {
            Protocol::Http => head(timed, &name),
            Protocol::Https => head_by_tls(timed, host, &name),
            _ => Ok(()),
        }
    }
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

/// The same inside TLS; the certificate is not verified, as it is not for visitors.
fn head_by_tls(mut timed: Timed, host: &str, name: &str) -> Result<(), String> {
    let mut tls = match Tls::unverified().connection(host) {
        Ok(Connection::Client(tls)) => tls,
        Ok(Connection::Server(_)) => return Err(format!("{name}: no TLS client")),
        Err(error) => return Err(format!("{name}: {error}")),
    };
    while tls.is_handshaking() {
        if let Err(error) = tls.complete_io(&mut timed) {
            return no_handshake(name, &error);
        }
    }
    head(rustls::Stream::new(&mut tls, &mut timed), name)
}

/// An alert is an answer: it may be the name that it misses, which visitors bring.
fn no_handshake(name: &str, error: &io::Error) -> Result<(), String> {
    let of_tls = error.get_ref();
    match of_tls.and_then(|error| error.downcast_ref()) {
        Some(rustls::Error::AlertReceived(_)) => Ok(()),
        Some(rustls::Error::InvalidMessage(_)) => Err(format!("{name} does not speak TLS")),
        Some(error) => Err(format!("{name} cannot be reached by TLS: {error}")),
        None => Err(refusal(name, error)),
    }
}

/// Any answer in HTTP will do.
fn head(mut stream: impl Read + Write, name: &str) -> Result<(), String> {
    let request = format!(
        "HEAD / HTTP/1.1\r\nHost: {name}\r\nUser-Agent: postern/{}\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        env!("CARGO_PKG_VERSION")
    );
    // One that speaks first, and closes, is read all the same.
    let sent = stream
        .write_all(request.as_bytes())
        .and_then(|()| stream.flush());
    let (said, read) = first_words(stream);
    match said.as_slice() {
        said if said.starts_with(HTTP) => Ok(()),
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

/// As much as tells what is spoken, and how the reading ended.
fn first_words(mut stream: impl Read) -> (Vec<u8>, io::Result<()>) {
    let mut said = Vec::new();
    while said.len() < SHOWN && is_needed(&said) {
        let mut buffer = [0; SHOWN];
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => said.extend(buffer.iter().take(count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (said, Err(error)),
        }
    }
    (said, Ok(()))
}

/// Whether it cannot be told yet what is spoken: the beginning fits HTTP, or the first line of something else is not
/// complete.
fn is_needed(said: &[u8]) -> bool {
    match said.get(..HTTP.len()) {
        Some(begin) => begin != HTTP && !said.contains(&b'\n'),
        None => true,
    }
}

/// The first line of it, fit to be shown.
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
            format!("{name} leads to postern itself, which is not shared")
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
        HostUnreachable | NetworkUnreachable => format!("there is no way to {name}"),
        NotFound => format!("{name} is not known to the network: the name has no address"),
        _ => format!("{name} cannot be reached: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// The answer about something that says this to whoever comes, and its address.
    fn about(protocol: Protocol, said: &'static [u8]) -> (Result<(), String>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let name = listener.local_addr().unwrap().to_string();
        let port = listener.local_addr().unwrap().port();
        let target = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            // What asks for no answer is gone by now.
            let _ = socket.write_all(said);
            let _ = socket.shutdown(std::net::Shutdown::Write);
            let _ = socket.read(&mut [0; 1024]);
        });
        let answer = Probe::Target(protocol, "127.0.0.1".into(), port, None).ask();
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

    #[test]
    fn one_that_is_not_there_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        for protocol in [Protocol::Http, Protocol::Https, Protocol::Tcp] {
            let answer = Probe::Target(protocol, "127.0.0.1".into(), port, None).ask();
            assert_eq!(answer, Err(format!("127.0.0.1:{port} refuses connections")));
        }
    }
}
