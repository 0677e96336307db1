//! What credit had paid goes back as credit: once, within what it paid, and after what a network has moved.

use super::bench::{Billing, DAY, HOUR, MONTHLY};
use super::plans::subscribed;
use crate::ledger::bench::UNIT;
use crate::till::{all_at_once, id, store};
use souk_adapters::persistence::Database;
use souk_adapters::verify::verify;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{self, Invoice, InvoiceStatus, ManageError, PlanChoice, RefundChoice, RefundOrder, Refundable};
use souk_domain::context::Context;
use souk_domain::ledger::Account;
use souk_domain::payment::{Refund, RefundStatus, RefundType};
use souk_domain::shared::{Amount, Mode};
use std::sync::Arc;

/// What the cheaper plan leaves of the dearer one.
const KEPT: u128 = 20 * UNIT - 20 * UNIT / 3;

/// A plan was exchanged for a cheaper one, and what that left has paid the next period and a part of the one after.
async fn paid_by_credit(db: &souk_adapters::testing::TestDatabase, renewals: u32) -> Billing {
    let billing = cheaper(db).await;
    assert_eq!(billing.credit().await, KEPT);
    billing.wait(DAY * 20);
    for number in 0..renewals {
        billing.wait(DAY * 30 * u32::from(number > 0));
        billing.round().await;
    }
    billing
}

/// A plan was exchanged for a cheaper one after a third of its period.
async fn cheaper(db: &souk_adapters::testing::TestDatabase) -> Billing {
    let billing = subscribed(db, 30, 1, MONTHLY).await;
    billing.price("price_2", 10, MONTHLY).await;
    billing.wait(DAY * 10);
    billing.accept("price_2", 1).await;
    billing
}

/// The same after a period that was paid and used up, and the bill of the current one.
async fn cheaper_later(db: &souk_adapters::testing::TestDatabase) -> (Billing, Invoice) {
    let billing = subscribed(db, 30, 1, MONTHLY).await;
    billing.wait(DAY * 30);
    billing.round().await;
    let current = last(&billing).await;
    billing.price("price_2", 10, MONTHLY).await;
    billing.wait(DAY * 10);
    billing.accept("price_2", 1).await;
    assert_eq!(billing.credit().await, KEPT);
    (billing, current)
}

pub async fn last(billing: &Billing) -> Invoice {
    billing.invoices().await.pop().expect("an invoice")
}

fn order(amount: Option<u128>) -> RefundOrder {
    RefundOrder { amount: amount.map(Amount::new), invoice: None, reason: "duplicate".to_owned(), description: String::new() }
}

pub async fn refund(ctx: &Context, invoice: &Invoice, amount: Option<u128>) -> Result<Vec<Refund>, ManageError> {
    billing::refund_invoice(ctx, Mode::Test, &invoice.id, &order(amount)).await
}

fn told(refunds: &[Refund]) -> Vec<(RefundType, RefundStatus, u128)> {
    refunds.iter().map(|refund| (refund.kind, refund.status, refund.amount.base_units())).collect()
}

/// What `souk verify` says of credit and refunds.
async fn breaches(db: &Database) -> Vec<String> {
    let mut breaches = Vec::new();
    // The bench begins in the middle of a life: its first period was paid before there was a journal.
    let mut tell = |check: souk_adapters::verify::Check| {
        if check.title.contains("credit") {
            breaches.extend(check.breaches);
        }
    };
    verify(db, &mut tell).await.expect("reads");
    breaches
}

