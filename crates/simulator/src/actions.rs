//! The steps of a history: random actions of its customer, its store and its networks.

use super::card_incidents::{decide_disputes, dispute, fail_refund, refund_in_dashboard};
use super::decisions::{change_payment, change_plan, pay_by_card, protect, restake};
use super::expected_errors::tolerate_expected;
use super::fixtures::Fixtures;
use super::network_client::{NetworkClient, UNIT};
use super::purchase::{buy, expire_open_sessions};
use super::refunds::{credit, decide_refund, pay_out, refund};
use super::rng::Rng;
use crate::Failure;
use souk_adapters::arcblock::TestWallet;
use souk_domain::access::Wallet;
use souk_domain::billing::{
    self, AdvanceError, CancelAt, CancelTerms, OverdueTarget, RefundChoice, Requester, StakeChoice, StakeFor, Subscription, UsageAction,
    UsageReport,
};
use souk_domain::context::Context;
use souk_domain::payment::{MandateDetails, WalletSignature};
use souk_domain::shared::{Amount, ClockId, Mode, SubscriptionId};
use std::time::Duration;

/// Maximum wait for a clock to arrive, or for due work to be done; afterwards the history continues regardless.
const DEADLINE: Duration = Duration::from_millis(1_500);
const POLL: Duration = Duration::from_millis(25);
/// Maximum number of periods of the shortest interval that pass in one step.
const PERIODS_MAX: u64 = 6;
/// Maximum advance of a clock in one step; the store allows less than two years.
const ADVANCE_MAX: Duration = Duration::from_secs(700 * 86_400);

/// Decline codes of a cardholder's bank.
const DECLINE_CODES: [&str; 2] = ["insufficient_funds", "generic_decline"];
/// Faults of the card processor.
const CARD_FAULTS: [&str; 4] = ["drop_answer", "drop_answer", "error_500", "delay_ms"];

#[derive(Debug, Clone, Copy)]
enum Action {
    AdvanceTime,
    Use,
    Spend,
    Earn,
    Revoke,
    Delegate,
    BankDeclines,
    BankApproves,
    InjectFault,
    Cancel,
    Recover,
    Pause,
    Resume,
    PayOverdue,
    Refund,
    Credit,
    RetryRefund,
    MoveRefund,
    Payout,
    Dispute,
    DecideDisputes,
    FailRefund,
    DashboardRefund,
    ChangePlan,
    ChangePayment,
    PayByCard,
    RevokeStake,
    Restake,
    Slash,
    ReturnStake,
    Void,
    Buy,
    Recharge,
    Protect,
}

/// Actions with their weights, for a customer whose payments often fail.
const STORMY: &[(u64, Action)] = {
    use Action::*;
    &[
        (10, AdvanceTime),
        (5, Use),
        (1, Spend),
        (2, Earn),
        (1, Revoke),
        (2, Delegate),
        (1, BankDeclines),
        (2, BankApproves),
        (3, InjectFault),
        (1, Cancel),
        (1, Recover),
        (1, Pause),
        (2, Resume),
        (1, PayOverdue),
        (3, Refund),
        (3, Credit),
        (2, RetryRefund),
        (1, MoveRefund),
        (2, Payout),
        (3, Dispute),
        (2, DecideDisputes),
        (2, FailRefund),
        (2, DashboardRefund),
        (8, ChangePlan),
        (3, ChangePayment),
        (2, PayByCard),
        (1, RevokeStake),
        (2, Restake),
        (1, Slash),
        (1, ReturnStake),
        (1, Void),
        (3, Buy),
        (3, Recharge),
        (4, Protect),
    ]
};

/// Actions with their weights, for a customer who usually pays: many changes and refunds, and failures mostly from the networks.
const CALM: &[(u64, Action)] = {
    use Action::*;
    &[
        (8, AdvanceTime),
        (4, Use),
        (2, Earn),
        (1, Delegate),
        (1, BankApproves),
        (1, BankDeclines),
        (2, InjectFault),
        (1, Pause),
        (1, Resume),
        (1, Recover),
        (3, Refund),
        (3, Credit),
        (1, RetryRefund),
        (1, MoveRefund),
        (2, Payout),
        (2, Dispute),
        (2, DecideDisputes),
        (2, FailRefund),
        (1, DashboardRefund),
        (6, ChangePlan),
        (1, PayOverdue),
        (2, Buy),
        (1, Protect),
    ]
};

