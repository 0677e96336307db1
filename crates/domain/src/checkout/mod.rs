//! From a payment link to a completed purchase.

mod amend;
mod card;
mod consent;
mod cross_sell;
mod expand;
mod expire;
mod fast;
mod link;
mod manage_link;
mod order;
mod proceed;
mod session;
mod settle;
mod start;
mod submit;
mod subscribe;
mod terms;
mod transfer;

pub use amend::{AmendError, adjust_quantity, downsell, set_amount, upsell};
pub use card::{CardForm, abandon_card};
pub use consent::{AskedMandate, AskedStake, Wanted, ask_for_mandate, ask_for_stake, take_mandate, take_stake, wanted};
pub use cross_sell::{add_cross_sell, offered_cross_sell, remove_cross_sell};
pub use expand::{Expanded, expand};
pub use expire::{ExpireError, expire_due, expire_session};
pub use fast::{FastMeans, FastOffer, FastPay, fast_pay, pay_fast};
pub use link::*;
pub use manage_link::*;
pub use order::{Order, Part, reckon};
pub use proceed::proceed;
pub use session::*;
pub use settle::{SettleError, check_due, nudge, nudge_mandates, nudge_payment, settle, settle_first};
pub use start::{NewSession, StartError, Visitor, create_session, start};
pub use submit::{Submission, SubmitError, Submitted, submit};
pub use terms::*;
pub use transfer::{AskedTransfer, TransferError, ask_for_transfer, take_transfer};
