//! Changes of plan: nobody is credited for what they did not pay, or got back, or was credited for before.

use super::bench::{Billing, DAY, MONTHLY};
use crate::ledger::bench::UNIT;
use crate::till::{id, intent, wallet_attempt};
use souk_adapters::on_one;
use souk_domain::billing::{
    self, CancelAt, CancelTerms, Credit, Invoice, InvoiceStatus, ManageError, PlanChoice, PlanOrder, PlanPreview, PlanSwitch, RefundChoice,
    RefundOrder, Requester, StakeChoice, SubscriptionItem, SubscriptionStatus,
};
use souk_domain::payment::{
    self, Attempt, AttemptContext, Currency, Intent, Mandate, MandateStatus, Outcome, Purpose, RefundFilter, RefundStatus, Settlement,
    Trigger,
};
use souk_domain::pricing::{Anchoring, Cycle, Interval, QuantityError, Recurring, Usage};
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
pub async fn subscribed(db: &souk_adapters::testing::TestDatabase, tokens: u128, quantity: u64, recurring: Recurring) -> Billing {
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

    async fn switch(&self, price: &str, quantity: u64, at: Timestamp, agreed: Agreed) -> Result<PlanSwitch, ManageError> {
        let (expected, credited) = agreed;
        let order = PlanOrder { choice: choice(price, quantity), at, expected, credited };
        billing::switch_plan(&self.ctx, &sub(), &order, Requester::Customer).await
    }

    /// Accepts what is shown, and lets it be charged.
    pub async fn accept(&self, price: &str, quantity: u64) -> PlanPreview {
        let shown = self.preview(price, quantity).await;
        let agreed = (shown.total, Some(shown.credited));
        assert_eq!(self.switch(price, quantity, shown.at, agreed).await.expect("changes"), PlanSwitch::Switched);
        self.send_all().await;
        shown
    }

    pub async fn credit(&self) -> u128 {
        let customers: [CustomerId; 1] = [id("cus_1")];
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.credits().of_all(&customers).await.expect("reads").iter().map(|credit| credit.amount.base_units()).sum()
    }

    pub async fn end_with(&self, refund: RefundChoice) -> Result<(), ManageError> {
        let (slash_reason, comment) = (String::new(), String::new());
        let terms = CancelTerms { at: CancelAt::Now, refund, stake: StakeChoice::None, slash_reason, feedback: None, comment };
        billing::cancel(&self.ctx, Requester::Store, &sub(), &terms).await.map(drop)
    }

    /// What goes back, newest payment first.
    pub async fn refunds(&self) -> Vec<u128> {
        let mut unit = self.ctx.store.read().await.expect("reads");
        let listed = unit.refunds().list(Mode::Test, &RefundFilter::default(), &Page::new(None, None)).await.expect("reads").list;
        let mut listed: Vec<_> = listed.into_iter().filter(|refund| refund.status != RefundStatus::Failed).collect();
        listed.sort_by(|one, other| other.invoice_id.cmp(&one.invoice_id));
        listed.iter().map(|refund| refund.amount.base_units()).collect()
    }
}

/// A customer's own transfer pays all of these at once.
pub async fn pay_together(billing: &Billing, invoices: &[Invoice]) {
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
    let context = AttemptContext { attempt, method: billing.networks.method.clone(), currency: billing.networks.currency.clone() };
    payment::record(&billing.ctx, unit.as_mut(), &context, &Outcome::Settled(settlement), Trigger::Reconciler).await.expect("is written");
    unit.commit().await.expect("commits");
}

fn nothing_due(credited: Option<Amount>) -> Agreed {
    (Amount::ZERO, credited)
}

