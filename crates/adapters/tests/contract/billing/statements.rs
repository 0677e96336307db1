//! The number of statements of a unit of work does not grow with its invoices, items, payments or stakes. Each case does the same for one
//! and for a hundred of them.

use super::bench::{Billing, DAY, MONTHLY, at_once, refund_order};
use crate::checkout_fixtures::{id, intent, invoice_item, wallet_attempt};
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_adapters::persistence::statement_counter::{Recorded, recorded};
use souk_domain::access::Wallet;
use souk_domain::billing::{
    self, BilledUsage, CancelAt, CancelTerms, DocumentType, Invoice, InvoiceItem, InvoicePayment, InvoiceStatus, NewInvoice, OverdueTarget,
    PaymentSource, PlanChoice, PlanOrder, PlanSwitch, RefundChoice, ReleaseReason, Requester, STAKE_WAITING, ScheduledRetry, Scope,
    StakeChoice, Subscription, SubscriptionItem, SubscriptionStatus, UsageAction, UsageRecord,
};
use souk_domain::ledger::{Account, Entry, EntryType, Posting};
use souk_domain::payment::{
    self, Attempt, AttemptContext, AttemptStatus, Decline, Intent, IntentStatus, NewAttempt, Outcome, PlannedPayment, Settlement, Trigger,
    WalletSignature,
};
use souk_domain::pricing::{Aggregate, Recurring, Usage};
use souk_domain::shared::*;
use std::time::Duration;

const MANY: usize = 100;
const METERED: Recurring = Recurring { usage: Usage::Metered(Aggregate::Sum), ..MONTHLY };

fn assert_constant<T>(one: &Recorded<T>, many: &Recorded<T>) {
    let growth = many.growth_over(one);
    assert!(growth.is_empty(), "{} statements for one, {} for many: {growth:#?}", one.statements.len(), many.statements.len());
}

/// Two units of usage.
fn used(name: &str, item: &SubscriptionItem, at: Timestamp) -> UsageRecord {
    let (item_id, action) = (item.id.clone(), UsageAction::Increment);
    UsageRecord { id: id(name), item_id, identifier: name.to_owned(), quantity: 2, action, at, created_at: at }
}

/// A name that is unique within a test.
fn name(kind: &str, group: &str, place: usize) -> String {
    format!("{kind}_{group}{place}")
}

impl Billing {
    /// A subscription with a number of items, whose paid period began `ago` before now.
    async fn of_items(&self, group: &str, count: usize, recurring: Recurring, ago: Duration) -> Subscription {
        let (mut items, mut first) = (Vec::with_capacity(count), None);
        for place in 0..count {
            let price = self.price(&name("price", group, place), 1, recurring).await;
            let (from, zero) = (self.start.minus(ago), Amount::ZERO);
            let billed = (recurring == METERED).then_some(BilledUsage { from, until: from, amount: zero, carried_over: zero });
            items.push(SubscriptionItem { id: id(&name("si", group, place)), price_id: price.id.clone(), quantity: 1, billed });
            first.get_or_insert(price);
        }
        let one = self.subscription(&name("sub", group, 0), &first.expect("an item"), ago);
        Subscription { items, ..one }
    }

    /// Subscriptions that are past due, with an overdue invoice each.
    async fn past_due(&self, group: &str, count: usize) -> Vec<Invoice> {
        let price = self.price(&name("price", group, 0), 1, MONTHLY).await;
        let mut invoices = Vec::with_capacity(count);
        for place in 0..count {
            let one = self.subscription(&name("sub", group, place), &price, DAY * 15);
            let past_due = Subscription { status: SubscriptionStatus::PastDue, past_due_since: Some(self.start.minus(DAY)), ..one };
            self.insert(&past_due).await;
            let invoice = self.overdue_invoice(&name("in", group, place), &past_due, 1, Amount::new(UNIT));
            self.insert_invoice(&invoice).await;
            invoices.push(self.reload(&invoice).await);
        }
        invoices
    }

    /// Overdue invoices of one subscription.
    async fn overdue_of(&self, subscription: &Subscription, group: &str, count: usize) -> Vec<Invoice> {
        let mut invoices = Vec::with_capacity(count);
        for place in 0..count {
            let age = u32::try_from(place).expect("small") + 1;
            let invoice = self.overdue_invoice(&name("in", group, place), subscription, age, Amount::new(UNIT));
            self.insert_invoice(&invoice).await;
            invoices.push(self.reload(&invoice).await);
        }
        invoices
    }

