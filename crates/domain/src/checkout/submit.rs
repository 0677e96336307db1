//! Submitting the form: contact checked, stock held, invoice drafted, payment begun.

use super::settle::{self, complete};
use super::{Session, SessionStatus};
use crate::access::User;
use crate::billing::{BillTo, BillingReason, Calculation, Invoice, InvoiceItem, InvoiceStatus};
use crate::context::Context;
use crate::customer::{Contact, ContactDemands, ContactForm, Customer, FieldRefusals, check_contact};
use crate::payment::{
    Attempt, AttemptKind, AttemptStatus, Currency, Intent, IntentStatus, Method, Outcome, Purpose, RailError, card_ask, next_check,
};
use crate::pricing::{CartError, CartItem, Hold, Price, Product, QuantityError, cart_total, check_quantity, line_amounts};
use crate::shared::{
    Amount, AmountError, AttemptId, CurrencyId, CustomerId, InvoiceId, InvoiceItemId, MethodId, PaymentIntentId, ProductId, SessionId,
    StorageError, Timestamp,
};
use crate::storage::UnitOfWork;

/// How often a submit that lost a race begins again.
const TRIES: u32 = 8;

/// The form as it arrived, and who sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    pub session_id: SessionId,
    pub payer: User,
    pub form: ContactForm,
    pub method_id: MethodId,
    pub currency_id: CurrencyId,
}

/// What the page does next. Everything else it reads from the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    pub card: Option<CardForm>,
}

/// What the card form needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardForm {
    pub client_secret: String,
    /// Whether the provider says that it is paid already.
    pub settled: bool,
}

/// Every way a submit is refused.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    /// The session belongs to somebody else.
    #[error("Sorry, you are not authorized to access this page.")]
    Forbidden,
    #[error("This link has expired...")]
    Expired,
    #[error("Seems this checkoutSession is not configured properly")]
    Misconfigured,
    #[error("This payment method is not supported")]
    MethodNotSupported,
    #[error("Currency not configured for price")]
    CurrencyNotConfigured,
    #[error("Multiple items with custom unit amount are not supported")]
    SeveralCustomAmounts,
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    #[error("Validate failed")]
    Fields(FieldRefusals),
    /// Another payment for the same order has been sent and not been decided.
    #[error("A payment for this order is on its way. Please wait for it.")]
    PaymentInFlight,
    #[error("amount is out of range")]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<CartError> for SubmitError {
    fn from(error: CartError) -> Self {
        match error {
            CartError::CurrencyNotConfigured => Self::CurrencyNotConfigured,
            CartError::SeveralCustomAmounts => Self::SeveralCustomAmounts,
            CartError::Amount(error) => Self::Amount(error),
        }
    }
}

/// What one unit of work decided.
enum Step {
    /// Wallet, or nothing to pay.
    Done,
    Card(Box<(Method, Currency, Attempt)>),
    /// A card attempt for something else stands in the way: end it first.
    Replace(AttemptId),
    /// There is not enough, unless the session changed while it was read.
    Short(QuantityError, u64),
    /// Somebody changed the session meanwhile.
    Raced,
}

/// Submitting again, from another tab or after a lost answer, leads to the same intent and the same attempt.
pub async fn submit(ctx: &Context, submission: &Submission) -> Result<Submitted, SubmitError> {
    for _ in 0..TRIES {
        match write_down(ctx, submission).await? {
            Step::Done => return Ok(Submitted { card: None }),
            Step::Card(parts) => {
                let (method, currency, attempt) = *parts;
                return Ok(Submitted { card: Some(open_card(ctx, &method, &currency, &attempt).await?) });
            }
            Step::Replace(attempt) => end_card(ctx, &attempt).await?,
            Step::Short(error, version) => {
                // What the session held a moment ago may have been sold to it since: then it looks taken by somebody else.
                let now = ctx.store.read().await?.sessions().find(&submission.session_id).await?;
                if now.is_none_or(|session| session.version == version) {
                    return Err(error.into());
                }
            }
            Step::Raced => {}
        }
    }
    Err(SubmitError::PaymentInFlight)
}

