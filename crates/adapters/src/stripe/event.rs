//! Reads events: from webhook deliveries, which are signed by
//! `Stripe-Signature: t=<unix seconds>,v1=<hex of HMAC-SHA256(secret, "t.body")>`, and from the provider's list.

use super::rail::StripeRail;
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use serde_json::Value;
use sha2::Sha256;
use souk_domain::payment::{CardEvent, CardHint, EventError, EventRange, Method, RailError, Secret};
use souk_domain::shared::Timestamp;

const TOLERANCE_SECONDS: u64 = 300;
/// While a secret is rotated, the provider signs with both secrets. A header with more than a few signatures is not from the provider.
const MAX_SIGNATURES: usize = 8;

/// The events that can change a settled payment. The reconciler queries undecided payments itself.
const TYPES_OF_CHANGES: [&str; 13] = [
    "payment_intent.payment_failed",
    "payment_intent.canceled",
    "charge.failed",
    "charge.dispute.created",
    "charge.dispute.updated",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.funds_reinstated",
    "charge.dispute.closed",
    "charge.refunded",
    "charge.refund.updated",
    "refund.created",
    "refund.updated",
    "refund.failed",
];
/// The most events of one range, in pages of 100.
const MAX_PAGES: usize = 100;

#[derive(Deserialize)]
struct Event {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: Value,
}

impl From<Event> for CardEvent {
    fn from(event: Event) -> Self {
        Self { hint: hint(&event.data.object), id: event.id, kind: event.kind }
    }
}

impl StripeRail {
    pub(super) async fn changes_listed(&self, method: &Method, range: &EventRange) -> Result<Vec<CardEvent>, RailError> {
        let types: String = TYPES_OF_CHANGES.iter().enumerate().map(|(index, kind)| format!("&types[{index}]={kind}")).collect();
        let (since, until) = (range.since.seconds(), range.until.seconds());
        let list = format!("/v1/events?created[gte]={since}&created[lte]={until}{types}");
        let newest_first: Vec<Event> = self.objects(method, &list, MAX_PAGES).await?;
        Ok(newest_first.into_iter().rev().map(CardEvent::from).collect())
    }
}

pub(super) fn read(secret: &Secret, body: &[u8], signature: &str, now: Timestamp) -> Result<CardEvent, EventError> {
    verify(secret, body, signature, now)?;
    let event: Event = serde_json::from_slice(body).map_err(|_| EventError::Malformed)?;
    Ok(event.into())
}

/// Returns which object to query at the provider. The hint depends on the object and not on the type of the event, because types are
/// added and renamed between API versions.
fn hint(object: &Value) -> Option<CardHint> {
    let text = |name: &str| object[name].as_str().map(str::to_owned);
    let payment = text("payment_intent");
    let is_failure = matches!(object["status"].as_str(), Some("requires_payment_method" | "canceled" | "failed"));
    Some(match object["object"].as_str()? {
        "payment_intent" if is_failure => CardHint::Failure { payment: text("id")? },
        "charge" if is_failure => CardHint::Failure { payment: payment? },
        "payment_intent" | "setup_intent" => CardHint::Intent { provider_id: text("id")? },
        "dispute" => CardHint::Dispute { provider_id: text("id")?, payment },
        "refund" => CardHint::Refund { provider_id: text("id")?, payment },
        // Every payment causes events of its charge. Refunds and disputes are queried only if the charge has any.
        "charge" if object["disputed"] == false && object["amount_refunded"] == 0 => CardHint::Intent { provider_id: payment? },
        // Other charges, and objects unknown to this version, may name the payment that they belong to.
        _ => CardHint::Charge { payment: payment? },
    })
}

fn verify(secret: &Secret, body: &[u8], signature: &str, now: Timestamp) -> Result<(), EventError> {
    let secret = secret.reveal();
    let SignatureHeader { time, signatures } = split(signature).ok_or(EventError::BadSignature)?;
    let seconds: i64 = time.parse().map_err(|_| EventError::BadSignature)?;
    // With an empty secret, anyone could sign.
    if secret.is_empty() || now.seconds().abs_diff(seconds) > TOLERANCE_SECONDS {
        return Err(EventError::BadSignature);
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map_err(|_| EventError::BadSignature)?;
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    let matches = |text: &str| hex::decode(text).is_ok_and(|bytes| mac.clone().verify_slice(&bytes).is_ok());
    if signatures.iter().any(|text| matches(text)) { Ok(()) } else { Err(EventError::BadSignature) }
}

struct SignatureHeader<'a> {
    time: &'a str,
    /// Those of scheme `v1`.
    signatures: Vec<&'a str>,
}

