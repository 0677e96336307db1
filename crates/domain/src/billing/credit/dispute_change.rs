//! A pure rule: how a dispute has changed since it was recorded.

use crate::payment::{Dispute, DisputeStatus, ProviderDispute};
use crate::shared::Amount;

/// A change of a dispute that is posted to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DisputeChange {
    /// The network has withdrawn the amount.
    Withdrawn,
    /// The network has returned the amount.
    Reinstated,
    /// The withdrawn amount is gone for good.
    Lost,
    /// The network's fee has changed.
    Fee { before: Amount, now: Amount },
}

/// Whether the disputed funds are lost. A lost dispute whose funds are not withdrawn yet has cost nothing.
const fn has_lost_funds(status: DisputeStatus, funds_withdrawn: bool) -> bool {
    matches!(status, DisputeStatus::Lost) && funds_withdrawn
}

/// The changes since a dispute was recorded, in posting order. Funds that were withdrawn and returned in between count as unchanged.
pub(super) fn changes(recorded: &Dispute, provider: &ProviderDispute) -> Vec<DisputeChange> {
    let funds = match (recorded.funds_withdrawn, provider.funds_withdrawn) {
        (false, true) => Some(DisputeChange::Withdrawn),
        (true, false) => Some(DisputeChange::Reinstated),
        _ => None,
    };
    let fee = (recorded.fee != provider.fee).then_some(DisputeChange::Fee { before: recorded.fee, now: provider.fee });
    let was_lost = has_lost_funds(recorded.status, recorded.funds_withdrawn);
    let lost = !was_lost && has_lost_funds(provider.status, provider.funds_withdrawn);
    funds.into_iter().chain(fee).chain(lost.then_some(DisputeChange::Lost)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::{CurrencyId, CustomerId, DisputeId, MethodId, Mode, PaymentIntentId, Timestamp};
    use DisputeStatus as S;

    fn recorded(status: S, funds_withdrawn: bool, fee: u128) -> Dispute {
        let at = Timestamp::from_seconds(0);
        Dispute {
            id: DisputeId::parse("dp_1").expect("an id"),
            mode: Mode::Test,
            method_id: MethodId::parse("pm_1").expect("an id"),
            provider_id: "du_1".to_owned(),
            intent_id: PaymentIntentId::parse("pi_1").expect("an id"),
            customer_id: CustomerId::parse("cus_1").expect("an id"),
            amount: Amount::new(1_000),
            currency_id: CurrencyId::parse("pc_1").expect("an id"),
            fee: Amount::new(fee),
            fee_currency_id: None,
            status,
            funds_withdrawn,
            movements: 0,
            reason: String::new(),
            respond_by: None,
            credit_note_ids: Vec::new(),
            created_at: at,
            updated_at: at,
        }
    }

    fn provider(status: S, funds_withdrawn: bool, fee: u128) -> ProviderDispute {
        ProviderDispute {
            provider_id: "du_1".to_owned(),
            payment: "pi_provider".to_owned(),
            amount: Amount::new(1_000),
            currency: "usd".to_owned(),
            fee: Amount::new(fee),
            fee_currency: "usd".to_owned(),
            status,
            funds_withdrawn,
            reason: String::new(),
            respond_by: None,
            created: Timestamp::from_seconds(0),
        }
    }

    #[test]
    fn funds_are_posted_when_they_move_and_a_loss_once_they_are_withdrawn() {
        use DisputeChange as C;
        let fee = |before, now| C::Fee { before: Amount::new(before), now: Amount::new(now) };
        for (before, now, expected) in [
            ((S::Inquiry, false, 0), (S::Inquiry, false, 0), vec![]),
            ((S::Inquiry, false, 0), (S::InquiryClosed, false, 0), vec![]),
            ((S::Inquiry, false, 0), (S::NeedsResponse, true, 1_500), vec![C::Withdrawn, fee(0, 1_500)]),
            ((S::NeedsResponse, false, 0), (S::NeedsResponse, false, 0), vec![]),
            ((S::NeedsResponse, true, 1_500), (S::UnderReview, true, 1_500), vec![]),
            ((S::UnderReview, true, 1_500), (S::Won, false, 1_500), vec![C::Reinstated]),
            ((S::UnderReview, true, 1_500), (S::Won, false, 0), vec![C::Reinstated, fee(1_500, 0)]),
            ((S::UnderReview, true, 1_500), (S::Won, true, 1_500), vec![]),
            ((S::Won, true, 1_500), (S::Won, false, 1_500), vec![C::Reinstated]),
            ((S::UnderReview, true, 1_500), (S::Lost, true, 1_500), vec![C::Lost]),
            ((S::Inquiry, false, 0), (S::Lost, true, 1_500), vec![C::Withdrawn, fee(0, 1_500), C::Lost]),
            ((S::Inquiry, false, 0), (S::Lost, false, 0), vec![]),
            ((S::Lost, false, 0), (S::Lost, true, 0), vec![C::Withdrawn, C::Lost]),
            ((S::Lost, true, 0), (S::Lost, true, 0), vec![]),
            ((S::Lost, true, 0), (S::Won, false, 0), vec![C::Reinstated]),
        ] {
            let (recorded, provider) = (recorded(before.0, before.1, before.2), provider(now.0, now.1, now.2));
            assert_eq!(changes(&recorded, &provider), expected, "{before:?} {now:?}");
        }
    }
}
