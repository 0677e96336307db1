//! Refunds: money goes back the way it came, and what credit had paid is credit again. Of a payment that was made in both ways, what
//! the network has moved goes back first.

use super::book::Book;
use super::credit::{applied, beside_credit, give_credit, held};
use super::end::owed_for;
use super::manage::nonce;
use super::paid::{begins_period, bills_ahead, given_back};
use super::plan::paid_lines;
use super::renew::publish_charges;
use super::{
    BillingError, BillingReason, COMMENT_MAX, Credit, CreditFor, Invoice, InvoiceFilter, InvoiceStatus, ManageError, Notice, RefundChoice,
    Subscription, announce, credits, take_credit,
};
use crate::access::Did;
use crate::context::Context;
use crate::ledger::Reason;
use crate::payment::{
    Attempt, AttemptKind, Errand, ErrandAsk, Intent, IntentStatus, MethodKind, Purpose, Refund, RefundFilter, RefundStatus, RefundType,
};
use crate::shared::{Amount, AmountError, AttemptId, CustomerId, InvoiceId, Mode, Page, PaymentIntentId, RefundId, Timestamp, check_text};
use crate::storage::UnitOfWork;
use std::collections::{BTreeMap, BTreeSet};

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

/// Gives a payment back, never more than was paid: first what its network has moved, then what credit had paid, which has succeeded
/// when this answers. Answers at least one refund: that of the network, then one for each invoice that credit had paid of.
pub async fn refund_payment(ctx: &Context, mode: Mode, id: &PaymentIntentId, order: &RefundOrder) -> Result<Vec<Refund>, ManageError> {
    let told = order.told()?;
    let mut unit = ctx.store.begin().await?;
    let intent = unit.intents().find(id).await?.filter(|intent| intent.mode == mode).ok_or(ManageError::NotFound)?;
    let named = match &order.invoice {
        Some(id) => Some(unit.invoices().find(id).await?.filter(|_| intent.invoices.contains(id)).ok_or(ManageError::NotFound)?),
        None => None,
    };
    let invoices = match &named {
        Some(invoice) => vec![invoice.clone()],
        None => unit.invoices().find_all(&intent.invoices).await?,
    };
    hold(unit.as_mut(), &intent.customer_id, &invoices).await?;
    let left = Left::read(unit.as_mut(), Some(&intent), named.as_ref(), &invoices).await?;
    let amount = wanted(order, &left)?;
    let from_network = amount.min(left.at_network);
    let (mut refunds, mut attempts) = (Vec::new(), Vec::new());
    if !from_network.is_zero() {
        let (refund, attempt) = write(ctx, unit.as_mut(), &intent, named.as_ref(), from_network, &told).await?;
        let Carried { kept, left } = carried(unit.as_mut(), &invoices).await?;
        take_along(ctx, unit.as_mut(), &refund, kept.minus(left).unwrap_or_default()).await?;
        refunds.push(refund);
        attempts.push(attempt);
    }
    refunds.extend(as_credit(ctx, unit.as_mut(), left.by_credit, amount.minus(from_network)?, &told).await?);
    publish_charges(ctx, unit.as_mut(), &attempts).await?;
    unit.commit().await?;
    Ok(refunds)
}

/// The same for what an invoice was paid: one that credit paid all of has no payment that could be named.
pub async fn refund_invoice(ctx: &Context, mode: Mode, id: &InvoiceId, order: &RefundOrder) -> Result<Vec<Refund>, ManageError> {
    let told = order.told()?;
    let mut unit = ctx.store.begin().await?;
    let invoice = unit.invoices().find(id).await?.filter(|invoice| invoice.mode == mode).ok_or(ManageError::NotFound)?;
    if let Some(intent) = &invoice.intent_id {
        drop(unit);
        return refund_payment(ctx, mode, intent, &RefundOrder { invoice: Some(id.clone()), ..order.clone() }).await;
    }
    hold(unit.as_mut(), &invoice.customer_id, std::slice::from_ref(&invoice)).await?;
    let left = Left::read(unit.as_mut(), None, None, std::slice::from_ref(&invoice)).await?;
    let amount = wanted(order, &left)?;
    let refunds = as_credit(ctx, unit.as_mut(), left.by_credit, amount, &told).await?;
    unit.commit().await?;
    Ok(refunds)
}

