//! Options of a connection.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Sender;

use super::stats::Traffic;
use crate::tunnel::target::MayDial;

/// Options of a connection.
pub(in crate::tunnel) struct Options {
    /// The pause between keep-alive requests; none for no keep-alive.
    pub(in crate::tunnel) keepalive: Option<Duration>,
    /// Time until [`Mux::mark_ready`](super::Mux::mark_ready) must have been called.
    pub(in crate::tunnel) ready_within: Duration,
    /// Time for a keep-alive's answer.
    pub(in crate::tunnel) answer_within: Duration,
    /// Time to connect to a target.
    pub(in crate::tunnel) target_within: Duration,
    /// Gets a message, if there is room for one, when a stream found nobody at its target.
    pub(in crate::tunnel) target_missed: Option<Sender<()>>,
    /// Check of a target's address before connecting; none for all.
    pub(in crate::tunnel) may_dial: Option<MayDial>,
    /// Where to count.
    pub(in crate::tunnel) traffic: Arc<Traffic>,
}
