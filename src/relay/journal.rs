//! The state on disk: one file that has all of it, and beside a large one a journal of what has changed since, so that a
//! change costs what it is worth and not what there is.
//!
//! ```text
//! relay.json      all, with its number          written anew: a small state at each save, a large one now and then
//! relay.journal   a change a line: from which number, to which; appended and synced before it is answered
//! ```
//!
//! A state is what its file says with the lines that follow its number. Lines up to that number are in it already: a
//! process that ends between the writing of the file and the removal of the journal leaves such. A last line without
//! its end was never answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::state::{Connector, RelayState};
use super::store_error::StoreError;
use crate::store::{self, DataDir, JsonFile, Locked};

/// The journal.
pub(super) const JOURNAL: &str = "relay.journal";
/// Bytes of a state's file from which on it has a journal. Default 128 KiB, some three hundred sites: less is soon
/// written, and is in one file for whoever copies it.
const LARGE: u64 = 128 * 1024;

/// Why a state is not kept.
#[derive(Debug, Clone)]
pub(super) enum SaveError {
    /// A file is not written.
    Files(Arc<store::Error>),
    /// The store that is shared is away, and nothing new is promised before it is back.
    Away(StoreError),
    /// Another relay has changed the state that this one was made of: it is to be made again, of the one that is there.
    Outdated,
}

/// Where the state is kept.
pub(super) trait Keep: Send {
    /// Writes a state where the next start finds it.
    fn save(&mut self, state: &Arc<RelayState>) -> Result<(), SaveError>;

    /// True if others change it too: then nothing is promised that is not saved.
    fn is_shared(&self) -> bool {
        false
    }

    /// The state with what others have changed since it was saved or read last; none where they have changed nothing.
    fn news(&mut self) -> Result<Option<Arc<RelayState>>, StoreError> {
        Ok(None)
    }

    /// `before` was changed to `state` by something that is not worth a write: the next one may have it.
    fn pass(&mut self, _before: &Arc<RelayState>, _state: &Arc<RelayState>) {}

    /// The last that is done: what was passed is saved, in one file.
    fn end(&mut self, _state: &Arc<RelayState>) -> Result<(), SaveError> {
        Ok(())
    }
}

impl From<store::Error> for SaveError {
    fn from(error: store::Error) -> Self {
        Self::Files(Arc::new(error))
    }
}

impl std::fmt::Display for SaveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Files(error) => error.fmt(f),
            Self::Away(error) => error.fmt(f),
            Self::Outdated => f.write_str("other relays changed it at the same time"),
        }
    }
}

/// The two files.
pub(super) struct StateFiles {
    home: DataDir,
    file: JsonFile<RelayState>,
    /// State on disk, without what was passed. Unknown before the first save.
    saved: Option<Arc<RelayState>>,
    /// Bytes of the file and of the journal.
    lengths: (u64, u64),
    /// [`LARGE`].
    large: u64,
    /// True if something was passed.
    is_behind: bool,
}

impl StateFiles {
    pub(super) fn new(home: DataDir, file: JsonFile<RelayState>) -> Self {
        Self {
            home,
            file,
            saved: None,
            lengths: (0, 0),
            large: LARGE,
            is_behind: false,
        }
    }

    /// The line that says what has changed; none where all is written instead.
    fn line(&self, state: &RelayState) -> Option<Vec<u8>> {
        let (of_file, of_journal) = self.lengths;
        if of_file < self.large || of_journal > of_file {
            return None;
        }
        let line = Change::between(self.saved.as_ref()?, state).to_line();
        (length(&line) <= of_file / 2).then_some(line)
    }

    fn write_all(&mut self, locked: &Locked, state: &Arc<RelayState>) -> Result<(), store::Error> {
        self.file.write_locked(locked, state)?;
        // One that stays is skipped by its numbers, and overwritten.
        locked.remove(JOURNAL);
        self.lengths = (self.file.length(), 0);
        self.saved = Some(Arc::clone(state));
        self.is_behind = false;
        Ok(())
    }
}

impl Keep for StateFiles {
    fn save(&mut self, state: &Arc<RelayState>) -> Result<(), SaveError> {
        let locked = self.home.lock()?;
        let Some(line) = self.line(state) else {
            return Ok(self.write_all(&locked, state)?);
        };
        let appended = locked.append(JOURNAL, self.lengths.1, &line);
        if let Err(error) = appended {
            // The content of the journal is unknown now.
            self.saved = None;
            return Err(error.into());
        }
        self.lengths.1 += length(&line);
        self.saved = Some(Arc::clone(state));
        Ok(())
    }