/// The most that [`refund_invoice`] gives back now. Zero where nothing was paid, or nothing is left of it.
pub async fn refundable(ctx: &Context, mode: Mode, id: &InvoiceId) -> Result<Amount, ManageError> {
    let mut unit = ctx.store.read().await?;
    let invoice = unit.invoices().find(id).await?.filter(|invoice| invoice.mode == mode).ok_or(ManageError::NotFound)?;
    let intent = match &invoice.intent_id {
        Some(intent) => unit.intents().find(intent).await?,
        None => None,
    };
    let invoices = std::slice::from_ref(&invoice);
    match Left::read(unit.as_mut(), intent.as_ref(), intent.as_ref().map(|_| &invoice), invoices).await {
        Ok(left) => Ok(left.most()?),
        Err(ManageError::NothingPaid) => Ok(Amount::ZERO),
        Err(error) => Err(error),
    }
}

/// What of a payment, or of an invoice that credit paid, can go back.
struct Left {
    /// What its network has moved.
    at_network: Amount,
    /// What credit has paid, of each invoice.
    by_credit: Vec<(Invoice, Amount)>,
    /// What of that the customer holds as credit already.
    held: Amount,
}

impl Left {
    /// Of a payment of these invoices; `named`: of that one of them alone.
    async fn read(
        unit: &mut dyn UnitOfWork,
        intent: Option<&Intent>,
        named: Option<&Invoice>,
        invoices: &[Invoice],
    ) -> Result<Self, ManageError> {
        let mut at_network = intent.map(at_network).transpose()?.unwrap_or_default();
        if let Some(invoice) = named {
            at_network = at_network.min(invoice.total.minus(given_back(unit, invoice).await?).unwrap_or_default());
        }
        let by_credit = by_credit(unit, invoices).await?;
        let held = held_of(unit, &by_credit, at_network).await?;
        Ok(Self { at_network, by_credit, held })
    }

    fn all(&self) -> Result<Amount, AmountError> {
        self.at_network.plus(sum_of(&self.by_credit)?)
    }

