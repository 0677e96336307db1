//! Everything that one batch of the billing engine needs, read up front with one statement per kind of object.

use super::balance::amount_in;
use super::invoice::plan_payments;
use super::{Balance, BillTo, BillingError, BillingReason, Invoice, InvoiceStatus, Period, Subscription, Unbillable};
use crate::access::Did;
use crate::context::Context;
use crate::customer::Customer;
use crate::payment::{
    Attempt, AttemptKind, ChargedPeriod, Currency, Description, Intent, IntentStatus, Mandate, MandateDetails, MandateStatus, Method,
    MethodAmount, NewAttempt, PlannedPayment, Purpose, SavedCard, StoreTransaction, StoreTransactionRequest,
};
use crate::pricing::{Metadata, Price, Product, ProductNames};
use crate::shared::{
    Amount, AmountError, AttemptId, CurrencyId, CustomerId, InvoiceId, MandateId, MethodId, PaymentIntentId, PriceId, ProductId, Timestamp,
};
use crate::storage::UnitOfWork;
use std::collections::{BTreeSet, HashMap};
use std::num::NonZero;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long the reconciler waits before it checks a new attempt. The attempt's own message sends it, which takes time when many renewals
/// are due at once.
const FIRST_CHECK: Duration = Duration::from_secs(600);
/// The least number of transactions that a thread signs. A new thread costs about as much as signing two.
const SIGNED_BY_THREAD: usize = 16;

/// Everything that the subscriptions of one batch refer to, by id.
#[derive(Debug, Default)]
pub(super) struct BillingBatch {
    pub prices: HashMap<PriceId, Price>,
    pub products: HashMap<ProductId, Product>,
    pub customers: HashMap<CustomerId, Customer>,
    pub mandates: HashMap<MandateId, Mandate>,
    pub methods: HashMap<MethodId, Method>,
    pub currencies: HashMap<CurrencyId, Currency>,
    /// The customers' balances, less what this batch plans to use.
    balances: Vec<Balance>,
}

/// A charge that a mandate allows.
#[derive(Debug)]
pub(super) struct Charge {
    pub intent: Intent,
    pub attempt: UnsignedAttempt,
}

/// The attempt of a charge before its transaction is signed.
#[derive(Debug)]
pub(super) struct UnsignedAttempt {
    source: Source,
    period: Option<ChargedPeriod>,
    /// The invoices that the attempt pays, with amounts.
    planned: Vec<PlannedPayment>,
}

/// Charges of a batch that are being signed. The threads end on their own if this is dropped.
#[must_use = "the attempts are not written"]
pub(super) enum Signing {
    Signed(Result<Vec<NewAttempt>, BillingError>),
    /// In the order of the charges.
    InThreads(Vec<JoinHandle<Result<Vec<NewAttempt>, BillingError>>>),
}

impl Signing {
    /// Returns the attempts in the order of their intents. Blocks until they are signed.
    pub fn finish(self) -> Result<Vec<NewAttempt>, BillingError> {
        let threads = match self {
            Self::Signed(result) => return result,
            Self::InThreads(threads) => threads,
        };
        let mut signed = Vec::new();
        for thread in threads {
            signed.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(signed)
    }
}

/// What is charged.
#[derive(Debug)]
enum Source {
    Wallet { payer: Did, nonce: u64 },
    Card(SavedCard),
}

impl BillingBatch {
    pub async fn read(unit: &mut dyn UnitOfWork, subscriptions: &[Subscription]) -> Result<Self, BillingError> {
        fn distinct<T: Ord + Clone>(ids: impl Iterator<Item = T>) -> Vec<T> {
            ids.collect::<BTreeSet<_>>().into_iter().collect()
        }
        let mut batch = Self::default();
        let prices = distinct(subscriptions.iter().flat_map(|one| one.items.iter().map(|item| item.price_id.clone())));
        let prices = unit.prices().find_all(&prices).await?;
        let products = distinct(prices.iter().map(|price| price.product_id.clone()));
        let products = unit.products().find_all(&products).await?;
        let customers = distinct(subscriptions.iter().map(|one| one.customer_id.clone()));
        batch.balances = unit.balances().of_all(&customers).await?;
        let customers = unit.customers().find_all(&customers).await?;
        let mandates = distinct(subscriptions.iter().filter_map(|one| one.mandate_id.clone()));
        let mandates = unit.mandates().find_all(&mandates).await?;
        for mode in distinct(subscriptions.iter().map(|one| one.mode)) {
            let methods = unit.methods().list(mode).await?;
            batch.methods.extend(methods.into_iter().map(|method| (method.id.clone(), method)));
            let currencies = unit.methods().currencies(mode).await?;
            batch.currencies.extend(currencies.into_iter().map(|currency| (currency.id.clone(), currency)));
        }
        batch.prices = prices.into_iter().map(|price| (price.id.clone(), price)).collect();
        batch.products = products.into_iter().map(|product| (product.id.clone(), product)).collect();
        batch.customers = customers.into_iter().map(|customer| (customer.id.clone(), customer)).collect();
        batch.mandates = mandates.into_iter().map(|mandate| (mandate.id.clone(), mandate)).collect();
        Ok(batch)
    }

