//! A thread that looks again and again, for as long as there is something to wait for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::{Mutex, Thread, spawn};

/// The longest pause between two looks. Default 1 s: a machine that wakes finds at once what ended while it slept.
const LOOK: Duration = Duration::from_secs(1);
/// The shortest one. Default 10 ms: rounding does not make it look all the time.
const LEAST: Duration = Duration::from_millis(10);

/// One thread that waits for something to fall due. It exists only while there is something to wait for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookout(Arc<Mutex<bool>>);

impl Lookout {
    /// Sees to it that `look` is called again and again. It does what is due, and answers the time until it is to be
    /// called again; `None` ends the thread. To be called after what is to be waited for was noted.
    pub(crate) fn begin(
        &self,
        thread: Thread,
        look: impl FnMut() -> Option<Duration> + Send + 'static,
    ) {
        let mut runs = self.0.lock();
        if *runs {
            return;
        }
        let of_thread = self.clone();
        match spawn(thread, move || of_thread.run(look)) {
            Ok(()) => *runs = true,
            Err(error) => log::error!("no thread for what is to end by itself: {error}"),
        }
    }

    fn run(&self, mut look: impl FnMut() -> Option<Duration>) {
        // One that breaks off is a fault of the program, and no reason that nothing ends any more.
        let mut look = || catch_unwind(AssertUnwindSafe(&mut look)).unwrap_or(Some(LOOK));
        loop {
            if let Some(left) = look() {
                std::thread::sleep(left.clamp(LEAST, LOOK));
                continue;
            }
            let mut runs = self.0.lock();
            // Something may have been noted since that look, by who found the thread running.
            let Some(left) = look() else {
                *runs = false;
                return;
            };
            drop(runs);
            std::thread::sleep(left.clamp(LEAST, LOOK));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also where nothing is left when it begins: the next call begins a thread again.
    #[test]
    fn it_looks_until_there_is_nothing_and_begins_again() {
        let lookout = Lookout::default();
        let (tell, told) = crossbeam_channel::unbounded();
        for _ in 0..2 {
            let (tell, mut left) = (tell.clone(), 3);
            lookout.begin(Thread::Expiry, move || {
                left -= 1;
                let _ = tell.send(left);
                (left > 0).then_some(Duration::ZERO)
            });
            let looks: Vec<i32> = told.iter().take(4).collect();
            assert_eq!(looks, [2, 1, 0, -1]);
            while *lookout.0.lock() {
                std::thread::yield_now();
            }
        }
    }

    /// Also at the look that would have been the last.
    #[test]
    fn a_look_that_breaks_off_is_followed_by_another() {
        let lookout = Lookout::default();
        let (tell, told) = crossbeam_channel::unbounded();
        let mut looks = 0;
        lookout.begin(Thread::Expiry, move || {
            looks += 1;
            let _ = tell.send(looks);
            assert!(looks != 1 && looks != 3, "a fault");
            None
        });
        let looks: Vec<i32> = told.iter().collect();
        assert_eq!(looks, [1, 2, 3, 4, 5]);
        while *lookout.0.lock() {
            std::thread::yield_now();
        }
    }
}
