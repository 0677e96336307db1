use crate::app::{Connect, Subscriber, TOKEN, Terms, TestApp, WEEK, claim_of, page_tokens, wallet};
use serde_json::{Value, json};
use std::time::Duration;

/// A subscriber whose delegation is too small, so that one period is unpaid.
async fn with_overdue_invoice(app: &TestApp, name: &str) -> Subscriber {
    let one = app.subscribe(name, Terms { limit: 1, ..Terms::default() }).await;
    app.advance_and_bill(WEEK).await;
    one
}

async fn owed(one: &Subscriber) -> Value {
    one.buyer.browser.get(&format!("/api/subscriptions/{}/overdue/invoices", one.id)).await.ok()
}

#[tokio::test]
async fn overdue_invoices_are_summed_by_currency_and_paid_by_one_transfer() {
    let app = TestApp::open().await;
    let alice = with_overdue_invoice(&app, "alice").await;
    let token = app.shop.token.as_str();
    let owes = owed(&alice).await;
    assert_eq!(owes["summary"][token]["amount"], (10 * TOKEN).to_string());
    assert_eq!(owes["subscription"]["status"], "past_due");
    assert_eq!(owes["invoices"][0]["status"], "uncollectible");
    let path = format!("/api/customers/{}/overdue/invoices", alice.buyer.wallet.did());
    let of_all = alice.buyer.browser.get(&path).await.ok();
    assert_eq!((&of_all["subscriptionCount"], &of_all["customer"]["id"]), (&json!(1), &json!(alice.customer.as_str())));

    let query = format!("&currencyId={token}&customerId={}", alice.buyer.wallet.did());
    // The dialogs of wallets send no `livemode`, which means live mode: the currency tells the mode.
    let connect = Connect::begin(&app, &alice.buyer.browser.live(), "collect-batch", &query).await;
    let asked = connect.scan().await;
    let done = connect.answer(&alice.buyer.wallet, &asked, claim_of(&alice.buyer.wallet, &asked)).await;
    assert_eq!(done["status"], "ok", "{done}");
    app.drain().await;
    let owes = owed(&alice).await;
    assert_eq!((&owes["summary"], &owes["subscription"]["status"]), (&json!({}), &json!("active")));
    let again = Connect::begin(&app, &alice.buyer.browser, "collect-batch", &query).await;
    assert_eq!(again.scan().await["errorMessage"], "Nothing is overdue");
    app.finish().await;
}

#[tokio::test]
async fn every_action_takes_its_mode_from_the_named_object() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { limit: 100, ..Terms::default() }).await;
    app.advance(Duration::from_secs(5));
    let session = alice.buyer.start(&app.shop.atlas).await;
    alice.buyer.submit_for_wallet(&app, &session).await;
    let live = alice.buyer.browser.live();
    for (action, query) in [
        ("payment", format!("&checkoutSessionId={session}")),
        ("change-payment", format!("&subscriptionId={}&currencyId={}", alice.id, app.shop.token)),
        ("recharge", format!("&subscriptionId={}&amount={TOKEN}", alice.id)),
        ("overdraft-protection", format!("&subscriptionId={}", alice.id)),
    ] {
        let asked = Connect::begin(&app, &live, action, &query).await.scan().await;
        assert!(asked["requestedClaims"][0]["type"].is_string(), "{action}: {asked}");
    }
    app.finish().await;
}

#[tokio::test]
async fn an_email_link_pays_one_invoice_with_any_wallet() {
    let app = TestApp::open().await;
    let alice = with_overdue_invoice(&app, "alice").await;
    let invoice = owed(&alice).await["invoices"][0]["id"].as_str().expect("an id").to_owned();
    let token = page_tokens().auth_token(&invoice, app.ctx.now());
    let friend = wallet("friend");
    app.networks.faucet(friend.did().as_str()).await;
    let stranger = app.browser();
    let seen = stranger.get(&format!("/api/invoices/{invoice}?authToken={token}")).await.ok();
    assert_eq!(seen["subscription"]["id"], alice.id.as_str());
    assert_eq!(stranger.get(&format!("/api/did/collect/token?invoiceId={invoice}&action=pay")).await.status, 401);
    let query = format!("&invoiceId={invoice}&action=pay&authToken={token}");
    let connect = Connect::begin(&app, &stranger, "collect", &query).await;
    let asked = connect.scan().await;
    assert_eq!(asked["requestedClaims"][0]["type"], "authPrincipal");
    let asked = connect.answer(&friend, &asked, json!([{ "type": "authPrincipal" }])).await;
    let done = connect.answer(&friend, &asked, claim_of(&friend, &asked)).await;
    assert_eq!(done["status"], "ok", "{done}");
    let seen = stranger.get(&format!("/api/invoices/{invoice}?authToken={token}")).await.ok();
    assert_eq!(seen["status"], "paid");
    app.finish().await;
}

