//! Buying: a checkout from its session to whatever pays it.

use super::expected_errors::tolerate_expected;
use super::fixtures::Fixtures;
use super::network_client::{CARDS, NetworkClient};
use super::rng::Rng;
use crate::Failure;
use souk_domain::access::{self, Profile};
use souk_domain::billing::TrialTerms;
use souk_domain::checkout::{self, FormOptions, LineItem, NewSession, Submission, SubscriptionTerms, TransferError, WalletStep};
use souk_domain::customer::{Address, ContactForm};
use souk_domain::pricing::Metadata;
use souk_domain::shared::{Language, Mode, SessionId};

/// A permission, a stake, a transfer: no order asks for more signatures.
const SIGNATURES: u64 = 4;
/// Sessions of a customer that are not over.
const OPEN: &str = "SELECT id FROM checkout_sessions WHERE payer = $1 AND status = 'open'";

/// Buys something, by the customer's own method or the other one, and pays it as far as the networks let it.
pub async fn buy(client: &NetworkClient, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let by_card = fixtures.by_card != rng.one_in(4);
    let (method, currency) = client.way(by_card);
    let session = match checkout::create_session(ctx, order(client, fixtures, by_card, rng)).await {
        Ok(session) => session,
        refused => return tolerate_expected(refused),
    };
    let profile = Profile { full_name: format!("History {}", fixtures.number), ..Profile::default() };
    access::register_login(ctx, &fixtures.payer(), &profile, Language::English).await?;
    let payer = ctx.store.read().await?.users().find(fixtures.wallet.did()).await?.ok_or("who was welcomed is gone")?;
    let submission = Submission {
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
    };
    let submitted = match checkout::submit(ctx, &submission).await {
        Ok(submitted) => submitted,
        refused => return tolerate_expected(refused),
    };
    match submitted.card {
        // Some close the form again.
        Some(card) if !card.settled && !rng.one_in(4) => client.give_card(&card.client_secret, rng.pick(&CARDS)).await,
        Some(_) => Ok(()),
        None if by_card => Ok(()),
        None => sign(client, fixtures, &session, rng).await,
    }
}

fn order(client: &NetworkClient, fixtures: &Fixtures, by_card: bool, rng: &mut Rng) -> NewSession {
    let gift = LineItem::new(fixtures.gift.clone(), 1 + rng.below(3));
    let plan = LineItem::new(rng.choose(&fixtures.plans).other.id.clone(), 1 + rng.below(3));
    let items = match rng.below(4) {
        0 => vec![gift],
        1 => vec![gift, plan],
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
        currency_id: Some(client.way(by_card).1.id.clone()),
        form: FormOptions::default(),
        terms,
        requires_cross_sell: false,
        success_url: None,
        cancel_url: None,
        metadata: Metadata::new(),
        expires_at: None,
    }
}

/// By what the wallet permitted before, where that suffices and somebody agrees, else by whatever is to be signed.
async fn sign(client: &NetworkClient, fixtures: &Fixtures, session: &SessionId, rng: &mut Rng) -> Result<(), Failure> {
    let (ctx, payer) = (&client.store.ctx, fixtures.payer());
    if rng.one_in(2) {
        match checkout::pay_fast(ctx, session, &payer.did, None).await {
            Ok(false) => {}
            done => return tolerate_expected(done),
        }
    }
    for _ in 0..SIGNATURES {
        let wanted = match checkout::next_wallet_step(ctx, session, &payer.did).await {
            Ok(wanted) => wanted,
            refused => return tolerate_expected(refused),
        };
        let signed = match wanted {
            WalletStep::Nothing => return tolerate_expected(checkout::advance(ctx, session).await),
            wanted => sign_one(client, fixtures, session, wanted).await,
        };
        if signed.is_err() {
            return tolerate_expected(signed);
        }
    }
    Ok(())
}

async fn sign_one(client: &NetworkClient, fixtures: &Fixtures, session: &SessionId, wanted: WalletStep) -> Result<(), TransferError> {
    let (ctx, payer, nonce) = (&client.store.ctx, fixtures.payer(), client.nonce());
    // What cannot be read is not signed, and then there is nothing to be taken.
    match wanted {
        WalletStep::Mandate => {
            let asked = checkout::prepare_mandate(ctx, session, &payer, nonce).await?;
            let signed = fixtures.wallet.sign_origin(&asked.prepared.partial_tx).unwrap_or_default();
            checkout::submit_signed_mandate(ctx, session, &payer, nonce, &signed).await?;
        }
        WalletStep::Stake => {
            let asked = checkout::prepare_stake(ctx, session, &payer, nonce).await?;
            let signed = fixtures.wallet.sign_stake(&asked.prepared.partial_tx, &asked.prepared.token, asked.amount);
            checkout::submit_signed_stake(ctx, session, &payer, nonce, &signed.unwrap_or_default()).await?;
        }
        _ => {
            let asked = checkout::prepare_transfer(ctx, session, &payer, nonce).await?;
            let signed = fixtures.wallet.sign_transfer(&asked.prepared.partial_tx, &asked.prepared.token, asked.intent.amount);
            checkout::submit_signed_transfer(ctx, session, &payer, nonce, &signed.unwrap_or_default()).await?;
        }
    }
    Ok(())
}

/// Ends the orders that are not over, so that no subscription begins after its history. False: one is being paid.
pub async fn close(client: &NetworkClient, fixtures: &Fixtures) -> Result<bool, Failure> {
    let mut reading = client.store.database.read().await?;
    let open = reading.query(OPEN).bind(fixtures.wallet.did()).all().await?;
    drop(reading);
    for row in &open {
        tolerate_expected(checkout::expire_session(&client.store.ctx, &SessionId::parse(&row.get::<String>("id")?)?).await)?;
    }
    let mut reading = client.store.database.read().await?;
    Ok(reading.query(OPEN).bind(fixtures.wallet.did()).all().await?.is_empty())
}
