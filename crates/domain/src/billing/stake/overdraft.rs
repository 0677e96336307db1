//! Overdraft protection: a stake pays renewals that could not be charged, for a fee. It is not used if the customer pays within the grace
//! period.

use super::overdue::{OverdueInvoices, is_paying, overdue_of_subscription};
use super::place::Placement;
use super::release::{ReleaseTime, release_if_unused};
use super::transfer::{StakeTransfer, transfer};
use super::{ReleaseReason, STAKE_RETRY_DELAY, Stake, StakeKey, StakePurpose, StakeSubject, retry_delay};
use crate::access::Wallet;
use crate::billing::clock::time_of_customer;
use crate::billing::invoice::{Finalization, finalize_all, plan_payments};
use crate::billing::payment_target::{PaymentTarget, send, target};
use crate::billing::subscription_admin::{load, lock, save};
use crate::billing::subscription_error::{convert_payment_errors, convert_subscription_errors};
use crate::billing::{
    BillTo, BillingError, BillingPolicy, BillingReason, Invoice, InvoiceFilter, InvoiceItem, InvoiceStatus, PaymentTargetError,
    PricingFormula, Subscription, SubscriptionError, time_of,
};
use crate::context::Context;
use crate::payment::{Currency, Description, PlannedPayment, PreparedStake, Purpose, WalletSignature};
use crate::shared::{Amount, AmountError, AttemptId, InvoiceId, InvoiceItemId, Page, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;

/// The number of invoices among which the most expensive renewal is searched.
const RECENT_INVOICES: u32 = 24;
/// Basis points in a whole.
const BASIS_POINTS: u128 = 10_000;

impl BillingPolicy {
    /// The fee for an overdraft: a share of the paid amount, rounded up to a base unit.
    pub fn overdraft_fee(&self, paid: Amount) -> Result<Amount, AmountError> {
        let points = Amount::new(u128::from(self.overdraft_fee_points).min(BASIS_POINTS));
        let fee = paid.times_ratio(points, Amount::new(BASIS_POINTS))?;
        if fee.remainder.is_zero() { Ok(fee.floor) } else { fee.floor.plus(Amount::new(1)) }
    }
}

/// The invoices that an overdraft pays.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Overdraft {
    planned: Vec<PlannedPayment>,
    amount: Amount,
}

/// Plans an overdraft: full invoices only, oldest first, as long as the stake covers them and their fee. A partial payment would not keep a
/// subscription running. No fee is charged on earlier fees.
fn plan_overdraft(policy: &BillingPolicy, available: Amount, overdue: &OverdueInvoices) -> Result<Overdraft, AmountError> {
    let mut overdraft = Overdraft { planned: Vec::new(), amount: Amount::ZERO };
    let mut charged = Amount::ZERO;
    for planned in &overdue.invoices {
        let amount = overdraft.amount.plus(planned.amount)?;
        let is_fee = overdue.fees.contains(&planned.invoice_id);
        let charged_with_this = if is_fee { charged } else { charged.plus(planned.amount)? };
        if amount.plus(policy.overdraft_fee(charged_with_this)?)? > available {
            break;
        }
        (overdraft.amount, charged) = (amount, charged_with_this);
        overdraft.planned.push(planned.clone());
    }
    Ok(overdraft)
}

/// The minimum stake: the price of one cycle and its fee.
fn minimum_stake(policy: &BillingPolicy, cycle: Amount) -> Result<Amount, AmountError> {
    cycle.plus(policy.overdraft_fee(cycle)?)
}

/// Why the overdraft protection cannot be read, switched on or topped up.
#[derive(Debug, thiserror::Error)]
pub enum OverdraftError {
    #[error("This subscription has no deposit that can be returned or forfeited")]
    NoStake,
    #[error("The deposit is lower than this amount")]
    StakeTooSmall,
    #[error(transparent)]
    Payment(#[from] PaymentTargetError),
}

convert_payment_errors!(OverdraftError::Payment);

/// Why the overdraft protection cannot be switched off.
#[derive(Debug, thiserror::Error)]
pub enum EndOverdraftError {
    #[error("This subscription has no deposit that can be returned or forfeited")]
    NoStake,
    #[error("Please pay your overdue invoices first")]
    UnpaidInvoices,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(EndOverdraftError::Subscription);

/// The overdraft protection of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverdraftProtection {
    /// `None`: the protection is off.
    pub stake: Option<Stake>,
    pub currency: Currency,
    /// The minimum stake: the price of one cycle and its fee.
    pub required: Amount,
    /// The fee of one cycle.
    pub fee: Amount,
    /// Whether the stake covers the next renewal.
    pub is_sufficient: bool,
}

/// Reads the overdraft protection of a subscription.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn overdraft_protection(ctx: &Context, id: &SubscriptionId) -> Result<OverdraftProtection, OverdraftError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    let target = target(unit.as_mut(), id, None, &subscription.currency_id).await?;
    if target.method.kind.is_card() {
        return Err(PaymentTargetError::MethodNotSupported.into());
    }
    let cycle = cycle_of(unit.as_mut(), &target).await?;
    let stake = match &subscription.overdraft_stake_id {
        Some(stake) => unit.stakes().find(stake).await?.filter(|stake| !stake.is_final()),
        None => None,
    };
    let (required, fee) = (minimum_stake(&ctx.policy, cycle)?, ctx.policy.overdraft_fee(cycle)?);
    let is_sufficient = stake.as_ref().is_some_and(|stake| stake.is_held() && stake.available() >= required);
    Ok(OverdraftProtection { stake, currency: target.currency, required, fee, is_sufficient })
}

