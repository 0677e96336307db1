//! Card forms: how many are opened, because each lets somebody find out whether a stolen card works; and the requests that open them.

use super::{Attempt, AttemptKind, CardHolder, CardRequest, Method, RailError, SetupRequest};
use crate::context::Context;
use crate::operation::{VisitorNetwork, hour_of};
use crate::shared::{AttemptId, Mode, StorageError};
use crate::storage::UnitOfWork;

/// Card forms per hour in live mode: of one order or customer, of one visitor's network, of one site, and of the whole store. No site can use
/// up those of the store.
pub const CARD_FORMS_OF_SUBJECT: u32 = 10;
pub const CARD_FORMS_OF_VISITOR: u32 = 60;
pub const CARD_FORMS_OF_SITE: u32 = CARD_FORMS_OF_STORE / 8;
pub const CARD_FORMS_OF_STORE: u32 = 2_000;
/// In test mode, where there are no real cards, these limits only bound what is kept.
const TEST_FACTOR: u32 = 10;

/// Why no card form is opened.
#[derive(Debug, thiserror::Error)]
pub enum CardFormError {
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Counts a card form in the unit of work that writes its attempt. `subject`: the order, or the customer who saves a card.
///
/// # Errors
/// [`RailError::TooManyCardForms`] if a limit of this hour is reached; the caller must then drop the unit of work.
pub async fn count_card_form(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mode: Mode,
    subject: &str,
    visitor: &VisitorNetwork,
) -> Result<(), CardFormError> {
    let (factor, hour) = (if mode.is_live() { 1 } else { TEST_FACTOR }, hour_of(ctx.now()));
    let name = if mode.is_live() { "live" } else { "test" };
    let mut limits = vec![(format!("card:{name}:{subject}"), CARD_FORMS_OF_SUBJECT)];
    let VisitorNetwork { network, site } = visitor;
    if !network.is_empty() {
        limits.push((format!("card:{name}:visitor:{network}"), CARD_FORMS_OF_VISITOR));
    }
    // The site of an IPv4 address is its network, whose limit is lower.
    if !site.is_empty() && site != network {
        limits.push((format!("card:{name}:site:{site}"), CARD_FORMS_OF_SITE));
    }
    // Last, because others wait for this row until the commit.
    limits.push((format!("card:{name}:store"), CARD_FORMS_OF_STORE));
    for (counted, limit) in limits {
        if !unit.hourly_counts().count(&counted, hour, limit * factor).await? {
            tracing::warn!(counted, "the limit of card forms of this hour is reached");
            return Err(RailError::TooManyCardForms.into());
        }
    }
    Ok(())
}

/// Returns the holder with their customer at the provider. A customer of the store has one for each method, created with the first card
/// form and used by all later ones.
pub(super) async fn with_provider_customer(ctx: &Context, method: &Method, holder: &CardHolder) -> Result<CardHolder, CardFormError> {
    let rail = ctx.networks.card(method.kind).ok_or_else(|| RailError::Misconfigured("no rail serves this type of method".to_owned()))?;
    let known = ctx.store.read().await?.customers().provider_customer(&holder.customer, &method.id).await?;
    let provider_id = rail.open_customer(method, known.as_ref(), holder).await?;
    if known.is_none_or(|known| known.provider_id != provider_id) {
        let mut unit = ctx.store.begin().await?;
        unit.customers().set_provider_customer(&holder.customer, &method.id, &provider_id).await?;
        unit.commit().await?;
    }
    Ok(CardHolder { provider_id: Some(provider_id), ..holder.clone() })
}

/// The request that opens the form of a card set-up.
pub async fn setup_request(
    ctx: &Context,
    method: &Method,
    attempt: &AttemptId,
    holder: &CardHolder,
) -> Result<SetupRequest, CardFormError> {
    Ok(SetupRequest { attempt: attempt.clone(), holder: with_provider_customer(ctx, method, holder).await? })
}

/// The request that opens the form of a card payment. The same attempt always yields the same request, since the provider compares requests
/// with the same key.
pub async fn card_request(ctx: &Context, method: &Method, attempt: &Attempt) -> Result<CardRequest, CardFormError> {
    let setup_future_usage = match &attempt.kind {
        AttemptKind::Card { setup_future_usage: Some(holder), .. } => Some(with_provider_customer(ctx, method, holder).await?),
        _ => None,
    };
    let description = attempt.purpose.subject().to_owned();
    Ok(CardRequest { attempt: attempt.id.clone(), amount: attempt.amount, description, receipt_email: None, setup_future_usage })
}
