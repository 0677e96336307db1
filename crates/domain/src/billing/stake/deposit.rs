//! Deposits for something other than a subscription: a wallet places each in a connect session of its own.

use super::place::{PENDING_LIFETIME, check_former};
use super::{RequestedStake, Stake, StakeKey, StakeStatus, Unneeded};
use crate::access::{User, Wallet};
use crate::billing::clock::time_of_customer;
use crate::billing::payment_target::send_signed;
use crate::billing::subscription_error::convert_payment_errors;
use crate::billing::{PaymentTargetError, SubscriptionError};
use crate::context::Context;
use crate::customer::Customer;
use crate::payment::{Currency, Method, MethodAmount, PreparedStake, Purpose, RailError, StakeRequest, WalletSignature};
use crate::pricing::ProductNames;
use crate::shared::{Amount, CustomerId, StakeId, StorageError, Timestamp};
use crate::storage::UnitOfWork;

/// A deposit that a user is asked to place.
#[derive(Debug, Clone)]
pub struct DepositOrder {
    pub key: StakeKey,
    /// The user, who pays with their own wallet.
    pub user: User,
    pub method: Method,
    pub currency: Currency,
    /// The amount that the network must hold.
    pub required: Amount,
    /// For how many days the payer waits for its return. A deposit that was paid in part keeps its own.
    pub waiting_days: u32,
    /// What it is for.
    pub description: ProductNames,
}

/// Why a deposit cannot be placed.
#[derive(Debug, thiserror::Error)]
pub enum DepositError {
    #[error("This deposit has been paid already")]
    Placed,
    /// Another payment into it would be returned or forfeited as well.
    #[error("Your former deposit is still on its way back. Please try again once it has been returned.")]
    Returning,
    #[error(transparent)]
    Payment(#[from] PaymentTargetError),
}

convert_payment_errors!(DepositError::Payment);

impl DepositOrder {
    /// The payment that a stake lacks.
    ///
    /// # Errors
    /// It lacks none, or is being moved.
    fn missing(&self, stake: &Stake) -> Result<Amount, DepositError> {
        if stake.is_going_back() {
            return Err(DepositError::Returning);
        }
        if stake.reservation.is_some() {
            return Err(SubscriptionError::PaymentInFlight.into());
        }
        let missing = if stake.is_held() { stake.missing() } else { self.required };
        if missing.is_zero() { Err(DepositError::Placed) } else { Ok(missing) }
    }

    /// A stake that its payer has not paid yet, or has revoked, as this order requests it.
    fn requested(&self, stake: &Stake, now: Timestamp) -> Stake {
        let waiting_days = if stake.amount.is_zero() { self.waiting_days } else { stake.waiting_days };
        let requested = match stake.status {
            StakeStatus::Pending | StakeStatus::Releasing => Stake { amount_requested: self.required, waiting_days, ..stake.clone() },
            StakeStatus::Held | StakeStatus::Final => stake.clone(),
        };
        if requested == *stake { requested } else { Stake { updated_at: now, ..requested } }
    }

    /// The stake that the payment goes into: the one that is not final, or a new one.
    async fn open(&self, ctx: &Context) -> Result<Stake, DepositError> {
        let mut unit = ctx.store.begin().await?;
        let found = unit.stakes().find_open(&self.key).await?;
        let Some(found) = found else {
            check_former(unit.as_mut(), &self.key).await?;
            let stake = self.insert(ctx, unit.as_mut()).await?;
            unit.commit().await?;
            return Ok(stake);
        };
        let stake = unit.stakes().lock(&found.id).await?.filter(|stake| !stake.is_final()).ok_or(SubscriptionError::Contended)?;
        self.missing(&stake)?;
        if unit.attempts().open_of(&Purpose::Stake(stake.id.clone())).await?.is_some() {
            return Err(SubscriptionError::PaymentInFlight.into());
        }
        let requested = self.requested(&stake, time_of_customer(ctx, unit.as_mut(), &stake.customer_id).await?);
        if requested != stake {
            if !unit.stakes().update(&stake, &requested).await? {
                return Err(SubscriptionError::Contended.into());
            }
            unit.commit().await?;
        }
        Ok(requested)
    }

