//! The networks behind the rails, on a socket: the ledger, the card processor, and an inbox for the processor's events.

use poem::endpoint::BoxEndpoint;
use poem::listener::{Acceptor, Listener, TcpListener};
use poem::web::Data;
use poem::{Endpoint, EndpointExt, Response, Route, Server, handler};
use serde_json::{Value, json};
use souk_adapters::testing::{FixedClock, TestDatabase};
use souk_domain::access::Did;
use souk_domain::shared::{Clock, Random};
use souk_sandbox::Admission;
use souk_sandbox::cards::{self, CardProcessor, CardProcessorConfig, Webhook};
use souk_sandbox::ledger::{self, Generation, Ledger, LedgerConfig};
use souk_sandbox::store::SandboxDb;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

pub const SECRET_KEY: &str = "sk_sandbox_1";
pub const PUBLISHABLE_KEY: &str = "pk_sandbox_1";
pub const WEBHOOK_SECRET: &str = "whsec_1";

pub const ACCEPTED: &str = "4242424242424242";
pub const DECLINED: &str = "4000000000000002";
pub const INSUFFICIENT: &str = "4000000000009995";
pub const SECOND_STEP: &str = "4000002500003155";
/// Can be saved, but later charges are declined.
pub const DECLINED_LATER: &str = "4000000000000341";

type Inbox = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

pub struct Networks {
    pub address: Url,
    http: reqwest::Client,
    inbox: Inbox,
    cards_hang: watch::Sender<bool>,
    ledger_hangs: watch::Sender<bool>,
    _stop: DropGuard,
}

#[handler]
fn receive(inbox: Data<&Inbox>, headers: &poem::http::HeaderMap, body: Vec<u8>) {
    let signature = headers.get("stripe-signature").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    inbox.lock().expect("inbox").push((signature, body));
}

