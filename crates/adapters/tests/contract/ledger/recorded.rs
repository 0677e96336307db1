//! Recorded transactions that `@ocap/client` 1.30.24 decoded, completed and signed for the request below.

use super::bench::{Bench, UNIT};
use serde_json::json;
use souk_adapters::on_both;
use souk_domain::access::Did;
use souk_domain::payment::{Outcome, TransferRequest};
use souk_domain::shared::Amount;

/// A wallet whose secret is 32 bytes of 0x01, and the transactions it signed with each of the client's encoders.
struct Recorded {
    payer: &'static str,
    payer_key: &'static str,
    protobuf: &'static str,
    cbor: &'static str,
}

const RECORDED: [Recorded; 3] = [
    Recorded {
        payer: "z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM",
        payer_key: "zAKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9",
        protobuf: "z3g1ePsxeEXU1zbT4HR8iBARjzeSddsAXdnodSEPafkTUf2tkyf8eaQWZWRPutt8nPcHjuqSQh8SqKrRqv2pgDiCsk9dApt3YsA114F6S47KpTkHneu1udD1uGQ2oQMtE3or7KQ27MsuQt887EfyVQ1w8rQJNfuHf79e28dRD9WrHhSE7AzACfsY2fSmKUmy9e3r4RmcCumxkQ4egxdKJMJfB8uRjtx1Grmq9nskZurxeqDa98K4QRdL4Mxh778DbkviMeke912nbbw7TcNH6BWbEfpSoj4qMz9vFvLodkNfvu5qjyYsCGenuc37UPkb3ZAET8JG8g3qA5KmDthEU36e8kCspNW4Ja98694MQYutg36HoFUMQcJ6wJP2aHouzMEzNEz8ASgwHa9oBuxpmQoCL2JYE41ZpkhqR8hhbUagW6xvN6PkNjde1KF5Cp7nX9oFna4RsVP9T82W48YmMpLAFwWa2LUDR58qH4BKT1wVFUYxvyXWuF4QBJYkogwWrwWeJphBkQY4b1Da3QqLWgB4NYL5c23XoEQFa5s8VUXCkKT7wTahXG97VGWdL9Xw6GfrFKn77TP6szXmGHo3t2vv6ccnzqQNzZzMmq2oPwRpyUPaSteMHCZaUo1iLrzo2iAC112xBMNTpdw3vJpPvFa2s9rUiP88PnZXg1FGzjd6JYSZDUvrxgiaHQ2NfEUEyLx1qpzx8X5Wf7s67MnvaKei63kewyokAJSZQA9rewyfCVSAVsEbQeBupXh",
        cbor: "zjPzkvPLALSfYk5o29bch7AX3wETAx5D85JvFDjF7bWJFGbdVm1jsPttUe6PzySAUrqssvhGdjmBGYs5nBBevP6jjJwviGZKPrtso7X28x6R5oa4UYPzvpsrFHxs2dMnZpZAiYFXtZLABDywVGq4iPVgC8CevMpBEKtma5wkzYQWWpshCRnmNiLiHtGBozRw4E7ZwxeXrBmLt1D14WFfjXAoaGAkFXzZfSALyX1wfsPrN14sCroTSQLJhNPGgTNTXd9p21FFrwTxkqUG75mRPcJWrhwESg7zjuNpaBrHKuYJijRXvHymDNmN9NXH9T2DSyMbLxujaLDe4K9nHV31gY2zW51RA8NvrCR1K4vffCBduMgaztotxoXr5CxamfqJhrzqarzVUUD7PCoGMxLL9RqFp8UgyXepagbrasLsykL2FnBy5dYKZMh1BM6p5pc1wcJhYZEvmZkUV5bWzcQH9s7xWqBEkwPg5e64D3PyJPMMHLDR8WPGaLpSwjoNHkbigQELC8Zrq98SdsPsbD81DXGcHGPadcEB1eU3EKGgbZQXrDXEsh7uzKzvEarH45h3Gf22831tZUvuVckWjodDsf7Jm2YGkuyTCJfHHxLUQCLz4AabXgcgvhpDezkGjET1aRk4c7yCVAB73jGNBRk24hsJwBDLsJCFLEbq6yiRTfYkBS9vYj7acFZKq6E13YJxJz3FcdT1ZY6LwsyuvzqnhYimzQMdudRHwFn8jAPHzzu6Kf8AiDCfoAhY1vEuA3rQ8ekxfq",
    },
    Recorded {
        payer: "z1EWtTJf4zw4mZfhmW94vJqjdfgf85Ev1FV4",
        payer_key: "zN2M8aLpoDNrmiwcekyWz3YMKxcVDXTAyVhQmmQjLhXxLDc6iKjHserPFTQa2uupXRvwDdqpu17YMyGEhWGXqS7vG",
        protobuf: "zC4LMCGiMXdW7KyYyxUU3Tk98pRC4L2UDkPuKyEZn733AfqW7Fm5hRJFYyQVJZvCpy7zxDTU1Xc9Trw2KAjXBR3eE6iHGJ7U9hLphjrksHB4yQy4tWHDgp6rbaYWMr4CdUUQxrGFjFV5vMSiqnTPo3AqqGZCVJRm7jYaWvDSvKEq4bg536ah4x7UxEKWZ28fQoYkrSiMzLKy1r2Vy2zhQJe2vJaMyhUck24wER5QATeecRcV63LnGzYtcokYhzFxm1MdzfZfZ5jA5EPDD1eYXuugwwki3vkNckGHdUnAm7Vm255JS1LJyncM78LBaniLxRDCHwRz5xW4MqKREhXs7KpQZ5CRcTwa1PaF5LDJqqVwXxrnKxbiNWZp1Mh94K5R1kCJpVAXsyB4fjPBBSr6bPPWcpPb85iz3WxaHRH596zB244KaHiLoSLKZx8oAxQjaeQWGd2kq4PWpVYvhNJ5PEEjMSL45hyFVypvsorkiniJ3maH5Y2A8FYh2QrWMKS7ixpPMphW78RGRnKJceGQVNvk6QvHa955MunVqXATasFpHWxVQ4atkzvneNxLSy4XtkhU3owdwEgYvnE1WSRXqMzzTDA2VPHTGqGRqZYRZ6pNBSNK6KQZzTNbR4cnbA9svY4ZZcCrmyyNApExbKCBhxQUnrikAECJxp771x7gm34h7gSWhwgehWE9fu9xyEJ7R9tS2JMZRip6SyiNksRJCsJa5tSnpykxGHf4Fa37t4XMeh5qhuLGSUypXnGeZZfvgeSgD5ca6PdM44q69ZUKEb8mbHdhwE2jwHdQjiCWPRQjY3RNNR86iAoNuHpSDMwdqwFV5QFL9qHgaowHU4x9qAB2LuvpZR5eGsyUVqUGhVAf",
        cbor: "zA12CWhQcb1XX3wiDYbwwVgbinbTmTTXE3FZKEi24u38snXoFon8QM8pKykrtKF1jge8mvrrTpxbaK7xMfp4oUpbiSqs2ZC5KXLe82rYAXWCHLkDc1dGTyoCaRa3GyqqGwL4Q2GrVR3X6WrxkNusdYqU2ZSqCFD8TevU2mjTupoCm2AqW4ShFBoVRoppR3ZvmxEBKGXZuQWhZQoAWF92GMZjZmiemcs5PgjB1Yxirzj6og6u5htzRv9984Fkb4JYQcp29GFEetf6TCBcJ6QuZR7wYjpYTaWD8EGswtu8EhyLcA2y6hzcS3Vg8TvMDKbYZHeV5d2sCHUtmjsqYnfjTxSAD1A62hxcm2rr9TT8uRuvznumNiEVeSk9WymrsAbdgcs9xLVZzQDELJvXpcaUqZFDJU3Xi6b6e1KfF6M33D3nP2QPQn7DQi3JDHLMXL9p3Lhja2TSYP9oXr8qApPdqpc7ZwmeMjW7E7i1qixYtAnLBNw5XknGAjLp23v4e67GXorqFHwyNKAg5LvbiDaPSh6Dgw4mKCihMZWrn1XudXpUuTWqibnFzepc5uzYqgwjZNGgx5y2VnFE1VzGwgtWc3BYHXd7zgQNJ9JEZLkexuvPGrA1ifg75aXisb3LfDtRYovrPpxv4viCVdjHvWUwgjmPkW4qdx5c6dtHvv5HGjaPSaAx6RQtnGUezoiNCwai7ujTjHSjKJjWoss6A1WJ9kCpB4ALjYGPcPxr2D6mjZhygazkoq7L3m7ag3ESQcrxqogVJwVHfnALRyVro7bZxN6pDcNGak338N75S4MRwHZ9USMuqLhhx4N2mTgf6td9VEW7RkNRZeqWVUiXZ1bMtEXzWbiMxcEVoKyoUDgzJcHmjm7jDjZtK",
    },
    Recorded {
        payer: "0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1",
        payer_key: "zYupq21BV61j6SMaWtDW5wtnq48cnFVcJQk4h3Nh4qNH2GBzqasSkjTTTMuRsjMKVKpYd6ECNHYx7DLoGtK8tgic",
        protobuf: "z2NNPjYhHpN7cpqZsd5xioWzGTaTszBJHKtPYX9zLRkG9QMXQdq2cXdfGH6k972Zb2UZyjiePbJ85T1UYh9EfgHekQGDdfcZJeZfv6wCmspJ2hCCGn4ZKpHNu3x9imhxUC9zjug7VLJpZG8DcC8wxafacZiGRFjgfcfwg5ZbYzSFKN3RvSFRej3DEfUpsfq8J4hcdLgFmvKmiHGXNejuerXPsNLhAK6mzhujV7R93LyeTmUQab2tATfuqEU4NTX63eQC5udvj7f4HGTShLUNq4gWXMTXtBnJrRULRt9wcHtpD3cMCtZjeWje5fPAUG4psr3GMabjpXYeXE8q6um2vntMr2rgyUuMVvttnFQNQTjG8bNjjcQeMaPZZX1VwuRWHbnXDEQittKKpZrkAjixF39DbxCicMP641mEDopXrx3i2Lresvawa8YMaZoVMJnmMm8TTBABR7WdVKRX7CWnqxHJofW1HqjdVkpATUbCZRjvZdNegNpjMNXaQT2AZyJ75xWTNKfY5nw5otJdMAfRXuW7PynezNoFEYbEaJ7RVtER1XKZUZ2TMa9CfHU5C7x7uqDbJEDrAhgo72TUrX4GzzT6PGD9pzxrM6xeD21gpz2LbFudED78ETxbkGKr76aC1uKnQgSkTCxV6urpQvozhUK8b8tHGRsZtARBn3Qd3L2gUa8EYmCgcnumJQSpRGFtPQNWudCbrMzT7X7UcqyiBEwm3s59ciUggEVuufBPT9YBh3W5Gtphkdo3t7CuifVJm3tJEosFrHLprRdyY8o1LXC4KTqjeMCpTzwZDUnSit7ngmWVQsScFih6qrwFpn8VYGpgzRH4gwb8zX3KHKYnwY9Q5j6vP66ovLYhYdjTPw6jPe7YcqXWzXA2VSeXVHksH",
        cbor: "z2eZsrVsiCRs7bVyGc6QpX3PEjwvHCRDPfoxpTbK4epKQsZHz5mfJ2B8yzJxXPVmvayd9L8ocUGzPfJT8x5sKuuux6s8h9cyAkgfndsBGXSH2tg6MgGfoDcckGesE36LEjp75QcwCYaXKdpjy8pcE58qEXTZRWEXL76rgS4BCbVcnZBkqrDywEGzgc7aQDmZon93uRc4c7QthtnhKeJJvnHtULhLwX1KcHVHnQNng8fjYhyeCzCBTyAoTmnZY2rqL5atJi6DHoLWGmsYRteMN7kxNtrKxsMBvL5EfCZrcTmzt2eAFsViQkiQ3XB8xNnecijN5nLUeK14i5vKMFtJ3G1QzCSmPmRrYiTWdJKJ5rVALagQ9FtmuP3CiGnfDMzgKXGaCGfmRvdBuHtd1JRFX9WXiTSv4E1KtyB1HZTQb3BQ7se7cKpYchZGNmKiwM5ix4YR1iHMNMXoyNZcfW6sBVPZthqQZdBVutpQxnmfMwVoDr5zvUZw4km8v3FDs5dz4WVBiVUotscf5R9rbgzi8iMfK3fmFDJeLNHAR2WuPBP7GwwFPZjmfkqsxosyR7NdmmgA24JEUdjGrrHZX6T2ihCvPsZGQbFhDJRnmv6MVZeqRFgYCGGUiyFG1KNAhd7tndiFq978e5ttEjJSwEMkQXYZUyPHVYrjGAg9EnTwuyPLsJaJjGh7fqq8MqSxT9Q1yWWPXFcDbqNmMcPsJLH8JWp5x5ofJXTNBWxBmxkXRQRp6sk8GkzrhSLaAVMt8SKDwAxSq484U1uFy1aVQ8h9Woeg6k3tYGyG78FnrYrNCq4S8r5uam5xGiHjTeJfvLdBE96oevM38eefvDFVD9mn1nJCHzfQJ4rw4Tqi9nk38ZeSdbRxVmJ7828K2QU8VFRxRgcgzHG7pp5htK",
    },
];