    /// A payment of the customer that is in flight and pays these invoices.
    fn payment(&self, group: &str, place: usize, invoices: &[Invoice]) -> (Intent, NewAttempt) {
        let amount = Amount::sum(invoices.iter().map(Invoice::remaining)).expect("in range");
        let paying = Intent {
            amount,
            method_id: self.networks.method.id.clone(),
            currency_id: self.networks.currency.id.clone(),
            session_id: None,
            invoices: invoices.iter().map(|invoice| invoice.id.clone()).collect(),
            ..intent(&name("pi", group, place))
        };
        let attempt = Attempt {
            method_id: paying.method_id.clone(),
            currency_id: paying.currency_id.clone(),
            session_id: None,
            amount,
            ..wallet_attempt(&name("att", group, place), paying.id.as_str(), &name("0x", group, place))
        };
        let planned = invoices.iter().map(|one| PlannedPayment { invoice_id: one.id.clone(), amount: one.remaining() }).collect();
        (paying, NewAttempt { attempt, planned })
    }

    async fn settle(&self, attempt: &Attempt) {
        let payer = self.networks.wallet.did().to_string();
        let settlement = Settlement { reference: attempt.id.to_string(), payer, amount: attempt.amount, card: None };
        self.observe(attempt, Outcome::Settled(settlement)).await;
    }

    /// Writes what the network answered about an attempt.
    async fn observe(&self, attempt: &Attempt, outcome: Outcome) {
        let context =
            AttemptContext { attempt: attempt.clone(), method: self.networks.method.clone(), currency: self.networks.currency.clone() };
        let mut unit = self.ctx.store.begin().await.expect("begins");
        payment::record(&self.ctx, unit.as_mut(), &context, &outcome, Trigger::Reconciler).await.expect("is written");
        unit.commit().await.expect("commits");
    }

    /// Writes a payment, and settles it.
    async fn pay(&self, group: &str, invoices: &[Invoice]) -> PaymentIntentId {
        let (paying, NewAttempt { attempt, planned }) = self.payment(group, 0, invoices);
        let mut unit = self.ctx.store.begin().await.expect("begins");
        unit.intents().upsert(&paying).await.expect("writes");
        unit.attempts().insert(&attempt, &planned).await.expect("writes");
        unit.commit().await.expect("commits");
        self.settle(&attempt).await;
        paying.id
    }

    /// A paid invoice of a subscription to which a number of payments contributed a token each.
    async fn paid_in_parts(&self, subscription: &Subscription, group: &str, count: usize) -> Invoice {
        let total = Amount::new(UNIT * count as u128);
        let overdue = self.overdue_invoice(&name("in", group, 0), subscription, 1, total);
        self.insert_invoice(&overdue).await;
        let before = self.reload(&overdue).await;
        let part = Invoice { total: Amount::new(UNIT), ..before.clone() };
        let mut unit = self.ctx.store.begin().await.expect("begins");
        for place in 0..count {
            let (paying, NewAttempt { attempt, planned }) = self.payment(group, place, std::slice::from_ref(&part));
            let payer = self.networks.wallet.did().to_string();
            let paid = Intent { status: IntentStatus::Succeeded, amount_received: paying.amount, payer, ..paying };
            unit.intents().upsert(&paid).await.expect("writes");
            let settled = Attempt { status: AttemptStatus::Settled, ..attempt };
            unit.attempts().insert(&settled, &planned).await.expect("writes");
            let source = PaymentSource::Network { attempt: settled.id.clone(), intent: paid.id.clone() };
            let payment_id = id(&name("inpay", group, place));
            let payment = InvoicePayment::new(payment_id, before.id.clone(), source, paid.amount, self.start);
            unit.invoice_payments().insert_all(&[payment]).await.expect("writes");
            let cash = Posting::debit(Account::cash(&settled.method_id), paid.amount, &paid.currency_id);
            let receivable = Posting::credit(Account::Receivable, paid.amount, &paid.currency_id);
            let entry = id(&name("je_paid", group, place));
            let entry = Entry::new(entry, Mode::Test, EntryType::Payment, settled.id.as_str(), self.start, vec![cash, receivable]);
            unit.journal().post(&entry.expect("balances")).await.expect("posts");
        }
        let paid = before.with_amounts(total, Amount::ZERO, self.start).expect("in range");
        assert!(unit.invoices().update(&before, &paid).await.expect("writes"));
        unit.commit().await.expect("commits");
        self.reload(&overdue).await
    }

