//! Test vectors generated with the published packages, version 1.30.24.

use super::transaction::DecodedTransaction;
use super::*;
use crate::identity::{AppKey, PublicKey};
use proptest::prelude::*;
use serde_json::json;

const ACCOUNT: &str = "z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM";
const APPLICATION: &str = "zNKkJffwbQ8R6PZZKeDfmw2Ri4ha5tmrTcBB";
const CBOR_VECTOR: &str = "d9d9f7a70178237a31653167744d764c7a44616f45333158327259734d465a48447663366d715a57594d021b0000018bcfe568000364626574610458208a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c0678247a4e4b6b4a6666776251385236505a5a4b6544666d7732526934686135746d72546342420fa4007066673a743a7472616e736665725f763201782a3078316136343266304533633361463534354537416342443338623037323531423339393039313446310481a20178257a33356e3631725a466331645250386674377475553267556879774e7037715a48725865690273313030303030303030303030303030303030300fa200646a736f6e01a166726561736f6e6c737562736372697074696f6e116130";
const PROTOBUF_VECTOR: &str = "0a237a31653167744d764c7a44616f45333158327259734d465a48447663366d715a57594d1080d095ffbc311a046265746122208a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c32247a4e4b6b4a6666776251385236505a5a4b6544666d7732526934686135746d72546342427aa7010a1066673a743a7472616e736665725f76321292010a2a30783161363432663045336333614635343545374163424433386230373235314233393930393134463112030a0100223c0a257a33356e3631725a466331645250386674377475553267556879774e7037715a48725865691213313030303030303030303030303030303030307a210a046a736f6e12197b22726561736f6e223a22737562736372697074696f6e227d8a010130";

fn key() -> AppKey {
    AppKey::from_seed(&[1; 32])
}

/// The transaction of both vectors. The protobuf writer of the published packages encodes a value of zero as one zero byte.
fn vector(value: Option<BigUint>) -> Transaction {
    Transaction {
        from: ACCOUNT.to_owned(),
        nonce: 1_700_000_000_000,
        chain_id: "beta".to_owned(),
        pk: key().public_key().as_bytes().to_vec(),
        delegator: APPLICATION.to_owned(),
        itx: Some(
            TransferV2Tx {
                to: "0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1".to_owned(),
                value,
                tokens: vec![TokenInput {
                    address: "z35n61rZFc1dRP8ft7tuU2gUhywNp7qZHrXei".to_owned(),
                    value: "1000000000000000000".to_owned(),
                }],
                data: Some(Payload::new(&json!({"reason": "subscription"}))),
                ..TransferV2Tx::default()
            }
            .into(),
        ),
        service_fee: "0".to_owned(),
        ..Transaction::default()
    }
}

#[test]
fn both_encodings_and_hashes_equal_the_published_ones() {
    for (format, value, bytes, hash) in [
        (Format::Cbor, None, CBOR_VECTOR, "2590BFE3B557EB528409C47CAC98BF7A892B89F95E43D0EA4F3DA0A4868F6A65"),
        (Format::Protobuf, Some(BigUint(vec![0])), PROTOBUF_VECTOR, "F778AF21C242CAB75F890951C1F61CE58B715B62E8321F4A9D41951F9CB9C358"),
    ] {
        let mut transaction = vector(value);
        assert_eq!(hex::encode(transaction.encode(format)), bytes);
        assert_eq!(
            Transaction::decode(&hex::decode(bytes).expect("hex")),
            Ok(DecodedTransaction { transaction: transaction.clone(), format })
        );
        transaction.signature = key().sign(&transaction.signing_bytes(format)).to_vec();
        assert_eq!(transaction.verify_signatures(format), Ok(()));
        assert_eq!(transaction_hash(&transaction.encode(format)), hash);
    }
}

#[test]
fn a_change_invalidates_the_signature() {
    let mut transaction = vector(None);
    transaction.signature = key().sign(&transaction.signing_bytes(Format::Protobuf)).to_vec();
    for change in [
        (|tx: &mut Transaction| tx.nonce += 1) as fn(&mut Transaction),
        |tx| tx.from = APPLICATION.to_owned(),
        |tx| tx.chain_id = "main".to_owned(),
        |tx| tx.service_fee.clear(),
        |tx| tx.signature[0] ^= 1,
        |tx| tx.pk[0] ^= 1,
        |tx| tx.delegator.clear(),
    ] {
        let mut changed = transaction.clone();
        change(&mut changed);
        assert_eq!(changed.verify_signatures(Format::Protobuf), Err(SignatureError::Sender));
    }
    assert_eq!(transaction.verify_signatures(Format::Cbor), Err(SignatureError::Sender));
}

#[test]
fn a_non_canonical_encoding_is_rejected() {
    let bytes = hex::decode(PROTOBUF_VECTOR).expect("hex");
    let padded_gas = [bytes.as_slice(), &[0x28, 0x00]].concat();
    assert_eq!(Transaction::decode(&padded_gas), Err(DecodeError::NotCanonical));
    let unknown_field = [bytes.as_slice(), &[0x98, 0x01, 0x01]].concat();
    assert_eq!(Transaction::decode(&unknown_field), Err(DecodeError::UnexpectedField(19)));
    let cut = &bytes[..bytes.len() - 1];
    assert_eq!(Transaction::decode(cut), Err(DecodeError::Malformed));
    let mut long_head = hex::decode(CBOR_VECTOR).expect("hex");
    long_head.splice(3..4, [0xb8, 0x07]);
    assert_eq!(Transaction::decode(&long_head), Err(DecodeError::NotCanonical));
}

