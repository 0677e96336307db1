//! Tests without a network which signed transfers the rail accepts and which it rejects.

use super::transaction::DecodedTransaction;
use super::*;
use crate::identity::{AppKey, decode_base58, encode_base58};
use crate::outbound::PrivateNetworks;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use souk_domain::payment::{CheckError, Currency, Method, MethodKind, MethodSettings, RailError, TransferRequest, WalletRail};
use souk_domain::shared::{Amount, Clock, CurrencyId, MethodId, Mode, Timestamp};
use std::sync::Arc;

pub const TOKEN: &str = "z35n61rZFc1dRP8ft7tuU2gUhywNp7qZHrXei";
pub const NOW: Timestamp = Timestamp::from_seconds(1_700_000_000);

struct Fixed;
impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        NOW
    }
}

pub fn app() -> AppKey {
    AppKey::from_seed(&[2; 32])
}

pub fn wallet() -> TestWallet {
    TestWallet::from_seed(&[1; 32])
}

pub fn rail() -> ArcblockRail {
    let base = "http://127.0.0.1:1".parse().expect("address");
    ArcblockRail::reaching(app(), Arc::new(Fixed), base, PrivateNetworks::Allowed).expect("rail")
}

pub fn method(api_host: &str) -> Method {
    Method {
        id: MethodId::parse("pm_1").expect("id"),
        mode: Mode::Test,
        kind: MethodKind::Arcblock,
        active: true,
        name: "ArcBlock".to_owned(),
        description: String::new(),
        logo: String::new(),
        settings: MethodSettings::Arcblock {
            chain_id: "souk-sandbox".to_owned(),
            api_host: api_host.to_owned(),
            explorer_host: String::new(),
        },
        default_currency_id: None,
        created_at: NOW,
        updated_at: NOW,
    }
}

pub fn currency() -> Currency {
    Currency {
        id: CurrencyId::parse("pc_1").expect("id"),
        method_id: MethodId::parse("pm_1").expect("id"),
        mode: Mode::Test,
        active: true,
        name: "Token".to_owned(),
        symbol: "TKN".to_owned(),
        logo: String::new(),
        decimals: 18,
        maximum_precision: 6,
        contract: TOKEN.to_owned(),
        is_base: true,
        created_at: NOW,
        updated_at: NOW,
    }
}

/// The forms in which clients return the payload of a transaction: decoded, and written back as a JSON text of its bytes or of their base64.
pub fn rewritten(data: &Value) -> [Value; 3] {
    let bytes = data.to_string();
    [data.clone(), json!(bytes), json!(STANDARD.encode(&bytes))]
}

fn request() -> TransferRequest {
    TransferRequest {
        payer: wallet().did().clone(),
        payer_key: wallet().public_key_base58(),
        to: None,
        amount: Amount::new(10_000_000_000_000_000_000),
        reference: "cs_1".to_owned(),
        nonce: 1_700_000_000_000,
    }
}

fn prepared() -> String {
    rail().prepare(&method("/api/"), &currency(), &request()).expect("prepares").partial_tx
}

fn check(signed: &str) -> Result<String, CheckError> {
    rail().check(&method("/api/"), &currency(), &request(), signed).map(|signed| signed.hash)
}

/// Changes the requested transfer, then signs it correctly.
fn signed_after(change: impl Fn(&mut Transaction)) -> String {
    let signed = wallet().sign_transfer(&prepared(), TOKEN, request().amount).expect("signs");
    let DecodedTransaction { mut transaction, format } = Transaction::decode(&decode_base58(&signed).expect("base58")).expect("decodes");
    change(&mut transaction);
    if transaction.signatures.len() == 1 {
        wallet().sign(&mut transaction, format);
    }
    encode_base58(&transaction.encode(format))
}

fn transfer(transaction: &mut Transaction) -> &mut TransferV3Tx {
    let Some(Itx::TransferV3Tx(transfer)) = &mut transaction.itx else { panic!("a transfer") };
    transfer
}

#[test]
fn the_requested_transfer_is_accepted() {
    let signed = signed_after(|_| ());
    assert!(check(&signed).is_ok_and(|hash| hash.len() == 64));
    let signed = rail().check(&method("/api/"), &currency(), &request(), &signed).expect("passes");
    assert_eq!(signed.hash, transaction_hash(&signed.bytes));
}

