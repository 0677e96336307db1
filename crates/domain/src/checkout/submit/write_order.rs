//! Writes a checked order in one unit of work.

use super::check_order::Loaded;
use super::sold_items::{group_names, names_of};
use super::{Step, Submission, SubmitError};
use crate::billing::{BillTo, Invoice, InvoiceStatus, plan_payments};
use crate::checkout::buyer::Buyer;
use crate::checkout::card::{card_attempt, mandate_for};
use crate::checkout::complete::{PaidBy, complete};
use crate::checkout::reserve_stock::{reserve_stock, reserved_of};
use crate::checkout::stake::{assign_stake, plan_stake, write_stake};
use crate::checkout::subscribe::{first_lines, reason_of};
use crate::checkout::{Expanded, Quote, Session, SessionMode, SubscriptionGroup};
use crate::context::Context;
use crate::customer::{Contact, Customer};
use crate::payment::{Description, Intent, IntentStatus, count_card_form};
use crate::pricing::{CatalogueItem, Metadata};
use crate::shared::{Address, Amount, CustomerId, InvoiceId, PaymentIntentId, StorageError, SubscriptionId, Text, Timestamp};
use crate::storage::UnitOfWork;

/// Writes a submit. Lock order (billing model): session, intent, stake, invoices, stock, then inserts of attempts. Stock comes late,
/// because from then on buyers of the same price wait for each other until the commit.
pub(super) async fn write_order(
    ctx: &Context,
    submission: &Submission,
    loaded: Loaded,
    contact: Contact,
    quote: Quote,
    now: Timestamp,
) -> Result<Step, SubmitError> {
    let Loaded {
        mut session, method, currency, mut items, reserved, intent: known, attempt: open, stake, customer_status, trial_used, ..
    } = loaded;
    let amount = quote.due.now;
    let mut unit = ctx.store.begin().await?;
    let may_pay_fast = customer_status.as_ref().is_some_and(|status| status.may_pay_fast);
    let known_customer = customer_status.map(|status| status.customer);
    let customer = save_customer(ctx, unit.as_mut(), &session, submission, &contact, known_customer, now).await?;
    let invoice_ids =
        allocate_invoice_ids(session.invoice_id.as_ref(), known.as_ref(), quote.groups.len(), || InvoiceId::new(now, ctx.random.as_ref()));
    allocate_subscription_ids(ctx, &mut session, &quote, now);
    let intent_id = session.intent_id.clone().unwrap_or_else(|| PaymentIntentId::new(now, ctx.random.as_ref()));
    let description = Description::Product(names_of(&items));
    let intent = Intent {
        id: intent_id.clone(),
        mode: session.mode,
        status: IntentStatus::RequiresPaymentMethod,
        description: description.clone(),
        amount,
        amount_received: Amount::ZERO,
        amount_refunded: Amount::ZERO,
        currency_id: currency.id.clone(),
        method_id: method.id.clone(),
        customer_id: customer.id.clone(),
        subscription_id: None,
        session_id: Some(session.id.clone()),
        invoices: invoice_ids.clone(),
        last_error: None,
        reference: String::new(),
        payer: String::new(),
        held_attempt_id: None,
        metadata: Metadata::new(),
        created_at: known.as_ref().map_or(now, |known| known.created_at),
        updated_at: now,
    };
    session.payer = Some(submission.payer.did.clone());
    session.browser = submission.browser.clone().or(session.browser);
    session.customer_id = Some(customer.id.clone());
    session.contact = Some(contact.clone());
    session.currency_id = currency.id.clone();
    session.method_id = Some(method.id.clone());
    session.intent_id = Some(intent_id.clone());
    let drafted_ids: Vec<_> = session.invoice_id.iter().chain(known.iter().flat_map(|known| &known.invoices)).cloned().collect();
    session.invoice_id = invoice_ids.first().cloned();
    session.trial_end = quote.trial_end;
    session.amount_total = amount;
    session.updated_at = now;
    let known_mandate = session.mandate_id.clone();
    if session.kind != SessionMode::Payment {
        session.mandate_id = mandate_for(ctx, unit.as_mut(), &session, &method, now).await?;
    }
    let plan = plan_stake(stake.as_ref(), quote.stake, &currency, &submission.payer.did);
    assign_stake(ctx, &mut session, stake.as_ref(), &plan, now);
    unit.sessions().update_or_conflict(&session).await?;
    session.version += 1;
    if let Some(replaced) = known_mandate.filter(|known| session.mandate_id.as_ref() != Some(known)) {
        unit.mandates().delete_unused(&replaced).await?;
    }

    unit.intents().upsert(&intent).await?;
    write_stake(ctx, unit.as_mut(), &session, stake.as_ref(), &plan, now).await?;
    let bill_to = BillTo { name: contact.name, email: contact.email, phone: contact.phone, address: Some(contact.address) };
    let mut drafts = Vec::with_capacity(quote.groups.len());
    for (group, id) in quote.groups.iter().zip(&invoice_ids) {
        let invoice = Invoice {
            id: id.clone(),
            mode: session.mode,
            number: None,
            status: InvoiceStatus::Draft,
            reason: reason_of(session.kind),
            description: describe_group(&session, &items, group),
            customer_id: customer.id.clone(),
            currency_id: currency.id.clone(),
            method_id: method.id.clone(),
            session_id: Some(session.id.clone()),
            // Set when the subscription is created.
            subscription_id: None,
            period: None,
            intent_id: Some(intent_id.clone()),
            reference: None,
            bill_to: bill_to.clone(),
            total: group.now,
            amount_paid: Amount::ZERO,
            amount_credited: Amount::ZERO,
            failure_count: 0,
            retry_at: None,
            clock_id: None,
            created_at: intent.created_at,
            finalized_at: None,
            paid_at: None,
            updated_at: now,
        };
        let lines = first_lines(ctx, &invoice, &session.items, &items, group, &quote.amounts, now);
        match drafted_ids.contains(&invoice.id) {
            true => unit.invoices().put_draft(&invoice, &lines).await?,
            false => unit.invoices().insert_draft(&invoice, &lines).await?,
        }
        drafts.push(invoice);
    }
    for obsolete in known.iter().flat_map(|known| &known.invoices).filter(|id| !invoice_ids.contains(id)) {
        unit.invoices().drop_draft(obsolete, now).await?;
    }
    let takes_stock = reserve_stock(unit.as_mut(), &session, &items, &reserved, now).await?;
    if takes_stock && items.iter().any(|item| item.price.quantity_available > 0) {
        // Counted while the stock is locked, so that submits at the same time do not exceed the limit with one price.
        let max = ctx.limits.reserved_orders;
        if unit.sessions().count_reserving(&session, &submission.payer.did, max).await? >= max {
            return Err(SubmitError::TooManyReservedOrders(max));
        }
    }
    for (item, CatalogueItem { price, .. }) in session.items.iter().zip(&mut items) {
        price.quantity_sold = price.quantity_sold.saturating_sub(reserved_of(&reserved, &price.id)) + item.quantity;
    }

    let is_free = amount.is_zero() && session.kind == SessionMode::Payment;
    let attempt = match open {
        Some(attempt) => Some(attempt),
        None if method.kind.is_card() && !is_free => {
            count_card_form(ctx, unit.as_mut(), session.mode, session.id.as_str(), &submission.network).await?;
            let attempt = card_attempt(ctx, &session, &intent, &customer, &method, now);
            match unit.attempts().insert(&attempt, &plan_payments(&drafts)).await {
                Ok(()) => Some(attempt),
                Err(StorageError::Duplicate(_)) => return Ok(Step::Raced),
                Err(error) => return Err(error.into()),
            }
        }
        None => None,
    };

    if is_free {
        if !complete(ctx, unit.as_mut(), session, PaidBy::Nothing, now).await? {
            return Ok(Step::Raced);
        }
        unit.commit().await?;
        return Ok(Step::Complete);
    }
    unit.commit().await?;
    let session = Expanded {
        session,
        link: None,
        items,
        methods: vec![method],
        currencies: vec![currency],
        intent: Some(intent),
        attempt,
        invoice: drafts.into_iter().next(),
        stake: None,
        customer: Some(customer),
        entitlements: Vec::new(),
        subscriptions: Vec::new(),
        upsells: Vec::new(),
        buyer: Buyer { trial_used, ..Buyer::default() },
        now,
    };
    Ok(Step::Open { session: Box::new(session), may_pay_fast })
}