#[test]
fn unreadable_input_is_named_in_the_error() {
    let mut bytes = hex::decode(PROTOBUF_VECTOR).expect("hex");
    let at = bytes.windows(8).position(|window| window == b"transfer").expect("type");
    bytes[at..at + 8].copy_from_slice(b"exchange");
    assert_eq!(Transaction::decode(&bytes), Err(DecodeError::UnsupportedType("fg:t:exchange_v2".to_owned())));
}

fn payload() -> impl Strategy<Value = Option<Payload>> {
    proptest::option::of(
        proptest::collection::btree_map("[a-zA-Z\u{e9}]{1,30}", "\\PC{0,12}", 0..4).prop_map(|members| Payload::new(&json!(members))),
    )
}

fn parties() -> impl Strategy<Value = Vec<TransactionInput>> {
    let tokens = proptest::collection::vec(("\\PC{0,40}", "[0-9]{0,39}"), 0..3);
    let party = ("\\PC{0,40}", tokens, proptest::collection::vec("z[a-z]{0,3}", 0..2)).prop_map(|(owner, tokens, assets)| {
        let tokens = tokens.into_iter().map(|(address, value)| TokenInput { address, value }).collect();
        TransactionInput { owner, tokens, assets }
    });
    proptest::collection::vec(party, 0..3)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        from in "\\PC{0,40}", nonce: u64, gas: u32, signature in proptest::collection::vec(any::<u8>(), 0..70),
        inputs in parties(), outputs in parties(), data in payload(), locked: bool,
    ) {
        let given_back = outputs.clone();
        let transfer: Itx = TransferV3Tx { inputs: inputs.clone(), outputs, data: data.clone() }.into();
        let (address, hash) = (from.clone(), from.clone());
        let rate = locked.then_some(RateLimit { interval: nonce, anchor: 1 });
        let limit = TokenLimit { to: vec![from.clone()], tx_allowance: from.clone(), tx_count: gas, valid_until: nonce, rate, ..TokenLimit::default() };
        let limit = DelegateLimit { tokens: vec![limit], assets: vec![AssetLimit { last_tx: nonce, ..AssetLimit::default() }] };
        let op = DelegateOp { type_url: from.clone(), rules: Vec::new(), limit: Some(limit) };
        let delegate = DelegateTx { ops: vec![op], deny: vec![from.clone()], valid_until: nonce, data: data.clone(), ..DelegateTx::default() };
        let revoke: Itx = RevokeStakeTx { address: address.clone(), outputs: given_back.clone(), data: data.clone() }.into();
        let slash = SlashStakeTx { address: address.clone(), outputs: given_back.clone(), message: from.clone(), data: data.clone() };
        let returned = ReturnStakeTx { address: address.clone(), outputs: given_back, message: from.clone(), data: data.clone() };
        let claim = ClaimStakeTx { address: address.clone(), evidence: Some(Evidence { hash }), data: data.clone() };
        let unpermitted = RevokeDelegateTx { address, to: from.clone(), type_urls: vec![from.clone()], data: data.clone() };
        let stake: Itx = StakeTx { inputs, locked, revoke_waiting_period: gas, data, ..StakeTx::default() }.into();
        for itx in [transfer, stake, delegate.into(), revoke, slash.into(), returned.into(), claim.into(), unpermitted.into()] {
            let signatures = vec![Multisig { signer: from.clone(), signature: signature.clone(), ..Multisig::default() }];
            let transaction =
                Transaction { from: from.clone(), nonce, gas, signature: signature.clone(), signatures, itx: Some(itx), ..Transaction::default() };
            for format in [Format::Protobuf, Format::Cbor] {
                prop_assert_eq!(Transaction::decode(&transaction.encode(format)), Ok(DecodedTransaction { transaction: transaction.clone(), format }));
            }
        }
    }

    #[test]
    fn noise_is_refused_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200), cbor: bool) {
        let bytes = if cbor { [&[0xd9, 0xd9, 0xf7], bytes.as_slice()].concat() } else { bytes };
        if let Ok(DecodedTransaction { transaction, format }) = Transaction::decode(&bytes) {
            prop_assert_eq!(transaction.encode(format), bytes);
        }
    }
}

#[test]
fn a_key_of_another_owner_signs_nothing() {
    let mut transaction = vector(None);
    transaction.delegator.clear();
    let other = AppKey::from_seed(&[2; 32]);
    transaction.pk = other.public_key().as_bytes().to_vec();
    transaction.signature = other.sign(&transaction.signing_bytes(Format::Cbor)).to_vec();
    assert_eq!(transaction.verify_signatures(Format::Cbor), Err(SignatureError::Sender));
    assert!(PublicKey::of_did(other.did(), &transaction.pk).is_ok());
}
