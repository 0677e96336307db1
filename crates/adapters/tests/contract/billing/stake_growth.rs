//! The required stake is computed from all subscriptions that it secures, and grows with their plans.

use super::bench::{Billing, MONTHLY};
use super::stakes::two_of_one_checkout;
use crate::checkout_fixtures::{begin, id};
use crate::ledger::bench::UNIT;
use souk_adapters::arcblock::TestWallet;
use souk_adapters::{on_both, on_one};
use souk_domain::access::Wallet;
use souk_domain::billing::{
    self, CancelAt, CancelTerms, PREVIEW_LIFETIME, PaymentChangeError, PlanChoice, PlanError, PlanOrder, PlanSwitch, RefundChoice,
    ReleaseReason, Requester, RestakeError, StakeChoice, StakeFor, StakeStatus, Subscription, SubscriptionItem, SubscriptionStatus,
};
use souk_domain::payment::{Description, PurposeKind, WalletSignature, check_due};
use souk_domain::shared::{Amount, PriceId, SubscriptionId};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn wallet(billing: &Billing) -> Wallet {
    let wallet = &billing.networks.wallet;
    Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() }
}

/// Detaches the stake from its subscriptions and marks it as returned, as if none had been placed.
async fn forget_stake(billing: &Billing) {
    billing.write("UPDATE subscriptions SET stake_id = NULL").await;
    billing.write("UPDATE stakes SET status = 'final', amount_returned = amount").await;
}

/// The customer requests cancellation at the end of the period.
async fn cancel(billing: &Billing) {
    let (slash_reason, comment) = (String::new(), String::new());
    let terms = CancelTerms {
        at: CancelAt::PeriodEnd,
        refund: RefundChoice::None,
        stake: StakeChoice::None,
        slash_reason,
        feedback: None,
        comment,
    };
    billing::cancel(&billing.ctx, Requester::Customer, &id("sub_1"), &terms).await.expect("is canceled");
}

/// Returns the missing amount of the stake in whole tokens.
async fn missing(billing: &Billing, name: &str, what: StakeFor<'_>) -> Result<u128, RestakeError> {
    let prepared = billing::prepare_restake(&billing.ctx, &id::<SubscriptionId>(name), what, &wallet(billing), 5).await?;
    Ok(prepared.amount.base_units() / UNIT)
}

/// Differs between the orders of a plan, and between the two transactions of an order: a wallet's next transaction has another nonce.
fn nonce(order: &PlanOrder, kind: PurposeKind) -> u64 {
    u64::try_from(order.at.seconds()).expect("after 1970") * 2 + u64::from(kind == PurposeKind::Stake)
}

/// A wallet stakes the amount that is missing for a plan.
pub async fn place_missing_stake(billing: &Billing, name: &str, order: &PlanOrder, wallet: &TestWallet) -> Result<String, RestakeError> {
    let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
    let (ctx, id, what) = (&billing.ctx, id::<SubscriptionId>(name), StakeFor::ChangedPlan(order));
    let nonce = nonce(order, PurposeKind::Stake);
    let prepared = billing::prepare_restake(ctx, &id, what, &payer, nonce).await?;
    let signed = wallet.sign_stake(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount).expect("signs");
    billing::submit_signed_restake(ctx, &id, what, WalletSignature::new(&payer, nonce, &signed)).await
}

/// A wallet signs the delegation for a plan: the first of the two steps of a change to a more expensive plan.
pub async fn sign_delegation(billing: &Billing, name: &str, order: &PlanOrder, wallet: &TestWallet) -> Result<String, PaymentChangeError> {
    let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
    let (ctx, id, currency) = (&billing.ctx, id::<SubscriptionId>(name), &billing.networks.currency.id);
    let nonce = nonce(order, PurposeKind::Mandate);
    let prepared = billing::prepare_payment_change(ctx, &id, currency, Some(order), &payer, nonce).await?;
    let signed = wallet.sign_origin(&prepared.prepared.partial_tx).expect("signs");
    billing::submit_signed_payment_change(ctx, &id, currency, Some(order), WalletSignature::new(&payer, nonce, &signed)).await
}

/// As [`sign_delegation`], and the network grants it.
pub async fn sign_mandate(billing: &Billing, name: &str, order: &PlanOrder, wallet: &TestWallet) {
    sign_delegation(billing, name, order, wallet).await.expect("takes");
}

