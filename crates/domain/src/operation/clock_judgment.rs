//! What one process makes of the clocks and of the doubts that processes of the store have stored. Pure, so that several processes can be
//! tested together.

use super::{ClockGuard, ClockState, Moment, StoredDoubt};
use crate::shared::Timestamp;
use std::collections::HashMap;
use std::time::Duration;

/// How often the mark is written.
const MARK_INTERVAL: Duration = Duration::from_secs(60);
/// After so long without a renewal, the process of a doubt has ended, and one on the same machine takes the doubt over.
const TAKEOVER: Duration = Duration::from_secs(60);
/// After so long without a renewal, no process has taken the doubt over, so that one on another machine may remove it.
const DOUBT_LIFETIME: Duration = Duration::from_secs(600);

/// A process of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Random: neither a host's name nor a number of the operating system is unique.
    pub id: String,
    pub host: String,
}

/// What a check of the clock writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// The doubt of this process, new or renewed.
    pub raise: Option<StoredDoubt>,
    /// The processes whose doubts have ended.
    pub withdraw: Vec<String>,
    pub mark: Option<Mark>,
}

/// A time at which the clock was trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub at: Timestamp,
    /// The stored mark is later, and wrong.
    pub reset: bool,
}

/// The last renewal of another process's doubt.
#[derive(Debug, Clone, Copy)]
struct Seen {
    renewals: u64,
    /// The uptime at which the number was first seen.
    since: Duration,
}

/// The judgment of one process, from one check to the next.
#[derive(Debug, Clone)]
pub struct ClockJudgment {
    pub guard: ClockGuard,
    /// The confirmations that this process has taken note of; `None` before its first check.
    confirmations: Option<u64>,
    others: HashMap<String, Seen>,
    /// Another process doubts its clock.
    is_doubted: bool,
    /// A doubt has begun or ended, or this process has: a wrong clock may have written times that are too far ahead.
    pub has_turned: bool,
}

impl ClockJudgment {
    #[must_use]
    pub fn new(now: Moment) -> Self {
        Self { guard: ClockGuard::new(now), confirmations: None, others: HashMap::new(), is_doubted: false, has_turned: true }
    }

    #[must_use]
    pub fn is_trusted(&self, now: Moment) -> bool {
        self.confirmations.is_some() && !self.is_doubted && self.guard.doubt(now).is_none()
    }

    /// Whether this process has checked its clock and, if any process doubts its own, has evidence of what time it is. Without it, its clock
    /// may be the doubted one: a container that is created again has another name on the same machine.
    #[must_use]
    pub fn knows_time(&self, now: Moment) -> bool {
        self.confirmations.is_some() && (!self.is_doubted || self.guard.has_evidence(now))
    }

    /// Judges the clock by what the store knows. A process withdraws its own doubt by its own evidence. The doubt of another one stands as
    /// long as it is renewed. Later a process on the same machine takes it over, and one on another machine removes it if it has evidence.
    pub fn judge(&mut self, process: &Process, stored: &ClockState, server_time: Option<Timestamp>, now: Moment) -> Findings {
        if self.confirmations.is_some_and(|known| known < stored.confirmations) {
            self.guard.confirm(now);
            self.has_turned = true;
        }
        self.confirmations = Some(stored.confirmations);
        self.guard.see_mark(stored.mark, now);
        if let Some(theirs) = server_time {
            self.guard.hear_database(theirs, now);
        }
        let (own, others): (Vec<_>, Vec<_>) = stored.doubts.iter().partition(|doubt| doubt.process == process.id);
        let mut withdraw = Vec::new();
        self.others.retain(|id, _| others.iter().any(|doubt| doubt.process == *id));
        for other in &others {
            let unrenewed = self.unrenewed(other, now);
            if other.host == process.host && unrenewed < TAKEOVER {
                self.guard.hear_neighbor(other.doubt, now);
            } else if other.host == process.host {
                self.guard.inherit(other.doubt, now);
                withdraw.push(other.process.clone());
            } else if unrenewed >= DOUBT_LIFETIME && self.guard.refutes(other.doubt.source, now) {
                withdraw.push(other.process.clone());
            }
        }
        let was_doubted = std::mem::replace(&mut self.is_doubted, withdraw.len() < others.len());
        self.has_turned |= self.is_doubted != was_doubted;
        let doubt = self.guard.doubt(now);
        if doubt.is_none() {
            if others.is_empty() {
                self.guard.settle_neighbors(now);
            }
            withdraw.extend(own.iter().map(|doubt| doubt.process.clone()));
        }
        self.has_turned |= !withdraw.is_empty() || (doubt.is_some() && own.is_empty());
        let raise = doubt.map(|doubt| StoredDoubt {
            process: process.id.clone(),
            host: process.host.clone(),
            doubt,
            at: own.first().map_or(now.wall, |own| own.at),
            renewals: own.first().map_or(0, |own| own.renewals.saturating_add(1)),
        });
        let mark = self.mark(stored, now);
        Findings { raise, withdraw, mark }
    }

