//! Records what administrators and API keys do in the audit log. The entry is written with the first unit of work that the call commits
//! ([`souk_domain::storage::Store::audited`]), so a call without effect leaves none.

use crate::auth::{LOGIN_COOKIE, RequestContext, SignedByToken, bearer, cookie, is_signed, note_use, token_hash, token_of};
use crate::problem::Problem;
use crate::state::App;
use poem::http::Method;
use poem::{Body, Endpoint, Request, RequestBody, Response};
use serde_json::Value;
use souk_domain::access::{self, AuditActor, AuditEntry, Did, Operation};
use souk_domain::context::Context;
use souk_domain::shared::{AuditEntryId, MAX_ID_LENGTH, Mode};
use std::sync::Arc;

/// The largest body that is searched for ids, in bytes.
const BODY_MAX: usize = 1 << 20;
/// The shortest DID, in characters.
const DID_MIN: usize = 30;
/// The length of a SHA-256 in hex.
const DIGEST_LENGTH: usize = 64;

/// An endpoint whose administrative calls are recorded.
pub struct Audited<E>(pub E);

impl<E: Endpoint<Output = Response>> Endpoint for Audited<E> {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let Some(operation) = operation_of(request.method(), request.uri().path()) else { return self.0.call(request).await };
        let Some(app) = request.data::<Arc<App>>().cloned() else { return self.0.call(request).await };
        let caller = match token_owner(&mut request, operation).await? {
            Some(owner) => Some(owner),
            None => caller(&app, &request, operation).await?,
        };
        let Some(caller) = caller else { return self.0.call(request).await };
        let now = app.ctx.now();
        let Named { mut objects, step, forfeits } = named(&mut request).await?;
        objects.extend(caller.token.map(|token| token.to_string()));
        let entry = AuditEntry {
            id: AuditEntryId::new(now, app.ctx.random.as_ref()),
            at: now,
            actor: caller.actor,
            operation: if operation == Operation::ReviewVersion { operation_of_step(&step, forfeits) } else { operation },
            mode: concerns_mode(operation).then_some(caller.mode),
            objects,
            address: address_of(&app, &request),
        };
        let ctx = Context { store: app.ctx.store.audited(entry), ..app.ctx.clone() };
        request.set_data(Arc::new(App { ctx, ..App::clone(&app) }));
        self.0.call(request).await
    }
}

/// Who makes a call for the store.
struct StoreCaller {
    actor: AuditActor,
    mode: Mode,
    /// The access token with which its owner has signed the request.
    token: Option<Did>,
}

/// The owner of the access token that has signed the request, if tokens can be used for the operation. The request is verified here: its
/// nonce, which the extractor would use up, would be the first write and create the entry.
async fn token_owner(request: &mut Request, operation: Operation) -> Result<Option<StoreCaller>, Problem> {
    if operation != Operation::ReviewVersion || !is_signed(request) {
        return Ok(None);
    }
    let mut body = RequestBody::new(request.take_body());
    let token = token_of(request, &mut body).await?;
    request.set_body(body.take().map_err(|_| Problem::internal())?);
    let caller = StoreCaller { actor: AuditActor::User(token.owner.clone()), mode: Mode::Live, token: Some(token.id.clone()) };
    request.set_data(SignedByToken(token));
    Ok(Some(caller))
}

/// The caller, if they act for the store. Whether they may do what they ask for is decided by the endpoint.
async fn caller(app: &App, request: &Request, operation: Operation) -> Result<Option<StoreCaller>, Problem> {
    if let Some(secret) = bearer(request) {
        let key = app.ctx.store.read().await?.api_keys().find(&token_hash(secret)).await?;
        // Noted here: a use that the request itself notes would be its first write, and create the entry.
        if let Some(key) = &key {
            note_use(&app.ctx, key).await?;
        }
        return Ok(key.map(|key| StoreCaller { actor: AuditActor::Key(key.id), mode: key.mode, token: None }));
    }
    let Some(token) = cookie(request, LOGIN_COOKIE) else { return Ok(None) };
    let caller = access::caller_of(&app.ctx, &token_hash(token)).await?;
    // Recorded for every user: claiming the store, erasing one's own data, and what developers do themselves.
    let is_for_all = matches!(operation, Operation::ClaimOwnership | Operation::EraseCustomer) || is_of_developer(operation);
    let caller = caller.filter(|caller| caller.is_admin() || is_for_all);
    let mode = RequestContext::of(request).mode;
    Ok(caller.map(|caller| StoreCaller { actor: AuditActor::User(caller.user.did), mode, token: None }))
}

