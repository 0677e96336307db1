//! Tokens of a stand-in issuer, and tokens that openssl has signed.

use super::*;
use crate::testing::{SiteAnswer, StandInIssuer, sign_ci_token};
use serde_json::json;
use souk_domain::publishing::trusted::CiProvider;

const NOW: i64 = 1_000_000;

/// The claims of both: issued at [`NOW`] by `https://ci.example`.
const RSA_TOKEN: &str = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2NpLmV4YW1wbGUiLCJhdWQiOiJodHRwczovL3N0b3JlLmV4YW1wbGUiLCJqdGkiOiJyc2EtMSIsImlhdCI6MTAwMDAwMCwiZXhwIjoxMDAwMzAwLCJyZXBvc2l0b3J5Ijoib2N0by9hdGxhcyIsInJlcG9zaXRvcnlfaWQiOiI0MiIsImV2ZW50X25hbWUiOiJwdXNoIn0.C5hF8mzdJEkXl8k6PzSeyYfh7aYGrhLOvx1XHovwFBXnGc7zJWeyR4nOEDFF4w-xSC2WsQXWfnjSSyPR7dqDTfxB4UYVL9Gw_msherjJk6UPOWOn6iO9Ku2O2ekB8WA8kFIiAgCntUzf_gXwqeKiPTBO68MwQY7942FhP9OCvvY5Q15rzliZvQyfzAVmT570l421yRGRt6b4eFt_GdUNvSn0Jk5Qg4pjV4pOrPrSrJAL3L-zp7Z-JnzI5nbIGH-H3YHhTnDCml5WSHuni-hqfXRZuQgJ9w2659iFvybVXqGOU6nshGVVA4qbns5YKlEqw1vvo9lC2TazMAAkf7hgAQ";
const RSA_MODULUS: &str = "vTfVRxk2B2XZteu-G8HGgPO0icM5vL2F5Os0K4wSp8DW-muwWo9zfC62wWH0jgsBfPeuXnmgF1yF32da7RmMMr7mKsOOr35DhDOAVXg0x_0FL1BwGf69AIJt2b3L7U2udrCgfpGgbQN_SbTUxwapAnO1EgKe1z-uiHJNNVpSI-jYCbAeBfCU5_WfkK7A_pzLHFeo5GgCAbWa40eoO30Qu2FOYkYS4glJsPMLCJB05sEfH3DrFd59vDpKt-iXYihbUmDtxollsBNSB7Dx-0qhT3KIFRJT_BU6Sq_w1yIxqqEvC7iYRBhx_Owln_bGlgyCNOdqZoGuh-AAHDJ_cnzidQ";
const EC_TOKEN: &str = "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImVjIn0.eyJpc3MiOiJodHRwczovL2NpLmV4YW1wbGUiLCJhdWQiOiJodHRwczovL3N0b3JlLmV4YW1wbGUiLCJqdGkiOiJyc2EtMSIsImlhdCI6MTAwMDAwMCwiZXhwIjoxMDAwMzAwLCJyZXBvc2l0b3J5Ijoib2N0by9hdGxhcyIsInJlcG9zaXRvcnlfaWQiOiI0MiIsImV2ZW50X25hbWUiOiJwdXNoIn0.c92GeEdkuO5n_WLu6I6tBEqTYxGYVj-DrklY-76AylrXEYYAL8g_SDCabarzz0ZsUIrlwGWMnCG8tD7OovpZcA";
const EC_POINT: (&str, &str) = ("Lrrec--FMm6KZm4OWKp_uls17hElINKpT8XhBagOSjE", "FxymutJ430vOsglYVUOrB4-q1ibkbOF4g3E4s_bHJVU");

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(NOW + seconds)
}

fn claims(issuer: &str) -> Value {
    json!({
        "iss": issuer, "aud": "https://store.example", "jti": "j1", "iat": NOW, "exp": NOW + 300, "repository": "octo/atlas",
        "repository_id": "42", "event_name": "push",
    })
}

async fn open() -> (StandInIssuer, OidcCiTokens, TrustedIssuer) {
    let issuer = StandInIssuer::open().await;
    let trusted = TrustedIssuer { address: issuer.address.clone(), provider: CiProvider::GitHub };
    (issuer, OidcCiTokens::new(PrivateNetworks::Allowed).expect("a client"), trusted)
}

