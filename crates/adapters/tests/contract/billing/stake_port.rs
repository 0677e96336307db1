//! The stakes port: uniqueness, compare-and-set, due stakes, and lists.

use super::bench::{Billing, DAY, MONTHLY};
use crate::checkout_fixtures::{all_at_once, begin, did, id};
use crate::ledger::bench::UNIT;
use souk_adapters::on_both;
use souk_domain::billing::{
    ReleaseReason, STAKE_CHECK_INTERVAL, Scope, Stake, StakeFilter, StakePurpose, StakeReservation, StakeReturns, StakeStatus,
    StakeSubject, StakeTransferKind,
};
use souk_domain::payment::Decline;
use souk_domain::shared::{Amount, Mode, Page, StorageError};

async fn held(db: &souk_adapters::testing::TestDatabase) -> (Billing, Stake) {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let one = billing.subscription("sub_1", &price, DAY);
    let stake = billing.stake(&one, 50).await;
    billing.insert(&souk_domain::billing::Subscription { stake_id: Some(stake.id.clone()), ..one }).await;
    (billing, stake)
}

fn reserved(stake: &Stake, attempt: &str, tokens: u128) -> Stake {
    let reservation = StakeReservation { attempt_id: id(attempt), kind: StakeTransferKind::Return, amount: Amount::new(tokens * UNIT) };
    Stake { reservation: Some(reservation), ..stake.clone() }
}

