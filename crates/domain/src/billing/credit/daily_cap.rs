//! The daily caps on what owners, administrators and API keys refund and pay out: a stolen login or key, or a mistake, cannot empty the store.

use super::SendRefundError;
use crate::billing::{CapExceeded, PostingError};
use crate::context::Context;
use crate::payment::{Currency, Refund};
use crate::shared::{Amount, CurrencyId, Mode, RefundId};
use crate::storage::UnitOfWork;
use std::time::Duration;

/// The time over which refunds and payouts are added up.
const DAY: Duration = Duration::from_secs(24 * 3_600);
/// The subject of the lock that orders refunds under a cap.
const CAP: &str = "refund-cap";

/// Checks the cap of a currency, after refunds of `ordered` in sum were inserted in this unit of work. Call it last before the commit: it
/// waits for other orders, so that two at once cannot exceed the cap together.
///
/// # Errors
/// [`SendRefundError::CapExceeded`] if the refunds and payouts of the last 24 hours exceed the cap.
pub(in crate::billing) async fn check_daily_cap(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mode: Mode,
    currency: &CurrencyId,
    ordered: Amount,
) -> Result<(), SendRefundError> {
    if ctx.policy.daily_caps.is_empty() || ordered.is_zero() {
        return Ok(());
    }
    let currency = unit.methods().find_currency(currency).await?.ok_or(PostingError::Orphan)?;
    let Some(cap) = cap_of(ctx, &currency) else { return Ok(()) };
    unit.lock(CAP).await?;
    // Ids begin with the time of creation. `created_at` does not serve: it can be the time of a test clock.
    let sent = unit.refunds().amounts_since(mode, &currency.id, &RefundId::first_at(ctx.now().minus(DAY))).await?;
    let sent = sum_of(sent)?;
    if sent <= cap {
        return Ok(());
    }
    let left = cap.minus(sent.minus(ordered).unwrap_or_default()).unwrap_or_default();
    let exceeded = CapExceeded { cap, left, symbol: currency.symbol, decimals: currency.decimals };
    Err(SendRefundError::CapExceeded(Box::new(exceeded)))
}

fn sum_of(amounts: Vec<Amount>) -> Result<Amount, PostingError> {
    Ok(Amount::sum(amounts)?)
}

/// The sum of ordered refunds.
pub(super) fn ordered(refunds: &[Refund]) -> Result<Amount, PostingError> {
    sum_of(refunds.iter().map(|refund| refund.amount).collect())
}

/// The cap of a currency in base units; `None`: it has none. A cap too large for an amount is none.
fn cap_of(ctx: &Context, currency: &Currency) -> Option<Amount> {
    let units = ctx.policy.daily_caps.get(&currency.symbol)?;
    Amount::parse_decimal(&units.to_string(), currency.decimals, currency.decimals).ok()
}
