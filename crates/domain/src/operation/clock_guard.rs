//! Compares the wall clock with other sources of time. Automatic work stops while they differ, and the store writes the time of
//! [`ClockGuard::time`].

mod best_time;

use crate::shared::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// A smaller difference is normal: clocks are adjusted, and answers take time.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(600);

/// The most networks whose time is remembered. Stores use a few.
const NETWORKS_MAX: usize = 32;

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

/// A source from which the clock differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Difference {
    source: TimeSource,
    /// When this machine was started, according to the source.
    start: i64,
}

impl Difference {
    fn doubt(self, now: Moment) -> ClockDoubt {
        ClockDoubt { source: self.source, ahead_seconds: now.start_by(now.wall).saturating_sub(self.start) / 1_000_000 }
    }
}

const fn differs(micros: i64) -> bool {
    micros.unsigned_abs() as u128 >= CLOCK_TOLERANCE.as_micros()
}

/// What a witness says about the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opinion {
    Agrees,
    Differs,
    /// It agreed when it was last heard, and the wall clock has jumped since.
    Silent,
}

/// The clock of the database or of a network.
#[derive(Debug, Clone, Copy)]
struct Witness {
    /// When this machine was started, by the witness's time when it was last heard.
    start: i64,
    /// The same when the clock was last trusted.
    base: i64,
    has_differed: bool,
    /// The difference that an owner has confirmed.
    accepted: i64,
}

impl Witness {
    /// How far the wall clock is ahead of the witness, in microseconds.
    fn ahead(&self, now: Moment) -> i64 {
        now.start_by(now.wall).saturating_sub(self.start)
    }

    fn is_within(&self, now: Moment) -> bool {
        let ahead = self.ahead(now);
        !differs(ahead) || !differs(ahead.saturating_sub(self.accepted))
    }

    /// Its statement is carried forward by the uptime: it ends a doubt when the clock is set right, but raises none.
    fn opinion(&self, now: Moment) -> Opinion {
        match (self.is_within(now), self.has_differed) {
            (true, _) => Opinion::Agrees,
            (false, true) => Opinion::Differs,
            (false, false) => Opinion::Silent,
        }
    }

    /// Whether it agrees and its own clock has not jumped, as that of this machine does together with the wall clock.
    fn is_evidence(&self, now: Moment) -> bool {
        self.opinion(now) == Opinion::Agrees && !differs(self.start.saturating_sub(self.base))
    }
}

/// What one process knows about its clock. Whether it doubts the clock follows from that alone: see [`ClockGuard::doubt`].
#[derive(Debug, Clone)]
pub struct ClockGuard {
    /// When the machine was started, by the wall clock when it was last trusted.
    start: i64,
    /// The same by another process on this machine, which doubts the clock.
    corrected: Option<i64>,
    networks: BTreeMap<String, Witness>,
    /// When the machine was started, by the wall clock when a network last agreed with it.
    start_by_network: Option<i64>,
    database: Option<Witness>,
    mark: Option<Timestamp>,
    /// The mark that this process has found first. It was set before this process has heard anything.
    first_mark: Option<Timestamp>,
    /// When the machine was started, by the mark when the clock was first seen behind it.
    start_by_mark: Option<i64>,
    /// The doubt of a process that has ended, which this one cannot judge by its own uptime.
    inherited: Option<Difference>,
}

impl ClockGuard {
    #[must_use]
    pub fn new(now: Moment) -> Self {
        Self {
            start: now.start_by(now.wall),
            corrected: None,
            networks: BTreeMap::new(),
            start_by_network: None,
            database: None,
            mark: None,
            first_mark: None,
            start_by_mark: None,
            inherited: None,
        }
    }

    /// Why the clock is doubted. A network is another machine, so it decides: the clock is doubted while one differs, and otherwise trusted if
    /// one agrees. Without a network it is doubted while an inherited doubt remains, while the database differs, while it is behind the
    /// mark, or after it has jumped against the uptime; only the last is overruled, by a database that agrees and has not jumped as well.
    #[must_use]
    pub fn doubt(&self, now: Moment) -> Option<ClockDoubt> {
        self.difference(now).map(|difference| difference.doubt(now))
    }

