//! The emails about subscriptions: when they are sent, and when they no longer hold and are not sent.

use crate::app::{TestApp, page_tokens};
use souk_adapters::on_one;
use souk_domain::access::Did;
use souk_domain::billing::*;
use souk_domain::customer::Customer;
use souk_domain::payment::{Refund, RefundStatus, RefundType, SANDBOX_PAUSE, Sandbox};
use souk_domain::pricing::{Aggregate, Anchoring, Interval, Metadata, Price, ProductNames, Recurring, RecurringInterval, Usage};
use souk_domain::shared::*;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3_600);

fn id<T: Id>(text: &str) -> T {
    T::parse(text).expect("an id")
}

fn customer(app: &TestApp) -> Customer {
    Customer {
        id: id("cus_1"),
        mode: Mode::Test,
        did: Did::from_verified("z1ada"),
        name: "Ada Miller".to_owned(),
        email: "ada@example.com".to_owned(),
        phone: String::new(),
        address: None,
        language: Language::English,
        created_at: app.ctx.now(),
        updated_at: app.ctx.now(),
    }
}

fn monthly() -> RecurringInterval {
    RecurringInterval::new(Interval::Month, 1, Anchoring::Fixed).expect("a cycle")
}

/// A subscription in its first period, whose customer has authorized no charge.
fn running(app: &TestApp) -> Subscription {
    let now = app.ctx.now();
    Subscription {
        id: id("sub_1"),
        mode: Mode::Test,
        status: SubscriptionStatus::Active,
        description: "Atlas Pro".to_owned(),
        name: ProductNames::default(),
        customer_id: id("cus_1"),
        method_id: app.shop.wallet.clone(),
        currency_id: app.shop.token.clone(),
        mandate_id: None,
        session_id: None,
        items: vec![SubscriptionItem { id: id("si_1"), price_id: id("price_monthly"), quantity: 1, billed: None }],
        cycle: monthly(),
        anchor: now,
        index: Some(0),
        period: Period { start: now, end: now.plus(DAY * 30) },
        trial: None,
        cancel_at_period_end: false,
        cancel_at: None,
        canceled_at: None,
        ended_at: None,
        cancellation: None,
        past_due_since: None,
        paused_at: None,
        days_until_cancel: DAYS_UNTIL_CANCEL,
        billing_threshold: None,
        stake_id: None,
        overdraft_stake_id: None,
        overdraft_at: None,
        latest_invoice_id: Some(id("in_first")),
        clock_id: None,
        due_at: None,
        on_hold: None,
        bounds: Default::default(),
        metadata: Metadata::new(),
        created_at: now,
        updated_at: now,
        version: 0,
    }
}

fn on_trial(app: &TestApp, days: u32) -> Subscription {
    let now = app.ctx.now();
    let trial = Period { start: now, end: now.plus(DAY * days) };
    Subscription { status: SubscriptionStatus::Trialing, trial: Some(trial), period: trial, index: None, anchor: trial.end, ..running(app) }
}

/// Writes the customer, the prices and the subscription, and requests the reminder of its trial, as the checkout does.
async fn begin(app: &TestApp, subscription: &Subscription) {
    let mut unit = app.ctx.store.begin().await.expect("begins");
    unit.customers().upsert(&customer(app)).await.expect("inserts");
    let sold = unit.prices().find(&id(&app.shop.atlas.price)).await.expect("reads").expect("a price");
    for (name, usage) in [("price_monthly", Usage::Licensed), ("price_metered", Usage::Metered(Aggregate::Sum))] {
        let recurring = Some(Recurring { cycle: monthly(), usage });
        unit.prices().insert(&Price { id: id(name), recurring, ..sold.clone() }).await.expect("inserts");
    }
    unit.subscriptions().insert(subscription).await.expect("inserts");
    notify_trial_end(&app.ctx, unit.as_mut(), subscription).await.expect("notifies");
    unit.commit().await.expect("commits");
}

