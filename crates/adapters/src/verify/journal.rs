//! Invariant 5: the journal balances, and its accounts match the tables.

use super::check::{Check, Checks};
use super::rule::{Rule, finding};
use super::sum::Sum;
use super::tables::{Accounts, Position, PositionOwner, Tables};
use souk_domain::ledger::{Account, Side};
use souk_domain::shared::{Amount, CurrencyId, StorageError};
use std::collections::{BTreeMap, BTreeSet};

const POSTINGS: &str = "SELECT e.id, p.account, p.side, p.amount, p.currency_id
    FROM (SELECT id FROM journal_entries WHERE id > $1 ORDER BY id LIMIT $2) e LEFT JOIN journal_postings p ON p.entry_id = e.id
    ORDER BY e.id, p.position";

/// Builds the rule for one type of entry: each of the rows has exactly one entry with its amount, and no other entries exist.
macro_rules! posted {
    ($title:literal, $type:literal, $rows:expr) => {
        Rule {
            title: $title,
            of: concat!("SELECT count(*) AS n FROM journal_entries WHERE type = '", $type, "'"),
            broken: &[
                finding(
                    concat!(
                        "SELECT s.id FROM (",
                        $rows,
                        ") s WHERE NOT EXISTS (SELECT 1 FROM journal_entries e WHERE e.subject = s.id AND e.type = '",
                        $type,
                        "')"
                    ),
                    concat!("has no entry ", $type, " in the journal"),
                ),
                finding(
                    concat!(
                        "SELECT e.id FROM journal_entries e LEFT JOIN (",
                        $rows,
                        ") s ON s.id = e.subject WHERE e.type = '",
                        $type,
                        "' AND s.id IS NULL"
                    ),
                    concat!("is an entry ", $type, " of nothing"),
                ),
                finding(
                    concat!(
                        "SELECT s.id FROM (",
                        $rows,
                        ") s JOIN journal_entries e ON e.subject = s.id AND e.type = '",
                        $type,
                        "' WHERE e.livemode <> s.livemode OR NOT EXISTS (SELECT 1 FROM journal_postings p
                             WHERE p.entry_id = e.id AND p.amount = s.amount AND p.currency_id = s.currency_id)"
                    ),
                    concat!("has another amount or mode than its entry ", $type),
                ),
            ],
            noted: &[],
        }
    };
}

/// Selects the settled attempts of a purpose.
macro_rules! settled {
    ($purpose:literal) => {
        concat!(
            "SELECT a.id, a.amount, a.currency_id, m.livemode FROM attempts a JOIN payment_methods m ON m.id = a.method_id
             WHERE a.status = 'settled' AND a.purpose = '",
            $purpose,
            "'"
        )
    };
}

