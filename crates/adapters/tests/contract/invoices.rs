//! Invoices: drafts until they are paid, and numbers without gaps (invariant 11).

use crate::till::{all_at_once, at, begin, customer, id, invoice, invoice_item, open_till, read};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::billing::{BillingReason, Calculation, Invoice, InvoiceChange, InvoiceFilter, InvoiceItem, InvoiceStatus};
use souk_domain::shared::{Amount, InvoiceId, Mode, Page, StorageError};

async fn row(db: &Database, of: &InvoiceId) -> (Invoice, Vec<InvoiceItem>) {
    let mut unit = read(db).await;
    let found = unit.invoices().find(of).await.expect("reads").expect("is there");
    (found, unit.invoices().items(of).await.expect("reads"))
}

/// Has the repository apply a change. Answers whether it says that it did; `None`: it does not say.
async fn apply(db: &Database, to: &InvoiceId, change: InvoiceChange, second: i64) -> Option<bool> {
    let (name, now) = (to.as_str(), at(second));
    let mut unit = begin(db).await;
    let answer = match change {
        InvoiceChange::Rewrite => {
            let anew = Invoice { updated_at: now, ..invoice(name) };
            let put = unit.invoices().put_draft(&anew, &[invoice_item(&format!("ii_anew_{name}"), name)]).await;
            return match put.and(unit.commit().await) {
                Err(StorageError::Conflict) => Some(false),
                written => Some(written.is_ok()),
            };
        }
        InvoiceChange::Pay => {
            let before = unit.invoices().find(to).await.expect("reads").expect("is there");
            let paid = unit.invoices().pay(to, before.total, None, now).await.expect("pays");
            assert!(paid.is_none_or(|status| status == before.status), "{paid:?}");
            Some(paid.is_some())
        }
        InvoiceChange::Refuse => Some(unit.invoices().refuse(to, None, now).await.expect("refuses")),
        InvoiceChange::Schedule => {
            unit.invoices().schedule(to, Some(now)).await.expect("schedules");
            None
        }
        InvoiceChange::Void => Some(unit.invoices().void(to, now).await.expect("voids")),
        InvoiceChange::VoidDraft => Some(unit.invoices().void_draft(to, now).await.expect("voids")),
    };
    unit.commit().await.expect("commits");
    answer
}

