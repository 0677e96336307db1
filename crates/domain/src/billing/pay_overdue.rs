//! Overdue invoices, and their payment by a wallet: one signed transfer pays one invoice or all in a currency.

use super::clock::time_of_customer;
use super::errors::convert_through;
use super::invoice::plan_payments;
use super::payment_target::{SendError, send_now};
use super::{Invoice, SubscriptionError};
use crate::access::{ConnectExpired, Wallet};
use crate::context::Context;
use crate::customer::Customer;
use crate::payment::{
    Attempt, AttemptKind, CheckError, Currency, Decline, Intent, IntentStatus, Method, MethodAmount, MethodKind, Purpose, RailError,
    StepRejection, TransferRequest, UnsignedTransaction, WalletSignature, lock_step,
};
use crate::pricing::Metadata;
use crate::shared::{Amount, AmountError, AttemptId, CurrencyId, CustomerId, InvoiceId, PaymentIntentId, StorageError, SubscriptionId};
use crate::storage::UnitOfWork;
use std::collections::BTreeMap;

/// Why overdue invoices cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OverdueError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<OverdueError> for SubscriptionError {
    fn from(error: OverdueError) -> Self {
        match error {
            OverdueError::NotFound => Self::NotFound,
            OverdueError::Amount(error) => Self::Amount(error),
            OverdueError::Storage(error) => error.into(),
        }
    }
}

/// Why invoices cannot be paid together by a wallet.
#[derive(Debug, thiserror::Error)]
pub enum CombineError {
    #[error("Nothing is overdue")]
    NothingOverdue,
    #[error("Card-based currency is not supported for overdue payment")]
    CardCurrency,
    #[error(transparent)]
    Overdue(#[from] OverdueError),
}

convert_through!(CombineError::Overdue, AmountError, StorageError);

/// Why the transfer that pays overdue invoices cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum PrepareOverduePaymentError {
    #[error("This payment method is not supported")]
    MethodNotSupported,
    #[error(transparent)]
    Combine(#[from] CombineError),
    #[error(transparent)]
    Rail(#[from] RailError),
}

convert_through!(PrepareOverduePaymentError::Combine, StorageError);

/// Why the signed transfer that pays overdue invoices is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SubmitOverduePaymentError {
    #[error("This payment method is not supported")]
    MethodNotSupported,
    #[error("A payment is being processed. Please wait.")]
    PaymentInFlight,
    /// The network declined, with its own message.
    #[error("{}", .0.message)]
    Declined(Decline),
    /// The connect session in which the wallet signed has ended.
    #[error(transparent)]
    Connect(ConnectExpired),
    /// Another unit of work changed the same rows.
    #[error("It was changed in the meantime. Please try again.")]
    Contended,
    #[error(transparent)]
    Combine(#[from] CombineError),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for SubmitOverduePaymentError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict => Self::Contended,
            error => Self::Storage(error),
        }
    }
}

impl From<SendError> for SubmitOverduePaymentError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Declined(decline) => Self::Declined(decline),
            SendError::Storage(error) => error.into(),
        }
    }
}

impl From<StepRejection> for SubmitOverduePaymentError {
    fn from(refusal: StepRejection) -> Self {
        match refusal {
            StepRejection::Declined(decline) => Self::Declined(decline),
            StepRejection::Ended(expired) => Self::Connect(expired),
            StepRejection::Storage(error) => error.into(),
        }
    }
}

/// The sum of overdue invoices in one currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverdueSum {
    pub amount: Amount,
    pub currency: Currency,
    pub method: Method,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overdue {
    /// All overdue invoices, oldest first.
    pub invoices: Vec<Invoice>,
    pub sums: Vec<OverdueSum>,
    pub customer: Customer,
    /// The number of distinct subscriptions among the invoices.
    pub subscriptions: usize,
}

