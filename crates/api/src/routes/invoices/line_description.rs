//! The description of a line of an invoice or credit note as a code with parameters, so that each page can translate it.

use souk_domain::billing::{InvoiceItem, PricingFormula, Prorated};
use std::collections::BTreeMap;

/// The fixed English descriptions of the payment kit and their codes.
const KIT: [(&str, &str); 9] = [
    ("Stake for subscription", "deposit"),
    ("Stake for subscription plan change", "deposit_plan_change"),
    ("Stake for subscription payment change", "deposit_payment_change"),
    ("Re-stake to resume subscription", "deposit_resume"),
    ("Stake for subscription overdraft protection", "deposit_overdraft"),
    ("Overdraft protection", "overdraft_fee"),
    ("Slash stake", "deposit_forfeited"),
    ("Return Subscription staking", "deposit_returned"),
    ("Add funds for subscription", "top_up"),
];
const UNUSED_TIME: &str = "Unused time on ";
const REMAINING_TIME: &str = "Remaining time on ";

/// The description of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineDescription {
    /// product, remaining_time, unused_time, deposit, deposit_plan_change, deposit_payment_change, deposit_resume, deposit_overdraft,
    /// overdraft_fee, deposit_forfeited, deposit_returned or top_up.
    pub code: &'static str,
    /// `name`: the product name that the store entered.
    pub params: BTreeMap<String, String>,
}

impl LineDescription {
    fn named(code: &'static str, name: &str) -> Self {
        Self { code, params: [("name".to_owned(), name.to_owned())].into() }
    }

    /// The description of an invoice line.
    #[must_use]
    pub fn of(item: &InvoiceItem) -> Self {
        let text = item.description.as_str();
        match &item.calculation {
            PricingFormula::Prorated { what: Prorated::Charge, .. } => Self::named("remaining_time", product_name(text)),
            PricingFormula::Prorated { what: Prorated::Credit, .. } => Self::named("unused_time", product_name(text)),
            PricingFormula::Flat { .. } | PricingFormula::Stake { .. } => match KIT.iter().find(|(known, _)| *known == text) {
                Some((_, code)) => Self { code, params: BTreeMap::new() },
                None => Self::named("product", text),
            },
            PricingFormula::PerUnit { .. }
            | PricingFormula::Tiered { .. }
            | PricingFormula::Custom { .. }
            | PricingFormula::Rest { .. } => Self::named("product", text),
        }
    }

    /// The description of a credit note item; `calculation` is present if unused time was credited.
    #[must_use]
    pub fn of_credit(item: &InvoiceItem, calculation: Option<&PricingFormula>) -> Self {
        match calculation {
            Some(PricingFormula::Prorated { .. }) => Self::named("unused_time", product_name(&item.description)),
            _ => Self::of(item),
        }
    }

    /// The English text of the description.
    #[must_use]
    pub fn english(&self) -> String {
        let name = self.params.get("name").map(String::as_str).unwrap_or_default();
        match self.code {
            "remaining_time" => format!("{REMAINING_TIME}{name}"),
            "unused_time" => format!("{UNUSED_TIME}{name}"),
            "product" => name.to_owned(),
            code => KIT.iter().find(|(_, known)| *known == code).map_or_else(String::new, |(text, _)| (*text).to_owned()),
        }
    }
}

fn product_name(text: &str) -> &str {
    text.strip_prefix(REMAINING_TIME).or_else(|| text.strip_prefix(UNUSED_TIME)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use souk_domain::shared::{Amount, InvoiceId, InvoiceItemId};

    fn line(description: &str, calculation: PricingFormula) -> InvoiceItem {
        InvoiceItem {
            id: InvoiceItemId::parse("ii_1").expect("an id"),
            invoice_id: InvoiceId::parse("in_1").expect("an id"),
            subscription_item_id: None,
            price_id: None,
            description: description.to_owned(),
            quantity: 1,
            unit_amount: Amount::ZERO,
            amount: Amount::ZERO,
            credited: Amount::ZERO,
            period: None,
            covers_until: None,
            calculation,
        }
    }

    fn share(what: Prorated) -> PricingFormula {
        PricingFormula::Prorated { what, whole: Amount::ZERO, seconds: 1, of_seconds: 2, quantity: 1, rounded_up: false }
    }

    fn described(item: &InvoiceItem) -> (&'static str, Option<String>) {
        let found = LineDescription::of(item);
        (found.code, found.params.get("name").cloned())
    }

    #[test]
    fn a_line_is_described_by_a_code_and_its_product_name() {
        let (flat, units) = (PricingFormula::Flat { amount: Amount::ZERO }, PricingFormula::PerUnit { unit: Amount::ZERO, quantity: 1 });
        let named = |code, name: &str| (code, Some(name.to_owned()));
        assert_eq!(described(&line("Kiln", units.clone())), named("product", "Kiln"));
        assert_eq!(described(&line("Remaining time on Kiln", share(Prorated::Charge))), named("remaining_time", "Kiln"));
        assert_eq!(described(&line("Stake for subscription", flat.clone())), ("deposit", None));
        assert_eq!(described(&line("Add funds for subscription", flat.clone())), ("top_up", None));
        assert_eq!(described(&line("A note of the store", flat)), named("product", "A note of the store"));
        for text in ["Kiln", "Stake for subscription", "Slash stake"] {
            assert_eq!(LineDescription::of(&line(text, PricingFormula::Flat { amount: Amount::ZERO })).english(), text);
        }
        let remaining = line("Remaining time on Kiln", share(Prorated::Charge));
        assert_eq!(LineDescription::of(&remaining).english(), remaining.description);
        let product_with_that_name = line("Remaining time on Kiln", units);
        assert_eq!(described(&product_with_that_name), named("product", "Remaining time on Kiln"));
    }

    #[test]
    fn credited_time_names_the_product_of_the_line() {
        let charged = line("Remaining time on Kiln", share(Prorated::Charge));
        let credited = LineDescription::of_credit(&charged, Some(&share(Prorated::Credit)));
        assert_eq!((credited.code, credited.english().as_str()), ("unused_time", "Unused time on Kiln"));
        assert_eq!(LineDescription::of_credit(&charged, None).code, "remaining_time");
    }
}
