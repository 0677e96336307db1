//! `/api/invoices` and `/api/payment-intents`

use crate::app::TestApp;
use serde_json::json;

#[tokio::test]
async fn an_invoice_is_visible_to_its_customer_only() {
    let app = TestApp::open().await;
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    let session = alice.buy(&app, &app.shop.atlas).await;
    let invoice = alice.retrieve(&session).await["checkoutSession"]["invoice_id"].as_str().expect("an invoice").to_owned();
    let path = format!("/api/invoices/{invoice}");
    for path in [path.clone(), format!("{path}/pdf"), "/api/invoices/in_01234".to_owned(), "/api/invoices/nonsense".to_owned()] {
        bob.browser.get(&path).await.refused(404);
        app.browser().get(&path).await.refused(401);
    }
    assert_eq!(bob.browser.get("/api/invoices").await.ok()["count"], 0);
    assert_eq!(bob.browser.get(&format!("/api/invoices?customer_id={}", alice.wallet.did())).await.refused(403)["code"], "forbidden");
    assert_eq!(bob.browser.get("/api/invoices?customer_id=all").await.status, 403);
    assert_eq!(bob.browser.get("/api/payment-intents").await.ok()["count"], 0);

    let own = alice.browser.get("/api/invoices").await.ok();
    assert_eq!((&own["count"], &own["list"][0]["id"]), (&1.into(), &invoice.as_str().into()));
    let by_did = alice.browser.get(&format!("/api/invoices?customer_id={}", alice.wallet.did())).await.ok();
    assert_eq!(by_did["count"], 1);
    assert_eq!(alice.browser.get("/api/invoices?status=void").await.ok()["count"], 0);
    assert_eq!(alice.browser.get("/api/invoices?status=nonsense").await.ok()["count"], 0);
    assert_eq!(alice.browser.get("/api/invoices?status=nonsense,paid").await.ok()["count"], 1);
    // An invalid filter value must not widen the list.
    for slip in ["subscription_id=typo", "currency_id=typo"] {
        assert_eq!(alice.browser.get(&format!("/api/invoices?{slip}")).await.ok()["count"], 0, "{slip}");
    }
    assert_eq!(alice.browser.get("/api/payment-intents").await.ok()["list"][0]["amount_received"], "10000000000000000000");

    let owner = app.owner().await;
    assert_eq!(owner.browser.get("/api/invoices?customer_id=all").await.ok()["count"], 1);
    for (named, count) in [(alice.wallet.did().as_str(), 1), (own["list"][0]["customer_id"].as_str().expect("an id"), 1), ("cus_nobody", 0)]
    {
        let path = format!("/api/invoices?customer_id={named}");
        assert_eq!(owner.browser.get(&path).await.ok()["count"], count, "{named}");
    }
    assert_eq!(owner.browser.get(&path).await.ok()["customer_email"], "alice@example.com");
    app.finish().await;
}

#[tokio::test]
async fn invoice_numbers_are_sequential_without_gaps() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let abandoned = alice.start(&app.shop.seats).await;
    alice.submit_for_wallet(&app, &abandoned).await;
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let session = alice.buy(&app, &app.shop.atlas).await;
        let id = alice.retrieve(&session).await["checkoutSession"]["invoice_id"].as_str().expect("an invoice").to_owned();
        let invoice = alice.browser.get(&format!("/api/invoices/{id}")).await.ok();
        let number = invoice["number"].as_str().expect("a number").to_owned();
        numbers.push(number.rsplit('-').next().and_then(|digits| digits.parse::<u32>().ok()).expect("digits"));
        app.advance(std::time::Duration::from_secs(4));
    }
    assert_eq!(numbers, [1, 2, 3], "a draft that was never paid has none");
    app.finish().await;
}

#[tokio::test]
async fn a_pdf_is_a_pdf_in_both_languages() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.buy(&app, &app.shop.atlas).await;
    let invoice = alice.retrieve(&session).await["checkoutSession"]["invoice_id"].as_str().expect("an invoice").to_owned();
    let path = format!("/api/invoices/{invoice}/pdf");
    let english = alice.browser.get(&path).await;
    let chinese = alice.browser.in_chinese().get(&path).await;
    for pdf in [&english, &chinese] {
        assert_eq!((pdf.status, pdf.header("content-type")), (200, Some("application/pdf")));
        assert!(pdf.bytes.starts_with(b"%PDF-") && pdf.bytes.ends_with(b"%%EOF"), "{} bytes", pdf.bytes.len());
        assert!(pdf.header("content-disposition").is_some_and(|value| value.ends_with(".pdf\"")));
    }
    assert_ne!(english.bytes, chinese.bytes);
    app.finish().await;
}