const RULES: &[Rule] = &[
    posted!(
        "finalized invoices are posted once",
        "invoice_finalized",
        "SELECT id, total AS amount, currency_id, livemode FROM invoices
         WHERE number IS NOT NULL AND document = 'invoice' AND LTRIM(CAST(total AS TEXT), '0') <> ''"
    ),
    posted!("settled payments are posted once", "payment", settled!("payment")),
    posted!("placed stakes are posted once", "stake_placed", settled!("stake")),
    posted!("returned stakes are posted once", "stake_returned", settled!("return_stake")),
    posted!("forfeited stakes are posted once", "stake_forfeited", settled!("slash")),
    posted!(
        "credit notes are posted once",
        "credit_note",
        "SELECT id, total AS amount, currency_id, livemode FROM credit_notes"
    ),
    posted!(
        "balance that paid an invoice is posted once",
        "balance_applied",
        "SELECT id, amount, currency_id, livemode FROM balance_transactions WHERE type = 'applied_to_invoice'"
    ),
    posted!(
        "balance that a void invoice returned is posted once",
        "balance_unapplied",
        "SELECT id, amount, currency_id, livemode FROM balance_transactions WHERE type = 'unapplied_from_invoice'"
    ),
    // A refund made in the provider's dashboard has no attempt.
    posted!(
        "sent refunds are posted once",
        "refund_sent",
        "SELECT a.id, a.amount, a.currency_id, r.livemode FROM attempts a JOIN refunds r ON r.id = a.subject
             WHERE a.status = 'settled' AND a.purpose = 'refund'
         UNION ALL SELECT r.id, r.amount, r.currency_id, r.livemode FROM refunds r
             LEFT JOIN journal_entries j ON j.subject = r.id AND j.type = 'refund_sent'
             LEFT JOIN attempts a ON a.subject = r.id AND a.purpose = 'refund' AND a.status = 'settled'
             WHERE j.id IS NOT NULL OR (r.status = 'succeeded' AND r.kind <> 'dashboard_refund' AND a.id IS NULL)"
    ),
    posted!(
        "refunds that were moved to the balance are posted once",
        "refund_moved_to_balance",
        "SELECT id, amount, currency_id, livemode FROM refunds WHERE kind = 'refund' AND status = 'canceled'"
    ),
    posted!(
        "payouts of a balance are posted once",
        "balance_payout",
        "SELECT id, amount, currency_id, livemode FROM refunds WHERE kind = 'balance_payout'"
    ),
    posted!(
        "declined payouts are posted once",
        "balance_payout_restored",
        "SELECT id, amount, currency_id, livemode FROM refunds WHERE kind = 'balance_payout' AND status = 'failed'"
    ),
    posted!(
        "payouts to beneficiaries are posted once",
        "share_payout",
        "SELECT id, amount, currency_id, livemode FROM share_payouts WHERE reverses IS NULL"
    ),
    posted!(
        "reversed payouts to beneficiaries are posted once",
        "share_payout_reversed",
        "SELECT id, amount, currency_id, livemode FROM share_payouts WHERE reverses IS NOT NULL"
    ),
    // The subject of these entries is the object and the number of the movement: `dp_1/2`.
    Rule {
        title: "each movement of a dispute is posted once",
        of: "SELECT count(*) AS n FROM disputes",
        broken: &[finding(
            "SELECT d.id FROM disputes d LEFT JOIN (SELECT RTRIM(RTRIM(subject, '0123456789'), '/') AS dispute_id FROM journal_entries
                 WHERE type IN ('dispute_withdrawn', 'dispute_reinstated', 'dispute_lost', 'network_fee')) e ON e.dispute_id = d.id
             GROUP BY d.id, d.movements HAVING count(e.dispute_id) <> d.movements",
            "has more or fewer entries than movements",
        )],
        noted: &[],
    },
    Rule {
        title: "entries of disputes and late refund failures have their object",
        of: "SELECT count(*) AS n FROM journal_entries
             WHERE type IN ('dispute_withdrawn', 'dispute_reinstated', 'dispute_lost', 'network_fee', 'refund_failed')",
        broken: &[
            finding(
                "SELECT e.id FROM journal_entries e LEFT JOIN disputes d ON d.id = RTRIM(RTRIM(e.subject, '0123456789'), '/')
                 WHERE e.type IN ('dispute_withdrawn', 'dispute_reinstated', 'dispute_lost', 'network_fee') AND d.id IS NULL",
                "is of no dispute",
            ),
            // A refund that was sent in part is split, so an earlier failure can be of a larger amount.
            finding(
                "SELECT e.id FROM journal_entries e LEFT JOIN refunds r ON r.id = RTRIM(RTRIM(e.subject, '0123456789'), '/') AND r.failure_count > 0
                 WHERE e.type = 'refund_failed' AND NOT EXISTS
                     (SELECT 1 FROM journal_postings p WHERE p.entry_id = e.id AND (p.account = 'liabilities:suspense'
                          OR (p.amount >= r.amount AND p.currency_id = r.currency_id)))",
                "is of no refund that failed with that amount or a part of it, and not in suspense",
            ),
        ],
        noted: &[],
    },
];

