//! Threads for streams. Most streams are short, and a new thread costs more than a short stream:
//! a few that have finished wait for the next.

use crate::sync::{Condvar, Mutex, MutexGuard, Permits, Thread, spawn};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Threads of a connection that wait for work, 16: as many as finish at the same moment and are
/// needed again the next.
const KEPT: usize = 16;
/// Threads of a connection at work or waiting for it, 8192: two for each channel. Streams outlive
/// their channels by a while, and a peer may open and close those as fast as it likes.
const MOST: usize = 8192;
/// Time that a thread waits for work, 1 s.
const IDLE: Duration = Duration::from_secs(1);

type Job = Box<dyn FnOnce() + Send>;

/// The threads of one connection.
#[derive(Default)]
pub(super) struct ThreadPool(Arc<ThreadPoolState>);

#[derive(Default)]
struct ThreadPoolState {
    threads: Permits,
    jobs: Mutex<Jobs>,
    wake: Condvar,
}

#[derive(Default)]
struct Jobs {
    /// Never more than `waiting`: each of them has a thread that is about to take it.
    queue: VecDeque<Job>,
    waiting: usize,
    closed: bool,
}

impl ThreadPool {
    /// Runs `job` on a thread of its own. Never waits.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let job: Job = Box::new(job);
        let mut jobs = self.0.jobs();
        if jobs.waiting > jobs.queue.len() {
            jobs.queue.push_back(job);
            drop(jobs);
            self.0.wake.notify_one();
            return Ok(());
        }
        drop(jobs);
        let permit = self.0.threads.take(MOST);
        let permit =
            permit.ok_or_else(|| io::Error::other("a connection has reached its thread limit"))?;
        let pool = Arc::clone(&self.0);
        // A thread because a stream waits for its socket; ends when it has had no work for a while.
        spawn(Thread::TunnelStream, move || {
            pool.work(job);
            drop(permit);
        })
        .map(drop)
    }

    /// Threads end when they have finished, from now on.
    pub(super) fn close(&self) {
        self.0.jobs().closed = true;
        self.0.wake.notify_all();
    }
}

impl ThreadPoolState {
    fn work(&self, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            job();
            next = self.next();
        }
    }

    fn next(&self) -> Option<Job> {
        let mut jobs = self.jobs();
        if jobs.closed || jobs.waiting >= KEPT {
            return None;
        }
        jobs.waiting += 1;
        let idle = |jobs: &mut Jobs| jobs.queue.is_empty() && !jobs.closed;
        jobs = self.wake.wait_timeout_while(jobs, IDLE, idle);
        jobs.waiting -= 1;
        jobs.queue.pop_front()
    }

    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock()
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
        while workers.0.jobs().waiting != count {
            assert!(Instant::now() < until, "{}", workers.0.jobs().waiting);
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
        // Later work is still done.
        thread_of_next(&workers);
    }
}