/// Reads the overdue invoices of a customer, or of one subscription.
pub async fn overdue_of(
    unit: &mut dyn UnitOfWork,
    customer: &CustomerId,
    subscription: Option<&SubscriptionId>,
) -> Result<Overdue, OverdueError> {
    let customer = unit.customers().find(customer).await?.ok_or(OverdueError::NotFound)?;
    let invoices = match subscription {
        Some(subscription) => unit.invoices().overdue_of(subscription).await?,
        None => unit.invoices().overdue(&customer.id).await?,
    };
    let mut amounts: BTreeMap<CurrencyId, Amount> = BTreeMap::new();
    for invoice in &invoices {
        let sum = amounts.entry(invoice.currency_id.clone()).or_default();
        *sum = sum.plus(invoice.remaining())?;
    }
    let mut sums = Vec::with_capacity(amounts.len());
    for (id, amount) in amounts {
        let currency = unit.methods().find_currency(&id).await?.ok_or(OverdueError::NotFound)?;
        let method = unit.methods().find(&currency.method_id).await?.ok_or(OverdueError::NotFound)?;
        sums.push(OverdueSum { amount, currency, method });
    }
    let mut subscription_ids: Vec<_> = invoices.iter().filter_map(|invoice| invoice.subscription_id.as_ref()).collect();
    subscription_ids.sort();
    subscription_ids.dedup();
    let subscriptions = subscription_ids.len();
    Ok(Overdue { invoices, sums, customer, subscriptions })
}

/// The invoices to pay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OverdueTarget {
    Invoice(InvoiceId),
    OfSubscription(SubscriptionId, CurrencyId),
    OfCustomer(CustomerId, CurrencyId),
}

impl OverdueTarget {
    /// The id to which the payment refers.
    #[must_use]
    pub fn subject(&self) -> &str {
        match self {
            Self::Invoice(id) => id.as_str(),
            Self::OfSubscription(id, _) => id.as_str(),
            Self::OfCustomer(id, _) => id.as_str(),
        }
    }
}

/// An unsigned transfer with the data that the payer is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedOverduePayment {
    pub prepared: UnsignedTransaction,
    pub method: Method,
    pub currency: Currency,
    pub amount: Amount,
    pub invoices: Vec<Invoice>,
}

/// Invoices that are paid together, of one customer and one currency.
struct CombinedPayment {
    invoices: Vec<Invoice>,
    amount: Amount,
    method: Method,
    currency: Currency,
}

async fn combine(unit: &mut dyn UnitOfWork, target: &OverdueTarget) -> Result<CombinedPayment, CombineError> {
    let (invoices, currency) = match target {
        OverdueTarget::Invoice(id) => {
            let invoice = unit.invoices().find(id).await?.ok_or(OverdueError::NotFound)?;
            let currency = invoice.currency_id.clone();
            (vec![invoice], currency)
        }
        OverdueTarget::OfSubscription(id, currency) => {
            let subscription = unit.subscriptions().find(id).await?.ok_or(OverdueError::NotFound)?;
            (overdue_of(unit, &subscription.customer_id, Some(id)).await?.invoices, currency.clone())
        }
        OverdueTarget::OfCustomer(id, currency) => (overdue_of(unit, id, None).await?.invoices, currency.clone()),
    };
    let invoices: Vec<_> = invoices.into_iter().filter(|invoice| is_unpaid(invoice) && invoice.currency_id == currency).collect();
    if invoices.is_empty() {
        return Err(CombineError::NothingOverdue);
    }
    let amount = Amount::sum(invoices.iter().map(Invoice::remaining))?;
    let currency = unit.methods().find_currency(&currency).await?.ok_or(OverdueError::NotFound)?;
    let method = unit.methods().find(&currency.method_id).await?.ok_or(OverdueError::NotFound)?;
    if method.kind == MethodKind::Stripe {
        return Err(CombineError::CardCurrency);
    }
    Ok(CombinedPayment { invoices, amount, method, currency })
}

fn transfer_request(target: &OverdueTarget, combined: &CombinedPayment, payer: &Wallet, nonce: u64) -> TransferRequest {
    TransferRequest {
        payer: payer.did.clone(),
        payer_key: payer.public_key.clone(),
        to: None,
        amount: combined.amount,
        reference: target.subject().to_owned(),
        nonce,
    }
}

