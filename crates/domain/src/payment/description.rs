//! What a payment, an invoice or a line of it is for, as a code with the names of products. Pages, mails and documents translate it.

use crate::shared::Text;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Description {
    /// A product, several products, or a text that the store wrote.
    Product(Text),
    /// A prorated charge for the rest of a period.
    RemainingTime(Text),
    /// A credit for the rest of a period.
    UnusedTime(Text),
    Deposit,
    DepositForPlanChange,
    DepositForPaymentChange,
    DepositToResume,
    DepositForOverdraft,
    OverdraftFee,
    DepositForfeited,
    DepositReturned,
    TopUp,
}

impl Description {
    /// The code in storage and on the wire.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Product(_) => "product",
            Self::RemainingTime(_) => "remaining_time",
            Self::UnusedTime(_) => "unused_time",
            Self::Deposit => "deposit",
            Self::DepositForPlanChange => "deposit_plan_change",
            Self::DepositForPaymentChange => "deposit_payment_change",
            Self::DepositToResume => "deposit_resume",
            Self::DepositForOverdraft => "deposit_overdraft",
            Self::OverdraftFee => "overdraft_fee",
            Self::DepositForfeited => "deposit_forfeited",
            Self::DepositReturned => "deposit_returned",
            Self::TopUp => "top_up",
        }
    }

    /// Returns the description of a code, or `None` if no description has this code.
    #[must_use]
    pub fn of_code(code: &str, name: Text) -> Option<Self> {
        Some(match code {
            "product" => Self::Product(name),
            "remaining_time" => Self::RemainingTime(name),
            "unused_time" => Self::UnusedTime(name),
            "deposit" => Self::Deposit,
            "deposit_plan_change" => Self::DepositForPlanChange,
            "deposit_payment_change" => Self::DepositForPaymentChange,
            "deposit_resume" => Self::DepositToResume,
            "deposit_overdraft" => Self::DepositForOverdraft,
            "overdraft_fee" => Self::OverdraftFee,
            "deposit_forfeited" => Self::DepositForfeited,
            "deposit_returned" => Self::DepositReturned,
            "top_up" => Self::TopUp,
            _ => return None,
        })
    }

    /// The names of the products that it is about.
    #[must_use]
    pub const fn name(&self) -> Option<&Text> {
        match self {
            Self::Product(name) | Self::RemainingTime(name) | Self::UnusedTime(name) => Some(name),
            _ => None,
        }
    }

    /// The description of a credit for the rest of the period that this one was charged for.
    #[must_use]
    pub fn unused_time(&self) -> Self {
        self.name().map_or_else(|| self.clone(), |name| Self::UnusedTime(name.clone()))
    }

    /// The English text on the wire, with the payment kit's words for deposits and top-ups (payment-kit.md 4).
    #[must_use]
    pub fn english(&self) -> String {
        let fixed = match self {
            Self::Product(name) => return name.en.clone(),
            Self::RemainingTime(name) => return format!("Remaining time on {}", name.en),
            Self::UnusedTime(name) => return format!("Unused time on {}", name.en),
            Self::Deposit => "Stake for subscription",
            Self::DepositForPlanChange => "Stake for subscription plan change",
            Self::DepositForPaymentChange => "Stake for subscription payment change",
            Self::DepositToResume => "Re-stake to resume subscription",
            Self::DepositForOverdraft => "Stake for subscription overdraft protection",
            Self::OverdraftFee => "Overdraft protection",
            Self::DepositForfeited => "Slash stake",
            Self::DepositReturned => "Return Subscription staking",
            Self::TopUp => "Add funds for subscription",
        };
        fixed.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_read_back_and_only_descriptions_of_products_have_a_name() {
        let name = || Text::new("Kiln", "窑");
        for (code, english, named) in [
            ("product", "Kiln", true),
            ("remaining_time", "Remaining time on Kiln", true),
            ("unused_time", "Unused time on Kiln", true),
            ("deposit", "Stake for subscription", false),
            ("deposit_plan_change", "Stake for subscription plan change", false),
            ("deposit_payment_change", "Stake for subscription payment change", false),
            ("deposit_resume", "Re-stake to resume subscription", false),
            ("deposit_overdraft", "Stake for subscription overdraft protection", false),
            ("overdraft_fee", "Overdraft protection", false),
            ("deposit_forfeited", "Slash stake", false),
            ("deposit_returned", "Return Subscription staking", false),
            ("top_up", "Add funds for subscription", false),
        ] {
            let read = Description::of_code(code, name()).expect("a description");
            assert_eq!((read.code(), read.english().as_str()), (code, english));
            assert_eq!(read.name(), named.then(name).as_ref(), "{code}");
        }
        assert_eq!(Description::of_code("other", name()), None);
    }
}
