//! What a wrong clock has claimed does not sleep until that time comes.

use super::bench::{Billing, DAY, HOUR, MONTHLY};
use crate::checkout_fixtures::card_method;
use souk_adapters::on_both;
use souk_domain::billing::{self, EVENT_RETENTION, Scope};
use souk_domain::payment::{Method, networks_due};
use souk_domain::shared::Timestamp;
use std::time::Duration;

const YEARS: Duration = Duration::from_secs(3_650 * 86_400);

/// What is claimed at a time: attempts, stakes, and the times since which lists of card events are unread.
async fn claim_all(billing: &Billing, now: Timestamp) -> (usize, usize, Vec<Timestamp>) {
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    let mut attempts = 0;
    let due = unit.attempts().networks_due(now).await.expect("looks");
    for method in due {
        attempts += unit.attempts().claim_due(&method, now, now.plus(DAY), 9).await.expect("claims").len();
    }
    let before = now.minus(billing::STAKE_CHECK_INTERVAL);
    let stakes = unit.stakes().claim_unchecked(before, now, 9).await.expect("claims").len();
    let unread = unit.methods().claim_unread(now.minus(billing::EVENT_LIST_INTERVAL), now).await.expect("claims");
    unit.commit().await.expect("commits");
    (attempts, stakes, unread.into_iter().map(|unread| unread.since).collect())
}

on_both! {
    async fn attempts_stakes_and_lists_that_a_wrong_clock_has_claimed_are_due_again_soon(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY * 30);
        one.stake_id = Some(billing.stake(&one, 10).await.id);
        billing.insert(&one).await;
        billing::renew_due(&billing.ctx, &Scope::Wall, billing.start, 9).await.expect("renews");
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.methods().insert(&Method { default_currency_id: None, ..card_method() }).await.expect("inserts");
        unit.commit().await.expect("commits");
        let (now, wrong) = (billing.start, billing.start.plus(YEARS));
        assert_eq!(claim_all(&billing, wrong).await, (1, 1, vec![card_method().created_at]));
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.methods().set_events_read(&card_method().id, wrong).await.expect("writes");
        unit.commit().await.expect("commits");
        let soon = now.plus(HOUR * 3);
        assert_eq!(claim_all(&billing, soon).await, (0, 0, Vec::new()), "they sleep for years");
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.clock_states().pull_forward(now).await.expect("writes");
        unit.commit().await.expect("commits");
        let due = networks_due(&billing.ctx).await.expect("looks");
        assert!(due.is_empty(), "a process may still be sending what it has claimed: {due:?}");
        assert_eq!(claim_all(&billing, soon).await, (1, 1, vec![now.minus(EVENT_RETENTION)]));
    }

    async fn a_page_polls_a_payment_again_that_a_wrong_clock_has_polled(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let (now, second) = (billing.start, Duration::from_secs(1));
        let attempt = billing::renew_due(&billing.ctx, &Scope::Wall, now, 9).await.expect("renews").attempts.remove(0);
        let poll = async |now: Timestamp| {
            let mut unit = billing.ctx.store.begin().await.expect("begins");
            let is_polled = unit.attempts().claim_poll(&attempt, now.minus(second), now).await.expect("claims");
            unit.commit().await.expect("commits");
            is_polled
        };
        assert!(poll(now.plus(YEARS)).await);
        assert!(poll(now.plus(second)).await, "it was polled in ten years");
        assert!(!poll(now.plus(second)).await, "it was polled just now");
        assert!(!poll(now).await, "by a clock that is a little ahead");
    }
}
