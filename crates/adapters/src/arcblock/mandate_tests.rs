//! Tests without a network which signed delegations are accepted and which are rejected.

use super::rail_tests::{TOKEN, app, currency, method, rail, rewritten, wallet};
use super::transaction::DecodedTransaction;
use super::*;
use crate::identity::{AppKey, decode_base58, encode_base58};
use serde_json::json;
use souk_domain::payment::{CheckError, Currency, CurrencyLimit, MandateRequest, RailError, WalletRail};
use souk_domain::shared::{Amount, CurrencyId};

fn second() -> Currency {
    let id = CurrencyId::parse("pc_2").expect("id");
    Currency { id, contract: souk_sandbox::ledger::token(), ..currency() }
}

fn limit_of(currency: Currency, most: u128) -> CurrencyLimit {
    CurrencyLimit { currency, most: Amount::new(most) }
}

fn request() -> MandateRequest {
    MandateRequest {
        payer: wallet().did().clone(),
        payer_key: wallet().public_key_base58(),
        limits: vec![limit_of(currency(), 10_000_000_000_000_000_000), limit_of(second(), 5)],
        reference: "cs_1".to_owned(),
        nonce: 1_700_000_000_000,
    }
}

fn prepared() -> String {
    rail().prepare_mandate(&method("/api/"), &request()).expect("prepares").partial_tx
}

fn check(signed: &str) -> Result<String, CheckError> {
    rail().check_mandate(&method("/api/"), &request(), signed).map(|signed| signed.hash)
}

/// Changes the requested delegation, then signs it correctly.
fn signed_after(change: impl Fn(&mut Transaction), format: Format) -> String {
    let DecodedTransaction { mut transaction, .. } = Transaction::decode(&decode_base58(&prepared()).expect("base58")).expect("decodes");
    change(&mut transaction);
    let parties = std::mem::take(&mut transaction.signatures);
    wallet().sign(&mut transaction, format);
    transaction.signatures = parties;
    encode_base58(&transaction.encode(format))
}

fn delegate(transaction: &mut Transaction) -> &mut DelegateTx {
    let Some(Itx::DelegateTx(delegate)) = &mut transaction.itx else { panic!("a permission") };
    delegate
}

fn limit(transaction: &mut Transaction) -> &mut TokenLimit {
    &mut delegate(transaction).ops[0].limit.as_mut().expect("a limit").tokens[0]
}

#[test]
fn the_requested_delegation_is_accepted_as_a_transaction_or_as_a_signature() {
    let whole = signed_after(|_| (), Format::Protobuf);
    let hash = check(&whole).expect("passes");
    let signature = wallet().sign_origin(&prepared()).expect("signs");
    assert_eq!(check(&signature), Ok(hash));
    assert!(check(&signed_after(|_| (), Format::Cbor)).is_ok());
}

#[test]
fn every_difference_is_named() {
    for (field, change) in [
        ("payer", (|tx: &mut Transaction| tx.from = "z1XDLp".to_owned()) as fn(&mut Transaction)),
        ("payer's key", |tx| tx.pk[0] ^= 1),
        ("delegator", |tx| tx.delegator.clone_from(&tx.from)),
        ("network", |tx| tx.chain_id = "main".to_owned()),
        ("nonce", |tx| tx.nonce += 1),
        ("fee", |tx| tx.service_fee = "1".to_owned()),
        ("fee", |tx| tx.gas = 1),
        ("address", |tx| delegate(tx).address.push('x')),
        ("recipient", |tx| delegate(tx).to = AppKey::from_seed(&[3; 32]).did().to_string()),
        ("limits", |tx| delegate(tx).ops.clear()),
        ("limits", |tx| delegate(tx).ops.push(DelegateOp { type_url: "fg:t:transfer_v3".to_owned(), ..DelegateOp::default() })),
        ("limits", |tx| delegate(tx).ops[0].type_url = "fg:t:transfer_v3".to_owned()),
        ("limits", |tx| delegate(tx).ops[0].limit = None),
        ("limits", |tx| delegate(tx).ops[0].rules.push("true".to_owned())),
        ("limits", |tx| limit(tx).address = TOKEN.replace('z', "y")),
        ("limits", |tx| limit(tx).to.clear()),
        ("limits", |tx| limit(tx).tx_count = 1),
        ("limits", |tx| limit(tx).tx_allowance = "1".to_owned()),
        ("limits", |tx| limit(tx).total_allowance = "1".to_owned()),
        ("limits", |tx| limit(tx).valid_until = 1),
        ("limits", |tx| limit(tx).rate = Some(RateLimit { interval: 1, anchor: 0 })),
        ("limits", |tx| limit(tx).spent_allowance = "1".to_owned()),
        ("conditions", |tx| delegate(tx).deny.push("fg:t:transfer_v2".to_owned())),
        ("conditions", |tx| delegate(tx).valid_until = 1),
        ("data", |tx| delegate(tx).data = None),
        ("signatures", |tx| tx.signatures.push(Multisig::default())),
        ("type", |tx| tx.itx = Some(TransferV2Tx::default().into())),
    ] {
        assert_eq!(check(&signed_after(change, Format::Protobuf)), Err(CheckError::Differs(field)));
    }
}

#[test]
fn data_that_a_client_decoded_or_wrote_back_as_text_of_the_same_bytes_is_accepted() {
    for data in rewritten(&json!({ "reference": "cs_1" })) {
        assert!(check(&signed_after(|tx| delegate(tx).data = Some(Payload::new(&data)), Format::Protobuf)).is_ok(), "{data}");
    }
    for data in rewritten(&json!({ "reference": "cs_2" })) {
        let other = signed_after(|tx| delegate(tx).data = Some(Payload::new(&data)), Format::Protobuf);
        assert_eq!(check(&other), Err(CheckError::Differs("data")), "{data}");
    }
}

