//! Pays out a customer's balance: as refunds of card payments that have room, or to the wallet that paid last.

use super::daily_cap::{OrderedBy, publish_refunds};
use super::refund::send_all;
use crate::billing::balance::{BalanceChange, BalanceTransactionType, balance_of, change_balances};
use crate::billing::clock::time_of_customer;
use crate::billing::errors::{convert_send_error, convert_through};
use crate::billing::{COMMENT_MAX, InvoicePayment, PostingError, SendRefundError};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::payment::{Intent, Method, Refund, RefundFilter, RefundPart, RefundStatus, RefundType};
use crate::shared::{
    Amount, CurrencyId, CustomerId, EntryId, InputError, MAX_PAGE_SIZE, Mode, Page, PaymentIntentId, RefundId, StorageError, Timestamp,
    check_text,
};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

/// The most card payments that one payout is spread over.
const MAX_PAYMENTS: u32 = 100;
/// The most unpaid invoices that are read to compute the payout limit. More are not needed: a balance does not cover that many.
const MAX_UNPAID_INVOICES: u32 = 1_000;

/// Why a payout of the balance is rejected.
#[derive(Debug, thiserror::Error)]
pub enum PayoutError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("Please enter an amount above zero.")]
    NoAmount,
    #[error("Part of the balance is reserved for unpaid invoices")]
    BalanceReserved,
    #[error("The balance is lower than this amount")]
    BalanceTooSmall,
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Send(SendRefundError),
    #[error(transparent)]
    Posting(#[from] PostingError),
}

convert_through!(PayoutError::Posting, StorageError);
convert_send_error!(PayoutError);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayoutOrder {
    pub customer_id: CustomerId,
    pub currency_id: CurrencyId,
    /// `None`: everything that can be paid out.
    pub amount: Option<Amount>,
    /// A note to the customer.
    pub memo: String,
}

/// The most that can be paid out now: the balance less the remaining amounts of unpaid invoices in its currency.
pub async fn payout_limit(unit: &mut dyn UnitOfWork, customer: &CustomerId, currency: &CurrencyId) -> Result<Amount, PostingError> {
    let balance = balance_of(unit, customer, currency).await?;
    let unpaid = unit.invoices().unpaid_in(customer, currency, MAX_UNPAID_INVOICES).await?;
    let unpaid = Amount::sum(unpaid.iter().map(crate::billing::Invoice::remaining))?;
    Ok(balance.minus(unpaid).unwrap_or_default())
}

/// Pays out part of the balance, or everything that can be paid out. The balance is debited now, and restored if the network declines the
/// payout.
///
/// # Errors
/// [`PayoutError::BalanceTooSmall`] and [`PayoutError::BalanceReserved`] when the order exceeds what can be paid out;
/// [`SendRefundError::NoPayoutRoute`] when the customer's payments cannot take the amount back.
#[tracing::instrument(skip_all)]
pub async fn pay_out_balance(ctx: &Context, mode: Mode, order: &PayoutOrder) -> Result<Vec<Refund>, PayoutError> {
    let memo = check_text("memo", &order.memo, COMMENT_MAX)?;
    let mut unit = ctx.store.begin().await?;
    let customer = unit.customers().find(&order.customer_id).await?.filter(|customer| customer.mode == mode);
    let customer = customer.ok_or(PayoutError::NotFound)?;
    let now = time_of_customer(ctx, unit.as_mut(), &customer.id).await?;
    let currency = unit.methods().find_currency(&order.currency_id).await?.ok_or(PayoutError::NotFound)?;
    let method = unit.methods().find(&currency.method_id).await?.ok_or(PayoutError::NotFound)?;
    // Locked before the unpaid invoices are read: a concurrent finalization waits for the same row.
    unit.balances().lock(std::slice::from_ref(&customer.id)).await?;
    let balance = balance_of(unit.as_mut(), &customer.id, &currency.id).await?;
    let limit = payout_limit(unit.as_mut(), &customer.id, &currency.id).await?;
    let amount = order.amount.unwrap_or(limit);
    match amount {
        Amount::ZERO if order.amount.is_some() => return Err(PayoutError::NoAmount),
        Amount::ZERO if balance.is_zero() => return Err(PayoutError::BalanceTooSmall),
        Amount::ZERO => return Err(PayoutError::BalanceReserved),
        amount if amount > balance => return Err(PayoutError::BalanceTooSmall),
        amount if amount > limit => return Err(PayoutError::BalanceReserved),
        _ => {}
    }
    let routes = routes(unit.as_mut(), &method, &customer.id, &currency.id, amount).await?;
    let parts = routes.iter().filter_map(|route| Some(RefundPart { intent: route.intent.as_ref()?, amount: route.amount }));
    let parts: Vec<_> = parts.collect();
    if !unit.intents().reserve_refunds(&parts, now).await? {
        return Err(PostingError::Contended.into());
    }
    let refund = |route: Route| Refund {
        id: RefundId::new(ctx.now(), ctx.random.as_ref()),
        mode,
        kind: RefundType::BalancePayout,
        status: RefundStatus::Pending,
        amount: route.amount,
        currency_id: currency.id.clone(),
        method_id: method.id.clone(),
        customer_id: customer.id.clone(),
        intent_id: route.intent,
        payment_id: None,
        credit_note_id: None,
        invoice_id: None,
        subscription_id: None,
        reason: RefundType::BalancePayout.name().to_owned(),
        description: memo.clone(),
        reference: String::new(),
        failure: None,
        failure_count: 0,
        ordered_at: Some(ctx.now()),
        created_at: now,
        updated_at: now,
    };
    let refunds: Vec<_> = routes.into_iter().map(refund).collect();
    debit(ctx, unit.as_mut(), &refunds, now).await?;
    unit.refunds().insert_all(&refunds).await?;
    let attempts = send_all(ctx, unit.as_mut(), &refunds.iter().collect::<Vec<_>>()).await?;
    publish_refunds(ctx, unit.as_mut(), OrderedBy::Store, &attempts).await?;
    unit.commit().await?;
    Ok(refunds)
}

