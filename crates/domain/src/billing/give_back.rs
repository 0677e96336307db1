//! Refunds: money that goes back the way it came.

use super::book::Book;
use super::end::owed_for;
use super::manage::nonce;
use super::paid::given_back;
use super::plan::paid_lines;
use super::renew::publish_charges;
use super::{
    BillingReason, COMMENT_MAX, Credit, CreditFor, Invoice, InvoiceFilter, InvoiceStatus, ManageError, RefundChoice, Subscription, credits,
    take_credit,
};
use crate::access::Did;
use crate::context::Context;
use crate::ledger::Reason;
use crate::payment::{
    Attempt, AttemptKind, Errand, ErrandAsk, Intent, IntentStatus, MethodKind, Purpose, Refund, RefundStatus, RefundType,
};
use crate::shared::{Amount, AttemptId, InvoiceId, Mode, Page, PaymentIntentId, RefundId, Timestamp, check_text};
use crate::storage::UnitOfWork;

/// What is to be given back of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundOrder {
    /// `None`: all that is left of it.
    pub amount: Option<Amount>,
    /// What it is for, when the payment paid for several.
    pub invoice: Option<InvoiceId>,
    pub reason: String,
    pub description: String,
}

/// Gives money of a payment back, never more than was paid.
pub async fn refund_payment(ctx: &Context, mode: Mode, id: &PaymentIntentId, order: &RefundOrder) -> Result<Refund, ManageError> {
    let order = RefundOrder {
        amount: order.amount,
        invoice: order.invoice.clone(),
        reason: check_text("reason", &order.reason, COMMENT_MAX)?,
        description: check_text("description", &order.description, COMMENT_MAX)?,
    };
    let mut unit = ctx.store.begin().await?;
    let intent = unit.intents().find(id).await?.filter(|intent| intent.mode == mode).ok_or(ManageError::NotFound)?;
    let invoice = match &order.invoice {
        Some(id) => Some(unit.invoices().find(id).await?.filter(|_| intent.invoices.contains(id)).ok_or(ManageError::NotFound)?),
        None => None,
    };
    let (refund, attempt) = write(ctx, unit.as_mut(), &intent, invoice.as_ref(), &order).await?;
    publish_charges(ctx, unit.as_mut(), &[attempt]).await?;
    unit.commit().await?;
    Ok(refund)
}

/// Reserves a refund and writes down the attempt that carries it out. `invoice`: what it is for, when that is one of several.
async fn write(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    intent: &Intent,
    invoice: Option<&Invoice>,
    order: &RefundOrder,
) -> Result<(Refund, AttemptId), ManageError> {
    if intent.status != IntentStatus::Succeeded {
        return Err(ManageError::NothingPaid);
    }
    let mut left = intent.amount_received.minus(intent.amount_refunded).unwrap_or_default();
    if let Some(invoice) = invoice {
        left = left.min(invoice.total.minus(given_back(unit, invoice).await?).unwrap_or_default());
    }
    let amount = order.amount.unwrap_or(left);
    if amount.is_zero() {
        return Err(ManageError::NothingPaid);
    }
    let method = unit.methods().find(&intent.method_id).await?.ok_or(ManageError::NotFound)?;
    let currency = unit.methods().find_currency(&intent.currency_id).await?.ok_or(ManageError::NotFound)?;
    let now = ctx.now();
    let id = RefundId::new(now, ctx.random.as_ref());
    let kind = if method.kind == MethodKind::Stripe {
        AttemptKind::CardRefund { payment: intent.reference.clone() }
    } else {
        let rail = ctx.networks.wallet(method.kind).ok_or(ManageError::MethodNotSupported)?;
        let to = Did::from_verified(intent.payer.clone());
        let ask = ErrandAsk { errand: Errand::PayOut { to: to.clone() }, amount, reference: id.to_string(), nonce: nonce(ctx) };
        let signed = rail.sign(&method, &currency, &ask)?;
        AttemptKind::Wallet { payer: to, bytes: signed.bytes, hash: signed.hash }
    };
    let refund = Refund {
        id: id.clone(),
        mode: intent.mode,
        kind: RefundType::Refund,
        status: RefundStatus::Pending,
        amount,
        currency_id: currency.id.clone(),
        method_id: method.id.clone(),
        customer_id: intent.customer_id.clone(),
        intent_id: Some(intent.id.clone()),
        invoice_id: invoice.map(|invoice| invoice.id.clone()).or_else(|| only_one(&intent.invoices)),
        subscription_id: invoice.and_then(|invoice| invoice.subscription_id.clone()).or_else(|| intent.subscription_id.clone()),
        reason: order.reason.clone(),
        description: order.description.clone(),
        reference: String::new(),
        created_at: now,
        updated_at: now,
    };
    if !unit.refunds().reserve(&refund).await? {
        return Err(ManageError::OverRefund);
    }
    let attempt =
        Attempt::begin(AttemptId::new(now, ctx.random.as_ref()), Purpose::Refund(id), kind, (method.id, currency.id), amount, now);
    unit.attempts().insert(&attempt, &[]).await?;
    Ok((refund, attempt.id))
}

/// What a payment is for, unless it is for several.
fn only_one(invoices: &[InvoiceId]) -> Option<InvoiceId> {
    if let [one] = invoices { Some(one.clone()) } else { None }
}

/// How many invoices are looked through for what was paid.
const LOOK_BACK: u32 = 20;

