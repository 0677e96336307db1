//! Periods as a closed form of (anchor, n): never chained, so that nothing drifts.

use crate::pricing::{Anchoring, Cycle, Interval};
use crate::shared::Timestamp;
use std::time::Duration;

/// From `start` (included) to `end` (excluded).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Period {
    pub start: Timestamp,
    pub end: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the period lies outside the calendar")]
pub struct OutOfCalendar;

/// The `n`th period from `anchor`.
pub fn period(cycle: &Cycle, anchor: Timestamp, n: u32) -> Result<Period, OutOfCalendar> {
    Ok(Period { start: boundary(cycle, anchor, n)?, end: boundary(cycle, anchor, n.checked_add(1).ok_or(OutOfCalendar)?)? })
}

fn boundary(cycle: &Cycle, anchor: Timestamp, n: u32) -> Result<Timestamp, OutOfCalendar> {
    let months = match (cycle.anchoring, cycle.interval) {
        (Anchoring::Calendar, Interval::Month) => 1,
        (Anchoring::Calendar, Interval::Year) => 12,
        _ => {
            let seconds = cycle.interval.seconds() * u64::from(cycle.count) * u64::from(n);
            let at = anchor.plus(Duration::from_secs(seconds));
            return at.to_calendar().map(|_| at).ok_or(OutOfCalendar);
        }
    };
    let start = anchor.to_calendar().ok_or(OutOfCalendar)?;
    let months = u64::from(n) * u64::from(cycle.count) * months + u64::from(u8::from(start.month())) - 1;
    let year = i64::from(start.year()) + i64::try_from(months / 12).map_err(|_| OutOfCalendar)?;
    let year = i32::try_from(year).map_err(|_| OutOfCalendar)?;
    let month = time::Month::try_from((months % 12) as u8 + 1).map_err(|_| OutOfCalendar)?;
    let day = start.day().min(month.length(year));
    let date = time::Date::from_calendar_date(year, month, day).map_err(|_| OutOfCalendar)?;
    Ok(Timestamp::from_calendar(start.replace_date(date)))
}
