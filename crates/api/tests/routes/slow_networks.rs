//! A network that hangs delays its own payments and nothing else.

use crate::app::{ACCEPTED, Plans, Terms, TestApp, WEEK, plans};
use souk_adapters::on_both;
use souk_adapters::queue::{self, Queue, QueueBackend, QueueConfig};
use souk_domain::checkout::expire_due;
use souk_domain::events::{Message, Topic};
use souk_domain::payment::{Breakers, FAILURES_MAX};
use souk_domain::shared::{EventId, SessionId};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const PAID_BY_CARD: &str = "SELECT count(*) AS n FROM invoices WHERE status = 'paid' AND reason = 'subscription_cycle'
    AND method_id IN (SELECT id FROM payment_methods WHERE kind = 'stripe')";
const PAID_BY_WALLET: &str = "SELECT count(*) AS n FROM invoices WHERE status = 'paid' AND reason = 'subscription_cycle'
    AND method_id IN (SELECT id FROM payment_methods WHERE kind = 'arcblock')";
const RESERVED: &str = "SELECT quantity_sold AS n FROM prices WHERE quantity_available > 0";
const OPEN: &str = "SELECT count(*) AS n FROM checkout_sessions WHERE status = 'open'";
/// Hints that were interrupted are delivered again, each after a delay of its own.
const HINTS: &str = "SELECT count(*) AS n FROM outbox WHERE topic = 'settle_attempt'";
const UNDELIVERED: &str = "SELECT count(*) AS n FROM outbox WHERE topic IN ('realtime', 'receipt_mail')";

/// Waits for a condition for at most 60 s.
async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap_or_else(|_| panic!("waited in vain until {what}"));
}

on_both! {
    async fn while_a_network_hangs_mail_realtime_other_charges_and_stock_releases_complete(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, bob, carol) = (app.sign_in("alice").await, app.sign_in("bob").await, app.sign_in("carol").await);
        // A subscription at each network, and a session at each that will expire.
        app.subscribe("dave", Terms::default()).await;
        let plans = Plans::put(&app).await;
        let link = plans.link(&app, &[&plans.weekly], plans::no_stake()).await;
        let by_card = alice.start_link(&link).await;
        let secret = alice.submit_for_card(&app, &by_card).await;
        assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
        app.advance(Duration::from_secs(2));
        assert_eq!(alice.retrieve(&by_card).await["checkoutSession"]["status"], "complete");
        let waiting = bob.start(&app.shop.seats).await;
        bob.submit_for_card(&app, &waiting).await;
        let unpaid = carol.start(&app.shop.seats).await;
        carol.submit_for_wallet(&app, &unpaid).await;
        app.drain().await;
        assert_eq!(app.count(RESERVED).await, 2);

        app.networks.hang_cards(true);
        app.advance(WEEK);
        // More hints of the network that hangs than there are workers.
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let attempt = unit.sessions().find(&SessionId::parse(&waiting).expect("an id")).await.expect("reads").expect("exists").intent_id;
        let attempt = unit.attempts().open_of_intent(&attempt.expect("an intent")).await.expect("reads").expect("is open");
        for _ in 0..20 {
            let hint = Message::new(Topic::SettleAttempt, app.ctx.now()).with("attempt", &attempt.id).with("method", &attempt.method_id);
            unit.outbox().publish(&EventId::new(app.ctx.now(), app.ctx.random.as_ref()), &hint, app.ctx.now()).await.expect("publishes");
        }
        unit.commit().await.expect("commits");
        let config = QueueConfig { name: "slow".to_owned(), ..QueueConfig::default() };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let queue = Queue::open(&QueueBackend::Sqlite(folder.path().join("queue.db")), &config).await.expect("opens");
        let shutdown = CancellationToken::new();
        let jobs = tokio::spawn(queue::run(queue, queue::Work { config, ..app.work() }, shutdown.clone()));
        let recurring = tokio::spawn(souk_workers::schedule::run(app.ctx.clone(), None, shutdown.clone()));

        eventually("the other network has charged", async || app.count(PAID_BY_WALLET).await == 1).await;
        eventually("the other session has released its stock", async || app.count(RESERVED).await == 1).await;
        eventually("mail and realtime are delivered", async || app.count(UNDELIVERED).await == 0).await;
        assert!(app.mails().iter().any(|mail| mail.contains("dave")), "the receipt of the renewal");
        // Later work of the other network is not delayed either.
        let again = carol.start(&app.shop.seats).await;
        carol.submit_for_wallet(&app, &again).await;
        app.advance(Duration::from_secs(24 * 3_600 + 60));
        eventually("a later session has released its stock", async || {
            carol.retrieve(&again).await["checkoutSession"]["status"] == "expired" && app.count(RESERVED).await == 1
        })
        .await;
        assert_eq!((app.count(OPEN).await, app.count(PAID_BY_CARD).await), (1, 0), "a payment of the open session may be in flight");

        app.networks.hang_cards(false);
        eventually("everything is settled", async || {
            app.advance(Duration::from_secs(5));
            app.count(PAID_BY_CARD).await == 1 && app.count(RESERVED).await == 0 && app.count(HINTS).await == 0
        })
        .await;
        assert_eq!(bob.retrieve(&waiting).await["checkoutSession"]["status"], "expired");
        shutdown.cancel();
        jobs.await.expect("stops");
        recurring.await.expect("stops");
        assert_eq!(app.networks.charges().await.len(), 2, "the first week and the second");
        app.finish().await;
    }
}

#[tokio::test]
async fn an_open_breaker_expires_no_session_whose_payment_may_be_in_flight() {
    let mut app = TestApp::open().await;
    let breakers = Arc::new(Breakers::default());
    app.ctx.networks = app.ctx.networks.clone().with_breakers(breakers.clone());
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    let by_card = alice.start(&app.shop.seats).await;
    let secret = alice.submit_for_card(&app, &by_card).await;
    let by_wallet = bob.start(&app.shop.seats).await;
    bob.submit_for_wallet(&app, &by_wallet).await;
    app.advance(Duration::from_secs(24 * 3_600));
    let card = app.ctx.store.read().await.expect("reads").methods().find(&app.shop.card).await.expect("reads").expect("exists");
    for _ in 0..FAILURES_MAX {
        breakers.record(&card, false, app.ctx.now());
    }
    assert_eq!(expire_due(&app.ctx, 10).await.expect("expires"), 1);
    assert_eq!(bob.retrieve(&by_wallet).await["checkoutSession"]["status"], "expired");
    assert_eq!((app.count(OPEN).await, app.count(RESERVED).await), (1, 1));
    assert_eq!(expire_due(&app.ctx, 10).await.expect("waits"), 0);
    app.advance(Duration::from_secs(5));
    assert_eq!(expire_due(&app.ctx, 10).await.expect("expires"), 1);
    assert_ne!(app.networks.confirm(&secret, ACCEPTED).await.0, 200, "its payment was canceled first");
    assert_eq!(app.count(RESERVED).await, 0);
    app.finish().await;
}
