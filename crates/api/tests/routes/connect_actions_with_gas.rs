//! Every connect action about an existing subscription, at networks of both generations that charge gas, once the store has staked for it.

use crate::app::plans::SKT;
use crate::app::signing::decline_mandate;
use crate::app::{Buyer, Connect, Plans, Subscriber, TOKEN, Terms, TestApp, WEEK, claim_of, signed_claim, wallet};
use poem::http::Method;
use serde_json::{Value, json};
use souk_domain::billing::{self, Stake};
use souk_domain::checkout::SubscriptionTerms;
use souk_domain::payment::check_due;
use souk_domain::shared::{Amount, SubscriptionId};
use souk_sandbox::ledger::Generation;
use std::time::Duration;

/// A store that has staked for gas.
async fn open(generation: Generation) -> TestApp {
    let app = TestApp::open().await;
    app.stake_for_gas(generation).await;
    app
}

/// Runs a case at a network of each generation.
macro_rules! in_both_generations {
    ($($(#[$meta:meta])* async fn $name:ident($app:ident: &TestApp) $body:block)*) => {$(
        mod $name {
            use super::*;

            $(#[$meta])*
            async fn case($app: &TestApp) $body

            #[tokio::test]
            async fn generation_1_20_8() {
                let app = open(Generation::V1_20_8).await;
                case(&app).await;
                app.finish().await;
            }

            #[tokio::test]
            async fn current_generation() {
                let app = open(Generation::Current).await;
                case(&app).await;
                app.finish().await;
            }
        }
    )*};
}

/// A subscriber whose delegation is too small, so that one period is unpaid.
async fn with_overdue_invoice(app: &TestApp) -> Subscriber {
    let one = app.subscribe("alice", Terms { limit: 1, ..Terms::default() }).await;
    app.advance_and_bill(WEEK).await;
    one
}

async fn overdue(one: &Subscriber) -> Value {
    one.buyer.browser.get(&format!("/api/subscriptions/{}/overdue/invoices", one.id)).await.ok()
}

/// The tokens that the store has received.
async fn received(app: &TestApp) -> u128 {
    let payments = app.networks.payments_to(app.app_key.did().as_str()).await;
    let value = |payment: &Value| payment["value"].as_str().or(payment["amount"].as_str()).and_then(|value| value.parse::<u128>().ok());
    payments.iter().map(|payment| value(payment).expect("an amount")).sum()
}

async fn id_of(buyer: &Buyer, session: &str) -> String {
    buyer.retrieve(session).await["checkoutSession"]["subscription_id"].as_str().expect("an id").to_owned()
}

/// A buyer with the monthly plan and its deposit of ten tokens.
async fn with_deposit(app: &TestApp) -> (Buyer, Plans, String) {
    let plans = Plans::put(app).await;
    let link = plans.link(app, &[&plans.monthly], SubscriptionTerms::default()).await;
    let alice = app.sign_in("alice").await;
    let session = alice.subscribe(app, &link).await;
    let id = id_of(&alice, &session).await;
    (alice, plans, id)
}

/// The parameters of the connect action that an order of the yearly plan asks for.
async fn order_yearly(alice: &Buyer, plans: &Plans, path: &str) -> String {
    let shown = alice.browser.post(&format!("{path}/change-plan/preview"), &json!({ "price_id": plans.yearly.as_str() })).await.ok();
    let order = json!({
        "price_id": plans.yearly.as_str(), "proration_date": shown["proration_date"],
        "expected_total": shown["total"], "expected_credited": shown["credited"],
    });
    let asked = alice.browser.put(&format!("{path}/change-plan"), &order).await.ok();
    let params = asked["connect"]["extraParams"].as_object().expect("parameters");
    params.iter().map(|(name, value)| format!("&{name}={}", value.as_str().expect("text"))).collect()
}

in_both_generations! {
    async fn collect_pays_one_overdue_invoice(app: &TestApp) {
        let alice = with_overdue_invoice(app).await;
        let invoice = overdue(&alice).await["invoices"][0]["id"].as_str().expect("an id").to_owned();
        let query = format!("&invoiceId={invoice}&action=pay");
        let connect = Connect::begin(app, &alice.buyer.browser, "collect", &query).await;
        let (done, kinds) = connect.sign_all(&alice.buyer.wallet).await;
        assert_eq!((&done["status"], kinds.last().map(String::as_str)), (&json!("ok"), Some("prepareTx")), "{done}");
        app.drain().await;
        assert_eq!(alice.buyer.browser.get(&format!("/api/invoices/{invoice}")).await.ok()["status"], "paid");
        assert_eq!((&overdue(&alice).await["summary"], received(app).await), (&json!({}), 10 * TOKEN));
    }

    async fn collect_batch_pays_everything_overdue_in_a_currency(app: &TestApp) {
        let alice = with_overdue_invoice(app).await;
        app.advance_and_bill(WEEK).await;
        let query = format!("&currencyId={}&customerId={}", app.shop.token, alice.buyer.wallet.did());
        let connect = Connect::begin(app, &alice.buyer.browser.live(), "collect-batch", &query).await;
        let asked = connect.scan().await;
        let done = connect.answer(&alice.buyer.wallet, &asked, claim_of(&alice.buyer.wallet, &asked)).await;
        assert_eq!(done["status"], "ok", "{done}");
        app.drain().await;
        let owed = overdue(&alice).await;
        assert_eq!((&owed["summary"], &owed["subscription"]["status"]), (&json!({}), &json!("active")), "{owed}");
        let payments = app.networks.payments_to(app.app_key.did().as_str()).await;
        assert_eq!((payments.len(), received(app).await % (10 * TOKEN)), (1, 0), "one transfer of whole periods: {payments:?}");
    }

    async fn re_stake_undoes_a_cancellation(app: &TestApp) {
        let (alice, _, id) = with_deposit(app).await;
        let path = format!("/api/subscriptions/{id}");
        alice.browser.put(&format!("{path}/cancel"), &json!({})).await.ok();
        // Record the stake as half revoked at the network.
        let subscription = SubscriptionId::parse(&id).expect("an id");
        app.change_stake(&subscription, |stake| Stake { amount_requested: Amount::new(20 * SKT), ..stake }).await;
        assert_eq!(alice.browser.put(&format!("{path}/recover"), &json!({})).await.ok()["needStake"], true);
        app.advance(Duration::from_secs(5));
        let connect = Connect::begin(app, &alice.browser, "re-stake", &format!("&subscriptionId={id}")).await;
        let request = connect.scan().await;
        let done = connect.answer(&alice.wallet, &request, signed_claim(&alice.wallet, &request)).await;
        assert_eq!(done["status"], "ok", "{done}");
        app.drain().await;
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!((&seen["cancel_at_period_end"], &seen["status"]), (&json!(false), &json!("active")), "{seen}");
        assert_eq!(app.stake_of(&subscription).await.amount, Amount::new(20 * SKT));
    }

    async fn recharge_tops_the_paying_account_up(app: &TestApp) {
        let alice = app.subscribe("alice", Terms::default()).await;
        let path = format!("/api/subscriptions/{}/paying-balance", alice.id);
        let balance = async || -> u128 {
            alice.buyer.browser.get(&path).await.ok()["balance"].as_str().expect("a balance").parse().expect("a number")
        };
        let before = balance().await;
        let friend = wallet("friend");
        app.networks.faucet(friend.did().as_str()).await;
        let query = format!("&subscriptionId={}&amount={}", alice.id, 30 * TOKEN);
        let connect = Connect::begin(app, &alice.buyer.browser, "recharge", &query).await;
        let (done, kinds) = connect.sign_all(&friend).await;
        assert_eq!((&done["status"], kinds.last().map(String::as_str)), (&json!("ok"), Some("prepareTx")), "{done}");
        app.drain().await;
        assert_eq!(balance().await, before + 30 * TOKEN, "to the last base unit");
    }

    async fn overdraft_protection_places_its_deposit_and_returns_it(app: &TestApp) {
        let alice = app.subscribe("alice", Terms::default()).await;
        let path = format!("/api/subscriptions/{}", alice.id);
        let query = format!("&subscriptionId={}", alice.id);
        app.advance(Duration::from_secs(1));
        let connect = Connect::begin(app, &alice.buyer.browser, "overdraft-protection", &query).await;
        let (done, kinds) = connect.sign_all(&alice.buyer.wallet).await;
        assert_eq!((&done["status"], kinds.last().map(String::as_str)), (&json!("ok"), Some("prepareTx")), "{done}");
        app.drain().await;
        let stakes = format!("/api/stakes?subscription_id={}", alice.id);
        let placed = alice.buyer.browser.get(&stakes).await.ok()["list"][0].clone();
        let named = alice.buyer.browser.get(&path).await.ok()["overdraft_stake_id"].clone();
        assert_eq!((&placed["id"], &placed["status"], &placed["purpose"]), (&named, &json!("held"), &json!("overdraft")), "{placed}");
        app.advance(Duration::from_secs(5));
        alice.buyer.browser.call(Method::DELETE, &format!("{path}/overdraft-protection")).send().await.ok();
        app.move_stakes().await;
        let returned = alice.buyer.browser.get(&stakes).await.ok()["list"][0].clone();
        assert_eq!((&returned["status"], &returned["amount_returned"]), (&json!("final"), &placed["amount"]), "{returned}");
    }

    async fn change_payment_raises_the_delegation(app: &TestApp) {
        let alice = app.subscribe("alice", Terms { limit: 1, ..Terms::default() }).await;
        let query = format!("&subscriptionId={}&currencyId={}", alice.id, app.shop.token);
        app.advance(Duration::from_secs(1));
        let connect = Connect::begin(app, &alice.buyer.browser, "change-payment", &query).await;
        let (done, kinds) = connect.sign_all(&alice.buyer.wallet).await;
        assert_eq!((&done["status"], kinds.last().map(String::as_str)), (&json!("ok"), Some("signature")), "{done}");
        app.advance_and_bill(WEEK).await;
        let seen = alice.buyer.browser.get(&format!("/api/subscriptions/{}", alice.id)).await.ok();
        assert_eq!((&seen["status"], received(app).await), (&json!("active"), 10 * TOKEN), "{seen}");
    }

    async fn change_payment_with_a_plan_waits_for_a_slow_network(app: &TestApp) {
        let (alice, plans, id) = with_deposit(app).await;
        let path = format!("/api/subscriptions/{id}");
        app.advance(WEEK);
        let query = order_yearly(&alice, &plans, &path).await;
        app.advance(Duration::from_secs(5));
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let connect = Connect::begin(app, &alice.browser, "change-payment", &query).await;
        let (done, kinds) = connect.sign_all(&alice.wallet).await;
        assert_eq!((&done["status"], kinds), (&json!("ok"), vec!["signature".to_owned(), "prepareTx".to_owned()]), "{done}");
        let seen = alice.browser.get(&path).await.ok();
        let waiting = &seen["pending_plan_change"];
        assert_eq!((&waiting["status"], &waiting["price_id"]), (&json!("waiting"), &json!(plans.yearly.as_str())), "{seen}");
        assert_eq!(seen["items"][0]["price_id"], plans.monthly.as_str());
        app.advance(Duration::from_secs(60));
        check_due(&app.ctx, 10).await.expect("checks");
        assert_eq!(billing::make_ordered_plan_changes(&app.ctx, 10).await.expect("changes"), 1);
        app.drain().await;
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!((&seen["items"][0]["price_id"], &seen["pending_plan_change"]), (&json!(plans.yearly.as_str()), &Value::Null), "{seen}");
        assert_eq!(seen["staking"]["amount"], (100 * SKT).to_string());
    }

    async fn change_payment_with_a_plan_says_that_the_delegation_was_declined_and_returns_the_deposit(app: &TestApp) {
        let (alice, plans, id) = with_deposit(app).await;
        let path = format!("/api/subscriptions/{id}");
        app.advance(WEEK);
        let query = order_yearly(&alice, &plans, &path).await;
        app.advance(Duration::from_secs(5));
        app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
        let connect = Connect::begin(app, &alice.browser, "change-payment", &query).await;
        assert_eq!(connect.sign_all(&alice.wallet).await.0["status"], "ok");
        decline_mandate(app, &connect).await;
        app.drain().await;
        assert_eq!(connect.status().await.ok()["code"], "NETWORK_DECLINED");
        let failed = alice.browser.get(&path).await.ok()["pending_plan_change"].clone();
        assert_eq!((&failed["status"], &failed["reason"]), (&json!("failed"), &json!("delegation_declined")), "{failed}");
        assert_eq!(failed["decline_code"], "INSUFFICIENT_GAS");
        app.move_stakes().await;
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!((&seen["items"][0]["price_id"], &seen["staking"]["status"]), (&json!(plans.monthly.as_str()), &json!("held")), "{seen}");
        assert_eq!(seen["staking"]["amount"], (10 * SKT).to_string());
        let stake = app.stake_of(&SubscriptionId::parse(&id).expect("an id")).await;
        assert_eq!(stake.amount_returned, Amount::new(90 * SKT), "all that was paid for the plan");
        app.advance(WEEK);
        assert_eq!(alice.browser.get(&path).await.ok()["pending_plan_change"], Value::Null, "the reason is not shown forever");
        assert_eq!(app.breaches().await, [""; 0]);
    }
}
