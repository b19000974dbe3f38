//! A tiny blocking HTTP/1.1 client that shares no code with the program, so that neither hides the other's faults.
//!
//! It is strict where a lenient client would hide a fault: a body that ends early, a bad chunk, or bytes after the
//! end of an answer are errors.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longest silence that is borne from the server.
const READ_TIMEOUT: Duration = Duration::from_secs(120);

/// Longest head that is read; 64 KiB is twice what the program itself would take.
const HEAD_LIMIT: u64 = 64 * 1024;

/// A connection that is opened on first use, kept alive, and opened anew when the server closed it.
///
/// It sends the `Host` and, with every method, the `Origin` that a page of this very server would send.
pub struct Client {
    authority: String,
    cookie: Option<String>,
    conn: Option<Conn>,
}

/// Status line and headers.
#[derive(Clone, Debug)]
pub struct Head {
    /// Status code.
    pub status: u16,
    /// Names in lower case, in the order received.
    pub headers: Vec<(String, String)>,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// Status line and headers.
    pub head: Head,
    /// The body without its transfer coding.
    pub body: Vec<u8>,
}

/// One connection, for tests that care about its bytes.
pub struct Conn {
    stream: BufReader<TcpStream>,
}

/// An answer whose body is read as it comes; a cut-off transfer is an `UnexpectedEof`.
pub struct Incoming {
    /// Status line and headers.
    pub head: Head,
    conn: Conn,
    framing: Framing,
}

/// Rule by which the end of a body is found.
enum Framing {
    Length(u64),
    Chunk { left: u64, first: bool },
    UntilClose,
    Done,
}

impl Client {
    /// For the server at `authority` (`HOST:PORT`).
    pub fn new(authority: &str) -> Client {
        Client {
            authority: authority.to_owned(),
            cookie: None,
            conn: None,
        }
    }

    /// Sends this `Cookie` header from now on.
    pub fn set_cookie(&mut self, cookie: &str) {
        self.cookie = Some(cookie.to_owned());
    }

    /// GET.
    #[track_caller]
    pub fn get(&mut self, path: &str) -> Response {
        self.send("GET", path, &[], b"")
    }

    /// POST of a JSON body.
    #[track_caller]
    pub fn post(&mut self, path: &str, body: &Value) -> Response {
        let body = body.to_string();
        self.send("POST", path, &[JSON], body.as_bytes())
    }

    /// Any request; panics when the exchange fails.
    #[track_caller]
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        self.try_send(method, path, headers, body)
            .unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    /// Any request.
    pub fn try_send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Response> {
        let incoming = self.stream(method, path, headers, body)?;
        let keep = incoming.head.keeps_alive();
        let (response, conn) = incoming.finish()?;
        self.conn = conn.filter(|_| keep);
        Ok(response)
    }

