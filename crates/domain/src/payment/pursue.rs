//! Asking a network what became of an attempt, and sending what was not sent yet.

use super::{
    Attempt, AttemptKind, CardAsk, CardRefundAsk, ChargeAsk, Currency, KEYS_KEPT, Method, Outcome, Purpose, RailError, Refusal, Settlement,
    SetupAsk, SetupOutcome, SignedTransfer,
};
use crate::context::Context;
use crate::shared::{Amount, StorageError};
use std::time::Duration;

/// An attempt with what it takes to reach its network.
#[derive(Debug, Clone)]
pub struct Pursued {
    pub attempt: Attempt,
    pub method: Method,
    pub currency: Currency,
}

/// Who asks, and what an answer that is not final means for the janitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// Whoever knows that the attempt was never sent before: it was written just now, or claimed for its first sending.
    First,
    /// A page that polls: it sends no transaction, and the janitor's turn stays where it is.
    Page,
    /// The janitor, or the network's own event.
    Worker,
}

/// A refusal of something that may have been sent before counts as final only when the network has had no record of it for
/// this long, counted from when it may have been sent first: a node that lags, or another node, refuses what has settled elsewhere.
const DOUBT: Duration = Duration::from_secs(24 * 3_600);

/// A call to a network, with the questions before and after it, ends within this. What cannot, in the time for which it was taken, is
/// not sent any more: the janitor has its turn.
pub const LAST_CALL: Duration = Duration::from_secs(45);

/// Asks the network. What it has never heard of is sent: the same bytes, or under the same key.
pub async fn ask(ctx: &Context, pursued: &Pursued, asker: Asker) -> Outcome {
    let Pursued { attempt, method, currency } = pursued;
    let is_late = ctx.now().since(attempt.created_at) > KEYS_KEPT;
    match &attempt.kind {
        AttemptKind::Wallet { bytes, hash, .. } => {
            let Some(rail) = ctx.networks.wallet(method.kind) else { return no_rail() };
            let signed = SignedTransfer { bytes: bytes.clone(), hash: hash.clone() };
            if asker == Asker::First {
                return rail.send(method, currency, &signed).await;
            }
            let sent_from = attempt.sent_at.unwrap_or(attempt.created_at);
            match rail.find(method, currency, hash).await {
                // Whoever sends it first may be at it still: a refusal is believed of them only while nobody sends beside them.
                Outcome::Absent if asker == Asker::Page => Outcome::Absent,
                Outcome::Absent => match rail.send(method, currency, &signed).await {
                    Outcome::Refused(refusal) if ctx.now().since(sent_from) < DOUBT => Outcome::Unknown(refusal.message),
                    outcome => outcome,
                },
                known => known,
            }
        }
        AttemptKind::Card { provider_id, .. } => {
            let Some(rail) = ctx.networks.card(method.kind) else { return no_rail() };
            if !provider_id.is_empty() {
                return rail.find(method, currency, provider_id).await;
            }
            match rail.open(method, currency, &card_ask(attempt)).await {
                Ok(intent) => named(ctx, attempt, &intent.provider_id, &intent.client_secret, intent.outcome).await,
                Err(error) => not_opened(error),
            }
        }
        AttemptKind::CardSetup { provider_id, holder, .. } => {
            let Some(rail) = ctx.networks.card(method.kind) else { return no_rail() };
            if !provider_id.is_empty() {
                return setup_outcome(provider_id, rail.find_setup(method, provider_id).await);
            }
            match rail.open_setup(method, &SetupAsk { attempt: attempt.id.clone(), holder: holder.clone() }).await {
                Ok(setup) => {
                    let outcome = setup_outcome(&setup.provider_id, setup.outcome);
                    named(ctx, attempt, &setup.provider_id, &setup.client_secret, outcome).await
                }
                Err(error) => not_opened(error),
            }
        }
        AttemptKind::OffSession { card, provider_id } => {
            let Some(rail) = ctx.networks.card(method.kind) else { return no_rail() };
            if !provider_id.is_empty() {
                return rail.find_charge(method, currency, provider_id).await;
            }
            let description = attempt.purpose.subject().to_owned();
            let ask = ChargeAsk { attempt: attempt.id.clone(), amount: attempt.amount, description, card: card.clone(), is_late };
            match rail.charge(method, currency, &ask).await {
                // A final answer is written down as a whole; only one that is still open needs its name kept for the next question.
                Ok(intent) if matches!(intent.outcome, Outcome::Settled(_) | Outcome::Refused(_)) => intent.outcome,
                Ok(intent) => named(ctx, attempt, &intent.provider_id, "", intent.outcome).await,
                Err(error) => not_opened(error),
            }
        }
        AttemptKind::CardRefund { payment } => {
            let Some(rail) = ctx.networks.card(method.kind) else { return no_rail() };
            let Purpose::Refund(refund) = &attempt.purpose else { return Outcome::Unknown("no refund".to_owned()) };
            let ask = CardRefundAsk { refund: refund.clone(), provider_id: payment.clone(), amount: attempt.amount, is_late };
            rail.refund(method, currency, &ask).await
        }
    }
}

fn no_rail() -> Outcome {
    Outcome::Unknown("no rail serves this type of method".to_owned())
}

/// What the provider is asked for. The same attempt always gives the same ask, since the provider compares.
#[must_use]
pub fn card_ask(attempt: &Attempt) -> CardAsk {
    let keep_for = match &attempt.kind {
        AttemptKind::Card { keep_for, .. } => keep_for.clone(),
        _ => None,
    };
    let description = attempt.purpose.subject().to_owned();
    CardAsk { attempt: attempt.id.clone(), amount: attempt.amount, description, receipt_email: None, keep_for }
}

/// A saved card is a settlement that moved nothing.
#[must_use]
pub fn setup_outcome(provider_id: &str, outcome: SetupOutcome) -> Outcome {
    match outcome {
        SetupOutcome::Saved(card) => {
            Outcome::Settled(Settlement { reference: provider_id.to_owned(), payer: String::new(), amount: Amount::ZERO, card: Some(card) })
        }
        SetupOutcome::Refused(refusal) => Outcome::Refused(refusal),
        SetupOutcome::Pending { requires_payer, last_error } => Outcome::Pending { requires_payer, last_error },
        SetupOutcome::Absent => Outcome::Absent,
        SetupOutcome::Unknown(reason) => Outcome::Unknown(reason),
    }
}

/// A card intent that the provider refuses to open can never be paid: nobody has its secret. An answer that was not seen may hide one.
#[must_use]
pub fn not_opened(error: RailError) -> Outcome {
    match error {
        RailError::Unreachable(_) => Outcome::Unknown(error.to_string()),
        RailError::Rejected(message) => Outcome::Refused(Refusal { code: "not_opened".to_owned(), message }),
        // The payer reads this; what the network said about the store's settings is its owner's.
        RailError::Misconfigured(_) => {
            Outcome::Refused(Refusal { code: "not_opened".to_owned(), message: "Sorry, something went wrong.".to_owned() })
        }
    }
}

/// Keeps the provider's names of an attempt, so that the next question can use them.
async fn named(ctx: &Context, attempt: &Attempt, provider_id: &str, client_secret: &str, outcome: Outcome) -> Outcome {
    match remember(ctx, attempt, provider_id, client_secret).await {
        Ok(()) => outcome,
        Err(error) => Outcome::Unknown(error.to_string()),
    }
}

async fn remember(ctx: &Context, attempt: &Attempt, provider_id: &str, client_secret: &str) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    unit.attempts().name_card(&attempt.id, provider_id, client_secret, ctx.now()).await?;
    unit.commit().await
}
