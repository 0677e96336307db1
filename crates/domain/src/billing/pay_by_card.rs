//! Saves cards: for a subscription's future invoices, or to pay overdue invoices at once.

use super::charges::publish_charges;
use super::invoice::plan_payments;
use super::pay_overdue::{intent_of, is_unpaid};
use super::{BillingError, Invoice, PaymentTargetError};
use crate::context::Context;
use crate::customer::Customer;
use crate::operation::VisitorNetwork;
use crate::payment::{
    Attempt, AttemptKind, CardFormError, CardHolder, Mandate, MandateDetails, MandateStatus, Method, MethodAmount, Purpose, RailError,
    count_card_form, setup_request,
};
use crate::shared::{Amount, AttemptId, CurrencyId, InvoiceId, MandateId, StorageError, SubscriptionId};
use crate::storage::UnitOfWork;

/// What a card is saved for.
pub(super) enum CardPurpose<'a> {
    /// The subscription's future invoices.
    Subscription(&'a SubscriptionId),
    /// A single payment of these invoices.
    Invoices(&'a [InvoiceId]),
}

/// Why no form that saves a card is opened.
#[derive(Debug)]
pub(super) enum SaveCardError {
    MethodNotSupported,
    Rail(RailError),
    Storage(StorageError),
}

impl From<RailError> for SaveCardError {
    fn from(error: RailError) -> Self {
        Self::Rail(error)
    }
}

impl From<StorageError> for SaveCardError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl From<CardFormError> for SaveCardError {
    fn from(error: CardFormError) -> Self {
        match error {
            CardFormError::Rail(error) => Self::Rail(error),
            CardFormError::Storage(error) => Self::Storage(error),
        }
    }
}

impl From<SaveCardError> for PaymentTargetError {
    fn from(error: SaveCardError) -> Self {
        match error {
            SaveCardError::MethodNotSupported => Self::MethodNotSupported,
            SaveCardError::Rail(error) => error.into(),
            SaveCardError::Storage(error) => error.into(),
        }
    }
}

/// A form that saves a card.
pub(super) struct CardForm<'a> {
    pub customer: Customer,
    pub method: &'a Method,
    pub currency: &'a CurrencyId,
    pub purpose: CardPurpose<'a>,
    /// The network of the visitor who opens it: their forms are limited.
    pub visitor: &'a VisitorNetwork,
}

/// Opens a form that saves a card, and returns the form's client secret.
pub(super) async fn save_card(ctx: &Context, mut unit: Box<dyn UnitOfWork>, form: CardForm<'_>) -> Result<String, SaveCardError> {
    let CardForm { customer, method, currency, purpose, visitor } = form;
    let now = ctx.now();
    ctx.networks.check_open(method).map_err(RailError::from)?;
    let rail = ctx.networks.card(method.kind).ok_or(SaveCardError::MethodNotSupported)?;
    let mandate = Mandate {
        id: MandateId::new(now, ctx.random.as_ref()),
        mode: customer.mode,
        customer_id: customer.id.clone(),
        method_id: method.id.clone(),
        status: MandateStatus::Pending,
        details: None,
        created_at: now,
        updated_at: now,
    };
    count_card_form(ctx, unit.as_mut(), customer.mode, customer.id.as_str(), visitor).await?;
    let holder = CardHolder::new(customer.id, customer.name, customer.email);
    let attempt = Attempt::begin(
        AttemptId::new(now, ctx.random.as_ref()),
        Purpose::Mandate(mandate.id.clone()),
        AttemptKind::CardSetup { provider_id: String::new(), client_secret: String::new(), holder: holder.clone() },
        MethodAmount { method_id: method.id.clone(), currency_id: currency.clone(), amount: Amount::ZERO },
        now,
    );
    unit.mandates().upsert(&mandate).await?;
    match purpose {
        CardPurpose::Subscription(subscription) => unit.mandates().link_subscription(&mandate.id, subscription).await?,
        CardPurpose::Invoices(invoices) => unit.mandates().link_invoices(&mandate.id, invoices).await?,
    }
    unit.attempts().insert(&attempt, &[]).await?;
    unit.commit().await?;
    let setup = rail.open_setup(method, &setup_request(ctx, method, &attempt.id, &holder).await?).await?;
    let mut unit = ctx.store.begin().await?;
    unit.attempts().set_provider_ids(&attempt.id, &setup.provider_id, &setup.client_secret, ctx.now()).await?;
    unit.commit().await?;
    Ok(setup.client_secret)
}