async fn switch(billing: &Billing, name: &str, order: &PlanOrder) -> PlanSwitch {
    billing::switch_plan(&billing.ctx, &id(name), order, Requester::Customer).await.expect("changes or asks")
}

async fn price_of(billing: &Billing, name: &str) -> PriceId {
    billing.find(name).await.items[0].price_id.clone()
}

/// Returns the number of the customer's invoices and the tokens left in the wallet.
async fn bills(billing: &Billing) -> (usize, u128) {
    (billing.invoices().await.len(), billing.networks.balance().await)
}

/// Returns the current preview of a plan as an order.
pub async fn shown(billing: &Billing, name: &str, price: &str) -> PlanOrder {
    let choice = PlanChoice { price: id(price), quantity: None, item: None };
    let preview = billing::preview_plan(&billing.ctx, &id(name), &choice).await.expect("is shown");
    PlanOrder { choice, at: preview.at, expected: preview.total, credited: Some(preview.credited) }
}

/// Two subscriptions of one checkout at 5 tokens each, secured by a stake of 50 tokens placed for the first. The mandate allows more.
pub async fn permitted(db: &souk_adapters::testing::TestDatabase) -> Billing {
    let billing = two_of_one_checkout(db).await;
    billing.networks.grant_mandate(1_000, 8).await;
    billing.write("UPDATE checkout_sessions SET status = 'complete', invoice_id = NULL").await;
    for (name, tokens) in [("price_2", 60), ("price_3", 6)] {
        billing.price(name, tokens, MONTHLY).await;
    }
    billing
}

async fn end(billing: &Billing, name: &str) {
    let (slash_reason, comment) = (String::new(), String::new());
    let (refund, stake) = (RefundChoice::None, StakeChoice::None);
    let terms = CancelTerms { at: CancelAt::Now, refund, stake, slash_reason, feedback: None, comment };
    billing::cancel(&billing.ctx, Requester::Store, &id(name), &terms).await.expect("ends");
}

