//! Invoices: they are drafts until finalized, have numbers without gaps (invariant 11), and no amount is credited twice (invariant 8).

use crate::checkout_fixtures::{all_at_once, at, begin, customer, id, insert_checkout, invoice, invoice_item, issue, open_invoice, read};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::billing::{
    BillingReason, ChangedInvoice, DocumentType, Invoice, InvoiceChange, InvoiceFilter, InvoiceItem, InvoiceStatus, ItemCredit, NewInvoice,
    Period, ScheduledRetry, Scope,
};
use souk_domain::operation::FoundPayment;
use souk_domain::payment::Description;
use souk_domain::shared::{Amount, InvoiceId, Mode, Page, StorageError, Text};

async fn row(db: &Database, of: &InvoiceId) -> (Invoice, Vec<InvoiceItem>) {
    let mut unit = read(db).await;
    let found = unit.invoices().find(of).await.expect("reads").expect("is there");
    (found, unit.invoices().items(of).await.expect("reads"))
}

fn retry(invoice: &InvoiceId, due_at: i64) -> ScheduledRetry {
    ScheduledRetry { id: invoice.clone(), at: Some(at(due_at)) }
}

/// The changes that the repository itself restricts to some statuses. All other changes are compare-and-set updates.
const GUARDED: [InvoiceChange; 4] = [InvoiceChange::Rewrite, InvoiceChange::Decline, InvoiceChange::Reschedule, InvoiceChange::Drop];

/// Applies a guarded change through the repository. Returns whether the repository reports success; `None` if it does not report it.
async fn apply(db: &Database, to: &InvoiceId, change: InvoiceChange) -> Option<bool> {
    let (name, now) = (to.as_str(), at(2));
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
        InvoiceChange::Decline => Some(unit.invoices().decline_all(&[retry(to, 9)], now).await.expect("declines")),
        InvoiceChange::Reschedule => {
            unit.invoices().schedule_all(&[retry(to, 9)]).await.expect("schedules");
            None
        }
        InvoiceChange::Drop => Some(unit.invoices().drop_draft(to, now).await.expect("drops")),
        other => panic!("{other:?} is a compare-and-set"),
    };
    unit.commit().await.expect("commits");
    answer
}

/// Returns the invoice with `amount` paid.
fn paid(before: &Invoice, amount: u128) -> Invoice {
    let paid = before.amount_paid.plus(Amount::new(amount)).expect("adds up");
    before.with_amounts(paid, before.amount_credited, at(5)).expect("is within the total")
}

/// The payment of `amount`, as an update of the invoice.
fn change(before: &Invoice, amount: u128) -> ChangedInvoice {
    ChangedInvoice { before: before.clone(), after: paid(before, amount) }
}

fn without_items(invoice: Invoice) -> NewInvoice {
    NewInvoice { invoice, items: Vec::new() }
}

fn month() -> Period {
    Period { start: at(0), end: at(30 * 86_400) }
}

/// A line of a subscription item for one month.
fn monthly(name: &str, of: &str) -> InvoiceItem {
    let period = month();
    InvoiceItem { subscription_item_id: Some(id("si_1")), period: Some(period), covers_until: Some(period.end), ..invoice_item(name, of) }
}

