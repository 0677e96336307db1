//! The best known time while the clock is doubted.

use super::{ClockGuard, Difference, Moment, TimeSource, differs, is_behind};
use crate::shared::Timestamp;

impl Moment {
    /// The time of this moment, by a source that says when the machine was started.
    fn by_start(self, start: i64) -> Timestamp {
        let uptime = i64::try_from(self.uptime.as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(start.saturating_add(uptime))
    }
}

impl ClockGuard {
    /// The time that the store uses: the wall clock's, and while that is doubted the time of the source that it differs from, carried
    /// forward by the uptime. Of two times that are both possible it is the earlier one, so that nothing is due or ends too early.
    #[must_use]
    pub fn time(&self, now: Moment) -> Timestamp {
        if self.network_agrees(now) {
            return now.wall;
        }
        match self.difference(now) {
            Some(Difference { source: TimeSource::Network, start }) => self.by_network(now, now.by_start(start)),
            Some(Difference { source: TimeSource::Mark, start }) => self.earliest(now, self.by_mark(now, start)),
            Some(Difference { start, .. }) => self.earliest(now, now.by_start(start)),
            // Another process on this machine has evidence.
            None => self.corrected.map_or(now.wall, |start| self.earliest(now, now.by_start(start))),
        }
    }

    /// Whether this process knows anything about the time that its clock does not say.
    pub(in crate::operation) fn has_evidence(&self, now: Moment) -> bool {
        if self.network_agrees(now) {
            return true;
        }
        match self.difference(now) {
            Some(Difference { source: TimeSource::Network, start }) => self.judge_network(now, now.by_start(start)).is_some(),
            difference => self.corrected.is_some() || difference.is_some(),
        }
    }

    /// A network decides, unless it is wrong itself. One that is ahead is believed only if something else says that the clock is behind.
    fn by_network(&self, now: Moment, theirs: Timestamp) -> Timestamp {
        self.judge_network(now, theirs).unwrap_or(now.wall)
    }

    /// The time while a network contradicts the clock; `None`: one of them is wrong, and nothing says which. The network is wrong if the
    /// clock was not set since a network agreed with it, or if the network is behind a time that had passed before this process heard any;
    /// later marks are those of the doubted clock.
    fn judge_network(&self, now: Moment, theirs: Timestamp) -> Option<Timestamp> {
        let is_confirmed = self.start_by_network.is_some_and(|start| !differs(now.start_by(now.wall).saturating_sub(start)));
        let is_behind_mark = self.first_mark.is_some_and(|mark| is_behind(theirs, mark));
        let is_clock_behind = self.mark.is_some_and(|mark| is_behind(now.wall, mark)) || self.has_jumped(now);
        if is_confirmed || is_behind_mark {
            return Some(now.wall);
        }
        (theirs <= now.wall || is_clock_behind).then_some(theirs)
    }

    /// The clock is behind the mark. If this process has seen it jump, it knows how far; otherwise not less time has passed than its own.
    fn by_mark(&self, now: Moment, mark: i64) -> Timestamp {
        now.by_start(if self.has_jumped(now) { self.start } else { self.start_by_mark.unwrap_or(mark) })
    }

    /// The earlier one of the wall clock's time and another that is not behind the mark. Differences that are tolerated are ignored.
    fn earliest(&self, now: Moment, other: Timestamp) -> Timestamp {
        if !differs(now.wall.micros().saturating_sub(other.micros())) {
            return now.wall;
        }
        let (early, late) = (now.wall.min(other), now.wall.max(other));
        if self.mark.is_some_and(|mark| is_behind(early, mark)) { late } else { early }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Event, HOUR, YEARS, after, lasting};
    use super::*;
    use Event::{Confirm, Database, Inherit, Mark, Neighbor, Network, Pause, Wall};

    /// The time, as seconds ahead of the true one.
    fn ahead(events: &[Event]) -> i64 {
        let (guard, now) = after(events);
        guard.time(now).micros() / 1_000_000 - lasting(events)
    }

