//! What the deposit of a developer secures: their passport. A passport that was obtained by a deposit is valid as long as the network holds
//! all of it.

use super::emails::{order_joined, order_revoked};
use crate::access::{Did, Passport, Role};
use crate::billing::{BillingError, PENDING_LIFETIME, ReleaseReason, Stake, StakeUse, Unneeded};
use crate::context::Context;
use crate::payment::Purpose;
use crate::shared::{PassportId, StorageError, Timestamp};
use crate::storage::{MANAGEMENT, UnitOfWork};
use async_trait::async_trait;

/// The use of stakes with the purpose [`crate::billing::StakePurpose::Membership`].
#[derive(Debug, Clone, Copy)]
pub struct Membership;

/// What becomes of a deposit that its network holds.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Decision {
    /// It has secured a passport already, or its payer still has to pay a part of it.
    Nothing,
    Issue,
    Release(Unneeded),
}

/// Decides about a deposit by the user's valid passports.
fn decide(stake: &Stake, held: &[Passport], blocked_at: Option<Timestamp>) -> Decision {
    if !stake.is_complete() {
        return Decision::Nothing;
    }
    match held.iter().find(|passport| passport.role == Role::Developer) {
        Some(passport) if passport.stake_id.as_ref() == Some(&stake.id) => Decision::Nothing,
        // They were invited meanwhile.
        Some(_) => Decision::Release(Unneeded { reason: ReleaseReason::Superseded, now: true }),
        None if blocked_at.is_some() => Decision::Release(Unneeded { reason: ReleaseReason::ReturnedByStore, now: true }),
        None => Decision::Issue,
    }
}

fn developer(stake: &Stake) -> Result<&Did, BillingError> {
    stake.subject.developer().ok_or(BillingError::Orphan)
}

#[async_trait]
impl StakeUse for Membership {
    async fn lock(&self, unit: &mut dyn UnitOfWork, _stake: &Stake) -> Result<(), StorageError> {
        unit.lock(MANAGEMENT).await
    }

    async fn held(&self, ctx: &Context, unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<Option<Unneeded>, BillingError> {
        let (did, now) = (developer(stake)?, ctx.now());
        let held = unit.users().passports(did).await?;
        let blocked_at = unit.users().blocked_at(did).await?;
        match decide(stake, &held, blocked_at) {
            Decision::Nothing => Ok(None),
            Decision::Release(unneeded) => Ok(Some(unneeded)),
            Decision::Issue => {
                let passport = Passport {
                    id: PassportId::new(now, ctx.random.as_ref()),
                    holder: did.clone(),
                    role: Role::Developer,
                    issued_at: now,
                    revoked_at: None,
                    stake_id: Some(stake.id.clone()),
                };
                unit.users().issue_passport(&passport).await?;
                order_joined(ctx, unit, &passport).await?;
                Ok(None)
            }
        }
    }

    async fn revoked(&self, ctx: &Context, unit: &mut dyn UnitOfWork, stake: &Stake) -> Result<(), BillingError> {
        let held = unit.users().passports(developer(stake)?).await?;
        for passport in held.iter().filter(|passport| passport.stake_id.as_ref() == Some(&stake.id)) {
            if unit.users().revoke_passport(&passport.id, ctx.now()).await? {
                order_revoked(ctx, unit, passport).await?;
            }
        }
        Ok(())
    }

    async fn unneeded(&self, unit: &mut dyn UnitOfWork, stake: &Stake, now: Timestamp) -> Result<Option<Unneeded>, BillingError> {
        let held = unit.users().passports(developer(stake)?).await?;
        if held.iter().any(|passport| passport.stake_id.as_ref() == Some(&stake.id)) {
            return Ok(None);
        }
        // The network holds all of it, and the passport was ended without it.
        if stake.is_complete() {
            return Ok(Some(Unneeded { reason: ReleaseReason::ReturnedByStore, now: false }));
        }
        // It secures nothing, and its payer has not paid the rest.
        let is_given_up =
            now.since(stake.updated_at) >= PENDING_LIFETIME && unit.attempts().open_of(&Purpose::Stake(stake.id.clone())).await?.is_none();
        Ok(is_given_up.then_some(Unneeded { reason: ReleaseReason::ReturnedByStore, now: true }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billing::{StakePurpose, StakeStatus, StakeSubject};
    use crate::shared::{Amount, CurrencyId, CustomerId, MethodId, Mode, StakeId};

    fn stake(placed: u128) -> Stake {
        let (at, did) = (Timestamp::from_seconds(0), Did::from_verified("z1anna"));
        Stake {
            id: StakeId::parse("stk_1").expect("an id"),
            mode: Mode::Test,
            customer_id: CustomerId::parse("cus_1").expect("an id"),
            payer: did.clone(),
            method_id: MethodId::parse("pm_1").expect("an id"),
            currency_id: CurrencyId::parse("pc_1").expect("an id"),
            subject: StakeSubject::Developer(did),
            purpose: StakePurpose::Membership,
            waiting_days: 7,
            amount_requested: Amount::new(100),
            amount: Amount::new(placed),
            amount_forfeited: Amount::ZERO,
            amount_returned: Amount::ZERO,
            reservation: None,
            status: StakeStatus::Held,
            release_reason: None,
            released_at: None,
            return_at: None,
            failure_count: 0,
            failure: None,
            reference: None,
            return_reference: None,
            checked_at: at,
            created_at: at,
            updated_at: at,
        }
    }

    fn passport(role: Role, stake: Option<&str>) -> Passport {
        Passport {
            id: PassportId::parse("pass_1").expect("an id"),
            holder: Did::from_verified("z1anna"),
            role,
            issued_at: Timestamp::from_seconds(0),
            revoked_at: None,
            stake_id: stake.map(|id| StakeId::parse(id).expect("an id")),
        }
    }

    #[test]
    fn a_complete_deposit_makes_a_developer_of_somebody_who_is_none_and_may_be_one() {
        let release = |reason| Decision::Release(Unneeded { reason, now: true });
        let blocked = Some(Timestamp::from_seconds(1));
        for (placed, held, blocked_at, expected) in [
            (99, vec![], None, Decision::Nothing),
            (100, vec![], None, Decision::Issue),
            (100, vec![passport(Role::Reviewer, None)], None, Decision::Issue),
            (100, vec![passport(Role::Developer, Some("stk_1"))], None, Decision::Nothing),
            (100, vec![passport(Role::Developer, None)], None, release(ReleaseReason::Superseded)),
            (100, vec![passport(Role::Developer, Some("stk_2"))], None, release(ReleaseReason::Superseded)),
            (100, vec![], blocked, release(ReleaseReason::ReturnedByStore)),
            (99, vec![], blocked, Decision::Nothing),
        ] {
            assert_eq!(decide(&stake(placed), &held, blocked_at), expected, "{placed} {held:?}");
        }
    }

    #[test]
    fn a_deposit_that_is_leaving_makes_nobody_a_developer() {
        let now = Timestamp::from_seconds(5);
        let leaving = [stake(100).released(ReleaseReason::Requested, now, now), stake(100).revoked(now)];
        assert!(leaving.iter().all(|stake| decide(stake, &[], None) == Decision::Nothing));
    }
}
