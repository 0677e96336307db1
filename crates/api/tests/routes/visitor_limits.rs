//! What visitors and payers can take from a store: stock, card forms, and customers at the card processor.

use crate::app::{ACCEPTED, Buyer, DECLINED, Plans, TestApp, claim_of, form};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::{on_both, on_one};
use souk_domain::checkout::{RESERVATION_LIFETIME, SubscriptionTerms, release_idle_stock};
use souk_domain::operation::VisitorLimits;
use souk_domain::payment::CARD_FORMS_OF_SUBJECT;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 3_600);

async fn sold_of(buyer: &Buyer, session: &str) -> Value {
    buyer.retrieve(session).await["checkoutSession"]["line_items"][0]["price"]["quantity_sold"].clone()
}

async fn released(app: &TestApp) -> usize {
    release_idle_stock(&app.ctx, 10).await.expect("releases")
}

on_both! {
    async fn an_order_that_nobody_continues_returns_its_stock_and_can_be_submitted_again(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.seats).await;
        alice.submit_for_wallet(&app, &session).await;
        app.advance(RESERVATION_LIFETIME - SECOND);
        assert_eq!((released(&app).await, sold_of(&alice, &session).await), (0, 1.into()));
        app.advance(SECOND);
        assert_eq!((released(&app).await, sold_of(&alice, &session).await), (1, 0.into()));
        assert_eq!(released(&app).await, 0, "once");
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "open");
        alice.submit_for_wallet(&app, &session).await;
        assert_eq!(sold_of(&alice, &session).await, 1);
        assert_eq!(alice.pay_by_wallet(&app, &session).await["status"], "ok");
        app.advance(RESERVATION_LIFETIME * 2);
        assert_eq!((released(&app).await, sold_of(&alice, &session).await), (0, 1.into()), "sold stock stays sold");
        app.drain().await;
        app.finish().await;
    }

    async fn an_order_that_was_never_paid_and_its_user_are_gone_after_the_period_and_a_purchase_stays(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
        let session = alice.start(&app.shop.seats).await;
        alice.submit_for_card(&app, &session).await;
        bob.buy(&app, &app.shop.atlas).await;
        app.drain().await;
        app.advance(DAY * 2);
        souk_domain::checkout::expire_due(&app.ctx, 10).await.expect("expires");
        let rows = async || {
            [
                app.count("SELECT count(*) AS n FROM checkout_sessions").await,
                app.count("SELECT count(*) AS n FROM payment_intents").await,
                app.count("SELECT count(*) AS n FROM invoices").await,
                app.count("SELECT count(*) AS n FROM attempts").await,
                app.count("SELECT count(*) AS n FROM customers").await,
                app.count("SELECT count(*) AS n FROM users").await,
            ]
        };
        assert_eq!(rows().await, [2; 6]);
        app.advance(DAY * 33);
        souk_workers::schedule::prune(&app.ctx).await.expect("prunes");
        assert_eq!(rows().await, [1; 6], "what bob bought");
        app.drain().await;
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }

    async fn an_order_whose_stock_was_returned_cannot_be_paid_until_it_is_submitted_again(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.seats).await;
        alice.submit_for_wallet(&app, &session).await;
        app.advance(RESERVATION_LIFETIME - SECOND);
        let (connect, asked) = alice.request_payment(&app, &session).await;
        app.advance(SECOND);
        assert_eq!(released(&app).await, 1);
        let refused = connect.answer(&alice.wallet, &asked, claim_of(&alice.wallet, &asked)).await;
        assert_eq!(refused["errorMessage"], "The order has changed. Please try again.");
        assert_eq!(app.networks.transfers_to(app.app_key.did().as_str()).await.len(), 0, "nothing was sent");
        app.finish().await;
    }

    async fn stock_stays_reserved_while_a_payment_is_open(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.seats).await;
        let secret = alice.submit_for_card(&app, &session).await;
        app.advance(RESERVATION_LIFETIME * 4);
        assert_eq!((released(&app).await, sold_of(&alice, &session).await), (0, 1.into()));
        assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
        app.advance(SECOND * 2);
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.drain().await;
        app.finish().await;
    }

    async fn submits_at_the_same_time_reserve_stock_for_no_more_orders_than_the_limit(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        app.ctx.limits = VisitorLimits { reserved_orders: 1, ..VisitorLimits::default() };
        app.restart().await;
        let alice = app.sign_in("alice").await;
        let mut sessions = Vec::new();
        for _ in 0..3 {
            app.advance(SECOND * 10);
            sessions.push(alice.start(&app.shop.seats).await);
        }
        let form = form(&app.shop, "alice", false);
        let submit = |session| alice.submit(session, &form);
        tokio::join!(submit(&sessions[0]), submit(&sessions[1]), submit(&sessions[2]));
        assert_eq!(app.count("SELECT count(DISTINCT session_id) AS n FROM stock_reservations WHERE state = 'reserved'").await, 1);
        app.drain().await;
        app.finish().await;
    }

    async fn a_release_and_a_payment_at_the_same_time_leave_the_stock_with_exactly_one(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.seats).await;
        alice.submit_for_wallet(&app, &session).await;
        app.advance(RESERVATION_LIFETIME - SECOND);
        let (connect, asked) = alice.request_payment(&app, &session).await;
        app.advance(SECOND);
        let pay = connect.answer(&alice.wallet, &asked, claim_of(&alice.wallet, &asked));
        let (released, paid) = tokio::join!(released(&app), pay);
        let is_paid = paid["status"] == "ok";
        assert_eq!(released, usize::from(!is_paid), "{paid}");
        app.drain().await;
        assert_eq!(sold_of(&alice, &session).await, u64::from(is_paid));
        app.finish().await;
    }
}

