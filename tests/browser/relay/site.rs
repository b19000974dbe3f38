//! The web site that is shared: a page, and a WebSocket that says everything back.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};
use tungstenite::Message;

/// Heading of the page.
pub(crate) const GREETING: &str = "A small site";

const PAGE: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,"><title>small</title></head>
<body><h1>A small site</h1><script>
globalThis.echo = (text) => new Promise((done, fail) => {
  const socket = new WebSocket(`ws://${location.host}/echo`);
  socket.onopen = () => socket.send(text);
  socket.onmessage = ({ data }) => { socket.close(); done(data); };
  socket.onerror = () => fail(new Error('the WebSocket failed'));
});
</script></body></html>"#;

/// On a free port of loopback; its threads end with their connections, the listener with the process.
pub(crate) struct SmallSite {
    port: u16,
}

impl SmallSite {
    pub(crate) fn start() -> SmallSite {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream));
            }
        });
        SmallSite { port }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The application's JSON.
    pub(crate) fn app(&self, name: &str) -> Value {
        json!({"protocol": "http", "name": name, "port": self.port})
    }
}

fn serve(mut stream: TcpStream) {
    let head = peek_head(&stream).to_ascii_lowercase();
    if head.contains("upgrade: websocket") {
        return echo(stream);
    }
    let mut read = vec![0; head.len()];
    let _ = stream.read_exact(&mut read);
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{PAGE}",
        PAGE.len()
    );
}

/// The whole head, left to be read; empty where the visitor went away.
fn peek_head(stream: &TcpStream) -> String {
    let mut buffer = [0; 16 * 1024];
    loop {
        let seen = match stream.peek(&mut buffer) {
            Ok(0) => return String::new(),
            Ok(seen) => seen,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return String::new(),
        };
        let text = String::from_utf8_lossy(&buffer[..seen]);
        if let Some(end) = text.find("\r\n\r\n") {
            return text[..end + 4].to_owned();
        }
        std::thread::yield_now();
    }
}

fn echo(stream: TcpStream) {
    let Ok(mut socket) = tungstenite::accept(stream) else {
        return;
    };
    while let Ok(message) = socket.read() {
        let back = match message {
            Message::Text(text) => Message::text(format!("echo: {text}")),
            _ => continue,
        };
        if socket.send(back).is_err() {
            return;
        }
    }
}
