//! Descriptions and names of products on the wire: the payment kit's English text, and a code with parameters that pages translate.

use souk_domain::payment::Description;
use souk_domain::pricing::ProductNames;
use souk_domain::shared::{Language, Text};
use std::collections::BTreeMap;

/// The English text, with the payment kit's words for deposits and top-ups (payment-kit.md 4).
#[must_use]
pub fn description_text(description: &Description) -> String {
    let fixed = match description {
        Description::Product(name) => return names_text(name, Language::English),
        Description::RemainingTime(name) => return format!("Remaining time on {}", names_text(name, Language::English)),
        Description::UnusedTime(name) => return format!("Unused time on {}", names_text(name, Language::English)),
        Description::Deposit => "Stake for subscription",
        Description::DepositForPlanChange => "Stake for subscription plan change",
        Description::DepositForPaymentChange => "Stake for subscription payment change",
        Description::DepositToResume => "Re-stake to resume subscription",
        Description::DepositForOverdraft => "Stake for subscription overdraft protection",
        Description::OverdraftFee => "Overdraft protection",
        Description::DepositForfeited => "Slash stake",
        Description::DepositReturned => "Return Subscription staking",
        Description::DeveloperDeposit => "Stake",
        Description::DeveloperDepositReturned => "Return stake",
        Description::TopUp => "Add funds for subscription",
    };
    fixed.to_owned()
}

/// The parameters of a description: `name` and `name_zh`, the name of the first product that it is about, and `others`, the number of
/// further products. With one product, there is no `others`.
#[must_use]
pub fn description_params(description: &Description) -> BTreeMap<String, String> {
    let Some(ProductNames { first, others }) = description.name() else { return BTreeMap::new() };
    let mut params = BTreeMap::from([("name".to_owned(), first.en.clone()), ("name_zh".to_owned(), first.zh.clone())]);
    if *others > 0 {
        params.insert("others".to_owned(), others.to_string());
    }
    params
}

/// The names of products in one language. English counts the others, Chinese counts all.
#[must_use]
pub fn names_text(names: &ProductNames, language: Language) -> String {
    let first = names.first.in_language(language);
    match (language, names.others) {
        (_, 0) => first.to_owned(),
        (Language::English, others) => format!("{first} and {others} more"),
        (Language::Chinese, others) => format!("{first} 等 {} 件商品", u64::from(others) + 1),
    }
}

/// The names of products in both languages.
#[must_use]
pub fn names_in_both(names: &ProductNames) -> Text {
    Text::new(names_text(names, Language::English), names_text(names, Language::Chinese))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_have_the_words_of_the_payment_kit() {
        let name = || Text::new("Kiln", "窑").into();
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
            ("deposit_developer", "Stake"),
            ("deposit_developer_returned", "Return stake"),
            ("top_up", "Add funds for subscription"),
        ] {
            let description = Description::of_code(code, name()).expect("a description");
            assert_eq!(description_text(&description), text, "{code}");
        }
    }

    #[test]
    fn several_products_are_named_by_the_first_one_and_a_number() {
        let names = ProductNames { first: Text::new("Brush", "画笔"), others: 2 };
        assert_eq!(names_in_both(&names), Text::new("Brush and 2 more", "画笔 等 3 件商品"));
        let params = description_params(&Description::RemainingTime(names.clone()));
        assert_eq!(
            params.into_iter().collect::<Vec<_>>(),
            [("name", "Brush"), ("name_zh", "画笔"), ("others", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
        assert_eq!(description_text(&Description::RemainingTime(names)), "Remaining time on Brush and 2 more");
        assert!(!description_params(&Description::Product(Text::new("Kiln", "窑").into())).contains_key("others"));
    }
}
