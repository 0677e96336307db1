//! Tests of the transactions signed with the key of the store.

use super::outcome;
use super::rail_tests::{TOKEN, app, currency, method, rail, wallet};
use super::transaction::DecodedTransaction;
use super::*;
use crate::identity::encode_base58;
use serde_json::{Value, json};
use souk_domain::payment::{Outcome, RailError, SignedTransaction, StoreTransaction, StoreTransactionRequest, WalletRail};
use souk_domain::shared::Amount;

fn request(transaction: StoreTransaction) -> StoreTransactionRequest {
    StoreTransactionRequest {
        transaction,
        amount: Amount::new(2_000_000_000_000_000_000),
        reference: "in_1".to_owned(),
        period: None,
        nonce: 1_700_000_000_002,
    }
}

fn signed(transaction: StoreTransaction) -> SignedTransaction {
    rail().sign(&method("/api/"), &currency(), &request(transaction)).expect("signs")
}

fn transactions() -> [StoreTransaction; 4] {
    let payer = wallet().did().clone();
    let subject = "sub_1".to_owned();
    [
        StoreTransaction::Pull { payer: payer.clone() },
        StoreTransaction::Payout { to: payer.clone() },
        StoreTransaction::ReturnStake { payer: payer.clone(), subject: subject.clone() },
        StoreTransaction::Slash { payer, subject },
    ]
}

#[test]
fn every_store_transaction_is_signed_by_the_store_and_reproducible() {
    for transaction in transactions() {
        let signed = signed(transaction.clone());
        assert_eq!(signed, self::signed(transaction));
        let DecodedTransaction { transaction, format } = Transaction::decode(&signed.bytes).expect("decodes");
        assert_eq!(transaction.verify_signatures(format), Ok(()));
        assert_eq!((transaction_hash(&signed.bytes), format), (signed.hash, Format::Protobuf));
    }
}

#[test]
fn a_pull_is_sent_by_this_store_on_behalf_of_the_payer() {
    let DecodedTransaction { transaction, .. } =
        Transaction::decode(&signed(StoreTransaction::Pull { payer: wallet().did().clone() }).bytes).expect("decodes");
    assert_eq!((transaction.from.as_str(), transaction.delegator.as_str()), (wallet().did().as_str(), app().did().as_str()));
    let Some(Itx::TransferV2Tx(transfer)) = transaction.itx else { panic!("a transfer") };
    assert_eq!((transfer.to.as_str(), transfer.tokens[0].value.as_str()), (app().did().as_str(), "2000000000000000000"));
}

#[test]
fn a_store_rejects_zero_amounts_and_payments_to_itself() {
    let nothing = StoreTransactionRequest { amount: Amount::ZERO, ..request(transactions()[0].clone()) };
    let own = request(StoreTransaction::Payout { to: app().did().clone() });
    for request in [nothing, own] {
        assert!(matches!(rail().sign(&method("/api/"), &currency(), &request), Err(RailError::Rejected(_))), "{request:?}");
    }
}

/// Builds a chain's response about a transaction, with receipts as `(address, value)`.
fn answer(from: &str, itx: &Value, receipts: &[(&str, &str)]) -> Value {
    let receipts = receipts.iter().map(|(address, value)| {
        let gas = json!({"target": TOKEN, "action": "gas", "value": "-7"});
        json!({"address": address, "changes": [{"target": TOKEN, "action": "transfer", "value": value}, gas]})
    });
    let receipts: Vec<Value> = receipts.collect();
    json!({"info": {"hash": "AB", "code": "OK", "tx": {"from": from, "itxJson": itx}, "receipts": receipts}})
}

