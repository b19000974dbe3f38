//! Creates a guest's account, extends it, and ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use mysql::Conn;
use zeroize::Zeroizing;

use super::account::{self, Account};
use super::expand::{NoGuest, Readable, expand};
use super::proof::{self, ExcessRight};
use super::records::{self, Records};
use super::statements::{self, PasswordForm};
use super::sweep::{self, forget};
use super::views::{View, through, views_for};
use crate::plugin::{self, GuestInForce};
use crate::sqlweb::conn::{Connector, DbConn, dialect_of, run_silently};
use crate::sqlweb::error::DbError;
use crate::sqlweb::gate::Dialect;
use crate::sqlweb::options::Options;
use crate::store::DataDir;
use crate::sync::Mutex;

/// Longest wait for each answer while the account is created.
const TIME_TO_MAKE: Duration = Duration::from_secs(20);

/// Longest wait for each answer while it ends; the program has 2 s for its end.
const TIME_TO_END: Duration = Duration::from_millis(1200);

/// Number of passwords to try if the server's policy refuses one.
const PASSWORDS: usize = 3;

/// `ER_NOT_VALID_PASSWORD`.
const NOT_VALID_PASSWORD: u16 = 1819;

/// `ER_OPTION_PREVENTS_STATEMENT`, from a MariaDB that checks passwords and so rejects a hash
/// (`strict_password_validation`).
const OPTION_PREVENTS: u16 = 1290;

/// An account that is in use.
pub(crate) struct Guest {
    /// The account under its current name, and then other names that it may have: while it is renamed, and after a
    /// rename with unknown result.
    accounts: Mutex<Vec<Account>>,
    owner: Arc<Connector>,
    home: DataDir,
    in_force: Arc<GuestInForce>,
    has_ended: AtomicBool,
}

/// Failure to create a guest's account.
pub(crate) enum GuestFailure {
    /// It is not possible.
    No(NoGuest),
    /// The database failed.
    Db(DbError),
}

impl From<NoGuest> for GuestFailure {
    fn from(no: NoGuest) -> Self {
        Self::No(no)
    }
}

impl From<DbError> for GuestFailure {
    fn from(error: DbError) -> Self {
        Self::Db(error)
    }
}

/// Creates the `wanted` account and proves it; returns the options of a web client that uses it, too.
pub(crate) fn begin(
    owner: &Arc<Connector>,
    options: &Options,
    wanted: &plugin::Guest,
    home: &DataDir,
) -> Result<(Guest, Options), GuestFailure> {
    let mut conn = owner.administer(TIME_TO_MAKE)?;
    let making = GuestSpec {
        owner,
        options,
        wanted,
        records: Records::of(home),
        server: options.target.to_string(),
        own_name: conn.own_name().map(str::to_owned),
    };
    making.sweep(&mut conn)?;
    let (account, password, readable) = making.make(&mut conn.driver)?;
    let (tables, views) = readable.counts();
    let in_force = GuestInForce::new(tables, views, wanted.expires);
    let database = database(options, &readable, account.views.as_deref());
    let guest = Guest::new(account, owner, home, in_force);
    let options = options.as_guest(&guest.account().name, password, database);
    match prove(&guest, options, &readable) {
        Ok(options) => Ok((guest, options)),
        Err(failure) => {
            guest.end();
            Err(failure)
        }
    }
}

/// Initial database: the owner's if it is shared only whole, else that of the views.
fn database(options: &Options, readable: &Readable, views: Option<&str>) -> Option<String> {
    let own = options.database.as_deref();
    let own = own.filter(|own| readable.has_database(own) && !readable.has_parts_in(own));
    let other = || views.or_else(|| readable.only_database());
    own.or_else(other).map(str::to_owned)
}

/// Signs in as the guest and proves its rights; returns the options.
fn prove(guest: &Guest, options: Options, readable: &Readable) -> Result<Options, GuestFailure> {
    let options = Arc::new(options);
    let connector = Arc::new(Connector::new(options.clone()));
    let mut conn = connector.administer(TIME_TO_MAKE).map_err(|error| {
        NoGuest::new(
            format!("the server rejected its sign-in, so it was dropped: {error}"),
            "something between here and the server may know only its own accounts; share without a guest account",
        )
    })?;
    let version = proof::first(&mut conn.driver, "SELECT VERSION()")?.unwrap_or_default();
    let is_mariadb = dialect_of(&version).mariadb;
    let more = more_than_lent(&mut conn.driver, &guest.account(), readable, is_mariadb)?;
    drop((conn, connector));
    match more {
        Some(more) => Err(sees_more(more).into()),
        None => Ok(Arc::into_inner(options).expect("the connector and its connection are gone")),
    }
}

