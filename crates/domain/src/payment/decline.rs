//! Which declines are final, and which can succeed on a retry.

use super::Decline;

/// Codes after which the same card or mandate will never pay: the bank's (`stolen_card`), the provider's own if the card is gone or belongs
/// to another account (`resource_missing`), and the chain's (`DELEGATION_EXPIRED`). Any other code is retried, also
/// `INSUFFICIENT_DELEGATION`: a limit per interval is available again in the next interval.
const FINAL: [&str; 23] = [
    "DELEGATION_DENIED",
    "DELEGATION_EXPIRED",
    "authentication_required",
    "card_not_supported",
    "currency_not_supported",
    "expired_card",
    "fraudulent",
    "highest_risk_level",
    "incorrect_number",
    "invalid_account",
    "invalid_expiry_month",
    "invalid_expiry_year",
    "invalid_number",
    "lost_card",
    "merchant_blacklist",
    "new_account_information_available",
    "no_account",
    "payment_method_unexpected_state",
    "pickup_card",
    "resource_missing",
    "stolen_card",
    "stop_payment_order",
    "transaction_not_allowed",
];

/// Prefixes of further final codes: an authorization or a delegation that was withdrawn or never existed.
const FINAL_PREFIXES: [&str; 2] = ["INVALID_DELEGATION", "revocation_of_"];

impl Decline {
    /// Whether no retry can succeed, so that the payer has to use another card or sign a new mandate. Lack of funds is never final.
    #[must_use]
    pub fn is_hard_decline(&self) -> bool {
        FINAL.contains(&self.code.as_str()) || FINAL_PREFIXES.iter().any(|prefix| self.code.starts_with(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_no_retry_can_fix_are_final() {
        for (code, is_hard_decline) in [
            ("stolen_card", true),
            ("lost_card", true),
            ("pickup_card", true),
            ("expired_card", true),
            ("invalid_account", true),
            ("card_not_supported", true),
            ("revocation_of_authorization", true),
            ("revocation_of_all_authorizations", true),
            ("authentication_required", true),
            ("payment_method_unexpected_state", true),
            ("resource_missing", true),
            ("INVALID_DELEGATION", true),
            ("INVALID_DELEGATION_TYPE_URL", true),
            ("DELEGATION_EXPIRED", true),
            ("insufficient_funds", false),
            ("do_not_honor", false),
            ("generic_decline", false),
            ("processing_error", false),
            ("try_again_later", false),
            ("card_velocity_exceeded", false),
            ("issuer_not_available", false),
            ("INSUFFICIENT_FUND", false),
            ("INSUFFICIENT_DELEGATION", false),
            ("", false),
        ] {
            let decline = Decline { code: code.to_owned(), message: String::new() };
            assert_eq!(decline.is_hard_decline(), is_hard_decline, "{code}");
        }
    }

    #[test]
    fn final_codes_are_sorted() {
        assert!(FINAL.is_sorted());
    }
}
