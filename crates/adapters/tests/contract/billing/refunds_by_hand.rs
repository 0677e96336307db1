//! A payment goes back once: whichever bills it has paid by changes of plan, and however many refunds follow each other.

use super::bench::{Billing, DAY, MONTHLY};
use super::credit_refunds::{last, refund};
use super::plans::{pay_together, subscribed};
use super::thresholds::metered;
use crate::ledger::bench::UNIT;
use crate::till::id;
use souk_adapters::on_one;
use souk_adapters::verify::verify;
use souk_domain::billing::{
    self, InvoiceStatus, ManageError, PlanChoice, PlanOrder, PlanSwitch, RefundChoice, Requester, SubscriptionItem, Threshold, UsageAction,
    UsageReport,
};
use souk_domain::payment::Purpose;
use souk_domain::pricing::Aggregate;
use souk_domain::shared::{Amount, Mode};
use std::time::Duration;

const RULE: &str = "no period gives back more than it was paid";

/// What `souk verify` has against what periods gave back.
async fn breaches(billing: &Billing) -> Vec<String> {
    let mut checks = Vec::new();
    verify(billing.database(), &mut |check| checks.push(check)).await.expect("reads");
    let check = checks.into_iter().find(|check| check.title == RULE).expect("is checked");
    assert!(check.of > 0, "no period was looked at");
    check.breaches
}

/// What refunds by networks and as credit came to, the smallest first, and the credit that is held, in tokens.
async fn stand(billing: &Billing) -> (Vec<u128>, u128) {
    assert_eq!(breaches(billing).await, [] as [&str; 0]);
    let mut refunds: Vec<_> = billing.refunds().await.into_iter().map(|amount| amount / UNIT).collect();
    refunds.sort_unstable();
    (refunds, billing.credit().await / UNIT)
}

fn choice(price: &str) -> PlanChoice {
    PlanChoice { price: id(price), quantity: Some(1), item: None }
}

async fn take(billing: &Billing, subscription: &str, price: &str) {
    let shown = billing::preview_plan(&billing.ctx, &id(subscription), &choice(price)).await.expect("is shown");
    let order = PlanOrder { choice: choice(price), at: shown.at, expected: shown.total, credited: Some(shown.credited) };
    let done = billing::switch_plan(&billing.ctx, &id(subscription), &order, Requester::Customer).await.expect("changes");
    assert_eq!(done, PlanSwitch::Switched);
}

