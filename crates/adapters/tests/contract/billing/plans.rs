//! Changes of plan: nobody is credited for what they did not pay, or got back, or was credited for before.

use super::bench::{Billing, DAY, MONTHLY};
use crate::ledger::bench::UNIT;
use crate::till::{id, intent, wallet_attempt};
use souk_adapters::on_both;
use souk_domain::billing::{
    self, CancelAt, CancelTerms, Credit, Invoice, InvoiceStatus, ManageError, PlanChoice, PlanOrder, PlanPreview, PlanSwitch, RefundChoice,
    RefundOrder, Requester, StakeChoice, SubscriptionItem, SubscriptionStatus,
};
use souk_domain::payment::{
    Asker, Attempt, Intent, Mandate, MandateStatus, Outcome, Purpose, Pursued, RefundFilter, RefundStatus, Settlement,
};
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

/// A customer's own transfer pays all of these at once.
async fn pay_together(billing: &Billing, invoices: &[Invoice]) {
    let total = Amount::sum(invoices.iter().map(|invoice| invoice.total)).expect("fits");
    let first = &invoices[0];
    let (method_id, currency_id) = (first.method_id.clone(), first.currency_id.clone());
    let intent = Intent {
        amount: total,
        method_id: method_id.clone(),
        currency_id: currency_id.clone(),
        customer_id: id("cus_1"),
        session_id: None,
        subscription_id: None,
        invoices: invoices.iter().map(|invoice| invoice.id.clone()).collect(),
        ..intent("pi_both")
    };
    let attempt = Attempt { method_id, currency_id, session_id: None, amount: total, ..wallet_attempt("att_both", "pi_both", "0x7") };
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.intents().put(&intent).await.expect("inserts");
    unit.attempts().insert(&attempt, &intent.invoices).await.expect("inserts");
    let payer = billing.networks.wallet.did().to_string();
    let settlement = Settlement { reference: "0x7".to_owned(), payer, amount: total, card: None };
    let pursued = Pursued { attempt, method: billing.networks.method.clone(), currency: billing.networks.currency.clone() };
    billing::note(&billing.ctx, unit.as_mut(), &pursued, &Outcome::Settled(settlement), Asker::Worker).await.expect("is written");
    unit.commit().await.expect("commits");
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

    async fn what_was_given_back_for_one_subscription_is_not_taken_off_another_that_was_paid_with_it(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let price = billing.price("price_1", 30, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        for name in ["sub_1", "sub_2"] {
            billing.insert(&billing.subscription(name, &price, DAY * 30)).await;
        }
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let mandate = unit.mandates().find(&id("man_1")).await.expect("reads").expect("stands");
        unit.mandates().put(&Mandate { status: MandateStatus::Ended, ..mandate }).await.expect("writes");
        unit.commit().await.expect("commits");
        billing.round().await;
        let both = billing.invoices().await;
        assert!(both.iter().all(|invoice| invoice.status == InvoiceStatus::Uncollectible));
        pay_together(&billing, &both).await;
        let intent = billing.invoices().await[0].intent_id.clone().expect("a payment");
        let one = both.iter().find(|invoice| invoice.subscription_id == Some(id("sub_2"))).expect("stands");
        let order = |amount: u128, invoice: Option<&Invoice>| RefundOrder {
            amount: Some(Amount::new(amount * UNIT)),
            invoice: invoice.map(|invoice| invoice.id.clone()),
            reason: String::new(),
            description: String::new(),
        };
        let beyond = billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(31, Some(one))).await;
        assert!(matches!(beyond, Err(ManageError::OverRefund)), "{beyond:?}");
        billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(20, Some(one))).await.expect("is ordered");
        let beyond = billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(11, Some(one))).await;
        assert!(matches!(beyond, Err(ManageError::OverRefund)), "{beyond:?}");
        let rest = RefundOrder { amount: None, ..order(0, Some(one)) };
        let rest = billing::refund_payment(&billing.ctx, Mode::Test, &intent, &rest).await.expect("is ordered");
        assert_eq!(rest.amount, Amount::new(10 * UNIT), "all that is left of it");
        billing.wait(DAY * 10);
        assert_eq!(billing.preview("price_2", 1).await.credit, Amount::new(20 * UNIT), "sub_1 is paid as before");
        // Nobody knows which one a refund was for that names none.
        let nameless = billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(15, None)).await.expect("is ordered");
        assert_eq!((nameless.invoice_id, billing.preview("price_2", 1).await.credit), (None, Amount::new(10 * UNIT)));
    }

    async fn the_last_payment_goes_back_and_so_does_the_credit_that_was_kept_of_it(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        billing.wait(DAY * 10);
        billing.accept("price_2", 1).await;
        let kept = 20 * UNIT - 20 * UNIT / 3;
        assert_eq!(billing.credit().await, kept);
        billing.end_with(RefundChoice::Last).await.expect("ends");
        assert_eq!((billing.refunds().await, billing.credit().await), (vec![30 * UNIT], 0));
    }

    async fn of_the_last_payment_nothing_goes_back_that_was_credited_and_spent_elsewhere(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        billing.wait(DAY * 10);
        billing.accept("price_2", 1).await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let currency_id = billing.networks.currency.id.clone();
        let spent = Credit { customer_id: id("cus_1"), currency_id, amount: Amount::new(12 * UNIT) };
        assert!(unit.credits().take(&spent).await.expect("takes"));
        unit.commit().await.expect("commits");
        billing.end_with(RefundChoice::Last).await.expect("ends");
        assert_eq!((billing.refunds().await, billing.credit().await), (vec![18 * UNIT], 0));
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
