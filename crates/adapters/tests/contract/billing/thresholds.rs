//! Usage that is billed before its period ends: nothing of it twice, neither asked for nor given back.

use super::bench::{Billing, DAY, MONTHLY};
use super::stakes::is_sound;
use crate::catalogue::price;
use crate::ledger::bench::UNIT;
use crate::till::id;
use souk_adapters::on_one;
use souk_adapters::persistence::SqlPrices;
use souk_domain::billing::{
    self, Invoice, InvoiceStatus, PlanChoice, PlanOrder, PlanSwitch, RefundChoice, RefundOrder, Requester, STAKE_WAITING, Subscription,
    SubscriptionItem, Threshold, UsageAction, UsageReport,
};
use souk_domain::payment::{self, AttemptContext, Decline, Outcome, Purpose, Trigger};
use souk_domain::pricing::{Aggregate, Price, Prices, Recurring, Tier, TiersMode, Usage};
use souk_domain::shared::{Amount, CustomerId, Mode};

pub const fn metered(aggregate: Aggregate) -> Recurring {
    Recurring { usage: Usage::Metered(aggregate), ..MONTHLY }
}

/// One subscription with a threshold of 50 tokens: an item whose last report counts, and one that is summed.
async fn subscribed(db: &souk_adapters::testing::TestDatabase) -> Billing {
    permitted(db, 1_000).await
}

/// The same, where the wallet permits charges of so many tokens.
async fn permitted(db: &souk_adapters::testing::TestDatabase, tokens: u128) -> Billing {
    let billing = Billing::open(db, tokens).await;
    let seats = billing.price("price_1", 1, metered(Aggregate::Last)).await;
    let calls = billing.price("price_2", 1, metered(Aggregate::Sum)).await;
    let mut one = billing.subscription("sub_1", &seats, DAY);
    one.items.push(SubscriptionItem { id: id("si_2"), price_id: calls.id, ..one.items[0].clone() });
    one.billing_threshold = Some(Threshold { amount: Amount::new(50 * UNIT), resets_anchor: false });
    billing.insert(&one).await;
    billing
}

/// One that has paid a bill for 100 seats and used fewer: the bill, and what is credit since.
async fn credited(db: &souk_adapters::testing::TestDatabase) -> (Billing, Invoice, u128) {
    let billing = subscribed(db).await;
    billing.used("si_1", 100).await;
    let first = billing.invoices().await.remove(0);
    billing.used("si_1", 20).await;
    billing.wait(DAY * 30);
    billing.round().await;
    let kept = billing.kept().await;
    assert!(kept > 0, "what was not used is credit");
    (billing, first, kept)
}

/// So many tokens are to go back; `None`: all that can.
fn back(tokens: Option<u128>) -> RefundOrder {
    let amount = tokens.map(|tokens| Amount::new(tokens * UNIT));
    RefundOrder { amount, invoice: None, reason: String::new(), description: String::new() }
}

impl Billing {
    async fn used(&self, item: &str, quantity: u64) {
        self.wait(std::time::Duration::from_secs(60));
        let report = UsageReport { item: id(item), quantity, action: UsageAction::Increment, at: None, identifier: None };
        billing::report_usage(&self.ctx, Mode::Test, &report).await.expect("is taken");
        self.send_all().await;
    }

    async fn take_plan(&self, price: &str) {
        self.wait(std::time::Duration::from_secs(60));
        let choice = PlanChoice { price: id(price), quantity: None, item: None };
        let shown = billing::preview_plan(&self.ctx, &id("sub_1"), &choice).await.expect("is shown");
        let order = PlanOrder { choice, at: shown.at, expected: shown.total, credited: Some(shown.credited) };
        assert_eq!(
            billing::switch_plan(&self.ctx, &id("sub_1"), &order, Requester::Customer).await.expect("changes"),
            PlanSwitch::Switched
        );
        self.send_all().await;
    }

    async fn kept(&self) -> u128 {
        let customers: [CustomerId; 1] = [id("cus_1")];
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.credits().of_all(&customers).await.expect("reads").iter().map(|credit| credit.amount.base_units()).sum()
    }

    /// What was paid and is not credit, in whole tokens.
    async fn spent(&self) -> u128 {
        let invoices = self.invoices().await;
        assert!(invoices.iter().all(|invoice| invoice.status == InvoiceStatus::Paid));
        let paid: u128 = invoices.iter().map(|invoice| invoice.amount_paid.base_units()).sum();
        (paid - self.kept().await) / UNIT
    }
}

