//! Refunds: money goes back the way it came, and what credit had paid is credit again. Of a payment that was made in both ways, what
//! the network has moved goes back first.

use super::book::Book;
use super::credit::{applied, give_credit, held};
use super::end::owed_for;
use super::manage::nonce;
use super::paid::{PaidPeriod, given_back, is_for_time};
use super::plan::paid_lines;
use super::renew::publish_charges;
use super::{
    BillingError, COMMENT_MAX, Credit, CreditFor, Invoice, InvoiceFilter, InvoiceStatus, ManageError, Notification, RefundChoice,
    Subscription, credits, notify, take_credit,
};
use crate::access::Did;
use crate::context::Context;
use crate::ledger::Reason;
use crate::payment::{
    Attempt, AttemptKind, Intent, IntentStatus, MethodKind, Purpose, Refund, RefundStatus, RefundType, StoreTransaction,
    StoreTransactionRequest,
};
use crate::shared::{Amount, AmountError, AttemptId, CustomerId, InvoiceId, Mode, Page, PaymentIntentId, RefundId, Timestamp, check_text};
use crate::storage::UnitOfWork;
use std::collections::BTreeSet;

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

/// What is told of a refund.
#[derive(Debug, Clone)]
struct Told {
    reason: String,
    description: String,
}

impl RefundOrder {
    fn told(&self) -> Result<Told, ManageError> {
        Ok(Told {
            reason: check_text("reason", &self.reason, COMMENT_MAX)?,
            description: check_text("description", &self.description, COMMENT_MAX)?,
        })
    }
}

/// Gives a payment back, never more than was paid: of one of its invoices, or of each in turn. What its network has moved goes first, then
/// what credit had paid, which has succeeded when this answers. Answers at least one refund; each is of one invoice and one kind.
pub async fn refund_payment(ctx: &Context, mode: Mode, id: &PaymentIntentId, order: &RefundOrder) -> Result<Vec<Refund>, ManageError> {
    let mut unit = ctx.store.begin().await?;
    let intent = unit.intents().find(id).await?.filter(|intent| intent.mode == mode).ok_or(ManageError::NotFound)?;
    if intent.status != IntentStatus::Succeeded {
        return Err(ManageError::NothingPaid);
    }
    let named = match &order.invoice {
        Some(named) if intent.invoices.contains(named) => std::slice::from_ref(named),
        Some(_) => return Err(ManageError::NotFound),
        None => &intent.invoices[..],
    };
    let mut invoices = unit.invoices().find_all(named).await?;
    invoices.sort_by_key(|invoice| named.iter().position(|id| *id == invoice.id));
    give_by_hand(ctx, unit, &intent.customer_id, &invoices, order).await
}

/// The same for what an invoice was paid: one that credit paid all of has no payment that could be named.
pub async fn refund_invoice(ctx: &Context, mode: Mode, id: &InvoiceId, order: &RefundOrder) -> Result<Vec<Refund>, ManageError> {
    let mut unit = ctx.store.begin().await?;
    let invoice = unit.invoices().find(id).await?.filter(|invoice| invoice.mode == mode).ok_or(ManageError::NotFound)?;
    give_by_hand(ctx, unit, &invoice.customer_id, std::slice::from_ref(&invoice), order).await
}

/// What of an invoice can be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refundable {
    /// The most that [`refund_invoice`] gives back now.
    pub most: Amount,
    /// What is left of what was paid. Where it is more, the rest is credit that the customer has, or has paid other bills with.
    pub left: Amount,
}

/// What of an invoice can be given back now: nothing where nothing was paid.
pub async fn refundable(ctx: &Context, mode: Mode, id: &InvoiceId) -> Result<Refundable, ManageError> {
    let mut unit = ctx.store.read().await?;
    let invoice = unit.invoices().find(id).await?.filter(|invoice| invoice.mode == mode).ok_or(ManageError::NotFound)?;
    let left = Left::read(unit.as_mut(), &invoice).await?;
    Ok(Refundable { most: left.most()?, left: left.all()? })
}