/// A part of a payout.
struct Route {
    /// The card payment that is refunded; `None`: the wallet that paid last.
    intent: Option<PaymentIntentId>,
    amount: Amount,
}

/// Splits an amount over its refund routes: card payments, newest first, but those whose payouts the network has declined come last; for a
/// wallet, the account that paid last.
async fn routes(
    unit: &mut dyn UnitOfWork,
    method: &Method,
    customer: &CustomerId,
    currency: &CurrencyId,
    amount: Amount,
) -> Result<Vec<Route>, SendRefundError> {
    if !method.kind.is_card() {
        unit.intents().last_paid(customer, currency).await?.ok_or(SendRefundError::NoPayoutRoute)?;
        return Ok(vec![Route { intent: None, amount }]);
    }
    let (mut unallocated, mut routes) = (amount, Vec::new());
    let mut intents = unit.intents().with_room(customer, currency, MAX_PAYMENTS).await?;
    let declined = declined_payouts(unit, method.mode, customer).await?;
    intents.sort_by_key(|intent| declined.get(&intent.id).copied().unwrap_or_default());
    let ids: Vec<_> = intents.iter().map(|intent| intent.id.clone()).collect();
    let payments = if ids.is_empty() { Vec::new() } else { unit.invoice_payments().of_intents(&ids).await? };
    for intent in intents {
        let part = unallocated.min(room_of(&payments, &intent)?);
        if part.is_zero() {
            continue;
        }
        unallocated = unallocated.minus(part).map_err(PostingError::from)?;
        routes.push(Route { intent: Some(intent.id), amount: part });
    }
    if unallocated.is_zero() { Ok(routes) } else { Err(SendRefundError::NoPayoutRoute) }
}

/// The number of declined payouts of each payment, among the customer's newest failed refunds.
async fn declined_payouts(
    unit: &mut dyn UnitOfWork,
    mode: Mode,
    customer: &CustomerId,
) -> Result<HashMap<PaymentIntentId, u32>, StorageError> {
    let filter = RefundFilter { customer_id: Some(customer.clone()), status: Some(RefundStatus::Failed), ..RefundFilter::default() };
    let failed = unit.refunds().list(mode, &filter, &Page::new(None, Some(MAX_PAGE_SIZE))).await?.list;
    let mut declined = HashMap::new();
    for intent in failed.into_iter().filter(|refund| refund.kind == RefundType::BalancePayout).filter_map(|refund| refund.intent_id) {
        *declined.entry(intent).or_default() += 1;
    }
    Ok(declined)
}

/// What a card payment can still refund: disputed and reversed amounts have left the store already.
fn room_of(payments: &[InvoicePayment], intent: &Intent) -> Result<Amount, PostingError> {
    let mut room = intent.amount_received.minus(intent.amount_refunded)?;
    for payment in payments.iter().filter(|payment| payment.source.intent() == Some(&intent.id)) {
        room = room.minus(payment.disputed.plus(payment.reversed)?).unwrap_or_default();
    }
    Ok(room)
}

/// Takes the payouts from the balance.
pub(super) async fn debit(ctx: &Context, unit: &mut dyn UnitOfWork, payouts: &[Refund], now: Timestamp) -> Result<(), PostingError> {
    let changes = payouts.iter().map(|payout| BalanceChange {
        mode: payout.mode,
        customer_id: &payout.customer_id,
        currency_id: &payout.currency_id,
        kind: BalanceTransactionType::Payout,
        amount: payout.amount,
        source: payout.id.as_str(),
        at: now,
    });
    change_balances(ctx, unit, &changes.collect::<Vec<_>>()).await?;
    let entry = |payout: &Refund| {
        let postings = vec![
            Posting::debit(Account::CustomerBalance, payout.amount, &payout.currency_id),
            Posting::credit(Account::RefundsPayable, payout.amount, &payout.currency_id),
        ];
        let id = EntryId::new(ctx.now(), ctx.random.as_ref());
        Entry::new(id, payout.mode, EntryType::BalancePayout, payout.id.as_str(), now, postings)
    };
    let entries = payouts.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
    Ok(unit.journal().post_all(&entries).await?)
}
