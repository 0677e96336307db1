//! Top-ups of the paying account, from any other wallet and exactly as requested.

use crate::app::{Connect, Subscriber, TOKEN, Terms, TestApp, WEEK, altered, claim_of, page_tokens, wallet};
use serde_json::{Value, json};
use souk_adapters::arcblock::{Itx, TestWallet, Transaction, TransferV3Tx};

fn query(one: &Subscriber, amount: u128) -> String {
    format!("&subscriptionId={}&amount={amount}", one.id)
}

/// A friend's funded wallet, and the request that it has to sign.
async fn request_top_up(app: &TestApp, one: &Subscriber, amount: u128) -> (Connect, TestWallet, Value) {
    let friend = wallet("friend");
    let connect = Connect::begin(app, &one.buyer.browser, "recharge", &query(one, amount)).await;
    let asked = connect.scan().await;
    assert_eq!(asked["requestedClaims"][0]["type"], "authPrincipal", "any wallet may pay, regardless of the login");
    let asked = connect.answer(&friend, &asked, json!([{ "type": "authPrincipal" }])).await;
    (connect, friend, asked)
}

async fn statements(one: &Subscriber) -> Vec<Value> {
    let list = one.buyer.browser.get(&format!("/api/invoices?subscription_id={}", one.id)).await.ok();
    let of_funds = list["list"].as_array().expect("a list").iter().filter(|one| one["billing_reason"] == "recharge");
    of_funds.cloned().collect()
}

fn transfer(transaction: &mut Transaction) -> &mut TransferV3Tx {
    let Some(Itx::TransferV3Tx(transfer)) = &mut transaction.itx else { panic!("a transfer") };
    transfer
}

#[tokio::test]
async fn a_top_up_by_a_friend_pays_overdue_invoices_immediately() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { tokens: 10, limit: 100, ..Terms::default() }).await;
    let path = format!("/api/subscriptions/{}", alice.id);
    let paying = alice.buyer.browser.get(&format!("{path}/paying-balance")).await.ok();
    assert_eq!(paying["payer"], alice.buyer.wallet.did().as_str());
    assert_eq!((&paying["period_amount"], &paying["maximum"]), (&json!((10 * TOKEN).to_string()), &json!((10_000 * TOKEN).to_string())));
    let held: u128 = paying["balance"].as_str().expect("a balance").parse().expect("a number");
    // Empty the account, so that the next period cannot be charged.
    app.networks.ledger_fault(json!({ "mode": "decline" })).await;
    app.advance_and_bill(WEEK).await;
    assert_eq!(alice.buyer.browser.get(&path).await.ok()["status"], "past_due");

    app.networks.faucet(wallet("friend").did().as_str()).await;
    let (connect, friend, asked) = request_top_up(&app, &alice, 30 * TOKEN).await;
    let text = asked["requestedClaims"][0]["description"].as_str().expect("a text");
    assert!(text.starts_with("Top up ") && text.contains(", with 30 ") && text.contains(alice.buyer.wallet.did().as_str()), "{text}");
    let done = connect.answer(&friend, &asked, claim_of(&friend, &asked)).await;
    assert_eq!(done["status"], "ok", "{done}");
    app.drain().await;
    assert_eq!(alice.buyer.browser.get(&path).await.ok()["status"], "active");
    let [invoice] = &statements(&alice).await[..] else { panic!("one invoice") };
    assert_eq!((&invoice["status"], &invoice["total"]), (&json!("paid"), &json!((30 * TOKEN).to_string())));
    assert_eq!(invoice["description"], "Add funds for subscription");
    let funds = alice.buyer.browser.get(&format!("{path}/paying-balance")).await.ok();
    assert_eq!(funds["balance"], json!((held + 20 * TOKEN).to_string()), "the top-up less one period");
    assert_eq!(app.networks.payments_to(app.app_key.did().as_str()).await.len(), 1, "the store got the period alone");
    let payments = alice.buyer.browser.get("/api/payment-intents").await.ok();
    let payments = payments["list"].as_array().expect("a list");
    assert!(payments.iter().all(|payment| payment["amount"] == (10 * TOKEN).to_string()), "adding funds is no payment to the store");
    let number = invoice["number"].as_str().expect("a number");
    assert!(app.mails().iter().all(|mail| !mail.contains(number)), "no receipt is sent for money that the store never received");
    assert_eq!(app.breaches().await, [""; 0]);
    app.finish().await;
}

