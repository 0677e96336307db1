//! A checkout and the objects it references, used by the cases of several ports.

use souk_adapters::persistence::{Database, SecretBox, SqlStore};
use souk_adapters::testing::{FixedClock, SeededRandom};
use souk_domain::access::{Did, User};
use souk_domain::billing::{
    BillTo, BillingPolicy, BillingReason, Invoice, InvoiceItem, InvoiceStatus, NewInvoice, PricingFormula, Stake, StakePurpose,
    StakeStatus, StakeSubject, TrialTerms,
};
use souk_domain::checkout::{
    self, FormOptions, LineItem, PaymentLink, PaymentStatus, QuantityRange, SessionMode, SessionStatus, SubscriptionTerms,
};
use souk_domain::context::{Context, Networks};
use souk_domain::customer::{Address, Contact, Customer, Field, FieldPattern, PageInfo};
use souk_domain::operation::{KnownInstallation, TrustedClock, UnlimitedDisk, VisitorLimits};
use souk_domain::payment::{
    Attempt, AttemptKind, AttemptStatus, Currency, Description, Intent, IntentStatus, Method, MethodKind, MethodSettings, Purpose, Secret,
};
use souk_domain::pricing::{Metadata, ProductNames};
use souk_domain::shared::Text;
use souk_domain::shared::*;
use souk_domain::storage::{Store, UnitOfWork};
use souk_domain::store::Entitlement;
use std::sync::Arc;
use std::time::Duration;

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_768_478_400 + seconds)
}

pub fn id<T: Id>(text: &str) -> T {
    T::parse(text).expect("an id")
}

pub fn did(text: &str) -> Did {
    Did::from_verified(text)
}

pub fn store(db: &Database) -> SqlStore {
    SqlStore::new(db.clone(), Arc::new(SecretBox::new(&[7; 32])))
}

pub async fn begin(db: &Database) -> Box<dyn UnitOfWork> {
    store(db).begin().await.expect("begins")
}

pub async fn read(db: &Database) -> Box<dyn UnitOfWork> {
    store(db).read().await.expect("reads")
}

/// The environment of a use case that reaches no network.
pub fn context(db: &Database, now: Timestamp) -> Context {
    Context {
        store: Arc::new(store(db)),
        clock: Arc::new(FixedClock::at(now)),
        random: Arc::new(SeededRandom::new(3)),
        networks: Networks::default(),
        handlers: souk_domain::purpose_handlers(),
        stake_uses: souk_domain::stake_uses(),
        policy: BillingPolicy::default(),
        limits: VisitorLimits::default(),
        trust: Arc::new(TrustedClock),
        disk: Arc::new(UnlimitedDisk),
        installation: Arc::new(KnownInstallation::default()),
    }
}

pub fn address() -> Address {
    Address { country: "de".to_owned(), city: "Köln".to_owned(), postal_code: "50667".to_owned(), ..Address::default() }
}

