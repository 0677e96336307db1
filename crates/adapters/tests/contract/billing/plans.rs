//! Plan changes: the unused time of a line is credited once, and charges are prorated to the second.

use super::bench::{Billing, DAY, MONTHLY, planned, refund_order};
use crate::checkout_fixtures::{id, intent, wallet_attempt};
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{
    self, CancelError, CreditNoteReason, Invoice, InvoiceStatus, NoteError, PaymentSource, PlanChoice, PlanError, PlanOrder, PlanPreview,
    PlanSwitch, RefundChoice, RefundError, RefundOrder, Requester, SubscriptionError, SubscriptionItem, SubscriptionStatus,
};
use souk_domain::payment::{self, Attempt, AttemptContext, Intent, Mandate, MandateStatus, Outcome, Purpose, Settlement, Trigger};
use souk_domain::pricing::{Anchoring, Interval, QuantityError, Recurring, RecurringInterval, Usage};
use souk_domain::shared::{Amount, Mode, SubscriptionId, Timestamp};
use std::time::Duration;

const fn every(interval: Interval) -> Recurring {
    Recurring { cycle: RecurringInterval { interval, count: 1, anchoring: Anchoring::Fixed }, usage: Usage::Licensed }
}

/// The amount due, and the amount credited to the balance.
type Agreed = (Amount, Option<Amount>);

fn sub() -> SubscriptionId {
    id("sub_1")
}

fn choice(price: &str, quantity: u64) -> PlanChoice {
    PlanChoice { price: id(price), quantity: Some(quantity), item: None }
}

/// A customer with a subscription to `quantity` units of a price, whose current period was just paid.
pub async fn subscribed(db: &TestDatabase, tokens: u128, quantity: u64, recurring: Recurring) -> Billing {
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
    pub async fn preview(&self, price: &str, quantity: u64) -> PlanPreview {
        billing::preview_plan(&self.ctx, &sub(), &choice(price, quantity)).await.expect("is shown")
    }

    async fn switch(&self, price: &str, quantity: u64, at: Timestamp, agreed: Agreed) -> Result<PlanSwitch, PlanError> {
        let (expected, credited) = agreed;
        let order = PlanOrder { choice: choice(price, quantity), at, expected, credited };
        billing::switch_plan(&self.ctx, &sub(), &order, Requester::Customer).await
    }

    /// Accepts the previewed plan change and sends the charge.
    pub async fn accept(&self, price: &str, quantity: u64) -> PlanPreview {
        let shown = self.preview(price, quantity).await;
        let agreed = (shown.total, Some(shown.credited));
        assert_eq!(self.switch(price, quantity, shown.at, agreed).await.expect("changes"), PlanSwitch::Switched);
        self.send_all().await;
        shown
    }
}

/// Pays several invoices together with one transfer of the customer.
pub async fn pay_together(billing: &Billing, invoices: &[Invoice]) {
    let total = Amount::sum(invoices.iter().map(Invoice::remaining)).expect("fits");
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
    unit.intents().upsert(&intent).await.expect("inserts");
    unit.attempts().insert(&attempt, &invoices.iter().flat_map(planned).collect::<Vec<_>>()).await.expect("inserts");
    let payer = billing.networks.wallet.did().to_string();
    let settlement = Settlement { reference: "0x7".to_owned(), payer, amount: total, card: None };
    let context = AttemptContext { attempt, method: billing.networks.method.clone(), currency: billing.networks.currency.clone() };
    payment::record(&billing.ctx, unit.as_mut(), &context, &Outcome::Settled(settlement), Trigger::Reconciler).await.expect("is written");
    unit.commit().await.expect("commits");
}

fn nothing_due(credited: Option<Amount>) -> Agreed {
    (Amount::ZERO, credited)
}