#[test]
fn the_moved_amount_is_read_from_the_receipts_without_the_gas() {
    let (store, payer, stake) = (app().did().to_string(), wallet().did().to_string(), "zrj1");
    let given_to = |owner: &str| json!({"inputs": [{"owner": payer}], "outputs": [{"owner": owner}]});
    for (case, amount, answer) in [
        ("a pull", 5, answer(&payer, &json!({"to": store}), &[(&payer, "-5"), (&store, "5")])),
        ("a refund", 4, answer(&store, &json!({"to": payer}), &[(&store, "-4"), (&payer, "4")])),
        ("a return", 3, answer(&store, &json!({"address": stake}), &[(stake, "-3"), (&payer, "3")])),
        ("a slash", 2, answer(&store, &json!({"address": stake}), &[(stake, "-2"), (&store, "2")])),
        ("a stake", 1, answer(&payer, &json!({"address": stake, "receiver": store}), &[(stake, "1"), (&payer, "-1")])),
        ("a mandate", 0, answer(&payer, &json!({"address": "z2b1", "to": store}), &[])),
        ("a payment to somebody else", 0, answer(&payer, &json!({"to": "z1x"}), &[(&payer, "-5"), ("z1x", "5")])),
        ("a transfer to the store", 7, answer(&payer, &given_to(&store), &[(&payer, "-7"), (&store, "7")])),
        ("funds for somebody else", 6, answer(&payer, &given_to("z1x"), &[(&payer, "-6"), ("z1x", "6")])),
        ("funds that did not arrive", 0, answer(&payer, &given_to("z1x"), &[(&payer, "-6"), ("z1y", "6")])),
        ("no amount", u128::MAX, answer(&payer, &json!({"to": store}), &[(&store, "five")])),
    ] {
        let outcome = outcome::read(&answer, app().did(), &currency(), "AB");
        match outcome {
            Outcome::Settled(settlement) => assert_eq!(settlement.amount, Amount::new(amount), "{case}"),
            Outcome::Unknown(_) => assert_eq!(amount, u128::MAX, "{case}"),
            other => panic!("{case}: {other:?}"),
        }
    }
}