    /// The current names of a subscription's products.
    pub fn product_names(&self, subscription: &Subscription) -> ProductNames {
        let prices = subscription.items.iter().filter_map(|item| self.prices.get(&item.price_id));
        ProductNames::of(prices.filter_map(|price| self.products.get(&price.product_id)))
    }

    /// Builds a subscription's invoice to be finalized; it has no number yet.
    pub fn invoice(
        &self,
        id: InvoiceId,
        subscription: &Subscription,
        reason: BillingReason,
        period: Period,
        total: Amount,
        now: Timestamp,
    ) -> Result<Invoice, Unbillable> {
        let customer = self.customers.get(&subscription.customer_id).ok_or(Unbillable::NoCustomer)?;
        Ok(Invoice {
            id,
            mode: subscription.mode,
            number: None,
            status: InvoiceStatus::Draft,
            reason,
            description: Description::Product(subscription.title()),
            customer_id: customer.id.clone(),
            currency_id: subscription.currency_id.clone(),
            method_id: subscription.method_id.clone(),
            session_id: None,
            subscription_id: Some(subscription.id.clone()),
            period: Some(period),
            intent_id: None,
            reference: None,
            bill_to: BillTo::of(customer),
            total,
            amount_paid: Amount::ZERO,
            amount_credited: Amount::ZERO,
            failure_count: 0,
            retry_at: None,
            clock_id: subscription.clock_id.clone(),
            created_at: now,
            finalized_at: None,
            paid_at: None,
            updated_at: now,
        })
    }

    /// The balance of a subscription's customer in its currency.
    pub fn balance_of(&self, subscription: &Subscription) -> Amount {
        amount_in(&self.balances, &subscription.customer_id, &subscription.currency_id)
    }

    /// Returns how much of `total` a balance pays: see [`MethodKind::applied_balance`].
    pub fn applied(&self, subscription: &Subscription, total: Amount, balance: Amount) -> Amount {
        let method = self.methods.get(&subscription.method_id);
        match (method, self.currencies.get(&subscription.currency_id)) {
            (Some(method), Some(currency)) => method.kind.applied_balance(currency, total, balance),
            _ => Amount::ZERO,
        }
    }

    /// Plans to pay `total` from the balance as far as it reaches. `added` is what was added to the balance after this batch read it.
    /// Several invoices of one batch share the balance.
    pub fn use_balance(&mut self, subscription: &Subscription, total: Amount, added: Amount) -> Result<Amount, AmountError> {
        let balance = self.balance_of(subscription).plus(added)?;
        let applied = self.applied(subscription, total, balance);
        let balance_left = balance.minus(applied)?;
        let is_same_balance =
            |one: &&mut Balance| one.customer_id == subscription.customer_id && one.currency_id == subscription.currency_id;
        match self.balances.iter_mut().find(is_same_balance) {
            Some(found) => found.amount = balance_left,
            None => self.balances.push(Balance {
                customer_id: subscription.customer_id.clone(),
                currency_id: subscription.currency_id.clone(),
                amount: balance_left,
            }),
        }
        Ok(applied)
    }