fn more_than_lent(
    conn: &mut Conn,
    account: &Account,
    readable: &Readable,
    is_mariadb: bool,
) -> Result<Option<ExcessRight>, GuestFailure> {
    let Some(views) = &account.views else {
        return Ok(proof::more_than_listed(
            conn, account, readable, is_mariadb,
        )?);
    };
    let more = proof::more_than_views(conn, readable, views).map_err(|error| {
        NoGuest::new(
            format!("its views cannot be read, so it was dropped: {error}"),
            "grant what you share to the account itself and not to a role, or share whole tables",
        )
    })?;
    if let Some(more) = more {
        let instead = "share it whole, or share columns of its tables instead of the view's";
        return Ok(Some(ExcessRight::new(more, instead)));
    }
    let lent = through(readable, views);
    Ok(proof::more_than_listed(conn, account, &lent, is_mariadb)?)
}

fn sees_more(more: ExcessRight) -> NoGuest {
    let why = format!("it could read more than you listed: {}", more.what);
    NoGuest::new(why, more.cure)
}

/// Settings for a new account.
struct GuestSpec<'a> {
    owner: &'a Arc<Connector>,
    options: &'a Options,
    wanted: &'a plugin::Guest,
    records: Records,
    server: String,
    /// The server's name for itself.
    own_name: Option<String>,
}

impl GuestSpec<'_> {
    fn sweep(&self, conn: &mut DbConn) -> Result<(), DbError> {
        records::are_held_by(&self.options.run_dir);
        sweep::sweep_recorded(conn, &self.server, &self.records)?;
        sweep::sweep_by_name(&mut conn.driver, &self.records)
    }

    /// Creates an account that may read what is listed; removes everything if that fails.
    fn make(
        &self,
        conn: &mut Conn,
    ) -> Result<(Account, Zeroizing<String>, Readable), GuestFailure> {
        if self.wanted.expires <= SystemTime::now() {
            return Err(
                NoGuest::new("its end time has already passed", "choose a later end time").into(),
            );
        }
        let readable = expand(conn, &self.wanted.grants)??;
        if let Some(open) = proof::open_to_all(conn)? {
            return Err(sees_more(ExcessRight::open_to_all(&open)).into());
        }
        let host = own_host(conn)?;
        let version = proof::first(conn, "SELECT VERSION()")?.unwrap_or_default();
        let dialect = dialect_of(&version);
        let views = views_for(conn, &readable, &dialect)??;
        let refused = |error| self.refused(error, &host, &readable, &views);
        if !views.is_empty() {
            // Fails for an owner that could not drop them later, although there is no such database.
            let unused = account::new_name(self.wanted.expires);
            sweep::drop_views(conn, &unused).map_err(refused)?;
        }
        let created = self.create(conn, &host, &dialect, !views.is_empty());
        let (account, password) = created.map_err(|failure| match failure {
            GuestFailure::Db(error) => refused(error),
            no @ GuestFailure::No(_) => no,
        })?;
        if let Err(error) = lend(conn, &account, &readable, &views) {
            match error {
                DbError::Statement(_) => end(self.owner, &self.records, &account, TIME_TO_MAKE),
                _ => self.drop_perhaps_made(&account),
            }
            return Err(refused(error));
        }
        Ok((account, password, readable))
    }

    fn create(
        &self,
        conn: &mut Conn,
        host: &str,
        dialect: &Dialect,
        has_views: bool,
    ) -> Result<(Account, Zeroizing<String>), GuestFailure> {
        let mut identified = PasswordForm::unlogged(dialect);
        let mut tries = 1;
        loop {
            let name = account::new_name(self.wanted.expires);
            let account = Account {
                views: has_views.then(|| name.clone()),
                host: host.to_owned(),
                name,
            };
            let password = account::new_password();
            self.note(&account)?;
            let create = Zeroizing::new(statements::create(
                &account,
                &password,
                identified,
                self.wanted.expires,
                dialect,
            ));
            let mut refused = match run_silently(conn, &create) {
                Ok(()) => return Ok((account, password)),
                Err(DbError::Statement(refused)) => refused,
                Err(lost) => {
                    self.drop_perhaps_made(&account);
                    return Err(lost.into());
                }
            };
            forget(&self.records, &account);
            // A server may quote the refused text.
            refused.message = refused.message.replace(password.as_str(), "…");
            match refused.code {
                OPTION_PREVENTS if identified == PasswordForm::ByHash => {
                    identified = PasswordForm::ByPassword;
                }
                NOT_VALID_PASSWORD if tries < PASSWORDS => tries += 1,
                _ => return Err(DbError::Statement(refused).into()),
            }
        }
    }

    fn note(&self, account: &Account) -> Result<(), NoGuest> {
        let own_name = self.own_name.as_deref();
        let run_dir = &self.options.run_dir;
        let noted = self.records.note(&self.server, own_name, account, run_dir);
        noted.map_err(|error| {
            NoGuest::new(
                format!("cannot record that it must be dropped later: {error}"),
                "make the per-user directory writable",
            )
        })
    }

    /// Drops an account that may exist, since the answer was lost. The server may even create it later, so its record
    /// stays, and the next start looks again.
    fn drop_perhaps_made(&self, account: &Account) {
        let dropped = self
            .owner
            .administer(TIME_TO_END)
            .and_then(|mut conn| sweep::end(&mut conn.driver, account));
        if let Err(error) = dropped {
            log::warn!("{}: {error}", stays(account));
        }
        records::leave(account);
    }

    /// Explains the server's refusal, with statements that an administrator can run.
    fn refused(
        &self,
        error: DbError,
        host: &str,
        readable: &Readable,
        views: &[View],
    ) -> GuestFailure {
        let DbError::Statement(error) = error else {
            return error.into();
        };
        let told = statements::for_an_administrator(host, readable, views);
        let begins_in = match views {
            [] => String::new(),
            _ => format!(" and the database {}", statements::FOR_VIEWS),
        };
        NoGuest::new(
            format!(
                "the server does not allow '{}' to create one: {}",
                self.options.user, error.message
            ),
            format!(
                "have an administrator run this with their own password, then share with that account{begins_in}: {told}"
            ),
        )
        .into()
    }
}