on_both! {
    async fn a_stake_is_read_as_written(db: &TestDatabase) {
        let (billing, stake) = held(db).await;
        let after = Stake {
            amount_forfeited: Amount::new(7 * UNIT),
            amount_returned: Amount::new(3 * UNIT),
            status: StakeStatus::Releasing,
            release_reason: Some(ReleaseReason::Superseded),
            released_at: Some(billing.start),
            return_at: Some(billing.start.plus(DAY)),
            failure_count: 4,
            waiting_days: 30,
            ..reserved(&stake, "att_9", 40)
        };
        let mut unit = begin(db).await;
        assert!(unit.stakes().update(&stake, &after).await.expect("writes"));
        unit.commit().await.expect("commits");
        assert_eq!(billing.find_stake("stk_1").await, after);
        let mut unit = begin(db).await;
        assert_eq!(unit.stakes().find_open(&after.key()).await.expect("reads"), Some(after.clone()));
        assert_eq!(unit.stakes().lock(&after.id).await.expect("locks"), Some(after));
        let named = unit.subscriptions().of_stake(&stake.id).await.expect("reads");
        assert_eq!(named.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["sub_1"]);
    }

    async fn a_stake_is_unique_until_it_is_final(db: &TestDatabase) {
        let (_, stake) = held(db).await;
        let twin = Stake { id: id("stk_2"), ..stake.clone() };
        let mut unit = begin(db).await;
        assert!(matches!(unit.stakes().insert(&twin).await, Err(StorageError::Duplicate(_))));
        drop(unit);
        let mut unit = begin(db).await;
        unit.stakes().insert(&Stake { id: id("stk_3"), purpose: StakePurpose::Overdraft, ..stake.clone() }).await.expect("another purpose");
        let gone = Stake { status: StakeStatus::Final, amount_returned: stake.amount, ..stake.clone() };
        assert!(unit.stakes().update(&stake, &gone).await.expect("writes"));
        let newest = unit.stakes().find_newest(&stake.key()).await.expect("reads");
        assert_eq!((newest, unit.stakes().find_open(&stake.key()).await.expect("reads")), (Some(gone), None));
        unit.stakes().insert(&twin).await.expect("the first is final");
        assert_eq!(unit.stakes().find_newest(&stake.key()).await.expect("reads").map(|found| found.id), Some(twin.id.clone()));
        unit.commit().await.expect("commits");
    }

    async fn the_open_stakes_of_a_subject_are_found_by_their_purpose(db: &TestDatabase) {
        let (_, stake) = held(db).await;
        let subject = StakeSubject::Developer(did("z1anna"));
        let of_developer = |name: &str, status| Stake {
            id: id(name),
            subject: subject.clone(),
            purpose: StakePurpose::Membership,
            amount_returned: if status == StakeStatus::Final { stake.amount } else { Amount::ZERO },
            status,
            ..stake.clone()
        };
        let mut unit = begin(db).await;
        for found in [of_developer("stk_2", StakeStatus::Final), of_developer("stk_3", StakeStatus::Releasing)] {
            unit.stakes().insert(&found).await.expect("inserts");
        }
        let open = unit.stakes().open_of_subject(&subject, StakePurpose::Membership).await.expect("reads");
        assert_eq!(open, [of_developer("stk_3", StakeStatus::Releasing)]);
        assert_eq!(unit.stakes().open_of_subject(&subject, StakePurpose::Publication).await.expect("reads"), []);
        let app = StakeSubject::App(did("z1anna"));
        assert_eq!(unit.stakes().open_of_subject(&app, StakePurpose::Membership).await.expect("reads"), []);
        assert_eq!(unit.stakes().open_of_subject(&stake.subject, StakePurpose::Security).await.expect("reads"), [stake]);
    }

    async fn of_two_concurrent_reservations_one_succeeds(db: &TestDatabase) {
        let (billing, stake) = held(db).await;
        let done = all_at_once(db, 4, move |db, which| {
            let stake = stake.clone();
            async move {
                let mut unit = begin(&db).await;
                let locked = unit.stakes().lock(&stake.id).await.expect("locks").expect("exists");
                let Ok(after) = locked.reserve(reserved(&stake, &format!("att_{which}"), 50).reservation.expect("one"), stake.updated_at) else {
                    return false;
                };
                let is_written = unit.stakes().update(&locked, &after).await.expect("writes");
                unit.commit().await.expect("commits");
                is_written
            }
        });
        assert_eq!(done.await.into_iter().filter(|done| *done).count(), 1);
        assert_eq!(billing.find_stake("stk_1").await.available(), Amount::ZERO);
    }

    async fn a_stake_that_changed_since_it_was_read_is_not_overwritten(db: &TestDatabase) {
        let (_, stake) = held(db).await;
        let mut unit = begin(db).await;
        assert!(unit.stakes().update(&stake, &reserved(&stake, "att_1", 10)).await.expect("writes"));
        assert!(!unit.stakes().update(&stake, &reserved(&stake, "att_2", 10)).await.expect("reads"));
    }

    async fn due_stakes_are_listed_in_order_unless_an_attempt_reserves_them(db: &TestDatabase) {
        let (billing, stake) = held(db).await;
        let at = |days: u32| Some(billing.start.plus(DAY * days));
        let mut unit = begin(db).await;
        let released = stake.released(ReleaseReason::Ended, billing.start.plus(DAY * 2), billing.start);
        assert!(unit.stakes().update(&stake, &released).await.expect("writes"));
        let other = Stake { id: id("stk_2"), purpose: StakePurpose::Overdraft, return_at: at(1), ..released.clone() };
        unit.stakes().insert(&other).await.expect("inserts");
        let moving = Stake { id: id("stk_3"), purpose: StakePurpose::Membership, ..reserved(&other, "att_1", 50) };
        unit.stakes().insert(&moving).await.expect("inserts");
        let due = |found: Vec<Stake>| found.iter().map(|stake| stake.id.to_string()).collect::<Vec<_>>();
        assert!(unit.stakes().due(&Scope::Wall, billing.start, 9, &[]).await.expect("reads").is_empty());
        let found = unit.stakes().due(&Scope::Wall, billing.start.plus(DAY * 2), 9, &[]).await.expect("reads");
        assert_eq!(due(found), ["stk_2", "stk_1"]);
        assert!(unit.stakes().due(&Scope::Clock(id("clock_1")), billing.start.plus(DAY * 9), 9, &[]).await.expect("reads").is_empty());
    }

    async fn each_stake_is_checked_once_per_interval(db: &TestDatabase) {
        let (billing, stake) = held(db).await;
        let mut unit = begin(db).await;
        let claimed = unit.stakes().claim_unchecked(billing.start.minus(STAKE_CHECK_INTERVAL), billing.start, 9).await.expect("claims");
        assert_eq!(claimed.iter().map(|one| one.checked_at).collect::<Vec<_>>(), [billing.start]);
        assert!(unit.stakes().claim_unchecked(billing.start.minus(STAKE_CHECK_INTERVAL), billing.start, 9).await.expect("claims").is_empty());
        let ended = stake.released(ReleaseReason::Ended, billing.start, billing.start);
        assert!(unit.stakes().update(&stake, &ended).await.expect("writes"));
        let later = billing.start.plus(STAKE_CHECK_INTERVAL);
        assert!(unit.stakes().claim_unchecked(later, later, 9).await.expect("claims").is_empty(), "the round of due stakes asks about it");
    }

    async fn stakes_are_listed_by_customer_subscription_purpose_and_status(db: &TestDatabase) {
        let (_, stake) = held(db).await;
        let mut unit = begin(db).await;
        let declined = Stake { id: id("stk_2"), purpose: StakePurpose::Overdraft, failure_count: 6, status: StakeStatus::Releasing, amount_returned: Amount::new(1), failure: Some(Decline::default()), ..stake.clone() };
        let returned = Stake { id: id("stk_3"), status: StakeStatus::Final, amount_returned: Amount::new(1), return_reference: Some("HASH".to_owned()), customer_id: id("cus_1"), ..stake };
        for stake in [&declined, &returned] {
            unit.stakes().insert(stake).await.expect("inserts");
        }
        assert_eq!(unit.stakes().find(&returned.id).await.expect("reads"), Some(returned));
        let filters = [
            (StakeFilter::default(), vec!["stk_3", "stk_2", "stk_1"]),
            (StakeFilter { customer_id: Some(id("cus_1")), ..StakeFilter::default() }, vec!["stk_3", "stk_2", "stk_1"]),
            (StakeFilter { customer_id: Some(id("cus_2")), ..StakeFilter::default() }, vec![]),
            (StakeFilter { subscription_id: Some(id("sub_1")), ..StakeFilter::default() }, vec!["stk_3", "stk_2", "stk_1"]),
            (StakeFilter { purpose: Some(StakePurpose::Security), ..StakeFilter::default() }, vec!["stk_3", "stk_1"]),
            (StakeFilter { statuses: vec![StakeStatus::Releasing, StakeStatus::Final], ..StakeFilter::default() }, vec!["stk_3", "stk_2"]),
            (StakeFilter { needs_attention: true, ..StakeFilter::default() }, vec!["stk_2"]),
            (StakeFilter { returns: Some(StakeReturns::All), ..StakeFilter::default() }, vec!["stk_3", "stk_2"]),
            (StakeFilter { returns: Some(StakeReturns::Succeeded), ..StakeFilter::default() }, vec!["stk_3"]),
            (StakeFilter { returns: Some(StakeReturns::Failed), ..StakeFilter::default() }, vec!["stk_2"]),
        ];
        for (filter, expected) in filters {
            let found = unit.stakes().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("reads");
            assert_eq!(found.list.iter().map(|stake| stake.id.as_str()).collect::<Vec<_>>(), expected, "{filter:?}");
            assert_eq!(found.count, expected.len() as u64);
        }
        assert_eq!(unit.stakes().list(Mode::Live, &StakeFilter::default(), &Page::new(None, None)).await.expect("reads").count, 0);
    }
}