    fn pass(&mut self, before: &Arc<RelayState>, state: &Arc<RelayState>) {
        self.is_behind = true;
        let saved = self.saved.as_mut();
        if let Some(saved) = saved.filter(|saved| Arc::ptr_eq(saved, before)) {
            *saved = Arc::clone(state);
        }
    }

    fn end(&mut self, state: &Arc<RelayState>) -> Result<(), SaveError> {
        if !self.is_behind && self.lengths.1 == 0 {
            return Ok(());
        }
        let locked = self.home.lock()?;
        Ok(self.write_all(&locked, state)?)
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("a length has at most 64 bits")
}

/// Difference between a state and the one before it: one line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    /// [`RelayState::number`] before it and with it.
    pub(super) from: u64,
    pub(super) to: u64,
    /// Those that are others; none for one that is there no more.
    pub(super) connectors: BTreeMap<String, Option<Connector>>,
    /// All but the connectors, where that is another.
    #[serde(default)]
    pub(super) rest: Option<RelayState>,
}

impl Change {
    pub(super) fn between(before: &RelayState, after: &RelayState) -> Self {
        let mut connectors = BTreeMap::new();
        if !after.connectors.is_shared_with(&before.connectors) {
            let is_other = |(name, connector): &(&String, &Connector)| {
                before.connectors.get(*name) != Some(*connector)
            };
            let others = after.connectors.iter().filter(is_other);
            let gone = before.connectors.keys();
            let gone = gone.filter(|name| !after.connectors.contains_key(*name));
            connectors.extend(gone.map(|name| (name.clone(), None)));
            connectors.extend(others.map(|(name, one)| (name.clone(), Some(one.clone()))));
        }
        let rest = rest(after);
        let is_other = to_json(&rest) != to_json(&self::rest(before));
        Self {
            from: before.number,
            to: after.number,
            connectors,
            rest: is_other.then_some(rest),
        }
    }

    fn to_line(&self) -> Vec<u8> {
        let mut line = to_json(self);
        line.push(b'\n');
        line
    }

    pub(super) fn apply(self, state: &mut RelayState) {
        if let Some(rest) = self.rest {
            let connectors = std::mem::take(&mut state.connectors);
            *state = RelayState { connectors, ..rest };
        }
        for (name, connector) in self.connectors {
            match connector {
                Some(connector) => state.connectors.insert(name, connector),
                None => state.connectors.remove(&name),
            };
        }
        state.number = self.to;
    }
}

pub(super) fn to_json(document: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(document).expect("a state has strings for its keys, and then JSON for it")
}

/// All but the connectors, whose number says nothing.
pub(super) fn rest(state: &RelayState) -> RelayState {
    let mut rest = state.clone();
    rest.connectors = BTreeMap::new().into();
    rest.number = 0;
    rest
}

/// Result of reading a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replayed {
    /// All of it.
    Whole,
    /// Not all of it can be read, but who is turned out, and which tokens let nobody in, is known.
    Sure,
    /// That is not known: it is damaged, or of another state.
    Unsure,
}

/// Makes of a state what its journal says. What follows a damaged line counts all the same, as each line has the whole of
/// what it changes: nobody who was turned out later comes back by that, nor by a line that tells it again.
pub(super) fn replay(state: &mut RelayState, journal: &[u8]) -> Replayed {
    let mut replayed = Replayed::Whole;
    for line in journal.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else {
            log::warn!(
                "skipped the last {} bytes of {JOURNAL}: the line is incomplete",
                line.len()
            );
            break;
        };
        let Ok(change) = serde_json::from_slice::<Change>(line) else {
            replayed = Replayed::Unsure;
            continue;
        };
        let is_behind = change.to <= state.number;
        // The state has what a damaged line before it said, or it says that itself.
        if replayed == Replayed::Unsure && (is_behind || change.rest.is_some()) {
            replayed = Replayed::Sure;
        }
        if is_behind {
            continue;
        }
        if change.from != state.number && replayed == Replayed::Whole {
            return Replayed::Unsure;
        }
        change.apply(state);
    }
    if replayed != Replayed::Whole {
        // The line that turned them out may be the damaged one.
        for name in state.revoked.clone() {
            state.connectors.remove(&name);
        }
    }
    replayed
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
