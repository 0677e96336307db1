//! Billing cycles, and the usage type of recurring prices.

/// The unit of a billing cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interval {
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// The length of an hour in seconds; the other lengths are those of SPEC.md 9.
pub const HOUR_SECONDS: u64 = 3_600;
pub const DAY_SECONDS: u64 = 24 * HOUR_SECONDS;
pub const WEEK_SECONDS: u64 = 7 * DAY_SECONDS;
pub const MONTH_SECONDS: u64 = 30 * DAY_SECONDS;
pub const YEAR_SECONDS: u64 = 365 * DAY_SECONDS;

/// The longest time between two invoices.
pub const CYCLE_SECONDS_MAX: u64 = 5 * YEAR_SECONDS;

impl Interval {
    pub const ALL: [Self; 5] = [Self::Hour, Self::Day, Self::Week, Self::Month, Self::Year];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|interval| interval.name() == name)
    }

    /// Its length in seconds, with fixed months and years.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        match self {
            Self::Hour => HOUR_SECONDS,
            Self::Day => DAY_SECONDS,
            Self::Week => WEEK_SECONDS,
            Self::Month => MONTH_SECONDS,
            Self::Year => YEAR_SECONDS,
        }
    }
}

/// How the quantities reported in a period are aggregated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregate {
    Sum,
    Last,
    Max,
}

impl Aggregate {
    pub const ALL: [Self; 3] = [Self::Sum, Self::Last, Self::Max];

    /// The name in payment-kit.md 2.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Last => "last_during_period",
            Self::Max => "max",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|aggregate| aggregate.name() == name)
    }
}

/// Licensed: the quantity is ordered and billed at the start of a period. Metered: it is reported and billed at the end of the period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Usage {
    Licensed,
    Metered(Aggregate),
}

/// How long months and years are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Anchoring {
    /// 30 and 365 days, as wallets compute them.
    Fixed,
    /// Calendar months and years, clamped to the end of shorter months.
    Calendar,
}

impl Anchoring {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Calendar => "calendar",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Fixed, Self::Calendar].into_iter().find(|anchoring| anchoring.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Unsupported recurring interval")]
pub struct UnsupportedInterval;

/// The time between two invoices: `count` intervals, at least one and at most [`CYCLE_SECONDS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecurringInterval {
    pub interval: Interval,
    pub count: u32,
    pub anchoring: Anchoring,
}

impl RecurringInterval {
    /// # Errors
    /// [`UnsupportedInterval`] for a count of 0, or a cycle longer than [`CYCLE_SECONDS_MAX`].
    pub fn new(interval: Interval, count: u32, anchoring: Anchoring) -> Result<Self, UnsupportedInterval> {
        let cycle = Self { interval, count, anchoring };
        if count == 0 || cycle.seconds() > CYCLE_SECONDS_MAX { Err(UnsupportedInterval) } else { Ok(cycle) }
    }

    /// As [`Self::new`], by the interval's name; `minute` is not supported.
    pub fn named(interval: &str, count: u32, anchoring: Anchoring) -> Result<Self, UnsupportedInterval> {
        Self::new(Interval::from_name(interval).ok_or(UnsupportedInterval)?, count, anchoring)
    }

    /// Its length in seconds, with fixed months and years.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.interval.seconds() * u64::from(self.count)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Recurring {
    pub cycle: RecurringInterval,
    pub usage: Usage,
}

impl Recurring {
    #[must_use]
    pub const fn is_metered(&self) -> bool {
        matches!(self.usage, Usage::Metered(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_and_empty_or_too_long_cycles_are_unsupported() {
        let unsupported = Err(UnsupportedInterval);
        assert_eq!(RecurringInterval::named("minute", 1, Anchoring::Fixed), unsupported);
        assert_eq!(UnsupportedInterval.to_string(), "Unsupported recurring interval");
        for interval in Interval::ALL {
            assert_eq!(RecurringInterval::new(interval, 0, Anchoring::Fixed), unsupported);
            assert_eq!(RecurringInterval::new(interval, u32::MAX, Anchoring::Fixed), unsupported);
            assert!(RecurringInterval::named(interval.name(), 1, Anchoring::Calendar).is_ok());
        }
        assert!(RecurringInterval::new(Interval::Year, 5, Anchoring::Fixed).is_ok());
        assert_eq!(RecurringInterval::new(Interval::Year, 6, Anchoring::Fixed), unsupported);
    }

    #[test]
    fn the_interval_count_multiplies_the_length() {
        assert_eq!(RecurringInterval::new(Interval::Hour, 6, Anchoring::Fixed).map(|cycle| cycle.seconds()), Ok(6 * 3_600));
    }
}
