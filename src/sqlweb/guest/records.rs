//! The records of guests' accounts: one is written before its account is made and goes when that is dropped, so that
//! whatever ends in between can be cleaned up by the next start.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::net::authority::split;
use crate::store::time::since_epoch;
use crate::store::{DataDir, Error, JsonFile, RunDir, random};
use crate::sync::Mutex;

/// Where they are; there is no secret in it.
const FILE: &str = "guests.json";

/// Bytes of the file: some thousand records.
const CAP: u64 = 1024 * 1024;

/// Time that after its end an account is left alone that may be another machine's, or on another server: clocks differ.
pub(super) const GRACE: Duration = Duration::from_secs(600);

/// Accounts of this process that are in use.
static IN_USE: Mutex<Option<HashSet<String>>> = Mutex::new(None);

#[derive(Default, Serialize, Deserialize)]
struct Document {
    accounts: Vec<AccountRecord>,
}

#[derive(Clone, Serialize, Deserialize)]
struct AccountRecord {
    /// The database server as it is reached, `host:port` or a socket's path.
    server: String,
    /// Server's own name; unknown if it does not say.
    #[serde(default)]
    own_name: Option<String>,
    name: String,
    host: String,
    /// The database of its views, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    views: Option<String>,
    /// The run directory of the process that made it, which is locked while that lives.
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

    /// Notes that the account is about to be made on a server, which has a name for itself too, by the process with the
    /// run directory `holder`.
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

    /// Notes another name of an account, by which it is about to be called.
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

    /// The account is gone.
    pub(super) fn forget(&self, account: &Account) -> Result<(), Error> {
        in_use(|names| names.remove(&account.name));
        self.0.update(|document: &mut Document| {
            document
                .accounts
                .retain(|record| (&record.name, &record.host) != (&account.name, &account.host));
            Ok(())
        })
    }

    /// True if an account that is not on the server that calls itself `own_name` is nowhere: it was made there, or has
    /// ended since. Any other server may answer at the same address.
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

    /// The accounts on that server that nobody uses any more.
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

    /// The names of all accounts that somebody uses, and of their databases.
    pub(super) fn in_use(&self) -> Result<HashSet<String>, Error> {
        let all = self.0.read()?.unwrap_or_default().accounts;
        let used = all.into_iter().filter(|record| !record.is_left());
        Ok(used
            .flat_map(|record| std::iter::once(record.name).chain(record.views))
            .collect())
    }
}

/// True if both lead to the same server: this machine has three usual names.
fn is_same(one: &str, other: &str) -> bool {
    let port = |server| match split(server)? {
        ("localhost" | "127.0.0.1" | "::1", port) => port,
        _ => None,
    };
    one.eq_ignore_ascii_case(other) || port(one).is_some() && port(one) == port(other)
}

impl AccountRecord {
    /// Of this process it is known which are in use.
    fn is_left(&self) -> bool {
        !RunDir::is_held(&self.holder)
            || self.is_of_this_process() && !in_use(|names| names.contains(&self.name))
    }

    fn is_of_this_process(&self) -> bool {
        let own = OWN.lock();
        own.as_ref() == Some(&self.holder)
    }
}

/// This process's run directory.
static OWN: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Accounts that have this holder are this process's.
pub(super) fn are_held_by(holder: &Path) {
    *OWN.lock() = Some(holder.to_owned());
}

/// It is no longer in use, though it may be there.
pub(super) fn leave(account: &Account) {
    in_use(|names| names.remove(&account.name));
}

fn in_use<T>(on: impl FnOnce(&mut HashSet<String>) -> T) -> T {
    on(IN_USE.lock().get_or_insert_default())
}

/// How the names of all of them begin.
pub(super) const PREFIX: &str = "postern_";

/// Digits of the expiry in a name, in seconds since 1970: enough until the year 2286.
const EXPIRY_DIGITS: usize = 10;

/// Random characters of a name, 64 bits: with all the rest it has 32, the most that MySQL takes.
const TAIL: usize = 13;

/// Without vowels, so that no password has a word of a dictionary in it.
const LOWER: &[u8] = b"bcdfghjkmnpqrstvwxz";

/// Characters of a name: upper and lower case count as one on some systems.
const OF_NAMES: &[u8] = b"abcdefghjkmnpqrstvwxyz0123456789";

/// An account as the server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) host: String,
    /// The database of its views, where it is lent columns.
    pub(super) views: Option<String>,
}

