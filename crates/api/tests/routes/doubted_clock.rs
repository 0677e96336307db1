//! What happens while the clock of the store is doubted is right when the clock is right again. On SQLite: the clock of a database
//! server is a source of time, and cannot follow that of a test.

use super::clock::{TestUptime, YEARS};
use crate::app::{Plans, Subscriber, Terms, TestApp, WEEK, claim_of};
use serde_json::json;
use souk_domain::operation::{ClockWatch, check_clock};
use souk_domain::payment::{check_due, networks_due};
use souk_domain::shared::SubscriptionId;
use std::sync::Arc;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);
const MINUTES: Duration = Duration::from_secs(15 * 60);
const OPEN: &str = "SELECT count(*) AS n FROM attempts WHERE status IN ('open', 'unknown')";
const REMINDERS: &str = "SELECT count(*) AS n FROM outbox WHERE topic = 'reminder_mail'";

/// A store on a machine whose clock is watched.
struct Watched {
    app: TestApp,
    watch: Arc<ClockWatch>,
    uptime: Arc<TestUptime>,
}

impl Watched {
    async fn open() -> Self {
        let app = TestApp::open().await;
        let uptime = Arc::new(TestUptime::default());
        let mut store = Self { watch: process(&app, &uptime, "a-machine"), app, uptime };
        store.run_as(Arc::clone(&store.watch)).await;
        store.check().await;
        store
    }

    /// From now on a process with this watch runs the store.
    async fn run_as(&mut self, watch: Arc<ClockWatch>) {
        (self.app.ctx.clock, self.app.ctx.trust) = (watch.clone(), watch.clone());
        self.app.restart().await;
        self.watch = watch;
    }

    async fn check(&self) {
        check_clock(&self.app.ctx, &self.watch).await.expect("checks");
    }

    /// Time passes on the clock and on the uptime.
    async fn pass(&self, time: Duration) {
        self.uptime.pass(time);
        self.app.advance(time);
        self.check().await;
    }

    /// Only the clock jumps.
    async fn jump(&self) {
        self.app.advance(YEARS);
        assert!(!self.app.ctx.trust.is_trusted());
        self.check().await;
    }

    async fn set_right(&self) {
        self.app.clock.set_back(YEARS);
        self.check().await;
        assert!(self.app.ctx.trust.is_trusted());
    }
}

fn process(app: &TestApp, uptime: &Arc<TestUptime>, host: &str) -> Arc<ClockWatch> {
    Arc::new(ClockWatch::new(app.clock.clone(), uptime.clone(), host.to_owned(), app.ctx.random.as_ref()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_was_claimed_by_a_doubted_clock_is_settled_when_the_clock_is_right() {
    let store = Watched::open().await;
    let alice = store.app.sign_in("alice").await;
    let session = alice.start(&store.app.shop.atlas).await;
    alice.submit_for_wallet(&store.app, &session).await;
    let (connect, asked) = alice.request_payment(&store.app, &session).await;
    store.app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
    connect.answer(&alice.wallet, &asked, claim_of(&alice.wallet, &asked)).await;
    assert_eq!(store.app.count(OPEN).await, 1);
    store.pass(MINUTES).await;
    store.jump().await;
    // A process claims it for sending, and ends.
    let due = networks_due(&store.app.ctx).await.expect("looks");
    let now = store.app.ctx.now();
    let mut unit = store.app.ctx.store.begin().await.expect("begins");
    assert_eq!(unit.attempts().claim_due(&due[0], now, now.plus(MINUTES), 10).await.expect("claims").len(), 1);
    unit.commit().await.expect("commits");
    store.set_right().await;
    store.pass(MINUTES).await;
    check_due(&store.app.ctx, 10).await.expect("checks");
    store.app.drain().await;
    assert_eq!(store.app.count(OPEN).await, 0);
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    store.app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_that_is_sold_while_the_clock_is_doubted_begins_now() {
    let store = Watched::open().await;
    let plans = Plans::put(&store.app).await;
    let link = plans.plain(&store.app).await;
    let now = store.app.ctx.now();
    store.jump().await;
    let alice = store.app.sign_in("alice").await;
    let session = alice.subscribe(&store.app, &link).await;
    let id = alice.retrieve(&session).await["checkoutSession"]["subscription_id"].clone();
    let id = SubscriptionId::parse(id.as_str().expect("an id")).expect("an id");
    let mut unit = store.app.ctx.store.read().await.expect("reads");
    let sold = unit.subscriptions().find(&id).await.expect("reads").expect("a subscription");
    drop(unit);
    assert_eq!((sold.period.start, sold.period.end), (now, now.plus(DAY * 30)));
    store.set_right().await;
    store.app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_subscription_is_not_resumed_while_the_clock_is_doubted() {
    let store = Watched::open().await;
    let Subscriber { id, .. } = store.app.subscribe("alice", Terms::default()).await;
    let path = |what: &str| format!("/api/subscriptions/{id}/{what}");
    let owner = store.app.owner().await;
    owner.browser.put(&path("pause"), &json!({})).await.ok();
    store.pass(WEEK * 2).await;
    store.jump().await;
    let refused = owner.browser.put(&path("resume"), &json!({})).await;
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("CLOCK_NOT_TRUSTED")));
    store.set_right().await;
    owner.browser.put(&path("resume"), &json!({})).await.ok();
    store.app.drain().await;
    store.app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reminder_is_sent_at_its_time_although_the_clock_was_ahead() {
    let mut store = Watched::open().await;
    let plans = Plans::put(&store.app).await;
    let alice = store.app.sign_in("alice").await;
    alice.subscribe(&store.app, &plans.trial(&store.app).await).await;
    let mails = store.app.mails().len();
    store.jump().await;
    store.app.drain().await;
    assert_eq!((store.app.count(REMINDERS).await, store.app.mails().len()), (1, mails), "its time has not come");
    // A container that is created again has another name, and does not know that its clock is the doubted one.
    store.run_as(process(&store.app, &store.uptime, "another-name")).await;
    store.check().await;
    assert!(!store.app.ctx.trust.knows_time());
    store.app.drain().await;
    assert_eq!((store.app.count(REMINDERS).await, store.app.mails().len()), (1, mails), "nobody knows whether it has");
    store.app.clock.set_back(YEARS);
    souk_domain::operation::confirm_clock(&store.app.ctx).await.expect("confirms");
    store.pass(DAY * 4).await;
    store.app.drain().await;
    assert_eq!((store.app.count(REMINDERS).await, store.app.mails().len()), (0, mails + 1));
    store.app.finish().await;
}
