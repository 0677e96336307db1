//! Changes of plan: nobody is credited for what they did not pay, or got back, or was credited for before.

use super::bench::{Billing, DAY, MONTHLY};
use crate::ledger::bench::UNIT;
use crate::till::id;
use souk_adapters::on_both;
use souk_domain::billing::{
    self, CancelAt, CancelTerms, InvoiceStatus, ManageError, PlanChoice, PlanOrder, PlanPreview, PlanSwitch, RefundChoice, RefundOrder,
    Requester, StakeChoice, SubscriptionItem, SubscriptionStatus,
};
use souk_domain::payment::{Purpose, RefundFilter, RefundStatus};
use souk_domain::pricing::{Anchoring, Cycle, Interval, Recurring, Usage};
use souk_domain::shared::{Amount, CustomerId, Mode, Page, SubscriptionId, Timestamp};
use std::time::Duration;

const fn every(interval: Interval) -> Recurring {
    Recurring { cycle: Cycle { interval, count: 1, anchoring: Anchoring::Fixed }, usage: Usage::Licensed }
}

/// What is due, and what is kept as credit.
type Agreed = (Amount, Option<Amount>);

fn sub() -> SubscriptionId {
    id("sub_1")
}

fn choice(price: &str, quantity: u64) -> PlanChoice {
    PlanChoice { price: id(price), quantity: Some(quantity), item: None }
}

/// A subscription to so many of a price, its current period paid just now.
async fn subscribed(db: &souk_adapters::testing::TestDatabase, tokens: u128, quantity: u64, recurring: Recurring) -> Billing {
    let billing = Billing::open(db, 1_000).await;
    let price = billing.price("price_1", tokens, recurring).await;
    let ago = Duration::from_secs(recurring.cycle.interval.seconds());
    let mut one = billing.subscription("sub_1", &price, ago);
    one.items = one.items.into_iter().map(|item| SubscriptionItem { quantity, ..item }).collect();
    billing.insert(&one).await;
    billing.round().await;
    assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
    billing
}

impl Billing {
    async fn preview(&self, price: &str, quantity: u64) -> PlanPreview {
        billing::preview_plan(&self.ctx, &sub(), &choice(price, quantity)).await.expect("is shown")
    }

    async fn switch(&self, price: &str, quantity: u64, at: Timestamp, agreed: Agreed) -> Result<PlanSwitch, ManageError> {
        let (expected, credited) = agreed;
        let order = PlanOrder { choice: choice(price, quantity), at, expected, credited };
        billing::switch_plan(&self.ctx, &sub(), &order).await
    }

    /// Accepts what is shown, and lets it be charged.
    async fn accept(&self, price: &str, quantity: u64) -> PlanPreview {
        let shown = self.preview(price, quantity).await;
        let agreed = (shown.total, Some(shown.credited));
        assert_eq!(self.switch(price, quantity, shown.at, agreed).await.expect("changes"), PlanSwitch::Switched);
        self.send_all().await;
        shown
    }

    async fn credit(&self) -> u128 {
        let customers: [CustomerId; 1] = [id("cus_1")];
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.credits().of_all(&customers).await.expect("reads").iter().map(|credit| credit.amount.base_units()).sum()
    }

    async fn end_with(&self, refund: RefundChoice) -> Result<(), ManageError> {
        let (slash_reason, comment) = (String::new(), String::new());
        let terms = CancelTerms { at: CancelAt::Now, refund, stake: StakeChoice::None, slash_reason, feedback: None, comment };
        billing::cancel(&self.ctx, Requester::Store, &sub(), &terms).await.map(drop)
    }

    /// What goes back, newest payment first.
    async fn refunds(&self) -> Vec<u128> {
        let mut unit = self.ctx.store.read().await.expect("reads");
        let listed = unit.refunds().list(Mode::Test, &RefundFilter::default(), &Page::new(None, None)).await.expect("reads").list;
        let mut listed: Vec<_> = listed.into_iter().filter(|refund| refund.status != RefundStatus::Failed).collect();
        listed.sort_by(|one, other| other.invoice_id.cmp(&one.invoice_id));
        listed.iter().map(|refund| refund.amount.base_units()).collect()
    }
}

fn nothing_due(credited: Option<Amount>) -> Agreed {
    (Amount::ZERO, credited)
}