    async fn insert(&self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<Stake, DepositError> {
        let customer = self.customer(ctx, unit).await?;
        let now = time_of_customer(ctx, unit, &customer).await?;
        let requested = RequestedStake {
            mode: self.currency.mode,
            customer_id: &customer,
            method_id: &self.method.id,
            key: &self.key,
            waiting_days: self.waiting_days,
            amount: self.required,
        };
        let stake = requested.pending(StakeId::new(ctx.now(), ctx.random.as_ref()), Some(now.plus(PENDING_LIFETIME)), now);
        match unit.stakes().insert(&stake).await {
            Err(StorageError::Duplicate(_)) => Err(SubscriptionError::Contended.into()),
            inserted => Ok(inserted.map(|()| stake)?),
        }
    }

    /// The user as a customer of the mode, which they may not be yet.
    async fn customer(&self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<CustomerId, StorageError> {
        let (now, mode) = (ctx.now(), self.currency.mode);
        if let Some(known) = unit.customers().find_by_did(mode, &self.user.did).await? {
            return Ok(known.id);
        }
        let customer = Customer {
            id: CustomerId::new(now, ctx.random.as_ref()),
            mode,
            did: self.user.did.clone(),
            name: self.user.full_name.clone(),
            email: self.user.email.clone(),
            phone: self.user.phone.clone(),
            address: self.user.address.clone(),
            language: self.user.language,
            created_at: now,
            updated_at: now,
        };
        Ok(unit.customers().upsert(&customer).await?.id)
    }

    fn request(&self, stake: &Stake, amount: Amount, payer: &Wallet, nonce: u64) -> StakeRequest {
        StakeRequest {
            payer: payer.did.clone(),
            payer_key: payer.public_key.clone(),
            amount,
            subject: stake.id.to_string(),
            waiting: stake.waiting(),
            reference: self.key.subject.to_text(),
            nonce,
        }
    }
}

/// Builds the payment that the wallet signs. The same nonce builds the same transaction.
#[tracing::instrument(skip_all, fields(subject = %order.key.subject.to_text()))]
pub async fn prepare_deposit(ctx: &Context, order: DepositOrder, payer: &Wallet, nonce: u64) -> Result<PreparedStake, DepositError> {
    ctx.networks.check_open(&order.method).map_err(RailError::from)?;
    let rail = ctx.networks.wallet(order.method.kind).ok_or(PaymentTargetError::MethodNotSupported)?;
    let stake = order.open(ctx).await?;
    let amount = order.missing(&stake)?;
    let prepared = rail.prepare_stake(&order.method, &order.currency, &order.request(&stake, amount, payer, nonce))?;
    let DepositOrder { method, currency, description, .. } = order;
    Ok(PreparedStake { prepared, method, currency, amount, description })
}

/// Checks and sends the signed payment, and returns its transaction hash. Once it settles, the deposit secures its subject
/// ([`super::StakeUse::held`]).
///
/// # Errors
/// [`SubscriptionError::PaymentInFlight`] while another payment into it is in flight, or when this one was sent before;
/// [`PaymentTargetError::Connect`] when the connect session has ended.
#[tracing::instrument(skip_all, fields(subject = %order.key.subject.to_text()))]
pub async fn submit_signed_deposit(ctx: &Context, order: &DepositOrder, signature: WalletSignature<'_>) -> Result<String, DepositError> {
    let WalletSignature { payer, nonce, signed, .. } = signature;
    let rail = ctx.networks.wallet(order.method.kind).ok_or(PaymentTargetError::MethodNotSupported)?;
    let mut unit = ctx.store.begin().await?;
    let found = unit.stakes().find_open(&order.key).await?.ok_or(SubscriptionError::Contended)?;
    let stake = unit.stakes().lock(&found.id).await?.filter(|stake| !stake.is_final()).ok_or(SubscriptionError::Contended)?;
    let amount = order.missing(&stake)?;
    let signed = rail.check_stake(&order.method, &order.currency, &order.request(&stake, amount, payer, nonce), signed)?;
    let moved = MethodAmount { method_id: order.method.id.clone(), currency_id: order.currency.id.clone(), amount };
    Ok(send_signed(ctx, unit, Purpose::Stake(stake.id), moved, &signature, signed).await?)
}

/// Releases a deposit that nothing needs any more. One that was never paid becomes final; a payment that is still in flight makes it held
/// again, and then its use decides. The caller has locked what it secures.
pub(crate) async fn release_deposit(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &StakeId,
    unneeded: Unneeded,
) -> Result<(), StorageError> {
    change_deposit(ctx, unit, id, |stake, now| unneeded.release(stake, now)).await
}

/// Orders that the store keeps what the network holds of a deposit: see [`Stake::forfeited_from`]. The network is asked by the batch of due
/// stakes, so that the order holds whether or not it answers now.
pub(crate) async fn forfeit_deposit(ctx: &Context, unit: &mut dyn UnitOfWork, id: &StakeId) -> Result<(), StorageError> {
    change_deposit(ctx, unit, id, Stake::forfeited_from).await
}

async fn change_deposit(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &StakeId,
    change: impl FnOnce(&Stake, Timestamp) -> Stake + Send,
) -> Result<(), StorageError> {
    let Some(stake) = unit.stakes().lock(id).await? else { return Ok(()) };
    let now = time_of_customer(ctx, unit, &stake.customer_id).await?;
    let after = change(&stake, now);
    if after != stake && !unit.stakes().update(&stake, &after).await? {
        return Err(StorageError::Conflict);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::entity::tests::{at, held, reservation};
    use super::super::{ReleaseReason, StakePurpose, StakeSubject, StakeTransferKind};
    use super::*;
    use crate::access::Did;
    use crate::payment::{MethodKind, MethodSettings};
    use crate::shared::{CurrencyId, Language, MethodId, Mode};

    fn order(required: u128, waiting_days: u32) -> DepositOrder {
        let (did, now) = (Did::from_verified("z1"), at(0));
        let (method_id, currency_id) = (MethodId::parse("pm_1").expect("an id"), CurrencyId::parse("pc_1").expect("an id"));
        DepositOrder {
            key: StakeKey {
                subject: StakeSubject::Developer(did.clone()),
                purpose: StakePurpose::Membership,
                payer: did.clone(),
                currency_id: currency_id.clone(),
            },
            user: User {
                did,
                public_key: String::new(),
                full_name: String::new(),
                email: String::new(),
                phone: String::new(),
                address: None,
                language: Language::English,
                picture: None,
                created_at: now,
                updated_at: now,
            },
            method: Method {
                id: method_id.clone(),
                mode: Mode::Test,
                kind: MethodKind::Arcblock,
                active: true,
                name: String::new(),
                description: String::new(),
                logo: String::new(),
                settings: MethodSettings::Bitcoin { explorer_host: String::new() },
                default_currency_id: None,
                created_at: now,
                updated_at: now,
            },
            currency: Currency {
                id: currency_id,
                method_id,
                mode: Mode::Test,
                active: true,
                name: "Token".to_owned(),
                symbol: "TOK".to_owned(),
                logo: String::new(),
                decimals: 2,
                maximum_precision: 2,
                contract: String::new(),
                is_base: true,
                created_at: now,
                updated_at: now,
            },
            required: Amount::new(required),
            waiting_days,
            description: ProductNames::default(),
        }
    }

    #[test]
    fn the_payer_is_asked_for_what_the_network_does_not_hold() {
        let pending = Stake { status: StakeStatus::Pending, amount: Amount::ZERO, ..held(100) };
        let part = Stake { amount: Amount::new(40), ..held(100) };
        for (stake, expected) in [
            (&pending, Ok(70)),
            (&part, Ok(60)),
            (&held(100).revoked(at(1)), Ok(70)),
            (&held(100), Err("This deposit has been paid already".to_owned())),
            (&held(100).released(ReleaseReason::Requested, at(9), at(1)), Err(DepositError::Returning.to_string())),
            (&held(100).forfeited_from(at(1)), Err(DepositError::Returning.to_string())),
        ] {
            let missing = order(70, 7).missing(stake).map(Amount::base_units).map_err(|error| error.to_string());
            assert_eq!(missing, expected, "{:?}", stake.status);
        }
        let moving = held(100).reserve(reservation(StakeTransferKind::Return, 10), at(1)).expect("it fits");
        assert!(order(70, 7).missing(&moving).is_err());
    }

    #[test]
    fn an_unpaid_deposit_follows_the_settings_and_a_paid_one_keeps_what_its_network_has_fixed() {
        let pending = Stake { status: StakeStatus::Pending, amount: Amount::ZERO, ..held(100) };
        let after = order(70, 7).requested(&pending, at(5));
        assert_eq!((after.amount_requested, after.waiting_days, after.updated_at), (Amount::new(70), 7, at(5)));
        assert_eq!(order(70, 7).requested(&after, at(6)), after, "nothing has changed");
        let revoked = order(70, 7).requested(&held(100).revoked(at(1)), at(5));
        assert_eq!((revoked.amount_requested, revoked.waiting_days), (Amount::new(70), 14));
        assert_eq!(order(70, 7).requested(&held(100), at(5)), held(100));
    }
}
