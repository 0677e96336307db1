//! While the clock is not trusted, reconciling learns and concludes nothing from the time that has passed.

use super::bench::{Billing, DAY, DoubtedClock, MONTHLY};
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_domain::billing::{self, InvoiceStatus, Scope, Stake};
use souk_domain::payment::check_due;
use souk_domain::shared::Amount;
use std::sync::Arc;

on_one! {
    async fn a_stake_that_the_network_does_not_show_counts_as_revoked_only_while_the_clock_is_trusted(db: &TestDatabase) {
        let mut billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY);
        one.stake_id = Some(billing.stake(&one, 10).await.id);
        billing.insert(&one).await;
        let before = billing.find_stake("stk_1").await;
        // The second half was placed long ago according to a wrong clock.
        let grown = Stake { amount_requested: Amount::new(20 * UNIT), amount: Amount::new(20 * UNIT), ..before.clone() };
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        assert!(unit.stakes().update(&before, &grown).await.expect("writes"));
        unit.commit().await.expect("commits");
        let trust = std::mem::replace(&mut billing.ctx.trust, Arc::new(DoubtedClock));
        assert_eq!(billing::check_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        assert!(!billing.stake_of("sub_1").await.is_revoked());
        billing.ctx.trust = trust;
        billing.wait(billing::STAKE_CHECK_INTERVAL);
        assert_eq!(billing::check_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        assert!(billing.stake_of("sub_1").await.is_revoked());
    }

    async fn the_decline_of_a_resent_transaction_is_final_only_while_the_clock_is_trusted(db: &TestDatabase) {
        let mut billing = Billing::open(db, 2_000).await;
        // More than the customer has.
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let round = billing::renew_due(&billing.ctx, &Scope::Wall, billing.start, 9).await.expect("renews");
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let claimed = unit.attempts().claim_unsent(&round.attempts, billing.start, billing.start.plus(DAY)).await.expect("claims");
        assert_eq!(claimed.len(), 1, "a process sends it, and ends");
        unit.commit().await.expect("commits");
        billing.wait(DAY * 2);
        let trust = std::mem::replace(&mut billing.ctx.trust, Arc::new(DoubtedClock));
        assert_eq!(check_due(&billing.ctx, 9).await.expect("looks"), 1);
        assert_eq!(billing.statuses().await, [InvoiceStatus::Open], "it may have settled at another node");
        billing.ctx.trust = trust;
        billing.wait(DAY);
        assert_eq!(check_due(&billing.ctx, 9).await.expect("looks"), 1);
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
    }
}
