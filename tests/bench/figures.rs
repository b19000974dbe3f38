//! The figures that the README quotes: measured side by side on this machine, printed as a table.
//!
//! `make bench` runs it on the release build; `POSTERN_BIN` measures another one (the static build).
//! `BENCH_ROWS` and `BENCH_TABLES` scale it down for a quick look; the figures are defined for the defaults. It measures
//! against the server that `POSTERN_TEST_SERVER` names. `BENCH_ONLY=result` measures the large result alone.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a measuring program: a panic is how it reports"
)]

mod drain;

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use support::database::{Kind, Options, PASSWORD, Server, USER};
use support::http::{Client, JSON};
use support::postern::{binary, status_field};
use support::process::processor_time;
use support::{Database, Home, Postern, TIMEOUT, wait_until};

/// Pairs measured after one warm-up.
const PAIRS: usize = 5;

/// Number of times a quick request is repeated.
const REPEATS: usize = 21;

/// Statements that sleep while `/api/info` is timed.
const SLEEPERS: usize = 8;

/// Pause between two looks at the resident memory.
const SAMPLE: Duration = Duration::from_millis(2);

const ALL_ROWS: &str = "SELECT * FROM bench.mixed";

fn main() {
    // `cargo test --benches` and `cargo bench` pass flags of the standard harness; there is nothing to select.
    let rows = number("BENCH_ROWS", 1_000_000);
    let tables = number("BENCH_TABLES", 5_000);
    let size = std::fs::metadata(binary()).expect("the binary").len();
    let mut report = Report::default();
    report.figure("release binary", size as f64 / 1e6, "MB", 6.0);

    eprintln!("bench: starting a database with {rows} rows and {tables} tables");
    let db = database(rows);
    report.note("server", &Server::chosen().name());
    if std::env::var("BENCH_ONLY").as_deref() != Ok("result") {
        start_and_idle(&db, &mut report);
        busy_info(&db, &mut report);
        make_tables(&db, tables);
        catalogue(&db, tables, &mut report);
    }
    big_result(&db, &mut report);
    report.print();
}

fn number(variable: &str, default: u64) -> u64 {
    let set = std::env::var(variable).ok();
    set.map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is no number"))
    })
}

/// Figures as they come, printed as one table at the end.
#[derive(Default)]
struct Report(Vec<String>);

impl Report {
    /// A figure that must not be above `limit`.
    fn figure(&mut self, what: &str, value: f64, unit: &str, limit: f64) {
        let verdict = if value <= limit { "reached" } else { "MISSED" };
        self.line(
            what,
            &format!("{value:.2} {unit}"),
            &format!("{limit} {unit}"),
            verdict,
        );
    }

    /// A figure without a limit.
    fn note(&mut self, what: &str, value: &str) {
        self.line(what, value, "", "");
    }

    fn line(&mut self, what: &str, value: &str, limit: &str, verdict: &str) {
        let line = format!("{what:<52} {value:>14} {limit:>12}  {verdict}");
        eprintln!("bench: {line}");
        self.0.push(line);
    }

    fn print(&self) {
        println!("\n{:<52} {:>14} {:>12}", "figure", "measured", "at most");
        for line in &self.0 {
            println!("{}", line.trim_end());
        }
    }
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort();
    values[values.len() / 2]
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

// --- The data ----------------------------------------------------------------------------------------------------

/// Eight columns: bigint, text with é, decimal, int, datetime, text with quotes and NULL, double, tinyint.
fn database(rows: u64) -> Database {
    let mut args = vec![
        "--innodb-buffer-pool-size=512M".to_owned(),
        "--table-definition-cache=8000".to_owned(),
        "--table-open-cache=4000".to_owned(),
    ];
    if Server::chosen().kind() == Kind::MariaDb {
        // 5,000 files fewer to make; the catalogue is the same.
        args.push("--innodb-file-per-table=0".to_owned());
    }
    let db = Database::start(Options {
        args,
        tls: true,
        ..Options::default()
    });
    let numbers = db.numbers(u32::try_from(rows).expect("a million rows at most"));
    db.exec(&format!(
        "CREATE USER {user}@'%' IDENTIFIED BY ''; GRANT ALL ON *.* TO {user}@'%'; \
         CREATE DATABASE bench; CREATE TABLE bench.mixed (
           id BIGINT PRIMARY KEY, name VARCHAR(60) NOT NULL, price DECIMAL(12,4) NOT NULL, quantity INT NOT NULL,
           at DATETIME(3) NOT NULL, note VARCHAR(80) NULL, ratio DOUBLE NOT NULL, flag TINYINT NOT NULL); \
         USE bench; INSERT INTO bench.mixed SELECT seq * 7919, CONCAT('Café Zoé no. ', seq), seq / 8, MOD(seq * 31, 100003),
           TIMESTAMPADD(MICROSECOND, seq * 1234567000, '2020-01-01'),
           IF(MOD(seq, 4) = 0, NULL, CONCAT('said \"hello\", left ', seq)), seq / 7, MOD(seq, 2)
         FROM {numbers}",
        user = drain::USER,
    ));
    db
}