on_both! {
    async fn a_change_that_the_status_does_not_allow_leaves_the_invoice_unchanged(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let cases = InvoiceStatus::ALL.into_iter().flat_map(|status| GUARDED.map(|change| (status, change)));
        for (number, (status, change)) in (1..).zip(cases) {
            let case = format!("{status:?}, then {change:?}");
            let of: InvoiceId = id(&format!("in_{number}"));
            let NewInvoice { invoice: open, items } = open_invoice(of.as_str(), number);
            let mut unit = begin(db).await;
            if status == InvoiceStatus::Draft {
                unit.invoices().insert_draft(&invoice(of.as_str()), &items).await.expect("inserts");
            } else {
                unit.invoices().insert_final_all(&[NewInvoice { invoice: Invoice { status, ..open }, items }]).await.expect("inserts");
            }
            unit.commit().await.expect("commits");
            let before = row(db, &of).await;
            let answer = apply(db, &of, change).await;
            let after = row(db, &of).await;
            match status.check(change) {
                Ok(()) => {
                    assert!(answer != Some(false) && after != before, "{case}");
                    assert_eq!(after.0.number, before.0.number, "{case}");
                }
                Err(refused) => {
                    assert_ne!(answer, Some(true), "{refused}");
                    assert_eq!(after, before, "{refused}");
                }
            }
        }
    }

    async fn a_draft_is_replaced_with_its_items_until_it_is_finalized(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        let lines = [invoice_item("ii_2", "in_1"), invoice_item("ii_1", "in_1")];
        unit.invoices().put_draft(&invoice("in_1"), &lines).await.expect("inserts");
        assert_eq!(unit.invoices().find(&id("in_1")).await.expect("reads"), Some(invoice("in_1")));
        assert_eq!(unit.invoices().items(&id("in_1")).await.expect("reads"), lines);
        let changed = Invoice { total: Amount::new(u128::MAX), description: Description::Product(Text::new("One thing", "一件商品").into()), updated_at: at(2), ..invoice("in_1") };
        let line = InvoiceItem { amount: Amount::new(u128::MAX), ..monthly("ii_3", "in_1") };
        unit.invoices().put_draft(&changed, std::slice::from_ref(&line)).await.expect("replaces");
        assert_eq!(unit.invoices().find(&id("in_1")).await.expect("reads"), Some(changed.clone()));
        assert_eq!(unit.invoices().items(&id("in_1")).await.expect("reads"), std::slice::from_ref(&line));
        let finalized = Invoice {
            status: InvoiceStatus::Open,
            number: Some(1),
            subscription_id: Some(id("sub_1")),
            period: Some(month()),
            finalized_at: Some(at(3)),
            updated_at: at(3),
            ..changed.clone()
        };
        assert!(unit.invoices().update(&changed, &finalized).await.expect("finalizes"));
        unit.commit().await.expect("commits");
        let mut unit = begin(db).await;
        let put = unit.invoices().put_draft(&invoice("in_1"), &lines).await;
        assert!(matches!(put.and(unit.commit().await), Err(StorageError::Conflict)));
        assert_eq!(row(db, &id("in_1")).await, (finalized, vec![line]));
    }

    async fn each_mode_and_document_type_has_its_own_number_series(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        for mode in [Mode::Test, Mode::Live] {
            for document in DocumentType::ALL {
                assert_eq!(unit.invoices().allocate_numbers(mode, document, 3).await.expect("counts"), 1);
                assert_eq!(unit.invoices().allocate_numbers(mode, document, 1).await.expect("counts"), 4);
            }
        }
        let number_one = |name: &str, mode, reason| without_items(Invoice { mode, reason, ..open_invoice(name, 1).invoice });
        let ones = [
            number_one("in_1", Mode::Test, BillingReason::Manual),
            number_one("in_2", Mode::Live, BillingReason::Manual),
            number_one("in_3", Mode::Test, BillingReason::Stake),
        ];
        unit.invoices().insert_final_all(&ones).await.expect("inserts");
        let again = unit.invoices().insert_final_all(&[number_one("in_4", Mode::Test, BillingReason::Recharge)]).await;
        assert!(matches!(again, Err(StorageError::Duplicate(_))), "{again:?}");
    }

    async fn concurrent_finalizations_leave_no_gaps_even_if_some_roll_back(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let taken = all_at_once(db, 30, |db, number| async move {
            let mut unit = begin(&db).await;
            let taken = unit.invoices().allocate_numbers(Mode::Test, DocumentType::Invoice, 1).await.expect("counts");
            unit.invoices().insert_final_all(&[open_invoice(&format!("in_{number}"), taken)]).await.expect("inserts");
            // Every third unit of work is dropped after it has allocated its number.
            if number % 3 == 0 {
                drop(unit);
                return None;
            }
            unit.commit().await.expect("commits");
            Some(taken)
        });
        let mut numbers: Vec<u64> = taken.await.into_iter().flatten().collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=20).collect::<Vec<u64>>());
    }

    async fn concurrent_renewals_create_one_invoice_per_period(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let written = all_at_once(db, 8, |db, number| async move {
            let NewInvoice { invoice: open, items } = open_invoice(&format!("in_{number}"), u64::from(number) + 1);
            let period = Invoice {
                reason: BillingReason::SubscriptionCycle,
                subscription_id: Some(id("sub_1")),
                period: Some(month()),
                ..open
            };
            let mut unit = begin(&db).await;
            let inserted = unit.invoices().insert_final_all(&[NewInvoice { invoice: period, items }]).await;
            match inserted {
                Ok(()) => unit.commit().await.map(|()| true).expect("commits"),
                Err(StorageError::Duplicate(_)) => false,
                Err(error) => panic!("{error}"),
            }
        });
        assert_eq!(written.await.into_iter().filter(|won| *won).count(), 1);
    }

    async fn a_batch_update_of_invoices_is_atomic(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        issue(db, 70).await;
        let ids: Vec<InvoiceId> = (1..=70).map(|number| id(&format!("in_{number}"))).collect();
        let mut unit = begin(db).await;
        let locked = unit.invoices().lock_all(&ids).await.expect("locks");
        assert!(locked.is_sorted_by(|a, b| a.id < b.id) && locked.len() == 70);
        let changes: Vec<_> = locked.iter().map(|before| change(before, 400)).collect();
        assert!(unit.invoices().update_all(&changes).await.expect("writes"));
        unit.commit().await.expect("commits");
        assert!(read(db).await.invoices().find_all(&ids).await.expect("reads").into_iter().eq(changes.iter().map(|one| one.after.clone())));
        let mut stale: Vec<_> = changes.iter().map(|one| change(&one.after, 100)).collect();
        stale[69] = change(&locked[69], 100);
        let mut unit = begin(db).await;
        assert!(!unit.invoices().update_all(&stale).await.expect("writes"));
        drop(unit);
        assert!(read(db).await.invoices().find_all(&ids).await.expect("reads").into_iter().eq(changes.into_iter().map(|one| one.after)));
    }

    async fn of_concurrent_unlocked_payments_exactly_one_succeeds(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        issue(db, 1).await;
        let (before, _) = row(db, &id("in_1")).await;
        let written = all_at_once(db, 8, move |db, number| {
            let before = before.clone();
            async move {
                let mut unit = begin(&db).await;
                let written = unit.invoices().update(&before, &paid(&before, 100 + u128::from(number))).await.expect("writes");
                if written {
                    unit.commit().await.expect("commits");
                }
                written
            }
        });
        assert_eq!(written.await.into_iter().filter(|won| *won).count(), 1);
    }

    async fn a_lock_on_an_invoice_shows_earlier_payments(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        issue(db, 2).await;
        let paid = all_at_once(db, 12, |db, number| async move {
            // Invoices are locked in the order of their ids, regardless of the order in which they are given.
            let ids = if number % 2 == 0 { [id("in_1"), id("in_2")] } else { [id("in_2"), id("in_1")] };
            let mut unit = begin(&db).await;
            let locked = unit.invoices().lock_all(&ids).await.expect("locks");
            let room = locked.iter().all(|invoice| invoice.remaining() >= Amount::new(300));
            let changes: Vec<_> = locked.iter().filter(|_| room).map(|before| change(before, 300)).collect();
            assert!(unit.invoices().update_all(&changes).await.expect("writes"), "the lock was held");
            unit.commit().await.expect("commits");
            room
        });
        assert_eq!(paid.await.into_iter().filter(|won| *won).count(), 3);
        assert_eq!(row(db, &id("in_1")).await.0.amount_paid, Amount::new(900));
    }

    async fn two_callers_never_credit_the_same_part_of_a_line(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        issue(db, 1).await;
        let granted = all_at_once(db, 8, |db, number| async move {
            let mut granted = 0;
            for _ in 0..20 {
                let before = read(&db).await.invoices().items(&id("in_1")).await.expect("reads").remove(0);
                let Ok(credited) = before.credited.plus(Amount::new(300)) else { break };
                if credited > before.amount {
                    break;
                }
                let credit = ItemCredit { id: before.id, credited_before: before.credited, credited, covers_until: Some(at(i64::from(number))) };
                let mut unit = begin(&db).await;
                if unit.invoices().credit_items(&[credit]).await.expect("writes") {
                    unit.commit().await.expect("commits");
                    granted += 300;
                }
            }
            granted
        });
        assert_eq!(granted.await.into_iter().sum::<u128>(), 900);
        let line = row(db, &id("in_1")).await.1.remove(0);
        assert!(line.credited == Amount::new(900) && line.covers_until.is_some(), "{line:?}");
    }

    async fn lines_are_credited_together_and_never_beyond_their_amounts(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        issue(db, 2).await;
        let credit = |name: &str, before, after| ItemCredit {
            id: id(name),
            credited_before: Amount::new(before),
            credited: Amount::new(after),
            covers_until: None,
        };
        let mut unit = begin(db).await;
        assert!(unit.invoices().credit_items(&[credit("ii_1", 0, 1_000), credit("ii_2", 0, 10)]).await.expect("writes"));
        assert!(!unit.invoices().credit_items(&[credit("ii_1", 1_000, 1_000), credit("ii_2", 9, 20)]).await.expect("writes"));
        assert!(!unit.invoices().credit_items(&[credit("ii_9", 0, 1)]).await.expect("writes"));
        assert!(unit.invoices().credit_items(&[credit("ii_2", 10, 1_001)]).await.is_err(), "the schema refuses it");
        drop(unit);
        let mut unit = begin(db).await;
        let (open, _) = row(db, &id("in_1")).await;
        let beyond = Invoice { amount_paid: Amount::new(1_001), ..open.clone() };
        assert!(unit.invoices().update(&open, &beyond).await.is_err(), "the schema refuses it");
    }

    async fn lines_cover_their_period_until_it_is_credited(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let of = |name: &str, number, subscription: &str, status| Invoice {
            status,
            subscription_id: Some(id(subscription)),
            ..open_invoice(name, number).invoice
        };
        let stake = Invoice { reason: BillingReason::Stake, ..of("in_7", 1, "sub_1", InvoiceStatus::Paid) };
        let all = [
            NewInvoice { invoice: of("in_1", 1, "sub_1", InvoiceStatus::Open), items: vec![monthly("ii_1", "in_1"), invoice_item("ii_10", "in_1")] },
            NewInvoice { invoice: of("in_2", 2, "sub_1", InvoiceStatus::Paid), items: vec![monthly("ii_2", "in_2")] },
            NewInvoice { invoice: of("in_3", 3, "sub_1", InvoiceStatus::Uncollectible), items: vec![monthly("ii_3", "in_3")] },
            NewInvoice { invoice: of("in_4", 4, "sub_1", InvoiceStatus::Void), items: vec![monthly("ii_4", "in_4")] },
            NewInvoice { invoice: of("in_5", 5, "sub_2", InvoiceStatus::Paid), items: vec![monthly("ii_5", "in_5")] },
            NewInvoice { invoice: stake, items: vec![monthly("ii_7", "in_7")] },
        ];
        let mut unit = begin(db).await;
        unit.invoices().insert_final_all(&all).await.expect("inserts");
        let draft = Invoice { status: InvoiceStatus::Draft, number: None, ..of("in_6", 6, "sub_1", InvoiceStatus::Draft) };
        unit.invoices().insert_draft(&draft, &[monthly("ii_6", "in_6")]).await.expect("inserts");
        let credit = ItemCredit { id: id("ii_2"), credited_before: Amount::ZERO, credited: Amount::new(1), covers_until: Some(at(10)) };
        assert!(unit.invoices().credit_items(&[credit]).await.expect("writes"));
        let end = month().end;
        for (time, expected) in [
            (at(-1), vec![]),
            (at(0), vec!["ii_1", "ii_2", "ii_3"]),
            (at(9), vec!["ii_1", "ii_2", "ii_3"]),
            (at(10), vec!["ii_1", "ii_3"]),
            (end, vec![]),
        ] {
            let lines = unit.invoices().items_covering(&id("sub_1"), time).await.expect("reads");
            assert_eq!(lines.iter().map(|line| line.id.as_str()).collect::<Vec<_>>(), expected, "{time:?}");
            assert!(lines.iter().all(|line| line.covers(time)));
        }
    }

    async fn creditable_lines_of_a_subscription_item_are_listed_newest_first(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let line = |name: &str, of: &str, start| {
            let period = Period { start: at(start), ..month() };
            InvoiceItem { period: Some(period), ..monthly(name, of) }
        };
        let other = InvoiceItem { subscription_item_id: Some(id("si_2")), ..line("ii_6", "in_2", 20) };
        let full = InvoiceItem { credited: Amount::new(1_000), ..line("ii_7", "in_2", 20) };
        let void = Invoice { status: InvoiceStatus::Void, ..open_invoice("in_4", 4).invoice };
        let all = [
            NewInvoice { invoice: open_invoice("in_1", 3).invoice, items: vec![line("ii_1", "in_1", 20), line("ii_2", "in_1", 10)] },
            NewInvoice { invoice: open_invoice("in_2", 2).invoice, items: vec![line("ii_3", "in_2", 10), other, full, line("ii_8", "in_2", 9)] },
            NewInvoice { invoice: void, items: vec![line("ii_4", "in_4", 20)] },
        ];
        let mut unit = begin(db).await;
        unit.invoices().insert_final_all(&all).await.expect("inserts");
        unit.invoices().insert_draft(&invoice("in_5"), &[line("ii_5", "in_5", 20)]).await.expect("inserts");
        let mut found = Vec::new();
        for items in [vec![id("si_1")], vec![id("si_1"), id("si_2")]] {
            let lines = unit.invoices().items_billing(&items, at(10)).await.expect("reads");
            found.push(lines.iter().map(|line| line.id.to_string()).collect::<Vec<_>>());
        }
        assert_eq!(found, [vec!["ii_2", "ii_1", "ii_3"], vec!["ii_2", "ii_1", "ii_6", "ii_3"]]);
    }

    async fn unpaid_invoices_are_found_by_customer_and_currency(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        issue(db, 3).await;
        let mut unit = begin(db).await;
        unit.customers().upsert(&customer("cus_2", "z1other")).await.expect("inserts");
        let others = [
            without_items(Invoice { status: InvoiceStatus::Uncollectible, ..open_invoice("in_4", 4).invoice }),
            without_items(Invoice { status: InvoiceStatus::Paid, ..open_invoice("in_5", 5).invoice }),
            without_items(Invoice { currency_id: id("pc_2"), ..open_invoice("in_6", 6).invoice }),
            without_items(Invoice { customer_id: id("cus_2"), ..open_invoice("in_7", 7).invoice }),
        ];
        unit.invoices().insert_final_all(&others).await.expect("inserts");
        for (limit, expected) in [(9, vec!["in_1", "in_2", "in_3", "in_4"]), (2, vec!["in_1", "in_2"])] {
            let unpaid = unit.invoices().unpaid_in(&id("cus_1"), &id("pc_1"), limit).await.expect("reads");
            assert_eq!(unpaid.iter().map(|invoice| invoice.id.as_str()).collect::<Vec<_>>(), expected);
        }
    }

    async fn a_declined_charge_is_counted_and_retried_once(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        issue(db, 1).await;
        let mut unit = begin(db).await;
        assert!(unit.invoices().decline_all(&[retry(&id("in_1"), 8)], at(6)).await.expect("declines"));
        assert!(unit.invoices().decline_all(&[retry(&id("in_1"), 9)], at(7)).await.expect("declines"));
        let declined = unit.invoices().find(&id("in_1")).await.expect("reads").expect("is there");
        assert_eq!((declined.status, declined.failure_count, declined.retry_at), (InvoiceStatus::Uncollectible, 2, Some(at(9))));
        unit.commit().await.expect("commits");
        let claimed = all_at_once(db, 4, |db, _| async move {
            let mut unit = begin(&db).await;
            let claimed = unit.invoices().claim_retries(&Scope::Wall, at(9), 5, &[]).await.expect("claims").len();
            unit.commit().await.expect("commits");
            claimed
        });
        assert_eq!(claimed.await.into_iter().sum::<usize>(), 1);
    }

    async fn an_overdue_invoice_waits_while_a_found_payment_may_have_paid_it(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        issue(db, 1).await;
        let mut unit = begin(db).await;
        assert!(unit.invoices().decline_all(&[retry(&id("in_1"), 8)], at(6)).await.expect("declines"));
        let overdue = unit.invoices().find(&id("in_1")).await.expect("reads").expect("is there");
        let found = |reference: &str, is_incoming, currency: &str| FoundPayment {
            mode: Mode::Test,
            method_id: id("pm_card"),
            reference: reference.to_owned(),
            is_incoming,
            account: String::new(),
            amount: overdue.total,
            currency_id: id(currency),
            moved_at: at(3),
            found_at: at(5),
            handled_at: None,
        };
        unit.found_payments().add(&found("sent", false, "pc_1")).await.expect("adds");
        assert!(!unit.found_payments().has_open_incoming(Mode::Test, &id("pc_1")).await.expect("reads"));
        unit.found_payments().add(&found("received", true, "pc_1")).await.expect("adds");
        assert!(unit.found_payments().has_open_incoming(Mode::Test, &id("pc_1")).await.expect("reads"));
        assert_eq!(unit.invoices().claim_retries(&Scope::Wall, at(9), 5, &[]).await.expect("claims"), []);
        unit.found_payments().withdraw(&id("pm_card"), "received").await.expect("withdraws");
        unit.found_payments().add(&found("received", true, "pc_1")).await.expect("adds");
        assert!(unit.found_payments().set_handled(Mode::Test, &id("pm_card"), "received", "zOwner", at(8)).await.expect("handles"));
        unit.found_payments().withdraw(&id("pm_card"), "received").await.expect("keeps what is handled");
        assert_eq!(unit.found_payments().open(Mode::Test).await.expect("reads").len(), 1);
        assert_eq!(unit.invoices().claim_retries(&Scope::Wall, at(9), 5, &[]).await.expect("claims").len(), 1);
    }

    async fn a_search_finds_invoices_by_the_beginning_of_their_number(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let numbered = |name: &str, number, mode, reason| without_items(Invoice { mode, reason, ..open_invoice(name, number).invoice });
        let mut invoices: Vec<_> = [("in_1", 1), ("in_2", 42), ("in_3", 420_000), ("in_4", 1_000_000)]
            .map(|(name, number)| numbered(name, number, Mode::Test, BillingReason::Manual))
            .into();
        invoices.push(numbered("in_5", 42, Mode::Test, BillingReason::Stake));
        invoices.push(numbered("in_6", 42, Mode::Live, BillingReason::Manual));
        let mut unit = begin(db).await;
        unit.invoices().insert_final_all(&invoices).await.expect("inserts");
        for (query, expected) in [
            ("SOUK-TEST-", vec!["in_5", "in_4", "in_3", "in_2", "in_1"]),
            ("souk-test-0000", vec!["in_2", "in_1"]),
            ("SOUK-TEST-00004", vec!["in_2"]),
            ("SOUK-TEST-42", vec!["in_3", "in_2"]),
            ("SOUK-TEST-1", vec!["in_4", "in_1"]),
            ("SOUK-TEST-ST-00", vec!["in_5"]),
            ("00004", vec!["in_5", "in_2"]),
            ("42", vec!["in_5", "in_3", "in_2"]),
            ("SOUK-0000", vec![]),
            ("SOUK-TEST-0000%", vec![]),
            ("SOUK-TEST-______", vec![]),
            ("00%", vec![]),
        ] {
            for customer_id in [None, Some(id("cus_1"))] {
                let filter = InvoiceFilter { query: query.to_owned(), customer_id, include_staking: true, ..InvoiceFilter::default() };
                let listed = unit.invoices().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("lists");
                let names: Vec<_> = listed.list.iter().map(|invoice| invoice.id.as_str()).collect();
                assert_eq!((listed.count, names), (expected.len() as u64, expected.clone()), "{filter:?}");
            }
        }
    }

    async fn a_list_is_filtered_by_status_customer_currency_and_amount(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        for (name, holder) in [("cus_2", "z1other"), ("cus_4", "z1fourth")] {
            unit.customers().upsert(&customer(name, holder)).await.expect("inserts");
        }
        let drafts = [
            Invoice { customer_id: id("cus_2"), ..invoice("in_2") },
            Invoice { currency_id: id("pc_2"), total: Amount::ZERO, description: Description::Product(Text::new("Fine % wool", "细羊毛").into()), ..invoice("in_3") },
            Invoice { mode: Mode::Live, subscription_id: Some(id("sub_1")), ..invoice("in_4") },
            Invoice { subscription_id: Some(id("sub_1")), currency_id: id("pc_3"), total: Amount::ZERO, ..invoice("in_5") },
            Invoice { customer_id: id("cus_4"), reason: BillingReason::SubscriptionRecover, ..invoice("in_91") },
            Invoice { customer_id: id("cus_4"), reason: BillingReason::Stake, ..invoice("in_92") },
            // The void draft of a checkout that was never paid is not listed.
            invoice("in_8"),
        ];
        for draft in &drafts {
            unit.invoices().put_draft(draft, &[]).await.expect("inserts");
        }
        assert!(unit.invoices().drop_draft(&id("in_8"), at(2)).await.expect("drops"));
        let full = Invoice { status: InvoiceStatus::Paid, amount_paid: Amount::new(1_000), ..open_invoice("in_1", 1).invoice };
        unit.invoices().insert_final_all(&[without_items(full)]).await.expect("inserts");
        let all = InvoiceFilter::default();
        let cases = [
            (all.clone(), vec!["in_5", "in_3", "in_2", "in_1"]),
            (InvoiceFilter { subscription_id: Some(id("sub_1")), ..all.clone() }, vec!["in_5"]),
            (InvoiceFilter { subscription_id: Some(id("sub_1")), customer_id: Some(id("cus_2")), ..all.clone() }, vec![]),
            (InvoiceFilter { statuses: vec![InvoiceStatus::Paid, InvoiceStatus::Void], ..all.clone() }, vec!["in_1"]),
            (InvoiceFilter { customer_id: Some(id("cus_2")), ..all.clone() }, vec!["in_2"]),
            (InvoiceFilter { currency_id: Some(id("pc_1")), ..all.clone() }, vec!["in_2", "in_1"]),
            (InvoiceFilter { include_recovered_from: true, customer_id: Some(id("cus_4")), ..all.clone() }, vec!["in_91"]),
            (InvoiceFilter { include_staking: true, customer_id: Some(id("cus_4")), ..all.clone() }, vec!["in_92", "in_91"]),
            (InvoiceFilter { customer_id: Some(id("cus_4")), ..all.clone() }, vec![]),
            (InvoiceFilter { ignore_zero: true, ..all.clone() }, vec!["in_2", "in_1"]),
            (InvoiceFilter { query: "souk-test-000001".to_owned(), ..all.clone() }, vec!["in_1"]),
            (InvoiceFilter { query: "1".to_owned(), ..all.clone() }, vec!["in_1"]),
            (InvoiceFilter { query: "SOUK-000001".to_owned(), ..all.clone() }, vec![]),
            (InvoiceFilter { query: "in_2".to_owned(), ..all.clone() }, vec!["in_2"]),
            (InvoiceFilter { query: "in_2".to_owned(), customer_id: Some(id("cus_1")), ..all.clone() }, vec![]),
            (InvoiceFilter { query: "in_4".to_owned(), ..all.clone() }, vec![]),
            (InvoiceFilter { query: "E % WOO".to_owned(), ..all.clone() }, vec!["in_3"]),
            (InvoiceFilter { query: "细羊毛".to_owned(), ..all.clone() }, vec!["in_3"]),
            (InvoiceFilter { query: "%".to_owned(), customer_id: Some(id("cus_1")), ..all }, vec!["in_3"]),
        ];
        for (filter, expected) in cases {
            let listed = unit.invoices().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("lists");
            let names: Vec<_> = listed.list.iter().map(|invoice| invoice.id.as_str()).collect();
            assert_eq!((listed.count, names), (expected.len() as u64, expected), "{filter:?}");
        }
    }
}
