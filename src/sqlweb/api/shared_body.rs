//! The body of a script of a shared web client: how many large ones are held at once, and how long each may keep a
//! statement open.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::sqlweb::limits::{SCRIPTS, SCRIPTS_OF_ONE};
use crate::sqlweb::visitors::Use;
use crate::sync::{Permit, Permits};

/// Bytes of a script before it is counted as a large one.
const SMALL: usize = 64 << 10;

/// How long the next statement may be on its way: the longest one takes so long at 35 KB a second.
const STATEMENT_TIME: Duration = Duration::from_secs(120);

/// When the reader of a script began to wait for its next statement.
pub(super) type Since = Rc<Cell<Instant>>;

/// The body. Reading fails with [`ErrorKind::ResourceBusy`] where too many large ones are read, and with
/// [`ErrorKind::TimedOut`] where no statement has ended for too long.
pub(super) struct SharedBody<'a, R> {
    pub(super) body: R,
    pub(super) since: Since,
    /// Large scripts of all.
    pub(super) scripts: &'a Permits,
    pub(super) uses: Option<Use>,
    /// Bytes read.
    pub(super) read: usize,
    /// That it is counted as a large one, once it is.
    pub(super) permits: Vec<Permit>,
}

impl<R> SharedBody<'_, R> {
    fn count(&mut self) -> io::Result<()> {
        let own = self.uses.as_ref().map(|uses| &uses.scripts);
        let wanted = [(Some(self.scripts), SCRIPTS), (own, SCRIPTS_OF_ONE)];
        for (permits, most) in wanted {
            let Some(permits) = permits else { continue };
            let busy =
                "too many large scripts are read at this moment; try again when they have ended";
            let busy = || io::Error::new(ErrorKind::ResourceBusy, busy);
            self.permits.push(permits.take(most).ok_or_else(busy)?);
        }
        Ok(())
    }
}

impl<R: Read> Read for SharedBody<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.since.get().elapsed() > STATEMENT_TIME {
            let slow = "no statement of it has ended for two minutes, so that it is not read on";
            return Err(io::Error::new(ErrorKind::TimedOut, slow));
        }
        if self.read > SMALL && self.permits.is_empty() {
            self.count()?;
        }
        let count = self.body.read(into)?;
        self.read += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body<'a>(scripts: &'a Permits, uses: &Use) -> SharedBody<'a, io::Repeat> {
        SharedBody {
            body: io::repeat(b'a'),
            since: Rc::new(Cell::new(Instant::now())),
            scripts,
            uses: Some(uses.clone()),
            read: 0,
            permits: Vec::new(),
        }
    }

    #[test]
    fn large_scripts_are_few_for_all_and_fewer_for_one() {
        let (scripts, one) = (Permits::default(), Use::default());
        let mut large = vec![0; 2 * SMALL];
        let mut open = |uses: &Use| {
            let mut body = body(&scripts, uses);
            body.read_exact(&mut large[..]).unwrap();
            body.read(&mut [0]).map(|_| body)
        };
        let held: Vec<_> = (0..SCRIPTS_OF_ONE).map(|_| open(&one).unwrap()).collect();
        let refused = open(&one).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::ResourceBusy);
        let others: Vec<_> = (SCRIPTS_OF_ONE..SCRIPTS)
            .map(|_| open(&Use::default()).unwrap())
            .collect();
        assert!(open(&Use::default()).is_err());
        drop(held);
        assert!(open(&one).is_ok());
        drop(others);
        assert_eq!((scripts.out(), one.scripts.out()), (0, 0));
    }

    #[test]
    fn a_statement_that_does_not_end_is_not_waited_for() {
        let (scripts, uses) = (Permits::default(), Use::default());
        let mut body = body(&scripts, &uses);
        assert!(body.read(&mut [0]).is_ok());
        let long_ago = Instant::now().checked_sub(STATEMENT_TIME + Duration::from_secs(1));
        body.since.set(long_ago.unwrap());
        let refused = body.read(&mut [0]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TimedOut);
    }
}