on_one! {
    async fn a_new_wallets_required_stake_includes_all_subscriptions_it_secures(db: &TestDatabase) {
        let billing = two_of_one_checkout(db).await;
        forget_stake(&billing).await;
        assert_eq!(missing(&billing, "sub_1", StakeFor::ChangedPayment(&billing.networks.currency.id)).await.expect("prepares"), 10);
        let second = missing(&billing, "sub_2", StakeFor::ChangedPayment(&billing.networks.currency.id)).await;
        assert_eq!(second.expect("prepares"), 10, "both subscriptions require the same stake");
        end(&billing, "sub_2").await;
        assert_eq!(missing(&billing, "sub_1", StakeFor::ChangedPayment(&billing.networks.currency.id)).await.expect("prepares"), 5, "an ended subscription requires none");
    }

    async fn a_more_expensive_plan_requires_the_missing_stake_of_all_secured_subscriptions(db: &TestDatabase) {
        let billing = permitted(db).await;
        let own = &billing.networks.wallet;
        let cheap = shown(&billing, "sub_2", "price_3").await;
        assert_eq!(switch(&billing, "sub_2", &cheap).await, PlanSwitch::Switched, "11 of 50");
        billing.send_all().await;
        billing.wait(Duration::from_secs(5));
        let dear = shown(&billing, "sub_2", "price_2").await;
        assert_eq!((switch(&billing, "sub_2", &dear).await, price_of(&billing, "sub_2").await), (PlanSwitch::NeedsPermission, id("price_3")));
        assert_eq!(missing(&billing, "sub_2", StakeFor::ChangedPlan(&dear)).await.expect("prepares"), 15);
        place_missing_stake(&billing, "sub_2", &dear, own).await.expect("leaves");
        assert_eq!(price_of(&billing, "sub_2").await, id("price_2"), "the plan follows the stake");
        let stake = billing.stake_of("sub_1").await;
        assert_eq!((stake.remaining(), stake.status, billing.networks.staked("stk_1").await), (Amount::new(65 * UNIT), StakeStatus::Held, (65, 0)));
        let listed = billing.statements().await;
        let listed = listed.iter().find(|listed| listed.description == Description::DepositForPlanChange).expect("a statement");
        assert_eq!(listed.total, Amount::new(15 * UNIT));
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn a_plan_change_whose_stake_is_declined_has_no_effect_and_requires_the_stake_again(db: &TestDatabase) {
        let billing = permitted(db).await;
        let own = &billing.networks.wallet;
        billing.networks.grant_mandate(7, 9).await;
        let (dear, currency) = (shown(&billing, "sub_2", "price_2").await, &billing.networks.currency.id);
        let before = bills(&billing).await;
        // The second step is declined, or the process ends between the two steps.
        sign_mandate(&billing, "sub_2", &dear, own).await;
        let what = StakeFor::ChangedPlan(&dear);
        assert!(billing::lacks_stake(&billing.ctx, &id("sub_2"), currency, what, &wallet(&billing)).await.expect("looks"));
        billing.wait(Duration::from_secs(120));
        check_due(&billing.ctx, 9).await.expect("looks after it");
        billing.send_all().await;
        assert_eq!((price_of(&billing, "sub_2").await, bills(&billing).await), (id("price_1"), before));
        assert_eq!(billing.networks.staked("stk_1").await, (50, 0));
        let again = shown(&billing, "sub_2", "price_2").await;
        assert_eq!(switch(&billing, "sub_2", &again).await, PlanSwitch::NeedsPermission, "the mandate suffices, but the stake is still missing");
        assert_eq!(missing(&billing, "sub_2", StakeFor::ChangedPlan(&again)).await.expect("prepares"), 15);
        let cheap = shown(&billing, "sub_2", "price_3").await;
        assert_eq!(switch(&billing, "sub_2", &cheap).await, PlanSwitch::Switched, "one that needs no more changes as before");
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn a_stake_placed_before_its_plan_change_is_recorded_and_not_required_again(db: &TestDatabase) {
        let billing = permitted(db).await;
        let own = &billing.networks.wallet;
        let dear = shown(&billing, "sub_2", "price_2").await;
        billing.wait(PREVIEW_LIFETIME + Duration::from_secs(1));
        let late = place_missing_stake(&billing, "sub_2", &dear, own).await;
        assert!(matches!(late, Err(RestakeError::Plan(PlanError::PreviewChanged))), "a stale request is rejected: {late:?}");
        assert_eq!(billing.networks.staked("stk_1").await, (50, 0));

        // By the time the stake is placed, the mandate's limit is below the plan's price.
        let dear = shown(&billing, "sub_2", "price_2").await;
        billing.networks.grant_mandate(7, 9).await;
        place_missing_stake(&billing, "sub_2", &dear, own).await.expect("leaves");
        let stake = billing.stake_of("sub_1").await;
        assert_eq!((stake.amount, price_of(&billing, "sub_2").await), (Amount::new(65 * UNIT), id("price_1")));
        billing.networks.grant_mandate(1_000, 10).await;
        assert_eq!(switch(&billing, "sub_2", &dear).await, PlanSwitch::Switched);
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn another_wallet_stakes_the_full_amount_and_the_previous_stake_is_returned(db: &TestDatabase) {
        let billing = permitted(db).await;
        let other = TestWallet::from_seed(&[78; 32]);
        billing.networks.faucet_for(&other).await;
        let dear = shown(&billing, "sub_1", "price_2").await;
        sign_mandate(&billing, "sub_1", &dear, &other).await;
        assert_eq!(price_of(&billing, "sub_1").await, id("price_1"));
        billing.wait(Duration::from_secs(1));
        let again = shown(&billing, "sub_1", "price_2").await;
        assert_eq!(switch(&billing, "sub_1", &again).await, PlanSwitch::NeedsPermission, "another wallet's stake doesn't count");
        place_missing_stake(&billing, "sub_1", &again, &other).await.expect("leaves");
        let left = billing.find("sub_1").await;
        let stake = billing.stake_of("sub_1").await;
        assert_eq!((&stake.payer, stake.amount, &left.items[0].price_id), (other.did(), Amount::new(65 * UNIT), &id("price_2")));
        let before = billing.find_stake("stk_1").await;
        assert_eq!((before.remaining(), before.release_reason), (Amount::new(50 * UNIT), Some(ReleaseReason::Superseded)));
        assert_eq!(billing.find("sub_2").await.stake_id, Some(stake.id), "both of the checkout share it");
    }
}

on_both! {
    async fn two_concurrent_plan_changes_do_not_share_one_stake(db: &TestDatabase) {
        let billing = permitted(db).await;
        billing.price("price_4", 40, MONTHLY).await;
        let dear = shown(&billing, "sub_2", "price_4").await;
        let first = billing.find("sub_1").await;
        let mut other = begin(billing.database()).await;
        other.subscriptions().lock(&first.id).await.expect("locks");
        other.stakes().lock(&id("stk_1")).await.expect("locks");
        let items = first.items.iter().map(|item| SubscriptionItem { price_id: id("price_4"), ..item.clone() }).collect();
        other.subscriptions().put_items(&Subscription { items, ..first }).await.expect("writes");
        let is_done = AtomicBool::new(false);
        let change = async {
            let done = switch(&billing, "sub_2", &dear).await;
            is_done.store(true, Ordering::Relaxed);
            done
        };
        let release = async {
            billing.until_blocked(1, || is_done.load(Ordering::Relaxed)).await;
            other.commit().await.expect("commits");
        };
        let (changed, ()) = tokio::join!(change, release);
        assert_eq!(changed, PlanSwitch::NeedsPermission, "50 are there for 45, not for 80");
        assert_eq!((price_of(&billing, "sub_1").await, price_of(&billing, "sub_2").await), (id("price_4"), id("price_1")));
    }
}

on_one! {
    async fn a_requested_cancellation_remains_if_another_wallet_places_a_stake(db: &TestDatabase) {
        let billing = permitted(db).await;
        forget_stake(&billing).await;
        cancel(&billing).await;
        let (own, what, sub) = (wallet(&billing), StakeFor::ChangedPayment(&billing.networks.currency.id), id::<SubscriptionId>("sub_1"));
        let prepared = billing::prepare_restake(&billing.ctx, &sub, what, &own, 5).await.expect("prepares");
        let (wallet, request) = (&billing.networks.wallet, &prepared.prepared);
        let signed = wallet.sign_stake(&request.partial_tx, &request.token, prepared.amount).expect("signs");
        billing::submit_signed_restake(&billing.ctx, &sub, what, WalletSignature::new(&own, 5, &signed)).await.expect("takes");
        let after = billing.find("sub_1").await;
        assert!(after.stake_id.is_some() && after.cancel_at_period_end && after.cancellation.is_some());
        billing.wait(Duration::from_secs(40 * 86_400));
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Canceled);
    }

    async fn a_deposit_whose_payment_is_undecided_is_not_there_yet(db: &TestDatabase) {
        let billing = permitted(db).await;
        forget_stake(&billing).await;
        let currency = &billing.networks.currency.id;
        let (own, what, sub) = (wallet(&billing), StakeFor::ChangedPayment(currency), id::<SubscriptionId>("sub_1"));
        let prepared = billing::prepare_restake(&billing.ctx, &sub, what, &own, 5).await.expect("prepares");
        let (wallet, request) = (&billing.networks.wallet, &prepared.prepared);
        let signed = wallet.sign_stake(&request.partial_tx, &request.token, prepared.amount).expect("signs");
        billing.networks.fault("drop_answer").await;
        billing::submit_signed_restake(&billing.ctx, &sub, what, WalletSignature::new(&own, 5, &signed)).await.expect("is sent");
        let lacks_stake = async || billing::lacks_stake(&billing.ctx, &sub, currency, what, &own).await.expect("looks");
        assert!(lacks_stake().await, "the network holds it, but the payment is not recorded");
        billing.wait(Duration::from_secs(600));
        assert_eq!(check_due(&billing.ctx, 9).await.expect("looks after it"), 1);
        assert!(!lacks_stake().await);
    }

    async fn a_requested_cancellation_remains_if_a_stake_for_a_plan_is_found_later(db: &TestDatabase) {
        let billing = permitted(db).await;
        let dear = shown(&billing, "sub_1", "price_2").await;
        billing.networks.fault("drop_answer").await;
        place_missing_stake(&billing, "sub_1", &dear, &billing.networks.wallet).await.expect("is sent");
        cancel(&billing).await;
        billing.wait(Duration::from_secs(600));
        assert_eq!(check_due(&billing.ctx, 9).await.expect("looks after it"), 1);
        let after = billing.find("sub_1").await;
        assert!(after.cancel_at_period_end && after.cancellation.is_some());
        assert!(billing.stake_of("sub_1").await.amount > Amount::new(50 * UNIT), "it is found");
    }
}