/// The caller's address. An erasure of one's own data leaves none.
fn address_of(app: &App, request: &Request) -> Option<String> {
    let erases_own = request.uri().path().trim_end_matches('/') == "/api/customers/me/erasure";
    let address = app.limits.caller_address(request).filter(|_| !erases_own);
    address.map(|address| address.to_string())
}

const fn concerns_mode(operation: Operation) -> bool {
    if matches!(operation, Operation::SetAppPrice | Operation::WithdrawAppPrice) {
        return true;
    }
    let of_both = matches!(operation, Operation::ClaimOwnership | Operation::ConfirmClock | Operation::ConfirmRestore);
    !(of_both || is_of_publishing(operation) || matches!(operation, Operation::RevokeLinks | Operation::EraseCustomer))
}

/// Publishing has no test mode: an app, its category and its developer are the same in both. Only the price of an app has a mode.
const fn is_of_publishing(operation: Operation) -> bool {
    let of_roles = matches!(operation, Operation::CreateInvitation | Operation::RevokeInvitation | Operation::RevokePassport);
    let of_content = matches!(
        operation,
        Operation::SetAppCategory
            | Operation::CreateCategory
            | Operation::CreateDefaultCategories
            | Operation::UpdateCategory
            | Operation::DeleteCategory
            | Operation::BlockDigest
            | Operation::UnblockDigest
    );
    let of_users = matches!(operation, Operation::BlockUser | Operation::UnblockUser);
    let of_store = of_users || matches!(operation, Operation::UpdatePreferences);
    of_roles || of_content || of_store || is_of_developer(operation)
}

/// What developers and reviewers do, who are no administrators: becoming a developer, access tokens and tools, versions.
const fn is_of_developer(operation: Operation) -> bool {
    let with_tokens = matches!(
        operation,
        Operation::CreateAccessToken | Operation::DeleteAccessToken | Operation::RegisterPublisher | Operation::RemovePublisher
    );
    with_tokens
        || matches!(operation, Operation::AcceptInvitation | Operation::ReviewVersion | Operation::CheckVersion)
        || matches!(operation, Operation::SetAutoPublish | Operation::SetVisibility)
        || matches!(operation, Operation::SetAppPrice | Operation::WithdrawAppPrice)
        || matches!(operation, Operation::ApproveTool | Operation::DenyTool)
        || matches!(operation, Operation::AgreeToTerms | Operation::LeaveDevelopers | Operation::ReturnAppDeposit)
}

