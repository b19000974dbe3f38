//! `postern mysql --share`: shares the web client through a server.
//!
//! The command has started the web client; a manager in this process shares it like one that it started itself.

use std::path::Path;
use std::sync::{Arc, Weak};

use crossbeam_channel::Receiver;
use serde_json::json;
use zeroize::Zeroizing;

use crate::cli::args::command::{GUEST, Parsed};
use crate::cli::args::table::mysql::{COMMAND, OF_SHARING, READWRITE, SHARE, VISIBLE};
use crate::cli::commands::sharing::alone::InProcessManager;
use crate::cli::commands::sharing::line::{given_token, name_by_target, server};
use crate::cli::commands::sharing::progress::ProgressPrinter;
use crate::cli::failure::Failure;
use crate::cli::fields::{self, Fields};
use crate::manager::protocol::Protocol;
use crate::manager::{ServerUrl, chosen_server};
use crate::plugin::{Database, Grant, Guest, NotServed, Served, WebClients, guests_end};
use crate::sqlweb::{Target, WebClient};
use crate::store::DataDir;

/// Address for a database on a Unix socket, because an application needs one.
const ELSEWHERE: (&str, u16) = ("127.0.0.1", 3306);

/// Share settings, checked.
pub(super) struct ShareRequest {
    server: Option<ServerUrl>,
    enroll_token: Option<Zeroizing<String>>,
    fields: Fields,
    /// Account of all visitors.
    pub(super) guest: Option<Guest>,
    pub(super) progress: ProgressPrinter,
    pub(super) readwrite: bool,
    pub(super) visible: bool,
}

impl ShareRequest {
    /// Reads the settings; none without `--share`.
    pub(super) fn read(parsed: &Parsed) -> Result<Option<Self>, Failure> {
        if !parsed.has(&SHARE) {
            return match OF_SHARING.iter().find(|flag| parsed.has(flag)) {
                Some(flag) => Err(COMMAND.usage(format!("--{} needs --share", flag.long))),
                None => Ok(None),
            };
        }
        let mut fields = Fields::new();
        let (readwrite, visible) = (parsed.has(&READWRITE), parsed.has(&VISIBLE));
        fields.insert("protocol".to_owned(), json!("mysql"));
        fields::set_flags(&mut fields, &COMMAND, parsed)?;
        for name in ["db_user", "db_name", "server"] {
            // The web client is signed in already, and the server is the manager's.
            fields.remove(name);
        }
        fields.insert("db_readonly".to_owned(), json!(!readwrite));
        fields.insert("invisible".to_owned(), json!(!visible));
        let guest = guest(&mut fields, parsed)?;
        if readwrite && guest.is_some() {
            return Err(COMMAND.usage("--guest creates a read-only account: remove --readwrite"));
        }
        fields::checked(&COMMAND, &fields)?;
        Ok(Some(Self {
            guest,
            server: server(&COMMAND, parsed, false)?,
            enroll_token: given_token(parsed),
            progress: ProgressPrinter::new(parsed),
            fields,
            readwrite,
            visible,
        }))
    }

    /// Warns of settings that remove protection.
    pub(super) fn warn(&self) {
        if self.readwrite {
            log::warn!("visitors can change and delete data: --readwrite is given");
        }
        if self.visible {
            log::warn!("anyone who knows the address gets in without a code: --visible is given");
        }
    }

    /// Adds the database of the web client.
    pub(super) fn of(mut self, target: &Target) -> Self {
        let (host, port) = match target {
            Target::Tcp { host, port } => (host.as_str(), *port),
            Target::Unix(_) => ELSEWHERE,
        };
        self.fields.insert("ip".to_owned(), json!(host));
        self.fields.insert("port".to_owned(), json!(port));
        if matches!(target, Target::Unix(_)) {
            // Visitors and the relay's operator must not see a path of this machine.
            let name = || json!("mysql");
            self.fields.entry("name").or_insert_with(name);
        }
        name_by_target(&mut self.fields, Protocol::Mysql);
        self
    }

    /// Shares the web client until a message on `stop`, or until its end time. The caller stops its manager, which is
    /// put into `alone`.
    pub(super) fn run(
        self,
        home: &DataDir,
        client: &Arc<WebClient>,
        run_dir: &Path,
        stop: &Receiver<()>,
        alone: &mut Option<InProcessManager>,
    ) -> Result<(), Failure> {
        // Lives as long as the process, which has only one share.
        let web_clients: &'static RunningWebClient =
            Box::leak(Box::new(RunningWebClient(Arc::downgrade(client))));
        let input = fields::checked(&COMMAND, &self.fields)?;
        let chosen = chosen_server(home, self.server, self.enroll_token)
            .map_err(|why| Failure::operation(format!("cannot share: {why}")))?;
        let alone = alone.insert(InProcessManager::start(
            home,
            run_dir,
            chosen,
            None,
            web_clients,
        )?);
        let ended = alone.share(home, self.fields, &input, &self.progress, stop);
        ended.map(drop)
    }
}

/// The temporary account of the flags: the share ends with it.
fn guest(fields: &mut Fields, parsed: &Parsed) -> Result<Option<Guest>, Failure> {
    let grants = parsed.values(&GUEST);
    if grants.is_empty() {
        return Ok(None);
    }
    let grants: Result<Vec<Grant>, _> = grants.iter().map(|text| Grant::parse(text)).collect();
    let grants = grants.map_err(|wrong| COMMAND.usage(format!("--guest {wrong}")))?;
    let expires = guests_end(fields::text(fields, "expires"));
    fields::set_expiry(fields, expires);
    Ok(Some(Guest { grants, expires }))
}

/// Gives the manager the command's own web client, each time that it connects.
struct RunningWebClient(Weak<WebClient>);

impl WebClients for RunningWebClient {
    /// None: no plugin has to be added for this command.
    fn named(&self, _: &str) -> Option<(&'static str, &'static [&'static str])> {
        None
    }

    fn serve(&self, _: &str, database: Database) -> Option<Result<Box<dyn Served>, NotServed>> {
        // It goes on after the share has ended, because the command holds it too.
        let client = self.0.upgrade()?;
        client.note_in(database.statements);
        Some(Ok(Box::new(client)))
    }

    /// None: nobody asks for objects here.
    fn objects(&self, _: &str, _: Database, _: &[String]) -> Option<Result<Vec<String>, String>> {
        None
    }

    /// Does nothing: the start of the command has done it.
    fn sweep(&self, _: &str, _: Database) {}
}
