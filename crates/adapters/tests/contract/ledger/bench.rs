//! Test bench: a ledger on a socket, a rail connected to it, and a customer with a wallet.

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use poem::listener::{Acceptor, Listener, TcpListener};
use poem::{Endpoint, Route, Server};
use serde_json::{Value, json};
use souk_adapters::arcblock::{ArcblockRail, DecodedTransaction, Itx, StakeTx, TestWallet, Transaction, transaction_hash};
use souk_adapters::identity::AppKey;
use souk_adapters::testing::{FixedClock, TestDatabase};
use souk_domain::access::Did;
use souk_domain::billing::STAKE_WAITING;
use souk_domain::payment::{
    Currency, CurrencyLimit, Decline, GasState, MandateRequest, Method, MethodKind, MethodSettings, Outcome, RailError, SandboxTime,
    SignedTransaction, StakeRequest, StakeState, StoreTransaction, StoreTransactionRequest, TransferRequest, WalletRail,
};
use souk_domain::shared::{Amount, Clock, CurrencyId, MethodId, Mode, Timestamp};
use souk_sandbox::Admission;
use souk_sandbox::ledger::{CHAIN_ID, Generation, Ledger, LedgerConfig, TOKEN_DECIMALS, TOKEN_SYMBOL, routes, token};
use souk_sandbox::store::SandboxDb;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::{CancellationToken, DropGuard};

/// One token of the ledger, in base units.
pub const UNIT: u128 = 1_000_000_000_000_000_000;

/// The waiting period before a customer can claim a revoked deposit.
pub const WAITING: Duration = STAKE_WAITING;

/// Returns the outcome in one word, and the settled amount in whole tokens.
pub fn describe(outcome: &Outcome) -> (&str, u128) {
    match outcome {
        Outcome::Declined(Decline { code, .. }) => (code, 0),
        Outcome::Settled(settlement) => ("settled", settlement.amount.base_units() / UNIT),
        Outcome::NotFound => ("absent", 0),
        Outcome::Pending { .. } => ("pending", 0),
        Outcome::Unknown(_) => ("unknown", 0),
    }
}

pub struct Bench {
    pub rail: Arc<dyn WalletRail>,
    pub method: Method,
    pub currency: Currency,
    pub clock: Arc<FixedClock>,
    pub app: AppKey,
    pub wallet: TestWallet,
    /// Sets the customer's own time at the ledger.
    pub time: Arc<dyn SandboxTime>,
    pub state: Arc<Ledger>,
    /// Where the ledger's routes are mounted.
    pub ledger: String,
    http: reqwest::Client,
    _stop: DropGuard,
}

/// Returns a clock by which the sandbox reads the test's time.
pub fn sandbox_clock(clock: &Arc<FixedClock>) -> souk_sandbox::time::Clock {
    let clock = Arc::clone(clock);
    souk_sandbox::time::Clock::new(move || clock.now().micros())
}

/// Implements the port that sets a customer's time at the ledger.
struct LedgerTime(Arc<Ledger>);

#[async_trait]
impl SandboxTime for LedgerTime {
    async fn set(&self, payer: &Did, now: Timestamp) -> Result<(), RailError> {
        let now = souk_sandbox::time::Timestamp::from_micros(now.micros());
        self.0.set_time(payer.as_str(), now).await.map_err(|error| RailError::Unreachable(error.to_string()))
    }
}

pub async fn sandbox_db(db: &TestDatabase) -> SandboxDb {
    match db.address().strip_prefix("sqlite://") {
        Some(path) => SandboxDb::open_sqlite(&Path::new(path).with_file_name("sandbox.db")).await,
        None => SandboxDb::open_postgres(db.address()).await,
    }
    .expect("opens")
}

/// Serves `app` until the guard is dropped, and returns its address.
pub async fn serve(app: impl Endpoint + 'static) -> (String, DropGuard) {
    let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.expect("listens");
    let address = format!("http://{}", acceptor.local_addr()[0].as_socket_addr().expect("an address"));
    let stop = CancellationToken::new();
    tokio::spawn(stop.clone().run_until_cancelled_owned(Server::new_with_acceptor(acceptor).run(app)));
    (address, stop.drop_guard())
}