on_one! {
    async fn the_last_payment_goes_back_whole_though_a_part_of_it_and_of_its_credit_went_before(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        billing.accept("price_2", 1).await;
        let first = billing.invoices().await.remove(0);
        refund(&billing.ctx, &first, Some(15 * UNIT)).await.expect("goes back");
        billing.send_all().await;
        assert_eq!(stand(&billing).await, (vec![15], 15), "15 are left, which cover 15 of the 20");
        billing.end_with(RefundChoice::Last).await.expect("ends");
        billing.send_all().await;
        assert_eq!(stand(&billing).await, (vec![15, 15], 0));
    }

    async fn the_last_payment_takes_no_more_credit_along_than_it_gives_back(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 60, MONTHLY).await;
        billing.price("price_3", 10, MONTHLY).await;
        billing.accept("price_2", 1).await;
        billing.accept("price_3", 1).await;
        assert_eq!(stand(&billing).await, (vec![], 50));
        billing.end_with(RefundChoice::Last).await.expect("ends");
        billing.send_all().await;
        assert_eq!(stand(&billing).await, (vec![30], 30), "all of the 60 that were paid");
    }

    async fn a_payment_and_the_bills_that_its_credit_has_paid_go_back_once_in_any_order(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.wait(DAY * 30);
        billing.round().await;
        let mut all = vec![last(&billing).await];
        billing.price("price_2", 10, MONTHLY).await;
        billing.accept("price_2", 1).await;
        for _ in 0..2 {
            billing.wait(DAY * 30);
            billing.round().await;
            all.push(last(&billing).await);
        }
        assert_eq!((all[1].total, all[2].total, billing.credit().await), (Amount::ZERO, Amount::ZERO, 0));
        refund(&billing.ctx, &all[0], None).await.expect("goes back");
        assert_eq!(stand(&billing).await, (vec![10], 0), "20 have paid two periods since");
        for bill in [1, 2, 0] {
            refund(&billing.ctx, &all[bill], None).await.expect("goes back");
            billing.send_all().await;
        }
        assert_eq!(stand(&billing).await, (vec![10, 10, 10, 20], 0), "30 of them by the network");
        for bill in &all {
            refund(&billing.ctx, bill, None).await.expect_err("nothing is left");
        }
    }

    async fn usage_that_was_paid_covers_no_credit_of_a_plan(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let plan = billing.price("price_1", 30, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        let calls = billing.price("price_9", 1, metered(Aggregate::Sum)).await;
        let mut one = billing.subscription("sub_1", &plan, DAY * 30);
        one.items.push(SubscriptionItem { id: id("si_2"), price_id: calls.id, ..one.items[0].clone() });
        one.billing_threshold = Some(Threshold { amount: Amount::new(50 * UNIT), resets_anchor: false });
        billing.insert(&one).await;
        billing.round().await;
        let paid = last(&billing).await;
        assert_eq!(paid.total.base_units(), 30 * UNIT);
        billing.wait(Duration::from_secs(1));
        let report = UsageReport { item: id("si_2"), quantity: 60, action: UsageAction::Increment, at: None, identifier: None };
        billing::report_usage(&billing.ctx, Mode::Test, &report).await.expect("is taken");
        billing.send_all().await;
        assert_eq!(last(&billing).await.total.base_units(), 60 * UNIT);
        billing.wait(Duration::from_secs(1));
        take(&billing, "sub_1", "price_2").await;
        billing.send_all().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid; 3]);
        assert_eq!(stand(&billing).await, (vec![], 19), "almost 20");
        refund(&billing.ctx, &paid, None).await.expect("goes back");
        billing.send_all().await;
        assert_eq!(stand(&billing).await, (vec![30], 0));
    }

    async fn a_change_of_plan_waits_while_what_was_paid_for_it_is_on_its_way_back(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 60, MONTHLY).await;
        let first = billing.invoices().await.remove(0);
        refund(&billing.ctx, &first, None).await.expect("is ordered");
        let early = billing::preview_plan(&billing.ctx, &id("sub_1"), &choice("price_2")).await;
        assert!(matches!(early, Err(ManageError::PaymentInFlight)), "{early:?}");
        billing.networks.fault("refuse").await;
        billing.send_all().await;
        assert_eq!(billing.preview("price_2", 1).await.total.base_units(), 30 * UNIT, "30 are paid still");
    }

    async fn a_change_of_plan_that_is_taken_back_leaves_what_was_paid_before(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 60, MONTHLY).await;
        billing.networks.fault("refuse").await;
        billing.accept("price_2", 1).await;
        let refused = last(&billing).await;
        assert_eq!((refused.status, refused.total.base_units()), (InvoiceStatus::Uncollectible, 30 * UNIT));
        billing::void_invoice(&billing.ctx, &refused.id).await.expect("is taken back");
        assert_eq!(billing.preview("price_1", 1).await.credit.base_units(), 30 * UNIT, "30 were paid a moment ago");
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(stand(&billing).await, (vec![30], 0));
    }

    async fn two_bills_of_one_payment_go_back_each_with_its_own_credit(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        let price = billing.price("price_4", 30, MONTHLY).await;
        billing.wait(DAY * 30);
        billing.insert(&billing.subscription("sub_2", &price, Duration::ZERO)).await;
        for _ in 0..2 {
            billing.networks.fault("refuse").await;
        }
        billing.round().await;
        let debts: Vec<_> = billing.invoices().await.split_off(1);
        assert_eq!(debts.iter().map(|one| one.status).collect::<Vec<_>>(), [InvoiceStatus::Uncollectible; 2]);
        pay_together(&billing, &debts).await;
        // The store's account has something to pay out.
        let other = billing.price("price_5", 100, MONTHLY).await;
        billing.insert(&billing.subscription("sub_3", &other, Duration::ZERO)).await;
        billing.round().await;
        for subscription in ["sub_1", "sub_2"] {
            take(&billing, subscription, "price_2").await;
        }
        assert_eq!(stand(&billing).await, (vec![], 40));
        for left in [20, 0] {
            let debt = &debts[usize::from(left == 0)];
            let paid = billing.invoices().await.into_iter().find(|one| one.id == debt.id).expect("stands");
            refund(&billing.ctx, &paid, None).await.expect("goes back");
            billing.send_all().await;
            assert_eq!(billing.credit().await, left * UNIT);
        }
        assert_eq!(stand(&billing).await, (vec![30, 30], 0));
    }

    async fn where_the_first_of_two_refunds_is_refused_the_plan_is_worth_what_it_was_paid(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        billing.accept("price_2", 1).await;
        let first = billing.invoices().await.remove(0);
        let one = refund(&billing.ctx, &first, Some(15 * UNIT)).await.expect("is ordered").remove(0);
        let other = refund(&billing.ctx, &first, Some(10 * UNIT)).await.expect("is ordered").remove(0);
        billing.networks.fault("refuse").await;
        billing.send(&Purpose::Refund(one.id)).await;
        billing.send(&Purpose::Refund(other.id)).await;
        assert_eq!(stand(&billing).await, (vec![10], 10));
        assert_eq!(billing.preview("price_1", 1).await.credit.base_units(), 10 * UNIT, "and 10 are paid for the plan: 30 in all");
    }

    async fn credit_that_was_given_again_and_used_since_is_not_given_a_third_time(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        for price in ["price_2", "price_1"] {
            billing.accept(price, 1).await;
        }
        let by_credit = last(&billing).await;
        billing.accept("price_2", 1).await;
        assert_eq!((by_credit.total, billing.credit().await), (Amount::ZERO, 20 * UNIT));
        for _ in 0..2 {
            billing.wait(DAY * 30);
            billing.round().await;
        }
        assert_eq!(billing.credit().await, 0, "two periods are paid by it");
        refund(&billing.ctx, &by_credit, None).await.expect("goes back");
        assert_eq!(stand(&billing).await, (vec![10], 10), "the other 20 have paid periods");
    }

    async fn a_period_that_gave_back_more_than_it_was_paid_is_found(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        billing.accept("price_2", 1).await;
        refund(&billing.ctx, &billing.invoices().await.remove(0), Some(10 * UNIT)).await.expect("goes back");
        billing.send_all().await;
        assert_eq!(stand(&billing).await, (vec![10], 20), "all of the 30");
        billing.write("UPDATE refunds SET amount = (SELECT total FROM invoices WHERE reason = 'subscription_cycle')").await;
        assert_eq!(breaches(&billing).await.len(), 1, "30 went back, and 20 became credit");
        billing.write("DELETE FROM refunds").await;
        assert_eq!(breaches(&billing).await.len(), 0);
        billing.write("UPDATE invoices SET status = 'uncollectible' WHERE reason = 'subscription_cycle'").await;
        assert_eq!(breaches(&billing).await.len(), 1, "20 became credit, and nothing was paid");
    }
}