/// Runs the step that the seed determines. A step that was interrupted by a kill is repeated, like an action of an impatient customer.
pub async fn act(client: &NetworkClient, fixtures: &Fixtures, step: u32) -> Result<(), Failure> {
    let mut rng = Rng::of(client.seed, fixtures.number, step);
    let ctx = &client.store.ctx;
    let id = subject(ctx, fixtures, &mut rng).await?;
    match rng.weighted(if fixtures.calm { CALM } else { STORMY }) {
        Action::AdvanceTime => advance_time(client, fixtures, &mut rng).await,
        Action::Use => use_metered(ctx, fixtures, &mut rng, step).await,
        Action::Spend => client.spend(fixtures, u128::from(rng.below(20))).await,
        Action::Earn => client.faucet(fixtures.wallet.did()).await,
        Action::Revoke => client.revoke(fixtures).await,
        Action::Delegate if !fixtures.by_card => client.delegate(fixtures, 1_000).await.map(drop),
        Action::BankDeclines => bank(client, &id, rng.pick(&DECLINE_CODES)).await,
        Action::BankApproves => bank(client, &id, "").await,
        Action::InjectFault => inject_fault(client, &mut rng).await,
        Action::Cancel => cancel(ctx, &id, &mut rng).await,
        Action::Recover => tolerate_expected(billing::recover(ctx, Requester::Customer, &id).await),
        Action::Pause => tolerate_expected(billing::pause(ctx, &id).await),
        Action::Resume => tolerate_expected(billing::resume(ctx, &id).await),
        Action::PayOverdue => pay_overdue(client, fixtures).await,
        Action::Refund => refund(client, fixtures, &mut rng).await,
        Action::Credit => credit(client, fixtures, &mut rng).await,
        Action::RetryRefund => decide_refund(client, fixtures, true).await,
        Action::MoveRefund => decide_refund(client, fixtures, false).await,
        Action::Payout => pay_out(client, fixtures, &mut rng).await,
        Action::Dispute => dispute(client, fixtures, &mut rng).await,
        Action::DecideDisputes => decide_disputes(client, fixtures, &mut rng).await,
        Action::FailRefund => fail_refund(client, fixtures, &mut rng).await,
        Action::DashboardRefund => refund_in_dashboard(client, fixtures, &mut rng).await,
        Action::ChangePlan => change_plan(client, fixtures, &id, &mut rng).await,
        Action::ChangePayment => change_payment(client, fixtures, &id, &mut rng).await,
        Action::PayByCard => pay_by_card(client, fixtures, &mut rng).await,
        Action::RevokeStake => client.revoke_stake(fixtures, &id, rng.one_in(2)).await,
        Action::Restake => restake(client, fixtures, &id, StakeFor::Resuming).await,
        Action::Slash => slash(ctx, &id, &mut rng).await,
        Action::ReturnStake => tolerate_expected(billing::return_stake(ctx, &id).await),
        Action::Void => void(ctx, fixtures, &mut rng).await,
        Action::Buy => buy(client, fixtures, &mut rng).await,
        Action::Recharge => recharge(client, fixtures, &id, &mut rng).await,
        Action::Protect => protect(client, fixtures, &id, &mut rng).await,
        Action::Delegate => Ok(()),
    }
}

/// Chooses the subscription of a step: an initial one or one bought since. For a calm customer, an ended one is chosen only if none is
/// live, because few actions apply to it.
async fn subject(ctx: &Context, fixtures: &Fixtures, rng: &mut Rng) -> Result<SubscriptionId, Failure> {
    let live = ctx.store.read().await?.subscriptions().live_of(&fixtures.customer).await?;
    let mut ids: Vec<_> = live.into_iter().map(|subscription| subscription.id).collect();
    if ids.is_empty() || !fixtures.calm {
        ids.extend(fixtures.plans.iter().map(|plan| plan.id.clone()));
        ids.sort();
        ids.dedup();
    }
    Ok(rng.choose(&ids).clone())
}

