//! The journal: one entry per subject and type.

use crate::checkout_fixtures::{all_at_once, at, begin, id, read};
use souk_adapters::on_both;
use souk_adapters::persistence::statement_counter;
use souk_domain::ledger::{Account, Entry, EntryType, Posting};
use souk_domain::shared::{Amount, Mode, StorageError};

fn entry(name: &str, subject: &str) -> Entry {
    let currency = id("pc_1");
    let postings = vec![
        Posting::debit(Account::cash(&id("pm_card")), Amount::new(u128::MAX), &currency),
        Posting::credit(Account::Receivable, Amount::new(u128::MAX - 1), &currency),
        Posting::credit(Account::CustomerBalance, Amount::new(1), &currency),
    ];
    Entry::new(id(name), Mode::Live, EntryType::Payment, subject, at(0), postings).expect("balances")
}

on_both! {
    async fn an_entry_is_read_as_posted(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.journal().post(&entry("je_1", "att_1")).await.expect("posts");
        unit.journal().post(&entry("je_2", "att_2")).await.expect("posts");
        assert_eq!(unit.journal().of_subject("att_1").await.expect("reads"), [entry("je_1", "att_1")]);
        assert!(unit.journal().of_subject("att_3").await.expect("reads").is_empty());
    }

    async fn concurrent_postings_of_a_payment_create_one_entry(db: &TestDatabase) {
        let posted = all_at_once(db, 8, |db, number| async move {
            let mut unit = begin(&db).await;
            let posted = unit.journal().post(&entry(&format!("je_{number}"), "att_1")).await;
            let posted = match posted {
                Ok(()) => unit.commit().await,
                refused => refused,
            };
            match posted {
                Ok(()) => true,
                Err(StorageError::Duplicate(_)) => false,
                Err(error) => panic!("{error}"),
            }
        });
        assert_eq!(posted.await.into_iter().filter(|won| *won).count(), 1);
        assert_eq!(read(db).await.journal().of_subject("att_1").await.expect("reads").len(), 1);
    }

    async fn a_batch_of_entries_takes_two_statements_and_is_atomic(db: &TestDatabase) {
        // One posting fewer each, so that both statements have the maximum number of rows.
        let short = |number: u32| {
            let currency = id("pc_1");
            let postings = vec![
                Posting::debit(Account::Revenue, Amount::new(5), &currency),
                Posting::credit(Account::RefundsPayable, Amount::new(5), &currency),
            ];
            let (name, subject) = (format!("je_{number}"), format!("cn_{number}"));
            Entry::new(id(&name), Mode::Live, EntryType::CreditNote, subject, at(0), postings).expect("balances")
        };
        let entries: Vec<_> = (0..32).map(short).collect();
        let mut unit = begin(db).await;
        let before = statement_counter::sent().statements;
        unit.journal().post_all(&entries).await.expect("posts");
        unit.commit().await.expect("commits");
        assert_eq!(statement_counter::sent().statements - before, 2);
        assert_eq!(read(db).await.journal().of_subject("cn_31").await.expect("reads"), [short(31)]);
        let mut unit = begin(db).await;
        let mut again = short(3);
        again.id = id("je_91");
        let again = unit.journal().post_all(&[entry("je_90", "att_1"), again]).await;
        assert!(matches!(again.and(unit.commit().await), Err(StorageError::Duplicate(_))));
        assert!(read(db).await.journal().of_subject("att_1").await.expect("reads").is_empty());
    }

    async fn a_subject_has_an_entry_of_each_type(db: &TestDatabase) {
        let mut other = entry("je_2", "att_1");
        (other.kind, other.posted_at) = (EntryType::SuspenseReceived, at(1));
        let mut unit = begin(db).await;
        unit.journal().post_all(&[other.clone(), entry("je_1", "att_1")]).await.expect("posts");
        assert_eq!(unit.journal().of_subject("att_1").await.expect("reads"), [entry("je_1", "att_1"), other]);
    }

    async fn an_entry_with_a_missing_posting_is_corrupt(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.journal().post(&entry("je_1", "att_1")).await.expect("posts");
        unit.commit().await.expect("commits");
        let mut connection = db.begin().await.expect("begins");
        connection.query("DELETE FROM journal_postings WHERE position = 2").execute().await.expect("deletes");
        connection.commit().await.expect("commits");
        let refused = read(db).await.journal().of_subject("att_1").await;
        assert!(matches!(refused, Err(StorageError::Corrupt { table: "journal_entries", .. })), "{refused:?}");
    }
}
