//! The floor of renewals: the same rows by plain SQL, in the same batches, with the number counter and the same durability.

use crate::ground::Ground;
use souk_adapters::testing::RunningClock;
use souk_domain::shared::{Amount, Clock, Timestamp};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

static NEXT: AtomicU64 = AtomicU64::new(1);

const INVOICE: &str = "INSERT INTO invoices (id, livemode, number, status, reason, description, customer_id, currency_id, method_id,
        subscription_id, period_start, period_end, intent_id, bill_to, total, amount_paid, refusals, created_at, finalized_at, updated_at)
    VALUES ($1, $2, $3, 'open', 'subscription_cycle', 'Storm', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0, $8, $8, $8)";
const ITEM: &str = "INSERT INTO invoice_items (id, invoice_id, position, price_id, description, quantity, unit_amount, amount,
        period_start, period_end, calculation)
    VALUES ($1, $2, 0, 'price_storm', 'Storm', 1, $3, $3, $4, $5, $6)";
const SUBSCRIPTION: &str = "UPDATE subscriptions SET status = 'active', period_index = 0, period_start = $2, period_end = $3, due_at = $3,
        latest_invoice_id = $4, updated_at = $2, version = version + 1 WHERE id = $1";
const INTENT: &str =
    "INSERT INTO payment_intents (id, livemode, status, description, amount, amount_received, amount_refunded, currency_id,
        method_id, customer_id, subscription_id, invoices, reference, payer, created_at, updated_at)
    VALUES ($1, $2, 'processing', 'Storm', $3, $4, $4, $5, $6, $7, $8, $9, '', '', $10, $10)";
const COVER: &str = "INSERT INTO attempt_invoices (attempt_id, invoice_id, open) VALUES ($1, $2, $3)";
const ATTEMPT: &str =
    "INSERT INTO attempts (id, purpose, subject, kind, method_id, currency_id, amount, status, payer, bytes, hash, checks,
        check_at, created_at, updated_at)
    VALUES ($1, 'payment', $2, 'wallet', $3, $4, $5, 'open', 'z1payer', $6, $7, 0, $8, $8, $8)";
const OUTBOX: &str = "INSERT INTO outbox (id, topic, payload, run_at, created_at, max_attempts) VALUES ($1, 'charge', $2, $3, $3, 10)";

/// Renews the next `count` of those that are due.
pub async fn renew(ground: &Ground, count: u32) {
    let mut session = ground.database.begin().await.expect("begins");
    let due = "SELECT * FROM subscriptions WHERE due_at <= $1 AND clock_id IS NULL ORDER BY due_at, id LIMIT $2";
    let rows = session.query(due).bind(ground.now).bind(count).all().await.expect("reads");
    let series = "UPDATE invoice_series SET last_number = last_number + $2 WHERE livemode = $1 RETURNING last_number";
    let last: u64 = session.query(series).bind(false).bind(count).one().await.expect("counts").get("last_number").expect("a number");
    let now = RunningClock.now();
    let (amount, empty) = (Amount::new(crate::plans::CHARGE), serde_json::json!({}));
    for (row, number) in rows.iter().zip(last + 1 - u64::from(count)..) {
        let unique = format!("{:020}", NEXT.fetch_add(1, Ordering::Relaxed));
        let (subscription, customer): (String, String) = (row.get("id").expect("id"), row.get("customer_id").expect("id"));
        let (currency, method): (String, String) = (row.get("currency_id").expect("id"), row.get("method_id").expect("id"));
        let start: Timestamp = row.get("period_end").expect("a time");
        let end = start.plus(Duration::from_secs(30 * 86_400));
        let [invoice, item, intent, attempt] = ["in_", "ii_", "pi_", "att_"].map(|prefix| format!("{prefix}f{unique}"));
        let bill_to = serde_json::json!({ "name": "Payer", "email": "payer@souk.example", "phone": "", "address": null });
        let query = session.query(INVOICE).bind(&invoice).bind(false).bind(number).bind(&customer).bind(&currency).bind(&method);
        let query = query.bind(&subscription).bind(start).bind(end).bind(&intent).bind(bill_to).bind(amount).bind(Amount::ZERO);
        query.execute().await.expect("writes");
        let calculation = serde_json::json!({ "formula": "per_unit", "unit": amount.to_string(), "quantity": 1 });
        let query = session.query(ITEM).bind(&item).bind(&invoice).bind(amount).bind(start).bind(end).bind(calculation);
        query.execute().await.expect("writes");
        let query = session.query(SUBSCRIPTION).bind(&subscription).bind(start).bind(end).bind(&invoice);
        query.execute().await.expect("writes");
        let query = session.query(INTENT).bind(&intent).bind(false).bind(amount).bind(Amount::ZERO).bind(&currency).bind(&method);
        let query = query.bind(&customer).bind(&subscription).bind(serde_json::json!([invoice])).bind(now);
        query.execute().await.expect("writes");
        session.query(COVER).bind(&attempt).bind(&invoice).bind(true).execute().await.expect("writes");
        let query = session.query(ATTEMPT).bind(&attempt).bind(&intent).bind(&method).bind(&currency).bind(amount);
        query.bind(vec![7u8; 420]).bind(format!("HASH{unique}")).bind(now).execute().await.expect("writes");
    }
    for _ in 0..count.div_ceil(100) {
        let id = format!("evt_f{:020}", NEXT.fetch_add(1, Ordering::Relaxed));
        session.query(OUTBOX).bind(id).bind(&empty).bind(now).execute().await.expect("writes");
    }
    session.commit().await.expect("commits");
}
