//! What must be 0 at the end: purchases, renewals and refunds that were lost or doubled.

use super::Stage;
use super::shoppers::Shop;
use crate::audit::{Count, all_delivered, count, receipts, rows};
use crate::plans::Payer;
use serde_json::Value;
use souk_adapters::persistence::{Database, Row};
use std::collections::{BTreeMap, BTreeSet};

/// Sessions, each with the number of its settled payments.
const SESSIONS: &str = "SELECT s.id, s.status, s.payment_status, count(a.id) AS n
    FROM checkout_sessions s
    LEFT JOIN payment_intents i ON i.session_id = s.id
    LEFT JOIN attempts a ON a.subject = i.id AND a.purpose = 'payment' AND a.status = 'settled'
    WHERE s.intent_id IS NOT NULL GROUP BY s.id, s.status, s.payment_status";
/// The subscriptions that no checkout created, each with the numbers of its invoices and of those that are paid.
const RENEWALS: &str = "SELECT s.id, count(i.id) AS invoices, count(CASE WHEN i.status = 'paid' THEN 1 END) AS paid
    FROM subscriptions s LEFT JOIN invoices i ON i.subscription_id = s.id AND i.reason = 'subscription_cycle'
    WHERE s.session_id IS NULL GROUP BY s.id";
/// The refunds of sessions, each with the amounts that were paid and refunded.
const REFUNDS: &str = "SELECT i.session_id, count(r.id) AS n, count(CASE WHEN r.status = 'succeeded' THEN 1 END) AS sent
    FROM payment_intents i JOIN refunds r ON r.intent_id = i.id WHERE i.session_id IS NOT NULL GROUP BY i.session_id";
/// The session of each card payment.
const CARD_ATTEMPTS: &str =
    "SELECT a.id, i.session_id FROM attempts a JOIN payment_intents i ON i.id = a.subject WHERE i.session_id IS NOT NULL";

pub async fn count_losses(stage: &Stage, shop: &Shop, payers: &[Payer], emails: &BTreeSet<String>) -> Vec<Count> {
    let database = &stage.database;
    let sessions = Sessions::read(database).await;
    let failures = stage.client.failures.lock().expect("no panic").clone();
    vec![
        sessions.lost(&shop.complete()),
        sessions.unpaid_or_paid_twice(),
        moved_twice(stage).await,
        renewals(database).await,
        charges(database, payers).await,
        refunds(database, &shop.refunded()).await,
        receipts(database, emails).await,
        all_delivered(database).await,
        verified(stage).await,
        count("answers with status 500", failures.len(), failures),
    ]
}

struct Sessions(Vec<Row>);

fn text(row: &Row, column: &'static str) -> String {
    row.get(column).expect("a text")
}

fn number(row: &Row, column: &'static str) -> u64 {
    row.get(column).expect("a number")
}

impl Sessions {
    async fn read(database: &Database) -> Self {
        Self(rows(database, SESSIONS).await)
    }

    fn is_complete(row: &Row) -> bool {
        text(row, "status") == "complete" && text(row, "payment_status") == "paid"
    }

    fn lost(&self, seen: &[String]) -> Count {
        let complete: BTreeSet<_> = self.0.iter().filter(|row| Self::is_complete(row)).map(|row| text(row, "id")).collect();
        count(
            "purchases lost that their buyers saw complete",
            seen.len(),
            seen.iter().filter(|id| !complete.contains(*id)).cloned().collect(),
        )
    }

    fn unpaid_or_paid_twice(&self) -> Count {
        let is_wrong = |row: &&Row| number(row, "n") != u64::from(Self::is_complete(row));
        let describe = |row: &Row| format!("{} is {} with {} payments", text(row, "id"), text(row, "status"), number(row, "n"));
        let wrong = self.0.iter().filter(is_wrong).map(describe).collect();
        count("sessions whose payments and state differ", self.0.len(), wrong)
    }
}

async fn listed(stage: &Stage, path: &str) -> Vec<Value> {
    let Value::Array(list) = stage.at_networks.get(path, None).await.expect("the network tells") else { panic!("{path} is no list") };
    list
}