on_one! {
    async fn an_invoice_that_credit_paid_goes_back_as_credit_and_never_more_than_it_paid(db: &TestDatabase) {
        let billing = paid_by_credit(db, 1).await;
        let invoice = last(&billing).await;
        assert_eq!((invoice.status, invoice.total, invoice.intent_id.clone()), (InvoiceStatus::Paid, Amount::ZERO, None));
        let part = refund(&billing.ctx, &invoice, Some(4 * UNIT)).await.expect("goes back");
        assert_eq!(told(&part), [(RefundType::Credit, RefundStatus::Succeeded, 4 * UNIT)]);
        assert_eq!((part[0].invoice_id.clone(), billing.credit().await), (Some(invoice.id.clone()), KEPT - 6 * UNIT));
        let beyond = refund(&billing.ctx, &invoice, Some(6 * UNIT + 1)).await;
        assert!(matches!(beyond, Err(ManageError::OverRefund)), "{beyond:?}");
        let rest = refund(&billing.ctx, &invoice, None).await.expect("goes back");
        assert_eq!((told(&rest)[0].2, billing.credit().await), (6 * UNIT, KEPT));
        let again = refund(&billing.ctx, &invoice, None).await;
        assert!(matches!(again, Err(ManageError::NothingPaid)), "{again:?}");
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let booked = unit.journal().of_subject(part[0].id.as_str()).await.expect("reads").remove(0);
        let postings: Vec<_> = booked.postings().iter().map(|posting| (posting.account.clone(), posting.amount)).collect();
        assert_eq!(postings, [(Account::Sales, Amount::new(4 * UNIT)), (Account::Credits, Amount::new(4 * UNIT))]);
        drop(unit);
        assert_eq!(breaches(db).await, [""; 0]);
        billing.wait(DAY * 10);
        assert_eq!(billing.preview("price_1", 1).await.credit, Amount::ZERO, "what was given back is paid no more");
    }

    async fn what_a_change_of_plan_has_made_credit_again_is_not_given_back_beside_it(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        billing.accept("price_2", 1).await;
        billing.accept("price_1", 1).await;
        let invoice = last(&billing).await;
        assert_eq!((invoice.total, billing.credit().await), (Amount::ZERO, 0), "credit of 20 has paid it");
        billing.accept("price_2", 1).await;
        assert_eq!(billing.credit().await, 20 * UNIT);
        for (amount, refusal) in [(10 * UNIT + 1, ManageError::HeldAsCredit), (20 * UNIT + 1, ManageError::OverRefund)] {
            let beyond = refund(&billing.ctx, &invoice, Some(amount)).await.expect_err("is refused");
            assert_eq!(beyond.to_string(), refusal.to_string());
        }
        let most = async || billing::refundable(&billing.ctx, invoice.mode, &invoice.id).await.expect("is told");
        let of = |most: u128, left: u128| Refundable { most: Amount::new(most * UNIT), left: Amount::new(left * UNIT) };
        assert_eq!(most().await, of(10, 20));
        let rest = refund(&billing.ctx, &invoice, None).await.expect("goes back");
        assert_eq!((told(&rest)[0].2, billing.credit().await), (10 * UNIT, 30 * UNIT), "all that was ever paid");
        assert_eq!(most().await, of(0, 10));
        let again = refund(&billing.ctx, &invoice, None).await;
        assert!(matches!(again, Err(ManageError::HeldAsCredit)), "{again:?}");
        assert_eq!(breaches(db).await, [""; 0]);
    }

    async fn what_was_given_back_by_hand_does_not_go_back_again_at_the_end(db: &TestDatabase) {
        let (billing, current) = cheaper_later(db).await;
        refund(&billing.ctx, &current, Some(16 * UNIT)).await.expect("goes back");
        assert_eq!(billing.credit().await, KEPT, "the rest of the payment covers it");
        billing.send_all().await;
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        billing.send_all().await;
        let rest = 30 * UNIT - 16 * UNIT - KEPT;
        assert_eq!((billing.refunds().await, billing.credit().await), (vec![16 * UNIT, rest], KEPT), "all that was paid, and no more");
        assert_eq!(breaches(db).await, [""; 0]);
    }

    async fn what_a_payment_paid_by_a_change_of_plan_is_not_paid_once_it_went_back(db: &TestDatabase) {
        let (billing, current) = cheaper_later(db).await;
        refund(&billing.ctx, &current, None).await.expect("goes back");
        billing.send_all().await;
        assert_eq!(billing.credit().await, 0, "it went along, though as much was paid for the time before");
        billing.price("price_3", 1, MONTHLY).await;
        billing.wait(HOUR * 2);
        let shown = billing.preview("price_3", 1).await;
        assert_eq!((shown.credit, shown.credited), (Amount::ZERO, Amount::ZERO));
        billing.accept("price_3", 1).await;
        assert_eq!((billing.refunds().await, billing.credit().await), (vec![30 * UNIT], 0));
        assert_eq!(breaches(db).await, [""; 0]);
    }

    async fn a_refund_that_its_network_refuses_leaves_what_a_change_of_plan_carried_over_as_it_was(db: &TestDatabase) {
        let (billing, current) = cheaper_later(db).await;
        let before = billing.preview("price_1", 1).await;
        refund(&billing.ctx, &current, None).await.expect("is ordered");
        let choice = PlanChoice { price: id("price_1"), quantity: None, item: None };
        let early = billing::preview_plan(&billing.ctx, &id("sub_1"), &choice).await;
        assert!(matches!(early, Err(ManageError::PaymentInFlight)), "{early:?}");
        billing.networks.fault("refuse").await;
        billing.send_all().await;
        assert_eq!((billing.preview("price_1", 1).await.credit, billing.credit().await), (before.credit, KEPT));
        assert_eq!(breaches(db).await, [""; 0]);
    }

    async fn refunds_after_each_other_take_the_same_credit_along_once(db: &TestDatabase) {
        let billing = subscribed(db, 100, 1, MONTHLY).await;
        billing.price("price_2", 0, MONTHLY).await;
        billing.accept("price_2", 1).await;
        let first = billing.invoices().await.remove(0);
        for left in [80, 60, 40] {
            refund(&billing.ctx, &first, Some(20 * UNIT)).await.expect("goes back");
            billing.send_all().await;
            assert_eq!(billing.credit().await, left * UNIT);
        }
        // 40 are paid by what is left, and 60 anew: all of it goes back as it came.
        billing.accept("price_1", 1).await;
        let again = last(&billing).await;
        assert_eq!((again.total.base_units(), billing.credit().await), (60 * UNIT, 0));
        refund(&billing.ctx, &again, None).await.expect("goes back");
        billing.send_all().await;
        assert_eq!((billing.refunds().await.iter().sum::<u128>(), billing.credit().await), (160 * UNIT, 40 * UNIT));
        assert_eq!(breaches(db).await, [""; 0]);
    }

    async fn a_change_that_was_a_mistake_goes_back_and_nothing_beside_it(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 60, MONTHLY).await;
        billing.accept("price_2", 1).await;
        let dearer = last(&billing).await;
        billing.accept("price_1", 1).await;
        assert_eq!((dearer.total.base_units(), billing.credit().await), (30 * UNIT, 30 * UNIT));
        refund(&billing.ctx, &dearer, None).await.expect("goes back");
        billing.send_all().await;
        // Of the 60 that were paid, 30 went back, and 30 are credit: the first payment's worth.
        assert_eq!((billing.refunds().await, billing.credit().await), (vec![30 * UNIT], 30 * UNIT));
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!((billing.refunds().await, billing.credit().await), (vec![30 * UNIT], 30 * UNIT));
        assert_eq!(breaches(db).await, [""; 0]);
    }

    async fn a_payment_goes_back_without_the_credit_that_has_paid_another_bill_until_that_goes_back(db: &TestDatabase) {
        let billing = paid_by_credit(db, 1).await;
        let all = billing.invoices().await;
        let beyond = refund(&billing.ctx, &all[0], Some(30 * UNIT)).await;
        assert!(matches!(beyond, Err(ManageError::HeldAsCredit)), "{beyond:?}");
        refund(&billing.ctx, &all[0], None).await.expect("goes back");
        billing.send_all().await;
        assert_eq!((billing.refunds().await, billing.credit().await), (vec![20 * UNIT], 0), "what is left of the credit went along");
        refund(&billing.ctx, &all[2], None).await.expect("is credit again");
        refund(&billing.ctx, &all[0], None).await.expect("goes back");
        billing.send_all().await;
        assert_eq!((billing.refunds().await.iter().sum::<u128>(), billing.credit().await), (40 * UNIT, 0), "10 of them were credit");
        billing.price("price_3", 1, MONTHLY).await;
        billing.wait(DAY);
        assert_eq!(billing.preview("price_3", 1).await.credit, Amount::ZERO, "nothing of this period is paid");
        assert_eq!(breaches(db).await, [""; 0]);
    }

    async fn a_change_of_one_subscription_gives_what_it_was_paid_though_another_ones_payment_went_back(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        let price = billing.price("price_4", 30, MONTHLY).await;
        billing.insert(&billing.subscription("sub_2", &price, DAY * 30)).await;
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid; 2]);
        billing.accept("price_2", 1).await;
        assert_eq!(billing.credit().await, 20 * UNIT);
        let first = billing.invoices().await.remove(0);
        refund(&billing.ctx, &first, None).await.expect("goes back");
        billing.send_all().await;
        let choice = PlanChoice { price: id("price_2"), quantity: None, item: None };
        let shown = billing::preview_plan(&billing.ctx, &id("sub_2"), &choice).await.expect("is shown");
        assert_eq!((billing.credit().await, shown.credit.base_units()), (0, 30 * UNIT));
    }

    async fn credit_in_a_bill_that_stands_unpaid_stays_in_it_until_that_is_taken_back(db: &TestDatabase) {
        let billing = cheaper(db).await;
        let kept = billing.credit().await;
        billing.wait(DAY * 20);
        billing.round().await;
        billing.wait(DAY * 30);
        billing.networks.fault("refuse").await;
        billing.round().await;
        let all = billing.invoices().await;
        let unpaid = all.last().expect("an invoice");
        assert_eq!((unpaid.status, unpaid.total.base_units()), (InvoiceStatus::Uncollectible, 20 * UNIT - kept), "credit is in it");
        refund(&billing.ctx, &all[0], None).await.expect("goes back");
        billing.send_all().await;
        assert_eq!((billing.refunds().await, billing.credit().await), (vec![30 * UNIT - kept], 0));
        billing::void_invoice(&billing.ctx, &unpaid.id).await.expect("is taken back");
        assert_eq!(billing.credit().await, kept - 10 * UNIT);
        refund(&billing.ctx, &all[0], None).await.expect("goes back");
        billing.send_all().await;
        assert_eq!((billing.refunds().await.iter().sum::<u128>(), billing.credit().await), (20 * UNIT, 0), "10 have paid a period");
        assert_eq!(breaches(db).await, [""; 0]);
    }
}

