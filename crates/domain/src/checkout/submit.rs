//! Submits the checkout form: checks the contact, reserves stock, drafts invoices and begins the payment.

use super::buyer::{Buyer, has_used_trial, recurring_products};
use super::card::{CardForm, card_attempt, end_card, mandate_for, open_card};
use super::complete::{PaidBy, complete};
use super::cross_sell::cross_sell_price;
use super::reserve_stock::{reserve_stock, reserved_of};
use super::stake::{assign_stake, plan_stake, stake_of, write_stake};
use super::subscribe::{first_lines, reason_of};
use super::{
    BrowserMark, ChosenMethod, Expanded, Quote, QuoteRequest, Session, SessionMode, SessionStatus, SubmitContext, SubscriptionGroup,
    expand, quote,
};
use crate::access::User;
use crate::billing::{BillTo, Invoice, InvoiceStatus, Stake, plan_payments, time_of};
use crate::context::Context;
use crate::customer::{Contact, ContactForm, ContactRequirements, Customer, CustomerStatus, ValidationErrors, check_contact};
use crate::payment::{Attempt, AttemptKind, Currency, Description, Intent, IntentStatus, Method, Purpose, RailError};
use crate::pricing::{
    CartError, CatalogueItem, CustomAmountError, Metadata, ProductNames, QuantityError, StockReservation, UnitPricing, check_quantity,
};
use crate::shared::{
    Address, Amount, AmountError, AttemptId, CurrencyId, CustomerId, InvoiceId, MethodId, PaymentIntentId, SessionId, StorageError,
    SubscriptionId, Text, Timestamp,
};
use crate::storage::UnitOfWork;

/// Attempts before giving up when other units of work change the session.
const MAX_TRIES: u32 = 8;

/// A submitted form and its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    pub session_id: SessionId,
    pub payer: User,
    pub browser: Option<BrowserMark>,
    pub form: ContactForm,
    pub method_id: MethodId,
    pub currency_id: CurrencyId,
    /// The total that the payer saw, in base units of the currency, deposit included. A different total rejects the submit.
    pub expected_total: Option<Amount>,
}

/// The session after a submit, and what the page does next. For a one-time payment that was just written, the session contains only what
/// the submit loaded: no link, and only the chosen method and currency.
#[derive(Debug, Clone)]
pub struct Submitted {
    pub session: Expanded,
    pub card: Option<CardForm>,
    /// Whether calling [`super::fast_pay`] can succeed.
    pub may_pay_fast: bool,
}

