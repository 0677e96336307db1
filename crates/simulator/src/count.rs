//! Compares the movements at the networks with the store's records: no charge is duplicated, and none is lost.

use crate::Failure;
use serde_json::Value;
use souk_adapters::persistence::{Connection, Database};
use souk_adapters::verify::Check;
use souk_domain::access::Did;
use souk_domain::context::Context;
use souk_domain::payment::{AttemptStatus, Currency, Method, MethodKind, RefundStatus};
use souk_domain::shared::{Amount, Mode};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

const PAGE: u32 = 2_000;
const ATTEMPTS: &str = "SELECT id, kind, purpose, hash, amount, status FROM attempts WHERE id > $1 ORDER BY id LIMIT $2";
const REFUNDS: &str = "SELECT r.id, r.status, r.amount, r.reference FROM refunds r JOIN payment_methods m ON m.id = r.method_id
    WHERE r.id > $1 AND m.kind = 'stripe' ORDER BY r.id LIMIT $2";
const CASH: &str = "SELECT side, amount FROM journal_postings WHERE account = $1 AND currency_id = $2";

/// Counts of reached cases: they show which rules the histories have exercised.
const REACHED: [&str; 7] = [
    "SELECT 'settled ' || purpose || ' (' || kind || ')' AS what, count(*) AS n FROM attempts WHERE status = 'settled' GROUP BY purpose, kind",
    "SELECT 'invoices for ' || reason || ' (' || status || ')' AS what, count(*) AS n FROM invoices WHERE number IS NOT NULL GROUP BY reason, status",
    "SELECT 'credit notes for ' || reason AS what, count(*) AS n FROM credit_notes GROUP BY reason",
    "SELECT 'balance ' || t.type || COALESCE(' (' || a.purpose || ')', '') AS what, count(*) AS n
         FROM balance_transactions t LEFT JOIN attempts a ON a.id = t.source GROUP BY t.type, a.purpose",
    "SELECT 'entries ' || type AS what, count(*) AS n FROM journal_entries GROUP BY type",
    "SELECT 'refunds ' || kind || ' (' || status || ')' AS what, count(*) AS n FROM refunds GROUP BY kind, status",
    "SELECT 'disputes ' || status AS what, count(*) AS n FROM disputes GROUP BY status",
];

/// From this number of histories on, each case of [`EXPECTED`] must be reached: otherwise a green run would prove nothing about it.
pub const COVERAGE_FROM: u32 = 500;
/// The cases that histories must reach.
const EXPECTED: [&str; 39] = [
    "balance applied_to_invoice",
    "balance credit_note",
    "balance overpayment (payment)",
    "balance payout",
    "balance payout_restored",
    "balance refund_moved",
    "credit notes for cancellation",
    "credit notes for dispute",
    "credit notes for other",
    "credit notes for plan_change",
    "credit notes for usage_correction",
    "disputes inquiry_closed",
    "disputes lost",
    "disputes won",
    "entries dashboard_refund",
    "entries refund_failed",
    "invoices for manual (paid)",
    "invoices for recharge (paid)",
    "invoices for return_stake (paid)",
    "invoices for slash_stake (paid)",
    "invoices for stake_overdraft_protection (paid)",
    "invoices for subscription_cancel (paid)",
    "invoices for subscription_cycle (paid)",
    "invoices for subscription_cycle (uncollectible)",
    "invoices for subscription_cycle (void)",
    "invoices for subscription_threshold (paid)",
    "invoices for subscription_update (paid)",
    "refunds balance_payout (failed)",
    "refunds balance_payout (succeeded)",
    "refunds refund (canceled)",
    "refunds refund (succeeded)",
    "settled mandate (card_setup)",
    "settled mandate (wallet)",
    "settled payment (card)",
    "settled payment (off_session)",
    "settled payment (wallet)",
    "settled refund (card_refund)",
    "settled refund (wallet)",
    "settled slash (wallet)",
];