async fn give_by_hand(
    ctx: &Context,
    mut unit: Box<dyn UnitOfWork + '_>,
    customer: &CustomerId,
    invoices: &[Invoice],
    order: &RefundOrder,
) -> Result<Vec<Refund>, ManageError> {
    let told = order.told()?;
    hold(unit.as_mut(), customer, invoices).await?;
    let (mut all, mut given, mut back) = (Amount::ZERO, Amount::ZERO, Back::default());
    for invoice in invoices {
        let left = Left::read(unit.as_mut(), invoice).await?;
        all = all.plus(left.all()?)?;
        let part = match order.amount {
            Some(amount) => amount.minus(given)?.min(left.most()?),
            None => left.most()?,
        };
        given = given.plus(part)?;
        give(ctx, unit.as_mut(), (invoice, &left), part, &told, &mut back).await?;
    }
    match order.amount {
        amount if all.is_zero() || amount.is_some_and(Amount::is_zero) => return Err(ManageError::NothingPaid),
        Some(amount) if amount > all => return Err(ManageError::OverRefund),
        amount if given.is_zero() || amount.is_some_and(|amount| amount > given) => return Err(ManageError::HeldAsCredit),
        _ => {}
    }
    publish_charges(ctx, unit.as_mut(), &back.attempts).await?;
    unit.commit().await?;
    Ok(back.refunds)
}

/// What of an invoice can go back.
struct Left {
    intent: Option<Intent>,
    /// What its network has moved.
    at_network: Amount,
    /// What credit has paid.
    by_credit: Amount,
    /// How much can go back without credit that came of it.
    free: Amount,
    /// What of it was paid for usage.
    used: Amount,
    /// The customer's credit, which can go along with what the network gives back.
    held: Amount,
}

impl Left {
    async fn read(unit: &mut dyn UnitOfWork, invoice: &Invoice) -> Result<Self, ManageError> {
        let zero = Amount::ZERO;
        let mut left = Self { intent: None, at_network: zero, by_credit: zero, free: zero, used: zero, held: zero };
        if invoice.status != InvoiceStatus::Paid {
            return Ok(left);
        }
        if let Some(id) = &invoice.intent_id {
            let intent = unit.intents().find(id).await?.filter(|intent| intent.status == IntentStatus::Succeeded);
            if let Some(intent) = intent {
                let own = invoice.total.minus(given_back(unit, invoice).await?).unwrap_or_default();
                left.at_network = own.min(intent.amount_received.minus(intent.amount_refunded).unwrap_or_default());
                left.intent = Some(intent);
            }
        }
        let paid = applied(&unit.invoices().items(&invoice.id).await?)?;
        left.by_credit = paid.minus(unit.refunds().credited(&invoice.id).await?).unwrap_or_default();
        let period = PaidPeriod::around(unit, invoice).await?;
        (left.free, left.used) = (period.free_of(&invoice.id)?, period.used_of(&invoice.id));
        left.held = held(unit, &invoice.customer_id, &invoice.currency_id).await?;
        Ok(left)
    }

    fn all(&self) -> Result<Amount, AmountError> {
        self.at_network.plus(self.by_credit)
    }

    /// Credit that came of it and was spent goes back with what it has paid: that is credit then, and goes along with this.
    fn most(&self) -> Result<Amount, AmountError> {
        let from_network = self.at_network.min(self.free.plus(self.held)?);
        from_network.plus(self.by_credit.min(self.free.minus(from_network).unwrap_or_default()))
    }
}

/// What was written.
#[derive(Default)]
struct Back {
    refunds: Vec<Refund>,
    attempts: Vec<AttemptId>,
}

/// Gives an amount of an invoice back, no more than [`Left::most`]: by its network, with the credit that what is left of its period does
/// not cover, then as credit.
async fn give(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    (invoice, left): (&Invoice, &Left),
    amount: Amount,
    told: &Told,
    back: &mut Back,
) -> Result<(), ManageError> {
    let from_network = amount.min(left.at_network);
    if let Some(intent) = left.intent.as_ref().filter(|_| !from_network.is_zero()) {
        let (refund, attempt) = write(ctx, unit, intent, invoice, from_network, told).await?;
        take_along(ctx, unit, &refund, from_network.minus(left.free).unwrap_or_default()).await?;
        back.refunds.push(refund);
        back.attempts.push(attempt);
    }
    let as_credit = amount.minus(from_network)?;
    if !as_credit.is_zero() {
        back.refunds.push(write_credit(ctx, unit, invoice, as_credit, told).await?);
    }
    Ok(())
}