/// The price of one cycle of the subscription: of its items, or of its most expensive recent renewal if that was more, since the price of
/// a metered item depends on its usage.
async fn cycle_of(unit: &mut dyn UnitOfWork, target: &PaymentTarget) -> Result<Amount, OverdraftError> {
    let items = &target.subscription.items;
    let ids: Vec<_> = items.iter().map(|item| item.price_id.clone()).collect();
    let prices = unit.prices().find_all(&ids).await?;
    let mut cycle = Amount::ZERO;
    for item in items {
        let pricing = prices.iter().find(|price| price.id == item.price_id).and_then(|price| price.pricing_in(&target.currency.id));
        cycle = cycle.plus(pricing.ok_or(SubscriptionError::CurrencyNotConfigured)?.amount_for(item.quantity)?)?;
    }
    let filter = InvoiceFilter {
        subscription_id: Some(target.subscription.id.clone()),
        currency_id: Some(target.currency.id.clone()),
        ..InvoiceFilter::default()
    };
    let recent = unit.invoices().list(target.subscription.mode, &filter, &Page::new(None, Some(RECENT_INVOICES))).await?.list;
    let renewals = recent.iter().filter(|invoice| invoice.reason == BillingReason::SubscriptionCycle);
    Ok(renewals.map(|invoice| invoice.total).fold(cycle, Amount::max))
}

/// The payment that switches the protection on or tops it up. `amount`: `None` for the missing amount.
async fn placement(ctx: &Context, id: &SubscriptionId, payer: &Wallet, amount: Option<Amount>) -> Result<Placement, OverdraftError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    let target = target(unit.as_mut(), id, None, &subscription.currency_id).await?;
    if target.method.kind.is_card() || ctx.networks.wallet(target.method.kind).is_none() {
        return Err(PaymentTargetError::MethodNotSupported.into());
    }
    let required = minimum_stake(&ctx.policy, cycle_of(unit.as_mut(), &target).await?)?;
    let key = StakeKey {
        subject: StakeSubject::Subscription(id.clone()),
        purpose: StakePurpose::Overdraft,
        payer: payer.did.clone(),
        currency_id: target.currency.id.clone(),
    };
    let held = unit.stakes().find_open(&key).await?.filter(Stake::is_held).map_or(Amount::ZERO, |stake| stake.available());
    let missing = required.minus(held).unwrap_or_default();
    let amount = amount.unwrap_or(missing);
    if amount.is_zero() {
        return Err(OverdraftError::NoStake);
    }
    if amount < missing {
        return Err(OverdraftError::StakeTooSmall);
    }
    Ok(Placement { target, key, amount })
}

/// Builds the payment that switches the protection on or tops it up. The same nonce builds the same transaction.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn prepare_overdraft_stake(
    ctx: &Context,
    id: &SubscriptionId,
    amount: Option<Amount>,
    payer: &Wallet,
    nonce: u64,
) -> Result<PreparedStake, OverdraftError> {
    Ok(placement(ctx, id, payer, amount).await?.prepare(ctx, payer, nonce).await?)
}

/// Checks and sends the signed payment, and returns its transaction hash. The protection is on once it settles.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn submit_signed_overdraft_stake(
    ctx: &Context,
    id: &SubscriptionId,
    amount: Option<Amount>,
    signature: WalletSignature<'_>,
) -> Result<String, OverdraftError> {
    let WalletSignature { payer, nonce, signed, .. } = signature;
    let placement = placement(ctx, id, payer, amount).await?;
    let rail = ctx.networks.wallet(placement.target.method.kind).ok_or(PaymentTargetError::MethodNotSupported)?;
    let mut unit = ctx.store.begin().await?;
    let stake = placement.lock(unit.as_mut()).await?;
    let Placement { target, amount, .. } = &placement;
    let signed = rail.check_stake(&target.method, &target.currency, &placement.request(&stake, payer, nonce), signed)?;
    Ok(send(ctx, unit, target, Purpose::Stake(stake.id), *amount, &signature, signed).await?)
}