    fn difference(&self, now: Moment) -> Option<Difference> {
        let by = |source, start| Some(Difference { source, start });
        if let Some(network) = self.networks.values().find(|network| network.opinion(now) == Opinion::Differs) {
            return by(TimeSource::Network, network.start);
        }
        if self.network_agrees(now) {
            return None;
        }
        if self.inherited.is_some() {
            return self.inherited;
        }
        if let Some(database) = self.database.filter(|database| database.opinion(now) == Opinion::Differs) {
            return by(TimeSource::Database, database.start);
        }
        if let Some(mark) = self.mark.filter(|mark| is_behind(now.wall, *mark)) {
            return by(TimeSource::Mark, now.start_by(mark));
        }
        let is_corrected = self.corrected.is_some_and(|start| !differs(now.start_by(now.wall).saturating_sub(start)));
        match self.has_jumped(now) && !is_corrected && !self.database.is_some_and(|database| database.is_evidence(now)) {
            true => by(TimeSource::Uptime, self.start),
            false => None,
        }
    }

    /// Whether the clock was set since it was last trusted.
    fn has_jumped(&self, now: Moment) -> bool {
        differs(now.start_by(now.wall).saturating_sub(self.start))
    }

    fn network_agrees(&self, now: Moment) -> bool {
        self.networks.values().any(|network| network.opinion(now) == Opinion::Agrees)
    }

    /// Whether this process can end a doubt of this source that another process has left behind: it trusts its own clock, and by that
    /// source or a network. How far a clock had jumped before, only a network tells.
    #[must_use]
    pub fn refutes(&self, source: TimeSource, now: Moment) -> bool {
        let by_itself = match source {
            TimeSource::Database => self.database.is_some_and(|database| database.opinion(now) == Opinion::Agrees),
            TimeSource::Mark => self.mark.is_some(),
            TimeSource::Uptime | TimeSource::Network => false,
        };
        self.doubt(now).is_none() && (by_itself || self.network_agrees(now))
    }

    /// Whether the clock is trusted although it is behind the mark, which is wrong then.
    #[must_use]
    pub fn overrules_mark(&self, now: Moment) -> bool {
        self.mark.is_some_and(|mark| is_behind(now.wall, mark)) && self.doubt(now).is_none()
    }

    /// Continues the doubt of a process that has ended. Differences from the database and the mark are judged anew instead.
    pub fn inherit(&mut self, doubt: ClockDoubt, now: Moment) {
        if matches!(doubt.source, TimeSource::Uptime | TimeSource::Network) {
            self.inherited = Some(Difference { source: doubt.source, start: start_by(doubt, now) });
        }
    }

    /// Takes note of what a running process on the same machine doubts: if the clock is set right, that is no jump. The mark is the same for
    /// both.
    pub fn hear_neighbor(&mut self, doubt: ClockDoubt, now: Moment) {
        if doubt.source != TimeSource::Mark {
            self.corrected = self.corrected.or_else(|| Some(start_by(doubt, now)));
        }
    }

    /// No process doubts the clock any longer: what another one knew counts as known.
    pub fn settle_neighbors(&mut self, now: Moment) {
        if self.corrected.take().is_some() {
            self.start = now.start_by(now.wall);
        }
    }

    /// Takes note of a time that was once current.
    pub fn see_mark(&mut self, mark: Option<Timestamp>, now: Moment) {
        self.start_by_mark = match mark.filter(|mark| is_behind(now.wall, *mark)) {
            Some(mark) if self.mark != Some(mark) => Some(now.start_by(mark)),
            Some(mark) => self.start_by_mark.or_else(|| Some(now.start_by(mark))),
            None => None,
        };
        self.mark = mark;
        self.first_mark = self.first_mark.or(mark);
    }

    pub fn hear_network(&mut self, name: &str, theirs: Timestamp, now: Moment) {
        if self.networks.contains_key(name) || self.networks.len() < NETWORKS_MAX {
            let heard = heard(self.networks.get(name), theirs, now);
            self.networks.insert(name.to_owned(), heard);
            if heard.opinion(now) == Opinion::Agrees {
                self.start_by_network = Some(now.start_by(now.wall));
            }
            self.settle(heard, now);
        }
    }

    pub fn hear_database(&mut self, theirs: Timestamp, now: Moment) {
        let heard = heard(self.database.as_ref(), theirs, now);
        self.database = Some(heard);
        self.settle(heard, now);
    }

    /// A witness was heard. If it agrees and the clock is trusted, jumps count from now on.
    fn settle(&mut self, heard: Witness, now: Moment) {
        if heard.opinion(now) == Opinion::Agrees && self.doubt(now).is_none() {
            self.trust(now);
        }
    }