/// Why unpaid invoices cannot be paid by card.
#[derive(Debug, thiserror::Error)]
pub enum PayByCardError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("Nothing is overdue")]
    NothingOverdue,
    #[error("A payment is being processed. Please wait.")]
    PaymentInFlight,
    #[error("This payment method is not supported")]
    MethodNotSupported,
    /// Another unit of work changed the same rows.
    #[error("It was changed in the meantime. Please try again.")]
    Contended,
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for PayByCardError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict => Self::Contended,
            error => Self::Storage(error),
        }
    }
}

impl From<SaveCardError> for PayByCardError {
    fn from(error: SaveCardError) -> Self {
        match error {
            SaveCardError::MethodNotSupported => Self::MethodNotSupported,
            SaveCardError::Rail(error) => Self::Rail(error),
            SaveCardError::Storage(error) => error.into(),
        }
    }
}

/// A card form for paying overdue invoices.
#[derive(Debug, Clone)]
pub struct CardPayment {
    pub client_secret: String,
    pub method: Method,
    pub customer: Customer,
}

/// Opens a card form for unpaid invoices of one customer and currency. Once the card is saved, it is charged for all of them together. The
/// subscriptions' own payment methods stay unchanged. Invoices of ended subscriptions are allowed.
#[tracing::instrument(skip_all)]
pub async fn pay_by_card(
    ctx: &Context,
    invoices: &[InvoiceId],
    currency: &CurrencyId,
    visitor: &VisitorNetwork,
) -> Result<CardPayment, PayByCardError> {
    let mut unit = ctx.store.begin().await?;
    let mut unpaid = unit.invoices().find_all(invoices).await?;
    unpaid.retain(|invoice| is_unpaid(invoice) && invoice.currency_id == *currency);
    let first = unpaid.first().ok_or(PayByCardError::NothingOverdue)?;
    if unpaid.iter().any(|invoice| invoice.customer_id != first.customer_id) {
        return Err(PayByCardError::NothingOverdue);
    }
    let ids: Vec<_> = unpaid.iter().map(|invoice| invoice.id.clone()).collect();
    if !unit.attempts().in_flight(&ids).await?.is_empty() {
        return Err(PayByCardError::PaymentInFlight);
    }
    let currency = unit.methods().find_currency(currency).await?.ok_or(PayByCardError::NotFound)?;
    let method = unit.methods().find(&currency.method_id).await?.filter(|method| method.active && method.kind.is_card());
    let method = method.ok_or(PayByCardError::MethodNotSupported)?;
    let customer = unit.customers().find(&first.customer_id).await?.ok_or(PayByCardError::NotFound)?;
    let purpose = CardPurpose::Invoices(&ids);
    let form = CardForm { customer: customer.clone(), method: &method, currency: &currency.id, purpose, visitor };
    let client_secret = save_card(ctx, unit, form).await?;
    Ok(CardPayment { client_secret, method, customer })
}

/// Charges a card that was saved to pay invoices, for those that are still unpaid and have no other payment in flight.
pub(super) async fn pay_with_saved(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    setup: &Attempt,
    mandate: &MandateId,
) -> Result<(), BillingError> {
    let ids = unit.mandates().linked_invoices(mandate).await?;
    if ids.is_empty() {
        return Ok(());
    }
    let in_flight = unit.attempts().in_flight(&ids).await?;
    let mut unpaid = unit.invoices().find_all(&ids).await?;
    unpaid.retain(|invoice| is_unpaid(invoice) && !in_flight.contains(&invoice.id));
    let Some(first) = unpaid.first() else { return Ok(()) };
    let Some(MandateDetails::Card(card)) = unit.mandates().find(mandate).await?.and_then(|mandate| mandate.details) else { return Ok(()) };
    let now = ctx.now();
    let amount = Amount::sum(unpaid.iter().map(Invoice::remaining))?;
    let of = MethodAmount { method_id: setup.method_id.clone(), currency_id: setup.currency_id.clone(), amount };
    let intent = intent_of(ctx, unit, first, &unpaid, of.clone()).await?;
    let attempt = Attempt::begin(
        AttemptId::new(now, ctx.random.as_ref()),
        Purpose::Payment(intent.id.clone()),
        AttemptKind::OffSession { card, provider_id: String::new() },
        of,
        now,
    );
    unit.intents().upsert(&intent).await?;
    unit.attempts().insert(&attempt, &plan_payments(&unpaid)).await?;
    Ok(publish_charges(ctx, unit, std::slice::from_ref(&attempt.id)).await?)
}