impl Bench {
    pub async fn open(db: &TestDatabase) -> Self {
        Self::with(db, true).await
    }

    pub async fn with(db: &TestDatabase, faults: bool) -> Self {
        Self::admitting(db, faults, Admission::unlimited()).await
    }

    /// With limits for writes that do not come from the store.
    pub async fn admitting(db: &TestDatabase, faults: bool, admission: Admission) -> Self {
        let clock = Arc::new(FixedClock::default());
        let app = AppKey::from_seed(&[2; 32]);
        let config = LedgerConfig { faults, ..LedgerConfig::default() };
        let ledger = Ledger::open(sandbox_db(db).await, sandbox_clock(&clock), app.did().as_str(), config).await.expect("opens");
        let ledger = Arc::new(ledger);
        let (address, stop) = serve(Route::new().nest("/sandbox/arcblock", routes(Arc::clone(&ledger), admission))).await;
        let rail = Arc::new(ArcblockRail::new(app.clone(), clock.clone(), address.parse().expect("address")).expect("a rail"));
        Self {
            rail,
            method: method("/sandbox/arcblock/api/"),
            currency: currency(),
            clock,
            app,
            wallet: TestWallet::from_seed(&[1; 32]),
            time: Arc::new(LedgerTime(Arc::clone(&ledger))),
            state: ledger,
            ledger: format!("{address}/sandbox/arcblock"),
            http: reqwest::Client::builder().no_proxy().build().expect("a client"),
            _stop: stop,
        }
    }

    pub fn request(&self, reference: &str, tokens: u128, nonce: u64) -> TransferRequest {
        TransferRequest {
            payer: self.wallet.did().clone(),
            payer_key: self.wallet.public_key_base58(),
            to: None,
            amount: Amount::new(tokens * UNIT),
            reference: reference.to_owned(),
            nonce,
        }
    }

    /// Prepares a transfer, lets the wallet sign it, and verifies the result.
    pub fn signed(&self, reference: &str, tokens: u128, nonce: u64) -> SignedTransaction {
        let request = self.request(reference, tokens, nonce);
        let prepared = self.rail.prepare(&self.method, &self.currency, &request).expect("prepares");
        let signed = self.wallet.sign_transfer(&prepared.partial_tx, &prepared.token, request.amount).expect("signs");
        self.rail.check(&self.method, &self.currency, &request, &signed).expect("passes")
    }

    pub fn mandate(&self, tokens: u128, nonce: u64) -> MandateRequest {
        MandateRequest {
            payer: self.wallet.did().clone(),
            payer_key: self.wallet.public_key_base58(),
            limits: vec![CurrencyLimit { currency: self.currency.clone(), most: Amount::new(tokens * UNIT) }],
            reference: "cs_1".to_owned(),
            nonce,
        }
    }

    /// The customer grants a mandate for charges of at most `tokens` each, by responding to a `signature` claim.
    pub async fn grant_mandate(&self, tokens: u128, nonce: u64) -> Outcome {
        let request = self.mandate(tokens, nonce);
        let prepared = self.rail.prepare_mandate(&self.method, &request).expect("prepares");
        let signature = self.wallet.sign_origin(&prepared.partial_tx).expect("signs");
        let signed = self.rail.check_mandate(&self.method, &request, &signature).expect("passes");
        self.send(&signed).await
    }

    pub fn deposit(&self, subject: &str, tokens: u128, nonce: u64) -> StakeRequest {
        StakeRequest {
            payer: self.wallet.did().clone(),
            payer_key: self.wallet.public_key_base58(),
            amount: Amount::new(tokens * UNIT),
            subject: subject.to_owned(),
            waiting: WAITING,
            reference: subject.to_owned(),
            nonce,
        }
    }

