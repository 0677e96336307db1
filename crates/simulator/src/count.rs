//! What the networks say, against what the store says: no charge is doubled, and none is lost.

use crate::{Failure, Store};
use serde_json::Value;
use souk_adapters::persistence::Session;
use souk_adapters::verify::Check;
use souk_domain::payment::{AttemptStatus, MethodKind};
use souk_domain::shared::{Amount, Mode};
use std::collections::HashMap;

const PAGE: u32 = 2_000;
const ATTEMPTS: &str = "SELECT id, kind, purpose, subject, hash, amount, status FROM attempts WHERE id > $1 ORDER BY id LIMIT $2";
const HELD: &str = "SELECT side, amount FROM journal_postings WHERE account = $1";

/// What happened in the histories, so that nobody takes what never came to pass for what holds.
const REACHED: [&str; 4] = [
    "SELECT 'settled ' || purpose || ' (' || kind || ')' AS what, count(*) AS n FROM attempts WHERE status = 'settled' GROUP BY purpose, kind",
    "SELECT 'invoices for ' || reason AS what, count(*) AS n FROM invoices WHERE status <> 'draft' GROUP BY reason",
    "SELECT 'entries for ' || reason AS what, count(*) AS n FROM journal_entries WHERE reason LIKE 'credit_%' GROUP BY reason",
    "SELECT 'refunds as ' || kind AS what, count(*) AS n FROM refunds WHERE status = 'succeeded' GROUP BY kind",
];

/// What a network moved for an attempt.
#[derive(Debug, Default, Clone, Copy)]
struct Moved {
    times: usize,
    amount: Amount,
    /// The store paid or was paid: else customers gave it to one another, of their own accord or because it was asked for.
    ours: bool,
}

pub struct Counted {
    pub checks: Vec<Check>,
    /// Actions and how often they came to something, in a line.
    pub reached: String,
    pub transfers: usize,
    pub charges: usize,
    pub card_refunds: usize,
    /// Attempts that were carried out more than once.
    pub doubled: usize,
}

/// Asks both networks of the sandbox, and walks through all attempts.
pub async fn count(store: &Store, networks: &str) -> Result<Counted, Failure> {
    let http = reqwest::Client::builder().no_proxy().build()?;
    let listed = |path: &'static str| {
        let request = http.get(format!("{networks}/sandbox/{path}"));
        async move { Ok::<Value, Failure>(request.send().await?.json().await?) }
    };
    let app = store.app.as_str();
    let mut transfers: HashMap<String, Moved> = HashMap::new();
    for transfer in listed("arcblock/debug/transfers").await?.as_array().into_iter().flatten() {
        let ours = transfer["to"] == app || transfer["from"] == app || transfer["type"] == "fg:t:stake";
        add(&mut transfers, &transfer["hash"], &transfer["amount"], ours)?;
    }
    let mut charges: HashMap<String, Moved> = HashMap::new();
    for charge in listed("stripe/debug/charges").await?.as_array().into_iter().flatten() {
        add(&mut charges, &charge["attempt"], &charge["amount"], true)?;
    }
    let mut refunds: HashMap<String, Moved> = HashMap::new();
    for refund in listed("stripe/debug/refunds").await?.as_array().into_iter().flatten() {
        add(&mut refunds, &refund["refund"], &refund["amount"], true)?;
    }
    let seen = Seen { transfers, charges, refunds };
    let transfers = seen.transfers.values().filter(|moved| moved.ours).count();
    let (charges, card_refunds) = (seen.charges.len(), seen.refunds.len());
    let doubled = seen.all().filter(|moved| moved.times > 1).count();
    let mut session = store.database.snapshot().await?;
    let checks = vec![attempts(&mut session, seen).await?, holdings(store, &mut session).await?];
    let mut reached = Vec::new();
    for sql in REACHED {
        for row in session.query(sql).all().await? {
            reached.push(format!("{} {}", row.get::<u64>("n")?, row.get::<String>("what")?));
        }
    }
    reached.sort_by(|one, other| one.split_once(' ').map(|(_, what)| what).cmp(&other.split_once(' ').map(|(_, what)| what)));
    Ok(Counted { checks, reached: reached.join(", "), transfers, charges, card_refunds, doubled })
}