    /// Sends a request and answers once the head is there; the body can then be read as it comes.
    pub fn stream(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Incoming> {
        let request = self.request(method, path, headers, body);
        if let Some(conn) = self.conn.take().filter(Conn::idle) {
            return conn.exchange(&request, method);
        }
        Conn::open(&self.authority)?.exchange(&request, method)
    }

    /// POST of a JSON body, streamed.
    #[track_caller]
    pub fn post_stream(&mut self, path: &str, body: &Value) -> Incoming {
        let body = body.to_string();
        self.stream("POST", path, &[JSON], body.as_bytes())
            .unwrap_or_else(|e| panic!("POST {path}: {e}"))
    }

    /// `POST /api/query` with `sql` and `db`; answers the JSON whatever its code.
    #[track_caller]
    pub fn query(&mut self, db: &str, sql: &str) -> Value {
        let body = serde_json::json!({"sql": sql, "db": db});
        self.post("/api/query", &body).json()
    }

    /// The `data` of a query that must succeed.
    #[track_caller]
    pub fn query_ok(&mut self, db: &str, sql: &str) -> Value {
        let mut answer = self.query(db, sql);
        assert_eq!(answer["code"], 200, "{sql:.300}: {answer:.2000}");
        answer["data"].take()
    }

    /// The request's bytes; `headers` replace those of the same name that a page would send, an empty value drops.
    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        let origin = format!("http://{}", self.authority);
        let length = body.len().to_string();
        let needs_length = !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH");
        let usual = [
            ("Host", Some(self.authority.as_str())),
            ("Origin", Some(origin.as_str())),
            ("Cookie", self.cookie.as_deref()),
            ("Content-Length", needs_length.then_some(length.as_str())),
        ];
        let replaced = |name: &str| headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        let usual = usual
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .filter(|(name, _)| !replaced(name));
        let given = headers
            .iter()
            .copied()
            .filter(|(_, value)| !value.is_empty());
        for (name, value) in usual.chain(given) {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        [text.as_bytes(), b"\r\n", body].concat()
    }
}

/// Header that marks a body as JSON.
pub const JSON: (&str, &str) = ("Content-Type", "application/json");

impl Head {
    /// Value of the only header of that name (in lower case).
    #[track_caller]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(n, _)| n == name);
        let value = found.next().map(|(_, v)| v.as_str());
        assert!(found.next().is_none(), "{name} occurs twice: {self:?}");
        value
    }

    fn keeps_alive(&self) -> bool {
        !matches!(self.header("connection"), Some(v) if v.eq_ignore_ascii_case("close"))
    }

    fn framing(&self, method: &str) -> io::Result<Framing> {
        if method == "HEAD" || matches!(self.status, 100..200 | 204 | 304) {
            return Ok(Framing::Done);
        }
        match (
            self.header("transfer-encoding"),
            self.header("content-length"),
        ) {
            (None, None) => Ok(Framing::UntilClose),
            (None, Some(length)) => match length.parse() {
                Ok(length) => Ok(Framing::Length(length)),
                Err(_) => Err(bad(format!("Content-Length: {length}"))),
            },
            (Some(coding), None) if coding.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunk {
                left: 0,
                first: true,
            }),
            (coding, length) => Err(bad(format!("coding {coding:?} with length {length:?}"))),
        }
    }
}

impl Response {
    /// Status code.
    pub fn status(&self) -> u16 {
        self.head.status
    }

    /// Value of the only header of that name (in lower case).
    #[track_caller]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    /// Values of all headers of that name (in lower case), in their order.
    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.head.headers.iter().filter(move |(n, _)| n == name);
        named.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is UTF-8")
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| {
            let text = String::from_utf8_lossy(&self.body);
            panic!("not JSON ({e}), status {}: {text:.2000}", self.head.status)
        })
    }

    /// The `data` of an answer that must be a success.
    #[track_caller]
    pub fn data(&self) -> Value {
        let mut answer = self.json();
        assert_eq!(
            (self.status(), &answer["code"]),
            (200, &Value::from(200)),
            "{answer:.2000}"
        );
        answer["data"].take()
    }

    /// The `name=value` of a cookie that this answer sets.
    pub fn cookie(&self) -> Option<String> {
        let set = self.head.headers.iter().find(|(n, _)| n == "set-cookie")?;
        set.1.split(';').next().map(str::to_owned)
    }
}

impl Conn {
    /// Opens a connection.
    pub fn open(authority: &str) -> io::Result<Conn> {
        let stream = TcpStream::connect(authority)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        stream.set_write_timeout(Some(READ_TIMEOUT))?;
        Ok(Conn {
            stream: BufReader::with_capacity(64 * 1024, stream),
        })
    }

