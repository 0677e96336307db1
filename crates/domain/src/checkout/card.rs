//! The card part of a submit: opens the provider's form under the attempt's key, and cancels it.

use super::Session;
use super::submit::open_attempt;
use crate::access::User;
use crate::context::Context;
use crate::customer::Customer;
use crate::payment::{
    Attempt, AttemptKind, CardFormError, CardHolder, CardRail, Currency, Intent, Mandate, MandateStatus, Method, MethodAmount, Outcome,
    Purpose, RailError, SettlementError, SetupOutcome, cancel_attempt, card_request, record_not_opened, setup_request,
};
use crate::shared::{AttemptId, FindError, MandateId, SessionId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// Why a payment of the session could not be brought to an end.
#[derive(Debug, thiserror::Error)]
pub enum UndecidedPaymentError {
    /// Its provider has not decided.
    #[error("A payment for this order is being processed. Please wait.")]
    PaymentInFlight,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<SettlementError> for UndecidedPaymentError {
    fn from(error: SettlementError) -> Self {
        match error {
            SettlementError::Storage(error) => Self::Storage(error),
            SettlementError::Contended => Self::Storage(StorageError::Conflict),
            _ => Self::PaymentInFlight,
        }
    }
}

/// Why the card form cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenCardError {
    #[error("This payment method is not supported")]
    MethodNotSupported,
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Undecided(#[from] UndecidedPaymentError),
}

impl From<StorageError> for OpenCardError {
    fn from(error: StorageError) -> Self {
        Self::Undecided(error.into())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CancelCardError {
    #[error(transparent)]
    Find(#[from] FindError),
    /// The session belongs to another user.
    #[error("Sorry, you are not authorized to access this page.")]
    Forbidden,
    #[error(transparent)]
    Undecided(#[from] UndecidedPaymentError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The data of a card form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardForm {
    pub client_secret: String,
    /// Whether the provider reports it as paid or saved already.
    pub settled: bool,
    /// Whether the card is only saved, and charged later.
    pub setup: bool,
}

/// The mandate that the session uses: an existing one of the chosen method that has not ended, or a new one for a card.
pub(super) async fn mandate_for(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: &Session,
    method: &Method,
    now: Timestamp,
) -> Result<Option<MandateId>, StorageError> {
    if let Some(id) = &session.mandate_id {
        let known = unit.mandates().find(id).await?;
        if known.is_some_and(|known| known.method_id == method.id && known.status != MandateStatus::Ended) {
            return Ok(Some(id.clone()));
        }
    }
    let (true, Some(customer_id)) = (method.kind.is_card(), &session.customer_id) else { return Ok(None) };
    let mandate = Mandate {
        id: MandateId::new(now, ctx.random.as_ref()),
        mode: session.mode,
        customer_id: customer_id.clone(),
        method_id: method.id.clone(),
        status: MandateStatus::Pending,
        details: None,
        created_at: now,
        updated_at: now,
    };
    unit.mandates().upsert(&mandate).await?;
    Ok(Some(mandate.id))
}

/// Builds the attempt of a card form: a payment, which also saves the card if it will be charged again, or a card set-up alone.
pub(super) fn card_attempt(
    ctx: &Context,
    session: &Session,
    intent: &Intent,
    customer: &Customer,
    method: &Method,
    now: Timestamp,
) -> Attempt {
    let holder = CardHolder::new(customer.id.clone(), customer.name.clone(), customer.email.clone());
    let (provider_id, client_secret) = (String::new(), String::new());
    let (purpose, kind) = match &session.mandate_id {
        None => (Purpose::Payment(intent.id.clone()), AttemptKind::Card { provider_id, client_secret, setup_future_usage: None }),
        Some(mandate) if intent.amount.is_zero() => {
            (Purpose::Mandate(mandate.clone()), AttemptKind::CardSetup { provider_id, client_secret, holder })
        }
        Some(_) => {
            (Purpose::Payment(intent.id.clone()), AttemptKind::Card { provider_id, client_secret, setup_future_usage: Some(holder) })
        }
    };
    Attempt {
        session_id: Some(session.id.clone()),
        ..Attempt::begin(
            AttemptId::new(now, ctx.random.as_ref()),
            purpose,
            kind,
            MethodAmount { method_id: method.id.clone(), currency_id: intent.currency_id.clone(), amount: intent.amount },
            now,
        )
    }
}

/// Opens the provider's intent under the attempt's key, and stores the provider's ids.
pub(super) async fn open_card(ctx: &Context, method: &Method, currency: &Currency, attempt: &Attempt) -> Result<CardForm, OpenCardError> {
    let (client_secret, setup) = match &attempt.kind {
        AttemptKind::Card { client_secret, .. } => (client_secret, false),
        AttemptKind::CardSetup { client_secret, .. } => (client_secret, true),
        _ => return Err(UndecidedPaymentError::PaymentInFlight.into()),
    };
    if !client_secret.is_empty() {
        return Ok(CardForm { client_secret: client_secret.clone(), settled: false, setup });
    }
    let rail = ctx.networks.card(method.kind).ok_or(OpenCardError::MethodNotSupported)?;
    let opened = match open_at_provider(ctx, rail, method, currency, attempt).await {
        Ok(opened) => opened,
        Err(CardFormError::Rail(error)) => {
            record_not_opened(ctx, &attempt.id, error.clone()).await.map_err(UndecidedPaymentError::from)?;
            return Err(error.into());
        }
        Err(CardFormError::Storage(error)) => return Err(error.into()),
    };
    let OpenedCard { provider_id, client_secret, settled } = opened;
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    unit.attempts().set_provider_ids(&attempt.id, &provider_id, &client_secret, now).await?;
    unit.commit().await?;
    Ok(CardForm { client_secret, settled, setup })
}

/// What the provider has opened.
struct OpenedCard {
    provider_id: String,
    client_secret: String,
    settled: bool,
}

async fn open_at_provider(
    ctx: &Context,
    rail: &dyn CardRail,
    method: &Method,
    currency: &Currency,
    attempt: &Attempt,
) -> Result<OpenedCard, CardFormError> {
    if let AttemptKind::CardSetup { holder, .. } = &attempt.kind {
        let setup = rail.open_setup(method, &setup_request(ctx, method, &attempt.id, holder).await?).await?;
        let settled = matches!(setup.outcome, SetupOutcome::Saved(_));
        return Ok(OpenedCard { provider_id: setup.provider_id, client_secret: setup.client_secret, settled });
    }
    let intent = rail.open(method, currency, &card_request(ctx, method, attempt).await?).await?;
    let settled = matches!(intent.outcome, Outcome::Settled(_));
    Ok(OpenedCard { provider_id: intent.provider_id, client_secret: intent.client_secret, settled })
}

/// Cancels the provider's intent after the visitor closed the card form, unless it has settled meanwhile.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn cancel_card(ctx: &Context, id: &SessionId, payer: &User) -> Result<(), CancelCardError> {
    let mut unit = ctx.store.read().await?;
    let session = unit.sessions().find(id).await?.ok_or(FindError::NotFound)?;
    if session.payer.as_ref() != Some(&payer.did) {
        return Err(CancelCardError::Forbidden);
    }
    let open = open_attempt(unit.as_mut(), &session).await?;
    drop(unit);
    match open {
        Some(attempt) if matches!(attempt.kind, AttemptKind::Card { .. } | AttemptKind::CardSetup { .. }) => {
            Ok(end_card(ctx, &attempt.id).await?)
        }
        _ => Ok(()),
    }
}

/// Cancels a card attempt at its provider.
///
/// # Errors
/// [`UndecidedPaymentError::PaymentInFlight`] when the provider does not cancel it.
pub(super) async fn end_card(ctx: &Context, id: &AttemptId) -> Result<(), UndecidedPaymentError> {
    match cancel_attempt(ctx, id).await? {
        true => Ok(()),
        false => Err(UndecidedPaymentError::PaymentInFlight),
    }
}
