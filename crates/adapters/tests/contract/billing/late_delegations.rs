//! Plan changes whose delegation the network decides about after the deposit was placed: the plan follows the decision, and without the
//! plan the deposit is returned.

use super::bench::{Billing, DAY, MONTHLY};
use super::crashing_store::{CrashPoint, crashing};
use super::gas_retries::{GAS_PRICE, generation_for, stake_for_gas};
use super::stake_growth::{permitted, place_missing_stake, shown, sign_delegation};
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::arcblock::TestWallet;
use souk_adapters::testing::TestDatabase;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{
    self, PREVIEW_LIFETIME, PendingPlanChange, PlanChangeFailure, PlanOrder, PlanSwitch, ReleaseReason, Requester, RestakeError,
    StakeStatus, SubscriptionError,
};
use souk_domain::context::Context;
use souk_domain::payment::{self, AttemptContext, Decline, Outcome, Purpose, SettlementError, Trigger, check_due};
use souk_domain::shared::{Amount, PriceId, StorageError};
use std::time::Duration;

pub const LATER: Duration = Duration::from_secs(120);

/// Two subscriptions of one checkout with a stake of 50 tokens. A plan of 60 tokens needs a larger delegation and 15 tokens more. The network
/// charges gas, and the store has staked for it. Each database takes one generation of the network's software.
pub async fn secured(db: &TestDatabase) -> Billing {
    let billing = secured_without_gas(db).await;
    billing.networks.set_chain(generation_for(db), GAS_PRICE).await;
    stake_for_gas(&billing).await;
    billing
}

/// As [`secured`], at a network that charges no gas.
pub async fn secured_without_gas(db: &TestDatabase) -> Billing {
    let billing = permitted(db).await;
    billing.networks.grant_mandate(7, 9).await;
    billing
}

/// A wallet signs the delegation, whose request is lost, and then the deposit.
async fn order_late(billing: &Billing, name: &str, wallet: &TestWallet) -> PlanOrder {
    let order = shown(billing, name, "price_2").await;
    billing.networks.fault("drop_request").await;
    sign_delegation(billing, name, &order, wallet).await.expect("is sent");
    place_missing_stake(billing, name, &order, wallet).await.expect("is sent");
    order
}

/// As [`order_late`], but the network has not decided about the deposit either.
async fn order_with_undecided_deposit(billing: &Billing) -> PlanOrder {
    let order = shown(billing, "sub_2", "price_2").await;
    for fault in ["drop_request", "drop_answer"] {
        billing.networks.fault(fault).await;
    }
    sign_delegation(billing, "sub_2", &order, &billing.networks.wallet).await.expect("is sent");
    place_missing_stake(billing, "sub_2", &order, &billing.networks.wallet).await.expect("is sent");
    order
}

/// What the network decides about the delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Granted,
    Declined,
}

/// Another plan, which needs no deposit, is chosen while the deposit of an ordered one is in flight.
async fn choose_another_plan(db: &TestDatabase, decision: Decision) {
    let billing = secured(db).await;
    billing.price("price_4", 4, MONTHLY).await;
    order_with_undecided_deposit(&billing).await;
    if decision == Decision::Declined {
        decline_delegation(&billing.ctx, "sub_2").await.expect("records");
    }
    billing.wait(Duration::from_secs(5));
    let cheaper = shown(&billing, "sub_2", "price_4").await;
    let switched = billing::switch_plan(&billing.ctx, &id("sub_2"), &cheaper, Requester::Customer).await;
    assert_eq!(switched.expect("is permitted"), PlanSwitch::Switched);
    let superseded = ordered(&billing, "sub_2").await.expect("waits for its deposit");
    assert_eq!((superseded.failure, superseded.is_shown(billing.ctx.now())), (Some(PlanChangeFailure::Superseded), false));
    billing.wait(LATER);
    check_due(&billing.ctx, 9).await.expect("checks");
    assert_eq!((ordered(&billing, "sub_2").await, make_due(&billing).await), (None, 0));
    assert_eq!(billing.process_due_stakes().await, 1);
    assert_eq!((price_of(&billing, "sub_2").await, amounts(&billing, "stk_1").await), (id("price_4"), StakeAmounts::all(50)));
    billing.send_all().await;
    billing.is_sound().await;
}

