//! The Chrome DevTools Protocol on one WebSocket: calls with a deadline, events kept in the order they came.

use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crossbeam_channel::{Sender, bounded};
use serde_json::{Value, json};
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Message, WebSocket};

/// Limit for one call of the browser.
const CALL_PATIENCE: Duration = Duration::from_secs(90);

/// Far more events than the tests that run at once cause, and a bound for one that runs wild.
const EVENT_LIMIT: usize = 200_000;

/// Something the browser told without being asked.
#[derive(Clone, Debug)]
pub struct Event {
    /// Session of the page; none for the browser itself.
    pub session: Option<String>,
    /// As `Runtime.exceptionThrown`.
    pub method: String,
    /// Data of the event.
    pub params: Value,
}

/// A connection to the browser, shared by its pages.
pub struct Cdp {
    writer: Mutex<WebSocket<TcpStream>>,
    next_id: AtomicU64,
    /// None once the browser is gone.
    pending: Mutex<Option<HashMap<u64, Sender<Value>>>>,
    events: Mutex<Vec<Event>>,
}

impl Cdp {
    /// Connects to the address that the browser wrote into `DevToolsActivePort`.
    pub fn connect(port: u16, path: &str) -> Arc<Cdp> {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the browser listens");
        stream.set_nodelay(true).expect("a TCP socket");
        let url = format!("ws://127.0.0.1:{port}{path}");
        // A picture of the page or a large value comes as one frame.
        let config = WebSocketConfig::default()
            .max_frame_size(None)
            .max_message_size(None);
        let (reader, _) = tungstenite::client::client_with_config(url, stream, Some(config))
            .expect("the browser speaks WebSocket");
        // One half each for reading and writing, so that calls of several tests overlap. The browser sends no
        // pings, so the reading half never writes.
        let writing = reader.get_ref().try_clone().expect("a TCP socket");
        let cdp = Arc::new(Cdp {
            writer: Mutex::new(WebSocket::from_raw_socket(writing, Role::Client, None)),
            next_id: AtomicU64::new(1),
            pending: Mutex::new(Some(HashMap::new())),
            events: Mutex::new(Vec::new()),
        });
        let reading = Arc::clone(&cdp);
        // Ends with the connection, that is with the browser.
        std::thread::spawn(move || reading.read_all(reader));
        cdp
    }

    /// Calls a method and waits for its answer; the error is the browser's own text.
    pub fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, String> {
        let (answer, answered) = bounded(1);
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        match locked(&self.pending).as_mut() {
            Some(pending) => pending.insert(id, answer),
            None => return Err(format!("{method}: the browser is gone")),
        };
        self.send(id, session, method, params)?;
        let mut reply = answered.recv_timeout(CALL_PATIENCE).map_err(|_| {
            format!("{method}: no answer from the browser within {CALL_PATIENCE:?}")
        })?;
        match reply.get("error") {
            Some(error) => Err(format!("{method}: {error}")),
            None => Ok(reply["result"].take()),
        }
    }

    /// All events so far that `choose` wants, in order.
    pub fn events<T>(&self, choose: impl FnMut(&Event) -> Option<T>) -> Vec<T> {
        locked(&self.events).iter().filter_map(choose).collect()
    }

    /// Forgets the events of a page that is closed: the browser outlives many.
    pub fn forget(&self, session: &str) {
        locked(&self.events).retain(|event| event.session.as_deref() != Some(session));
    }

    fn send(
        &self,
        id: u64,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<(), String> {
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        locked(&self.writer)
            .send(Message::text(message.to_string()))
            .map_err(|e| format!("{method}: {e}"))
    }

    fn read_all(&self, mut reader: WebSocket<TcpStream>) {
        while let Ok(message) = reader.read() {
            if let Message::Text(text) = message {
                self.take(serde_json::from_str(&text).expect("the browser sends JSON"));
            }
        }
        // Dropping the senders wakes every waiting call.
        locked(&self.pending).take();
    }

    fn take(&self, mut message: Value) {
        if let Some(id) = message["id"].as_u64() {
            let waiting = locked(&self.pending).as_mut().and_then(|p| p.remove(&id));
            if let Some(waiting) = waiting {
                let _ = waiting.send(message);
            }
            return;
        }
        let event = Event {
            session: message["sessionId"].as_str().map(str::to_owned),
            method: message["method"].as_str().unwrap_or_default().to_owned(),
            params: message["params"].take(),
        };
        if event.method == "Page.javascriptDialogOpening" {
            // Nobody else could answer: the page stands still until the dialog is closed.
            let accept = json!({"accept": true});
            let session = event.session.as_deref();
            let _ = self.send(0, session, "Page.handleJavaScriptDialog", accept);
        }
        let mut events = locked(&self.events);
        events.push(event);
        if events.len() >= EVENT_LIMIT {
            // Every call fails from now on: better than a test that misses an error.
            locked(&self.pending).take();
        }
    }
}

/// A test that panicked must not take the others with it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
