//! Reads saved cards and decline reasons from the provider's objects.

use serde::Deserialize;
use serde_json::Value;
use souk_domain::payment::{CardExpiry, Decline, SavedCard};

/// `last_payment_error` and `last_setup_error`.
#[derive(Debug, Deserialize)]
pub(super) struct PaymentError {
    code: Option<String>,
    decline_code: Option<String>,
    message: Option<String>,
}

impl From<PaymentError> for Decline {
    fn from(error: PaymentError) -> Self {
        Self {
            code: error.decline_code.or(error.code).unwrap_or_else(|| "card_error".to_owned()),
            message: error.message.unwrap_or_else(|| "The card was declined.".to_owned()),
        }
    }
}

#[derive(Debug, Deserialize)]
struct PaymentMethod {
    id: String,
    customer: Option<String>,
    card: CardFace,
}

#[derive(Debug, Deserialize)]
struct CardFace {
    brand: String,
    last4: String,
    exp_month: Option<u8>,
    exp_year: Option<u16>,
}

/// Reads the card from an expanded `payment_method`. Returns `None` unless the card is saved for this customer.
pub(super) fn saved(customer: Option<&str>, payment_method: &Value) -> Option<SavedCard> {
    let method = PaymentMethod::deserialize(payment_method).ok()?;
    let owner = method.customer.filter(|owner| Some(owner.as_str()) == customer)?;
    let CardFace { brand, last4, exp_month, exp_year } = method.card;
    let expiry = exp_month.zip(exp_year).and_then(|(month, year)| CardExpiry::new(month, year));
    Some(SavedCard { customer: owner, card: method.id, brand, last4, expiry })
}