async fn request(app: &TestApp, notification: &Notification) {
    let mut unit = app.ctx.store.begin().await.expect("begins");
    notify(&app.ctx, unit.as_mut(), notification, app.ctx.now()).await.expect("notifies");
    unit.commit().await.expect("commits");
}

async fn found(app: &TestApp) -> Subscription {
    let mut unit = app.ctx.store.read().await.expect("reads");
    unit.subscriptions().find(&id("sub_1")).await.expect("reads").expect("a subscription")
}

async fn change(app: &TestApp, change: impl FnOnce(&mut Subscription)) {
    let mut subscription = found(app).await;
    change(&mut subscription);
    let mut unit = app.ctx.store.begin().await.expect("begins");
    assert!(unit.subscriptions().update(&subscription).await.expect("writes"));
    unit.commit().await.expect("commits");
}

/// Lets the period end: the renewal cannot be charged.
async fn fall_behind(app: &TestApp) -> Invoice {
    app.advance(DAY * 30);
    renew_due(&app.ctx, &Scope::Wall, app.ctx.now(), 10).await.expect("renews");
    let subscription = found(app).await;
    assert_eq!(subscription.status, SubscriptionStatus::PastDue);
    let mut unit = app.ctx.store.read().await.expect("reads");
    unit.invoices().find(&subscription.latest_invoice_id.expect("an invoice")).await.expect("reads").expect("an invoice")
}

async fn pay(app: &TestApp, invoice: &Invoice) {
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let before = unit.invoices().lock(&invoice.id).await.expect("reads").expect("an invoice");
    let paid = before.with_amounts(before.total, Amount::ZERO, app.ctx.now()).expect("fits");
    assert!(unit.invoices().update(&before, &paid).await.expect("writes"));
    unit.commit().await.expect("commits");
    change(app, |subscription| (subscription.status, subscription.past_due_since) = (SubscriptionStatus::Active, None)).await;
}

async fn cancel_at_period_end(app: &TestApp) {
    let terms = CancelTerms {
        at: CancelAt::PeriodEnd,
        refund: RefundChoice::None,
        stake: StakeChoice::None,
        slash_reason: String::new(),
        feedback: None,
        comment: String::new(),
    };
    cancel(&app.ctx, Requester::Customer, &id("sub_1"), &terms).await.expect("cancels");
}

fn subjects(app: &TestApp) -> Vec<String> {
    let subject = |mail: &String| mail.lines().find_map(|line| line.strip_prefix("Subject: ")).expect("a subject").to_owned();
    let mut subjects: Vec<_> = app.mails().iter().map(subject).collect();
    subjects.sort();
    subjects
}

/// The text of an email without soft line breaks.
fn read(mail: &str) -> String {
    mail.replace("=\r\n", "").replace("=3D", "=")
}

const FAILED: &str = "[Test] Your payment for Atlas Pro failed (SOUK-TEST-000001)";
const OVERDUE: &str = "[Test] Reminder: your payment for Atlas Pro is overdue";
const TRIAL: &str = "[Test] Your Atlas Pro trial ends on 29 January 2026";
const WILL_END: &str = "[Test] Your Atlas Pro subscription will end on 14 February 2026";
const CONTINUES: &str = "[Test] Your Atlas Pro subscription will continue";
const RESUMED: &str = "[Test] Your Atlas Pro subscription has resumed";
const ENDED: &str = "[Test] Your Atlas Pro subscription has ended";