/// The refusal of a token; empty: it is accepted.
async fn refusal(tokens: &OidcCiTokens, token: &str, issuer: &TrustedIssuer, now: Timestamp) -> String {
    tokens.verify(token, issuer, now).await.err().map(|error| error.to_string()).unwrap_or_default()
}

#[tokio::test]
async fn a_token_is_verified_with_a_key_that_its_issuer_publishes() {
    let (issuer, tokens, trusted) = open().await;
    let token = issuer.sign(&claims(&issuer.address));
    assert_eq!(tokens.issuer_of(&token).expect("reads"), issuer.address);
    let verified = tokens.verify(&token, &trusted, at(0)).await.expect("is accepted");
    assert_eq!((verified.issuer.as_str(), verified.repository.as_str()), (issuer.address.as_str(), "octo/atlas"));
    // Only the clock of the caller counts, and the domain compares with it.
    tokens.verify(&token, &trusted, at(3_000)).await.expect("its signature is valid");
    assert_eq!(issuer.fetched(), 1, "keys are kept");
}

#[tokio::test]
async fn tokens_that_openssl_has_signed_are_verified() {
    let (issuer, tokens, trusted) = open().await;
    let keys = json!({ "keys": [
        { "kty": "oct", "kid": "secret", "k": "AAAA" },
        { "kty": "RSA", "kid": "for-encryption", "use": "enc", "n": RSA_MODULUS, "e": "AQAB" },
        { "kty": "something-new", "kid": "new" },
        { "kty": "RSA", "kid": "rsa", "use": "sig", "alg": "RS256", "n": RSA_MODULUS, "e": "AQAB" },
        { "kty": "EC", "kid": "ec", "crv": "P-256", "x": EC_POINT.0, "y": EC_POINT.1 },
    ] });
    issuer.answer_keys(Some(SiteAnswer::ok(keys.to_string())));
    for token in [RSA_TOKEN, EC_TOKEN] {
        let verified = tokens.verify(token, &trusted, at(0)).await.expect("is accepted");
        assert_eq!((verified.issuer.as_str(), verified.expires_at), ("https://ci.example", at(300)));
        let altered = token.replacen(".ey", ".ez", 1);
        assert_ne!(refusal(&tokens, &altered, &trusted, at(0)).await, "");
    }
    let by_other_key = EC_TOKEN.replace(EC_TOKEN.rsplit('.').next().expect("a signature"), &"A".repeat(86));
    assert_eq!(refusal(&tokens, &by_other_key, &trusted, at(0)).await, "The signature of the CI token is not valid");
    for kid in ["secret", "for-encryption", "new"] {
        let token = sign_ci_token("first", &json!({ "alg": "EdDSA", "kid": kid }), &claims(&issuer.address));
        assert!(refusal(&tokens, &token, &trusted, at(0)).await.contains("has no key"), "{kid}");
    }
}

#[tokio::test]
async fn a_token_with_a_weak_or_another_algorithm_is_refused() {
    let (issuer, tokens, trusted) = open().await;
    let signed = |header: Value| sign_ci_token("first", &header, &claims(&issuer.address));
    for alg in ["none", "HS256", "HS512", "eddsa", "ES256K", ""] {
        let token = signed(json!({ "alg": alg, "kid": "first" }));
        let expected = format!("CI tokens that are signed with {alg} are not accepted");
        assert_eq!(refusal(&tokens, &token, &trusted, at(0)).await, expected);
    }
    let unsigned = signed(json!({ "alg": "none", "kid": "first" }));
    let unsigned = format!("{}.", unsigned.rsplit_once('.').expect("a signature").0);
    assert!(refusal(&tokens, &unsigned, &trusted, at(0)).await.contains("signed with none"));
    // The key is meant for EdDSA.
    let confused = signed(json!({ "alg": "RS256", "kid": "first" }));
    assert!(refusal(&tokens, &confused, &trusted, at(0)).await.contains("signed with RS256"));
    assert_eq!(issuer.fetched(), 1);
}

#[tokio::test]
async fn a_token_that_is_not_well_formed_is_refused_before_anything_is_fetched() {
    let (issuer, tokens, trusted) = open().await;
    let good = issuer.sign(&claims(&issuer.address));
    let header = |header: Value| sign_ci_token("first", &header, &claims(&issuer.address));
    for token in [
        String::new(),
        "a.b.c".to_owned(),
        good.replace('.', ""),
        format!("{good}.x"),
        header(json!({ "alg": "EdDSA" })),
        header(json!({ "alg": "EdDSA", "kid": "first", "crit": ["exp"] })),
        header(json!({ "kid": "first" })),
        header(json!([])),
    ] {
        assert_eq!(refusal(&tokens, &token, &trusted, at(0)).await, "The CI token is not well-formed", "{token}");
    }
    assert!(tokens.issuer_of("a.b.c").is_err());
    assert!(tokens.issuer_of(&sign_ci_token("first", &json!({}), &json!({ "sub": "x" }))).is_err());
    assert_eq!(issuer.fetched(), 0);
}