/// The operation of a write to this path; `None`: it is not recorded.
fn operation_of(method: &Method, path: &str) -> Option<Operation> {
    let segments: Vec<_> = path.strip_prefix("/api/")?.trim_end_matches('/').split('/').collect();
    Some(match (method.as_str(), segments.as_slice()) {
        ("POST", ["session", "claim-owner"]) => Operation::ClaimOwnership,
        ("PUT", ["clock", "confirm"]) => Operation::ConfirmClock,
        ("PUT", ["restore", "confirm"]) => Operation::ConfirmRestore,
        ("PUT", ["restore", "found-payments", "handled"]) => Operation::HandleFoundPayment,
        ("POST", ["products"]) => Operation::CreateProduct,
        ("PUT", ["products", _]) => Operation::UpdateProduct,
        ("PUT", ["products", _, "archive"]) => Operation::ArchiveProduct,
        ("DELETE", ["products", _]) => Operation::DeleteProduct,
        ("POST", ["prices"]) => Operation::CreatePrice,
        ("PUT", ["prices", _]) => Operation::UpdatePrice,
        ("POST", ["prices", _, "replace"]) => Operation::ReplacePrice,
        ("PUT", ["prices", _, "archive"]) => Operation::ArchivePrice,
        ("PUT", ["prices", _, "inventory"]) => Operation::UpdateInventory,
        ("DELETE", ["prices", _]) => Operation::DeletePrice,
        ("POST", ["payment-links"]) => Operation::CreateLink,
        ("PUT", ["payment-links", _]) => Operation::UpdateLink,
        ("PUT", ["payment-links", _, "archive"]) => Operation::ArchiveLink,
        ("POST", ["payment-methods"]) => Operation::CreateMethod,
        ("PUT", ["payment-methods", _]) => Operation::UpdateMethod,
        ("POST", ["payment-methods", _, "stake-for-gas"]) => Operation::StakeForGas,
        ("POST", ["payment-currencies"]) => Operation::CreateCurrency,
        ("PUT", ["payment-currencies", _]) => Operation::UpdateCurrency,
        ("POST", ["checkout-sessions"]) => Operation::CreateSession,
        ("PUT", ["checkout-sessions", _]) => Operation::UpdateSession,
        ("PUT", ["checkout-sessions", _, "expire"]) => Operation::ExpireSession,
        ("PUT", ["payment-intents", _]) => Operation::UpdatePayment,
        ("PUT", ["payment-intents", _, "refund"]) => Operation::RefundPayment,
        ("POST", ["payment-intents", _, "resolve"]) => Operation::ResolvePayment,
        ("POST", ["transfers", _, "resolve"]) => Operation::ResolveTransfer,
        ("POST", ["customers", _, "balance", "payout"]) => Operation::PayOutBalance,
        ("POST", ["customers", _, "erasure"]) => Operation::EraseCustomer,
        ("POST", ["customers", named, "revoke-links"]) if *named != "me" => Operation::RevokeLinks,
        ("POST", ["refunds"]) => Operation::CreateRefund,
        ("POST", ["refunds", _, "retry"]) => Operation::RetryRefund,
        ("POST", ["refunds", _, "move-to-balance"]) => Operation::MoveRefund,
        ("POST", ["credit-notes"]) => Operation::CreateCreditNote,
        ("POST", ["invoices", _, "void"]) => Operation::VoidInvoice,
        ("PUT", ["subscriptions", "resume-billing"] | ["subscriptions", _, "resume-billing"]) => Operation::ResumeBilling,
        ("PUT", ["subscriptions", _]) => Operation::UpdateSubscription,
        ("PUT", ["subscriptions", _, "cancel"]) => Operation::CancelSubscription,
        ("PUT", ["subscriptions", _, "recover"]) => Operation::RecoverSubscription,
        ("PUT", ["subscriptions", _, "pause"]) => Operation::PauseSubscription,
        ("PUT", ["subscriptions", _, "resume"]) => Operation::ResumeSubscription,
        ("DELETE", ["subscriptions", _, "overdraft-protection"]) => Operation::EndOverdraftProtection,
        ("PUT", ["subscriptions", _, "return-stake"]) => Operation::ReturnSubscriptionStake,
        ("PUT", ["subscriptions", _, "slash-stake"]) => Operation::ForfeitStake,
        ("PUT", ["subscriptions", _, "change-plan"]) => Operation::ChangePlan,
        ("POST", ["subscriptions", _, "change-payment"]) => Operation::ChangePayment,
        ("PUT", ["stakes", _, "return"]) => Operation::ReturnStake,
        ("POST", ["developer", "access-tokens"]) => Operation::CreateAccessToken,
        ("DELETE", ["developer", "access-tokens", _]) => Operation::DeleteAccessToken,
        ("POST", ["developer", "trusted-publishers"]) => Operation::RegisterPublisher,
        ("DELETE", ["developer", "trusted-publishers", _]) => Operation::RemovePublisher,
        ("PUT", ["console", "blocked-digests", _]) => Operation::BlockDigest,
        ("DELETE", ["console", "blocked-digests", _]) => Operation::UnblockDigest,
        ("POST", ["console", "invitations"]) => Operation::CreateInvitation,
        ("DELETE", ["console", "invitations", _]) => Operation::RevokeInvitation,
        ("DELETE", ["console", "developers", _]) => Operation::RevokePassport,
        ("POST", ["invitations", "accept"]) => Operation::AcceptInvitation,
        ("POST", ["developer-program", "agreement"]) => Operation::AgreeToTerms,
        ("DELETE", ["developer-program", "membership"]) => Operation::LeaveDevelopers,
        ("DELETE", ["apps", _, "deposit"]) => Operation::ReturnAppDeposit,
        ("PUT", ["console", "blocked-users", _]) => Operation::BlockUser,
        ("DELETE", ["console", "blocked-users", _]) => Operation::UnblockUser,
        ("POST", ["tool-sessions", "approve"]) => Operation::ApproveTool,
        ("POST", ["tool-sessions", "deny"]) => Operation::DenyTool,
        ("PUT", ["apps", _, "versions", _, "review"]) => Operation::ReviewVersion,
        ("POST", ["apps", _, "versions", _, "checks"]) => Operation::CheckVersion,
        ("PUT", ["developer", "apps", _, "visibility"]) => Operation::SetVisibility,
        ("PUT", ["developer", "apps", _, "auto-publish"]) => Operation::SetAutoPublish,
        ("PUT", ["developer", "apps", _, "price"]) => Operation::SetAppPrice,
        ("DELETE", ["developer", "apps", _, "price", "proposal"]) => Operation::WithdrawAppPrice,
        ("POST", ["console", "payables", _, _, "payouts"]) => Operation::RecordSharePayout,
        ("POST", ["console", "payouts", _, "reverse"]) => Operation::ReverseSharePayout,
        ("PUT", ["console", "preferences"]) => Operation::UpdatePreferences,
        ("PUT", ["console", "apps", _, "category"]) => Operation::SetAppCategory,
        ("POST", ["console", "categories"]) => Operation::CreateCategory,
        ("POST", ["console", "categories", "default"]) => Operation::CreateDefaultCategories,
        ("PUT", ["console", "categories", _]) => Operation::UpdateCategory,
        ("DELETE", ["console", "categories", _]) => Operation::DeleteCategory,
        ("POST", ["test-clocks"]) => Operation::CreateTestClock,
        ("POST", ["test-clocks", _, "advance"]) => Operation::AdvanceTestClock,
        _ => return None,
    })
}

