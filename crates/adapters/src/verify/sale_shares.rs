//! The shares of sales: they are exactly those of what the invoices keep, and the payouts to beneficiaries add up.

use super::check::{Check, Checks};
use super::rule::{Rule, finding};
use super::sum::{Relation, SumRule};
use crate::persistence::{SqlInvoicePayments, SqlInvoices, SqlSaleShares};
use souk_domain::access::Did;
use souk_domain::billing::{DueShare, InvoicePayments, Invoices, SaleShare, SaleShares, due_shares};
use souk_domain::shared::{Amount, InvoiceId, InvoiceItemId, StorageError};
use std::collections::{BTreeMap, BTreeSet};

/// The number of invoices held in memory at once.
const PAGE: u32 = 500;

/// The invoices that can sell something once: see [`souk_domain::billing::BillingReason::may_sell_once`].
const SELLING: &str = "SELECT id FROM invoices WHERE id > $1 AND number IS NOT NULL AND reason IN ('manual', 'subscription_create')
    ORDER BY id LIMIT $2";

const RULES: &[Rule] = &[BOOKINGS, REFERENCES];

const BOOKINGS: Rule = Rule {
    title: "each booking of shares is posted once",
    of: "SELECT count(*) AS n FROM journal_entries WHERE type = 'sale_shares'",
    broken: &[
        finding(
            "SELECT e.id FROM journal_entries e LEFT JOIN sale_shares s ON s.invoice_id = RTRIM(RTRIM(e.subject, '0123456789'), '/')
             WHERE e.type = 'sale_shares' AND s.invoice_id IS NULL",
            "is of an invoice without shares",
        ),
        finding(
            "SELECT DISTINCT s.invoice_id AS id FROM sale_shares s JOIN invoices v ON v.id = s.invoice_id
             WHERE v.number IS NULL OR v.reason NOT IN ('manual', 'subscription_create')",
            "has shares, although nothing is sold once by it",
        ),
        finding(
            "SELECT DISTINCT s.invoice_id AS id FROM sale_shares s WHERE NOT EXISTS (SELECT 1 FROM payees p
                 WHERE p.livemode = s.livemode AND p.beneficiary = s.beneficiary AND p.currency_id = s.currency_id)",
            "has a share of somebody who is no payee",
        ),
    ],
    noted: &[],
};

const REFERENCES: Rule = Rule {
    title: "shares of sales, payouts and prices of apps refer to rows of their mode",
    of: "SELECT count(*) AS n FROM share_payouts",
    broken: &[
        finding(
            "SELECT DISTINCT s.invoice_id AS id FROM sale_shares s JOIN invoices v ON v.id = s.invoice_id
             WHERE v.livemode <> s.livemode OR v.currency_id <> s.currency_id",
            "has a share in another mode or currency",
        ),
        finding(
            "SELECT o.id FROM share_payouts o JOIN currencies c ON c.id = o.currency_id
             WHERE c.livemode <> o.livemode OR c.method_id <> o.method_id",
            "is a payout in another mode, or from another method than that of its currency",
        ),
        finding(
            "SELECT o.id FROM share_payouts o WHERE NOT EXISTS (SELECT 1 FROM payees p
                 WHERE p.livemode = o.livemode AND p.beneficiary = o.beneficiary AND p.currency_id = o.currency_id)",
            "is a payout to somebody who is no payee",
        ),
        finding(
            "SELECT r.id FROM share_payouts r JOIN share_payouts o ON o.id = r.reverses
             WHERE o.reverses IS NOT NULL OR o.livemode <> r.livemode OR o.beneficiary <> r.beneficiary OR o.currency_id <> r.currency_id
                 OR o.method_id <> r.method_id OR o.amount <> r.amount",
            "reverses no payout of the same amount to the same beneficiary",
        ),
        finding(
            "SELECT a.app AS id FROM app_sales a LEFT JOIN products d ON d.id = a.product_id LEFT JOIN payment_links l ON l.id = a.link_id
             WHERE d.livemode <> a.livemode OR l.livemode <> a.livemode",
            "is sold by a product or a link of the other mode",
        ),
        finding(
            "SELECT price_id AS id FROM price_shares GROUP BY price_id HAVING SUM(millionths) > 1000000",
            "has shares of more than the whole",
        ),
    ],
    noted: &[],
};

