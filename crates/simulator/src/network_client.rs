//! A customer's actions at the networks without the store (wallet and card), and fault injection into the sandbox.

use super::fixtures::Fixtures;
use crate::{Failure, Store};
use reqwest::Client;
use serde_json::{Value, json};
use souk_adapters::arcblock::{
    Itx, RevokeDelegateTx, RevokeStakeTx, TestWallet, TokenInput, TransactionInput, TransferV2Tx, transaction_hash,
};
use souk_adapters::identity::{delegation_address, stake_address};
use souk_domain::access::Did;
use souk_domain::billing::STAKE_WAITING;
use souk_domain::payment::{
    CardHolder, Currency, CurrencyLimit, MandateDetails, MandateRequest, Method, MethodKind, MethodSettings, Outcome, SetupOutcome,
    SetupRequest, SignedTransaction, StakeRequest, WalletRail,
};
use souk_domain::shared::{Amount, AttemptId, Mode, StakeId, SubscriptionId};
use std::sync::Arc;
use std::time::Duration;

/// One token of the ledger, in base units.
pub const UNIT: u128 = 1_000_000_000_000_000_000;
/// Maximum number of tries, because faults are injected into the networks.
const TRIES: u32 = 25;
const PAUSE: Duration = Duration::from_millis(40);
/// A card that is accepted, and one whose bank declines later charges.
pub const CARDS: [&str; 2] = ["4242424242424242", "4000000000000341"];

/// A payment method with its currency.
pub struct PaymentOption {
    pub method: Method,
    pub currency: Currency,
}

pub struct NetworkClient {
    pub store: Arc<Store>,
    pub seed: u64,
    http: Client,
    /// The base URL of the networks, without a trailing slash.
    networks: String,
    wallet: PaymentOption,
    card: PaymentOption,
}

impl NetworkClient {
    pub async fn open(store: Arc<Store>, networks: &str, seed: u64) -> Result<Self, Failure> {
        let mut unit = store.ctx.store.read().await?;
        let methods = unit.methods().list(Mode::Test).await?;
        let currencies = unit.methods().currencies(Mode::Test).await?;
        drop(unit);
        let option = |kind| {
            let method = methods.iter().find(|method| method.kind == kind).ok_or("the sandbox's methods are not there")?;
            let currency = currencies.iter().find(|currency| currency.method_id == method.id).ok_or("a method has no currency")?;
            Ok::<_, Failure>(PaymentOption { method: method.clone(), currency: currency.clone() })
        };
        let http = Client::builder().no_proxy().timeout(Duration::from_secs(30)).build()?;
        let (wallet, card) = (option(MethodKind::Arcblock)?, option(MethodKind::Stripe)?);
        Ok(Self { seed, http, networks: networks.trim_end_matches('/').to_owned(), wallet, card, store })
    }

    /// The card method or the wallet method, with its currency.
    pub fn payment_option(&self, by_card: bool) -> &PaymentOption {
        if by_card { &self.card } else { &self.wallet }
    }

    fn rail(&self) -> Result<&dyn WalletRail, Failure> {
        self.store.ctx.networks.wallet(MethodKind::Arcblock).ok_or_else(|| "there is no wallet rail".into())
    }

    /// The current time in microseconds, so that transactions of an account have distinct nonces.
    pub fn nonce(&self) -> u64 {
        u64::try_from(self.store.ctx.now().micros()).unwrap_or_default()
    }

    /// Requests tokens from the faucet, which may decline.
    pub async fn faucet(&self, address: &Did) -> Result<(), Failure> {
        self.post("arcblock/faucet", &json!({ "address": format!("did:abt:{address}") })).await.map(drop)
    }

    /// Signs a delegation with a limit of `tokens` whole tokens per charge.
    pub async fn delegate(&self, fixtures: &Fixtures, tokens: u64) -> Result<MandateDetails, Failure> {
        let PaymentOption { method, currency } = self.payment_option(false);
        let limit = Amount::new(u128::from(tokens) * UNIT);
        let request = MandateRequest {
            payer: fixtures.wallet.did().clone(),
            payer_key: fixtures.wallet.public_key_base58(),
            limits: vec![CurrencyLimit { currency: currency.clone(), most: limit }],
            reference: fixtures.customer.to_string(),
            nonce: self.nonce(),
        };
        let prepared = self.rail()?.prepare_mandate(method, &request)?;
        let signature = fixtures.wallet.sign_origin(&prepared.partial_tx).ok_or("the delegation cannot be signed")?;
        let signed = self.rail()?.check_mandate(method, &request, &signature)?;
        self.send(&signed).await?.ok_or("the delegation was declined")?;
        let limits = vec![(currency.id.clone(), limit)];
        Ok(MandateDetails::Delegation { payer: fixtures.wallet.did().clone(), limits, reference: signed.hash })
    }

