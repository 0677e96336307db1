//! The customer of a history and their subscriptions, determined by the seed.

use super::network_client::{NetworkClient, PaymentOption, UNIT};
use super::rng::Rng;
use crate::Failure;
use souk_adapters::arcblock::TestWallet;
use souk_domain::access::{Did, Wallet};
use souk_domain::billing::{
    BillTo, BillingReason, DocumentType, Invoice, InvoiceItem, InvoiceStatus, NewInvoice, Period, PricingFormula, Stake, StakePurpose,
    StakeStatus, StakeSubject, Subscription, SubscriptionItem, SubscriptionStatus, TestClock, Threshold,
};
use souk_domain::customer::Customer;
use souk_domain::ledger::{Account, Entry, EntryType, Posting};
use souk_domain::payment::{
    Attempt, AttemptKind, AttemptStatus, Currency, Description, Mandate, MandateStatus, Method, Purpose, SignedTransaction,
};
use souk_domain::pricing::{
    Aggregate, Anchoring, CurrencyOption, Interval, Metadata, Price, PriceShare, Product, Recurring, RecurringInterval, Tier, TiersMode,
    Usage,
};
use souk_domain::shared::Text;
use souk_domain::shared::*;
use souk_domain::storage::UnitOfWork;
use std::time::Duration;

/// Billing intervals with their counts. Short ones are frequent, because more renewals happen in them.
const INTERVALS: [(Interval, u32); 10] = [
    (Interval::Hour, 6),
    (Interval::Hour, 12),
    (Interval::Day, 1),
    (Interval::Day, 1),
    (Interval::Day, 3),
    (Interval::Week, 1),
    (Interval::Month, 1),
    (Interval::Month, 3),
    (Interval::Month, 6),
    (Interval::Year, 1),
];

/// A customer with a payment method and subscriptions.
pub struct Fixtures {
    pub number: u32,
    pub customer: CustomerId,
    pub wallet: TestWallet,
    pub by_card: bool,
    /// Whether the customer has enough funds and a sufficient delegation, and rarely a trial.
    pub calm: bool,
    pub clock: Option<ClockId>,
    pub plans: Vec<Plan>,
    /// The price of a one-time purchase.
    pub one_time: PriceId,
    rng: u64,
}

/// A subscription and its prices.
pub struct Plan {
    pub id: SubscriptionId,
    pub cycle: RecurringInterval,
    pub prices: Vec<PlanPrice>,
    /// Another price of the same product with the same interval: a plan to change to, and to buy.
    pub other: PlanPrice,
    trial: Option<Duration>,
    /// The age of the subscription at the start of the history.
    since: Duration,
    days_until_cancel: u32,
    /// The stake in whole tokens.
    stake: Option<u64>,
    /// The billing threshold in hundredths of a token, or cents, and whether billing at it starts a new period.
    threshold: Option<(u64, bool)>,
}

pub struct PlanPrice {
    pub item: SubscriptionItemId,
    pub id: PriceId,
    usage: Usage,
    tiers: Option<TiersMode>,
    /// The unit amount in hundredths of a token, or cents.
    unit: u64,
    quantity: u64,
}

impl Fixtures {
    pub fn of(seed: u64, number: u32) -> Result<Self, Failure> {
        let mut rng = Rng::of(seed, number, u32::MAX);
        let wallet = TestWallet::from_seed(&rng.key());
        let (by_card, calm) = (rng.below(10) < 4, rng.one_in(2));
        let clock = if rng.below(10) < 6 { Some(ClockId::parse(&format!("clock_h{number}"))?) } else { None };
        let count = 1 + rng.below(3);
        let plans = (0..count).map(|index| Plan::of(&mut rng, number, index, Traits { by_card, calm })).collect::<Result<_, _>>()?;
        let rng = rng.below(u64::MAX);
        let (customer, one_time) = (CustomerId::parse(&format!("cus_h{number}"))?, PriceId::parse(&format!("price_h{number}_gift"))?);
        Ok(Self { number, customer, wallet, by_card, calm, clock, plans, one_time, rng })
    }

