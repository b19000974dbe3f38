//! Files that other programs have written, run through `POST /api/script`: each leaves behind what the server's own
//! console leaves.

mod dumps;
mod large;
mod page;
mod schema;
mod styles;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use mysql::prelude::Queryable;
use serde_json::{Value, json};
use support::database::{Database, Kind, PASSWORD, Server, USER};
use support::http::Conn;
use support::postern::Postern;

use crate::dump::{everything, nasty};

/// Options of the console that leave a file as it is: its comments and its CR LF.
const AS_IT_IS: &[&str] = &["--binary-mode", "--comments"];

/// Options of the program with which bytes that are no UTF-8 go to the server as they are. Through TLS they go as text,
/// and MySQL notes utf8mb4 as the character set of a program.
const AS_BYTES: &[&str] = &["--tls", "off"];

/// A failed statement: the server's error number, and the line where it begins.
type Failure = (u64, u64);

/// A program of the tested server, by its name on MySQL.
fn tool(db: &Database, name: &str) -> Command {
    let server = Server::chosen();
    let name = match (db.kind(), name) {
        (Kind::MariaDb, "mysql") => "mariadb",
        (Kind::MariaDb, "mysqldump") => "mariadb-dump",
        _ => name,
    };
    // Debian has the dump program in a package apart from the server's: the system's takes its place.
    let has = |root: &std::path::Path| root.join("usr/bin").join(name).exists();
    let mut command = match server.root().is_none_or(has) {
        true => server.tool(name),
        false => Server::installed().tool(name),
    };
    let socket = format!("--socket={}", db.socket().display());
    // The account of the program under test, as what is made may be its own.
    let user = format!("--user={USER}");
    command.args(["--no-defaults", &user, &socket]);
    command.env("MYSQL_PWD", PASSWORD);
    command
}

/// Makes an empty database of that name.
fn empty(db: &Database, name: &str) {
    let options = nasty::OPTIONS;
    db.exec(&format!(
        "SET lock_wait_timeout = 60; DROP DATABASE IF EXISTS `{name}`; CREATE DATABASE `{name}` {options}"
    ));
}

/// Runs a file through the server's own console, which goes on after errors; answers what failed.
fn console(db: &Database, into: &str, file: &[u8], options: &[&str]) -> Vec<Failure> {
    let mut child = tool(db, "mysql")
        .args(["--force", "--default-character-set=utf8mb4"])
        .args((db.kind() == Kind::MySql).then_some("--commands")) // on in MariaDB's
        .args(options)
        .arg(into)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let done: Output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(file).unwrap());
        child.wait_with_output().unwrap()
    });
    let failure = |line: &str| {
        let rest = line.strip_prefix("ERROR ")?;
        let errno = rest.split([' ', ':']).next()?.parse().ok()?;
        let place = rest.split("at line ").nth(1);
        let place = place.and_then(|place| place.split(':').next()?.trim().parse().ok());
        Some((errno, place.unwrap_or(0)))
    };
    let told = String::from_utf8_lossy(&done.stderr);
    told.lines().filter_map(failure).collect()
}

