//! Time and randomness, which the embedding process provides.

use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000))
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole seconds, rounded down.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    pub(crate) fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(micros_of(duration)))
    }

    pub(crate) fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(micros_of(duration)))
    }

    /// The duration from `earlier` to `self`; zero if `earlier` is later.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Year and month; those of 1970 outside the years that a calendar covers.
    pub(crate) fn year_and_month(self) -> YearMonth {
        self.calendar().map_or(YearMonth { year: 1970, month: 1 }, |at| YearMonth { year: at.year(), month: u8::from(at.month()) })
    }

    /// ISO 8601 with milliseconds and `Z`; empty outside the years that a calendar covers.
    /// `None`: the text is not a time in RFC 3339.
    pub(crate) fn parse_iso(text: &str) -> Option<Self> {
        let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(at.unix_timestamp_nanos() / 1_000).ok().map(Self)
    }

    pub(crate) fn to_iso(self) -> String {
        let Some(at) = self.calendar() else { return String::new() };
        let (date, clock) = (at.date(), at.time());
        format!("{date}T{:02}:{:02}:{:02}.{:03}Z", clock.hour(), clock.minute(), clock.second(), clock.millisecond())
    }

    fn calendar(self) -> Option<OffsetDateTime> {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000).ok()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct YearMonth {
    pub year: i32,
    /// 1 to 12.
    pub month: u8,
}

fn micros_of(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// The sandbox's source of time, in microseconds since 1970.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    pub fn new(micros: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(micros))
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp((self.0)())
    }
}

type Fill = dyn Fn(&mut [u8]) + Send + Sync;

/// The sandbox's source of ids and secrets; it must fill the buffer from a cryptographically secure source.
#[derive(Clone)]
pub struct Random(Arc<Fill>);

impl Random {
    pub fn new(fill: impl Fn(&mut [u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(fill))
    }

    pub(crate) fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        (self.0)(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_formatted_with_milliseconds() {
        assert_eq!(Timestamp::from_micros(1_700_000_000_123_456).to_iso(), "2023-11-14T22:13:20.123Z");
        assert_eq!(Timestamp::from_seconds(1_700_000_000).year_and_month(), YearMonth { year: 2023, month: 11 });
        assert_eq!(Timestamp::from_micros(i64::MAX).to_iso(), "");
    }
}
