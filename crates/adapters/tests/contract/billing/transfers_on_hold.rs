//! Refunds, payouts and transfers of deposits whose network moved a different amount than ordered: they wait for an owner, who records what was
//! moved and decides about the difference.

use super::bench::{Billing, DAY, MONTHLY, at_once};
use super::card_bench::CardBuyer;
use super::plans::subscribed;
use super::stakes::with_overdue_invoice;
use crate::checkout_fixtures::{all_at_once, id, session, store};
use crate::ledger::bench::UNIT;
use reqwest::Method as Verb;
use souk_adapters::arcblock::TestWallet;
use souk_adapters::testing::TestDatabase;
use souk_adapters::{on_both, on_one};
use souk_domain::access::Wallet;
use souk_domain::billing::{
    self, HoldDecision, Invoice, InvoiceStatus, PayoutOrder, RefundChoice, Requester, ResolveTransferError, STAKE_CHECK_INTERVAL,
    StakeChoice, StakeFor, StakeStatus, Subscription,
};
use souk_domain::checkout::{Session, SubscriptionTerms};
use souk_domain::context::Context;
use souk_domain::payment::{
    self, AMOUNT_DIFFERS, Attempt, AttemptContext, AttemptStatus, Breakers, Decline, Outcome, Purpose, Refund, RefundFilter, RefundStatus,
    RefundType, Settlement, Trigger, WalletSignature,
};
use souk_domain::shared::{Amount, AttemptId, Mode, Page};
use std::sync::Arc;

const STK: &str = "stk_1";

fn settled(reference: &str, amount: u128) -> Outcome {
    Outcome::Settled(Settlement { reference: reference.to_owned(), payer: String::new(), amount: Amount::new(amount), card: None })
}

impl Billing {
    async fn attempt_of(&self, id: &AttemptId) -> Attempt {
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.attempts().find(id).await.expect("reads").expect("exists")
    }

    /// Records an outcome that the network reports for an attempt.
    async fn reports(&self, id: &AttemptId, outcome: &Outcome) {
        let attempt = self.attempt_of(id).await;
        let mut unit = self.ctx.store.begin().await.expect("begins");
        let method = unit.methods().find(&attempt.method_id).await.expect("reads").expect("exists");
        let currency = unit.methods().find_currency(&attempt.currency_id).await.expect("reads").expect("exists");
        let context = AttemptContext { attempt, method, currency };
        payment::record(&self.ctx, unit.as_mut(), &context, outcome, Trigger::Reconciler).await.expect("is recorded");
        unit.commit().await.expect("commits");
    }

    /// The network reports that the open transfer of this purpose moved `amount` base units.
    pub(super) async fn moves(&self, purpose: &Purpose, amount: u128) -> AttemptId {
        let mut unit = self.ctx.store.read().await.expect("reads");
        let open = unit.attempts().open_of(purpose).await.expect("reads").expect("an open attempt");
        drop(unit);
        self.reports(&open.id, &settled("MOVED", amount)).await;
        let held = self.attempt_of(&open.id).await;
        assert!(held.is_on_hold(), "{held:?}");
        assert_eq!(held.last_error.expect("why").code, AMOUNT_DIFFERS);
        self.is_sound().await;
        held.id
    }

    pub(super) async fn resolve_hold(&self, attempt: &AttemptId, decision: HoldDecision) -> Result<(u128, u128), ResolveTransferError> {
        let resolved = billing::resolve_transfer(&self.ctx, Mode::Test, attempt, decision).await?;
        self.is_sound().await;
        assert!(matches!(billing::resolve_transfer(&self.ctx, Mode::Test, attempt, decision).await, Err(ResolveTransferError::NotOnHold)));
        Ok((resolved.rest.base_units() / UNIT, resolved.excess.base_units() / UNIT))
    }

