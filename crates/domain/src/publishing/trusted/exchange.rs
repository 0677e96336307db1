//! The exchange of a CI token for an access token.

use super::super::access_tokens::{AccessToken, AppPattern, CreatedToken, TokenError, TokenKeys, developer_passport};
use super::choose::{PublisherError, Wanted, choose};
use super::claims::{CI_TOKEN_LEEWAY, CiClaims, CiTokenError, CiTokens, check_claims};
use super::issuer::trusted_issuer;
use super::publisher::TrustedPublisher;
use crate::access::Did;
use crate::context::Context;
use crate::shared::{StorageError, TrustedPublisherId};
use std::time::Duration;

/// How long the access token of a CI is valid.
pub const CI_ACCESS_LIFETIME: Duration = Duration::from_secs(15 * 60);
/// The most valid access tokens of a trusted publisher.
pub const CI_TOKENS_MAX: u64 = 50;
/// The longest CI token, in bytes.
const TOKEN_MAX: usize = 16 << 10;
/// The most publishers of a repository that are looked at.
const CANDIDATES_MAX: u32 = 1_000;
/// The most characters of an address that a refusal names.
const SHOWN_MAX: usize = 200;

#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error(transparent)]
    CiToken(#[from] CiTokenError),
    #[error(transparent)]
    Publisher(#[from] PublisherError),
    /// The developer has no valid passport any more.
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("{CI_TOKENS_MAX} tokens of this trusted publisher are valid. Try again in {} minutes.", CI_ACCESS_LIFETIME.as_secs() / 60)]
    TooMany,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// What a CI asks for.
#[derive(Debug, Clone, Copy)]
pub struct ExchangeRequest<'a> {
    pub token: &'a str,
    /// The app that it is about to publish.
    pub app: &'a Did,
    pub app_name: &'a str,
    /// The trusted publisher that is meant, if several developers have registered the repository.
    pub publisher: Option<&'a TrustedPublisherId>,
}

/// A run of CI that may publish an app. Its token was not used yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedRun {
    pub publisher: TrustedPublisher,
    /// The name of the developer for whom it publishes.
    pub developer_name: String,
    /// Whether this is the first version of the app, which will belong to the developer.
    pub is_new_app: bool,
    app: Did,
    claims: CiClaims,
}

/// Verifies a CI token, and chooses the publisher for which it publishes. `audience` is the address of the store.
///
/// # Errors
/// The first rule that the token breaks, or no publisher fits.
#[tracing::instrument(skip_all, fields(app = %request.app))]
pub async fn verify_ci_token(
    ctx: &Context,
    tokens: &dyn CiTokens,
    audience: &str,
    request: &ExchangeRequest<'_>,
) -> Result<TrustedRun, ExchangeError> {
    if request.token.len() > TOKEN_MAX {
        return Err(CiTokenError::Malformed.into());
    }
    let named = tokens.issuer_of(request.token)?;
    let preferences = ctx.store.read().await?.preferences().find().await?.preferences;
    let not_allowed = || CiTokenError::IssuerNotAllowed(named.chars().filter(|c| !c.is_control()).take(SHOWN_MAX).collect());
    let issuer = trusted_issuer(&preferences, &named).ok_or_else(not_allowed)?;
    // Outside any unit of work: the keys of the issuer may have to be fetched.
    let claims = tokens.verify(request.token, &issuer, ctx.now()).await?;
    check_claims(&claims, &issuer, audience, ctx.now())?;
    let mut unit = ctx.store.read().await?;
    let publishers = unit.trusted_publishers().of_repository(&issuer.address, &claims.repository, CANDIDATES_MAX).await?;
    let known = unit.uploads().find_app(request.app).await?;
    let wanted = Wanted {
        app: request.app,
        // The name of an app never changes.
        name: known.as_ref().map_or(request.app_name, |app| app.name.as_str()),
        owner: known.as_ref().map(|app| &app.owner),
        publisher: request.publisher,
    };
    let publisher = choose(&publishers, issuer.provider, &claims, &wanted)?.clone();
    let developer_name = unit.users().find(&publisher.owner).await?.map(|developer| developer.full_name).unwrap_or_default();
    Ok(TrustedRun { publisher, developer_name, is_new_app: known.is_none(), app: request.app.clone(), claims })
}

/// Uses the CI token of a verified run, and creates the access token for its app. The secret cannot be shown again.
///
/// # Errors
/// The CI token was used, the publisher was removed or registered for another repository, or its developer has lost the passport. Then no
/// access token exists.
#[tracing::instrument(skip_all, fields(publisher = %run.publisher.id))]
pub async fn issue_ci_token(ctx: &Context, keys: &dyn TokenKeys, run: TrustedRun) -> Result<CreatedToken, ExchangeError> {
    let TrustedRun { publisher, app, claims, .. } = run;
    let (now, key) = (ctx.now(), keys.create(&ctx.random.bytes()));
    let mut unit = ctx.store.begin().await?;
    let used_until = claims.expires_at.plus(CI_TOKEN_LEEWAY);
    if !unit.trusted_publishers().use_ci_token(&claims.issuer, &claims.token_id, used_until).await? {
        return Err(CiTokenError::Replayed.into());
    }
    // From here on, the row of the publisher is locked: it is not removed, and its tokens are counted one after another.
    if !unit.trusted_publishers().note_use(&publisher.id, &claims.repository_id, now).await? {
        return Err(PublisherError::OtherRepository(claims.repository).into());
    }
    if unit.trusted_publishers().valid_tokens(&publisher.id, now).await? >= CI_TOKENS_MAX {
        return Err(ExchangeError::TooMany);
    }
    let passport = developer_passport(unit.as_mut(), &publisher.owner).await?;
    if passport.is_none_or(|passport| passport.id != publisher.passport_id) {
        return Err(TokenError::NotDeveloper.into());
    }
    // For this app only, whatever the publisher allows besides.
    let pattern = AppPattern::parse(app.as_str()).ok_or_else(|| TokenError::OtherApp(app.to_string()))?;
    let token = AccessToken {
        name: format!("ci {}", key.id),
        id: key.id,
        owner: publisher.owner,
        passport_id: publisher.passport_id,
        public_key: key.public_key,
        scopes: publisher.scopes,
        apps: vec![pattern],
        publisher: Some(publisher.id),
        created_at: now,
        expires_at: now.plus(CI_ACCESS_LIFETIME),
        remind_at: None,
        last_used_at: None,
    };
    unit.access_tokens().insert(&token).await?;
    unit.commit().await?;
    Ok(CreatedToken { token, secret: key.secret })
}
