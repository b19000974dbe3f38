//! The end of a command that serves.

use std::time::Duration;

/// How long ending may take before the process ends regardless: two seconds
/// are promised, and the rest is for leaving the process.
const STOP_WAIT: Duration = Duration::from_millis(1800);
/// The stack of the thread that ends what was served, in bytes.
const STOP_STACK: usize = 512 * 1024;

/// Ends what was served with `stop`, and waits for that as long as there is time.
pub(super) fn within_time(stop: impl FnOnce() + Send + 'static) {
    let (sender, done) = crossbeam_channel::bounded(1);
    // A thread so that the wait has an end; it ends with its work or the process.
    let stopping = std::thread::Builder::new()
        .name("stop".into())
        .stack_size(STOP_STACK)
        .spawn(move || {
            stop();
            // The other side may have given up.
            let _ = sender.send(());
        });
    if stopping.is_err() || done.recv_timeout(STOP_WAIT).is_err() {
        log::warn!("not everything ended within {STOP_WAIT:?}");
    }
}
