//! Tests without a network which signed stakes are accepted and which are rejected.

use super::rail_tests::{TOKEN, app, currency, method, rail, rewritten, wallet};
use super::transaction::DecodedTransaction;
use super::*;
use crate::identity::{AppKey, decode_base58, encode_base58};
use serde_json::json;
use souk_domain::payment::{CheckError, RailError, StakeRequest, WalletRail};
use souk_domain::shared::Amount;
use std::time::Duration;

fn request() -> StakeRequest {
    StakeRequest {
        payer: wallet().did().clone(),
        payer_key: wallet().public_key_base58(),
        amount: Amount::new(5_000_000_000_000_000_000),
        subject: "sub_1".to_owned(),
        waiting: Duration::from_secs(86_400),
        reference: "cs_1".to_owned(),
        nonce: 1_700_000_000_001,
    }
}

fn prepared() -> String {
    rail().prepare_stake(&method("/api/"), &currency(), &request()).expect("prepares").partial_tx
}

fn check(signed: &str) -> Result<String, CheckError> {
    rail().check_stake(&method("/api/"), &currency(), &request(), signed).map(|signed| signed.hash)
}

/// Changes the requested stake, then signs it correctly.
fn signed_after(change: impl Fn(&mut Transaction)) -> String {
    let signed = wallet().sign_stake(&prepared(), TOKEN, request().amount).expect("signs");
    let DecodedTransaction { mut transaction, format } = Transaction::decode(&decode_base58(&signed).expect("base58")).expect("decodes");
    change(&mut transaction);
    if transaction.signatures.len() == 1 {
        wallet().sign(&mut transaction, format);
    }
    encode_base58(&transaction.encode(format))
}

fn stake(transaction: &mut Transaction) -> &mut StakeTx {
    let Some(Itx::StakeTx(stake)) = &mut transaction.itx else { panic!("a deposit") };
    stake
}

#[test]
fn the_requested_stake_is_accepted() {
    assert!(check(&signed_after(|_| ())).is_ok_and(|hash| hash.len() == 64));
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
        ("address", |tx| stake(tx).address.push('x')),
        ("recipient", |tx| stake(tx).receiver = AppKey::from_seed(&[3; 32]).did().to_string()),
        ("subject", |tx| stake(tx).nonce = "sub_2".to_owned()),
        ("slashers", |tx| stake(tx).slashers.clear()),
        ("slashers", |tx| stake(tx).slashers.push(AppKey::from_seed(&[3; 32]).did().to_string())),
        ("waiting period", |tx| stake(tx).revoke_waiting_period = 0),
        ("waiting period", |tx| stake(tx).locked = true),
        ("data", |tx| stake(tx).message = "hello".to_owned()),
        ("data", |tx| stake(tx).data = None),
        ("inputs", |tx| stake(tx).inputs.clear()),
        ("inputs", |tx| stake(tx).inputs[0].owner.push('x')),
        ("inputs", |tx| stake(tx).inputs[0].tokens[0].value.push('0')),
        ("inputs", |tx| stake(tx).inputs[0].tokens[0].address.push('x')),
        ("inputs", |tx| stake(tx).inputs[0].assets.push("zjd".to_owned())),
        ("signatures", |tx| tx.signatures.push(tx.signatures[0].clone())),
        ("signatures", |tx| tx.signatures.clear()),
        ("type", |tx| tx.itx = Some(TransferV2Tx::default().into())),
    ] {
        assert_eq!(check(&signed_after(change)), Err(CheckError::Differs(field)));
    }
}

#[test]
fn data_that_a_client_decoded_or_wrote_back_as_text_of_the_same_bytes_is_accepted() {
    for data in rewritten(&json!({ "reference": "cs_1" })) {
        assert!(check(&signed_after(|tx| stake(tx).data = Some(Payload::new(&data)))).is_ok(), "{data}");
    }
    for data in rewritten(&json!({ "reference": "cs_2" })) {
        let other = signed_after(|tx| stake(tx).data = Some(Payload::new(&data)));
        assert_eq!(check(&other), Err(CheckError::Differs("data")), "{data}");
    }
}

#[test]
fn a_wrong_inner_or_outer_signature_is_rejected() {
    let DecodedTransaction { transaction, format } =
        Transaction::decode(&decode_base58(&signed_after(|_| ())).expect("base58")).expect("decodes");
    let mut outside = transaction.clone();
    outside.signature[5] ^= 1;
    let mut inside = transaction;
    inside.signatures[0].signature[5] ^= 1;
    for transaction in [outside, inside] {
        assert_eq!(check(&encode_base58(&transaction.encode(format))), Err(CheckError::BadSignature));
    }
}

