//! Connect sessions of an order with a mandate and a deposit: they follow the order, whichever process records what the network decides.

use crate::app::TestApp;
use crate::app::signing::{begin_plan, record_settled, sign};
use serde_json::json;
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_domain::payment::{self, Attempt, PurposeKind, check_due};
use std::time::Duration;
use tokio::task::yield_now;

fn attempt_of(transactions: &[Attempt], kind: PurposeKind) -> Attempt {
    transactions.iter().find(|attempt| attempt.purpose.kind() == kind).expect("was signed").clone()
}

on_both! {
    /// The process stops after the mandate has settled and before it asks the wallet for the deposit.
    async fn a_session_without_the_deposit_of_its_order_does_not_succeed(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (session, connect, asked) = begin_plan(&app, &alice).await;
        assert_eq!(sign(&connect, &alice, &asked).await["requestedClaims"][0]["type"], "prepareTx");
        app.execute("UPDATE connect_sessions SET status = 'working', step = 'mandate' WHERE status = 'scanned'").await;
        app.advance(Duration::from_secs(400));
        check_due(&app.ctx, 10).await.expect("checks");
        payment::expire_connect_sessions(&app.ctx, 10).await.expect("expires");
        app.drain().await;
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "open");
        assert_eq!(connect.status().await.ok()["status"], "error");
        app.finish().await;
    }

    /// The order is paid while the wallet is still asked for a deposit, and the wallet never answers.
    async fn a_session_whose_wallet_never_returns_succeeds_with_its_order(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (session, connect, asked) = begin_plan(&app, &alice).await;
        let asked = sign(&connect, &alice, &asked).await;
        sign(&connect, &alice, &asked).await;
        app.drain().await;
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.execute("UPDATE connect_sessions SET status = 'scanned', step = 'stake' WHERE action = 'subscription'").await;
        app.advance(Duration::from_secs(400));
        payment::expire_connect_sessions(&app.ctx, 10).await.expect("expires");
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        app.finish().await;
    }
}

/// On PostgreSQL, neither unit of work sees the other's settlement before it commits.
#[tokio::test]
async fn an_order_whose_mandate_and_deposit_settle_at_once_is_charged() {
    let db = TestDatabase::postgres().await;
    let app = TestApp::with_gas(&db).await;
    let alice = app.sign_in("alice").await;
    let (session, connect, asked) = begin_plan(&app, &alice).await;
    for _ in 0..2 {
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
    }
    let asked = sign(&connect, &alice, &asked).await;
    sign(&connect, &alice, &asked).await;
    let transactions = payment::connect_transactions(&app.ctx, &connect.token).await.expect("reads");
    assert!(transactions.iter().all(|attempt| attempt.status.is_open()), "{transactions:?}");
    let (mandate, deposit) = (attempt_of(&transactions, PurposeKind::Mandate), attempt_of(&transactions, PurposeKind::Stake));

    let mut unit = app.ctx.store.begin().await.expect("begins");
    let amount = mandate.amount;
    record_settled(&app, unit.as_mut(), mandate, amount).await;
    let ctx = app.ctx.clone();
    let concurrent = tokio::spawn(async move { payment::settle(&ctx, &deposit.id).await });
    let waiting = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while !concurrent.is_finished() && app.count(waiting).await == 0 {
        yield_now().await;
    }
    unit.commit().await.expect("commits");
    concurrent.await.expect("joins").expect("settles");
    app.reconcile_later().await;
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    assert_eq!(connect.status().await.ok()["status"], "succeed");
    assert_eq!(app.count("SELECT count(*) AS n FROM attempts WHERE purpose = 'payment'").await, 1);
    app.finish().await;
}
