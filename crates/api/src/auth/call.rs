//! Extractors.

use super::cookies::{LOGIN_COOKIE, cookie, token_hash};
use crate::problem::Problem;
use crate::state::App;
use poem::http::header;
use poem::{FromRequest, Request, RequestBody};
use souk_domain::access::{self, ApiKey};
use souk_domain::shared::{Language, Mode};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

pub use souk_domain::access::Caller;

/// What every call carries in its query: `livemode` (absent: live) and `locale` (absent: the language cookie, else English).
/// Values that make no sense count as absent, because clients forward whatever their page was opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    pub mode: Mode,
    pub language: Language,
}

impl Call {
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let query = |name: &str| {
            let query = request.uri().query().unwrap_or_default();
            url::form_urlencoded::parse(query.as_bytes()).find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
        };
        let tag = query("locale").or_else(|| cookie(request, "nf_lang").map(ToOwned::to_owned));
        Self {
            mode: Mode::from_livemode(query("livemode").as_deref() != Some("false")),
            language: tag.map(|tag| Language::from_tag(&tag)).unwrap_or_default(),
        }
    }
}

impl<'a> FromRequest<'a> for Call {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self::of(request))
    }
}

fn app(request: &Request) -> Result<&Arc<App>, Problem> {
    request.data::<Arc<App>>().ok_or_else(|| Problem::new(poem::http::StatusCode::INTERNAL_SERVER_ERROR, crate::problem::FAILED))
}

async fn caller(request: &Request) -> Result<Option<Caller>, Problem> {
    let Some(token) = cookie(request, LOGIN_COOKIE) else { return Ok(None) };
    Ok(access::caller_of(&app(request)?.ctx, &token_hash(token)).await?)
}

/// Anybody; who it is when they are signed in.
#[derive(Debug, Clone)]
pub struct Guest(pub Option<Caller>);

impl<'a> FromRequest<'a> for Guest {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self(caller(request).await?))
    }
}

/// Somebody who is signed in; else 401.
#[derive(Debug, Clone)]
pub struct SignedIn(pub Caller);

impl<'a> FromRequest<'a> for SignedIn {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(caller(request).await?.map(Self).ok_or_else(Problem::signed_out)?)
    }
}

/// A resource that API keys have scopes for.
pub trait Resource: Send + Sync + 'static {
    /// One of `Scope::RESOURCES`.
    const NAME: &'static str;
}

/// The resources, as types.
pub mod resources {
    macro_rules! resources {
        ($($name:ident = $text:literal;)*) => {$(
            #[derive(Debug, Clone, Copy)]
            pub struct $name;
            impl super::Resource for $name { const NAME: &'static str = $text; }
        )*};
    }
    resources! {
        Products = "products";
        Prices = "prices";
        PaymentLinks = "payment_links";
        CheckoutSessions = "checkout_sessions";
        PaymentMethods = "payment_methods";
        Customers = "customers";
        Invoices = "invoices";
        PaymentIntents = "payment_intents";
    }
}

/// Somebody who may read a resource of the whole store: an owner or admin, or a key with the scope.
/// `mode` is the key's own mode, or what a person's call asked for: neither reaches into the other mode.
#[derive(Debug, Clone, Copy)]
pub struct Reads<R> {
    pub mode: Mode,
    resource: PhantomData<R>,
}

/// The same for writing.
#[derive(Debug, Clone, Copy)]
pub struct Writes<R> {
    pub mode: Mode,
    resource: PhantomData<R>,
}

impl<'a, R: Resource> FromRequest<'a> for Reads<R> {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self { mode: permit(request, R::NAME, false).await?, resource: PhantomData })
    }
}

impl<'a, R: Resource> FromRequest<'a> for Writes<R> {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self { mode: permit(request, R::NAME, true).await?, resource: PhantomData })
    }
}

async fn permit(request: &Request, resource: &str, write: bool) -> Result<Mode, Problem> {
    if let Some(key) = api_key(request).await? {
        return match key.scopes.iter().any(|scope| scope.allows(resource, write)) {
            true => Ok(key.mode),
            false => Err(Problem::forbidden()),
        };
    }
    match caller(request).await? {
        Some(caller) if caller.runs_the_store() => Ok(Call::of(request).mode),
        Some(_) => Err(Problem::forbidden()),
        None => Err(Problem::signed_out()),
    }
}

/// What stands in an `Authorization: Bearer` header, if it looks like a key of ours.
pub fn bearer(request: &Request) -> Option<&str> {
    let value = request.headers().get(header::AUTHORIZATION)?;
    value.to_str().ok()?.strip_prefix("Bearer ").filter(|secret| secret.starts_with("souk_"))
}

/// The use of a key is noted this often at most.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// The key of an `Authorization: Bearer` header. A key that is not valid is refused, never ignored.
async fn api_key(request: &Request) -> Result<Option<ApiKey>, Problem> {
    if !request.headers().contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    let Some(secret) = bearer(request) else { return Err(Problem::signed_out()) };
    let ctx = &app(request)?.ctx;
    let mut unit = ctx.store.read().await?;
    let Some(key) = unit.api_keys().find(&token_hash(secret)).await? else { return Err(Problem::signed_out()) };
    drop(unit);
    let now = ctx.now();
    if key.last_used_at.is_none_or(|used| now.since(used) > TOUCH_INTERVAL) {
        let mut unit = ctx.store.begin().await?;
        unit.api_keys().touch(&key.id, now).await?;
        unit.commit().await?;
    }
    Ok(Some(key))
}
