//! Usage corrections: if usage falls below the amount billed in its period, credit notes credit those lines, never beyond their amounts.

use super::bench::{Billing, DAY, MONTHLY};
use super::thresholds::{metered, permitted, seats_and_calls};
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{
    self, CreditNoteReason, Invoice, InvoiceStatus, NoteError, PlanChoice, RefundChoice, RefundError, STAKE_WAITING, Subscription,
    SubscriptionItem, SubscriptionStatus, Threshold,
};
use souk_domain::pricing::Aggregate;
use souk_domain::shared::Amount;

/// A subscription with a billing threshold of 50 tokens: `si_1` is a plan of `tokens` tokens, `si_2` counts seats by the last report, and
/// `si_3` sums calls.
async fn three(db: &TestDatabase, tokens: u128) -> Billing {
    three_from(db, tokens, 50).await
}

/// Like [`three`], with a billing threshold of `threshold` tokens.
async fn three_from(db: &TestDatabase, tokens: u128, threshold: u128) -> Billing {
    let billing = Billing::open(db, 1_000).await;
    let plan = billing.price("price_1", tokens, MONTHLY).await;
    billing.price("price_2", 10, MONTHLY).await;
    let seats = billing.price("price_8", 1, metered(Aggregate::Last)).await;
    let calls = billing.price("price_9", 1, metered(Aggregate::Sum)).await;
    let mut one = billing.subscription("sub_1", &plan, DAY * 30);
    one.items.push(SubscriptionItem { id: id("si_2"), price_id: seats.id, ..one.items[0].clone() });
    one.items.push(SubscriptionItem { id: id("si_3"), price_id: calls.id, ..one.items[0].clone() });
    one.billing_threshold = Some(Threshold { amount: Amount::new(threshold * UNIT), resets_anchor: false });
    billing.insert(&one).await;
    billing.round().await;
    billing
}

/// Like [`permitted`] with a mandate for charges of at most 10 tokens, and with a stake of 200 tokens.
async fn staked(db: &TestDatabase) -> Billing {
    let billing = permitted(db, 10).await;
    let stake = billing.stake(&billing.find("sub_1").await, 200).await;
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    let one = unit.subscriptions().find(&id("sub_1")).await.expect("reads").expect("exists");
    assert!(unit.subscriptions().update(&Subscription { stake_id: Some(stake.id), ..one }).await.expect("writes"));
    unit.commit().await.expect("commits");
    billing
}

/// A customer who was billed for 1,100 seats, which the wallet cannot pay.
async fn unpaid(db: &TestDatabase) -> Billing {
    let billing = seats_and_calls(db).await;
    billing.write("UPDATE subscriptions SET days_until_cancel = 60").await;
    billing.networks.grant_mandate(5_000, 8).await;
    billing.used("si_1", 1_100).await;
    assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
    billing
}

/// Like [`unpaid`], at the end of the period, with a final report of `seats` seats.
async fn overbilled(db: &TestDatabase, seats: u64) -> Billing {
    let billing = unpaid(db).await;
    billing.used("si_1", seats).await;
    billing.wait(DAY * 30);
    billing.round().await;
    billing
}

impl Billing {
    /// Returns the refunds over the network in ascending order, rounded up, and the balance, in tokens.
    pub async fn refunds_and_balance(&self) -> (Vec<u128>, u128) {
        self.send_all().await;
        let refunded = self.refunded().await.iter().map(|amount| amount.div_ceil(UNIT)).collect();
        (refunded, self.customer_balance().await / UNIT)
    }

    async fn first(&self) -> Invoice {
        self.invoices().await.remove(0)
    }

    async fn unused(&self, price: &str) -> u128 {
        let choice = PlanChoice { price: id(price), quantity: Some(1), item: Some(id("si_1")) };
        let shown = billing::preview_plan(&self.ctx, &id("sub_1"), &choice).await.expect("is shown");
        shown.credit.base_units() / UNIT
    }
}

