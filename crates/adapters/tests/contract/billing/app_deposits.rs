//! Deposits for apps: a revocation blocks the app, and an administrator may keep the deposit of an app that is blocked.

use super::bench::{Billing, DAY, HOUR};
use super::developer_deposits::{owner, staking_preferences, store_with_deposits, wallet_caller};
use super::late_delegations::LATER;
use crate::catalogue::{app, shelve};
use crate::checkout_fixtures::did;
use crate::ledger::bench::UNIT;
use crate::ledger::stakes::revoke;
use crate::uploads::{number, uploaded_app, version};
use souk_adapters::on_one;
use souk_adapters::testing::TestDatabase;
use souk_adapters::verify::verify;
use souk_domain::access::{Role, Wallet, issue_passport};
use souk_domain::billing::{
    self, DepositError, ReleaseReason, ReturnStakeError, STAKE_CHECK_INTERVAL, STAKE_RETRY_DELAY, Stake, StakeStatus,
};
use souk_domain::payment::{WalletSignature, check_due};
use souk_domain::publishing::bundle::{NewVersion, UploadedApp, UploadedVersion};
use souk_domain::publishing::moderation::{block_app, unblock_app};
use souk_domain::publishing::publication_log::{LoggedVersion, PublicationAction, PublicationFact};
use souk_domain::publishing::review::{ReviewError, VersionStatus};
use souk_domain::publishing::staking::{
    AppDepositError, PUBLISH_STAKE_REVOKED, ReturnAppDepositError, check_app_deposit, find_app_deposit, prepare_app_deposit,
    return_app_deposit, submit_signed_app_deposit,
};
use souk_domain::publishing::{PermissionMode, Preferences, change_preferences};
use souk_domain::shared::Amount;

/// A store that accepts developers by deposits, and an invited developer with 1,000 tokens whose app `z1` is published.
async fn published(db: &TestDatabase) -> Billing {
    let billing = store_with_deposits(db).await;
    let wallet = billing.networks.wallet.did();
    issue_passport(&billing.ctx, wallet, Role::Developer).await.expect("issues");
    shelve(db, &[app("z1", "hello")]).await;
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.uploads().insert_app(&UploadedApp { owner: wallet.clone(), ..uploaded_app("z1", "hello") }).await.expect("inserts");
    let one = UploadedVersion { status: VersionStatus::Published, ..version("ver_1", "1.0.0") };
    unit.uploads().insert_version(&one, &NewVersion::default()).await.expect("inserts");
    let logged = LoggedVersion { version: one.version, document: one.document };
    let fact = PublicationFact { at: billing.start, action: PublicationAction::Publish, app: did("z1"), version: Some(logged) };
    unit.publication_log().append(&fact).await.expect("appends");
    unit.commit().await.expect("commits");
    billing
}

/// As [`published`], with a deposit of 30 tokens for the app.
async fn secured(db: &TestDatabase) -> Billing {
    let billing = published(db).await;
    place(&billing, 31).await.expect("places");
    assert_eq!(deposit(&billing).await.map(|stake| stake.is_complete()), Some(true));
    billing
}

/// The wallet signs the deposit for the app.
async fn place(billing: &Billing, nonce: u64) -> Result<String, AppDepositError> {
    let (wallet, app) = (&billing.networks.wallet, did("z1"));
    let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
    let prepared = prepare_app_deposit(&billing.ctx, &app, &payer, nonce).await?;
    assert_eq!(prepared.amount, Amount::new(30 * UNIT));
    let signed = wallet.sign_stake(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount).expect("signs");
    submit_signed_app_deposit(&billing.ctx, &app, WalletSignature::new(&payer, nonce, &signed)).await
}

/// The deposit that is not final.
async fn deposit(billing: &Billing) -> Option<Stake> {
    find_app_deposit(&billing.ctx, &wallet_caller(billing).await, &did("z1")).await.expect("reads").stake
}

async fn block_reason(billing: &Billing) -> Option<String> {
    let mut unit = billing.ctx.store.read().await.expect("reads");
    unit.reviews().find_app(&did("z1")).await.expect("reads").expect("exists").block_reason
}

/// The network is asked about every stake.
async fn check(billing: &Billing) {
    billing.wait(STAKE_CHECK_INTERVAL);
    billing::check_stakes(&billing.ctx, 9).await.expect("looks");
}

