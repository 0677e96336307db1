//! A store for one test, with SQLite in a temporary folder, a fixed clock, and networks that know one host.

use async_trait::async_trait;
use poem::endpoint::{BoxEndpoint, make_sync};
use poem::http::Method as Verb;
use poem::test::TestClient;
use poem::{EndpointExt, Response};
use serde_json::{Value, json};
use souk_adapters::bundles::LocalBundleReader;
use souk_adapters::ci_tokens::OidcCiTokens;
use souk_adapters::files::{FileStore, SpoolFolder};
use souk_adapters::identity::{AppDidAuthTokens, AppKey, CheckedAppDids, Ed25519TokenKeys, HmacSigner, SodiumToolSeals};
use souk_adapters::instances::HttpInstanceProbe;
use souk_adapters::outbound::PrivateNetworks;
use souk_adapters::pdf::{InvoiceFonts, Party, PdfPrinter};
use souk_adapters::persistence::{Database, SecretBox, SqlPersonalDataExports, SqlStore};
use souk_adapters::realtime::LocalRealtime;
use souk_adapters::testing::{FixedClock, SeededRandom, TestDatabase, TestDisk};
use souk_api::auth::{NewKey, create_key, token_hash};
use souk_api::state::{App, Probe, Publishing, Site, UPLOAD_PROGRESS, UploadSlots};
use souk_api::{Limits, service};
use souk_domain::access::{Did, Login, Passport, Role, Scope, SignedLinks, User};
use souk_domain::context::{Context, Networks};
use souk_domain::customer::ProviderCustomer;
use souk_domain::events::Topic;
use souk_domain::payment::*;
use souk_domain::shared::*;
use std::sync::Arc;
use std::time::Duration;

/// The only host that the networks of these tests know; every other host is misconfigured.
pub const HOST: &str = "https://network.example/api/";
/// The seed of the store's own key.
pub const APP_SEED: [u8; 32] = [1; 32];

pub struct TestApp {
    pub client: TestClient<BoxEndpoint<'static, Response>>,
    pub ctx: Context,
    pub clock: Arc<FixedClock>,
    pub disk: Arc<TestDisk>,
    database: TestDatabase,
    /// Of stored files, and of uploads in progress.
    pub files: tempfile::TempDir,
}

/// The caller of a request.
#[derive(Debug, Clone)]
pub enum Who {
    Nobody,
    /// A user, by login token.
    Cookie(String),
    /// An API key.
    Key(String),
}

struct Ready;

#[async_trait]
impl Probe for Ready {
    async fn ping(&self) -> Result<(), String> {
        Ok(())
    }
}

impl TestApp {
    pub async fn open() -> Self {
        Self::with_progress(UPLOAD_PROGRESS).await
    }

    /// A store that refuses uploads which make no progress for this time.
    pub async fn with_progress(progress: Duration) -> Self {
        let database = TestDatabase::sqlite().await;
        let clock = Arc::new(FixedClock::default());
        let (files, disk) = (tempfile::tempdir().expect("a temporary folder"), Arc::new(TestDisk::default()));
        let store = SqlStore::new(Database::clone(&database), Arc::new(SecretBox::new(&[7; 32])));
        let network = Arc::new(Network);
        let networks = Networks::default().with_wallet(MethodKind::Arcblock, network.clone()).with_card(MethodKind::Stripe, network);
        let ctx = Context {
            store: Arc::new(store),
            clock: clock.clone(),
            random: Arc::new(SeededRandom::new(1)),
            networks,
            handlers: souk_domain::purpose_handlers(),
            stake_uses: souk_domain::stake_uses(),
            policy: souk_domain::billing::BillingPolicy::default(),
            limits: souk_domain::operation::VisitorLimits::default(),
            trust: Arc::new(souk_domain::operation::TrustedClock),
            disk: disk.clone(),
            installation: Arc::new(souk_domain::operation::KnownInstallation::default()),
        };
        let printer = PdfPrinter {
            seller: Party { name: "Souk".to_owned(), details: Vec::new() },
            public_url: "https://store.example".to_owned(),
            fonts: InvoiceFonts::default(),
        };
        let app = App {
            ctx: ctx.clone(),
            site: Site {
                name: "Souk".to_owned(),
                description: Text::default(),
                public_url: "https://store.example".parse().expect("an address"),
                demo: false,
                did: AppKey::from_seed(&APP_SEED).did().to_string(),
                analytics_script: None,
                errors_url: None,
                errors_sample_rate: 0.0,
                has_mail_server: false,
            },
            did_auth_tokens: Arc::new(AppDidAuthTokens::new(AppKey::from_seed(&APP_SEED))),
            token_keys: Arc::new(Ed25519TokenKeys),
            tool_seals: Arc::new(SodiumToolSeals),
            ci_tokens: Arc::new(OidcCiTokens::new(PrivateNetworks::Allowed).expect("a client")),
            instances: Arc::new(HttpInstanceProbe::new(PrivateNetworks::Allowed).expect("a client")),
            tokens: SignedLinks::new(Arc::new(HmacSigner::new(&[2; 32]))),
            files: Arc::new(FileStore::open(files.path().to_owned()).await.expect("opens")),
            printer: Arc::new(printer),
            publishing: Publishing {
                dids: Arc::new(CheckedAppDids),
                reader: Arc::new(LocalBundleReader::default()),
                spool: Arc::new(SpoolFolder::new(files.path().join("uploads"), Arc::clone(&ctx.random))),
                progress,
                publication: Duration::ZERO,
                slots: UploadSlots::default(),
            },
            exports: Arc::new(SqlPersonalDataExports(Database::clone(&database))),
            realtime: Arc::new(LocalRealtime::default()),
            limits: Arc::new(Limits::default()),
            sign_in_again_after: Duration::MAX,
            probe: Arc::new(Ready),
        };
        let client = TestClient::new(service(Arc::new(app), make_sync(|_| "a page")).boxed());
        Self { client, ctx, clock, disk, database, files }
    }

