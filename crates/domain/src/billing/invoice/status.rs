//! Invoice statuses and the changes that each status allows.

/// The status of an invoice: see the billing model, section 2, "Status".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InvoiceStatus {
    Draft,
    Open,
    /// Nothing remains, and its total is zero or a payment stands.
    Paid,
    /// Overdue. It can be paid and credited.
    Uncollectible,
    /// Nothing remains and no payment stands. A dropped draft is void without a number.
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

    /// Whether an invoice in this status can be paid.
    #[must_use]
    pub const fn is_payable(self) -> bool {
        matches!(self, Self::Open | Self::Uncollectible)
    }
}

/// A change of an invoice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InvoiceChange {
    /// Its checkout changed, so the draft is rewritten.
    Rewrite,
    /// A draft gets its number and becomes payable.
    Finalize,
    /// A payment is applied.
    Pay,
    /// A credit note is issued over it.
    Credit,
    /// Its collection was declined.
    Decline,
    /// The time of its next retry changes.
    Reschedule,
    /// A payment is undone: a lost dispute, a late failure, the balance of an invoice that becomes void.
    Reverse,
    /// Its checkout ended without using the draft.
    Drop,
}

impl InvoiceChange {
    pub const ALL: [Self; 8] =
        [Self::Rewrite, Self::Finalize, Self::Pay, Self::Credit, Self::Decline, Self::Reschedule, Self::Reverse, Self::Drop];
}

/// A change that the invoice's status does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an invoice that is {} does not allow: {change:?}", status.name())]
pub struct IllegalInvoiceChange {
    pub status: InvoiceStatus,
    pub change: InvoiceChange,
}

impl InvoiceStatus {
    /// Checks whether the status allows a change. The resulting status depends on the amounts: see [`super::Invoice::with_amounts`].
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
    fn each_illegal_change_is_a_named_error() {
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