/// Switches the protection off and releases its stake at once.
///
/// # Errors
/// [`SubscriptionError::PaymentInFlight`] while the stake moves or a payment of the subscription is in flight;
/// [`EndOverdraftError::UnpaidInvoices`] while an invoice is overdue.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn end_overdraft_protection(ctx: &Context, id: &SubscriptionId) -> Result<(), EndOverdraftError> {
    let mut unit = ctx.store.begin().await?;
    let mut subscription = lock(unit.as_mut(), id).await?;
    let stake = subscription.overdraft_stake_id.take().ok_or(EndOverdraftError::NoStake)?;
    let stake = unit.stakes().lock(&stake).await?.ok_or(SubscriptionError::NotFound)?;
    if stake.reservation.is_some() || is_paying(unit.as_mut(), &subscription).await? {
        return Err(SubscriptionError::PaymentInFlight.into());
    }
    if !overdue_of_subscription(unit.as_mut(), &stake, &subscription).await?.invoices.is_empty() {
        return Err(EndOverdraftError::UnpaidInvoices);
    }
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    subscription.overdraft_at = None;
    subscription.updated_at = now;
    save(unit.as_mut(), &subscription).await?;
    release_if_unused(unit.as_mut(), &stake, ReleaseReason::Requested, ReleaseTime::Now, now).await?;
    unit.commit().await?;
    Ok(())
}

/// Pays a subscription's overdue invoices from its overdraft stake once the grace period is over. The caller holds the subscription's lock
/// and writes it. Returns the attempt to send.
pub(in crate::billing) async fn pay_by_overdraft(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &mut Subscription,
    now: Timestamp,
) -> Result<Option<AttemptId>, BillingError> {
    subscription.overdraft_at = None;
    subscription.updated_at = now;
    let Some(id) = &subscription.overdraft_stake_id else { return Ok(None) };
    let Some(stake) = unit.stakes().lock(id).await?.filter(Stake::is_held) else { return Ok(None) };
    let overdue = overdue_of_subscription(unit, &stake, subscription).await?;
    if overdue.is_in_flight || stake.reservation.is_some() {
        // The payment in flight may settle the overdue invoices.
        subscription.overdraft_at = Some(now.plus(STAKE_RETRY_DELAY));
        return Ok(None);
    }
    let Overdraft { planned, amount } = plan_overdraft(&ctx.policy, stake.available(), &overdue)?;
    transfer(ctx, unit, &stake, StakeTransfer::paying(amount, planned), now).await
}

