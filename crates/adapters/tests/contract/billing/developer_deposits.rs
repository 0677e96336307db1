//! Deposits of developers: a passport is valid as long as its deposit is held, and every deposit ends at its payer or, by an order of the
//! store, at the store.

use super::bench::{Billing, DAY, HOUR};
use super::crashing_store::{CrashPoint, crashing};
use super::late_delegations::LATER;
use crate::checkout_fixtures::user;
use crate::ledger::bench::UNIT;
use crate::ledger::stakes::{claim, revoke};
use souk_adapters::on_one;
use souk_adapters::testing::TestDatabase;
use souk_domain::access::{Caller, Passport, Role, User, Wallet, issue_passport};
use souk_domain::billing::{
    self, BillingReason, DepositError, ReleaseReason, STAKE_CHECK_INTERVAL, STAKE_RETRY_DELAY, Scope, Stake, StakeStatus, StakeSubject,
};
use souk_domain::context::Context;
use souk_domain::payment::{self, WalletSignature, check_due};
use souk_domain::publishing::staking::{
    DeveloperNews, JoinError, TERMS_VERSION, agree_to_terms, block_user, check_join, compose_developer_email, find_program,
    leave_developers, prepare_join, revoke_passport, submit_signed_join, unblock_user,
};
use souk_domain::publishing::{PermissionMode, Preferences, StakePreference, change_preferences};
use souk_domain::shared::Amount;
use std::time::Duration;

/// For how long a developer waits for the deposit.
const WAITING: Duration = DAY.saturating_mul(7);

/// The preferences of a store that accepts developers by deposits of 50 tokens, and requires 30 tokens for an app.
pub fn staking_preferences(billing: &Billing) -> Preferences {
    Preferences {
        permission_mode: PermissionMode::Staking,
        stake_currency: billing.networks.currency.symbol.clone(),
        passport_stake: StakePreference { amount: "50".parse().expect("a decimal"), waiting_days: 7 },
        publish_stake: StakePreference { amount: "30".parse().expect("a decimal"), waiting_days: 30 },
        ..Preferences::default()
    }
}

fn wallet_user(billing: &Billing) -> User {
    let wallet = &billing.networks.wallet;
    User { public_key: wallet.public_key_base58(), ..user(wallet.did().as_str(), "Ada", "ada@shop.example") }
}

/// The user with their valid passports.
pub async fn wallet_caller(billing: &Billing) -> Caller {
    let user = wallet_user(billing);
    let mut unit = billing.ctx.store.read().await.expect("reads");
    Caller { passports: unit.users().passports(&user.did).await.expect("reads"), user, signed_in_at: billing.start }
}

/// Somebody who manages the store.
pub async fn owner(billing: &Billing) -> Caller {
    let user = user("z1olga", "Olga", "");
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.users().upsert(&user).await.expect("inserts");
    unit.commit().await.expect("commits");
    let passport = issue_passport(&billing.ctx, &user.did, Role::Owner).await.expect("issues");
    Caller { user, passports: vec![passport], signed_in_at: billing.start }
}

/// A store that accepts developers by deposits, and a user with 1,000 tokens.
pub async fn store_with_deposits(db: &TestDatabase) -> Billing {
    let billing = Billing::open(db, 10).await;
    change_preferences(&billing.ctx, 0, staking_preferences(&billing)).await.expect("changes");
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.users().upsert(&wallet_user(&billing)).await.expect("inserts");
    unit.commit().await.expect("commits");
    billing
}

/// As [`store_with_deposits`], and the user has agreed to the terms.
async fn applicant(db: &TestDatabase) -> Billing {
    let billing = store_with_deposits(db).await;
    agree_to_terms(&billing.ctx, &wallet_caller(&billing).await, TERMS_VERSION).await.expect("agrees");
    billing
}

/// A developer by a deposit of 50 tokens.
async fn developer(db: &TestDatabase) -> Billing {
    let billing = applicant(db).await;
    join(&billing.ctx, &billing, 21).await.expect("joins");
    assert_eq!(passports(&billing).await.len(), 1);
    billing
}

