//! Threads for streams. Most streams are short, and a new thread costs more than a short stream:
//! a few that have finished wait for the next.

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a thread's stack. Default 256 KiB: the resolver's need; only what is touched takes
/// memory, some 12 KiB.
const STACK: usize = 256 * 1024;
/// Threads that wait for work, a connection. Default 16: as many as finish at the same moment
/// and are needed again the next.
const KEPT: usize = 16;
/// Threads at work or waiting for it, a connection. Default 8192: two for each channel. Streams
/// outlive their channels by a while, and a peer may open and close those as fast as it likes.
const MOST: usize = 8192;
/// Time that a thread waits for work. Default 1 s.
const IDLE: Duration = Duration::from_secs(1);

type Job = Box<dyn FnOnce() + Send>;

/// The threads of one connection.
#[derive(Default)]
pub(super) struct ThreadPool(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    /// Never more than `waiting`: each of them has a thread that is about to take it.
    jobs: VecDeque<Job>,
    waiting: usize,
    threads: usize,
    closed: bool,
}

impl ThreadPool {
    /// Runs `job` on a thread of its own. Never waits.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let job: Job = Box::new(job);
        let mut state = self.0.state();
        if state.waiting > state.jobs.len() {
            state.jobs.push_back(job);
            drop(state);
            self.0.wake.notify_one();
            return Ok(());
        }
        if state.threads >= MOST {
            return Err(io::Error::other("a connection has all the threads it may"));
        }
        state.threads += 1;
        drop(state);
        let place = Place(Arc::clone(&self.0));
        // A thread because a stream waits for its socket; ends when it has had no work for a while.
        std::thread::Builder::new()
            .name("tunnel-stream".into())
            .stack_size(STACK)
            .spawn(move || place.0.work(job))
            .map(drop)
    }

    /// Threads end when they have finished, from now on.
    pub(super) fn close(&self) {
        self.0.state().closed = true;
        self.0.wake.notify_all();
    }
}

/// One of [`MOST`]: given back when the thread ends, or was never made.
struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.state().threads -= 1;
    }
}

impl Shared {
    fn work(&self, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            job();
            next = self.next();
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        if state.closed || state.waiting >= KEPT {
            return None;
        }
        state.waiting += 1;
        let idle = |state: &mut State| state.jobs.is_empty() && !state.closed;
        let waited = self.wake.wait_timeout_while(state, IDLE, idle);
        let mut state = waited;
        state.waiting -= 1;
        state.jobs.pop_front()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use crossbeam_channel::{Receiver, unbounded};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    /// Waits until so many threads have nothing to do.
    fn wait_idle(workers: &ThreadPool, count: usize) {
        let until = Instant::now() + TIMEOUT;
        while workers.0.state().waiting != count {
            assert!(Instant::now() < until, "{}", workers.0.state().waiting);
            std::thread::yield_now();
        }
    }

    fn thread_of_next(workers: &ThreadPool) -> std::thread::ThreadId {
        let (tell, told) = unbounded();
        let job = move || tell.send(std::thread::current().id()).unwrap();
        workers.run(job).unwrap();
        told.recv_timeout(TIMEOUT).unwrap()
    }

    #[test]
    fn a_thread_that_has_finished_takes_the_next_job() {
        let workers = ThreadPool::default();
        let first = thread_of_next(&workers);
        wait_idle(&workers, 1);
        assert_eq!(thread_of_next(&workers), first);
    }

    #[test]
    fn every_job_has_a_thread_of_its_own_at_once() {
        let workers = ThreadPool::default();
        let (hold, held): (_, Receiver<()>) = unbounded();
        let (tell, told) = unbounded();
        for round in 0..3 {
            for _ in 0..2 * KEPT {
                let (held, tell) = (held.clone(), tell.clone());
                let job = move || {
                    tell.send(()).unwrap();
                    let _ = held.recv();
                };
                workers.run(job).unwrap();
            }
            for _ in 0..2 * KEPT {
                told.recv_timeout(TIMEOUT)
                    .unwrap_or_else(|_| panic!("a job waits for another, in round {round}"));
            }
            for _ in 0..2 * KEPT {
                hold.send(()).unwrap();
            }
            wait_idle(&workers, KEPT);
        }
    }

    #[test]
    fn idle_threads_end_when_it_is_closed_and_after_a_while() {
        let workers = ThreadPool::default();
        thread_of_next(&workers);
        wait_idle(&workers, 1);
        wait_idle(&workers, 0);
        let workers = ThreadPool::default();
        thread_of_next(&workers);
        wait_idle(&workers, 1);
        workers.close();
        wait_idle(&workers, 0);
        // What comes after that is still done.
        thread_of_next(&workers);
    }
}