/// Sends a script, or a part of one, and reads its answer while the rest is on its way.
fn send(postern: &Postern, query: &str, body: &[u8]) -> Vec<Value> {
    let host = postern.authority();
    let mut conn = Conn::open(host).unwrap();
    let head = format!(
        "POST /api/script?on_error=continue&{query} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\
         Content-Type: application/sql\r\nPostern-Session: restore\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    conn.send_raw(head.as_bytes()).unwrap();
    let mut writer = conn.socket().try_clone().unwrap();
    let answer = std::thread::scope(|scope| {
        // A refusal comes before the whole body is sent.
        scope.spawn(move || drop(writer.write_all(body)));
        conn.receive("POST").unwrap().0
    });
    assert_eq!(answer.status(), 200, "{:.500}", answer.text());
    let lines = answer.text().lines();
    let lines = lines.map(|line| serde_json::from_str(line).expect("a line is JSON"));
    lines.collect()
}

/// Ends the session of the script: what failed may have left tables locked.
fn close(postern: &Postern) {
    let session = json!({"session": "restore"});
    let answer = postern.client().post("/api/session/close", &session);
    assert_eq!(answer.status(), 200);
}

/// Runs a file in one request, to its end.
fn whole(postern: &Postern, db: &str, file: &[u8]) -> Vec<Value> {
    let told = send(postern, &format!("db={db}"), file);
    close(postern);
    told
}

/// Runs a file piece by piece, as the page does; the lines of the answer are those of the file.
fn in_pieces(postern: &Postern, db: &str, file: &[u8], size: usize) -> Vec<Value> {
    let (mut at, mut line, mut most, mut delimiter) = (0, 1, size, ";".to_owned());
    let mut all = Vec::new();
    loop {
        let to = file.len().min(at + most);
        let is_part = to < file.len();
        let sign: String = delimiter.bytes().map(|b| format!("%{b:02x}")).collect();
        let db = if all.is_empty() { db } else { "" };
        let query = format!("db={db}&delimiter={sign}&part={}", u8::from(is_part));
        let query = query.trim_start_matches("db=&");
        let mut told = send(postern, query, &file[at..to]);
        for one in &mut told {
            one["line"] = (one["line"].as_u64().unwrap() + line - 1).into();
        }
        let end = told.pop().unwrap();
        all.append(&mut told);
        if !is_part || !end["message"].is_null() {
            all.push(end);
            close(postern);
            return all;
        }
        let taken = usize::try_from(end["offset"].as_u64().unwrap()).unwrap();
        most = if taken == 0 { most * 2 } else { size };
        at += taken;
        line = end["line"].as_u64().unwrap();
        end["delimiter"]
            .as_str()
            .unwrap()
            .clone_into(&mut delimiter);
    }
}

/// The failed statements of a script, and its end where it was not read to that.
fn failed(told: &[Value]) -> Vec<&Value> {
    let failed = |line: &&Value| match line["end"].is_null() {
        true => line["code"] != 200,
        false => !line["message"].is_null(),
    };
    told.iter().filter(failed).collect()
}

/// The server's numbers of these errors; 0 where it was not asked.
fn numbers(failed: &[&Value]) -> Vec<u64> {
    let number = |line: &&Value| line["error"]["errno"].as_u64().unwrap_or(0);
    failed.iter().map(number).collect()
}

/// Describes a database, with the bytes of its programs as the server keeps them.
fn state(db: &Database, name: &str) -> Vec<String> {
    let mut all = everything(db, name);
    let mut conn = db.conn();
    let mut ask = |sql: &str| {
        let rows: Vec<mysql::Row> = conn.query(sql).unwrap_or_else(|e| panic!("{e}: {sql}"));
        let cell = |value: mysql::Value| match value {
            mysql::Value::Bytes(bytes) => String::from_utf8(bytes)
                .unwrap_or_else(|error| error.as_bytes().escape_ascii().to_string()),
            other => format!("{other:?}"),
        };
        let row = |row: mysql::Row| row.unwrap().into_iter().map(cell).collect();
        rows.into_iter().map(row).collect::<Vec<Vec<String>>>()
    };
    let mut programs = ask(&format!(
        "SELECT ROUTINE_NAME, ROUTINE_TYPE FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{name}' ORDER BY 2, 1"
    ));
    for kind in ["TRIGGER", "EVENT"] {
        programs.extend(ask(&format!(
            "SELECT {kind}_NAME, '{kind}' FROM information_schema.{kind}S WHERE {kind}_SCHEMA = '{name}' ORDER BY 1"
        )));
    }
    for program in programs {
        let object = program[0].replace('`', "``");
        let mut shown = ask(&format!("SHOW CREATE {} `{name}`.`{object}`", program[1]));
        // A dump does not keep the time at which a trigger was made.
        shown[0].truncate(6);
        all.push(shown[0].join(" | "));
    }
    all
}

/// The first line in which two states differ.
fn difference(before: &[String], after: &[String]) -> Option<String> {
    let nothing = String::new();
    let most = before.len().max(after.len());
    let at = |of: &[String], n: usize| of.get(n).unwrap_or(&nothing).clone();
    let differs = (0..most).find(|&n| before.get(n) != after.get(n))?;
    let (one, other) = (at(before, differs), at(after, differs));
    // Long values alike at their beginnings.
    let same = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let from = same.saturating_sub(100);
    let part = |text: &str| {
        String::from_utf8_lossy(text.as_bytes().get(from..).unwrap_or_default())
            .chars()
            .take(400)
            .collect::<String>()
    };
    Some(format!(
        "{:.60} …\n  expected: {}\n  is:       {}",
        one,
        part(&one),
        part(&other)
    ))
}
