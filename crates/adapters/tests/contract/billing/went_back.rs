//! What went back, or became credit, is worth nothing any more: of an upgrade, of usage, of what another subscription's stake has paid.

use super::bench::{Billing, DAY, MONTHLY};
use super::credit_refunds::{last, refund};
use super::plan_worth::{three, three_from, used};
use super::plans::subscribed;
use crate::ledger::bench::UNIT;
use crate::till::{id, session};
use souk_adapters::on_one;
use souk_domain::billing::{
    self, CancelAt, CancelTerms, InvoiceStatus, PlanChoice, PlanOrder, PlanSwitch, RefundChoice, Requester, StakeChoice, Subscription,
};
use souk_domain::checkout::Session;
use souk_domain::shared::{Amount, Mode};

/// What went back, the smallest first, in tokens, rounded up.
async fn backs(billing: &Billing) -> Vec<u128> {
    let mut back: Vec<_> = billing.refunds().await.iter().map(|one| one.div_ceil(UNIT)).collect();
    back.sort_unstable();
    back
}

on_one! {
    async fn an_upgrade_that_went_back_does_not_go_back_again_at_the_end(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 600, MONTHLY).await;
        billing.wait(DAY * 29);
        billing.accept("price_2", 1).await;
        let up = last(&billing).await;
        assert_eq!((up.status, up.total.base_units().div_ceil(UNIT)), (InvoiceStatus::Paid, 19));
        refund(&billing.ctx, &up, None).await.expect("goes back");
        billing.send_all().await;
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        billing.send_all().await;
        assert_eq!(backs(&billing).await, [1, 19], "of 49 that were paid, 29 are used up");
    }

    async fn an_upgrade_that_went_back_is_no_credit(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 600, MONTHLY).await;
        billing.price("price_3", 10, MONTHLY).await;
        billing.wait(DAY * 29);
        billing.accept("price_2", 1).await;
        refund(&billing.ctx, &last(&billing).await, None).await.expect("goes back");
        billing.send_all().await;
        let down = billing.accept("price_3", 1).await;
        assert_eq!((down.credit.base_units() / UNIT, billing.credit().await / UNIT), (1, 0));
    }

    async fn the_time_that_is_left_goes_back_after_many_bills_for_usage(db: &TestDatabase) {
        let billing = three_from(db, 30, 1).await;
        for _ in 0..101 {
            used(&billing, "si_3", 1).await;
        }
        assert_eq!(billing.refunds().await, [0; 0]);
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        billing.send_all().await;
        assert_eq!(backs(&billing).await, [30]);
    }

    async fn a_period_gives_no_more_than_it_was_paid_where_usage_falls_twice(db: &TestDatabase) {
        let billing = three(db, 30).await;
        used(&billing, "si_2", 100).await;
        let seats = last(&billing).await;
        used(&billing, "si_2", 20).await;
        billing.networks.fault("refuse").await;
        used(&billing, "si_3", 200).await;
        let calls = last(&billing).await;
        assert_eq!((calls.status, calls.total.base_units()), (InvoiceStatus::Uncollectible, 120 * UNIT));
        billing::void_invoice(&billing.ctx, &calls.id).await.expect("is taken back");
        assert_eq!(billing.credit().await, 80 * UNIT);
        refund(&billing.ctx, &seats, Some(50 * UNIT)).await.expect("goes back");
        billing.send_all().await;
        assert_eq!((backs(&billing).await, billing.credit().await / UNIT), (vec![50], 80), "all of 130 that were paid");
        used(&billing, "si_2", 1).await;
        billing.end_with(RefundChoice::None).await.expect("ends");
        billing.send_all().await;
        assert_eq!((backs(&billing).await, billing.credit().await / UNIT), (vec![50], 80), "130 were paid");
    }

    async fn what_the_stake_of_another_subscription_has_paid_counts_as_paid(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let plan = billing.price("price_1", 30, MONTHLY).await;
        let other = billing.price("price_5", 1, MONTHLY).await;
        for (name, tokens) in [("price_2", 10), ("price_3", 60)] {
            billing.price(name, tokens, MONTHLY).await;
        }
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let ids = vec![id("sub_1"), id("sub_2")];
        unit.sessions().insert(&Session { subscription_ids: ids, ..session("cs_1") }).await.expect("inserts");
        unit.commit().await.expect("commits");
        let mut holder = Subscription { session_id: Some(id("cs_1")), ..billing.subscription("sub_1", &other, DAY) };
        holder.stake = Some(billing.booked_stake(&holder, 100).await);
        billing.insert(&holder).await;
        billing.insert(&Subscription { session_id: Some(id("cs_1")), ..billing.subscription("sub_2", &plan, DAY * 30) }).await;
        billing.round().await;
        let first = last(&billing).await;
        let take = async |price: &str| {
            let choice = PlanChoice { price: id(price), quantity: Some(1), item: None };
            let shown = billing::preview_plan(&billing.ctx, &id("sub_2"), &choice).await.expect("is shown");
            let order = PlanOrder { choice, at: shown.at, expected: shown.total, credited: Some(shown.credited) };
            let done = billing::switch_plan(&billing.ctx, &id("sub_2"), &order, Requester::Store).await.expect("changes");
            assert_eq!(done, PlanSwitch::Switched);
            billing.send_all().await;
        };
        take("price_2").await;
        assert_eq!(billing.credit().await, 20 * UNIT);
        billing.networks.fault("refuse").await;
        take("price_3").await;
        let debt = last(&billing).await;
        assert_eq!((debt.status, debt.total.base_units()), (InvoiceStatus::Uncollectible, 30 * UNIT));
        let comment = String::new();
        let terms = CancelTerms {
            at: CancelAt::Now, refund: RefundChoice::None, stake: StakeChoice::None, slash_reason: String::new(), feedback: None, comment,
        };
        billing::cancel(&billing.ctx, Requester::Store, &id("sub_2"), &terms).await.expect("ends");
        billing::slash_stake(&billing.ctx, &id("sub_1"), Some(Amount::new(30 * UNIT)), "debt").await.expect("is ordered");
        billing.send_all().await;
        let debt = billing.invoices().await.into_iter().find(|one| one.id == debt.id).expect("stands");
        assert_eq!((debt.status, billing.credit().await), (InvoiceStatus::Void, 0), "its stake has paid 30, and credit 20");
        let most = billing::refundable(&billing.ctx, Mode::Test, &first.id).await.expect("is told").most;
        assert_eq!(most.base_units() / UNIT, 30, "60 were paid in all, and nothing is held");
    }
}
