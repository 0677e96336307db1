//! Snapshots of the wire format. Ids, times and other values that differ between runs are replaced.

use crate::app::{TestApp, form};
use serde_json::Value;

/// Replaces ids by their prefix, and times and hashes by placeholders.
fn settled(mut value: Value) -> Value {
    redact(&mut value);
    value
}

fn redact(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(replaced) = replaced(text) {
                *text = replaced;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(redact),
        Value::Object(object) => object.values_mut().for_each(redact),
        _ => {}
    }
}

/// Replaces ids, each a prefix and 26 letters and digits, anywhere in a text.
fn replaced(text: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric();
    let is_time = text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T';
    if is_time {
        return Some("[time]".to_owned());
    }
    let mut out = String::new();
    let mut rest = text;
    let mut changed = false;
    while let Some(at) = rest.find('_') {
        let (head, tail) = rest.split_at(at + 1);
        let length = tail.chars().take_while(|c| is_part(*c)).count();
        out.push_str(head);
        if length >= 24 {
            out.push_str("[id]");
            changed = true;
        } else {
            out.push_str(&tail[..length]);
        }
        rest = &tail[length..];
    }
    out.push_str(rest);
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match (is_hash, changed) {
        (true, _) => Some("[hash]".to_owned()),
        (false, true) => Some(out),
        (false, false) => None,
    }
}

#[tokio::test]
async fn the_settings_match_the_format_of_published_clients() {
    let app = TestApp::open().await;
    insta::assert_json_snapshot!("settings", settled(app.browser().get("/api/settings").await.ok()));
    app.finish().await;
}

#[tokio::test]
async fn a_purchase_matches_the_format_of_published_clients() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let path = format!("/api/checkout-sessions/start/{}", app.shop.strict.link);
    let started = alice.browser.post(&path, &serde_json::json!({})).await.ok();
    insta::assert_json_snapshot!("start", settled(started));
    let session = alice.start(&app.shop.atlas).await;
    let by_card = alice.submit(&session, &form(&app.shop, "alice", true)).await.ok();
    insta::assert_json_snapshot!("submit_by_card", settled(by_card));
    insta::assert_json_snapshot!("submit_by_wallet", settled(alice.submit_for_wallet(&app, &session).await));
    alice.pay_by_wallet(&app, &session).await;
    let complete = alice.retrieve(&session).await;
    insta::assert_json_snapshot!("retrieve_complete", settled(complete.clone()));
    let invoice = complete["checkoutSession"]["invoice_id"].as_str().expect("an invoice");
    insta::assert_json_snapshot!("invoice", settled(alice.browser.get(&format!("/api/invoices/{invoice}")).await.ok()));
    app.finish().await;
}
