//! The body of a script of a shared web client: how many are waited for at once that are large or have no whole statement
//! yet, and how long each may keep a statement open.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Read};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::sqlweb::limits::{SCRIPTS, SCRIPTS_OF_ONE};
use crate::sqlweb::visitors::Use;
use crate::sync::{Permit, Permits};

/// Bytes of a script before it is counted as a large one.
const SMALL: usize = 64 << 10;

/// Time that the next statement may be on its way: the longest one takes so long at 35 KB a second.
const STATEMENT_TIME: Duration = crate::limits::STATEMENT_TIME;

/// Progress of a script, known to its body and to the code that runs it.
pub(super) struct ScriptProgress {
    /// When the one before the next statement ended.
    since: Cell<Instant>,
    /// Bytes read, as far as a `usize` counts.
    read: Cell<usize>,
    /// Set once its first statement is whole.
    has_begun: Cell<bool>,
    /// That it is counted, while it is.
    permits: RefCell<Vec<Permit>>,
}

impl ScriptProgress {
    /// Nothing has been read.
    pub(super) fn new() -> Rc<Self> {
        Rc::new(Self {
            since: Cell::new(Instant::now()),
            read: Cell::new(0),
            has_begun: Cell::new(false),
            permits: RefCell::default(),
        })
    }

    /// A statement is whole: a small script is waited for no more.
    pub(super) fn mark_statement_read(&self) {
        self.has_begun.set(true);
        if !self.must_count() {
            self.permits.borrow_mut().clear();
        }
    }

    /// The next one may be waited for from now on.
    pub(super) fn restart_timeout(&self) {
        self.since.set(Instant::now());
    }

    fn must_count(&self) -> bool {
        !self.has_begun.get() || self.read.get() > SMALL
    }
}

/// The body. Reading fails with [`ErrorKind::ResourceBusy`] where too many are read that have not begun or are large, and
/// with [`ErrorKind::TimedOut`] where no statement has ended for too long.
pub(super) struct SharedBody<'a, R> {
    pub(super) body: R,
    pub(super) progress: Rc<ScriptProgress>,
    /// Such scripts of all.
    pub(super) scripts: &'a Permits,
    pub(super) uses: Option<Use>,
}

impl<R> SharedBody<'_, R> {
    fn count(&self) -> io::Result<()> {
        let mut permits = self.progress.permits.borrow_mut();
        if !permits.is_empty() || !self.progress.must_count() {
            return Ok(());
        }
        let own = self.uses.as_ref().map(|uses| &uses.scripts);
        let most = Use::most_of(self.uses.as_ref(), SCRIPTS);
        for (scripts, most) in [(Some(self.scripts), most), (own, SCRIPTS_OF_ONE)] {
            let Some(scripts) = scripts else { continue };
            let busy = "too many scripts are being read; try again when they have ended";
            let busy = || io::Error::new(ErrorKind::ResourceBusy, busy);
            permits.push(scripts.take(most).ok_or_else(busy)?);
        }
        Ok(())
    }
}

impl<R: Read> Read for SharedBody<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.progress.since.get().elapsed() > STATEMENT_TIME {
            let slow = "no statement has ended for two minutes, so the script is not read further";
            return Err(io::Error::new(ErrorKind::TimedOut, slow));
        }
        self.count()?;
        let count = self.body.read(into)?;
        self.progress.read.update(|read| read.saturating_add(count));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body<'a>(scripts: &'a Permits, uses: &Use) -> SharedBody<'a, io::Repeat> {
        SharedBody {
            body: io::repeat(b'a'),
            progress: ScriptProgress::new(),
            scripts,
            uses: Some(uses.clone()),
        }
    }

    #[test]
    fn large_scripts_are_few_for_all_and_fewer_for_one() {
        let (scripts, one) = (Permits::default(), Use::default());
        let mut large = vec![0; 2 * SMALL];
        let mut open = |uses: &Use| {
            let mut body = body(&scripts, uses);
            body.read_exact(&mut large[..])?;
            body.progress.mark_statement_read();
            body.read(&mut [0]).map(|_| body)
        };
        let held: Vec<_> = (0..SCRIPTS_OF_ONE).map(|_| open(&one).unwrap()).collect();
        let refused = open(&one).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::ResourceBusy);
        let visitors = Use::most_of(Some(&one), SCRIPTS);
        let others: Vec<_> = (SCRIPTS_OF_ONE..visitors)
            .map(|_| open(&Use::default()).unwrap())
            .collect();
        assert!(open(&Use::default()).is_err());
        drop(held);
        assert!(open(&one).is_ok());
        drop(others);
        assert_eq!((scripts.out(), one.scripts.out()), (0, 0));
    }

    #[test]
    fn a_small_script_counts_until_its_first_statement_is_whole() {
        let (scripts, one) = (Permits::default(), Use::default());
        let open = || {
            let mut body = body(&scripts, &one);
            body.read(&mut [0; 8]).map(|_| body)
        };
        let mut held: Vec<_> = (0..SCRIPTS_OF_ONE).map(|_| open().unwrap()).collect();
        assert!(open().is_err());
        held[0].progress.mark_statement_read();
        assert_eq!(one.scripts.out(), SCRIPTS_OF_ONE - 1);
        held.push(open().unwrap());
        held[0].read_exact(&mut [0; SMALL]).unwrap();
        assert!(held[0].read(&mut [0]).is_err(), "it is large now");
        drop(held);
        assert_eq!((scripts.out(), one.scripts.out()), (0, 0));
    }

    #[test]
    fn a_statement_that_does_not_end_is_not_waited_for() {
        let (scripts, uses) = (Permits::default(), Use::default());
        let mut body = body(&scripts, &uses);
        assert!(body.read(&mut [0]).is_ok());
        let long_ago = Instant::now().checked_sub(STATEMENT_TIME + Duration::from_secs(1));
        body.progress.since.set(long_ago.unwrap());
        let refused = body.read(&mut [0]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TimedOut);
    }
}
