//! Descriptions of invoice lines that are more than a product's name. They are stored in English, and translated for display.

use super::{InvoiceItem, PricingFormula, Prorated};
use crate::shared::Language;

const UNUSED_TIME: &str = "Unused time on ";
const REMAINING_TIME: &str = "Remaining time on ";
pub(super) const STAKE: &str = "Stake for subscription";
pub(super) const STAKED_AGAIN: &str = "Re-stake to resume subscription";
pub(super) const STAKED_ELSEWHERE: &str = "Stake for subscription payment change";
pub(super) const STAKED_MORE: &str = "Stake for subscription plan change";
pub(super) const STAKED_FOR_OVERDRAFT: &str = "Stake for subscription overdraft protection";
pub(super) const OVERDRAFT_FEE: &str = "Overdraft protection";
pub(super) const SLASHED_STAKE: &str = "Slash stake";
pub(super) const RETURNED_STAKE: &str = "Return Subscription staking";
pub(super) const ADDED_FUNDS: &str = "Add funds for subscription";

/// The description of a prorated line.
pub(super) fn prorated(what: Prorated, name: &str) -> String {
    let time = match what {
        Prorated::Credit => UNUSED_TIME,
        Prorated::Charge => REMAINING_TIME,
    };
    format!("{time}{name}")
}

impl InvoiceItem {
    /// The line's description in the customer's language. Product names stay as the store wrote them.
    #[must_use]
    pub fn title(&self, language: Language) -> String {
        let description = self.description.as_str();
        match (&self.calculation, language) {
            (PricingFormula::Prorated { what: Prorated::Credit, .. }, Language::Chinese) => {
                name_first(description, UNUSED_TIME, "未使用的时间")
            }
            (PricingFormula::Prorated { what: Prorated::Charge, .. }, Language::Chinese) => {
                name_first(description, REMAINING_TIME, "剩余的时间")
            }
            (PricingFormula::Flat { .. } | PricingFormula::Stake { .. }, _) => {
                let (english, chinese) = match description {
                    STAKE | STAKED_AGAIN => ("Refundable deposit", "押金（可退）"),
                    STAKED_ELSEWHERE => ("Deposit for the new payment method", "更换支付方式的押金"),
                    STAKED_MORE => ("Deposit for the plan change", "更换方案的押金"),
                    STAKED_FOR_OVERDRAFT => ("Deposit for overdraft protection", "透支保护押金"),
                    OVERDRAFT_FEE => ("Overdraft protection", "透支保护"),
                    SLASHED_STAKE => ("Deposit forfeited", "扣除押金"),
                    RETURNED_STAKE => ("Deposit returned", "退还押金"),
                    ADDED_FUNDS => ("Top-up", "充值"),
                    other => (other, other),
                };
                match language {
                    Language::English => english,
                    Language::Chinese => chinese,
                }
                .to_owned()
            }
            _ => description.to_owned(),
        }
    }
}

/// Translates `Unused time on Kiln` to Chinese, where the name comes first.
fn name_first(description: &str, english: &str, chinese: &str) -> String {
    description.strip_prefix(english).map_or_else(|| description.to_owned(), |name| format!("{name} {chinese}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::{Amount, InvoiceId, InvoiceItemId};

    fn line(description: &str, calculation: PricingFormula) -> InvoiceItem {
        InvoiceItem {
            id: InvoiceItemId::parse("ii_1").expect("an id"),
            invoice_id: InvoiceId::parse("in_1").expect("an id"),
            price_id: None,
            description: description.to_owned(),
            quantity: 1,
            subscription_item_id: None,
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

    #[test]
    fn titles_are_translated_and_product_names_are_kept() {
        let flat = || PricingFormula::Flat { amount: Amount::ZERO };
        let stake_terms = PricingFormula::Stake { threshold: Amount::ZERO, minimum: Amount::ZERO, recurring: Amount::ZERO };
        let per_unit = PricingFormula::PerUnit { unit: Amount::ZERO, quantity: 1 };
        for (line, english, chinese) in [
            (line(&prorated(Prorated::Credit, "Kiln"), share(Prorated::Credit)), "Unused time on Kiln", "Kiln 未使用的时间"),
            (line(&prorated(Prorated::Charge, "Kiln"), share(Prorated::Charge)), "Remaining time on Kiln", "Kiln 剩余的时间"),
            (line(STAKE, flat()), "Refundable deposit", "押金（可退）"),
            (line(STAKE, stake_terms), "Refundable deposit", "押金（可退）"),
            (line(STAKED_AGAIN, flat()), "Refundable deposit", "押金（可退）"),
            (line(STAKED_ELSEWHERE, flat()), "Deposit for the new payment method", "更换支付方式的押金"),
            (line(STAKED_MORE, flat()), "Deposit for the plan change", "更换方案的押金"),
            (line(STAKED_FOR_OVERDRAFT, flat()), "Deposit for overdraft protection", "透支保护押金"),
            (line(OVERDRAFT_FEE, flat()), "Overdraft protection", "透支保护"),
            (line(SLASHED_STAKE, flat()), "Deposit forfeited", "扣除押金"),
            (line(RETURNED_STAKE, flat()), "Deposit returned", "退还押金"),
            (line(ADDED_FUNDS, flat()), "Top-up", "充值"),
            (line("Kiln", flat()), "Kiln", "Kiln"),
            (line("Stake for subscription", per_unit), "Stake for subscription", "Stake for subscription"),
        ] {
            assert_eq!(line.title(Language::English), english);
            assert_eq!(line.title(Language::Chinese), chinese);
        }
    }
}