/// Why a submit is rejected.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    /// The session belongs to another user.
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
    CustomAmount(#[from] CustomAmountError),
    /// The customer has overdue invoices.
    #[error("Please pay your overdue invoices first")]
    CustomerLimited,
    /// The offered cross-sell must be added.
    #[error("Please add the required item to your order")]
    RequireCrossSell,
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// Not what the payer saw. `text` is the new total with the currency's symbol.
    #[error("The total of this order is now {text}. Please check it and confirm again.")]
    TotalChanged { total: Amount, text: String },
    #[error("Validate failed")]
    Fields(ValidationErrors),
    /// Another payment for the same order is undecided.
    #[error("A payment for this order is being processed. Please wait.")]
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

/// The result of one try.
enum Step {
    /// It is paid already, or there is nothing to pay.
    Complete,
    /// Written. The flag says whether it may be paid without the wallet. If there is an attempt, a card form is opened for it.
    Open(Box<Expanded>, bool),
    /// A card attempt for a different order is open and must be canceled first.
    Replace(AttemptId),
    /// There is not enough stock, unless the session changed while it was read. Contains the version that was read.
    InsufficientStock(QuantityError, u64),
    /// Another unit of work changed the session.
    Raced,
}

/// Submits a session. A repeated submit, from another tab or after a lost response, leads to the same intent and attempt.
#[tracing::instrument(skip_all, fields(session = %submission.session_id))]
pub async fn submit(ctx: &Context, submission: &Submission) -> Result<Submitted, SubmitError> {
    for _ in 0..MAX_TRIES {
        let step = match try_submit(ctx, submission).await {
            // The database resolved a deadlock, or a concurrent settlement changed the rows.
            Err(SubmitError::Storage(StorageError::Conflict)) => Step::Raced,
            step => step?,
        };
        match step {
            Step::Complete => {
                let mut unit = ctx.store.read().await?;
                let session =
                    expand(ctx, unit.as_mut(), &submission.session_id, Some(&submission.payer.did)).await?.ok_or(SubmitError::NotFound)?;
                return Ok(Submitted { session, card: None, may_pay_fast: false });
            }
            Step::Open(session, may_pay_fast) => {
                let card = match (&session.attempt, &session.methods[..], &session.currencies[..]) {
                    (Some(attempt), [method], [currency]) => Some(open_card(ctx, method, currency, attempt).await?),
                    _ => None,
                };
                if session.session.kind == SessionMode::Payment {
                    return Ok(Submitted { session: *session, card, may_pay_fast });
                }
                let mut unit = ctx.store.read().await?;
                let session =
                    expand(ctx, unit.as_mut(), &submission.session_id, Some(&submission.payer.did)).await?.ok_or(SubmitError::NotFound)?;
                return Ok(Submitted { session, card, may_pay_fast });
            }
            Step::Replace(attempt) => end_card(ctx, &attempt).await?,
            Step::InsufficientStock(error, version) => {
                // The session's own reservation may just have become a sale, which then looks like stock taken by another session.
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

/// Everything read before anything is written. It is read outside the unit of work, so that others do not wait. The session's version
/// guards the decisions that are based on it, and stock is reserved by conditional updates.
struct Loaded {
    session: Session,
    method: Method,
    currency: Currency,
    /// In the order of the session's items.
    items: Vec<CatalogueItem>,
    reserved: Vec<StockReservation>,
    /// The intent of an earlier submit.
    intent: Option<Intent>,
    attempt: Option<Attempt>,
    stake: Option<Stake>,
    customer_status: Option<CustomerStatus>,
    /// Whether the customer has used a free trial of one of the session's subscription products.
    trial_used: bool,
    /// The customer's current time.
    customer_now: Timestamp,
}

/// Loads and checks a session before a submit. `None`: it is complete.
async fn load(ctx: &Context, submission: &Submission, now: Timestamp) -> Result<Option<Loaded>, SubmitError> {
    let mut unit = ctx.store.read().await?;
    let (method_id, currency_id) = (&submission.method_id, &submission.currency_id);
    let context = unit.sessions().load_for_submit(&submission.session_id, method_id, currency_id, &submission.payer.did).await?;
    let SubmitContext { session, chosen, customer_status } = context.ok_or(SubmitError::NotFound)?;
    if session.payer.as_ref().is_some_and(|payer| *payer != submission.payer.did) {
        return Err(SubmitError::Forbidden);
    }
    if session.status == SessionStatus::Complete {
        return Ok(None);
    }
    if session.is_expired(now) {
        return Err(SubmitError::Expired);
    }
    let ChosenMethod { method, currency } = check_method(ctx, unit.as_mut(), &session, chosen, method_id).await?;
    let items = load_items(unit.as_mut(), &session).await?;
    let (mut reserved, mut intent, mut attempt) = (Vec::new(), None, None);
    // The first submit writes the intent together with the first stock reservation: without an intent there is neither.
    if let Some(id) = &session.intent_id {
        reserved = unit.prices().reservations(&session.id).await?;
        intent = unit.intents().find(id).await?;
        attempt = open_attempt(unit.as_mut(), &session).await?;
    }
    let stake = stake_of(unit.as_mut(), &session).await?;
    let (mut customer_now, mut trial_used) = (now, false);
    if let Some(CustomerStatus { customer, has_overdue, .. }) = &customer_status {
        if *has_overdue {
            return Err(SubmitError::CustomerLimited);
        }
        if session.kind != SessionMode::Payment {
            let clock = unit.clocks().of_customer(&customer.id).await?;
            customer_now = time_of(ctx, unit.as_mut(), clock.map(|clock| clock.id).as_ref()).await?;
            trial_used = has_used_trial(unit.as_mut(), &session, &recurring_products(&items), &customer.id).await?;
        }
    }
    if session.requires_cross_sell
        && !session.items.iter().any(|item| item.cross_sell)
        && cross_sell_price(unit.as_mut(), &session, &currency.id).await?.is_some()
    {
        return Err(SubmitError::RequireCrossSell);
    }
    Ok(Some(Loaded { session, method, currency, items, reserved, intent, attempt, stake, customer_status, trial_used, customer_now }))
}

/// One try: checks what is loaded, and writes everything in one unit of work before any network call.
async fn try_submit(ctx: &Context, submission: &Submission) -> Result<Step, SubmitError> {
    let now = ctx.now();
    let Some(loaded) = load(ctx, submission, now).await? else { return Ok(Step::Complete) };
    let Loaded { session, method, currency, items, reserved, attempt, customer_now, .. } = &loaded;
    for (item, CatalogueItem { price, .. }) in session.items.iter().zip(items) {
        if let Err(error) = check_quantity(price, item.quantity, reserved_of(reserved, &price.id)) {
            return Ok(Step::InsufficientStock(error, session.version));
        }
    }
    let requirements =
        ContactRequirements { phone: session.form.collect_phone, address: session.form.require_address, card: method.kind.is_card() };
    let mut contact = check_contact(&submission.form, requirements, &session.form.page_info).map_err(SubmitError::Fields)?;
    // A wallet's form shows the address only if the session requires one; a country alone is the page's preset.
    if !requirements.address && !requirements.card && contact.address.has_only_country() {
        contact.address = Address::default();
    }
    check_custom(session, items, currency)?;
    let without_trial = loaded.trial_used.then(|| session.terms.without_trial());
    let terms = without_trial.as_ref().unwrap_or(&session.terms);
    let quote = quote(&QuoteRequest { terms, ..QuoteRequest::of(session, items, !method.kind.is_card()) }, currency, *customer_now)?;
    check_total(submission, &quote, currency)?;
    if let Some(attempt) = attempt {
        let is_setup = matches!(attempt.kind, AttemptKind::CardSetup { .. });
        let is_same = attempt.method_id == method.id
            && attempt.currency_id == currency.id
            && attempt.amount == quote.due.now
            && is_setup == (method.kind.is_card() && needs_setup(session.kind, &quote));
        match attempt.kind {
            // The customer may have corrected the form; the open payment is kept.
            AttemptKind::Card { .. } | AttemptKind::CardSetup { .. } if is_same => {}
            AttemptKind::Card { .. } | AttemptKind::CardSetup { .. } => return Ok(Step::Replace(attempt.id.clone())),
            _ => return Err(SubmitError::PaymentInFlight),
        }
    }
    write_submit(ctx, submission, loaded, contact, quote, now).await
}

/// Compares the total that the payer saw with the quote that the submit charges.
fn check_total(submission: &Submission, quote: &Quote, currency: &Currency) -> Result<(), SubmitError> {
    let total = quote.total()?;
    if submission.expected_total.is_none_or(|expected| expected == total) {
        return Ok(());
    }
    let text = format!("{} {}", total.to_decimal(currency.decimals), currency.symbol);
    Err(SubmitError::TotalChanged { total, text })
}

/// Whether a card must be saved although nothing is due.
fn needs_setup(kind: SessionMode, quote: &Quote) -> bool {
    kind != SessionMode::Payment && quote.due.now.is_zero()
}

/// The open attempt of a session: a payment, a mandate, or a stake.
pub(super) async fn open_attempt(unit: &mut dyn UnitOfWork, session: &Session) -> Result<Option<Attempt>, StorageError> {
    if let Some(intent) = &session.intent_id
        && let Some(open) = unit.attempts().open_of_intent(intent).await?
    {
        return Ok(Some(open));
    }
    if session.kind == SessionMode::Payment {
        return Ok(None);
    }
    if let Some(mandate) = &session.mandate_id
        && let Some(open) = unit.attempts().open_of(&Purpose::Mandate(mandate.clone())).await?
    {
        return Ok(Some(open));
    }
    match &session.stake_id {
        Some(stake) => unit.attempts().open_of(&Purpose::Stake(stake.clone())).await,
        None => Ok(None),
    }
}

/// Checks that the buyer's custom amount, or the proposed one, is allowed in the chosen currency.
fn check_custom(session: &Session, items: &[CatalogueItem], currency: &Currency) -> Result<(), SubmitError> {
    for (item, CatalogueItem { price, .. }) in session.items.iter().zip(items) {
        if let Some(UnitPricing::Custom(custom)) = price.pricing_in(&currency.id) {
            // The amount was chosen in another currency and means something else in this one.
            let named = item.custom_amount.filter(|_| session.currency_id == currency.id);
            if named.is_none() && item.custom_amount.is_some() {
                return Err(SubmitError::CurrencyNotConfigured);
            }
            custom.check(named.unwrap_or_else(|| custom.proposed()), currency.decimals, currency.maximum_precision)?;
        }
    }
    Ok(())
}

/// Writes a submit. Lock order (billing model): session, intent, stake, invoices, stock, then inserts of attempts. Stock comes late,
/// because from then on buyers of the same price wait for each other until the commit.
async fn write_submit(
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
    if session.kind != SessionMode::Payment {
        session.mandate_id = mandate_for(ctx, unit.as_mut(), &session, &method, now).await?;
    }
    let plan = plan_stake(stake.as_ref(), quote.stake, &currency, &submission.payer.did);
    assign_stake(ctx, &mut session, stake.as_ref(), &plan, now);
    unit.sessions().update_or_conflict(&session).await?;
    session.version += 1;

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
    reserve_stock(unit.as_mut(), &session, &items, &reserved, now).await?;
    for (item, CatalogueItem { price, .. }) in session.items.iter().zip(&mut items) {
        price.quantity_sold = price.quantity_sold.saturating_sub(reserved_of(&reserved, &price.id)) + item.quantity;
    }

    let is_free = amount.is_zero() && session.kind == SessionMode::Payment;
    let attempt = match open {
        Some(attempt) => Some(attempt),
        None if method.kind.is_card() && !is_free => {
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
    Ok(Step::Open(Box::new(session), may_pay_fast))
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

async fn check_method(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: &Session,
    chosen: Option<ChosenMethod>,
    id: &MethodId,
) -> Result<ChosenMethod, SubmitError> {
    let Some(ChosenMethod { method, currency }) = chosen else {
        return Err(match unit.methods().find(id).await? {
            Some(_) => SubmitError::CurrencyNotConfigured,
            None => SubmitError::MethodNotSupported,
        });
    };
    let is_supported = ctx.networks.card(method.kind).is_some() || ctx.networks.wallet(method.kind).is_some();
    if !is_supported || !method.active || method.mode != session.mode {
        return Err(SubmitError::MethodNotSupported);
    }
    if !currency.active || currency.mode != session.mode {
        return Err(SubmitError::CurrencyNotConfigured);
    }
    ctx.networks.check_open(&method).map_err(RailError::from)?;
    Ok(ChosenMethod { method, currency })
}

/// The prices and products of the items, in their order; all must be active. A price that was replaced after the session was opened is
/// still sold by it, because the session keeps what it showed.
pub(super) async fn load_items(unit: &mut dyn UnitOfWork, session: &Session) -> Result<Vec<CatalogueItem>, SubmitError> {
    let sold = load_sold(unit, session).await?;
    if sold.iter().all(|item| item.price.is_payable() && item.product.active) { Ok(sold) } else { Err(SubmitError::Misconfigured) }
}

/// As [`load_items`], active or not.
pub(super) async fn load_sold(unit: &mut dyn UnitOfWork, session: &Session) -> Result<Vec<CatalogueItem>, SubmitError> {
    let ids: Vec<_> = session.items.iter().map(|item| item.sold().clone()).collect();
    let mut sold = unit.prices().find_with_products(&ids).await?;
    sold.sort_by_key(|item| ids.iter().position(|id| *id == item.price.id));
    if sold.is_empty() || sold.len() != ids.len() { Err(SubmitError::Misconfigured) } else { Ok(sold) }
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

/// The names of the products of an order.
pub(super) fn names_of(items: &[CatalogueItem]) -> ProductNames {
    ProductNames::of(items.iter().map(|item| &item.product))
}

/// The names of the products at these places.
pub(super) fn group_names(items: &[CatalogueItem], places: &[usize]) -> ProductNames {
    ProductNames::of(places.iter().map(|place| &items[*place].product))
}

/// The description of a subscription group: the store's text for recurring items, else the names of the products.
fn describe_group(session: &Session, items: &[CatalogueItem], group: &SubscriptionGroup) -> Description {
    Description::Product(match group.cycle.is_some() && !session.terms.description.is_empty() {
        true => Text::with_fallback(&session.terms.description, None).into(),
        false => group_names(items, &group.items),
    })
}