/// Counts, at the networks, what moved money twice for one session, renewal or refund.
async fn moved_twice(stage: &Stage) -> Count {
    let session_of = |row: &Row| (text(row, "id"), text(row, "session_id"));
    let sessions: BTreeMap<_, _> = rows(&stage.database, CARD_ATTEMPTS).await.iter().map(session_of).collect();
    let mut moved: BTreeMap<String, u32> = BTreeMap::new();
    let mut add = |reference: &Value| {
        let reference = reference.as_str().unwrap_or_default();
        let reference = sessions.get(reference).map_or(reference, String::as_str);
        if !reference.is_empty() {
            *moved.entry(reference.to_owned()).or_default() += 1;
        }
    };
    listed(stage, "sandbox/arcblock/debug/transfers").await.iter().for_each(|transfer| add(&transfer["reference"]));
    listed(stage, "sandbox/stripe/debug/charges").await.iter().for_each(|charge| add(&charge["attempt"]));
    listed(stage, "sandbox/stripe/debug/refunds").await.iter().for_each(|refund| add(&refund["refund"]));
    let twice = moved.iter().filter(|(_, times)| **times > 1).map(|(reference, times)| format!("{reference} {times} times"));
    count("payments, renewals and refunds doubled (at the networks)", moved.len(), twice.collect())
}

async fn renewals(database: &Database) -> Count {
    let renewed = rows(database, RENEWALS).await;
    let is_wrong = |row: &&Row| number(row, "invoices") != 1 || number(row, "paid") != 1;
    let describe = |row: &Row| format!("{} has {} invoices, {} paid", text(row, "id"), number(row, "invoices"), number(row, "paid"));
    count("renewals lost, doubled or unpaid", renewed.len(), renewed.iter().filter(is_wrong).map(describe).collect())
}

/// Compares the renewals with the transfers of their wallets.
async fn charges(database: &Database, payers: &[Payer]) -> Count {
    let due = rows(database, RENEWALS).await.len() as u64;
    let mut moved = 0;
    for payer in payers {
        moved += payer.charges().await;
    }
    let wrong = if moved == due { Vec::new() } else { vec![format!("{due} renewals, {moved} transfers")] };
    count("renewals whose transfers differ (at the ledger)", usize::try_from(due).expect("few"), wrong)
}

async fn refunds(database: &Database, accepted: &[String]) -> Count {
    let refunds = rows(database, REFUNDS).await;
    let sent: BTreeMap<_, _> = refunds.iter().map(|row| (text(row, "session_id"), (number(row, "n"), number(row, "sent")))).collect();
    let describe = |session: &String, found: Option<&(u64, u64)>| match found {
        None => Some(format!("{session} has none")),
        Some((1, 1)) => None,
        Some((refunds, sent)) => Some(format!("{session} has {refunds}, {sent} of them sent")),
    };
    let mut wrong: Vec<_> = accepted.iter().filter_map(|session| describe(session, sent.get(session))).collect();
    let unasked = sent.keys().filter(|session| !accepted.contains(session)).map(|session| format!("{session} was refunded unasked"));
    wrong.extend(unasked);
    count("refunds lost or doubled", accepted.len(), wrong)
}

/// Runs `souk verify`, and compares the database with the networks.
async fn verified(stage: &Stage) -> Count {
    let networks = format!("--networks={}", stage.networks.address);
    let words = ["verify", stage.settings.options[1].as_str(), networks.as_str()];
    let output = stage.settings.command(&words).output().await.expect("souk verify runs");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let breaches: Vec<_> = printed.lines().filter(|line| line.starts_with("    ")).map(|line| line.trim().to_owned()).collect();
    let wrong = match (output.status.success(), breaches.is_empty()) {
        (true, _) => Vec::new(),
        (false, false) => breaches,
        (false, true) => vec![format!("it failed: {printed}{}", String::from_utf8_lossy(&output.stderr))],
    };
    count("breaches found by souk verify", printed.lines().filter(|line| !line.starts_with("    ")).count(), wrong)
}