    /// Signs a user in, with or without a passport.
    pub async fn person(&self, role: Option<Role>) -> Who {
        self.enroll(Did::from_verified(format!("z{}", role.map_or("guest", Role::name))), role).await
    }

    /// As [`Self::person`], with a DID.
    pub async fn enroll(&self, did: Did, role: Option<Role>) -> Who {
        let now = self.ctx.now();
        let user = User {
            did: did.clone(),
            public_key: "z1".to_owned(),
            full_name: "Ada".to_owned(),
            email: String::new(),
            phone: String::new(),
            address: None,
            language: Language::English,
            picture: None,
            created_at: now,
            updated_at: now,
        };
        let mut unit = self.ctx.store.begin().await.expect("begins");
        unit.users().upsert(&user).await.expect("writes");
        if let Some(role) = role {
            let id = PassportId::new(now, self.ctx.random.as_ref());
            let passport = Passport { id, holder: did.clone(), role, issued_at: now, revoked_at: None, stake_id: None };
            unit.users().issue_passport(&passport).await.expect("writes");
        }
        let token = format!("token-of-{did}");
        let login = Login {
            id: LoginId::new(now, self.ctx.random.as_ref()),
            user: did,
            device: String::new(),
            created_at: now,
            signed_in_at: now,
            used_at: now,
            expires_at: now.plus(Duration::from_secs(30 * 86_400)),
        };
        unit.browser_sessions().insert(&token_hash(&token), &login).await.expect("signs in");
        unit.commit().await.expect("commits");
        Who::Cookie(token)
    }

    pub async fn owner(&self) -> Who {
        self.person(Some(Role::Owner)).await
    }

    pub async fn key(&self, mode: Mode, scopes: &[&str]) -> Who {
        let scopes = scopes.iter().map(|scope| Scope::parse(scope).expect("a scope")).collect();
        let secret = create_key(&self.ctx, NewKey { name: "test".to_owned(), mode, scopes }).await.expect("makes a key").secret;
        Who::Key(secret)
    }

    /// Sends a request, in test mode unless the path names a mode. Returns status and body.
    pub async fn call(&self, who: &Who, verb: Verb, path: &str, body: &Value) -> (u16, Value) {
        self.send(who, verb, path, if body.is_null() { String::new() } else { body.to_string() }).await
    }

