//! Address of the store, `mysql://USER@HOST[:PORT],…/DATABASE`, and the password, which is not in it.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::{fmt, io};

use zeroize::Zeroizing;

use crate::net::authority;
use crate::net::authority::{authority, is_host, split};
use crate::net::percent::decode;

/// Default port.
const PORT: u16 = 3306;
const SCHEMES: [&str; 2] = ["mysql://", "mariadb://"];
/// Bytes of a file with a password, at most.
const CAP: u64 = 4096;

/// The servers of one store, the account, and the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreUrl {
    pub(super) user: String,
    /// Servers in the order of use; never empty.
    pub(super) hosts: Vec<(String, u16)>,
    pub(super) database: String,
}

/// Reason that a text is no address of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidStoreUrl(&'static str);

impl StoreUrl {
    /// True if a text is meant as an address of a store, and not as a directory.
    pub fn is_meant(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// Returns the server of this turn, in their order again and again.
    pub(super) fn host(&self, turn: usize) -> &(String, u16) {
        let host = self.hosts.get(turn % self.hosts.len());
        host.expect("a store has a host")
    }
}

impl FromStr for StoreUrl {
    type Err = InvalidStoreUrl;

    fn from_str(text: &str) -> Result<Self, InvalidStoreUrl> {
        let form = "give mysql://USER@HOST:PORT,HOST:PORT/DATABASE";
        let mut schemes = SCHEMES.iter();
        let rest = schemes.find_map(|scheme| text.strip_prefix(scheme));
        let (before, database) = rest
            .and_then(|rest| rest.split_once('/'))
            .ok_or(InvalidStoreUrl(form))?;
        let (user, hosts) = before.rsplit_once('@').ok_or(InvalidStoreUrl(form))?;
        if user.contains(':') {
            return Err(InvalidStoreUrl(
                "other users of this machine could see the password: use POSTERN_STORE_PASS, or a file named in \
                 POSTERN_STORE_PASS_FILE",
            ));
        }
        if database.contains(['?', '#', '/']) {
            return Err(InvalidStoreUrl(
                "nothing may follow the database: TLS is used, and verified, for every host that is not on loopback",
            ));
        }
        let text = |part: &str| {
            let decoded = decode(part).filter(|text| !text.is_empty())?;
            String::from_utf8(decoded.to_vec()).ok()
        };
        let (user, database) = text(user)
            .zip(text(database))
            .ok_or(InvalidStoreUrl(form))?;
        let hosts: Option<Vec<_>> = hosts.split(',').map(host).collect();
        let hosts = hosts.ok_or(InvalidStoreUrl(form))?;
        Ok(Self {
            user,
            hosts,
            database,
        })
    }
}

/// Reads a host and its port; an IPv6 address is in brackets.
fn host(text: &str) -> Option<(String, u16)> {
    let (host, port) = split(text)?;
    let port = match port {
        Some(port) => authority::port(port)?,
        None => PORT,
    };
    is_host(host).then(|| (host.to_owned(), port))
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<_> = self
            .hosts
            .iter()
            .map(|(host, port)| authority(host, *port))
            .collect();
        write!(
            f,
            "mysql://{}@{}/{}",
            self.user,
            hosts.join(","),
            self.database
        )
    }
}

impl fmt::Display for InvalidStoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for InvalidStoreUrl {}

/// The password of the store's account.
#[derive(Clone)]
pub enum StorePassword {
    /// The password itself; empty for an account without one.
    Given(Zeroizing<String>),
    /// File with the password, read when it is needed: it can change while a relay runs.
    File(PathBuf),
}

impl StorePassword {
    /// Reads the current password; of a file without the end of its line.
    pub fn read(&self) -> io::Result<Zeroizing<String>> {
        let path = match self {
            Self::Given(password) => return Ok(password.clone()),
            Self::File(path) => path,
        };
        let mut read = Zeroizing::new(String::new());
        File::open(path)?.take(CAP).read_to_string(&mut read)?;
        let password = read.strip_suffix('\n').unwrap_or(&read);
        let password = password.strip_suffix('\r').unwrap_or(password);
        Ok(Zeroizing::new(password.to_owned()))
    }
}

impl fmt::Debug for StorePassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StorePassword(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_ports_and_names_may_be_encoded() {
        let url: StoreUrl = "mysql://re%40lay@db1,db2:3307,[::1]:3308,[::2]/fleet%20one"
            .parse()
            .unwrap();
        let hosts = [("db1", 3306), ("db2", 3307), ("::1", 3308), ("::2", 3306)];
        let hosts: Vec<_> = hosts.map(|(host, port)| (host.to_owned(), port)).into();
        assert_eq!(url.hosts, hosts);
        assert_eq!((&*url.user, &*url.database), ("re@lay", "fleet one"));
    }

    #[test]
    fn what_cannot_be_one_is_refused_with_the_form() {
        for text in [
            "mysql://db/postern",
            "mysql://u@/postern",
            "mysql://u@db",
            "mysql://u@db/",
            "mysql://u@db:0/p",
            "mysql://u@db:x/p",
            "mysql://u@db,/p",
            "mysql://@db/p",
            "mysql://u@[db]/p",
            "mysql://u@d b/p",
            "postgres://u@db/p",
            "",
        ] {
            let error = text.parse::<StoreUrl>().unwrap_err().to_string();
            assert!(error.contains("mysql://USER@HOST"), "{text}: {error}");
        }
        let error = |text: &str| text.parse::<StoreUrl>().unwrap_err().to_string();
        assert!(error("mysql://u:secret@db/p").contains("POSTERN_STORE_PASS"));
        assert!(error("mysql://u@db/p?tls=off").contains("TLS is used"));
    }

    #[test]
    fn a_file_is_read_each_time_without_the_end_of_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        let password = StorePassword::File(path.clone());
        assert!(password.read().is_err());
        for (content, expected) in [
            ("one\n", "one"),
            ("two\r\n", "two"),
            (" three \n\n", " three \n"),
        ] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(*password.read().unwrap(), expected);
        }
        assert!(!format!("{password:?}").contains("three"));
    }
}