#[tokio::test]
async fn invoices_of_others_and_missing_parameters_are_rejected() {
    let app = TestApp::open().await;
    let alice = with_overdue_invoice(&app, "alice").await;
    let mallory = app.sign_in("mallory").await;
    let token = app.shop.token.as_str();
    let begin = async |query: String| mallory.browser.get(&format!("/api/did/collect-batch/token?x=1{query}")).await;
    assert_eq!(begin(format!("&currencyId={token}&subscriptionId={}", alice.id)).await.status, 404);
    assert_eq!(begin(format!("&currencyId=pc_none&customerId={}", mallory.wallet.did())).await.status, 404, "no such currency");
    let answer = begin(format!("&currencyId={token}")).await;
    assert_eq!((answer.status, answer.json()["error"].as_str()), (400, Some("Either subscriptionId or customerId must be provided")));
    assert_eq!(mallory.browser.get(&format!("/api/subscriptions/{}/overdue/invoices", alice.id)).await.status, 404);
    assert_eq!(mallory.browser.get(&format!("/api/customers/{}/overdue/invoices", alice.customer)).await.status, 404);
    app.finish().await;
}

#[tokio::test]
async fn a_declined_payment_is_reported_and_can_be_retried() {
    let app = TestApp::open().await;
    let alice = with_overdue_invoice(&app, "alice").await;
    let poor = wallet("poor");
    let invoice = owed(&alice).await["invoices"][0]["id"].as_str().expect("an id").to_owned();
    let token = page_tokens().auth_token(&invoice, app.ctx.now());
    let stranger = app.browser();
    let query = format!("&invoiceId={invoice}&action=pay&authToken={token}");
    for tries in 0..2 {
        let connect = Connect::begin(&app, &stranger, "collect", &query).await;
        let asked = connect.scan().await;
        let asked = connect.answer(&poor, &asked, json!([{ "type": "authPrincipal" }])).await;
        let done = connect.answer(&poor, &asked, claim_of(&poor, &asked)).await;
        match tries {
            0 => assert_eq!(done["status"], "error", "{done}"),
            _ => assert_eq!(done["status"], "ok", "{done}"),
        }
        app.networks.faucet(poor.did().as_str()).await;
        app.advance(Duration::from_secs(1));
    }
    assert_eq!(owed(&alice).await["summary"], json!({}));
    app.finish().await;
}

#[tokio::test]
async fn invoices_in_a_card_currency_cannot_be_paid_by_wallet() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let path = format!("/api/subscriptions/{}", alice.id);
    let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
    let asked = alice.buyer.browser.post(&format!("{path}/change-payment"), &body).await.ok();
    let secret = asked["stripeContext"]["client_secret"].as_str().expect("a secret");
    assert_eq!(app.networks.confirm(secret, "4000000000000341").await.0, 200, "the card is saved, and its charges are declined later");
    app.advance(Duration::from_secs(2));
    assert_eq!(alice.buyer.browser.get(&path).await.ok()["mandate"]["type"], "card");
    app.advance_and_bill(WEEK).await;
    let owes = owed(&alice).await;
    let dollar = app.shop.dollar.as_str();
    assert_eq!((&owes["summary"][dollar]["amount"], &owes["summary"][dollar]["method"]["type"]), (&json!("1000"), &json!("stripe")));
    let query = format!("&currencyId={dollar}&subscriptionId={}", alice.id);
    let connect = Connect::begin(&app, &alice.buyer.browser, "collect-batch", &query).await;
    assert_eq!(connect.scan().await["errorMessage"], "Card-based currency is not supported for overdue payment");
    app.finish().await;
}