    /// Places a stake; repeated calls place the same stake. Returns `None` if the wallet's balance is too low.
    pub async fn stake(&self, fixtures: &Fixtures, stake: &StakeId, tokens: u64, nonce: u64) -> Result<Option<SignedTransaction>, Failure> {
        let PaymentOption { method, currency } = self.payment_option(false);
        let request = StakeRequest {
            payer: fixtures.wallet.did().clone(),
            payer_key: fixtures.wallet.public_key_base58(),
            amount: Amount::new(u128::from(tokens) * UNIT),
            subject: stake.to_string(),
            waiting: STAKE_WAITING,
            reference: stake.to_string(),
            nonce,
        };
        let prepared = self.rail()?.prepare_stake(method, currency, &request)?;
        let signed =
            fixtures.wallet.sign_stake(&prepared.partial_tx, &prepared.token, request.amount).ok_or("the deposit cannot be signed")?;
        let signed = self.rail()?.check_stake(method, currency, &request, &signed)?;
        Ok(self.send(&signed).await?.map(|()| signed))
    }

    /// Sends the transaction until the network reports a result. Returns `None` if it declines for lack of funds.
    async fn send(&self, signed: &SignedTransaction) -> Result<Option<()>, Failure> {
        let PaymentOption { method, currency } = self.payment_option(false);
        let mut last = None;
        for _ in 0..TRIES {
            match self.rail()?.send(method, currency, signed).await {
                Outcome::Settled(_) => return Ok(Some(())),
                Outcome::Declined(decline) if decline.is_for_funds() => return Ok(None),
                other => last = Some(other),
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(format!("the ledger says {last:?}").into())
    }

    /// Saves a card at the processor.
    pub async fn save_card(&self, fixtures: &Fixtures) -> Result<MandateDetails, Failure> {
        let method = &self.payment_option(true).method;
        let rail = self.store.ctx.networks.card(MethodKind::Stripe).ok_or("there is no card rail")?;
        let holder = CardHolder::new(fixtures.customer.clone(), format!("History {}", fixtures.number), String::new());
        let attempt = AttemptId::new(self.store.ctx.now(), self.store.ctx.random.as_ref());
        let request = SetupRequest { attempt, holder };
        let mut last = None;
        for _ in 0..TRIES {
            let Ok(setup) = rail.open_setup(method, &request).await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            self.submit_card(&setup.client_secret, CARDS[usize::from(fixtures.number.is_multiple_of(7))]).await?;
            match rail.find_setup(method, &setup.provider_id).await {
                SetupOutcome::Saved(card) => return Ok(MandateDetails::Card(card)),
                other => last = Some(other),
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(format!("the card was not saved: {last:?}").into())
    }

    /// Submits a card form. The client secret begins with the id of the setup intent or payment intent.
    pub async fn submit_card(&self, client_secret: &str, number: &str) -> Result<(), Failure> {
        let form = [
            ("client_secret", client_secret),
            ("payment_method_data[type]", "card"),
            ("payment_method_data[card][number]", number),
            ("payment_method_data[card][exp_month]", "12"),
            ("payment_method_data[card][exp_year]", "2035"),
            ("payment_method_data[card][cvc]", "123"),
        ];
        let (intent, _) = client_secret.split_once("_secret").ok_or("no secret of a card form")?;
        let kind = if intent.starts_with("seti") { "setup_intents" } else { "payment_intents" };
        self.browser(&format!("v1/{kind}/{intent}/confirm"), &form).await
    }

    async fn browser(&self, path: &str, form: &[(&str, &str)]) -> Result<(), Failure> {
        let MethodSettings::Stripe { publishable_key, .. } = &self.payment_option(true).method.settings else {
            return Err("no card method".into());
        };
        let request = self.http.post(format!("{}/sandbox/stripe/{path}", self.networks)).bearer_auth(publishable_key);
        request.form(form).send().await?;
        Ok(())
    }

    /// Sets the decline code that the bank of a saved card returns from now on; empty: it approves.
    pub async fn set_decline_code(&self, card: &str, decline_code: &str) -> Result<(), Failure> {
        let request = self.http.post(format!("{}/sandbox/stripe/debug/payment_methods/{card}", self.networks));
        request.form(&[("decline_code", decline_code)]).send().await?;
        Ok(())
    }

    /// All objects of one kind at the card processor: charges, refunds or disputes.
    pub async fn card_objects(&self, kind: &str) -> Result<Vec<Value>, Failure> {
        let answer = self.http.get(format!("{}/sandbox/stripe/debug/{kind}", self.networks)).send().await?;
        match answer.json().await? {
            Value::Array(objects) => Ok(objects),
            other => Err(format!("the card processor lists no {kind}: {other}").into()),
        }
    }

    /// An action of a cardholder, their bank, or a user of the processor's dashboard. The processor may reject it.
    pub async fn card_incident(&self, path: &str, form: &[(&str, String)]) -> Result<(), Failure> {
        self.http.post(format!("{}/sandbox/stripe/debug/{path}", self.networks)).form(form).send().await?;
        Ok(())
    }

    /// Injects a fault into the next `count` requests of a network.
    pub async fn fault(&self, network: &str, mode: &str, count: u64) -> Result<(), Failure> {
        self.post(&format!("{network}/faults"), &json!({ "mode": mode, "value": 250, "count": count })).await.map(drop)
    }

    /// Transfers all but `keep` whole tokens of the wallet to another account.
    pub async fn spend(&self, fixtures: &Fixtures, keep: u128) -> Result<(), Failure> {
        let PaymentOption { method, currency } = self.payment_option(false);
        let balance = self.rail()?.balance(method, currency, fixtures.wallet.did()).await?;
        let spare = balance.minus(Amount::new(keep * UNIT)).unwrap_or_default();
        if spare.is_zero() {
            return Ok(());
        }
        let recipient = TestWallet::from_seed(&[200; 32]);
        let tokens = vec![TokenInput { address: currency.contract.clone(), value: spare.to_string() }];
        self.wallet_sends(fixtures, TransferV2Tx { to: recipient.did().to_string(), tokens, ..TransferV2Tx::default() }.into()).await
    }

    /// Revokes the wallet's delegation at the network.
    pub async fn revoke(&self, fixtures: &Fixtures) -> Result<(), Failure> {
        let app = &self.store.app;
        let address = delegation_address(fixtures.wallet.did(), app).to_string();
        let type_urls = vec!["fg:t:transfer_v2".to_owned()];
        self.wallet_sends(fixtures, RevokeDelegateTx { address, to: app.to_string(), type_urls, data: None }.into()).await
    }

    /// Revokes the stake of a subscription, or half of it, at the network.
    pub async fn revoke_stake(&self, fixtures: &Fixtures, id: &SubscriptionId, half: bool) -> Result<(), Failure> {
        let Some(subscription) = self.store.ctx.store.read().await?.subscriptions().find(id).await? else { return Ok(()) };
        let Some(stake) = subscription.overdraft_stake_id.or(subscription.stake_id) else { return Ok(()) };
        let PaymentOption { method, currency } = self.payment_option(false);
        let owner = fixtures.wallet.did();
        let held = self.rail()?.stake_balance(method, currency, owner, stake.as_str(), STAKE_WAITING).await?.held;
        let amount = Amount::new(held.base_units() / if half { 2 } else { 1 });
        if amount.is_zero() {
            return Ok(());
        }
        let address = stake_address(owner, &self.store.app, stake.as_str()).to_string();
        let tokens = vec![TokenInput { address: currency.contract.clone(), value: amount.to_string() }];
        let outputs = vec![TransactionInput { owner: owner.to_string(), tokens, assets: Vec::new() }];
        self.wallet_sends(fixtures, RevokeStakeTx { address, outputs, data: None }.into()).await
    }

    /// Sends a transaction once; an injected fault may lose it.
    async fn wallet_sends(&self, fixtures: &Fixtures, itx: Itx) -> Result<(), Failure> {
        let PaymentOption { method, currency } = self.payment_option(false);
        let MethodSettings::Arcblock { chain_id, .. } = &method.settings else { return Err("no wallet method".into()) };
        let bytes = fixtures.wallet.send(chain_id, self.nonce(), itx);
        let hash = transaction_hash(&bytes);
        self.rail()?.send(method, currency, &SignedTransaction { bytes, hash }).await;
        Ok(())
    }

    /// Posts to the sandbox. Returns `null` if an injected fault loses the response.
    async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let answer = self.http.post(format!("{}/sandbox/{path}", self.networks)).json(body).send().await?;
        Ok(answer.json().await.unwrap_or_default())
    }
}