on_one! {
    async fn no_more_of_a_plan_is_ordered_than_there_is(db: &TestDatabase) {
        let billing = subscribed(db, 10, 2, MONTHLY).await;
        billing.price("price_2", 20, MONTHLY).await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let mut scarce = unit.prices().find(&id("price_2")).await.expect("reads").expect("is there");
        assert!(unit.prices().set_stock(&scarce.id, 3, billing.ctx.now()).await.expect("limits"));
        scarce.quantity_limit_per_checkout = 3;
        unit.prices().update(&scarce).await.expect("limits");
        unit.commit().await.expect("commits");
        for (quantity, refusal) in [(4, QuantityError::ExceedInventory), (3, QuantityError::ExceedPurchaseLimit)] {
            if refusal == QuantityError::ExceedPurchaseLimit {
                let mut unit = billing.ctx.store.begin().await.expect("begins");
                scarce.quantity_limit_per_checkout = 2;
                unit.prices().update(&scarce).await.expect("limits");
                unit.commit().await.expect("commits");
            }
            let refused = billing::preview_plan(&billing.ctx, &sub(), &choice("price_2", quantity)).await;
            assert!(matches!(&refused, Err(ManageError::Quantity(error)) if *error == refusal), "{quantity}: {refused:?}");
        }
        billing.accept("price_2", 2).await;
    }

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
        billing.send_all().await;
        assert_eq!(billing.preview("price_2", 1).await.credit, Amount::new(10 * UNIT));
        billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(15 * UNIT)).await.expect("is ordered");
        billing.send_all().await;
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
        assert_eq!(rest[0].amount, Amount::new(10 * UNIT), "all that is left of it");
        billing.wait(DAY * 10);
        assert_eq!(billing.preview("price_2", 1).await.credit, Amount::new(20 * UNIT), "sub_1 is paid as before");
        // One that names none is of each in turn.
        let other = both.iter().find(|invoice| invoice.subscription_id == Some(id("sub_1"))).expect("stands");
        let nameless = billing::refund_payment(&billing.ctx, Mode::Test, &intent, &order(15, None)).await.expect("is ordered");
        let told: Vec<_> = nameless.iter().map(|refund| (refund.invoice_id.clone(), refund.amount.base_units())).collect();
        assert_eq!(told, [(Some(other.id.clone()), 15 * UNIT)]);
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

    async fn what_was_paid_in_another_currency_is_no_credit_in_this_one_even_within_the_second_of_a_change(db: &TestDatabase) {
        let billing = subscribed(db, 30, 6, MONTHLY).await;
        billing.wait(DAY * 10);
        billing.accept("price_1", 5).await;
        billing.accept("price_1", 4).await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let currency = unit.methods().currencies(Mode::Test).await.expect("reads").remove(0);
        unit.methods().insert_currency(&Currency { id: id("pc_another"), ..currency }).await.expect("writes");
        unit.commit().await.expect("commits");
        billing.write("UPDATE invoices SET currency_id = 'pc_another'").await;
        let refused = billing::preview_plan(&billing.ctx, &sub(), &choice("price_1", 1)).await;
        assert!(matches!(refused, Err(ManageError::PaidOtherwise)), "{refused:?}");
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
        payment::charge(&billing.ctx, &renewal).await.expect("charges");
        billing.end_with(RefundChoice::Last).await.expect("ends");
        assert_eq!(billing.refunds().await, [30 * UNIT]);
        let refunded = billing.invoices().await[1].intent_id.clone().expect("a payment");
        let mut unit = billing.ctx.store.read().await.expect("reads");
        assert_eq!(unit.refunds().of_intent(&refunded).await.expect("reads").len(), 1, "it is the last payment");
        let refund = unit.refunds().of_intent(&refunded).await.expect("reads").remove(0);
        assert!(unit.attempts().open_of(&Purpose::Refund(refund.id)).await.expect("reads").is_some());
    }

    async fn a_dear_plan_is_not_held_at_the_price_of_a_cheap_one_by_changes_that_are_dated_back(db: &TestDatabase) {
        let billing = subscribed(db, 10, 1, MONTHLY).await;
        let plans = [("price_1", 10, 1), ("price_1", 10, 30)];
        let mut story = Story::begin(&billing, &plans).await;
        for _ in 0..40 {
            assert!(story.change(1, false).await, "to the dear one, at its price");
            let shown = story.shown.clone();
            billing.wait(Duration::from_secs(59 * 60));
            if !story.change(0, true).await {
                assert!(story.change(0, false).await, "what is shown now is what it costs, though the old preview is refused: {shown:?}");
            }
        }
        story.settle().await;
    }

    async fn whatever_plans_follow_one_another_what_was_used_is_paid(db: &TestDatabase) {
        let billing = subscribed(db, 10, 1, MONTHLY).await;
        billing.price("price_2", 35, MONTHLY).await;
        let plans = [("price_1", 10, 1), ("price_1", 10, 7), ("price_2", 35, 1), ("price_2", 35, 4)];
        let mut story = Story::begin(&billing, &plans).await;
        let mut made = 0;
        for _ in 0..120 {
            let [wait, scale, plan, old] = billing.ctx.random.bytes::<4>();
            billing.wait(Duration::from_secs(u64::from(wait) * [0, 1, 15, 70][usize::from(scale % 4)]));
            made += u32::from(story.change(usize::from(plan) % plans.len(), old % 4 > 0).await);
        }
        assert!(made > 20, "{made} changes");
        story.settle().await;
    }
}

