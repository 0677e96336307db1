//! A store that was restored from a backup, while its original went on.

use crate::app::signing::change_to_card;
use crate::app::{Buyer, Terms, TestApp, WEEK};
use poem::http::Method;
use serde_json::json;
use souk_adapters::backup::{MissingFiles, RestoreTarget, Source, inspect, take};
use souk_adapters::on_one;
use souk_adapters::persistence::{Database, NUMBERS_SKIPPED_MIN, SecretBox, SqlRestores, SqlStore};
use souk_adapters::testing::{FixedClock, TestDatabase};
use souk_adapters::verify::verify;
use souk_domain::billing::{Invoice, InvoiceStatus, Scope, import_movements, renew_due};
use souk_domain::context::Context;
use souk_domain::doctor::notify_owner;
use souk_domain::operation::{
    RESTORE_PAUSE, Restore, RestoreHold, Restores, check_restore_hold, confirm_stopped, find_restore, skip_import,
};
use souk_domain::payment::{self, AMOUNT_DIFFERS, Method as PaymentMethod, MethodSettings};
use souk_domain::shared::{MethodId, Mode, SubscriptionId, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const INVOICES: &str = "SELECT count(*) AS n FROM invoices";
const IMPORTED: &str = "SELECT count(*) AS n FROM restores WHERE imported_at IS NOT NULL";
const RELEASED: &str = "SELECT count(*) AS n FROM restores WHERE released_at IS NOT NULL";
const KEY: &str = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";

/// Makes the store of a test a restored one that waits for its owner.
async fn hold(app: &mut TestApp) {
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let now = app.ctx.now();
    unit.restores().insert(Restore::of(now.minus(Duration::from_secs(60)), now)).await.expect("inserts");
    unit.commit().await.expect("commits");
    app.ctx.networks = app.ctx.networks.clone().with_restore_hold(Arc::new(RestoreHold::new(true, Duration::ZERO)));
    app.restart().await;
}

async fn until(app: &TestApp, sql: &'static str, expected: u64) {
    while app.count(sql).await != expected {
        tokio::task::yield_now().await;
    }
}

on_one! {
    async fn a_held_store_can_be_read_and_refuses_writes_by_name_until_an_owner_confirms(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        let (owner, alice) = (app.owner().await, app.sign_in("alice").await);
        let session = alice.start(&app.shop.atlas).await;
        hold(&mut app).await;
        let owner = Buyer { browser: owner.browser.at(app.service()), ..owner };
        let alice = Buyer { browser: alice.browser.at(app.service()), ..alice };
        alice.browser.get("/api/apps").await.ok();
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "open");
        let start = format!("/api/checkout-sessions/start/{}", app.shop.atlas.link);
        let submit = format!("/api/checkout-sessions/{session}/submit");
        for refused in [
            alice.browser.post(&start, &json!({})).await,
            alice.browser.put(&submit, &json!({})).await,
            alice.browser.get(&format!("/api/did/payment/token?checkoutSessionId={session}")).await,
            owner.browser.put("/api/subscriptions/resume-billing", &json!({ "mode": "skip" })).await,
            alice.browser.put("/api/session/picture", &json!({})).await,
            alice.browser.call(Method::DELETE, "/api/session/picture").send().await,
        ] {
            assert_eq!(refused.refused(503)["code"], "RESTORE_HELD");
        }
        // An owner can sign in, sees why, and confirms; nobody else can.
        let admin = app.sign_in("mallory").await;
        admin.browser.get("/api/restore").await.refused(403);
        admin.browser.put("/api/restore/confirm", &json!({})).await.refused(403);
        let shown = owner.browser.get("/api/restore").await.ok();
        assert_eq!((&shown["held"], &shown["stopped_at"]), (&json!(true), &json!(null)));
        let confirmed = owner.browser.put("/api/restore/confirm", &json!({})).await.ok();
        assert!(confirmed["held"] == true && confirmed["stopped_at"].is_string(), "{confirmed}");
        assert_eq!(owner.browser.put("/api/restore/confirm", &json!({})).await.refused(409)["code"], "RESTORE_NOT_WAITING");
        let log = owner.browser.get("/api/audit-log?operation=restore.confirm").await.ok();
        assert_eq!((&log["count"], &log["list"][0]["actor"]["id"]), (&json!(1), &json!(owner.wallet.did().as_str())), "{log}");

        // It continues after a complete import.
        assert!(check_restore_hold(&app.ctx).await.expect("checks"));
        alice.browser.post(&start, &json!({})).await.refused(503);
        import_movements(&app.ctx).await.expect("imports");
        assert!(!check_restore_hold(&app.ctx).await.expect("checks"));
        app.advance(Duration::from_secs(10));
        alice.browser.post(&start, &json!({})).await.ok();
        assert_eq!(owner.browser.get("/api/restore").await.ok()["held"], false);
        app.finish().await;
    }

    async fn workers_of_a_held_store_bill_send_and_expire_nothing(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        let alice = app.subscribe("alice", Terms::default()).await;
        let open = alice.buyer.start(&app.shop.atlas).await;
        hold(&mut app).await;
        app.advance(WEEK);
        let shutdown = CancellationToken::new();
        let workers = tokio::spawn(souk_workers::schedule::run(app.ctx.clone(), None, shutdown.clone()));
        until(&app, IMPORTED, 1).await;
        // Every job has had its turn: the one that imports runs at its time like the others.
        assert_eq!((app.count(INVOICES).await, app.mails().len()), (0, 0));
        assert_eq!(app.count("SELECT count(*) AS n FROM checkout_sessions WHERE status = 'open'").await, 1, "{open} has expired");
        // A batch that was written before the backup is not sent either.
        renew_due(&app.ctx, &Scope::Wall, app.ctx.now(), 10).await.expect("renews");
        app.drain().await;
        assert_eq!(app.networks.transfers_of(app.app_key.did().as_str()).await, 0);
        assert_eq!(app.count("SELECT count(*) AS n FROM attempts WHERE status = 'open' AND sent_at IS NULL").await, 1);

        confirm_stopped(&app.ctx, "an owner").await.expect("is recorded");
        until(&app, RELEASED, 1).await;
        app.advance(Duration::from_secs(60));
        app.drain().await;
        until(&app, "SELECT count(*) AS n FROM invoices WHERE status = 'paid'", 1).await;
        assert_eq!(app.networks.transfers_of(app.app_key.did().as_str()).await, 1);
        shutdown.cancel();
        workers.await.expect("ends");
        app.drain().await;
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }

    async fn mails_to_the_owner_wait_until_a_restored_store_continues(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        let _owner = app.owner().await;
        hold(&mut app).await;
        app.disk.set_short(true);
        assert_eq!(notify_owner(&app.ctx).await.expect("notifies"), 1);
        app.drain().await;
        assert_eq!(app.mails().len(), 0);
        confirm_stopped(&app.ctx, "an owner").await.expect("is recorded");
        import_movements(&app.ctx).await.expect("imports");
        assert!(!check_restore_hold(&app.ctx).await.expect("checks"));
        app.advance(RESTORE_PAUSE);
        app.drain().await;
        assert_eq!(app.sent_mails().len(), 1);
        app.finish().await;
    }

    async fn a_network_that_does_not_answer_keeps_the_store_held_until_an_owner_skips_it(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        let owner = app.owner().await;
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let wallet = unit.methods().find(&app.shop.wallet).await.expect("reads").expect("exists");
        let MethodSettings::Arcblock { chain_id, explorer_host, .. } = wallet.settings.clone() else { panic!("another method") };
        let settings = MethodSettings::Arcblock { chain_id, api_host: "http://127.0.0.1:1/api/".to_owned(), explorer_host };
        let closed = PaymentMethod { id: MethodId::parse("pm_closed").expect("an id"), name: "Closed chain".to_owned(), settings, ..wallet };
        unit.methods().insert(&closed).await.expect("inserts");
        unit.commit().await.expect("commits");
        hold(&mut app).await;
        confirm_stopped(&app.ctx, "an owner").await.expect("is recorded");
        import_movements(&app.ctx).await.expect("is recorded");
        assert!(check_restore_hold(&app.ctx).await.expect("checks"), "an incomplete import ended the hold");
        let owner = Buyer { browser: owner.browser.at(app.service()), ..owner };
        let shown = owner.browser.get("/api/restore").await.ok();
        assert!(shown["import_failure"].as_str().is_some_and(|reason| reason.starts_with("Closed chain: ")), "{shown}");
        assert_eq!(shown["imported_at"], json!(null));
        skip_import(&app.ctx).await.expect("is recorded");
        assert!(!check_restore_hold(&app.ctx).await.expect("checks"));
        app.finish().await;
    }

    async fn a_period_that_begins_later_for_the_restored_store_is_imported_once_it_has_begun(db: &TestDatabase) {
        let original = other(db).await;
        let app = TestApp::on(&original).await;
        let alice = app.subscribe("alice", Terms::default()).await;
        let folder = tempfile::tempdir().expect("a folder");
        back_up(&app.database(), folder.path(), app.ctx.now()).await;
        let backup_at = app.ctx.now();
        app.advance_and_bill(WEEK).await;
        let store = app.app_key.did().to_string();
        let charged = app.networks.transfers_of(&store).await;

        // Its clock is behind, by as much as is tolerated between two machines or by more.
        for behind in [180, 900, 3_600].map(Duration::from_secs) {
            let target = other(db).await;
            restored(&app, &target, folder.path(), backup_at).await;
            let clock = Arc::new(FixedClock::at(app.ctx.now().minus(behind)));
            let hold = Arc::new(RestoreHold::new(true, Duration::ZERO));
            let ctx = Context { clock: clock.clone(), ..held_at(&app, &target, &hold) };
            confirm_stopped(&ctx, "an owner").await.expect("is recorded");
            import_movements(&ctx).await.expect("is recorded");
            let failure = find_restore(&ctx).await.expect("reads").expect("was restored").import_failure.expect("is not complete");
            assert!(failure.reason.contains("a charged period begins at"), "{}", failure.reason);
            assert!(check_restore_hold(&ctx).await.expect("checks"), "the period would be charged again");
            clock.advance(behind);
            import_movements(&ctx).await.expect("imports");
            assert!(!check_restore_hold(&ctx).await.expect("checks"));
            let billed = invoices(&ctx, &alice.id).await;
            assert!(billed.len() == 1 && billed[0].status == InvoiceStatus::Paid, "{billed:?}");
            assert_eq!(renew_due(&ctx, &Scope::Wall, ctx.now(), 10).await.expect("renews").attempts, []);
            assert_eq!(app.networks.transfers_of(&store).await, charged);
        }
        app.abandon();
    }

    async fn what_the_original_charged_after_the_backup_is_imported_and_not_charged_again(db: &TestDatabase) {
        for target in [TestDatabase::sqlite().await, TestDatabase::postgres().await] {
            restored_beside(db, &target).await;
        }
    }
}

