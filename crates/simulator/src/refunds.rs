//! Refunds by amount, credit notes by item, balance payouts, and the store's decisions about declined refunds.

use super::expected_errors::tolerate_expected;
use super::fixtures::Fixtures;
use super::network_client::NetworkClient;
use super::rng::Rng;
use crate::Failure;
use souk_domain::billing::{
    self, CreditNoteOrder, CreditNoteReason, CreditTo, Invoice, InvoiceFilter, InvoiceStatus, OrderedItem, PayoutOrder, RefundOrder,
};
use souk_domain::context::Context;
use souk_domain::payment::{RefundFilter, RefundStatus};
use souk_domain::shared::{Amount, Mode, Page, StorageError};

/// Number of a customer's newest invoices and refunds to choose from.
const NEWEST: u32 = 50;

async fn finalized(ctx: &Context, fixtures: &Fixtures, statuses: &[InvoiceStatus]) -> Result<Vec<Invoice>, StorageError> {
    let filter = InvoiceFilter {
        statuses: statuses.to_vec(),
        customer_id: Some(fixtures.customer.clone()),
        ignore_zero: true,
        ..InvoiceFilter::default()
    };
    Ok(ctx.store.read().await?.invoices().list(Mode::Test, &filter, &Page::new(None, Some(NEWEST))).await?.list)
}

/// A random part of an amount, or all of it.
fn share(amount: Amount, rng: &mut Rng) -> Amount {
    Amount::new(amount.base_units() / u128::from(1 + rng.below(3)))
}

/// Refunds a payment or an invoice, in part or as far as possible.
pub async fn refund(client: &NetworkClient, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let paid = finalized(ctx, fixtures, &[InvoiceStatus::Paid]).await?;
    if paid.is_empty() {
        return Ok(());
    }
    let invoice = rng.choose(&paid);
    let amount = Some(share(invoice.total, rng)).filter(|share| !share.is_zero() && !rng.one_in(3));
    let order = RefundOrder { amount, invoice: None, reason: CreditNoteReason::Other, description: String::new() };
    let result = match &invoice.intent_id {
        Some(intent) if rng.one_in(2) => billing::refund_payment(ctx, Mode::Test, intent, &order).await,
        _ => billing::refund_invoice(ctx, Mode::Test, &invoice.id, &order).await,
    };
    tolerate_expected(result)
}

/// Credits some lines, or an amount without items, of a paid or unpaid invoice.
pub async fn credit(client: &NetworkClient, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let statuses = [InvoiceStatus::Open, InvoiceStatus::Paid, InvoiceStatus::Uncollectible];
    let invoices = finalized(ctx, fixtures, &statuses).await?;
    if invoices.is_empty() {
        return Ok(());
    }
    let invoice = rng.choose(&invoices);
    let lines = ctx.store.read().await?.invoices().items(&invoice.id).await?;
    let mut items = Vec::new();
    for line in &lines {
        let amount = share(line.creditable(), rng);
        if !amount.is_zero() && !rng.one_in(3) {
            let revokes = if rng.one_in(2) { None } else { Some(rng.one_in(4)) };
            items.push(OrderedItem { invoice_item_id: line.id.clone(), amount, revokes });
        }
    }
    let order = CreditNoteOrder {
        invoice_id: invoice.id.clone(),
        amount: items.is_empty().then(|| share(invoice.total, rng)).filter(|_| !rng.one_in(3)),
        items,
        reason: rng.pick(&[CreditNoteReason::Duplicate, CreditNoteReason::Fraudulent, CreditNoteReason::Other]),
        memo: String::new(),
        to: rng.pick(&[CreditTo::Balance, CreditTo::Payments]),
    };
    let preview = match billing::preview_credit_note(ctx, Mode::Test, &order).await {
        Ok(preview) => preview,
        result => return tolerate_expected(result),
    };
    let given = preview.due_reduced.plus(preview.to_balance)?.plus(preview.refunded)?;
    if given != preview.total {
        return Err(format!("the preview of a credit note over {} is over {} and gives {given}", invoice.id, preview.total).into());
    }
    tolerate_expected(billing::create_credit_note(ctx, Mode::Test, &order).await)
}

/// Retries declined refunds, or moves them to the balance.
pub async fn decide_refund(client: &NetworkClient, fixtures: &Fixtures, retries: bool) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let filter =
        RefundFilter { customer_id: Some(fixtures.customer.clone()), status: Some(RefundStatus::Failed), ..RefundFilter::default() };
    let failed = ctx.store.read().await?.refunds().list(Mode::Test, &filter, &Page::new(None, Some(NEWEST))).await?.list;
    for refund in failed {
        match retries {
            true => tolerate_expected(billing::retry_refund(ctx, Mode::Test, &refund.id).await)?,
            false => tolerate_expected(billing::move_refund_to_balance(ctx, Mode::Test, &refund.id).await)?,
        }
    }
    Ok(())
}

/// Pays out a balance in one of the two currencies, or a part of it.
pub async fn pay_out(client: &NetworkClient, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let balances = ctx.store.read().await?.balances().of_all(std::slice::from_ref(&fixtures.customer)).await?;
    if balances.is_empty() {
        return Ok(());
    }
    let balance = rng.choose(&balances);
    let amount = Some(share(balance.amount, rng)).filter(|share| !share.is_zero() && !rng.one_in(2));
    let order =
        PayoutOrder { customer_id: fixtures.customer.clone(), currency_id: balance.currency_id.clone(), amount, memo: String::new() };
    tolerate_expected(billing::pay_out_balance(ctx, Mode::Test, &order).await)
}

/// Moves every declined refund of the store to its customer's balance, so that none awaits a decision.
pub async fn move_all_failed(client: &NetworkClient) -> Result<(), Failure> {
    let store = &client.store;
    let failed = store.database.read().await?.query("SELECT id FROM refunds WHERE kind = 'refund' AND status = 'failed'").all().await?;
    for row in &failed {
        tolerate_expected(billing::move_refund_to_balance(&store.ctx, Mode::Test, &row.get("id")?).await)?;
    }
    Ok(())
}