/// The first unit of work: everything is written before any network is called.
async fn write_down(ctx: &Context, submission: &Submission) -> Result<Step, SubmitError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let mut session = unit.sessions().find(&submission.session_id).await?.ok_or(SubmitError::NotFound)?;
    if session.payer.as_ref().is_some_and(|payer| *payer != submission.payer.did) {
        return Err(SubmitError::Forbidden);
    }
    if session.status == SessionStatus::Complete {
        return Ok(Step::Done);
    }
    if session.is_expired(now) {
        return Err(SubmitError::Expired);
    }
    let (method, currency) = find_method(ctx, unit.as_mut(), &session, submission).await?;
    let (prices, products) = load_items(unit.as_mut(), &session).await?;
    let cart: Vec<_> =
        session.items.iter().zip(&prices).map(|(item, price)| CartItem { price, quantity: item.quantity, custom_amount: None }).collect();
    let held = unit.prices().holds(&session.id).await?;
    for item in &cart {
        let own = held.iter().find(|hold| hold.price_id == item.price.id).map_or(0, |hold| hold.quantity);
        if let Err(error) = check_quantity(item.price, item.quantity, own) {
            return Ok(Step::Short(error, session.version));
        }
    }
    let demands = ContactDemands { phone: session.form.collect_phone, address: session.form.require_address, card: method.kind.is_card() };
    let contact = check_contact(&submission.form, demands, &session.form.page_info).map_err(SubmitError::Fields)?;
    let amount = cart_total(&cart, &currency.id)?;

    let open = match &session.intent_id {
        Some(intent) => unit.attempts().open_of_intent(intent).await?,
        None => None,
    };
    if let Some(attempt) = &open {
        let is_same = attempt.method_id == method.id && attempt.currency_id == currency.id && attempt.amount == amount;
        match attempt.kind {
            // The form may have been corrected; the payment stays the one that is open.
            AttemptKind::Card { .. } if is_same => {}
            AttemptKind::Card { .. } => return Ok(Step::Replace(attempt.id.clone())),
            _ => return Err(SubmitError::PaymentInFlight),
        }
    }

    if !hold_stock(unit.as_mut(), &session, &held, now).await? {
        return Ok(Step::Short(QuantityError::ExceedInventory, session.version));
    }
    let known = unit.customers().find_by_did(session.mode, &submission.payer.did).await?;
    let customer = customer_of(ctx, &session, submission, &contact, known, now);
    let customer = unit.customers().upsert(&customer).await?;
    let invoice_id = session.invoice_id.clone().unwrap_or_else(|| InvoiceId::new(now, ctx.random.as_ref()));
    let intent_id = session.intent_id.clone().unwrap_or_else(|| PaymentIntentId::new(now, ctx.random.as_ref()));
    let description = describe(&products);
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
        invoices: vec![invoice_id.clone()],
        last_error: None,
        reference: String::new(),
        payer: String::new(),
        created_at: now,
        updated_at: now,
    };
    if !unit.intents().put(&intent).await? {
        return Ok(Step::Raced);
    }
    let invoice = Invoice {
        id: invoice_id.clone(),
        mode: session.mode,
        number: None,
        status: InvoiceStatus::Draft,
        reason: BillingReason::Manual,
        description,
        customer_id: customer.id.clone(),
        currency_id: currency.id.clone(),
        method_id: method.id.clone(),
        session_id: Some(session.id.clone()),
        subscription_id: None,
        period: None,
        intent_id: Some(intent_id.clone()),
        bill_to: BillTo {
            name: contact.name.clone(),
            email: contact.email.clone(),
            phone: contact.phone.clone(),
            address: Some(contact.address.clone()),
        },
        total: amount,
        amount_paid: Amount::ZERO,
        refusals: 0,
        retry_at: None,
        clock_id: None,
        created_at: now,
        finalized_at: None,
        paid_at: None,
        updated_at: now,
    };
    let lines = invoice_lines(ctx, &invoice, &cart, &products, &currency, now)?;
    if !unit.invoices().put_draft(&invoice, &lines).await? {
        return Ok(Step::Raced);
    }

    session.payer = Some(submission.payer.did.clone());
    session.customer_id = Some(customer.id);
    session.contact = Some(contact);
    session.currency_id = currency.id.clone();
    session.method_id = Some(method.id.clone());
    session.intent_id = Some(intent_id.clone());
    session.invoice_id = Some(invoice_id);
    session.amount_total = amount;
    session.updated_at = now;
    if !unit.sessions().update(&session).await? {
        return Ok(Step::Raced);
    }
    session.version += 1;

    let step = if amount.is_zero() {
        if !complete(ctx, unit.as_mut(), session, None, now).await? {
            return Ok(Step::Raced);
        }
        Step::Done
    } else if let Some(attempt) = open {
        Step::Card(Box::new((method, currency, attempt)))
    } else if method.kind.is_card() {
        let attempt = Attempt {
            id: AttemptId::new(now, ctx.random.as_ref()),
            purpose: Purpose::Payment(intent_id),
            session_id: Some(session.id.clone()),
            method_id: method.id.clone(),
            currency_id: currency.id.clone(),
            amount,
            status: AttemptStatus::Open,
            kind: AttemptKind::Card { provider_id: String::new(), client_secret: String::new(), keep_for: None },
            last_error: None,
            checks: 0,
            check_at: next_check(now, 0),
            sent_at: None,
            created_at: now,
            updated_at: now,
        };
        let inserted = unit.attempts().insert(&attempt, &intent.invoices).await;
        match inserted {
            Ok(()) => Step::Card(Box::new((method, currency, attempt))),
            Err(StorageError::Duplicate(_)) => return Ok(Step::Raced),
            Err(error) => return Err(error.into()),
        }
    } else {
        Step::Done
    };
    unit.commit().await?;
    Ok(step)
}

