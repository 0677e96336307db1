//! The credit for unused time of a plan's lines, with other items whose invoices are unpaid or void, with usage, and after refunds.

use super::bench::{Billing, DAY, MONTHLY, at_once};
use super::plans::subscribed;
use crate::checkout_fixtures::{id, session};
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{
    self, InvoiceStatus, NoteError, PlanChoice, PlanOrder, PlanPreview, PlanSwitch, RefundChoice, RefundError, Refundable, Requester,
    StakeChoice, Subscription, SubscriptionItem, period,
};
use souk_domain::checkout::{Session, SessionStatus};
use souk_domain::payment::RefundType;
use souk_domain::shared::{Amount, Mode};
use std::time::Duration;

fn pick(item: &str, price: &str) -> PlanChoice {
    PlanChoice { price: id(price), quantity: Some(1), item: Some(id(item)) }
}

async fn look(billing: &Billing, item: &str, price: &str) -> PlanPreview {
    billing::preview_plan(&billing.ctx, &id("sub_1"), &pick(item, price)).await.expect("is shown")
}

/// Changes the plan of an item without sending the charge.
async fn order(billing: &Billing, item: &str, price: &str) -> PlanPreview {
    let preview = look(billing, item, price).await;
    let order = PlanOrder { choice: pick(item, price), at: preview.at, expected: preview.total, credited: Some(preview.credited) };
    let done = billing::switch_plan(&billing.ctx, &id("sub_1"), &order, Requester::Customer).await.expect("changes");
    assert_eq!(done, PlanSwitch::Switched);
    preview
}

/// A subscription with the items `si_1` and `si_2` at 30 tokens each, paid by one invoice.
async fn two(db: &TestDatabase) -> Billing {
    let billing = Billing::open(db, 1_000).await;
    let plan = billing.price("price_1", 30, MONTHLY).await;
    let other = billing.price("price_3", 30, MONTHLY).await;
    for (name, tokens) in [("price_2", 90), ("price_4", 10), ("price_5", 40)] {
        billing.price(name, tokens, MONTHLY).await;
    }
    let mut one = billing.subscription("sub_1", &plan, DAY * 30);
    one.items.push(SubscriptionItem { id: id("si_2"), price_id: other.id, ..one.items[0].clone() });
    billing.insert(&one).await;
    billing.round().await;
    assert_eq!(billing.last().await.amount_paid, Amount::new(60 * UNIT));
    billing
}

/// The amounts of a preview in tokens.
#[derive(Debug, PartialEq, Eq)]
struct Previewed {
    credit: u128,
    charge: u128,
    due: u128,
}

fn amounts(preview: &PlanPreview) -> Previewed {
    let [credit, charge, due] = [preview.credit, preview.charge, preview.total].map(|amount| amount.base_units() / UNIT);
    Previewed { credit, charge, due }
}

