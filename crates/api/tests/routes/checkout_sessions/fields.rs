//! Validation errors of the form, by field, as codes with parameters.

use crate::app::{TestApp, form};
use serde_json::{Value, json};

async fn validation_errors(app: &TestApp, change: impl Fn(&mut Value)) -> Value {
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.strict).await;
    let mut filled = form(&app.shop, "alice", true);
    filled["customer_phone"] = json!("+1 415 555 2671");
    filled["billing_address"] =
        json!({ "country": "us", "state": "CA", "city": "San Francisco", "line1": "1 Market Street", "postal_code": "94105" });
    change(&mut filled);
    let path = format!("/api/checkout-sessions/{session}/submit");
    let refused = alice.browser.put(&path, &filled).await.refused(400);
    assert_eq!(refused["code"], "VALIDATION");
    // The page translates the codes, so the answer does not depend on the language.
    assert_eq!(alice.browser.in_chinese().put(&path, &filled).await.refused(400), refused);
    refused["fields"].clone()
}

#[tokio::test]
async fn an_empty_form_is_rejected_with_every_missing_field() {
    let app = TestApp::open().await;
    let fields = validation_errors(&app, |form| {
        form["customer_name"] = json!(" ");
        form["customer_email"] = json!("");
        form["customer_phone"] = json!("");
        form["billing_address"] = json!({});
    })
    .await;
    let names = [
        "billing_address.city",
        "billing_address.country",
        "billing_address.line1",
        "billing_address.postal_code",
        "billing_address.state",
        "customer_email",
        "customer_name",
        "customer_phone",
    ];
    let required = json!({ "error": "Required", "code": "REQUIRED" });
    assert_eq!(fields, Value::Object(names.iter().map(|name| ((*name).to_owned(), required.clone())).collect()));
    app.finish().await;
}

#[tokio::test]
async fn invalid_fields_are_named_and_seller_patterns_use_their_own_message() {
    let app = TestApp::open().await;
    let fields = validation_errors(&app, |form| {
        form["customer_name"] = json!("Alice");
        form["customer_email"] = json!("alice@nowhere");
        form["customer_phone"] = json!("12");
        form["billing_address"]["postal_code"] = json!("1234");
    })
    .await;
    let invalid = json!({ "error": "Invalid", "code": "INVALID" });
    assert_eq!(
        fields,
        json!({
            "customer_name": {
                "error": "First and last name, please",
                "code": "PATTERN",
                "params": { "message": "First and last name, please", "message_zh": "请填写姓和名" },
            },
            "customer_email": invalid,
            "customer_phone": invalid,
            "billing_address.postal_code": invalid,
        })
    );
    app.finish().await;
}

#[tokio::test]
async fn the_postal_code_is_required_for_cards_but_not_for_wallets() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let mut by_card = form(&app.shop, "alice", true);
    by_card["billing_address"] = json!({ "country": "us" });
    let refused = alice.submit(&session, &by_card).await.refused(400);
    assert_eq!(refused["fields"], json!({ "billing_address.postal_code": { "error": "Required", "code": "REQUIRED" } }));
    let mut by_wallet = form(&app.shop, "alice", false);
    by_wallet.as_object_mut().expect("an object").remove("billing_address");
    alice.submit(&session, &by_wallet).await.ok();
    app.finish().await;
}

#[tokio::test]
async fn the_preset_country_of_a_form_without_address_is_not_stored() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let mut by_wallet = form(&app.shop, "alice", false);
    by_wallet["billing_address"] = json!({ "country": "us" });
    let submitted = alice.submit(&session, &by_wallet).await.ok();
    assert_eq!(submitted["checkoutSession"]["customer_details"]["address"]["country"], "");
    assert_eq!(alice.browser.get("/api/customers/me").await.ok()["address"]["country"], "");
    // The form for cards shows the country with the postal code.
    let mut by_card = form(&app.shop, "alice", true);
    by_card["billing_address"] = json!({ "country": "de", "postal_code": "10115" });
    let session = alice.start(&app.shop.atlas).await;
    alice.submit(&session, &by_card).await.ok();
    assert_eq!(alice.browser.get("/api/customers/me").await.ok()["address"]["country"], "de");
    app.finish().await;
}

#[tokio::test]
async fn a_phone_number_is_stored_in_international_format() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.strict).await;
    let mut filled = form(&app.shop, "alice", false);
    filled["customer_phone"] = json!("138 0013 8000");
    filled["billing_address"] =
        json!({ "country": "CN", "state": "Beijing", "city": "Beijing", "line1": "1 Chang'an Avenue", "postal_code": "100000" });
    let submitted = alice.submit(&session, &filled).await.ok();
    assert_eq!(submitted["checkoutSession"]["customer_details"]["phone"], "+8613800138000");
    assert_eq!(submitted["checkoutSession"]["customer_details"]["address"]["country"], "cn");
    app.finish().await;
}

#[tokio::test]
async fn the_language_cookie_applies_to_requests_without_a_locale() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    alice.browser.set_cookie("nf_lang", "zh");
    let (english, chinese) = ("Enjoy it", "祝你使用愉快");
    for (query, message) in [("livemode=false", chinese), ("livemode=false&locale=en", english), ("livemode=false&locale=zh-CN", chinese)] {
        let shown = alice.browser.get(&format!("/api/checkout-sessions/retrieve/{session}?{query}")).await.ok();
        assert_eq!(shown["paymentLink"]["after_completion"]["hosted_confirmation"]["custom_message"], message);
    }
    app.finish().await;
}
