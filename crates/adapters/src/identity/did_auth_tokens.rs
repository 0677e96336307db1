//! Implements the domain's [`DidAuthTokens`] port with the store's key.

use super::{AppKey, DidKind, EnvelopeError, KeyKind, PublicKey, Role, kind_of, parse_did, verify};
use serde_json::Value;
use sha2::{Digest, Sha256};
use souk_domain::access::{self, AppProof, AppProofError, Did, DidAuthTokens, OpenedEnvelope};
use souk_domain::shared::Timestamp;

/// What the envelopes contain that an app signs for wallets (reference/did-connect.md 2.2).
const FOR_WALLETS: [&str; 8] =
    ["action", "appInfo", "challenge", "errorMessage", "requestedClaims", "response", "status", "successMessage"];

/// The longest validity of a proof, in seconds. Used proofs are remembered as long.
const PROOF_LIFETIME_MAX: i64 = 24 * 3_600;

pub struct AppDidAuthTokens {
    key: AppKey,
    public_key: String,
}

impl AppDidAuthTokens {
    #[must_use]
    pub fn new(key: AppKey) -> Self {
        let public_key = key.public_key_base58();
        Self { key, public_key }
    }
}

impl DidAuthTokens for AppDidAuthTokens {
    fn app_did(&self) -> &Did {
        self.key.did()
    }

    fn app_key(&self) -> &str {
        &self.public_key
    }

    fn sign(&self, claims: &str, now: Timestamp) -> String {
        let claims = match serde_json::from_str(claims) {
            Ok(Value::Object(claims)) => claims,
            _ => serde_json::Map::new(),
        };
        self.key.sign_envelope(claims, now)
    }

    fn sign_text(&self, text: &str) -> String {
        self.key.sign_base58(text.as_bytes())
    }

    fn open(&self, envelope: &str, public_key: &str, now: Timestamp) -> Result<OpenedEnvelope, access::EnvelopeError> {
        let claims = verify(envelope, public_key, now).map_err(|error| match error {
            EnvelopeError::Invalid => access::EnvelopeError::Invalid,
            EnvelopeError::Expired => access::EnvelopeError::Expired,
        })?;
        Ok(OpenedEnvelope { issuer: claims.issuer, body: Value::Object(claims.body).to_string() })
    }

    fn check_app_proof(&self, app: &Did, public_key: &str, envelope: &str, now: Timestamp) -> Result<AppProof, AppProofError> {
        let application = DidKind::new(Role::Application, KeyKind::Ed25519).role;
        if !kind_of(app).is_ok_and(|kind| kind.role == application) {
            return Err(AppProofError::NotApplication);
        }
        PublicKey::of_did_base58(app, public_key).map_err(|_| AppProofError::ForeignKey)?;
        let claims = verify(envelope, public_key, now).map_err(|_| AppProofError::Invalid)?;
        if claims.issuer != *app {
            return Err(AppProofError::OtherIssuer);
        }
        let is_for_wallet = FOR_WALLETS.iter().any(|name| claims.body.contains_key(*name));
        let (issued, expires) = claims.times().ok_or(AppProofError::Invalid)?;
        if is_for_wallet || app == self.key.did() || expires.saturating_sub(issued) > PROOF_LIFETIME_MAX {
            return Err(AppProofError::Invalid);
        }
        // Without the signature, whose text can be written in several ways.
        let signed = envelope.rsplit_once('.').map_or(envelope, |(signed, _)| signed);
        let digest = hex::encode(Sha256::digest(signed.as_bytes()));
        Ok(AppProof { digest, expires_at: Timestamp::from_seconds(expires) })
    }

    fn parse_did(&self, text: &str) -> Option<Did> {
        parse_did(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    fn body(members: &[(&str, &str)]) -> Map<String, Value> {
        members.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
    }

    #[test]
    fn an_app_proves_its_key_with_an_envelope_that_was_not_made_for_a_wallet() {
        let (store, now) = (AppDidAuthTokens::new(AppKey::from_seed(&[1; 32])), Timestamp::from_seconds(900));
        let app = AppKey::from_seed(&[2; 32]);
        let (own, other) = (app.public_key_base58(), AppKey::from_seed(&[3; 32]));
        let account = AppKey::with_role(&[2; 32], Role::Account);
        let proof = app.sign_envelope(Map::new(), now);
        let check = |did: &Did, key: &str, envelope: &str, seconds: i64| {
            store.check_app_proof(did, key, envelope, Timestamp::from_seconds(seconds)).map(|proof| proof.expires_at.seconds())
        };
        assert_eq!(check(app.did(), &own, &proof, 900), Ok(1_206));
        assert_eq!(check(app.did(), &own, &proof, 1_205), Ok(1_206));
        assert_eq!(check(account.did(), &own, &proof, 900), Err(AppProofError::NotApplication));
        assert_eq!(check(app.did(), &other.public_key_base58(), &proof, 900), Err(AppProofError::ForeignKey));
        assert_eq!(check(app.did(), &own, &account.sign_envelope(Map::new(), now), 900), Err(AppProofError::OtherIssuer));
        for envelope in [
            app.sign_envelope(body(&[("action", "responseAuth")]), now),
            app.sign_envelope(body(&[("status", "ok"), ("extra", "1")]), now),
            other.sign_envelope(Map::new(), now),
            format!("{proof}A"),
            String::new(),
        ] {
            assert_eq!(check(app.did(), &own, &envelope, 900), Err(AppProofError::Invalid), "{envelope}");
        }
        assert_eq!(check(app.did(), &own, &proof, 900 + 306), Err(AppProofError::Invalid), "it has expired");
        assert_eq!(check(app.did(), &own, &proof, 900 - 6), Err(AppProofError::Invalid), "it is from the future");
        let named = app.sign_envelope(body(&[("purpose", "list")]), now);
        assert_eq!(check(app.did(), &own, &named, 900), Ok(1_206));
        let itself = AppKey::from_seed(&[1; 32]);
        let refused = check(itself.did(), &itself.public_key_base58(), &itself.sign_envelope(Map::new(), now), 900);
        assert_eq!(refused, Err(AppProofError::Invalid), "the store is none of its apps");
    }
}
