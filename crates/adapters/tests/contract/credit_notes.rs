//! Credit notes: finalized documents with their own number series (invariant 11).

use crate::checkout_fixtures::{at, begin, customer, id, insert_checkout, issue, read};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::billing::{CreditNote, CreditNoteFilter, CreditNoteItem, CreditNoteReason, PricingFormula, Prorated};
use souk_domain::shared::{Amount, Mode, Page, StorageError};

fn note(name: &str, number: u64) -> CreditNote {
    CreditNote {
        id: id(name),
        mode: Mode::Test,
        number,
        invoice_id: id("in_1"),
        subscription_id: Some(id("sub_1")),
        customer_id: id("cus_1"),
        currency_id: id("pc_1"),
        method_id: id("pm_card"),
        reason: CreditNoteReason::PlanChange,
        memo: "Sorry".to_owned(),
        total: Amount::new(600),
        due_reduced: Amount::new(100),
        to_balance: Amount::new(200),
        refunded: Amount::new(300),
        created_at: at(0),
    }
}

fn item(of: &str, line: &str) -> CreditNoteItem {
    CreditNoteItem { note_id: id(of), invoice_item_id: id(line), amount: Amount::new(300), revokes: false, pricing_formula: None }
}

async fn insert(db: &Database, notes: &[(CreditNote, Vec<CreditNoteItem>)]) {
    let mut unit = begin(db).await;
    for (note, items) in notes {
        unit.credit_notes().insert(note, items).await.expect("inserts");
    }
    unit.commit().await.expect("commits");
}

on_both! {
    async fn a_note_is_read_with_its_items_in_order(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        issue(db, 1).await;
        let unused = PricingFormula::Prorated {
            what: Prorated::Credit,
            whole: Amount::new(u128::MAX),
            seconds: 1,
            of_seconds: 2,
            quantity: 3,
            rounded_up: true,
        };
        let first = CreditNoteItem { pricing_formula: Some(unused), ..item("cn_1", "ii_9") };
        let second = CreditNoteItem { revokes: true, ..item("cn_1", "ii_1") };
        let bare = CreditNote { subscription_id: None, memo: String::new(), reason: CreditNoteReason::Other, ..note("cn_2", 2) };
        insert(db, &[(note("cn_1", 1), vec![first.clone(), second.clone()]), (bare.clone(), vec![item("cn_2", "ii_1")])]).await;
        let mut unit = read(db).await;
        assert_eq!(unit.credit_notes().find(&id("cn_1")).await.expect("reads"), Some(note("cn_1", 1)));
        assert_eq!(unit.credit_notes().find(&id("cn_2")).await.expect("reads"), Some(bare));
        assert_eq!(unit.credit_notes().find(&id("cn_3")).await.expect("reads"), None);
        assert_eq!(unit.credit_notes().items_of(&[id("cn_2"), id("cn_1")]).await.expect("reads"), [first, second, item("cn_2", "ii_1")]);
        assert!(unit.credit_notes().items_of(&[id("cn_3")]).await.expect("reads").is_empty());
    }

    async fn no_two_notes_of_a_mode_share_a_number(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        issue(db, 1).await;
        insert(db, &[(note("cn_1", 1), Vec::new()), (CreditNote { mode: Mode::Live, ..note("cn_2", 1) }, Vec::new())]).await;
        let again = begin(db).await.credit_notes().insert(&note("cn_3", 1), &[]).await;
        assert!(matches!(again, Err(StorageError::Duplicate(_))), "{again:?}");
    }

    async fn notes_are_listed_by_customer_invoice_and_subscription_newest_first(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        issue(db, 2).await;
        let mut unit = begin(db).await;
        unit.customers().upsert(&customer("cus_2", "z1other")).await.expect("inserts");
        unit.commit().await.expect("commits");
        let notes = [
            note("cn_1", 1),
            CreditNote { invoice_id: id("in_2"), ..note("cn_2", 2) },
            CreditNote { customer_id: id("cus_2"), subscription_id: None, invoice_id: id("in_2"), ..note("cn_3", 3) },
            CreditNote { subscription_id: Some(id("sub_2")), ..note("cn_4", 4) },
            CreditNote { mode: Mode::Live, ..note("cn_5", 1) },
        ];
        insert(db, &notes.map(|note| (note, Vec::new()))).await;
        let all = CreditNoteFilter::default();
        let cases = [
            (all.clone(), vec!["cn_4", "cn_3", "cn_2", "cn_1"]),
            (CreditNoteFilter { customer_id: Some(id("cus_1")), ..all.clone() }, vec!["cn_4", "cn_2", "cn_1"]),
            (CreditNoteFilter { invoice_id: Some(id("in_2")), ..all.clone() }, vec!["cn_3", "cn_2"]),
            (CreditNoteFilter { subscription_id: Some(id("sub_1")), ..all.clone() }, vec!["cn_2", "cn_1"]),
            (CreditNoteFilter { customer_id: Some(id("cus_1")), invoice_id: Some(id("in_2")), ..all.clone() }, vec!["cn_2"]),
            (CreditNoteFilter { customer_id: Some(id("cus_1")), subscription_id: Some(id("sub_2")), ..all.clone() }, vec!["cn_4"]),
            (CreditNoteFilter { invoice_id: Some(id("in_1")), subscription_id: Some(id("sub_2")), ..all.clone() }, vec!["cn_4"]),
            (CreditNoteFilter { customer_id: Some(id("cus_9")), ..all.clone() }, vec![]),
        ];
        let mut unit = read(db).await;
        for (filter, expected) in cases {
            let listed = unit.credit_notes().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("lists");
            let names: Vec<_> = listed.list.iter().map(|note| note.id.as_str()).collect();
            assert_eq!((listed.count, names), (expected.len() as u64, expected), "{filter:?}");
        }
        let page = Page { starting_after: Some("cn_3".to_owned()), ..Page::new(None, Some(1)) };
        let listed = unit.credit_notes().list(Mode::Test, &all, &page).await.expect("lists");
        assert_eq!((listed.count, listed.list[0].id.as_str()), (4, "cn_2"));
    }
}