/// The operation of a step on a version.
fn operation_of_step(step: &str, forfeits: bool) -> Operation {
    match step {
        "approve" => Operation::ApproveVersion,
        "reject" => Operation::RejectVersion,
        "publish" => Operation::PublishVersion,
        "schedule" => Operation::ScheduleVersion,
        "unschedule" => Operation::UnscheduleVersion,
        "yank" => Operation::YankVersion,
        "undo_yank" => Operation::UndoYank,
        "roll_back" => Operation::RollBackApp,
        "block" if forfeits => Operation::BlockAndForfeit,
        "block" => Operation::BlockApp,
        "unblock" => Operation::UnblockApp,
        _ => Operation::ReviewVersion,
    }
}

/// What a call names.
struct Named {
    /// The ids in the path, and those in the body's fields that name objects.
    objects: Vec<String>,
    /// The step on a version; empty if it is none.
    step: String,
    /// Whether the step also forfeits the deposit for the app.
    forfeits: bool,
}

async fn named(request: &mut Request) -> Result<Named, Problem> {
    let mut objects: Vec<_> = request.uri().path().split('/').filter(|segment| is_object(segment)).map(ToOwned::to_owned).collect();
    let body = request.take_body().into_bytes_limit(BODY_MAX).await.map_err(|_| Problem::body_too_large())?;
    let (mut step, mut forfeits) = (String::new(), false);
    if let Ok(Value::Object(fields)) = serde_json::from_slice(&body) {
        forfeits = fields.get("forfeit_deposit") == Some(&Value::Bool(true));
        let named = fields.iter().filter(|(name, _)| name.ends_with("_id"));
        objects.extend(named.filter_map(|(_, value)| value.as_str().filter(|text| is_object(text)).map(ToOwned::to_owned)));
        fields.get("step").and_then(Value::as_str).unwrap_or_default().clone_into(&mut step);
    }
    request.set_body(Body::from(body));
    Ok(Named { objects, step, forfeits })
}

