//! The audit at the end of a run: compares the store's tables with the networks' records (DESIGN.md 2).

use crate::store_client::StoreClient;
use serde_json::Value;
use souk_adapters::persistence::{Database, Row};
use souk_domain::shared::Amount;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One check. `wrong` must be 0.
#[derive(Debug)]
pub struct Count {
    pub what: &'static str,
    pub of: usize,
    pub wrong: usize,
    /// The first violations, for the message.
    pub examples: Vec<String>,
}

pub fn count(what: &'static str, of: usize, wrong: Vec<String>) -> Count {
    Count { what, of, wrong: wrong.len(), examples: wrong.into_iter().take(3).collect() }
}

/// A movement at a network for an attempt or a session.
#[derive(Debug, Default, Clone)]
struct Moved {
    times: usize,
    amount: Amount,
}

struct SessionRow {
    id: String,
    status: String,
    payment_status: String,
    amount_total: Amount,
    items: Value,
}

struct Books<'a> {
    database: &'a Database,
    /// Transfers by session, which is their reference.
    transfers: BTreeMap<String, Moved>,
    /// Charges by attempt.
    charges: BTreeMap<String, Moved>,
    sessions: Vec<SessionRow>,
    /// Session and currency by attempt.
    attempts: BTreeMap<String, (String, String)>,
}

/// Runs all checks.
pub async fn audit(client: &StoreClient, database: &Database) -> Vec<Count> {
    let books = Books::read(client, database).await;
    let mut counts = vec![books.states(), books.charged_twice(), books.money_and_sessions()];
    counts.push(books.sums().await);
    counts.push(books.entries().await);
    counts.push(books.stock().await);
    counts.push(books.numbers().await);
    counts.push(books.invoices().await);
    counts.push(books.entitlements().await);
    counts.push(all_delivered(database).await);
    counts
}

/// The names of the emails in a folder.
pub fn emails_in(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".eml")).collect()
}

/// Checks that every paid invoice has a receipt among the emails with these names.
pub async fn receipts(database: &Database, written: &BTreeSet<String>) -> Count {
    let paid = all(database, "SELECT id FROM invoices WHERE status = 'paid' AND total > $1", Amount::ZERO).await;
    let ids: Vec<String> = paid.iter().map(|row| row.get("id").expect("an id")).collect();
    let missing = ids.iter().filter(|id| !written.iter().any(|name| name.contains(id.as_str()))).cloned().collect();
    count("receipts not written", ids.len(), missing)
}

/// Invariant 6: every committed message was delivered, and none was dropped.
pub async fn all_delivered(database: &Database) -> Count {
    let left = rows(database, "SELECT id, topic, attempts, last_error FROM outbox WHERE run_at = created_at OR attempts > 0").await;
    let describe = |row: &Row| {
        let (topic, error) = (text(row, "topic"), optional(row, "last_error").unwrap_or_default());
        format!("{topic} after {} attempts: {error}", number(row, "attempts"))
    };
    count("outbox rows left", left.len(), left.iter().map(describe).collect())
}

/// Prints the table and returns the failed checks as text.
pub fn report(title: &str, counts: &[Count]) -> String {
    println!("\n{title}");
    for Count { what, of, wrong, .. } in counts {
        println!("  {what:<58} {wrong:>4}  of {of}");
    }
    let has_failed = |count: &&Count| count.wrong > 0;
    counts.iter().filter(has_failed).map(|count| format!("{}: {} ({})\n", count.what, count.wrong, count.examples.join("; "))).collect()
}

async fn all(database: &Database, sql: &'static str, bound: Amount) -> Vec<Row> {
    database.read().await.expect("reads").query(sql).bind(bound).all().await.expect("reads")
}

pub async fn rows(database: &Database, sql: &'static str) -> Vec<Row> {
    database.read().await.expect("reads").query(sql).all().await.expect("reads")
}

fn text(row: &Row, column: &'static str) -> String {
    row.get(column).expect("a text")
}

fn optional(row: &Row, column: &'static str) -> Option<String> {
    row.get(column).expect("a text or none")
}

fn number(row: &Row, column: &'static str) -> i64 {
    row.get(column).expect("a number")
}

fn amount(row: &Row, column: &'static str) -> Amount {
    row.get(column).expect("an amount")
}

