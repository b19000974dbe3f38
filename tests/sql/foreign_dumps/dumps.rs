//! Dumps of the server's own dump program, in each form that it offers.

use serde_json::Value;
use support::database::{Database, Kind};
use support::is_whole;
use support::postern::Postern;

use super::{
    AS_BYTES, AS_IT_IS, console, difference, empty, failed, in_pieces, numbers, schema, state,
    tool, whole,
};

/// Dumps a database; what cannot be dumped is left out.
pub(super) fn dump(db: &Database, name: &str, options: &[&str]) -> Vec<u8> {
    let mut program = tool(db, "mysqldump");
    let done = program
        .arg("--force")
        .args(options)
        .arg(name)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.stdout.ends_with(b"\n"), "{options:?}: {told}");
    done.stdout
}

/// Restores a dump by the console, by one request and by the page's pieces, each time into an empty place; adds to
/// `wrong` what differs.
fn compare(
    db: &Database,
    postern: &Postern,
    name: &str,
    options: &[&str],
    wrong: &mut Vec<String>,
) {
    let file = dump(db, name, options);
    let names_its_own = options.contains(&"--databases");
    let into = if names_its_own { "mysql" } else { name };
    let clear = || match names_its_own {
        true => db.exec(&format!(
            "SET lock_wait_timeout = 60; DROP DATABASE IF EXISTS `{name}`"
        )),
        false => empty(db, name),
    };
    clear();
    let expected = console(db, into, &file, AS_IT_IS);
    let before = state(db, name);
    let ways: [(&str, &dyn Fn() -> Vec<Value>); 2] = [
        ("one request", &|| whole(postern, into, &file)),
        ("pieces", &|| in_pieces(postern, into, &file, 64 << 10)),
    ];
    for (way, run) in ways {
        clear();
        let told = run();
        let failed = failed(&told);
        let expected_numbers: Vec<u64> = expected.iter().map(|one| one.0).collect();
        eprintln!(
            "{options:?}, {way}: {} bytes, {} statements, failed: {:?}",
            file.len(),
            told.len() - 1,
            failed.iter().map(|one| &one["message"]).collect::<Vec<_>>()
        );
        if numbers(&failed) != expected_numbers {
            wrong.push(format!(
                "{options:?}, {way}: {failed:.1000?}; the console: {expected:?}"
            ));
        }
        if let Some(difference) = difference(&before, &state(db, name)) {
            wrong.push(format!("{options:?}, {way}: {difference}"));
        }
    }
}

/// The forms that differ most, and in the long run every one.
fn forms(db: &Database) -> Vec<Vec<&'static str>> {
    const USUAL: &[&str] = &[
        // A view that calls a function is not restored without it.
        "--routines",
        "--routines --events --triggers --databases",
        "--skip-extended-insert --routines",
        "--compatible=ansi --routines --events",
    ];
    const WHOLE: &[&str] = &[
        "--hex-blob --routines --events",
        "--default-character-set=binary --routines --events",
        "--default-character-set=latin1 --routines --events",
        "--skip-opt --routines --skip-comments",
        "--routines --complete-insert --insert-ignore --order-by-primary --skip-tz-utc",
        "--routines --replace --no-autocommit --single-transaction --allow-keywords --add-drop-trigger",
        "--routines --events --add-drop-database --databases",
        "--no-data --routines --events",
    ];
    const MARIADB: &[&str] = &[
        "--routines --dump-history",
        "--routines --compatible=no_key_options",
    ];
    const MYSQL: &[&str] = &["--routines --set-gtid-purged=OFF --column-statistics=0"];
    let mut all = USUAL.to_vec();
    if is_whole() {
        all.extend(WHOLE);
        all.extend(match db.kind() {
            Kind::MariaDb => MARIADB,
            Kind::MySql => MYSQL,
        });
    }
    let words = all
        .into_iter()
        .map(|form| form.split_whitespace().collect());
    words.collect()
}

#[test]
fn a_dump_of_the_servers_own_program_is_restored_as_its_console_does() {
    let db = Database::shared();
    let postern = Postern::on(db, AS_BYTES);
    let mut wrong = Vec::new();
    for (number, form) in forms(db).into_iter().enumerate() {
        let name = format!("foreign_{number}");
        schema::make(db, &name);
        compare(db, &postern, &name, &form, &mut wrong);
        db.exec(&format!("DROP DATABASE IF EXISTS `{name}`"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