/// What is given back when a subscription ends now. Nothing where nothing was paid for the time that is left.
///
/// # Errors
/// [`ManageError::PaymentInFlight`] while a payment is on its way: it would settle afterwards, and be kept.
pub(super) async fn at_the_end(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    choice: RefundChoice,
    now: Timestamp,
) -> Result<Vec<AttemptId>, ManageError> {
    if owed_for(unit, subscription).await?.is_moving {
        return Err(ManageError::PaymentInFlight);
    }
    let newest = Page::new(None, Some(LOOK_BACK));
    let filter = InvoiceFilter { subscription_id: Some(subscription.id.clone()), ..InvoiceFilter::default() };
    let current = unit.invoices().list(subscription.mode, &filter, &newest).await?.list;
    let current = current.into_iter().find(|invoice| is_for_time(invoice.reason) && invoice.period.is_some_and(|span| span.contains(now)));
    // It goes back in the currency that it was paid in.
    let paid_in = current.map_or_else(|| subscription.currency_id.clone(), |invoice| invoice.currency_id);
    let mut wanted = match choice {
        RefundChoice::Proration => Some(unused(unit, &Subscription { currency_id: paid_in.clone(), ..subscription.clone() }, now).await?),
        _ => None,
    };
    let filter = InvoiceFilter { statuses: vec![InvoiceStatus::Paid], ignore_zero: true, ..filter };
    let paid = unit.invoices().list(subscription.mode, &filter, &newest).await?.list;
    let mut refunds = Vec::new();
    let counts = |invoice: &&Invoice| is_for_time(invoice.reason) && (choice == RefundChoice::Last || invoice.currency_id == paid_in);
    for invoice in paid.iter().filter(counts) {
        let Some(intent) = &invoice.intent_id else { continue };
        let Some(intent) = unit.intents().find(intent).await? else { continue };
        let left = intent.amount_received.minus(intent.amount_refunded).unwrap_or_default();
        let left = left.min(invoice.amount_paid.minus(given_back(unit, invoice).await?).unwrap_or_default());
        let kept = match wanted {
            Some(_) => Kept::default(),
            None => kept_of(unit, subscription, invoice).await?,
        };
        let amount = wanted.map_or(left.minus(kept.spent).unwrap_or_default(), |wanted| wanted.min(left));
        if !amount.is_zero() {
            let order = RefundOrder {
                invoice: None,
                amount: Some(amount),
                reason: "requested_by_admin".to_owned(),
                description: format!("Refund of {}", invoice.number_text().unwrap_or_default()),
            };
            let (refund, attempt) = write(ctx, unit, &intent, Some(invoice), &order).await?;
            refunds.push(attempt);
            let credit = Credit { amount: kept.held, customer_id: refund.customer_id, currency_id: refund.currency_id };
            let what = CreditFor { subject: refund.id.as_str(), mode: refund.mode, method: &refund.method_id, at: now };
            if !credit.amount.is_zero() && !take_credit(ctx, unit, &credit, what).await? {
                return Err(ManageError::Contended);
            }
        }
        wanted = wanted.map(|wanted| wanted.minus(amount).unwrap_or_default());
        // All of the last payment, or as much as is wanted of as many as it takes.
        if wanted.unwrap_or_default().is_zero() {
            break;
        }
    }
    Ok(refunds)
}

/// What a payment has become credit of, by changes of plan since.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Kept {
    /// The customer has it still: it is taken when the payment goes back.
    held: Amount,
    /// Other invoices or purchases have used it: the payment goes back without it.
    spent: Amount,
}

async fn kept_of(unit: &mut dyn UnitOfWork, subscription: &Subscription, paid: &Invoice) -> Result<Kept, ManageError> {
    let newest = Page::new(None, Some(LOOK_BACK));
    let filter = InvoiceFilter { subscription_id: Some(subscription.id.clone()), ..InvoiceFilter::default() };
    let (mut given, mut used) = (Amount::ZERO, Amount::ZERO);
    let newest = unit.invoices().list(subscription.mode, &filter, &newest).await?.list;
    for later in newest {
        if later.number <= paid.number || later.currency_id != paid.currency_id {
            continue;
        }
        for entry in unit.journal().of_subject(later.id.as_str()).await? {
            let amount = entry.postings().first().map_or(Amount::ZERO, |posting| posting.amount);
            match entry.reason {
                Reason::CreditGiven | Reason::CreditReturned => given = given.plus(amount)?,
                Reason::CreditUsed => used = used.plus(amount)?,
                _ => {}
            }
        }
    }
    let kept = given.minus(used).unwrap_or_default();
    let credits = unit.credits().of_all(std::slice::from_ref(&paid.customer_id)).await?;
    let credit = credits.iter().find(|credit| credit.currency_id == paid.currency_id).map_or(Amount::ZERO, |credit| credit.amount);
    let held = kept.min(credit);
    Ok(Kept { held, spent: kept.minus(held)? })
}

const fn is_for_time(reason: BillingReason) -> bool {
    matches!(
        reason,
        BillingReason::SubscriptionCreate
            | BillingReason::SubscriptionCycle
            | BillingReason::SubscriptionUpdate
            | BillingReason::SubscriptionRecover
            | BillingReason::SubscriptionThreshold
    )
}

/// What of the plan, as it is now, was paid for the time from `now` on: by whichever payments, those of plans before it among them.
async fn unused(unit: &mut dyn UnitOfWork, subscription: &Subscription, now: Timestamp) -> Result<Amount, ManageError> {
    let book = Book::read(unit, std::slice::from_ref(subscription)).await?;
    let paid = paid_lines(unit, subscription, &book, None, now).await?;
    Ok(Amount::sum(credits(&paid, now)?.iter().map(|credit| credit.amount))?)
}
