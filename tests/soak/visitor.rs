//! Visitors: each visit asks for something whose every byte it can check, and tells whether that came whole, was refused,
//! or visibly broke. A visit that seems whole and is not, is wrong.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use support::http::{Conn, Response};

use crate::application::{BINARY, CLOSE, SMALL, event, frame, read_frame};
use crate::content::{Random, content, told_of};
use crate::ledger::{Ledger, Outcome, Told};

/// Longest silence that a visitor bears.
const PATIENCE: Duration = Duration::from_secs(15);
/// Bytes of a large body.
const LARGE: std::ops::Range<usize> = 300_000..4_000_000;
/// Statuses that mean "not available now": time-outs, not connected, too many.
const REFUSALS: [u16; 7] = [404, 408, 410, 429, 502, 503, 504];
/// Words that the web client adds if nobody can say whether a statement ran.
const CHECK_EFFECT: &str = "check whether it took effect";

/// All kinds of visits.
pub(crate) const KINDS: [&str; 14] = [
    "kept connection",
    "pipelined",
    "large down",
    "chunked down",
    "range",
    "head",
    "slow answer",
    "large up",
    "chunked up",
    "100-continue",
    "websocket",
    "event stream",
    "sign-in with a code",
    "tcp",
];
/// The kind of visit that adds a row.
pub(crate) const INSERT: &str = "INSERT";

/// Addresses and names that visitors use.
pub(crate) struct Places {
    /// The gateway, as they reach it.
    pub(crate) gateway: SocketAddr,
    /// The port in the sites' names.
    pub(crate) port: u16,
    /// Names of sites that are open.
    pub(crate) open: Vec<String>,
    /// The site with a code, and the path that signs in.
    pub(crate) hidden: (String, String),
    /// The site of the database.
    pub(crate) database: String,
    /// Public ports.
    pub(crate) tcp: Vec<SocketAddr>,
}

/// Reason for which a visit did not end well. A wrong answer is more than a failure.
pub(crate) enum Failure {
    Refused(u16),
    Broken(io::Error),
    Wrong(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // The client's word for what is not HTTP.
            ErrorKind::InvalidData => Self::Wrong(error.to_string()),
            _ => Self::Broken(error),
        }
    }
}

type Visit = Result<(), Failure>;

/// A visitor, who makes visits one after the other.
pub(crate) struct Visitor<'a> {
    pub(crate) places: &'a Places,
    pub(crate) ledger: &'a Ledger,
    pub(crate) random: Random,
}