    /// The wallet as the store identifies it.
    pub fn payer(&self) -> Wallet {
        Wallet { did: self.wallet.did().clone(), public_key: self.wallet.public_key_base58() }
    }

    /// The shortest interval of all subscriptions.
    pub fn shortest_interval(&self) -> Duration {
        Duration::from_secs(self.plans.iter().map(|plan| plan.cycle.seconds()).min().unwrap_or(3_600))
    }

    /// Creates the customer and the subscriptions in one unit of work. A second call changes nothing.
    pub async fn enter(&self, client: &NetworkClient) -> Result<(), Failure> {
        let ctx = &client.store.ctx;
        if ctx.store.read().await?.customers().find(&self.customer).await?.is_some() {
            return Ok(());
        }
        let mut rng = Rng::of(self.rng, self.number, 0);
        if !self.by_card && (self.calm || !rng.one_in(6)) {
            client.faucet(self.wallet.did()).await?;
        }
        let PaymentOption { method, currency } = client.payment_option(self.by_card);
        let limit = if rng.one_in(6) && !self.calm { 3 } else { 1_000 };
        let details = if self.by_card { client.save_card(self).await? } else { client.delegate(self, limit).await? };
        let now = ctx.now();
        let mandate = Mandate {
            id: MandateId::parse(&format!("man_h{}", self.number))?,
            mode: Mode::Test,
            customer_id: self.customer.clone(),
            method_id: method.id.clone(),
            status: MandateStatus::Active,
            details: Some(details),
            created_at: now,
            updated_at: now,
        };
        let mut stakes = Vec::new();
        for (nonce, plan) in (u64::from(self.number) * 10 + 1_000..).zip(&self.plans) {
            stakes.push(match plan.stake.filter(|_| !self.by_card) {
                Some(tokens) => client.stake(self, &plan.stake_id()?, tokens, nonce).await?.map(|signed| (tokens, signed)),
                None => None,
            });
        }
        let mut unit = ctx.store.begin().await?;
        unit.customers().upsert(&self.as_customer(now)).await?;
        if let Some(id) = &self.clock {
            let name = format!("History {}", self.number);
            let customer_id = self.customer.clone();
            unit.clocks()
                .insert(&TestClock { id: id.clone(), name, customer_id, now, target: None, timeline: Vec::new(), created_at: now })
                .await?;
        }
        unit.mandates().upsert(&mandate).await?;
        let product = self.product(now)?;
        unit.products().insert(&product).await?;
        let both = [currency, &client.payment_option(!self.by_card).currency];
        let one_time =
            Price { id: self.one_time.clone(), recurring: None, ..self.plans[0].price(&self.plans[0].other, &product, both, now) };
        unit.prices().insert(&one_time).await?;
        unit.prices().insert_shares(&one_time.id, &self.shares()).await?;
        for (plan, stake) in self.plans.iter().zip(stakes) {
            for price in plan.prices.iter().chain([&plan.other]) {
                unit.prices().insert(&plan.price(price, &product, both, now)).await?;
            }
            let stake_id = if stake.is_some() { Some(plan.stake_id()?) } else { None };
            let subscription = plan.subscription(self, method, currency, &mandate, stake_id, now)?;
            unit.subscriptions().insert(&subscription).await?;
            let ids: Vec<_> = subscription.items.iter().map(|item| item.price_id.clone()).collect();
            unit.prices().lock(&ids).await?;
            if let Some((tokens, signed)) = stake {
                self.write_stake(client, unit.as_mut(), &subscription, tokens, signed, now).await?;
            }
        }
        unit.commit().await?;
        Ok(())
    }

    /// The shares of the one-time purchase. Hardly an amount can be distributed by them without a remainder.
    fn shares(&self) -> Vec<PriceShare> {
        let share = |name: &str, millionths| PriceShare { beneficiary: Did::from_verified(name), millionths };
        vec![share("z1historydeveloper", 612_345), share("z1historyartist", 77_777)]
    }