/// The ids of the invoices. Reuses those of an earlier submit.
fn allocate_invoice_ids(
    first: Option<&InvoiceId>,
    known: Option<&Intent>,
    count: usize,
    mut new: impl FnMut() -> InvoiceId,
) -> Vec<InvoiceId> {
    let mut allocate_invoice_ids = known.map(|known| known.invoices.clone()).unwrap_or_default();
    if allocate_invoice_ids.is_empty() {
        allocate_invoice_ids.extend(first.cloned());
    }
    allocate_invoice_ids.truncate(count);
    allocate_invoice_ids.resize_with(count, &mut new);
    allocate_invoice_ids
}

fn allocate_subscription_ids(ctx: &Context, session: &mut Session, quote: &Quote, now: Timestamp) {
    let count = quote.groups.iter().filter(|group| group.cycle.is_some()).count();
    session.subscription_ids.truncate(count);
    session.subscription_ids.resize_with(count, || SubscriptionId::new(now, ctx.random.as_ref()));
}

/// Writes the customer with the form's values. Fields that the form did not ask for are kept. Writes nothing if nothing changed.
async fn save_customer(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: &Session,
    submission: &Submission,
    contact: &Contact,
    known: Option<Customer>,
    now: Timestamp,
) -> Result<Customer, StorageError> {
    let known_phone = known.as_ref().map(|known| known.phone.clone()).unwrap_or_default();
    let known_address = known.as_ref().and_then(|known| known.address.clone()).filter(|address| *address != Address::default());
    let has_address = session.form.require_address || known_address.is_none();
    let updated = Customer {
        id: known.as_ref().map_or_else(|| CustomerId::new(now, ctx.random.as_ref()), |known| known.id.clone()),
        mode: session.mode,
        did: submission.payer.did.clone(),
        name: contact.name.clone(),
        email: contact.email.clone(),
        phone: if contact.phone.is_empty() { known_phone } else { contact.phone.clone() },
        address: if has_address { Some(contact.address.clone()) } else { known_address },
        language: submission.payer.language,
        created_at: known.as_ref().map_or(now, |known| known.created_at),
        updated_at: known.as_ref().map_or(now, |known| known.updated_at),
    };
    match known {
        Some(known) if known == updated => Ok(known),
        _ => unit.customers().upsert(&Customer { updated_at: now, ..updated }).await,
    }
}

/// The description of a subscription group: the store's text for recurring items, else the names of the products.
fn describe_group(session: &Session, items: &[CatalogueItem], group: &SubscriptionGroup) -> Description {
    Description::Product(match group.cycle.is_some() && !session.terms.description.is_empty() {
        true => Text::with_fallback(&session.terms.description, None).into(),
        false => group_names(items, &group.items),
    })
}