#[test]
fn a_stake_that_chains_would_reject_is_not_requested() {
    for request in [
        StakeRequest { amount: Amount::ZERO, ..request() },
        StakeRequest { subject: String::new(), ..request() },
        StakeRequest { subject: " sub_1".to_owned(), ..request() },
        StakeRequest { subject: "s".repeat(257), ..request() },
        StakeRequest { waiting: Duration::from_secs(u64::from(u32::MAX) + 1), ..request() },
        StakeRequest { payer_key: app().public_key_base58(), ..request() },
    ] {
        let prepared = rail().prepare_stake(&method("/api/"), &currency(), &request);
        assert!(matches!(prepared, Err(RailError::Rejected(_))), "{prepared:?}");
    }
}

/// Recorded: the stake of [`request`], encoded and signed by `@ocap/client` 1.30.24 with each of its two encoders.
const RECORDED_PROTOBUF: &str = "z839cGxCsUH38W8MzbPsFjw6jwJCsvnaWbRVjSf8ETg9XcFvspCkXKHRaCEJLe8nSohSm2JUBEBrGFG6hha5oaNLbchsfE4ZUc4jNT1w5eRBCySsUhcKkYNqEGm7Q5v9GL24AaA9gdF6XhyaYA1Wqwd5frgwtgGDZLAZg16Hid5iKCfWYDSFY2XrDE6fih49CpTbbSn4JVGnc2dY7TMz3aNWFVRANapyTuL5baGjCpQAzU8iSjrHx5GSxv8eNQfd2qda1wE1QvvecDWiX4PVRvyt9yprpxxapt9Rdzbay2y1DJwLXCZurPqCr14fExX9CEW54H57ZUGvxsbqaGgjLLaoD2iYxrXYzQ7KEy1VpM7QqGgx5TX9Jvf1hrHqWks8QhUSjMu4U8Hf6NjjgUCZXHQbUK6DxPsBfNKg6zdP229KUENZMerK46qs91VTCAsQ8jUJyVydx4YxC2zDbMpLPP5Wvu7Yw8UtSTh15nWYBbnSbRJseQSWL38JE5x24jjVRs7Rbam8DxFZg9L43w7mrRhacf1FcK9qty9psZmsYT8fvjZTxovPpT3gkj56GSFNUY2cVZQi97UwYxpT4JZRR4oa2pn1R5YZHJFh4eHHsPhfgCRuw2RVkKKLvc4h6MNb25r5uXJnVwcDVn9vuLUWRSKkaZkD279DNjWewCC5hY5aAeJiHNUC9PuKLZzsDSLBvTt1AeJ3Xysgyp3t5RomnKuP7Bcej6NVTSKmHLJBuhbeRGRiWHP7fGYibKXbQmBHs7hfvvBDTnBTmMzoWfbVanRzTrA5uukaB";
const RECORDED_CBOR: &str = "zxbARxCG6cQRfPPUfogGFfindYW34WC6NdsL1cjWdkFmCsc69MZDcrc27gM5RmWQWbjYuwMSixACddTc6NXJh3fSQCQcRPsy3PMZyXYxFYnfnNVx5wndH9D7c9pJTiGE5fNTdinegg22o6MUo6rDvPjsdrhik7674bro6vzBWdc2VF34qq93t7xYLJe8WGRNPpjVv6nHtwE4WUStqdpkkHSF796R6RJ82SYbXtLbTUQ1yp89VFG9NvtToTgNxXoB7HQHSfiTkuCtKX6ByoQEcTcqjgmLaSMSYMxW8gwaJ5k4zh9cxdjJTToSBaaG3DUs6AqXvVTRB5xiXUuTRZQX6gHA5dadwX2MqjGHkEDeFFERUohXmXdHAgwgzSqrJm2yNZY4tWgEEEAo9ca5vPZ8wHhvUFfQU6UkiYThadbjdSKdKT4tj2ZXuUqHpS4kkVQQrZU1YCtuNHY3P93wpudFvWkgTTV61M7ZRYVWqJ89fcn6aW52q92FZc8WoYfWErvDY5TFN45ZQtZBYGregrzhBMyjzrQfocDWDgxRXB95SoR7QuxBjQwLkYnaYnTfav5jxkvPk7dvCm2mcUJ9ebiyVMQsN7HVowxeziWnuNcy4p8saittXFciEU1mJmZqLat2UmMw4iHNZ6EkgrRK35ddnSJTYBxmHEivBvcmo9G9eru3wdcd5EsAidvHDugbeqiWmxKM9fb9BUKhpNBZuDa7DmnWcRZG3ouU2yxVLjLXSeWU2psi8oyvKY9bWKZBagHGWHCYdfb6p6nXbpTgqZ8XHJ9Er2SjR3dkoE3TCVSXWFocC7enAoh";

#[test]
fn transactions_signed_by_the_published_client_are_accepted_in_both_encodings() {
    assert_eq!(signed_after(|_| ()), RECORDED_PROTOBUF);
    for signed in [RECORDED_PROTOBUF, RECORDED_CBOR] {
        assert!(check(signed).is_ok());
    }
}