    /// How long another process has not renewed its doubt, as far as this one has seen.
    fn unrenewed(&mut self, other: &StoredDoubt, now: Moment) -> Duration {
        let fresh = Seen { renewals: other.renewals, since: now.uptime };
        let seen = self.others.entry(other.process.clone()).or_insert(fresh);
        if seen.renewals != other.renewals {
            *seen = fresh;
        }
        now.uptime.saturating_sub(seen.since)
    }

    fn mark(&self, stored: &ClockState, now: Moment) -> Option<Mark> {
        let reset = self.guard.overrules_mark(now);
        let is_due = stored.mark.is_none_or(|mark| now.wall.since(mark) >= MARK_INTERVAL);
        // A network has shown that the mark is wrong, whatever other processes make of it.
        (reset || (is_due && self.is_trusted(now))).then_some(Mark { at: now.wall, reset })
    }
}

#[cfg(test)]
mod tests {
    use super::super::TimeSource;
    use super::*;

    const YEARS: i64 = 10 * 365 * 86_400;
    const NOON: i64 = 1_800_000_000;
    const CHECK: u64 = 5;

    /// A store with processes on machines, each of which is ahead by a number of seconds.
    #[derive(Default)]
    struct World {
        state: ClockState,
        seconds: u64,
        ahead: HashMap<&'static str, i64>,
        running: Vec<(&'static str, Process, ClockJudgment)>,
    }

    impl World {
        fn now(&self, host: &str) -> Moment {
            let seconds = i64::try_from(self.seconds).expect("a time");
            let ahead = self.ahead.get(host).copied().unwrap_or_default();
            Moment { wall: Timestamp::from_seconds(NOON + seconds + ahead), uptime: Duration::from_secs(1_000 + self.seconds) }
        }

        fn start(&mut self, name: &'static str, host: &'static str) {
            let judgment = ClockJudgment::new(self.now(host));
            self.running.push((name, Process { id: name.to_owned(), host: host.to_owned() }, judgment));
        }

        fn stop(&mut self, name: &str) {
            self.running.retain(|(running, ..)| *running != name);
        }

        fn set(&mut self, host: &'static str, ahead: i64) {
            self.ahead.insert(host, ahead);
        }

        /// A network, which is right, answers a process.
        fn hear(&mut self, name: &str) {
            let theirs = Timestamp::from_seconds(NOON + i64::try_from(self.seconds).expect("a time"));
            let host = self.running.iter().find(|(running, ..)| *running == name).expect("it runs").1.host.clone();
            let now = self.now(&host);
            let (_, _, judgment) = self.running.iter_mut().find(|(running, ..)| *running == name).expect("it runs");
            judgment.guard.hear_network("network", theirs, now);
        }

        /// Every process checks its clock at its period for so long.
        fn pass(&mut self, seconds: u64) {
            for _ in 0..seconds.div_ceil(CHECK) {
                self.seconds += CHECK;
                for place in 0..self.running.len() {
                    let (_, process, _) = &self.running[place];
                    let (process, now) = (process.clone(), self.now(&process.host));
                    let findings = self.running[place].2.judge(&process, &self.state, None, now);
                    self.state.doubts.retain(|doubt| !findings.withdraw.contains(&doubt.process));
                    if let Some(doubt) = findings.raise {
                        self.state.doubts.retain(|known| known.process != doubt.process);
                        self.state.doubts.push(doubt);
                    }
                    if let Some(mark) = findings.mark {
                        self.state.mark = Some(self.state.mark.filter(|known| !mark.reset && *known > mark.at).unwrap_or(mark.at));
                    }
                }
            }
        }