on_one! {
    async fn an_item_is_credited_by_its_own_line_while_the_charge_of_another_is_in_flight(db: &TestDatabase) {
        let billing = two(db).await;
        let up = order(&billing, "si_1", "price_2").await;
        assert_eq!(amounts(&up), Previewed { credit: 30, charge: 90, due: 60 });
        order(&billing, "si_2", "price_4").await;
        assert_eq!(billing.customer_balance().await, 20 * UNIT);
        let again = order(&billing, "si_2", "price_3").await;
        billing.send_all().await;
        assert!(billing.statuses().await.iter().all(|status| *status == InvoiceStatus::Paid));
        assert_eq!((amounts(&again), billing.networks.store_balance().await), (Previewed { credit: 10, charge: 30, due: 0 }, 120), "90 and 30 are what the plans cost");
        billing.is_sound().await;
    }

    async fn used_time_is_not_refunded_because_an_upgrade_was_declined(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 600, MONTHLY).await;
        billing.wait(DAY * 29);
        billing.networks.fault("decline").await;
        billing.accept("price_2", 1).await;
        let up = billing.last().await;
        assert_eq!((up.status, up.remaining()), (InvoiceStatus::Uncollectible, Amount::new(19 * UNIT)));
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(billing.refunds_and_balance().await, (vec![], 1), "19 of the 20 are unpaid, and the old plan paid 1");
        billing.is_sound().await;
    }

    async fn an_item_is_credited_by_its_own_line_after_the_invoice_of_another_was_voided(db: &TestDatabase) {
        let billing = two(db).await;
        billing.networks.fault("decline").await;
        order(&billing, "si_1", "price_2").await;
        billing.send_all().await;
        billing::void_invoice(&billing.ctx, &billing.last().await.id).await.expect("is void");
        assert_eq!(billing.customer_balance().await, 30 * UNIT);
        order(&billing, "si_2", "price_5").await;
        billing.send_all().await;
        assert_eq!(amounts(&look(&billing, "si_2", "price_4").await), Previewed { credit: 40, charge: 10, due: 0 });
        assert_eq!(amounts(&look(&billing, "si_1", "price_1").await), Previewed { credit: 0, charge: 30, due: 10 }, "the plan is unchanged and gives no credit: 20 remain on the balance");
        billing.is_sound().await;
    }

    async fn used_time_is_no_credit_after_an_upgrade_was_voided(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 600, MONTHLY).await;
        billing.price("price_3", 10, MONTHLY).await;
        billing.wait(DAY * 29);
        billing.networks.fault("decline").await;
        billing.accept("price_2", 1).await;
        billing::void_invoice(&billing.ctx, &billing.last().await.id).await.expect("is void");
        let down = billing.accept("price_3", 1).await;
        assert_eq!((down.credit, billing.customer_balance().await), (Amount::ZERO, UNIT - 10 * UNIT / 30));
        billing.is_sound().await;
    }

    async fn voiding_the_invoice_of_a_change_of_plan_leaves_the_earlier_payment_on_the_balance(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 60, MONTHLY).await;
        billing.networks.fault("decline").await;
        billing.accept("price_2", 1).await;
        let declined = billing.last().await;
        assert_eq!((declined.status, declined.remaining()), (InvoiceStatus::Uncollectible, Amount::new(30 * UNIT)));
        billing::void_invoice(&billing.ctx, &declined.id).await.expect("is void");
        assert_eq!(billing.customer_balance().await, 30 * UNIT, "30 were paid");
        assert_eq!(amounts(&billing.preview("price_1", 1).await), Previewed { credit: 0, charge: 30, due: 0 });
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(billing.refunds_and_balance().await, (vec![], 30));
        billing.is_sound().await;
    }

    async fn an_upgrade_that_was_refunded_gives_nothing_at_the_end(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 600, MONTHLY).await;
        billing.wait(DAY * 29);
        billing.accept("price_2", 1).await;
        let up = billing.last().await;
        assert_eq!(billing.paid_by(&up).await, [("network", 19 * UNIT), ("balance", UNIT)]);
        billing.refund(&up, None).await.expect("is ordered");
        assert_eq!(billing.refunds_and_balance().await, (vec![19], 1));
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(billing.refunds_and_balance().await, (vec![19], 1), "of 49 that were paid, 29 are used");
        billing.is_sound().await;
    }

    async fn an_upgrade_that_was_refunded_is_no_credit(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 600, MONTHLY).await;
        billing.price("price_3", 10, MONTHLY).await;
        billing.wait(DAY * 29);
        billing.accept("price_2", 1).await;
        billing.refund(&billing.last().await, None).await.expect("is ordered");
        billing.send_all().await;
        let down = billing.accept("price_3", 1).await;
        assert_eq!((down.credit, billing.customer_balance().await), (Amount::ZERO, UNIT - 10 * UNIT / 30));
        billing.is_sound().await;
    }

    async fn an_amount_refunded_by_hand_is_not_refunded_again_at_the_end(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        let first = billing.last().await;
        billing.wait(DAY * 10);
        billing.accept("price_2", 1).await;
        let beyond = billing.refund(&first, Some(10 * UNIT + 1)).await;
        assert!(matches!(beyond, Err(RefundError::Note(NoteError::OverRefund))), "20 of the 30 were credited: {beyond:?}");
        billing.refund(&first, None).await.expect("is ordered");
        let again = billing.refund(&first, None).await;
        assert!(matches!(again, Err(RefundError::NothingPaid)), "{again:?}");
        billing.send_all().await;
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!((billing.refunded().await, billing.customer_balance().await), (vec![10 * UNIT], 20 * UNIT), "all of the 30, and no more");
        billing.is_sound().await;
    }

    async fn changes_on_both_sides_of_a_renewal_within_one_second_stay_in_their_periods(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let plan = billing.price("price_1", 30, MONTHLY).await;
        for (name, tokens) in [("price_2", 30), ("price_3", 60), ("price_4", 10)] {
            billing.price(name, tokens, MONTHLY).await;
        }
        let rest = 1_000_000 - u64::try_from(billing.ctx.now().micros() % 1_000_000).expect("fits");
        billing.wait(Duration::from_micros(rest));
        let one = billing.subscription("sub_1", &plan, DAY);
        let anchor = billing.ctx.now().plus(Duration::from_millis(500)).minus(DAY * 30);
        let one = Subscription { anchor, period: period(&one.cycle, anchor, 0).expect("a period"), ..one };
        billing.insert(&one).await;
        billing.accept("price_2", 1).await;
        billing.wait(Duration::from_millis(600));
        assert_eq!(billing.round().await, 1);
        assert_eq!(amounts(&billing.accept("price_3", 1).await), Previewed { credit: 30, charge: 60, due: 30 });
        assert_eq!(billing.preview("price_4", 1).await.credit, Amount::new(60 * UNIT));
        billing.is_sound().await;
    }

    async fn a_payment_by_the_stake_of_another_subscription_is_refunded_to_the_account_that_staked(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let plan = billing.price("price_1", 30, MONTHLY).await;
        let other = billing.price("price_5", 1, MONTHLY).await;
        for (name, tokens) in [("price_2", 10), ("price_3", 60)] {
            billing.price(name, tokens, MONTHLY).await;
        }
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let ids = vec![id("sub_1"), id("sub_2")];
        unit.sessions().insert(&Session { status: SessionStatus::Complete, subscription_ids: ids, ..session("cs_1") }).await.expect("inserts");
        unit.commit().await.expect("commits");
        let mut holder = Subscription { session_id: Some(id("cs_1")), ..billing.subscription("sub_1", &other, DAY) };
        holder.stake_id = Some(billing.stake(&holder, 100).await.id);
        billing.insert(&holder).await;
        let stake_id = holder.stake_id.clone();
        billing.insert(&Subscription { session_id: Some(id("cs_1")), stake_id, ..billing.subscription("sub_2", &plan, DAY * 30) }).await;
        billing.round().await;
        let first = billing.last().await;
        let take = async |price: &str| {
            let choice = PlanChoice { price: id(price), quantity: Some(1), item: None };
            let preview = billing::preview_plan(&billing.ctx, &id("sub_2"), &choice).await.expect("is shown");
            let order = PlanOrder { choice, at: preview.at, expected: preview.total, credited: Some(preview.credited) };
            let done = billing::switch_plan(&billing.ctx, &id("sub_2"), &order, Requester::Store).await.expect("changes");
            assert_eq!(done, PlanSwitch::Switched);
            billing.send_all().await;
        };
        take("price_2").await;
        assert_eq!(billing.customer_balance().await, 20 * UNIT);
        billing.networks.fault("decline").await;
        take("price_3").await;
        let overdue = billing.last().await;
        assert_eq!((overdue.status, overdue.remaining()), (InvoiceStatus::Uncollectible, Amount::new(30 * UNIT)));
        let terms = at_once(RefundChoice::None, StakeChoice::None);
        billing::cancel(&billing.ctx, Requester::Store, &id("sub_2"), &terms).await.expect("ends");
        billing::slash_stake(&billing.ctx, &id("sub_1"), Some(Amount::new(30 * UNIT)), "overdue").await.expect("is ordered");
        billing.send_all().await;
        let paid = billing.reload(&overdue).await;
        assert_eq!((paid.status, billing.customer_balance().await), (InvoiceStatus::Paid, 0));
        assert_eq!(billing.paid_by(&paid).await, [("stake", 30 * UNIT), ("balance", 30 * UNIT)]);
        let nothing = Refundable { most: Amount::ZERO, to_balance: Amount::ZERO };
        let refundable = billing::refundable(&billing.ctx, Mode::Test, &first.id).await.expect("computes");
        assert_eq!(refundable, nothing, "a change of plan has credited it");
        let before = billing.networks.balance().await;
        let done = billing.refund(&paid, None).await.expect("is ordered");
        assert_eq!((done.to_balance, done.refunds[0].kind, done.refunds[0].intent_id.clone()), (Amount::new(30 * UNIT), RefundType::Refund, None));
        assert_eq!((billing.refunds_and_balance().await, billing.networks.balance().await), ((vec![30], 30), before + 30));
        billing.is_sound().await;
    }
}