/// A store whose records are compared.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    pub ctx: &'a Context,
    pub database: &'a Database,
    /// The store's account at the ledger.
    pub app: &'a Did,
}

/// What a network moved for an attempt or a refund.
#[derive(Debug, Default, Clone, Copy)]
struct Moved {
    times: usize,
    amount: Amount,
    /// Whether the store was payer or payee. Other transfers are between customers, whether the store requested them or not.
    involves_store: bool,
}

pub struct Counted {
    pub checks: Vec<Check>,
    pub reached: Reached,
    pub transfers: usize,
    pub charges: usize,
    pub card_refunds: usize,
    /// Number of attempts and refunds that were executed more than once.
    pub duplicated: usize,
}

/// How often the histories reached each case.
#[derive(Default)]
pub struct Reached(BTreeMap<String, u64>);

impl Reached {
    /// Checks that every expected case was reached.
    #[must_use]
    pub fn check(&self) -> Check {
        let mut check = Check::of("the histories reached every expected case");
        check.of = EXPECTED.len() as u64;
        let missing = EXPECTED.iter().filter(|case| !self.0.contains_key(**case));
        check.breaches.extend(missing.map(|case| format!("no history reached: {case}")));
        check
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> = self.0.iter().map(|(case, count)| format!("{count} {case}")).collect();
        f.write_str(&counts.join(", "))
    }
}

/// The movements at the networks. Failed card refunds are excluded, because their money returned.
struct Movements {
    /// Wallet transfers by hash.
    transfers: HashMap<String, Moved>,
    /// Card charges by attempt id.
    charges: HashMap<String, Moved>,
    /// Card refunds that the store ordered, by the store's refund id.
    refunds: HashMap<String, Moved>,
    /// Card refunds made in the processor's dashboard, by the processor's id.
    dashboard_refunds: HashMap<String, Moved>,
    /// The store's receipts and payouts at the card processor.
    card_funds: Funds,
}

#[derive(Debug, Default, Clone, Copy)]
struct Funds {
    received: Amount,
    spent: Amount,
}

impl Movements {
    /// Reads the movements from both networks of the sandbox.
    async fn read(store: Records<'_>, networks: &str) -> Result<Self, Failure> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        let listed = |path: &'static str| {
            let request = http.get(format!("{networks}/sandbox/{path}"));
            async move { Ok::<Value, Failure>(request.send().await?.json().await?) }
        };
        let app = store.app.as_str();
        let (mut transfers, mut charges) = (HashMap::new(), HashMap::new());
        let (mut refunds, mut dashboard_refunds, mut card_funds) = (HashMap::new(), HashMap::new(), Funds::default());
        for transfer in listed("arcblock/debug/transfers").await?.as_array().into_iter().flatten() {
            let involves_store = transfer["to"] == app || transfer["from"] == app || transfer["type"] == "fg:t:stake";
            add(&mut transfers, &transfer["hash"], amount(&transfer["amount"])?, involves_store);
        }
        for charge in listed("stripe/debug/charges").await?.as_array().into_iter().flatten() {
            let amount = amount(&charge["amount"])?;
            card_funds.received = card_funds.received.plus(amount)?;
            add(&mut charges, &charge["attempt"], amount, true);
        }
        let sent = listed("stripe/debug/refunds").await?;
        for refund in sent.as_array().into_iter().flatten().filter(|refund| refund["status"] != "failed") {
            let amount = amount(&refund["amount"])?;
            card_funds.spent = card_funds.spent.plus(amount)?;
            match refund["refund"] == "" {
                true => add(&mut dashboard_refunds, &refund["id"], amount, true),
                false => add(&mut refunds, &refund["refund"], amount, true),
            }
        }
        let disputes = listed("stripe/debug/disputes").await?;
        let moves = disputes.as_array().into_iter().flatten().flat_map(|dispute| dispute["balance_transactions"].as_array());
        for net in moves.flatten().filter_map(|transaction| transaction["net"].as_i64()) {
            let side = if net < 0 { &mut card_funds.spent } else { &mut card_funds.received };
            *side = side.plus(Amount::new(u128::from(net.unsigned_abs())))?;
        }
        Ok(Self { transfers, charges, refunds, dashboard_refunds, card_funds })
    }

