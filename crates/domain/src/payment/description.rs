//! What a payment, an invoice or a line of it is for, as a code with the names of products. The API, pages, mails and documents
//! word it.

use crate::pricing::ProductNames;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Description {
    /// A product, several products, or a text that the store wrote.
    Product(ProductNames),
    /// A prorated charge for the rest of a period.
    RemainingTime(ProductNames),
    /// A credit for the rest of a period.
    UnusedTime(ProductNames),
    Deposit,
    DepositForPlanChange,
    DepositForPaymentChange,
    DepositToResume,
    DepositForOverdraft,
    OverdraftFee,
    DepositForfeited,
    DepositReturned,
    /// Of a developer, for their membership or an app.
    DeveloperDeposit,
    DeveloperDepositReturned,
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
            Self::DeveloperDeposit => "deposit_developer",
            Self::DeveloperDepositReturned => "deposit_developer_returned",
            Self::TopUp => "top_up",
        }
    }

    /// Returns the description of a code, or `None` if no description has this code.
    #[must_use]
    pub fn of_code(code: &str, name: ProductNames) -> Option<Self> {
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
            "deposit_developer" => Self::DeveloperDeposit,
            "deposit_developer_returned" => Self::DeveloperDepositReturned,
            "top_up" => Self::TopUp,
            _ => return None,
        })
    }

    /// The names of the products that it is about.
    #[must_use]
    pub const fn name(&self) -> Option<&ProductNames> {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::Text;

    #[test]
    fn each_code_is_read_back_and_only_descriptions_of_products_have_a_name() {
        let name = || ProductNames { first: Text::new("Kiln", "窑"), others: 2 };
        for (code, named) in [
            ("product", true),
            ("remaining_time", true),
            ("unused_time", true),
            ("deposit", false),
            ("deposit_plan_change", false),
            ("deposit_payment_change", false),
            ("deposit_resume", false),
            ("deposit_overdraft", false),
            ("overdraft_fee", false),
            ("deposit_forfeited", false),
            ("deposit_returned", false),
            ("deposit_developer", false),
            ("deposit_developer_returned", false),
            ("top_up", false),
        ] {
            let read = Description::of_code(code, name()).expect("a description");
            assert_eq!(read.code(), code);
            assert_eq!(read.name(), named.then(name).as_ref(), "{code}");
        }
        assert_eq!(Description::of_code("other", name()), None);
    }
}