/// The second half for cards: the provider's intent, under the attempt's key, then its names.
async fn open_card(ctx: &Context, method: &Method, currency: &Currency, attempt: &Attempt) -> Result<CardForm, SubmitError> {
    if let AttemptKind::Card { client_secret, .. } = &attempt.kind
        && !client_secret.is_empty()
    {
        return Ok(CardForm { client_secret: client_secret.clone(), settled: false });
    }
    let rail = ctx.networks.card(method.kind).ok_or(SubmitError::MethodNotSupported)?;
    let intent = match rail.open(method, currency, &card_ask(attempt)).await {
        Ok(intent) => intent,
        Err(error) => {
            settle::note_not_opened(ctx, &attempt.id, error.clone()).await?;
            return Err(error.into());
        }
    };
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    unit.attempts().name_card(&attempt.id, &intent.provider_id, &intent.client_secret, now).await?;
    unit.commit().await?;
    Ok(CardForm { client_secret: intent.client_secret, settled: matches!(intent.outcome, Outcome::Settled(_)) })
}

/// The visitor closed the card form: the provider's intent is ended, unless it has settled meanwhile.
pub async fn abandon_card(ctx: &Context, id: &SessionId, payer: &User) -> Result<(), SubmitError> {
    let mut unit = ctx.store.read().await?;
    let session = unit.sessions().find(id).await?.ok_or(SubmitError::NotFound)?;
    if session.payer.as_ref() != Some(&payer.did) {
        return Err(SubmitError::Forbidden);
    }
    let open = match &session.intent_id {
        Some(intent) => unit.attempts().open_of_intent(intent).await?,
        None => None,
    };
    drop(unit);
    match open {
        Some(attempt) if matches!(attempt.kind, AttemptKind::Card { .. }) => end_card(ctx, &attempt.id).await,
        _ => Ok(()),
    }
}

/// Ends a card attempt at its provider. Fails with [`SubmitError::PaymentInFlight`] when the provider does not let go.
pub(super) async fn end_card(ctx: &Context, id: &AttemptId) -> Result<(), SubmitError> {
    match settle::end(ctx, id).await? {
        true => Ok(()),
        false => Err(SubmitError::PaymentInFlight),
    }
}

async fn find_method(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: &Session,
    submission: &Submission,
) -> Result<(Method, Currency), SubmitError> {
    let method = unit.methods().find(&submission.method_id).await?.ok_or(SubmitError::MethodNotSupported)?;
    let currency = unit.methods().find_currency(&submission.currency_id).await?.ok_or(SubmitError::CurrencyNotConfigured)?;
    let served = ctx.networks.card(method.kind).is_some() || ctx.networks.wallet(method.kind).is_some();
    if !served || !method.active || method.mode != session.mode {
        return Err(SubmitError::MethodNotSupported);
    }
    if currency.method_id != method.id || !currency.active || currency.mode != session.mode {
        return Err(SubmitError::CurrencyNotConfigured);
    }
    Ok((method, currency))
}

