//! Proration of plan changes within a period, to the second.
//!
//! Each share is `whole * seconds / of_seconds`. Shares of lines that cover the same time are rounded together: they add up to the share of
//! the sum, rounded down, and the remaining base units go to the lines with the largest remainders.

use super::{Period, PeriodError, period};
use crate::pricing::RecurringInterval;
use crate::shared::{Amount, AmountError, PriceId, Timestamp};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Prorated {
    /// Unused time of the old plan.
    Credit,
    Charge,
}

impl Prorated {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Credit => "credit",
            Self::Charge => "charge",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Credit, Self::Charge].into_iter().find(|what| what.name() == name)
    }
}

/// An invoice line whose time includes the plan change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveringLine {
    pub price_id: PriceId,
    pub quantity: u64,
    /// The total of the line.
    pub total: Amount,
    /// The amount that credit notes can still credit.
    pub creditable: Amount,
    /// The whole period, or its rest if the plan changed within it before.
    pub period: Period,
}

/// A price of the new plan for a whole period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLine {
    pub price_id: PriceId,
    pub quantity: u64,
    pub whole: Amount,
}

/// A prorated line. `amount` is `whole * seconds / of_seconds`, plus one base unit if `rounded_up`. A credit is less if its line cannot
/// give that much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProrationLine {
    pub what: Prorated,
    pub price_id: PriceId,
    pub quantity: u64,
    pub whole: Amount,
    pub seconds: u64,
    pub of_seconds: u64,
    pub rounded_up: bool,
    pub amount: Amount,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanChange {
    /// The current period if the cycle stays, else the new one.
    pub period: Period,
    /// The new anchor, if the cycle changes.
    pub anchor: Option<Timestamp>,
    /// The charges of the new plan.
    pub lines: Vec<ProrationLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProrationError {
    #[error(transparent)]
    Period(#[from] PeriodError),
    #[error(transparent)]
    Amount(#[from] AmountError),
}

/// `whole * seconds / of_seconds`, rounded down; `whole` if `seconds` is at least `of_seconds`.
#[must_use]
pub fn share(whole: Amount, seconds: u64, of_seconds: u64) -> Amount {
    Amount::new(exact(whole, seconds, of_seconds).floor)
}

/// An exact share: `floor + remainder / of_seconds` base units.
struct ExactShare {
    floor: u128,
    remainder: u128,
}

/// Divides first to avoid overflow.
fn exact(whole: Amount, seconds: u64, of_seconds: u64) -> ExactShare {
    if seconds >= of_seconds {
        return ExactShare { floor: whole.base_units(), remainder: 0 };
    }
    let (seconds, of_seconds) = (u128::from(seconds), u128::from(of_seconds));
    let (quotient, rest) = (whole.base_units() / of_seconds, whole.base_units() % of_seconds);
    let scaled = rest * seconds;
    ExactShare { floor: quotient * seconds + scaled / of_seconds, remainder: scaled % of_seconds }
}

/// A share of an amount, in base units.
struct RoundedShare {
    amount: Amount,
    rounded_up: bool,
}

/// Splits several amounts into shares that add up to the share of their sum.
fn split_shares(wholes: &[Amount], seconds: u64, of_seconds: u64) -> Result<Vec<RoundedShare>, AmountError> {
    let sum = share(Amount::sum(wholes.iter().copied())?, seconds, of_seconds);
    let exact: Vec<_> = wholes.iter().map(|whole| exact(*whole, seconds, of_seconds)).collect();
    let floors = exact.iter().map(|share| share.floor).sum::<u128>();
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by(|a, b| exact[*b].remainder.cmp(&exact[*a].remainder).then(a.cmp(b)));
    let mut shares: Vec<_> = exact.iter().map(|share| RoundedShare { amount: Amount::new(share.floor), rounded_up: false }).collect();
    let remainder = sum.base_units() - floors;
    for index in order.into_iter().take(usize::try_from(remainder).unwrap_or(usize::MAX)) {
        shares[index] = RoundedShare { amount: shares[index].amount.plus(Amount::new(1))?, rounded_up: true };
    }
    Ok(shares)
}

/// Credits for the lines of the old plan from `at` on: a share of each line's total, at most the line's creditable amount. The part
/// above that moves to no other line.
pub fn credits(lines: &[CoveringLine], at: Timestamp) -> Result<Vec<ProrationLine>, AmountError> {
    let mut credits: Vec<Option<ProrationLine>> = vec![None; lines.len()];
    for (first, line) in lines.iter().enumerate() {
        if credits[first].is_some() {
            continue;
        }
        let same_period: Vec<usize> = (first..lines.len()).filter(|index| lines[*index].period == line.period).collect();
        let wholes: Vec<_> = same_period.iter().map(|index| lines[*index].total).collect();
        let (seconds, of_seconds) = (line.period.seconds_left(at), line.period.seconds());
        // If the period is shorter than a second, `share` returns the whole amount.
        for (index, RoundedShare { amount, rounded_up }) in same_period.into_iter().zip(split_shares(&wholes, seconds, of_seconds)?) {
            let CoveringLine { price_id, quantity, total: whole, creditable, .. } = lines[index].clone();
            let (what, amount) = (Prorated::Credit, amount.min(creditable));
            credits[index] = Some(ProrationLine { what, price_id, quantity, whole, seconds, of_seconds, rounded_up, amount });
        }
    }
    Ok(credits.into_iter().flatten().collect())
}

/// Charges for the lines of the new plan from `at` to the end of the period.
pub fn charges(lines: &[PlanLine], period: &Period, at: Timestamp) -> Result<Vec<ProrationLine>, AmountError> {
    let (seconds, of_seconds) = (period.seconds_left(at), period.seconds());
    let wholes: Vec<_> = lines.iter().map(|line| line.whole).collect();
    let shares = split_shares(&wholes, seconds, of_seconds)?;
    let charge = |(line, share): (&PlanLine, RoundedShare)| ProrationLine {
        what: Prorated::Charge,
        price_id: line.price_id.clone(),
        quantity: line.quantity,
        whole: line.whole,
        seconds,
        of_seconds,
        rounded_up: share.rounded_up,
        amount: share.amount,
    };
    Ok(lines.iter().zip(shares).map(charge).collect())
}

/// Charges a plan change at `at`, within the period `current`. If the cycle stays, so does the period; otherwise a new period begins at
/// `at`. `plan`: the lines of the new plan; metered prices are billed in arrears and are not among them.
pub fn prorate_plan_change(
    cycle_before: &RecurringInterval,
    cycle: &RecurringInterval,
    plan: &[PlanLine],
    current: &Period,
    at: Timestamp,
) -> Result<PlanChange, ProrationError> {
    let stays = cycle_before == cycle;
    let next = if stays { *current } else { period(cycle, at, 0)? };
    Ok(PlanChange { period: next, anchor: (!stays).then_some(at), lines: charges(plan, &next, at)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billing::PricingFormula;
    use crate::pricing::{Anchoring, Interval};
    use proptest::prelude::*;

    fn seconds(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(seconds as i64)
    }

    fn span(from: u64, to: u64) -> Period {
        Period { start: seconds(from), end: seconds(to) }
    }

    fn price(name: &str) -> PriceId {
        PriceId::parse(&format!("price_{name}")).expect("an id")
    }

    fn monthly() -> RecurringInterval {
        RecurringInterval::new(Interval::Month, 1, Anchoring::Fixed).expect("a cycle")
    }

    fn paid(name: &str, amount: u128, period: Period) -> CoveringLine {
        let total = Amount::new(amount);
        CoveringLine { price_id: price(name), quantity: 1, total, creditable: total, period }
    }

    fn plan(name: &str, whole: u128) -> PlanLine {
        PlanLine { price_id: price(name), quantity: 1, whole: Amount::new(whole) }
    }

    const MONTH: u64 = 30 * 86_400;

    #[test]
    fn with_the_same_cycle_unused_time_is_credited_and_remaining_time_charged() {
        let (month, cycle, now) = (span(0, MONTH), monthly(), seconds(MONTH / 3));
        let change = prorate_plan_change(&cycle, &cycle, &[plan("new", 3_000)], &month, now).expect("changes");
        assert_eq!((change.period, change.anchor), (month, None));
        let credited = credits(&[paid("old", 1_000, month)], now).expect("credits");
        let line = |line: &ProrationLine| (line.what, line.amount.base_units(), line.seconds, line.of_seconds);
        assert_eq!(credited.iter().map(line).collect::<Vec<_>>(), [(Prorated::Credit, 666, 1_728_000, MONTH)]);
        assert_eq!(change.lines.iter().map(line).collect::<Vec<_>>(), [(Prorated::Charge, 2_000, 1_728_000, MONTH)]);
    }

    #[test]
    fn a_new_cycle_begins_now_and_is_charged_in_full() {
        let month = span(0, MONTH);
        let yearly = RecurringInterval::new(Interval::Year, 1, Anchoring::Fixed).expect("a cycle");
        let now = seconds(MONTH / 2);
        let change = prorate_plan_change(&monthly(), &yearly, &[plan("new", 9_000)], &month, now).expect("changes");
        assert_eq!((change.period, change.anchor), (span(MONTH / 2, MONTH / 2 + 365 * 86_400), Some(now)));
        assert_eq!(sum(&change.lines), Amount::new(9_000));
    }

    #[test]
    fn free_lines_give_no_credit() {
        let credited = credits(&[paid("trial", 0, span(0, MONTH))], seconds(0)).expect("credits");
        assert_eq!(sum(&credited), Amount::ZERO);
    }

    #[test]
    fn a_credit_is_capped_at_its_line_and_the_excess_moves_to_no_other_line() {
        let month = span(0, MONTH);
        let clipped = CoveringLine { creditable: Amount::new(100), ..paid("old", 1_000, month) };
        let credited = credits(&[clipped, paid("other", 1_000, month)], seconds(MONTH / 2)).expect("credits");
        assert_eq!(credited.iter().map(|line| line.amount.base_units()).collect::<Vec<_>>(), [100, 500]);
    }

    #[test]
    fn the_largest_amount_is_divided_without_overflow() {
        let whole = Amount::new(u128::MAX);
        assert_eq!(share(whole, 1, 2), Amount::new(u128::MAX / 2));
        assert_eq!(share(whole, 2, 2), whole);
        assert_eq!(share(whole, 0, 2), Amount::ZERO);
    }

    fn wholes() -> impl Strategy<Value = Vec<u128>> {
        proptest::collection::vec(0u128..1_000_000_000_000_000_000_000_000, 1..6)
    }

    fn lines(wholes: &[u128], period: Period) -> Vec<CoveringLine> {
        wholes.iter().enumerate().map(|(n, whole)| paid(&n.to_string(), *whole, period)).collect()
    }

    fn plans(wholes: &[u128]) -> Vec<PlanLine> {
        wholes.iter().enumerate().map(|(n, whole)| plan(&n.to_string(), *whole)).collect()
    }

    fn sum(lines: &[ProrationLine]) -> Amount {
        Amount::sum(lines.iter().map(|line| line.amount)).expect("adds up")
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_share_of_the_sum_and_none_exceeds_its_line(wholes in wholes(), at in 0..=MONTH) {
            let month = span(0, MONTH);
            let charged = charges(&plans(&wholes), &month, seconds(at)).expect("charges");
            let total = Amount::new(wholes.iter().sum());
            prop_assert_eq!(sum(&charged), share(total, month.seconds_left(seconds(at)), month.seconds()));
            for line in &charged {
                let floor = share(line.whole, line.seconds, line.of_seconds);
                prop_assert!(line.amount <= line.whole);
                prop_assert_eq!(line.amount.base_units(), floor.base_units() + u128::from(line.rounded_up));
            }
        }

        #[test]
        fn credits_never_exceed_what_was_charged(wholes in wholes(), first in 0..=MONTH, second in 0..=MONTH) {
            let (first, second) = (first.min(second), first.max(second));
            let month = span(0, MONTH);
            let bought = charges(&plans(&wholes), &month, seconds(first)).expect("charges");
            let rest = span(first, MONTH);
            let covering: Vec<_> = bought.iter().map(|line| CoveringLine {
                price_id: line.price_id.clone(), quantity: 1, total: line.amount, creditable: line.amount, period: rest,
            }).collect();
            for (credit, paid) in credits(&covering, seconds(second)).expect("credits").iter().zip(&bought) {
                prop_assert!(credit.amount <= paid.amount);
            }
        }

        #[test]
        fn changing_and_changing_back_at_once_costs_nothing(
            old in wholes(), new in wholes(), at in prop_oneof![0..=MONTH, Just(MONTH)], micros in 0i64..1_000_000,
        ) {
            // Subscriptions begin at any microsecond, and changes are computed in whole seconds.
            let month = Period { start: Timestamp::from_micros(micros), end: Timestamp::from_micros(micros + MONTH as i64 * 1_000_000) };
            let now = seconds(at).max(month.start);
            let credited = credits(&lines(&old, month), now).expect("credits");
            let charged = charges(&plans(&new), &month, now).expect("charges");
            let rest = Period { start: now, end: month.end };
            let covering: Vec<_> = charged.iter().map(|line| CoveringLine {
                price_id: line.price_id.clone(), quantity: 1, total: line.amount, creditable: line.amount, period: rest,
            }).collect();
            let credited_back = credits(&covering, now).expect("credits");
            let charged_back = charges(&plans(&old), &month, now).expect("charges");
            prop_assert_eq!(sum(&credited), sum(&charged_back));
            prop_assert_eq!(sum(&charged), sum(&credited_back));
            let both: Vec<_> = [credited, charged, credited_back, charged_back].into_iter().flatten().collect();
            for line in &both {
                prop_assert_eq!(PricingFormula::from(line).amount(), Ok(line.amount), "{:?}", line);
            }
        }

        #[test]
        fn lines_of_different_periods_are_prorated_by_their_own_period(wholes in wholes(), from in 0..MONTH, at in 0..=MONTH) {
            let mut covering = lines(&wholes, span(0, MONTH));
            covering.extend(lines(&wholes, span(from, MONTH)));
            let credited = credits(&covering, seconds(at)).expect("credits");
            prop_assert_eq!(credited.len(), covering.len());
            for (credit, line) in credited.iter().zip(&covering) {
                prop_assert_eq!(&credit.price_id, &line.price_id);
                prop_assert_eq!(credit.of_seconds, line.period.seconds());
                prop_assert!(credit.amount <= line.total);
            }
        }

        #[test]
        fn a_later_change_never_credits_more(whole: u128, a in 0..=MONTH, b in 0..=MONTH) {
            let month = span(0, MONTH);
            let (early, late) = (seconds(a.min(b)), seconds(a.max(b)));
            let remaining_share = |at| share(Amount::new(whole), month.seconds_left(at), month.seconds());
            prop_assert!(remaining_share(late) <= remaining_share(early));
        }
    }
}
