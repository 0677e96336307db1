//! The row about the clocks of the store's machines.

use crate::checkout_fixtures::store;
use souk_adapters::on_both;
use souk_adapters::testing::RunningClock;
use souk_domain::operation::{CLOCK_TOLERANCE, ClockDoubt, ClockState, StoredDoubt, TimeSource};
use souk_domain::shared::{Clock, Timestamp};
use souk_domain::storage::Store;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn doubt(process: &str, since: i64, renewals: u64) -> StoredDoubt {
    let doubt = ClockDoubt { source: TimeSource::Database, ahead_seconds: -900 };
    StoredDoubt { process: process.to_owned(), host: "a-machine".to_owned(), doubt, at: at(since), renewals }
}

on_both! {
    async fn each_doubt_is_stored_until_its_process_withdraws_it_or_an_owner_confirms(db: &TestDatabase) {
        let store = store(db);
        let read = async || store.read().await.expect("reads").clock_states().read().await.expect("reads");
        assert_eq!(read().await, ClockState::default());
        let mut unit = store.begin().await.expect("begins");
        unit.clock_states().raise(&doubt("b", 8, 0), 0).await.expect("raises");
        unit.clock_states().raise(&doubt("a", 7, 0), 0).await.expect("raises");
        unit.clock_states().withdraw("c").await.expect("withdraws nothing");
        unit.commit().await.expect("commits");
        assert_eq!(read().await.doubts, [doubt("a", 7, 0), doubt("b", 8, 0)]);
        let mut unit = store.begin().await.expect("begins");
        unit.clock_states().raise(&doubt("a", 99, 1), 0).await.expect("renews");
        unit.clock_states().withdraw("b").await.expect("withdraws");
        unit.commit().await.expect("commits");
        assert_eq!(read().await.doubts, [doubt("a", 7, 1)], "it began when it began");
        let mut unit = store.begin().await.expect("begins");
        unit.clock_states().set_mark(at(50), false).await.expect("sets");
        unit.clock_states().confirm().await.expect("confirms");
        unit.clock_states().raise(&doubt("a", 7, 2), 0).await.expect("comes too late");
        unit.commit().await.expect("commits");
        assert_eq!(read().await, ClockState { confirmations: 1, ..ClockState::default() });
        let mut unit = store.begin().await.expect("begins");
        unit.clock_states().raise(&doubt("a", 60, 0), 1).await.expect("raises");
        unit.commit().await.expect("commits");
        assert_eq!(read().await.doubts, [doubt("a", 60, 0)]);
    }

    async fn the_mark_moves_back_only_when_it_is_reset(db: &TestDatabase) {
        let store = store(db);
        for (mark, reset, expected) in [(100, false, 100), (50, false, 100), (200, false, 200), (50, true, 50)] {
            let mut unit = store.begin().await.expect("begins");
            unit.clock_states().set_mark(at(mark), reset).await.expect("sets");
            unit.commit().await.expect("commits");
            let mark = store.read().await.expect("reads").clock_states().read().await.expect("reads").mark;
            assert_eq!(mark, Some(at(expected)));
        }
    }

    async fn only_a_database_server_has_a_time_of_its_own(db: &TestDatabase) {
        let theirs = store(db).read().await.expect("reads").clock_states().server_time().await.expect("reads");
        match db.address().starts_with("postgres") {
            true => assert!(RunningClock.now().since(theirs.expect("a time")) < CLOCK_TOLERANCE),
            false => assert_eq!(theirs, None),
        }
    }
}