/// What somebody does who changes again and again, and what the plans that they had are worth.
struct Story<'a> {
    billing: &'a Billing,
    /// Price, its tokens and how many of it.
    plans: Vec<(&'static str, u128, u64)>,
    plan: usize,
    since: Timestamp,
    /// What was used, in base units times the seconds of the period.
    used: u128,
    changes: u128,
    /// What each plan was shown to cost right after the last change; `None`: the one that it has.
    shown: Vec<Option<PlanPreview>>,
}

impl<'a> Story<'a> {
    async fn begin(billing: &'a Billing, plans: &[(&'static str, u128, u64)]) -> Self {
        let since = billing.find("sub_1").await.period.start;
        let mut story = Self { billing, plans: plans.to_vec(), plan: 0, since, used: 0, changes: 0, shown: Vec::new() };
        story.look().await;
        story
    }

    async fn look(&mut self) {
        self.shown.clear();
        for (number, (price, _, quantity)) in self.plans.iter().enumerate() {
            let shown = if number == self.plan { None } else { Some(self.billing.preview(price, *quantity).await) };
            self.shown.push(shown);
        }
    }

    /// Counts what was used until `at`.
    fn use_until(&mut self, at: Timestamp) {
        let (_, tokens, quantity) = self.plans[self.plan];
        self.used += tokens * UNIT * u128::from(quantity) * at.since(self.since).as_micros() / 1_000_000;
        self.since = at;
    }

    /// Accepts what was shown after the last change, or what is shown now. False: it is not made.
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
            Err(ManageError::PreviewChanged) => return false,
            other => panic!("{other:?}"),
        }
        self.billing.send_all().await;
        self.use_until(self.billing.ctx.now());
        (self.plan, self.changes) = (to, self.changes + 1);
        self.look().await;
        true
    }

    /// Until the end of the period.
    async fn settle(mut self) {
        let period = self.billing.find("sub_1").await.period;
        assert!(self.since < period.end);
        self.use_until(period.end);
        let used = self.used / u128::from(period.seconds());
        let invoices = self.billing.invoices().await;
        assert!(invoices.iter().all(|invoice| invoice.status == InvoiceStatus::Paid));
        let paid = invoices.iter().map(|invoice| invoice.amount_paid.base_units()).sum::<u128>() - self.billing.credit().await;
        let dearest = self.plans.iter().map(|(_, tokens, quantity)| tokens * UNIT * u128::from(*quantity)).max().expect("plans");
        let grace = dearest * u128::from(billing::PREVIEW_LIFETIME.as_secs()) / u128::from(period.seconds());
        assert!(paid + grace + 2 * self.changes >= used, "{paid} paid, {used} used, {grace} of grace");
        assert!(used + grace + 2 * self.changes >= paid, "nor is more paid than was used, but for what was dated back");
    }
}
