//! Compares the wall clock with other sources of time. Automatic work stops while they differ.

use crate::shared::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// A smaller difference is normal: clocks are adjusted, and answers take time.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(600);

/// The most networks whose time is remembered. Stores use a few.
const WITNESSES_MAX: usize = 32;

/// What the wall clock is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TimeSource {
    /// The time since the machine was started. Nobody sets it.
    Uptime,
    Database,
    /// The `Date` header of a payment network.
    Network,
    /// A time that the store has stored: the clock has been later than it is.
    Mark,
}

impl TimeSource {
    pub const ALL: [Self; 4] = [Self::Uptime, Self::Database, Self::Network, Self::Mark];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uptime => "uptime",
            Self::Database => "database",
            Self::Network => "network",
            Self::Mark => "mark",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.name() == name)
    }
}

/// Why the clock is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockDoubt {
    pub source: TimeSource,
    /// How far the clock is ahead of the source; negative: behind it.
    pub ahead_seconds: i64,
}

/// One moment on the two clocks of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub wall: Timestamp,
    /// The time since the machine was started, time asleep included.
    pub uptime: Duration,
}

impl Moment {
    /// When the machine was started, according to a time of this moment.
    fn start_by(self, time: Timestamp) -> i64 {
        time.micros().saturating_sub(i64::try_from(self.uptime.as_micros()).unwrap_or(i64::MAX))
    }
}

/// Another machine's clock.
#[derive(Debug, Clone, Copy)]
struct Witness {
    /// When this machine was started, by the witness's time when it was first heard.
    start: i64,
    /// Its last difference, in microseconds.
    ahead: i64,
    /// The difference that an owner has confirmed.
    accepted: i64,
}

/// Whether the clock of this process is trusted. A doubt ends when the source that raised it agrees again, when another machine agrees, or
/// when an owner confirms the clock.
#[derive(Debug, Clone, Default)]
pub struct ClockGuard {
    /// When the machine was started, by the wall clock when it was last trusted.
    start: Option<i64>,
    witnesses: BTreeMap<String, Witness>,
    doubt: Option<ClockDoubt>,
    /// The doubt is from before this process started, which cannot judge it by its own uptime.
    is_inherited: bool,
}

const fn differs(micros: i64) -> bool {
    micros.unsigned_abs() as u128 >= CLOCK_TOLERANCE.as_micros()
}

impl ClockGuard {
    #[must_use]
    pub const fn doubt(&self) -> Option<ClockDoubt> {
        self.doubt
    }

    /// Continues a doubt from before this process started.
    pub const fn inherit(&mut self, doubt: ClockDoubt) {
        self.doubt = Some(doubt);
        self.is_inherited = true;
    }

    fn raise(&mut self, source: TimeSource, ahead: i64) {
        let doubt = ClockDoubt { source, ahead_seconds: ahead / 1_000_000 };
        if self.doubt.is_none() {
            self.doubt = Some(doubt);
            self.is_inherited = false;
        }
    }

    /// The source that raised the doubt agrees again.
    fn withdraw(&mut self, source: TimeSource) {
        if !self.is_inherited && self.doubt.is_some_and(|doubt| doubt.source == source) {
            self.doubt = None;
        }
    }

    /// Compares the wall clock with the uptime.
    pub fn tick(&mut self, now: Moment) {
        let start = *self.start.get_or_insert_with(|| now.start_by(now.wall));
        let ahead = now.start_by(now.wall).saturating_sub(start);
        if differs(ahead) { self.raise(TimeSource::Uptime, ahead) } else { self.withdraw(TimeSource::Uptime) }
    }

    /// Compares the wall clock with a time that was once current.
    pub fn compare_mark(&mut self, now: Moment, mark: Timestamp) {
        let ahead = now.wall.micros().saturating_sub(mark.micros());
        if ahead < 0 && differs(ahead) { self.raise(TimeSource::Mark, ahead) } else { self.withdraw(TimeSource::Mark) }
    }

    /// Compares the wall clock with another machine. If that machine's own clock has jumped since it was first heard, as one that shares
    /// this machine's clock does, its agreement is no evidence.
    pub fn hear(&mut self, name: &str, source: TimeSource, theirs: Timestamp, now: Moment) {
        self.tick(now);
        let ahead = now.wall.micros().saturating_sub(theirs.micros());
        let start = now.start_by(theirs);
        if !self.witnesses.contains_key(name) && self.witnesses.len() >= WITNESSES_MAX {
            return;
        }
        let witness = self.witnesses.entry(name.to_owned()).or_insert(Witness { start, ahead, accepted: 0 });
        witness.ahead = ahead;
        let has_jumped = differs(start.saturating_sub(witness.start));
        if differs(ahead.saturating_sub(witness.accepted)) {
            self.raise(source, ahead);
        } else if !has_jumped {
            self.doubt = None;
            self.start = Some(now.start_by(now.wall));
        }
    }