on_one! {
    async fn a_failed_payment_sends_one_email_whose_link_opens_that_invoice(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        begin(&app, &running(&app)).await;
        let invoice = fall_behind(&app).await;
        app.drain().await;
        request(&app, &Notification::PaymentFailed { invoice: invoice.id.clone(), failures: 1, code: "no_mandate".to_owned() }).await;
        app.drain().await;
        assert_eq!(subjects(&app), [FAILED]);
        let text = read(&app.mails()[0]);
        assert!(text.contains("This subscription has no payment method on file."), "{text}");
        let link = format!("https://souk.example/customer/invoice/{}?action=renew&authToken=", invoice.id);
        let token = text.split(&link).nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a link");
        assert_eq!(page_tokens().open(token, app.ctx.now()).map(|link| link.subject), Some(invoice.id.as_str()));
        app.finish().await;
    }

    async fn a_paid_invoice_sends_no_email_about_a_failure_and_no_reminder(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        begin(&app, &running(&app)).await;
        let invoice = fall_behind(&app).await;
        pay(&app, &invoice).await;
        app.drain().await;
        app.advance(DAY * 8);
        app.drain().await;
        assert_eq!(subjects(&app), Vec::<String>::new());
        assert_eq!(app.count("SELECT count(*) AS n FROM outbox").await, 0);
        app.finish().await;
    }

    async fn an_invoice_that_is_overdue_for_a_week_sends_one_reminder(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        begin(&app, &running(&app)).await;
        fall_behind(&app).await;
        app.drain().await;
        app.advance(DAY * 7 - Duration::from_secs(1));
        app.drain().await;
        assert_eq!(subjects(&app), [FAILED]);
        app.advance(Duration::from_secs(1));
        app.drain().await;
        assert_eq!(subjects(&app), [OVERDUE, FAILED]);
        app.finish().await;
    }

    async fn a_trial_sends_a_reminder_three_days_before_its_end(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        begin(&app, &on_trial(&app, 14)).await;
        app.advance(DAY * 11 - Duration::from_secs(1));
        app.drain().await;
        assert_eq!(subjects(&app), Vec::<String>::new());
        app.advance(Duration::from_secs(1));
        app.drain().await;
        assert_eq!(subjects(&app), [TRIAL]);
        let text = read(&app.mails()[0]);
        assert!(text.contains("Your free trial of Atlas Pro ends on 29 January 2026, 12:00 UTC.") && text.contains("10 SKT monthly"), "{text}");
        app.finish().await;
    }

    async fn reminders_about_payments_at_the_sandbox_wait_while_it_is_off(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        begin(&app, &on_trial(&app, 14)).await;
        app.ctx.networks = app.ctx.networks.clone().with_sandbox(Sandbox::Off);
        app.restart().await;
        app.advance(DAY * 11);
        // More often than a job may fail.
        for _ in 0..15 {
            assert_eq!((app.drain().await, subjects(&app)), (1, Vec::<String>::new()));
            app.advance(SANDBOX_PAUSE);
        }
        app.ctx.networks = app.ctx.networks.clone().with_sandbox(Sandbox::On);
        app.restart().await;
        app.drain().await;
        assert_eq!(subjects(&app), [TRIAL]);
        app.finish().await;
    }

    async fn a_test_clock_sends_the_emails_of_the_days_it_passes(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let clock = TestClock {
            id: id("clock_1"),
            name: "Ada's time".to_owned(),
            customer_id: id("cus_1"),
            now: app.ctx.now(),
            target: None,
            timeline: Vec::new(),
            created_at: app.ctx.now(),
        };
        let mut unit = app.ctx.store.begin().await.expect("begins");
        unit.customers().upsert(&customer(&app)).await.expect("inserts");
        unit.clocks().insert(&clock).await.expect("inserts");
        unit.commit().await.expect("commits");
        begin(&app, &Subscription { clock_id: Some(clock.id.clone()), ..on_trial(&app, 14) }).await;
        assert_eq!(app.count("SELECT count(*) AS n FROM outbox").await, 0);
        let began = clock.now;
        aim_clock(&app.ctx, &clock.id, began.plus(DAY * 10)).await.expect("aims");
        app.drain().await;
        assert_eq!(subjects(&app), Vec::<String>::new());
        // Through the end of the trial and a week past due, in one go.
        aim_clock(&app.ctx, &clock.id, began.plus(DAY * 22)).await.expect("aims");
        app.drain().await;
        assert_eq!(subjects(&app), [OVERDUE, TRIAL, FAILED]);
        app.finish().await;
    }

    async fn a_cancellation_a_resumption_and_an_end_send_three_emails(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        begin(&app, &running(&app)).await;
        cancel_at_period_end(&app).await;
        app.drain().await;
        assert_eq!(subjects(&app), [WILL_END]);
        let text = read(&app.mails()[0]);
        assert!(text.contains("You canceled your Atlas Pro subscription. It will end on 14 February 2026, 12:00 UTC."), "{text}");
        recover(&app.ctx, Requester::Customer, &id("sub_1")).await.expect("resumes");
        app.drain().await;
        assert_eq!(subjects(&app), [CONTINUES, WILL_END]);
        app.advance(DAY);
        cancel_at_period_end(&app).await;
        app.advance(DAY * 29);
        renew_due(&app.ctx, &Scope::Wall, app.ctx.now(), 10).await.expect("ends");
        app.drain().await;
        assert_eq!(subjects(&app), [ENDED, CONTINUES, WILL_END]);
        let ended = app.mails().iter().map(|mail| read(mail)).find(|text| text.contains(ENDED)).expect("the email about the end");
        assert!(ended.contains("ended on 14 February 2026, 12:00 UTC, as you requested. You no longer have access."), "{ended}");
        app.finish().await;
    }
}

