//! From a payment link to a completed purchase.

mod amend;
mod expand;
mod expire;
mod link;
mod manage_link;
mod session;
mod settle;
mod start;
mod submit;
mod transfer;

pub use amend::{AmendError, adjust_quantity};
pub use expand::{Expanded, expand};
pub use expire::{ExpireError, expire_due, expire_session};
pub use link::*;
pub use manage_link::*;
pub use session::*;
pub use settle::{SettleError, check_due, nudge, settle};
pub use start::{NewSession, StartError, Visitor, create_session, start};
pub use submit::{CardForm, Submission, SubmitError, Submitted, abandon_card, submit};
pub use transfer::{AskedTransfer, TransferError, ask_for_transfer, take_transfer};
