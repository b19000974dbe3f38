//! One change of the state, as one transaction.

use std::collections::BTreeMap;

use mysql::Conn;
use mysql::prelude::Queryable;

use super::server_error::Trouble;
use super::session::Session;
use super::write::write;
use crate::relay::journal::{Change, rest, to_json};
use crate::relay::state::RelayState;
use crate::relay::store_error::StoreError;
use crate::store::random;

/// Changes that are kept for relays that lag behind; one that lags further reads all. Default 500.
const KEPT: u64 = 500;
/// Each so many changes those that are older are taken away.
const SWEPT_EACH: u64 = 16;

/// Content of a change for the store.
pub(in crate::relay::fleet) struct Commit {
    from: u64,
    to: u64,
    id: String,
    body: String,
    /// None for one that is there no more.
    connectors: Vec<(String, Option<String>)>,
    rest: Option<String>,
    sites: Moves<String>,
    ports: Moves<u16>,
}

/// Names or ports that were assigned, and those that were released.
struct Moves<K> {
    gone: Vec<K>,
    given: Vec<(K, String)>,
}

/// Result of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::relay::fleet) enum Committed {
    /// It is in the store.
    Done,
    /// The store has another state than the one that it was made of.
    Outdated,
    /// A name or a port is taken that is free in the state it was made of.
    Taken,
}

/// Reason why a name or port is taken.
pub(in crate::relay::fleet) enum Taken {
    /// The store has another state by now.
    Outdated,
    /// Nobody had it: it was taken away, and the change may be tried again.
    Freed,
    /// The store's own state has the same number, and is another one.
    Other(Box<RelayState>),
}

impl Commit {
    /// From one state to another.
    pub(in crate::relay::fleet) fn new(before: &RelayState, after: &RelayState) -> Self {
        let change = Change::between(before, after);
        let connectors = change.connectors.iter();
        let connectors = connectors.map(|(name, one)| (name.clone(), one.as_ref().map(text)));
        let (names, ports) = (sites(after), ports(after));
        Self {
            from: change.from,
            to: change.to,
            id: random::token(),
            body: text(&change),
            connectors: connectors.collect(),
            rest: change.rest.as_ref().map(text),
            sites: moves(sites(before), names),
            ports: moves(self::ports(before), ports),
        }
    }

    /// All of a state, into a store that has none.
    pub(in crate::relay::fleet) fn whole(state: &RelayState) -> Self {
        let to = state.number.max(1);
        // Made of no state that a relay has: each reads all.
        let change = Change {
            from: to,
            to,
            connectors: BTreeMap::new(),
            rest: None,
        };
        Self {
            to,
            body: text(&change),
            rest: Some(text(&rest(state))),
            ..Self::new(&RelayState::default(), state)
        }
    }
}

fn text(document: &impl serde::Serialize) -> String {
    String::from_utf8(to_json(document)).expect("JSON is text")
}

/// Whose each name of a site is, also of those that are kept for who had them.
fn sites(state: &RelayState) -> BTreeMap<String, String> {
    let held = state.holders().filter_map(|(connector, application)| {
        let site = application.site.as_ref()?;
        Some((site.name.clone(), connector.to_owned()))
    });
    let kept = state.reserved.iter();
    let kept = kept.filter_map(|kept| Some((kept.site.clone()?, kept.connector.clone())));
    // Held names belong to the holder, also if they are noted as kept.
    kept.chain(held).collect()
}

/// Returns the owners of ports and numbers.
fn ports(state: &RelayState) -> BTreeMap<u16, String> {
    let held = state.holders();
    let held = held.map(|(connector, application)| (application.port, connector.to_owned()));
    let known = state.connectors.iter();
    let known = known.map(|(name, connector)| (name.as_str(), connector));
    let own = known.chain(state.turned_out());
    let own = own.map(|(name, connector)| (connector.api_port, name.to_owned()));
    let kept = state.reserved.iter();
    let kept = kept.filter_map(|kept| Some((kept.port?, kept.connector.clone())));
    kept.chain(held).chain(own).collect()
}

fn moves<K: Ord + Clone>(before: BTreeMap<K, String>, after: BTreeMap<K, String>) -> Moves<K> {
    let stays = |key: &K, of: &String, others: &BTreeMap<K, String>| others.get(key) == Some(of);
    let gone = before.iter().filter(|(key, of)| !stays(key, of, &after));
    let given = after.iter().filter(|(key, of)| !stays(key, of, &before));
    Moves {
        gone: gone.map(|(key, _)| key.clone()).collect(),
        given: given.map(|(key, of)| (key.clone(), of.clone())).collect(),
    }
}