/// Whether a text has the form of an id, a DID or a digest.
fn is_object(text: &str) -> bool {
    if text.len() > MAX_ID_LENGTH || !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return false;
    }
    let is_digest = text.len() == DIGEST_LENGTH && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_id = text.split_once('_').is_some_and(|(prefix, rest)| !prefix.is_empty() && !rest.is_empty());
    is_id || is_digest || (text.starts_with('z') && text.len() >= DID_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Writes that are not recorded: what visitors and customers do for themselves, previews, and usage records, each of which is a record
    /// of its own. The exchange of a CI token records itself, because only the token says for whom it acts. So does the upload of a
    /// version, which is not in the document.
    const NOT_RECORDED: [&str; 29] = [
        "DELETE /api/checkout-sessions/{id}/cross-sell",
        "DELETE /api/devices/current",
        "DELETE /api/devices/{id}",
        "DELETE /api/session/logins",
        "DELETE /api/session/logins/{id}",
        "DELETE /api/session/picture",
        "POST /api/checkout-sessions/start/{link}",
        "POST /api/checkout-sessions/{id}/abort-stripe",
        "POST /api/checkout-sessions/{id}/fast-checkout-confirm",
        "POST /api/credit-notes/preview",
        "POST /api/customers/me/email-confirmation",
        "POST /api/customers/me/revoke-links",
        "POST /api/customers/sync-to-space",
        "POST /api/email-confirmations",
        "POST /api/invitations/preview",
        "POST /api/invoices/pay-stripe",
        "POST /api/session/logout",
        "POST /api/subscriptions/{id}/change-plan/preview",
        "POST /api/tool-sessions/preview",
        "POST /api/trusted-publishing/token",
        "POST /api/usage-records",
        "PUT /api/checkout-sessions/{id}/adjust-quantity",
        "PUT /api/checkout-sessions/{id}/amount",
        "PUT /api/checkout-sessions/{id}/cross-sell",
        "PUT /api/checkout-sessions/{id}/downsell",
        "PUT /api/checkout-sessions/{id}/submit",
        "PUT /api/checkout-sessions/{id}/upsell",
        "PUT /api/customers/me",
        "PUT /api/session/picture",
    ];

    #[test]
    fn every_write_is_recorded_or_named_as_an_exception() {
        let document: Value = serde_json::from_str(&crate::document()).expect("is JSON");
        let mut without = BTreeSet::new();
        for (path, operations) in document["paths"].as_object().expect("paths") {
            for method in operations.as_object().expect("operations").keys().filter(|method| *method != "get") {
                let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).expect("a method");
                if operation_of(&method, path).is_none() {
                    without.insert(format!("{method} {path}"));
                }
            }
        }
        assert_eq!(without, NOT_RECORDED.map(ToOwned::to_owned).into());
    }

    #[test]
    fn ids_dids_and_digests_are_recorded_and_no_other_text() {
        for object in ["cus_01abc", "re_1", "z1VwZZnqUJPGnD4AQXJLaeJFxN3ZmDbLPb3", &"0f".repeat(32)] {
            assert!(is_object(object), "{object}");
        }
        for text in ["me", "resume-billing", "", "_", "sk_live_with spaces", "zebra", &"a_".repeat(40)] {
            assert!(!is_object(text), "{text}");
        }
    }
}