#[tokio::test]
async fn a_trial_that_will_not_renew_sends_no_reminder() {
    let app = TestApp::open().await;
    begin(&app, &on_trial(&app, 14)).await;
    change(&app, |subscription| subscription.cancel_at_period_end = true).await;
    app.advance(DAY * 11);
    app.drain().await;
    assert_eq!(subjects(&app), Vec::<String>::new());
    app.finish().await;
}

#[tokio::test]
async fn a_short_trial_sends_no_reminder() {
    let app = TestApp::open().await;
    begin(&app, &on_trial(&app, 3)).await;
    assert_eq!(app.count("SELECT count(*) AS n FROM outbox").await, 0);
    app.finish().await;
}

#[tokio::test]
async fn the_email_about_a_start_names_the_price_and_the_usage() {
    let app = TestApp::open().await;
    let mut subscription = running(&app);
    subscription.items.push(SubscriptionItem { id: id("si_2"), price_id: id("price_metered"), quantity: 1, billed: None });
    begin(&app, &subscription).await;
    request(&app, &Notification::Started(subscription.id)).await;
    app.drain().await;
    assert_eq!(subjects(&app), ["[Test] Your Atlas Pro subscription at Souk has started"]);
    let text = read(&app.mails()[0]);
    assert!(text.contains("10 SKT monthly plus usage") && text.contains("Usage-based"), "{text}");
    app.finish().await;
}

#[tokio::test]
async fn a_withdrawn_cancellation_sends_only_the_email_about_the_resumption() {
    let app = TestApp::open().await;
    begin(&app, &running(&app)).await;
    cancel_at_period_end(&app).await;
    recover(&app.ctx, Requester::Customer, &id("sub_1")).await.expect("resumes");
    app.drain().await;
    assert_eq!(subjects(&app), [CONTINUES]);
    let text = read(&app.mails()[0]);
    assert!(text.contains("It renews automatically. Next payment: 14 February 2026, 12:00 UTC."), "{text}");
    app.finish().await;
}

#[tokio::test]
async fn a_cancellation_after_a_resumption_sends_only_the_email_about_the_cancellation() {
    let app = TestApp::open().await;
    begin(&app, &running(&app)).await;
    cancel_at_period_end(&app).await;
    app.advance(DAY);
    recover(&app.ctx, Requester::Customer, &id("sub_1")).await.expect("resumes");
    app.advance(DAY);
    cancel_at_period_end(&app).await;
    app.drain().await;
    assert_eq!(subjects(&app), [WILL_END]);
    app.finish().await;
}

#[tokio::test]
async fn a_subscription_that_has_ended_sends_only_the_email_about_its_end() {
    let app = TestApp::open().await;
    begin(&app, &running(&app)).await;
    cancel_at_period_end(&app).await;
    recover(&app.ctx, Requester::Customer, &id("sub_1")).await.expect("resumes");
    app.advance(DAY);
    cancel_at_period_end(&app).await;
    app.advance(DAY * 29);
    renew_due(&app.ctx, &Scope::Wall, app.ctx.now(), 10).await.expect("ends");
    app.drain().await;
    assert_eq!(subjects(&app), [ENDED]);
    app.finish().await;
}

