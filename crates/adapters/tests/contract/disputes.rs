//! Disputes: each provider's dispute and each of its fund movements are recorded once.

use crate::checkout_fixtures::{all_at_once, at, begin, customer, id, insert_checkout, read};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::payment::{Dispute, DisputeFilter, DisputeStatus};
use souk_domain::shared::{Amount, Mode, Page, StorageError};

fn dispute(name: &str, provider_id: &str) -> Dispute {
    Dispute {
        id: id(name),
        mode: Mode::Test,
        method_id: id("pm_card"),
        provider_id: provider_id.to_owned(),
        intent_id: id("pi_1"),
        customer_id: id("cus_1"),
        amount: Amount::new(u128::MAX),
        currency_id: id("pc_1"),
        fee: Amount::new(1_500),
        fee_currency_id: Some(id("pc_2")),
        status: DisputeStatus::NeedsResponse,
        funds_withdrawn: true,
        movements: 1,
        reason: "fraudulent".to_owned(),
        respond_by: Some(at(86_400)),
        credit_note_ids: Vec::new(),
        created_at: at(0),
        updated_at: at(0),
    }
}

async fn open(db: &Database, disputes: &[Dispute]) {
    insert_checkout(db, &["pi_1", "pi_2"]).await;
    let mut unit = begin(db).await;
    unit.customers().upsert(&customer("cus_2", "z1other")).await.expect("inserts");
    for dispute in disputes {
        unit.disputes().insert(dispute).await.expect("inserts");
    }
    unit.commit().await.expect("commits");
}

on_both! {
    async fn exactly_one_caller_records_a_providers_dispute(db: &TestDatabase) {
        open(db, &[]).await;
        let recorded = all_at_once(db, 8, |db, number| async move {
            let mut unit = begin(&db).await;
            let inserted = unit.disputes().insert(&dispute(&format!("dp_{number}"), "du_1")).await;
            match inserted {
                Ok(()) => unit.commit().await.map(|()| true).expect("commits"),
                Err(StorageError::Duplicate(_)) => false,
                Err(error) => panic!("{error}"),
            }
        });
        assert_eq!(recorded.await.into_iter().filter(|won| *won).count(), 1);
        let mut unit = begin(db).await;
        // The provider of another method may use the same id.
        unit.disputes().insert(&Dispute { method_id: id("pm_2"), ..dispute("dp_9", "du_1") }).await.expect("inserts");
        assert_eq!(unit.disputes().lock(&id("pm_2"), "du_1").await.expect("locks").map(|one| one.id), Some(id("dp_9")));
        assert_eq!(unit.disputes().lock(&id("pm_2"), "du_2").await.expect("locks"), None);
    }

    async fn disputes_are_read_as_last_written(db: &TestDatabase) {
        let bare = Dispute { fee_currency_id: None, respond_by: None, ..dispute("dp_2", "du_2") };
        open(db, &[dispute("dp_1", "du_1"), bare.clone()]).await;
        let after = Dispute {
            amount: Amount::new(7),
            fee: Amount::ZERO,
            fee_currency_id: None,
            status: DisputeStatus::Lost,
            funds_withdrawn: false,
            movements: 3,
            reason: "general".to_owned(),
            respond_by: None,
            credit_note_ids: vec![id("cn_2"), id("cn_1")],
            updated_at: at(9),
            ..dispute("dp_1", "du_1")
        };
        let mut unit = begin(db).await;
        assert_eq!(unit.disputes().find(&id("dp_1")).await.expect("reads"), Some(dispute("dp_1", "du_1")));
        assert!(unit.disputes().update(&dispute("dp_1", "du_1"), &after).await.expect("writes"));
        assert_eq!(unit.disputes().find(&id("dp_1")).await.expect("reads"), Some(after.clone()));
        assert_eq!(unit.disputes().lock(&id("pm_card"), "du_1").await.expect("locks"), Some(after.clone()));
        assert_eq!(unit.disputes().of_intents(&[id("pi_1"), id("pi_2")]).await.expect("reads"), [after, bare]);
        assert!(unit.disputes().of_intents(&[id("pi_2")]).await.expect("reads").is_empty());
    }

    async fn exactly_one_caller_records_each_movement(db: &TestDatabase) {
        open(db, &[dispute("dp_1", "du_1")]).await;
        let before = dispute("dp_1", "du_1");
        let moved = all_at_once(db, 8, move |db, _| {
            let before = before.clone();
            async move {
                let after = Dispute { movements: 2, funds_withdrawn: false, status: DisputeStatus::Won, ..before.clone() };
                let mut unit = begin(&db).await;
                let moved = unit.disputes().update(&before, &after).await.expect("writes");
                unit.commit().await.expect("commits");
                moved
            }
        });
        assert_eq!(moved.await.into_iter().filter(|won| *won).count(), 1);
        let mut unit = begin(db).await;
        let decided = unit.disputes().find(&id("dp_1")).await.expect("reads").expect("is there");
        let stale = Dispute { status: DisputeStatus::NeedsResponse, ..decided.clone() };
        assert!(!unit.disputes().update(&stale, &decided).await.expect("writes"), "the status has changed without a movement");
    }

    async fn disputes_are_listed_by_customer_payment_and_whether_they_are_decided(db: &TestDatabase) {
        let disputes = [
            dispute("dp_1", "du_1"),
            Dispute { intent_id: id("pi_2"), status: DisputeStatus::Won, ..dispute("dp_2", "du_2") },
            Dispute { customer_id: id("cus_2"), status: DisputeStatus::Inquiry, ..dispute("dp_3", "du_3") },
            Dispute { mode: Mode::Live, ..dispute("dp_4", "du_4") },
            Dispute { status: DisputeStatus::InquiryClosed, ..dispute("dp_5", "du_5") },
            Dispute { status: DisputeStatus::Lost, ..dispute("dp_6", "du_6") },
        ];
        open(db, &disputes).await;
        let all = DisputeFilter::default();
        let cases = [
            (all.clone(), vec!["dp_6", "dp_5", "dp_3", "dp_2", "dp_1"]),
            (DisputeFilter { open: true, ..all.clone() }, vec!["dp_3", "dp_1"]),
            (DisputeFilter { customer_id: Some(id("cus_2")), ..all.clone() }, vec!["dp_3"]),
            (DisputeFilter { customer_id: Some(id("cus_1")), open: true, ..all.clone() }, vec!["dp_1"]),
            (DisputeFilter { intent_id: Some(id("pi_2")), ..all.clone() }, vec!["dp_2"]),
            (DisputeFilter { intent_id: Some(id("pi_2")), customer_id: Some(id("cus_2")), ..all }, vec![]),
        ];
        let mut unit = read(db).await;
        for (filter, expected) in cases {
            let listed = unit.disputes().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("lists");
            let names: Vec<_> = listed.list.iter().map(|dispute| dispute.id.as_str()).collect();
            assert_eq!((listed.count, names), (expected.len() as u64, expected), "{filter:?}");
        }
        for status in DisputeStatus::ALL {
            let is_open = !status.is_closed();
            let one = Dispute { status, customer_id: id("cus_2"), ..dispute("dp_90", "du_90") };
            let mut unit = begin(db).await;
            unit.disputes().insert(&one).await.expect("inserts");
            let filter = DisputeFilter { open: true, customer_id: Some(id("cus_2")), ..DisputeFilter::default() };
            let listed = unit.disputes().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("lists");
            assert_eq!(listed.list.iter().any(|listed| listed.id == one.id), is_open, "{status:?}");
        }
    }
}
