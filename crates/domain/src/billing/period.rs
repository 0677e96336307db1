//! Billing periods as a closed form of (anchor, n): no drift, and no iteration over earlier periods (invariant 2).

use crate::pricing::{Anchoring, Interval, RecurringInterval};
use crate::shared::Timestamp;
use time::{Date, Month, OffsetDateTime};

/// A span of time from `start` (inclusive) to `end` (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Period {
    pub start: Timestamp,
    pub end: Timestamp,
}

impl Period {
    #[must_use]
    pub fn contains(&self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }

    /// The length in whole seconds.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.end.since(self.start).as_secs()
    }

    /// The whole seconds that remain at `at`: the full length before the period, zero after it.
    #[must_use]
    pub fn seconds_left(&self, at: Timestamp) -> u64 {
        self.seconds().saturating_sub(at.since(self.start).as_secs())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeriodError {
    #[error("the date is out of range")]
    OutOfCalendar,
    #[error("the time is before the first period")]
    BeforeAnchor,
}

/// Period `n`, counted from 0, of a subscription anchored at `anchor`. Calendar days are UTC days.
pub fn period(cycle: &RecurringInterval, anchor: Timestamp, n: u32) -> Result<Period, PeriodError> {
    let next = n.checked_add(1).ok_or(PeriodError::OutOfCalendar)?;
    Ok(Period { start: boundary(cycle, anchor, n)?, end: boundary(cycle, anchor, next)? })
}

/// The `n` of the period that contains `at`.
pub fn period_index_at(cycle: &RecurringInterval, anchor: Timestamp, at: Timestamp) -> Result<u32, PeriodError> {
    if at < anchor {
        return Err(PeriodError::BeforeAnchor);
    }
    let Some(months) = calendar_months(cycle) else {
        let passed = i128::from(at.micros()) - i128::from(anchor.micros());
        return u32::try_from(passed / length(cycle)).map_err(|_| PeriodError::OutOfCalendar);
    };
    let passed = month_number(calendar(at)?) - month_number(calendar(anchor)?);
    let n = u32::try_from(passed / i64::from(months)).map_err(|_| PeriodError::OutOfCalendar)?;
    // The boundary of this month may lie later than `at`.
    if boundary(cycle, anchor, n)? <= at { Ok(n) } else { Ok(n.saturating_sub(1)) }
}

/// The start of period `n`.
fn boundary(cycle: &RecurringInterval, anchor: Timestamp, n: u32) -> Result<Timestamp, PeriodError> {
    if let Some(months) = calendar_months(cycle) {
        return months_after(anchor, i64::from(months) * i64::from(n));
    }
    let micros = i128::from(anchor.micros()) + length(cycle) * i128::from(n);
    let at = Timestamp::from_micros(i64::try_from(micros).map_err(|_| PeriodError::OutOfCalendar)?);
    calendar(at).map(|_| at)
}

/// The length of a fixed cycle in microseconds.
fn length(cycle: &RecurringInterval) -> i128 {
    i128::from(cycle.seconds()) * 1_000_000
}

/// The calendar months of a cycle; `None` if its length is fixed.
fn calendar_months(cycle: &RecurringInterval) -> Option<u32> {
    match (cycle.anchoring, cycle.interval) {
        (Anchoring::Calendar, Interval::Month) => Some(cycle.count),
        (Anchoring::Calendar, Interval::Year) => Some(cycle.count.saturating_mul(12)),
        _ => None,
    }
}

fn calendar(at: Timestamp) -> Result<OffsetDateTime, PeriodError> {
    at.to_calendar().ok_or(PeriodError::OutOfCalendar)
}

fn month_number(at: OffsetDateTime) -> i64 {
    i64::from(at.year()) * 12 + i64::from(u8::from(at.month())) - 1
}

/// The same day and time `months` months later, or the last day of a shorter month.
fn months_after(anchor: Timestamp, months: i64) -> Result<Timestamp, PeriodError> {
    let at = calendar(anchor)?;
    let number = month_number(at) + months;
    let year = i32::try_from(number.div_euclid(12)).map_err(|_| PeriodError::OutOfCalendar)?;
    let month = u8::try_from(number.rem_euclid(12) + 1).ok().and_then(|month| Month::try_from(month).ok());
    let month = month.ok_or(PeriodError::OutOfCalendar)?;
    let day = at.day().min(month.length(year));
    let date = Date::from_calendar_date(year, month, day).map_err(|_| PeriodError::OutOfCalendar)?;
    Ok(Timestamp::from_calendar(at.replace_date(date)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cycle(interval: Interval, count: u32, anchoring: Anchoring) -> RecurringInterval {
        RecurringInterval::new(interval, count, anchoring).expect("a cycle")
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_iso(text).expect("a time")
    }

    fn starts(cycle: &RecurringInterval, anchor: &str, count: u32) -> Vec<String> {
        let start = |n| period(cycle, at(anchor), n).expect("a period").start.to_iso();
        (0..count).map(|n| start(n).chars().take(10).collect()).collect()
    }

    #[test]
    fn fixed_lengths_do_not_depend_on_the_calendar() {
        let days = |interval, count| period(&cycle(interval, count, Anchoring::Fixed), at("2026-01-31T10:00:00Z"), 7).map(|p| p.seconds());
        assert_eq!(days(Interval::Hour, 5), Ok(5 * 3_600));
        assert_eq!(days(Interval::Day, 1), Ok(86_400));
        assert_eq!(days(Interval::Week, 2), Ok(14 * 86_400));
        assert_eq!(days(Interval::Month, 1), Ok(30 * 86_400));
        assert_eq!(days(Interval::Month, 3), Ok(90 * 86_400));
        assert_eq!(days(Interval::Year, 1), Ok(365 * 86_400));
    }

    #[test]
    fn a_day_is_clamped_in_short_months_and_restored_in_long_ones() {
        let monthly = cycle(Interval::Month, 1, Anchoring::Calendar);
        assert_eq!(starts(&monthly, "2026-01-31T10:00:00Z", 5), ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"]);
        assert_eq!(starts(&monthly, "2028-01-30T10:00:00Z", 3), ["2028-01-30", "2028-02-29", "2028-03-30"]);
        let quarterly = cycle(Interval::Month, 3, Anchoring::Calendar);
        assert_eq!(starts(&quarterly, "2025-11-30T00:00:00Z", 3), ["2025-11-30", "2026-02-28", "2026-05-30"]);
    }

    #[test]
    fn a_leap_day_is_the_last_of_february_in_other_years() {
        let yearly = cycle(Interval::Year, 1, Anchoring::Calendar);
        let expected = ["2024-02-29", "2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29"];
        assert_eq!(starts(&yearly, "2024-02-29T23:59:59.999999Z", 5), expected);
        assert_eq!(
            starts(&cycle(Interval::Year, 4, Anchoring::Calendar), "2096-02-29T00:00:00Z", 3),
            ["2096-02-29", "2100-02-28", "2104-02-29"]
        );
    }

    #[test]
    fn the_time_of_day_is_kept_to_the_microsecond() {
        let monthly = cycle(Interval::Month, 1, Anchoring::Calendar);
        let period = period(&monthly, at("2026-01-31T10:20:30.123456Z"), 1).expect("a period");
        assert_eq!(period.start, at("2026-02-28T10:20:30.123456Z"));
        assert_eq!(period.end, at("2026-03-31T10:20:30.123456Z"));
    }

    #[test]
    fn times_beyond_the_calendar_are_named_errors() {
        for anchoring in [Anchoring::Fixed, Anchoring::Calendar] {
            let yearly = cycle(Interval::Year, 5, anchoring);
            assert_eq!(period(&yearly, at("2026-01-01T00:00:00Z"), 2_000), Err(PeriodError::OutOfCalendar));
            assert_eq!(period(&yearly, at("2026-01-01T00:00:00Z"), u32::MAX), Err(PeriodError::OutOfCalendar));
            assert_eq!(period(&yearly, Timestamp::from_micros(i64::MAX), 1), Err(PeriodError::OutOfCalendar));
            let now = at("2026-01-01T00:00:00Z");
            assert_eq!(period_index_at(&yearly, now, Timestamp::from_micros(now.micros() - 1)), Err(PeriodError::BeforeAnchor));
        }
        let hourly = cycle(Interval::Hour, 1, Anchoring::Fixed);
        let (first, last) = (Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX));
        assert_eq!(period_index_at(&hourly, first, last), Err(PeriodError::OutOfCalendar));
        assert_eq!(period_index_at(&cycle(Interval::Month, 1, Anchoring::Calendar), first, last), Err(PeriodError::OutOfCalendar));
    }

    #[test]
    fn remaining_time_is_counted_in_whole_seconds() {
        let day = Period { start: Timestamp::from_seconds(0), end: Timestamp::from_seconds(86_400) };
        assert_eq!(day.seconds_left(Timestamp::from_seconds(-5)), 86_400);
        assert_eq!(day.seconds_left(Timestamp::from_micros(1_999_999)), 86_399);
        assert_eq!(day.seconds_left(Timestamp::from_seconds(86_400)), 0);
        assert_eq!(day.seconds_left(Timestamp::from_seconds(90_000)), 0);
    }

    fn cycles() -> impl Strategy<Value = RecurringInterval> {
        let anchoring = prop_oneof![Just(Anchoring::Fixed), Just(Anchoring::Calendar)];
        (proptest::sample::select(Interval::ALL.to_vec()), 1u32..=5, anchoring).prop_map(|(interval, count, it)| cycle(interval, count, it))
    }

    /// Any microsecond from 1970 to 2100.
    fn anchors() -> impl Strategy<Value = Timestamp> {
        (0i64..4_102_444_800_000_000).prop_map(Timestamp::from_micros)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn periods_have_no_gap_and_no_overlap(cycle in cycles(), anchor in anchors(), n in 0u32..1_500) {
            let one = period(&cycle, anchor, n).expect("a period");
            let next = period(&cycle, anchor, n + 1).expect("a period");
            prop_assert!(one.start < one.end);
            prop_assert_eq!(one.end, next.start);
            prop_assert_eq!(period(&cycle, anchor, 0).expect("a period").start, anchor);
        }

        #[test]
        fn nothing_drifts_in_200_years(cycle in cycles(), anchor in anchors(), years in 1i64..=200) {
            let then = Timestamp::from_seconds(anchor.seconds() + years * 365 * 86_400);
            let n = period_index_at(&cycle, anchor, then).expect("an index");
            let start = period(&cycle, anchor, n).expect("a period").start;
            if let Some(months) = calendar_months(&cycle) {
                let (first, now) = (calendar(anchor).expect("a date"), calendar(start).expect("a date"));
                prop_assert_eq!(first.time(), now.time());
                prop_assert_eq!(now.day(), first.day().min(now.month().length(now.year())));
                prop_assert_eq!((month_number(now) - month_number(first)) % i64::from(months), 0);
            } else {
                prop_assert_eq!(start.micros() - anchor.micros(), cycle.seconds() as i64 * 1_000_000 * i64::from(n));
            }
        }

        #[test]
        fn period_index_at_is_the_inverse_of_period(cycle in cycles(), anchor in anchors(), n in 0u32..1_500, part in 0.0f64..1.0) {
            let period = period(&cycle, anchor, n).expect("a period");
            let inside = period.start.micros() + ((period.end.micros() - period.start.micros()) as f64 * part) as i64;
            for at in [period.start, Timestamp::from_micros(inside.min(period.end.micros() - 1)), Timestamp::from_micros(period.end.micros() - 1)] {
                prop_assert!(period.contains(at));
                prop_assert_eq!(period_index_at(&cycle, anchor, at), Ok(n));
            }
            prop_assert_eq!(period_index_at(&cycle, anchor, period.end), Ok(n + 1));
        }

        #[test]
        fn no_time_and_no_index_panics(cycle in cycles(), anchor: i64, at: i64, n: u32) {
            let anchor = Timestamp::from_micros(anchor);
            if let Ok(period) = period(&cycle, anchor, n) {
                prop_assert!(period.start < period.end);
            }
            if let Ok(index) = period_index_at(&cycle, anchor, Timestamp::from_micros(at))
                && let Ok(period) = period(&cycle, anchor, index)
            {
                prop_assert!(period.contains(Timestamp::from_micros(at)));
            }
        }
    }
}
