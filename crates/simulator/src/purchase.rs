//! Purchases: a checkout from its session to its payment.

use super::expected_errors::tolerate_expected;
use super::fixtures::Fixtures;
use super::network_client::{CARDS, NetworkClient, PaymentOption};
use super::rng::Rng;
use crate::Failure;
use souk_domain::access::{self, Profile};
use souk_domain::billing::TrialTerms;
use souk_domain::checkout::{self, FormOptions, LineItem, NewSession, Submission, SubscriptionTerms, TransferError, WalletStep};
use souk_domain::customer::{Address, ContactForm};
use souk_domain::operation::VisitorNetwork;
use souk_domain::payment::WalletSignature;
use souk_domain::pricing::Metadata;
use souk_domain::shared::{Language, Mode, SessionId};

/// Maximum number of wallet steps of an order; a delegation, a stake and a transfer, plus one to complete it.
const WALLET_STEPS_MAX: u64 = 4;
/// The open sessions of a customer.
const OPEN: &str = "SELECT id FROM checkout_sessions WHERE payer = $1 AND status = 'open'";

/// Buys something with the customer's method or the other one, and pays as far as the networks allow.
pub async fn buy(client: &NetworkClient, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let by_card = fixtures.by_card != rng.one_in(4);
    let PaymentOption { method, currency } = client.payment_option(by_card);
    let session = match checkout::create_session(ctx, order(client, fixtures, by_card, rng)).await {
        Ok(session) => session,
        result => return tolerate_expected(result),
    };
    let profile = Profile { full_name: format!("History {}", fixtures.number), ..Profile::default() };
    access::register_login(ctx, &fixtures.payer(), &profile, Language::English).await?;
    let payer = ctx.store.read().await?.users().find(fixtures.wallet.did()).await?.ok_or("the registered user is missing")?;
    let submission = Submission {
        browser: None,
        network: VisitorNetwork::default(),
        session_id: session.clone(),
        payer,
        form: ContactForm {
            name: profile.full_name,
            email: format!("history-{}@souk.example", fixtures.number),
            phone: String::new(),
            address: Address { country: "us".to_owned(), postal_code: "94105".to_owned(), ..Address::default() },
        },
        method_id: method.id.clone(),
        currency_id: currency.id.clone(),
        expected_total: None,
    };
    let submitted = match checkout::submit(ctx, &submission).await {
        Ok(submitted) => submitted,
        result => return tolerate_expected(result),
    };
    match submitted.card {
        // Some customers close the form without submitting it.
        Some(card) if !card.settled && !rng.one_in(4) => client.submit_card(&card.client_secret, rng.pick(&CARDS)).await,
        Some(_) => Ok(()),
        None if by_card => Ok(()),
        None => sign(client, fixtures, &session, rng).await,
    }
}

fn order(client: &NetworkClient, fixtures: &Fixtures, by_card: bool, rng: &mut Rng) -> NewSession {
    let one_time = LineItem::new(fixtures.one_time.clone(), 1 + rng.below(3));
    let plan = LineItem::new(rng.choose(&fixtures.plans).other.id.clone(), 1 + rng.below(3));
    let items = match rng.below(4) {
        0 => vec![one_time],
        1 => vec![one_time, plan],
        _ => vec![plan],
    };
    let terms = SubscriptionTerms {
        trial: TrialTerms { days: if rng.one_in(3) { 3 } else { 0 }, ..TrialTerms::default() },
        no_stake: rng.one_in(2),
        min_stake_amount: rng.one_in(3).then(|| "12".to_owned()),
        billing_threshold_amount: rng.one_in(3).then(|| "30".to_owned()),
        resets_anchor: rng.one_in(3),
        days_until_cancel: Some(7),
        ..SubscriptionTerms::default()
    };
    NewSession {
        mode: Mode::Test,
        kind: None,
        items,
        currency_id: Some(client.payment_option(by_card).currency.id.clone()),
        form: FormOptions::default(),
        terms,
        requires_cross_sell: false,
        success_url: None,
        cancel_url: None,
        metadata: Metadata::new(),
        expires_at: None,
    }
}

/// Pays fast by the existing delegation in half of the cases, if it suffices; otherwise signs what the order requires.
async fn sign(client: &NetworkClient, fixtures: &Fixtures, session: &SessionId, rng: &mut Rng) -> Result<(), Failure> {
    let (ctx, payer) = (&client.store.ctx, fixtures.payer());
    if rng.one_in(2) {
        match checkout::pay_fast(ctx, session, &payer.did, None).await {
            Ok(false) => {}
            result => return tolerate_expected(result),
        }
    }
    for _ in 0..WALLET_STEPS_MAX {
        let step = match checkout::next_wallet_step(ctx, session, &payer.did).await {
            Ok(step) => step,
            result => return tolerate_expected(result),
        };
        let signed = match step {
            WalletStep::Nothing => return tolerate_expected(checkout::advance(ctx, session).await),
            step => sign_one(client, fixtures, session, step).await,
        };
        if signed.is_err() {
            return tolerate_expected(signed);
        }
    }
    Ok(())
}

async fn sign_one(client: &NetworkClient, fixtures: &Fixtures, session: &SessionId, step: WalletStep) -> Result<(), TransferError> {
    let (ctx, payer, nonce) = (&client.store.ctx, fixtures.payer(), client.nonce());
    // An unreadable transaction yields an empty signature, which the store rejects.
    match step {
        WalletStep::Mandate => {
            let prepared = checkout::prepare_mandate(ctx, session, &payer, nonce).await?;
            let signed = fixtures.wallet.sign_origin(&prepared.prepared.partial_tx).unwrap_or_default();
            checkout::submit_signed_mandate(ctx, session, WalletSignature::new(&payer, nonce, &signed)).await?;
        }
        WalletStep::Stake => {
            let prepared = checkout::prepare_stake(ctx, session, &payer, nonce).await?.ok_or(TransferError::Changed)?;
            let signed = fixtures.wallet.sign_stake(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount);
            checkout::submit_signed_stake(ctx, session, WalletSignature::new(&payer, nonce, &signed.unwrap_or_default())).await?;
        }
        _ => {
            let prepared = checkout::prepare_transfer(ctx, session, &payer, nonce).await?;
            let signed = fixtures.wallet.sign_transfer(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.intent.amount);
            checkout::submit_signed_transfer(ctx, session, WalletSignature::new(&payer, nonce, &signed.unwrap_or_default())).await?;
        }
    }
    Ok(())
}

/// Expires open sessions, so that no subscription starts after the end of its history. Returns `false` if one is being paid.
pub async fn expire_open_sessions(client: &NetworkClient, fixtures: &Fixtures) -> Result<bool, Failure> {
    let mut reading = client.store.database.read().await?;
    let open = reading.query(OPEN).bind(fixtures.wallet.did()).all().await?;
    drop(reading);
    for row in &open {
        tolerate_expected(checkout::expire_session(&client.store.ctx, &SessionId::parse(&row.get::<String>("id")?)?).await)?;
    }
    let mut reading = client.store.database.read().await?;
    Ok(reading.query(OPEN).bind(fixtures.wallet.did()).all().await?.is_empty())
}