#[tokio::test]
async fn a_transfer_to_another_account_or_of_another_amount_is_never_sent() {
    type Change = fn(&mut Transaction);
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    app.networks.faucet(wallet("friend").did().as_str()).await;
    let cases: [(&str, Change); 6] = [
        ("amount", |tx| transfer(tx).outputs[0].tokens[0].value = "1".to_owned()),
        ("receiver", |tx| transfer(tx).outputs[0].owner = wallet("mallory").did().to_string()),
        ("token", |tx| transfer(tx).outputs[0].tokens[0].address = "z35n61rZFc1dRP8ft7tuU2gUhywNp7qZHrXei".to_owned()),
        ("what is taken", |tx| transfer(tx).inputs[0].tokens[0].value = "1".to_owned()),
        ("nonce", |tx| tx.nonce += 1),
        ("the subscription it names", |tx| transfer(tx).data = None),
    ];
    for (what, change) in cases {
        let (connect, friend, asked) = request_top_up(&app, &alice, 30 * TOKEN).await;
        let refused = connect.answer(&friend, &asked, altered(&friend, &asked, change)).await;
        assert_eq!(refused["status"], "error", "{what}: {refused}");
    }
    assert_eq!(app.count("SELECT count(*) AS n FROM attempts").await, 0);
    assert!(statements(&alice).await.is_empty());
    let (connect, friend, asked) = request_top_up(&app, &alice, 30 * TOKEN).await;
    let body = connect.signed(&friend, &asked, "responseAuth", claim_of(&friend, &asked));
    let (first, second) = tokio::join!(connect.post(&body), connect.post(&body));
    assert!([first, second].iter().any(|answer| connect.read(answer)["status"] == "ok"));
    assert_eq!(app.networks.payments_to(alice.buyer.wallet.did().as_str()).await.len(), 1);
    assert_eq!(statements(&alice).await.len(), 1);
    app.drain().await;
    app.finish().await;
}

#[tokio::test]
async fn invalid_top_ups_are_rejected_before_the_wallet_is_involved() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let begin = async |query: String| {
        let answer = alice.buyer.browser.get(&format!("/api/did/recharge/token?x=1{query}")).await;
        (answer.status, answer.json()["error"].as_str().unwrap_or_default().to_owned())
    };
    let refused = |text: &str| (400, text.to_owned());
    assert_eq!(begin(query(&alice, 0)).await, refused("Please enter an amount above zero."));
    let symbol = alice.buyer.browser.get(&format!("/api/subscriptions/{}", alice.id)).await.ok()["paymentCurrency"]["symbol"].clone();
    let most = format!("Please enter an amount of at most 10000 {}.", symbol.as_str().expect("a symbol"));
    assert_eq!(begin(query(&alice, 10_000 * TOKEN + 1)).await, refused(&most));
    for amount in ["-1", "1.5", "", "ten"] {
        assert_eq!(begin(format!("&subscriptionId={}&amount={amount}", alice.id)).await, refused("amount is not a number"));
    }
    assert_eq!(begin("&amount=1".to_owned()).await, refused("subscriptionId is required"));
    let mallory = app.sign_in("mallory").await;
    assert_eq!(mallory.browser.get(&format!("/api/did/recharge/token?x=1{}", query(&alice, TOKEN))).await.status, 404);
    assert_eq!(mallory.browser.get(&format!("/api/subscriptions/{}/paying-balance", alice.id)).await.status, 404);
    assert_eq!(app.browser().get(&format!("/api/did/recharge/token?x=1{}", query(&alice, TOKEN))).await.status, 401);
    // An email link authorizes payments only: it shows no balance and starts no top-up.
    let token = page_tokens().auth_token(alice.id.as_str(), app.ctx.now());
    let path_with_token = format!("/api/subscriptions/{}/paying-balance?authToken={token}", alice.id);
    let recharge = format!("/api/did/recharge/token?authToken={token}{}", query(&alice, TOKEN));
    assert_eq!((app.browser().get(&path_with_token).await.status, mallory.browser.get(&path_with_token).await.status), (401, 404));
    assert_eq!((app.browser().get(&recharge).await.status, mallory.browser.get(&recharge).await.status), (404, 404));

    let connect = Connect::begin(&app, &alice.buyer.browser, "recharge", &query(&alice, TOKEN)).await;
    let asked = connect.scan().await;
    let refused = connect.answer(&alice.buyer.wallet, &asked, json!([{ "type": "authPrincipal" }])).await;
    let own = "This account already pays for the subscription. Please top up from another account.";
    assert_eq!(refused["errorMessage"], own);
    assert_eq!(connect.status().await.ok()["error"], own);

    let path = format!("/api/subscriptions/{}", alice.id);
    alice.buyer.browser.put(&format!("{path}/cancel"), &json!({ "at": "now" })).await;
    app.owner().await.browser.put(&format!("{path}/cancel"), &json!({ "at": "now" })).await.ok();
    assert_eq!(begin(query(&alice, TOKEN)).await, (400, "This subscription has ended".to_owned()));
    app.drain().await;
    app.finish().await;
}

