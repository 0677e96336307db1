//! The rows that a batch of renewals writes, by table and column. Only this file names tables and columns.

use crate::plans::{CHARGE, derived};
use std::collections::BTreeMap;

const MICROS_PER_DAY: i64 = 86_400_000_000;
const MICROS_PER_HOUR: i64 = 3_600_000_000;
/// Number of attempts per outbox message.
const MESSAGE: usize = 100;

/// A value as each database stores it.
#[derive(Debug, Clone)]
pub enum Cell {
    Text(String),
    Integer(i64),
    Bool(bool),
    Amount(u128),
    /// Microseconds since 1970.
    Time(i64),
}
use Cell::{Amount, Bool, Integer, Time};

/// The values of a column.
pub enum Column {
    /// One value for all rows, sent once.
    Shared(Cell),
    Texts(Vec<String>),
    Integers(Vec<i64>),
    Amounts(Vec<u128>),
    Times(Vec<i64>),
    Jsons(Vec<String>),
    Blobs(Vec<Vec<u8>>),
}
use Column::{Amounts, Blobs, Integers, Jsons, Shared, Texts, Times};

/// How rows are written to a table.
#[derive(Clone, Copy)]
pub enum Change {
    Insert,
    /// Updates by the first column; the text sets further columns in every row.
    Update(&'static str),
    /// Inserts, or updates as the text says.
    Upsert(&'static str),
}

pub struct Table {
    pub name: &'static str,
    pub change: Change,
    pub rows: usize,
    pub columns: Vec<(&'static str, Column)>,
}

/// A subscription that is due.
pub struct Due {
    pub id: String,
    pub customer: String,
    pub currency: String,
    pub method: String,
    pub period_end: i64,
}

pub const DUE: &str = "SELECT id, customer_id, currency_id, method_id, period_end FROM subscriptions
    WHERE due_at <= $1 AND clock_id IS NULL ORDER BY due_at, id LIMIT $2";
pub const NUMBERS: &str =
    "UPDATE number_series SET last_number = last_number + $2 WHERE livemode = $1 AND document = 'invoice' RETURNING last_number";

fn text(value: &str) -> Column {
    Shared(Cell::Text(value.to_owned()))
}

fn zero() -> Column {
    Shared(Amount(0))
}

/// The rows of a batch of renewals; `first` is the first invoice number.
pub fn renewals(due: &[Due], first: i64, now: i64) -> Vec<Table> {
    let rows = due.len();
    let named = |prefix: &str| -> Vec<String> { (first..).take(rows).map(|number| format!("{prefix}b{number:025}")).collect() };
    let of = |value: fn(&Due) -> &String| Texts(due.iter().map(|due| value(due).clone()).collect());
    let (ids, customers) = (|| of(|due| &due.id), || of(|due| &due.customer));
    let (currencies, methods) = (|| of(|due| &due.currency), || of(|due| &due.method));
    let (invoices, items, intents, attempts, entries) = (named("in_"), named("ii_"), named("pi_"), named("att_"), named("je_"));
    let starts = || Times(due.iter().map(|due| due.period_end).collect());
    let ends = || Times(due.iter().map(|due| due.period_end + 30 * MICROS_PER_DAY).collect());
    let charges = || Amounts(vec![CHARGE; rows]);
    let jsons = |value: &str| Jsons(vec![value.to_owned(); rows]);
    let (live, at) = (|| Shared(Bool(false)), || Shared(Time(now)));
    let bill_to = r#"{"name":"Payer","email":"payer@souk.example","phone":"","address":null}"#;
    let pricing_formula = format!(r#"{{"formula":"per_unit","unit":"{CHARGE}","quantity":1}}"#);
    // Transaction hashes are random, so each is written to another page of their index.
    let hashes = (first..).take(rows).map(hash).collect();
    let twice = |ids: &[String]| ids.iter().flat_map(|id| [id.clone(), id.clone()]).collect::<Vec<_>>();
    let in_turn = |[one, other]: [&str; 2]| (0..rows).flat_map(|_| [one.to_owned(), other.to_owned()]).collect::<Vec<_>>();
    let messages = messages(&attempts, first, now);
    let insert = |name, columns| Table { name, change: Change::Insert, rows, columns };
    vec![
        insert(
            "invoices",
            vec![
                ("id", Texts(invoices.clone())),
                ("livemode", live()),
                ("document", text("invoice")),
                ("number", Integers((first..).take(rows).collect())),
                ("status", text("open")),
                ("reason", text("subscription_cycle")),
                ("description", Texts(vec!["product".to_owned(); rows])),
                ("name", Texts(vec!["Storm".to_owned(); rows])),
                ("name_zh", Texts(vec!["Storm".to_owned(); rows])),
                ("name_others", Shared(Integer(0))),
                ("customer_id", customers()),
                ("currency_id", currencies()),
                ("method_id", methods()),
                ("subscription_id", ids()),
                ("period_start", starts()),
                ("period_end", ends()),
                ("intent_id", Texts(intents.clone())),
                ("bill_to", jsons(bill_to)),
                ("total", charges()),
                ("amount_paid", zero()),
                ("amount_credited", zero()),
                ("failure_count", Shared(Integer(0))),
                ("created_at", starts()),
                ("finalized_at", at()),
                ("updated_at", starts()),
            ],
        ),
        insert(
            "invoice_items",
            vec![
                ("id", Texts(items)),
                ("invoice_id", Texts(invoices.clone())),
                ("position", Shared(Integer(0))),
                ("subscription_item_id", Texts(due.iter().map(|due| format!("si_{}", due.id)).collect())),
                ("price_id", Texts(due.iter().map(|due| due.customer.replacen("cus_", "price_", 1)).collect())),
                ("description", Texts(vec!["product".to_owned(); rows])),
                ("name", Texts(vec!["Storm".to_owned(); rows])),
                ("name_zh", Texts(vec!["Storm".to_owned(); rows])),
                ("name_others", Shared(Integer(0))),
                ("quantity", Integers(vec![1; rows])),
                ("unit_amount", charges()),
                ("amount", charges()),
                ("credited", zero()),
                ("period_start", starts()),
                ("period_end", ends()),
                ("covers_until", ends()),
                ("pricing_formula", jsons(&pricing_formula)),
            ],
        ),
        insert(
            "journal_entries",
            vec![
                ("id", Texts(entries.clone())),
                ("livemode", live()),
                ("subject", Texts(invoices.clone())),
                ("type", text("invoice_finalized")),
                ("posted_at", at()),
            ],
        ),
        Table {
            rows: rows * 2,
            ..insert(
                "journal_postings",
                vec![
                    ("entry_id", Texts(twice(&entries))),
                    ("position", Integers((0..rows).flat_map(|_| [0, 1]).collect())),
                    ("account", Texts(in_turn(["assets:receivable", "income:revenue"]))),
                    ("side", Texts(in_turn(["debit", "credit"]))),
                    ("amount", Amounts(vec![CHARGE; rows * 2])),
                    ("currency_id", Texts(due.iter().flat_map(|due| [due.currency.clone(), due.currency.clone()]).collect())),
                ],
            )
        },
        insert(
            "payment_intents",
            vec![
                ("id", Texts(intents.clone())),
                ("livemode", live()),
                ("status", text("processing")),
                ("description", Texts(vec!["product".to_owned(); rows])),
                ("name", Texts(vec!["Storm".to_owned(); rows])),
                ("name_zh", Texts(vec!["Storm".to_owned(); rows])),
                ("name_others", Shared(Integer(0))),
                ("amount", charges()),
                ("amount_received", zero()),
                ("amount_refunded", zero()),
                ("currency_id", currencies()),
                ("method_id", methods()),
                ("customer_id", customers()),
                ("subscription_id", ids()),
                ("invoices", Jsons(invoices.iter().map(|invoice| format!(r#"["{invoice}"]"#)).collect())),
                ("reference", text("")),
                ("payer", text("")),
                ("created_at", at()),
                ("updated_at", at()),
            ],
        ),
        insert(
            "attempts",
            vec![
                ("id", Texts(attempts.clone())),
                ("purpose", text("payment")),
                ("subject", Texts(intents)),
                ("kind", text("wallet")),
                ("method_id", methods()),
                ("currency_id", currencies()),
                ("amount", charges()),
                ("status", text("open")),
                ("payer", Texts(vec!["z1payer0000000000000000000000000000".to_owned(); rows])),
                ("bytes", Blobs(vec![vec![7; 375]; rows])),
                ("hash", Texts(hashes)),
                ("checks", Shared(Integer(0))),
                ("check_at", at()),
                ("created_at", at()),
                ("updated_at", at()),
            ],
        ),
        insert(
            "attempt_invoices",
            vec![
                ("attempt_id", Texts(attempts)),
                ("invoice_id", Texts(invoices.clone())),
                ("amount", charges()),
                ("open", Shared(Bool(true))),
            ],
        ),
        Table {
            change: Change::Update("status = 'active', period_index = 0, version = version + 1"),
            ..insert(
                "subscriptions",
                vec![
                    ("id", ids()),
                    ("period_start", starts()),
                    ("period_end", ends()),
                    ("due_at", ends()),
                    ("latest_invoice_id", Texts(invoices)),
                    ("invoiced_on", Shared(Time(now - now.rem_euclid(MICROS_PER_DAY)))),
                    ("invoiced_count", Shared(Integer(1))),
                    ("updated_at", starts()),
                ],
            )
        },
        charge_counts(due, now),
        messages,
    ]
}

/// A transaction hash: 64 hex digits.
fn hash(number: i64) -> String {
    let bytes = derived(&number.to_string());
    let [high, low] = [0, 16].map(|start| bytes[start..].first_chunk().map_or(0, |half| u128::from_be_bytes(*half)));
    format!("{high:032X}{low:032X}")
}

/// The charges of each customer in this hour.
fn charge_counts(due: &[Due], now: i64) -> Table {
    let mut counts = BTreeMap::<_, i64>::new();
    due.iter().for_each(|due| *counts.entry(due.customer.clone()).or_default() += 1);
    let rows = counts.len();
    let update = "ON CONFLICT (customer_id) DO UPDATE SET charges = charge_counts.charges + excluded.charges
                  WHERE charge_counts.charges + excluded.charges <= excluded.charge_limit";
    let columns = vec![
        ("customer_id", Texts(counts.keys().cloned().collect())),
        ("hour", Shared(Time(now - now.rem_euclid(MICROS_PER_HOUR)))),
        ("charges", Integers(counts.into_values().collect())),
        ("charge_limit", Shared(Integer(i64::from(u32::MAX)))),
    ];
    Table { name: "charge_counts", change: Change::Upsert(update), rows, columns }
}

/// The messages that trigger the charges.
fn messages(attempts: &[String], first: i64, now: i64) -> Table {
    let payloads: Vec<_> = attempts.chunks(MESSAGE).map(|ids| format!(r#"{{"attempts":"{}"}}"#, ids.join(","))).collect();
    let rows = payloads.len();
    let columns = vec![
        ("id", Texts((0..rows).map(|number| format!("evt_b{first:012}{number:08}")).collect())),
        ("topic", text("charge")),
        ("lane", text("charge")),
        ("payload", Jsons(payloads)),
        ("run_at", Shared(Time(now))),
        ("created_at", Shared(Time(now))),
        ("max_attempts", Shared(Integer(10))),
    ];
    Table { name: "outbox", change: Change::Insert, rows, columns }
}
