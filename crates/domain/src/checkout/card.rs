//! The card part of a submit: opens the provider's form under the attempt's key, and cancels it.

use super::submit::open_attempt;
use super::{Session, SubmitError};
use crate::access::User;
use crate::context::Context;
use crate::customer::Customer;
use crate::payment::{
    Attempt, AttemptKind, CardHolder, Currency, Intent, Mandate, MandateStatus, Method, MethodAmount, Outcome, Purpose, SetupOutcome,
    SetupRequest, cancel_attempt, card_request, record_not_opened,
};
use crate::shared::{AttemptId, MandateId, SessionId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

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
    let holder = CardHolder { customer: customer.id.clone(), name: customer.name.clone(), email: customer.email.clone() };
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
pub(super) async fn open_card(ctx: &Context, method: &Method, currency: &Currency, attempt: &Attempt) -> Result<CardForm, SubmitError> {
    let (client_secret, setup) = match &attempt.kind {
        AttemptKind::Card { client_secret, .. } => (client_secret, false),
        AttemptKind::CardSetup { client_secret, .. } => (client_secret, true),
        _ => return Err(SubmitError::PaymentInFlight),
    };
    if !client_secret.is_empty() {
        return Ok(CardForm { client_secret: client_secret.clone(), settled: false, setup });
    }
    let rail = ctx.networks.card(method.kind).ok_or(SubmitError::MethodNotSupported)?;
    let opened = match &attempt.kind {
        AttemptKind::CardSetup { holder, .. } => {
            let request = SetupRequest { attempt: attempt.id.clone(), holder: holder.clone() };
            let setup = rail.open_setup(method, &request).await;
            setup.map(|setup| (setup.provider_id, setup.client_secret, matches!(setup.outcome, SetupOutcome::Saved(_))))
        }
        _ => {
            let intent = rail.open(method, currency, &card_request(attempt)).await;
            intent.map(|intent| (intent.provider_id, intent.client_secret, matches!(intent.outcome, Outcome::Settled(_))))
        }
    };
    let (provider_id, client_secret, settled) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            record_not_opened(ctx, &attempt.id, error.clone()).await?;
            return Err(error.into());
        }
    };
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    unit.attempts().set_provider_ids(&attempt.id, &provider_id, &client_secret, now).await?;
    unit.commit().await?;
    Ok(CardForm { client_secret, settled, setup })
}

/// Cancels the provider's intent after the visitor closed the card form, unless it has settled meanwhile.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn cancel_card(ctx: &Context, id: &SessionId, payer: &User) -> Result<(), SubmitError> {
    let mut unit = ctx.store.read().await?;
    let session = unit.sessions().find(id).await?.ok_or(SubmitError::NotFound)?;
    if session.payer.as_ref() != Some(&payer.did) {
        return Err(SubmitError::Forbidden);
    }
    let open = open_attempt(unit.as_mut(), &session).await?;
    drop(unit);
    match open {
        Some(attempt) if matches!(attempt.kind, AttemptKind::Card { .. } | AttemptKind::CardSetup { .. }) => {
            end_card(ctx, &attempt.id).await
        }
        _ => Ok(()),
    }
}

/// Cancels a card attempt at its provider.
///
/// # Errors
/// [`SubmitError::PaymentInFlight`] when the provider does not cancel it.
pub(super) async fn end_card(ctx: &Context, id: &AttemptId) -> Result<(), SubmitError> {
    match cancel_attempt(ctx, id).await? {
        true => Ok(()),
        false => Err(SubmitError::PaymentInFlight),
    }
}