fn make_tables(db: &Database, tables: u64) {
    db.exec("CREATE DATABASE many");
    let script: Vec<String> = (0..tables)
        .map(|n| format!("CREATE TABLE many.t_{n:05} (id INT PRIMARY KEY, name VARCHAR(40), at DATETIME, KEY (name))"))
        .collect();
    for part in script.chunks(200) {
        db.exec(&part.join(";"));
    }
}

// --- Start, idle, busy ---------------------------------------------------------------------------------------------

fn start_and_idle(db: &Database, report: &mut Report) {
    let home = Home::with_plugin();
    let starts = (0..REPEATS)
        .map(|_| start_to_first_answer(db, &home))
        .collect();
    report.figure(
        "start to first answer (median)",
        ms(median(starts)),
        "ms",
        60.0,
    );

    let postern = Postern::on(db, &[]);
    report.figure(
        "resident memory after the start",
        postern.rss_kib() as f64 / 1024.0,
        "MiB",
        5.0,
    );
    postern.client().get("/api/info").data();
    report.figure(
        "resident memory after one answer",
        postern.rss_kib() as f64 / 1024.0,
        "MiB",
        5.0,
    );
}

/// From `spawn` to the last byte of the answer of `/api/info`.
fn start_to_first_answer(db: &Database, home: &Home) -> Duration {
    let listen = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let target = db.target();
    let args = [
        "mysql",
        &target,
        "--db-user",
        USER,
        "--db-pass",
        PASSWORD,
        "--no-open",
        "--listen",
        &listen,
    ];
    let begin = Instant::now();
    let mut child = home.command(&args).stdout(Stdio::null()).spawn().unwrap();
    while TcpStream::connect(&listen).is_err() {
        assert!(begin.elapsed() < TIMEOUT, "postern does not start");
        assert!(child.try_wait().unwrap().is_none(), "postern ended");
        std::thread::sleep(Duration::from_micros(500));
    }
    Client::new(&listen).get("/api/info").data();
    let took = begin.elapsed();
    child.kill().unwrap();
    child.wait().unwrap();
    took
}

fn busy_info(db: &Database, report: &mut Report) {
    let postern = Postern::on(db, &[]);
    let mut sleepers: Vec<_> = (0..SLEEPERS).map(|_| sleeper(&postern)).collect();
    wait_until(TIMEOUT, "all statements sleep", || {
        db.running("SLEEP(20)") == SLEEPERS
    });
    let mut client = postern.client();
    let times: Vec<_> = (0..REPEATS)
        .map(|_| timed(|| client.get("/api/info").data()))
        .collect();
    let slowest = times.iter().max().copied().unwrap_or_default();
    report.figure(
        "/api/info while 8 statements sleep (median)",
        ms(median(times)),
        "ms",
        20.0,
    );
    report.figure(
        "/api/info while 8 statements sleep (slowest)",
        ms(slowest),
        "ms",
        20.0,
    );
    let left = timed(|| {
        sleepers.clear();
        wait_until(
            TIMEOUT,
            "statements of clients that left are killed",
            || db.running("SLEEP(20)") == 0,
        );
    });
    report.note(
        "all 8 killed after their clients left",
        &format!("{:.0} ms", ms(left)),
    );
}

