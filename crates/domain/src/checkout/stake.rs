//! The security stake that a checkout requires from a wallet.

use super::{Session, SubmitError};
use crate::access::Did;
use crate::billing::{
    BillingError, RequestedStake, STAKE_WAITING_DAYS, Stake, StakeKey, StakePurpose, StakeStatus, StakeSubject, abandon_stake,
};
use crate::context::Context;
use crate::payment::Currency;
use crate::shared::{Amount, StakeId, StorageError, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;

/// What a submit does with the session's stake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StakePlan {
    /// No stake is required.
    Nothing,
    /// Keeps the known stake, with this amount.
    Keep(Amount),
    Place(Amount),
}

/// Plans the stake of a session. A held stake counts if it suffices, or if the same wallet can add to it.
pub(super) fn plan_stake(known: Option<&Stake>, amount: Amount, currency: &Currency, payer: &Did) -> StakePlan {
    let is_usable = |known: &&Stake| {
        let is_same_currency = known.currency_id == currency.id;
        let is_open = matches!(known.status, StakeStatus::Pending | StakeStatus::Held);
        is_same_currency && is_open && (known.payer == *payer || (known.is_held() && known.remaining() >= amount))
    };
    match known.filter(is_usable) {
        Some(known) if amount.is_zero() && !known.is_held() => StakePlan::Nothing,
        Some(known) => StakePlan::Keep(amount.max(known.remaining())),
        None if amount.is_zero() => StakePlan::Nothing,
        None => StakePlan::Place(amount),
    }
}

/// The stake that a session names.
pub(super) async fn stake_of(unit: &mut dyn UnitOfWork, session: &Session) -> Result<Option<Stake>, StorageError> {
    match &session.stake_id {
        Some(id) => unit.stakes().find(id).await,
        None => Ok(None),
    }
}

/// Whether a payment into the stake is still missing.
pub(super) fn lacks_stake(stake: Option<&Stake>) -> bool {
    stake.is_some_and(|stake| !stake.missing().is_zero())
}

/// Other errors mean that the stake changed after it was read, so the submit is retried.
impl From<BillingError> for SubmitError {
    fn from(error: BillingError) -> Self {
        match error {
            BillingError::Amount(error) => Self::Amount(error),
            BillingError::Rail(error) => Self::Rail(error),
            BillingError::Storage(error) => Self::Storage(error),
            _ => Self::Storage(StorageError::Conflict),
        }
    }
}

/// Assigns the stake to the session. The caller writes the session, before the stake.
pub(super) fn assign_stake(ctx: &Context, session: &mut Session, known: Option<&Stake>, plan: &StakePlan, now: Timestamp) {
    if matches!(plan, StakePlan::Keep(_)) {
        return;
    }
    if known.is_some_and(Stake::is_held)
        && let Some(first) = session.subscription_ids.first_mut()
    {
        // A new stake needs a new subject: the stake that is being released keeps the old one.
        *first = SubscriptionId::new(now, ctx.random.as_ref());
    }
    let is_placed = matches!(plan, StakePlan::Place(_)) && !session.subscription_ids.is_empty();
    session.stake_id = is_placed.then(|| StakeId::new(now, ctx.random.as_ref()));
}