/// Returns the title of an account's rule; `None` if no table defines what the account must hold.
const fn title(account: &Account) -> Option<&'static str> {
    Some(match account {
        Account::Cash(_) => "cash equals the networks' movements",
        Account::Receivable => "receivable equals the remaining amounts of finalized invoices",
        Account::StakesHeld(_) => "stakes_held equals the stakes that networks hold",
        Account::StakesPayable => "stakes_payable equals the stakes that networks hold",
        Account::CustomerBalance => "customer_balance equals the balances of all customers",
        Account::RefundsPayable => "refunds_payable equals the refunds that are pending or failed",
        Account::Payable(_) => "payable equals the shares of sales less the payouts to beneficiaries",
        Account::Disputes => "disputes equals the amounts withdrawn by undecided disputes",
        Account::Revenue => "revenue equals invoices less credit and shares of sales, plus stakes forfeited without an overdue invoice",
        Account::Fees => "fees equals the fees of disputes",
        Account::Suspense => return None,
    })
}

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let journal = entries(checks).await?;
    let tables = Tables::read(checks).await?;
    accounts(checks, &journal, &tables.accounts)?;
    positions(checks, &tables)?;
    checks.check_rules(RULES).await
}

/// Checks that each entry sums to zero per currency. Returns debits less credits per account.
async fn entries(checks: &mut Checks<'_>) -> Result<Accounts, StorageError> {
    let mut check = Check::of("journal entries balance in each currency");
    let mut accounts = Accounts::new();
    checks
        .walk_parents(POSTINGS, "id", |id, rows| {
            check.of += 1;
            let mut entry: BTreeMap<CurrencyId, Sum> = BTreeMap::new();
            for row in rows {
                let Some(account) = row.get::<Option<Account>>("account")? else { continue };
                let (side, amount, currency): (Side, Amount, CurrencyId) = (row.get("side")?, row.get("amount")?, row.get("currency_id")?);
                for sum in [entry.entry(currency.clone()).or_default(), accounts.entry((account, currency)).or_default()] {
                    match side {
                        Side::Debit => sum.add(amount)?,
                        Side::Credit => sum.subtract(amount)?,
                    }
                }
            }
            if entry.is_empty() {
                check.breaches.push(format!("{id} has no postings"));
            }
            for (currency, sum) in entry {
                if !sum.is(Amount::ZERO)? {
                    check.breaches.push(format!("{id} debits {} and credits {} of {currency}", sum.added, sum.subtracted));
                }
            }
            Ok(())
        })
        .await?;
    checks.report(check);
    Ok(accounts)
}

/// Checks that each account matches the tables.
fn accounts(checks: &mut Checks<'_>, journal: &Accounts, tables: &Accounts) -> Result<(), StorageError> {
    let any = || String::new();
    let kinds = [
        Account::Cash(any()),
        Account::Receivable,
        Account::StakesHeld(any()),
        Account::StakesPayable,
        Account::CustomerBalance,
        Account::RefundsPayable,
        Account::Payable(any()),
        Account::Disputes,
        Account::Revenue,
        Account::Fees,
    ];
    let keys: BTreeSet<_> = journal.keys().chain(tables.keys()).collect();
    for title_of_kind in kinds.iter().filter_map(title) {
        let mut check = Check::of(title_of_kind);
        for key in keys.iter().filter(|(account, _)| title(account) == Some(title_of_kind)) {
            check.of += 1;
            let [posted, expected] = [journal, tables].map(|accounts| accounts.get(key).copied().unwrap_or_default());
            if !posted.equals(&expected)? {
                check.breaches.push(format!("{} holds {posted} of {}, the tables say {expected}", key.0.name(), key.1));
            }
        }
        checks.report(check);
    }
    Ok(())
}

/// Checks the oracle of the billing model: money received less money sent equals the amounts that invoices kept, plus the balance,
/// refunds on their way and suspense, less disputes.
fn positions(checks: &mut Checks<'_>, tables: &Tables) -> Result<(), StorageError> {
    let mut check = Check::of("every customer's payments equal invoices, balance and pending refunds");
    for (PositionOwner { customer_id: customer, currency_id: currency }, position) in &tables.positions {
        check.of += 1;
        if !position.received.equals(&position.accounted)? {
            let Position { received, accounted } = position;
            check.breaches.push(format!("{customer} paid {received} of {currency} net, invoices and balance account for {accounted}"));
        }
    }
    checks.report(check);
    Ok(())
}