        fn confirm(&mut self) {
            self.state.doubts.clear();
            self.state.confirmations += 1;
            self.state.mark = None;
        }

        /// How many seconds the time of a process is ahead of the true one, and whether it knows the time.
        fn time(&self, name: &str) -> (i64, bool) {
            let (_, process, judgment) = self.running.iter().find(|(running, ..)| *running == name).expect("it runs");
            let (now, seconds) = (self.now(&process.host), i64::try_from(self.seconds).expect("a time"));
            (judgment.guard.time(now).seconds() - NOON - seconds, judgment.knows_time(now))
        }

        fn trusting(&self) -> Vec<&'static str> {
            let is_trusting = |(_, process, judgment): &&(_, Process, ClockJudgment)| judgment.is_trusted(self.now(&process.host));
            self.running.iter().filter(is_trusting).map(|(name, ..)| *name).collect()
        }
    }

    #[test]
    fn every_process_uses_the_right_time_or_knows_that_it_may_not() {
        let mut world = World::default();
        world.start("serve", "h");
        world.start("other", "elsewhere");
        world.pass(100);
        world.set("h", YEARS);
        world.pass(CHECK);
        world.start("later", "h");
        world.set("another-name", YEARS);
        world.start("container", "another-name");
        let times = |world: &World| ["serve", "other", "later", "container"].map(|name| world.time(name));
        for _ in 0..100 {
            world.pass(CHECK);
            assert_eq!(times(&world), [(0, true), (0, false), (0, true), (YEARS, false)]);
        }
        world.hear("other");
        world.hear("container");
        assert_eq!(times(&world), [(0, true); 4], "a network decides");
        for host in ["h", "another-name"] {
            world.set(host, 0);
            world.pass(2 * CHECK);
        }
        assert_eq!((times(&world), world.trusting().len()), ([(0, true); 4], 4));
    }

    #[test]
    fn times_of_a_wrong_clock_are_looked_for_at_the_start_and_when_a_doubt_begins_or_ends() {
        let mut world = World::default();
        world.start("a", "h");
        world.start("b", "other");
        let turned = |world: &mut World| {
            world.pass(CHECK);
            [0, 1].map(|place| std::mem::take(&mut world.running[place].2.has_turned))
        };
        assert_eq!((turned(&mut world), turned(&mut world)), ([true; 2], [false; 2]));
        for ahead in [YEARS, 0] {
            world.set("h", ahead);
            assert_eq!((turned(&mut world), turned(&mut world)), ([true; 2], [false; 2]), "{ahead}");
        }
        world.confirm();
        assert_eq!((turned(&mut world), turned(&mut world)), ([true; 2], [false; 2]));
    }

    #[test]
    fn two_processes_on_a_machine_stop_until_the_one_that_doubts_is_convinced() {
        for names in [["serve", "work"], ["work", "serve"]] {
            let mut world = World::default();
            world.set("h", YEARS);
            names.into_iter().for_each(|name| world.start(name, "h"));
            assert_eq!(world.trusting(), [""; 0], "nothing runs before the first check");
            world.pass(10);
            assert_eq!(world.trusting(), names, "nobody knows better");
            let mark = world.state.mark;
            world.hear("serve");
            world.pass(3_600);
            assert_eq!(world.trusting(), [""; 0], "the other one has heard nothing, and cannot end the doubt");
            assert_eq!(world.state.mark, mark, "the mark does not follow a doubted clock");
            assert!(world.state.doubts.iter().any(|doubt| doubt.doubt.source == TimeSource::Network && doubt.process == "serve"));
            // Setting the clock right is no jump for the one that has heard nothing.
            world.set("h", 0);
            world.pass(3 * CHECK);
            assert_eq!((world.trusting(), world.state.doubts.len()), (names.to_vec(), 0));
            assert!(world.state.mark.expect("a mark") <= world.now("h").wall, "the mark of the wrong clock is replaced");
            world.set("h", YEARS);
            assert_eq!(world.trusting(), [""; 0], "a later jump is noticed by both");
        }
    }