impl Account {
    /// `'NAME'@'HOST'`.
    pub(super) fn quoted(&self) -> String {
        format!("{}@{}", text(&self.name), text(&self.host))
    }
}

/// True if it is a host part that accounts are made with here: this very machine's, in no need of care.
pub(super) fn is_plain_host(host: &str) -> bool {
    !host.is_empty()
        && !host.contains(['\'', '\\', '"', '`', '%'])
        && !host.contains(char::is_control)
}

/// A text in quotes, whatever the session's mode says of backslashes: those that have one are not made here.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// `postern_` + when it ends + something random.
pub(super) fn new_name(expires: SystemTime) -> String {
    let seconds = since_epoch(expires).as_secs();
    let tail: String = drawn::<TAIL>(OF_NAMES);
    format!("{PREFIX}{seconds:0EXPIRY_DIGITS$}_{tail}")
}

/// When the account of that name ends; none where the name is not of our making.
pub(super) fn expiry(name: &str) -> Option<SystemTime> {
    let (digits, tail) = name.strip_prefix(PREFIX)?.split_once('_')?;
    let is_ours = digits.len() == EXPIRY_DIGITS
        && tail.len() == TAIL
        && tail.bytes().all(|byte| OF_NAMES.contains(&byte));
    let seconds = digits.parse().ok().filter(|_| is_ours)?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// 48 characters, more than 190 random bits: letters of both cases, digits and marks, so that it passes the usual
/// policies; none of them means anything in SQL.
pub(super) fn new_password() -> Zeroizing<String> {
    let lower = Zeroizing::new(drawn::<20>(LOWER));
    let upper = Zeroizing::new(drawn::<20>(LOWER).to_uppercase());
    let digits = Zeroizing::new(drawn::<6>(b"0123456789"));
    Zeroizing::new(format!("{}-{}.{}", *upper, *digits, *lower))
}

/// Hash of `mysql_native_password`: `*` and SHA-1 of SHA-1 in hexadecimal. Of as many random bits as ours
/// have nobody finds the password from it.
pub(super) fn native_hash(password: &str) -> String {
    let sha1 = |bytes: &[u8]| digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes);
    let twice = sha1(sha1(password.as_bytes()).as_ref());
    format!("*{}", random::hex(twice.as_ref()).to_uppercase())
}

/// Characters of `alphabet`, each as likely as a byte allows.
fn drawn<const N: usize>(alphabet: &[u8]) -> String {
    let one = |byte: u8| {
        let at = usize::from(byte).checked_rem(alphabet.len());
        let found = at.and_then(|at| alphabet.get(at));
        char::from(*found.expect("the alphabet is not empty"))
    };
    random::bytes::<N>().into_iter().map(one).collect()
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

    #[test]
    fn a_name_says_when_it_ends_and_fits() {
        let expires = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let name = new_name(expires);
        assert_eq!(name.len(), 32, "{name}");
        assert!(name.starts_with("postern_1800000000_"));
        assert_eq!(expiry(&name), Some(expires));
        assert_ne!(name, new_name(expires));
        assert_eq!(new_name(SystemTime::UNIX_EPOCH).len(), 32);
        for other in [
            "postern",
            "postern_1800000000",
            "postern_1800000000_x",
            "postern_app",
            "postern_18000000_0123456789012",
            "postern_1800000000_012345678901!",
        ] {
            assert_eq!(expiry(other), None, "{other}");
        }
    }

    #[test]
    fn a_password_has_some_of_each_kind() {
        let password = new_password();
        let has = |is: fn(&char) -> bool| password.chars().filter(is).count() >= 2;
        assert_eq!(password.len(), 48);
        assert!(has(char::is_ascii_lowercase) && has(char::is_ascii_uppercase));
        assert!(has(char::is_ascii_digit) && has(char::is_ascii_punctuation));
        assert!(!password.contains(['\'', '"', '\\', '`']));
        assert_ne!(*password, *new_password());
    }

    #[test]
    fn a_hash_is_what_the_server_makes_of_it() {
        assert_eq!(
            native_hash("password"),
            "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19",
            "SELECT PASSWORD('password')"
        );
    }

    #[test]
    fn an_account_is_quoted() {
        let account = Account {
            name: "postern_1".into(),
            host: "it's".into(),
            views: None,
        };
        assert_eq!(account.quoted(), "'postern_1'@'it''s'");
    }
}