impl Visitor<'_> {
    /// A visit of any kind.
    pub(crate) fn visit(&mut self) {
        let kind = *self.random.of_list(&KINDS);
        self.visit_as(kind);
    }

    pub(crate) fn visit_as(&mut self, kind: &'static str) {
        let key = self.random.next();
        let done = match kind {
            "kept connection" => self.kept(key),
            "pipelined" => self.pipelined(key),
            "large down" => self.down("body", key),
            "chunked down" => self.down("chunked", key),
            "range" => self.range(key),
            "head" => self.head(key),
            "slow answer" => self.slow(key),
            "large up" | "chunked up" | "100-continue" => self.up(key, kind),
            "websocket" => self.websocket(key),
            "event stream" => self.events(key),
            "sign-in with a code" => self.sign_in(key),
            "tcp" => self.tcp(key),
            _ => self.insert(key),
        };
        let outcome = match done {
            Ok(()) => Outcome::Whole,
            Err(Failure::Refused(status)) => Outcome::Refused(status),
            Err(Failure::Broken(error)) => Outcome::Broken(error.kind().to_string()),
            Err(Failure::Wrong(what)) => {
                self.ledger.wrong(format!("{kind} {key}: {what}"));
                Outcome::Broken("what is wrong".to_owned())
            }
        };
        self.ledger.visited(kind, outcome);
    }

    fn site(&mut self) -> String {
        self.random.of_list(&self.places.open).clone()
    }

    fn open(&self) -> io::Result<Conn> {
        let conn = Conn::open(&self.places.gateway.to_string())?;
        conn.socket().set_read_timeout(Some(PATIENCE))?;
        conn.socket().set_write_timeout(Some(PATIENCE))?;
        Ok(conn)
    }

    /// The head of a request; `lines` end in CR LF.
    fn request(&self, method: &str, site: &str, path: &str, lines: &str) -> String {
        let port = self.places.port;
        format!("{method} {path} HTTP/1.1\r\nHost: {site}.localhost:{port}\r\n{lines}\r\n")
    }

    /// Several requests on one connection, with pauses.
    fn kept(&mut self, key: u64) -> Visit {
        let site = self.site();
        let mut conn = self.open()?;
        for number in 0..self.random.within(2..6) as u64 {
            let (key, length) = (key.wrapping_add(number), self.random.within(0..20_000));
            let path = format!("/body/{key}/{length}");
            conn.send_raw(self.request("GET", &site, &path, "").as_bytes())?;
            let (answer, kept) = conn.receive("GET")?;
            is_content(&answer, 200, key, 0..length)?;
            let Some(kept) = kept.filter(|_| !closes(&answer)) else {
                return Ok(());
            };
            conn = kept;
            std::thread::sleep(Duration::from_millis(self.random.next() % 80));
        }
        Ok(())
    }

    /// All requests at once; the answers come in order.
    fn pipelined(&mut self, key: u64) -> Visit {
        let (site, count) = (self.site(), self.random.within(2..8));
        let lengths: Vec<usize> = (0..count).map(|_| self.random.within(0..50_000)).collect();
        let keyed = || (key..).zip(&lengths);
        let requests = keyed().map(|(key, length)| {
            let path = format!("/body/{key}/{length}");
            self.request("GET", &site, &path, "")
        });
        let requests: String = requests.collect();
        let mut conn = self.open()?;
        conn.send_raw(requests.as_bytes())?;
        for (key, length) in keyed() {
            let (answer, kept) = conn.receive("GET")?;
            is_content(&answer, 200, key, 0..*length)?;
            match kept.filter(|_| !closes(&answer)) {
                Some(kept) => conn = kept,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    fn down(&mut self, how: &str, key: u64) -> Visit {
        let (site, length) = (self.site(), self.random.within(LARGE));
        let answer = self.get(&site, &format!("/{how}/{key}/{length}"), "")?;
        is_content(&answer, 200, key, 0..length)
    }

    fn get(&self, site: &str, path: &str, lines: &str) -> Result<Response, Failure> {
        let mut conn = self.open()?;
        conn.send_raw(self.request("GET", site, path, lines).as_bytes())?;
        Ok(conn.receive("GET")?.0)
    }

    fn range(&mut self, key: u64) -> Visit {
        let (site, length) = (self.site(), self.random.within(1_000..500_000));
        let from = self.random.within(0..length);
        let until = self.random.within(from + 1..length + 1);
        let line = format!("Range: bytes={from}-{}\r\n", until - 1);
        let answer = self.get(&site, &format!("/body/{key}/{length}"), &line)?;
        is_content(&answer, 206, key, from..until)
    }

    fn head(&mut self, key: u64) -> Visit {
        let (site, length) = (self.site(), self.random.within(0..1_000_000));
        let path = format!("/body/{key}/{length}");
        let mut conn = self.open()?;
        conn.send_raw(self.request("HEAD", &site, &path, "").as_bytes())?;
        let (answer, _) = conn.receive("HEAD")?;
        has_status(&answer, 200)?;
        let told = answer.header("content-length").unwrap_or_default();
        same("the length", told, &length.to_string())
    }

    fn slow(&mut self, key: u64) -> Visit {
        let (site, millis) = (self.site(), self.random.within(100..2_000));
        let answer = self.get(&site, &format!("/slow/{key}/{millis}"), "")?;
        is_content(&answer, 200, key, 0..SMALL)
    }

    /// A body with its length, in chunks, or after the application has asked for it.
    fn up(&mut self, key: u64, kind: &str) -> Visit {
        let site = self.site();
        let body = content(key, 0, self.random.within(1..2_000_000));
        let told = told_of(&body);
        let framing = match kind {
            "chunked up" => "Transfer-Encoding: chunked\r\n".to_owned(),
            "100-continue" => format!("Content-Length: {}\r\nExpect: 100-continue\r\n", body.len()),
            _ => format!("Content-Length: {}\r\n", body.len()),
        };
        let lines = format!("{framing}X-Told: {told}\r\n");
        let mut conn = self.open()?;
        conn.send_raw(
            self.request("POST", &site, &format!("/up/{key}"), &lines)
                .as_bytes(),
        )?;
        if kind == "100-continue" {
            match conn.receive("POST")? {
                (answer, Some(kept)) if answer.status() == 100 => conn = kept,
                (answer, _) => return has_status(&answer, 100),
            }
        }
        // A server that refuses may not read to the end, and its answer still counts.
        let sent = if kind == "chunked up" {
            self.send_chunks(&mut conn, &body)
        } else {
            conn.send_raw(&body)
        };
        let (answer, _) = match (conn.receive("POST"), sent) {
            (Err(_), Err(error)) => return Err(error.into()),
            (received, _) => received?,
        };
        has_status(&answer, 200)?;
        same("what came", answer.text(), &told)
    }

    fn send_chunks(&mut self, conn: &mut Conn, body: &[u8]) -> io::Result<()> {
        let mut left = body;
        while !left.is_empty() {
            let (piece, rest) = left.split_at(self.random.within(1..100_000).min(left.len()));
            conn.send_raw(format!("{:x}\r\n", piece.len()).as_bytes())?;
            conn.send_raw(piece)?;
            conn.send_raw(b"\r\n")?;
            left = rest;
        }
        conn.send_raw(b"0\r\n\r\n")
    }

    fn websocket(&mut self, key: u64) -> Visit {
        let site = self.site();
        let lines = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        let mut conn = self.open()?;
        conn.send_raw(self.request("GET", &site, "/ws", lines).as_bytes())?;
        let (answer, kept) = conn.receive("GET")?;
        has_status(&answer, 101)?;
        // Nothing comes before it was asked for, so nothing is in the connection's buffer.
        let conn = kept.expect("it goes on after an upgrade");
        let mut socket = conn.socket();
        for number in 0..self.random.within(1..20) as u64 {
            let payload = content(key.wrapping_add(number), 0, self.random.within(0..70_000));
            let mask = (self.random.next() as u32).to_be_bytes();
            socket.write_all(&frame(BINARY, &payload, Some(mask)))?;
            if read_frame(&mut socket)? != (BINARY, payload) {
                return Err(Failure::Wrong("another frame came back".to_owned()));
            }
        }
        socket.write_all(&frame(CLOSE, &[], Some([1, 2, 3, 4])))?;
        read_frame(&mut socket)?;
        Ok(())
    }

    fn events(&mut self, key: u64) -> Visit {
        let (site, count) = (self.site(), self.random.within(1..40));
        let answer = self.get(&site, &format!("/events/{key}/{count}"), "")?;
        has_status(&answer, 200)?;
        let wanted: String = (0..count).map(|number| event(key, number)).collect();
        same("the events", answer.text(), &wanted)
    }

    /// Without the code nothing is shown, with it everything.
    fn sign_in(&mut self, key: u64) -> Visit {
        let (site, way_in) = self.places.hidden.clone();
        let length = self.random.within(0..50_000);
        let path = format!("/body/{key}/{length}");
        let shut = self.get(&site, &path, "")?;
        has_status(&shut, 401)?;
        let entered = self.get(&site, &way_in, "")?;
        has_status(&entered, 303)?;
        let cookie = entered.cookie();
        let cookie = cookie.ok_or_else(|| Failure::Wrong("no cookie".to_owned()))?;
        let answer = self.get(&site, &path, &format!("Cookie: {cookie}\r\n"))?;
        is_content(&answer, 200, key, 0..length)
    }

    fn tcp(&mut self, key: u64) -> Visit {
        let address = *self.random.of_list(&self.places.tcp);
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        for number in 0..self.random.within(1..4) as u64 {
            let (key, length) = (key.wrapping_add(number), self.random.within(0..300_000));
            stream.write_all(format!("{key} {length}\n").as_bytes())?;
            let mut body = vec![0; length];
            stream.read_exact(&mut body)?;
            if body != content(key, 0, length) {
                return Err(Failure::Wrong(format!("{length} other bytes")));
            }
        }
        Ok(())
    }

    /// Adds a row with a number that no other has, once.
    fn insert(&mut self, key: u64) -> Visit {
        let number = key >> 1;
        // Until something else is known.
        self.ledger.told(number, Told::Unknown);
        let body = json!({"sql": format!("INSERT INTO soak.ran VALUES ({number})"), "db": ""});
        let body = body.to_string();
        let lines = format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
        let mut conn = self.open()?;
        let head = self.request("POST", &self.places.database, "/api/query", &lines);
        conn.send_raw([head.as_bytes(), body.as_bytes()].concat().as_slice())?;
        let (answer, _) = conn.receive("POST")?;
        let told = what_is_told(&answer);
        self.ledger.told(number, told);
        match told {
            Told::Ran => Ok(()),
            _ if answer.status() == 200 => Err(Failure::Refused(500)),
            _ => Err(Failure::Refused(answer.status())),
        }
    }
}

/// Effect of a statement according to its answer. Only the web client's own words count.
fn what_is_told(answer: &Response) -> Told {
    let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let message = said["message"].as_str().unwrap_or_default();
    if answer.status() == 200 && said["code"] == 200 {
        return Told::Ran;
    }
    // With the server's number it is the server that has refused it; else it was not reached.
    let is_certain = said["error"]["errno"].is_u64() || message.starts_with("cannot connect to ");
    if is_certain && !message.contains(CHECK_EFFECT) {
        Told::DidNotRun
    } else {
        Told::Unknown
    }
}

fn has_status(answer: &Response, wanted: u16) -> Visit {
    match answer.status() {
        status if status == wanted => Ok(()),
        status if REFUSALS.contains(&status) => Err(Failure::Refused(status)),
        status => Err(Failure::Wrong(format!(
            "the status {status}, not {wanted}: {:.300}",
            String::from_utf8_lossy(&answer.body)
        ))),
    }
}

/// Checks that an answer is exactly this part of the body of this key.
fn is_content(answer: &Response, status: u16, key: u64, part: std::ops::Range<usize>) -> Visit {
    has_status(answer, status)?;
    let wanted = content(key, part.start, part.end);
    same("the body", &told_of(&answer.body), &told_of(&wanted))
}

fn same(what: &str, is: &str, wanted: &str) -> Visit {
    if is == wanted {
        return Ok(());
    }
    Err(Failure::Wrong(format!(
        "{what} is {is:.300}, not {wanted:.300}"
    )))
}

fn closes(answer: &Response) -> bool {
    let value = answer.header("connection").unwrap_or_default();
    value.eq_ignore_ascii_case("close")
}