fn plus(sum: Amount, amount: Amount) -> Amount {
    sum.plus(amount).expect("no overflow")
}

impl<'a> Books<'a> {
    async fn read(client: &StoreClient, database: &'a Database) -> Self {
        let mut transfers: BTreeMap<String, Moved> = BTreeMap::new();
        let listed = client.get("sandbox/arcblock/debug/transfers", None).await.expect("the ledger tells");
        for transfer in listed.as_array().expect("a list") {
            let amount = Amount::parse_base_units(transfer["amount"].as_str().unwrap_or_default()).expect("an amount");
            let moved = transfers.entry(transfer["reference"].as_str().unwrap_or_default().to_owned()).or_default();
            *moved = Moved { times: moved.times + 1, amount: plus(moved.amount, amount) };
        }
        let mut charges: BTreeMap<String, Moved> = BTreeMap::new();
        let listed = client.get("sandbox/stripe/debug/charges", None).await.expect("the processor tells");
        for charge in listed.as_array().expect("a list") {
            let amount = Amount::parse_base_units(&charge["amount"].to_string()).expect("an amount");
            let moved = charges.entry(charge["attempt"].as_str().unwrap_or_default().to_owned()).or_default();
            *moved = Moved { times: moved.times + 1, amount: plus(moved.amount, amount) };
        }
        let sessions = rows(database, "SELECT id, status, payment_status, amount_total, items FROM checkout_sessions").await;
        let session = |row: &Row| SessionRow {
            id: text(row, "id"),
            status: text(row, "status"),
            payment_status: text(row, "payment_status"),
            amount_total: amount(row, "amount_total"),
            items: row.get("items").expect("items"),
        };
        let attempts = "SELECT a.id, i.session_id, a.currency_id FROM attempts a JOIN payment_intents i ON i.id = a.subject";
        let attempts = rows(database, attempts).await;
        let attempt = |row: &Row| (text(row, "id"), (text(row, "session_id"), text(row, "currency_id")));
        Self {
            database,
            transfers,
            charges,
            sessions: sessions.iter().map(session).collect(),
            attempts: attempts.iter().map(attempt).collect(),
        }
    }

    fn complete(&self) -> impl Iterator<Item = &SessionRow> {
        self.sessions.iter().filter(|session| session.status == "complete")
    }

    /// Invariant 3, and that no session is in an intermediate state.
    fn states(&self) -> Count {
        let sound = |session: &&SessionRow| match session.status.as_str() {
            "complete" => session.payment_status == "paid",
            "open" | "expired" => session.payment_status == "unpaid",
            _ => false,
        };
        let wrong = self.sessions.iter().filter(|session| !sound(session));
        let wrong = wrong.map(|session| format!("{} is {} and {}", session.id, session.status, session.payment_status)).collect();
        count("sessions neither complete, open nor expired", self.sessions.len(), wrong)
    }

    /// Invariant 1, counted at the networks.
    fn charged_twice(&self) -> Count {
        let twice = self.transfers.iter().chain(&self.charges).filter(|(_, moved)| moved.times != 1);
        let wrong = twice.map(|(reference, moved)| format!("{reference} {} times", moved.times)).collect();
        count("attempts charged twice (at the networks)", self.transfers.len() + self.charges.len(), wrong)
    }