    /// Returns the tokens, type and status of all refunds, smallest first.
    async fn all_refunds(&self) -> Vec<(u128, RefundType, RefundStatus)> {
        let mut unit = self.ctx.store.read().await.expect("reads");
        let listed = unit.refunds().list(Mode::Test, &RefundFilter::default(), &Page::new(None, Some(100))).await.expect("reads").list;
        let mut refunds: Vec<_> = listed.iter().map(|one| (one.amount.base_units() / UNIT, one.kind, one.status)).collect();
        refunds.sort_by_key(|(amount, ..)| *amount);
        refunds
    }

    /// Returns the tokens of an account of the journal: debits less credits.
    async fn account(&self, name: &str) -> i128 {
        let unit = i128::try_from(UNIT).expect("fits");
        self.accounts().await.iter().filter(|(account, _)| account.starts_with(name)).map(|(_, sum)| sum / unit).sum()
    }
}

/// A customer whose month of 30 tokens was paid, and a refund of `ordered` tokens of which the network sent `moved`.
async fn held_refund(db: &TestDatabase, ordered: u128, moved: u128) -> (Billing, Invoice, Refund, AttemptId) {
    let billing = subscribed(db, 30, 1, MONTHLY).await;
    let invoice = billing.last().await;
    let refund = billing.refund(&invoice, Some(ordered * UNIT)).await.expect("is ordered").refunds.remove(0);
    let attempt = billing.moves(&Purpose::Refund(refund.id.clone()), moved * UNIT).await;
    (billing, invoice, refund, attempt)
}

/// A customer with a balance of 30 tokens, and a payout of 20 of which the network sent `moved`.
async fn held_payout(db: &TestDatabase, moved: u128) -> (Billing, AttemptId) {
    let billing = subscribed(db, 30, 1, MONTHLY).await;
    billing.price("price_2", 0, MONTHLY).await;
    billing.accept("price_2", 1).await;
    let order = PayoutOrder {
        customer_id: id("cus_1"),
        currency_id: billing.networks.currency.id.clone(),
        amount: Some(Amount::new(20 * UNIT)),
        memo: String::new(),
    };
    let payout = billing::pay_out_balance(&billing.ctx, Mode::Test, &order).await.expect("is ordered").remove(0);
    let attempt = billing.moves(&Purpose::Refund(payout.id), moved * UNIT).await;
    (billing, attempt)
}

/// An ended subscription whose deposit of 50 tokens is being returned, and the network moved `moved` of it.
async fn held_return(db: &TestDatabase, moved: u128) -> (Billing, AttemptId) {
    let billing = staked(db).await;
    let terms = at_once(RefundChoice::None, StakeChoice::Proration);
    billing::cancel(&billing.ctx, Requester::Store, &id("sub_1"), &terms).await.expect("ends");
    let attempt = billing.moves(&Purpose::ReturnStake(id(STK)), moved * UNIT).await;
    (billing, attempt)
}

/// A deposit of 50 tokens of which 20 are forfeited without a debt, and the network moved `moved`.
async fn held_forfeit(db: &TestDatabase, moved: u128) -> (Billing, AttemptId) {
    let billing = staked(db).await;
    billing::slash_stake(&billing.ctx, &id("sub_1"), Some(Amount::new(20 * UNIT)), "broken").await.expect("is ordered");
    let attempt = billing.moves(&Purpose::Slash(id(STK)), moved * UNIT).await;
    (billing, attempt)
}

/// A subscription at 5 tokens a month, secured by a deposit of 50.
async fn staked(db: &TestDatabase) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let mut one = billing.subscription("sub_1", &price, DAY);
    one.stake_id = Some(billing.stake(&one, 50).await.id);
    billing.insert(&one).await;
    billing
}

/// A subscription of a checkout without a deposit.
async fn unsecured(db: &TestDatabase) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.sessions().insert(&Session { terms: SubscriptionTerms::default(), ..session("cs_1") }).await.expect("inserts");
    unit.commit().await.expect("commits");
    billing.insert(&Subscription { session_id: Some(id("cs_1")), ..billing.subscription("sub_1", &price, DAY) }).await;
    billing
}

