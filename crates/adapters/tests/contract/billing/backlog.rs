//! The lag of due work in the owner's metrics: it counts only what the jobs would process, and rows that wait on purpose by themselves.

use super::bench::{Billing, DAY, HOUR, MONTHLY};
use super::clocks::clock;
use crate::checkout_fixtures::{held_stake, id, open_invoice, wallet_attempt};
use souk_adapters::on_both;
use souk_adapters::persistence::{Backlog, backlog};
use souk_domain::billing::{HoldReason, Invoice, NewInvoice, OnHold, Stake, StakeStatus, Subscription};
use souk_domain::payment::{Attempt, Purpose};
use souk_domain::shared::MethodId;
use std::time::Duration;

/// A renewal, a retry, a stake and an attempt that have been due for 1, 2, 3 and 4 hours. The subscription of the retry is on hold.
async fn insert_due_rows(billing: &Billing) {
    let (method_id, currency_id) = (billing.networks.method.id.clone(), billing.networks.currency.id.clone());
    let ago = |hours: u32| Some(billing.start.minus(HOUR * hours));
    let price = billing.price("price_1", 1, MONTHLY).await;
    billing.insert(&billing.subscription("sub_1", &price, DAY * 30 + HOUR)).await;
    let held = OnHold { reason: HoldReason::AmountOutOfRange, detail: String::new() };
    billing.insert(&Subscription { on_hold: Some(held), ..billing.subscription("sub_2", &price, HOUR) }).await;
    let invoice = Invoice {
        method_id: method_id.clone(),
        currency_id: currency_id.clone(),
        session_id: None,
        intent_id: None,
        subscription_id: Some(id("sub_2")),
        retry_at: ago(2),
        ..open_invoice("in_1", 1).invoice
    };
    let stake = Stake {
        method_id: method_id.clone(),
        currency_id: currency_id.clone(),
        status: StakeStatus::Releasing,
        return_at: ago(3),
        ..held_stake("stk_1", 1)
    };
    let attempt = Attempt {
        purpose: Purpose::Stake(stake.id.clone()),
        session_id: None,
        method_id,
        currency_id,
        check_at: billing.start.minus(HOUR * 4),
        ..wallet_attempt("att_1", "pi_1", "0x1")
    };
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.invoices().insert_final_all(&[NewInvoice { invoice, items: Vec::new() }]).await.expect("inserts");
    unit.stakes().insert(&stake).await.expect("inserts");
    unit.attempts().insert(&attempt, &[]).await.expect("inserts");
    unit.commit().await.expect("commits");
}

type Numbers = Vec<(&'static str, u64)>;

/// The hours for which the first row of each kind of work has been due, and the numbers of rows that wait; those of zero are left out.
async fn read(billing: &Billing, paused: &[MethodId]) -> (Numbers, Numbers) {
    let Backlog { due, waiting, .. } = backlog(billing.database(), billing.start, paused).await.expect("reads");
    assert_eq!((due.len(), waiting.len()), (4, 7), "every kind is reported");
    let due = due.into_iter().filter(|(_, lag)| *lag > Duration::ZERO).map(|(work, lag)| (work, lag.as_secs() / HOUR.as_secs()));
    (due.collect(), waiting.into_iter().filter(|(_, count)| *count > 0).collect())
}

on_both! {
    async fn rows_that_wait_on_purpose_are_counted_and_are_not_behind(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        assert_eq!(read(&billing, &[]).await, (Numbers::new(), Numbers::new()));
        insert_due_rows(&billing).await;
        let (due, waiting) = read(&billing, &[]).await;
        assert_eq!(due, [("renewals", 1), ("stakes", 3), ("attempts", 4)]);
        assert_eq!(waiting, [("retries", 1), ("subscriptions", 1)]);
        let (due, waiting) = read(&billing, std::slice::from_ref(&billing.networks.method.id)).await;
        assert_eq!(due, Numbers::new(), "the sandbox is off");
        assert_eq!(waiting, [("renewals", 1), ("retries", 1), ("stakes", 1), ("attempts", 1), ("subscriptions", 1)]);
        let mut connection = db.begin().await.expect("begins");
        connection.query("UPDATE subscriptions SET on_hold = NULL").execute().await.expect("writes");
        connection.commit().await.expect("commits");
        let (due, waiting) = read(&billing, &[]).await;
        assert_eq!(due, [("renewals", 1), ("retries", 2), ("stakes", 3), ("attempts", 4)]);
        assert_eq!(waiting, Numbers::new());
        // A customer on a test clock has another time.
        let clock = clock(&billing).await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let clock = unit.clocks().find(&clock).await.expect("reads").expect("exists");
        unit.clocks().adopt(&clock).await.expect("adopts");
        unit.commit().await.expect("commits");
        assert_eq!(read(&billing, &[]).await.0, [("attempts", 4)]);
    }
}
