//! Subscriptions, their periods, their invoices, and the engine that renews, charges, retries and ends them.

mod advance;
mod balance;
mod balance_payments;
mod bill;
mod billing_emails;
mod book;
mod calculation;
mod cancel;
mod card_events;
mod carry;
mod ceiling;
mod change_payment;
mod clock;
mod collect;
mod credit;
mod credited_subscription;
mod debt;
mod end;
mod end_refund;
mod errors;
mod invoice;
mod invoice_document;
mod line;
mod manage;
mod manage_clock;
mod notifications;
mod pause;
mod pay_by_card;
mod period;
mod plan;
mod plan_permission;
mod policy;
mod proration;
mod recharge;
mod renew;
mod report_usage;
mod reversal;
mod settlement;
mod stake;
mod statement;
mod subscription;
mod threshold;
mod trial;
mod unused_time;
mod usage;
mod usage_correction;
mod view;
mod void;

pub use advance::*;
pub use balance_payments::pay_from_balance;
pub use billing_emails::*;
pub use calculation::*;
pub use cancel::*;
pub use card_events::{card_hint_of, check_card_hint, take_card_event};
pub use ceiling::*;
pub use change_payment::{ask_to_change, change_to_card, take_change, takes_card};
pub use clock::*;
pub use collect::*;
pub(crate) use balance::{BalanceChange, balance_of, change_balance};
pub use balance::{Balance, BalanceTransaction, BalanceTransactionType, Balances};
pub use credit::*;
pub use credited_subscription::end_refunded;
pub use debt::{retry_due, time_of};
pub use errors::*;
pub use invoice::*;
pub use invoice_document::*;
pub use manage::{ManageError, Requester, SubscriptionFields, amend_subscription, find_subscription, unpark};
pub(crate) use manage::nonce;
pub use manage_clock::*;
pub(crate) use notifications::paid_messages;
pub use notifications::{Notification, OVERDUE_REMINDER, ResumedFrom, TRIAL_REMINDER, notify, notify_trial_end};
pub use pause::*;
pub use pay_by_card::{CardPayment, pay_by_card};
pub use period::*;
pub use plan::{PLAN_GROUP, PLAN_QUANTITY_MAX, PREVIEW_LIFETIME, PlanChoice, PlanPreview, plans, preview_plan, switch_plan};
pub use plan_permission::{PlanOrder, PlanSwitch};
pub use policy::{BillingPolicy, USAGE_CEILING};
pub use proration::*;
pub use recharge::{AskedRecharge, Funds, RECHARGE_CHARGES, ask_to_recharge, check_recharge, funds_of, take_recharge};
pub(crate) use renew::publish_charges;
pub use renew::{Round, renew_due};
pub use report_usage::*;
pub(crate) use reversal::reverse_payment;
pub use settlement::{InvoiceCollection, MandateChange, Recharge, RefundPayment};
pub(crate) use settlement::{mandate_declined, mandate_given};
pub use stake::*;
pub(crate) use stake::{RequestedStake, abandon_stake, post_stake, record_placement};
pub use subscription::*;
pub use trial::*;
pub use unused_time::UnusedTime;
pub use usage::*;
pub use view::*;
pub use void::void_invoice;

/// Replaced by the one of `credit`.
pub(crate) async fn reverse_payment(
    _: &crate::context::Context,
    _: &mut dyn crate::storage::UnitOfWork,
    _: &crate::payment::Attempt,
    _: &crate::shared::PaymentIntentId,
    _: &crate::payment::Reversal,
) -> Result<(), BillingError> {
    Err(BillingError::Orphan)
}
