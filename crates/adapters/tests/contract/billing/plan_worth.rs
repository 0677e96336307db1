//! What a plan is worth is what was paid for it: beside items whose bills stand unpaid, beside usage, and whatever went back.

use super::bench::{Billing, DAY, MONTHLY};
use super::credit_refunds::{last, refund};
use super::plans::subscribed;
use super::thresholds::metered;
use crate::ledger::bench::UNIT;
use crate::till::id;
use souk_adapters::on_one;
use souk_domain::billing::{
    self, InvoiceStatus, PlanChoice, PlanOrder, PlanPreview, PlanSwitch, RefundChoice, Requester, Subscription, SubscriptionItem,
    Threshold, UsageAction, UsageReport, period,
};
use souk_domain::pricing::Aggregate;
use souk_domain::shared::{Amount, Mode};
use std::time::Duration;

fn pick(item: &str, price: &str) -> PlanChoice {
    PlanChoice { price: id(price), quantity: Some(1), item: Some(id(item)) }
}

async fn look(billing: &Billing, item: &str, price: &str) -> PlanPreview {
    billing::preview_plan(&billing.ctx, &id("sub_1"), &pick(item, price)).await.expect("is shown")
}

async fn order(billing: &Billing, item: &str, price: &str) -> PlanPreview {
    let shown = look(billing, item, price).await;
    let order = PlanOrder { choice: pick(item, price), at: shown.at, expected: shown.total, credited: Some(shown.credited) };
    let done = billing::switch_plan(&billing.ctx, &id("sub_1"), &order, Requester::Customer).await.expect("changes");
    assert_eq!(done, PlanSwitch::Switched);
    shown
}

pub async fn used(billing: &Billing, item: &str, quantity: u64) {
    billing.wait(Duration::from_secs(1));
    let report = UsageReport { item: id(item), quantity, action: UsageAction::Increment, at: None, identifier: None };
    billing::report_usage(&billing.ctx, Mode::Test, &report).await.expect("is taken");
    billing.send_all().await;
}

/// Two licensed items of 30 each, paid.
async fn two(db: &souk_adapters::testing::TestDatabase) -> Billing {
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
    assert_eq!(last(&billing).await.total.base_units(), 60 * UNIT);
    billing
}

/// A plan of so many tokens, seats whose last number counts, and calls that are summed, with a threshold of 50.
pub async fn three(db: &souk_adapters::testing::TestDatabase, tokens: u128) -> Billing {
    three_from(db, tokens, 50).await
}