/// A network will not give a payment back: the store has it still, and the credit that was to go with it is the customer's again.
pub(super) async fn not_given_back(ctx: &Context, unit: &mut dyn UnitOfWork, id: &RefundId) -> Result<(), BillingError> {
    let now = ctx.now();
    let refund = unit.refunds().find(id).await?.ok_or(BillingError::Orphan)?;
    unit.credits().hold(std::slice::from_ref(&refund.customer_id)).await?;
    if !unit.refunds().finish(id, RefundStatus::Failed, "", now).await? {
        return Ok(());
    }
    let amount = booked(unit, id.as_str(), &[Reason::CreditUsed]).await?;
    if amount.is_zero() {
        return Ok(());
    }
    let credit = Credit { amount, customer_id: refund.customer_id.clone(), currency_id: refund.currency_id.clone() };
    let what = CreditFor { subject: id.as_str(), mode: refund.mode, method: &refund.method_id, at: now };
    give_credit(ctx, unit, &credit, what, Reason::CreditReturned).await
}

/// Credit that came of a payment goes with it, as the payment goes back.
async fn take_along(ctx: &Context, unit: &mut dyn UnitOfWork, refund: &Refund, amount: Amount) -> Result<(), ManageError> {
    if amount.is_zero() {
        return Ok(());
    }
    let credit = Credit { amount, customer_id: refund.customer_id.clone(), currency_id: refund.currency_id.clone() };
    let what = CreditFor { subject: refund.id.as_str(), mode: refund.mode, method: &refund.method_id, at: refund.created_at };
    if take_credit(ctx, unit, &credit, what).await? { Ok(()) } else { Err(ManageError::Contended) }
}

/// A change of plan reads what was given back, another refund what its customer holds: both wait until this is written.
async fn hold(unit: &mut dyn UnitOfWork, customer: &CustomerId, invoices: &[Invoice]) -> Result<(), ManageError> {
    let subscriptions: BTreeSet<_> = invoices.iter().filter_map(|invoice| invoice.subscription_id.clone()).collect();
    for subscription in &subscriptions {
        unit.subscriptions().lock(subscription).await?;
    }
    Ok(unit.credits().hold(std::slice::from_ref(customer)).await?)
}

/// Writes a refund that gives credit back, and gives it: nothing is left to be carried out.
async fn write_credit(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    invoice: &Invoice,
    amount: Amount,
    told: &Told,
) -> Result<Refund, ManageError> {
    let now = ctx.now();
    let refund = Refund {
        id: RefundId::new(now, ctx.random.as_ref()),
        mode: invoice.mode,
        kind: RefundType::Credit,
        status: RefundStatus::Succeeded,
        amount,
        currency_id: invoice.currency_id.clone(),
        method_id: invoice.method_id.clone(),
        customer_id: invoice.customer_id.clone(),
        intent_id: invoice.intent_id.clone(),
        invoice_id: Some(invoice.id.clone()),
        subscription_id: invoice.subscription_id.clone(),
        reason: told.reason.clone(),
        description: told.description.clone(),
        reference: String::new(),
        created_at: now,
        updated_at: now,
    };
    if !unit.refunds().reserve(&refund).await? {
        return Err(ManageError::OverRefund);
    }
    let credit = Credit { customer_id: refund.customer_id.clone(), currency_id: refund.currency_id.clone(), amount };
    let what = CreditFor { subject: refund.id.as_str(), mode: refund.mode, method: &refund.method_id, at: now };
    give_credit(ctx, unit, &credit, what, Reason::CreditReturned).await?;
    notify(ctx, unit, &Notification::Refunded(refund.id.clone()), now).await?;
    Ok(refund)
}