#[test]
fn every_difference_is_named() {
    let other = AppKey::from_seed(&[3; 32]).did().to_string();
    for (field, change) in [
        ("payer", (|tx: &mut Transaction| tx.from = "z1XDLp".to_owned()) as fn(&mut Transaction)),
        ("payer's key", |tx| tx.pk[0] ^= 1),
        ("delegator", |tx| tx.delegator.clone_from(&tx.from)),
        ("network", |tx| tx.chain_id = "main".to_owned()),
        ("nonce", |tx| tx.nonce += 1),
        ("fee", |tx| tx.service_fee = "1".to_owned()),
        ("fee", |tx| tx.gas = 1),
        ("recipient or amount", |tx| transfer(tx).outputs[0].tokens[0].value = "1".to_owned()),
        ("recipient or amount", |tx| transfer(tx).outputs.clear()),
        ("data", |tx| transfer(tx).data = None),
        ("inputs", |tx| transfer(tx).inputs.clear()),
        ("inputs", |tx| transfer(tx).inputs[0].tokens[0].value.push('0')),
        ("inputs", |tx| transfer(tx).inputs[0].assets.push("zjd".to_owned())),
        ("signatures", |tx| tx.signatures.push(tx.signatures[0].clone())),
        ("signatures", |tx| tx.signatures.clear()),
        ("type", |tx| tx.itx = Some(TransferV2Tx::default().into())),
    ] {
        assert_eq!(check(&signed_after(change)), Err(CheckError::Differs(field)));
    }
    let elsewhere = signed_after(|tx| transfer(tx).outputs[0].owner.clone_from(&other));
    assert_eq!(check(&elsewhere), Err(CheckError::Differs("recipient or amount")));
}

#[test]
fn a_wrong_inner_or_outer_signature_is_rejected() {
    let signed = decode_base58(&signed_after(|_| ())).expect("base58");
    let DecodedTransaction { transaction, format } = Transaction::decode(&signed).expect("decodes");
    let mut outside = transaction.clone();
    outside.signature[5] ^= 1;
    let mut inside = transaction;
    inside.signatures[0].signature[5] ^= 1;
    for transaction in [outside, inside] {
        assert_eq!(check(&encode_base58(&transaction.encode(format))), Err(CheckError::BadSignature));
    }
}

#[test]
fn input_that_is_not_a_transaction_is_malformed() {
    for text in ["", "z", "hello", "zzzz", &prepared()[1..], &"z".repeat(20_000)] {
        assert_eq!(check(text), Err(CheckError::Malformed));
    }
}

#[test]
fn a_transfer_is_not_requested_from_a_key_that_is_not_the_payers() {
    let foreign = TransferRequest { payer_key: app().public_key_base58(), ..request() };
    assert!(matches!(rail().prepare(&method("/api/"), &currency(), &foreign), Err(RailError::Rejected(_))));
}

#[test]
fn a_host_that_is_not_a_web_address_is_misconfigured() {
    for host in ["file:///etc/passwd", "ftp://example.com/", "nonsense"] {
        assert!(matches!(rail().prepare(&method(host), &currency(), &request()), Err(RailError::Misconfigured(_))), "{host}");
    }
}

/// Recorded: the partial transaction of [`request`], decoded, completed and signed by `@ocap/client` 1.30.24 with each of its two
/// encoders.
const RECORDED_PARTIAL: &str = "zKLH7TUj8b5AjPPgjW1ZiANXfLBiX4j5PzbQQkgJX61LVXaYba56nejZFFwk9ovYzinDVVKtc9a7e3YdLDnJVA5qGCNXTQL2wpeeFZsmuU1521TEGScqKYG81bMy4mFcWnxkQh9MT5coCGYdcyGwu2hywngTmaCCWUCfSzR7CQ6F5TJvyBJhhZMG4jNqqeCxP2Gi6NqdgFkfiRKAVCPxohbL4ykS18fFnZnjqVZLP3CokpvJUHGMWnmumuF2g1aipCfyaBBnaFfP1JWMSdgWkb7kWVaEKzNhJPHm9AuuPBnofQMW24XnGsrL7X95Ytq1TauqK5goQt2A8UBJwv3rKitEZM";
const RECORDED_PROTOBUF: &str = "z4xp37uhqCLQ75LgGnMPgEopXRov661h4ox24YSYmviqouCujxBYVB6ZSGghwvcSpdxUWgnT9iyEoPJtbcVgqAgro88G9TT45RGSG95dCvzfkTDDLPhxnEFKDu4tHmeSbQQ8s6sCg7tMC5P63NuUDLGuEuAay1ZP6ZAp2MFokQFeDXgKyqQ92CZ53HHoyL4uW5xkzi1JZJrR83oQe4fAF4EHUdoMABjvBNUKmaYiWPnwvFjv82wuJmfAqi7zMbxKeiJYvyTiagNoFKywSBfptCUq6mjp6ssGHS8yrdEy4PcLzFEW8pigVxhpXmovuHfk6KR3gyEMJUGxp6T8RTGfVsKCT4yejAJw67YM9Xyhs6vcCQ2rzeoMzSbCpAptuddZXabmWZqrwBwUuLDZkPfXpiFthSVCbwaoQSo5AMSvkz1pyQvJNmXFjfxf4qkwH1Qqv8DVsU76UUKjsATgFiqVUs8JZKFW6kjTDpgSb8NxVAVxhCTGz2LftH8qst6H1HgW7G7Y1hVNa5xRqYqaJMAEcf3NLyzzTbdsGygwjWmGRhS7QLyxwJEUXSdouBjeXXpDSkWeh7WFNBQCer4fPAYom62zxGA7CyKAoZ5nMANu89945LcqbVyqDq5h3pB5QM1ZNSrjbSpMLWvRaHpV2bvYjrLfhEwLyE88oi4JLvArxTwgx4FjT4ETNPy9F5bie7JLjHhm1FkGmUDZ1xCCARgrnqskdJq2Xw64fWeTwiWh39nR6TGhwMNddMAogkdYEtP";
const RECORDED_CBOR: &str = "z2cBj5Drz91ow8eEtf3WQHYiDz646YVMRDrXZ898mcsB2m57FYNfdhqvBLSoEFEnn41Df4LAgBwenBuaZ6crYkKaKLxJNUd4u58VWfcefeLRzukRjZcEHmQS8LfdtZvhAwmZmEzP7mWr7ECs8zy2fqm3nSu1dXUyYYfZfGq5n55WzxDcZX7M9V7kPkUSirkfhGBbL8rSEXjY744naS6kr4qCqLPJtC1Paay92gKtoEFjvzRfKLkZzSh27qeLScC1Xh3eCkZ22Qq5voMpuf7ujGqVUY1seBzigXtHEQmNCB7jD4wpLtKkHAWuVzLj6Sv6eHHC6Gow4HY5tYzU5ESpDmBWwvL593kRR1uADRK4BjcrY9EENGqQaNJ6zePePvp296uokid8V2ppoKcm6C6HCcmss8HzzVgq3RmqUdGoUaYUFQvtq29NXrsuPMJBmE6DjFuVzrW2sp8qodCSqTemdZYhZsqKHzXwq84BpBw5WkVTtjSzF1hkRwEdmNP3F44Hj1GpdwxUuuEmwriFL4eWby5uK3mZhcarXJLBmJEwGpHgqPNBbpvWRcHr8F1idG6Z8EC6ZTtd6SWLiKsXgodLJS1FzuBaiNSdGTnSjJxWVKfrAH5VxnsN42e6BvxJtN1UHcfRWV6MCb3LhN12AKUQjLhdKpUERQkprgJnsF25MHkNvyG7YoPfJSJwrLRf4cyDPS3Y98V6qJg1htV5A4SY345n748ima4ynmYuoYhf9J9zhigkKShuGErkiv8SaH4qzQ83rkh6UHsi8VM";