/// A rule about a sum of payees and the payouts that it consists of.
macro_rules! payees {
    ($title:literal, $sum:literal, $payouts:literal) => {
        SumRule {
            title: $title,
            rows: concat!(
                "SELECT p.id, p.",
                $sum,
                " AS amount, o.amount AS added, NULL AS subtracted
                 FROM (SELECT CAST(livemode AS TEXT) || ' ' || beneficiary || ' ' || currency_id AS id, livemode, beneficiary, currency_id, ",
                $sum,
                " FROM payees WHERE (CAST(livemode AS TEXT) || ' ' || beneficiary || ' ' || currency_id) > $1
                  ORDER BY CAST(livemode AS TEXT) || ' ' || beneficiary || ' ' || currency_id LIMIT $2) p
                 LEFT JOIN share_payouts o ON o.livemode = p.livemode AND o.beneficiary = p.beneficiary AND o.currency_id = p.currency_id
                     AND ",
                $payouts,
                " ORDER BY p.id"
            ),
            relation: Relation::Equal,
            amount: $sum,
            parts: "payouts",
        }
    };
}

const SUMS: &[SumRule] = &[
    payees!("what was paid out to beneficiaries is the sum of their payouts", "recorded", "o.reverses IS NULL"),
    payees!("what was reversed of beneficiaries is the sum of their reversals", "reversed", "o.reverses IS NOT NULL"),
];

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    check_shares(checks).await?;
    checks.check_rules(RULES).await?;
    checks.check_sums(SUMS).await
}

/// Computes the shares of each invoice anew, and compares them with what is booked.
async fn check_shares(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("shares of sales equal those of what invoices keep");
    let mut after = String::new();
    loop {
        let rows = checks.connection.query(SELLING).bind(&after).bind(PAGE).all().await?;
        let ids = rows.iter().map(|row| row.get("id")).collect::<Result<Vec<InvoiceId>, _>>()?;
        let Some(last) = ids.last() else { break };
        after = last.to_string();
        let shared = SqlSaleShares(&mut checks.connection).shared_lines(&ids).await?;
        let booked = SqlSaleShares(&mut checks.connection).of_invoices(&ids).await?;
        let sharing: BTreeSet<_> =
            shared.iter().map(|line| &line.invoice_id).chain(booked.iter().map(|share| &share.invoice_id)).cloned().collect();
        let sharing: Vec<_> = sharing.into_iter().collect();
        if sharing.is_empty() {
            continue;
        }
        let invoices = SqlInvoices(&mut checks.connection).find_all(&sharing).await?;
        let lines = SqlInvoices(&mut checks.connection).items_of(&sharing).await?;
        let payments = SqlInvoicePayments(&mut checks.connection).of_invoices(&sharing).await?;
        for invoice in &invoices {
            check.of += 1;
            let of_invoice = |id: &InvoiceId| *id == invoice.id;
            let lines: Vec<_> = lines.iter().filter(|line| of_invoice(&line.invoice_id)).cloned().collect();
            let payments: Vec<_> = payments.iter().filter(|payment| of_invoice(&payment.invoice_id)).cloned().collect();
            let shared: Vec<_> = shared.iter().filter(|line| of_invoice(&line.invoice_id)).cloned().collect();
            let booked = booked.iter().filter(|share| of_invoice(&share.invoice_id));
            match due_shares(invoice, &lines, &payments, &shared) {
                Ok(due) => compare(&mut check, &invoice.id, due, booked),
                Err(error) => check.breaches.push(format!("{}: its shares cannot be computed: {error}", invoice.id)),
            }
        }
    }
    checks.report(check);
    Ok(())
}

fn compare<'b>(check: &mut Check, invoice: &InvoiceId, due: Vec<DueShare>, booked: impl Iterator<Item = &'b SaleShare>) {
    let mut amounts: BTreeMap<(InvoiceItemId, Did), [Amount; 2]> = BTreeMap::new();
    for DueShare { item_id, beneficiary, amount } in due {
        amounts.entry((item_id, beneficiary)).or_default()[0] = amount;
    }
    for share in booked {
        amounts.entry((share.item_id.clone(), share.beneficiary.clone())).or_default()[1] = share.amount;
    }
    for ((item, beneficiary), [due, booked]) in amounts {
        if due != booked {
            check.breaches.push(format!("{invoice}: {beneficiary} is due {due} of {item}, and {booked} is booked"));
        }
    }
}
