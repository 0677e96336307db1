//! Statements: documents of transactions that are not sales. They have their own number series, no receivable and no revenue, and cannot be
//! credited.

use super::{
    BillTo, BillingError, BillingReason, DocumentType, Invoice, InvoiceItem, InvoiceStatus, NewInvoice, PricingFormula, Subscription,
};
use crate::context::Context;
use crate::payment::Description;
use crate::shared::{Amount, ClockId, CurrencyId, CustomerId, InvoiceId, InvoiceItemId, MethodId, Mode, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;

/// The transaction that a statement documents.
#[derive(Debug, Clone)]
pub(super) struct Statement<'a> {
    pub reason: BillingReason,
    pub description: Description,
    /// The network's reference of the transaction.
    pub reference: &'a str,
    pub pricing_formula: PricingFormula,
}

/// The customer and subscription of a statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatementOwner<'a> {
    pub mode: Mode,
    pub customer_id: &'a CustomerId,
    /// `None`: the transaction concerns no subscription, as for the deposit of a developer.
    pub subscription_id: Option<&'a SubscriptionId>,
    pub clock_id: Option<&'a ClockId>,
    pub method_id: &'a MethodId,
    pub currency_id: &'a CurrencyId,
}

impl<'a> From<&'a Subscription> for StatementOwner<'a> {
    fn from(subscription: &'a Subscription) -> Self {
        Self {
            mode: subscription.mode,
            customer_id: &subscription.customer_id,
            subscription_id: Some(&subscription.id),
            clock_id: subscription.clock_id.as_ref(),
            method_id: &subscription.method_id,
            currency_id: &subscription.currency_id,
        }
    }
}

/// Writes a statement.
pub(super) async fn record_statement(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    owner: StatementOwner<'_>,
    statement: Statement<'_>,
    now: Timestamp,
) -> Result<(), BillingError> {
    let Statement { reason, description, reference, pricing_formula } = statement;
    let amount = pricing_formula.amount()?;
    let customer = unit.customers().find(owner.customer_id).await?.ok_or(BillingError::Orphan)?;
    let number = unit.invoices().allocate_numbers(owner.mode, DocumentType::Statement, 1).await?;
    let invoice = Invoice {
        id: InvoiceId::new(ctx.now(), ctx.random.as_ref()),
        mode: owner.mode,
        number: Some(number),
        status: InvoiceStatus::Paid,
        reason,
        description: description.clone(),
        bill_to: BillTo::of(&customer),
        customer_id: customer.id,
        currency_id: owner.currency_id.clone(),
        method_id: owner.method_id.clone(),
        session_id: None,
        subscription_id: owner.subscription_id.cloned(),
        period: None,
        intent_id: None,
        reference: Some(reference.to_owned()),
        total: amount,
        amount_paid: amount,
        amount_credited: Amount::ZERO,
        failure_count: 0,
        retry_at: None,
        clock_id: owner.clock_id.cloned(),
        created_at: now,
        finalized_at: Some(now),
        paid_at: Some(now),
        updated_at: now,
    };
    let item = InvoiceItem {
        id: InvoiceItemId::new(ctx.now(), ctx.random.as_ref()),
        invoice_id: invoice.id.clone(),
        subscription_item_id: None,
        price_id: None,
        description,
        quantity: 1,
        unit_amount: amount,
        amount,
        credited: Amount::ZERO,
        period: None,
        covers_until: None,
        pricing_formula,
    };
    unit.invoices().insert_final_all(&[NewInvoice { invoice, items: vec![item] }]).await?;
    Ok(())
}