/// Splits the header. Ignores other schemes, such as `v0`.
fn split(header: &str) -> Option<SignatureHeader<'_>> {
    let mut time = None;
    let mut signatures = Vec::new();
    for part in header.split(',') {
        match part.trim().split_once('=')? {
            ("t", value) => time = Some(value),
            ("v1", value) if signatures.len() < MAX_SIGNATURES => signatures.push(value),
            _ => {}
        }
    }
    Some(SignatureHeader { time: time?, signatures })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000;
    const BODY: &[u8] = br#"{"id":"evt_1","type":"payment_intent.succeeded","data":{"object":{"object":"payment_intent","id":"pi_1"}}}"#;

    fn sign(secret: &str, seconds: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("key");
        mac.update(format!("{seconds}.").as_bytes());
        mac.update(body);
        hex::encode(mac.finalize().into_bytes())
    }

    fn read_at(header: &str, body: &[u8]) -> Result<CardEvent, EventError> {
        read(&Secret::new("whsec_1"), body, header, Timestamp::from_seconds(NOW))
    }

    #[test]
    fn a_signed_event_is_read() {
        let header = format!("t={NOW},v1={}", sign("whsec_1", NOW, BODY));
        let hint = Some(CardHint::Intent { provider_id: "pi_1".to_owned() });
        let expected = CardEvent { id: "evt_1".to_owned(), kind: "payment_intent.succeeded".to_owned(), hint };
        assert_eq!(read_at(&header, BODY), Ok(expected));
    }

    #[test]
    fn a_known_signature_is_accepted() {
        // Computed with another implementation: printf '1700000000.{}' | openssl dgst -sha256 -hmac whsec_1
        let header = "t=1700000000,v1=c8cf6ed9fd9120874a1792902ffdf5b69559118b76d10974da8a20cf21f94bc5";
        assert_eq!(read_at(header, b"{}"), Err(EventError::Malformed), "the signature holds, the body is no event");
    }

    #[test]
    fn one_of_several_signatures_is_enough() {
        let good = sign("whsec_1", NOW, BODY);
        assert!(read_at(&format!("t={NOW}, v1={}, v1={good}, v0=00", sign("whsec_2", NOW, BODY)), BODY).is_ok());
    }

    #[test]
    fn an_event_of_another_object_names_that_object_and_its_intent() {
        let (id, payment) = (|text: &str| text.to_owned(), Some("pi_9".to_owned()));
        for (kind, object, hint) in [
            ("charge.refunded", r#""object":"charge","id":"ch_1""#, CardHint::Charge { payment: id("pi_9") }),
            (
                "charge.refunded",
                r#""object":"charge","id":"ch_1","disputed":false,"amount_refunded":5"#,
                CardHint::Charge { payment: id("pi_9") },
            ),
            (
                "charge.succeeded",
                r#""object":"charge","id":"ch_1","disputed":false,"amount_refunded":0"#,
                CardHint::Intent { provider_id: id("pi_9") },
            ),
            (
                "charge.dispute.created",
                r#""object":"dispute","id":"du_1""#,
                CardHint::Dispute { provider_id: id("du_1"), payment: payment.clone() },
            ),
            ("refund.failed", r#""object":"refund","id":"re_1""#, CardHint::Refund { provider_id: id("re_1"), payment: payment.clone() }),
            (
                "charge.refund.updated",
                r#""object":"refund","id":"re_1""#,
                CardHint::Refund { provider_id: id("re_1"), payment: payment.clone() },
            ),
        ] {
            let body = format!(r#"{{"id":"evt_2","type":"{kind}","data":{{"object":{{{object},"payment_intent":"pi_9"}}}}}}"#);
            let event = read_at(&format!("t={NOW},v1={}", sign("whsec_1", NOW, body.as_bytes())), body.as_bytes()).expect("reads");
            assert_eq!(event.intent(), Some("pi_9"));
            assert_eq!(event.hint, Some(hint));
        }
    }

    #[test]
    fn an_event_of_an_object_without_a_payment_gives_no_hint() {
        let body = br#"{"id":"evt_3","type":"payout.paid","data":{"object":{"object":"payout","id":"po_1"}}}"#;
        let event = read_at(&format!("t={NOW},v1={}", sign("whsec_1", NOW, body)), body).expect("reads");
        assert_eq!((event.intent(), event.hint.clone()), (None, None));
    }

    #[test]
    fn altered_late_early_and_foreign_events_are_rejected() {
        let good = sign("whsec_1", NOW, BODY);
        let old = NOW - 301;
        let early = NOW + 301;
        let mut altered = BODY.to_vec();
        altered[9] ^= 1;
        for (header, body) in [
            (format!("t={NOW},v1={good}"), altered.as_slice()),
            (format!("t={old},v1={}", sign("whsec_1", old, BODY)), BODY),
            (format!("t={early},v1={}", sign("whsec_1", early, BODY)), BODY),
            (format!("t={NOW},v1={}", sign("whsec_2", NOW, BODY)), BODY),
            (format!("t={NOW},v1={}", &good[..62]), BODY),
            (format!("t={NOW},v0={good}"), BODY),
            (format!("v1={good}"), BODY),
            (format!("t={NOW}"), BODY),
            (String::new(), BODY),
        ] {
            assert_eq!(read_at(&header, body), Err(EventError::BadSignature), "{header}");
        }
    }

    #[test]
    fn every_event_is_rejected_without_a_secret() {
        let header = format!("t={NOW},v1={}", sign("", NOW, BODY));
        assert_eq!(read(&Secret::new(""), BODY, &header, Timestamp::from_seconds(NOW)), Err(EventError::BadSignature));
    }
}
