//! Starts of the program that may fail to sign in.
#![allow(unreachable_pub)]

use crate::fake_mysql::{self, Fake};
use support::postern::Finished;
use support::{Home, Postern};

/// Starts the program; `None` of its ends well.
pub fn start(target: &str, user: &str, password: &str, more: &[&str]) -> Result<Postern, Finished> {
    start_with(target, user, password, more, &[])
}

pub fn start_with(
    target: &str,
    user: &str,
    password: &str,
    more: &[&str],
    env: &[(&str, &str)],
) -> Result<Postern, Finished> {
    let mut args = vec![target, "--db-user", user, "--db-pass", password];
    args.extend(more);
    Postern::try_start(Home::with_plugin(), &args, env)
}

/// The first line on stderr of a start that must fail with status 1.
#[track_caller]
pub fn refusal(outcome: Result<Postern, Finished>) -> String {
    let Err(ended) = outcome else {
        panic!("it was let in");
    };
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let first = ended.stderr.lines().next().unwrap_or_default();
    assert!(first.starts_with("plugin error: "), "{ended:?}");
    first.to_owned()
}

#[track_caller]
pub fn let_in(outcome: Result<Postern, Finished>) -> Postern {
    outcome.unwrap_or_else(|ended| panic!("it was not let in: {ended:?}"))
}

/// The first cell of what a query answers.
#[track_caller]
pub fn cell(postern: &Postern, sql: &str) -> String {
    let body = serde_json::json!({"sql": sql});
    let answer = postern.client().post("/api/query", &body).json();
    assert_eq!(answer["code"], 200, "{sql}: {answer}");
    let column = answer["data"]["columns"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    let value = &answer["data"]["rows"][0][column.as_str().unwrap()];
    value.as_str().unwrap_or_default().to_owned()
}

/// Starts the program on the fake, as the account that it takes.
pub fn start_fake(fake: &Fake, more: &[&str]) -> Result<Postern, Finished> {
    start(&fake.target(), fake_mysql::USER, fake_mysql::PASSWORD, more)
}
