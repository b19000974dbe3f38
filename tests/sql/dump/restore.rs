//! What was dumped is there again.

use super::{assert_same, dump, everything, nasty, restore, whole};
use support::database::Database;
use support::postern::Postern;

#[test]
fn a_database_of_everything_is_restored_identically_by_the_servers_own_client() {
    let db = Database::shared();
    nasty::make(db, "dump_nasty");
    for args in [&[][..], &["--readonly"]] {
        let postern = Postern::on(db, args);
        let file = dump(&mut postern.client(), &whole("dump_nasty"));
        if let Ok(path) = std::env::var("KEEP_DUMP") {
            std::fs::write(path, &file).unwrap();
        }
        assert!(std::str::from_utf8(&file).is_ok(), "the file is UTF-8");
        assert!(!file.contains(&0) && !file.windows(2).any(|w| w == b"\r\n"));
        restore(db, &file, "dump_nasty_again", nasty::OPTIONS);
        let before = everything(db, "dump_nasty");
        assert_same(&before, &everything(db, "dump_nasty_again"));
        // Onto what is there already, too.
        assert_eq!(super::client(db, "dump_nasty_again", &file), Ok(()));
        assert_same(&before, &everything(db, "dump_nasty_again"));
    }
}