impl Networks {
    pub async fn open(db: &TestDatabase, folder: &Path, clock: Arc<FixedClock>, random: Arc<dyn Random>, app: &Did) -> Self {
        let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.expect("listens");
        let bound = *acceptor.local_addr()[0].as_socket_addr().expect("an address");
        let address = Url::parse(&format!("http://{bound}/")).expect("an address");
        let store = match db.address().starts_with("sqlite") {
            true => SandboxDb::open_sqlite(&folder.join("sandbox.db")).await,
            false => SandboxDb::open_postgres(db.address()).await,
        };
        let store = store.expect("opens");
        let now = Arc::clone(&clock);
        let clock = souk_sandbox::time::Clock::new(move || now.now().micros());
        let random = souk_sandbox::time::Random::new(move |bytes| random.fill(bytes));
        let ledger = Ledger::open(store.clone(), clock.clone(), app.as_str(), LedgerConfig { faults: true, ..LedgerConfig::default() })
            .await
            .expect("opens");
        let config = CardProcessorConfig {
            secret_key: cards::Secret::new(SECRET_KEY),
            publishable_key: PUBLISHABLE_KEY.to_owned(),
            webhook: Some(Webhook { url: format!("{address}hook"), secret: cards::Secret::new(WEBHOOK_SECRET) }),
            faults: true,
        };
        let processor = CardProcessor::open(store, clock, random, config).await.expect("opens");
        let inbox = Inbox::default();
        let cards_hang = watch::Sender::new(false);
        let cards = hanging(cards::routes(Arc::clone(&processor), Admission::unlimited()), &cards_hang);
        let ledger_hangs = watch::Sender::new(false);
        let ledger = hanging(ledger::routes(Arc::new(ledger), Admission::unlimited()), &ledger_hangs);
        let routes = Route::new()
            .nest("/sandbox/arcblock", ledger)
            .nest("/sandbox/stripe", cards)
            .at("/hook", poem::post(receive.data(inbox.clone())));
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(Server::new_with_acceptor(acceptor).run(routes)));
        let stopped = stop.clone();
        tokio::spawn(async move { processor.run(stopped).await });
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { address, http, inbox, cards_hang, ledger_hangs, _stop: stop.drop_guard() }
    }

    fn at(&self, path: &str) -> Url {
        self.address.join(path).expect("an address")
    }

    /// Funds an account from the faucet.
    pub async fn faucet(&self, account: &str) {
        let poured = self.http.post(self.at("sandbox/arcblock/faucet")).json(&json!({ "address": account })).send().await;
        assert_eq!(poured.expect("an answer").status(), 200);
    }

    /// The transactions to an account on the ledger, without the faucet.
    pub async fn transfers_to(&self, account: &str) -> Vec<Value> {
        let answer = self.http.get(self.at("sandbox/arcblock/debug/transfers")).send().await.expect("an answer");
        let list: Vec<Value> = serde_json::from_str(&answer.text().await.expect("a body")).expect("a list");
        list.into_iter().filter(|transfer| transfer["to"] == account).collect()
    }

    /// The number of transfers from and to an account on the ledger, without deposits and the faucet.
    pub async fn transfers_of(&self, account: &str) -> usize {
        let answer = self.http.get(self.at("sandbox/arcblock/debug/transfers")).send().await.expect("an answer");
        let list: Vec<Value> = serde_json::from_str(&answer.text().await.expect("a body")).expect("a list");
        let is_ours = |transfer: &&Value| transfer["to"] == account || transfer["from"] == account;
        list.iter()
            .filter(is_ours)
            .filter(|transfer| transfer["type"].as_str().is_some_and(|kind| kind.starts_with("fg:t:transfer")))
            .count()
    }

    /// The number of refunds at the card processor.
    pub async fn card_refunds(&self) -> usize {
        let mut refunds = 0;
        for charge in self.charges().await {
            let address = format!("sandbox/stripe/v1/refunds?payment_intent={}", charge["payment_intent"].as_str().expect("an id"));
            let answer = self.http.get(self.at(&address)).bearer_auth(SECRET_KEY).send().await.expect("an answer");
            let list: Value = serde_json::from_str(&answer.text().await.expect("a body")).expect("a list");
            refunds += list["data"].as_array().expect("a list").len();
        }
        refunds
    }

    /// The transfers to an account on the ledger, without stakes.
    pub async fn payments_to(&self, account: &str) -> Vec<Value> {
        let moved = self.transfers_to(account).await;
        moved.into_iter().filter(|transfer| transfer["type"].as_str().is_some_and(|kind| kind.starts_with("fg:t:transfer"))).collect()
    }

    /// The number of customers that were created at the card processor.
    pub async fn card_customers(&self) -> usize {
        self.card_events("customer.created").await
    }

    /// The number of events of a kind at the card processor.
    pub async fn card_events(&self, kind: &str) -> usize {
        let address = self.at(&format!("sandbox/stripe/v1/events?type={kind}"));
        let answer = self.http.get(address).bearer_auth(SECRET_KEY).send().await.expect("an answer");
        let list: Value = serde_json::from_str(&answer.text().await.expect("a body")).expect("a list");
        list["data"].as_array().expect("a list").len()
    }

    /// The charges at the card processor.
    pub async fn charges(&self) -> Vec<Value> {
        let answer = self.http.get(self.at("sandbox/stripe/debug/charges")).send().await.expect("an answer");
        serde_json::from_str(&answer.text().await.expect("a body")).expect("a list")
    }

    /// Injects a fault into the next transaction at the ledger.
    pub async fn ledger_fault(&self, order: Value) {
        let answer = self.http.post(self.at("sandbox/arcblock/faults")).json(&order).send().await;
        assert_eq!(answer.expect("an answer").status(), 204);
    }

    /// Changes the network that the ledger plays: the generation of its software, and the price of a unit of gas in base units.
    pub async fn set_chain(&self, generation: Generation, gas_price: u64) {
        let body = json!({ "generation": generation.version(), "gasPrice": gas_price });
        let answer = self.http.put(self.at("sandbox/arcblock/chain")).json(&body).send().await;
        assert_eq!(answer.expect("an answer").status(), 204);
    }

    /// Injects a fault into the next server-side call at the card processor.
    pub async fn card_fault(&self, order: Value) {
        let answer = self.http.post(self.at("sandbox/stripe/faults")).json(&order).send().await;
        assert_eq!(answer.expect("an answer").status(), 204);
    }

    /// Makes all calls to the card processor wait until this is called with false.
    pub fn hang_cards(&self, hangs: bool) {
        self.cards_hang.send_replace(hangs);
    }

    /// Makes all calls to the ledger wait until this is called with false.
    pub fn hang_ledger(&self, hangs: bool) {
        self.ledger_hangs.send_replace(hangs);
    }

    pub async fn clear_card_faults(&self) {
        let answer = self.http.delete(self.at("sandbox/stripe/faults")).send().await;
        assert_eq!(answer.expect("an answer").status(), 204);
    }

    /// Submits a card number as the card form does. Returns status and body.
    pub async fn confirm(&self, client_secret: &str, number: &str) -> (u16, Value) {
        let form = [
            ("client_secret", client_secret),
            ("payment_method_data[type]", "card"),
            ("payment_method_data[card][number]", number),
            ("payment_method_data[card][exp_month]", "12"),
            ("payment_method_data[card][exp_year]", "2030"),
            ("payment_method_data[card][cvc]", "123"),
        ];
        self.as_browser(client_secret, "confirm", &form).await
    }

    /// Completes or fails the second step of a card.
    pub async fn authenticate(&self, client_secret: &str, success: bool) -> (u16, Value) {
        let success = success.to_string();
        self.as_browser(client_secret, "authenticate", &[("client_secret", client_secret), ("success", &success)]).await
    }

    async fn as_browser(&self, client_secret: &str, verb: &str, form: &[(&str, &str)]) -> (u16, Value) {
        let (intent, _) = client_secret.split_once("_secret").expect("a client secret names its intent");
        let intents = if intent.starts_with("seti_") { "setup_intents" } else { "payment_intents" };
        let address = self.at(&format!("sandbox/stripe/v1/{intents}/{intent}/{verb}"));
        let answer = self.http.post(address).bearer_auth(PUBLISHABLE_KEY).form(form).send().await.expect("an answer");
        (answer.status().as_u16(), serde_json::from_str(&answer.text().await.expect("a body")).expect("JSON"))
    }

    /// Signature and body of the first delivered event of a kind.
    pub async fn event(&self, kind: &str) -> (String, Vec<u8>) {
        let find = || {
            let inbox = self.inbox.lock().expect("inbox");
            inbox.iter().find(|(_, body)| serde_json::from_slice::<Value>(body).expect("JSON")["type"] == kind).cloned()
        };
        until(kind, async || find().is_some()).await;
        find().expect("an event")
    }
}

/// A network whose calls wait while `hangs` is true.
fn hanging(network: Route, hangs: &watch::Sender<bool>) -> BoxEndpoint<'static, Response> {
    let hangs = hangs.subscribe();
    let waiting = network.around(move |network, call| {
        let mut hangs = hangs.clone();
        async move {
            // The sender is dropped at the end of the test.
            drop(hangs.wait_for(|hangs| !hangs).await);
            network.call(call).await
        }
    });
    waiting.boxed()
}

/// Polls until `condition` holds.
///
/// # Panics
/// If the condition does not hold within ten seconds.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let held = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), held).await.unwrap_or_else(|_| panic!("waited in vain: {what}"));
}