#[tokio::test]
async fn an_end_that_is_due_but_not_written_yet_sends_no_email_about_an_end_to_come() {
    let app = TestApp::open().await;
    begin(&app, &running(&app)).await;
    cancel_at_period_end(&app).await;
    app.advance(DAY * 30);
    app.drain().await;
    assert_eq!(subjects(&app), Vec::<String>::new());
    app.finish().await;
}

#[tokio::test]
async fn a_paused_subscription_that_resumes_sends_an_email_unless_it_was_paused_again() {
    let app = TestApp::open().await;
    begin(&app, &running(&app)).await;
    pause(&app.ctx, &id("sub_1")).await.expect("pauses");
    app.advance(DAY);
    resume(&app.ctx, &id("sub_1")).await.expect("resumes");
    pause(&app.ctx, &id("sub_1")).await.expect("pauses again");
    app.drain().await;
    assert_eq!(subjects(&app), Vec::<String>::new());
    app.advance(DAY);
    resume(&app.ctx, &id("sub_1")).await.expect("resumes");
    app.drain().await;
    assert_eq!(subjects(&app), [RESUMED]);
    let text = read(&app.mails()[0]);
    assert!(text.contains("Your Atlas Pro subscription is no longer paused.") && text.contains("It renews automatically."), "{text}");
    app.finish().await;
}

#[tokio::test]
async fn the_email_about_an_end_for_an_overdue_invoice_says_what_is_still_unpaid() {
    let app = TestApp::open().await;
    begin(&app, &running(&app)).await;
    fall_behind(&app).await;
    app.execute("UPDATE invoices SET retry_at = NULL").await;
    app.advance(DAY * 15);
    renew_due(&app.ctx, &Scope::Wall, app.ctx.now(), 10).await.expect("ends");
    app.drain().await;
    assert_eq!(subjects(&app), [ENDED, FAILED]);
    assert!(app.mails().iter().any(|mail| read(mail).contains("You still owe 10 SKT.")));
    app.finish().await;
}

#[tokio::test]
async fn a_refund_sends_an_email_once_it_has_succeeded_and_unknown_objects_send_none() {
    let app = TestApp::open().await;
    begin(&app, &running(&app)).await;
    let refund = Refund {
        id: id("re_1"),
        mode: Mode::Test,
        kind: RefundType::BalancePayout,
        status: RefundStatus::Pending,
        amount: Amount::new(5_000_000_000_000_000_000),
        currency_id: app.shop.token.clone(),
        method_id: app.shop.wallet.clone(),
        customer_id: id("cus_1"),
        intent_id: None,
        payment_id: None,
        credit_note_id: None,
        invoice_id: None,
        subscription_id: Some(id("sub_1")),
        reason: String::new(),
        description: String::new(),
        reference: String::new(),
        failure: None,
        failure_count: 0,
        ordered_at: None,
        created_at: app.ctx.now(),
        updated_at: app.ctx.now(),
    };
    let mut unit = app.ctx.store.begin().await.expect("begins");
    unit.refunds().insert(&refund).await.expect("writes");
    unit.commit().await.expect("commits");
    for notification in [Notification::Refunded(id("re_1")), Notification::Refunded(id("re_gone")), Notification::Started(id("sub_gone"))] {
        request(&app, &notification).await;
    }
    app.drain().await;
    assert_eq!(subjects(&app), Vec::<String>::new());
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let sent = Refund { status: RefundStatus::Succeeded, reference: "0A1B".to_owned(), ..refund.clone() };
    assert!(unit.refunds().update(&refund, &sent).await.expect("writes"));
    unit.commit().await.expect("commits");
    request(&app, &Notification::Refunded(refund.id)).await;
    app.drain().await;
    assert_eq!(subjects(&app), ["[Test] Your account balance at Souk was paid out"]);
    app.finish().await;
}