/// Records that the network has declined the open delegation of a subscription, if there is one.
pub async fn decline_delegation(ctx: &Context, name: &str) -> Result<(), SettlementError> {
    let mut unit = ctx.store.begin().await?;
    let Some(mandate) = unit.mandates().pending_for_subscription(&id(name)).await?.pop() else { return Ok(()) };
    let Some(attempt) = unit.attempts().open_of(&Purpose::Mandate(mandate)).await? else { return Ok(()) };
    let method = unit.methods().find(&attempt.method_id).await?.expect("a method");
    let currency = unit.methods().find_currency(&attempt.currency_id).await?.expect("a currency");
    let context = AttemptContext { attempt, method, currency };
    payment::record(ctx, unit.as_mut(), &context, &Outcome::Declined(no_gas()), Trigger::Reconciler).await?;
    Ok(unit.commit().await?)
}

fn no_gas() -> Decline {
    Decline { code: "INSUFFICIENT_GAS".to_owned(), message: "No gas".to_owned() }
}

pub async fn price_of(billing: &Billing, name: &str) -> PriceId {
    billing.find(name).await.items[0].price_id.clone()
}

pub async fn ordered(billing: &Billing, name: &str) -> Option<PendingPlanChange> {
    let mut unit = billing.ctx.store.read().await.expect("reads");
    unit.plan_changes().find(&id(name)).await.expect("reads")
}

pub async fn make_due(billing: &Billing) -> usize {
    billing::make_ordered_plan_changes(&billing.ctx, 9).await.expect("looks")
}

/// The amounts of a stake in whole tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StakeAmounts {
    pub requested: u128,
    pub remaining: u128,
    /// Held by the network.
    pub held: u128,
}

impl StakeAmounts {
    pub const fn all(tokens: u128) -> Self {
        Self { requested: tokens, remaining: tokens, held: tokens }
    }
}

pub async fn amounts(billing: &Billing, name: &str) -> StakeAmounts {
    let stake = billing.find_stake(name).await;
    let held = billing.networks.staked(name).await.0;
    StakeAmounts { requested: stake.amount_requested.base_units() / UNIT, remaining: stake.remaining().base_units() / UNIT, held }
}

/// Returns why a plan change failed, with the network's code.
fn reason(change: Option<PendingPlanChange>) -> (Option<PlanChangeFailure>, Option<String>) {
    let change = change.expect("is stored");
    (change.failure, change.decline.map(|decline| decline.code))
}