#[tokio::test]
async fn a_wallet_that_declines_or_cannot_pay_leaves_nothing_behind() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let (connect, friend, question) = request_top_up(&app, &alice, TOKEN).await;
    connect.post(&connect.signed(&friend, &question, "declineAuth", json!([]))).await;
    assert_eq!(connect.status().await.ok()["status"], "error");
    let (connect, friend, question) = request_top_up(&app, &alice, TOKEN).await;
    let refused = connect.answer(&friend, &question, claim_of(&friend, &question)).await;
    assert_eq!(refused["status"], "error", "it holds nothing");
    let seen = connect.status().await.ok();
    assert_eq!((&seen["code"], &seen["params"]), (&json!("NETWORK_DECLINED"), &json!({ "reason": "INSUFFICIENT_FUND" })));
    assert!(statements(&alice).await.is_empty());
    let owes = alice.buyer.browser.get(&format!("/api/subscriptions/{}/overdue/invoices", alice.id)).await.ok();
    assert_eq!(owes["summary"], json!({}));
    app.networks.faucet(friend.did().as_str()).await;
    app.advance(std::time::Duration::from_secs(1));
    let (connect, friend, question) = request_top_up(&app, &alice, TOKEN).await;
    assert_eq!(connect.answer(&friend, &question, claim_of(&friend, &question)).await["status"], "ok");
    assert_eq!(statements(&alice).await.len(), 1);
    app.drain().await;
    app.finish().await;
}

#[tokio::test]
async fn a_subscription_paid_by_card_cannot_be_topped_up() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let path = format!("/api/subscriptions/{}", alice.id);
    let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
    let asked = alice.buyer.browser.post(&format!("{path}/change-payment"), &body).await.ok();
    let secret = asked["stripeContext"]["client_secret"].as_str().expect("a secret");
    assert_eq!(app.networks.confirm(secret, "4242424242424242").await.0, 200);
    app.advance(std::time::Duration::from_secs(2));
    assert_eq!(alice.buyer.browser.get(&path).await.ok()["mandate"]["type"], "card");
    let message = "This subscription is paid by card. Only a wallet can be topped up.";
    for path in [format!("{path}/paying-balance"), format!("/api/did/recharge/token?x=1{}", query(&alice, TOKEN))] {
        let answer = alice.buyer.browser.get(&path).await;
        assert_eq!((answer.status, answer.json()["error"].as_str()), (400, Some(message)));
    }
    app.finish().await;
}