/// Builds the transfer that pays overdue invoices. The same nonce builds the same transfer while the invoices are unchanged.
#[tracing::instrument(skip_all)]
pub async fn prepare_overdue_payment(
    ctx: &Context,
    target: &OverdueTarget,
    payer: &Wallet,
    nonce: u64,
) -> Result<PreparedOverduePayment, PrepareOverduePaymentError> {
    let mut unit = ctx.store.read().await?;
    let combined = combine(unit.as_mut(), target).await?;
    ctx.networks.check_open(&combined.method).map_err(RailError::from)?;
    let rail = ctx.networks.wallet(combined.method.kind).ok_or(PrepareOverduePaymentError::MethodNotSupported)?;
    let prepared = rail.prepare(&combined.method, &combined.currency, &transfer_request(target, &combined, payer, nonce))?;
    let CombinedPayment { invoices, amount, method, currency } = combined;
    Ok(PreparedOverduePayment { prepared, method, currency, amount, invoices })
}

/// Checks the signed transfer against the invoices, stores its bytes, sends it and records the outcome. Returns the transaction hash.
#[tracing::instrument(skip_all)]
pub async fn submit_signed_overdue_payment(
    ctx: &Context,
    target: &OverdueTarget,
    signature: WalletSignature<'_>,
) -> Result<String, SubmitOverduePaymentError> {
    let WalletSignature { payer, nonce, signed: signed_tx, .. } = signature;
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let combined = combine(unit.as_mut(), target).await?;
    let rail = ctx.networks.wallet(combined.method.kind).ok_or(SubmitOverduePaymentError::MethodNotSupported)?;
    let signed = rail.check(&combined.method, &combined.currency, &transfer_request(target, &combined, payer, nonce), signed_tx)?;
    let first = combined.invoices.first().ok_or(CombineError::NothingOverdue)?;
    let of = MethodAmount { method_id: combined.method.id, currency_id: combined.currency.id, amount: combined.amount };
    let intent = intent_of(ctx, unit.as_mut(), first, &combined.invoices, of.clone()).await?;
    let attempt = Attempt {
        connect_token: signature.connect_token(),
        ..Attempt::begin(
            AttemptId::new(now, ctx.random.as_ref()),
            Purpose::Payment(intent.id.clone()),
            AttemptKind::Wallet { payer: payer.did.clone(), bytes: signed.bytes, hash: signed.hash.clone() },
            of,
            now,
        )
    };
    unit.intents().upsert(&intent).await?;
    lock_step(ctx, unit.as_mut(), signature.step.as_ref()).await?;
    match unit.attempts().insert(&attempt, &plan_payments(&combined.invoices)).await {
        Err(StorageError::Duplicate(_)) => return Err(SubmitOverduePaymentError::PaymentInFlight),
        written => written?,
    }
    unit.commit().await?;
    send_now(ctx, &attempt.id).await?;
    Ok(signed.hash)
}

/// Builds the payment intent of a payment that the customer starts. It names no subscription: a decline does not affect subscriptions.
pub(super) async fn intent_of(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    first: &Invoice,
    invoices: &[Invoice],
    of: MethodAmount,
) -> Result<Intent, StorageError> {
    let MethodAmount { method_id, currency_id, amount } = of;
    let now = ctx.now();
    // Customers on a test clock see their clock's dates.
    let created_at = time_of_customer(ctx, unit, &first.customer_id).await?;
    Ok(Intent {
        id: PaymentIntentId::new(now, ctx.random.as_ref()),
        mode: first.mode,
        status: IntentStatus::Processing,
        description: first.description.clone(),
        amount,
        amount_received: Amount::ZERO,
        amount_refunded: Amount::ZERO,
        currency_id,
        method_id,
        customer_id: first.customer_id.clone(),
        subscription_id: None,
        session_id: None,
        invoices: invoices.iter().map(|invoice| invoice.id.clone()).collect(),
        last_error: None,
        reference: String::new(),
        payer: String::new(),
        held_attempt_id: None,
        metadata: Metadata::new(),
        created_at,
        updated_at: now,
    })
}

/// Whether an invoice still has an amount to collect.
pub(super) fn is_unpaid(invoice: &Invoice) -> bool {
    invoice.status.is_payable() && !invoice.remaining().is_zero()
}
