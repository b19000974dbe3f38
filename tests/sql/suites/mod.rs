//! The servers' own regression tests as opponents: each statement runs on a plain connection and, on a second server in
//! the same state, through a session of the web client, and both must tell the same.
//!
//! `tests/servers.sh suites` unpacks the test files; `make nightly PARTS=suites` runs this. [`list`] says which files.

mod list;
mod reader;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use support::database::{Database, Kind, Options, PASSWORD, USER};
use support::http::Client;
use support::postern::Postern;

use crate::everyday::answer::{Direct, ask, difference};
use list::{List, Treatment};
use reader::Statement;

/// Longest time for the statements of one server.
const PATIENCE: Duration = Duration::from_secs(570);

/// Longest time for one statement.
const DEADLINE: Duration = Duration::from_secs(30);

/// Most memory of its own that a server may take, in bytes.
const MEMORY: u64 = 4 << 30;

/// Fewest files of a server.
const ENOUGH: usize = 60;

/// The state in which each file begins: `test` is empty, and clocks and dice are those of the other server.
const FRESH: [&str; 5] = [
    "CREATE DATABASE test",
    "USE test",
    "SET NAMES utf8mb4",
    "SET timestamp = 1700000000.25",
    "SET rand_seed1 = 17, rand_seed2 = 4",
];

/// Takes minutes: it runs where `make nightly PARTS=suites` asks for it, which fails where a suite is missing.
#[test]
fn the_servers_own_suites_get_the_same_answers() {
    if std::env::var_os("POSTERN_TEST_SUITES").is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("the temporary directory is writable");
    let servers = [server(dir.path()), server(dir.path())];
    let list = List::read();
    let mut run = Run {
        list: &list,
        postern: Postern::on(&servers[1], &["--query-timeout", "30"]),
        servers,
        counts: Counts::default(),
    };
    let files = list.files(run.servers[0].kind());
    let began = Instant::now();
    for file in &files {
        if began.elapsed() < PATIENCE {
            run.file(file);
            println!(
                "{:>4} s {file}: {:?}",
                began.elapsed().as_secs(),
                run.counts
            );
        }
    }
    println!("{:?} of {} files", run.counts, files.len());
    let Counts {
        different,
        broken_off,
        ..
    } = run.counts;
    assert_eq!((different, broken_off), (0, 0), "see above");
    assert!(
        run.counts.files >= ENOUGH,
        "too few files: {}",
        run.counts.files
    );
}

#[derive(Debug, Default)]
struct Counts {
    files: usize,
    /// Statements of which all was compared.
    compared: usize,
    volatile: usize,
    /// Statements and commands that were not run.
    left_out: usize,
    /// Files that ended early, with their session.
    broken_off: usize,
    different: usize,
}

impl Counts {
    fn add(&mut self, treatment: Treatment) {
        *match treatment {
            Treatment::Whole => &mut self.compared,
            Treatment::Volatile => &mut self.volatile,
            Treatment::LeftOut => &mut self.left_out,
        } += 1;
    }
}

struct Run<'a> {
    list: &'a List,
    /// The first for the plain connection, the second for the web client.
    servers: [Database; 2],
    postern: Postern,
    counts: Counts,
}

impl Run<'_> {
    fn file(&mut self, file: &str) {
        let script = reader::read(&text(self.servers[0].kind(), file));
        self.counts.files += 1;
        self.counts.left_out += script.left_out;
        let mut both = Both::start(&self.servers, &self.postern, file);
        let statements = script.statements;
        for (at, statement) in statements.iter().enumerate() {
            let next = statements.get(at + 1).map_or("", |next| &next.sql);
            if !self.statement(file, statement, next, &mut both) {
                break;
            }
        }
        both.end();
    }

    /// Runs one and tells what differs; false where the session has ended.
    fn statement(
        &mut self,
        file: &str,
        statement: &Statement,
        next: &str,
        both: &mut Both,
    ) -> bool {
        let Statement { line, sql, .. } = statement;
        let treatment = self.treatment(file, statement);
        self.counts.add(treatment);
        if treatment == Treatment::LeftOut {
            return true;
        }
        match both.run(sql, next, treatment == Treatment::Volatile) {
            Ok(()) => true,
            Err(Fault::Differs(how)) => {
                println!("{file}:{line}: {sql:.300}\n    {how:.700}");
                self.counts.different += 1;
                true
            }
            Err(Fault::BrokenOff(why)) => {
                println!("{file}:{line}: {sql:.300}\n    broken off: {why}");
                self.counts.broken_off += 1;
                false
            }
        }
    }

    fn treatment(&self, file: &str, statement: &Statement) -> Treatment {
        let own = if statement.is_volatile {
            Treatment::Volatile
        } else {
            Treatment::Whole
        };
        self.list.treatment(file, &statement.sql).max(own)
    }
}

enum Fault {
    Differs(String),
    /// The plain connection has ended, or did not answer in time.
    BrokenOff(String),
}

/// The two sessions of a file.
struct Both {
    conn: Conn,
    client: Client,
    session: String,
}

