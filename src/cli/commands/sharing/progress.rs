//! Output of a share: the link on standard output, events on standard error; with `--json` everything on standard
//! output, one object per line.

use std::collections::HashSet;
use std::time::{Instant, SystemTime};

use serde_json::{Value, json};

use super::counts::{Total, counted, planned, size};
use crate::api::{App, ConnectResult, ConnectionState, HealthState, Log};
use crate::cli::args::command::{NAME, Parsed, QR, SERVER, SITE_NAME};
use crate::cli::args::values::{SERVER_VARIABLE, environment};
use crate::cli::clock::Zone;
use crate::cli::commands::app::end;
use crate::cli::failure::{Failure, print, printable, say};
use crate::cli::link;
use crate::http::Counted;
use crate::net::authority::{self, is_loopback};
use crate::store::time::{in_words, rfc3339};

/// Sources that are remembered, so that each is printed once. Default 10,000: more are printed again.
const MAX_SOURCES: usize = 10_000;

/// Unit in which visitors are counted.
const VISITOR: &str = "visitor";
const CONNECTION: &str = "connection";

/// Prints the progress of a share.
pub(in crate::cli::commands) struct ProgressPrinter {
    json: bool,
    qr: bool,
    /// Lines with the local addresses of a web client, printed after the link to send.
    pub(in crate::cli::commands) local: Option<String>,
    /// True if the command line names the site: no other name is accepted.
    pub(super) requires_name: bool,
    /// True if a program that has ended shared it before, through a server that may be away.
    pub(in crate::cli::commands) is_continued: bool,
    /// Preferred name from the command line.
    wish: Option<String>,
    /// True if a server is given.
    has_server: bool,
    zone: Zone,
    /// Start of the command: a given duration counts from here.
    asked: SystemTime,
}

/// Log of one share so far.
pub(in crate::cli::commands) struct ShareLog<'a> {
    progress: &'a ProgressPrinter,
    began: Instant,
    /// Number of the last request that was read.
    last: u64,
    requests: u64,
    sources: HashSet<String>,
    /// Visitors, or connections where only those are counted.
    visitors: u64,
    /// Visitors at the last update, including those whose first request is not over.
    present: u64,
    unit: &'static str,
    received: Total,
    sent: Total,
    status: ConnectionState,
    failing: String,
    /// End of the share, if it is limited.
    expires: Option<SystemTime>,
}

/// Reason of the end.
#[derive(Clone, Copy)]
pub(in crate::cli::commands) enum Ending {
    /// Ctrl-C.
    Interrupted,
    /// The end time.
    Expired,
    /// Somebody disconnected it.
    Disconnected,
    /// Somebody removed it.
    Removed,
    /// A failure that is not retried.
    Failed,
}

impl ProgressPrinter {
    pub(in crate::cli::commands) fn new(parsed: &Parsed) -> Self {
        Self {
            json: parsed.wants_json(),
            qr: parsed.has(&QR),
            local: None,
            requires_name: parsed.has(&SITE_NAME),
            is_continued: false,
            wish: parsed.value(&SITE_NAME).or_else(|| parsed.value(&NAME)),
            has_server: parsed.value(&SERVER).is_some() || environment(SERVER_VARIABLE).is_some(),
            zone: Zone::local(),
            asked: SystemTime::now(),
        }
    }

    /// Prints the link and a description of the share.
    pub(super) fn print_shared(
        &self,
        app: &App,
        result: &ConnectResult,
    ) -> Result<ShareLog<'_>, Failure> {
        let link = link::of(result);
        if self.json {
            self.print_event("shared", shared(app, result, &link))?;
        } else {
            print(&format!("{link}\n"))?;
            if self.qr {
                print(&link::qr(&link)?)?;
            }
        }
        say(self.local.as_deref().unwrap_or_default());
        if !self.json {
            say(&self.description(app, result));
        }
        let mut log = ShareLog {
            progress: self,
            began: Instant::now(),
            last: 0,
            requests: 0,
            sources: HashSet::new(),
            visitors: 0,
            present: 0,
            unit: VISITOR,
            received: Total::default(),
            sent: Total::default(),
            status: ConnectionState::Connected,
            failing: String::new(),
            expires: end(app),
        };
        log.report_health(result)?;
        Ok(log)
    }

    /// Describes the share for a person.
    fn description(&self, app: &App, result: &ConnectResult) -> String {
        let exposed = result.exposed.clone().unwrap_or_else(|| app.saved());
        let shared = match self.local {
            Some(_) => printable(&app.name),
            None => format!("{} {}", exposed.protocol.name(), printable(&exposed.target)),
        };
        let until = end(app).map_or(String::new(), |end| {
            format!(" until {}", self.zone.shown(end, SystemTime::now()))
        });
        let mut lines = format!("Sharing {shared}{until}. Ctrl-C stops it.\n");
        if let Some(path) = &exposed.path {
            let path = printable(path);
            lines.push_str(&format!(
                "The whole site is shared; the link opens {path}.\n"
            ));
        }
        let wish = self.wish.as_deref();
        if let Some(line) = wish.and_then(|wish| link::renamed(wish, &result.site_url)) {
            lines.push_str(&line);
        }
        if is_local(&result.site_url) && self.has_server {
            lines.push_str(
                "Only this machine can open this address, because of the relay's domain. To share with others,\n\
                 use a server with a domain that points to it ('postern relay --domain').\n",
            );
        } else if is_local(&result.site_url) {
            lines.push_str(
                "Only this machine can open this address. To share with others, run 'postern relay'\n\
                 on a public server and add --server URL.\n",
            );
        } else {
            lines.push_str(&who(app, result));
        }
        lines
    }

    fn print_event(&self, name: &str, fields: Value) -> Result<(), Failure> {
        let mut event = json!({"event": name, "time": rfc3339(SystemTime::now())});
        if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), fields) {
            event.extend(fields);
        }
        print(&format!("{event}\n"))
    }

    /// Prints an event.
    fn report(&self, name: &str, fields: Value, line: &str) -> Result<(), Failure> {
        if self.json {
            return self.print_event(name, fields);
        }
        let time = self.zone.with_seconds(SystemTime::now());
        say(&format!("{time}  {line}\n"));
        Ok(())
    }
}