/// Writes the session's stake, and releases a known stake that is not kept. One into which nothing was paid is deleted.
pub(super) async fn write_stake(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: &Session,
    known: Option<&Stake>,
    plan: &StakePlan,
    now: Timestamp,
) -> Result<(), SubmitError> {
    if let (Some(known), StakePlan::Keep(amount)) = (known, plan) {
        let locked = unit
            .stakes()
            .lock(&known.id)
            .await?
            .filter(|locked| Stake { checked_at: known.checked_at, ..locked.clone() } == *known)
            .ok_or(StorageError::Conflict)?;
        let after = Stake { amount_requested: *amount, updated_at: now, ..locked.clone() };
        if locked.amount_requested != *amount && !unit.stakes().update(&locked, &after).await? {
            return Err(StorageError::Conflict.into());
        }
        return Ok(());
    }
    if let Some(known) = known {
        abandon_stake(ctx, unit, &known.id).await?;
        unit.stakes().delete_unused(&known.id).await?;
    }
    let (StakePlan::Place(amount), Some(id), Some(subject)) = (plan, &session.stake_id, session.subscription_ids.first()) else {
        return Ok(());
    };
    let (Some(customer_id), Some(method_id), Some(payer)) = (&session.customer_id, &session.method_id, &session.payer) else {
        return Ok(());
    };
    let key = StakeKey {
        subject: StakeSubject::Subscription(subject.clone()),
        purpose: StakePurpose::Security,
        payer: payer.clone(),
        currency_id: session.currency_id.clone(),
    };
    let requested =
        RequestedStake { mode: session.mode, customer_id, method_id, key: &key, waiting_days: STAKE_WAITING_DAYS, amount: *amount };
    unit.stakes().insert(&requested.pending(id.clone(), None, now)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::{CurrencyId, CustomerId, MethodId, Mode};

    fn currency() -> Currency {
        let at = Timestamp::from_seconds(0);
        Currency {
            id: CurrencyId::parse("pc_1").expect("an id"),
            method_id: MethodId::parse("pm_1").expect("an id"),
            mode: Mode::Test,
            active: true,
            name: "Token".to_owned(),
            symbol: "TOK".to_owned(),
            logo: String::new(),
            decimals: 2,
            maximum_precision: 2,
            contract: String::new(),
            is_base: true,
            created_at: at,
            updated_at: at,
        }
    }

    fn stake(status: StakeStatus, amount: u128, payer: &str, currency: &str) -> Stake {
        let key = StakeKey {
            subject: StakeSubject::parse("sub_1").expect("a subject"),
            purpose: StakePurpose::Security,
            payer: Did::from_verified(payer),
            currency_id: CurrencyId::parse(currency).expect("an id"),
        };
        let requested = RequestedStake {
            mode: Mode::Test,
            customer_id: &CustomerId::parse("cus_1").expect("an id"),
            method_id: &MethodId::parse("pm_1").expect("an id"),
            key: &key,
            waiting_days: STAKE_WAITING_DAYS,
            amount: Amount::new(100),
        };
        let pending = requested.pending(StakeId::parse("stk_1").expect("an id"), None, Timestamp::from_seconds(0));
        Stake { status, amount: Amount::new(amount), ..pending }
    }

    #[test]
    fn a_held_stake_counts_if_it_suffices_or_can_be_increased() {
        use StakeStatus as S;
        let currency = currency();
        let payer = Did::from_verified("z1");
        let plan = |known: Option<&Stake>, amount| plan_stake(known, Amount::new(amount), &currency, &payer);
        assert_eq!(plan(None, 0), StakePlan::Nothing);
        assert_eq!(plan(None, 50), StakePlan::Place(Amount::new(50)));
        assert_eq!(plan(Some(&stake(S::Pending, 0, "z1", "pc_1")), 50), StakePlan::Keep(Amount::new(50)));
        assert_eq!(plan(Some(&stake(S::Pending, 0, "z1", "pc_1")), 0), StakePlan::Nothing);
        assert_eq!(plan(Some(&stake(S::Held, 80, "z1", "pc_1")), 50), StakePlan::Keep(Amount::new(80)), "the order is smaller now");
        assert_eq!(plan(Some(&stake(S::Held, 80, "z1", "pc_1")), 0), StakePlan::Keep(Amount::new(80)));
        assert_eq!(plan(Some(&stake(S::Held, 80, "z2", "pc_1")), 50), StakePlan::Keep(Amount::new(80)), "another wallet's stake suffices");
        assert_eq!(plan(Some(&stake(S::Held, 80, "z2", "pc_1")), 90), StakePlan::Place(Amount::new(90)), "another wallet cannot add to it");
        assert_eq!(plan(Some(&stake(S::Held, 80, "z1", "pc_2")), 50), StakePlan::Place(Amount::new(50)));
        assert_eq!(plan(Some(&stake(S::Releasing, 80, "z1", "pc_1")), 50), StakePlan::Place(Amount::new(50)));
    }
}