    /// The customer signs a deposit. Returns the wallet's response.
    fn deposit_of_wallet(&self, request: &StakeRequest) -> String {
        let prepared = self.rail.prepare_stake(&self.method, &self.currency, request).expect("prepares");
        self.wallet.sign_stake(&prepared.partial_tx, &prepared.token, request.amount).expect("signs")
    }

    /// The customer signs a deposit, and the store checks it.
    pub fn signed_stake(&self, subject: &str, tokens: u128, nonce: u64) -> SignedTransaction {
        let request = self.deposit(subject, tokens, nonce);
        self.rail.check_stake(&self.method, &self.currency, &request, &self.deposit_of_wallet(&request)).expect("passes")
    }

    /// The customer stakes a deposit.
    pub async fn stake(&self, subject: &str, tokens: u128, nonce: u64) -> Outcome {
        self.send(&self.signed_stake(subject, tokens, nonce)).await
    }

    /// The customer stakes one token at the address of a deposit without the store, on changed terms.
    pub async fn stake_beside_store(&self, subject: &str, nonce: u64, change: impl FnOnce(&mut StakeTx)) {
        let signed = self.deposit_of_wallet(&self.deposit(subject, 1, nonce));
        let bytes = bs58::decode(&signed[1..]).into_vec().expect("base58");
        let DecodedTransaction { mut transaction, format } = Transaction::decode(&bytes).expect("a transaction");
        let Some(Itx::StakeTx(stake)) = &mut transaction.itx else { panic!("a deposit") };
        change(stake);
        self.wallet.sign(&mut transaction, format);
        assert_eq!(self.send_bytes(&transaction.encode(format)).await.0, "OK");
    }

    pub fn signed_store_tx(&self, transaction: StoreTransaction, tokens: u128, nonce: u64) -> SignedTransaction {
        let request =
            StoreTransactionRequest { transaction, amount: Amount::new(tokens * UNIT), reference: "in_1".to_owned(), period: None, nonce };
        self.rail.sign(&self.method, &self.currency, &request).expect("signs")
    }

    pub async fn pull(&self, tokens: u128, nonce: u64) -> Outcome {
        self.send(&self.signed_store_tx(StoreTransaction::Pull { payer: self.wallet.did().clone() }, tokens, nonce)).await
    }

    pub async fn mandate_allows(&self, tokens: u128) -> bool {
        let amount = Amount::new(tokens * UNIT);
        self.rail.mandate_allows(&self.method, &self.currency, self.wallet.did(), amount).await.expect("answers")
    }

    /// Returns the held amount and the revoked amount of a stake, in whole tokens.
    pub async fn staked(&self, subject: &str) -> (u128, u128) {
        self.staked_for(subject, WAITING).await
    }

    /// The same of a stake with this waiting time.
    pub async fn staked_for(&self, subject: &str, waiting: Duration) -> (u128, u128) {
        let stake = self.rail.stake_balance(&self.method, &self.currency, self.wallet.did(), subject, waiting).await;
        let StakeState { held, revoked } = stake.expect("answers");
        (held.base_units() / UNIT, revoked.base_units() / UNIT)
    }

    /// Sends a transaction that the customer's wallet makes without the store. Returns the code and the hash.
    pub async fn wallet_sends(&self, nonce: u64, itx: impl Into<Itx>) -> (String, String) {
        let bytes = self.wallet.send(CHAIN_ID, nonce, itx.into());
        (self.send_bytes(&bytes).await.0, transaction_hash(&bytes))
    }

    /// Sends any bytes, and returns the code and the message of the rejection.
    pub async fn send_bytes(&self, bytes: &[u8]) -> (String, String) {
        let tx = URL_SAFE_NO_PAD.encode(bytes);
        let answer = self.query(&format!("mutation{{sendTx(tx: \"{tx}\"){{code hash}}}}")).await;
        let error = &answer["errors"][0];
        let code = error["code"].as_str().or(answer["data"]["sendTx"]["code"].as_str()).expect("a code");
        (code.to_owned(), error["message"].as_str().unwrap_or_default().to_owned())
    }

    /// Sets the customer's time at the ledger.
    pub async fn set_customer_time(&self, now: Timestamp) {
        let body = json!({"address": self.wallet.did().as_str(), "now": now.seconds()});
        assert_eq!(self.post("/time", &body).await.0, 204);
    }