    fn trust(&mut self, now: Moment) {
        self.start = now.start_by(now.wall);
        (self.corrected, self.inherited) = (None, None);
        if let Some(database) = &mut self.database {
            database.base = database.start;
        }
    }

    /// An owner has confirmed that the clock is right, whatever the other sources say now.
    pub fn confirm(&mut self, now: Moment) {
        for witness in self.networks.values_mut().chain(&mut self.database) {
            witness.accepted = witness.ahead(now);
        }
        (self.mark, self.first_mark, self.start_by_mark) = (None, None, None);
        self.trust(now);
    }
}

/// Whether a time is before one that was once current.
fn is_behind(time: Timestamp, mark: Timestamp) -> bool {
    let ahead = time.micros().saturating_sub(mark.micros());
    ahead < 0 && differs(ahead)
}

/// When this machine was started, by a doubt of another process about its present clock.
fn start_by(doubt: ClockDoubt, now: Moment) -> i64 {
    now.start_by(now.wall).saturating_sub(doubt.ahead_seconds.saturating_mul(1_000_000))
}

fn heard(before: Option<&Witness>, theirs: Timestamp, now: Moment) -> Witness {
    let start = now.start_by(theirs);
    let (base, accepted) = before.map_or((start, 0), |before| (before.base, before.accepted));
    let witness = Witness { start, base, has_differed: false, accepted };
    Witness { has_differed: !witness.is_within(now), ..witness }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(super) const YEARS: i64 = 10 * 365 * 86_400;
    pub(super) const HOUR: i64 = 3_600;
    const NOON: i64 = 1_800_000_000;

    /// The moment `after` seconds after the start of the test, with the wall clock `ahead` seconds ahead.
    fn moment(after: u64, ahead: i64) -> Moment {
        Moment { wall: time(after, ahead), uptime: Duration::from_secs(5_000 + after) }
    }

    fn time(after: u64, ahead: i64) -> Timestamp {
        Timestamp::from_seconds(NOON + i64::try_from(after).expect("a time") + ahead)
    }

    /// One thing that happens, each 100 seconds after the one before. The number of a witness is how far its clock is ahead.
    #[derive(Debug, Clone, Copy)]
    pub(super) enum Event {
        /// The wall clock is ahead by so much from now on.
        Wall(i64),
        /// The machine stands still for so long, and its wall clock is right again afterwards.
        Pause(u64),
        Database(i64),
        Network(&'static str, i64),
        Mark(i64),
        Inherit(TimeSource),
        /// A running process on the machine doubts its clock.
        Neighbor(TimeSource),
        Confirm,
    }
    use Event::{Confirm, Database, Inherit, Mark, Neighbor, Network, Pause, Wall};

    /// What a process doubts after events, the first of which sets the wall clock with which it starts.
    pub(super) fn after(events: &[Event]) -> (ClockGuard, Moment) {
        let (mut wall, mut true_time, mut uptime) = (0, 0u64, 0u64);
        if let Some(Wall(ahead)) = events.first() {
            wall = *ahead;
        }
        let now = |true_time, uptime, wall| Moment { wall: time(true_time, wall), uptime: Duration::from_secs(5_000 + uptime) };
        let mut guard = ClockGuard::new(now(true_time, uptime, wall));
        for event in events {
            (true_time, uptime) = (true_time + 100, uptime + 100);
            let at = now(true_time, uptime, wall);
            match *event {
                Wall(ahead) => wall = ahead,
                Pause(seconds) => true_time += seconds,
                Database(ahead) => guard.hear_database(time(true_time, ahead), at),
                Network(name, ahead) => guard.hear_network(name, time(true_time, ahead), at),
                Mark(ahead) => guard.see_mark(Some(time(true_time, ahead)), at),
                Inherit(source) => guard.inherit(ClockDoubt { source, ahead_seconds: YEARS }, at),
                Neighbor(source) => guard.hear_neighbor(ClockDoubt { source, ahead_seconds: YEARS }, at),
                Confirm => guard.confirm(at),
            }
        }
        (guard, now(true_time, uptime, wall))
    }

    /// The true time after events, in seconds.
    pub(super) fn lasting(events: &[Event]) -> i64 {
        let seconds = |event: &Event| 100 + if let Pause(seconds) = event { *seconds } else { 0 };
        NOON + i64::try_from(events.iter().map(seconds).sum::<u64>()).expect("a time")
    }

    #[test]
    fn each_source_raises_and_ends_doubts_by_its_rank() {
        use TimeSource as Source;
        let cases: &[(&str, &[Event], Option<TimeSource>)] = &[
            ("nothing is known", &[], None),
            ("a small jump", &[Wall(0), Wall(599)], None),
            ("a jump", &[Wall(0), Wall(600)], Some(Source::Uptime)),
            ("a jump back", &[Wall(0), Wall(-600)], Some(Source::Uptime)),
            ("a jump that is undone", &[Wall(0), Wall(YEARS), Wall(0)], None),
            ("the database jumped as well", &[Database(0), Wall(YEARS), Database(YEARS)], Some(Source::Uptime)),
            ("a wrong clock from the start", &[Wall(YEARS), Database(0)], Some(Source::Database)),
            ("it is set right, before the database is heard", &[Wall(YEARS), Database(0), Wall(0)], None),
            ("and after", &[Wall(YEARS), Database(0), Wall(0), Database(0)], None),
            // The database is on the same machine.
            ("the network is right", &[Wall(YEARS), Database(YEARS), Network("a", 0)], Some(Source::Network)),
            ("and the database cannot end that", &[Wall(YEARS), Database(YEARS), Network("a", 0), Database(YEARS)], Some(Source::Network)),
            ("nor another network", &[Wall(YEARS), Network("a", 0), Network("b", YEARS)], Some(Source::Network)),
            ("the clock is set right, and nobody is heard", &[Wall(YEARS), Database(YEARS), Network("a", 0), Wall(0)], None),
            ("the network is set right", &[Network("a", YEARS), Network("a", 0)], None),
            ("the database is set right", &[Database(900), Database(0)], None),
            ("and it can raise the next doubt", &[Database(900), Database(0), Database(900)], Some(Source::Database)),
            ("a wrong database beside a right network", &[Network("a", 0), Database(YEARS)], None),
            ("in the other order", &[Database(YEARS), Network("a", 0), Database(YEARS)], None),
            ("a right database beside a wrong network", &[Database(0), Network("a", 900)], Some(Source::Network)),
            ("a pause of the machine", &[Database(0), Pause(3_600), Database(0)], Some(Source::Uptime)),
            ("a network heard before it is silent", &[Network("a", 0), Pause(3_600)], Some(Source::Uptime)),
            ("and ends it when it is heard again", &[Network("a", 0), Database(0), Pause(3_600), Database(0), Network("a", 0)], None),
            ("for good", &[Network("a", 0), Database(0), Pause(3_600), Network("a", 0), Database(0), Wall(0)], None),
            ("behind the mark", &[Mark(900)], Some(Source::Mark)),
            ("an outage", &[Mark(-YEARS)], None),
            ("the database may be on this machine", &[Wall(-YEARS), Mark(0), Database(-YEARS)], Some(Source::Mark)),
            ("a network says that the mark is wrong", &[Mark(900), Network("a", 0)], None),
            ("an inherited jump", &[Inherit(Source::Uptime)], Some(Source::Uptime)),
            ("is not judged by the database", &[Inherit(Source::Uptime), Database(0)], Some(Source::Uptime)),
            ("but by a network", &[Inherit(Source::Uptime), Network("a", 0)], None),
            ("for good", &[Inherit(Source::Uptime), Network("a", 0), Pause(1_000)], Some(Source::Uptime)),
            ("an inherited network", &[Inherit(Source::Network), Database(0)], Some(Source::Network)),
            ("the mark judges itself", &[Inherit(Source::Mark), Mark(0)], None),
            ("the database judges itself", &[Inherit(Source::Database), Database(0)], None),
            ("a confirmed jump", &[Wall(0), Wall(YEARS), Confirm], None),
            ("confirmed differences", &[Wall(YEARS), Database(0), Network("a", 0), Confirm, Database(0), Network("a", 0)], None),
            ("a later jump", &[Wall(YEARS), Database(0), Confirm, Wall(2 * YEARS), Database(0)], Some(Source::Database)),
            ("a confirmed source is set right", &[Database(900), Confirm, Database(0)], None),
        ];
        for (name, events, expected) in cases {
            let (guard, now) = after(events);
            assert_eq!(guard.doubt(now).map(|doubt| doubt.source), *expected, "{name}: {events:?}");
        }
    }

    #[test]
    fn a_doubt_says_how_far_the_clock_is_ahead() {
        let (guard, now) = after(&[Wall(0), Wall(-HOUR)]);
        assert_eq!(guard.doubt(now), Some(ClockDoubt { source: TimeSource::Uptime, ahead_seconds: -HOUR }));
        let (guard, now) = after(&[Wall(YEARS), Network("a", 0)]);
        assert_eq!(guard.doubt(now), Some(ClockDoubt { source: TimeSource::Network, ahead_seconds: YEARS }));
    }

    #[test]
    fn a_doubt_that_another_process_has_left_behind_needs_evidence_of_its_kind() {
        use TimeSource as Source;
        for (events, refuted) in [
            (vec![], vec![]),
            (vec![Database(0)], vec![Source::Database]),
            (vec![Mark(0)], vec![Source::Mark]),
            (vec![Network("a", 0)], Source::ALL.to_vec()),
            (vec![Network("a", 0), Network("b", 900)], vec![]),
            (vec![Mark(0), Database(900)], vec![]),
        ] {
            let (guard, now) = after(&events);
            let found: Vec<_> = Source::ALL.into_iter().filter(|source| guard.refutes(*source, now)).collect();
            assert_eq!(found, refuted, "{events:?}");
        }
    }

    #[test]
    fn a_mark_that_a_network_overrules_is_replaced() {
        for (events, expected) in
            [(vec![Mark(900)], false), (vec![Mark(900), Network("a", 0)], true), (vec![Mark(0), Network("a", 0)], false)]
        {
            let (guard, now) = after(&events);
            assert_eq!(guard.overrules_mark(now), expected, "{events:?}");
        }
    }

    #[test]
    fn every_source_round_trips_by_name() {
        for source in TimeSource::ALL {
            assert_eq!(TimeSource::from_name(source.name()), Some(source));
        }
    }

    fn event() -> impl Strategy<Value = Event> {
        let ahead = || prop::sample::select(vec![0, 0, 300, -300, 900, -900, YEARS]);
        prop_oneof![
            ahead().prop_map(Wall),
            (0u64..5_000).prop_map(Pause),
            ahead().prop_map(Database),
            (prop::sample::select(vec!["a", "b"]), ahead()).prop_map(|(name, ahead)| Network(name, ahead)),
            ahead().prop_map(Mark),
            prop::sample::select(TimeSource::ALL.to_vec()).prop_map(Inherit),
            Just(Confirm),
        ]
    }

    proptest! {
        #[test]
        fn a_clock_within_the_tolerance_of_every_source_is_never_doubted(steps in prop::collection::vec((-290i64..290, -290i64..290), 1..50)) {
            let mut guard = ClockGuard::new(moment(0, 0));
            for (after, (wall, theirs)) in (0u64..).step_by(60).zip(steps) {
                let now = moment(after, wall);
                guard.hear_database(time(after, theirs), now);
                prop_assert_eq!(guard.doubt(now), None);
                guard.hear_network("a", time(after, theirs), now);
                prop_assert_eq!(guard.doubt(now), None);
            }
        }

        #[test]
        fn while_a_network_differs_nothing_but_an_owner_ends_the_doubt(events in prop::collection::vec(event(), 0..20), wall in any::<bool>()) {
            // The clock stays years ahead of a network that is right.
            let others = events.into_iter().filter(|event| !matches!(event, Wall(_) | Pause(_) | Confirm | Network("a", _)));
            let mut all = vec![Wall(YEARS), Network("a", 0)];
            if !wall {
                all.swap(0, 1);
            }
            all.extend(others);
            all.extend([Network("a", 0), Database(YEARS), Mark(0)]);
            let (guard, now) = after(&all);
            prop_assert_eq!(guard.doubt(now).map(|doubt| doubt.source), Some(TimeSource::Network));
        }

        #[test]
        fn no_doubt_lasts_after_the_clock_is_right_and_the_networks_agree(events in prop::collection::vec(event(), 0..20)) {
            let mut all = events;
            all.extend([Wall(0), Network("a", 0), Network("b", 0)]);
            let (guard, now) = after(&all);
            prop_assert_eq!(guard.doubt(now), None);
            all.extend([Pause(100), Database(0)]);
            let (guard, now) = after(&all);
            prop_assert_eq!(guard.doubt(now), None);
        }
    }
}