fn request(recorded: &Recorded) -> TransferRequest {
    TransferRequest {
        payer: Did::from_verified(recorded.payer),
        payer_key: recorded.payer_key.to_owned(),
        to: None,
        amount: Amount::new(5 * UNIT),
        reference: "cs_ü\"1".to_owned(),
        nonce: 77,
    }
}

on_both! {
    async fn published_wallets_of_every_key_type_pay_in_both_encodings(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        for recorded in &RECORDED {
            bench.post("/faucet", &json!({"address": recorded.payer})).await;
            let check = |signed| bench.rail.check(&bench.method, &bench.currency, &request(recorded), signed).expect("passes");
            let protobuf = bench.send(&check(recorded.protobuf)).await;
            assert!(matches!(&protobuf, Outcome::Settled(settled) if settled.payer == recorded.payer && settled.amount == request(recorded).amount), "{protobuf:?}");
            // The other encoding is another transaction. Only the nonce prevents it from moving money again.
            let cbor = bench.send(&check(recorded.cbor)).await;
            assert!(matches!(&cbor, Outcome::Declined(decline) if decline.code == "INVALID_NONCE"), "{cbor:?}");
        }
        assert_eq!(bench.transfers().await.len(), 3);
    }

    async fn published_wallets_can_pay_in_cbor_first(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        for recorded in &RECORDED {
            bench.post("/faucet", &json!({"address": recorded.payer})).await;
            let signed = bench.rail.check(&bench.method, &bench.currency, &request(recorded), recorded.cbor).expect("passes");
            assert!(matches!(bench.send(&signed).await, Outcome::Settled(_)));
        }
        assert_eq!(bench.transfers().await.len(), 3);
    }
}
