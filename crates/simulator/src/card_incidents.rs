//! Incidents of succeeded card payments: disputes and their decisions, failing refunds, and refunds in the processor's dashboard. The
//! store learns of each by an event or by polling.

use super::expected_errors::tolerate_expected;
use super::fixtures::Fixtures;
use super::network_client::NetworkClient;
use super::rng::Rng;
use crate::Failure;
use serde_json::Value;
use souk_domain::billing::{self, CardCheckError};
use souk_domain::payment::{Intent, IntentStatus};
use souk_domain::shared::Page;
use std::collections::BTreeSet;

/// Number of repeated checks of a payment. An injected fault fails one request.
const TRIES: u32 = 5;
/// Number of a customer's newest payments to choose from.
const NEWEST: u32 = 50;

/// The customer's card payments that have succeeded.
async fn card_payments(client: &NetworkClient, fixtures: &Fixtures) -> Result<Vec<Intent>, Failure> {
    let method = &client.payment_option(true).method.id;
    let page = Page::new(None, Some(NEWEST));
    let mut paid = client.store.ctx.store.read().await?.intents().of_customer(&fixtures.customer, &page).await?.list;
    paid.retain(|intent| intent.method_id == *method && intent.status == IntentStatus::Succeeded && !intent.reference.is_empty());
    Ok(paid)
}

/// Simulates the processor's event about a payment. It is checked again after a network error, as the worker of such events does.
async fn notify(client: &NetworkClient, payment: &str) -> Result<(), Failure> {
    let mut tries = 0;
    loop {
        match billing::check_card_payment(&client.store.ctx, &client.payment_option(true).method, payment).await {
            Err(CardCheckError::Rail(_)) if tries < TRIES => tries += 1,
            checked => return tolerate_expected(checked),
        }
    }
}

/// A random part of a payment, or all of it, in the processor's units.
fn part(intent: &Intent, rng: &mut Rng) -> String {
    (intent.amount_received.base_units() / u128::from(1 + rng.below(3))).to_string()
}

/// Opens an inquiry or a chargeback over a payment or a part of it.
pub async fn dispute(client: &NetworkClient, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let paid = card_payments(client, fixtures).await?;
    if paid.is_empty() {
        return Ok(());
    }
    let intent = rng.choose(&paid);
    let status = if rng.one_in(4) { "warning_needs_response" } else { "needs_response" };
    let form = [("payment_intent", intent.reference.clone()), ("amount", part(intent, rng)), ("status", status.to_owned())];
    client.card_incident("disputes", &form).await?;
    notify(client, &intent.reference).await
}

/// Decides the customer's disputes, most of them in favor of the cardholder.
pub async fn decide_disputes(client: &NetworkClient, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let references: BTreeSet<String> = card_payments(client, fixtures).await?.into_iter().map(|intent| intent.reference).collect();
    for dispute in client.card_objects("disputes").await? {
        let payment = text(&dispute, "payment_intent");
        if references.contains(&payment) {
            decide(client, &dispute, !rng.one_in(3)).await?;
            notify(client, &payment).await?;
        }
    }
    Ok(())
}

async fn decide(client: &NetworkClient, dispute: &Value, is_lost: bool) -> Result<(), Failure> {
    let next = match (text(dispute, "status").as_str(), is_lost) {
        ("warning_needs_response" | "warning_under_review", true) => "needs_response",
        ("warning_needs_response" | "warning_under_review", false) => "warning_closed",
        ("needs_response" | "under_review", true) => "lost",
        ("needs_response" | "under_review", false) => "won",
        _ => return Ok(()),
    };
    client.card_incident(&format!("disputes/{}", text(dispute, "id")), &[("status", next.to_owned())]).await
}

/// Fails a succeeded refund, because the cardholder's bank rejects it.
pub async fn fail_refund(client: &NetworkClient, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let references: BTreeSet<String> = card_payments(client, fixtures).await?.into_iter().map(|intent| intent.reference).collect();
    let mut sent = client.card_objects("refunds").await?;
    sent.retain(|refund| refund["status"] == "succeeded" && references.contains(&text(refund, "payment_intent")));
    if sent.is_empty() {
        return Ok(());
    }
    let refund = rng.choose(&sent);
    client.card_incident(&format!("refunds/{}", text(refund, "id")), &[("failure_reason", "lost_or_stolen_card".to_owned())]).await?;
    notify(client, &text(refund, "payment_intent")).await
}

/// Refunds a payment, or a part of it, in the processor's dashboard.
pub async fn refund_in_dashboard(client: &NetworkClient, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let paid = card_payments(client, fixtures).await?;
    if paid.is_empty() {
        return Ok(());
    }
    let intent = rng.choose(&paid);
    let form = [("payment_intent", intent.reference.clone()), ("amount", part(intent, rng))];
    client.card_incident("refunds", &form).await?;
    notify(client, &intent.reference).await
}

/// Decides all open disputes and delivers lost events, at the end of all histories.
pub async fn settle_all(client: &NetworkClient) -> Result<(), Failure> {
    // The first round turns inquiries into chargebacks; the last one closes inquiries whose payment was refunded in the meantime.
    for is_lost in [true, true, false] {
        for dispute in client.card_objects("disputes").await? {
            decide(client, &dispute, is_lost).await?;
        }
    }
    let mut payments = BTreeSet::new();
    for kind in ["disputes", "refunds"] {
        payments.extend(client.card_objects(kind).await?.iter().map(|object| text(object, "payment_intent")));
    }
    for payment in payments {
        notify(client, &payment).await?;
    }
    Ok(())
}

fn text(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap_or_default().to_owned()
}
