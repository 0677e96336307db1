//! Test mode sends emails to confirmed addresses only, and every address has a limit.

use crate::app::{Buyer, TestApp};
use serde_json::json;
use souk_adapters::on_one;
use souk_domain::mail::{MAILS_PER_HOUR, MailAddress};
use std::time::Duration;

const PATH: &str = "/api/customers/me/email-confirmation";

/// The token in the only email to the mail server.
fn token(app: &TestApp) -> String {
    let mails = app.sent_mails();
    let [mail] = mails.as_slice() else { panic!("{} emails", mails.len()) };
    let text = mail.replace("=\r\n", "").replace("=3D", "=");
    let rest = text.split("/confirm-email?token=").nth(1).expect("a link").to_owned();
    rest.split(|c: char| c.is_whitespace() || c == '"').next().expect("a token").to_owned()
}

async fn confirm(app: &TestApp, token: &str) -> crate::app::Answer {
    app.browser().post("/api/email-confirmations", &json!({ "token": token })).await
}

/// Buys at intervals, because a visitor who starts the same link again at once gets the first session.
async fn buy_again(app: &TestApp, buyer: &Buyer) {
    app.advance(Duration::from_secs(10));
    buyer.buy(app, &app.shop.atlas).await;
}

on_one! {
    async fn a_receipt_of_test_mode_goes_to_the_folder_until_the_address_is_confirmed(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        alice.buy(&app, &app.shop.atlas).await;
        assert_eq!((app.sent_mails().len(), app.mails().len()), (0, 1));
        let before = alice.browser.get(PATH).await.ok();
        assert_eq!(before, json!({ "email": "alice@example.com", "confirmed": false, "requested": false }));
        let asked = alice.browser.post(PATH, &json!({})).await.ok();
        assert_eq!((asked["confirmed"].as_bool(), asked["requested"].as_bool()), (Some(false), Some(true)));
        app.drain().await;
        let link = token(&app);
        assert_eq!(confirm(&app, &link).await.ok(), json!({ "email": "alice@example.com" }));
        assert_eq!(alice.browser.get(PATH).await.ok()["confirmed"], true);
        assert_eq!(alice.browser.post(PATH, &json!({})).await.refused(409)["code"], "EMAIL_CONFIRMED");
        buy_again(&app, &alice).await;
        assert_eq!((app.sent_mails().len(), app.mails().len()), (2, 3));
        app.finish().await;
    }

    async fn a_link_works_once_and_until_it_expires(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        alice.buy(&app, &app.shop.atlas).await;
        alice.browser.post(PATH, &json!({})).await.ok();
        app.drain().await;
        let link = token(&app);
        for wrong in [format!("{link}x"), link.replacen('.', "0.", 1), String::new()] {
            assert_eq!(confirm(&app, &wrong).await.refused(403)["code"], "CONFIRMATION_LINK_INVALID", "{wrong}");
        }
        let used = confirm(&app, &link).await;
        assert_eq!(used.ok()["email"], "alice@example.com");
        assert_eq!(confirm(&app, &link).await.refused(403)["code"], "CONFIRMATION_LINK_INVALID");
        app.finish().await;
    }

    async fn an_expired_link_confirms_nothing_and_the_next_one_can_be_requested(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        alice.buy(&app, &app.shop.atlas).await;
        alice.browser.post(PATH, &json!({})).await.ok();
        app.drain().await;
        let link = token(&app);
        assert_eq!(alice.browser.post(PATH, &json!({})).await.refused(429)["code"], "CONFIRMATION_SENT_ALREADY");
        app.advance(Duration::from_secs(24 * 3_600));
        assert_eq!(confirm(&app, &link).await.refused(403)["code"], "CONFIRMATION_LINK_INVALID");
        assert_eq!(alice.browser.get(PATH).await.ok()["requested"], false);
        alice.browser.post(PATH, &json!({})).await.ok();
        app.drain().await;
        assert_eq!(app.sent_mails().len(), 2);
        app.finish().await;
    }

    async fn a_confirmation_email_contains_nothing_that_a_visitor_has_entered(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let mut form = crate::app::form(&app.shop, "alice", false);
        form["customer_name"] = json!("Click https://evil.example now");
        let session = alice.start(&app.shop.atlas).await;
        alice.submit(&session, &form).await.ok();
        alice.browser.post(PATH, &json!({})).await.ok();
        app.drain().await;
        let mails = app.sent_mails();
        assert_eq!(mails.len(), 1);
        let text = mails[0].replace("=\r\n", "");
        assert!(text.contains("alice@example.com") && !text.contains("evil") && !text.contains("Click"), "{text}");
        app.finish().await;
    }

    async fn an_address_gets_a_limited_number_of_emails_per_hour_and_the_others_are_late_not_lost(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let address = MailAddress::of("alice@example.com").expect("an address");
        let now = app.ctx.now();
        let mut unit = app.ctx.store.begin().await.expect("begins");
        assert!(unit.mail_addresses().request(&address, "r1", now, now).await.expect("writes"));
        unit.mail_addresses().confirm("r1", now, now.minus(Duration::from_secs(1))).await.expect("writes").expect("confirms");
        unit.commit().await.expect("commits");
        for _ in 0..=MAILS_PER_HOUR {
            buy_again(&app, &alice).await;
        }
        assert_eq!(app.sent_mails().len(), MAILS_PER_HOUR as usize);
        app.advance(Duration::from_secs(3_600));
        app.drain().await;
        assert_eq!(app.sent_mails().len(), MAILS_PER_HOUR as usize + 1);
        app.finish().await;
    }
}
