//! Daily caps of refunds: each written refund counts in its own currency, on the day on which it was last ordered.

use super::bench::{Billing, DAY, MONTHLY};
use super::plans::subscribed;
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::testing::TestDatabase;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{self, PlanChoice, PlanOrder, RefundChoice, Requester};
use souk_domain::payment::RefundStatus;
use souk_domain::shared::{Amount, Mode, RefundId};
use std::time::Duration;

/// A little more than the time of a cap.
const NEXT_DAY: Duration = Duration::from_secs(25 * 3_600);

/// A subscription to `quantity` units at 30 tokens whose period was paid 10 days ago in another currency than the subscription has now. At
/// most `units` of that currency may be refunded in a day.
async fn paid_in_another_currency(db: &TestDatabase, quantity: u64, units: u64) -> Billing {
    let mut billing = subscribed(db, 30, quantity, MONTHLY).await;
    billing.wait(DAY * 10);
    billing.move_payments_to_currency("OLD").await;
    billing.ctx.policy.daily_caps.insert("OLD".to_owned(), units);
    billing
}

/// Checks that an order was refused because of a cap, and says how much is left of which.
#[track_caller]
fn assert_capped<T: std::fmt::Debug>(answer: Result<T, impl std::error::Error>, limit: &str) {
    let refused = answer.expect_err("is refused").to_string();
    assert_eq!(refused, format!("Refunds and payouts are limited to {limit} are left"));
}

async fn retry(billing: &Billing, refund: &RefundId) -> Result<RefundStatus, billing::RetryRefundError> {
    billing::retry_refund(&billing.ctx, Mode::Test, refund).await.map(|refund| refund.status)
}

on_both! {
    async fn a_cancellation_counts_what_it_refunds_in_the_currency_of_the_refunded_payment(db: &TestDatabase) {
        let mut billing = paid_in_another_currency(db, 1, 19).await;
        assert_capped(billing.end_with(RefundChoice::Proration).await, "19 OLD in 24 hours, of which 19 OLD");
        assert_capped(billing.end_with(RefundChoice::Last).await, "19 OLD in 24 hours, of which 19 OLD");
        assert_eq!(billing.refunds().await, [], "a refused order leaves nothing");
        billing.ctx.policy.daily_caps.insert("OLD".to_owned(), 20);
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        let [refund] = &billing.refunds().await[..] else { panic!("one refund") };
        assert_eq!((&refund.currency_id, refund.amount), (&id("pc_another"), Amount::new(20 * UNIT)));
    }

    async fn a_refund_that_is_ordered_again_counts_on_that_day(db: &TestDatabase) {
        let mut billing = subscribed(db, 30, 2, MONTHLY).await;
        billing.ctx.policy.daily_caps.insert(billing.networks.currency.symbol.clone(), 30);
        let symbol = billing.networks.currency.symbol.clone();
        let invoice = billing.last().await;
        let refund = billing.refund(&invoice, Some(20 * UNIT)).await.expect("is ordered").refunds.remove(0).id;
        billing.networks.fault("decline").await;
        billing.send_all().await;
        billing.wait(NEXT_DAY);
        billing.refund(&invoice, Some(15 * UNIT)).await.expect("the failed refund was ordered a day ago");
        billing.send_all().await;
        assert_capped(retry(&billing, &refund).await, &format!("30 {symbol} in 24 hours, of which 15 {symbol}"));
        let [sent] = &billing.refunds().await[..] else { panic!("the other one waits for a decision") };
        assert_eq!(sent.amount, Amount::new(15 * UNIT));
        billing.wait(NEXT_DAY);
        assert_eq!(retry(&billing, &refund).await.expect("is sent again"), RefundStatus::Pending);
        assert_capped(billing.refund(&invoice, Some(15 * UNIT)).await, &format!("30 {symbol} in 24 hours, of which 10 {symbol}"));
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn without_a_configured_cap_no_more_leaves_in_a_day_than_was_received_in_thirty(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        let symbol = billing.networks.currency.symbol.clone();
        let invoice = billing.last().await;
        for _ in 0..2 {
            billing.refund(&invoice, Some(5 * UNIT)).await.expect("the payment of today covers it");
        }
        billing.wait(DAY * 31);
        billing.refund(&invoice, Some(5 * UNIT)).await.expect("nothing else was sent");
        assert_capped(billing.refund(&invoice, Some(5 * UNIT)).await, &format!("0 {symbol} in 24 hours, of which 0 {symbol}"));
        billing.overpay(10 * UNIT).await;
        billing.refund(&invoice, Some(5 * UNIT)).await.expect("the store has received as much");
        assert_capped(billing.refund(&invoice, Some(1)).await, &format!("10 {symbol} in 24 hours, of which 0 {symbol}"));
    }
}

on_one! {
    async fn a_change_of_plan_is_capped_if_the_store_orders_it_and_never_for_the_customer(db: &TestDatabase) {
        let billing = paid_in_another_currency(db, 6, 1).await;
        let order = async |by| {
            let choice = PlanChoice { price: id("price_1"), quantity: Some(3), item: None };
            let preview = billing::preview_plan(&billing.ctx, &id("sub_1"), &choice).await.expect("is shown");
            let order = PlanOrder { choice, at: preview.at, expected: preview.total, credited: Some(preview.credited) };
            billing::switch_plan(&billing.ctx, &id("sub_1"), &order, by).await
        };
        assert_capped(order(Requester::Store).await, "1 OLD in 24 hours, of which 1 OLD");
        order(Requester::Customer).await.expect("changes");
        assert_eq!(billing.refunds().await.len(), 1);
    }
}