/// The same, where the wallet permits next to nothing, and has staked 200.
async fn staked(db: &souk_adapters::testing::TestDatabase) -> Billing {
    let billing = permitted(db, 10).await;
    let stake = billing.booked_stake(&billing.find("sub_1").await, 200).await;
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    let one = unit.subscriptions().find(&id("sub_1")).await.expect("reads").expect("stands");
    assert!(unit.subscriptions().update(&Subscription { stake: Some(stake), ..one }).await.expect("writes"));
    unit.commit().await.expect("commits");
    billing
}

/// 1,100 seats were billed, which the wallet cannot pay.
async fn asked_for_more_than_there_is(db: &souk_adapters::testing::TestDatabase) -> Billing {
    let billing = subscribed(db).await;
    billing.write("UPDATE subscriptions SET days_until_cancel = 60").await;
    billing.networks.permit(5_000, 8).await;
    billing.used("si_1", 1_100).await;
    assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
    billing
}

/// The same, and in the end there were 20: the period is over.
async fn asked_too_much(db: &souk_adapters::testing::TestDatabase) -> Billing {
    let billing = asked_for_more_than_there_is(db).await;
    billing.used("si_1", 20).await;
    billing.wait(DAY * 30);
    billing.round().await;
    billing
}

on_one! {
    async fn what_earlier_bills_asked_too_much_is_given_back_once(db: &TestDatabase) {
        let billing = subscribed(db).await;
        billing.used("si_1", 100).await;
        assert_eq!(billing.spent().await, 100);
        billing.used("si_1", 20).await;
        billing.used("si_2", 60).await;
        assert_eq!(billing.spent().await, 80, "20 seats and 60 calls");
        billing.used("si_2", 50).await;
        assert_eq!(billing.spent().await, 130, "20 seats and 110 calls");
        billing.used("si_1", 90).await;
        assert_eq!(billing.spent().await, 200, "90 seats and 110 calls: what was given back is asked for again");
        billing.wait(DAY * 30);
        billing.round().await;
        let last = billing.invoices().await.pop().expect("an invoice");
        assert_eq!((last.total, billing.spent().await), (Amount::ZERO, 200), "nothing is left to bill, and nothing to give back");
        let kept: Subscription = billing.find("sub_1").await;
        assert!(kept.items.iter().all(|item| item.billed.is_none()));
    }

    async fn what_an_unpaid_bill_asked_too_much_is_credit_once_it_is_paid(db: &TestDatabase) {
        let billing = asked_too_much(db).await;
        assert_eq!(billing.kept().await, 0, "nobody has paid it");
        billing.networks.faucet().await;
        billing.wait(DAY);
        assert!(billing.retry().await > 0, "the first bill is collected");
        assert_eq!(billing.kept().await, 1_080 * UNIT);
        assert_eq!(billing.spent().await, 20, "20 seats, and what the next period begins with");
        is_sound(&billing).await;
    }

    async fn what_an_unpaid_bill_asked_too_much_is_nobodys_credit_when_it_is_taken_back(db: &TestDatabase) {
        let billing = asked_too_much(db).await;
        let first = billing.invoices().await.remove(0);
        billing::void_invoice(&billing.ctx, &first.id).await.expect("is taken back");
        assert_eq!(billing.kept().await, 0);
        is_sound(&billing).await;
    }

    async fn what_a_bill_that_asked_too_much_was_paid_goes_back_once(db: &TestDatabase) {
        let billing = asked_too_much(db).await;
        billing.networks.faucet().await;
        billing.wait(DAY);
        billing.retry().await;
        assert_eq!(billing.kept().await, 1_080 * UNIT);
        billing.end_with(RefundChoice::Last).await.expect("ends");
        assert_eq!((billing.refunds().await, billing.kept().await), (vec![1_100 * UNIT], 0));
        billing.send_all().await;
        is_sound(&billing).await;
    }

    async fn what_a_bill_asked_that_was_taken_back_is_nobodys_credit_when_there_was_less(db: &TestDatabase) {
        let billing = asked_for_more_than_there_is(db).await;
        let first = billing.invoices().await.remove(0);
        billing::void_invoice(&billing.ctx, &first.id).await.expect("is taken back");
        billing.used("si_1", 500).await;
        billing.used("si_2", 60).await;
        let early = billing.invoices().await.pop().expect("an invoice");
        assert_eq!((early.amount_paid, billing.kept().await), (Amount::new(60 * UNIT), 0), "600 seats less");
        billing.used("si_1", 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.kept().await, 0, "480 seats less");
        is_sound(&billing).await;
    }

    async fn what_was_asked_after_a_bill_was_taken_back_is_credit_when_there_was_less(db: &TestDatabase) {
        let billing = asked_for_more_than_there_is(db).await;
        let first = billing.invoices().await.remove(0);
        billing::void_invoice(&billing.ctx, &first.id).await.expect("is taken back");
        billing.used("si_1", 20).await;
        billing.used("si_2", 60).await;
        billing.used("si_1", 90).await;
        assert_eq!(billing.invoices().await.pop().map(|last| last.amount_paid), Some(Amount::new(70 * UNIT)));
        billing.used("si_1", 30).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.kept().await, 40 * UNIT, "70 were paid for 30 seats, and the 20 that nobody asks for are used up first");
        is_sound(&billing).await;
    }

    async fn what_goes_back_at_the_end_is_not_credit_as_well(db: &TestDatabase) {
        let billing = subscribed(db).await;
        billing.used("si_1", 100).await;
        billing.used("si_1", 20).await;
        billing.end_with(RefundChoice::Last).await.expect("ends");
        assert_eq!((billing.refunds().await, billing.kept().await), (vec![100 * UNIT], 0));
        billing.send_all().await;
        is_sound(&billing).await;
    }

    async fn what_was_given_back_of_a_bill_is_not_credit_when_there_was_less(db: &TestDatabase) {
        let billing = subscribed(db).await;
        billing.used("si_1", 100).await;
        let first = billing.invoices().await.remove(0);
        billing::refund_invoice(&billing.ctx, Mode::Test, &first.id, &back(Some(50))).await.expect("goes back");
        billing.used("si_1", 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.kept().await, 30 * UNIT, "100 less the 50 that went back, for 20 seats");
        is_sound(&billing).await;
    }

    async fn a_payment_that_goes_back_takes_the_credit_along_that_came_of_it(db: &TestDatabase) {
        let (billing, first, kept) = credited(db).await;
        billing::refund_invoice(&billing.ctx, Mode::Test, &first.id, &back(Some(10))).await.expect("goes back");
        assert_eq!(billing.kept().await, kept, "what is left of the payment covers it");
        billing::refund_invoice(&billing.ctx, Mode::Test, &first.id, &back(Some(90))).await.expect("goes back");
        assert_eq!(billing.kept().await, 0);
        billing.send_all().await;
        is_sound(&billing).await;
    }

    async fn credit_that_went_along_with_a_payment_comes_back_when_its_network_refuses(db: &TestDatabase) {
        let (billing, first, kept) = credited(db).await;
        let refund = billing::refund_invoice(&billing.ctx, Mode::Test, &first.id, &back(None)).await.expect("goes back").remove(0);
        assert_eq!(billing.kept().await, 0);
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let attempt = unit.attempts().open_of(&Purpose::Refund(refund.id)).await.expect("reads").expect("on its way");
        let method = unit.methods().find(&attempt.method_id).await.expect("reads").expect("stands");
        let currency = unit.methods().find_currency(&attempt.currency_id).await.expect("reads").expect("stands");
        let refused = Outcome::Declined(Decline { code: "declined".to_owned(), message: "No".to_owned() });
        let context = AttemptContext { attempt, method, currency };
        for _ in 0..2 {
            payment::record(&billing.ctx, unit.as_mut(), &context, &refused, Trigger::Initial).await.expect("notes");
        }
        unit.commit().await.expect("commits");
        assert_eq!(billing.kept().await, kept);
        is_sound(&billing).await;
    }

    async fn what_a_stake_has_paid_is_credit_when_there_was_less(db: &TestDatabase) {
        let billing = staked(db).await;
        billing.used("si_1", 100).await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        billing::slash_stake(&billing.ctx, &id("sub_1"), Some(Amount::new(100 * UNIT)), "owed").await.expect("is ordered");
        billing.send_all().await;
        billing.used("si_1", 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!((billing.networks.earned().await, billing.kept().await), (100, 80 * UNIT));
        is_sound(&billing).await;
    }

    async fn a_stake_is_not_taken_for_what_its_owner_would_get_back(db: &TestDatabase) {
        let billing = staked(db).await;
        billing.write("UPDATE subscriptions SET days_until_cancel = 60").await;
        billing.used("si_1", 100).await;
        billing.used("si_1", 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        billing::slash_stake(&billing.ctx, &id("sub_1"), Some(Amount::new(15 * UNIT)), "owed").await.expect("is ordered");
        billing.send_all().await;
        assert_eq!((billing.networks.earned().await, billing.kept().await), (15, 0));
        is_sound(&billing).await;
        billing.end_with(RefundChoice::None).await.expect("ends");
        billing.wait(STAKE_WAITING);
        billing.round().await;
        assert_eq!((billing.networks.earned().await, billing.kept().await), (20, 0), "20 seats");
        assert!(billing.statuses().await.iter().all(|status| *status != InvoiceStatus::Uncollectible), "all is settled");
        is_sound(&billing).await;
    }

    async fn a_bill_that_would_give_back_what_is_not_paid_waits(db: &TestDatabase) {
        let billing = subscribed(db).await;
        let report = |item: &'static str, quantity| UsageReport { item: id(item), quantity, action: UsageAction::Increment, at: None, identifier: None };
        for (item, quantity) in [("si_1", 100), ("si_1", 20), ("si_2", 60)] {
            billing.wait(std::time::Duration::from_secs(60));
            billing::report_usage(&billing.ctx, Mode::Test, &report(item, quantity)).await.expect("is taken");
        }
        assert_eq!(billing.statuses().await, [InvoiceStatus::Open], "the first is on its way");
        billing.send_all().await;
        billing.used("si_2", 1).await;
        assert_eq!(billing.spent().await, 81, "20 seats and 61 calls");
    }

    async fn a_change_of_plan_does_not_begin_a_free_tier_anew(db: &TestDatabase) {
        let billing = Billing::open(db, 10_000).await;
        let tier = |up_to, tokens: u128| Tier { up_to, unit_amount: Amount::new(tokens * UNIT), flat_amount: Amount::ZERO };
        let mut session = billing.database().begin().await.expect("begins");
        let mut prices = Vec::new();
        for (name, tokens) in [("price_1", 1), ("price_2", 2)] {
            let tiers = vec![tier(Some(100), 0), tier(None, tokens)];
            let tiered = Price { tiers_mode: Some(TiersMode::Graduated), tiers, recurring: Some(metered(Aggregate::Sum)), ..price(name, 0) };
            SqlPrices(&mut session).insert(&tiered).await.expect("inserts");
            prices.push(tiered);
        }
        session.commit().await.expect("commits");
        billing.insert(&billing.subscription("sub_1", &prices[0], DAY)).await;
        for price in ["price_2", "price_1", "price_2"] {
            billing.used("si_1", 90).await;
            billing.take_plan(price).await;
        }
        assert_eq!(billing.spent().await, 80 * 2 + 90, "180 of which 100 are free at the dear price, then 90 at the cheap one");
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.invoices().await.pop().map(|last| last.total), Some(Amount::ZERO), "all was billed at the price of then");
    }

    async fn a_number_that_stands_for_the_period_costs_the_dearest_plan_of_it_once(db: &TestDatabase) {
        let billing = Billing::open(db, 10_000).await;
        let seats = billing.price("price_1", 1, metered(Aggregate::Max)).await;
        billing.price("price_2", 3, metered(Aggregate::Max)).await;
        billing.price("price_3", 2, metered(Aggregate::Sum)).await;
        billing.insert(&billing.subscription("sub_1", &seats, DAY)).await;
        billing.used("si_1", 10).await;
        let others: Vec<_> = billing::plans(&billing.ctx, &id("sub_1")).await.expect("plans").into_iter().map(|(price, _)| price.id).collect();
        assert_eq!(others, [id("price_2")], "what is counted otherwise is no plan");
        billing.take_plan("price_2").await;
        assert_eq!(billing.spent().await, 10);
        for price in ["price_1", "price_2", "price_1"] {
            billing.take_plan(price).await;
            assert_eq!(billing.spent().await, 30, "the ten at three, once");
        }
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.spent().await, 30);
    }

    async fn a_threshold_bills_usage_alone_where_an_end_was_asked_for(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let calls = billing.price("price_2", 1, metered(Aggregate::Sum)).await;
        let seat = billing.price("price_1", 30, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &seat, DAY);
        one.items.push(SubscriptionItem { id: id("si_2"), price_id: calls.id, ..one.items[0].clone() });
        one.billing_threshold = Some(Threshold { amount: Amount::new(50 * UNIT), resets_anchor: true });
        one.cancel_at_period_end = true;
        billing.insert(&one).await;
        let ends = billing.find("sub_1").await.ends_at();
        billing.wait(DAY * 20);
        billing.used("si_2", 60).await;
        billing.send_all().await;
        assert_eq!((billing.find("sub_1").await.ends_at(), billing.spent().await), (ends, 60));
    }
}