/// The wallet signs the deposit.
async fn join(ctx: &Context, billing: &Billing, nonce: u64) -> Result<String, JoinError> {
    let wallet = &billing.networks.wallet;
    let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
    let prepared = prepare_join(ctx, &payer, nonce).await?;
    assert_eq!(prepared.amount, Amount::new(50 * UNIT));
    let signed = wallet.sign_stake(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount).expect("signs");
    submit_signed_join(ctx, WalletSignature::new(&payer, nonce, &signed)).await
}

async fn passports(billing: &Billing) -> Vec<Passport> {
    wallet_caller(billing).await.passports
}

/// The deposit that is not final.
async fn deposit(billing: &Billing) -> Option<Stake> {
    let program = find_program(&billing.ctx, Some(billing.networks.wallet.did())).await.expect("reads");
    program.standing.expect("a user").deposit
}

async fn held_deposit(billing: &Billing) -> Stake {
    deposit(billing).await.expect("a deposit")
}

/// The status and the reason of a stake that is being released.
fn released(stake: &Stake) -> (StakeStatus, Option<ReleaseReason>) {
    (stake.status, stake.release_reason)
}

/// The number of ordered emails about developers.
async fn emails(billing: &Billing) -> u64 {
    let count = "SELECT count(*) AS n FROM outbox WHERE topic = 'developer_mail'";
    billing.database().read().await.expect("reads").query(count).one().await.expect("counts").get("n").expect("n")
}

/// The network is asked about every stake.
async fn check(billing: &Billing) {
    billing.wait(STAKE_CHECK_INTERVAL);
    billing::check_stakes(&billing.ctx, 9).await.expect("looks");
}