    fn most(&self) -> Result<Amount, AmountError> {
        self.all()?.minus(self.held)
    }
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

/// Credit that the customer holds came of what they have paid. What is covered by that no longer, as a payment goes back, goes with it:
/// the same money is given back once. At least `of_it`, which is known to have come of this payment.
async fn take_along(ctx: &Context, unit: &mut dyn UnitOfWork, refund: &Refund, of_it: Amount) -> Result<(), ManageError> {
    let (customer_id, currency_id) = (refund.customer_id.clone(), refund.currency_id.clone());
    let held = held(unit, &customer_id, &currency_id).await?;
    let covered = unit.intents().paid_by(&customer_id, &currency_id).await?;
    let credit = Credit { amount: held.minus(covered).unwrap_or_default().max(of_it.min(held)), customer_id, currency_id };
    if credit.amount.is_zero() {
        return Ok(());
    }
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

/// How much of what credit has paid its customer holds as credit already, by a change of plan since: given as well, it would be more
/// than they have paid, once `at_network` has gone back.
async fn held_of(unit: &mut dyn UnitOfWork, by_credit: &[(Invoice, Amount)], at_network: Amount) -> Result<Amount, ManageError> {
    let all = sum_of(by_credit)?;
    let Some((Invoice { customer_id: customer, currency_id: currency, .. }, _)) = by_credit.first().filter(|_| !all.is_zero()) else {
        return Ok(all);
    };
    let invoices: Vec<_> = by_credit.iter().map(|(invoice, _)| invoice.clone()).collect();
    let Carried { kept, left } = carried(unit, &invoices).await?;
    let (held, left) = (held(unit, customer, currency).await?, left.minus(at_network).unwrap_or_default());
    let kept = kept.minus(kept.minus(left).unwrap_or_default().min(held))?;
    let of_these = kept.minus(left.minus(all).unwrap_or_default()).unwrap_or_default().min(all);
    let room = beside_credit(unit, customer, currency).await?.minus(at_network).unwrap_or_default();
    Ok(all.minus(room).unwrap_or_default().max(of_these))
}

/// Bills that changes of plan have carried over into one another, from the one at the beginning of a period on.
struct Carried {
    /// What they have made credit, less what invoices beside them have used of it.
    kept: Amount,
    /// What they were paid, by networks and by credit, and what did not go back.
    left: Amount,
}

/// Those that have a part in what these were paid.
async fn carried(unit: &mut dyn UnitOfWork, invoices: &[Invoice]) -> Result<Carried, ManageError> {
    let (mut kept, mut bills): (Amount, Vec<Invoice>) = (Amount::ZERO, Vec::new());
    for invoice in invoices {
        let Some(subscription) = &invoice.subscription_id else { continue };
        let mut all = unit.invoices().issued_since(subscription, Timestamp::from_micros(0), LOOK_BACK).await?;
        all.retain(|bill| bill.currency_id == invoice.currency_id);
        all.reverse();
        let is_known = all.iter().any(|bill| bill.id == invoice.id);
        let (chain, later) = chain_of(invoice, all);
        if !is_known || chain.iter().any(|bill| bills.iter().any(|other| other.id == bill.id)) {
            continue;
        }
        let (mut given, mut used) = (Amount::ZERO, Amount::ZERO);
        for bill in &chain {
            // What a renewal gives came of bills for usage before it.
            let reasons: &[_] =
                if begins_period(bill) { &[Reason::CreditReleased] } else { &[Reason::CreditGiven, Reason::CreditReleased] };
            given = given.plus(booked(unit, bill.id.as_str(), reasons).await?)?;
        }
        for bill in &later {
            let back = booked(unit, bill.id.as_str(), &[Reason::CreditReturned]).await?.plus(unit.refunds().credited(&bill.id).await?)?;
            used = used.plus(booked(unit, bill.id.as_str(), &[Reason::CreditUsed]).await?.minus(back).unwrap_or_default())?;
        }
        kept = kept.plus(given.minus(used).unwrap_or_default())?;
        bills.extend(chain);
    }
    let kept = kept.minus(taken_along(unit, &bills).await?).unwrap_or_default();
    let left = left_of(unit, &bills).await?;
    Ok(Carried { kept, left })
}

/// The credit that went along with refunds of bills, unless their network refused them.
async fn taken_along(unit: &mut dyn UnitOfWork, bills: &[Invoice]) -> Result<Amount, ManageError> {
    let mut refunds = BTreeMap::new();
    for bill in bills {
        let filter = RefundFilter { invoice_id: Some(bill.id.clone()), ..RefundFilter::default() };
        let mut of_it = unit.refunds().list(bill.mode, &filter, &Page::new(None, Some(LOOK_BACK))).await?.list;
        if let Some(intent) = &bill.intent_id {
            of_it.extend(unit.refunds().of_intent(intent).await?);
        }
        refunds.extend(of_it.into_iter().map(|refund| (refund.id.clone(), refund.kind)));
    }
    let mut taken = Amount::ZERO;
    for (id, kind) in refunds {
        let used = booked(unit, id.as_str(), &[Reason::CreditUsed]).await?;
        // What one as credit gives is what it is.
        let back = if kind == RefundType::Credit { Amount::ZERO } else { booked(unit, id.as_str(), &[Reason::CreditReturned]).await? };
        taken = taken.plus(used.minus(back).unwrap_or_default())?;
    }
    Ok(taken)
}

/// Of a subscription's bills, oldest first: those that one is carried over from and into, and the others after their first.
fn chain_of(of: &Invoice, all: Vec<Invoice>) -> (Vec<Invoice>, Vec<Invoice>) {
    let mut first = of;
    for earlier in all.iter().rev().filter(|bill| bill.number < of.number && bills_ahead(bill)) {
        if begins_period(first) {
            break;
        }
        let start = first.period.map(|span| span.start);
        if start.is_some_and(|start| earlier.period.is_some_and(|span| span.contains(start))) {
            first = earlier;
        }
    }
    let (number, start, mut until) = (first.number, first.period.map(|span| span.start), first.period.map(|span| span.end));
    // A change to another cycle carries it beyond its own period, to the next renewal.
    all.into_iter().filter(|bill| bill.number >= number).partition(|bill| {
        if begins_period(bill) && bill.period.map(|span| span.start) > start {
            until = None;
        }
        let starts_within = bill.period.is_some_and(|span| until.is_some_and(|until| span.start < until));
        let is_of_it = bill.number == number || (bills_ahead(bill) && !begins_period(bill) && starts_within);
        if is_of_it {
            until = until.max(bill.period.map(|span| span.end));
        }
        is_of_it
    })
}

/// What bills were paid and did not go back. A payment of several, of which a refund names none, is left as a whole.
async fn left_of(unit: &mut dyn UnitOfWork, bills: &[Invoice]) -> Result<Amount, ManageError> {
    let mut by_intent: BTreeMap<PaymentIntentId, Amount> = BTreeMap::new();
    for bill in bills.iter().filter(|bill| bill.status == InvoiceStatus::Paid) {
        let Some(intent) = &bill.intent_id else { continue };
        let named = |refund: &&Refund| refund.invoice_id.as_ref() == Some(&bill.id);
        let back = unit.refunds().of_intent(intent).await?;
        let back = back.iter().filter(|refund| refund.kind == RefundType::Refund && refund.status != RefundStatus::Failed).filter(named);
        let left = bill.total.minus(Amount::sum(back.map(|refund| refund.amount))?).unwrap_or_default();
        let sum = by_intent.entry(intent.clone()).or_default();
        *sum = sum.plus(left)?;
    }
    let mut left = sum_of(&by_credit(unit, bills).await?)?;
    for (id, sum) in by_intent {
        let intent = unit.intents().find(&id).await?.ok_or(ManageError::NotFound)?;
        left = left.plus(sum.min(intent.amount_received.minus(intent.amount_refunded).unwrap_or_default()))?;
    }
    Ok(left)
}

/// How much of a payment is left that its network has moved.
fn at_network(intent: &Intent) -> Result<Amount, ManageError> {
    match intent.status {
        IntentStatus::Succeeded => Ok(intent.amount_received.minus(intent.amount_refunded).unwrap_or_default()),
        _ => Err(ManageError::NothingPaid),
    }
}

/// How much of each invoice is left that credit has paid, where it has.
async fn by_credit(unit: &mut dyn UnitOfWork, invoices: &[Invoice]) -> Result<Vec<(Invoice, Amount)>, ManageError> {
    let mut by_credit = Vec::new();
    for invoice in invoices.iter().filter(|invoice| invoice.status == InvoiceStatus::Paid) {
        let paid = applied(&unit.invoices().items(&invoice.id).await?)?;
        if !paid.is_zero() {
            let left = paid.minus(unit.refunds().credited(&invoice.id).await?).unwrap_or_default();
            by_credit.push((invoice.clone(), left));
        }
    }
    Ok(by_credit)
}

fn sum_of(by_credit: &[(Invoice, Amount)]) -> Result<Amount, AmountError> {
    Amount::sum(by_credit.iter().map(|(_, left)| *left))
}

/// What is asked for of what is left, all of which can go back but what the customer holds of it as credit.
fn wanted(order: &RefundOrder, left: &Left) -> Result<Amount, ManageError> {
    let (all, most) = (left.all()?, left.most()?);
    match order.amount.unwrap_or(if most.is_zero() { all } else { most }) {
        amount if amount.is_zero() => Err(ManageError::NothingPaid),
        amount if amount > all => Err(ManageError::OverRefund),
        amount if amount > most => Err(ManageError::HeldAsCredit),
        amount => Ok(amount),
    }
}

/// Gives an amount of what credit has paid back, of one invoice after the other.
async fn as_credit(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    by_credit: Vec<(Invoice, Amount)>,
    mut amount: Amount,
    told: &Told,
) -> Result<Vec<Refund>, ManageError> {
    let mut refunds = Vec::new();
    for (invoice, left) in by_credit {
        let part = left.min(amount);
        if !part.is_zero() {
            refunds.push(write_credit(ctx, unit, &invoice, part, told).await?);
            amount = amount.minus(part)?;
        }
    }
    Ok(refunds)
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
    announce(ctx, unit, &Notice::Refunded(refund.id.clone()), now).await?;
    Ok(refund)
}

/// Reserves a refund of what a network has moved, and writes down the attempt that carries it out. `invoice`: what it is for, when that
/// is one of several.
async fn write(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    intent: &Intent,
    invoice: Option<&Invoice>,
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

/// What a payment is for, unless it is for several.
fn only_one(invoices: &[InvoiceId]) -> Option<InvoiceId> {
    if let [one] = invoices { Some(one.clone()) } else { None }
}

/// How many invoices are looked through for what was paid.
const LOOK_BACK: u32 = 100;

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
    // Credit may have paid all of one that asks for nothing.
    let filter = InvoiceFilter { statuses: vec![InvoiceStatus::Paid], ..filter };
    let paid = unit.invoices().list(subscription.mode, &filter, &newest).await?.list;
    let mut attempts = Vec::new();
    let counts = |invoice: &&Invoice| is_for_time(invoice.reason) && (choice == RefundChoice::Last || invoice.currency_id == paid_in);
    for invoice in paid.iter().filter(counts) {
        let intent = match &invoice.intent_id {
            Some(intent) => unit.intents().find(intent).await?,
            None => None,
        };
        let by_credit = by_credit(unit, std::slice::from_ref(invoice)).await?;
        if invoice.amount_paid.is_zero() && by_credit.is_empty() {
            continue;
        }
        let at_network = match &intent {
            Some(intent) => at_network(intent)?.min(invoice.amount_paid.minus(given_back(unit, invoice).await?).unwrap_or_default()),
            None => Amount::ZERO,
        };
        let left = at_network.plus(sum_of(&by_credit)?)?;
        let kept = match wanted {
            Some(_) => Kept::default(),
            None => kept_of(unit, invoice).await?,
        };
        let amount = wanted.map_or(left.minus(kept.spent).unwrap_or_default(), |wanted| wanted.min(left));
        let told = Told {
            reason: "requested_by_admin".to_owned(),
            description: format!("Refund of {}", invoice.number_text().unwrap_or_default()),
        };
        let (mut refunds, from_network) = (Vec::new(), amount.min(at_network));
        if let Some(intent) = intent.filter(|_| !from_network.is_zero()) {
            let (refund, attempt) = write(ctx, unit, &intent, Some(invoice), from_network, &told).await?;
            refunds.push(refund);
            attempts.push(attempt);
        }
        refunds.extend(as_credit(ctx, unit, by_credit, amount.minus(from_network)?, &told).await?);
        if let Some(refund) = refunds.first() {
            take_along(ctx, unit, refund, kept.held).await?;
        }
        wanted = wanted.map(|wanted| wanted.minus(amount).unwrap_or_default());
        // All of the last payment, or as much as is wanted of as many as it takes.
        if wanted.unwrap_or_default().is_zero() {
            break;
        }
    }
    Ok(attempts)
}

/// What a payment has become credit of: by changes of plan since, or because usage cost less than it was billed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Kept {
    /// The customer has it still: it is taken when the payment goes back.
    held: Amount,
    /// Other invoices or purchases have used it: the payment goes back without it.
    spent: Amount,
}

async fn kept_of(unit: &mut dyn UnitOfWork, paid: &Invoice) -> Result<Kept, ManageError> {
    let Some(subscription) = &paid.subscription_id else { return Ok(Kept::default()) };
    let newest = Page::new(None, Some(LOOK_BACK));
    let filter = InvoiceFilter { subscription_id: Some(subscription.clone()), ..InvoiceFilter::default() };
    // What it asked too much, and was promised before it was paid.
    let mut given = booked(unit, paid.id.as_str(), &[Reason::CreditReleased]).await?;
    let mut used = Amount::ZERO;
    let newest = unit.invoices().list(paid.mode, &filter, &newest).await?.list;
    for later in newest {
        if later.number <= paid.number || later.currency_id != paid.currency_id {
            continue;
        }
        given = given.plus(booked(unit, later.id.as_str(), &[Reason::CreditGiven, Reason::CreditReturned]).await?)?;
        used = used.plus(booked(unit, later.id.as_str(), &[Reason::CreditUsed]).await?)?;
    }
    let kept = given.minus(used).unwrap_or_default();
    let held = kept.min(held(unit, &paid.customer_id, &paid.currency_id).await?);
    Ok(Kept { held, spent: kept.minus(held)? })
}

/// What was booked as credit for an invoice or a refund, for these reasons.
async fn booked(unit: &mut dyn UnitOfWork, subject: &str, reasons: &[Reason]) -> Result<Amount, BillingError> {
    let entries = unit.journal().of_subject(subject).await?;
    let booked = entries.iter().filter(|entry| reasons.contains(&entry.reason));
    Ok(Amount::sum(booked.filter_map(|entry| entry.postings().first()).map(|posting| posting.amount))?)
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