/// Recorded: the same transaction, decoded and signed by `@ocap/client` 1.30.24 without restoring its data, which becomes a JSON text of
/// the base64 of its bytes.
const RECORDED_REWRITTEN: &str = "zyzGU1egvpWmGzGrDpd6EEWESmmEw6FwsukGEEdyqebPhkfihnqaC2g4SSihXixLYKSFNtAK78TM83MnnpRKKJJpJZz4cxezYo5xeVLHaxURUhAVdUzx89AxeTxLcFTAS72q1kfJQw6WGnrUp3259jC9kueB74pQ93G4hX4cJzuDV31pUDVdxkcofuB4ogVUwYygaLTeBJoevYhSDJXzZDwBKDgLDxcoAsznGvSPuuYLLiVuVSQhdBTDPYWekhz4giMFkC3RgrVZqD9qEjQGup54Y6U1v3bNLaqt9gztxZie3syVuCC2Q5Kzq4xGv9kmK77btp3XWD1Sw1iDiHcQty5LFpeBFFpjvfaxZ2bs9gbNfvFPZUapbJnAzcBejrYk1jGP2T51jV5F1JwkpaoWaSncZ9VapmZ5tVbx1gYWsBgQAFuJE3WxFkaJmub8EMoyQgpWJYqSRBRa4UP5wZgSVboihmeNCwN5MbD1zncn5zYwmz4XJme3Bhy5zUQKNed11ArB74gbR2AAqWB7Pvv3oYf6esJ7Nhf7B3LyyG9oKCSRfA1kbKw1yNPD1wkWymbtP1thUAJY6c3f2M7QX1baExduMDgTR1T8RorKscMezox3BoXZtbGSEyiYSYAxWv6dNGe34HG2Mh2u11YTzjWeHGDbwy9owhX6qh41oVVjdyEhSDjw5aLBJxCWCgnR8X7vUxK7DArnXEpUWeuWBMSkiDss7kYBpcZ1bqakWmGNd22bSifLt712SJ2srMRJBATD93x9xbTEv5nP";

#[test]
fn data_that_the_published_client_wrote_back_as_text_of_the_same_bytes_is_accepted() {
    assert!(check(RECORDED_REWRITTEN).is_ok());
    let text = |value: Value| signed_after(|tx| transfer(tx).data = Some(Payload::new(&value)));
    assert!(check(&text(json!("{\"reference\":\"cs_1\"}"))).is_ok());
    for other in [json!("eyJyZWZlcmVuY2UiOiJjc18yIn0="), json!("cs_1"), json!({"reference": "cs_1", "more": 1}), json!(null)] {
        assert_eq!(check(&text(other)), Err(CheckError::Differs("data")));
    }
}

#[test]
fn transactions_signed_by_the_published_client_are_accepted_in_both_encodings() {
    assert_eq!(prepared(), RECORDED_PARTIAL);
    assert_eq!(signed_after(|_| ()), RECORDED_PROTOBUF);
    for signed in [RECORDED_PROTOBUF, RECORDED_CBOR] {
        assert!(check(signed).is_ok());
    }
}