/// Adds an `error` event to the failure of a share, for `--json`.
pub(in crate::cli::commands) fn with_error_event(failure: Failure) -> Failure {
    failure.answer(json!({"event": "error", "time": rfc3339(SystemTime::now())}))
}

fn shared(app: &App, result: &ConnectResult, link: &str) -> Value {
    let exposed = result.exposed.as_ref();
    json!({
        "link": link,
        "site_url": result.site_url,
        "site_name_wanted": result.site_name_wanted,
        "auth_url": Some(&result.auth_url).filter(|url| !url.is_empty()),
        "id": app.id,
        "name": app.name,
        "protocol": app.protocol,
        "target": exposed.map_or("", |exposed| &exposed.target),
        "server": result.server,
        "expires": app.expires,
        "this_machine_only": is_local(&result.site_url),
    })
}

/// True if only this machine can open the address of a site.
fn is_local(site: &str) -> bool {
    let place = site.split_once("://").map_or(site, |(_, place)| place);
    let place = place.split('/').next().unwrap_or_default();
    authority::split(place).is_some_and(|(host, _)| is_loopback(host))
}

/// Describes who gets in.
fn who(app: &App, result: &ConnectResult) -> String {
    let is_web = app.protocol.is_visited_by_http();
    let allow: Vec<String> = app.allow.iter().map(|network| printable(network)).collect();
    let from = match allow.as_slice() {
        [] => String::new(),
        networks => format!(" from {}", networks.join(", ")),
    };
    let is_invisible = !result.auth_url.is_empty();
    let sentence = match (is_web, is_invisible, from.is_empty()) {
        (_, true, _) => format!("Anyone with the link gets in{from}: it contains the code."),
        (true, false, true) => {
            "Anyone who knows the address gets in: --invisible requires a code.".to_owned()
        }
        (true, false, false) => format!("Anyone who knows the address gets in{from}."),
        (false, false, true) => "Everybody can connect, without a code.".to_owned(),
        (false, false, false) => format!("Everybody can connect{from}, without a code."),
    };
    format!("{sentence}\n")
}

