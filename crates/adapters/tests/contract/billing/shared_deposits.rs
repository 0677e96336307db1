//! Deposits for plan changes in a stake that is used otherwise at the same time: by another payment, by another subscription, or by another
//! wallet.

use super::bench::{Billing, DAY, MONTHLY};
use super::gas_retries::{GAS_PRICE, generation_for, stake_for_gas};
use super::late_delegations::{
    LATER, StakeAmounts, amounts, decline_delegation, make_due, ordered, price_of, secured, secured_without_gas,
};
use super::stake_growth::{place_missing_stake, shown, sign_delegation};
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::arcblock::TestWallet;
use souk_adapters::on_one;
use souk_domain::billing::{self, PlanChoice, PlanOrder, PlanSwitch, Requester, StakeStatus, SubscriptionError};
use souk_domain::payment::{Decline, check_due};
use souk_domain::shared::Amount;
use std::time::Duration;

/// The customer's wallet signs the delegation for a plan of `sub_2`, whose request is lost, and the deposit. The network declines the
/// delegation, so the deposit is due for return.
async fn place_in_vain(billing: &Billing) {
    let order = shown(billing, "sub_2", "price_2").await;
    order_undecided(billing, "sub_2", &order, &billing.networks.wallet).await;
    decline_delegation(&billing.ctx, "sub_2").await.expect("records");
    assert_eq!(amounts(billing, "stk_1").await, StakeAmounts { requested: 50, ..StakeAmounts::all(65) });
}

/// A wallet signs the delegation, whose request is lost, and the deposit.
async fn order_undecided(billing: &Billing, name: &str, order: &PlanOrder, wallet: &TestWallet) {
    billing.networks.fault("drop_request").await;
    sign_delegation(billing, name, order, wallet).await.expect("is sent");
    place_missing_stake(billing, name, order, wallet).await.expect("is sent");
}

/// The customer orders the plan again; everything is granted.
async fn order_again(billing: &Billing) {
    billing.wait(Duration::from_secs(5));
    let again = shown(billing, "sub_2", "price_2").await;
    sign_delegation(billing, "sub_2", &again, &billing.networks.wallet).await.expect("is granted");
    place_missing_stake(billing, "sub_2", &again, &billing.networks.wallet).await.expect("is placed");
    assert_eq!(price_of(billing, "sub_2").await, id("price_2"));
    assert_eq!(amounts(billing, "stk_1").await, StakeAmounts { requested: 65, ..StakeAmounts::all(80) });
}

/// Everything that the workers do in a few days.
async fn work_for_days(billing: &Billing) {
    for _ in 0..4 {
        billing::retry_without_gas(&billing.ctx, 9).await.expect("retries");
        billing.process_due_stakes().await;
        billing.send_all().await;
        billing.wait(DAY);
        billing::check_stakes(&billing.ctx, 9).await.expect("looks");
        check_due(&billing.ctx, 9).await.expect("checks");
        make_due(billing).await;
    }
}

