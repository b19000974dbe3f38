//! `postern mysql --share`: the web client, reached by others through a server.

use std::net::SocketAddr;

use crossbeam_channel::Receiver;
use zeroize::Zeroizing;

use crate::cli::args::command::Parsed;
use crate::cli::args::table::mysql::{COMMAND, READWRITE, SERVER, SHARE, VISIBLE};
use crate::cli::args::values::{SERVER_VARIABLE, TOKEN_VARIABLE, environment};
use crate::cli::failure::{Failure, printable};
use crate::manager::one_shot::{self, ActiveShare, NotShared};
use crate::manager::{ServerUrl, chosen_server};
use crate::relay::embedded::{self, Embedded, NotEmbedded};
use crate::store::DataDir;

/// What is to be shared, checked.
pub(super) struct ShareRequest {
    server: Option<ServerUrl>,
    pub(super) readwrite: bool,
    pub(super) visible: bool,
}

/// The sharing at work.
pub(super) struct Sharing {
    pub(super) shared: ActiveShare,
    embedded: Option<Embedded>,
}

impl ShareRequest {
    /// None without `--share`.
    pub(super) fn read(parsed: &Parsed) -> Result<Option<Self>, Failure> {
        if !parsed.has(&SHARE) {
            let needs = [SERVER, READWRITE, VISIBLE];
            return match needs.iter().find(|flag| parsed.has(flag)) {
                Some(flag) => Err(COMMAND.usage(format!("--{} goes with --share", flag.long))),
                None => Ok(None),
            };
        }
        let url = parsed.value(&SERVER);
        let url = url.or_else(|| environment(SERVER_VARIABLE));
        let server = url.map(|url| ServerUrl::parse(&url, false)).transpose();
        Ok(Some(Self {
            server: server.map_err(|why| COMMAND.usage(format!("--server: {why}")))?,
            readwrite: parsed.has(&READWRITE),
            visible: parsed.has(&VISIBLE),
        }))
    }

    /// Says plainly what protects nothing.
    pub(super) fn warn(&self) {
        if self.readwrite {
            log::warn!("visitors can change and delete data: --readwrite is given");
        }
        if self.visible {
            log::warn!(
                "whoever knows the site's address gets in without a code: --visible is given"
            );
        }
    }

    /// Begins to share what listens at `target`. None where the stop signal came first.
    pub(super) fn begin(
        self,
        home: DataDir,
        target: SocketAddr,
        name: String,
        run_dir: &std::path::Path,
        stop: &Receiver<()>,
    ) -> Result<Option<Sharing>, Failure> {
        let given = environment(TOKEN_VARIABLE).map(Zeroizing::new);
        let chosen = chosen_server(&home, self.server, given)
            .map_err(|why| Failure::operation(format!("cannot share: {why}")))?;
        let (server, enroll_token, embedded) = match chosen {
            Some(chosen) => (chosen.server, chosen.enroll_token, None),
            None => own_server(&home, run_dir)?,
        };
        let options = one_shot::Options {
            home,
            server,
            enroll_token,
            target,
            name,
            invisible: !self.visible,
        };
        match one_shot::share(options, stop) {
            Ok(shared) => Ok(Some(Sharing { shared, embedded })),
            Err(NotShared::Stopped) => Ok(None),
            Err(NotShared::Failed { reason, hint }) => {
                Err(Failure::operation(format!("cannot share: {}", printable(&reason))).hint(hint))
            }
        }
    }
}

impl Sharing {
    /// Ends it: within 2 s.
    pub(super) fn stop(self) {
        self.shared.stop();
        if let Some(embedded) = self.embedded {
            embedded.stop();
        }
    }
}

type Server = (ServerUrl, Option<Zeroizing<String>>, Option<Embedded>);

/// A relay of this user's that runs already, else one within this process.
fn own_server(home: &DataDir, run_dir: &std::path::Path) -> Result<Server, Failure> {
    let parsed = |url: String| {
        ServerUrl::parse(&url, false)
            .map_err(|why| Failure::operation(format!("cannot share: {why}")))
    };
    match embedded::start(home, run_dir, true) {
        Ok(embedded) => {
            let token = embedded.token.clone();
            Ok((parsed(embedded.server())?, Some(token), Some(embedded)))
        }
        Err(NotEmbedded::Beside(Some(relay))) => {
            let server = parsed(format!("http://{}", relay.address))?;
            Ok((server, Some(relay.token), None))
        }
        Err(error) => Err(Failure::operation(format!("cannot share: {error}"))
            .hint("name a server with --server URL")),
    }
}