    /// Like [`Self::call`], with a raw body.
    pub async fn send(&self, who: &Who, verb: Verb, path: &str, body: String) -> (u16, Value) {
        let mode = if path.contains("livemode") {
            ""
        } else if path.contains('?') {
            "&livemode=false"
        } else {
            "?livemode=false"
        };
        let mut request = self.client.request(verb, format!("{path}{mode}"));
        match who {
            Who::Nobody => {}
            Who::Cookie(token) => request = request.header("cookie", format!("login_token={token}")),
            Who::Key(secret) => request = request.header("authorization", format!("Bearer {secret}")),
        }
        if !body.is_empty() {
            request = request.content_type("application/json").body(body);
        }
        let mut response = request.send().await.0;
        let status = response.status().as_u16();
        let body = response.take_body().into_vec().await.expect("a body");
        // A bundle is no text.
        let text = String::from_utf8_lossy(&body).into_owned();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub async fn get(&self, who: &Who, path: &str) -> Value {
        let (status, answer) = self.call(who, Verb::GET, path, &Value::Null).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    pub async fn post(&self, who: &Who, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(who, Verb::POST, path, &body).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    pub async fn put(&self, who: &Who, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(who, Verb::PUT, path, &body).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Sends a request that must be rejected. Returns the status and `error`.
    pub async fn refused(&self, who: &Who, verb: Verb, path: &str, body: Value) -> (u16, String) {
        let (status, answer) = self.call(who, verb, path, &body).await;
        assert!(status >= 400, "{answer}");
        (status, answer["error"].as_str().expect("every error has a text").to_owned())
    }

    /// The number of messages about a topic that wait in the outbox.
    pub async fn ordered(&self, topic: Topic) -> u64 {
        let mut connection = self.database.read().await.expect("reads");
        let query = connection.query("SELECT count(*) AS n FROM outbox WHERE topic = $1").bind(topic.name());
        query.one().await.expect("counts").get("n").expect("n")
    }

    /// Creates a wallet method with a token of 18 decimals, and a card method with dollars. Returns the ids of both currencies.
    pub async fn currencies(&self, who: &Who) -> (String, String) {
        let wallet = json!({"type": "arcblock", "name": "Wallet", "settings": {"arcblock":
            {"chain_id": "sandbox", "api_host": HOST, "explorer_host": "/sandbox/explorer"}}});
        let card = json!({"type": "stripe", "name": "Card", "settings": {"stripe":
            {"api_host": HOST, "publishable_key": "pk_1", "secret_key": "sk_secret", "webhook_signing_secret": "whsec_secret"}}});
        let wallet = self.post(who, "/api/payment-methods", wallet).await;
        let card = self.post(who, "/api/payment-methods", card).await;
        let token = json!({"payment_method_id": wallet["id"], "symbol": "TBA", "contract": "z35token", "is_base_currency": true});
        let dollar = json!({"payment_method_id": card["id"], "symbol": "USD", "contract": "USD"});
        let token = self.post(who, "/api/payment-currencies", token).await;
        let dollar = self.post(who, "/api/payment-currencies", dollar).await;
        (text(&token["id"]), text(&dollar["id"]))
    }

    /// Creates a product with one price and returns the id of the price.
    pub async fn price(&self, who: &Who, price: Value) -> String {
        let product = self.post(who, "/api/products", json!({"name": "Keeper", "prices": [price]})).await;
        text(&product["prices"][0]["id"])
    }
}

pub fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// A network that accepts [`HOST`] and contracts that do not begin with `bad`. It moves no money.
struct Network;

fn verified(method: &Method, currencies: &[Currency]) -> Result<(), RailError> {
    let (MethodSettings::Arcblock { api_host, .. } | MethodSettings::Stripe { api_host, .. }) = &method.settings else {
        return Err(RailError::Misconfigured("not of this network".to_owned()));
    };
    if api_host != HOST || currencies.iter().any(|currency| currency.contract.starts_with("bad")) {
        return Err(RailError::Misconfigured("nobody is there".to_owned()));
    }
    Ok(())
}

fn nothing_moves() -> RailError {
    RailError::Unreachable("no money moves in these tests".to_owned())
}

/// The state of a network that charges nothing.
fn free_of_gas() -> GasState {
    let nothing = Amount::ZERO;
    let account = Did::from_verified("z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM".to_owned());
    let (token, symbol) = ("z35n61rZFc1dRP8ft7tuU2gUhywNp7qZHrXei".to_owned(), "TKN".to_owned());
    GasState { account, token, symbol, decimals: 18, cost: nothing, min_stake: nothing, staked: nothing, balance: nothing }
}

#[async_trait]
impl WalletRail for Network {
    async fn validate_settings(&self, method: &Method, currencies: &[Currency]) -> Result<(), RailError> {
        verified(method, currencies)
    }

    fn prepare(&self, _: &Method, _: &Currency, _: &TransferRequest) -> Result<UnsignedTransaction, RailError> {
        Err(nothing_moves())
    }

    fn check(&self, _: &Method, _: &Currency, _: &TransferRequest, _: &str) -> Result<SignedTransaction, CheckError> {
        Err(CheckError::Malformed)
    }

    fn prepare_mandate(&self, _: &Method, _: &MandateRequest) -> Result<UnsignedTransaction, RailError> {
        Err(nothing_moves())
    }

    fn check_mandate(&self, _: &Method, _: &MandateRequest, _: &str) -> Result<SignedTransaction, CheckError> {
        Err(CheckError::Malformed)
    }

    fn prepare_stake(&self, _: &Method, _: &Currency, _: &StakeRequest) -> Result<UnsignedTransaction, RailError> {
        Err(nothing_moves())
    }

    fn check_stake(&self, _: &Method, _: &Currency, _: &StakeRequest, _: &str) -> Result<SignedTransaction, CheckError> {
        Err(CheckError::Malformed)
    }

    async fn mandate_allows(&self, _: &Method, _: &Currency, _: &Did, _: Amount) -> Result<bool, RailError> {
        Err(nothing_moves())
    }

    async fn stake_balance(&self, _: &Method, _: &Currency, _: &Did, _: &str, _: Duration) -> Result<StakeState, RailError> {
        Err(nothing_moves())
    }

    fn sign(&self, _: &Method, _: &Currency, _: &StoreTransactionRequest) -> Result<SignedTransaction, RailError> {
        Err(nothing_moves())
    }

    async fn send(&self, _: &Method, _: &Currency, _: &SignedTransaction) -> Outcome {
        Outcome::NotFound
    }

    async fn find(&self, _: &Method, _: &Currency, _: &str) -> Outcome {
        Outcome::NotFound
    }

    async fn gas(&self, _: &Method) -> Result<GasState, RailError> {
        Ok(free_of_gas())
    }

    async fn stake_for_gas(&self, _: &Method) -> Result<GasState, RailError> {
        Ok(free_of_gas())
    }

    async fn balance(&self, _: &Method, _: &Currency, _: &Did) -> Result<Amount, RailError> {
        Err(nothing_moves())
    }
}

#[async_trait]
impl CardRail for Network {
    async fn validate_settings(&self, method: &Method, currencies: &[Currency]) -> Result<(), RailError> {
        verified(method, currencies)
    }

    async fn open_customer(&self, _: &Method, _: Option<&ProviderCustomer>, _: &CardHolder) -> Result<String, RailError> {
        Err(nothing_moves())
    }

    async fn delete_customer(&self, _: &Method, _: &str) -> Result<(), RailError> {
        Err(nothing_moves())
    }

    async fn open(&self, _: &Method, _: &Currency, _: &CardRequest) -> Result<CardIntent, RailError> {
        Err(nothing_moves())
    }

    async fn find(&self, _: &Method, _: &Currency, _: &str) -> Outcome {
        Outcome::NotFound
    }

    async fn cancel(&self, _: &Method, _: &Currency, _: &str) -> Outcome {
        Outcome::NotFound
    }

    async fn open_setup(&self, _: &Method, _: &SetupRequest) -> Result<CardSetup, RailError> {
        Err(nothing_moves())
    }

    async fn find_setup(&self, _: &Method, _: &str) -> SetupOutcome {
        SetupOutcome::NotFound
    }

    async fn cancel_setup(&self, _: &Method, _: &str) -> SetupOutcome {
        SetupOutcome::NotFound
    }

    async fn charge(&self, _: &Method, _: &Currency, _: &ChargeRequest) -> Result<CardIntent, RailError> {
        Err(nothing_moves())
    }

    async fn find_charge(&self, _: &Method, _: &Currency, _: &str) -> Outcome {
        Outcome::NotFound
    }

    async fn refund(&self, _: &Method, _: &Currency, _: &CardRefundRequest) -> Outcome {
        Outcome::NotFound
    }

    async fn find_dispute(&self, _: &Method, _: &str) -> Result<Option<ProviderDispute>, RailError> {
        Ok(None)
    }

    async fn disputes_of(&self, _: &Method, _: &str) -> Result<Vec<ProviderDispute>, RailError> {
        Ok(Vec::new())
    }

    async fn find_refund(&self, _: &Method, _: &str) -> Result<Option<ProviderRefund>, RailError> {
        Ok(None)
    }

    async fn refunds_of(&self, _: &Method, _: &str) -> Result<Vec<ProviderRefund>, RailError> {
        Ok(Vec::new())
    }

    async fn list_changes(&self, _: &Method, _: &EventRange) -> Result<Vec<CardEvent>, RailError> {
        Ok(Vec::new())
    }

    fn read_event(&self, _: &Method, _: &[u8], _: &str, _: Timestamp) -> Result<CardEvent, EventError> {
        Err(EventError::Malformed)
    }
}
