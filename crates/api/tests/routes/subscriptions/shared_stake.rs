//! The subscriptions of one checkout share a stake, also if each placed its own before its change of payment was confirmed.

use crate::app::signing::change_to_card;
use crate::app::{Buyer, Connect, Plans, TestApp};
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_domain::checkout::SubscriptionTerms;
use souk_domain::payment::check_due;
use souk_domain::shared::SessionId;
use std::time::Duration;

async fn stakes(alice: &Buyer, status: &str) -> Vec<Value> {
    let list = alice.browser.get(&format!("/api/stakes?status={status}")).await.ok()["list"].clone();
    list.as_array().expect("a list").clone()
}

on_both! {
    async fn a_deposit_placed_ahead_is_returned_if_another_stake_of_the_checkout_is_shared(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.link(&app, &[&plans.monthly, &plans.weekly], SubscriptionTerms::default()).await;
        let alice = app.sign_in("alice").await;
        let session = alice.subscribe(&app, &link).await;
        let session = SessionId::parse(&session).expect("an id");
        let session = app.ctx.store.read().await.expect("reads").sessions().find(&session).await.expect("reads").expect("is there");
        assert_eq!(session.subscription_ids.len(), 2);
        for id in &session.subscription_ids {
            change_to_card(&app, &alice, id.as_str()).await;
        }
        assert!(stakes(&alice, "held").await.is_empty(), "cards need no deposit");

        for id in &session.subscription_ids {
            // The network answers neither about the delegations nor about anything else before both deposits are placed.
            app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
            let query = format!("&subscriptionId={id}&currencyId={}", app.shop.token);
            let connect = Connect::begin(&app, &alice.browser, "change-payment", &query).await;
            let (answer, kinds) = connect.sign_all(&alice.wallet).await;
            assert_eq!((&answer["status"], kinds), (&json!("ok"), vec!["signature".to_owned(), "prepareTx".to_owned()]), "{answer}");
            app.advance(Duration::from_secs(5));
        }
        assert_eq!(stakes(&alice, "held").await.len(), 2);
        app.advance(Duration::from_secs(60));
        assert_eq!(check_due(&app.ctx, 10).await.expect("checks"), 2);
        app.drain().await;

        let held = stakes(&alice, "held").await;
        let released = stakes(&alice, "releasing").await;
        assert_eq!((held.len(), released.len()), (1, 1), "{held:?} {released:?}");
        assert_eq!(released[0]["release_reason"], "superseded");
        for id in &session.subscription_ids {
            let stake = app.stake_of(id).await;
            assert_eq!((held[0]["id"].as_str(), stake.is_held()), (Some(stake.id.as_str()), true));
        }
        app.move_stakes().await;
        let path = format!("/api/stakes/{}", released[0]["id"].as_str().expect("an id"));
        let returned = alice.browser.get(&path).await.ok();
        assert_eq!((&returned["status"], &returned["amount_returned"]), (&json!("final"), &released[0]["amount"]), "{returned}");
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }
}