on_both! {
    async fn what_the_status_does_not_allow_leaves_the_invoice_as_it_was(db: &TestDatabase) {
        use InvoiceChange as C;
        use InvoiceStatus as S;
        open_till(db, &[]).await;
        let ways: [(S, &[C], S); 9] = [
            (S::Draft, &[], S::Draft),
            (S::Open, &[], S::Open),
            (S::Open, &[C::Refuse], S::Uncollectible),
            (S::Draft, &[C::Pay], S::Paid),
            (S::Open, &[C::Pay], S::Paid),
            (S::Open, &[C::Refuse, C::Pay], S::Paid),
            (S::Draft, &[C::VoidDraft], S::Void),
            (S::Open, &[C::Void], S::Void),
            (S::Open, &[C::Refuse, C::Void], S::Void),
        ];
        assert!(S::ALL.into_iter().all(|status| ways.iter().any(|(_, _, to)| *to == status)));
        let cases = ways.iter().flat_map(|way| C::ALL.map(|change| (way, change)));
        for (number, ((first, way, status), change)) in cases.enumerate() {
            let case = format!("{first:?} {way:?}, then {change:?}");
            let of: InvoiceId = id(&format!("in_{number}"));
            let lines = [invoice_item(&format!("ii_{number}"), of.as_str())];
            let mut unit = begin(db).await;
            if *first == S::Draft {
                unit.invoices().put_draft(&invoice(of.as_str()), &lines).await.expect("inserts");
            } else {
                let number = Some(unit.invoices().take_numbers(Mode::Test, 1).await.expect("counts"));
                let issued = Invoice { status: *first, number, finalized_at: Some(at(0)), ..invoice(of.as_str()) };
                unit.invoices().insert_final(&issued, &lines).await.expect("inserts");
            }
            unit.commit().await.expect("commits");
            for step in *way {
                assert_eq!(apply(db, &of, *step, 1).await, Some(true), "{case}");
            }
            let before = row(db, &of).await;
            assert_eq!(before.0.status, *status, "{case}");
            let answer = apply(db, &of, change, 2).await;
            let after = row(db, &of).await;
            match status.after(change) {
                Ok(next) => {
                    assert!(answer != Some(false) && after != before, "{case}");
                    assert_eq!(after.0.status, next, "{case}");
                    assert!(before.0.number.is_none() || after.0.number == before.0.number, "{case}");
                }
                Err(refused) => {
                    assert_ne!(answer, Some(true), "{refused}");
                    assert_eq!(after, before, "{refused}");
                }
            }
        }
    }

    async fn a_draft_is_replaced_with_its_items_until_it_is_paid(db: &TestDatabase) {
        open_till(db, &[]).await;
        let mut unit = begin(db).await;
        let lines = [invoice_item("ii_2", "in_1"), invoice_item("ii_1", "in_1")];
        unit.invoices().put_draft(&invoice("in_1"), &lines).await.expect("inserts");
        assert_eq!(unit.invoices().find(&id("in_1")).await.expect("reads"), Some(invoice("in_1")));
        assert_eq!(unit.invoices().items(&id("in_1")).await.expect("reads"), lines);
        let changed = Invoice { total: Amount::new(u128::MAX), description: "One thing".to_owned(), updated_at: at(2), ..invoice("in_1") };
        unit.invoices().put_draft(&changed, &[invoice_item("ii_3", "in_1")]).await.expect("replaces");
        assert_eq!(unit.invoices().find(&id("in_1")).await.expect("reads"), Some(changed.clone()));
        assert_eq!(unit.invoices().items(&id("in_1")).await.expect("reads"), [invoice_item("ii_3", "in_1")]);
        assert!(unit.invoices().pay(&id("in_1"), changed.total, None, at(3)).await.expect("pays").is_some());
        unit.commit().await.expect("commits");
        let mut unit = begin(db).await;
        let put = unit.invoices().put_draft(&invoice("in_1"), &lines).await;
        assert!(matches!(put.and(unit.commit().await), Err(StorageError::Conflict)));
        let mut unit = begin(db).await;
        assert_eq!(unit.invoices().items(&id("in_1")).await.expect("reads"), [invoice_item("ii_3", "in_1")]);
        let paid = Invoice {
            status: InvoiceStatus::Paid,
            number: Some(1),
            amount_paid: changed.total,
            finalized_at: Some(at(3)),
            paid_at: Some(at(3)),
            updated_at: at(3),
            ..changed
        };
        assert_eq!(unit.invoices().find(&id("in_1")).await.expect("reads"), Some(paid));
    }

    async fn a_paid_or_void_invoice_is_not_paid_again_and_takes_no_number(db: &TestDatabase) {
        open_till(db, &[]).await;
        let mut unit = begin(db).await;
        for name in ["in_1", "in_2", "in_3"] {
            unit.invoices().put_draft(&invoice(name), &[]).await.expect("inserts");
        }
        assert!(unit.invoices().void_draft(&id("in_2"), at(1)).await.expect("voids"));
        assert!(!unit.invoices().void_draft(&id("in_2"), at(1)).await.expect("voids"));
        assert!(unit.invoices().pay(&id("in_2"), Amount::new(1_000), None, at(2)).await.expect("pays").is_none());
        assert!(unit.invoices().pay(&id("in_1"), Amount::new(1_000), None, at(2)).await.expect("pays").is_some());
        assert!(unit.invoices().pay(&id("in_1"), Amount::new(1_000), None, at(3)).await.expect("pays").is_none());
        assert!(!unit.invoices().void_draft(&id("in_1"), at(3)).await.expect("voids"));
        assert!(unit.invoices().pay(&id("in_3"), Amount::new(1_000), None, at(4)).await.expect("pays").is_some());
        assert_eq!(unit.invoices().find(&id("in_2")).await.expect("reads").expect("is there").number, None);
        assert_eq!(unit.invoices().find(&id("in_3")).await.expect("reads").expect("is there").number, Some(2));
        assert!(unit.invoices().pay(&id("in_9"), Amount::ZERO, None, at(5)).await.expect("pays").is_none());
    }

    async fn each_mode_has_a_series_of_its_own(db: &TestDatabase) {
        open_till(db, &[]).await;
        let mut unit = begin(db).await;
        for (name, mode) in [("in_1", Mode::Test), ("in_2", Mode::Live), ("in_3", Mode::Test)] {
            unit.invoices().put_draft(&Invoice { mode, ..invoice(name) }, &[]).await.expect("inserts");
            unit.invoices().pay(&id(name), Amount::ZERO, None, at(1)).await.expect("pays");
        }
        let mut numbers = Vec::new();
        for name in ["in_1", "in_2", "in_3"] {
            numbers.push(unit.invoices().find(&id(name)).await.expect("reads").expect("is there").number_text().expect("a number"));
        }
        assert_eq!(numbers, ["SOUK-TEST-000001", "SOUK-000001", "SOUK-TEST-000002"]);
    }

    async fn invoices_paid_at_once_have_numbers_without_gaps_though_some_payments_are_rolled_back(db: &TestDatabase) {
        open_till(db, &[]).await;
        let mut unit = begin(db).await;
        for number in 0..30 {
            unit.invoices().put_draft(&invoice(&format!("in_{number}")), &[]).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        let paid = all_at_once(db, 30, |db, number| async move {
            let invoice: InvoiceId = id(&format!("in_{number}"));
            let mut unit = begin(&db).await;
            assert!(unit.invoices().pay(&invoice, Amount::new(1_000), None, at(1)).await.expect("pays").is_some());
            let taken = unit.invoices().find(&invoice).await.expect("reads").expect("is there").number.expect("a number");
            // Every third one is dropped after it has taken its number.
            if number % 3 == 0 {
                drop(unit);
                return None;
            }
            unit.commit().await.expect("commits");
            Some(taken)
        });
        let mut numbers: Vec<u64> = paid.await.into_iter().flatten().collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=20).collect::<Vec<u64>>());
    }

    async fn an_invoice_is_paid_by_exactly_one_caller(db: &TestDatabase) {
        open_till(db, &[]).await;
        let mut unit = begin(db).await;
        unit.invoices().put_draft(&invoice("in_1"), &[]).await.expect("inserts");
        unit.commit().await.expect("commits");
        let paid = all_at_once(db, 8, |db, _| async move {
            let mut unit = begin(&db).await;
            let paid = unit.invoices().pay(&id("in_1"), Amount::new(1_000), None, at(1)).await.expect("pays");
            unit.commit().await.expect("commits");
            paid
        });
        assert_eq!(paid.await.into_iter().filter(Option::is_some).count(), 1);
        assert_eq!(read(db).await.invoices().find(&id("in_1")).await.expect("reads").expect("is there").number, Some(1));
    }

    async fn a_list_is_narrowed_by_status_customer_currency_and_amount(db: &TestDatabase) {
        open_till(db, &[]).await;
        let mut unit = begin(db).await;
        unit.customers().upsert(&customer("cus_2", "z1other")).await.expect("inserts");
        let others = [
            invoice("in_1"),
            Invoice { customer_id: id("cus_2"), ..invoice("in_2") },
            Invoice { currency_id: id("pc_2"), total: Amount::ZERO, description: "Fine % wool".to_owned(), ..invoice("in_3") },
            Invoice { mode: Mode::Live, subscription_id: Some(id("sub_1")), ..invoice("in_4") },
            Invoice { subscription_id: Some(id("sub_1")), currency_id: id("pc_3"), total: Amount::ZERO, ..invoice("in_5") },
        ];
        for invoice in &others {
            unit.invoices().put_draft(invoice, &[]).await.expect("inserts");
        }
        let by_credit = Invoice { customer_id: id("cus_3"), total: Amount::ZERO, subscription_id: Some(id("sub_3")), ..invoice("in_6") };
        let applied = Calculation::Applied { amount: Amount::new(1_000) };
        unit.customers().upsert(&customer("cus_3", "z1third")).await.expect("inserts");
        let lines = [invoice_item("ii_1", "in_6"), InvoiceItem { calculation: applied, ..invoice_item("ii_2", "in_6") }];
        unit.invoices().put_draft(&by_credit, &lines).await.expect("inserts");
        unit.invoices().put_draft(&Invoice { id: id("in_7"), ..by_credit }, &[invoice_item("ii_3", "in_7")]).await.expect("inserts");
        unit.invoices().pay(&id("in_1"), Amount::new(1_000), None, at(1)).await.expect("pays");
        unit.customers().upsert(&customer("cus_4", "z1fourth")).await.expect("inserts");
        for (name, reason) in [("in_91", BillingReason::SubscriptionRecover), ("in_92", BillingReason::Stake)] {
            unit.invoices().put_draft(&Invoice { customer_id: id("cus_4"), reason, ..invoice(name) }, &[]).await.expect("inserts");
        }
        // An order that was never paid was no invoice.
        unit.invoices().put_draft(&invoice("in_8"), &[]).await.expect("inserts");
        assert!(unit.invoices().void_draft(&id("in_8"), at(2)).await.expect("voids"));
        let all = InvoiceFilter::default();
        let above_zero = InvoiceFilter { ignore_zero: true, ..all.clone() };
        let cases = [
            (all.clone(), vec!["in_7", "in_6", "in_5", "in_3", "in_2", "in_1"]),
            (InvoiceFilter { subscription_id: Some(id("sub_1")), ..all.clone() }, vec!["in_5"]),
            (InvoiceFilter { subscription_id: Some(id("sub_1")), customer_id: Some(id("cus_2")), ..all.clone() }, vec![]),
            (InvoiceFilter { statuses: vec![InvoiceStatus::Paid, InvoiceStatus::Void], ..all.clone() }, vec!["in_1"]),
            (InvoiceFilter { customer_id: Some(id("cus_2")), ..all.clone() }, vec!["in_2"]),
            (InvoiceFilter { currency_id: Some(id("pc_1")), ..all.clone() }, vec!["in_7", "in_6", "in_2", "in_1"]),
            (InvoiceFilter { include_recovered_from: true, customer_id: Some(id("cus_4")), ..all.clone() }, vec!["in_91"]),
            (InvoiceFilter { include_staking: true, customer_id: Some(id("cus_4")), ..all.clone() }, vec!["in_92", "in_91"]),
            (InvoiceFilter { customer_id: Some(id("cus_4")), ..all.clone() }, vec![]),
            // What credit has paid comes to nothing as well, and is not left out.
            (above_zero.clone(), vec!["in_6", "in_2", "in_1"]),
            (InvoiceFilter { customer_id: Some(id("cus_3")), ..above_zero.clone() }, vec!["in_6"]),
            (InvoiceFilter { subscription_id: Some(id("sub_3")), ..above_zero }, vec!["in_6"]),
            (InvoiceFilter { query: "souk-test-000001".to_owned(), ..all.clone() }, vec!["in_1"]),
            (InvoiceFilter { query: "1".to_owned(), ..all.clone() }, vec!["in_1"]),
            (InvoiceFilter { query: "SOUK-000001".to_owned(), ..all.clone() }, vec![]),
            (InvoiceFilter { query: "in_2".to_owned(), ..all.clone() }, vec!["in_2"]),
            (InvoiceFilter { query: "in_2".to_owned(), customer_id: Some(id("cus_1")), ..all.clone() }, vec![]),
            (InvoiceFilter { query: "in_4".to_owned(), ..all.clone() }, vec![]),
            (InvoiceFilter { query: "E % WOO".to_owned(), ..all.clone() }, vec!["in_3"]),
            (InvoiceFilter { query: "%".to_owned(), customer_id: Some(id("cus_1")), ..all }, vec!["in_3"]),
        ];
        for (filter, wanted) in cases {
            let listed = unit.invoices().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("lists");
            let names: Vec<_> = listed.list.iter().map(|invoice| invoice.id.as_str()).collect();
            assert_eq!((listed.count, names), (wanted.len() as u64, wanted), "{filter:?}");
        }
    }
}
