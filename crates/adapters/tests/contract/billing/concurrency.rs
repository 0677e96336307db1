//! Concurrency limit: a network never has more requests in flight than its limit, regardless of the number of concurrent messages.

use super::bench::{Billing, DAY, HOUR, MONTHLY};
use crate::ledger::bench::{sandbox_clock, sandbox_db, serve};
use async_trait::async_trait;
use futures_util::future::join_all;
use poem::{Endpoint, EndpointExt, Route};
use souk_adapters::arcblock::ArcblockRail;
use souk_adapters::concurrency_limit::NetworkConcurrencyLimit;
use souk_adapters::on_both;
use souk_domain::billing::{self, InvoiceStatus, Scope};
use souk_domain::context::{Context, Networks};
use souk_domain::payment::{self, ConcurrencyLimit, MethodKind, Trigger};
use souk_domain::shared::MethodId;
use souk_sandbox::Admission;
use souk_sandbox::ledger::{Ledger, LedgerConfig, routes};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Barrier, Notify};
use tokio::time::timeout;

const CONCURRENCY: usize = 3;

/// Counts the calls that are in flight at a network.
struct Crowd {
    come: AtomicUsize,
    inside: AtomicUsize,
    most: AtomicUsize,
    /// The first calls wait for each other, so that all slots are in use at the same time.
    full: Barrier,
}

/// A limit that grants slots only once the barrier's number of callers wait for one.
struct Crowded(Barrier);

#[async_trait]
impl ConcurrencyLimit for Crowded {
    async fn take(&self, _: &MethodId, _: Trigger) -> Box<dyn Send> {
        self.0.wait().await;
        Box::new(())
    }
}

/// The single slot of a network, which the test releases.
#[derive(Default)]
struct Gate {
    is_waited_for: Notify,
    is_free: Notify,
}

#[async_trait]
impl ConcurrencyLimit for Gate {
    async fn take(&self, _: &MethodId, _: Trigger) -> Box<dyn Send> {
        self.is_waited_for.notify_one();
        self.is_free.notified().await;
        Box::new(())
    }
}

on_both! {
    async fn a_reconciler_whose_claim_expired_while_it_waited_for_a_slot_sends_nothing(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        let sent = billing.round_unsent().await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        assert_eq!(unit.attempts().claim_unsent(&sent, billing.start, billing.start.plus(HOUR)).await.expect("claims"), sent);
        unit.commit().await.expect("commits");
        // Long enough that a decline would be recorded.
        billing.wait(DAY + HOUR);
        let gate = Arc::new(Gate::default());
        let slow = Context { networks: billing.ctx.networks.clone().with_concurrency_limit(gate.clone()), ..billing.ctx.clone() };
        let second = async {
            gate.is_waited_for.notified().await;
            billing.wait(HOUR);
            billing.networks.fault("decline").await;
            assert_eq!(payment::check_due(&billing.ctx, 10).await.expect("queries"), 1);
            assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible], "the decline is final");
            gate.is_free.notify_one();
        };
        let (first, ()) = tokio::join!(payment::check_due(&slow, 10), second);
        assert_eq!((first.expect("queries"), billing.networks.transfers().await.len()), (1, 0), "and nothing is sent afterwards");
    }

    async fn all_attempts_of_a_message_wait_for_slots_from_its_start(db: &TestDatabase) {
        const MANY: usize = 32;
        let billing = Billing::open(db, 300).await;
        let price = billing.price("price_1", 2, MONTHLY).await;
        for number in 1..=MANY {
            billing.insert(&billing.subscription(&format!("sub_{number}"), &price, DAY * 30)).await;
        }
        let networks = billing.ctx.networks.clone().with_concurrency_limit(Arc::new(Crowded(Barrier::new(MANY))));
        let ctx = Context { networks, ..billing.ctx.clone() };
        let round = billing::renew_due(&ctx, &Scope::Wall, ctx.now(), 100).await.expect("renews");
        let charged = timeout(Duration::from_secs(60), payment::charge(&ctx, &round.attempts)).await;
        charged.expect("none waits for another's answer before it queues").expect("charges");
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid; MANY]);
    }

    async fn the_reconciler_and_charges_do_not_wait_for_each_other(db: &TestDatabase) {
        let billing = Billing::open(db, 100).await;
        let price = billing.price("price_1", 2, MONTHLY).await;
        let limit = Arc::new(NetworkConcurrencyLimit::of(1));
        let ctx = Context { networks: billing.ctx.networks.clone().with_concurrency_limit(limit.clone()), ..billing.ctx.clone() };
        let in_time = Duration::from_secs(60);

        let first = billing.subscription("sub_1", &price, DAY * 30);
        billing.insert(&first).await;
        let sent = billing.round_unsent().await;
        let question = limit.take(&first.method_id, Trigger::Reconciler).await;
        timeout(in_time, payment::charge(&ctx, &sent)).await.expect("a charge does not wait behind questions").expect("charges");
        drop(question);

        billing.insert(&billing.subscription("sub_2", &price, DAY * 30)).await;
        assert_eq!(billing.round_unsent().await.len(), 1);
        billing.wait(HOUR);
        let _charge = limit.take(&first.method_id, Trigger::Initial).await;
        let checked = timeout(in_time, payment::check_due(&ctx, 10)).await.expect("the reconciler does not wait behind charges");
        assert_eq!((checked.expect("queries"), billing.networks.transfers().await.len()), (1, 2));
    }

    async fn concurrent_messages_share_the_slots_of_their_network(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 2, MONTHLY).await;
        for number in 1..=24 {
            billing.insert(&billing.subscription(&format!("sub_{number}"), &price, DAY * 30)).await;
        }
        let crowd = Arc::new(Crowd {
            come: AtomicUsize::new(0),
            inside: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            full: Barrier::new(CONCURRENCY),
        });
        let (clock, app) = (billing.networks.clock.clone(), &billing.networks.app);
        let ledger = Ledger::open(sandbox_db(db).await, sandbox_clock(&clock), app.did().as_str(), LedgerConfig::default()).await.expect("opens");
        let counting = Arc::clone(&crowd);
        let counted = Route::new().nest("/sandbox/arcblock", routes(Arc::new(ledger), Admission::unlimited())).around(move |network, call| {
            let crowd = Arc::clone(&counting);
            async move {
                let inside = crowd.inside.fetch_add(1, Ordering::SeqCst) + 1;
                crowd.most.fetch_max(inside, Ordering::SeqCst);
                if crowd.come.fetch_add(1, Ordering::SeqCst) < CONCURRENCY {
                    crowd.full.wait().await;
                }
                let answer = network.call(call).await;
                crowd.inside.fetch_sub(1, Ordering::SeqCst);
                answer
            }
        });
        let (address, _open) = serve(counted).await;
        let rail = ArcblockRail::new(app.clone(), clock, address.parse().expect("an address")).expect("a rail");
        let networks = Networks::default().with_wallet(MethodKind::Arcblock, Arc::new(rail));
        let networks = networks.with_concurrency_limit(Arc::new(NetworkConcurrencyLimit::of(CONCURRENCY)));
        let ctx = Context { networks, ..billing.ctx.clone() };

        let round = billing::renew_due(&ctx, &Scope::Wall, ctx.now(), 100).await.expect("renews");
        assert_eq!(round.attempts.len(), 24);
        for charged in join_all(round.attempts.chunks(6).map(|message| payment::charge(&ctx, message))).await {
            charged.expect("charges");
        }
        assert_eq!(crowd.most.load(Ordering::SeqCst), CONCURRENCY);
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid; 24]);
        assert_eq!(billing.networks.store_balance().await, 48);
    }
}