#[tokio::test]
async fn the_receipt_goes_out_once_in_the_customers_language() {
    let app = TestApp::open().await;
    let browser = app.browser().in_chinese();
    let alice = crate::app::Buyer { browser, wallet: std::sync::Arc::new(crate::app::wallet("alice")), name: "alice".to_owned() };
    crate::app::Connect::begin(&app, &alice.browser, "login", "").await.sign_in(&alice.wallet, "alice").await;
    app.networks.faucet(alice.wallet.did().as_str()).await;
    alice.buy(&app, &app.shop.atlas).await;
    app.drain().await;
    let mails = app.mails();
    assert_eq!(mails.len(), 1);
    let subject = mails[0].lines().find(|line| line.starts_with("Subject:")).expect("a subject");
    assert!(subject.contains("=?utf-8?"), "a Chinese subject is encoded: {subject}");
    app.finish().await;
}

#[tokio::test]
async fn searches_return_only_visible_invoices_and_payments() {
    let app = TestApp::open().await;
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    let session = alice.buy(&app, &app.shop.atlas).await;
    alice.submit_for_wallet(&app, &alice.start(&app.shop.seats).await).await;
    let invoice = alice.retrieve(&session).await["checkoutSession"]["invoice_id"].as_str().expect("an invoice").to_owned();
    let payment = alice.browser.get("/api/payment-intents").await.ok()["list"]
        .as_array()
        .and_then(|list| list.iter().find(|payment| payment["status"] == "succeeded").cloned())
        .expect("a payment");
    let hash = payment["payment_details"]["arcblock"]["tx_hash"].as_str().expect("a hash").to_owned();
    let owner = app.owner().await;
    for (path, words) in [
        ("invoices", invoice.as_str()),
        ("invoices", "SOUK-TEST-000001"),
        ("invoices", "souk-test-00000"),
        ("invoices", "00000"),
        ("payment-intents", payment["id"].as_str().expect("an id")),
        ("payment-intents", hash.as_str()),
    ] {
        let path = format!("/api/{path}/search?query={words}");
        for (browser, count) in [(&alice.browser, 1), (&owner.browser, 1), (&bob.browser, 0)] {
            assert_eq!(browser.get(&path).await.ok()["count"], count, "{path}");
        }
        app.browser().get(&path).await.refused(401);
    }
    for words in ["SOUK-TEST-00001", "SOUK-TEST-%25", "SOUK-TEST-______", "SOUK-00000"] {
        assert_eq!(owner.browser.get(&format!("/api/invoices/search?query={words}")).await.ok()["count"], 0, "{words}");
    }
    assert_eq!(owner.browser.get("/api/invoices/search?query=&pageSize=1").await.ok()["count"], 1, "a draft is none");
    alice.browser.get("/api/customers/search?query=alice").await.refused(403);
    let found = owner.browser.get("/api/customers/search?query=ALICE%40").await.ok();
    assert_eq!((&found["count"], &found["list"][0]["did"]), (&1.into(), &alice.wallet.did().as_str().into()));
    app.finish().await;
}

#[tokio::test]
async fn the_store_attaches_metadata_to_a_payment_and_changes_nothing_else() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.buy(&app, &app.shop.atlas).await;
    let before = alice.browser.get("/api/payment-intents").await.ok()["list"][0].clone();
    let path = format!("/api/payment-intents/{}", before["id"].as_str().expect("an id"));
    let label = json!({ "metadata": { "ticket": "SO-7", "n": 5 }, "amount": "1", "description": "Mine" });
    alice.browser.put(&path, &label).await.refused(403);
    let owner = app.owner().await;
    let answer = owner.browser.put(&path, &label).await.ok();
    assert_eq!(answer["metadata"], json!({ "ticket": "SO-7", "n": "5" }));
    for name in ["amount", "description", "status", "payment_details"] {
        assert_eq!(answer[name], before[name], "{name}");
    }
    assert_eq!(alice.browser.get(&path).await.ok()["metadata"]["ticket"], "SO-7");
    assert!(alice.retrieve(&session).await["paymentIntent"]["metadata"].is_null(), "the checkout doesn't expose it");
    assert_eq!(owner.browser.put(&path, &json!({ "metadata": {} })).await.ok()["metadata"], json!({}));
    let long = json!({ "metadata": { "x": "y".repeat(10_000) } });
    owner.browser.put(&path, &long).await.refused(400);
    owner.browser.put("/api/payment-intents/pi_01234", &label).await.refused(404);
    app.finish().await;
}
