//! Credit notes created by an owner: by line or by amount, over unpaid and paid parts, to the balance or to the payments.

use super::bench::{Billing, DAY, MONTHLY};
use crate::checkout_fixtures::{all_at_once, id, store};
use crate::ledger::bench::UNIT;
use souk_adapters::testing::TestDatabase;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{
    self, CreateNoteError, CreditNote, CreditNoteItem, CreditNoteOrder, CreditNotePreview, CreditNoteReason, CreditTo, Invoice,
    InvoiceStatus, IssuedNote, NoteError, OrderedItem, Subscription, SubscriptionItem, SubscriptionStatus,
};
use souk_domain::context::Context;
use souk_domain::payment;
use souk_domain::shared::{Amount, Mode};
use std::sync::Arc;

/// Bills one month in one invoice with a line of the given tokens per item, and sends the charge.
async fn billed(db: &TestDatabase, items: &[u128]) -> Billing {
    let billing = Billing::open(db, 3_000).await;
    let mut prices = Vec::new();
    for (place, tokens) in items.iter().enumerate() {
        prices.push(billing.price(&format!("price_{place}"), *tokens, MONTHLY).await);
    }
    let mut one = billing.subscription("sub_1", &prices[0], DAY * 30);
    one.items = prices
        .iter()
        .enumerate()
        .map(|(place, price)| SubscriptionItem { id: id(&format!("si_{place}")), price_id: price.id.clone(), ..one.items[0].clone() })
        .collect();
    billing.insert(&one).await;
    billing.round().await;
    billing
}

/// Bills one month of 1,500 tokens. The wallet has 1,000, so the charge is declined; the balance then pays 600.
async fn partly_paid(db: &TestDatabase) -> Billing {
    let billing = billed(db, &[1_500]).await;
    billing.overpay(600 * UNIT).await;
    billing.deliver().await;
    let overdue = billing.last().await;
    assert_eq!((overdue.status, overdue.remaining()), (InvoiceStatus::Uncollectible, Amount::new(900 * UNIT)));
    billing
}

fn order(invoice: &Invoice, tokens: Option<u128>, to: CreditTo) -> CreditNoteOrder {
    CreditNoteOrder {
        invoice_id: invoice.id.clone(),
        items: Vec::new(),
        amount: tokens.map(|tokens| Amount::new(tokens * UNIT)),
        reason: CreditNoteReason::Other,
        memo: "Sorry".to_owned(),
        to,
    }
}

async fn create(billing: &Billing, order: &CreditNoteOrder) -> Result<IssuedNote, CreateNoteError> {
    let shown = billing::preview_credit_note(&billing.ctx, Mode::Test, order).await;
    let done = billing::create_credit_note(&billing.ctx, Mode::Test, order).await;
    match (&shown, &done) {
        (Ok(shown), Ok(IssuedNote { note, items, .. })) => {
            let CreditNotePreview { total, due_reduced, to_balance, refunded, .. } = *shown;
            assert_eq!((note.total, note.due_reduced, note.to_balance, note.refunded), (total, due_reduced, to_balance, refunded));
            let lines = |items: &[CreditNoteItem]| {
                items.iter().map(|item| (item.invoice_item_id.clone(), item.amount, Some(item.revokes))).collect::<Vec<_>>()
            };
            let shown: Vec<_> = shown.items.iter().map(|item| (item.invoice_item_id.clone(), item.amount, item.revokes)).collect();
            assert_eq!(lines(items), shown, "the preview is what happens");
        }
        (Err(shown), Err(done)) => assert_eq!(shown.to_string(), done.to_string()),
        differ => panic!("{differ:?}"),
    }
    done
}

/// What became of a credit note's total, in tokens.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parts {
    due_reduced: u128,
    to_balance: u128,
    refunded: u128,
}

fn parts(note: &CreditNote) -> Parts {
    let [due_reduced, to_balance, refunded] = [note.due_reduced, note.to_balance, note.refunded].map(|amount| amount.base_units() / UNIT);
    Parts { due_reduced, to_balance, refunded }
}