/// A connection that has sent the statement and waits.
fn sleeper(postern: &Postern) -> TcpStream {
    let mut stream = TcpStream::connect(postern.authority()).unwrap();
    let body = json!({"sql": "SELECT SLEEP(20)"}).to_string();
    let head = format!(
        "POST /api/query HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        postern.authority(),
        body.len()
    );
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    stream
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

// --- Catalogue -----------------------------------------------------------------------------------------------------

fn catalogue(db: &Database, tables: u64, report: &mut Report) {
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let listed = client.get("/api/tables?db=many").data();
    assert_eq!(listed.as_array().map(Vec::len), Some(tables as usize));
    for (what, path) in [
        ("/api/tables, 5,000 tables", "/api/tables?db=many"),
        (
            "/api/tables with detail, 5,000 tables",
            "/api/tables?db=many&detail=1",
        ),
        (
            "/api/schema among 5,000 tables",
            "/api/schema?db=many&table=t_00042",
        ),
    ] {
        let times = (0..REPEATS)
            .map(|_| timed(|| client.get(path).data()))
            .collect();
        report.figure(&format!("{what} (median)"), ms(median(times)), "ms", 100.0);
    }
    search(db, report);
}

/// Columns of the tables that are searched.
const SEARCHED: u64 = 50_000;

fn search(db: &Database, report: &mut Report) {
    db.exec("CREATE DATABASE searched");
    let columns: Vec<String> = (0..250).map(|n| format!("customer_{n:03} INT")).collect();
    let tables = (0..SEARCHED / 250).map(|n| {
        let columns = columns.join(", ");
        format!("CREATE TABLE searched.orders_{n:03} ({columns})")
    });
    for table in tables {
        db.exec(&table);
    }
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let first = timed(|| client.get("/api/search?q=x").data());
    report.note(
        "first search, which reads the catalogue",
        &format!("{:.0} ms", ms(first)),
    );
    for query in ["customer_04", "orders customer_249", "e", "no_such_name"] {
        let path = format!("/api/search?q={}", query.replace(' ', "%20"));
        let times = (0..REPEATS)
            .map(|_| timed(|| client.get(&path).data()))
            .collect();
        let what = format!("/api/search, 50,000 columns, {query:?} (median)");
        report.figure(&what, ms(median(times)), "ms", 300.0);
    }
}

// --- One large result ----------------------------------------------------------------------------------------------

fn big_result(db: &Database, report: &mut Report) {
    for tls in [false, true] {
        let mode = if tls { "require" } else { "off" };
        let postern = Postern::on(db, &["--tls", mode]);
        let memory = Memory::watch(postern.pid());
        let query = json!({"sql": ALL_ROWS, "db": "bench"});
        let export = json!({"sql": ALL_ROWS, "db": "bench", "format": "csv", "header": true});
        let ways = [
            ("JSON", "/api/query", &query),
            ("CSV", "/api/export", &export),
        ];
        for (format, path, body) in ways {
            let what = format!("{format}{}", if tls { " over TLS" } else { "" });
            let runs = alternating(db, &postern, tls, (path, body));
            compared(&what, tls, runs, report);
        }
        let what = |how: &str| format!("{mode}: largest resident memory ({how})");
        report.figure(&what("sampled"), memory.largest_mib(), "MiB", 12.0);
        let peak = postern.peak_rss_kib() as f64 / 1024.0;
        report.figure(&what("kernel"), peak, "MiB", 12.0);
    }
}

/// Runs of each kind, a warm-up apart.
#[derive(Default)]
struct Runs {
    drains: Vec<Duration>,
    theirs: Vec<Duration>,
    ours: Vec<Duration>,
    firsts: Vec<Duration>,
    /// Processor time of ours, user's and system's.
    cpu: Vec<Duration>,
}

/// A B C A B C: whatever disturbs the machine disturbs all.
fn alternating(db: &Database, postern: &Postern, tls: bool, (path, body): (&str, &Value)) -> Runs {
    let mut runs = Runs::default();
    for round in 0..=PAIRS {
        let drained = timed(|| assert!(drain::drain(db, tls, ALL_ROWS) > 0));
        let before = processor_time(postern.pid());
        let run = our_run(postern, path, body);
        let cpu = processor_time(postern.pid()) - before;
        let reference = their_run(db, tls);
        if round > 0 {
            runs.drains.push(drained);
            runs.ours.push(run.total);
            runs.firsts.push(run.first_byte);
            runs.theirs.push(reference.total);
            runs.cpu.push(cpu);
        } else {
            let (ours, theirs) = (run.bytes, reference.bytes);
            eprintln!("bench: {path}: {ours} bytes, and {theirs} of the server's client");
        }
    }
    runs
}

fn compared(what: &str, tls: bool, runs: Runs, report: &mut Report) {
    let (drained, theirs, ours) = (median(runs.drains), median(runs.theirs), median(runs.ours));
    for (who, time) in [
        ("drain", drained),
        ("the server's client, --batch --quick", theirs),
        ("postern", ours),
        ("postern, processor time", median(runs.cpu)),
    ] {
        report.note(
            &format!("{what}: {who} (median)"),
            &format!("{:.0} ms", ms(time)),
        );
    }
    let (of_drain, of_client) = if tls { (f64::MAX, 0.9) } else { (1.15, 1.0) };
    let ratio = |to: Duration| ours.as_secs_f64() / to.as_secs_f64();
    if of_drain < f64::MAX {
        report.figure(
            &format!("{what}: of the drain"),
            ratio(drained),
            "x",
            of_drain,
        );
    } else {
        report.note(
            &format!("{what}: of the drain"),
            &format!("{:.2} x", ratio(drained)),
        );
    }
    report.figure(
        &format!("{what}: of the client"),
        ratio(theirs),
        "x",
        of_client,
    );
    report.figure(
        &format!("{what}: first byte (median)"),
        ms(median(runs.firsts)),
        "ms",
        50.0,
    );
}

struct Run {
    total: Duration,
    first_byte: Duration,
    bytes: usize,
}

fn our_run(postern: &Postern, path: &str, body: &Value) -> Run {
    let body = body.to_string();
    let begin = Instant::now();
    let answer = postern
        .client()
        .stream("POST", path, &[JSON], body.as_bytes())
        .unwrap();
    assert_eq!(answer.head.status, 200);
    let (run, tail) = read_whole(begin, answer);
    if path == "/api/query" {
        let tail = String::from_utf8_lossy(&tail);
        assert!(tail.contains("\"code\":200"), "ends with {tail}");
    }
    run
}

fn their_run(db: &Database, tls: bool) -> Run {
    let (program, mode): (_, &[&str]) = match (db.kind(), tls) {
        (Kind::MariaDb, false) => ("mariadb", &["--skip-ssl"]),
        (Kind::MariaDb, true) => ("mariadb", &["--ssl", "--skip-ssl-verify-server-cert"]),
        (Kind::MySql, false) => ("mysql", &["--ssl-mode=DISABLED", "--get-server-public-key"]),
        (Kind::MySql, true) => ("mysql", &["--ssl-mode=REQUIRED"]),
    };
    let begin = Instant::now();
    let mut client = Server::chosen()
        .tool(program)
        .args([
            "--no-defaults",
            "--batch",
            "--quick",
            "--host=127.0.0.1",
            "--default-character-set=utf8mb4",
        ])
        .args(mode)
        .args([
            format!("--port={}", db.port()),
            format!("--user={USER}"),
            format!("--password={PASSWORD}"),
        ])
        .args([format!("--execute={ALL_ROWS}")])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server's client; run tests/setup.sh");
    let (run, _) = read_whole(begin, client.stdout.take().unwrap());
    assert!(client.wait().unwrap().success());
    run
}

/// Reads to the end; answers the times and the last bytes.
fn read_whole(begin: Instant, mut stream: impl Read) -> (Run, Vec<u8>) {
    const TAIL: usize = 64;
    let mut chunk = vec![0; 256 * 1024];
    let (mut bytes, mut first_byte, mut tail) = (0, Duration::ZERO, Vec::new());
    loop {
        let n = stream.read(&mut chunk).expect("the transfer is whole");
        if n == 0 {
            break;
        }
        if bytes == 0 {
            first_byte = begin.elapsed();
        }
        bytes += n;
        tail.extend_from_slice(&chunk[n.saturating_sub(TAIL)..n]);
        tail.drain(..tail.len().saturating_sub(TAIL));
    }
    let total = begin.elapsed();
    (
        Run {
            total,
            first_byte,
            bytes,
        },
        tail,
    )
}

/// Watches the resident memory of a process from a thread that ends with this value.
struct Memory {
    largest: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl Memory {
    fn watch(pid: u32) -> Memory {
        let (largest, done) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (seen, end) = (Arc::clone(&largest), Arc::clone(&done));
        let watcher = std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                seen.fetch_max(status_field(pid, "VmRSS:"), Ordering::Relaxed);
                std::thread::sleep(SAMPLE);
            }
        });
        Memory {
            largest,
            done,
            watcher: Some(watcher),
        }
    }

    fn largest_mib(&self) -> f64 {
        self.largest.load(Ordering::Relaxed) as f64 / 1024.0
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        let _ = self.watcher.take().map(JoinHandle::join);
    }
}
