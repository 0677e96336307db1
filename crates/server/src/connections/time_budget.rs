//! How long a client may keep the server waiting.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// Time that a client has for its part of a transfer. Waiting for it uses time up, and each byte that it moves earns some, at most as much
/// as it had at first. So a burst of bytes does not pay for a long silence, and a trickle does not either.
pub struct TimeBudget {
    left: Duration,
    max: Duration,
    /// The bytes that earn a second; 0: nothing is earned.
    rate: u64,
    wait: Option<Wait>,
}

struct Wait {
    since: Instant,
    limit: Pin<Box<Sleep>>,
}

impl TimeBudget {
    /// `rate`: bytes per second that a client must move on average.
    pub const fn earning(max: Duration, rate: u64) -> Self {
        Self { left: max, max, rate, wait: None }
    }

    pub const fn fixed(total: Duration) -> Self {
        Self::earning(total, 0)
    }

    /// The server waits for the client. Ready when the client has used up its time.
    pub fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let left = self.left;
        self.wait.get_or_insert_with(|| Wait { since: Instant::now(), limit: Box::pin(sleep(left)) }).limit.as_mut().poll(cx)
    }

    /// The wait is over, and `bytes` have moved.
    pub fn record(&mut self, bytes: usize) {
        let waited = self.wait.take().map_or(Duration::ZERO, |wait| wait.since.elapsed());
        self.settle(waited, bytes as u64);
    }

    fn settle(&mut self, waited: Duration, bytes: u64) {
        let earned = bytes.saturating_mul(1_000_000).checked_div(self.rate).map_or(Duration::ZERO, Duration::from_micros);
        self.left = self.left.saturating_sub(waited).saturating_add(earned).min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_burst_earns_no_more_time_than_a_client_has_at_first() {
        let mut budget = TimeBudget::earning(seconds(10), 1_024);
        budget.settle(Duration::ZERO, 1 << 20);
        assert_eq!(budget.left, seconds(10));
        budget.settle(seconds(9), 1);
        assert!(budget.left < seconds(2), "one byte after a long silence earns next to nothing: {:?}", budget.left);
    }

    #[test]
    fn a_steady_client_at_the_minimum_rate_is_never_too_slow() {
        let mut budget = TimeBudget::earning(seconds(10), 1_024);
        for _ in 0..1_000 {
            budget.settle(seconds(8), 8 * 1_024);
        }
        assert_eq!(budget.left, seconds(10));
    }

    #[test]
    fn a_fixed_time_is_used_up_however_much_moves() {
        let mut budget = TimeBudget::fixed(seconds(60));
        for _ in 0..7 {
            budget.settle(seconds(8), 1 << 20);
        }
        assert_eq!(budget.left, seconds(4));
        budget.settle(seconds(8), 1 << 20);
        assert_eq!(budget.left, Duration::ZERO);
    }
}
