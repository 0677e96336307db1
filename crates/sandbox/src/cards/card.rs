//! The test cards. Only the behavior of a card is stored, not its number. Numbers are Stripe's where it has an equivalent test card.

use super::call::{ApiError, Form};
use crate::time::{Timestamp, YearMonth};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Processing time of [`TestCard::DeclinesLater`].
const DECLINE_AFTER: Duration = Duration::from_secs(2);
/// Response time of [`TestCard::Slow`].
const SLOW_AFTER: Duration = Duration::from_secs(6);
/// Time until a request with [`TestCard::Silent`] fails.
pub(super) const SILENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TestCard {
    Accepted,
    Declined,
    InsufficientFunds,
    Lost,
    Stolen,
    Expired,
    IncorrectCvc,
    ProcessingError,
    /// Requires the second step while the cardholder is present. Off-session charges succeed if the card was set up.
    NeedsSecondStep,
    /// Requires the second step for every payment, so that off-session charges are always declined.
    AlwaysNeedsSecondStep,
    DeclinesLater,
    Slow,
    Silent,
    /// Pays, and is immediately disputed as fraudulent.
    DisputedAsFraudulent,
    /// Pays, and is immediately disputed as not received.
    DisputedAsNotReceived,
    /// Pays, and the bank immediately opens an inquiry without withdrawing funds.
    Inquiry,
    /// Refunds are pending at first and succeed later.
    RefundSucceedsLater,
    /// Refunds succeed at first and fail later.
    RefundFailsLater,
}

/// The dispute that a test card opens after each charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CardDispute {
    pub reason: &'static str,
    pub inquiry: bool,
}

/// The course of a refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefundCourse {
    Succeeds,
    SucceedsLater,
    FailsLater,
}

/// The response of the card's bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Paid,
    Declined(Decline),
    SecondStep,
    /// Decided after this time; `answer_waits`: the request waits until then.
    Later {
        after: Duration,
        paid: bool,
        answer_waits: bool,
    },
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decline {
    pub code: &'static str,
    pub decline_code: Option<&'static str>,
    pub message: &'static str,
}

pub(super) const GENERIC: Decline =
    Decline { code: "card_declined", decline_code: Some("generic_decline"), message: "Your card was declined." };
const INSUFFICIENT: Decline =
    Decline { code: "card_declined", decline_code: Some("insufficient_funds"), message: "Your card has insufficient funds." };
const LOST: Decline = Decline { code: "card_declined", decline_code: Some("lost_card"), message: "Your card was declined." };
const STOLEN: Decline = Decline { code: "card_declined", decline_code: Some("stolen_card"), message: "Your card was declined." };
const EXPIRED: Decline = Decline { code: "expired_card", decline_code: Some("expired_card"), message: "Your card has expired." };
const INCORRECT_CVC: Decline =
    Decline { code: "incorrect_cvc", decline_code: Some("incorrect_cvc"), message: "Your card's security code is incorrect." };
const PROCESSING_ERROR: Decline = Decline {
    code: "processing_error",
    decline_code: Some("processing_error"),
    message: "An error occurred while processing your card. Try again in a little bit.",
};
const REQUIRES_AUTHENTICATION: Decline = Decline {
    code: "authentication_required",
    decline_code: Some("authentication_required"),
    message: "Your card was declined. This transaction requires authentication.",
};
pub(super) const AUTHENTICATION_FAILED: Decline = Decline {
    code: "payment_intent_authentication_failure",
    decline_code: None,
    message: "We are unable to authenticate your payment method. Please choose a different payment method and try again.",
};
/// A number that is not a test card. It may be a real card, so nothing of it is stored.
const NOT_A_TEST_CARD: Decline = Decline {
    code: "card_declined",
    decline_code: Some("test_mode_live_card"),
    message: "Your card was declined. Your request was in test mode, but used a non test card.",
};