on_both! {
    async fn a_change_for_a_moment_before_the_last_change_is_not_made(db: &TestDatabase) {
        let billing = subscribed(db, 10, 5, MONTHLY).await;
        billing.wait(DAY * 15);
        let shown = billing.accept("price_1", 1).await;
        assert_eq!((shown.credited.base_units(), billing.credit().await), (20 * UNIT, 20 * UNIT));
        for seconds in 1..4u64 {
            let at = shown.at.minus(Duration::from_secs(seconds));
            let answer = billing.switch("price_1", 4, at, nothing_due(None)).await;
            assert!(matches!(answer, Err(ManageError::PreviewChanged)), "{answer:?}");
        }
        assert_eq!((billing.credit().await, billing.find("sub_1").await.items[0].quantity), (20 * UNIT, 1));
        billing.wait(DAY);
        billing.accept("price_1", 2).await;
        assert!(billing.credit().await < 20 * UNIT, "a later change is made");
    }

    async fn changes_within_one_second_credit_what_the_one_before_was_paid(db: &TestDatabase) {
        let billing = subscribed(db, 10, 5, MONTHLY).await;
        billing.wait(DAY * 15);
        for _ in 0..6 {
            let down = billing.accept("price_1", 1).await;
            assert_eq!((down.credit.base_units(), billing.credit().await), (25 * UNIT, 20 * UNIT));
            let up = billing.accept("price_1", 5).await;
            assert_eq!((up.at, up.credit.base_units(), billing.credit().await), (down.at, 5 * UNIT, 0));
        }
    }

    async fn of_two_changes_that_were_shown_one_after_the_other_the_second_is_shown_again(db: &TestDatabase) {
        let billing = subscribed(db, 10, 5, MONTHLY).await;
        billing.wait(DAY * 15);
        let first = billing.preview("price_1", 3).await;
        billing.wait(Duration::from_secs(300));
        let second = billing.preview("price_1", 2).await;
        assert_eq!((first.total, second.total), (Amount::ZERO, Amount::ZERO));
        billing.switch("price_1", 3, first.at, nothing_due(Some(first.credited))).await.expect("changes");
        let answer = billing.switch("price_1", 2, second.at, nothing_due(Some(second.credited))).await;
        assert!(matches!(answer, Err(ManageError::PreviewChanged)), "{answer:?}");
    }

    async fn a_short_period_cannot_be_given_back_when_it_is_over(db: &TestDatabase) {
        let billing = subscribed(db, 10, 5, every(Interval::Hour)).await;
        let begun = billing.find("sub_1").await.period.start;
        billing.wait(Duration::from_secs(59 * 60));
        let answer = billing.switch("price_1", 1, begun, nothing_due(None)).await;
        assert!(matches!(answer, Err(ManageError::PreviewChanged)), "{answer:?}");
        billing.accept("price_1", 1).await;
    }

    async fn what_was_given_back_is_not_credited(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        billing.wait(DAY * 10);
        assert_eq!(billing.preview("price_2", 1).await.credit, Amount::new(20 * UNIT));
        let intent = billing.invoices().await[0].intent_id.clone().expect("a payment");
        let order = |amount| RefundOrder { amount: Some(Amount::new(amount)), invoice: None, reason: String::new(), description: String::new() };
        billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(15 * UNIT)).await.expect("is ordered");
        assert_eq!(billing.preview("price_2", 1).await.credit, Amount::new(10 * UNIT));
        billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(15 * UNIT)).await.expect("is ordered");
        let shown = billing.preview("price_2", 1).await;
        assert_eq!((shown.credit, shown.total), (Amount::ZERO, shown.charge));
    }

    async fn what_is_left_of_a_dearer_plan_is_given_back_once(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        billing.wait(DAY * 10);
        let shown = billing.accept("price_2", 1).await;
        let third = 20 * UNIT / 3;
        assert_eq!((shown.charge.base_units(), billing.credit().await), (third, 20 * UNIT - third));
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!((billing.refunds().await, billing.credit().await), (vec![third], 20 * UNIT - third));
    }

    async fn what_an_earlier_plan_paid_of_this_one_is_given_back_too(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 300, every(Interval::Year)).await;
        billing.wait(DAY * 10);
        let shown = billing.accept("price_2", 1).await;
        assert_eq!((shown.credit.base_units(), shown.total.base_units()), (20 * UNIT, 280 * UNIT));
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid; 2]);
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(billing.refunds().await, [280 * UNIT, 20 * UNIT]);
    }

    async fn an_unchanged_plan_gives_back_what_is_left_of_its_payment(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.wait(DAY * 10);
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(billing.refunds().await, [20 * UNIT]);
    }

    async fn nothing_is_given_back_while_a_renewal_is_on_its_way(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.wait(DAY * 30);
        let renewal = billing.round_unsent().await;
        for refund in [RefundChoice::Last, RefundChoice::Proration] {
            let answer = billing.end_with(refund).await;
            assert!(matches!(answer, Err(ManageError::PaymentInFlight)), "{answer:?}");
        }
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
        billing::charge(&billing.ctx, &renewal).await.expect("charges");
        billing.end_with(RefundChoice::Last).await.expect("ends");
        assert_eq!(billing.refunds().await, [30 * UNIT]);
        let refunded = billing.invoices().await[1].intent_id.clone().expect("a payment");
        let mut unit = billing.ctx.store.read().await.expect("reads");
        assert_eq!(unit.refunds().of_intent(&refunded).await.expect("reads").len(), 1, "it is the last payment");
        let refund = unit.refunds().of_intent(&refunded).await.expect("reads").remove(0);
        assert!(unit.attempts().open_of(&Purpose::Refund(refund.id)).await.expect("reads").is_some());
    }
}