/// Prices and products of the items, in their order.
async fn load_items(unit: &mut dyn UnitOfWork, session: &Session) -> Result<(Vec<Price>, Vec<Product>), SubmitError> {
    let ids: Vec<_> = session.items.iter().map(|item| item.price_id.clone()).collect();
    let mut found = unit.prices().find_all(&ids).await?;
    found.sort_by_key(|price| ids.iter().position(|id| *id == price.id));
    if found.is_empty() || found.len() != ids.len() || found.iter().any(|price| !price.active) {
        return Err(SubmitError::Misconfigured);
    }
    let ids: Vec<_> = found.iter().map(|price| price.product_id.clone()).collect();
    let products = unit.products().find_all(&ids).await?;
    let in_order = |id: &ProductId| products.iter().find(|product| product.id == *id).cloned().ok_or(SubmitError::Misconfigured);
    let products = ids.iter().map(in_order).collect::<Result<Vec<_>, _>>()?;
    if products.iter().any(|product| !product.active) {
        return Err(SubmitError::Misconfigured);
    }
    Ok((found, products))
}

/// Holds exactly what the session now asks for. Prices are taken in the order of their ids, so that two buyers never wait for each other.
/// False: there is not enough.
async fn hold_stock(unit: &mut dyn UnitOfWork, session: &Session, held: &[Hold], now: Timestamp) -> Result<bool, StorageError> {
    let mut wanted: Vec<_> = session.items.iter().map(|item| Hold { price_id: item.price_id.clone(), quantity: item.quantity }).collect();
    wanted.sort_by(|a, b| a.price_id.cmp(&b.price_id));
    let same = wanted.len() == held.len() && wanted.iter().all(|hold| held.contains(hold));
    if same {
        return Ok(true);
    }
    if !held.is_empty() {
        unit.prices().release(&session.id).await?;
    }
    for hold in &wanted {
        if !unit.prices().hold(&session.id, hold, now).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What the form did not ask for stays as it is known.
fn customer_of(
    ctx: &Context,
    session: &Session,
    submission: &Submission,
    contact: &Contact,
    known: Option<Customer>,
    now: Timestamp,
) -> Customer {
    let (phone, address) = known.map(|known| (known.phone, known.address)).unwrap_or_default();
    let has_address = session.form.require_address || address.is_none();
    Customer {
        id: CustomerId::new(now, ctx.random.as_ref()),
        mode: session.mode,
        did: submission.payer.did.clone(),
        name: contact.name.clone(),
        email: contact.email.clone(),
        phone: if contact.phone.is_empty() { phone } else { contact.phone.clone() },
        address: if has_address { Some(contact.address.clone()) } else { address },
        language: submission.payer.language,
        created_at: now,
        updated_at: now,
    }
}

fn describe(products: &[Product]) -> String {
    match products {
        [] => String::new(),
        [only] => only.name.clone(),
        [first, rest @ ..] => format!("{} + {}", first.name, rest.len()),
    }
}

fn invoice_lines(
    ctx: &Context,
    invoice: &Invoice,
    cart: &[CartItem<'_>],
    products: &[Product],
    currency: &Currency,
    now: Timestamp,
) -> Result<Vec<InvoiceItem>, SubmitError> {
    let amounts = line_amounts(cart, &currency.id)?;
    let line = |((item, product), amount): ((&CartItem<'_>, &Product), Amount)| InvoiceItem {
        id: InvoiceItemId::new(now, ctx.random.as_ref()),
        invoice_id: invoice.id.clone(),
        price_id: Some(item.price.id.clone()),
        description: product.name.clone(),
        quantity: item.quantity,
        unit_amount: item.price.unit_amount_in(&currency.id).unwrap_or_default(),
        amount,
        period: None,
        calculation: Calculation::PerUnit { unit: item.price.unit_amount_in(&currency.id).unwrap_or_default(), quantity: item.quantity },
    };
    Ok(cart.iter().zip(products).zip(amounts).map(line).collect())
}
