//! `/api/doctor`, and the mails to the owner about what it finds.

use crate::app::{Terms, TestApp};
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_domain::doctor::notify_owner;
use souk_domain::operation::{Installation, KeyPlace, KnownInstallation};
use std::sync::Arc;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3_600);

fn codes(examination: &Value) -> Vec<String> {
    let list = examination["list"].as_array().expect("a list").iter();
    list.map(|finding| finding["code"].as_str().expect("a code").to_owned()).collect()
}

const HOLD: &str = "UPDATE subscriptions SET on_hold = 'unbilled_periods', on_hold_detail = ''";

#[tokio::test]
async fn an_owner_sees_what_is_wrong_the_most_urgent_first() {
    let mut app = TestApp::open().await;
    let concerns = Installation {
        insecure_address: Some("http://store.example/".to_owned()),
        key: KeyPlace::Folder { path: "/data/secret.key".to_owned(), others_read: true },
        mails_to_folder: true,
        untrusted_proxy: Some("10.0.0.9".to_owned()),
        ..Installation::default()
    };
    app.ctx.installation = Arc::new(KnownInstallation(concerns));
    app.restart().await;
    app.subscribe("alice", Terms::default()).await;
    app.execute(HOLD).await;
    app.disk.set_short(true);
    let (bob, owner) = (app.sign_in("bob").await, app.owner().await);
    bob.browser.get("/api/doctor").await.refused(403);
    app.browser().get("/api/doctor").await.refused(401);
    let found = owner.browser.get("/api/doctor").await.ok();
    assert_eq!(codes(&found), ["disk", "key_readable", "holds", "no_https", "untrusted_proxy", "no_mail_server"], "{found}");
    assert_eq!(
        found["list"][0],
        json!({
            "code": "disk", "severity": "error", "params": { "host": "shop-1", "path": "/srv/souk", "free": "1000", "reserve": "2000" },
        })
    );
    assert_eq!(found["list"][2]["params"], json!({ "count": "1" }));
    app.finish().await;
}

on_both! {
    async fn the_owner_gets_one_mail_per_finding_and_day_in_their_language(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        app.subscribe("alice", Terms::default()).await;
        let owner = app.owner().await;
        app.drain().await;
        let before = app.mails().len();
        app.execute(HOLD).await;
        app.disk.set_short(true);
        let (first, second) = tokio::join!(notify_owner(&app.ctx), notify_owner(&app.ctx));
        assert_eq!(first.expect("notifies") + second.expect("notifies"), 2, "two at once order each mail once");
        app.drain().await;
        let mails = app.mails();
        let to_owner: Vec<_> = mails.iter().filter(|mail| mail.contains("owner@example.com")).collect();
        assert_eq!((mails.len() - before, to_owner.len()), (2, 2));
        assert!(to_owner.iter().any(|mail| mail.contains("The disk of your store is nearly full")), "{to_owner:?}");
        assert!(to_owner.iter().any(|mail| mail.contains("Subscriptions with billing on hold: 1")), "{to_owner:?}");
        app.advance(DAY / 2);
        let again = notify_owner(&app.ctx).await.expect("notifies");
        app.advance(DAY / 2);
        app.execute("UPDATE users SET language = 'zh' WHERE email = 'owner@example.com'").await;
        assert!(again + notify_owner(&app.ctx).await.expect("notifies") >= 2, "the next day has its own");
        app.drain().await;
        assert!(app.mails().len() - before >= 4);
        assert_eq!(app.count("SELECT count(*) AS n FROM owner_notices WHERE finding = 'disk'").await, 2);
        drop(owner);
        app.finish().await;
    }
}