/// Advances the customer's test clock; without one, waits until the billing engine has processed everything due.
async fn advance_time(client: &NetworkClient, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let Some(clock) = &fixtures.clock else { return wait_until_processed(ctx, fixtures).await };
    let span = fixtures.shortest_interval().mul_f64(0.3 + 0.01 * random_f64(rng, PERIODS_MAX * 100)).min(ADVANCE_MAX);
    let Some(progress) = ctx.store.read().await?.clocks().find(clock).await? else { return Err("the clock is gone".into()) };
    match billing::aim_clock(ctx, clock, progress.now.plus(span)).await {
        Ok(()) | Err(AdvanceError::UnderWay) => wait_for_clock(ctx, clock).await,
        // A long interval may exceed the maximum advance of a clock; the rejection is part of the history.
        Err(AdvanceError::BadTarget) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn random_f64(rng: &mut Rng, limit: u64) -> f64 {
    f64::from(u32::try_from(rng.below(limit)).unwrap_or_default())
}

async fn wait_for_clock(ctx: &Context, clock: &ClockId) -> Result<(), Failure> {
    let until = ctx.now().plus(DEADLINE);
    while ctx.now() < until {
        let clock = ctx.store.read().await?.clocks().find(clock).await?;
        if clock.is_none_or(|clock| clock.target.is_none()) {
            return Ok(());
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

async fn wait_until_processed(ctx: &Context, fixtures: &Fixtures) -> Result<(), Failure> {
    let until = ctx.now().plus(DEADLINE);
    while ctx.now() < until {
        let live = ctx.store.read().await?.subscriptions().live_of(&fixtures.customer).await?;
        let now = ctx.now();
        if live.iter().all(|subscription| subscription.due_at.is_none_or(|at| at > now)) {
            return Ok(());
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

async fn use_metered(ctx: &Context, fixtures: &Fixtures, rng: &mut Rng, step: u32) -> Result<(), Failure> {
    let items: Vec<_> = fixtures.plans.iter().flat_map(|plan| plan.prices.iter().skip(1)).collect();
    if items.is_empty() {
        return Ok(());
    }
    // `Set` usually lowers the reported usage, which may have been invoiced already.
    let (action, most) = if rng.one_in(3) { (UsageAction::Set, 8) } else { (UsageAction::Increment, 30) };
    let report = UsageReport {
        item: rng.choose(&items).item.clone(),
        quantity: 1 + rng.below(most),
        action,
        at: None,
        identifier: Some(format!("step {step}")),
    };
    tolerate_expected(billing::report_usage(ctx, Mode::Test, &report).await)
}

/// Sets the decline code of the card that a subscription is charged by; empty: the bank approves.
async fn bank(client: &NetworkClient, id: &SubscriptionId, decline_code: &str) -> Result<(), Failure> {
    let mut unit = client.store.ctx.store.read().await?;
    let subscription = unit.subscriptions().find(id).await?;
    let mandate = match subscription.and_then(|subscription| subscription.mandate_id) {
        Some(mandate) => unit.mandates().find(&mandate).await?,
        None => None,
    };
    drop(unit);
    match mandate.and_then(|mandate| mandate.details) {
        Some(MandateDetails::Card(card)) => client.set_decline_code(&card.card, decline_code).await,
        _ => Ok(()),
    }
}

async fn inject_fault(client: &NetworkClient, rng: &mut Rng) -> Result<(), Failure> {
    let count = 1 + rng.below(2);
    if rng.one_in(2) {
        let mode = rng.pick(&["drop_answer", "drop_answer", "drop_request", "decline", "delay_ms"]);
        client.fault("arcblock", mode, count).await
    } else {
        client.fault("stripe", rng.pick(&CARD_FAULTS), count).await
    }
}

async fn cancel(ctx: &Context, id: &SubscriptionId, rng: &mut Rng) -> Result<(), Failure> {
    let now = rng.one_in(4);
    let terms = CancelTerms {
        at: if now { CancelAt::Now } else { CancelAt::PeriodEnd },
        refund: if now { rng.pick(&[RefundChoice::None, RefundChoice::Proration, RefundChoice::Last]) } else { RefundChoice::None },
        stake: if now { rng.pick(&[StakeChoice::None, StakeChoice::Proration, StakeChoice::Slash]) } else { StakeChoice::None },
        slash_reason: String::new(),
        feedback: None,
        comment: String::new(),
    };
    tolerate_expected(billing::cancel(ctx, Requester::Store, id, &terms).await)
}

/// Pays everything that is overdue with one transfer.
async fn pay_overdue(client: &NetworkClient, fixtures: &Fixtures) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let payer = fixtures.payer();
    let target = OverdueTarget::OfCustomer(fixtures.customer.clone(), client.payment_option(false).currency.id.clone());
    let nonce = u64::try_from(ctx.now().micros()).unwrap_or_default();
    let prepared = match billing::prepare_overdue_payment(ctx, &target, &payer, nonce).await {
        Ok(prepared) => prepared,
        result => return tolerate_expected(result),
    };
    let Some(signed) = fixtures.wallet.sign_transfer(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount) else {
        return Err("the transfer cannot be signed".into());
    };
    tolerate_expected(billing::submit_signed_overdue_payment(ctx, &target, WalletSignature::new(&payer, nonce, &signed)).await)
}

/// A friend tops up the paying account; sometimes the friend has no funds.
async fn recharge(client: &NetworkClient, fixtures: &Fixtures, id: &SubscriptionId, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let mut seed = [201; 32];
    seed[..4].copy_from_slice(&fixtures.number.to_le_bytes());
    let friend = TestWallet::from_seed(&seed);
    if !rng.one_in(4) {
        client.faucet(friend.did()).await?;
    }
    let from = Wallet { did: friend.did().clone(), public_key: friend.public_key_base58() };
    let amount = Amount::new(u128::from(1 + rng.below(50)) * UNIT);
    let nonce = u64::try_from(ctx.now().micros()).unwrap_or_default();
    let prepared = match billing::prepare_recharge(ctx, id, amount, &from, nonce).await {
        Ok(prepared) => prepared,
        result => return tolerate_expected(result),
    };
    let Some(signed) = friend.sign_transfer(&prepared.prepared.partial_tx, &prepared.prepared.token, amount) else {
        return Err("the transfer of funds cannot be signed".into());
    };
    tolerate_expected(billing::submit_signed_recharge(ctx, id, amount, WalletSignature::new(&from, nonce, &signed)).await)
}

/// Forfeits a stake, or half of it.
async fn slash(ctx: &Context, id: &SubscriptionId, rng: &mut Rng) -> Result<(), Failure> {
    let mut unit = ctx.store.read().await?;
    let stake_id = unit.subscriptions().find(id).await?.and_then(|subscription| subscription.stake_id);
    let stake = match &stake_id {
        Some(stake) => unit.stakes().find(stake).await?,
        None => None,
    };
    drop(unit);
    let half = stake.filter(|_| rng.one_in(2)).map(|stake| Amount::new(stake.available().base_units() / 2));
    tolerate_expected(billing::slash_stake(ctx, id, half, "A history says so").await)
}

async fn void(ctx: &Context, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let overdue = ctx.store.read().await?.invoices().overdue(&fixtures.customer).await?;
    if overdue.is_empty() {
        return Ok(());
    }
    tolerate_expected(billing::void_invoice(ctx, &rng.choose(&overdue).id).await)
}

/// Ends the history by canceling all live subscriptions, so that no later billing belongs to it. Returns `false` if something is
/// still open.
pub async fn end(client: &NetworkClient, fixtures: &Fixtures) -> Result<bool, Failure> {
    let ctx = &client.store.ctx;
    let closed = expire_open_sessions(client, fixtures).await?;
    let live: Vec<Subscription> = ctx.store.read().await?.subscriptions().live_of(&fixtures.customer).await?;
    let mut rng = Rng::of(client.seed, fixtures.number, u32::MAX - 1);
    for subscription in &live {
        let refund =
            if fixtures.calm { rng.pick(&[RefundChoice::None, RefundChoice::Proration, RefundChoice::Last]) } else { RefundChoice::None };
        let stake = rng.pick(&[StakeChoice::None, StakeChoice::Proration, StakeChoice::Slash]);
        let terms =
            |refund| CancelTerms { at: CancelAt::Now, refund, stake, slash_reason: String::new(), feedback: None, comment: String::new() };
        // If the refund is rejected, cancel without one.
        if billing::cancel(ctx, Requester::Store, &subscription.id, &terms(refund)).await.is_err() {
            tolerate_expected(billing::cancel(ctx, Requester::Store, &subscription.id, &terms(RefundChoice::None)).await)?;
        }
    }
    let live = ctx.store.read().await?.subscriptions().live_of(&fixtures.customer).await?;
    Ok(closed && live.is_empty())
}
