//! Buying: a checkout from its session to whatever pays it.

use super::cast::Cast;
use super::dice::Dice;
use super::rules::allowed;
use super::teller::{CARDS, Teller};
use crate::compose::Failure;
use souk_domain::access::{self, Profile};
use souk_domain::billing::TrialTerms;
use souk_domain::checkout::{self, FormOptions, LineItem, NewSession, Submission, SubscriptionTerms, TransferError, Wanted};
use souk_domain::customer::{Address, ContactForm};
use souk_domain::pricing::Metadata;
use souk_domain::shared::{Language, Mode, SessionId};

/// A permission, a stake, a transfer: no order asks for more signatures.
const SIGNATURES: u64 = 4;
/// Sessions of a customer that are not over.
const OPEN: &str = "SELECT id FROM checkout_sessions WHERE payer = $1 AND status = 'open'";

/// Buys something, by the customer's own method or the other one, and pays it as far as the networks let it.
pub async fn buy(teller: &Teller, cast: &Cast, dice: &mut Dice) -> Result<(), Failure> {
    let ctx = &teller.parts.ctx;
    let by_card = cast.by_card != dice.one_in(4);
    let (method, currency) = teller.way(by_card);
    let session = match checkout::create_session(ctx, order(teller, cast, by_card, dice)).await {
        Ok(session) => session,
        refused => return allowed(refused),
    };
    let profile = Profile { full_name: format!("History {}", cast.number), ..Profile::default() };
    access::welcome(ctx, &cast.payer(), &profile, Language::English).await?;
    let payer = ctx.store.read().await?.users().find(cast.wallet.did()).await?.ok_or("who was welcomed is gone")?;
    let submission = Submission {
        session_id: session.clone(),
        payer,
        form: ContactForm {
            name: profile.full_name,
            email: format!("history-{}@souk.example", cast.number),
            phone: String::new(),
            address: Address { country: "us".to_owned(), postal_code: "94105".to_owned(), ..Address::default() },
        },
        method_id: method.id.clone(),
        currency_id: currency.id.clone(),
    };
    let submitted = match checkout::submit(ctx, &submission).await {
        Ok(submitted) => submitted,
        refused => return allowed(refused),
    };
    match submitted.card {
        // Some close the form again.
        Some(card) if !card.settled && !dice.one_in(4) => teller.give_card(&card.client_secret, dice.pick(&CARDS)).await,
        Some(_) => Ok(()),
        None if by_card => Ok(()),
        None => sign(teller, cast, &session, dice).await,
    }
}

fn order(teller: &Teller, cast: &Cast, by_card: bool, dice: &mut Dice) -> NewSession {
    let gift = LineItem::new(cast.gift.clone(), 1 + dice.below(3));
    let plan = LineItem::new(dice.choose(&cast.plans).other.id.clone(), 1 + dice.below(3));
    let items = match dice.below(4) {
        0 => vec![gift],
        1 => vec![gift, plan],
        _ => vec![plan],
    };
    let terms = SubscriptionTerms {
        trial: TrialTerms { days: if dice.one_in(3) { 3 } else { 0 }, ..TrialTerms::default() },
        no_stake: dice.one_in(2),
        min_stake_amount: dice.one_in(3).then(|| "12".to_owned()),
        billing_threshold_amount: dice.one_in(3).then(|| "30".to_owned()),
        resets_anchor: dice.one_in(3),
        days_until_cancel: Some(7),
        ..SubscriptionTerms::default()
    };
    NewSession {
        mode: Mode::Test,
        kind: None,
        items,
        currency_id: Some(teller.way(by_card).1.id.clone()),
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
async fn sign(teller: &Teller, cast: &Cast, session: &SessionId, dice: &mut Dice) -> Result<(), Failure> {
    let (ctx, payer) = (&teller.parts.ctx, cast.payer());
    if dice.one_in(2) {
        match checkout::pay_fast(ctx, session, &payer.did, None).await {
            Ok(false) => {}
            done => return allowed(done),
        }
    }
    for _ in 0..SIGNATURES {
        let wanted = match checkout::wanted(ctx, session, &payer.did).await {
            Ok(wanted) => wanted,
            refused => return allowed(refused),
        };
        let signed = match wanted {
            Wanted::Nothing => return allowed(checkout::proceed(ctx, session).await),
            wanted => sign_one(teller, cast, session, wanted).await,
        };
        if signed.is_err() {
            return allowed(signed);
        }
    }
    Ok(())
}

async fn sign_one(teller: &Teller, cast: &Cast, session: &SessionId, wanted: Wanted) -> Result<(), TransferError> {
    let (ctx, payer, nonce) = (&teller.parts.ctx, cast.payer(), teller.nonce());
    // What cannot be read is not signed, and then there is nothing to be taken.
    match wanted {
        Wanted::Mandate => {
            let asked = checkout::ask_for_mandate(ctx, session, &payer, nonce).await?;
            let signed = cast.wallet.sign_origin(&asked.prepared.partial_tx).unwrap_or_default();
            checkout::take_mandate(ctx, session, &payer, nonce, &signed).await?;
        }
        Wanted::Stake => {
            let asked = checkout::ask_for_stake(ctx, session, &payer, nonce).await?;
            let signed = cast.wallet.sign_stake(&asked.prepared.partial_tx, &asked.prepared.token, asked.amount);
            checkout::take_stake(ctx, session, &payer, nonce, &signed.unwrap_or_default()).await?;
        }
        _ => {
            let asked = checkout::ask_for_transfer(ctx, session, &payer, nonce).await?;
            let signed = cast.wallet.sign_transfer(&asked.prepared.partial_tx, &asked.prepared.token, asked.intent.amount);
            checkout::take_transfer(ctx, session, &payer, nonce, &signed.unwrap_or_default()).await?;
        }
    }
    Ok(())
}

/// Ends the orders that are not over, so that no subscription begins after its history. False: one is being paid.
pub async fn close(teller: &Teller, cast: &Cast) -> Result<bool, Failure> {
    let mut reading = teller.parts.database.read().await?;
    let open = reading.query(OPEN).bind(cast.wallet.did()).all().await?;
    drop(reading);
    for row in &open {
        allowed(checkout::expire_session(&teller.parts.ctx, &SessionId::parse(&row.get::<String>("id")?)?).await)?;
    }
    let mut reading = teller.parts.database.read().await?;
    Ok(reading.query(OPEN).bind(cast.wallet.did()).all().await?.is_empty())
}
