//! The journal: one entry for each subject and reason.

use crate::till::{all_at_once, at, begin, id, read};
use souk_adapters::on_both;
use souk_domain::ledger::{Account, Entry, Posting, Reason, Side};
use souk_domain::shared::{Amount, Mode, StorageError};

fn entry(name: &str, subject: &str) -> Entry {
    let posting = |account, side, amount| Posting { account, side, amount: Amount::new(amount), currency_id: id("pc_1") };
    let postings = vec![
        posting(Account::Network("pm_card".to_owned()), Side::Debit, u128::MAX),
        posting(Account::Sales, Side::Credit, u128::MAX - 1),
        posting(Account::Sales, Side::Credit, 1),
    ];
    Entry::new(id(name), Mode::Live, Reason::Payment, subject, at(0), postings).expect("balances")
}

on_both! {
    async fn an_entry_comes_back_as_it_was_booked(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.journal().book(&entry("je_1", "att_1")).await.expect("books");
        unit.journal().book(&entry("je_2", "att_2")).await.expect("books");
        assert_eq!(unit.journal().of_subject("att_1").await.expect("reads"), [entry("je_1", "att_1")]);
        assert!(unit.journal().of_subject("att_3").await.expect("reads").is_empty());
    }

    async fn a_payment_is_booked_once_however_many_try(db: &TestDatabase) {
        let booked = all_at_once(db, 8, |db, number| async move {
            let mut unit = begin(&db).await;
            let booked = unit.journal().book(&entry(&format!("je_{number}"), "att_1")).await;
            let booked = match booked {
                Ok(()) => unit.commit().await,
                refused => refused,
            };
            match booked {
                Ok(()) => true,
                Err(StorageError::Duplicate(_)) => false,
                Err(error) => panic!("{error}"),
            }
        });
        assert_eq!(booked.await.into_iter().filter(|won| *won).count(), 1);
        assert_eq!(read(db).await.journal().of_subject("att_1").await.expect("reads").len(), 1);
    }

    async fn an_entry_that_lost_a_posting_is_corrupt(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.journal().book(&entry("je_1", "att_1")).await.expect("books");
        unit.commit().await.expect("commits");
        let mut session = db.begin().await.expect("begins");
        session.query("DELETE FROM journal_postings WHERE position = 2").execute().await.expect("deletes");
        session.commit().await.expect("commits");
        let refused = read(db).await.journal().of_subject("att_1").await;
        assert!(matches!(refused, Err(StorageError::Corrupt { table: "journal_entries", .. })), "{refused:?}");
    }
}
