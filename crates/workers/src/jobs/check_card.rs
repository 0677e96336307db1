//! Queries a card network for the state of a payment, dispute or refund. Payload: `method`, and one of `payment`, `failure`, `dispute`,
//! `refund`.

use super::Jobs;
use souk_domain::billing::{self, CardCheckError, DisputeError, NoteError, PostingError, ProviderRefundError};
use souk_domain::events::{Job, JobError};
use souk_domain::payment::{RailError, SANDBOX_PAUSE, SettlementError};
use souk_domain::shared::MethodId;

pub async fn run(jobs: &Jobs, job: &Job) -> Result<(), JobError> {
    let method = MethodId::parse(job.value("method")?).map_err(|error| JobError::Fail(error.to_string()))?;
    let hint = billing::card_hint_of(&job.payload).ok_or_else(|| JobError::Fail("the message names no object".to_owned()))?;
    match billing::check_card_hint(&jobs.ctx, &method, &hint).await {
        Ok(()) => Ok(()),
        // The payment belongs to another store that uses the same processor account.
        Err(CardCheckError::Dispute(DisputeError::UnknownPayment) | CardCheckError::Refund(ProviderRefundError::UnknownPayment)) => Ok(()),
        // Hints of the sandbox are kept while it is off.
        Err(CardCheckError::Rail(RailError::SandboxOff(_)) | CardCheckError::Reversal(SettlementError::Rail(RailError::SandboxOff(_)))) => {
            Err(JobError::Later(jobs.ctx.now().plus(SANDBOX_PAUSE)))
        }
        Err(error) => Err(job_error(&error)),
    }
}

/// Retries if the network is unreachable, the payment is still undecided, or the database is busy.
fn job_error(error: &CardCheckError) -> JobError {
    let is_transient = match error {
        CardCheckError::Rail(RailError::Unreachable(_))
        | CardCheckError::Storage(_)
        | CardCheckError::Dispute(DisputeError::Undecided)
        | CardCheckError::Refund(ProviderRefundError::Undecided) => true,
        CardCheckError::Dispute(DisputeError::Note(error)) | CardCheckError::Refund(ProviderRefundError::Note(error)) => {
            matches!(error, NoteError::Posting(PostingError::Contended | PostingError::Storage(_)))
        }
        CardCheckError::Dispute(DisputeError::Settlement(error)) | CardCheckError::Refund(ProviderRefundError::Settlement(error)) => {
            matches!(error, SettlementError::Rail(_))
        }
        CardCheckError::Reversal(error) => {
            matches!(error, SettlementError::Rail(_) | SettlementError::Contended | SettlementError::Storage(_))
        }
        CardCheckError::NoCardNetwork
        | CardCheckError::Rail(_)
        | CardCheckError::Dispute(DisputeError::UnknownPayment | DisputeError::OtherCurrency { .. })
        | CardCheckError::Refund(ProviderRefundError::UnknownPayment | ProviderRefundError::OtherCurrency { .. }) => false,
    };
    if is_transient { JobError::Retry(error.to_string()) } else { JobError::Fail(error.to_string()) }
}
