//! Becoming a developer by a deposit: what the page shows, and the order that a wallet pays.

use super::currency::{DepositTerms, deposit_terms};
use super::terms::{Agreement, TERMS_VERSION};
use crate::access::{Did, Passport, Role, User, Wallet};
use crate::billing::{DepositError, DepositOrder, Stake, StakeKey, StakePurpose, StakeSubject, prepare_deposit, submit_signed_deposit};
use crate::context::Context;
use crate::payment::{PreparedStake, WalletSignature};
use crate::publishing::PermissionMode;
use crate::shared::{StorageError, Text, Timestamp};

/// How the store accepts developers, and where a user stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeveloperProgram {
    pub mode: PermissionMode,
    /// The deposit for becoming a developer. `None`: it cannot be placed at present.
    pub membership: Option<DepositTerms>,
    /// The deposit for each published app. `None`: it cannot be placed at present.
    pub publication: Option<DepositTerms>,
    /// Whether apps can be sold.
    pub paid_apps_allowed: bool,
    /// Of the signed-in user.
    pub standing: Option<Standing>,
}

/// Where a user stands on the way to becoming a developer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    pub blocked_at: Option<Timestamp>,
    /// To the current version of the terms.
    pub agreement: Option<Agreement>,
    pub passport: Option<Passport>,
    /// The deposit that is not completely returned, if there is one.
    pub deposit: Option<Stake>,
}

/// Reads how the store accepts developers.
#[tracing::instrument(skip_all)]
pub async fn find_program(ctx: &Context, user: Option<&Did>) -> Result<DeveloperProgram, StorageError> {
    let mut unit = ctx.store.read().await?;
    let preferences = unit.preferences().find().await?.preferences;
    let symbol = &preferences.stake_currency;
    let membership = deposit_terms(ctx, unit.as_mut(), symbol, preferences.passport_stake).await?;
    let publication = deposit_terms(ctx, unit.as_mut(), symbol, preferences.publish_stake).await?;
    let standing = match user {
        Some(did) => {
            let passports = unit.users().passports(did).await?;
            let mut deposits = unit.stakes().open_of_subject(&StakeSubject::Developer(did.clone()), StakePurpose::Membership).await?;
            let blocked_at = unit.users().blocked_at(did).await?;
            let agreement = unit.agreements().find(did, TERMS_VERSION).await?;
            Some(Standing {
                blocked_at,
                agreement,
                passport: passports.into_iter().find(|passport| passport.role == Role::Developer),
                // There are several only if the currency has changed; the newest counts.
                deposit: deposits.pop(),
            })
        }
        None => None,
    };
    let (mode, paid_apps_allowed) = (preferences.permission_mode, preferences.paid_apps_allowed);
    Ok(DeveloperProgram { mode, membership, publication, paid_apps_allowed, standing })
}

/// Since when somebody is a developer, which everybody may know. `None`: they are none.
#[tracing::instrument(skip_all)]
pub async fn developer_since(ctx: &Context, did: &Did) -> Result<Option<Timestamp>, StorageError> {
    let held = ctx.store.read().await?.users().passports(did).await?;
    Ok(held.into_iter().find(|passport| passport.role == Role::Developer).map(|passport| passport.issued_at))
}

/// Why a user does not become a developer by a deposit.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error("This store does not accept developers by a deposit")]
    NotOffered,
    #[error("Your access to this store has been revoked")]
    Blocked,
    #[error("You already have this role")]
    Held,
    #[error("Please agree to the developer terms first")]
    TermsRequired,
    #[error("No payment method of this store takes deposits at present")]
    NoCurrency,
    #[error(transparent)]
    Deposit(#[from] DepositError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The deposit that makes a user a developer.
async fn order(ctx: &Context, did: &Did) -> Result<DepositOrder, JoinError> {
    let user: Option<User> = ctx.store.read().await?.users().find(did).await?;
    let DeveloperProgram { mode, membership, standing, .. } = find_program(ctx, Some(did)).await?;
    let (standing, user) = standing.zip(user).ok_or(JoinError::NotOffered)?;
    if mode != PermissionMode::Staking {
        return Err(JoinError::NotOffered);
    }
    if standing.blocked_at.is_some() {
        return Err(JoinError::Blocked);
    }
    if standing.passport.is_some() {
        return Err(JoinError::Held);
    }
    if standing.agreement.is_none() {
        return Err(JoinError::TermsRequired);
    }
    let DepositTerms { of, amount, waiting_days } = membership.ok_or(JoinError::NoCurrency)?;
    if standing.deposit.is_some_and(|deposit| deposit.currency_id == of.currency.id && deposit.is_going_back()) {
        return Err(DepositError::Returning.into());
    }
    let key = StakeKey {
        subject: StakeSubject::Developer(did.clone()),
        purpose: StakePurpose::Membership,
        payer: did.clone(),
        currency_id: of.currency.id.clone(),
    };
    let description = Text::new("developer membership", "开发者资格").into();
    Ok(DepositOrder { key, user, method: of.method, currency: of.currency, required: amount, waiting_days, description })
}

/// Checks whether a user may become a developer by a deposit now, before their wallet is asked for it.
///
/// # Errors
/// The first reason why not.
#[tracing::instrument(skip_all)]
pub async fn check_join(ctx: &Context, did: &Did) -> Result<(), JoinError> {
    order(ctx, did).await.map(drop)
}

/// Builds the payment that the wallet of the user signs. The same nonce builds the same transaction.
///
/// # Errors
/// As [`check_join`], or the deposit cannot be placed.
#[tracing::instrument(skip_all)]
pub async fn prepare_join(ctx: &Context, payer: &Wallet, nonce: u64) -> Result<PreparedStake, JoinError> {
    Ok(prepare_deposit(ctx, order(ctx, &payer.did).await?, payer, nonce).await?)
}

/// Checks and sends the signed payment, and returns its transaction hash. The passport is issued in the unit of work that records the
/// settlement.
///
/// # Errors
/// As [`prepare_join`], or the network declines.
#[tracing::instrument(skip_all)]
pub async fn submit_signed_join(ctx: &Context, signature: WalletSignature<'_>) -> Result<String, JoinError> {
    Ok(submit_signed_deposit(ctx, &order(ctx, &signature.payer.did).await?, signature).await?)
}
