//! The statuses of an invoice, and the changes that each of them allows.

/// See the billing model, section 2, "Status".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InvoiceStatus {
    Draft,
    Open,
    /// Nothing remains, and its total is zero or a payment stands.
    Paid,
    /// Overdue. It can be paid and credited.
    Uncollectible,
    /// Nothing remains, and nothing was paid. A dropped draft is void without a number.
    Void,
}

impl InvoiceStatus {
    pub const ALL: [Self; 5] = [Self::Draft, Self::Open, Self::Paid, Self::Uncollectible, Self::Void];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Open => "open",
            Self::Paid => "paid",
            Self::Uncollectible => "uncollectible",
            Self::Void => "void",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether something may remain to be paid.
    #[must_use]
    pub const fn is_payable(self) -> bool {
        matches!(self, Self::Open | Self::Uncollectible)
    }
}

/// What happens to an invoice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InvoiceChange {
    /// A draft is written again: its checkout changed.
    Rewrite,
    /// A draft gets its number and becomes payable.
    Finalize,
    /// A payment is applied.
    Pay,
    /// A credit note gives a part of it.
    Credit,
    /// Its collection was declined.
    Decline,
    /// The time of the next try changes.
    Reschedule,
    /// A payment is undone: a lost dispute, a late failure, the balance of an invoice that becomes void.
    Reverse,
    /// The checkout ended without it.
    Drop,
}

impl InvoiceChange {
    pub const ALL: [Self; 8] =
        [Self::Rewrite, Self::Finalize, Self::Pay, Self::Credit, Self::Decline, Self::Reschedule, Self::Reverse, Self::Drop];
}

/// A change that the status does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an invoice that is {} does not allow: {change:?}", status.name())]
pub struct IllegalInvoiceChange {
    pub status: InvoiceStatus,
    pub change: InvoiceChange,
}

impl InvoiceStatus {
    /// Whether the status allows a change. What the status becomes depends on the amounts: see [`super::Invoice::with_amounts`].
    pub const fn check(self, change: InvoiceChange) -> Result<(), IllegalInvoiceChange> {
        use InvoiceChange as C;
        let is_allowed = match self {
            Self::Draft => matches!(change, C::Rewrite | C::Finalize | C::Drop),
            Self::Open => matches!(change, C::Pay | C::Credit | C::Decline | C::Reverse),
            Self::Uncollectible => matches!(change, C::Pay | C::Credit | C::Decline | C::Reschedule | C::Reverse),
            Self::Paid => matches!(change, C::Credit | C::Reverse),
            Self::Void => false,
        };
        if is_allowed { Ok(()) } else { Err(IllegalInvoiceChange { status: self, change }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_illegal_change_is_refused_by_name() {
        use InvoiceChange as C;
        use InvoiceStatus as S;
        let legal = [
            (S::Draft, vec![C::Rewrite, C::Finalize, C::Drop]),
            (S::Open, vec![C::Pay, C::Credit, C::Decline, C::Reverse]),
            (S::Uncollectible, vec![C::Pay, C::Credit, C::Decline, C::Reschedule, C::Reverse]),
            (S::Paid, vec![C::Credit, C::Reverse]),
            (S::Void, vec![]),
        ];
        for (status, allowed) in legal {
            for change in C::ALL {
                let expected = if allowed.contains(&change) { Ok(()) } else { Err(IllegalInvoiceChange { status, change }) };
                assert_eq!(status.check(change), expected, "{status:?} {change:?}");
            }
        }
        let refused = IllegalInvoiceChange { status: S::Void, change: C::Pay };
        assert_eq!(refused.to_string(), "an invoice that is void does not allow: Pay");
    }
}