    #[test]
    fn a_network_that_was_wrong_and_is_set_right_convinces_all_processes_of_the_machine() {
        let mut world = World::default();
        world.start("serve", "h");
        world.start("work", "h");
        world.pass(10);
        let wrong = world.now("h").wall.plus(Duration::from_secs(900));
        let now = world.now("h");
        world.running[0].2.guard.hear_network("network", wrong, now);
        world.pass(3_600);
        assert_eq!(world.trusting(), [""; 0]);
        world.hear("serve");
        world.pass(2 * CHECK);
        assert_eq!((world.trusting(), world.state.doubts.len()), (vec!["serve", "work"], 0));
    }

    #[test]
    fn a_doubt_outlives_its_process_on_the_same_machine() {
        let mut world = World::default();
        world.start("a", "h");
        world.pass(10);
        world.set("h", YEARS);
        world.pass(10);
        world.stop("a");
        world.pass(3_600);
        world.start("b", "h");
        world.pass(CHECK);
        assert_eq!(world.trusting(), [""; 0]);
        world.pass(3_600);
        assert_eq!(world.trusting(), [""; 0], "its uptime says nothing about the jump");
        assert_eq!(world.state.doubts.iter().map(|doubt| doubt.process.as_str()).collect::<Vec<_>>(), ["b"]);
        world.set("h", 0);
        world.hear("b");
        world.pass(CHECK);
        assert_eq!((world.trusting(), world.state.doubts.len()), (vec!["b"], 0));
    }

    #[test]
    fn a_clock_behind_the_mark_is_set_right_before_a_restart_without_any_network() {
        let mut world = World::default();
        world.start("a", "h");
        world.pass(100);
        world.set("h", -YEARS);
        world.stop("a");
        world.start("b", "h");
        world.pass(100);
        assert_eq!((world.trusting(), world.state.doubts[0].doubt.source), (vec![], TimeSource::Mark));
        world.stop("b");
        world.set("h", 0);
        world.start("c", "h");
        world.pass(70);
        assert_eq!((world.trusting(), world.state.doubts.len()), (vec!["c"], 0));
    }

    #[test]
    fn the_doubt_of_a_container_that_was_recreated_ends_by_a_network() {
        let mut world = World::default();
        world.start("a", "container-1");
        world.pass(10);
        world.set("container-1", YEARS);
        world.pass(10);
        world.stop("a");
        world.start("b", "container-2");
        world.pass(3_600);
        assert_eq!(world.trusting(), [""; 0], "the clock may still be wrong");
        world.hear("b");
        world.pass(CHECK);
        assert_eq!((world.trusting(), world.state.doubts.len()), (vec!["b"], 0));
    }

    #[test]
    fn the_doubt_of_a_running_process_is_not_removed_from_another_machine() {
        let mut world = World::default();
        world.start("a", "h");
        world.start("b", "other");
        world.pass(10);
        world.set("h", YEARS);
        world.hear("b");
        world.pass(7_200);
        assert_eq!(world.trusting(), [""; 0]);
        assert_eq!(world.state.doubts[0].process, "a");
        world.set("h", 0);
        world.pass(10);
        assert_eq!(world.trusting(), ["a", "b"]);
    }

    #[test]
    fn an_owner_ends_every_doubt() {
        let mut world = World::default();
        world.start("a", "h");
        world.start("b", "other");
        world.pass(10);
        world.set("h", YEARS);
        world.set("other", YEARS);
        world.pass(10);
        assert_eq!(world.state.doubts.len(), 2);
        world.confirm();
        world.pass(2 * CHECK);
        assert_eq!(world.trusting(), ["a", "b"]);
        world.pass(3_600);
        assert_eq!((world.trusting(), world.state.doubts.len()), (vec!["a", "b"], 0));
    }

    #[test]
    fn a_check_that_finds_nothing_writes_nothing() {
        let (now, process) = (World::default().now("h"), Process { id: "a".to_owned(), host: "h".to_owned() });
        let mut judgment = ClockJudgment::new(now);
        let state = ClockState { mark: Some(now.wall), ..ClockState::default() };
        assert_eq!(judgment.judge(&process, &state, None, now), Findings::default());
        assert!(judgment.is_trusted(now));
    }
}