    fn as_customer(&self, now: Timestamp) -> Customer {
        Customer {
            id: self.customer.clone(),
            mode: Mode::Test,
            did: self.wallet.did().clone(),
            name: format!("History {}", self.number),
            email: format!("history-{}@souk.example", self.number),
            phone: String::new(),
            address: None,
            language: Language::English,
            created_at: now,
            updated_at: now,
        }
    }

    fn product(&self, now: Timestamp) -> Result<Product, IdError> {
        Ok(Product {
            id: ProductId::parse(&format!("prod_h{}", self.number))?,
            mode: Mode::Test,
            active: true,
            name: format!("Plan {}", self.number),
            name_zh: None,
            description: String::new(),
            description_zh: None,
            images: Vec::new(),
            features: Vec::new(),
            unit_label: None,
            unit_label_zh: None,
            statement_descriptor: None,
            default_price_id: None,
            app: None,
            cross_sells_to: None,
            metadata: Metadata::new(),
            created_at: now,
            updated_at: now,
        })
    }

    /// Writes the records that a checkout creates for a placed stake.
    async fn write_stake(
        &self,
        client: &NetworkClient,
        unit: &mut dyn UnitOfWork,
        subscription: &Subscription,
        tokens: u64,
        signed: SignedTransaction,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let random = client.store.ctx.random.as_ref();
        let amount = Amount::new(u128::from(tokens) * UNIT);
        let stake_id = subscription.stake_id.clone().ok_or("the subscription names no stake")?;
        let stake = Stake {
            id: stake_id.clone(),
            mode: Mode::Test,
            customer_id: subscription.customer_id.clone(),
            payer: self.wallet.did().clone(),
            method_id: subscription.method_id.clone(),
            currency_id: subscription.currency_id.clone(),
            subject: StakeSubject::Subscription(subscription.id.clone()),
            purpose: StakePurpose::Security,
            waiting_days: 14,
            amount_requested: amount,
            amount,
            amount_forfeited: Amount::ZERO,
            amount_returned: Amount::ZERO,
            reservation: None,
            status: StakeStatus::Held,
            release_reason: None,
            released_at: None,
            return_at: None,
            failure_count: 0,
            failure: None,
            reference: Some(signed.hash.clone()),
            return_reference: None,
            checked_at: Timestamp::from_seconds(0),
            created_at: now,
            updated_at: now,
        };
        unit.stakes().insert(&stake).await?;
        let attempt = Attempt {
            id: AttemptId::new(now, random),
            purpose: Purpose::Stake(stake_id),
            session_id: None,
            period: None,
            connect_token: None,
            method_id: subscription.method_id.clone(),
            currency_id: subscription.currency_id.clone(),
            amount,
            status: AttemptStatus::Settled,
            kind: AttemptKind::Wallet { payer: self.wallet.did().clone(), bytes: signed.bytes, hash: signed.hash },
            last_error: None,
            moved: None,
            checks: 0,
            check_at: now,
            sent_at: Some(now),
            created_at: now,
            updated_at: now,
        };
        unit.attempts().insert(&attempt, &[]).await?;
        let postings = vec![
            Posting::debit(Account::stakes_held(&attempt.method_id), amount, &attempt.currency_id),
            Posting::credit(Account::StakesPayable, amount, &attempt.currency_id),
        ];
        let entry = Entry::new(EntryId::new(now, random), Mode::Test, EntryType::StakePlaced, attempt.id.as_str(), now, postings)?;
        unit.journal().post(&entry).await?;
        let number = unit.invoices().allocate_numbers(Mode::Test, DocumentType::Statement, 1).await?;
        let invoice = stake_invoice(InvoiceId::new(now, random), number, subscription, amount, now);
        let item = InvoiceItem {
            id: InvoiceItemId::new(now, random),
            invoice_id: invoice.id.clone(),
            subscription_item_id: None,
            price_id: None,
            description: invoice.description.clone(),
            quantity: 1,
            unit_amount: amount,
            amount,
            credited: Amount::ZERO,
            period: None,
            covers_until: None,
            pricing_formula: PricingFormula::Flat { amount },
        };
        unit.invoices().insert_final_all(&[NewInvoice { invoice, items: vec![item] }]).await?;
        Ok(())
    }
}

