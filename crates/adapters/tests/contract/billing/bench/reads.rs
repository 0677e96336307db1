//! What the bench reads back: invoices, payments, credit notes, refunds and journal accounts.

use super::Billing;
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_domain::billing::{
    CreditNote, CreditNoteFilter, DocumentType, Invoice, InvoiceFilter, InvoiceItem, InvoicePayment, InvoiceStatus, Subscription,
};
use souk_domain::payment::{Refund, RefundFilter, RefundStatus};
use souk_domain::shared::*;
use std::collections::BTreeMap;

impl Billing {
    pub async fn find(&self, name: &str) -> Subscription {
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.subscriptions().find(&id(name)).await.expect("reads").expect("exists")
    }

    /// Returns all invoices in the order of their numbers, without statements.
    pub async fn invoices(&self) -> Vec<Invoice> {
        self.documents(DocumentType::Invoice).await
    }

    /// Returns all statements of deposits and added funds in the order of their numbers.
    pub async fn statements(&self) -> Vec<Invoice> {
        self.documents(DocumentType::Statement).await
    }

    async fn documents(&self, kind: DocumentType) -> Vec<Invoice> {
        let filter =
            InvoiceFilter { include_staking: true, include_return_staking: true, include_recovered_from: true, ..InvoiceFilter::default() };
        let mut unit = self.ctx.store.read().await.expect("reads");
        let mut all = Vec::new();
        for page in 1.. {
            let listed = unit.invoices().list(Mode::Test, &filter, &Page::new(Some(page), Some(100))).await.expect("reads").list;
            if listed.is_empty() {
                break;
            }
            all.extend(listed.into_iter().filter(|invoice| invoice.document() == kind));
        }
        all.sort_by_key(|invoice| invoice.number);
        all
    }

    /// Returns the newest invoice.
    pub async fn last(&self) -> Invoice {
        self.invoices().await.pop().expect("an invoice")
    }

    /// Reads an invoice again.
    pub async fn reload(&self, invoice: &Invoice) -> Invoice {
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.invoices().find(&invoice.id).await.expect("reads").expect("exists")
    }

    pub async fn lines(&self, invoice: &Invoice) -> Vec<InvoiceItem> {
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.invoices().items(&invoice.id).await.expect("reads")
    }

    pub async fn statuses(&self) -> Vec<InvoiceStatus> {
        self.invoices().await.iter().map(|invoice| invoice.status).collect()
    }

    /// Returns the payments of an invoice, oldest first.
    pub async fn payments(&self, invoice: &Invoice) -> Vec<InvoicePayment> {
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.invoice_payments().of_invoices(std::slice::from_ref(&invoice.id)).await.expect("reads")
    }

    /// Returns the source and the amount in base units of each payment of an invoice: stakes first, then networks, then the balance.
    pub async fn paid_by(&self, invoice: &Invoice) -> Vec<(&'static str, u128)> {
        let payments = self.payments(invoice).await;
        let mut paid: Vec<_> = payments.iter().map(|payment| (payment.source.name(), payment.amount.base_units())).collect();
        paid.sort_unstable_by(|one, other| other.cmp(one));
        paid
    }

    /// Returns the credit notes in the order of their numbers.
    pub async fn notes(&self) -> Vec<CreditNote> {
        let mut unit = self.ctx.store.read().await.expect("reads");
        let page = Page::new(None, Some(100));
        let mut notes = unit.credit_notes().list(Mode::Test, &CreditNoteFilter::default(), &page).await.expect("reads").list;
        notes.sort_by_key(|note| note.number);
        notes
    }

    /// Returns the customer's balance in base units.
    pub async fn customer_balance(&self) -> u128 {
        let customers: [CustomerId; 1] = [id("cus_1")];
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.balances().of_all(&customers).await.expect("reads").iter().map(|balance| balance.amount.base_units()).sum()
    }

    /// Returns all refunds and payouts that did not fail, in the order of their invoices.
    pub async fn refunds(&self) -> Vec<Refund> {
        let mut unit = self.ctx.store.read().await.expect("reads");
        let listed = unit.refunds().list(Mode::Test, &RefundFilter::default(), &Page::new(None, Some(100))).await.expect("reads").list;
        let mut listed: Vec<_> = listed.into_iter().filter(|refund| refund.status != RefundStatus::Failed).collect();
        listed.sort_by(|one, other| (&one.invoice_id, &one.id).cmp(&(&other.invoice_id, &other.id)));
        listed
    }

    /// Returns the sent and pending refund amounts in base units, in ascending order.
    pub async fn refunded(&self) -> Vec<u128> {
        let mut amounts: Vec<_> = self.refunds().await.iter().map(|refund| refund.amount.base_units()).collect();
        amounts.sort_unstable();
        amounts
    }

    /// Returns debits less credits of each journal account in base units, without the accounts that are zero.
    pub async fn accounts(&self) -> BTreeMap<String, i128> {
        let mut connection = self.database.read().await.expect("reads");
        let rows = connection.query("SELECT account, amount, side FROM journal_postings").all().await.expect("reads");
        let mut accounts: BTreeMap<String, i128> = BTreeMap::new();
        for row in rows {
            let (amount, side): (Amount, String) = (row.get("amount").expect("an amount"), row.get("side").expect("a side"));
            let amount = i128::try_from(amount.base_units()).expect("fits");
            *accounts.entry(row.get("account").expect("an account")).or_default() += if side == "debit" { amount } else { -amount };
        }
        accounts.retain(|_, sum| *sum != 0);
        accounts
    }

    /// Returns the balance of the journal's cash account in whole tokens.
    pub async fn cash(&self) -> u128 {
        let accounts = self.accounts().await;
        let cash: i128 = accounts.iter().filter(|(name, _)| name.starts_with("assets:cash:")).map(|(_, sum)| *sum).sum();
        u128::try_from(cash).expect("not less than nothing") / UNIT
    }
}
