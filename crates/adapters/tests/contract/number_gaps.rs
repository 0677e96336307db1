//! The numbers that a restored store skips, because its original may have used them (invariant 11).

use crate::checkout_fixtures::{all_at_once, at, begin, context, insert_checkout, issue};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::billing::DocumentType;
use souk_domain::operation::{Restore, confirm_stopped};
use souk_domain::shared::{Mode, Timestamp};

/// The invoices before the backup, all of one second.
const USED: u32 = 500;

/// A store with [`USED`] invoices of the time 0, restored from a backup of the time 600. Returns the restore.
async fn restored(db: &Database) -> Restore {
    insert_checkout(db, &[]).await;
    issue(db, u64::from(USED)).await;
    let mut unit = begin(db).await;
    unit.invoices().allocate_numbers(Mode::Test, DocumentType::Invoice, USED).await.expect("counts");
    let restore = unit.restores().insert(Restore::of(at(600), at(1_200))).await.expect("inserts");
    unit.restores().skip_numbers(&restore, restore.restored_at).await.expect("skips");
    unit.commit().await.expect("commits");
    restore
}

async fn skip(db: &Database, restore: &Restore, until: Timestamp) {
    let mut unit = begin(db).await;
    unit.restores().skip_numbers(restore, until).await.expect("skips");
    unit.commit().await.expect("commits");
}

async fn next_number(db: &Database) -> u64 {
    let mut unit = begin(db).await;
    let next = unit.invoices().allocate_numbers(Mode::Test, DocumentType::Invoice, 1).await.expect("counts");
    unit.commit().await.expect("commits");
    next
}

/// The gaps of a series in test mode: the first and the last number of each.
async fn gaps(db: &Database, document: DocumentType) -> Vec<(u64, u64)> {
    let select = "SELECT first_number, last_number FROM number_gaps WHERE document = $1 AND livemode = $2 ORDER BY first_number";
    let rows = db.read().await.expect("reads").query(select).bind(document).bind(Mode::Test).all().await.expect("reads");
    rows.iter().map(|row| (row.get("first_number").expect("a number"), row.get("last_number").expect("a number"))).collect()
}

on_both! {
    async fn the_numbers_that_the_original_can_have_used_until_it_was_stopped_are_skipped(db: &TestDatabase) {
        let restore = restored(db).await;
        assert_eq!(gaps(db, DocumentType::Invoice).await, [(501, 1_500)], "nothing was numbered in the ten minutes before the backup");
        assert_eq!(gaps(db, DocumentType::Statement).await, [(1, 1_000)]);
        // The first import numbers two invoices, and stays as it is.
        assert_eq!((next_number(db).await, next_number(db).await), (1_501, 1_502));
        confirm_stopped(&context(db, at(1_201)), "an owner").await.expect("is recorded");
        assert_eq!(gaps(db, DocumentType::Invoice).await, [(501, 1_500), (1_503, 2_000)], "three times 500 in a second more");
        assert_eq!(gaps(db, DocumentType::Statement).await, [(1, 1_000)], "a series that the original hardly uses");
        assert_eq!(next_number(db).await, 2_001);
        for until in [at(1_201), at(700)] {
            skip(db, &restore, until).await;
            assert_eq!(gaps(db, DocumentType::Invoice).await.len(), 2, "no more time has passed");
        }
    }

    async fn a_number_that_an_import_takes_at_the_same_time_is_in_no_gap(db: &TestDatabase) {
        let restore = restored(db).await;
        let taken = all_at_once(db, 20, |db, number| {
            let restore = restore.clone();
            async move {
                if number % 10 == 5 {
                    skip(&db, &restore, at(1_201 + i64::from(number))).await;
                    return None;
                }
                Some(next_number(&db).await)
            }
        });
        let taken: Vec<u64> = taken.await.into_iter().flatten().collect();
        let gaps = gaps(db, DocumentType::Invoice).await;
        assert_eq!((taken.len(), gaps.len()), (18, 2));
        let is_skipped = |number: &&u64| gaps.iter().any(|(first, last)| (first..=last).contains(number));
        assert_eq!(taken.iter().find(is_skipped), None, "{gaps:?} {taken:?}");
    }
}
