//! No deposit is forgotten: a declined return is retried, regardless of what happened to the stake's subject.

use super::bench::{Billing, DAY, MONTHLY, at_once};
use crate::checkout_fixtures::{at, id, session};
use crate::ledger::bench::UNIT;
use souk_adapters::arcblock::TestWallet;
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_domain::access::Wallet;
use souk_domain::billing::{
    self, CancelReason, Cancellation, RefundChoice, ReleaseReason, Requester, STAKE_RETRY_DELAY, STAKE_WAITING, StakeChoice, StakeFor,
    StakeStatus, Subscription,
};
use souk_domain::checkout::{self, Session};
use souk_domain::shared::{Amount, SubscriptionId};

/// A customer who staked 50 of 1,000 tokens for `sub_1`. `change` modifies the subscription before it is inserted.
async fn staked(db: &TestDatabase, change: impl FnOnce(&mut Subscription)) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let mut one = billing.subscription("sub_1", &price, DAY);
    one.stake_id = Some(billing.stake(&one, 50).await.id);
    change(&mut one);
    billing.insert(&one).await;
    billing
}

/// The network declines the due return, and accepts it six hours later.
async fn declined_then_returned(billing: &Billing, reason: ReleaseReason) {
    billing.networks.fault("decline").await;
    assert_eq!(billing.process_due_stakes().await, 1);
    let declined = billing.find_stake("stk_1").await;
    assert_eq!((declined.status, declined.release_reason, declined.failure_count), (StakeStatus::Releasing, Some(reason), 1));
    assert_eq!((declined.remaining(), declined.amount_reserved()), (Amount::new(50 * UNIT), Amount::ZERO));
    assert_eq!(billing.process_due_stakes().await, 0, "it is not tried again at once");
    billing.wait(STAKE_RETRY_DELAY);
    assert_eq!(billing.process_due_stakes().await, 1);
    let returned = billing.find_stake("stk_1").await;
    assert_eq!((returned.status, returned.amount_returned, returned.return_at), (StakeStatus::Final, Amount::new(50 * UNIT), None));
    assert_eq!((billing.networks.staked("stk_1").await, billing.networks.balance().await), ((0, 0), 1_000));
    assert_eq!(billing.process_due_stakes().await, 0);
}

on_both! {
    async fn the_stake_of_an_abandoned_checkout_is_returned_by_a_retry(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let stake = billing.stake(&billing.subscription("sub_1", &price, DAY), 50).await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let abandoned = Session { stake_id: Some(stake.id), customer_id: Some(id("cus_1")), mandate_id: None, ..session("cs_1") };
        unit.sessions().insert(&abandoned).await.expect("inserts");
        unit.commit().await.expect("commits");
        checkout::expire_session(&billing.ctx, &abandoned.id).await.expect("expires");
        declined_then_returned(&billing, ReleaseReason::Abandoned).await;
    }

    async fn the_stake_of_an_ended_subscription_is_returned_by_a_retry(db: &TestDatabase) {
        let billing = staked(db, |_| ()).await;
        let terms = at_once(RefundChoice::None, StakeChoice::None);
        billing::cancel(&billing.ctx, Requester::Store, &id("sub_1"), &terms).await.expect("ends");
        assert_eq!(billing.process_due_stakes().await, 0, "the last usage may still be billed");
        billing.wait(STAKE_WAITING);
        declined_then_returned(&billing, ReleaseReason::Ended).await;
        billing.is_sound().await;
    }

    async fn the_stake_of_a_payer_who_changed_wallets_is_returned_by_a_retry(db: &TestDatabase) {
        let revoked = Cancellation {
            reason: CancelReason::StakeRevoked,
            feedback: None,
            comment: String::new(),
            requested_at: at(0),
            clearing_stake: None,
        };
        let billing = staked(db, |one| {
            one.session_id = Some(id("cs_1"));
            one.cancel_at_period_end = true;
            one.cancellation = Some(revoked);
        })
        .await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let terms = checkout::SubscriptionTerms::default();
        let bought = Session { terms, subscription_ids: vec![id("sub_1")], mandate_id: None, stake_id: None, ..session("cs_1") };
        unit.sessions().insert(&bought).await.expect("inserts");
        unit.commit().await.expect("commits");
        // The former wallet revoked nothing, so its stake is held until the new wallet has placed its own.
        billing.write("UPDATE stakes SET status = 'releasing', release_reason = 'revoked'").await;
        let other = TestWallet::from_seed(&[77; 32]);
        billing.networks.faucet_for(&other).await;
        let payer = Wallet { did: other.did().clone(), public_key: other.public_key_base58() };
        let (sub, what) = (id::<SubscriptionId>("sub_1"), StakeFor::Resuming);
        let prepared = billing::prepare_restake(&billing.ctx, &sub, what, &payer, 5).await.expect("prepares");
        let signed = other.sign_stake(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount).expect("signs");
        billing::submit_signed_restake(&billing.ctx, &sub, what, &payer, 5, &signed).await.expect("takes");
        let placed = billing.stake_of("sub_1").await;
        assert_eq!((&placed.payer, placed.status, placed.remaining()), (other.did(), StakeStatus::Held, Amount::new(50 * UNIT)));
        declined_then_returned(&billing, ReleaseReason::Revoked).await;
        assert_eq!(billing.stake_of("sub_1").await.status, StakeStatus::Held, "the new one stays");
    }
}
