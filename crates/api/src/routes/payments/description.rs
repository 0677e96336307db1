//! Descriptions on the wire: the payment kit's English text, and a code with parameters that pages translate.

use souk_domain::payment::Description;
use souk_domain::shared::Text;
use std::collections::BTreeMap;

/// The English text, with the payment kit's words for deposits and top-ups (payment-kit.md 4).
#[must_use]
pub fn description_text(description: &Description) -> String {
    let fixed = match description {
        Description::Product(name) => return name.en.clone(),
        Description::RemainingTime(name) => return format!("Remaining time on {}", name.en),
        Description::UnusedTime(name) => return format!("Unused time on {}", name.en),
        Description::Deposit => "Stake for subscription",
        Description::DepositForPlanChange => "Stake for subscription plan change",
        Description::DepositForPaymentChange => "Stake for subscription payment change",
        Description::DepositToResume => "Re-stake to resume subscription",
        Description::DepositForOverdraft => "Stake for subscription overdraft protection",
        Description::OverdraftFee => "Overdraft protection",
        Description::DepositForfeited => "Slash stake",
        Description::DepositReturned => "Return Subscription staking",
        Description::TopUp => "Add funds for subscription",
    };
    fixed.to_owned()
}

/// The parameters of a description: `name` and `name_zh`, the names of the products that it is about.
#[must_use]
pub fn description_params(description: &Description) -> BTreeMap<String, String> {
    let names = |name: &Text| [("name".to_owned(), name.en.clone()), ("name_zh".to_owned(), name.zh.clone())];
    description.name().into_iter().flat_map(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_have_the_words_of_the_payment_kit() {
        let name = || Text::new("Kiln", "窑");
        for (code, text) in [
            ("product", "Kiln"),
            ("remaining_time", "Remaining time on Kiln"),
            ("unused_time", "Unused time on Kiln"),
            ("deposit", "Stake for subscription"),
            ("deposit_plan_change", "Stake for subscription plan change"),
            ("deposit_payment_change", "Stake for subscription payment change"),
            ("deposit_resume", "Re-stake to resume subscription"),
            ("deposit_overdraft", "Stake for subscription overdraft protection"),
            ("overdraft_fee", "Overdraft protection"),
            ("deposit_forfeited", "Slash stake"),
            ("deposit_returned", "Return Subscription staking"),
            ("top_up", "Add funds for subscription"),
        ] {
            let description = Description::of_code(code, name()).expect("a description");
            assert_eq!(description_text(&description), text, "{code}");
        }
    }
}