    /// Returns the store's balance in whole tokens.
    pub async fn store_balance(&self) -> u128 {
        let balance = self.rail.balance(&self.method, &self.currency, self.app.did()).await.expect("answers");
        balance.base_units() / UNIT
    }

    pub async fn send(&self, signed: &SignedTransaction) -> Outcome {
        self.rail.send(&self.method, &self.currency, signed).await
    }

    pub async fn find(&self, signed: &SignedTransaction) -> Outcome {
        self.rail.find(&self.method, &self.currency, &signed.hash).await
    }

    /// Returns the customer's balance in whole tokens.
    pub async fn balance(&self) -> u128 {
        let balance = self.rail.balance(&self.method, &self.currency, self.wallet.did()).await.expect("answers");
        balance.base_units() / UNIT
    }

    pub async fn faucet(&self) -> u16 {
        self.faucet_for(&self.wallet).await
    }

    pub async fn faucet_for(&self, wallet: &TestWallet) -> u16 {
        self.faucet_to(wallet.did()).await
    }

    pub async fn faucet_to(&self, account: &Did) -> u16 {
        self.post("/faucet", &json!({"address": format!("did:abt:{account}")})).await.0
    }

    pub async fn gas(&self) -> GasState {
        self.rail.gas(&self.method).await.expect("answers")
    }

    /// Orders a fault for the next transaction.
    pub async fn fault(&self, mode: &str) {
        assert_eq!(self.post("/faults", &json!({"mode": mode})).await.0, 204);
    }

    /// The network forgets a transaction, as after a reorganization.
    pub async fn forget(&self, hash: &str) {
        assert_eq!(self.post(&format!("/debug/forget/{hash}"), &json!({})).await.0, 204);
    }

    /// Changes the network that the ledger plays: the generation of its software, and the price of a unit of gas in base units.
    pub async fn set_chain(&self, generation: Generation, gas_price: u64) {
        let body = json!({"generation": generation.version(), "gasPrice": gas_price});
        let answer = self.http.put(format!("{}/chain", self.ledger)).json(&body).send().await.expect("answers");
        assert_eq!(answer.status(), 204);
    }

    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let answer = self.http.post(format!("{}{path}", self.ledger)).json(body).send().await.expect("answers");
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    pub async fn query(&self, query: &str) -> Value {
        self.post("/api", &json!({"query": query})).await.1
    }

    pub async fn get(&self, path: &str) -> (u16, String) {
        let answer = self.http.get(format!("{}{path}", self.ledger)).send().await.expect("answers");
        (answer.status().as_u16(), answer.text().await.expect("text"))
    }

    pub async fn transfers(&self) -> Vec<Value> {
        serde_json::from_str(&self.get("/debug/transfers").await.1).expect("a list")
    }
}

pub fn method(api_host: &str) -> Method {
    let at = FixedClock::default().now();
    Method {
        id: MethodId::parse("pm_1").expect("id"),
        mode: Mode::Test,
        kind: MethodKind::Arcblock,
        active: true,
        name: "ArcBlock".to_owned(),
        description: String::new(),
        logo: String::new(),
        settings: MethodSettings::Arcblock { chain_id: CHAIN_ID.to_owned(), api_host: api_host.to_owned(), explorer_host: String::new() },
        default_currency_id: None,
        created_at: at,
        updated_at: at,
    }
}

pub fn currency() -> Currency {
    let at: Timestamp = FixedClock::default().now();
    Currency {
        id: CurrencyId::parse("pc_1").expect("id"),
        method_id: MethodId::parse("pm_1").expect("id"),
        mode: Mode::Test,
        active: true,
        name: "Souk Test Token".to_owned(),
        symbol: TOKEN_SYMBOL.to_owned(),
        logo: String::new(),
        decimals: TOKEN_DECIMALS,
        maximum_precision: 6,
        contract: token(),
        is_base: true,
        created_at: at,
        updated_at: at,
    }
}
