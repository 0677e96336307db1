//! Validation errors of the form, by field and in both languages.

use crate::app::{TestApp, form};
use serde_json::{Value, json};

async fn validation_errors(app: &TestApp, change: impl Fn(&mut Value)) -> (Value, Value) {
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.strict).await;
    let mut filled = form(&app.shop, "alice", true);
    filled["customer_phone"] = json!("+1 415 555 2671");
    filled["billing_address"] =
        json!({ "country": "us", "state": "CA", "city": "San Francisco", "line1": "1 Market Street", "postal_code": "94105" });
    change(&mut filled);
    let path = format!("/api/checkout-sessions/{session}/submit");
    let english = alice.browser.put(&path, &filled).await.refused(400);
    let chinese = alice.browser.in_chinese().put(&path, &filled).await.refused(400);
    assert_eq!((&english["code"], &chinese["code"]), (&"VALIDATION".into(), &"VALIDATION".into()));
    (english["fields"].clone(), chinese["fields"].clone())
}

#[tokio::test]
async fn an_empty_form_is_rejected_with_every_missing_field() {
    let app = TestApp::open().await;
    let (english, chinese) = validation_errors(&app, |form| {
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
    let all = |message: &str| Value::Object(names.iter().map(|name| ((*name).to_owned(), json!(message))).collect());
    assert_eq!((english, chinese), (all("Required"), all("必填")));
    app.finish().await;
}

#[tokio::test]
async fn invalid_fields_are_named_and_seller_patterns_use_their_own_message() {
    let app = TestApp::open().await;
    let (english, chinese) = validation_errors(&app, |form| {
        form["customer_name"] = json!("Alice");
        form["customer_email"] = json!("alice@nowhere");
        form["customer_phone"] = json!("12");
        form["billing_address"]["postal_code"] = json!("1234");
    })
    .await;
    assert_eq!(
        english,
        json!({
            "customer_name": "First and last name, please",
            "customer_email": "Invalid",
            "customer_phone": "Invalid",
            "billing_address.postal_code": "Invalid",
        })
    );
    assert_eq!((&chinese["customer_name"], &chinese["customer_email"]), (&"请填写姓和名".into(), &"无效".into()));
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
    assert_eq!(refused["fields"], json!({ "billing_address.postal_code": "Required" }));
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
    let mut filled = form(&app.shop, "alice", false);
    filled["customer_name"] = json!("");
    for (query, message) in [("livemode=false", "必填"), ("livemode=false&locale=en", "Required"), ("livemode=false&locale=zh-CN", "必填")]
    {
        let refused = alice.browser.put(&format!("/api/checkout-sessions/{session}/submit?{query}"), &filled).await.refused(400);
        assert_eq!(refused["fields"], json!({ "customer_name": message }));
    }
    app.finish().await;
}
