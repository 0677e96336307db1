//! Circuit breakers: a network that does not answer gets few calls, and nothing is declined or lost because of that.

use super::bench::{Billing, DAY, MONTHLY};
use super::gas_retries::{GAS_PRICE, generation_for, stake_for_gas};
use super::plans::subscribed;
use crate::ledger::bench::UNIT;
use souk_adapters::concurrency_limit::NetworkConcurrencyLimit;
use souk_adapters::on_one;
use souk_domain::billing::{self, InvoiceStatus, STAKE_WAITING, Scope, StakeStatus, Subscription};
use souk_domain::context::Context;
use souk_domain::payment::{self, BreakerStatus, Breakers, FAILURES_MAX, Method, MethodSettings};
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A context with breakers and one slot of each network, so that calls follow each other.
fn guarded(billing: &Billing) -> (Context, Arc<Breakers>) {
    let breakers = Arc::new(Breakers::default());
    let networks = billing.ctx.networks.clone().with_breakers(breakers.clone());
    let networks = networks.with_concurrency_limit(Arc::new(NetworkConcurrencyLimit::of(1)));
    (Context { networks, ..billing.ctx.clone() }, breakers)
}

/// Sets the path of the network. At a wrong one, no call gets an answer that can be understood.
async fn move_network(billing: &Billing, path: &str) {
    let MethodSettings::Arcblock { chain_id, explorer_host, .. } = billing.networks.method.settings.clone() else {
        panic!("another method")
    };
    let settings = MethodSettings::Arcblock { chain_id, api_host: path.to_owned(), explorer_host };
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.methods().update(&Method { settings, ..billing.networks.method.clone() }).await.expect("writes");
    unit.commit().await.expect("commits");
}

fn status(breakers: &Breakers) -> Vec<BreakerStatus> {
    breakers.statuses().iter().map(|network| network.breaker).collect()
}

async fn unsent(billing: &Billing) -> u64 {
    let count = "SELECT count(*) AS n FROM attempts WHERE status = 'open' AND sent_at IS NULL AND checks = 0";
    billing.database().read().await.expect("reads").query(count).one().await.expect("counts").get("n").expect("n")
}

fn open(breakers: &Breakers, billing: &Billing) {
    for _ in 0..FAILURES_MAX {
        breakers.record(&billing.networks.method, false, billing.ctx.now());
    }
}

on_one! {
    async fn charges_wait_while_a_network_does_not_answer_and_each_is_paid_once_afterwards(db: &TestDatabase) {
        const MANY: usize = 9;
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 2, MONTHLY).await;
        for number in 1..=MANY {
            billing.insert(&billing.subscription(&format!("sub_{number}"), &price, DAY * 30)).await;
        }
        let (ctx, breakers) = guarded(&billing);
        let sent = billing.round_unsent().await;
        move_network(&billing, "/nowhere/").await;
        payment::charge(&ctx, &sent).await.expect("records");
        let left = MANY - FAILURES_MAX as usize;
        assert_eq!((status(&breakers), unsent(&billing).await), (vec![BreakerStatus::Open], left as u64));
        assert_eq!(payment::check_due(&ctx, 100).await.expect("looks"), 0);

        for delay in [5, 10, 20] {
            billing.wait(SECOND * delay);
            assert_eq!(payment::check_due(&ctx, 100).await.expect("looks"), 1, "one attempt tests the network");
            assert_eq!(payment::check_due(&ctx, 100).await.expect("looks"), 0);
        }
        assert_eq!(billing.statuses().await, [InvoiceStatus::Open; MANY], "nothing was declined");

        move_network(&billing, "/sandbox/arcblock/api/").await;
        billing.wait(SECOND * 60);
        assert_eq!(payment::check_due(&ctx, 100).await.expect("looks"), 1);
        assert_eq!(status(&breakers), [BreakerStatus::Closed]);
        assert_eq!(payment::check_due(&ctx, 100).await.expect("looks"), MANY - 1);
        assert_eq!((billing.statuses().await, billing.networks.transfers().await.len()), (vec![InvoiceStatus::Paid; MANY], MANY));
        billing.is_sound().await;
    }

    async fn nobody_asks_about_gas_while_the_breaker_of_the_network_is_open(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.networks.set_chain(generation_for(db), GAS_PRICE).await;
        billing.refund(&billing.last().await, Some(30 * UNIT)).await.expect("is ordered");
        billing.send_all().await;
        stake_for_gas(&billing).await;
        let (ctx, breakers) = guarded(&billing);
        let retry = async || billing::retry_without_gas(&ctx, 10).await.expect("retries");
        move_network(&billing, "/nowhere/").await;
        for _ in 0..FAILURES_MAX {
            assert_eq!((status(&breakers).contains(&BreakerStatus::Open), retry().await), (false, 0));
        }
        assert_eq!(status(&breakers), [BreakerStatus::Open]);
        move_network(&billing, "/sandbox/arcblock/api/").await;
        assert_eq!((retry().await, status(&breakers)), (0, vec![BreakerStatus::Open]), "it would have answered");
        billing.wait(SECOND * 5);
        assert_eq!((retry().await, status(&breakers)), (1, vec![BreakerStatus::Closed]));
        billing.send_all().await;
        assert_eq!((billing.refunded().await, billing.cash().await), (vec![30 * UNIT], 0));
        billing.is_sound().await;
    }

    async fn a_decline_of_a_charge_that_waited_for_its_network_is_final(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 2, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let (ctx, breakers) = guarded(&billing);
        let sent = billing.round_unsent().await;
        open(&breakers, &billing);
        payment::charge(&ctx, &sent).await.expect("waits");
        assert_eq!((billing.statuses().await, unsent(&billing).await), (vec![InvoiceStatus::Open], 1));
        billing.networks.fault("decline").await;
        billing.wait(SECOND * 5);
        assert_eq!(payment::check_due(&ctx, 100).await.expect("sends"), 1);
        assert_eq!((billing.statuses().await, status(&breakers)), (vec![InvoiceStatus::Uncollectible], vec![BreakerStatus::Closed]));
    }

    async fn stakes_wait_for_an_open_breaker_without_counting_a_failure(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = Subscription { cancel_at_period_end: true, ..billing.subscription("sub_1", &price, DAY * 30) };
        one.stake_id = Some(billing.stake(&one, 50).await.id);
        billing.insert(&one).await;
        billing.round().await;
        billing.wait(STAKE_WAITING);
        let (ctx, breakers) = guarded(&billing);
        open(&breakers, &billing);
        let move_stakes = async || billing::move_due_stakes(&ctx, &Scope::Wall, ctx.now(), 9).await.expect("goes on");
        assert_eq!((move_stakes().await.due, move_stakes().await.due), (1, 0), "it is due when the network is tested");
        let waiting = billing.find_stake("stk_1").await;
        assert_eq!((waiting.failure_count, waiting.return_at), (0, Some(ctx.now().plus(SECOND * 5))));
        billing.wait(SECOND * 5);
        let moved = move_stakes().await;
        payment::charge(&ctx, &moved.attempts).await.expect("sends");
        assert_eq!(billing.find_stake("stk_1").await.status, StakeStatus::Final);
    }
}