fn stake_invoice(id: InvoiceId, number: u64, subscription: &Subscription, amount: Amount, now: Timestamp) -> Invoice {
    Invoice {
        id,
        mode: Mode::Test,
        number: Some(number),
        status: InvoiceStatus::Paid,
        reason: BillingReason::Stake,
        description: Description::Deposit,
        customer_id: subscription.customer_id.clone(),
        currency_id: subscription.currency_id.clone(),
        method_id: subscription.method_id.clone(),
        session_id: None,
        subscription_id: Some(subscription.id.clone()),
        period: None,
        intent_id: None,
        reference: None,
        bill_to: BillTo { name: subscription.name.first.en.clone(), email: String::new(), phone: String::new(), address: None },
        total: amount,
        amount_paid: amount,
        amount_credited: Amount::ZERO,
        failure_count: 0,
        retry_at: None,
        clock_id: subscription.clock_id.clone(),
        created_at: now,
        finalized_at: Some(now),
        paid_at: Some(now),
        updated_at: now,
    }
}

/// The traits of a customer that their plans depend on.
#[derive(Clone, Copy)]
struct Traits {
    by_card: bool,
    calm: bool,
}

impl Plan {
    fn of(rng: &mut Rng, number: u32, index: u64, Traits { by_card, calm }: Traits) -> Result<Self, Failure> {
        let (interval, count) = rng.pick(&INTERVALS);
        let anchoring = if by_card && rng.one_in(2) { Anchoring::Calendar } else { Anchoring::Fixed };
        let metered = rng.one_in(2);
        let mut prices = vec![PlanPrice::of(rng, number, index, 0, Usage::Licensed)?];
        if metered {
            let aggregate = rng.pick(&Aggregate::ALL);
            prices.push(PlanPrice::of(rng, number, index, 1, Usage::Metered(aggregate))?);
        }
        let other = PlanPrice::of(rng, number, index, 2, Usage::Licensed)?;
        Ok(Self {
            id: SubscriptionId::parse(&format!("sub_h{number}_{index}"))?,
            cycle: RecurringInterval::new(interval, count, anchoring)?,
            prices,
            other,
            trial: rng.one_in(if calm { 8 } else { 2 }).then(|| Duration::from_secs(3_600 * (1 + rng.below(24 * 7)))),
            since: Duration::from_secs(3_600 * rng.below(48)),
            days_until_cancel: u32::try_from(1 + rng.below(15))?,
            stake: rng.one_in(3).then(|| 1 + rng.below(30)),
            threshold: if metered && !rng.one_in(3) { Some((50 + rng.below(2_500), rng.one_in(3))) } else { None },
        })
    }

    fn stake_id(&self) -> Result<StakeId, IdError> {
        StakeId::parse(&self.id.as_str().replacen("sub_", "stk_", 1))
    }