on_one! {
    async fn a_plan_change_cannot_exceed_the_stock(db: &TestDatabase) {
        let billing = subscribed(db, 10, 2, MONTHLY).await;
        billing.price("price_2", 20, MONTHLY).await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let mut scarce = unit.prices().find(&id("price_2")).await.expect("reads").expect("is there");
        assert!(unit.prices().set_stock(&scarce.id, 3, billing.ctx.now()).await.expect("limits"));
        scarce.quantity_limit_per_checkout = 3;
        unit.prices().update(&scarce).await.expect("limits");
        unit.commit().await.expect("commits");
        for (quantity, expected) in [(4, QuantityError::ExceedInventory), (3, QuantityError::ExceedPurchaseLimit)] {
            if expected == QuantityError::ExceedPurchaseLimit {
                let mut unit = billing.ctx.store.begin().await.expect("begins");
                scarce.quantity_limit_per_checkout = 2;
                unit.prices().update(&scarce).await.expect("limits");
                unit.commit().await.expect("commits");
            }
            let refused = billing::preview_plan(&billing.ctx, &sub(), &choice("price_2", quantity)).await;
            assert!(matches!(&refused, Err(PlanError::Quantity(error)) if *error == expected), "{quantity}: {refused:?}");
        }
        billing.accept("price_2", 2).await;
    }

    async fn a_plan_change_locks_the_amounts_of_the_new_price(db: &TestDatabase) {
        let billing = subscribed(db, 10, 1, MONTHLY).await;
        billing.price("price_2", 20, MONTHLY).await;
        let mut connection = billing.database().begin().await.expect("begins");
        connection.query("UPDATE prices SET locked = FALSE WHERE id = 'price_2'").execute().await.expect("updates");
        connection.commit().await.expect("commits");
        let is_locked = async || {
            let mut unit = billing.ctx.store.read().await.expect("reads");
            unit.prices().find(&id("price_2")).await.expect("reads").expect("exists").locked
        };
        billing.preview("price_2", 1).await;
        assert!(!is_locked().await, "the order names the previewed total, which is compared");
        billing.accept("price_2", 1).await;
        assert!(is_locked().await);
    }

    async fn a_change_dated_before_the_last_change_is_rejected(db: &TestDatabase) {
        let billing = subscribed(db, 10, 5, MONTHLY).await;
        billing.wait(DAY * 15);
        let shown = billing.accept("price_1", 1).await;
        assert_eq!((shown.credited.base_units(), billing.customer_balance().await), (20 * UNIT, 20 * UNIT));
        for seconds in 1..4u64 {
            let at = shown.at.minus(Duration::from_secs(seconds));
            let answer = billing.switch("price_1", 4, at, nothing_due(None)).await;
            assert!(matches!(answer, Err(PlanError::PreviewChanged)), "{answer:?}");
        }
        assert_eq!((billing.customer_balance().await, billing.find("sub_1").await.items[0].quantity), (20 * UNIT, 1));
        billing.wait(DAY);
        billing.accept("price_1", 2).await;
        assert!(billing.customer_balance().await < 20 * UNIT, "a later change is made");
    }

    async fn a_change_within_the_same_second_credits_the_charge_of_the_previous_one(db: &TestDatabase) {
        let billing = subscribed(db, 10, 5, MONTHLY).await;
        billing.wait(DAY * 15);
        for _ in 0..6 {
            let down = billing.accept("price_1", 1).await;
            assert_eq!((down.credit.base_units(), billing.customer_balance().await), (25 * UNIT, 20 * UNIT));
            let up = billing.accept("price_1", 5).await;
            assert_eq!((up.at, up.credit.base_units(), billing.customer_balance().await), (down.at, 5 * UNIT, 0));
        }
    }

    async fn a_preview_made_before_another_change_must_be_shown_again(db: &TestDatabase) {
        let billing = subscribed(db, 10, 5, MONTHLY).await;
        billing.wait(DAY * 15);
        let first = billing.preview("price_1", 3).await;
        billing.wait(Duration::from_secs(300));
        let second = billing.preview("price_1", 2).await;
        assert_eq!((first.total, second.total), (Amount::ZERO, Amount::ZERO));
        billing.switch("price_1", 3, first.at, nothing_due(Some(first.credited))).await.expect("changes");
        let answer = billing.switch("price_1", 2, second.at, nothing_due(Some(second.credited))).await;
        assert!(matches!(answer, Err(PlanError::PreviewChanged)), "{answer:?}");
    }

    async fn a_period_that_is_over_gives_no_credit(db: &TestDatabase) {
        let billing = subscribed(db, 10, 5, every(Interval::Hour)).await;
        let begun = billing.find("sub_1").await.period.start;
        billing.wait(Duration::from_secs(59 * 60));
        let answer = billing.switch("price_1", 1, begun, nothing_due(None)).await;
        assert!(matches!(answer, Err(PlanError::PreviewChanged)), "{answer:?}");
        billing.accept("price_1", 1).await;
    }

    async fn a_change_of_plan_credits_nothing_that_was_refunded(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        billing.wait(DAY * 10);
        assert_eq!(billing.preview("price_2", 1).await.credit, Amount::new(20 * UNIT));
        let intent = billing.invoices().await[0].intent_id.clone().expect("a payment");
        for left in [15 * UNIT, 0] {
            billing::refund_payment(&billing.ctx, Mode::Test, &intent, &refund_order(Some(15 * UNIT))).await.expect("is ordered");
            billing.send_all().await;
            let shown = billing.preview("price_2", 1).await;
            assert_eq!((shown.credit.base_units(), shown.total), (left, shown.charge.minus(shown.applied).expect("fits")));
        }
        billing.is_sound().await;
    }

    async fn a_refund_of_one_subscription_does_not_affect_another_of_the_same_payment(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let price = billing.price("price_1", 30, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        for name in ["sub_1", "sub_2"] {
            billing.insert(&billing.subscription(name, &price, DAY * 30)).await;
        }
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let mandate = unit.mandates().find(&id("man_1")).await.expect("reads").expect("exists");
        unit.mandates().upsert(&Mandate { status: MandateStatus::Ended, ..mandate }).await.expect("writes");
        unit.commit().await.expect("commits");
        billing.round().await;
        let both = billing.invoices().await;
        assert!(both.iter().all(|invoice| invoice.status == InvoiceStatus::Uncollectible));
        pay_together(&billing, &both).await;
        let intent = billing.invoices().await[0].intent_id.clone().expect("a payment");
        let one = both.iter().find(|invoice| invoice.subscription_id == Some(id("sub_2"))).expect("exists");
        let order = |amount: u128, invoice: Option<&Invoice>| {
            RefundOrder { invoice: invoice.map(|invoice| invoice.id.clone()), ..refund_order(Some(amount * UNIT)) }
        };
        let beyond = billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(31, Some(one))).await;
        assert!(matches!(beyond, Err(RefundError::Note(NoteError::OverRefund))), "{beyond:?}");
        billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(20, Some(one))).await.expect("is ordered");
        let beyond = billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(11, Some(one))).await;
        assert!(matches!(beyond, Err(RefundError::Note(NoteError::OverRefund))), "{beyond:?}");
        let rest = RefundOrder { amount: None, ..order(0, Some(one)) };
        let rest = billing::refund_payment(&billing.ctx, Mode::Test, &intent, &rest).await.expect("is ordered");
        assert_eq!(rest.refunds[0].amount, Amount::new(10 * UNIT), "all that is left of it");
        billing.wait(DAY * 10);
        assert_eq!(billing.preview("price_2", 1).await.credit, Amount::new(20 * UNIT), "sub_1 is paid as before");
        // A refund that names no invoice is spread over each in turn.
        let other = both.iter().find(|invoice| invoice.subscription_id == Some(id("sub_1"))).expect("exists");
        let nameless = billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(15, None)).await.expect("is ordered");
        let listed: Vec<_> = nameless.refunds.iter().map(|refund| (refund.invoice_id.clone(), refund.amount.base_units())).collect();
        assert_eq!(listed, [(Some(other.id.clone()), 15 * UNIT)]);
    }

    async fn unused_time_is_credited_once_even_if_the_plan_changes_twice(db: &TestDatabase) {
        let billing = subscribed(db, 1_000, 1, MONTHLY).await;
        for (name, tokens) in [("price_2", 500), ("price_3", 200)] {
            billing.price(name, tokens, MONTHLY).await;
        }
        let first = billing.last().await;
        billing.wait(DAY * 15);
        billing.accept("price_2", 1).await;
        let line = billing.lines(&first).await.remove(0);
        assert_eq!((line.credited, line.covers_until), (Amount::new(500 * UNIT), Some(billing.ctx.now())));
        assert_eq!(billing.customer_balance().await, 250 * UNIT, "half of 1,000 less half of 500");
        billing.wait(DAY * 5);
        let shown = billing.accept("price_3", 1).await;
        let (credit, charge) = (250 * UNIT * 2 / 3, 200 * UNIT / 3);
        assert_eq!((shown.credit.base_units(), shown.charge.base_units()), (credit, charge), "not 333 of the first line once more");
        assert_eq!(billing.customer_balance().await, 250 * UNIT + credit - charge);
        let notes = billing.notes().await;
        let listed: Vec<_> = notes.iter().map(|note| (note.reason, note.total.base_units(), note.to_balance.base_units())).collect();
        let reason = CreditNoteReason::PlanChange;
        assert_eq!(listed, [(reason, 500 * UNIT, 500 * UNIT), (reason, credit, credit)]);
        billing.is_sound().await;
    }

    async fn two_plan_changes_on_one_day_cost_the_same_as_one(db: &TestDatabase) {
        let billing = subscribed(db, 1_000, 1, MONTHLY).await;
        for (name, tokens) in [("price_2", 500), ("price_3", 200)] {
            billing.price(name, tokens, MONTHLY).await;
        }
        billing.wait(DAY * 15);
        let direct = billing.preview("price_3", 1).await;
        billing.accept("price_2", 1).await;
        let second = billing.accept("price_3", 1).await;
        assert_eq!((second.credit.base_units(), second.charge), (250 * UNIT, direct.charge));
        assert_eq!(billing.customer_balance().await, direct.credited.base_units());
        let totals: Vec<_> = billing.invoices().await.iter().map(|one| (one.status, one.total.base_units() / UNIT)).collect();
        let paid = InvoiceStatus::Paid;
        assert_eq!(totals, [(paid, 1_000), (paid, 250), (paid, 100)], "charges only, and all of them paid");
        billing.is_sound().await;
    }

    async fn a_change_without_a_charge_creates_no_invoice(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 0, MONTHLY).await;
        billing.wait(DAY * 10);
        let shown = billing.accept("price_2", 1).await;
        assert_eq!((shown.total, shown.charge, shown.credited.base_units()), (Amount::ZERO, Amount::ZERO, 20 * UNIT));
        assert_eq!((billing.invoices().await.len(), billing.notes().await.len()), (1, 1));
        assert_eq!(billing.find("sub_1").await.items[0].price_id, id("price_2"));
        billing.is_sound().await;
    }

    async fn the_unused_time_of_a_more_expensive_plan_is_credited_once(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        billing.wait(DAY * 10);
        let shown = billing.accept("price_2", 1).await;
        let third = 20 * UNIT / 3;
        assert_eq!((shown.charge.base_units(), billing.customer_balance().await), (third, 20 * UNIT - third));
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!((billing.refunded().await, billing.customer_balance().await), (vec![], 20 * UNIT), "the balance had paid it");
        billing.is_sound().await;
    }

    async fn the_part_paid_by_the_credit_of_an_earlier_plan_returns_to_the_balance_at_the_end(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 300, every(Interval::Year)).await;
        billing.wait(DAY * 10);
        let shown = billing.accept("price_2", 1).await;
        assert_eq!((shown.credit.base_units(), shown.total.base_units()), (20 * UNIT, 280 * UNIT));
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid; 2]);
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!((billing.refunded().await, billing.customer_balance().await), (vec![280 * UNIT], 20 * UNIT));
        billing.is_sound().await;
    }

    async fn a_line_in_another_currency_is_refunded_to_its_payment_and_gives_no_credit(db: &TestDatabase) {
        let billing = subscribed(db, 30, 6, MONTHLY).await;
        billing.wait(DAY * 10);
        billing.move_payments_to_currency("OLD").await;
        let shown = billing.accept("price_1", 3).await;
        assert_eq!((shown.unused.len(), shown.credit, shown.total), (1, Amount::ZERO, Amount::new(60 * UNIT)));
        let [note] = &billing.notes().await[..] else { panic!("one note") };
        assert_eq!((note.total, note.refunded, note.to_balance), (Amount::new(120 * UNIT), Amount::new(120 * UNIT), Amount::ZERO));
        assert_eq!((billing.refunded().await, billing.customer_balance().await), (vec![120 * UNIT], 0));
        assert_eq!(billing.networks.store_balance().await, 180 - 120 + 60);
        billing.is_sound().await;
    }

    async fn canceling_an_unchanged_plan_refunds_its_unused_time(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.wait(DAY * 10);
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(billing.refunded().await, [20 * UNIT]);
    }

    async fn nothing_is_refunded_while_a_renewal_is_in_flight(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.wait(DAY * 30);
        let renewal = billing.round_unsent().await;
        for refund in [RefundChoice::Last, RefundChoice::Proration] {
            let answer = billing.end_with(refund).await;
            assert!(matches!(answer, Err(CancelError::Subscription(SubscriptionError::PaymentInFlight))), "{answer:?}");
        }
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
        payment::charge(&billing.ctx, &renewal).await.expect("charges");
        billing.end_with(RefundChoice::Last).await.expect("ends");
        let [refund] = &billing.refunds().await[..] else { panic!("one refund") };
        let renewed = billing.last().await;
        assert_eq!((refund.amount, refund.invoice_id.as_ref()), (Amount::new(30 * UNIT), Some(&renewed.id)), "it is the last payment");
        let mut unit = billing.ctx.store.read().await.expect("reads");
        assert!(unit.attempts().open_of(&Purpose::Refund(refund.id.clone())).await.expect("reads").is_some());
    }

    async fn backdated_changes_do_not_give_an_expensive_plan_at_the_price_of_a_cheap_one(db: &TestDatabase) {
        let billing = subscribed(db, 10, 1, MONTHLY).await;
        change_back_with_old_previews(&billing, &[("price_1", 10, 1), ("price_1", 10, 30)]).await;
    }

    async fn backdated_changes_do_not_give_an_expensive_plan_at_the_price_of_a_free_one(db: &TestDatabase) {
        let billing = subscribed(db, 0, 1, MONTHLY).await;
        billing.price("price_2", 300, MONTHLY).await;
        change_back_with_old_previews(&billing, &[("price_1", 0, 1), ("price_2", 300, 1)]).await;
    }

    async fn for_any_sequence_of_plans_the_customer_pays_for_the_time_of_each(db: &TestDatabase) {
        let billing = subscribed(db, 10, 1, MONTHLY).await;
        billing.price("price_2", 35, MONTHLY).await;
        let plans = [("price_1", 10, 1), ("price_1", 10, 7), ("price_2", 35, 1), ("price_2", 35, 4)];
        let mut history = History::begin(&billing, &plans).await;
        let mut made = 0;
        for _ in 0..120 {
            let [wait, scale, plan, old] = billing.ctx.random.bytes::<4>();
            billing.wait(Duration::from_secs(u64::from(wait) * [0, 1, 15, 70][usize::from(scale % 4)]));
            made += u32::from(history.change(usize::from(plan) % plans.len(), old % 4 > 0).await);
        }
        assert!(made > 20, "{made} changes");
        history.settle().await;
    }
}

