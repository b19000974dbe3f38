//! The log of what an application's visitors did: in memory, bounded, its records numbered.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;

use crate::sync::{Changes, Mutex};

/// A kind of record.
pub trait Record: Clone {
    /// Name of one in the audit files.
    const NAME: &'static str;
    /// Limit of kept records; the oldest go first.
    const MOST: usize;
    /// Limit of their bytes together; the newest is always kept.
    const MOST_BYTES: usize = usize::MAX;

    /// Bytes that count towards [`Record::MOST_BYTES`].
    fn bytes(&self) -> usize {
        0
    }
}

/// A record with its number.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Logged{R}"))]
pub struct Numbered<R> {
    /// Number of the application's record since the program started, from 1.
    pub n: u64,
    /// The record.
    #[serde(flatten)]
    pub record: R,
}

/// A second place for records: files, for example. Called on the thread that adds a record, with no lock held: it may
/// wait for a disk, and must not fail loudly more than once.
pub trait Sink<R>: Send + Sync {
    /// Takes a new record.
    fn write(&self, record: &Numbered<R>);
}

/// The records of one connection.
pub struct ActivityLog<R> {
    state: Mutex<LogState<R>>,
    changes: Arc<Changes>,
}

struct LogState<R> {
    records: VecDeque<Numbered<R>>,
    bytes: usize,
    /// Number of the last record before these.
    before: u64,
    last: u64,
    sink: Option<Arc<dyn Sink<R>>>,
}

impl<R> Default for ActivityLog<R> {
    fn default() -> Self {
        Self::notifying(Arc::default(), 0)
    }
}

impl<R> ActivityLog<R> {
    /// A log that tells of each record. The first gets the number after `before`.
    pub(crate) fn notifying(changes: Arc<Changes>, before: u64) -> Self {
        let state = LogState {
            records: VecDeque::new(),
            bytes: 0,
            before,
            last: before,
            sink: None,
        };
        Self {
            state: Mutex::new(state),
            changes,
        }
    }
}

impl<R: Record> ActivityLog<R> {
    /// Sends new records to `sink` too, instead of an earlier one.
    pub fn set_sink(&self, sink: Option<Arc<impl Sink<R> + 'static>>) {
        self.state.lock().sink = sink.map(|sink| -> Arc<dyn Sink<R>> { sink });
    }

    /// Adds a record, which gets the next number.
    pub fn add(&self, record: R) {
        let mut state = self.state.lock();
        state.last += 1;
        let n = state.last;
        let record = Numbered { n, record };
        let sink = state.sink.clone();
        let written = sink.map(|sink| (sink, record.clone()));
        state.keep(record);
        drop(state);
        if let Some((sink, record)) = written {
            sink.write(&record);
        }
        self.changes.note();
    }

    /// Returns the number of the last record, and the kept ones after number `after`. A number that was not reached yet
    /// is one of an earlier connection: it counts as 0.
    pub fn after(&self, after: u64) -> (u64, Vec<Numbered<R>>) {
        let state = self.state.lock();
        let after = if after > state.last { 0 } else { after };
        let later = state.records.iter().filter(|record| record.n > after);
        (state.last, later.cloned().collect())
    }

    /// Returns the number of the last record.
    pub fn last(&self) -> u64 {
        self.state.lock().last
    }

    /// Number of records since the connection was made.
    pub fn count(&self) -> u64 {
        let state = self.state.lock();
        state.last - state.before
    }
}

impl<R: Record> LogState<R> {
    fn keep(&mut self, record: Numbered<R>) {
        self.bytes += record.record.bytes();
        while (self.records.len() >= R::MOST || self.bytes > R::MOST_BYTES)
            && let Some(oldest) = self.records.pop_front()
        {
            self.bytes -= oldest.record.bytes();
        }
        self.records.push_back(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default, Serialize)]
    struct Text(String);

    impl Record for Text {
        const NAME: &'static str = "text";
        const MOST: usize = 500;
        const MOST_BYTES: usize = 1000;

        fn bytes(&self) -> usize {
            self.0.len()
        }
    }

    #[test]
    fn the_log_is_bounded_and_read_on_from_a_number() {
        let log = ActivityLog::default();
        (0..510).for_each(|_| log.add(Text::default()));
        let (last, all) = log.after(0);
        assert_eq!((last, all.len(), all[0].n), (510, 500, 11));
        assert_eq!(log.after(508).1.len(), 2);
        assert_eq!(log.after(510).1.len(), 0);
        assert_eq!(log.after(511).1.len(), 500, "of an earlier connection");
        (0..3).for_each(|_| log.add(Text("x".repeat(500))));
        assert_eq!(log.after(510).1.len(), 2, "by their bytes");
        assert!(log.state.lock().bytes <= 1000);
        log.add(Text("x".repeat(2000)));
        assert_eq!(log.after(0).1.len(), 1, "one alone is always kept");
        assert_eq!(log.last(), 514);
    }

    #[test]
    fn the_current_sink_gets_each_record() {
        struct Kept(Mutex<Vec<u64>>);
        impl Sink<Text> for Kept {
            fn write(&self, record: &Numbered<Text>) {
                self.0.lock().push(record.n);
            }
        }
        let (log, kept) = (ActivityLog::default(), Arc::new(Kept(Mutex::default())));
        log.set_sink(Some(kept.clone()));
        (0..2).for_each(|_| log.add(Text::default()));
        log.set_sink(None::<Arc<Kept>>);
        log.add(Text::default());
        assert_eq!(*kept.0.lock(), [1, 2]);
    }
}