    /// The movements at both networks by session.
    fn moved(&self) -> (BTreeMap<&str, Moved>, Vec<String>) {
        let mut moved: BTreeMap<&str, Moved> = BTreeMap::new();
        let mut strangers = Vec::new();
        let mut add = |session: &'_ str, more: &Moved| {
            let Some(known) = self.sessions.iter().find(|known| known.id == session) else { return false };
            let sum = moved.entry(&known.id).or_default();
            *sum = Moved { times: sum.times + more.times, amount: plus(sum.amount, more.amount) };
            true
        };
        for (session, more) in &self.transfers {
            if !add(session, more) {
                strangers.push(format!("a transfer for {session}, which does not exist"));
            }
        }
        for (attempt, more) in &self.charges {
            match self.attempts.get(attempt) {
                Some((session, _)) => drop(add(session, more)),
                None => strangers.push(format!("a charge for {attempt}, which does not exist")),
            }
        }
        (moved, strangers)
    }

    /// Invariants 3 and 10: a session is complete exactly if its amount moved once.
    fn money_and_sessions(&self) -> Count {
        let (moved, mut wrong) = self.moved();
        for session in &self.sessions {
            match (session.status == "complete", moved.get(session.id.as_str())) {
                (true, Some(moved)) if moved.times == 1 && moved.amount == session.amount_total => {}
                (false, None) => {}
                (_, moved) => wrong.push(format!("{} is {}, total {}, moved {moved:?}", session.id, session.status, session.amount_total)),
            }
        }
        count("sessions whose money and state differ", self.complete().count(), wrong)
    }

    /// Invariant 5: the journal equals the sums at the networks.
    async fn sums(&self) -> Count {
        let mut wrong = Vec::new();
        let mut recorded: BTreeMap<String, Amount> = BTreeMap::new();
        let postings = "SELECT amount, currency_id FROM journal_postings WHERE side = 'debit' AND account LIKE 'assets:cash:%'";
        for row in rows(self.database, postings).await {
            let sum = recorded.entry(text(&row, "currency_id")).or_default();
            *sum = plus(*sum, amount(&row, "amount"));
        }
        let currencies = "SELECT c.id, m.kind FROM currencies c JOIN payment_methods m ON m.id = c.method_id";
        for row in rows(self.database, currencies).await {
            let taken = if text(&row, "kind") == "stripe" { &self.charges } else { &self.transfers };
            let taken = taken.values().fold(Amount::ZERO, |sum, moved| plus(sum, moved.amount));
            let recorded = recorded.remove(&text(&row, "id")).unwrap_or_default();
            println!("  {:<10} at the network {taken}, in the journal {recorded}", text(&row, "kind"));
            if taken != recorded {
                wrong.push(format!("{}: the network took {taken}, the journal says {recorded}", text(&row, "kind")));
            }
        }
        count("currencies whose sums differ from the journal", 2, wrong)
    }

    /// Invariant 5: each entry sums to zero, and each settled attempt has one.
    async fn entries(&self) -> Count {
        let mut sums: BTreeMap<(String, String), (Amount, Amount)> = BTreeMap::new();
        for row in rows(self.database, "SELECT entry_id, side, amount, currency_id FROM journal_postings").await {
            let (debit, credit) = sums.entry((text(&row, "entry_id"), text(&row, "currency_id"))).or_default();
            let side = if text(&row, "side") == "debit" { debit } else { credit };
            *side = plus(*side, amount(&row, "amount"));
        }
        let mut wrong: Vec<_> = sums.iter().filter(|(_, (debit, credit))| debit != credit).map(|((entry, _), _)| entry.clone()).collect();
        let unrecorded = "SELECT a.id FROM attempts a WHERE a.status = 'settled'
                        AND NOT EXISTS (SELECT 1 FROM journal_entries e WHERE e.subject = a.id AND e.type = 'payment')";
        wrong.extend(rows(self.database, unrecorded).await.iter().map(|row| format!("{} is settled and not recorded", text(row, "id"))));
        count("journal entries unbalanced or missing", sums.len(), wrong)
    }

    /// Invariant 8: the stock equals what is sold and reserved, and never exceeds the available quantity.
    async fn stock(&self) -> Count {
        let mut held: BTreeMap<String, i64> = BTreeMap::new();
        let mut sold: BTreeMap<(String, String), i64> = BTreeMap::new();
        let mut wrong = Vec::new();
        for row in rows(self.database, "SELECT session_id, price_id, quantity, state FROM stock_reservations").await {
            let (session, price, quantity) = (text(&row, "session_id"), text(&row, "price_id"), number(&row, "quantity"));
            match text(&row, "state").as_str() {
                "released" => {}
                "committed" => {
                    *held.entry(price.clone()).or_default() += quantity;
                    sold.insert((session, price), quantity);
                }
                _ => *held.entry(price).or_default() += quantity,
            }
        }
        let prices = rows(self.database, "SELECT id, quantity_sold, quantity_available FROM prices").await;
        for row in &prices {
            let (id, taken, available) = (text(row, "id"), number(row, "quantity_sold"), number(row, "quantity_available"));
            let held = held.get(&id).copied().unwrap_or_default();
            if taken != held || (available > 0 && taken > available) {
                wrong.push(format!("{id}: taken {taken}, held {held}, available {available}"));
            }
        }
        for session in self.complete() {
            for item in session.items.as_array().into_iter().flatten() {
                let price = item["price_id"].as_str().unwrap_or_default().to_owned();
                if sold.remove(&(session.id.clone(), price.clone())) != item["quantity"].as_i64() {
                    wrong.push(format!("{}: {price} is not marked as sold", session.id));
                }
            }
        }
        wrong.extend(sold.into_keys().map(|(session, price)| format!("{price} is sold by {session}, which is not complete")));
        count("prices or sales whose stock is wrong", prices.len(), wrong)
    }

    /// Invariant 11: one number series from 1 without gaps, with its counter at the end.
    async fn numbers(&self) -> Count {
        let mut wrong = Vec::new();
        let numbered = rows(self.database, "SELECT number FROM invoices WHERE number IS NOT NULL ORDER BY number").await;
        for (row, expected) in numbered.iter().zip(1..) {
            if number(row, "number") != expected {
                wrong.push(format!("{} stands where {expected} belongs", number(row, "number")));
                break;
            }
        }
        let last = rows(self.database, "SELECT sum(last_number) AS n FROM number_series").await;
        let last = last.first().map_or(0, |row| number(row, "n"));
        if last != i64::try_from(numbered.len()).expect("few invoices") {
            wrong.push(format!("the series is at {last}, there are {} invoices", numbered.len()));
        }
        count("gaps in invoice numbers", numbered.len(), wrong)
    }

    /// A complete session has a paid invoice with a number; an expired one has none.
    async fn invoices(&self) -> Count {
        let status: BTreeMap<_, _> = self.sessions.iter().map(|session| (session.id.as_str(), session.status.as_str())).collect();
        let invoices = rows(self.database, "SELECT id, session_id, status, coalesce(number, 0) AS n FROM invoices").await;
        let sound = |row: &&Row| {
            let session = optional(row, "session_id").unwrap_or_default();
            match (text(row, "status").as_str(), number(row, "n")) {
                ("paid", number) => number > 0 && status.get(session.as_str()) == Some(&"complete"),
                ("draft", number) => number == 0 && status.get(session.as_str()) == Some(&"open"),
                ("void", number) => number == 0 && status.get(session.as_str()) == Some(&"expired"),
                _ => false,
            }
        };
        let wrong = invoices.iter().filter(|row| !sound(row)).map(|row| format!("{} is {}", text(row, "id"), text(row, "status")));
        let mut wrong: Vec<_> = wrong.collect();
        let paid = invoices.iter().filter(|row| text(row, "status") == "paid").count();
        if paid != self.complete().count() {
            wrong.push(format!("{paid} invoices are paid, {} sessions complete", self.complete().count()));
        }
        count("invoices whose state is not their session's", invoices.len(), wrong)
    }

    /// One entitlement per app of each complete session, and no others.
    async fn entitlements(&self) -> Count {
        let apps = "SELECT p.id, pr.app FROM prices p JOIN products pr ON pr.id = p.product_id WHERE pr.app IS NOT NULL";
        let apps: BTreeMap<String, String> =
            rows(self.database, apps).await.iter().map(|row| (text(row, "id"), text(row, "app"))).collect();
        let granted = rows(self.database, "SELECT session_id, app FROM entitlements").await;
        let granted: Vec<_> = granted.iter().map(|row| (text(row, "session_id"), text(row, "app"))).collect();
        let bought = self.complete().flat_map(|session| {
            let prices = session.items.as_array().into_iter().flatten().filter_map(|item| apps.get(item["price_id"].as_str()?));
            prices.map(|app| (session.id.clone(), app.clone()))
        });
        let bought: BTreeSet<_> = bought.collect();
        let had: BTreeSet<_> = granted.iter().cloned().collect();
        let mut wrong: Vec<_> = bought.symmetric_difference(&had).map(|(session, app)| format!("{session} and {app}")).collect();
        if had.len() != granted.len() {
            wrong.push("a right was granted twice".to_owned());
        }
        count("entitlements missing or too many", bought.len(), wrong)
    }
}