/// Returns the credited amount of each line, in base units.
async fn credited(billing: &Billing, invoice: &Invoice) -> Vec<u128> {
    billing.lines(invoice).await.iter().map(|line| line.credited.base_units()).collect()
}

on_both! {
    async fn a_paid_invoice_is_credited_to_the_balance_or_refunded_over_its_network(db: &TestDatabase) {
        let billing = billed(db, &[30]).await;
        let invoice = billing.last().await;
        let IssuedNote { note, .. } = create(&billing, &order(&invoice, Some(10), CreditTo::Balance)).await.expect("is issued");
        assert_eq!((parts(&note), note.number_text().as_str()), (Parts { due_reduced: 0, to_balance: 10, refunded: 0 }, "SOUK-TEST-CN-000001"));
        assert_eq!((billing.customer_balance().await, note.memo.as_str()), (10 * UNIT, "Sorry"));
        let IssuedNote { note, refunds, .. } = create(&billing, &order(&invoice, Some(5), CreditTo::Payments)).await.expect("is issued");
        assert_eq!((parts(&note), note.number, refunds.len()), (Parts { due_reduced: 0, to_balance: 0, refunded: 5 }, 2, 1));
        assert_eq!(billing.refunds_and_balance().await, (vec![5], 10));
        let after = billing.reload(&invoice).await;
        assert_eq!((after.status, after.amount_credited, after.amount_paid), (InvoiceStatus::Paid, Amount::ZERO, Amount::new(30 * UNIT)));
        assert_eq!(credited(&billing, &invoice).await, [15 * UNIT]);
        let beyond = create(&billing, &order(&invoice, Some(16), CreditTo::Balance)).await;
        assert!(matches!(beyond, Err(CreateNoteError::Note(NoteError::OverRefund))), "{beyond:?}");
        billing.is_sound().await;
    }

    async fn concurrent_credit_notes_never_credit_more_than_the_line(db: &TestDatabase) {
        let billing = billed(db, &[30]).await;
        let (invoice, ctx) = (billing.last().await, billing.ctx.clone());
        let attempted = all_at_once(db, 6, move |db, place| {
            let (invoice, ctx) = (invoice.clone(), Context { store: Arc::new(store(&db)), ..ctx.clone() });
            let to = if place % 2 == 0 { CreditTo::Balance } else { CreditTo::Payments };
            async move { billing::create_credit_note(&ctx, Mode::Test, &order(&invoice, Some(10), to)).await.is_ok() }
        });
        assert_eq!(attempted.await.into_iter().filter(|is_done| *is_done).count(), 3);
        let (refunded, balance) = billing.refunds_and_balance().await;
        assert_eq!(refunded.iter().sum::<u128>() + balance, 30);
        billing.is_sound().await;
    }
}

