//! What lines say that stand for no product alone. They are kept in English, and told in the reader's language.

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

/// What a prorated line says of the product.
pub(super) fn prorated(what: Prorated, name: &str) -> String {
    let time = match what {
        Prorated::Credit => UNUSED_TIME,
        Prorated::Charge => REMAINING_TIME,
    };
    format!("{time}{name}")
}

impl InvoiceItem {
    /// What the line is for, in a language. Names of products are as the store wrote them.
    #[must_use]
    pub fn title(&self, language: Language) -> String {
        let said = self.description.as_str();
        if language == Language::English {
            return said.to_owned();
        }
        match &self.calculation {
            PricingFormula::Prorated { what: Prorated::Credit, .. } => told(said, UNUSED_TIME, "未使用的时间"),
            PricingFormula::Prorated { what: Prorated::Charge, .. } => told(said, REMAINING_TIME, "剩余的时间"),
            PricingFormula::Flat { .. } | PricingFormula::Stake { .. } => match said {
                STAKE => "订阅押金",
                STAKED_ELSEWHERE => "更换支付方式的押金",
                STAKED_MORE => "更换方案的押金",
                STAKED_AGAIN => "恢复订阅的押金",
                STAKED_FOR_OVERDRAFT => "透支保护的押金",
                OVERDRAFT_FEE => "透支保护费",
                SLASHED_STAKE => "扣除押金",
                RETURNED_STAKE => "退还押金",
                ADDED_FUNDS => "为订阅充值",
                other => other,
            }
            .to_owned(),
            PricingFormula::PerUnit { .. }
            | PricingFormula::Tiered { .. }
            | PricingFormula::Custom { .. }
            | PricingFormula::Rest { .. } => said.to_owned(),
        }
    }
}

fn told(said: &str, english: &str, chinese: &str) -> String {
    said.strip_prefix(english).map_or_else(|| said.to_owned(), |name| format!("{name}{chinese}"))
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
    fn lines_are_told_in_chinese_and_products_keep_their_names() {
        let flat = || PricingFormula::Flat { amount: Amount::ZERO };
        let asked = PricingFormula::Stake { threshold: Amount::ZERO, minimum: Amount::ZERO, recurring: Amount::ZERO };
        for (line, chinese) in [
            (line(&prorated(Prorated::Credit, "Kiln"), share(Prorated::Credit)), "Kiln未使用的时间"),
            (line(&prorated(Prorated::Charge, "Kiln"), share(Prorated::Charge)), "Kiln剩余的时间"),
            (line(STAKE, flat()), "订阅押金"),
            (line(STAKE, asked), "订阅押金"),
            (line(STAKED_ELSEWHERE, flat()), "更换支付方式的押金"),
            (line(STAKED_MORE, flat()), "更换方案的押金"),
            (line(STAKED_AGAIN, flat()), "恢复订阅的押金"),
            (line(STAKED_FOR_OVERDRAFT, flat()), "透支保护的押金"),
            (line(OVERDRAFT_FEE, flat()), "透支保护费"),
            (line(SLASHED_STAKE, flat()), "扣除押金"),
            (line(RETURNED_STAKE, flat()), "退还押金"),
            (line(ADDED_FUNDS, flat()), "为订阅充值"),
            (line("Stake for subscription", PricingFormula::PerUnit { unit: Amount::ZERO, quantity: 1 }), "Stake for subscription"),
        ] {
            assert_eq!(line.title(Language::English), line.description);
            assert_eq!(line.title(Language::Chinese), chinese, "{}", line.description);
        }
    }
}