on_both! {
    async fn a_plan_changes_when_its_delegation_is_granted_after_the_deposit(db: &TestDatabase) {
        let billing = secured(db).await;
        order_late(&billing, "sub_2", &billing.networks.wallet).await;
        assert_eq!((price_of(&billing, "sub_2").await, amounts(&billing, "stk_1").await), (id("price_1"), StakeAmounts::all(65)));
        billing.wait(LATER);
        assert_eq!(make_due(&billing).await, 0, "the network has not decided");
        assert_eq!(price_of(&billing, "sub_2").await, id("price_1"));
        assert_eq!(check_due(&billing.ctx, 9).await.expect("checks"), 1);
        assert_eq!(make_due(&billing).await, 1);
        assert_eq!((price_of(&billing, "sub_2").await, ordered(&billing, "sub_2").await), (id("price_2"), None));
        assert_eq!(make_due(&billing).await, 0);
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn a_plan_that_needs_no_deposit_changes_when_its_delegation_is_granted_late(db: &TestDatabase) {
        let billing = secured(db).await;
        billing.price("price_4", 8, MONTHLY).await;
        let order = shown(&billing, "sub_2", "price_4").await;
        billing.networks.fault("drop_request").await;
        sign_delegation(&billing, "sub_2", &order, &billing.networks.wallet).await.expect("is sent");
        assert_eq!(price_of(&billing, "sub_2").await, id("price_1"));
        billing.wait(LATER);
        assert_eq!(check_due(&billing.ctx, 9).await.expect("checks"), 1);
        assert_eq!((make_due(&billing).await, price_of(&billing, "sub_2").await), (1, id("price_4")));
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn a_deposit_is_returned_when_the_delegation_of_its_plan_is_declined(db: &TestDatabase) {
        let billing = secured(db).await;
        order_late(&billing, "sub_2", &billing.networks.wallet).await;
        decline_delegation(&billing.ctx, "sub_2").await.expect("records");
        let why = (Some(PlanChangeFailure::DelegationDeclined), Some("INSUFFICIENT_GAS".to_owned()));
        assert_eq!(reason(ordered(&billing, "sub_2").await), why);
        assert_eq!(billing.process_due_stakes().await, 1);
        assert_eq!((price_of(&billing, "sub_2").await, amounts(&billing, "stk_1").await), (id("price_1"), StakeAmounts::all(50)));
        let stake = billing.find_stake("stk_1").await;
        assert_eq!((stake.status, stake.amount_returned), (StakeStatus::Held, Amount::new(15 * UNIT)));
        assert_eq!(billing.process_due_stakes().await, 1);
        assert_eq!((billing.process_due_stakes().await, make_due(&billing).await), (0, 0), "it rests");
        billing.is_sound().await;
    }

    async fn a_deposit_that_settles_after_the_delegation_was_declined_is_returned(db: &TestDatabase) {
        let billing = secured(db).await;
        order_with_undecided_deposit(&billing).await;
        decline_delegation(&billing.ctx, "sub_2").await.expect("records");
        assert_eq!(amounts(&billing, "stk_1").await, StakeAmounts { held: 65, ..StakeAmounts::all(50) }, "the deposit has moved, and the store does not know it yet");
        billing.wait(LATER);
        assert_eq!(check_due(&billing.ctx, 9).await.expect("checks"), 1);
        assert_eq!(billing.process_due_stakes().await, 1);
        assert_eq!((price_of(&billing, "sub_2").await, amounts(&billing, "stk_1").await), (id("price_1"), StakeAmounts::all(50)));
        billing.is_sound().await;
    }

    async fn a_deposit_in_flight_is_returned_after_another_plan_was_chosen(db: &TestDatabase) {
        choose_another_plan(db, Decision::Granted).await;
    }

    async fn a_deposit_in_flight_is_returned_after_its_delegation_was_declined_and_another_plan_was_chosen(db: &TestDatabase) {
        choose_another_plan(db, Decision::Declined).await;
    }

    async fn a_plan_is_not_ordered_while_the_deposit_of_an_earlier_order_is_undecided(db: &TestDatabase) {
        let billing = secured(db).await;
        let order = order_with_undecided_deposit(&billing).await;
        decline_delegation(&billing.ctx, "sub_2").await.expect("records");
        billing.wait(Duration::from_secs(1));
        let other = TestWallet::from_seed(&[78; 32]);
        billing.networks.faucet_for(&other).await;
        sign_delegation(&billing, "sub_2", &order, &other).await.expect("is sent");
        let refused = place_missing_stake(&billing, "sub_2", &order, &other).await;
        let in_flight = |error: &RestakeError| error.to_string() == SubscriptionError::PaymentInFlight.to_string();
        assert!(refused.as_ref().is_err_and(in_flight), "{refused:?}");
        assert_eq!(reason(ordered(&billing, "sub_2").await).0, Some(PlanChangeFailure::DelegationDeclined), "the order stays");
        billing.wait(LATER);
        assert_eq!(check_due(&billing.ctx, 9).await.expect("checks"), 1);
        assert_eq!(billing.process_due_stakes().await, 1);
        assert_eq!(amounts(&billing, "stk_1").await, StakeAmounts::all(50));
        let again = shown(&billing, "sub_2", "price_2").await;
        place_missing_stake(&billing, "sub_2", &again, &other).await.expect("the earlier deposit is decided");
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn a_smaller_plan_that_is_ordered_later_keeps_only_what_it_requires_of_the_deposit(db: &TestDatabase) {
        let billing = secured(db).await;
        billing.price("price_4", 55, MONTHLY).await;
        order_late(&billing, "sub_2", &billing.networks.wallet).await;
        assert_eq!(amounts(&billing, "stk_1").await, StakeAmounts::all(65));
        billing.wait(Duration::from_secs(5));
        let smaller = shown(&billing, "sub_2", "price_4").await;
        sign_delegation(&billing, "sub_2", &smaller, &billing.networks.wallet).await.expect("is granted");
        assert_eq!((price_of(&billing, "sub_2").await, ordered(&billing, "sub_2").await), (id("price_4"), None));
        assert_eq!(billing.process_due_stakes().await, 1);
        assert_eq!(amounts(&billing, "stk_1").await, StakeAmounts::all(60));
        billing.wait(LATER);
        check_due(&billing.ctx, 9).await.expect("checks");
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn a_declined_deposit_leaves_the_plan_and_says_why(db: &TestDatabase) {
        let billing = secured(db).await;
        let order = shown(&billing, "sub_2", "price_2").await;
        sign_delegation(&billing, "sub_2", &order, &billing.networks.wallet).await.expect("is sent");
        billing.networks.fault("decline").await;
        place_missing_stake(&billing, "sub_2", &order, &billing.networks.wallet).await.expect_err("is declined");
        assert_eq!(reason(ordered(&billing, "sub_2").await).0, Some(PlanChangeFailure::DepositDeclined));
        assert_eq!((price_of(&billing, "sub_2").await, amounts(&billing, "stk_1").await), (id("price_1"), StakeAmounts::all(50)));
        billing.is_sound().await;
    }

    async fn a_deposit_is_returned_when_the_preview_expired_before_the_network_decided(db: &TestDatabase) {
        let billing = secured(db).await;
        order_late(&billing, "sub_2", &billing.networks.wallet).await;
        billing.wait(PREVIEW_LIFETIME + LATER);
        assert_eq!(check_due(&billing.ctx, 9).await.expect("checks"), 1);
        assert_eq!(make_due(&billing).await, 1);
        assert_eq!(reason(ordered(&billing, "sub_2").await), (Some(PlanChangeFailure::PreviewChanged), None));
        assert_eq!(billing.process_due_stakes().await, 1);
        assert_eq!((price_of(&billing, "sub_2").await, amounts(&billing, "stk_1").await), (id("price_1"), StakeAmounts::all(50)));
        billing.is_sound().await;
    }

    async fn the_current_stake_secures_until_the_delegation_of_another_wallet_is_granted(db: &TestDatabase) {
        let billing = secured(db).await;
        let other = TestWallet::from_seed(&[78; 32]);
        billing.networks.faucet_for(&other).await;
        order_late(&billing, "sub_1", &other).await;
        for name in ["sub_1", "sub_2"] {
            assert_eq!(billing.find(name).await.stake_id, Some(id("stk_1")), "{name}");
        }
        billing.wait(billing::STAKE_CHECK_INTERVAL);
        billing::check_stakes(&billing.ctx, 9).await.expect("looks");
        let placed = ordered(&billing, "sub_1").await.and_then(|change| change.deposit).expect("a deposit").stake_id;
        assert_eq!(billing.find_stake(placed.as_str()).await.status, StakeStatus::Held, "the order needs it");
        assert_eq!(check_due(&billing.ctx, 9).await.expect("checks"), 1);
        assert_eq!((make_due(&billing).await, price_of(&billing, "sub_1").await), (1, id("price_2")));
        for name in ["sub_1", "sub_2"] {
            assert_eq!(billing.find(name).await.stake_id.as_ref(), Some(&placed), "{name}");
        }
        let before = billing.find_stake("stk_1").await;
        assert_eq!((before.status, before.release_reason), (StakeStatus::Releasing, Some(ReleaseReason::Superseded)));
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn the_stake_of_another_wallet_is_returned_when_its_delegation_is_declined(db: &TestDatabase) {
        let billing = secured(db).await;
        let other = TestWallet::from_seed(&[78; 32]);
        billing.networks.faucet_for(&other).await;
        order_late(&billing, "sub_1", &other).await;
        let placed = ordered(&billing, "sub_1").await.and_then(|change| change.deposit).expect("a deposit").stake_id;
        decline_delegation(&billing.ctx, "sub_1").await.expect("records");
        assert_eq!(billing.find_stake(placed.as_str()).await.release_reason, Some(ReleaseReason::Abandoned));
        assert_eq!(billing.process_due_stakes().await, 1);
        let returned = billing.find_stake(placed.as_str()).await;
        assert_eq!((returned.status, returned.amount_returned), (StakeStatus::Final, Amount::new(65 * UNIT)));
        assert_eq!((billing.find("sub_1").await.stake_id, amounts(&billing, "stk_1").await), (Some(id("stk_1")), StakeAmounts::all(50)));
        billing.is_sound().await;
    }

    async fn a_held_stake_that_nothing_names_or_awaits_is_found_and_returned(db: &TestDatabase) {
        let billing = permitted(db).await;
        billing.stake(&billing.find("sub_2").await, 20).await;
        billing::check_stakes(&billing.ctx, 9).await.expect("looks");
        let found = billing.find_stake("stk_2").await;
        assert_eq!((found.status, found.release_reason), (StakeStatus::Releasing, Some(ReleaseReason::Abandoned)));
        assert_eq!(billing.find_stake("stk_1").await.status, StakeStatus::Held, "both subscriptions name it");
        assert_eq!(billing.process_due_stakes().await, 1);
        assert_eq!((billing.find_stake("stk_2").await.status, billing.networks.staked("stk_2").await), (StakeStatus::Final, (0, 0)));
        billing.is_sound().await;
    }
}

/// Everything after the order that a process does until the plan has changed or the deposit is returned.
async fn decide_and_finish(billing: &Billing, decision: Decision) -> Result<(), StorageError> {
    if decision == Decision::Declined {
        decline_delegation(&billing.ctx, "sub_2").await.map_err(|error| StorageError::Driver(error.into()))?;
    }
    check_due(&billing.ctx, 9).await.map_err(|error| StorageError::Driver(error.into()))?;
    billing::make_ordered_plan_changes(&billing.ctx, 9).await.map_err(|error| StorageError::Driver(error.into()))?;
    let scope = billing::Scope::Wall;
    let due = billing::move_due_stakes(&billing.ctx, &scope, billing.ctx.now(), 9).await;
    let due = due.map_err(|error| StorageError::Driver(error.into()))?;
    payment::charge(&billing.ctx, &due.attempts).await.map_err(|error| StorageError::Driver(error.into()))
}

/// Crashes once, recovers, and checks that money and plan match. Returns whether the crash point was reached.
async fn crash_once(db: &TestDatabase, decision: Decision, point: CrashPoint) -> bool {
    let mut billing = secured(db).await;
    let order = shown(&billing, "sub_2", "price_2").await;
    let (ctx, crash) = crashing(&billing.ctx, point);
    let healthy = std::mem::replace(&mut billing.ctx, ctx);
    billing.networks.fault("drop_request").await;
    let is_ordered = match sign_delegation(&billing, "sub_2", &order, &billing.networks.wallet).await {
        Ok(_) => place_missing_stake(&billing, "sub_2", &order, &billing.networks.wallet).await.is_ok(),
        Err(_) => false,
    };
    billing.wait(LATER);
    let finished = decide_and_finish(&billing, decision).await;
    billing.ctx = healthy;
    assert!(crash.has_happened() || (is_ordered && finished.is_ok()), "{point:?}: {finished:?}");

    for _ in 0..4 {
        billing.wait(LATER);
        decide_and_finish(&billing, decision).await.expect("recovers");
    }
    billing.wait(DAY);
    billing.send_all().await;
    let found = (price_of(&billing, "sub_2").await, amounts(&billing, "stk_1").await);
    let (changed, unchanged) = ((id("price_2"), StakeAmounts::all(65)), (id("price_1"), StakeAmounts::all(50)));
    match decision {
        // Before its order is stored, a crash takes no deposit.
        Decision::Granted => assert!(found == changed || (found == unchanged && !is_ordered), "{point:?}: {found:?}"),
        Decision::Declined => assert_eq!(found, unchanged, "{point:?}"),
    }
    billing.is_sound().await;
    crash.has_happened()
}

/// Another database of the same engine.
async fn another(db: &TestDatabase) -> TestDatabase {
    if db.address().starts_with("sqlite") { TestDatabase::sqlite().await } else { TestDatabase::postgres().await }
}

/// Crashes at every commit, before and after it takes effect.
async fn crash_everywhere(db: &TestDatabase, decision: Decision) {
    for takes_effect in [false, true] {
        let mut commits = 0;
        while crash_once(&another(db).await, decision, CrashPoint { commits, takes_effect }).await {
            commits += 1;
            assert!(commits < 50, "the order has an end");
        }
        assert!(commits > 5, "the order, the decisions and the plan change are commits of their own: {commits}");
    }
}

on_one! {
    async fn a_crash_at_any_commit_of_a_granted_plan_change_leaves_money_and_plan_correct(db: &TestDatabase) {
        crash_everywhere(db, Decision::Granted).await;
    }

    async fn a_crash_at_any_commit_of_a_declined_plan_change_leaves_money_and_plan_correct(db: &TestDatabase) {
        crash_everywhere(db, Decision::Declined).await;
    }
}