impl Session {
    /// Makes a change. An error says that it is not known to be made.
    pub(in crate::relay::fleet) fn commit(
        &mut self,
        commit: &Commit,
    ) -> Result<Committed, StoreError> {
        let committed = self.ask(|conn| match attempt(conn, commit) {
            Err(Trouble::Taken) => {
                conn.query_drop("ROLLBACK")?;
                Ok(Committed::Taken)
            }
            Err(Trouble::Again(why)) => {
                conn.query_drop("ROLLBACK")?;
                Err(Trouble::Again(why))
            }
            outcome => outcome,
        })?;
        if committed == Committed::Done && commit.to.is_multiple_of(SWEPT_EACH) {
            self.sweep(commit.to.saturating_sub(KEPT));
        }
        Ok(committed)
    }

    /// Finds out whose it is what a change was to give, as the state in the store has it.
    pub(in crate::relay::fleet) fn whose(&mut self, commit: &Commit) -> Result<Taken, StoreError> {
        let state = self.whole()?;
        if state.number != commit.from {
            return Ok(Taken::Outdated);
        }
        let (names, ports) = (sites(&state), ports(&state));
        let given = commit.sites.given.iter().map(|(name, _)| name);
        let free_names: Vec<&String> = given.filter(|name| !names.contains_key(*name)).collect();
        let given = commit.ports.given.iter().map(|(port, _)| port);
        let free_ports: Vec<&u16> = given.filter(|port| !ports.contains_key(*port)).collect();
        let freed = self.ask(|conn| {
            conn.query_drop("START TRANSACTION")?;
            let number = "SELECT number FROM postern_fleet WHERE id = 1 FOR UPDATE";
            let number: Option<u64> = conn.query_first(number)?;
            let mut freed = 0;
            if number == Some(commit.from) {
                for name in &free_names {
                    conn.exec_drop("DELETE FROM postern_sites WHERE name = ?", (*name,))?;
                    freed += conn.affected_rows();
                }
                for port in &free_ports {
                    conn.exec_drop("DELETE FROM postern_ports WHERE port = ?", (*port,))?;
                    freed += conn.affected_rows();
                }
            }
            conn.query_drop("COMMIT")?;
            Ok((number, freed))
        })?;
        Ok(match freed {
            (Some(number), _) if number != commit.from => Taken::Outdated,
            (_, 0) => Taken::Other(Box::new(state)),
            (_, count) => {
                log::warn!("freed {count} names or ports in the store that had no owner");
                Taken::Freed
            }
        })
    }

    /// Best effort: the next one does it too.
    fn sweep(&mut self, before: u64) {
        let delete = "DELETE FROM postern_changes WHERE number < ? LIMIT 1000";
        let swept = self.ask(|conn| Ok(write(conn, delete, (before,))?));
        if let Err(error) = swept {
            log::debug!("old changes remain in the store: {error}");
        }
    }
}

fn attempt(conn: &mut Conn, commit: &Commit) -> Result<Committed, Trouble> {
    conn.query_drop("START TRANSACTION")?;
    let raise = "UPDATE postern_fleet SET number = ? WHERE id = 1 AND number = ?";
    write(conn, raise, (commit.to, commit.from))?;
    if conn.affected_rows() == 0 {
        conn.query_drop("ROLLBACK")?;
        return read_back(conn, commit);
    }
    let note = "INSERT INTO postern_changes (number, id, body) VALUES (?, ?, ?)";
    write(conn, note, (commit.to, &commit.id, &commit.body))?;
    for (name, body) in &commit.connectors {
        match body {
            Some(body) => write(
                conn,
                "REPLACE INTO postern_connectors (name, body) VALUES (?, ?)",
                (name, body),
            )?,
            None => write(
                conn,
                "DELETE FROM postern_connectors WHERE name = ?",
                (name,),
            )?,
        }
    }
    if let Some(rest) = &commit.rest {
        write(
            conn,
            "REPLACE INTO postern_rest (id, body) VALUES (1, ?)",
            (rest,),
        )?;
    }
    for name in &commit.sites.gone {
        write(conn, "DELETE FROM postern_sites WHERE name = ?", (name,))?;
    }
    for given in &commit.sites.given {
        write(
            conn,
            "INSERT INTO postern_sites (name, connector) VALUES (?, ?)",
            given,
        )?;
    }
    for port in &commit.ports.gone {
        write(conn, "DELETE FROM postern_ports WHERE port = ?", (port,))?;
    }
    for given in &commit.ports.given {
        write(
            conn,
            "INSERT INTO postern_ports (port, connector) VALUES (?, ?)",
            given,
        )?;
    }
    conn.query_drop("COMMIT")?;
    Ok(Committed::Done)
}

/// Checks if it was made before and only the answer was lost.
fn read_back(conn: &mut Conn, commit: &Commit) -> Result<Committed, Trouble> {
    let read = "SELECT id FROM postern_changes WHERE number = ?";
    let id: Option<String> = conn.exec_first(read, (commit.to,))?;
    Ok(if id.as_ref() == Some(&commit.id) {
        Committed::Done
    } else {
        Committed::Outdated
    })
}