/// A user who has signed in.
pub fn user(holder: &str, name: &str, email: &str) -> User {
    User {
        did: did(holder),
        public_key: "zKey1".to_owned(),
        full_name: name.to_owned(),
        email: email.to_owned(),
        phone: String::new(),
        address: None,
        language: Language::English,
        picture: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub fn customer(name: &str, holder: &str) -> Customer {
    Customer {
        id: id(name),
        mode: Mode::Test,
        did: did(holder),
        name: "A Buyer".to_owned(),
        email: "buyer@shop.example".to_owned(),
        phone: String::new(),
        address: Some(address()),
        language: Language::Chinese,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub fn card_method() -> Method {
    Method {
        id: id("pm_card"),
        mode: Mode::Test,
        kind: MethodKind::Stripe,
        active: true,
        name: "Card".to_owned(),
        description: "Visa and others".to_owned(),
        logo: "/logo.svg".to_owned(),
        settings: MethodSettings::Stripe {
            api_host: "https://api.example".to_owned(),
            dashboard: "https://dashboard.example".to_owned(),
            publishable_key: "pk_test_1".to_owned(),
            secret_key: Secret::new("sk_test_secret"),
            webhook_signing_secret: Secret::new("whsec_secret"),
        },
        default_currency_id: Some(id("pc_1")),
        created_at: at(0),
        updated_at: at(0),
    }
}

pub fn currency() -> Currency {
    Currency {
        id: id("pc_1"),
        method_id: id("pm_card"),
        mode: Mode::Test,
        active: true,
        name: "Euro".to_owned(),
        symbol: "EUR".to_owned(),
        logo: String::new(),
        decimals: 2,
        maximum_precision: 2,
        contract: "eur".to_owned(),
        is_base: true,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub fn form() -> FormOptions {
    let pattern = FieldPattern::new("^[A-Z]{3}$", Text::new("Three letters", "三个字母")).expect("compiles");
    let page_info = PageInfo { patterns: [(Field::Name, pattern)].into(), purpose: Text::new("For you", "给你") };
    FormOptions { collect_phone: true, require_address: false, page_info }
}

pub fn items() -> Vec<LineItem> {
    vec![
        LineItem { adjustable: Some(QuantityRange { minimum: 1, maximum: 9 }), ..LineItem::new(id("price_1"), 2) },
        LineItem { upsell: Some(id("price_3")), ..LineItem::new(id("price_2"), 1) },
        LineItem { cross_sell: true, custom_amount: Some(Amount::new(77)), ..LineItem::new(id("price_4"), 1) },
    ]
}

pub fn terms() -> SubscriptionTerms {
    SubscriptionTerms {
        trial: TrialTerms { days: 7, end: Some(at(7_200)), currencies: vec![id("pc_1")] },
        no_stake: true,
        min_stake_amount: Some("0.5".to_owned()),
        billing_threshold_amount: Some("10".to_owned()),
        resets_anchor: true,
        description: "All of it".to_owned(),
        days_until_cancel: Some(3),
        metadata: [("plan".to_owned(), "gold".to_owned())].into(),
    }
}

pub fn link(name: &str) -> PaymentLink {
    PaymentLink {
        id: id(name),
        mode: Mode::Test,
        active: true,
        name: format!("Link {name}"),
        items: items(),
        currency_id: id("pc_1"),
        form: form(),
        terms: terms(),
        requires_cross_sell: true,
        custom_message: Text::new("Thank you", "谢谢"),
        redirect_url: Some("https://shop.example/done".to_owned()),
        metadata: Metadata::new(),
        created_at: at(0),
        updated_at: at(0),
    }
}

pub fn session(name: &str) -> checkout::Session {
    checkout::Session {
        id: id(name),
        mode: Mode::Test,
        kind: SessionMode::Subscription,
        status: SessionStatus::Open,
        payment_status: PaymentStatus::Unpaid,
        link_id: Some(id("plink_1")),
        items: items(),
        currency_id: id("pc_1"),
        form: form(),
        terms: terms(),
        requires_cross_sell: true,
        success_url: Some("https://shop.example/yes".to_owned()),
        cancel_url: None,
        browser: Some(checkout::BrowserMark("a-browser".to_owned())),
        payer: Some(did("z1buyer")),
        customer_id: None,
        contact: Some(Contact {
            name: "A Buyer".to_owned(),
            email: "buyer@shop.example".to_owned(),
            phone: String::new(),
            address: address(),
        }),
        method_id: None,
        intent_id: None,
        invoice_id: None,
        subscription_ids: vec![id("sub_1"), id("sub_2")],
        mandate_id: Some(id("man_1")),
        stake_id: Some(id("stk_1")),
        trial_end: Some(at(7_200)),
        amount_total: Amount::new(u128::from(u64::MAX) * 7),
        metadata: [("order".to_owned(), "42".to_owned())].into(),
        expires_at: at(3_600),
        created_at: at(0),
        updated_at: at(0),
        version: 0,
    }
}

/// A stake of `units` base units that a network holds for `sub_1`.
pub fn held_stake(name: &str, units: u128) -> Stake {
    let amount = Amount::new(units);
    Stake {
        id: id(name),
        mode: Mode::Test,
        customer_id: id("cus_1"),
        payer: did("z1buyer"),
        method_id: id("pm_card"),
        currency_id: id("pc_1"),
        subject: StakeSubject::Subscription(id("sub_1")),
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
        reference: Some("0x5".to_owned()),
        return_reference: None,
        checked_at: at(0),
        created_at: at(0),
        updated_at: at(0),
    }
}

pub fn intent(name: &str) -> Intent {
    Intent {
        id: id(name),
        mode: Mode::Test,
        status: IntentStatus::RequiresPaymentMethod,
        description: Description::Product(ProductNames { first: Text::new("A thing", "一件商品"), others: 1 }),
        amount: Amount::new(1_000),
        amount_received: Amount::ZERO,
        amount_refunded: Amount::ZERO,
        currency_id: id("pc_1"),
        method_id: id("pm_card"),
        customer_id: id("cus_1"),
        subscription_id: None,
        session_id: Some(id("cs_1")),
        invoices: vec![id("in_1")],
        last_error: None,
        reference: String::new(),
        payer: String::new(),
        held_attempt_id: None,
        metadata: [("order".to_owned(), "7".to_owned())].into(),
        created_at: at(0),
        updated_at: at(0),
    }
}

pub fn card_attempt(name: &str, intent: &str) -> Attempt {
    Attempt {
        id: id(name),
        purpose: Purpose::Payment(id(intent)),
        session_id: Some(id("cs_1")),
        period: None,
        connect_token: None,
        method_id: id("pm_card"),
        currency_id: id("pc_1"),
        amount: Amount::new(1_000),
        status: AttemptStatus::Open,
        kind: AttemptKind::Card { provider_id: String::new(), client_secret: String::new(), setup_future_usage: None },
        last_error: None,
        moved: None,
        checks: 0,
        check_at: at(5),
        sent_at: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub fn wallet_attempt(name: &str, intent: &str, hash: &str) -> Attempt {
    let kind = AttemptKind::Wallet { payer: did("z1buyer"), bytes: vec![0, 255, 7], hash: hash.to_owned() };
    Attempt { kind, ..card_attempt(name, intent) }
}

/// What the holder has bought in the session `cs_1`.
pub fn entitlement(holder: &str, app: &str) -> Entitlement {
    Entitlement {
        id: id("ent_1"),
        mode: Mode::Test,
        holder: did(holder),
        app: did(app),
        session_id: id("cs_1"),
        subscription_id: None,
        invoice_id: None,
        invoice_item_id: None,
        acquired_at: at(0),
        revoked_at: None,
        suspended_at: None,
    }
}

pub fn invoice(name: &str) -> Invoice {
    Invoice {
        id: id(name),
        mode: Mode::Test,
        number: None,
        status: InvoiceStatus::Draft,
        reason: BillingReason::Manual,
        description: Description::Product(ProductNames { first: Text::new("A thing", "一件商品"), others: 1 }),
        customer_id: id("cus_1"),
        currency_id: id("pc_1"),
        method_id: id("pm_card"),
        session_id: Some(id("cs_1")),
        subscription_id: None,
        period: None,
        intent_id: Some(id("pi_1")),
        reference: None,
        bill_to: BillTo {
            name: "A Buyer".to_owned(),
            email: "buyer@shop.example".to_owned(),
            phone: String::new(),
            address: Some(address()),
        },
        total: Amount::new(1_000),
        amount_paid: Amount::ZERO,
        amount_credited: Amount::ZERO,
        failure_count: 0,
        retry_at: None,
        clock_id: None,
        created_at: at(0),
        finalized_at: None,
        paid_at: None,
        updated_at: at(0),
    }
}

pub fn invoice_item(name: &str, of: &str) -> InvoiceItem {
    InvoiceItem {
        id: id(name),
        invoice_id: id(of),
        subscription_item_id: None,
        price_id: Some(id("price_1")),
        description: Description::Product(Text::new("A thing", "一件商品").into()),
        quantity: 2,
        unit_amount: Amount::new(500),
        amount: Amount::new(1_000),
        credited: Amount::ZERO,
        period: None,
        covers_until: None,
        pricing_formula: PricingFormula::PerUnit { unit: Amount::new(500), quantity: 2 },
    }
}

/// An open invoice with one line over the whole amount.
pub fn open_invoice(name: &str, number: u64) -> NewInvoice {
    let invoice = Invoice { status: InvoiceStatus::Open, number: Some(number), finalized_at: Some(at(0)), ..invoice(name) };
    NewInvoice { invoice, items: vec![invoice_item(&name.replace("in_", "ii_"), name)] }
}

/// Inserts `count` invoices `in_1`, `in_2`, ... like [`open_invoice`].
pub async fn issue(db: &Database, count: u64) {
    let mut unit = begin(db).await;
    let all: Vec<_> = (1..=count).map(|number| open_invoice(&format!("in_{number}"), number)).collect();
    unit.invoices().insert_final_all(&all).await.expect("inserts");
    unit.commit().await.expect("commits");
}

/// Inserts the objects that invoices, intents and attempts reference: `cus_1`, `pm_card` with `pc_1`, `cs_1`, and the session's intents
/// with the given names.
pub async fn insert_checkout(db: &Database, intents: &[&str]) {
    let mut unit = begin(db).await;
    unit.customers().upsert(&customer("cus_1", "z1buyer")).await.expect("inserts");
    unit.methods().insert(&card_method()).await.expect("inserts");
    unit.methods().insert_currency(&currency()).await.expect("inserts");
    unit.sessions().insert(&session("cs_1")).await.expect("inserts");
    for name in intents {
        unit.intents().upsert(&intent(name)).await.expect("inserts");
    }
    unit.commit().await.expect("commits");
}

/// Runs `count` tasks concurrently and returns their results.
pub async fn all_at_once<T, F>(db: &Database, count: u32, task: impl Fn(Database, u32) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..count).map(|number| tokio::spawn(task(db.clone(), number))).collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(tokio::time::timeout(Duration::from_secs(60), task).await.expect("ends in time").expect("does not panic"));
    }
    answers
}
