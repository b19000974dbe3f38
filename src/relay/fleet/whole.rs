//! A whole state, moved from files to a store or back.

use std::fmt;

use super::member_id::is_member;
use super::store::{Session, StorePassword, StoreUrl, Version};
use crate::relay::state::RelayState;
use crate::relay::state_rows;
use crate::relay::state_store::{self, Error, StateStore};
use crate::relay::store_error::StoreError;
use crate::store::DataDir;

/// Location of a state.
pub enum StateLocation {
    /// A relay's directory, on which none runs.
    Directory(DataDir),
    /// A store, with the account's password.
    Store(StoreUrl, StorePassword),
}

impl fmt::Display for StateLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(data) => write!(f, "{}", data.dir().display()),
            Self::Store(url, _) => url.fmt(f),
        }
    }
}

impl fmt::Debug for StateLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateLocation({self})")
    }
}

/// Copies a state to where none is; how many connectors, revoked ones and invites it has. Host keys and counters stay
/// where they are: they are a relay's own.
pub fn copy(from: &StateLocation, to: &StateLocation) -> Result<[usize; 3], Error> {
    let state = read(from)?;
    write(to, &state)?;
    Ok([
        state.connectors.len(),
        state.revoked.len(),
        state.invites.len(),
    ])
}

fn read(from: &StateLocation) -> Result<RelayState, Error> {
    let nothing = || StoreError::Absent(format!("there is no relay state in {from}"));
    match from {
        StateLocation::Directory(data) => Ok(state_store::peek(data)?.ok_or_else(nothing)?),
        StateLocation::Store(url, password) => {
            let (state, _) = Session::new(url.clone(), password.clone()).whole()?;
            Ok(state)
        }
    }
}

fn write(to: &StateLocation, state: &RelayState) -> Result<(), Error> {
    let not_empty = || StoreError::NotEmpty(format!("there is already a relay state in {to}"));
    match to {
        StateLocation::Directory(data) => {
            if is_member(data) || state_store::peek(data)?.is_some() {
                return Err(not_empty().into());
            }
            let store = StateStore::open_whole(data)?;
            store.update(|kept| {
                *kept = state.clone();
                Ok(())
            })
        }
        StateLocation::Store(url, password) => {
            let mut session = Session::making(url.clone(), password.clone());
            let made = session.change(&Version::default(), &state_rows::all(state))?;
            made.map(drop).ok_or_else(|| not_empty().into())
        }
    }
}