/// What the networks have moved: transfers by their hashes, charges by their attempts, refunds of cards by their orders.
struct Seen {
    transfers: HashMap<String, Moved>,
    charges: HashMap<String, Moved>,
    refunds: HashMap<String, Moved>,
}

impl Seen {
    fn all(&self) -> impl Iterator<Item = &Moved> {
        self.transfers.values().chain(self.charges.values()).chain(self.refunds.values())
    }
}

fn add(moved: &mut HashMap<String, Moved>, key: &Value, amount: &Value, ours: bool) -> Result<(), Failure> {
    let text = amount.as_str().map_or_else(|| amount.to_string(), ToOwned::to_owned);
    let amount = Amount::parse_base_units(&text)?;
    let entry = moved.entry(key.as_str().unwrap_or_default().to_uppercase()).or_default();
    *entry = Moved { times: entry.times + 1, amount: entry.amount.plus(amount)?, ours };
    Ok(())
}

/// Each settled attempt was carried out once, for its amount; nothing else was.
async fn attempts(session: &mut Session, mut seen: Seen) -> Result<Check, Failure> {
    let mut check = Check::of("the networks moved money once for each settled attempt, and for nothing else");
    let mut after = String::new();
    loop {
        let rows = session.query(ATTEMPTS).bind(&after).bind(PAGE).all().await?;
        let Some(last) = rows.last() else { break };
        for row in &rows {
            let (id, kind, purpose): (String, String, String) = (row.get("id")?, row.get("kind")?, row.get("purpose")?);
            let settled = row.get::<AttemptStatus>("status")? == AttemptStatus::Settled;
            let moved = match kind.as_str() {
                "wallet" => seen.transfers.remove(&row.get::<Option<String>>("hash")?.unwrap_or_default().to_uppercase()),
                "off_session" | "card" => seen.charges.remove(&id.to_uppercase()),
                "card_refund" => seen.refunds.remove(&row.get::<String>("subject")?.to_uppercase()),
                // A card that is saved moves nothing.
                _ => continue,
            };
            check.of += u64::from(settled);
            let amount: Amount = row.get("amount")?;
            // What a wallet gets out of a deposit is not told as an amount of its own.
            let told = matches!(purpose.as_str(), "payment" | "refund" | "recharge");
            match moved {
                None if settled && !amount.is_zero() => check.breaches.push(format!("{id} is settled, and its network moved nothing")),
                Some(moved) if !settled => check.breaches.push(format!("{id} is not settled, and its network moved {}", moved.amount)),
                Some(moved) if moved.times != 1 => check.breaches.push(format!("{id} was carried out {} times", moved.times)),
                Some(moved) if told && moved.amount != amount => {
                    check.breaches.push(format!("{id} asked for {amount}, its network moved {}", moved.amount));
                }
                _ => {}
            }
        }
        after = last.get("id")?;
    }
    let strangers = seen.transfers.into_iter().chain(seen.charges).chain(seen.refunds);
    let strangers = strangers.filter(|(_, moved)| moved.ours);
    check.breaches.extend(strangers.map(|(key, moved)| format!("{key} moved {} and belongs to no attempt", moved.amount)));
    Ok(check)
}

/// What the store holds at each network is what the journal says.
async fn holdings(store: &Store, session: &mut Session) -> Result<Check, Failure> {
    let mut check = Check::of("the store's account at the ledger holds what the journal says");
    let mut unit = store.ctx.store.read().await?;
    let methods = unit.methods().list(Mode::Test).await?;
    let currencies = unit.methods().currencies(Mode::Test).await?;
    for method in methods.iter().filter(|method| method.kind == MethodKind::Arcblock) {
        let (Some(currency), Some(rail)) =
            (currencies.iter().find(|currency| currency.method_id == method.id), store.ctx.networks.wallet(method.kind))
        else {
            continue;
        };
        let mut held = Amount::ZERO;
        let mut gone = Amount::ZERO;
        for row in session.query(HELD).bind(format!("assets:network:{}", method.id)).all().await? {
            let sum = if row.get::<String>("side")? == "debit" { &mut held } else { &mut gone };
            *sum = sum.plus(row.get("amount")?)?;
        }
        let (booked, holds) = (held.minus(gone)?, rail.balance(method, currency, &store.app).await?);
        check.of += 1;
        if booked != holds {
            check.breaches.push(format!("{} holds {holds}, the journal says {booked}", method.id));
        }
    }
    Ok(check)
}