    /// Builds a charge of an invoice's remaining amount on the subscription's mandate. `None`: there is no active mandate to charge.
    /// [`BillingError::Rail`]: the settings of the payment method are wrong.
    pub fn charge(
        &self,
        ctx: &Context,
        subscription: &Subscription,
        invoice: &Invoice,
        nonce: u64,
    ) -> Result<Option<Charge>, BillingError> {
        let mandate = subscription.mandate_id.as_ref().and_then(|id| self.mandates.get(id));
        let Some(mandate) = mandate.filter(|mandate| mandate.status == MandateStatus::Active) else { return Ok(None) };
        let (Some(method), true) = (self.methods.get(&invoice.method_id), self.currencies.contains_key(&invoice.currency_id)) else {
            return Ok(None);
        };
        let source = match &mandate.details {
            Some(MandateDetails::Delegation { payer, .. }) => {
                let Some(rail) = ctx.networks.wallet(method.kind) else { return Ok(None) };
                rail.check_signing(method)?;
                Source::Wallet { payer: payer.clone(), nonce }
            }
            Some(MandateDetails::Card(card)) => Source::Card(card.clone()),
            None => return Ok(None),
        };
        let wall = ctx.now();
        let intent_id = invoice.intent_id.clone().unwrap_or_else(|| PaymentIntentId::new(wall, ctx.random.as_ref()));
        let period = invoice.period.map(|period| ChargedPeriod {
            invoice: invoice.id.clone(),
            subscription: subscription.id.clone(),
            start: period.start,
        });
        let intent = Intent {
            id: intent_id,
            mode: invoice.mode,
            status: IntentStatus::Processing,
            description: invoice.description.clone(),
            amount: invoice.remaining(),
            amount_received: Amount::ZERO,
            amount_refunded: Amount::ZERO,
            currency_id: invoice.currency_id.clone(),
            method_id: invoice.method_id.clone(),
            customer_id: invoice.customer_id.clone(),
            subscription_id: Some(subscription.id.clone()),
            session_id: None,
            invoices: vec![invoice.id.clone()],
            last_error: None,
            reference: String::new(),
            payer: String::new(),
            held_attempt_id: None,
            metadata: Metadata::new(),
            // Customers on a test clock see their clock's dates.
            created_at: if invoice.clock_id.is_some() { invoice.created_at } else { wall },
            updated_at: wall,
        };
        let planned = plan_payments(std::slice::from_ref(invoice));
        Ok(Some(Charge { intent, attempt: UnsignedAttempt { source, period, planned } }))
    }

    /// Signs the transactions of charges and builds their attempts. Many are signed on other threads, while the batch writes its invoices:
    /// the database needs longer for these than the signatures take.
    pub fn begin_signing(self: Arc<Self>, ctx: &Context, intents: &Arc<[Intent]>, mut unsigned: Vec<UnsignedAttempt>) -> Signing {
        if unsigned.len() < SIGNED_BY_THREAD {
            return Signing::Signed(intents.iter().zip(unsigned).map(|(intent, one)| self.sign(ctx, intent, one)).collect());
        }
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let size = unsigned.len().div_ceil(cores).max(SIGNED_BY_THREAD);
        let mut threads = Vec::new();
        while !unsigned.is_empty() {
            let later = unsigned.split_off(size.min(unsigned.len()));
            let part = std::mem::replace(&mut unsigned, later);
            let (batch, ctx, intents, start) = (Arc::clone(&self), ctx.clone(), Arc::clone(intents), threads.len() * size);
            let sign = move || intents.iter().skip(start).zip(part).map(|(intent, unsigned)| batch.sign(&ctx, intent, unsigned)).collect();
            threads.push(thread::spawn(sign));
        }
        Signing::InThreads(threads)
    }

    /// Signs the transaction of a charge, if it has one, and builds its attempt.
    pub fn sign(&self, ctx: &Context, intent: &Intent, unsigned: UnsignedAttempt) -> Result<NewAttempt, BillingError> {
        let UnsignedAttempt { source, period, planned } = unsigned;
        let kind = match source {
            Source::Wallet { payer, nonce } => {
                let method = self.methods.get(&intent.method_id).ok_or(BillingError::Orphan)?;
                let currency = self.currencies.get(&intent.currency_id).ok_or(BillingError::Orphan)?;
                let rail = ctx.networks.wallet(method.kind).ok_or(BillingError::Orphan)?;
                let reference = intent.invoices.first().map(ToString::to_string).unwrap_or_default();
                let transaction = StoreTransaction::Pull { payer: payer.clone() };
                let request = StoreTransactionRequest { transaction, amount: intent.amount, reference, period: period.clone(), nonce };
                let signed = rail.sign(method, currency, &request)?;
                AttemptKind::Wallet { payer, bytes: signed.bytes, hash: signed.hash }
            }
            Source::Card(card) => AttemptKind::OffSession { card, provider_id: String::new() },
        };
        let wall = ctx.now();
        let money = MethodAmount { method_id: intent.method_id.clone(), currency_id: intent.currency_id.clone(), amount: intent.amount };
        let id = AttemptId::new(wall, ctx.random.as_ref());
        let attempt = Attempt::begin(id, Purpose::Payment(intent.id.clone()), kind, money, wall);
        Ok(NewAttempt { attempt: Attempt { period, check_at: wall.plus(FIRST_CHECK), ..attempt }, planned })
    }
}