impl Both {
    fn start(servers: &[Database; 2], postern: &Postern, file: &str) -> Both {
        servers.iter().for_each(tidy);
        let mut both = Both {
            conn: plain(&servers[0]),
            client: postern.client(),
            session: file.to_owned(),
        };
        for sql in FRESH {
            both.conn
                .query_drop(sql)
                .unwrap_or_else(|e| panic!("{sql}: {e}"));
            let answer = both.answer(sql);
            assert_eq!(answer["code"], 200, "{sql}: {answer}");
        }
        both
    }

    fn end(mut self) {
        let body = json!({"session": self.session});
        self.client.post("/api/session/close", &body);
    }

    fn answer(&mut self, sql: &str) -> Value {
        let body = json!({"sql": sql, "session": self.session});
        self.client.post("/api/query", &body).json()
    }

    /// Runs a statement on both sides. What asks about the last statement gets no question of ours before it.
    fn run(&mut self, sql: &str, next: &str, is_volatile: bool) -> Result<(), Fault> {
        let asks = next.to_ascii_lowercase().contains("row_count");
        let direct =
            ask(&mut self.conn, sql, !asks).map_err(|e| Fault::BrokenOff(e.to_string()))?;
        self.stay_in_utf8(sql);
        let answer = self.answer(sql);
        if matches!(&direct, Direct::Failed(error) if is_refused(error.code, &answer)) {
            return Ok(());
        }
        difference(&direct, &answer, is_volatile).map_or(Ok(()), |how| Err(Fault::Differs(how)))
    }

    /// The web client keeps the character sets of its session, by decision.
    fn stay_in_utf8(&mut self, sql: &str) {
        let text = sql.to_ascii_uppercase();
        if !text.starts_with("SET") && !text.starts_with("/*!") {
            return;
        }
        let now: Option<String> = self
            .conn
            .query_first(CHARACTER_SETS)
            .expect("it is answered");
        if now.as_deref() != Some("utf8mb4 utf8mb4 utf8mb4") {
            self.conn
                .query_drop("SET NAMES utf8mb4")
                .expect("nothing stands against it");
        }
    }
}

/// True where a text that is no statement, or cannot be parsed as one, is refused in the web client's own words:
/// `ER_EMPTY_QUERY`, `ER_PARSE_ERROR`.
fn is_refused(code: u16, answer: &Value) -> bool {
    [1065, 1064].contains(&code) && answer["code"] == 400 && answer["error"].is_null()
}

const CHARACTER_SETS: &str = "SELECT CONCAT_WS(' ', @@character_set_client, @@character_set_connection, \
    IFNULL(@@character_set_results, '-'))";

/// A server that waits for nothing for long, not for its disk either, and writes files nowhere but to `dir`.
fn server(dir: &Path) -> Database {
    let own: &[&str] = match support::database::Server::chosen().kind() {
        Kind::MariaDb => &["--max-statement-time=20", "--debug-no-sync"],
        Kind::MySql => &["--max-execution-time=20000"],
    };
    let own = own.iter().map(|arg| (*arg).to_owned());
    let places = [
        "--lock-wait-timeout=2".to_owned(),
        "--innodb-lock-wait-timeout=1".to_owned(),
        "--innodb-flush-method=nosync".to_owned(),
        format!("--secure-file-priv={}", dir.display()),
    ];
    let db = Database::start(Options {
        args: own.chain(places).collect(),
        ..Options::default()
    });
    let pid = i32::try_from(db.pid()).ok().and_then(Pid::from_raw);
    let limit = Rlimit {
        current: Some(MEMORY),
        maximum: Some(MEMORY),
    };
    prlimit(pid, Resource::Data, limit).expect("the process is ours");
    db
}

/// Drops the databases that the last file has left.
fn tidy(db: &Database) {
    let mut conn = plain(db);
    let own = "'mysql', 'sys', 'information_schema', 'performance_schema'";
    let names: Vec<String> = conn
        .query(format!(
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN ({own})"
        ))
        .expect("the server lists its databases");
    conn.query_drop("SET foreign_key_checks = 0")
        .expect("nothing stands against it");
    for name in names {
        let sql = format!("DROP DATABASE `{}`", name.replace('`', "``"));
        conn.query_drop(&sql)
            .unwrap_or_else(|e| panic!("{sql}: {e}\n{}", db.log()));
    }
}

/// A connection of the account that the web client has, too.
fn plain(db: &Database) -> Conn {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(db.port())
        .prefer_socket(false)
        .read_timeout(Some(DEADLINE))
        .user(Some(USER))
        .pass(Some(PASSWORD));
    Conn::new(options).unwrap_or_else(|e| panic!("the server has ended: {e}\n{}", db.log()))
}

/// The text of a test file.
fn text(kind: Kind, file: &str) -> String {
    let kind = match kind {
        Kind::MariaDb => "mariadb",
        Kind::MySql => "mysql",
    };
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/suites");
    let path = root.join(kind).join(file).with_extension("test");
    std::fs::read_to_string(&path).unwrap_or_else(|e| {
        panic!(
            "{}: {e}; tests/servers.sh suites fetches it",
            path.display()
        )
    })
}