    /// The socket itself.
    pub fn socket(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Reads one answer to a request of that method and gives the connection back.
    pub fn receive(self, method: &str) -> io::Result<(Response, Option<Conn>)> {
        self.receive_head(method)?.finish()
    }

    /// Reads the head of one answer.
    pub fn receive_head(mut self, method: &str) -> io::Result<Incoming> {
        let head = self.read_head()?;
        let framing = head.framing(method)?;
        Ok(Incoming {
            head,
            conn: self,
            framing,
        })
    }

    fn exchange(mut self, request: &[u8], method: &str) -> io::Result<Incoming> {
        // A server may refuse, and close, before it has read all of a request; its answer still counts.
        let sent = self.send_raw(request);
        match (self.receive_head(method), sent) {
            (Err(_), Err(sent)) => Err(sent),
            (answer, _) => answer,
        }
    }

    /// True if the connection is open and silent, so that a request may be sent on it.
    fn idle(&self) -> bool {
        let socket = self.socket();
        if !self.stream.buffer().is_empty() || socket.set_nonblocking(true).is_err() {
            return false;
        }
        let silent = matches!(socket.peek(&mut [0]), Err(e) if e.kind() == ErrorKind::WouldBlock);
        socket.set_nonblocking(false).is_ok() && silent
    }

    fn read_head(&mut self) -> io::Result<Head> {
        let mut limited = (&mut self.stream).take(HEAD_LIMIT);
        let status_line = read_line(&mut limited)?;
        let status = match status_line.split(' ').collect::<Vec<_>>()[..] {
            ["HTTP/1.1", code, ..] if code.len() == 3 => code.parse().ok(),
            _ => None,
        };
        let status = status.ok_or_else(|| bad(format!("status line {status_line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = read_line(&mut limited)?;
            if line.is_empty() {
                return Ok(Head { status, headers });
            }
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| bad(format!("header {line:?}")))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
}

impl Incoming {
    /// Reads the rest and gives the connection back when its end was certain.
    pub fn finish(mut self) -> io::Result<(Response, Option<Conn>)> {
        let mut body = Vec::new();
        self.read_to_end(&mut body)?;
        let reusable = !matches!(self.framing, Framing::UntilClose);
        let response = Response {
            head: self.head,
            body,
        };
        Ok((response, reusable.then_some(self.conn)))
    }

    /// Leaves without reading the rest, as a closed browser tab does.
    pub fn abandon(self) {
        let _ = self.conn.socket().shutdown(Shutdown::Both);
    }

    fn next_chunk(&mut self, first: bool) -> io::Result<()> {
        if !first && !read_line(&mut self.conn.stream)?.is_empty() {
            return Err(bad("a chunk is longer than it said".to_owned()));
        }
        let size = read_line(&mut self.conn.stream)?;
        let left =
            u64::from_str_radix(&size, 16).map_err(|_| bad(format!("chunk size {size:?}")))?;
        self.framing = Framing::Chunk { left, first: false };
        if left == 0 {
            // Trailers, if any, end with an empty line.
            while !read_line(&mut self.conn.stream)?.is_empty() {}
            self.framing = Framing::Done;
        }
        Ok(())
    }
}

impl Read for Incoming {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Framing::Chunk { left: 0, first } = self.framing {
            self.next_chunk(first)?;
        }
        let left = match &mut self.framing {
            Framing::Done | Framing::Length(0) => return Ok(0),
            Framing::UntilClose => return self.conn.stream.read(buf),
            Framing::Length(left) | Framing::Chunk { left, .. } => left,
        };
        let most = buf.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        let read = self.conn.stream.read(&mut buf[..most])?;
        if read == 0 && most > 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        *left -= read as u64;
        Ok(read)
    }
}

fn read_line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    stream.take(HEAD_LIMIT).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    match line.strip_suffix(b"\r\n") {
        // It ended there, and was not too long.
        None if !line.ends_with(b"\n") && (line.len() as u64) < HEAD_LIMIT => {
            Err(ErrorKind::UnexpectedEof.into())
        }
        Some(text) => {
            String::from_utf8(text.to_vec()).map_err(|_| bad("a head that is not UTF-8".to_owned()))
        }
        None => Err(bad(format!("line {:?}", String::from_utf8_lossy(&line)))),
    }
}

fn bad(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