impl ShareLog<'_> {
    /// Prints changes since the last update. `requests` returns the log after a number.
    pub(super) fn update(
        &mut self,
        app: &App,
        requests: impl Fn(u64) -> Log,
    ) -> Result<(), Failure> {
        let idle = ConnectResult::default();
        let connection = app.connection.as_ref().unwrap_or(&idle);
        self.received.take(connection.bytes_in);
        self.sent.take(connection.bytes_out);
        let visitors = connection.visitors.clone().unwrap_or_default();
        self.present = visitors.total;
        if visitors.counts == Counted::Connections {
            self.unit = CONNECTION;
        }
        if visitors.requests > self.requests {
            self.report_visitors(&requests(self.last))?;
            self.requests = visitors.requests;
        }
        // Visitors with an address are shown by it.
        let has_address = app.protocol.has_gateway();
        if visitors.total > self.visitors && (!has_address || self.unit == CONNECTION) {
            self.report_nameless(visitors.total - self.visitors)?;
            self.visitors = visitors.total;
        }
        self.report_end_time(app)?;
        self.report_status(&connection.error, app.status())?;
        self.report_health(connection)
    }

    fn report_visitors(&mut self, answer: &Log) -> Result<(), Failure> {
        self.last = answer.last.max(self.last);
        let sources = answer.entries.iter();
        let sources = sources.filter_map(|request| request.get("source")?.as_str());
        for source in sources.filter(|source| !source.is_empty()) {
            if self.sources.len() < MAX_SOURCES && self.sources.insert(source.to_owned()) {
                self.visitors += 1;
                let line = format!("visitor {}", printable(source));
                let fields = json!({"source": source});
                self.progress.report("visitor", fields, &line)?;
            }
        }
        Ok(())
    }

    /// Prints `new` visitors without a known address.
    fn report_nameless(&self, new: u64) -> Result<(), Failure> {
        let line = match new {
            1 => format!("a {}", self.unit),
            more => counted(more, self.unit),
        };
        self.progress
            .report("visitor", json!({"source": null}), &line)
    }

    fn report_end_time(&mut self, app: &App) -> Result<(), Failure> {
        let expires = end(app);
        if expires == self.expires {
            return Ok(());
        }
        self.expires = expires;
        let zone = &self.progress.zone;
        let line = match expires {
            Some(end) => format!("now until {}", zone.shown(end, SystemTime::now())),
            None => "now without an end time".to_owned(),
        };
        let fields = json!({"expires": app.expires});
        self.progress.report("expires", fields, &line)
    }

    fn report_status(&mut self, error: &str, status: ConnectionState) -> Result<(), Failure> {
        let status = match status {
            ConnectionState::Failed => ConnectionState::Connecting,
            other => other,
        };
        if std::mem::replace(&mut self.status, status) == status {
            return Ok(());
        }
        match status {
            ConnectionState::Connected => self.progress.report("back", json!({}), "reconnected"),
            ConnectionState::Connecting => {
                let why = match error {
                    "" => String::new(),
                    error => format!(": {}", printable(error)),
                };
                let line = format!("tunnel lost; reconnecting{why}");
                self.progress.report("lost", json!({"error": error}), &line)
            }
            _ => Ok(()),
        }
    }

    fn report_health(&mut self, connection: &ConnectResult) -> Result<(), Failure> {
        let Some(health) = &connection.health else {
            return Ok(());
        };
        let error = match health.state {
            HealthState::Failing => health.error.as_deref().unwrap_or_default(),
            HealthState::Ok => "",
            HealthState::Unknown => return Ok(()),
        };
        if error == self.failing {
            return Ok(());
        }
        error.clone_into(&mut self.failing);
        if error.is_empty() {
            return self
                .progress
                .report("answers", json!({}), "the application answers again");
        }
        let (line, fields) = match &health.hint {
            None => (printable(error), json!({"error": error})),
            Some(hint) => (
                printable(&format!("{error}; {hint}")),
                json!({"error": error, "hint": hint}),
            ),
        };
        self.progress.report("fails", fields, &line)
    }

    /// Prints the last line.
    pub(super) fn print_end(self, ending: Ending) -> Result<(), Failure> {
        let (received, sent) = (self.received.sum(), self.sent.sum());
        let (name, sentence) = ending.words();
        if self.progress.json {
            let ended = json!({
                "reason": name,
                "seconds": self.began.elapsed().as_secs(),
                "visitors": self.all_visitors(),
                "counts": format!("{}s", self.unit),
                "requests": self.requests,
                "bytes_in": received,
                "bytes_out": sent,
            });
            return self.progress.print_event("ended", ended);
        }
        say(&format!("{sentence}{}\n", self.summary(ending)));
        Ok(())
    }

    /// Printed visitors, or else those in their first request.
    fn all_visitors(&self) -> u64 {
        match self.visitors {
            0 => self.present,
            reported => reported,
        }
    }

    /// Duration, visitors and bytes.
    fn summary(&self, ending: Ending) -> String {
        let (received, sent) = (self.received.sum(), self.sent.sum());
        let end = self.expires.filter(|_| matches!(ending, Ending::Expired));
        let length = end.and_then(|end| planned(self.progress.asked, end));
        let spent = in_words(length.unwrap_or_else(|| self.began.elapsed()));
        let who = match (self.all_visitors(), self.requests) {
            (0, _) => format!("no {}s", self.unit),
            (visitors, _) if self.sources.is_empty() => counted(visitors, self.unit),
            (visitors, requests) => {
                format!(
                    "{}, {}",
                    counted(visitors, self.unit),
                    counted(requests, "request")
                )
            }
        };
        let (sent, received) = (size(sent), size(received));
        format!("Shared for {spent}: {who}, {sent} sent, {received} received.")
    }
}

impl Ending {
    /// Name for `--json`, and a sentence before the last line.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Interrupted => ("interrupted", ""),
            Self::Expired => ("expired", "Time is up. "),
            Self::Disconnected => ("disconnected", "It was disconnected. "),
            Self::Removed => ("removed", "It was removed. "),
            Self::Failed => ("failed", "Sharing has stopped. "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_this_machine_only_is_known_by_its_address() {
        for (url, expected) in [
            ("http://shop.localhost:8180/", true),
            ("tcp://localhost:20001", true),
            ("tcp://127.0.0.1:20001", true),
            ("tcp://[::1]:20001", true),
            ("https://shop.relay.example/", false),
            ("tcp://relay.example:20001", false),
            ("http://notlocalhost/", false),
        ] {
            assert_eq!(is_local(url), expected, "{url}");
        }
    }
}