on_both! {
    async fn however_many_ask_at_once_no_more_is_credit_again_than_credit_paid(db: &TestDatabase) {
        let billing = paid_by_credit(db, 1).await;
        let (invoice, ctx) = (last(&billing).await, billing.ctx.clone());
        let asked = all_at_once(db, 6, move |db, _| {
            let (invoice, ctx) = (invoice.clone(), Context { store: Arc::new(store(&db)), ..ctx.clone() });
            async move { refund(&ctx, &invoice, Some(4 * UNIT)).await }
        });
        let answers = asked.await;
        let done = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!((done, billing.credit().await), (2, KEPT - 2 * UNIT), "{answers:?}");
        assert_eq!(breaches(db).await, [""; 0]);
    }
}

on_one! {
    async fn of_a_payment_in_both_ways_the_networks_part_goes_back_first(db: &TestDatabase) {
        let billing = paid_by_credit(db, 2).await;
        let (invoice, by_credit) = (last(&billing).await, KEPT - 10 * UNIT);
        let by_network = 10 * UNIT - by_credit;
        assert_eq!((invoice.total.base_units(), billing.credit().await), (by_network, 0));
        let intent = invoice.intent_id.clone().expect("a payment");
        let first = billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(Some(UNIT))).await.expect("is ordered");
        assert_eq!(told(&first), [(RefundType::Refund, RefundStatus::Pending, UNIT)]);
        let both = refund(&billing.ctx, &invoice, Some(by_network)).await.expect("is ordered");
        let (network, credit) = ((RefundType::Refund, RefundStatus::Pending), (RefundType::Credit, RefundStatus::Succeeded));
        assert_eq!(told(&both), [(network.0, network.1, by_network - UNIT), (credit.0, credit.1, UNIT)]);
        let beyond = billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(Some(by_credit))).await;
        assert!(matches!(beyond, Err(ManageError::OverRefund)), "{beyond:?}");
        let rest = billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(None)).await.expect("goes back");
        assert_eq!((told(&rest), billing.credit().await), (vec![(credit.0, credit.1, by_credit - UNIT)], by_credit));
        billing.send_all().await;
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let paid = unit.intents().find(&intent).await.expect("reads").expect("stands");
        assert_eq!((paid.amount_refunded.base_units(), unit.refunds().of_intent(&intent).await.expect("reads").len()), (by_network, 4));
        drop(unit);
        assert_eq!(breaches(db).await, [""; 0]);
    }

    async fn the_last_payment_is_given_back_at_the_end_whatever_it_was_paid_by(db: &TestDatabase) {
        let billing = paid_by_credit(db, 1).await;
        billing.end_with(RefundChoice::Last).await.expect("ends");
        assert_eq!((billing.refunds().await, billing.credit().await), (vec![10 * UNIT], KEPT), "and not the payment before");
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let open = unit.attempts().claim_due(billing.ctx.now().plus(DAY), billing.ctx.now(), 9).await.expect("reads");
        assert_eq!(open, [], "no network is asked");
        drop(unit);
        assert_eq!(breaches(db).await, [""; 0]);
    }

    async fn what_is_left_of_a_period_goes_back_in_the_ways_that_it_was_paid(db: &TestDatabase) {
        let billing = paid_by_credit(db, 2).await;
        billing.wait(DAY * 6);
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        let by_network = 20 * UNIT - KEPT;
        let (left, mut back) = (8 * UNIT, billing.refunds().await);
        back.sort_unstable();
        assert_eq!(back, [left - by_network, by_network]);
        assert_eq!(billing.credit().await, left - by_network);
        assert_eq!(breaches(db).await, [""; 0]);
    }
}