/// Schedules another try after the network declined an overdraft. Call before locking the stake, since subscriptions are locked first.
pub(super) async fn reschedule_overdraft(ctx: &Context, unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<(), BillingError> {
    let Some(subject) = stake.subject.subscription() else { return Ok(()) };
    let Some(mut subscription) = unit.subscriptions().lock(subject).await? else { return Ok(()) };
    if subscription.overdraft_stake_id.as_ref() != Some(&stake.id) || subscription.ended_at.is_some() {
        return Ok(());
    }
    let now = time_of_customer(ctx, unit, &stake.customer_id).await?;
    subscription.overdraft_at = Some(now.plus(retry_delay(stake.failure_count)));
    subscription.updated_at = now;
    match unit.subscriptions().update(&subscription).await? {
        true => Ok(()),
        false => Err(BillingError::Contended),
    }
}

/// Writes the fee invoice for an overdraft that has paid `paid`, and the attempt that pays the fee from the stake. The caller has locked
/// the subscription and the stake.
pub(super) async fn charge_fee(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    paid: Amount,
    now: Timestamp,
) -> Result<Option<AttemptId>, BillingError> {
    // The plan left room for the fee. If another forfeit took part of it meanwhile, the store waives the difference.
    let fee = ctx.policy.overdraft_fee(paid)?.min(stake.available());
    let Some(subject) = stake.subject.subscription().filter(|_| !fee.is_zero()) else { return Ok(None) };
    let Some(subscription) = unit.subscriptions().find(subject).await? else { return Ok(None) };
    let invoice = fee_invoice(ctx, unit, stake, &subscription, fee, now).await?;
    let planned = plan_payments(std::slice::from_ref(&invoice));
    transfer(ctx, unit, stake, StakeTransfer::paying(fee, planned), now).await
}

async fn fee_invoice(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    subscription: &Subscription,
    fee: Amount,
    now: Timestamp,
) -> Result<Invoice, BillingError> {
    let customer = unit.customers().find(&stake.customer_id).await?.ok_or(BillingError::Orphan)?;
    let invoice = Invoice {
        id: InvoiceId::new(ctx.now(), ctx.random.as_ref()),
        mode: stake.mode,
        number: None,
        status: InvoiceStatus::Draft,
        reason: BillingReason::OverdraftProtection,
        description: Description::OverdraftFee,
        bill_to: BillTo::of(&customer),
        customer_id: customer.id,
        currency_id: stake.currency_id.clone(),
        method_id: stake.method_id.clone(),
        session_id: None,
        subscription_id: Some(subscription.id.clone()),
        period: None,
        intent_id: None,
        reference: None,
        total: fee,
        amount_paid: Amount::ZERO,
        amount_credited: Amount::ZERO,
        failure_count: 0,
        retry_at: None,
        clock_id: subscription.clock_id.clone(),
        created_at: now,
        finalized_at: None,
        paid_at: None,
        updated_at: now,
    };
    let item = InvoiceItem {
        id: InvoiceItemId::new(ctx.now(), ctx.random.as_ref()),
        invoice_id: invoice.id.clone(),
        subscription_item_id: None,
        price_id: None,
        description: Description::OverdraftFee,
        quantity: 1,
        unit_amount: fee,
        amount: fee,
        credited: Amount::ZERO,
        period: None,
        covers_until: None,
        pricing_formula: PricingFormula::Flat { amount: fee },
    };
    let finalization = Finalization::new(invoice, vec![item], Amount::ZERO, now)?;
    finalize_all(ctx, unit, vec![finalization]).await?.pop().ok_or(BillingError::Orphan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policy(points: u32) -> BillingPolicy {
        BillingPolicy { overdraft_fee_points: points, ..BillingPolicy::default() }
    }

    fn unpaid(amounts: &[u128]) -> OverdueInvoices {
        let planned = |(place, amount): (usize, &u128)| PlannedPayment {
            invoice_id: InvoiceId::parse(&format!("in_{place}")).expect("an id"),
            amount: Amount::new(*amount),
        };
        OverdueInvoices { invoices: amounts.iter().enumerate().map(planned).collect(), ..OverdueInvoices::default() }
    }

    #[test]
    fn the_fee_is_a_share_of_what_was_paid_rounded_up() {
        let fee = |points, paid| policy(points).overdraft_fee(Amount::new(paid)).map(Amount::base_units);
        assert_eq!(fee(500, 1_000), Ok(50));
        assert_eq!(fee(500, 1_001), Ok(51));
        assert_eq!(fee(500, 1), Ok(1));
        assert_eq!(fee(0, 1_000), Ok(0));
        assert_eq!(fee(20_000, 1_000), Ok(1_000), "at most the invoice's amount");
    }

    #[test]
    fn an_overdraft_pays_whole_invoices_with_their_fee_oldest_first() {
        let paid = |available, owed: &[u128]| {
            plan_overdraft(&policy(1_000), Amount::new(available), &unpaid(owed)).map(|one| (one.planned.len(), one.amount.base_units()))
        };
        assert_eq!(paid(110, &[100]), Ok((1, 100)));
        assert_eq!(paid(109, &[100]), Ok((0, 0)), "the fee would not be covered");
        assert_eq!(paid(200, &[100, 90]), Ok((1, 100)), "no part of an invoice is paid");
        assert_eq!(paid(209, &[100, 90]), Ok((2, 190)));
        assert_eq!(paid(1_000, &[]), Ok((0, 0)));
        let fees = vec![InvoiceId::parse("in_0").expect("an id")];
        let fee = plan_overdraft(&policy(1_000), Amount::new(10), &OverdueInvoices { fees, ..unpaid(&[10]) }).expect("in range");
        assert_eq!(fee.amount, Amount::new(10), "no fee is charged for a fee");
    }

    #[test]
    fn the_minimum_stake_pays_one_cycle() {
        for cycle in [1, 7, 100, 12_345] {
            let policy = policy(333);
            let minimum = minimum_stake(&policy, Amount::new(cycle)).expect("in range");
            assert_eq!(plan_overdraft(&policy, minimum, &unpaid(&[cycle])).expect("in range").amount, Amount::new(cycle));
        }
    }

    proptest! {
        #[test]
        fn an_overdraft_and_its_fee_never_exceed_the_stake(points in 0u32..20_000, available in 0u128..5_000, owed in prop::collection::vec(1u128..900, 0..8)) {
            let policy = policy(points);
            let Overdraft { planned, amount } = plan_overdraft(&policy, Amount::new(available), &unpaid(&owed)).expect("in range");
            prop_assert_eq!(Amount::sum(planned.iter().map(|one| one.amount)), Ok(amount));
            let fee = policy.overdraft_fee(amount).expect("in range");
            prop_assert!(amount.is_zero() || amount.plus(fee).expect("in range") <= Amount::new(available));
        }
    }
}