    fn all(&self) -> impl Iterator<Item = &Moved> {
        self.transfers.values().chain(self.charges.values()).chain(self.refunds.values())
    }
}

/// Compares all movements at both networks of the sandbox with the store's records.
pub async fn count(store: Records<'_>, networks: &str) -> Result<Counted, Failure> {
    let mut movements = Movements::read(store, networks).await?;
    let transfers = movements.transfers.values().filter(|moved| moved.involves_store).count();
    let (charges, card_refunds) = (movements.charges.len(), movements.refunds.len() + movements.dashboard_refunds.len());
    let duplicated = movements.all().filter(|moved| moved.times > 1).count();
    let mut connection = store.database.snapshot().await?;
    let holdings = holdings(store, &mut connection, movements.card_funds).await?;
    let checks = vec![refunds(&mut connection, &mut movements).await?, attempts(&mut connection, movements).await?, holdings];
    let mut reached = Reached::default();
    for sql in REACHED {
        for row in connection.query(sql).all().await? {
            reached.0.insert(row.get("what")?, row.get("n")?);
        }
    }
    Ok(Counted { checks, reached, transfers, charges, card_refunds, duplicated })
}

fn amount(value: &Value) -> Result<Amount, Failure> {
    let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    Ok(Amount::parse_base_units(&text)?)
}

fn add(moved: &mut HashMap<String, Moved>, key: &Value, amount: Amount, involves_store: bool) {
    let entry = moved.entry(key.as_str().unwrap_or_default().to_uppercase()).or_default();
    *entry = Moved { times: entry.times + 1, amount: entry.amount.plus(amount).unwrap_or(entry.amount), involves_store };
}

/// Checks that each succeeded card refund was sent once with its amount, and that nothing else was sent.
async fn refunds(connection: &mut Connection, movements: &mut Movements) -> Result<Check, Failure> {
    let mut check = Check::of("the card processor sent each refund once, and nothing else");
    // A dashboard refund may be recorded as several refunds.
    let mut recorded: HashMap<String, Amount> = HashMap::new();
    let mut after = String::new();
    loop {
        let rows = connection.query(REFUNDS).bind(&after).bind(PAGE).all().await?;
        let Some(last) = rows.last() else { break };
        for row in &rows {
            check.of += 1;
            let (id, amount): (String, Amount) = (row.get("id")?, row.get("amount")?);
            let has_succeeded = row.get::<RefundStatus>("status")? == RefundStatus::Succeeded;
            let reference = row.get::<String>("reference")?.to_uppercase();
            match movements.refunds.remove(&id.to_uppercase()) {
                Some(moved) if !has_succeeded => check.breaches.push(format!("{id} has not succeeded, and {} was sent", moved.amount)),
                Some(moved) if moved.times != 1 => check.breaches.push(format!("{id} was sent {} times", moved.times)),
                Some(moved) if moved.amount != amount => check.breaches.push(format!("{id} is of {amount}, and {} was sent", moved.amount)),
                None if has_succeeded && movements.dashboard_refunds.contains_key(&reference) => {
                    let sum = recorded.entry(reference).or_default();
                    *sum = sum.plus(amount)?;
                }
                None if has_succeeded => check.breaches.push(format!("{id} has succeeded, and nothing was sent")),
                _ => {}
            }
        }
        after = last.get("id")?;
    }
    let more = recorded.iter().filter(|(id, sum)| movements.dashboard_refunds.get(*id).is_some_and(|moved| **sum > moved.amount));
    check.breaches.extend(more.map(|(id, sum)| format!("{id} of the dashboard is recorded as {sum}, which is more")));
    check.breaches.extend(movements.refunds.drain().map(|(id, moved)| format!("{id} sent {} and is no refund of the store", moved.amount)));
    Ok(check)
}