/// A backup of the store, restored into another database.
async fn restored(app: &TestApp, target: &Database, folder: &std::path::Path, backup_at: Timestamp) -> Restore {
    let archive = folder.join("souk.tar.gz");
    let (restore, mut stored) = (Restore::of(backup_at, app.ctx.now()), None);
    let inspected = inspect(&archive, None).await.expect("a backup");
    let into = RestoreTarget { database: target, sandbox: None, files: folder.join("restored"), bucket: None };
    let finish = async |connection: &mut _| {
        let mut restores = SqlRestores(connection);
        let restore = stored.insert(restores.insert(restore.clone()).await?);
        restores.skip_numbers(restore, restore.restored_at).await
    };
    inspected.restore(&into, finish).await.expect("restores");
    stored.expect("is stored")
}

/// The restored store of `target`, at the networks of the original.
fn held_at(app: &TestApp, target: &TestDatabase, hold: &Arc<RestoreHold>) -> Context {
    let networks = app.ctx.networks.clone().with_restore_hold(Arc::clone(hold));
    let store = SqlStore::new((**target).clone(), Arc::new(SecretBox::new(&[5; 32])));
    Context { store: Arc::new(store), networks, ..app.ctx.clone() }
}

async fn back_up(db: &Database, folder: &std::path::Path, now: Timestamp) {
    let files = folder.join("files");
    let (key, store, missing_files) = (KEY.to_owned(), "z1".to_owned(), MissingFiles::Refuse);
    let source = Source { database: db, sandbox: None, files, bucket: None, key, store, now, missing_files };
    take(&source, &folder.join("souk.tar.gz"), None).await.expect("backs up");
}