impl TestCard {
    fn from_number(number: &str) -> Option<Self> {
        Some(match number {
            "4242424242424242" => Self::Accepted,
            "4000000000000002" => Self::Declined,
            "4000000000009995" => Self::InsufficientFunds,
            "4000000000009987" => Self::Lost,
            "4000000000009979" => Self::Stolen,
            "4000000000000069" => Self::Expired,
            "4000000000000127" => Self::IncorrectCvc,
            "4000000000000119" => Self::ProcessingError,
            "4000002500003155" => Self::NeedsSecondStep,
            "4000002760003184" => Self::AlwaysNeedsSecondStep,
            "4000000000000341" => Self::DeclinesLater,
            "4000000000000077" => Self::Slow,
            "4000000000006009" => Self::Silent,
            "4000000000000259" => Self::DisputedAsFraudulent,
            "4000000000002685" => Self::DisputedAsNotReceived,
            "4000000000001976" => Self::Inquiry,
            "4000000000007726" => Self::RefundSucceedsLater,
            "4000000000005126" => Self::RefundFailsLater,
            _ => return None,
        })
    }

    /// The bank's response to a payment.
    pub const fn pay(self, presence: Presence) -> Verdict {
        match (self, presence) {
            (
                Self::Accepted
                | Self::DisputedAsFraudulent
                | Self::DisputedAsNotReceived
                | Self::Inquiry
                | Self::RefundSucceedsLater
                | Self::RefundFailsLater,
                _,
            )
            | (Self::NeedsSecondStep, Presence::Away { set_up: true }) => Verdict::Paid,
            (Self::Declined, _) => Verdict::Declined(GENERIC),
            (Self::InsufficientFunds, _) | (Self::DeclinesLater, Presence::Away { .. }) => Verdict::Declined(INSUFFICIENT),
            (Self::Lost, _) => Verdict::Declined(LOST),
            (Self::Stolen, _) => Verdict::Declined(STOLEN),
            (Self::Expired, _) => Verdict::Declined(EXPIRED),
            (Self::IncorrectCvc, _) => Verdict::Declined(INCORRECT_CVC),
            (Self::ProcessingError, _) => Verdict::Declined(PROCESSING_ERROR),
            (Self::NeedsSecondStep | Self::AlwaysNeedsSecondStep, Presence::There) => Verdict::SecondStep,
            (Self::NeedsSecondStep | Self::AlwaysNeedsSecondStep, Presence::Away { .. }) => Verdict::Declined(REQUIRES_AUTHENTICATION),
            (Self::DeclinesLater, Presence::There) => Verdict::Later { after: DECLINE_AFTER, paid: false, answer_waits: false },
            (Self::Slow, _) => Verdict::Later { after: SLOW_AFTER, paid: true, answer_waits: true },
            (Self::Silent, _) => Verdict::Never,
        }
    }

    /// The bank's response when the card is saved without a payment. Cards that fail only on payment do not fail here.
    pub const fn save(self) -> Verdict {
        match self {
            Self::Declined
            | Self::InsufficientFunds
            | Self::Lost
            | Self::Stolen
            | Self::Expired
            | Self::IncorrectCvc
            | Self::ProcessingError => self.pay(Presence::There),
            Self::NeedsSecondStep | Self::AlwaysNeedsSecondStep => Verdict::SecondStep,
            _ => Verdict::Paid,
        }
    }

    /// The dispute that the card opens after a charge.
    pub const fn dispute(self) -> Option<CardDispute> {
        match self {
            Self::DisputedAsFraudulent => Some(CardDispute { reason: "fraudulent", inquiry: false }),
            Self::DisputedAsNotReceived => Some(CardDispute { reason: "product_not_received", inquiry: false }),
            Self::Inquiry => Some(CardDispute { reason: "general", inquiry: true }),
            _ => None,
        }
    }

    /// The course of a refund to the card.
    pub const fn refund(self) -> RefundCourse {
        match self {
            Self::RefundSucceedsLater => RefundCourse::SucceedsLater,
            Self::RefundFailsLater => RefundCourse::FailsLater,
            _ => RefundCourse::Succeeds,
        }
    }
}

/// Whether the cardholder is present during a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    There,
    /// `set_up`: the cardholder has agreed to off-session payments before, with the second step if there was one.
    Away {
        set_up: bool,
    },
}

/// The decline codes that a saved card can be set to return.
pub(super) fn decline(decline_code: &str) -> Option<Decline> {
    Some(match decline_code {
        "insufficient_funds" => INSUFFICIENT,
        "generic_decline" => GENERIC,
        "authentication_required" => REQUIRES_AUTHENTICATION,
        "expired_card" => EXPIRED,
        "stolen_card" => STOLEN,
        "lost_card" => LOST,
        "incorrect_cvc" => INCORRECT_CVC,
        "processing_error" => PROCESSING_ERROR,
        "do_not_honor" => Decline { decline_code: Some("do_not_honor"), ..GENERIC },
        _ => return None,
    })
}

