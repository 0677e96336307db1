//! While the clock is not trusted, nothing is charged until an owner confirms it.

use crate::app::{Terms, TestApp, WEEK};
use serde_json::{Value, json};
use souk_domain::operation::{ClockWatch, UptimeClock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub const YEARS: Duration = Duration::from_secs(3_650 * 86_400);

/// The uptime that a test sets.
#[derive(Default)]
pub struct TestUptime(AtomicU64);

impl TestUptime {
    pub fn pass(&self, time: Duration) {
        self.0.fetch_add(time.as_secs(), Ordering::SeqCst);
    }
}

impl UptimeClock for TestUptime {
    fn uptime(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

const INVOICES: &str = "SELECT count(*) AS n FROM invoices";
const HELD: &str = "SELECT count(*) AS n FROM subscriptions WHERE on_hold = 'unbilled_periods'";

/// Waits until a query counts `expected`.
async fn until(app: &TestApp, sql: &'static str, expected: u64) {
    while app.count(sql).await != expected {
        tokio::task::yield_now().await;
    }
}

async fn readiness(app: &TestApp) -> Value {
    app.browser().get("/readyz").await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_charge_nothing_after_the_clock_jumps_until_an_owner_confirms_it() {
    let app = TestApp::open().await;
    app.subscribe("alice", Terms::default()).await;
    let uptime = Arc::new(TestUptime::default());
    let watch = Arc::new(ClockWatch::new(app.clock.clone(), uptime.clone(), "a-machine".to_owned(), app.ctx.random.as_ref()));
    let shutdown = CancellationToken::new();
    let workers = tokio::spawn(souk_workers::schedule::run(app.ctx.clone(), Some(watch), shutdown.clone()));

    // Time passes on both clocks: a week is billed.
    uptime.pass(WEEK);
    app.advance(WEEK);
    until(&app, INVOICES, 1).await;
    app.drain().await;
    assert_eq!(readiness(&app).await.get("degraded"), None);

    // Only the wall clock jumps.
    app.advance(YEARS);
    until(&app, "SELECT count(*) AS n FROM clock_doubts WHERE source = 'uptime'", 1).await;
    let readiness = readiness(&app).await;
    assert_eq!((&readiness["status"], &readiness["degraded"]), (&json!("ok"), &json!(["clock"])));
    // The logins from before have expired.
    let (owner, mallory) = (app.owner().await, app.sign_in("mallory").await);
    let shown = owner.browser.get("/api/clock").await.ok();
    assert_eq!((&shown["trusted"], &shown["source"], &shown["host"]), (&json!(false), &json!("uptime"), &json!("a-machine")));
    assert_eq!(shown["ahead_seconds"], YEARS.as_secs());
    assert_eq!((app.count(INVOICES).await, app.count(HELD).await), (1, 0), "no period was even looked at");

    // No decision is taken by the doubted clock.
    let refused = owner.browser.put("/api/subscriptions/resume-billing", &json!({ "mode": "skip" })).await;
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("CLOCK_NOT_TRUSTED")));
    // A customer cannot confirm it.
    assert_eq!(mallory.browser.get("/api/clock").await.status, 403);
    assert_eq!(mallory.browser.put("/api/clock/confirm", &json!({})).await.status, 403);
    let confirmed = owner.browser.put("/api/clock/confirm", &json!({})).await;
    assert_eq!((confirmed.status, &confirmed.json()["trusted"]), (200, &json!(true)));
    // Automatic work continues, and the years wait for a decision.
    until(&app, HELD, 1).await;
    assert_eq!(app.count(INVOICES).await, 1);
    shutdown.cancel();
    workers.await.expect("ends");
    app.drain().await;
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_does_not_end_a_doubt_and_the_clock_that_is_set_back_does() {
    let app = TestApp::open().await;
    app.subscribe("alice", Terms::default()).await;
    let uptime = Arc::new(TestUptime::default());
    let watch = || ClockWatch::new(app.clock.clone(), uptime.clone(), "a-machine".to_owned(), app.ctx.random.as_ref());
    let check = async |watch: &ClockWatch| souk_domain::operation::check_clock(&app.ctx, watch).await.expect("checks");
    let is_trusted = |watch: &ClockWatch| souk_domain::operation::ClockTrust::is_trusted(watch);
    let before = watch();
    assert!(!is_trusted(&before), "nothing runs before the first check");
    check(&before).await;
    assert!(is_trusted(&before));
    app.advance(YEARS);
    assert!(!is_trusted(&before), "noticed without a check");
    check(&before).await;
    let restarted = watch();
    check(&restarted).await;
    assert!(!is_trusted(&restarted), "its own uptime says nothing about the jump");
    // Another machine of the store stops as well, although its own clock is right.
    let other = ClockWatch::new(app.clock.clone(), uptime.clone(), "another-machine".to_owned(), app.ctx.random.as_ref());
    check(&other).await;
    assert!(!is_trusted(&other));
    souk_domain::operation::confirm_clock(&app.ctx).await.expect("confirms");
    for watch in [&before, &restarted, &other] {
        check(watch).await;
        assert!(is_trusted(watch));
    }
    // Years behind the stored time.
    let behind = ClockWatch::new(
        Arc::new(souk_adapters::testing::FixedClock::default()),
        uptime.clone(),
        "a-machine".to_owned(),
        app.ctx.random.as_ref(),
    );
    check(&behind).await;
    assert!(!is_trusted(&behind), "behind the stored mark");
    app.finish().await;
}
