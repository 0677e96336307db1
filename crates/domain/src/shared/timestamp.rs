//! Points in time in UTC, truncated to microseconds, the precision of both databases.

use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000))
    }

    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole Unix seconds, rounded down: the wire form of `expires_at` and similar fields.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    #[must_use]
    pub const fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.as_micros() as i64))
    }

    #[must_use]
    pub const fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration.as_micros() as i64))
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// `None`: outside the calendar's years (-9999 to 9999).
    #[must_use]
    pub fn to_calendar(self) -> Option<OffsetDateTime> {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000).ok()
    }

    #[must_use]
    pub fn from_calendar(at: OffsetDateTime) -> Self {
        Self((at.unix_timestamp_nanos() / 1_000) as i64)
    }

    /// ISO 8601 with milliseconds and `Z`, the wire form of `created_at`.
    #[must_use]
    pub fn to_iso(self) -> String {
        let millis = Self(self.0.div_euclid(1_000) * 1_000);
        let Some(at) = millis.to_calendar() else { return String::new() };
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            at.year(),
            u8::from(at.month()),
            at.day(),
            at.hour(),
            at.minute(),
            at.second(),
            at.millisecond()
        )
    }

    #[must_use]
    pub fn parse_iso(text: &str) -> Option<Self> {
        OffsetDateTime::parse(text, &Rfc3339).ok().map(Self::from_calendar)
    }
}

/// The source of wall time for use cases. Customers on a test clock have their own time: see `billing::time_of`.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_text_round_trips_to_the_millisecond() {
        let at = Timestamp::from_micros(1_700_000_000_123_456);
        assert_eq!(at.to_iso(), "2023-11-14T22:13:20.123Z");
        assert_eq!(Timestamp::parse_iso(&at.to_iso()), Some(Timestamp::from_micros(1_700_000_000_123_000)));
    }

    #[test]
    fn seconds_round_down_before_the_epoch_too() {
        assert_eq!(Timestamp::from_micros(-1).seconds(), -1);
        assert_eq!(Timestamp::from_micros(1_999_999).seconds(), 1);
    }
}