/// Checks that each settled attempt was executed once with its amount, and that nothing else was executed.
async fn attempts(connection: &mut Connection, mut movements: Movements) -> Result<Check, Failure> {
    let mut check = Check::of("the networks moved money once for each settled attempt, and for nothing else");
    let mut after = String::new();
    loop {
        let rows = connection.query(ATTEMPTS).bind(&after).bind(PAGE).all().await?;
        let Some(last) = rows.last() else { break };
        for row in &rows {
            let (id, kind, purpose): (String, String, String) = (row.get("id")?, row.get("kind")?, row.get("purpose")?);
            let settled = row.get::<AttemptStatus>("status")? == AttemptStatus::Settled;
            let moved = match kind.as_str() {
                "wallet" => movements.transfers.remove(&row.get::<Option<String>>("hash")?.unwrap_or_default().to_uppercase()),
                "off_session" | "card" => movements.charges.remove(&id.to_uppercase()),
                // Saving a card moves nothing; card refunds have their own check.
                _ => continue,
            };
            check.of += u64::from(settled);
            let amount: Amount = row.get("amount")?;
            // The ledger does not list the amount that a wallet receives from a stake.
            let is_listed = matches!(purpose.as_str(), "payment" | "refund" | "recharge");
            match moved {
                None if settled && !amount.is_zero() => check.breaches.push(format!("{id} is settled, and its network moved nothing")),
                Some(moved) if !settled => check.breaches.push(format!("{id} is not settled, and its network moved {}", moved.amount)),
                Some(moved) if moved.times != 1 => check.breaches.push(format!("{id} was carried out {} times", moved.times)),
                Some(moved) if is_listed && moved.amount != amount => {
                    check.breaches.push(format!("{id} asked for {amount}, its network moved {}", moved.amount));
                }
                _ => {}
            }
        }
        after = last.get("id")?;
    }
    let unmatched = movements.transfers.into_iter().chain(movements.charges);
    let unmatched = unmatched.filter(|(_, moved)| moved.involves_store);
    check.breaches.extend(unmatched.map(|(key, moved)| format!("{key} moved {} and belongs to no attempt", moved.amount)));
    Ok(check)
}

/// Checks that the store's cash at each network equals the balance in the journal.
async fn holdings(store: Records<'_>, connection: &mut Connection, card_funds: Funds) -> Result<Check, Failure> {
    let mut check = Check::of("the store holds at each network what the journal says");
    let mut unit = store.ctx.store.read().await?;
    let methods = unit.methods().list(Mode::Test).await?;
    let currencies = unit.methods().currencies(Mode::Test).await?;
    drop(unit);
    for method in &methods {
        let Some(currency) = currencies.iter().find(|currency| currency.method_id == method.id) else { continue };
        let holds = match method.kind {
            MethodKind::Stripe => card_funds,
            kind => match store.ctx.networks.wallet(kind) {
                Some(rail) => Funds { received: rail.balance(method, currency, store.app).await?, spent: Amount::ZERO },
                None => continue,
            },
        };
        check.of += 1;
        let posted = posted(connection, method, currency).await?;
        if posted.received.plus(holds.spent)? != holds.received.plus(posted.spent)? {
            let breach = format!("{} received {} and spent {}", method.id, holds.received, holds.spent);
            check.breaches.push(format!("{breach}, the journal says {} and {}", posted.received, posted.spent));
        }
    }
    Ok(check)
}

/// The journal's debits and credits of the store's cash account at a method.
async fn posted(connection: &mut Connection, method: &Method, currency: &Currency) -> Result<Funds, Failure> {
    let mut funds = Funds::default();
    for row in connection.query(CASH).bind(format!("assets:cash:{}", method.id)).bind(&currency.id).all().await? {
        let side = if row.get::<String>("side")? == "debit" { &mut funds.received } else { &mut funds.spent };
        *side = side.plus(row.get("amount")?)?;
    }
    Ok(funds)
}
