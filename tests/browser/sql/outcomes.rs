//! Report on a statement that has ended: once, with one time, and with its warnings.

use serde_json::json;

use crate::sql::client::Client;
use crate::sql::data::open_data;

#[test]
fn a_failure_is_told_once_and_the_result_before_it_stays() {
    let client = Client::open("outcomes_failure", "CREATE TABLE t (n INT PRIMARY KEY)");
    client.show_tables();
    let page = &client.page;
    page.expect_error("400");
    client.run("SELECT 'before' AS a");
    client.run("SELECT nonsense");
    assert!(client.text(".editor-message").contains("error 1054"));
    assert_eq!(client.column(0), ["before"]);
    assert_eq!(page.eval("eyes.first('.error-panel')"), json!(null));
    let status = client.text(".results-status-main");
    assert!(
        status.starts_with("Failed · showing the previous result"),
        "{status}"
    );
    assert_eq!(client.text("#progress-text"), "Failed");
    page.screenshot("outcome-failure");
    page.assert_accessible("a failure with the result before it");
    // The data of a table are neither of the statement nor old.
    assert_ne!(page.eval("eyes.first('.results.former')"), json!(null));
    open_data(&client, "t");
    assert_eq!(page.eval("eyes.first('.results.former')"), json!(null));
    let status = client.text(".results-status-main");
    assert!(
        !status.contains("Failed") && !status.contains("before"),
        "{status}"
    );
    page.click(".results-tab [role=tab]");
    page.wait_for("eyes.first('.results.former')");
    client.run_script("SELECT 1; SELECT nonsense");
    page.wait_for("eyes.first('.error-panel')");
    open_data(&client, "t");
    let status = client.text(".results-status-main");
    assert!(!status.contains("Failed"), "{status}");
}

#[test]
fn the_times_are_one_and_short() {
    let client = Client::open("outcomes_times", "");
    client.run("SELECT SLEEP(1.2)");
    let status = client.text(".results-status-main");
    assert!(status.starts_with("1 row · 1."), "{status}");
    assert!(!status.contains(" ms"), "{status}");
    assert_eq!(client.text("#progress-text"), "Done");
}

#[test]
fn warnings_are_seen_and_lead_to_their_text() {
    let client = Client::open("outcomes_warnings", "");
    let page = &client.page;
    client.run("SELECT CAST('abc' AS UNSIGNED) AS n");
    assert_eq!(client.text(".results-status .warnings"), "1 warning");
    page.screenshot("outcome-warning");
    page.assert_accessible("a result with a warning");
    page.click(".results-status .warnings");
    page.wait_for("eyes.first('.messages')?.innerText.includes('Truncated incorrect')");
}

#[test]
fn what_the_server_says_of_a_write_is_shown() {
    let client = Client::open(
        "outcomes_info",
        "CREATE TABLE t (n INT); INSERT INTO t VALUES (1), (2), (3)",
    );
    client.run("UPDATE t SET n = 3 WHERE n > 0");
    let said = "eyes.first('.messages')?.innerText.includes('Rows matched: 3')";
    client.page.wait_for(said);
    assert!(client.text(".messages").contains("Changed: 2"));
}

#[test]
fn what_has_no_plan_is_not_asked_for_one() {
    let client = Client::open("outcomes_plan", "");
    client.write("SHOW TABLES");
    client.page.click("#explain");
    client
        .page
        .wait_for("eyes.first('.editor-message')?.innerText.includes('SHOW has no plan')");
    assert_eq!(client.sent(), 0);
}