on_one! {
    async fn items_specify_the_amount_of_each_line(db: &TestDatabase) {
        let billing = billed(db, &[30, 60]).await;
        let invoice = billing.last().await;
        let lines = billing.lines(&invoice).await;
        let item = |place: usize, tokens: u128| OrderedItem { invoice_item_id: lines[place].id.clone(), amount: Amount::new(tokens * UNIT), revokes: None };
        let named = |items: Vec<OrderedItem>| CreditNoteOrder { items, ..order(&invoice, None, CreditTo::Balance) };
        let IssuedNote { items, .. } = create(&billing, &named(vec![item(1, 60), item(0, 7)])).await.expect("is issued");
        let listed: Vec<_> = items.iter().map(|item| (item.amount.base_units() / UNIT, item.revokes)).collect();
        assert_eq!(listed, [(60, true), (7, false)], "a line that is credited in full ends what it paid for");
        assert_eq!((credited(&billing, &invoice).await, billing.customer_balance().await), (vec![7 * UNIT, 60 * UNIT], 67 * UNIT));
        for (items, expected) in [
            (vec![item(0, 24)], NoteError::OverRefund),
            (vec![item(1, 1)], NoteError::OverRefund),
            (vec![item(0, 1), item(0, 1)], NoteError::BadItems),
            (vec![OrderedItem { invoice_item_id: id("ii_another"), ..item(0, 1) }], NoteError::BadItems),
            (vec![item(0, 0)], NoteError::NoAmount),
        ] {
            let refused = create(&billing, &named(items)).await.expect_err("is rejected");
            assert_eq!(refused.to_string(), expected.to_string());
        }
        billing.is_sound().await;
    }

    async fn an_amount_is_spread_over_the_lines_in_proportion_to_their_creditable_amounts(db: &TestDatabase) {
        let billing = billed(db, &[30, 60, 10]).await;
        let invoice = billing.last().await;
        let third = CreditNoteOrder { amount: Some(Amount::new(100)), ..order(&invoice, None, CreditTo::Balance) };
        create(&billing, &third).await.expect("is issued");
        assert_eq!(credited(&billing, &invoice).await, [30, 60, 10]);
        let one = CreditNoteOrder { amount: Some(Amount::new(1)), ..third };
        create(&billing, &one).await.expect("is issued");
        assert_eq!(credited(&billing, &invoice).await, [30, 61, 10], "the largest remainder");
        create(&billing, &order(&invoice, None, CreditTo::Payments)).await.expect("is issued");
        assert_eq!(credited(&billing, &invoice).await, [30 * UNIT, 60 * UNIT, 10 * UNIT], "without an amount: all that is left");
        let again = create(&billing, &order(&invoice, None, CreditTo::Payments)).await;
        assert!(matches!(again, Err(CreateNoteError::Note(NoteError::NoAmount))), "{again:?}");
        billing.is_sound().await;
    }

    async fn a_credit_note_over_an_overdue_invoice_reduces_it_and_ends_the_past_due_state_with_it(db: &TestDatabase) {
        let billing = billed(db, &[1_500]).await;
        let invoice = billing.last().await;
        for to in [CreditTo::Balance, CreditTo::Payments] {
            let IssuedNote { note, .. } = create(&billing, &order(&invoice, Some(500), to)).await.expect("is issued");
            assert_eq!(parts(&note), Parts { due_reduced: 500, to_balance: 0, refunded: 0 }, "what is unpaid comes first");
        }
        let after = billing.reload(&invoice).await;
        assert_eq!((after.status, after.remaining(), after.amount_due()), (InvoiceStatus::Uncollectible, Amount::new(500 * UNIT), Amount::new(500 * UNIT)));
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::PastDue);
        create(&billing, &order(&invoice, None, CreditTo::Balance)).await.expect("is issued");
        let one = billing.find("sub_1").await;
        assert_eq!((billing.reload(&invoice).await.status, one.status, one.past_due_since), (InvoiceStatus::Void, SubscriptionStatus::Active, None));
        assert_eq!((billing.refunds_and_balance().await, billing.retry().await), ((vec![], 0), 0));
        billing.is_sound().await;
    }

    async fn a_retry_charges_the_amount_that_remains_after_a_credit_note(db: &TestDatabase) {
        let billing = billed(db, &[1_500]).await;
        let invoice = billing.last().await;
        create(&billing, &order(&invoice, Some(700), CreditTo::Balance)).await.expect("is issued");
        billing.wait(DAY);
        assert_eq!(billing.retry().await, 1);
        assert_eq!((billing.reload(&invoice).await.status, billing.networks.store_balance().await), (InvoiceStatus::Paid, 800));
        billing.is_sound().await;
    }

    async fn the_unpaid_part_of_a_partly_paid_invoice_is_credited_first(db: &TestDatabase) {
        let billing = partly_paid(db).await;
        let invoice = billing.last().await;
        let IssuedNote { note, .. } = create(&billing, &order(&invoice, Some(1_000), CreditTo::Payments)).await.expect("is issued");
        assert_eq!(parts(&note), Parts { due_reduced: 900, to_balance: 100, refunded: 0 }, "100 were paid by the balance, and return to it");
        let after = billing.reload(&invoice).await;
        assert_eq!((after.status, after.amount_paid, after.amount_credited), (InvoiceStatus::Paid, Amount::new(600 * UNIT), Amount::new(900 * UNIT)));
        assert_eq!((billing.find("sub_1").await.status, billing.customer_balance().await), (SubscriptionStatus::Active, 100 * UNIT));
    }

    async fn a_refund_of_a_partly_paid_invoice_leaves_the_unpaid_part(db: &TestDatabase) {
        let billing = partly_paid(db).await;
        let invoice = billing.last().await;
        let shown = billing::refundable(&billing.ctx, Mode::Test, &invoice.id).await.expect("computes");
        assert_eq!((shown.most, shown.to_balance), (Amount::new(600 * UNIT), Amount::new(600 * UNIT)));
        let done = billing.refund(&invoice, Some(100 * UNIT)).await.expect("goes back");
        assert_eq!((done.to_balance, billing.reload(&invoice).await.remaining()), (Amount::new(100 * UNIT), Amount::new(900 * UNIT)));
    }

    async fn a_payment_in_flight_overpays_an_invoice_that_was_credited_meanwhile(db: &TestDatabase) {
        let billing = Billing::open(db, 100).await;
        let price = billing.price("price_1", 30, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let charge = billing.round_unsent().await;
        let invoice = billing.last().await;
        let IssuedNote { note, .. } = create(&billing, &order(&invoice, Some(20), CreditTo::Payments)).await.expect("is issued");
        assert_eq!((parts(&note), billing.reload(&invoice).await.status), (Parts { due_reduced: 20, to_balance: 0, refunded: 0 }, InvoiceStatus::Open));
        payment::charge(&billing.ctx, &charge).await.expect("charges");
        let after = billing.reload(&invoice).await;
        assert_eq!((after.status, after.amount_paid, billing.customer_balance().await), (InvoiceStatus::Paid, Amount::new(10 * UNIT), 20 * UNIT));
        assert_eq!(billing.networks.store_balance().await, 30);
        billing.is_sound().await;
    }

    async fn a_payment_in_flight_goes_to_the_balance_if_the_whole_invoice_was_credited_meanwhile(db: &TestDatabase) {
        let billing = Billing::open(db, 100).await;
        let price = billing.price("price_1", 30, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let charge = billing.round_unsent().await;
        let invoice = billing.last().await;
        create(&billing, &order(&invoice, None, CreditTo::Balance)).await.expect("is issued");
        assert_eq!(billing.reload(&invoice).await.status, InvoiceStatus::Void);
        payment::charge(&billing.ctx, &charge).await.expect("charges");
        let after = billing.reload(&invoice).await;
        assert_eq!((after.status, after.amount_paid, billing.customer_balance().await), (InvoiceStatus::Void, Amount::ZERO, 30 * UNIT));
        billing.is_sound().await;
    }

    async fn drafts_void_invoices_statements_and_invoices_of_the_other_mode_are_not_credited(db: &TestDatabase) {
        let billing = billed(db, &[1_500]).await;
        let invoice = billing.last().await;
        let live = billing::create_credit_note(&billing.ctx, Mode::Live, &order(&invoice, None, CreditTo::Balance)).await;
        assert!(matches!(live, Err(CreateNoteError::NotFound)), "{live:?}");
        billing::void_invoice(&billing.ctx, &invoice.id).await.expect("is void");
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let unpaid = billing.overdue_invoice("in_draft", &billing.find("sub_1").await, 1, Amount::new(9));
        let draft = Invoice { status: InvoiceStatus::Draft, number: None, period: None, session_id: None, ..unpaid };
        unit.invoices().insert_draft(&draft, &[]).await.expect("inserts");
        unit.commit().await.expect("commits");
        let one = billing.find("sub_1").await;
        let stake = billing.stake(&one, 50).await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        assert!(unit.subscriptions().update(&Subscription { stake_id: Some(stake.id), ..one }).await.expect("writes"));
        unit.commit().await.expect("commits");
        billing::slash_stake(&billing.ctx, &id("sub_1"), None, "owed").await.expect("is ordered");
        billing.send_all().await;
        let statement = billing.statements().await.remove(0);
        for invoice in [&invoice, &draft, &statement] {
            let refused = create(&billing, &order(invoice, None, CreditTo::Balance)).await;
            assert!(matches!(refused, Err(CreateNoteError::Note(NoteError::NotCreditable))), "{:?}: {refused:?}", invoice.status);
        }
    }
}
