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
    /// The user who is a developer by it.
    Developer(Did),
    /// The app that may be published by it.
    App(Did),
}

/// What the stored text of a developer and of an app begins with. DIDs alone do not tell which of the two they are.
const DEVELOPER: &str = "developer:";
const APP: &str = "app:";

impl StakeSubject {
    /// The stored text: the id of a subscription, or a prefix and a DID. Transactions at the network carry it as well.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Subscription(id) => id.to_string(),
            Self::Developer(did) => format!("{DEVELOPER}{did}"),
            Self::App(did) => format!("{APP}{did}"),
        }
    }

    /// Reads a stored text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let did = |text: &str| Some(text).filter(|text| !text.is_empty()).map(Did::from_verified);
        match (text.strip_prefix(DEVELOPER), text.strip_prefix(APP)) {
            (Some(text), _) => did(text).map(Self::Developer),
            (_, Some(text)) => did(text).map(Self::App),
            (None, None) => SubscriptionId::parse(text).ok().map(Self::Subscription),
        }
    }

    #[must_use]
    pub const fn subscription(&self) -> Option<&SubscriptionId> {
        match self {
            Self::Subscription(id) => Some(id),
            Self::Developer(_) | Self::App(_) => None,
        }
    }

    #[must_use]
    pub const fn developer(&self) -> Option<&Did> {
        match self {
            Self::Developer(did) => Some(did),
            Self::Subscription(_) | Self::App(_) => None,
        }
    }

    #[must_use]
    pub const fn app(&self) -> Option<&Did> {
        match self {
            Self::App(did) => Some(did),
            Self::Subscription(_) | Self::Developer(_) => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subject_is_read_back_from_its_text() {
        let did = || Did::from_verified("z1abc");
        let subscription = StakeSubject::Subscription(SubscriptionId::parse("sub_1").expect("an id"));
        for (subject, text) in
            [(subscription, "sub_1"), (StakeSubject::Developer(did()), "developer:z1abc"), (StakeSubject::App(did()), "app:z1abc")]
        {
            assert_eq!((subject.to_text().as_str(), StakeSubject::parse(text)), (text, Some(subject)));
        }
        for text in ["", "z1abc", "developer:", "app:", "cus_1"] {
            assert_eq!(StakeSubject::parse(text), None, "{text}");
        }
    }
}
