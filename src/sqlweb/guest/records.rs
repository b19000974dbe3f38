//! Records of guests' accounts. A record is written before its account is created and removed when that is dropped, so
//! that the next start can clean up after a crash.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::account::{Account, expiry};
use crate::net::authority::split;
use crate::store::{DataDir, Error, JsonFile, RunDir};
use crate::sync::Mutex;

/// File of the records, which has no secrets.
const FILE: &str = "guests.json";

/// Largest file, in bytes: some thousand records.
const CAP: u64 = 1024 * 1024;

/// Time after its end that an account is kept if it may be another machine's, or on another server, since clocks
/// differ.
pub(super) const GRACE: Duration = Duration::from_secs(600);

/// Accounts of this process that are in use.
static IN_USE: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// This process's run directory.
static OWN: Mutex<Option<PathBuf>> = Mutex::new(None);

#[derive(Default, Serialize, Deserialize)]
struct Document {
    accounts: Vec<AccountRecord>,
}

#[derive(Clone, Serialize, Deserialize)]
struct AccountRecord {
    /// Address of the database server, `host:port` or a socket's path.
    server: String,
    /// The server's own name, if known.
    #[serde(default)]
    own_name: Option<String>,
    name: String,
    host: String,
    /// The database of its views, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    views: Option<String>,
    /// The run directory of its process, which is locked while that lives.
    holder: PathBuf,
}

/// The file of one user.
pub(super) struct Records(JsonFile<Document>);

impl Records {
    pub(super) fn of(home: &DataDir) -> Self {
        let consequence = "; temporary accounts whose names begin with 'postern_' may be left on database servers";
        let file = JsonFile::new(home.clone(), FILE, CAP);
        Self(file.with_consequence(consequence))
    }

    /// Notes that the account is about to be created on a server, by the process with the run directory `holder`.
    pub(super) fn note(
        &self,
        server: &str,
        own_name: Option<&str>,
        account: &Account,
        holder: &Path,
    ) -> Result<(), Error> {
        self.0.update(|document: &mut Document| {
            document.accounts.push(AccountRecord {
                server: server.to_owned(),
                own_name: own_name.map(str::to_owned),
                name: account.name.clone(),
                host: account.host.clone(),
                views: account.views.clone(),
                holder: holder.to_owned(),
            });
            Ok::<(), Error>(())
        })?;
        in_use(|names| names.insert(account.name.clone()));
        Ok(())
    }

    /// Notes another name of an account that is about to be renamed.
    pub(super) fn note_beside(&self, other: &Account, account: &Account) -> Result<(), Error> {
        in_use(|names| names.insert(other.name.clone()));
        self.0.update(|document: &mut Document| {
            let is_it = |record: &&AccountRecord| record.name == account.name;
            let noted = document.accounts.iter().find(is_it).cloned();
            document.accounts.extend(noted.map(|record| AccountRecord {
                name: other.name.clone(),
                ..record
            }));
            Ok(())
        })
    }

    /// Removes the record of an account that was dropped.
    pub(super) fn forget(&self, account: &Account) -> Result<(), Error> {
        in_use(|names| names.remove(&account.name));
        self.0.update(|document: &mut Document| {
            document
                .accounts
                .retain(|record| (&record.name, &record.host) != (&account.name, &account.host));
            Ok(())
        })
    }

    /// True if an account that is missing on the server called `own_name` does not exist anywhere, since it was created
    /// there or has expired. Otherwise it may be on another server behind the same address.
    pub(super) fn is_gone(&self, account: &Account, own_name: Option<&str>) -> bool {
        let is_it = |record: &&AccountRecord| record.name == account.name;
        let all = self.0.read().ok().flatten().unwrap_or_default().accounts;
        let made_on = all
            .iter()
            .find(is_it)
            .and_then(|record| record.own_name.as_deref());
        let is_over = expiry(&account.name).is_some_and(|end| SystemTime::now() > end + GRACE);
        is_over || made_on.is_some() && made_on == own_name
    }