#[test]
fn a_wrong_signature_is_rejected() {
    let DecodedTransaction { mut transaction, format } =
        Transaction::decode(&decode_base58(&signed_after(|_| (), Format::Protobuf)).expect("base58")).expect("decodes");
    transaction.signature[5] ^= 1;
    assert_eq!(check(&encode_base58(&transaction.encode(format))), Err(CheckError::BadSignature));
    assert_eq!(check(&encode_base58(&transaction.signature)), Err(CheckError::BadSignature));
    let other = rail().prepare_mandate(&method("/api/"), &MandateRequest { nonce: 1, ..request() }).expect("prepares").partial_tx;
    assert_eq!(check(&wallet().sign_origin(&other).expect("signs")), Err(CheckError::BadSignature));
}

#[test]
fn input_that_is_not_a_transaction_is_malformed() {
    for text in ["hello", "zzz0", &prepared()[1..], &"z".repeat(20_000)] {
        assert_eq!(check(text), Err(CheckError::Malformed), "{text}");
    }
}

#[test]
fn a_mandate_without_a_limit_is_never_requested() {
    for limits in [vec![], vec![limit_of(currency(), 0)], vec![limit_of(currency(), 1), limit_of(currency(), 2)]] {
        let prepared = rail().prepare_mandate(&method("/api/"), &MandateRequest { limits, ..request() });
        assert!(matches!(prepared, Err(RailError::Rejected(_))), "{prepared:?}");
    }
    let foreign = MandateRequest { payer_key: app().public_key_base58(), ..request() };
    assert!(matches!(rail().prepare_mandate(&method("/api/"), &foreign), Err(RailError::Rejected(_))));
}

/// Recorded: the delegation of [`request`], encoded and signed by `@ocap/client` 1.30.24 with each of its two encoders.
const RECORDED_PROTOBUF: &str = "zmuDKqTp4vF5gweaJTdxz8FeAZszYqk1wfzgPCkMDC4o8nHZqVUWJoduoc6AQdaEM9vDNLevmc45pWLK6WaXndJLBE72qoqvmwW7y2YXgjbdccnXPLd5xF2c1mJki8HP5Ax5k4oxTRRGvRbaaysGKcHx333pQ8ZNtZUAgFSwUyDkSz6XnWBwb1ZfBMphx7JLJgxBzQEh7eEp4suf9CnzpUUdfQtwh6Rr8cPg2M2ZnfcHi52y3Dh8kiCrDmo1wrMbSSuNj9kJ6K1zapTXspFH8FrtkY1vyKE25H6EWLaCoCF27VcwQ2o6HXeRYSQNWSC3a5GRQTTmCBJYaZt6UsWKCiULPY9cdLt2jFwTzfDn3Eife9keFZ3Qbc2g1tWhM3ZJdkXGTUUdAvFoWqwQePCfEbp3iKLnY1Jabo1yAhhFUbL2o5oV2kEcZ14HeT68sQ3mApfNDubg1PuqKaUDA63yMzxSxgiHSJq1WffHbWYyrqpgBd6AA8CDggkazcreSiDQa8cuRVm6LuVaumpCzUYMbATccFai8FasXoMa7NQvYHFkjxGs98mjYGcUzTXyNWP36rZSATAutEZK3qXKoyjzcrgA2Wk61sihjMyFqaxw6A1ZVpZMKko14xWhC5aXdPjQv92dem75Lw6QCUvQ2MDiX6GZ3fxSN83eaANvJuD";
const RECORDED_CBOR: &str = "z3nNeRxAF6iaVenxSXM1Pi5Rkbq66zCLo3G4gHTYuYoLJrF2QajKDivgi8N7uHVSKCo65shCmRKHz5DUMiYVkM8gPt1bLeJghSeC86cYtieocRX1WN2aXK7fxx6KSh7dC8pxCAHN5aVVxNa1oNFtVaLZYvi9SVGtantfT6iZ4AFnAhsAJD5ZnxAt9fSdBJYjWMr6zgQqzNsyguCjTVkQMWzrRVXJjEXTAxPyyRSTZEMFke7bDczxo58B7HswUUGvEaGyWRrsSyLZhrBZNQiY1g4CdifXXVnhAnyPhiGt5rTu2enHeBAVZnANcGwghuVBs3QNyw7d6yxftw8ZLTCHVtHLFz2CuQy2uTuP2GCCGCx2bwCPQnFKPTJzPB4hcQnuh7jMPYgPiYq96Urb6yaFQLjefKxD6gyDwUgwTTw2VPCub6ZiUBMXWKVErC3pqCFwFe4dh1xs8gorsAPQW6qxesvAHkmh8DtsfWjtC2je9gTZk6Q35A36ZkjAQTQaoxPVQtBbXL8zeqai91QH7aSuuwmQFusgzV7hwikk5qwHCQ7oGuDEFyz7JXXkH2ujnYJaDYzBMRJk73GxiQ21YgbaJJqdPSfTu3qvMBG8ttowbC57ShgGgbowXjcwHaakyMTBVTXVyVR7u3yZGhijrB2W5K7nrCmHr7RcJxS26vf4fAHH6ZXB9h";

#[test]
fn transactions_signed_by_the_published_client_are_accepted_in_both_encodings() {
    assert_eq!(signed_after(|_| (), Format::Protobuf), RECORDED_PROTOBUF);
    assert_eq!(signed_after(|_| (), Format::Cbor), RECORDED_CBOR);
    for signed in [RECORDED_PROTOBUF, RECORDED_CBOR] {
        assert!(check(signed).is_ok());
    }
}