    /// Moves the due stakes, and sends what that requires. Returns the number of sent attempts.
    async fn move_stakes(&self) -> Recorded<usize> {
        let moved = recorded(async { billing::move_due_stakes(&self.ctx, &Scope::Wall, self.ctx.now(), 10).await.expect("moves") });
        let Recorded { output, mut statements } = moved.await;
        let sent = recorded(async { payment::charge(&self.ctx, &output.attempts).await.expect("charges") }).await;
        statements.extend(sent.statements);
        Recorded { output: output.attempts.len(), statements }
    }

    /// The customer signs a transfer that pays everything overdue.
    async fn pay_all_by_wallet(&self, nonce: u64) {
        let wallet = &self.networks.wallet;
        let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
        let target = OverdueTarget::OfCustomer(id("cus_1"), self.networks.currency.id.clone());
        let prepared = billing::prepare_overdue_payment(&self.ctx, &target, &payer, nonce).await.expect("is prepared");
        let signed = wallet.sign_transfer(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount).expect("signs");
        let signature = WalletSignature::new(&payer, nonce, &signed);
        billing::submit_signed_overdue_payment(&self.ctx, &target, signature).await.expect("is paid");
    }

    /// Renews one subscription, and then [`MANY`] in one batch. Their paid period began `ago` before now.
    async fn renew_batches(&self, ago: Duration, change: impl Fn(Subscription) -> Subscription) -> [Recorded<usize>; 2] {
        let price = self.price("price_batch", 1, MONTHLY).await;
        let mut batches = Vec::new();
        for (group, count) in [("a", 1), ("b", MANY)] {
            for place in 0..count {
                self.insert(&change(self.subscription(&name("sub", group, place), &price, ago))).await;
            }
            let batch =
                recorded(async { billing::renew_due(&self.ctx, &Scope::Wall, self.ctx.now(), 200).await.expect("renews").due }).await;
            assert_eq!(batch.output, count);
            batches.push(batch);
        }
        batches.try_into().expect("two batches")
    }

    async fn renew(&self, one: &Subscription) -> Recorded<usize> {
        self.insert(one).await;
        recorded(async { billing::renew_due(&self.ctx, &Scope::Wall, self.ctx.now(), 10).await.expect("renews").due }).await
    }
}