on_one! {
    async fn a_correction_of_a_paid_invoice_is_a_credit_note_to_the_balance(db: &TestDatabase) {
        let billing = seats_and_calls(db).await;
        billing.used("si_1", 100).await;
        billing.used("si_1", 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        let [note] = &billing.notes().await[..] else { panic!("one note") };
        let eighty = Amount::new(80 * UNIT);
        assert_eq!((note.reason, &note.invoice_id, note.number), (CreditNoteReason::UsageCorrection, &billing.first().await.id, 1));
        assert_eq!((note.total, note.due_reduced, note.to_balance, note.refunded), (eighty, Amount::ZERO, eighty, Amount::ZERO));
        let credited: Vec<_> = billing.lines(&billing.first().await).await.iter().map(|line| line.credited).collect();
        assert_eq!((credited, billing.customer_balance().await), (vec![eighty, Amount::ZERO], 80 * UNIT));
        billing.is_sound().await;
    }

    async fn a_correction_of_an_unpaid_invoice_reduces_the_amount_that_the_retry_charges(db: &TestDatabase) {
        let billing = overbilled(db, 20).await;
        let [note] = &billing.notes().await[..] else { panic!("one note") };
        assert_eq!((note.total, note.due_reduced, note.to_balance), (Amount::new(1_080 * UNIT), Amount::new(1_080 * UNIT), Amount::ZERO));
        assert_eq!((billing.first().await.remaining(), billing.customer_balance().await), (Amount::new(20 * UNIT), 0), "nobody has paid it");
        billing.wait(DAY);
        assert_eq!(billing.retry().await, 1);
        assert_eq!((billing.spent().await, billing.cash().await), (20, 20));
        billing.is_sound().await;
    }

    async fn a_correction_of_the_whole_overdue_invoice_ends_the_past_due_state(db: &TestDatabase) {
        let billing = overbilled(db, 0).await;
        assert_eq!((billing.first().await.status, billing.customer_balance().await), (InvoiceStatus::Void, 0));
        let one = billing.find("sub_1").await;
        assert_eq!((one.status, one.past_due_since), (SubscriptionStatus::Active, None));
        billing.is_sound().await;
    }

    async fn voiding_a_corrected_invoice_leaves_no_balance(db: &TestDatabase) {
        let billing = overbilled(db, 20).await;
        billing::void_invoice(&billing.ctx, &billing.first().await.id).await.expect("is void");
        let refunds_and_balance: Vec<_> = billing.notes().await.iter().map(|note| note.due_reduced.base_units() / UNIT).collect();
        assert_eq!((refunds_and_balance, billing.customer_balance().await), (vec![1_080, 20], 0));
        billing.is_sound().await;
    }

    async fn a_corrected_invoice_refunds_the_amount_that_was_paid(db: &TestDatabase) {
        let billing = overbilled(db, 20).await;
        billing.wait(DAY);
        billing.retry().await;
        billing.end_with(RefundChoice::Last).await.expect("ends");
        assert_eq!(billing.refunds_and_balance().await, (vec![20], 0));
        billing.is_sound().await;
    }

    async fn usage_on_a_void_invoice_gives_no_balance_when_it_falls(db: &TestDatabase) {
        let billing = unpaid(db).await;
        billing::void_invoice(&billing.ctx, &billing.first().await.id).await.expect("is void");
        billing.used("si_1", 500).await;
        billing.used("si_2", 60).await;
        let early = billing.last().await;
        assert_eq!((early.amount_paid, billing.customer_balance().await), (Amount::new(60 * UNIT), 0), "600 seats less");
        billing.used("si_1", 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!((billing.last().await.total, billing.customer_balance().await), (Amount::ZERO, 0), "480 seats less");
        billing.is_sound().await;
    }

    async fn usage_billed_after_a_void_invoice_is_corrected_when_it_falls(db: &TestDatabase) {
        let billing = unpaid(db).await;
        billing::void_invoice(&billing.ctx, &billing.first().await.id).await.expect("is void");
        billing.used("si_1", 1_200).await;
        assert_eq!(billing.last().await.amount_paid, Amount::new(100 * UNIT), "what was voided is not asked for again");
        billing.used("si_1", 1_150).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.refunds_and_balance().await, (vec![], 50));
        billing.is_sound().await;
    }

    async fn usage_refunded_at_the_end_is_not_corrected_as_well(db: &TestDatabase) {
        let billing = seats_and_calls(db).await;
        billing.used("si_1", 100).await;
        billing.used("si_1", 20).await;
        billing.end_with(RefundChoice::Last).await.expect("ends");
        assert_eq!(billing.refunds_and_balance().await, (vec![100], 0));
        billing.is_sound().await;
    }

    async fn a_correction_never_exceeds_the_line_after_a_refund(db: &TestDatabase) {
        let billing = seats_and_calls(db).await;
        billing.used("si_1", 100).await;
        billing.refund(&billing.first().await, Some(50 * UNIT)).await.expect("is ordered");
        billing.used("si_1", 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.refunds_and_balance().await, (vec![50], 50), "80 are too much, and 50 of the line are left");
        billing.is_sound().await;
    }

    async fn a_refund_never_exceeds_the_line_after_a_correction(db: &TestDatabase) {
        let billing = seats_and_calls(db).await;
        billing.used("si_1", 100).await;
        let first = billing.first().await;
        billing.used("si_1", 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        let beyond = billing.refund(&first, Some(20 * UNIT + 1)).await;
        assert!(matches!(beyond, Err(RefundError::Note(NoteError::OverRefund))), "{beyond:?}");
        billing.refund(&first, None).await.expect("is ordered");
        assert_eq!(billing.refunds_and_balance().await, (vec![20], 80));
        billing.is_sound().await;
    }

    async fn a_correction_takes_the_newest_lines_first(db: &TestDatabase) {
        let billing = seats_and_calls(db).await;
        billing.used("si_1", 60).await;
        billing.used("si_1", 120).await;
        billing.used("si_1", 50).await;
        billing.wait(DAY * 30);
        billing.round().await;
        let all = billing.invoices().await;
        let mut credited = Vec::new();
        for invoice in &all[..2] {
            credited.push(billing.lines(invoice).await[0].credited.base_units() / UNIT);
        }
        assert_eq!((credited, billing.spent().await), (vec![10, 60], 50));
        billing.is_sound().await;
    }

    async fn a_correction_over_an_invoice_that_is_being_paid_becomes_an_overpayment(db: &TestDatabase) {
        let billing = seats_and_calls(db).await;
        for (item, quantity) in [("si_1", 100), ("si_1", 20), ("si_2", 60)] {
            billing.wait(std::time::Duration::from_secs(60));
            billing.report(item, quantity).await;
        }
        let first = billing.first().await;
        assert_eq!((first.status, first.remaining()), (InvoiceStatus::Open, Amount::new(20 * UNIT)), "its charge of 100 is on its way");
        billing.send_all().await;
        assert_eq!((billing.networks.store_balance().await, billing.customer_balance().await), (160, 80 * UNIT));
        assert_eq!(billing.spent().await, 80, "20 seats and 60 calls");
        billing.is_sound().await;
    }

    async fn a_correction_of_usage_paid_by_a_stake_goes_to_the_balance(db: &TestDatabase) {
        let billing = staked(db).await;
        billing.used("si_1", 100).await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        billing::slash_stake(&billing.ctx, &id("sub_1"), Some(Amount::new(100 * UNIT)), "owed").await.expect("is ordered");
        billing.send_all().await;
        billing.used("si_1", 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!((billing.networks.store_balance().await, billing.customer_balance().await), (100, 80 * UNIT));
        billing.is_sound().await;
    }

    async fn a_stake_is_not_forfeited_for_overbilled_usage(db: &TestDatabase) {
        let billing = staked(db).await;
        billing.write("UPDATE subscriptions SET days_until_cancel = 60").await;
        billing.used("si_1", 100).await;
        billing.used("si_1", 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        billing::slash_stake(&billing.ctx, &id("sub_1"), Some(Amount::new(15 * UNIT)), "owed").await.expect("is ordered");
        billing.send_all().await;
        assert_eq!((billing.networks.store_balance().await, billing.customer_balance().await), (15, 0));
        billing.is_sound().await;
        billing.end_with(RefundChoice::None).await.expect("ends");
        billing.wait(STAKE_WAITING);
        billing.round().await;
        assert_eq!((billing.networks.store_balance().await, billing.customer_balance().await), (20, 0), "20 seats");
        assert!(billing.statuses().await.iter().all(|status| *status != InvoiceStatus::Uncollectible), "all is settled");
        billing.is_sound().await;
    }

    async fn a_refund_of_usage_does_not_affect_the_unused_time_of_a_plan(db: &TestDatabase) {
        let billing = three(db, 30).await;
        billing.used("si_2", 100).await;
        billing.used("si_3", 60).await;
        let calls = billing.last().await;
        assert_eq!(calls.total, Amount::new(60 * UNIT));
        billing.refund(&calls, None).await.expect("is ordered");
        billing.send_all().await;
        assert_eq!(billing.unused("price_2").await, 29, "before");
        billing.used("si_2", 20).await;
        billing.used("si_3", 60).await;
        assert_eq!(billing.customer_balance().await, 20 * UNIT);
        assert_eq!(billing.unused("price_2").await, 29, "after");
        billing.is_sound().await;
    }

    async fn a_correction_of_one_item_leaves_the_refund_of_another(db: &TestDatabase) {
        let billing = three(db, 100).await;
        billing.used("si_2", 100).await;
        billing.used("si_3", 60).await;
        let calls = billing.last().await;
        billing.used("si_2", 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        let renewal = billing.last().await;
        assert_eq!((renewal.total, billing.customer_balance().await), (Amount::new(100 * UNIT), 0));
        assert_eq!(billing.paid_by(&renewal).await, [("network", 20 * UNIT), ("balance", 80 * UNIT)]);
        billing.refund(&calls, None).await.expect("is ordered");
        assert_eq!(billing.refunds_and_balance().await, (vec![60], 0));
        billing.is_sound().await;
    }

    async fn the_end_refunds_the_unused_time_of_a_plan_and_corrects_usage(db: &TestDatabase) {
        let billing = three(db, 30).await;
        billing.used("si_2", 60).await;
        billing.used("si_2", 10).await;
        assert_eq!(billing.last().await.total, Amount::new(60 * UNIT));
        billing.wait(DAY * 10);
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(billing.refunds_and_balance().await, (vec![20], 50));
        billing.is_sound().await;
    }

    async fn a_cancellation_without_a_refund_still_corrects_usage(db: &TestDatabase) {
        let billing = three(db, 30).await;
        billing.used("si_2", 60).await;
        billing.used("si_2", 10).await;
        billing.wait(DAY * 10);
        billing.end_with(RefundChoice::None).await.expect("ends");
        assert_eq!(billing.refunds_and_balance().await, (vec![], 50));
        billing.is_sound().await;
    }

    async fn usage_that_falls_twice_is_never_credited_beyond_its_payment(db: &TestDatabase) {
        let billing = three(db, 30).await;
        billing.used("si_2", 100).await;
        let seats = billing.last().await;
        billing.used("si_2", 20).await;
        billing.networks.fault("decline").await;
        billing.used("si_3", 200).await;
        let calls = billing.last().await;
        assert_eq!((calls.status, calls.remaining()), (InvoiceStatus::Uncollectible, Amount::new(120 * UNIT)));
        billing::void_invoice(&billing.ctx, &calls.id).await.expect("is void");
        assert_eq!(billing.customer_balance().await, 80 * UNIT);
        let beyond = billing.refund(&seats, Some(50 * UNIT)).await;
        assert!(matches!(beyond, Err(RefundError::Note(NoteError::OverRefund))), "{beyond:?}");
        billing.refund(&seats, None).await.expect("is ordered");
        assert_eq!(billing.refunds_and_balance().await, (vec![20], 80), "100 were paid for seats");
        billing.used("si_2", 1).await;
        billing.end_with(RefundChoice::None).await.expect("ends");
        assert_eq!(billing.refunds_and_balance().await, (vec![20], 80), "and no more than that is given");
        billing.is_sound().await;
    }

    async fn the_unused_time_is_refunded_after_many_invoices_for_usage(db: &TestDatabase) {
        let billing = three_from(db, 30, 1).await;
        for _ in 0..101 {
            billing.used("si_3", 1).await;
        }
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(billing.refunds_and_balance().await, (vec![30], 0));
        billing.is_sound().await;
    }
}