/// Recorded: the transactions of [`transactions`], encoded and signed by `@ocap/client` 1.30.24 with this store's key, in protobuf and
/// CBOR.
const RECORDED: [[&str; 2]; 4] = [
    [
        "zEt3cAxTzqGoA21e2a639sdkwJgn9EkJnMCexpUkGkoFrBJJputY3NjF5G6JKNzMFLQZDJvKG4V84DsmjR5Xx4Vq5gp8CFWptexk1BQafr6H1pn6h1icQQvZdgd8A7JuyqtLU74DCzLoHV2eLnhmRWfNv2y3RGgkD99XKiX6QpGhLdLrLuj6pH4hWpG6BU2zQRa6WSNtzc8YL68iYas1AQmB6eqQEDYztdsr6h1NrMWw2DPgUKx7pbTMUebrpV1xD1bCTy155G18gHduLezko8CNpLXQKRtwDamJATWrKy4quRZEa2qx3xptgxYHpEShccBuF6HHyUVZPDFX5wMYyyPpZScjyhbUYULEAyqdEunVdWPQpQN9vJdgPkFsUR7sQ6t5Yp5qHhK4Qr7ZhiEGo4BKGfvuAVbm6B6DjvpdNuEXyvzj1P2D7xioykzVSJqQiS2ETd7njecr3KEJpCKrdhqCGif1GCm4Njqq",
        "zaecwRDSNY4oYfi5U2aTKM3QGxjKsaARS5Ws1FTNopLjBFRffvdKDhz3QS3AXYD2k1ZZkAirZRCccwooyrguck9r9YQQq9SCAKtSzuu5kNwQeiCDP7HsR4fWdxW9y8iKFv4XL8eY3iUHvcuLJ8TrnXsLcvGKqiYnrAbw8uh4MccMNHcH9dAiix4Sx31gB5ZGP7buqqqXe6xDurp2wcsve5LmXPV6sQxftokxvpgps1RJjZR1Nw8PsdL3pEynV8i68usKrWKhyv1vmkKbXb6vxpBjRDP9tcHK9mdu17BgvFdNWJgbpFyJ92TqRjurCihjhfABJqEvwpKrqkYr4auekRsXeSC4Fe3zaxriKAmb1VuZc2iQSRPMwzveiVNphwNWcUxj9zGSBV8mCA8Z3cq9CdRvLZcNscU4DExoFbt92oDpgYTZq7ZSZrv5xQF9HXZjfjBExKTzAQv9tYvJnnLtyoFVdnUQtwxhKw2EjmjK6w",
    ],
    [
        "zNGTamBszSLcPELCRt8JFzvQeZKescL5GjU8BUpoeQEn8k6Sg3bGzMho1dopFe2bLyAzvjAM73J99N9rjDTw7EDbjPWQQQj6tmgMvosShCnSgzmU8D9GCeKKeDK7XFxUEXm9z99NLUswXEK1s2LkXTgPsbodsNmrctSKF9PBCwh141f4UFnUrfmawmwsGe3RBfynkzqppn2EEQL7ouwXWV1buZxZbakR1Htnw26jzPs3ZwaRieJXC3MjZBWEADHd2UXSHsEL2B4GMBVESSDVgbJme37QoKVhsibFok1otKpSGSvXNfsWxw3JChBAFGjWfKXN3t72PafWhoyCq6jz3wLupasZnPzSNeS5KHCagvgow6NV6MPZzjvQAQAbdNWJy1xFD7anM4bawKLRmkTscxvAas225A4MwDFo8NwuBTw7WinK",
        "zCgCtnjmYnibzneMYRKR5ahS5cL4zKvCynq3BDK97c3prgv3WAw9xVWdm8GcD85XrjH6zD8F2X4eSWj6iacBgjnQ75i4iLWpbAoAiVpKstCetceTwBvQvC1Yj9d53GFxxUR6H7gzBKj994gCceS9iQGbMQ6ZoUJBYFPA6Zkw6Kbhbbk4iwJfpZtHvNYEjhHUkWeKFdnLMN5GGhD9iE4BszuySMDJbwSJxwwvuZWcsvBchvfHUiRX2xn1pFckmMNPVRFqqt9JnpZiygBAaZpA8eHVtmRxFtZGtnW3a5DayeVv6iYzW8PZyXQBH4Ceu5xhwv7EHAhsCL1JispqYfyH6UtgqMGbwhz2ZYHH1xygASmJ3ve7DxJJyLCzEANSM5HwwRPwTgE1uztt43tcNuDRP8Uoqed2ZEc9rjy4kPgqe6wTqKMjS3vGw",
    ],
    [
        "zHdn4gp3Lqu9F2Tz2AkrzuBBRVuviTYpFoppUZJFHgsiTbuDiHnACjS2nx9zQ4z9ySGGBDJwiBmM7fhcSahCHyD3Gkw1EnowUqmZhcbRTPZyhJo8ouiFCbu79vtCKfcoeE6o8tTs3PM7LJHLNgbdjBeBDNK7MkhS5CSHdsMRaqXyvtHNc4rT2audSsYx579qLKSmjdEPGMGaR7bkGcgMg39tLG5h3a8qdhwiARTVyuE8tvfqT2VXMLmDPcAXXeTStdnvjQ5eU2kKHQ64QWjjfKh9UudMjzve7PgrC97wyYxTZf23BZuM5QwB8uskoY9RQZMbCmHpK4eT4guLcHDsFq9A5BX7oKVZNMTAyZb7DZYKJ7obY6m15EKqCTQL6bvACrngkurCyeoPohczP56JyRxJuWTq51Sr4PGjEt1cS1hQYqb4Eiva5HtmXCzExQFiTjch1gKCMPsVF2xohZAEymY2hBUX9AM2bthc1E2Crxk1rREuYrtPFWdKpTxbP2iAHM",
        "z44vDMdqJuY4iz1LeVxXLxLAeyzW2SjvCibCbGB63VaK6YWWo8ssMxSZeV3jt223teXmm1WfAVS6txpniD1K19yVh7oyTRgMCWsW4Q7wArUXADE3GdVFGoDoneYHZFCnfu1TSm81weuFrypfJAuzYTWjMr9SBoYBv9z7wfoVW2rdUPMuuXaRLFgkd5vdEmzj33k7dWS78WxCy8bvvJA9wuym45rZxZoevunJx2Qdh2TnRh1zeX2d1nxXdcPkK3cQE8oLAwfUqE977eCsHahzBf9v9kP3219WraKTh8Gjr8rz5sHgnR3eGGaeZEUVN4PEntw9BpZeVppj2jRA8QJ5x54j3UprwiDeWRuqunYNS9wXQJ7veSuuktokwKpvTmsHtu5UZamWB9rkm1Q56HcK57nyJpqu3KaPomaSaJacFpSXiEUJvVGJ3dyo8aTy2WaZHAzXQkvR9nHTdJEujCSopVvyCSz3iYCB1K5veUvHx9HPJ2KBg3h4fe5je2x42NpKzCsXkdtmG3",
    ],
    [
        "zTzWK31DRhyj7XYtVyq5deah7xMBbNLRxfS3YWQQzYwM495rMvVUT64tqK6aYEAUjtshaepMDkzUJd4SjpwsMURnykktcJ4cTtpwLhRTVGiNfW7Ank7wdhPAPFtWs7fjsSvdubxfkN2r1BvYaUxTjFkLzpM2WijRULLRphe9TT3ZrNmMSgmbrDFQqFzQ2ye7EopZ3LusH11ydWCFYYgpEBRLFPK61dndtJz7sZWHNVxHpimXsa1exENtGYfLYsPguzoK4PXRbZg3R6rgracNweBToCzM5fkP4XUMNDzQ8rBtaCHucPXsWkGW5ig26FNrqgNyjH8cRn1NdDsybtL8RR6s3zLWjADsf9m8NzJh5pptkhjyHEpNksuqcWe87NkfLDFBAHcaWt44E7k4iJSbozYNg7hDXcGs1x3KccoVXMDj5TJji42cWx7mfEdqU73waWiPytg2ABMiEr8XrZYPAbDscNBpHQhTi9xQvh7jMZKjAe8ueHScUYuYBfjpPkQVkgsmz7YKYbV82QeqhaZQK",
        "zNyG73iQ1PvZqdY9HMm6ZrmJmC5Zc2GrTogfMwP533SoP753aZE6bRpM8P8bgB8kgHk9fGSykx52aX5ZvF2cepv3Bch6dYXYVJ4RXhfpqN75oM2AnvBtgpTWVbyHNW3CRjD4fjnWp5rf83DppyAgmEuTLnqNCTioN3CzXhDJSNLxV7VyfAHT2YKvpDksbVkSqdAcYv54GbgtLteJHhY3iJhFQmeL3AHHJw4WsXieTYpbkKTMLLbNo9TwhPLEJFbuXQTgwaPeuWoSjA4M58Zzx1Z9BAXGjKuFL3CZZApgYwyhF9Z7kWuU3656dt1DK6S2M9z5xSNS2Yk5qCU1W47Qs2nxMtow5qBdAjmaGFmwb7udZwdB8HAwx6TyeVSdUb4PSM1YV6qWTzfQ9WA15EiC6BJw3uoT3nJSXevgBYrLz3H3BeEqR1WiA1aDVio5zFNPXANf7BszVGMTpmeCKkNVyqeYCfQF8o8RjGh7qmfbwaRY4KjHrsHoA8J6tA962rWHAA67sPL4TcjAvUn1AnQAEi49vUkBSP",
    ],
];

#[test]
fn store_transactions_equal_those_of_the_published_client() {
    for (transaction, [protobuf, cbor]) in transactions().into_iter().zip(RECORDED) {
        let signed = signed(transaction);
        assert_eq!(encode_base58(&signed.bytes), protobuf);
        let DecodedTransaction { mut transaction, .. } = Transaction::decode(&signed.bytes).expect("decodes");
        transaction.signature = app().sign(&transaction.signing_bytes(Format::Cbor)).to_vec();
        assert_eq!(encode_base58(&transaction.encode(Format::Cbor)), cbor);
    }
}