/// The same with a threshold of so many tokens.
pub async fn three_from(db: &souk_adapters::testing::TestDatabase, tokens: u128, threshold: u128) -> Billing {
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

on_one! {
    async fn an_item_is_worth_what_it_was_paid_while_the_charge_of_another_is_on_its_way(db: &TestDatabase) {
        let billing = two(db).await;
        let up = order(&billing, "si_1", "price_2").await;
        assert_eq!(up.total.base_units(), 60 * UNIT);
        order(&billing, "si_2", "price_4").await;
        assert_eq!(billing.credit().await, 20 * UNIT);
        let again = order(&billing, "si_2", "price_3").await;
        let told = (again.credit.base_units() / UNIT, again.charge.base_units() / UNIT, again.total.base_units() / UNIT);
        billing.send_all().await;
        assert!(billing.invoices().await.iter().all(|one| one.status == InvoiceStatus::Paid));
        let paid: u128 = billing.invoices().await.iter().map(|one| one.amount_paid.base_units() / UNIT).sum();
        assert_eq!((told, paid), ((10, 30, 0), 120), "90 and 30 are what the plans cost");
    }

    async fn what_was_used_up_does_not_go_back_since_an_upgrade_was_refused(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 600, MONTHLY).await;
        billing.wait(DAY * 29);
        billing.networks.fault("refuse").await;
        billing.accept("price_2", 1).await;
        assert_eq!(last(&billing).await.status, InvoiceStatus::Uncollectible);
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(billing.refunds().await.iter().map(|one| one / UNIT).collect::<Vec<_>>(), [1]);
    }

    async fn an_item_is_worth_what_it_was_paid_after_the_bill_of_another_was_void(db: &TestDatabase) {
        let billing = two(db).await;
        billing.networks.fault("refuse").await;
        order(&billing, "si_1", "price_2").await;
        billing.send_all().await;
        billing::void_invoice(&billing.ctx, &last(&billing).await.id).await.expect("is taken back");
        order(&billing, "si_2", "price_5").await;
        billing.send_all().await;
        let down = look(&billing, "si_2", "price_4").await;
        assert_eq!((down.credit.base_units() / UNIT, down.total.base_units() / UNIT), (40, 0));
    }

    async fn what_was_used_up_is_no_credit_after_an_upgrade_was_void(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 600, MONTHLY).await;
        billing.price("price_3", 10, MONTHLY).await;
        billing.wait(DAY * 29);
        billing.networks.fault("refuse").await;
        billing.accept("price_2", 1).await;
        billing::void_invoice(&billing.ctx, &last(&billing).await.id).await.expect("is taken back");
        let down = billing.accept("price_3", 1).await;
        assert_eq!((down.credit.base_units() / UNIT, billing.credit().await / UNIT), (1, 0));
    }

    async fn usage_given_back_by_hand_leaves_a_plan_its_worth(db: &TestDatabase) {
        let billing = three(db, 30).await;
        used(&billing, "si_2", 100).await;
        used(&billing, "si_3", 60).await;
        let calls = last(&billing).await;
        assert_eq!(calls.total.base_units(), 60 * UNIT);
        refund(&billing.ctx, &calls, None).await.expect("goes back");
        billing.send_all().await;
        assert_eq!(look(&billing, "si_1", "price_2").await.credit.base_units() / UNIT, 29, "before");
        used(&billing, "si_2", 20).await;
        used(&billing, "si_3", 60).await;
        assert_eq!(billing.credit().await, 20 * UNIT);
        assert_eq!(look(&billing, "si_1", "price_2").await.credit.base_units() / UNIT, 29, "after");
    }

    async fn usage_that_cost_what_was_billed_goes_back_though_other_usage_cost_less(db: &TestDatabase) {
        let billing = three(db, 100).await;
        used(&billing, "si_2", 100).await;
        used(&billing, "si_3", 60).await;
        let calls = last(&billing).await;
        used(&billing, "si_2", 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!((last(&billing).await.total.base_units(), billing.credit().await), (20 * UNIT, 0));
        refund(&billing.ctx, &calls, None).await.expect("goes back");
    }

    async fn what_the_end_gives_back_of_a_plan_takes_nothing_off_what_usage_cost_less(db: &TestDatabase) {
        let billing = three(db, 30).await;
        used(&billing, "si_2", 60).await;
        used(&billing, "si_2", 10).await;
        assert_eq!(last(&billing).await.total.base_units(), 60 * UNIT);
        billing.wait(DAY * 10);
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        billing.send_all().await;
        let back: Vec<_> = billing.refunds().await.iter().map(|one| one.div_ceil(UNIT)).collect();
        assert_eq!((back, billing.credit().await / UNIT), (vec![20], 50));
    }

    async fn without_a_refund_usage_that_cost_less_is_credit(db: &TestDatabase) {
        let billing = three(db, 30).await;
        used(&billing, "si_2", 60).await;
        used(&billing, "si_2", 10).await;
        billing.wait(DAY * 10);
        billing.end_with(RefundChoice::None).await.expect("ends");
        assert_eq!(billing.credit().await / UNIT, 50);
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
        let up = billing.accept("price_3", 1).await;
        assert_eq!((up.credit.base_units() / UNIT, up.total.base_units() / UNIT), (30, 30));
        assert_eq!(billing.preview("price_4", 1).await.credit.base_units() / UNIT, 60);
    }
}