on_one! {
    async fn a_renewal_of_many_licensed_items(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let one = billing.renew(&billing.of_items("a", 1, MONTHLY, DAY * 30).await).await;
        let many = billing.renew(&billing.of_items("b", MANY, MONTHLY, DAY * 30).await).await;
        assert_eq!((one.output, many.output), (1, 1));
        assert_constant(&one, &many);
        assert_eq!(billing.lines(&billing.last().await).await.len(), MANY);
    }

    async fn a_renewal_of_many_metered_items(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let mut renewals = Vec::new();
        for (group, count) in [("a", 1), ("b", MANY)] {
            let subscription = billing.of_items(group, count, METERED, DAY * 30).await;
            billing.insert(&subscription).await;
            let mut unit = billing.ctx.store.begin().await.expect("begins");
            for (place, item) in subscription.items.iter().enumerate() {
                unit.usage().insert(&used(&name("ur", group, place), item, billing.start.minus(DAY))).await.expect("writes");
            }
            unit.commit().await.expect("commits");
            let renewal = recorded(async { billing::renew_due(&billing.ctx, &Scope::Wall, billing.ctx.now(), 10).await.expect("renews").due });
            renewals.push(renewal.await);
        }
        assert_constant(&renewals[0], &renewals[1]);
        let invoice = billing.last().await;
        assert_eq!(invoice.total, Amount::new(2 * UNIT * MANY as u128));
    }

    async fn a_renewal_that_corrects_the_usage_of_many_items(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let mut renewals = Vec::new();
        for (group, count) in [("a", 1), ("b", MANY)] {
            let mut subscription = billing.of_items(group, count, METERED, DAY * 30).await;
            let mut lines = Vec::with_capacity(count);
            for (place, item) in subscription.items.iter_mut().enumerate() {
                let billed = item.billed.expect("metered");
                item.billed = Some(BilledUsage { amount: Amount::new(UNIT), ..billed });
                let period = Some(subscription.period);
                let line = invoice_item(&name("ii", group, place), &name("in", group, 0));
                lines.push(InvoiceItem { subscription_item_id: Some(item.id.clone()), amount: Amount::new(UNIT), period, ..line });
            }
            let total = Amount::new(UNIT * count as u128);
            let invoice = billing.overdue_invoice(&name("in", group, 0), &subscription, 1, total);
            billing.insert(&subscription).await;
            let mut unit = billing.ctx.store.begin().await.expect("begins");
            let number = unit.invoices().allocate_numbers(Mode::Test, DocumentType::Invoice, 1).await.expect("a number");
            let numbered = Invoice { number: Some(number), ..invoice.clone() };
            unit.invoices().insert_final_all(&[NewInvoice { invoice: numbered, items: lines }]).await.expect("writes");
            unit.commit().await.expect("commits");
            let renewal = recorded(async { billing::renew_due(&billing.ctx, &Scope::Wall, billing.ctx.now(), 10).await.expect("renews").due });
            renewals.push(renewal.await);
            assert_eq!(billing.reload(&invoice).await.remaining(), Amount::ZERO, "nothing was used");
        }
        assert_constant(&renewals[0], &renewals[1]);
    }

    async fn a_batch_of_renewals_without_a_mandate(db: &TestDatabase) {
        let mut billing = Billing::open(db, 1_000).await;
        billing.ctx.policy.bounds = None;
        let without_mandate = |one: Subscription| Subscription { mandate_id: None, ..one };
        let [one, many] = billing.renew_batches(DAY * 30, without_mandate).await;
        assert_eq!(billing.last().await.status, InvoiceStatus::Uncollectible);
        assert_constant(&one, &many);
    }

    async fn a_batch_of_renewals_that_wait_for_the_owner(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let [one, many] = billing.renew_batches(DAY * 90, |one| one).await;
        assert!(billing.find(&name("sub", "b", MANY - 1)).await.on_hold.is_some(), "three periods are unbilled");
        assert_constant(&one, &many);
    }

    async fn a_declined_payment_of_many_overdue_invoices(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let price = billing.price("price_1", 1, MONTHLY).await;
        let mut declines = Vec::new();
        for (group, count) in [("a", 1), ("b", MANY)] {
            let subscription = billing.subscription(&name("sub", group, 0), &price, DAY * 15);
            billing.insert(&subscription).await;
            let overdue = billing.overdue_of(&subscription, group, count).await;
            let (paying, NewAttempt { attempt, planned }) = billing.payment(group, 0, &overdue);
            let mut unit = billing.ctx.store.begin().await.expect("begins");
            unit.intents().upsert(&Intent { subscription_id: Some(subscription.id.clone()), ..paying }).await.expect("writes");
            unit.attempts().insert(&attempt, &planned).await.expect("writes");
            unit.commit().await.expect("commits");
            let decline = Decline { code: "INSUFFICIENT_FUND".to_owned(), message: "Not enough".to_owned() };
            declines.push(recorded(billing.observe(&attempt, Outcome::Declined(decline))).await);
            let declined = billing.reload(&overdue[count - 1]).await;
            assert_eq!(declined.failure_count, overdue[count - 1].failure_count + 1);
        }
        assert_constant(&declines[0], &declines[1]);
    }

    async fn a_payment_of_many_overdue_invoices(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let (first, others) = (billing.past_due("a", 1).await, billing.past_due("b", MANY).await);
        let (one, many) = (recorded(billing.pay("a", &first)).await, recorded(billing.pay("b", &others)).await);
        assert_constant(&one, &many);
        for invoice in &others {
            assert_eq!(billing.reload(invoice).await.status, InvoiceStatus::Paid);
        }
        let recovered = billing.find(others[MANY - 1].subscription_id.as_ref().expect("a subscription").as_str()).await;
        assert_eq!((recovered.status, recovered.past_due_since), (SubscriptionStatus::Active, None));
        billing.is_sound().await;
    }

    async fn a_balance_that_pays_many_invoices(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let currency = billing.networks.currency.id.clone();
        let mut payments = Vec::new();
        for (group, count) in [("a", 1), ("b", MANY)] {
            let invoices = billing.past_due(group, count).await;
            billing.overpay_as(group, UNIT * count as u128).await;
            payments.push(recorded(async { billing::pay_from_balance(&billing.ctx, &id("cus_1"), &currency).await.expect("pays") }).await);
            for invoice in &invoices {
                assert_eq!(billing.reload(invoice).await.status, InvoiceStatus::Paid);
            }
        }
        assert_constant(&payments[0], &payments[1]);
        assert_eq!(billing.customer_balance().await, 0);
    }

    async fn a_refund_over_many_payments(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let price = billing.price("price_1", 1, MONTHLY).await;
        let mut refunds = Vec::new();
        for (group, count) in [("a", 1), ("b", MANY)] {
            let subscription = billing.subscription(&name("sub", group, 0), &price, DAY * 15);
            billing.insert(&subscription).await;
            let invoice = billing.paid_in_parts(&subscription, group, count).await;
            let refund = recorded(async { billing.refund(&invoice, None).await.expect("is refunded").refunds.len() }).await;
            assert_eq!(refund.output, count);
            refunds.push(refund);
        }
        assert_constant(&refunds[0], &refunds[1]);
        billing.is_sound().await;
    }

    async fn a_refund_of_a_payment_of_many_invoices(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let mut refunds = Vec::new();
        for (group, count) in [("a", 1), ("b", MANY)] {
            let paid = billing.past_due(group, count).await;
            let payment = billing.pay(group, &paid).await;
            let refund = recorded(async {
                billing::refund_payment(&billing.ctx, Mode::Test, &payment, &refund_order(None)).await.expect("is refunded").notes.len()
            });
            let refund = refund.await;
            assert_eq!(refund.output, count);
            refunds.push(refund);
        }
        assert_constant(&refunds[0], &refunds[1]);
        billing.is_sound().await;
    }

    async fn the_end_of_a_subscription_with_many_overdue_invoices(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let price = billing.price("price_1", 1, MONTHLY).await;
        let (mut ends, mut forfeits) = (Vec::new(), Vec::new());
        for (number, count) in [(1, 1), (2, MANY)] {
            let subscription = billing.subscription(&format!("sub_{number}"), &price, DAY * 15);
            let stake = billing.stake(&subscription, count as u128).await;
            let since = Some(billing.start.minus(DAY * 16));
            let past_due = SubscriptionStatus::PastDue;
            billing.insert(&Subscription { status: past_due, past_due_since: since, stake_id: Some(stake.id), ..subscription.clone() }).await;
            let overdue = billing.overdue_of(&subscription, &format!("x{number}x"), count).await;
            let end = recorded(async { billing::renew_due(&billing.ctx, &Scope::Wall, billing.ctx.now(), 10).await.expect("ends") }).await;
            assert_eq!(billing.find(subscription.id.as_str()).await.status, SubscriptionStatus::Canceled);
            let mut forfeit = recorded(async { payment::charge(&billing.ctx, &end.output.attempts).await.expect("charges") }).await;
            ends.push(end);
            billing.wait(STAKE_WAITING);
            forfeit.statements.extend(billing.move_stakes().await.statements);
            forfeits.push(forfeit);
            assert_eq!(billing.reload(&overdue[count - 1]).await.status, InvoiceStatus::Paid);
        }
        assert_constant(&ends[0], &ends[1]);
        assert_constant(&forfeits[0], &forfeits[1]);
    }

    async fn a_stake_that_secures_many_ended_subscriptions(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let price = billing.price("price_1", 1, MONTHLY).await;
        let mut moves = Vec::new();
        for (number, count) in [(1, 1), (2, MANY)] {
            let stake = billing.stake(&billing.subscription(&format!("sub_{number}"), &price, DAY * 15), count as u128).await;
            for place in 0..count {
                let subscription = billing.subscription(&name("sub", &format!("x{number}x"), place), &price, DAY * 15);
                let ended = Subscription {
                    status: SubscriptionStatus::Canceled,
                    ended_at: Some(billing.start),
                    stake_id: Some(stake.id.clone()),
                    ..subscription
                };
                billing.insert(&ended).await;
                billing.insert_invoice(&billing.overdue_invoice(&name("in", &format!("x{number}x"), place), &ended, 1, Amount::new(UNIT))).await;
            }
            let mut unit = billing.ctx.store.begin().await.expect("begins");
            let released = stake.released(ReleaseReason::Ended, billing.start, billing.start);
            assert!(unit.stakes().update(&stake, &released).await.expect("writes"));
            unit.commit().await.expect("commits");
            moves.push(billing.move_stakes().await);
        }
        assert_eq!(moves[1].output, 1);
        assert_constant(&moves[0], &moves[1]);
    }

    async fn a_cancellation_by_the_customer(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let mut cancels = Vec::new();
        for (group, count) in [("a", 1), ("b", MANY)] {
            let subscription = billing.of_items(group, count, MONTHLY, DAY).await;
            billing.insert(&subscription).await;
            billing.overdue_of(&subscription, group, count).await;
            let (feedback, comment, slash_reason) = (None, String::new(), String::new());
            let terms =
                CancelTerms { at: CancelAt::PeriodEnd, refund: RefundChoice::None, stake: StakeChoice::None, slash_reason, feedback, comment };
            cancels.push(recorded(async { billing::cancel(&billing.ctx, Requester::Customer, &subscription.id, &terms).await.expect("cancels").status }).await);
        }
        assert_constant(&cancels[0], &cancels[1]);
    }

    async fn a_cancellation_that_refunds_the_unused_time_of_many_items(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let mut cancels = Vec::new();
        for (group, count) in [("a", 1), ("b", MANY)] {
            let subscription = billing.of_items(group, count, MONTHLY, DAY * 30).await;
            billing.renew(&subscription).await;
            billing.send_all().await;
            billing.wait(DAY);
            let terms = at_once(RefundChoice::Proration, StakeChoice::None);
            cancels.push(recorded(async { billing::cancel(&billing.ctx, Requester::Store, &subscription.id, &terms).await.expect("cancels").status }).await);
        }
        assert_constant(&cancels[0], &cancels[1]);
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn a_retry_of_many_declined_invoices(db: &TestDatabase) {
        let mut billing = Billing::open(db, 1_000).await;
        billing.ctx.policy.bounds = None;
        let mut retries = Vec::new();
        for (group, count) in [("a", 1), ("b", MANY)] {
            let declined = billing.past_due(group, count).await;
            let due: Vec<_> = declined.iter().map(|invoice| ScheduledRetry { id: invoice.id.clone(), at: Some(billing.start) }).collect();
            let mut unit = billing.ctx.store.begin().await.expect("begins");
            unit.invoices().schedule_all(&due).await.expect("writes");
            unit.commit().await.expect("commits");
            let retry = recorded(async { billing::retry_due(&billing.ctx, &Scope::Wall, billing.ctx.now(), 200).await.expect("retries") }).await;
            assert_eq!(retry.output.attempts.len(), count);
            payment::charge(&billing.ctx, &retry.output.attempts).await.expect("charges");
            retries.push(retry);
        }
        assert_constant(&retries[0], &retries[1]);
        billing.is_sound().await;
    }

    async fn a_transfer_that_pays_many_overdue_invoices(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let mut payments = Vec::new();
        for (group, count) in [("a", 1), ("b", MANY)] {
            let overdue = billing.past_due(group, count).await;
            payments.push(recorded(billing.pay_all_by_wallet(1_000 + count as u64)).await);
            for invoice in &overdue {
                assert_eq!(billing.reload(invoice).await.status, InvoiceStatus::Paid);
            }
        }
        assert_constant(&payments[0], &payments[1]);
        billing.is_sound().await;
    }

    async fn a_plan_change_of_one_of_many_items(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let plan = billing.price("price_dear", 3, MONTHLY).await;
        let mut changes = Vec::new();
        for (group, count) in [("a", 1), ("b", MANY)] {
            let subscription = billing.of_items(group, count, MONTHLY, DAY * 30).await;
            billing.renew(&subscription).await;
            billing.send_all().await;
            billing.wait(DAY);
            let choice = PlanChoice { price: plan.id.clone(), quantity: Some(1), item: Some(subscription.items[0].id.clone()) };
            let shown = billing::preview_plan(&billing.ctx, &subscription.id, &choice).await.expect("is shown");
            let order = PlanOrder { choice, at: shown.at, expected: shown.total, credited: Some(shown.credited) };
            let change = recorded(async {
                billing::switch_plan(&billing.ctx, &subscription.id, &order, Requester::Customer).await.expect("changes")
            });
            let change = change.await;
            assert_eq!(change.output, PlanSwitch::Switched);
            billing.send_all().await;
            changes.push(change);
        }
        assert_constant(&changes[0], &changes[1]);
        billing.is_sound().await;
    }
}