/// The tokens of a deposit: paid in, forfeited, returned, reserved.
async fn deposit(billing: &Billing) -> (u128, u128, u128, u128) {
    let stake = billing.find_stake(STK).await;
    let [placed, forfeited, returned, reserved] =
        [stake.amount, stake.amount_forfeited, stake.amount_returned, stake.amount_reserved()].map(|amount| amount.base_units() / UNIT);
    (placed, forfeited, returned, reserved)
}

on_both! {
    async fn the_rest_of_a_refund_is_retried_or_moved_to_the_balance(db: &TestDatabase) {
        let (billing, _, refund, attempt) = held_refund(db, 20, 12).await;
        assert_eq!(billing.all_refunds().await, [(20, RefundType::Refund, RefundStatus::Pending)]);
        let wrong = billing::resolve_transfer(&billing.ctx, Mode::Live, &attempt, HoldDecision::Retry).await;
        assert!(matches!(wrong, Err(ResolveTransferError::NotFound)), "{wrong:?}");
        let wrong = billing::resolve_transfer(&billing.ctx, Mode::Test, &attempt, HoldDecision::Record).await;
        assert!(matches!(wrong, Err(ResolveTransferError::NotPossible)), "the rest is still owed: {wrong:?}");
        assert_eq!(billing.resolve_hold(&attempt, HoldDecision::Retry).await.expect("is resolved"), (8, 0));
        assert_eq!(
            billing.all_refunds().await,
            [(8, RefundType::Refund, RefundStatus::Pending), (12, RefundType::Refund, RefundStatus::Succeeded)]
        );
        // The rest is sent in part, too.
        let second = billing.moves(&Purpose::Refund(refund.id.clone()), 3 * UNIT).await;
        assert_eq!(billing.resolve_hold(&second, HoldDecision::Retry).await.expect("is resolved"), (5, 0));
        billing.send_all().await;
        assert!(billing.all_refunds().await.iter().all(|(_, _, status)| *status == RefundStatus::Succeeded));
        assert_eq!((billing.refunded().await, billing.cash().await), ([3, 5, 12].map(|tokens| tokens * UNIT).to_vec(), 10));
        billing.is_sound().await;
    }

    async fn concurrent_decisions_about_a_transfer_count_once(db: &TestDatabase) {
        let (billing, _, _, attempt) = held_refund(db, 20, 12).await;
        let (ctx, held) = (billing.ctx.clone(), attempt.clone());
        let attempted = all_at_once(db, 6, move |db, place| {
            let (held, ctx) = (held.clone(), Context { store: Arc::new(store(&db)), ..ctx.clone() });
            let decision = if place % 2 == 0 { HoldDecision::Retry } else { HoldDecision::Balance };
            async move { billing::resolve_transfer(&ctx, Mode::Test, &held, decision).await.is_ok() }
        });
        assert_eq!(attempted.await.into_iter().filter(|is_done| *is_done).count(), 1);
        billing.send_all().await;
        assert_eq!(billing.cash().await * UNIT + billing.customer_balance().await, if billing.customer_balance().await == 0 { 10 } else { 26 } * UNIT);
        billing.is_sound().await;
    }

    async fn a_payout_that_sent_less_returns_the_rest_to_the_balance(db: &TestDatabase) {
        let (billing, attempt) = held_payout(db, 12).await;
        assert_eq!(billing.customer_balance().await, 10 * UNIT);
        assert_eq!(billing.resolve_hold(&attempt, HoldDecision::Balance).await.expect("is resolved"), (8, 0));
        assert_eq!((billing.customer_balance().await, billing.refunded().await), (18 * UNIT, vec![12 * UNIT]));
    }

    async fn the_rest_of_a_return_stays_in_the_deposit_or_is_returned_again(db: &TestDatabase) {
        let (billing, attempt) = held_return(db, 30).await;
        assert_eq!(deposit(&billing).await, (50, 0, 0, 50));
        assert_eq!(billing.resolve_hold(&attempt, HoldDecision::Retry).await.expect("is resolved"), (20, 0));
        assert_eq!(deposit(&billing).await, (50, 0, 30, 20));
        billing.send(&Purpose::ReturnStake(id(STK))).await;
        assert_eq!((deposit(&billing).await, billing.find_stake(STK).await.status), ((50, 0, 50, 0), StakeStatus::Final));
        billing.is_sound().await;
    }

    async fn what_a_forfeit_moved_beyond_the_order_is_no_revenue_unless_the_owner_says_so(db: &TestDatabase) {
        let (billing, attempt) = held_forfeit(db, 35).await;
        assert_eq!((billing.account("income:revenue").await, deposit(&billing).await), (0, (50, 0, 0, 20)), "nothing is recorded on hold");
        assert_eq!(billing.resolve_hold(&attempt, HoldDecision::Balance).await.expect("is resolved"), (0, 0));
        assert_eq!((billing.account("income:revenue").await, billing.customer_balance().await), (-20, 15 * UNIT));
        assert_eq!(deposit(&billing).await, (50, 35, 0, 0));
    }

    async fn a_card_refund_that_fails_while_it_is_on_hold_has_sent_nothing(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(1_000).await;
        let refund = buyer.billing.refund(&invoice, Some(700)).await.expect("is ordered").refunds.remove(0);
        // The provider knows the refund; its answer named another amount.
        let form = [("payment_intent", payment.as_str()), ("amount", "700"), ("metadata[refund]", refund.id.as_str())];
        let provider = buyer.cards.server(Verb::POST, "/v1/refunds", &form).await.body["id"].as_str().expect("an id").to_owned();
        let mut unit = buyer.billing.ctx.store.read().await.expect("reads");
        let attempt = unit.attempts().open_of(&Purpose::Refund(refund.id.clone())).await.expect("reads").expect("an open attempt");
        drop(unit);
        buyer.billing.reports(&attempt.id, &settled(&provider, 500)).await;
        buyer.check(&payment).await;
        assert!(buyer.billing.attempt_of(&attempt.id).await.is_on_hold(), "the refund has not failed");
        buyer.fail_refund(&provider).await;
        for _ in 0..2 {
            buyer.check(&payment).await;
        }
        let ended = buyer.billing.attempt_of(&attempt.id).await;
        assert_eq!((ended.status, ended.last_error.expect("why").code.as_str()), (AttemptStatus::Declined, "lost_or_stolen_card"));
        let mut unit = buyer.billing.ctx.store.read().await.expect("reads");
        let failed = unit.refunds().find(&refund.id).await.expect("reads").expect("exists");
        drop(unit);
        assert_eq!((failed.status, failed.amount, failed.failure_count), (RefundStatus::Failed, Amount::new(700), 1));
        buyer.billing.is_sound().await;
        billing::move_refund_to_balance(&buyer.billing.ctx, Mode::Test, &refund.id).await.expect("the owner can decide");
        assert_eq!(buyer.billing.customer_balance().await, 700);
        buyer.billing.is_sound().await;
    }

    async fn a_late_answer_does_not_end_a_hold(db: &TestDatabase) {
        let (billing, _, refund, attempt) = held_refund(db, 20, 12).await;
        let held = billing.attempt_of(&attempt).await;
        // These answers belong to calls that began before the hold: their callers know the attempt as open.
        let open = Attempt { status: AttemptStatus::Open, moved: None, last_error: None, ..held.clone() };
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let method = unit.methods().find(&open.method_id).await.expect("reads").expect("exists");
        let currency = unit.methods().find_currency(&open.currency_id).await.expect("reads").expect("exists");
        let context = AttemptContext { attempt: open, method, currency };
        let declined = Outcome::Declined(Decline { code: "late".to_owned(), message: String::new() });
        for outcome in [settled("LATE", 20 * UNIT), settled("LATE", 5 * UNIT), declined, Outcome::NotFound, Outcome::Unknown(String::new())] {
            payment::record(&billing.ctx, unit.as_mut(), &context, &outcome, Trigger::Reconciler).await.expect("is ignored");
        }
        unit.commit().await.expect("commits");
        assert_eq!(billing.attempt_of(&attempt).await, held);
        assert_eq!(billing.all_refunds().await, [(20, RefundType::Refund, RefundStatus::Pending)], "{}", refund.id);
        billing.is_sound().await;
    }
}

