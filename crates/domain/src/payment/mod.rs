//! Payment methods, currencies, intents, attempts, mandates and refunds; the rails that reach the networks; and the recording and
//! reconciling of outcomes.

mod breaker;
mod cancel;
mod card_forms;
mod charge;
mod connect_result;
mod connect_step;
mod currency_admin;
mod decline;
mod description;
mod dispute;
mod gas;
mod handler;
mod hold;
mod intent;
mod mandate;
mod method;
mod method_admin;
mod method_check;
mod method_settings;
mod per_network;
mod prepared;
mod query;
mod rail;
mod reconcile;
mod refund;
mod reversal;
mod sandbox;
mod settlement;
mod update_metadata;

pub use crate::shared::Currency;
pub use breaker::*;
pub use cancel::*;
pub use card_forms::{
    CARD_FORMS_OF_SITE, CARD_FORMS_OF_STORE, CARD_FORMS_OF_SUBJECT, CARD_FORMS_OF_VISITOR, CardFormError, card_request, count_card_form,
    setup_request,
};
pub use charge::*;
pub use connect_result::*;
pub use connect_step::*;
pub use currency_admin::*;
pub use description::*;
pub use dispute::*;
pub use gas::*;
pub use handler::*;
pub use hold::{
    AMOUNT_DIFFERS, HoldClass, Moved, PaymentOnHold, SettledHold, apply_settled_hold, end_hold, fail_hold, payments_on_hold, release_held,
    settle_hold,
};
pub use intent::*;
pub use mandate::*;
pub use method::*;
pub use method_admin::*;
pub use method_check::*;
pub use method_settings::*;
pub(crate) use per_network::per_network;
pub use prepared::*;
pub use query::*;
pub use rail::*;
pub use reconcile::*;
pub use refund::*;
pub use reversal::*;
pub use sandbox::*;
pub use settlement::*;
pub use update_metadata::*;
