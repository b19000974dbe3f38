//! `make soak`: everything at once for some minutes, while everything goes wrong: `make soak MINUTES=10 SEED=7`. The seed
//! decides which faults there are and what visitors ask for; the one that was drawn is printed.
//!
//! First there are faults on all ways and each process is killed with SIGKILL in turn; then, to see whether anything
//! grows, faults alone. At the end everything is connected by itself, every transfer that seemed whole was, no statement
//! ran twice, and nobody holds more than before.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

mod application;
mod content;
mod faults;
mod ledger;
mod visitor;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use content::Random;
use ledger::{Ledger, Told};
use visitor::{INSERT, KINDS, Visitor};
use world::{Figures, World};

/// Visitors at once, and those of them who only add rows.
const VISITORS: u64 = 12;
const CLIENTS: u64 = 2;
/// Permitted growth during the second part: allocators and pools cause it.
const MORE_THREADS: u64 = 24;
const MORE_FILES: u64 = 48;
const MORE_KIB: u64 = 12 * 1024;

/// A number from the environment.
fn wish(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
    )
}

/// A part of the soak: what visitors look at between two visits.
#[derive(Default)]
struct Signs {
    /// Nobody begins a visit.
    is_quiet: AtomicBool,
    is_over: AtomicBool,
}

#[test]
fn what_is_shared_outlives_faults_and_kills() {
    let minutes = wish("POSTERN_SOAK_MINUTES").unwrap_or(1);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = wish("POSTERN_SOAK_SEED").unwrap_or_else(|| now.subsec_nanos().into());
    println!("soak: {minutes} minutes, SEED={seed}");
    let ledger = Arc::new(Ledger::default());
    let world = World::start(&ledger);
    let time = Duration::from_secs(60) * u32::try_from(minutes).unwrap();
    let signs = Signs::default();
    let (before, after) = std::thread::scope(|scope| {
        // Ends the visitors even if something fails here.
        let _over = SetOnDrop(&signs.is_over);
        for number in 0..VISITORS {
            let visitor = Visitor {
                places: &world.places,
                ledger: &ledger,
                random: Random::of(seed, number),
            };
            let signs = &signs;
            scope.spawn(move || visit_until_over(visitor, number < CLIENTS, signs));
        }
        let random = || Random::of(seed, VISITORS + 1);
        part(&world, &ledger, random(), || {
            faults::kill_in_turn(
                &world,
                &ledger,
                &mut Random::of(seed, VISITORS),
                time * 6 / 10,
            );
        });
        world.all_connected();
        // Everything has been used once more by those that were started last.
        std::thread::sleep(time / 10);
        let before = quiet(&world, &signs);
        part(&world, &ledger, random(), || {
            std::thread::sleep(time * 3 / 10)
        });
        world.all_connected();
        (before, quiet(&world, &signs))
    });
    ledger.print();
    every_kind_comes_whole(&world, &ledger);
    no_statement_ran_twice(&world, &ledger);
    nobody_holds_more(&before, &after);
    let said = world.all_said();
    for fault in ["panicked", "fault of the program"] {
        let lines = said.lines().filter(|line| line.contains(fault));
        lines.for_each(|line| ledger.wrong(line.to_owned()));
    }
    let wrong = ledger.all_wrong();
    assert!(wrong.is_empty(), "SEED={seed}: {wrong:#?}");
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn visit_until_over(mut visitor: Visitor<'_>, adds_rows: bool, signs: &Signs) {
    while !signs.is_over.load(Ordering::SeqCst) {
        if signs.is_quiet.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(50));
        } else if adds_rows {
            visitor.visit_as(INSERT);
            // More rows show nothing more.
            std::thread::sleep(Duration::from_millis(20));
        } else {
            visitor.visit();
        }
    }
}

/// Faults for as long as `lasts` takes.
fn part(world: &World, ledger: &Ledger, random: Random, lasts: impl FnOnce()) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = SetOnDrop(&over);
        scope.spawn(|| faults::go_wrong(world, ledger, random, &over));
        lasts();
    });
}

/// Resources of all processes while nobody visits.
fn quiet(world: &World, signs: &Signs) -> Vec<(String, Figures)> {
    signs.is_quiet.store(true, Ordering::SeqCst);
    let settled = world.settled();
    signs.is_quiet.store(false, Ordering::SeqCst);
    settled
}

/// Now that nothing hinders them, nothing may break; and each kind has come whole at some time.
fn every_kind_comes_whole(world: &World, ledger: &Ledger) {
    let last = Ledger::default();
    let mut visitor = Visitor {
        places: &world.places,
        ledger: &last,
        random: Random::new(1),
    };
    let kinds = [&KINDS[..], &[INSERT]].concat();
    for kind in &kinds {
        visitor.visit_as(kind);
    }
    let failed = last.never_whole(&kinds);
    if !failed.is_empty() {
        last.print();
        ledger.wrong(format!("at the end these do not come whole: {failed:?}"));
    }
    let never = ledger.never_whole(&kinds);
    if !never.is_empty() {
        ledger.wrong(format!("none of these ever came whole: {never:?}"));
    }
    for wrong in last.all_wrong() {
        ledger.wrong(wrong);
    }
    for (number, told) in last.statements() {
        ledger.told(number, told);
    }
}

fn no_statement_ran_twice(world: &World, ledger: &Ledger) {
    let rows: BTreeMap<u64, u64> = world.rows().into_iter().collect();
    for (number, count) in rows.iter().filter(|(_, count)| **count > 1) {
        ledger.wrong(format!("the statement of {number} ran {count} times"));
    }
    for (number, told) in ledger.statements() {
        let ran = rows.contains_key(&number);
        match told {
            Told::Ran if !ran => {
                ledger.wrong(format!("{number} was told to have run, and has not"))
            }
            Told::DidNotRun if ran => ledger.wrong(format!("{number} was refused, and has run")),
            _ => {}
        }
    }
    println!("{} rows, each there once", rows.len());
}

fn nobody_holds_more(before: &[(String, Figures)], after: &[(String, Figures)]) {
    for ((name, before), (_, after)) in before.iter().zip(after) {
        println!("{name}: {before:?} before the second part, {after:?} after");
        assert!(
            after.threads <= before.threads + MORE_THREADS,
            "threads of {name}"
        );
        assert!(
            after.files <= before.files + MORE_FILES,
            "descriptors of {name}"
        );
        assert!(
            after.rss_kib <= before.rss_kib + before.rss_kib / 4 + MORE_KIB,
            "memory of {name}"
        );
    }
}