    /// A price in both currencies, so that either method can be charged; `base` is the currency in which the subscription starts.
    fn price(&self, price: &PlanPrice, product: &Product, [base, other]: [&Currency; 2], now: Timestamp) -> Price {
        let amount = |currency: &Currency, hundredths: u64| Amount::new(u128::from(hundredths) * hundredth_of(currency));
        let tier = |currency, up_to, unit, flat| Tier { up_to, unit_amount: amount(currency, unit), flat_amount: amount(currency, flat) };
        let tiers = |currency| match price.tiers {
            Some(_) => vec![
                tier(currency, Some(3), price.unit, 0),
                tier(currency, Some(10), price.unit / 2, 7),
                tier(currency, None, price.unit / 3, 0),
            ],
            None => Vec::new(),
        };
        let option = CurrencyOption { tiers: tiers(other), ..CurrencyOption::per_unit(other.id.clone(), amount(other, price.unit)) };
        Price {
            id: price.id.clone(),
            mode: Mode::Test,
            product_id: product.id.clone(),
            active: true,
            locked: false,
            replaced_by: None,
            nickname: String::new(),
            lookup_key: None,
            currency_id: base.id.clone(),
            unit_amount: amount(base, price.unit),
            currency_options: vec![option],
            recurring: Some(Recurring { cycle: self.cycle, usage: price.usage }),
            tiers_mode: price.tiers,
            tiers: tiers(base),
            custom: None,
            upsells_to: None,
            stock_of: None,
            quantity_available: 0,
            quantity_sold: 0,
            quantity_limit_per_checkout: 0,
            metadata: Metadata::new(),
            created_at: now,
            updated_at: now,
        }
    }

    fn subscription(
        &self,
        fixtures: &Fixtures,
        method: &Method,
        currency: &Currency,
        mandate: &Mandate,
        stake_id: Option<StakeId>,
        now: Timestamp,
    ) -> Result<Subscription, Failure> {
        // With a test clock the subscription starts now; otherwise it started up to two days ago, so that renewals are already due.
        let start = if fixtures.clock.is_some() { now } else { now.minus(self.since) };
        let anchor = self.trial.map_or(start, |trial| start.plus(trial));
        let period = Period { start, end: anchor };
        let status = if self.trial.is_some() { SubscriptionStatus::Trialing } else { SubscriptionStatus::Active };
        let item = |price: &PlanPrice| SubscriptionItem {
            id: price.item.clone(),
            price_id: price.id.clone(),
            quantity: price.quantity,
            billed: None,
        };
        Ok(Subscription {
            id: self.id.clone(),
            mode: Mode::Test,
            status,
            description: String::new(),
            name: Text::with_fallback(&format!("Plan {}", fixtures.number), None).into(),
            customer_id: fixtures.customer.clone(),
            method_id: method.id.clone(),
            currency_id: currency.id.clone(),
            mandate_id: Some(mandate.id.clone()),
            session_id: None,
            items: self.prices.iter().map(item).collect(),
            cycle: self.cycle,
            anchor,
            index: None,
            period,
            trial: self.trial.map(|_| period),
            cancel_at_period_end: false,
            cancel_at: None,
            canceled_at: None,
            ended_at: None,
            cancellation: None,
            past_due_since: None,
            paused_at: None,
            days_until_cancel: self.days_until_cancel,
            billing_threshold: self.threshold.map(|(hundredths, resets_anchor)| Threshold {
                amount: Amount::new(u128::from(hundredths) * hundredth_of(currency)),
                resets_anchor,
            }),
            stake_id,
            overdraft_stake_id: None,
            overdraft_at: None,
            latest_invoice_id: None,
            clock_id: fixtures.clock.clone(),
            due_at: None,
            on_hold: None,
            bounds: Default::default(),
            metadata: Metadata::new(),
            created_at: now,
            updated_at: now,
            version: 0,
        })
    }
}

/// One hundredth of a currency's unit, in base units.
fn hundredth_of(currency: &Currency) -> u128 {
    10u128.pow(currency.decimals.saturating_sub(2))
}

impl PlanPrice {
    fn of(rng: &mut Rng, number: u32, plan: u64, index: u32, usage: Usage) -> Result<Self, Failure> {
        let tiers = if rng.one_in(3) { Some(rng.pick(&[TiersMode::Graduated, TiersMode::Volume])) } else { None };
        Ok(Self {
            item: SubscriptionItemId::parse(&format!("si_h{number}_{plan}_{index}"))?,
            id: PriceId::parse(&format!("price_h{number}_{plan}_{index}"))?,
            usage,
            tiers,
            unit: if rng.one_in(8) { 0 } else { 50 + rng.below(2_000) },
            quantity: 1 + rng.below(5),
        })
    }
}
