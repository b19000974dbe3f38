//! Commands to an owner, and its replies.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};

use super::connector::Connector;
use crate::manager::quick_setup::Setup;
use crate::store::{self, Credentials};
use crate::tunnel::group::TunnelGroup;

/// One message to an owner. A reply that nobody waits for is dropped.
pub(super) enum Command {
    /// A quick-setup call is about to be made; the credentials are read from disk where `reload` is given. Nobody waits
    /// for its answer once `stopped` is closed.
    BeginCall {
        reload: bool,
        stopped: Receiver<()>,
        reply: Sender<Result<BegunCall, store::Error>>,
    },
    /// Set the main tunnel up, unless it is ready or on its way, and tell what becomes of it.
    SetUpMainTunnel {
        progress: Sender<MainTunnelProgress>,
    },
    /// The main tunnel has connected, not for the first time perhaps.
    MainTunnelIsUp,
    /// Forget the credentials and end the main tunnel; false where none are on disk.
    Forget {
        reply: Sender<Result<bool, store::Error>>,
    },
    /// No application uses the server: end the main tunnel, unless somebody waits for it by now.
    RetireMainTunnel,
}

/// Parameters of a call.
pub(crate) struct BegunCall {
    pub(crate) credentials: Credentials,
    /// Takes its answer; closed where the credentials were forgotten meanwhile. Dropped when there is no answer.
    pub(crate) answer: Sender<CallAnswer>,
}

/// An answer that accepts the credentials.
pub(crate) struct CallAnswer {
    pub(crate) setup: Box<Setup>,
    /// The tunnel server's port that the application names.
    pub(crate) own_port: Option<u16>,
    /// Gets what was saved, or why it was not; closed where the answer came too late.
    pub(crate) saved: Sender<Result<Connector, String>>,
}

/// How far the main tunnel is, for a connection that waits for it.
#[derive(Clone)]
pub(crate) enum MainTunnelProgress {
    /// It is on its way; another one may take its place.
    Connecting(Arc<TunnelGroup>),
    /// It is ready: the last message.
    Ready,
    /// It cannot be set up, and why: the last message.
    Failed(String),
}
