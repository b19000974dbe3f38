//! Times as the server's own zone shows them, row by row, also where its clock shows an hour twice.

use serde_json::json;

use super::client::Client;
use super::data::{open_data, until_loaded};
use super::edit::{apply, review, type_into};
use super::filters::compare;
use support::database::{MOMENTS, Options, ZONES};
use support::{Browser, Database, Postern};

/// Moments of the table in UTC, with their notes.
fn stored(db: &Database) -> Vec<String> {
    db.column(
        "SELECT CONCAT_WS(' ', TIMESTAMPADD(SECOND, UNIX_TIMESTAMP(at), '1970-01-01'), n, note, UNIX_TIMESTAMP(seen)) FROM zones.t ORDER BY n",
    )
}

#[test]
fn times_are_those_of_the_servers_zone_and_what_is_typed_is_stored() {
    let db = Database::start(Options::default());
    db.load_zones();
    for zone in ZONES {
        db.make_moments("zones");
        db.exec(&format!("SET GLOBAL time_zone = '{zone}'"));
        let postern = Postern::on(&db, &[]);
        let client = Client::of(Browser::shared(), postern, "zones", "#db=zones");
        client.show_tables();
        client.page.viewport(1280, 1000);
        client.run("SET time_zone = '+03:30'");
        open_data(&client, "t");
        // A zone that an editor tab sets is that tab's own.
        client.page.wait_for(&format!(
            "eyes.first('.data-foot').innerText.includes({})",
            json!(format!("Server time zone: {zone}"))
        ));
        let texts = db.column("SELECT at FROM zones.t ORDER BY at");
        assert_eq!(client.column(0), texts, "{zone}");
        // It is changed while the page is open.
        for now in ["+05:45", zone] {
            db.exec(&format!("SET GLOBAL time_zone = '{now}'"));
            client
                .page
                .click(".data-line [aria-label=\"Reload the rows\"]");
            client.page.wait_for(&format!(
                "eyes.first('.data-foot').innerText.includes({})",
                json!(format!("Server time zone: {now}"))
            ));
            until_loaded(&client);
        }
        assert_eq!(
            client.column(3),
            db.column("SELECT seen FROM zones.t ORDER BY n"),
            "{zone}"
        );
        // Notes of two rows that look alike in their zone, and a time that is typed.
        for row in [1, 8, 13] {
            type_into(&client, row, 2, "second", "Enter");
        }
        type_into(&client, 4, 3, "2026-07-01 12:00:00.000", "Enter");
        review(&client);
        apply(&client);
        let typed = db.value("SELECT UNIX_TIMESTAMP('2026-07-01 12:00:00.000')");
        assert_eq!(
            db.value("SELECT seen FROM zones.t WHERE n = 4"),
            "2026-07-01 12:00:00.000"
        );
        let expected: Vec<String> = MOMENTS
            .iter()
            .enumerate()
            .map(|(n, at)| {
                let note = if [1, 8, 13].contains(&n) {
                    "second"
                } else {
                    "x"
                };
                format!("{at} {n} {note}")
            })
            .collect();
        for (n, row) in stored(&db).iter().enumerate() {
            assert!(
                row.starts_with(&expected[n]),
                "{zone}: {row}, not {}",
                expected[n]
            );
        }
        assert!(stored(&db)[4].ends_with(&typed), "{zone}");
        assert_eq!(client.column(0), texts, "{zone}: read again");
        let sent = client.page.requests();
        let edit = sent.iter().rfind(|r| r.url.ends_with("/api/edit")).unwrap();
        assert!(
            edit.body.contains(&json!("moments").to_string()),
            "{}",
            edit.body
        );
    }
}

/// Also where a day begins in an hour that the clock leaves out, or ends in one that it shows twice.
#[test]
fn a_filter_by_a_day_finds_the_times_that_the_clock_shows() {
    let db = Database::start(Options::default());
    db.load_zones();
    for zone in ["America/Sao_Paulo", "Europe/Berlin"] {
        db.make_moments("zones");
        db.exec(&format!("SET GLOBAL time_zone = '{zone}'"));
        let postern = Postern::on(&db, &[]);
        let client = Client::of(Browser::shared(), postern, "zones", "#db=zones");
        client.show_tables();
        open_data(&client, "t");
        for day in [
            "2018-02-17",
            "2018-02-18",
            "2018-11-03",
            "2018-11-04",
            "2026-10-25",
        ] {
            for op in ["=", "<=", ">"] {
                compare(&client, "at", op, day);
                let expected = db.column(&format!(
                    "SELECT at FROM zones.t WHERE LEFT(CONCAT(at), 10) {op} '{day}' ORDER BY at"
                ));
                let sql = client.text(".data-sql");
                assert_eq!(client.column(0), expected, "{zone} {op} {day}: {sql}");
                client.page.click(".data-chip .button");
                until_loaded(&client);
            }
        }
    }
}