on_one! {
    async fn a_refund_that_sent_nothing_is_retried_as_a_whole(db: &TestDatabase) {
        let (billing, _, _, attempt) = held_refund(db, 20, 0).await;
        assert_eq!(billing.resolve_hold(&attempt, HoldDecision::Retry).await.expect("is resolved"), (20, 0));
        billing.send_all().await;
        assert_eq!((billing.refunded().await, billing.cash().await), (vec![20 * UNIT], 10));
        billing.is_sound().await;
    }

    async fn a_refund_that_failed_later_and_is_then_sent_in_part_breaks_no_rule(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        let invoice = billing.last().await;
        let refund = billing.refund(&invoice, Some(20 * UNIT)).await.expect("is ordered").refunds.remove(0);
        billing.send_all().await;
        let decline = Decline { code: "expired".to_owned(), message: String::new() };
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let sent = unit.refunds().find(&refund.id).await.expect("reads").expect("exists");
        assert!(billing::refund_failed_later(&billing.ctx, unit.as_mut(), &refund.id, &sent.reference, &decline).await.expect("is recorded"));
        unit.commit().await.expect("commits");
        billing::retry_refund(&billing.ctx, Mode::Test, &refund.id).await.expect("is sent again");
        let attempt = billing.moves(&Purpose::Refund(refund.id.clone()), 15 * UNIT).await;
        billing.resolve_hold(&attempt, HoldDecision::Retry).await.expect("is resolved");
        billing.networks.faucet_to(billing.networks.app.did()).await;
        billing.send_all().await;
        assert_eq!((billing.refunded().await, billing.cash().await), (vec![5 * UNIT, 15 * UNIT], 10));
        billing.is_sound().await;
    }

    async fn a_payout_that_sent_another_amount_is_booked(db: &TestDatabase) {
        let (billing, attempt) = held_payout(db, 12).await;
        assert_eq!(billing.resolve_hold(&attempt, HoldDecision::Retry).await.expect("is resolved"), (8, 0));
        assert_eq!(billing.customer_balance().await, 10 * UNIT);
        billing.send_all().await;
        assert_eq!((billing.refunded().await, billing.cash().await), (vec![8 * UNIT, 12 * UNIT], 10));
        billing.is_sound().await;
    }

    async fn a_payout_beyond_the_balance_is_booked_and_the_excess_is_in_suspense(db: &TestDatabase) {
        let (billing, attempt) = held_payout(db, 45).await;
        assert_eq!(billing.resolve_hold(&attempt, HoldDecision::Record).await.expect("is resolved"), (0, 25));
        assert_eq!((billing.customer_balance().await, billing.account("liabilities:suspense").await), (10 * UNIT, 25));
    }

    async fn a_forfeit_that_moved_less_pays_a_part_of_its_invoice_and_the_retry_pays_the_rest(db: &TestDatabase) {
        let billing = with_overdue_invoice(db, 800, 15).await;
        billing::slash_stake(&billing.ctx, &id("sub_1"), Some(Amount::new(700 * UNIT)), "owed").await.expect("is ordered");
        let attempt = billing.moves(&Purpose::Slash(id(STK)), 300 * UNIT).await;
        let overdue = billing.last().await;
        assert_eq!(billing.resolve_hold(&attempt, HoldDecision::Retry).await.expect("is resolved"), (400, 0));
        assert_eq!(billing.reload(&overdue).await.remaining(), Amount::new(400 * UNIT));
        billing.send(&Purpose::Slash(id(STK))).await;
        assert_eq!((billing.reload(&overdue).await.status, billing.account("income:revenue").await), (InvoiceStatus::Paid, -700));
        billing.is_sound().await;
    }

    async fn the_network_is_not_asked_about_a_transfer_on_hold(db: &TestDatabase) {
        let (billing, attempt) = held_return(db, 30).await;
        // Breakers list the networks that were called.
        let breakers = Arc::new(Breakers::default());
        let ctx = Context { networks: billing.ctx.networks.clone().with_breakers(breakers.clone()), ..billing.ctx.clone() };
        let before = billing.attempt_of(&attempt).await;
        billing.wait(DAY * 2 + STAKE_CHECK_INTERVAL);
        assert_eq!((payment::networks_due(&ctx).await.expect("reads"), payment::check_due(&ctx, 100).await.expect("looks")), (Vec::new(), 0));
        payment::settle(&ctx, &attempt).await.expect("does nothing");
        assert!(!payment::poll_network(&ctx, &before).await.expect("does nothing"));
        assert!(!payment::cancel_attempt(&ctx, &attempt).await.expect("does nothing"), "it is still open");
        assert_eq!(billing::check_stakes(&ctx, 9).await.expect("looks"), 0, "its deposit is moving");
        let due = billing::move_due_stakes(&ctx, &billing::Scope::Wall, ctx.now(), 100).await.expect("moves").due;
        assert_eq!((due, billing.attempt_of(&attempt).await, breakers.statuses().len()), (0, before, 0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_sent_less_can_be_moved_to_the_balance() {
    for (moved, refunds, balance) in [(12, vec![12], 8), (0, vec![], 20)] {
        let db = fresh().await;
        let (billing, _, _, attempt) = held_refund(&db, 20, moved).await;
        assert_eq!(billing.resolve_hold(&attempt, HoldDecision::Balance).await.expect("is resolved"), (20 - moved, 0));
        let sent: Vec<_> =
            billing.all_refunds().await.into_iter().filter(|one| one.2 == RefundStatus::Succeeded).map(|one| one.0).collect();
        assert_eq!((sent, billing.customer_balance().await, billing.cash().await), (refunds, balance * UNIT, 30 - moved));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_sent_more_than_is_refundable_is_booked_and_the_excess_is_in_suspense() {
    // The payment of 30 has room for 10 and for nothing.
    for (ordered, moved, reserved) in [(20, 25, Some(5)), (20, 45, Some(10)), (30, 40, None)] {
        let db = fresh().await;
        let (billing, invoice, refund, attempt) = held_refund(&db, ordered, moved).await;
        let retry = billing::resolve_transfer(&billing.ctx, Mode::Test, &attempt, HoldDecision::Retry).await;
        assert!(matches!(retry, Err(ResolveTransferError::NotPossible)), "{retry:?}");
        assert_eq!(billing.resolve_hold(&attempt, HoldDecision::Record).await.expect("is resolved"), (0, moved - ordered));
        let mut expected = vec![(ordered, RefundType::Refund, RefundStatus::Succeeded)];
        expected.extend(reserved.map(|tokens| (tokens, RefundType::Dashboard, RefundStatus::Succeeded)));
        expected.sort_by_key(|(amount, ..)| *amount);
        assert_eq!(billing.all_refunds().await, expected);
        let excess = i128::try_from(moved - ordered).expect("fits");
        let cash = 30 - i128::try_from(moved).expect("fits");
        assert_eq!((billing.account("liabilities:suspense").await, billing.account("assets:cash").await), (excess, cash));
        assert!(billing.refund(&invoice, Some(11 * UNIT)).await.is_err(), "the payment has no room any more");
        assert_eq!(billing.attempt_of(&attempt).await.status, AttemptStatus::Settled, "{}", refund.id);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_return_on_hold_is_booked_with_what_was_moved() {
    for (moved, decision, result, expected, status) in [
        (30, HoldDecision::Record, (20, 0), (50, 0, 30, 0), StakeStatus::Releasing),
        (0, HoldDecision::Record, (50, 0), (50, 0, 0, 0), StakeStatus::Releasing),
        (0, HoldDecision::Retry, (50, 0), (50, 0, 0, 50), StakeStatus::Releasing),
        // The network held more than the records say.
        (70, HoldDecision::Record, (0, 20), (50, 0, 50, 0), StakeStatus::Final),
    ] {
        let db = fresh().await;
        let (billing, attempt) = held_return(&db, moved).await;
        assert_eq!(billing.resolve_hold(&attempt, decision).await.expect("is resolved"), result, "{moved}");
        assert_eq!((deposit(&billing).await, billing.find_stake(STK).await.status), (expected, status), "{moved} {decision:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forfeit_on_hold_is_booked_with_what_was_moved() {
    for (moved, decision, result, expected, revenue, suspense) in [
        (12, HoldDecision::Record, (8, 0), (50, 12, 0, 0), -12, 0),
        (12, HoldDecision::Retry, (8, 0), (50, 12, 0, 8), -12, 0),
        (0, HoldDecision::Record, (20, 0), (50, 0, 0, 0), 0, 0),
        (35, HoldDecision::Revenue, (0, 0), (50, 35, 0, 0), -35, 0),
        // More than the recorded deposit.
        (60, HoldDecision::Balance, (0, 10), (50, 50, 0, 0), -20, -10),
        (60, HoldDecision::Revenue, (0, 10), (50, 50, 0, 0), -50, -10),
    ] {
        let db = fresh().await;
        let (billing, attempt) = held_forfeit(&db, moved).await;
        assert_eq!(billing.resolve_hold(&attempt, decision).await.expect("is resolved"), result, "{moved}");
        let accounts = (billing.account("income:revenue").await, billing.account("liabilities:suspense").await);
        assert_eq!((deposit(&billing).await, accounts), (expected, (revenue, suspense)), "{moved} {decision:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_of_another_amount_is_kept_or_returned() {
    for (moved, decision, status, held) in [
        (3, HoldDecision::Record, StakeStatus::Held, 3),
        (9, HoldDecision::Record, StakeStatus::Held, 9),
        (3, HoldDecision::Return, StakeStatus::Releasing, 3),
        (0, HoldDecision::Record, StakeStatus::Pending, 0),
    ] {
        let db = fresh().await;
        let billing = unsecured(&db).await;
        let (wallet, payer) = own_wallet(&billing);
        let currency = billing.networks.currency.id.clone();
        let what = StakeFor::ChangedPayment(&currency);
        let prepared = billing::prepare_restake(&billing.ctx, &id("sub_1"), what, &payer, 5).await.expect("prepares");
        let signed = wallet.sign_stake(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount).expect("signs");
        billing.networks.fault("drop_request").await;
        let signature = WalletSignature::new(&payer, 5, &signed);
        let hash = billing::submit_signed_restake(&billing.ctx, &id("sub_1"), what, signature).await.expect("takes");
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let open = unit.attempts().find_by_hash(&hash).await.expect("reads").expect("an attempt");
        drop(unit);
        let Purpose::Stake(stake) = open.purpose.clone() else { panic!("a deposit") };
        let attempt = billing.moves(&open.purpose, moved * UNIT).await;
        billing.resolve_hold(&attempt, decision).await.expect("is resolved");
        let stake = billing.find_stake(stake.as_str()).await;
        assert_eq!((stake.status, stake.remaining().base_units() / UNIT), (status, held), "{moved} {decision:?}");
    }
}

/// Each case of a table has a database of its own.
async fn fresh() -> TestDatabase {
    TestDatabase::chosen_by(module_path!()).await.remove(0)
}

fn own_wallet(billing: &Billing) -> (&TestWallet, Wallet) {
    let wallet = &billing.networks.wallet;
    (wallet, Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() })
}
