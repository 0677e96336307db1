//! The daily caps on what owners, administrators and API keys refund and pay out: a stolen login or key, or a mistake, cannot empty the store.

use super::SendRefundError;
use super::refund::RefundAttempt;
use crate::billing::{CapExceeded, PostingError, publish_charges};
use crate::context::Context;
use crate::payment::Currency;
use crate::shared::{Amount, CurrencyId, Mode, PaymentIntentId};
use crate::storage::UnitOfWork;
use std::collections::BTreeMap;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
/// The time over which refunds and payouts are added up.
const DAY: Duration = HOUR.saturating_mul(24);
/// Without a configured cap, no more leaves the store in a day than it received in this time.
const RECEIPTS: Duration = DAY.saturating_mul(30);
/// The most payments of that time that are added up, so that checking a refund takes bounded time.
const MAX_RECEIPTS: u32 = 10_000;
/// The subject of the lock that orders refunds under a cap.
const CAP: &str = "refund-cap";

/// Who ordered a refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderedBy {
    /// An owner, an administrator or an API key: the daily cap applies.
    Store,
    /// The engine, or a customer whose own order returns a payment. It counts towards the cap and is never refused.
    Engine,
}

/// Publishes the attempts that send refunds, after it has checked the cap of each of their currencies. Call it last before the commit: it
/// waits for other orders, so that two at once cannot exceed a cap together.
///
/// # Errors
/// [`SendRefundError::CapExceeded`] if the refunds and payouts of the last 24 hours exceed a cap.
pub(crate) async fn publish_refunds(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    by: OrderedBy,
    refunds: &[RefundAttempt],
) -> Result<(), SendRefundError> {
    let ids: Vec<_> = refunds.iter().map(|refund| refund.id.clone()).collect();
    publish_charges(ctx, unit, &ids).await?;
    if by == OrderedBy::Engine {
        return Ok(());
    }
    let mut ordered: BTreeMap<&CurrencyId, Vec<&RefundAttempt>> = BTreeMap::new();
    for refund in refunds {
        ordered.entry(&refund.currency_id).or_default().push(refund);
    }
    for (currency, refunds) in ordered {
        let sum = Amount::sum(refunds.iter().map(|refund| refund.amount)).map_err(PostingError::from)?;
        // A currency belongs to one mode.
        if let Some(refund) = refunds.first().filter(|_| !sum.is_zero()) {
            check_daily_cap(ctx, unit, refund.mode, currency, sum).await?;
        }
    }
    Ok(())
}

/// Checks the cap of a currency, after refunds of `ordered` in sum were written in this unit of work.
async fn check_daily_cap(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mode: Mode,
    currency: &CurrencyId,
    ordered: Amount,
) -> Result<(), SendRefundError> {
    let currency = unit.methods().find_currency(currency).await?.ok_or(PostingError::Orphan)?;
    unit.lock(CAP).await?;
    let sent = unit.refunds().amounts_since(mode, &currency.id, ctx.now().minus(DAY)).await?;
    let sent = Amount::sum(sent).map_err(PostingError::from)?;
    let (cap, is_default) = match configured_cap(ctx, &currency) {
        Some(DailyCap::Unlimited) => return Ok(()),
        Some(DailyCap::Of(cap)) => (cap, false),
        None => (received(ctx, unit, mode, &currency.id).await?, true),
    };
    // Without a configured cap, an order is accepted if nothing else was sent: a quiet store can return an old payment.
    let is_only = sent == ordered;
    if sent <= cap || is_default && is_only {
        return Ok(());
    }
    let left = cap.minus(sent.minus(ordered).unwrap_or_default()).unwrap_or_default();
    let exceeded = CapExceeded { cap, left, symbol: currency.symbol, decimals: currency.decimals };
    Err(SendRefundError::CapExceeded(Box::new(exceeded)))
}

/// What the store received in a currency recently.
async fn received(ctx: &Context, unit: &mut dyn UnitOfWork, mode: Mode, currency: &CurrencyId) -> Result<Amount, PostingError> {
    // Ids begin with the time of creation. `created_at` does not serve: it can be the time of a test clock.
    let first = PaymentIntentId::first_at(ctx.now().minus(RECEIPTS));
    Ok(Amount::sum(unit.intents().received_since(mode, currency, &first, MAX_RECEIPTS).await?)?)
}

/// The cap of a currency, if the server's options name one.
enum DailyCap {
    Of(Amount),
    /// The option is larger than any amount.
    Unlimited,
}

fn configured_cap(ctx: &Context, currency: &Currency) -> Option<DailyCap> {
    let units = ctx.policy.daily_caps.get(&currency.symbol)?;
    let amount = Amount::parse_decimal(&units.to_string(), currency.decimals, currency.decimals);
    Some(amount.map_or(DailyCap::Unlimited, DailyCap::Of))
}
