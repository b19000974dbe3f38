//! The program ends and comes back while the page is open.

use std::sync::Arc;
use std::time::Duration;

use crate::manager::board::{Board, card};
use support::manager::Manager;
use support::wait_until;

/// The page tries again within five seconds; a program of ours takes a few more to start.
const RECOVERY: Duration = Duration::from_secs(90);

#[test]
fn an_outage_is_told_keeps_what_is_shown_and_ends_by_itself() {
    let (mut board, id) = Board::with_one();
    board.page.expect_error("ERR_");
    let port = board
        .manager
        .authority()
        .rsplit_once(':')
        .unwrap()
        .1
        .to_owned();
    let home = Arc::clone(board.manager.home());
    board.manager.stop();
    board.page.wait_for("eyes.first('#offline')");
    assert!(board.page.text("#offline").contains("does not answer"));
    assert_eq!(
        board.page.eval("eyes.all('.card').length"),
        1,
        "what is known stays"
    );
    let title = "document.title === '○ postern does not answer · postern'";
    board.page.wait_for(title);
    let grey = "getComputedStyle(document.querySelector('.tunnel .dot')).backgroundColor === 'rgba(0, 0, 0, 0)'";
    board.page.wait_for(grey);
    assert!(board.page.text("#tunnel").contains("does not answer"));
    board.page.screenshot("manage-outage");
    board.page.assert_accessible("outage");
    board.act(&id);
    board
        .page
        .wait_for("document.querySelector('.toasts')?.innerText.includes('not reachable')");
    let far = board.far.args();
    let mut again = None;
    // The port of a program that has just ended may take a moment to be free.
    wait_until(RECOVERY, "the program starts again", || {
        again = Manager::try_start_at(&port, &home, &[&far[0], &far[1]]).ok();
        again.is_some()
    });
    board
        .page
        .wait_for_within(RECOVERY, "!eyes.first('#offline')");
    board.page.wait_for("!document.body.matches('.is-dead')");
    board
        .page
        .wait_for("document.title === 'Applications · postern'");
    assert_eq!(
        board
            .page
            .eval(&format!("!!document.querySelector('{}')", card(&id))),
        true
    );
}