/// The payer revokes all of the deposit at the network.
async fn revoke_all(billing: &Billing) {
    let stake = deposit(billing).await.expect("a deposit");
    assert_eq!(billing.networks.wallet_sends(2, revoke(&billing.networks, stake.id.as_str(), 30)).await.0, "OK");
}

/// No breach of the rules about money and deposits. The app of these tests has no stored files, which other rules miss.
async fn is_sound(billing: &Billing) {
    let mut breaches = Vec::new();
    verify(billing.database(), &mut |check| {
        if ["stake", "deposit", "journal", "cash", "revenue", "suspense"].iter().any(|word| check.title.contains(word)) {
            breaches.extend(check.breaches);
        }
    })
    .await
    .expect("reads");
    assert!(breaches.is_empty(), "{breaches:?}");
}

on_one! {
    async fn an_app_has_one_deposit_which_only_its_developer_places(db: &TestDatabase) {
        let billing = published(db).await;
        let found = find_app_deposit(&billing.ctx, &wallet_caller(&billing).await, &did("z1")).await.expect("reads");
        let terms = found.terms.expect("terms");
        assert_eq!((found.is_required, found.stake, terms.amount, terms.waiting_days), (true, None, Amount::new(30 * UNIT), 30));
        place(&billing, 31).await.expect("places");
        let placed = deposit(&billing).await.expect("a deposit");
        assert_eq!((placed.status, placed.amount, placed.waiting_days), (StakeStatus::Held, Amount::new(30 * UNIT), 30));
        assert!(matches!(place(&billing, 32).await, Err(AppDepositError::Deposit(DepositError::Placed))));
        let olga = owner(&billing).await;
        assert!(matches!(check_app_deposit(&billing.ctx, &olga.user.did, &did("z1")).await, Err(AppDepositError::NotFound)));
        assert!(find_app_deposit(&billing.ctx, &olga, &did("z1")).await.expect("an administrator sees it").stake.is_some());
        check(&billing).await;
        assert_eq!((block_reason(&billing).await, billing.networks.balance().await), (None, 970));
        is_sound(&billing).await;
    }

    async fn a_revoked_deposit_blocks_its_app_even_after_downtime(db: &TestDatabase) {
        let billing = secured(db).await;
        revoke_all(&billing).await;
        billing.wait(DAY * 3);
        check(&billing).await;
        assert_eq!(block_reason(&billing).await.as_deref(), Some(PUBLISH_STAKE_REVOKED));
        assert!(deposit(&billing).await.expect("a deposit").is_revoked());
        is_sound(&billing).await;
        place(&billing, 32).await.expect("places another one");
        check(&billing).await;
        assert!(deposit(&billing).await.expect("a deposit").is_complete());
        assert!(block_reason(&billing).await.is_some(), "an administrator ends the block");
        unblock_app(&billing.ctx, &owner(&billing).await, &did("z1"), &number("1.0.0")).await.expect("unblocks");
        check(&billing).await;
        assert_eq!(block_reason(&billing).await, None);
        is_sound(&billing).await;
    }

    async fn a_store_that_requires_no_deposits_blocks_no_app_for_them(db: &TestDatabase) {
        let billing = secured(db).await;
        let inviting = Preferences { permission_mode: PermissionMode::Inviting, ..staking_preferences(&billing) };
        change_preferences(&billing.ctx, 1, inviting).await.expect("changes");
        assert!(matches!(place(&billing, 32).await, Err(AppDepositError::NotRequired)));
        revoke_all(&billing).await;
        check(&billing).await;
        assert_eq!((block_reason(&billing).await, deposit(&billing).await.map(|stake| stake.is_revoked())), (None, Some(true)));
        is_sound(&billing).await;
    }

    async fn a_developer_who_takes_a_deposit_back_gets_it_after_its_waiting_time(db: &TestDatabase) {
        let billing = secured(db).await;
        let caller = wallet_caller(&billing).await;
        return_app_deposit(&billing.ctx, &caller, &did("z1")).await.expect("is ordered");
        assert_eq!(block_reason(&billing).await.as_deref(), Some(PUBLISH_STAKE_REVOKED));
        assert!(matches!(return_app_deposit(&billing.ctx, &caller, &did("z1")).await, Err(ReturnAppDepositError::NoDeposit)));
        assert!(matches!(place(&billing, 32).await, Err(AppDepositError::Deposit(DepositError::Returning))));
        billing.wait(DAY * 30 - HOUR);
        assert_eq!(billing.process_due_stakes().await, 0);
        billing.wait(HOUR);
        assert_eq!((billing.process_due_stakes().await, billing.networks.balance().await), (1, 1_000));
        assert_eq!(deposit(&billing).await, None);
        is_sound(&billing).await;
    }

    async fn a_block_that_keeps_the_deposit_holds_while_its_network_refuses(db: &TestDatabase) {
        let billing = secured(db).await;
        let (olga, one) = (owner(&billing).await, number("1.0.0"));
        let stake = deposit(&billing).await.expect("a deposit");
        block_app(&billing.ctx, &olga, &did("z1"), &one, "harmful", true).await.expect("blocks");
        let forfeited = billing.find_stake(stake.id.as_str()).await;
        assert_eq!((forfeited.status, forfeited.release_reason), (StakeStatus::Releasing, Some(ReleaseReason::Forfeited)));
        assert!(matches!(billing::return_released(&billing.ctx, &stake.id).await, Err(ReturnStakeError::NoStake)), "the store keeps it");
        billing.networks.fault("decline").await;
        assert_eq!((billing.process_due_stakes().await, billing.networks.store_balance().await), (1, 0));
        let refused = billing.find_stake(stake.id.as_str()).await;
        assert_eq!((refused.failure_count, refused.release_reason), (1, Some(ReleaseReason::Forfeited)));
        assert_eq!(block_reason(&billing).await.as_deref(), Some("harmful"));
        is_sound(&billing).await;
        billing.wait(STAKE_RETRY_DELAY);
        assert_eq!((billing.process_due_stakes().await, billing.process_due_stakes().await), (1, 0));
        let kept = billing.find_stake(stake.id.as_str()).await;
        assert_eq!((kept.status, kept.amount_forfeited, kept.amount_returned), (StakeStatus::Final, Amount::new(30 * UNIT), Amount::ZERO));
        assert_eq!((billing.networks.store_balance().await, billing.cash().await, billing.networks.balance().await), (30, 30, 970));
        is_sound(&billing).await;
        let refused = unblock_app(&billing.ctx, &olga, &did("z1"), &one).await;
        assert!(matches!(refused, Err(ReviewError::DepositRequired)), "{refused:?}");
        assert_eq!(block_reason(&billing).await.as_deref(), Some("harmful"));
        place(&billing, 32).await.expect("places another one");
        unblock_app(&billing.ctx, &olga, &did("z1"), &one).await.expect("unblocks");
        assert_eq!(block_reason(&billing).await, None);
        is_sound(&billing).await;
    }

    async fn a_deposit_that_its_payer_is_getting_back_can_still_be_kept(db: &TestDatabase) {
        let billing = secured(db).await;
        return_app_deposit(&billing.ctx, &wallet_caller(&billing).await, &did("z1")).await.expect("is ordered");
        let (olga, one) = (owner(&billing).await, number("1.0.0"));
        block_app(&billing.ctx, &olga, &did("z1"), &one, "harmful", true).await.expect("keeps it");
        assert_eq!(block_reason(&billing).await.as_deref(), Some("harmful"));
        let again = block_app(&billing.ctx, &olga, &did("z1"), &one, "harmful", true).await;
        assert!(matches!(again, Err(ReviewError::NoDeposit)), "{again:?}");
        assert_eq!((billing.process_due_stakes().await, billing.networks.store_balance().await), (1, 30));
        is_sound(&billing).await;
    }

    async fn a_deposit_whose_return_is_in_flight_is_not_kept(db: &TestDatabase) {
        let billing = secured(db).await;
        return_app_deposit(&billing.ctx, &wallet_caller(&billing).await, &did("z1")).await.expect("is ordered");
        billing.wait(DAY * 30);
        billing.networks.fault("drop_answer").await;
        assert_eq!(billing.process_due_stakes().await, 1);
        let (olga, one) = (owner(&billing).await, number("1.0.0"));
        let refused = block_app(&billing.ctx, &olga, &did("z1"), &one, "harmful", true).await;
        assert!(matches!(refused, Err(ReviewError::DepositReturning)), "{refused:?}");
        assert_eq!(block_reason(&billing).await.as_deref(), Some(PUBLISH_STAKE_REVOKED), "nothing has changed");
        billing.wait(LATER);
        check_due(&billing.ctx, 9).await.expect("asks");
        assert_eq!((deposit(&billing).await, billing.networks.balance().await), (None, 1_000));
        is_sound(&billing).await;
    }

    async fn an_app_is_unblocked_without_a_deposit_only_while_the_store_requires_none(db: &TestDatabase) {
        let billing = published(db).await;
        let (olga, one) = (owner(&billing).await, number("1.0.0"));
        block_app(&billing.ctx, &olga, &did("z1"), &one, "harmful", false).await.expect("blocks");
        let refused = unblock_app(&billing.ctx, &olga, &did("z1"), &one).await;
        assert!(matches!(refused, Err(ReviewError::DepositRequired)), "{refused:?}");
        assert_eq!(block_reason(&billing).await.as_deref(), Some("harmful"));
        let inviting = Preferences { permission_mode: PermissionMode::Inviting, ..staking_preferences(&billing) };
        change_preferences(&billing.ctx, 1, inviting).await.expect("changes");
        unblock_app(&billing.ctx, &olga, &did("z1"), &one).await.expect("unblocks");
        assert_eq!(block_reason(&billing).await, None);
    }

    async fn a_payment_into_a_deposit_that_the_store_has_kept_comes_before_another_deposit(db: &TestDatabase) {
        let billing = secured(db).await;
        let first = deposit(&billing).await.expect("a deposit");
        revoke_all(&billing).await;
        check(&billing).await;
        billing.networks.fault("drop_answer").await;
        place(&billing, 32).await.expect("stays in flight");
        let (olga, one) = (owner(&billing).await, number("1.0.0"));
        block_app(&billing.ctx, &olga, &did("z1"), &one, "harmful", true).await.expect("keeps it");
        assert_eq!((billing.process_due_stakes().await, billing.networks.store_balance().await), (1, 30));
        assert_eq!((billing.find_stake(first.id.as_str()).await.status, deposit(&billing).await), (StakeStatus::Final, None));
        let refused = place(&billing, 33).await;
        assert!(matches!(refused, Err(AppDepositError::Deposit(DepositError::Payment(_)))), "{refused:?}");
        billing.wait(LATER);
        check_due(&billing.ctx, 9).await.expect("asks");
        let late = deposit(&billing).await.expect("the payment");
        assert_eq!((&late.id, late.status, late.remaining()), (&first.id, StakeStatus::Held, Amount::new(30 * UNIT)));
        assert!(matches!(place(&billing, 34).await, Err(AppDepositError::Deposit(DepositError::Placed))));
        is_sound(&billing).await;
    }

    async fn whoever_revokes_a_part_of_a_deposit_gets_the_rest_back_no_earlier(db: &TestDatabase) {
        let billing = secured(db).await;
        let stake = deposit(&billing).await.expect("a deposit");
        assert_eq!(billing.networks.wallet_sends(2, revoke(&billing.networks, stake.id.as_str(), 1)).await.0, "OK");
        check(&billing).await;
        assert_eq!(block_reason(&billing).await.as_deref(), Some(PUBLISH_STAKE_REVOKED));
        billing.wait(DAY * 29);
        assert_eq!((billing.process_due_stakes().await, billing.networks.balance().await), (0, 970));
        let (olga, one) = (owner(&billing).await, number("1.0.0"));
        block_app(&billing.ctx, &olga, &did("z1"), &one, "harmful", true).await.expect("keeps it");
        assert_eq!((billing.process_due_stakes().await, billing.networks.store_balance().await), (1, 30));
        is_sound(&billing).await;
    }

    async fn a_block_that_would_keep_a_missing_deposit_changes_nothing(db: &TestDatabase) {
        let billing = published(db).await;
        let (olga, one) = (owner(&billing).await, number("1.0.0"));
        let refused = block_app(&billing.ctx, &olga, &did("z1"), &one, "harmful", true).await;
        assert!(matches!(refused, Err(ReviewError::NoDeposit)), "{refused:?}");
        assert_eq!(block_reason(&billing).await, None);
        block_app(&billing.ctx, &olga, &did("z1"), &one, "harmful", false).await.expect("blocks");
    }
}