/// The numbered invoices of a subscription, oldest first.
async fn invoices(ctx: &Context, subscription: &SubscriptionId) -> Vec<Invoice> {
    let mut unit = ctx.store.read().await.expect("reads");
    let found = unit.subscriptions().find(subscription).await.expect("reads").expect("exists");
    let mut start = found.anchor;
    let mut invoices = Vec::new();
    while start <= ctx.now() {
        invoices.extend(unit.invoices().of_period(subscription, start).await.expect("reads"));
        start = start.plus(WEEK);
    }
    invoices
}

/// The store of `db` is backed up and goes on. Its backup is restored into `target`, at the same networks.
async fn restored_beside(db: &TestDatabase, target: &TestDatabase) {
    let original = other(db).await;
    let app = TestApp::on(&original).await;
    let (own, owner) = (app.database(), app.owner().await);
    let alice = app.subscribe("alice", Terms::default()).await;
    let bob = app.subscribe("bob", Terms { tokens: 3, ..Terms::default() }).await;
    change_to_card(&app, &bob.buyer, bob.id.as_str()).await;
    // The amount of the next period depends on usage that is reported after the backup.
    let carol = app.subscribe("carol", Terms { metered: true, ..Terms::default() }).await;
    let folder = tempfile::tempdir().expect("a folder");
    let backup_at = app.ctx.now();
    back_up(&own, folder.path(), backup_at).await;

    // Two weeks pass for the original, with usage and a purchase.
    let item = carol.buyer.browser.get(&format!("/api/subscriptions/{}", carol.id)).await.ok()["items"][0]["id"].clone();
    owner.browser.post("/api/usage-records", &json!({ "subscription_item_id": item, "quantity": 2 })).await.ok();
    for _ in 0..2 {
        app.advance_and_bill(WEEK).await;
    }
    let dave = app.sign_in("dave").await;
    dave.buy(&app, &app.shop.atlas).await;
    let store = app.app_key.did().to_string();
    let moved = async || (app.networks.transfers_of(&store).await, app.networks.charges().await.len());
    let before = moved().await;
    assert_eq!(before.1, 2, "two weeks of a card");

    let restore = restored(&app, target, folder.path(), backup_at).await;
    let hold = Arc::new(RestoreHold::new(true, Duration::ZERO));
    let ctx = held_at(&app, target, &hold);
    // Two processes of the restored store import at once. One that meets a charge in the hands of the other tries again.
    let neighbor = held_at(&app, target, &hold);
    for _ in 0..5 {
        let (one, other) = tokio::join!(import_movements(&ctx), import_movements(&neighbor));
        one.and(other).expect("imports");
        if find_restore(&ctx).await.expect("reads").expect("was restored").imported_at.is_some() {
            break;
        }
        app.advance(RESTORE_PAUSE);
    }
    let state = find_restore(&ctx).await.expect("reads").expect("was restored");
    assert!(state.imported_at.is_some(), "{:?}", state.import_failure);
    for subscriber in [&alice, &bob] {
        let (ours, theirs) = (invoices(&ctx, &subscriber.id).await, invoices(&app.ctx, &subscriber.id).await);
        assert_eq!(ours.len(), 2, "{}", subscriber.buyer.name);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!((ours.status, ours.period, ours.total), (InvoiceStatus::Paid, theirs.period, theirs.total));
            assert!(ours.number > Some(NUMBERS_SKIPPED_MIN) && ours.number != theirs.number, "{:?}", ours.number);
        }
    }
    // The usage is lost with the original: what was paid differs from what is billed, and an owner decides.
    let (ours, theirs) = (invoices(&ctx, &carol.id).await, invoices(&app.ctx, &carol.id).await);
    assert_eq!((ours.first().map(|invoice| invoice.total.is_zero()), theirs[0].total.is_zero()), (Some(true), false));
    let mut unit = ctx.store.read().await.expect("reads");
    let found = unit.found_payments().open(Mode::Test).await.expect("reads");
    drop(unit);
    let accounts: Vec<_> = found.iter().map(|payment| payment.account.as_str()).collect();
    assert!(accounts.contains(&dave.wallet.did().as_str()), "the purchase after the backup is not listed: {found:?}");
    assert!(accounts.contains(&carol.buyer.wallet.did().as_str()), "{found:?}");
    // The account of a card is empty.
    for account in [alice.buyer.wallet.did().as_str(), ""] {
        assert!(!accounts.contains(&account), "a payment of an invoice is listed: {found:?}");
    }
    assert!(found.iter().all(|payment| payment.is_incoming && payment.moved_at >= restore.backup_at), "{found:?}");
    assert_eq!(moved().await, before, "the import has moved money");

    // A second import finds nothing new.
    let held = found.len();
    confirm_stopped(&ctx, "an owner").await.expect("is recorded");
    assert!(check_restore_hold(&ctx).await.expect("checks"), "the original may have gone on after the first import");
    import_movements(&ctx).await.expect("imports");
    assert_eq!(ctx.store.read().await.expect("reads").found_payments().open(Mode::Test).await.expect("reads").len(), held);
    assert!(!check_restore_hold(&ctx).await.expect("checks") && !hold.is_held());

    // The next week is charged once, by the restored store.
    app.advance(WEEK);
    let round = renew_due(&ctx, &Scope::Wall, ctx.now(), 10).await.expect("renews");
    payment::charge(&ctx, &round.attempts).await.expect("charges");
    let after = moved().await;
    assert_eq!((after.0 - before.0, after.1 - before.1), (1, 1), "one week of a wallet and of a card");
    let mut breaches = Vec::new();
    let mut collect = |check: souk_adapters::verify::Check| {
        if check.title != "every period up to the current one has an invoice" {
            breaches.extend(check.breaches);
        }
    };
    verify(target, &mut collect).await.expect("verifies");
    assert_eq!(breaches, [""; 0]);
    let doubted = ctx.store.read().await.expect("reads").attempts().find_all(&round.attempts).await.expect("reads");
    assert!(doubted.iter().all(|attempt| attempt.last_error.as_ref().is_none_or(|error| error.code != AMOUNT_DIFFERS)));
    app.abandon();
}

/// Another database of the same engine.
async fn other(db: &TestDatabase) -> TestDatabase {
    match db.address().starts_with("sqlite") {
        true => TestDatabase::sqlite().await,
        false => TestDatabase::postgres().await,
    }
}
