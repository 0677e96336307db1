//! Runs the sandbox: the payment networks of test mode, in this process but outside the store's units of work.

use crate::compose::{Failure, Parts};
use crate::config::Common;
use crate::keys;
use async_trait::async_trait;
use poem::Route;
use souk_domain::access::Did;
use souk_domain::operation::ClockTrust;
use souk_domain::payment::{Currency, DEFAULT_MAXIMUM_PRECISION, Method, MethodKind, MethodSettings, RailError, SandboxTime, Secret};
use souk_domain::shared::{Clock, CurrencyId, IdError, MethodId, Mode, StorageError, Timestamp};
use souk_sandbox::Admission;
use souk_sandbox::cards::{self, CardProcessor, CardProcessorConfig, Webhook};
use souk_sandbox::ledger::{self, CHAIN_ID, Ledger, LedgerConfig, Retention, TOKEN_DECIMALS, TOKEN_NAME, TOKEN_SYMBOL};
use souk_sandbox::store::{SandboxDb, SandboxDbError};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use url::Url;

/// The test-mode payment methods of a new store.
pub struct SandboxMethods {
    pub wallet: Method,
    pub token: Currency,
    pub card: Method,
    pub dollar: Currency,
}

fn key(parts: &Parts, prefix: &str) -> String {
    // They stay when the store's key is rotated, because its payment methods contain them.
    let bytes = keys::derive(&parts.keys.identity, prefix);
    format!("{prefix}{}", bytes.iter().take(12).map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// How often old rows of the ledger are deleted.
const PRUNE_EVERY: Duration = Duration::from_secs(3_600);

/// The networks. The caller mounts the routes at `/sandbox/arcblock` and `/sandbox/stripe`, runs the processor, and lets [`prune`] delete old
/// rows of the ledger.
pub struct Opened {
    pub ledger_routes: Route,
    pub card_routes: Route,
    pub ledger: Arc<Ledger>,
    pub processor: Arc<CardProcessor>,
}

/// The storage of the networks: a separate file with SQLite, a separate schema with PostgreSQL.
pub async fn database(common: &Common) -> Result<SandboxDb, Failure> {
    Ok(match &common.database_url {
        Some(address) if address.starts_with("postgres") => SandboxDb::open_postgres(address).await?,
        _ => SandboxDb::open_sqlite(&common.data.join("sandbox.db")).await?,
    })
}

/// Creates the tables of the networks, for a restore.
pub async fn create_tables(common: &Common) -> Result<(), Failure> {
    let database = database(common).await?;
    ledger::create_tables(&database).await?;
    Ok(cards::create_tables(&database).await?)
}

/// Opens the ledger and the card processor on their own storage. `config.faults` opens the test endpoints of both. `admission` limits what
/// does not come from the store.
pub async fn open(parts: &Parts, own_address: &Url, config: LedgerConfig, admission: Admission) -> Result<Opened, Failure> {
    let database = parts.sandbox.clone().ok_or("the sandbox is off")?;
    let clock = clock_of(&parts.clock);
    let ledger = Ledger::open(database.clone(), clock.clone(), parts.app_key.did().as_str(), config).await?;
    let methods = parts.ctx.store.read().await?.methods().list(Mode::Test).await?;
    let card = methods.iter().find(|method| method.kind == MethodKind::Stripe && is_sandbox(method));
    let webhook = card.map(|method| Webhook {
        url: own_address.join(&format!("api/webhooks/{}", method.id)).map(|url| url.to_string()).unwrap_or_default(),
        secret: cards::Secret::new(key(parts, "whsec_sandbox_")),
    });
    let config = CardProcessorConfig {
        secret_key: cards::Secret::new(key(parts, "sk_sandbox_")),
        publishable_key: key(parts, "pk_sandbox_"),
        webhook,
        faults: config.faults,
    };
    let random = Arc::clone(&parts.random);
    let random = souk_sandbox::time::Random::new(move |bytes| random.fill(bytes));
    let processor = CardProcessor::open(database, clock, random, config).await?;
    let ledger = Arc::new(ledger);
    Ok(Opened {
        ledger_routes: ledger::routes(Arc::clone(&ledger), admission.clone()),
        card_routes: cards::routes(Arc::clone(&processor), admission),
        ledger,
        processor,
    })
}

/// Deletes what strangers made the ledger keep, while the clock is trusted, until `stop`.
pub async fn prune(ledger: Arc<Ledger>, trust: Arc<dyn ClockTrust>, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(PRUNE_EVERY);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        if !trust.is_trusted() {
            continue;
        }
        match ledger.prune(&Retention::default()).await {
            Ok(0) => {}
            Ok(deleted) => tracing::info!(deleted, "old rows of the sandbox's ledger were deleted"),
            Err(error) => tracing::error!(%error, "old rows of the sandbox's ledger could not be deleted"),
        }
    }
}

fn clock_of(clock: &Arc<dyn Clock>) -> souk_sandbox::time::Clock {
    let clock = Arc::clone(clock);
    souk_sandbox::time::Clock::new(move || clock.now().micros())
}

/// The port through which the ledger follows customers' test clocks.
pub async fn time(database: &SandboxDb, clock: &Arc<dyn Clock>, app: &Did) -> Result<Arc<dyn SandboxTime>, SandboxDbError> {
    Ok(Arc::new(LedgerTime(Ledger::open(database.clone(), clock_of(clock), app.as_str(), LedgerConfig::default()).await?)))
}

struct LedgerTime(Ledger);

#[async_trait]
impl SandboxTime for LedgerTime {
    async fn set(&self, payer: &Did, now: Timestamp) -> Result<(), RailError> {
        let now = souk_sandbox::time::Timestamp::from_micros(now.micros());
        self.0.set_time(payer.as_str(), now).await.map_err(|error| RailError::Unreachable(error.to_string()))
    }
}

fn is_sandbox(method: &Method) -> bool {
    matches!(&method.settings, MethodSettings::Stripe { api_host, .. } if api_host.starts_with('/'))
}

/// Adds the sandbox's payment methods to a store without test-mode methods. The ids are the same in every store, so that if several
/// processes start together, all but one fail on unique keys, which is not an error.
pub async fn install_methods(parts: &Parts) -> Result<(), Failure> {
    match insert(parts, methods(parts)?).await {
        Err(StorageError::Duplicate(_)) => Ok(()),
        result => Ok(result?),
    }
}

async fn insert(parts: &Parts, SandboxMethods { wallet, token, card, dollar }: SandboxMethods) -> Result<(), StorageError> {
    let mut unit = parts.ctx.store.begin().await?;
    if !unit.methods().list(Mode::Test).await?.is_empty() {
        return Ok(());
    }
    unit.methods().insert(&wallet).await?;
    unit.methods().insert_currency(&token).await?;
    unit.methods().insert(&card).await?;
    unit.methods().insert_currency(&dollar).await?;
    unit.commit().await
}

fn methods(parts: &Parts) -> Result<SandboxMethods, IdError> {
    let now = parts.clock.now();
    let method = |id, kind, name: &str, description: &str, logo: &str, settings| Method {
        id,
        mode: Mode::Test,
        kind,
        active: true,
        name: name.to_owned(),
        description: description.to_owned(),
        logo: logo.to_owned(),
        settings,
        default_currency_id: None,
        created_at: now,
        updated_at: now,
    };
    let settings = MethodSettings::Arcblock {
        chain_id: CHAIN_ID.to_owned(),
        api_host: "/sandbox/arcblock/api/".to_owned(),
        explorer_host: "/sandbox/arcblock/explorer".to_owned(),
    };
    let id = MethodId::parse("pm_sandbox_1_wallet")?;
    let mut wallet =
        method(id, MethodKind::Arcblock, "Wallet", "Pay with test tokens from the sandbox wallet", "/methods/arcblock.svg", settings);
    let settings = MethodSettings::Stripe {
        api_host: "/sandbox/stripe".to_owned(),
        dashboard: "/sandbox/stripe/dashboard".to_owned(),
        publishable_key: key(parts, "pk_sandbox_"),
        secret_key: Secret::new(key(parts, "sk_sandbox_")),
        webhook_signing_secret: Secret::new(key(parts, "whsec_sandbox_")),
    };
    let mut card =
        method(MethodId::parse("pm_sandbox_2_card")?, MethodKind::Stripe, "Card", "Pay with a test card", "/methods/card.svg", settings);
    let currency = |id, method: &Method, name: &str, symbol: &str, decimals, contract: String, is_base| Currency {
        id,
        method_id: method.id.clone(),
        mode: Mode::Test,
        active: true,
        name: name.to_owned(),
        symbol: symbol.to_owned(),
        logo: method.logo.clone(),
        decimals,
        maximum_precision: DEFAULT_MAXIMUM_PRECISION.min(decimals),
        contract,
        is_base,
        created_at: now,
        updated_at: now,
    };
    let token =
        currency(CurrencyId::parse("pc_sandbox_1_token")?, &wallet, TOKEN_NAME, TOKEN_SYMBOL, TOKEN_DECIMALS, ledger::token(), true);
    let dollar = currency(CurrencyId::parse("pc_sandbox_2_dollar")?, &card, "US Dollar", "USD", 2, "usd".to_owned(), false);
    wallet.default_currency_id = Some(token.id.clone());
    card.default_currency_id = Some(dollar.id.clone());
    Ok(SandboxMethods { wallet, token, card, dollar })
}
