//! No deposit is forgotten: a declined return is retried, regardless of what happened to the stake's subject.

use super::bench::{Billing, DAY, MONTHLY, at_once};
use super::stake_growth::{permitted, place_missing_stake, shown, sign_mandate};
use crate::checkout_fixtures::{id, session};
use crate::ledger::bench::UNIT;
use souk_adapters::arcblock::TestWallet;
use souk_adapters::on_one;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{self, RefundChoice, ReleaseReason, Requester, STAKE_RETRY_DELAY, STAKE_WAITING, StakeChoice, StakeStatus};
use souk_domain::checkout::{self, Session};
use souk_domain::shared::Amount;

/// A customer who staked 50 of 1,000 tokens for `sub_1`.
async fn staked(db: &TestDatabase) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let mut one = billing.subscription("sub_1", &price, DAY);
    one.stake_id = Some(billing.stake(&one, 50).await.id);
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

on_one! {
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
        let billing = staked(db).await;
        let terms = at_once(RefundChoice::None, StakeChoice::None);
        billing::cancel(&billing.ctx, Requester::Store, &id("sub_1"), &terms).await.expect("ends");
        assert_eq!(billing.process_due_stakes().await, 0, "the last usage may still be billed");
        billing.wait(STAKE_WAITING);
        declined_then_returned(&billing, ReleaseReason::Ended).await;
        billing.is_sound().await;
    }

    async fn the_stake_of_a_payer_who_changed_wallets_is_returned_by_a_retry(db: &TestDatabase) {
        let billing = permitted(db).await;
        let other = TestWallet::from_seed(&[77; 32]);
        billing.networks.faucet_for(&other).await;
        let dear = shown(&billing, "sub_1", "price_2").await;
        sign_mandate(&billing, "sub_1", &dear, &other).await;
        let dear = shown(&billing, "sub_1", "price_2").await;
        place_missing_stake(&billing, "sub_1", &dear, &other).await.expect("takes");
        billing.send_all().await;
        let placed = billing.stake_of("sub_1").await;
        assert_eq!((&placed.payer, placed.status, placed.remaining()), (other.did(), StakeStatus::Held, Amount::new(65 * UNIT)));
        billing.is_sound().await;
        declined_then_returned(&billing, ReleaseReason::Superseded).await;
        assert_eq!(billing.stake_of("sub_1").await.status, StakeStatus::Held, "the new one stays");
        billing.is_sound().await;
    }
}
