//! The key of a stake: what it is for, the object that it is placed for, its payer and its currency.

use crate::access::Did;
use crate::shared::{CurrencyId, SubscriptionId};

/// What a stake is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StakePurpose {
    /// Pays the overdue invoices of subscriptions that end.
    Security,
    /// Pays renewals that could not be charged.
    Overdraft,
    /// A membership of the store.
    Membership,
    /// The right to publish an app.
    Publication,
}

impl StakePurpose {
    pub const ALL: [Self; 4] = [Self::Security, Self::Overdraft, Self::Membership, Self::Publication];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Security => "security",
            Self::Overdraft => "overdraft",
            Self::Membership => "membership",
            Self::Publication => "publication",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.name() == name)
    }
}

/// The object that a stake is placed for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StakeSubject {
    /// The first subscription that it secures. The subscription may not exist yet: a checkout allocates subscription ids in advance.
    Subscription(SubscriptionId),
}

impl StakeSubject {
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Subscription(id) => id.as_str(),
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        SubscriptionId::parse(text).ok().map(Self::Subscription)
    }

    #[must_use]
    pub const fn subscription(&self) -> Option<&SubscriptionId> {
        match self {
            Self::Subscription(id) => Some(id),
        }
    }
}

/// Unique among stakes that are not final: a second payment raises the same row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StakeKey {
    pub subject: StakeSubject,
    pub purpose: StakePurpose,
    pub payer: Did,
    pub currency_id: CurrencyId,
}