    #[test]
    fn the_best_known_time_is_right_while_the_clock_is_wrong() {
        use TimeSource as Source;
        let cases: &[(&str, &[Event], i64)] = &[
            ("nothing is known", &[], 0),
            ("a small difference", &[Wall(0), Wall(599)], 599),
            ("a jump", &[Mark(0), Wall(YEARS)], 0),
            ("and its end", &[Mark(0), Wall(YEARS), Wall(0)], 0),
            ("a jump back", &[Mark(0), Wall(-YEARS)], 0),
            ("a jump back by less than a process runs", &[Mark(0), Mark(0), Wall(-HOUR)], 0),
            ("a pause of the machine: what has passed is at least this", &[Mark(0), Pause(3_600)], -HOUR),
            ("a confirmed jump", &[Mark(0), Wall(YEARS), Confirm], YEARS),
            ("a network", &[Wall(YEARS), Network("a", 0)], 0),
            ("after the mark was set by the wrong clock", &[Wall(YEARS), Mark(-HOUR), Mark(YEARS), Network("a", 0)], 0),
            ("a clock that is behind", &[Wall(-YEARS), Mark(0), Network("a", 0)], 0),
            ("a network that is behind", &[Mark(0), Network("a", -YEARS)], 0),
            ("a network that is ahead", &[Mark(0), Network("a", YEARS)], 0),
            ("a network that was right before", &[Network("a", 0), Network("a", -HOUR)], 0),
            ("and one that was not heard before", &[Network("a", 0), Network("b", -HOUR), Network("a", -YEARS)], 0),
            ("but the clock was set since", &[Network("a", 0), Wall(YEARS), Network("a", 0)], 0),
            ("before anything else is known", &[Network("a", YEARS)], 0),
            ("a network after a jump back", &[Wall(0), Wall(-HOUR), Network("a", 0)], 0),
            ("a network that is wrong beside one that is right", &[Network("a", 0), Network("b", YEARS)], 0),
            ("a database", &[Wall(YEARS), Mark(-HOUR), Database(0)], 0),
            ("a database that is ahead", &[Mark(-HOUR), Database(YEARS)], 0),
            ("a database that is behind", &[Mark(0), Database(-YEARS)], 0),
            ("a database on a machine whose clock is behind", &[Wall(-YEARS), Mark(-100), Database(-YEARS)], -100),
            ("the mark, since it was seen", &[Wall(-YEARS), Mark(-100), Wall(-YEARS)], -100),
            ("an inherited jump", &[Wall(YEARS), Mark(0), Inherit(Source::Uptime)], 0),
            ("the clock was set right before it was inherited", &[Mark(0), Inherit(Source::Network)], 0),
            ("and after", &[Wall(YEARS), Mark(0), Inherit(Source::Network), Wall(0)], 0),
            ("a neighbor's evidence", &[Wall(YEARS), Mark(0), Neighbor(Source::Network)], 0),
            ("and its jump", &[Wall(YEARS), Mark(0), Neighbor(Source::Uptime)], 0),
            ("the clock was set right before the neighbor was heard", &[Mark(0), Neighbor(Source::Uptime)], 0),
        ];
        for (name, events, expected) in cases {
            assert_eq!(ahead(events), *expected, "{name}: {events:?}");
        }
    }

    #[test]
    fn a_network_that_is_ahead_is_no_evidence_unless_something_decides_between_it_and_the_clock() {
        for (name, events, expected) in [
            ("nothing else is known", vec![Network("a", YEARS)], false),
            ("a mark agrees with both", vec![Mark(-HOUR), Network("a", YEARS)], false),
            ("a network agreed before", vec![Network("b", 0), Network("a", YEARS)], true),
            ("the clock is behind a mark", vec![Wall(-YEARS), Mark(0), Network("a", 0)], true),
            ("the clock was set back", vec![Wall(0), Wall(-HOUR), Network("a", 0)], true),
            ("it is behind", vec![Wall(YEARS), Network("a", 0)], true),
        ] {
            let (guard, now) = after(&events);
            assert_eq!(guard.has_evidence(now), expected, "{name}");
        }
    }
}