/// The customer repeatedly changes to the second plan, and changes back to the first as late as possible with the preview made right after
/// the first change.
async fn change_back_with_old_previews(billing: &Billing, plans: &[(&'static str, u128, u64)]) {
    let mut history = History::begin(billing, plans).await;
    for _ in 0..40 {
        assert!(history.change(1, false).await, "to the dear one, at its price");
        let shown = history.shown.clone();
        billing.wait(Duration::from_secs(59 * 60));
        if !history.change(0, true).await {
            assert!(history.change(0, false).await, "the shown amount is charged although the old preview is rejected: {shown:?}");
        }
    }
    history.settle().await;
}

/// A sequence of plan changes, and the value of the plans that the customer had.
struct History<'a> {
    billing: &'a Billing,
    /// The id, tokens and quantity of each price.
    plans: Vec<(&'static str, u128, u64)>,
    plan: usize,
    since: Timestamp,
    /// The value of the used time, in base units times the seconds of the period.
    used: u128,
    changes: u128,
    /// The preview of each plan made right after the last change; `None` for the current plan.
    shown: Vec<Option<PlanPreview>>,
}

impl<'a> History<'a> {
    async fn begin(billing: &'a Billing, plans: &[(&'static str, u128, u64)]) -> Self {
        let since = billing.find("sub_1").await.period.start;
        let mut history = Self { billing, plans: plans.to_vec(), plan: 0, since, used: 0, changes: 0, shown: Vec::new() };
        history.look().await;
        history
    }

    async fn look(&mut self) {
        self.shown.clear();
        for (number, (price, _, quantity)) in self.plans.iter().enumerate() {
            let shown = if number == self.plan { None } else { Some(self.billing.preview(price, *quantity).await) };
            self.shown.push(shown);
        }
    }

    /// Adds the value of the time used until `at`.
    fn use_until(&mut self, at: Timestamp) {
        let (_, tokens, quantity) = self.plans[self.plan];
        self.used += tokens * UNIT * u128::from(quantity) * at.since(self.since).as_micros() / 1_000_000;
        self.since = at;
    }

    /// Accepts the preview made after the last change (`old`), or a new one. Returns false if the change is rejected.
    async fn change(&mut self, to: usize, old: bool) -> bool {
        let (price, _, quantity) = self.plans[to];
        if to == self.plan {
            return false;
        }
        let shown = match self.shown[to].clone().filter(|_| old) {
            Some(shown) => shown,
            None => self.billing.preview(price, quantity).await,
        };
        match self.billing.switch(price, quantity, shown.at, (shown.total, Some(shown.credited))).await {
            Ok(PlanSwitch::Switched) => {}
            Err(PlanError::PreviewChanged) => return false,
            other => panic!("{other:?}"),
        }
        self.billing.send_all().await;
        self.use_until(self.billing.ctx.now());
        (self.plan, self.changes) = (to, self.changes + 1);
        self.look().await;
        true
    }

    /// Runs until the end of the period, and compares the payments with the value of the used time.
    async fn settle(mut self) {
        let period = self.billing.find("sub_1").await.period;
        assert!(self.since < period.end);
        self.use_until(period.end);
        let used = self.used / u128::from(period.seconds());
        let invoices = self.billing.invoices().await;
        assert!(invoices.iter().all(|invoice| invoice.status == InvoiceStatus::Paid));
        let mut paid = 0;
        for invoice in &invoices {
            let payments = self.billing.payments(invoice).await;
            let by_network = payments.iter().filter(|payment| matches!(payment.source, PaymentSource::Network { .. }));
            paid += by_network.map(|payment| payment.amount.base_units()).sum::<u128>();
        }
        let paid = paid - self.billing.customer_balance().await;
        let dearest = self.plans.iter().map(|(_, tokens, quantity)| tokens * UNIT * u128::from(*quantity)).max().expect("plans");
        let grace = dearest * u128::from(billing::PREVIEW_LIFETIME.as_secs()) / u128::from(period.seconds());
        assert!(paid + grace + 2 * self.changes >= used, "{paid} paid, {used} used, {grace} of grace");
        assert!(used + grace + 2 * self.changes >= paid, "payments exceed usage only by backdated time");
        self.billing.is_sound().await;
    }
}
