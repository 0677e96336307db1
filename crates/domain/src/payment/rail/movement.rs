//! What a network has moved to and from this store, as a restored store imports it.

use crate::shared::{Amount, AttemptId, CurrencyId, InvoiceId, SubscriptionId, Timestamp};

/// The period of a subscription that a charge pays. It is sent with the charge, so that a store that has lost its record of the charge can
/// find what it paid for. The invoice's number is not part of it: numbers are allocated after the charge is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargedPeriod {
    pub invoice: InvoiceId,
    pub subscription: SubscriptionId,
    pub start: Timestamp,
}

impl ChargedPeriod {
    /// The names and values under which networks keep it.
    #[must_use]
    pub fn fields(&self) -> [(&'static str, String); 3] {
        [
            ("invoice", self.invoice.to_string()),
            ("subscription", self.subscription.to_string()),
            // Exact, because it identifies the period.
            ("period_start", self.start.micros().to_string()),
        ]
    }

    /// Reads what [`Self::fields`] wrote; `None`: it is missing or was written by somebody else.
    #[must_use]
    pub fn of<'f>(field: impl Fn(&'static str) -> Option<&'f str>) -> Option<Self> {
        Some(Self {
            invoice: InvoiceId::parse(field("invoice")?).ok()?,
            subscription: SubscriptionId::parse(field("subscription")?).ok()?,
            start: Timestamp::from_micros(field("period_start")?.parse().ok()?),
        })
    }
}

/// An amount that a network has moved to or from this store, or is moving.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Movement {
    /// The network's reference: a transaction hash, a card payment intent.
    pub reference: String,
    /// The attempt that the payment names.
    pub attempt: Option<AttemptId>,
    pub period: Option<ChargedPeriod>,
    /// Whether the store received it.
    pub is_incoming: bool,
    /// The other account; empty for cards.
    pub account: String,
    pub amount: Amount,
    pub currency_id: CurrencyId,
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_period_is_read_from_its_fields_only_if_all_are_there() {
        let period = ChargedPeriod {
            invoice: InvoiceId::parse("in_1").expect("an id"),
            subscription: SubscriptionId::parse("sub_1").expect("an id"),
            start: Timestamp::from_micros(1_700_000_000_123_456),
        };
        let fields: BTreeMap<_, _> = period.fields().into_iter().collect();
        let read = |fields: &BTreeMap<&str, String>| ChargedPeriod::of(|name| fields.get(name).map(String::as_str));
        assert_eq!(read(&fields), Some(period));
        for missing in ["invoice", "subscription", "period_start"] {
            let mut fields = fields.clone();
            fields.remove(missing);
            assert_eq!(read(&fields), None, "{missing}");
        }
        let malformed =
            BTreeMap::from([("invoice", "x".to_owned()), ("subscription", "sub_1".to_owned()), ("period_start", "1".to_owned())]);
        assert_eq!(read(&malformed), None);
    }
}