/// Grants the account the shared tables and views.
fn lend(
    conn: &mut Conn,
    account: &Account,
    readable: &Readable,
    views: &[View],
) -> Result<(), DbError> {
    for statement in statements::lending(account, readable, views) {
        run_silently(conn, &statement)?;
    }
    Ok(())
}

/// The host part of this machine's connections on the server; no other machine may use the account.
fn own_host(conn: &mut Conn) -> Result<String, GuestFailure> {
    let user = proof::first(conn, "SELECT USER()")?.unwrap_or_default();
    let host = user.rsplit_once('@').map(|(_, host)| host.to_owned());
    host.filter(|host| account::is_plain_host(host))
        .ok_or_else(|| {
            NoGuest::new(
                "the server does not show the host of this connection",
                "share without a guest account",
            )
            .into()
        })
}

/// Ends an account on a connection of its own, and on a second one if that is lost. After a failure the next start does
/// it.
fn end(owner: &Arc<Connector>, records: &Records, account: &Account, time: Duration) {
    let once = || {
        let mut conn = owner.administer(time)?;
        let was_there = sweep::end(&mut conn.driver, account)?;
        Ok(was_there || records.is_gone(account, conn.own_name()))
    };
    let ended = once().or_else(|error| match error {
        DbError::Statement(_) => Err(error),
        _ => once(),
    });
    match ended {
        Ok(true) => forget(records, account),
        Ok(false) => {
            records::leave(account);
            log::warn!("{}: another server may answer now", stays(account));
        }
        Err(error) => {
            records::leave(account);
            log::warn!("{}: {error}", stays(account));
        }
    }
}

fn stays(account: &Account) -> String {
    format!(
        "guest account {} is not dropped yet; the next start for this database drops it",
        account.quoted()
    )
}