/// Reserves a refund of what a network has moved, and writes down the attempt that carries it out.
async fn write(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    intent: &Intent,
    invoice: &Invoice,
    amount: Amount,
    told: &Told,
) -> Result<(Refund, AttemptId), ManageError> {
    let method = unit.methods().find(&intent.method_id).await?.ok_or(ManageError::NotFound)?;
    let currency = unit.methods().find_currency(&intent.currency_id).await?.ok_or(ManageError::NotFound)?;
    let now = ctx.now();
    let id = RefundId::new(now, ctx.random.as_ref());
    let kind = if method.kind == MethodKind::Stripe {
        AttemptKind::CardRefund { payment: intent.reference.clone() }
    } else {
        let rail = ctx.networks.wallet(method.kind).ok_or(ManageError::MethodNotSupported)?;
        let to = Did::from_verified(intent.payer.clone());
        let ask = StoreTransactionRequest {
            errand: StoreTransaction::Payout { to: to.clone() },
            amount,
            reference: id.to_string(),
            nonce: nonce(ctx),
        };
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
        invoice_id: Some(invoice.id.clone()),
        subscription_id: invoice.subscription_id.clone(),
        reason: told.reason.clone(),
        description: told.description.clone(),
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

/// How many invoices are looked through for what was paid, and at once.
const LOOK_BACK: usize = 1_000;
const PAGE: u32 = 100;

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
    hold(unit, &subscription.customer_id, &[]).await?;
    let filter = InvoiceFilter { subscription_id: Some(subscription.id.clone()), ..InvoiceFilter::default() };
    let current = newest(unit, subscription, &filter).await?;
    let current = current.into_iter().find(|invoice| is_for_time(invoice.reason) && invoice.period.is_some_and(|span| span.contains(now)));
    // It goes back in the currency that it was paid in.
    let paid_in = current.map_or_else(|| subscription.currency_id.clone(), |invoice| invoice.currency_id);
    let mut wanted = match choice {
        RefundChoice::Proration => Some(unused(unit, &Subscription { currency_id: paid_in.clone(), ..subscription.clone() }, now).await?),
        _ => None,
    };
    // Credit may have paid all of one that asks for nothing.
    let filter = InvoiceFilter { statuses: vec![InvoiceStatus::Paid], ..filter };
    let paid = newest(unit, subscription, &filter).await?;
    let mut back = Back::default();
    let counts = |invoice: &&Invoice| is_for_time(invoice.reason) && (choice == RefundChoice::Last || invoice.currency_id == paid_in);
    for invoice in paid.iter().filter(counts) {
        let left = Left::read(unit, invoice).await?;
        if invoice.amount_paid.is_zero() && left.by_credit.is_zero() {
            continue;
        }
        // What is left of the time was not paid by usage, of which what was not used becomes credit.
        let asked = match wanted {
            Some(wanted) => wanted.min(left.all()?.minus(left.used).unwrap_or_default()),
            None => left.all()?,
        };
        let amount = asked.min(left.most()?);
        let told = Told {
            reason: "requested_by_admin".to_owned(),
            description: format!("Refund of {}", invoice.number_text().unwrap_or_default()),
        };
        give(ctx, unit, (invoice, &left), amount, &told, &mut back).await?;
        wanted = wanted.map(|wanted| wanted.minus(amount).unwrap_or_default());
        // All of the last payment, or as much as is wanted of as many as it takes.
        if wanted.unwrap_or_default().is_zero() {
            break;
        }
    }
    Ok(back.attempts)
}

/// The newest invoices of a subscription: thresholds may have written many since the one that asks for its time.
async fn newest(unit: &mut dyn UnitOfWork, subscription: &Subscription, filter: &InvoiceFilter) -> Result<Vec<Invoice>, ManageError> {
    let mut all = Vec::new();
    for number in 1.. {
        let page = unit.invoices().list(subscription.mode, filter, &Page::new(Some(number), Some(PAGE))).await?;
        all.extend(page.list);
        if all.len() >= LOOK_BACK || all.len() as u64 >= page.count {
            break;
        }
    }
    Ok(all)
}

/// What was booked as credit for an invoice or a refund, for these reasons.
pub(super) async fn booked(unit: &mut dyn UnitOfWork, subject: &str, reasons: &[Reason]) -> Result<Amount, BillingError> {
    let entries = unit.journal().of_subject(subject).await?;
    let booked = entries.iter().filter(|entry| reasons.contains(&entry.reason));
    Ok(Amount::sum(booked.filter_map(|entry| entry.postings().first()).map(|posting| posting.amount))?)
}

/// What of the plan, as it is now, was paid for the time from `now` on: by whichever payments, those of plans before it among them.
async fn unused(unit: &mut dyn UnitOfWork, subscription: &Subscription, now: Timestamp) -> Result<Amount, ManageError> {
    let book = Book::read(unit, std::slice::from_ref(subscription)).await?;
    let paid = paid_lines(unit, subscription, &book, None, now).await?;
    Ok(Amount::sum(credits(&paid, now)?.iter().map(|credit| credit.amount))?)
}