on_one! {
    async fn a_deposit_that_is_due_for_return_is_returned_after_its_plan_was_ordered_again(db: &TestDatabase) {
        let billing = secured(db).await;
        place_in_vain(&billing).await;
        order_again(&billing).await;
        assert_eq!(billing.process_due_stakes().await, 1);
        assert_eq!(amounts(&billing, "stk_1").await, StakeAmounts::all(65), "the first deposit is back");
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn a_return_that_waits_for_gas_is_made_after_its_plan_was_ordered_again(db: &TestDatabase) {
        let billing = secured_without_gas(db).await;
        place_in_vain(&billing).await;
        billing.networks.set_chain(generation_for(db), GAS_PRICE).await;
        assert_eq!(billing.process_due_stakes().await, 1);
        assert!(billing.find_stake("stk_1").await.failure.as_ref().is_some_and(Decline::is_for_gas));
        stake_for_gas(&billing).await;
        order_again(&billing).await;
        work_for_days(&billing).await;
        assert_eq!(amounts(&billing, "stk_1").await, StakeAmounts::all(65), "the first deposit is back");
        billing.is_sound().await;
    }

    async fn an_excess_that_no_return_is_due_for_is_found_and_returned(db: &TestDatabase) {
        let billing = secured(db).await;
        place_in_vain(&billing).await;
        billing.write("UPDATE stakes SET return_at = NULL").await;
        assert_eq!(billing.process_due_stakes().await, 0);
        billing::check_stakes(&billing.ctx, 9).await.expect("looks");
        assert_eq!(billing.process_due_stakes().await, 1);
        assert_eq!(amounts(&billing, "stk_1").await, StakeAmounts::all(50));
        billing.is_sound().await;
    }

    /// How much the second plan requires is known only after the first.
    async fn one_plan_with_a_deposit_is_ordered_at_a_time_of_the_subscriptions_that_share_a_stake(db: &TestDatabase) {
        let billing = secured(db).await;
        billing.price("price_5", 100, MONTHLY).await;
        let own = &billing.networks.wallet;
        let stale = shown(&billing, "sub_2", "price_5").await;
        let order = shown(&billing, "sub_1", "price_2").await;
        order_undecided(&billing, "sub_1", &order, own).await;
        let choice = PlanChoice { price: id("price_5"), quantity: None, item: None };
        let preview = billing::preview_plan(&billing.ctx, &id("sub_2"), &choice).await.expect("is computed");
        let in_flight = SubscriptionError::PaymentInFlight.to_string();
        assert_eq!(preview.check_stake().expect_err("is refused").to_string(), in_flight);
        let refused = sign_delegation(&billing, "sub_2", &stale, own).await.expect_err("is refused");
        assert_eq!(refused.to_string(), in_flight);
        let refused = place_missing_stake(&billing, "sub_2", &stale, own).await.expect_err("is refused");
        assert_eq!((refused.to_string(), amounts(&billing, "stk_1").await), (in_flight, StakeAmounts::all(65)));

        billing.wait(LATER);
        assert_eq!(check_due(&billing.ctx, 9).await.expect("checks"), 1);
        assert_eq!((make_due(&billing).await, price_of(&billing, "sub_1").await), (1, id("price_2")));
        let second = shown(&billing, "sub_2", "price_5").await;
        sign_delegation(&billing, "sub_2", &second, own).await.expect("is granted");
        place_missing_stake(&billing, "sub_2", &second, own).await.expect("is placed");
        assert_eq!((price_of(&billing, "sub_2").await, amounts(&billing, "stk_1").await), (id("price_5"), StakeAmounts::all(160)));
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn the_deposit_of_a_waiting_plan_pays_for_no_other_plan(db: &TestDatabase) {
        let billing = secured(db).await;
        let own = &billing.networks.wallet;
        let order = shown(&billing, "sub_1", "price_2").await;
        order_undecided(&billing, "sub_1", &order, own).await;
        assert_eq!(amounts(&billing, "stk_1").await, StakeAmounts::all(65));
        // As much as was deposited for the first plan.
        let choice = PlanChoice { price: id("price_2"), quantity: None, item: None };
        let preview = billing::preview_plan(&billing.ctx, &id("sub_2"), &choice).await.expect("is computed");
        let same = PlanOrder { choice, at: preview.at, expected: preview.total, credited: Some(preview.credited) };
        let refused = billing::switch_plan(&billing.ctx, &id("sub_2"), &same, Requester::Customer).await.expect_err("is refused");
        assert_eq!(refused.to_string(), SubscriptionError::PaymentInFlight.to_string());
        billing.wait(LATER);
        assert_eq!(check_due(&billing.ctx, 9).await.expect("checks"), 1);
        assert_eq!((make_due(&billing).await, price_of(&billing, "sub_1").await), (1, id("price_2")));
        let second = shown(&billing, "sub_2", "price_2").await;
        sign_delegation(&billing, "sub_2", &second, own).await.expect("is granted");
        place_missing_stake(&billing, "sub_2", &second, own).await.expect("is placed");
        assert_eq!((price_of(&billing, "sub_2").await, amounts(&billing, "stk_1").await), (id("price_2"), StakeAmounts::all(120)));
        billing.send_all().await;
        billing.is_sound().await;
    }

    /// The deposit secures the store, which may do without it.
    async fn the_store_changes_a_plan_while_another_subscription_waits_for_its_own(db: &TestDatabase) {
        let billing = secured(db).await;
        billing.networks.grant_mandate(1_000, 11).await;
        let order = shown(&billing, "sub_1", "price_2").await;
        order_undecided(&billing, "sub_1", &order, &billing.networks.wallet).await;
        let same = shown(&billing, "sub_2", "price_2").await;
        let switched = billing::switch_plan(&billing.ctx, &id("sub_2"), &same, Requester::Store).await;
        assert_eq!((switched.expect("is made"), price_of(&billing, "sub_2").await), (PlanSwitch::Switched, id("price_2")));
        work_for_days(&billing).await;
        billing.is_sound().await;
    }

    /// Both plans were ordered at the same time, so neither order saw the other one.
    async fn a_late_deposit_does_not_replace_the_larger_stake_of_another_wallet(db: &TestDatabase) {
        let billing = secured(db).await;
        let other = TestWallet::from_seed(&[78; 32]);
        billing.networks.faucet_for(&other).await;
        let order = shown(&billing, "sub_1", "price_2").await;
        sign_delegation(&billing, "sub_1", &order, &billing.networks.wallet).await.expect("is granted");
        billing.networks.fault("drop_answer").await;
        place_missing_stake(&billing, "sub_1", &order, &billing.networks.wallet).await.expect("is sent");
        let first = ordered(&billing, "sub_1").await.expect("waits");
        billing.write("DELETE FROM pending_plan_changes").await;
        let second = shown(&billing, "sub_2", "price_2").await;
        sign_delegation(&billing, "sub_2", &second, &other).await.expect("is granted");
        place_missing_stake(&billing, "sub_2", &second, &other).await.expect("is placed");
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.plan_changes().upsert(&first).await.expect("writes");
        unit.commit().await.expect("commits");
        let larger = billing.find("sub_2").await.stake_id.expect("a stake");
        work_for_days(&billing).await;
        for name in ["sub_1", "sub_2"] {
            assert_eq!(billing.find(name).await.stake_id.as_ref(), Some(&larger), "{name}");
        }
        let secures = billing.find_stake(larger.as_str()).await;
        assert_eq!((secures.status, secures.remaining()), (StakeStatus::Held, Amount::new(65 * UNIT)));
        assert_eq!((price_of(&billing, "sub_1").await, price_of(&billing, "sub_2").await), (id("price_1"), id("price_2")));
        let late = billing.find_stake("stk_1").await;
        assert_eq!((late.status, billing.networks.staked("stk_1").await), (StakeStatus::Final, (0, 0)), "all of it is back");
        billing.is_sound().await;
    }
}