/// The validated data of an entered card.
pub(super) struct CardInput {
    pub card: TestCard,
    pub last4: String,
    pub exp_month: u8,
    pub exp_year: u16,
}

/// Reads `{prefix}[number|exp_month|exp_year|cvc]`.
pub(super) fn read(form: &Form, prefix: &str, now: Timestamp) -> Result<CardInput, ApiError> {
    let field = |name: &str| form.text(&format!("{prefix}[{name}]")).unwrap_or_default();
    let typed: String = field("number").chars().filter(|c| !matches!(c, ' ' | '-')).collect();
    if typed.is_empty() || !typed.bytes().all(|byte| byte.is_ascii_digit()) || !luhn(&typed) {
        return Err(ApiError::card("incorrect_number", None, "Your card number is incorrect.").with_param("number"));
    }
    let Expiry { month: exp_month, year: exp_year } = expiry(field("exp_month"), field("exp_year"), now)?;
    let cvc = field("cvc");
    if !matches!(cvc.len(), 3 | 4) || !cvc.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ApiError::card("invalid_cvc", None, "Your card's security code is invalid.").with_param("cvc"));
    }
    let card = TestCard::from_number(&typed)
        .ok_or_else(|| ApiError::card(NOT_A_TEST_CARD.code, NOT_A_TEST_CARD.decline_code, NOT_A_TEST_CARD.message))?;
    Ok(CardInput { card, last4: typed[typed.len() - 4..].to_owned(), exp_month, exp_year })
}

struct Expiry {
    month: u8,
    year: u16,
}

fn expiry(month: &str, year: &str, now: Timestamp) -> Result<Expiry, ApiError> {
    let month = month.parse().ok().filter(|month| (1..=12).contains(month));
    let month = month
        .ok_or_else(|| ApiError::card("invalid_expiry_month", None, "Your card's expiration month is invalid.").with_param("exp_month"))?;
    let year = year.parse().ok().map(|year: u16| if year < 100 { year + 2_000 } else { year });
    let now = now.year_and_month();
    year.filter(|year| now <= YearMonth { year: i32::from(*year), month } && i32::from(*year) <= now.year + 50)
        .map(|year| Expiry { month, year })
        .ok_or_else(|| ApiError::card("invalid_expiry_year", None, "Your card's expiration year is invalid.").with_param("exp_year"))
}

fn luhn(number: &str) -> bool {
    let sum: u32 = number
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, byte)| match (place % 2, u32::from(byte - b'0')) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    (12..=19).contains(&number.len()) && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2023-11-14.
    const NOW: Timestamp = Timestamp::from_seconds(1_700_000_000);

    fn typed(number: &str, month: &str, year: &str, cvc: &str) -> Result<TestCard, String> {
        let pairs = [("c[number]", number), ("c[exp_month]", month), ("c[exp_year]", year), ("c[cvc]", cvc)];
        let form = Form::from_pairs(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        read(&form, "c", NOW).map(|typed| typed.card).map_err(|error| error.details.code.expect("a code"))
    }

    #[test]
    fn card_numbers_are_recognized_with_spaces_and_hyphens() {
        assert_eq!(typed("4242 4242 4242 4242", "12", "30", "123"), Ok(TestCard::Accepted));
        assert_eq!(typed("4000-0025-0000-3155", "11", "2023", "1234"), Ok(TestCard::NeedsSecondStep));
    }

    #[test]
    fn invalid_input_is_rejected_with_a_specific_code() {
        for (number, month, year, cvc, code) in [
            ("4242424242424241", "12", "30", "123", "incorrect_number"),
            ("", "12", "30", "123", "incorrect_number"),
            ("4242x42424242424", "12", "30", "123", "incorrect_number"),
            ("4242424242424242", "13", "30", "123", "invalid_expiry_month"),
            ("4242424242424242", "10", "23", "123", "invalid_expiry_year"),
            ("4242424242424242", "10", "2099", "123", "invalid_expiry_year"),
            ("4242424242424242", "12", "30", "12", "invalid_cvc"),
            ("5555555555554444", "12", "30", "123", "card_declined"),
        ] {
            assert_eq!(typed(number, month, year, cvc), Err(code.to_owned()), "{number} {month}/{year} {cvc}");
        }
    }
}