on_one! {
    async fn a_user_becomes_a_developer_in_the_commit_that_records_the_deposit(db: &TestDatabase) {
        let billing = store_with_deposits(db).await;
        let did = billing.networks.wallet.did();
        assert!(matches!(check_join(&billing.ctx, did).await, Err(JoinError::TermsRequired)));
        let agreed = agree_to_terms(&billing.ctx, &wallet_caller(&billing).await, TERMS_VERSION).await.expect("agrees");
        billing.wait(HOUR);
        let again = agree_to_terms(&billing.ctx, &wallet_caller(&billing).await, TERMS_VERSION).await.expect("agrees");
        assert_eq!((again, agreed.agreed_at), (agreed, billing.start), "the first agreement counts");
        join(&billing.ctx, &billing, 21).await.expect("joins");
        let stake = held_deposit(&billing).await;
        assert_eq!((stake.status, stake.amount, stake.waiting_days), (StakeStatus::Held, Amount::new(50 * UNIT), 7));
        assert_eq!(stake.subject, StakeSubject::Developer(did.clone()));
        let [passport] = <[Passport; 1]>::try_from(passports(&billing).await).expect("one passport");
        assert_eq!((passport.role, passport.stake_id.as_ref()), (Role::Developer, Some(&stake.id)));
        let staked = billing.networks.staked_for(stake.id.as_str(), WAITING).await;
        assert_eq!((staked, billing.networks.balance().await), ((50, 0), 950));
        let listed: Vec<_> = billing.statements().await.iter().map(|one| (one.reason, one.description.code(), one.total)).collect();
        assert_eq!(listed, [(BillingReason::Stake, "deposit_developer", Amount::new(50 * UNIT))]);
        assert!(billing.statements().await.iter().all(|one| one.subscription_id.is_none()));
        assert!(matches!(join(&billing.ctx, &billing, 22).await, Err(JoinError::Held)));
        check(&billing).await;
        assert_eq!((passports(&billing).await.len(), billing.process_due_stakes().await), (1, 0));
        billing.is_sound().await;
    }

    async fn a_network_that_answers_late_issues_one_passport(db: &TestDatabase) {
        let billing = applicant(db).await;
        billing.networks.fault("drop_answer").await;
        join(&billing.ctx, &billing, 21).await.expect("stays in flight");
        assert_eq!((passports(&billing).await, held_deposit(&billing).await.status), (Vec::new(), StakeStatus::Pending));
        assert!(join(&billing.ctx, &billing, 22).await.is_err(), "a second payment would be too much");
        for _ in 0..2 {
            billing.wait(LATER);
            check_due(&billing.ctx, 9).await.expect("asks");
        }
        assert_eq!((passports(&billing).await.len(), held_deposit(&billing).await.status), (1, StakeStatus::Held));
        assert_eq!(billing.networks.balance().await, 950);
        billing.is_sound().await;
    }

    async fn of_two_payments_at_once_one_is_taken(db: &TestDatabase) {
        let billing = applicant(db).await;
        let (one, other) = tokio::join!(join(&billing.ctx, &billing, 21), join(&billing.ctx, &billing, 22));
        assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
        assert_eq!((passports(&billing).await.len(), billing.networks.balance().await), (1, 950));
        billing.is_sound().await;
    }

    async fn a_declined_deposit_makes_nobody_a_developer_and_can_be_paid_again(db: &TestDatabase) {
        let billing = applicant(db).await;
        billing.networks.fault("decline").await;
        assert!(join(&billing.ctx, &billing, 21).await.is_err());
        assert_eq!((passports(&billing).await, billing.networks.balance().await), (Vec::new(), 1_000));
        join(&billing.ctx, &billing, 22).await.expect("joins");
        assert_eq!(passports(&billing).await.len(), 1);
        billing.is_sound().await;
    }

    async fn a_deposit_that_was_never_paid_is_forgotten_after_a_day(db: &TestDatabase) {
        let billing = applicant(db).await;
        let wallet = &billing.networks.wallet;
        let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
        prepare_join(&billing.ctx, &payer, 21).await.expect("prepares");
        assert_eq!(held_deposit(&billing).await.status, StakeStatus::Pending);
        billing.wait(DAY);
        assert_eq!((billing.process_due_stakes().await, deposit(&billing).await), (1, None));
        billing.is_sound().await;
    }

    async fn a_revoked_deposit_withdraws_the_passport_and_can_be_replaced_at_once(db: &TestDatabase) {
        let billing = developer(db).await;
        let (stake, former) = (held_deposit(&billing).await, passports(&billing).await.remove(0));
        assert_eq!(billing.networks.wallet_sends(2, revoke(&billing.networks, stake.id.as_str(), 20)).await.0, "OK");
        check(&billing).await;
        let revoked = held_deposit(&billing).await;
        assert_eq!((passports(&billing).await, released(&revoked)), (Vec::new(), (StakeStatus::Releasing, Some(ReleaseReason::Revoked))));
        let did = billing.networks.wallet.did();
        let email = compose_developer_email(&billing.ctx, &former.id, did).await.expect("composes").expect("an email");
        assert_eq!((email.news, email.recipient.email.as_str()), (DeveloperNews::Revoked, "ada@shop.example"));
        assert_eq!(emails(&billing).await, 1, "a store without an owner tells nobody that somebody has joined");
        billing.is_sound().await;
        join(&billing.ctx, &billing, 22).await.expect("joins again");
        let replaced = held_deposit(&billing).await;
        assert_eq!((&replaced.id, replaced.status, replaced.amount), (&stake.id, StakeStatus::Held, Amount::new(100 * UNIT)));
        assert_eq!(passports(&billing).await[0].stake_id.as_ref(), Some(&stake.id));
        check(&billing).await;
        assert_eq!(passports(&billing).await.len(), 1, "the network holds enough");
        billing.is_sound().await;
    }

    async fn a_deposit_that_was_revoked_and_paid_out_while_the_store_was_down_withdraws_the_passport(db: &TestDatabase) {
        let billing = developer(db).await;
        let stake = held_deposit(&billing).await;
        let (code, hash) = billing.networks.wallet_sends(2, revoke(&billing.networks, stake.id.as_str(), 50)).await;
        assert_eq!(code, "OK");
        billing.wait(WAITING + DAY);
        assert_eq!(billing.networks.wallet_sends(3, claim(&billing.networks, stake.id.as_str(), &hash)).await.0, "OK");
        assert_eq!((billing.networks.staked_for(stake.id.as_str(), WAITING).await, billing.networks.balance().await), ((0, 0), 1_000));
        check(&billing).await;
        assert_eq!((passports(&billing).await, held_deposit(&billing).await.is_revoked()), (Vec::new(), true));
        billing.wait(WAITING + DAY);
        assert_eq!((billing.process_due_stakes().await, deposit(&billing).await), (1, None));
        assert_eq!(billing.find_stake(stake.id.as_str()).await.amount_returned, Amount::new(50 * UNIT));
        billing.is_sound().await;
    }

    async fn a_developer_who_leaves_gets_the_deposit_after_its_waiting_time(db: &TestDatabase) {
        let billing = developer(db).await;
        let stake = held_deposit(&billing).await;
        leave_developers(&billing.ctx, &wallet_caller(&billing).await).await.expect("leaves");
        let leaving = held_deposit(&billing).await;
        assert_eq!((passports(&billing).await, released(&leaving)), (Vec::new(), (StakeStatus::Releasing, Some(ReleaseReason::Requested))));
        assert_eq!(leaving.return_at, Some(billing.ctx.now().plus(WAITING)));
        assert!(leave_developers(&billing.ctx, &wallet_caller(&billing).await).await.is_err(), "once");
        assert!(matches!(join(&billing.ctx, &billing, 22).await, Err(JoinError::Deposit(DepositError::Returning))));
        billing.wait(WAITING - HOUR);
        assert_eq!(billing.process_due_stakes().await, 0);
        billing.wait(HOUR);
        billing.networks.fault("decline").await;
        assert_eq!((billing.process_due_stakes().await, billing.networks.balance().await), (1, 950), "the network refuses");
        billing.is_sound().await;
        billing.wait(STAKE_RETRY_DELAY);
        assert_eq!((billing.process_due_stakes().await, billing.networks.balance().await), (1, 1_000));
        let returned = billing.find_stake(stake.id.as_str()).await;
        assert_eq!((returned.status, returned.amount_returned), (StakeStatus::Final, Amount::new(50 * UNIT)));
        assert!(billing.statements().await.iter().any(|one| one.description.code() == "deposit_developer_returned"));
        join(&billing.ctx, &billing, 23).await.expect("joins again");
        assert_ne!(held_deposit(&billing).await.id, stake.id);
        billing.is_sound().await;
    }

    async fn the_owners_are_told_who_has_become_a_developer(db: &TestDatabase) {
        let billing = applicant(db).await;
        let owner = owner(&billing).await;
        join(&billing.ctx, &billing, 21).await.expect("joins");
        assert_eq!(emails(&billing).await, 1);
        let passport = passports(&billing).await.remove(0);
        let composed = compose_developer_email(&billing.ctx, &passport.id, &owner.user.did).await.expect("composes");
        assert_eq!(composed, None, "she has no address");
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.users().update_profile(&User { email: "olga@shop.example".to_owned(), ..owner.user.clone() }).await.expect("updates");
        unit.commit().await.expect("commits");
        let email = compose_developer_email(&billing.ctx, &passport.id, &owner.user.did).await.expect("composes").expect("an email");
        assert_eq!((email.news, email.developer_name.as_str()), (DeveloperNews::Joined, "Ada"));
        leave_developers(&billing.ctx, &wallet_caller(&billing).await).await.expect("leaves");
        let late = compose_developer_email(&billing.ctx, &passport.id, &owner.user.did).await.expect("composes");
        assert_eq!((late, emails(&billing).await), (None, 1), "a user who leaves gets no email about it");
    }

    async fn whoever_is_a_developer_already_gets_a_late_deposit_back_at_once(db: &TestDatabase) {
        let billing = applicant(db).await;
        billing.networks.fault("drop_answer").await;
        join(&billing.ctx, &billing, 21).await.expect("stays in flight");
        let invited = issue_passport(&billing.ctx, billing.networks.wallet.did(), Role::Developer).await.expect("issues");
        billing.wait(LATER);
        check_due(&billing.ctx, 9).await.expect("asks");
        assert_eq!(released(&held_deposit(&billing).await), (StakeStatus::Releasing, Some(ReleaseReason::Superseded)));
        assert_eq!(passports(&billing).await, [invited]);
        assert_eq!((billing.process_due_stakes().await, billing.networks.balance().await), (1, 1_000));
        billing.is_sound().await;
    }

    async fn a_blocked_user_loses_every_passport_and_gets_no_other(db: &TestDatabase) {
        let billing = developer(db).await;
        let (owner, did) = (owner(&billing).await, billing.networks.wallet.did());
        block_user(&billing.ctx, &owner, did).await.expect("blocks");
        block_user(&billing.ctx, &owner, did).await.expect("changes nothing");
        let leaving = held_deposit(&billing).await;
        assert_eq!(released(&leaving), (StakeStatus::Releasing, Some(ReleaseReason::ReturnedByStore)));
        assert_eq!(passports(&billing).await, []);
        assert!(matches!(check_join(&billing.ctx, did).await, Err(JoinError::Blocked)));
        assert!(issue_passport(&billing.ctx, did, Role::Developer).await.is_err());
        billing.is_sound().await;
        billing.wait(WAITING);
        assert_eq!((billing.process_due_stakes().await, billing.networks.balance().await), (1, 1_000));
        unblock_user(&billing.ctx, &owner, did).await.expect("ends");
        join(&billing.ctx, &billing, 22).await.expect("joins again");
        billing.is_sound().await;
    }

    async fn a_deposit_that_settles_after_its_user_was_blocked_is_returned_at_once(db: &TestDatabase) {
        let billing = applicant(db).await;
        billing.networks.fault("drop_answer").await;
        join(&billing.ctx, &billing, 21).await.expect("stays in flight");
        block_user(&billing.ctx, &owner(&billing).await, billing.networks.wallet.did()).await.expect("blocks");
        billing.wait(LATER);
        check_due(&billing.ctx, 9).await.expect("asks");
        assert_eq!((passports(&billing).await, billing.process_due_stakes().await), (Vec::new(), 1));
        assert_eq!(billing.networks.balance().await, 1_000);
        billing.is_sound().await;
    }

    async fn a_passport_revoked_by_the_store_returns_its_deposit(db: &TestDatabase) {
        let billing = developer(db).await;
        let passport = passports(&billing).await.remove(0);
        assert!(revoke_passport(&billing.ctx, &passport.id).await.expect("revokes"));
        assert!(!revoke_passport(&billing.ctx, &passport.id).await.expect("answers"), "once");
        billing.wait(WAITING);
        assert_eq!((billing.process_due_stakes().await, billing.networks.balance().await), (1, 1_000));
        billing.is_sound().await;
    }

    async fn a_held_deposit_whose_passport_was_ended_without_it_is_found_and_returned(db: &TestDatabase) {
        let billing = developer(db).await;
        // As after the restore of a backup that does not know the order to return it.
        billing.write("UPDATE passports SET revoked_at = issued_at").await;
        check(&billing).await;
        assert_eq!(released(&held_deposit(&billing).await), (StakeStatus::Releasing, Some(ReleaseReason::ReturnedByStore)));
        billing.wait(WAITING);
        assert_eq!((billing.process_due_stakes().await, billing.networks.balance().await), (1, 1_000));
        billing.is_sound().await;
    }

    async fn a_deposit_that_is_held_in_part_for_nobody_is_returned_after_a_day(db: &TestDatabase) {
        let billing = developer(db).await;
        // As after a payment on hold that was recorded with a lower amount than was asked for.
        billing.write("UPDATE passports SET revoked_at = issued_at").await;
        let before = held_deposit(&billing).await;
        let part = Stake { amount_requested: Amount::new(60 * UNIT), updated_at: billing.ctx.now(), ..before.clone() };
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        assert!(unit.stakes().update(&before, &part).await.expect("writes"));
        unit.commit().await.expect("commits");
        check(&billing).await;
        assert_eq!(released(&held_deposit(&billing).await), (StakeStatus::Held, None), "its payer can pay the rest");
        billing.wait(DAY - STAKE_CHECK_INTERVAL);
        check(&billing).await;
        assert_eq!(released(&held_deposit(&billing).await), (StakeStatus::Releasing, Some(ReleaseReason::ReturnedByStore)));
        assert_eq!((billing.process_due_stakes().await, billing.networks.balance().await), (1, 1_000));
        assert_eq!(deposit(&billing).await, None);
        billing.is_sound().await;
    }

    async fn a_restored_store_withdraws_the_passport_of_a_deposit_that_its_original_has_returned(db: &TestDatabase) {
        let billing = developer(db).await;
        let before = held_deposit(&billing).await;
        leave_developers(&billing.ctx, &wallet_caller(&billing).await).await.expect("leaves");
        billing.wait(WAITING);
        assert_eq!((billing.process_due_stakes().await, billing.networks.balance().await), (1, 1_000));
        // The backup is older than the departure.
        let returned = billing.find_stake(before.id.as_str()).await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        assert!(unit.stakes().update(&returned, &before).await.expect("writes"));
        unit.commit().await.expect("commits");
        billing.write("UPDATE passports SET revoked_at = NULL").await;
        assert_eq!(passports(&billing).await.len(), 1);
        check(&billing).await;
        assert_eq!((passports(&billing).await, held_deposit(&billing).await.is_revoked()), (Vec::new(), true));
    }

    async fn passports_by_deposit_stay_bound_to_it_when_the_store_invites_again(db: &TestDatabase) {
        let billing = developer(db).await;
        let inviting = Preferences { permission_mode: PermissionMode::Inviting, ..staking_preferences(&billing) };
        change_preferences(&billing.ctx, 1, inviting).await.expect("changes");
        check(&billing).await;
        assert_eq!(passports(&billing).await.len(), 1);
        let stake = held_deposit(&billing).await;
        assert_eq!(billing.networks.wallet_sends(2, revoke(&billing.networks, stake.id.as_str(), 50)).await.0, "OK");
        check(&billing).await;
        assert_eq!(passports(&billing).await, []);
        assert!(matches!(check_join(&billing.ctx, billing.networks.wallet.did()).await, Err(JoinError::NotOffered)));
        billing.is_sound().await;
    }

    async fn a_crash_at_any_commit_leaves_neither_a_passport_without_its_deposit_nor_a_deposit_without_its_passport(db: &TestDatabase) {
        for takes_effect in [false, true] {
            let mut commits = 0;
            while crash_once(&another(db).await, CrashPoint { commits, takes_effect }).await {
                commits += 1;
                assert!(commits < 50, "joining and leaving have an end");
            }
            assert!(commits > 5, "the order, its payment, the departure and the return are commits of their own: {commits}");
        }
    }
}