    /// An owner has confirmed that the clock is right, whatever the other sources say now.
    pub fn confirm(&mut self, now: Moment) {
        self.doubt = None;
        self.start = Some(now.start_by(now.wall));
        for witness in self.witnesses.values_mut() {
            witness.accepted = witness.ahead;
            witness.start = now.start_by(Timestamp::from_micros(now.wall.micros().saturating_sub(witness.ahead)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const YEARS: i64 = 10 * 365 * 86_400;
    const NOON: i64 = 1_800_000_000;

    /// The moment `after` seconds after the start of the test, with the wall clock `ahead` seconds ahead.
    fn moment(after: u64, ahead: i64) -> Moment {
        Moment { wall: time(after, ahead), uptime: Duration::from_secs(5_000 + after) }
    }

    fn time(after: u64, ahead: i64) -> Timestamp {
        Timestamp::from_seconds(NOON + i64::try_from(after).expect("a time") + ahead)
    }

    fn source(guard: &ClockGuard) -> Option<TimeSource> {
        guard.doubt().map(|doubt| doubt.source)
    }

    #[test]
    fn a_jump_of_ten_minutes_against_the_uptime_is_doubted_until_the_clock_returns() {
        for (ahead, is_doubted) in [(0, false), (599, false), (-599, false), (600, true), (-600, true), (YEARS, true)] {
            let mut guard = ClockGuard::default();
            guard.tick(moment(0, 0));
            guard.tick(moment(100, ahead));
            let expected = is_doubted.then_some(ClockDoubt { source: TimeSource::Uptime, ahead_seconds: ahead });
            assert_eq!(guard.doubt(), expected, "{ahead}");
            guard.tick(moment(200, 0));
            assert_eq!(guard.doubt(), None);
        }
    }

    #[test]
    fn a_clock_that_is_wrong_from_the_start_is_doubted_by_another_machine() {
        let mut guard = ClockGuard::default();
        guard.tick(moment(0, YEARS));
        assert_eq!(guard.doubt(), None);
        guard.hear("database", TimeSource::Database, time(1, 0), moment(1, YEARS));
        assert_eq!(source(&guard), Some(TimeSource::Database));
        guard.tick(moment(2, YEARS));
        assert_eq!(source(&guard), Some(TimeSource::Database), "the uptime says nothing about it");
        guard.hear("database", TimeSource::Database, time(3, 0), moment(3, 0));
        assert_eq!(guard.doubt(), None, "the clock was set, and the database agrees");
        guard.tick(moment(4, 0));
        assert_eq!(guard.doubt(), None);
    }

    #[test]
    fn a_machine_whose_clock_jumped_as_well_is_no_evidence() {
        let mut guard = ClockGuard::default();
        guard.hear("database", TimeSource::Database, time(0, 0), moment(0, 0));
        guard.hear("database", TimeSource::Database, time(10, YEARS), moment(10, YEARS));
        assert_eq!(source(&guard), Some(TimeSource::Uptime));
        guard.hear("network", TimeSource::Network, time(20, 0), moment(20, 0));
        assert_eq!(guard.doubt(), None);
    }

    #[test]
    fn a_clock_behind_the_stored_mark_is_doubted() {
        let mut guard = ClockGuard::default();
        guard.compare_mark(moment(0, 0), time(0, 599));
        assert_eq!(guard.doubt(), None);
        guard.compare_mark(moment(0, 0), time(0, 600));
        assert_eq!(guard.doubt(), Some(ClockDoubt { source: TimeSource::Mark, ahead_seconds: -600 }));
        guard.compare_mark(moment(0, 0), time(0, -YEARS));
        assert_eq!(guard.doubt(), None, "an outage is no reason for doubt");
    }

    #[test]
    fn an_owner_confirms_the_differences_of_this_moment_and_no_others() {
        let mut guard = ClockGuard::default();
        guard.hear("database", TimeSource::Database, time(0, 0), moment(0, YEARS));
        guard.confirm(moment(1, YEARS));
        assert_eq!(guard.doubt(), None);
        guard.hear("database", TimeSource::Database, time(100, 0), moment(100, YEARS));
        assert_eq!(guard.doubt(), None);
        guard.hear("database", TimeSource::Database, time(200, 0), moment(200, 2 * YEARS));
        assert!(guard.doubt().is_some());
    }

    #[test]
    fn an_inherited_doubt_does_not_end_by_the_uptime_of_the_new_process() {
        let mut guard = ClockGuard::default();
        guard.inherit(ClockDoubt { source: TimeSource::Uptime, ahead_seconds: YEARS });
        guard.tick(moment(0, YEARS));
        guard.tick(moment(100, YEARS));
        assert_eq!(source(&guard), Some(TimeSource::Uptime));
        guard.hear("network", TimeSource::Network, time(200, 0), moment(200, 0));
        assert_eq!(guard.doubt(), None);
    }

    #[test]
    fn every_source_round_trips_by_name() {
        for source in TimeSource::ALL {
            assert_eq!(TimeSource::from_name(source.name()), Some(source));
        }
    }

    proptest! {
        #[test]
        fn a_clock_within_the_tolerance_of_every_source_is_never_doubted(steps in prop::collection::vec((-290i64..290, -290i64..290), 1..50)) {
            let mut guard = ClockGuard::default();
            for (after, (wall, theirs)) in (0u64..).step_by(60).zip(steps) {
                guard.hear("database", TimeSource::Database, time(after, theirs), moment(after, wall));
                prop_assert_eq!(guard.doubt(), None);
            }
        }
    }
}