    /// Accounts on that server that nobody uses any more.
    pub(super) fn left_on(&self, server: &str) -> Result<Vec<Account>, Error> {
        let all = self.0.read()?.unwrap_or_default().accounts;
        let left = all
            .into_iter()
            .filter(|record| is_same(&record.server, server) && record.is_left());
        Ok(left
            .map(
                |AccountRecord {
                     name, host, views, ..
                 }| Account { name, host, views },
            )
            .collect())
    }

    /// Names of all accounts in use, and of their databases.
    pub(super) fn in_use(&self) -> Result<HashSet<String>, Error> {
        let all = self.0.read()?.unwrap_or_default().accounts;
        let used = all.into_iter().filter(|record| !record.is_left());
        Ok(used
            .flat_map(|record| std::iter::once(record.name).chain(record.views))
            .collect())
    }
}

/// True if both lead to the same server; this machine has three usual names.
fn is_same(one: &str, other: &str) -> bool {
    let port = |server| match split(server)? {
        ("localhost" | "127.0.0.1" | "::1", port) => port,
        _ => None,
    };
    one.eq_ignore_ascii_case(other) || port(one).is_some() && port(one) == port(other)
}

impl AccountRecord {
    /// True if nobody uses the account: its process has ended, or this process does not use it.
    fn is_left(&self) -> bool {
        !RunDir::is_held(&self.holder)
            || self.is_of_this_process() && !in_use(|names| names.contains(&self.name))
    }

    fn is_of_this_process(&self) -> bool {
        let own = OWN.lock();
        own.as_ref() == Some(&self.holder)
    }
}

/// Sets this process's run directory.
pub(super) fn are_held_by(holder: &Path) {
    *OWN.lock() = Some(holder.to_owned());
}

/// Notes that an account is no longer in use, though it may exist.
pub(super) fn leave(account: &Account) {
    in_use(|names| names.remove(&account.name));
}

fn in_use<T>(on: impl FnOnce(&mut HashSet<String>) -> T) -> T {
    on(IN_USE.lock().get_or_insert_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_left_when_its_process_is_gone_or_has_let_go() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path());
        let records = Records::of(&home);
        let run = RunDir::create(Some(&home)).unwrap();
        let account = |name: &str| Account {
            name: name.into(),
            host: "h".into(),
            views: None,
        };
        let (used, dead) = (account("g-used"), account("g-dead"));
        let own = Some("own");
        records.note("a:1", own, &used, run.path()).unwrap();
        records
            .note("a:1", own, &dead, &dir.path().join("gone"))
            .unwrap();
        assert_eq!(records.left_on("a:1").unwrap(), std::slice::from_ref(&dead));
        assert_eq!(records.left_on("a:2").unwrap(), []);
        assert_eq!(records.left_on("A:1").unwrap(), std::slice::from_ref(&dead));
        assert_eq!(records.in_use().unwrap(), [used.name.clone()].into());
        assert!(records.is_gone(&dead, Some("own")), "it is gone");
        assert!(!records.is_gone(&dead, Some("other")) && !records.is_gone(&dead, None));
        let ended = account("postern_1500000000_abcdefghjkmnp");
        assert!(records.is_gone(&ended, Some("other")));
        are_held_by(run.path());
        assert_eq!(records.left_on("a:1").unwrap(), std::slice::from_ref(&dead));
        leave(&used);
        assert_eq!(
            records.left_on("a:1").unwrap(),
            [used.clone(), dead.clone()]
        );
        records.forget(&dead).unwrap();
        records.forget(&used).unwrap();
        assert_eq!(records.left_on("a:1").unwrap(), []);
    }

    #[test]
    fn this_machine_is_one_by_all_its_names() {
        for other in ["127.0.0.1:1", "[::1]:1", "localhost:1"] {
            assert!(is_same("localhost:1", other) && is_same(other, "[::1]:1"));
            assert!(!is_same(other, "localhost:2") && !is_same(other, "127.0.0.2:1"));
            assert!(!is_same(other, "/run/mysqld.sock"));
        }
        assert!(is_same("/run/a", "/run/a") && !is_same("/run/a", "/run/b"));
    }
}