#[tokio::test]
async fn an_unknown_key_is_fetched_once_a_minute_at_most() {
    let (issuer, tokens, trusted) = open().await;
    let claims = claims(&issuer.address);
    let second = sign_ci_token("second", &json!({ "alg": "EdDSA", "kid": "second" }), &claims);
    let unknown = format!("{} has no key that this CI token names", issuer.address);
    assert_eq!(refusal(&tokens, &second, &trusted, at(0)).await, unknown);
    issuer.publish(&["first", "second"]);
    assert_eq!(refusal(&tokens, &second, &trusted, at(59)).await, unknown);
    assert_eq!(issuer.fetched(), 1);
    assert_eq!(refusal(&tokens, &second, &trusted, at(60)).await, "");
    assert_eq!(issuer.fetched(), 2);
    let by_first = sign_ci_token("first", &json!({ "alg": "EdDSA", "kid": "second" }), &claims);
    assert_eq!(refusal(&tokens, &by_first, &trusted, at(60)).await, "The signature of the CI token is not valid");
}

#[tokio::test]
async fn a_caller_who_goes_away_takes_the_keys_from_nobody() {
    let (issuer, tokens, trusted) = open().await;
    let token = issuer.sign(&claims(&issuer.address));
    tokio::select! {
        biased;
        _ = tokens.verify(&token, &trusted, at(0)) => panic!("the keys have not arrived yet"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(refusal(&tokens, &token, &trusted, at(1)).await, "");
    assert_eq!(issuer.fetched(), 1);
}

#[tokio::test]
async fn keys_are_used_for_an_hour_at_most() {
    let (issuer, tokens, trusted) = open().await;
    let token = issuer.sign(&claims(&issuer.address));
    assert_eq!(refusal(&tokens, &token, &trusted, at(0)).await, "");
    assert_eq!(refusal(&tokens, &token, &trusted, at(3_599)).await, "");
    assert_eq!(issuer.fetched(), 1);
    issuer.publish(&["second"]);
    assert!(refusal(&tokens, &token, &trusted, at(3_600)).await.contains("has no key"), "a key that was withdrawn is not used any more");
    assert_eq!(issuer.fetched(), 2);
}

#[tokio::test]
async fn an_issuer_that_answers_otherwise_than_it_should_is_not_available() {
    let unavailable = |issuer: &StandInIssuer| format!("The keys of {} cannot be fetched at the moment, please try again", issuer.address);
    for answer in [
        SiteAnswer { status: 500, ..SiteAnswer::ok("{}") },
        SiteAnswer::redirect("https://keys.example/"),
        SiteAnswer::ok("not json"),
        SiteAnswer::ok(vec![b' '; (256 << 10) + 1]),
    ] {
        let (issuer, tokens, trusted) = open().await;
        let token = issuer.sign(&claims(&issuer.address));
        issuer.answer_keys(Some(answer));
        assert_eq!(refusal(&tokens, &token, &trusted, at(0)).await, unavailable(&issuer));
        issuer.answer_keys(None);
        assert_eq!(refusal(&tokens, &token, &trusted, at(59)).await, unavailable(&issuer), "it is asked again a minute later");
        assert_eq!(refusal(&tokens, &token, &trusted, at(60)).await, "");
    }
    let (issuer, tokens, trusted) = open().await;
    issuer.pose_as("https://other.example");
    let token = issuer.sign(&claims(&issuer.address));
    assert_eq!(refusal(&tokens, &token, &trusted, at(0)).await, unavailable(&issuer));
}

#[tokio::test]
async fn an_issuer_in_a_private_network_is_not_asked() {
    let (issuer, _, trusted) = open().await;
    let tokens = OidcCiTokens::new(PrivateNetworks::Refused).expect("a client");
    let token = issuer.sign(&claims(&issuer.address));
    assert!(refusal(&tokens, &token, &trusted, at(0)).await.contains("cannot be fetched"));
    assert_eq!(issuer.fetched(), 0);
}