on_one! {
    async fn a_card_that_could_not_be_saved_keeps_neither_the_order_nor_its_customer(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&plans.trial(&app).await).await;
        let secret = alice.submit_for_card(&app, &session).await;
        assert_eq!(app.networks.confirm(&secret, DECLINED).await.0, 402);
        app.advance(DAY * 2);
        souk_domain::checkout::expire_due(&app.ctx, 10).await.expect("expires");
        assert_eq!(app.count("SELECT count(*) AS n FROM mandates WHERE status = 'ended'").await, 1);
        assert_eq!(app.networks.card_customers().await, 1);
        app.advance(DAY * 33);
        souk_workers::schedule::prune(&app.ctx).await.expect("prunes");
        let rows = [
            app.count("SELECT count(*) AS n FROM checkout_sessions").await,
            app.count("SELECT count(*) AS n FROM attempts").await,
            app.count("SELECT count(*) AS n FROM mandates").await,
            app.count("SELECT count(*) AS n FROM customers").await,
            app.count("SELECT count(*) AS n FROM users").await,
        ];
        assert_eq!(rows, [0; 5]);
        app.drain().await;
        assert_eq!(app.networks.card_events("customer.deleted").await, 1, "the card processor forgets the customer, too");
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }

    async fn an_order_that_is_submitted_again_leaves_no_replaced_mandate_or_deposit(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let alice = app.sign_in("alice").await;
        let terms = SubscriptionTerms { min_stake_amount: Some("25".to_owned()), ..SubscriptionTerms::default() };
        let session = alice.start_link(&plans.link(&app, &[&plans.monthly], terms).await).await;
        let rows = async || {
            [app.count("SELECT count(*) AS n FROM mandates").await, app.count("SELECT count(*) AS n FROM stakes").await]
        };
        for _ in 0..2 {
            alice.submit_for_wallet(&app, &session).await;
            assert_eq!(rows().await, [0, 1], "a wallet grants its mandate later, and leaves a deposit");
            alice.submit_for_card(&app, &session).await;
            assert_eq!(rows().await, [1, 0], "a card has a mandate and needs no deposit");
        }
        app.drain().await;
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }

    async fn rows_that_cannot_be_removed_do_not_keep_those_of_other_kinds(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        alice.start(&app.shop.atlas).await;
        app.advance(DAY * 2);
        souk_domain::checkout::expire_due(&app.ctx, 10).await.expect("expires");
        app.advance(DAY * 33);
        app.execute("ALTER TABLE idempotency_keys RENAME TO broken").await;
        let pruned = souk_workers::schedule::prune(&app.ctx).await;
        app.execute("ALTER TABLE broken RENAME TO idempotency_keys").await;
        assert!(pruned.is_err(), "the failure is reported");
        assert_eq!(app.count("SELECT count(*) AS n FROM checkout_sessions").await, 0);
        assert_eq!(app.count("SELECT count(*) AS n FROM users").await, 0);
        app.finish().await;
    }

    async fn a_payer_reserves_limited_stock_for_a_limited_number_of_orders(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        app.ctx.limits = VisitorLimits { reserved_orders: 2, ..VisitorLimits::default() };
        app.restart().await;
        let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
        let mut sessions = Vec::new();
        for _ in 0..3 {
            app.advance(Duration::from_secs(10));
            sessions.push(alice.start(&app.shop.seats).await);
        }
        alice.submit_for_wallet(&app, &sessions[0]).await;
        alice.submit_for_wallet(&app, &sessions[1]).await;
        let refused = alice.submit(&sessions[2], &form(&app.shop, "alice", false)).await.refused(429);
        assert_eq!((&refused["code"], &refused["params"]["orders"]), (&"TOO_MANY_RESERVED_ORDERS".into(), &"2".into()));
        alice.submit_for_wallet(&app, &sessions[1]).await;
        let unlimited = alice.start(&app.shop.atlas).await;
        alice.submit_for_wallet(&app, &unlimited).await;
        let other = bob.start(&app.shop.seats).await;
        bob.submit_for_wallet(&app, &other).await;
        assert_eq!(alice.pay_by_wallet(&app, &sessions[0]).await["status"], "ok");
        alice.submit_for_wallet(&app, &sessions[2]).await;
        app.drain().await;
        app.finish().await;
    }

    async fn a_changed_order_counts_for_its_payer_and_returns_its_stock(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        app.ctx.limits = VisitorLimits { reserved_orders: 1, ..VisitorLimits::default() };
        app.restart().await;
        let alice = app.sign_in("alice").await;
        let first = alice.start(&app.shop.seats).await;
        app.advance(Duration::from_secs(10));
        let second = alice.start(&app.shop.seats).await;
        alice.submit_for_wallet(&app, &first).await;
        let path = format!("/api/checkout-sessions/{first}");
        alice.browser.call(Method::DELETE, &format!("{path}/cross-sell")).send().await.ok();
        assert_eq!(alice.pay_by_wallet(&app, &first).await["status"], "ok", "an order without a cross-sell is not changed");
        alice.submit_for_wallet(&app, &second).await;
        app.advance(Duration::from_secs(10));
        let third = alice.start(&app.shop.seats).await;
        let change = json!({ "itemId": app.shop.seats.price, "quantity": 2 });
        alice.browser.put(&format!("/api/checkout-sessions/{second}/adjust-quantity"), &change).await.ok();
        let refused = alice.submit(&third, &form(&app.shop, "alice", false)).await.refused(429);
        assert_eq!(refused["code"], "TOO_MANY_RESERVED_ORDERS");
        app.advance(RESERVATION_LIFETIME);
        assert_eq!(released(&app).await, 1);
        alice.submit_for_wallet(&app, &third).await;
        app.drain().await;
        app.finish().await;
    }

    async fn a_visitor_has_a_limited_number_of_orders_that_wait_for_their_payment(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        // Ten times as many in test mode.
        app.ctx.limits = VisitorLimits { waiting_orders: 1, ..VisitorLimits::default() };
        app.restart().await;
        let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
        let mut sessions = Vec::new();
        for _ in 0..11 {
            app.advance(Duration::from_secs(10));
            sessions.push(alice.start(&app.shop.atlas).await);
        }
        app.advance(SECOND);
        let other = bob.start(&app.shop.atlas).await;
        app.execute("UPDATE checkout_sessions SET visitor = 'network'").await;
        app.execute("UPDATE checkout_sessions SET visitor = 'other' WHERE id = (SELECT max(id) FROM checkout_sessions)").await;
        for session in &sessions[..10] {
            alice.submit_for_wallet(&app, session).await;
        }
        let refused = alice.submit(&sessions[10], &form(&app.shop, "alice", false)).await.refused(429);
        assert_eq!(refused["code"], "TOO_MANY_WAITING_ORDERS");
        app.advance(RESERVATION_LIFETIME);
        assert_eq!(released(&app).await, 10);
        alice.submit(&sessions[10], &form(&app.shop, "alice", false)).await.refused(429);
        alice.submit_for_wallet(&app, &sessions[0]).await;
        bob.submit_for_wallet(&app, &other).await;
        assert_eq!(alice.pay_by_wallet(&app, &sessions[0]).await["status"], "ok");
        alice.submit_for_wallet(&app, &sessions[10]).await;
        app.drain().await;
        app.finish().await;
    }

    async fn a_card_form_beyond_the_limit_is_refused_and_the_order_can_be_paid_otherwise(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        let hour = souk_domain::operation::hour_of(app.ctx.now());
        let mut unit = app.ctx.store.begin().await.expect("begins");
        for _ in 0..CARD_FORMS_OF_SUBJECT * 10 {
            assert!(unit.hourly_counts().count(&format!("card:test:{session}"), hour, u32::MAX).await.expect("counts"));
        }
        unit.commit().await.expect("commits");
        let refused = alice.submit(&session, &form(&app.shop, "alice", true)).await.refused(429);
        assert_eq!(refused["code"], "TOO_MANY_CARD_FORMS");
        alice.submit_for_wallet(&app, &session).await;
        assert_eq!(alice.pay_by_wallet(&app, &session).await["status"], "ok");
        app.drain().await;
        app.finish().await;
    }

    async fn a_customer_has_one_customer_at_the_card_processor_however_many_forms_are_opened(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let alice = app.sign_in("alice").await;
        let link = plans.trial(&app).await;
        for _ in 0..2 {
            // Providers forget keys after a day.
            app.advance(Duration::from_secs(2 * 24 * 3_600));
            let session = alice.start_link(&link).await;
            alice.submit_for_card(&app, &session).await;
        }
        assert_eq!(app.count("SELECT count(*) AS n FROM attempts WHERE kind = 'card_setup'").await, 2);
        assert_eq!(app.count("SELECT count(*) AS n FROM provider_customers").await, 1);
        assert_eq!(app.networks.card_customers().await, 1);
        app.finish().await;
    }
}