/// Another database of the same engine.
async fn another(db: &TestDatabase) -> TestDatabase {
    if db.address().starts_with("sqlite") { TestDatabase::sqlite().await } else { TestDatabase::postgres().await }
}

/// What the workers do: they ask about payments and deposits, and move what is due. Whatever fails is tried again.
async fn work(ctx: &Context) {
    drop(check_due(ctx, 9).await);
    drop(billing::check_stakes(ctx, 9).await);
    if let Ok(round) = billing::move_due_stakes(ctx, &Scope::Wall, ctx.now(), 9).await {
        drop(payment::charge(ctx, &round.attempts).await);
    }
}

/// Crashes once while a user joins and leaves, recovers, and checks that the user has their money. Returns whether the crash point was
/// reached.
async fn crash_once(db: &TestDatabase, point: CrashPoint) -> bool {
    let billing = applicant(db).await;
    let (ctx, crash) = crashing(&billing.ctx, point);
    drop(join(&ctx, &billing, 21).await);
    billing.wait(LATER);
    work(&ctx).await;
    drop(leave_developers(&ctx, &wallet_caller(&billing).await).await);
    billing.wait(WAITING);
    work(&ctx).await;

    for _ in 0..4 {
        billing.wait(DAY);
        work(&billing.ctx).await;
        billing.is_sound().await;
    }
    let valid = passports(&billing).await;
    assert_eq!(valid.is_empty(), !deposit(&billing).await.is_some_and(|stake| stake.is_held()), "{point:?}");
    if !valid.is_empty() {
        leave_developers(&billing.ctx, &wallet_caller(&billing).await).await.expect("leaves");
    }
    billing.wait(WAITING);
    for _ in 0..2 {
        work(&billing.ctx).await;
        billing.wait(DAY);
    }
    assert_eq!((deposit(&billing).await, billing.networks.balance().await), (None, 1_000), "{point:?}");
    assert_eq!(passports(&billing).await, []);
    billing.is_sound().await;
    crash.has_happened()
}