impl Guest {
    fn new(
        account: Account,
        owner: &Arc<Connector>,
        home: &DataDir,
        in_force: GuestInForce,
    ) -> Self {
        Self {
            accounts: Mutex::new(vec![account]),
            owner: owner.clone(),
            home: home.clone(),
            in_force: Arc::new(in_force),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Returns its numbers of tables and views, and its end.
    pub(crate) fn in_force(&self) -> Arc<GuestInForce> {
        self.in_force.clone()
    }

    /// True if its time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst) || self.in_force.is_over()
    }

    /// True if it has to be ended now.
    pub(crate) fn is_due(&self) -> bool {
        self.is_over() && !self.has_ended.load(Ordering::SeqCst)
    }

    fn account(&self) -> Account {
        let accounts = self.accounts.lock();
        accounts.first().expect("it has a name").clone()
    }

    /// Changes its end. Returns its new name, which contains the new end for cleaning up. `None` if the end is earlier,
    /// which needs no new name, or if the database fails, after which the end is unchanged.
    pub(crate) fn set_end(&self, expires: SystemTime) -> Option<String> {
        if expires <= self.in_force.expires() {
            self.in_force.set_end(expires);
            return None;
        }
        if self.is_over() {
            return None;
        }
        match self.rename(expires) {
            Ok(name) => {
                self.in_force.set_end(expires);
                Some(name)
            }
            Err(error) => {
                log::warn!("the guest account keeps its earlier end time: {error}");
                None
            }
        }
    }

    /// Renames the account. Meanwhile [`end`](Self::end) knows both names, and so do the records if this process is
    /// killed.
    fn rename(&self, expires: SystemTime) -> Result<String, String> {
        let (old, records) = (self.account(), Records::of(&self.home));
        let new = Account {
            name: account::new_name(expires),
            host: old.host.clone(),
            views: old.views.clone(),
        };
        let noted = records.note_beside(&new, &old);
        noted.map_err(|error| error.to_string())?;
        self.accounts.lock().push(new.clone());
        let renamed = self.owner.administer(TIME_TO_MAKE).and_then(|mut conn| {
            let statement = format!("RENAME USER {} TO {}", old.quoted(), new.quoted());
            run_silently(&mut conn.driver, &statement)?;
            let expiry = statements::password_expiry(expires);
            let belt = format!("ALTER USER {} {expiry}", new.quoted());
            sweep::tolerated(run_silently(&mut conn.driver, &belt))
        });
        // After a lost connection, unlike a refusal, its name is unknown, so both names are kept.
        let is_known = matches!(renamed, Ok(()) | Err(DbError::Statement(_)));
        let is_renamed = renamed.is_ok() || !is_known && self.is_there(&new);
        let (kept, gone) = if is_renamed { (new, old) } else { (old, new) };
        if is_known {
            forget(&records, &gone);
        }
        let mut accounts = self.accounts.lock();
        accounts.retain(|account| *account != kept && !(is_known && *account == gone));
        accounts.insert(0, kept.clone());
        match renamed {
            Err(error) if !is_renamed => Err(error.to_string()),
            _ => Ok(kept.name),
        }
    }

    fn is_there(&self, account: &Account) -> bool {
        let asked = self.owner.administer(TIME_TO_MAKE).and_then(|mut conn| {
            let question = format!("SHOW GRANTS FOR {}", account.quoted());
            run_silently(&mut conn.driver, &question)
        });
        asked.is_ok()
    }

    /// Locks it, ends its connections and drops it, once, within some seconds. After a failure the next start does it.
    pub(crate) fn end(&self) {
        if self.has_ended.swap(true, Ordering::SeqCst) {
            return;
        }
        // Its current name comes first, a name that it may get later last.
        let accounts = self.accounts.lock().clone();
        for account in accounts {
            end(&self.owner, &Records::of(&self.home), &account, TIME_TO_END);
        }
    }
}

/// Drops accounts that killed processes left on the database of `options`: by the records, and expired ones by name.
/// Does nothing if there is no record and no guest is wanted.
pub(crate) fn sweep_left(owner: &Arc<Connector>, options: &Options, home: &DataDir) {
    let (records, server) = (Records::of(home), options.target.to_string());
    records::are_held_by(&options.run_dir);
    let is_some_left = !records.left_on(&server).is_ok_and(|left| left.is_empty());
    if !is_some_left && options.guest.is_none() {
        return;
    }
    let swept = owner.administer(TIME_TO_MAKE).and_then(|mut conn| {
        sweep::sweep_recorded(&mut conn, &server, &records)?;
        sweep::sweep_by_name(&mut conn.driver, &records)
    });
    match swept {
        Err(error) if is_some_left => {
            log::warn!("guest accounts left on {server} are not dropped yet: {error}");
        }
        Err(error) => log::debug!("cannot look for guest accounts on {server}: {error}"),
        Ok(()) => {}
    }
}
