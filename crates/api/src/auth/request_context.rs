//! Extractors: handler parameters that authenticate and authorize the request.

use super::cookies::{LANGUAGE_COOKIE, LOGIN_COOKIE, cookie, token_hash};
use crate::problem::Problem;
use crate::state::App;
use poem::http::header;
use poem::{FromRequest, Request, RequestBody};
use souk_domain::access::{self, ApiKey, Did, Role};
use souk_domain::context::Context;
use souk_domain::customer::open_link;
use souk_domain::shared::{Language, Mode, StorageError, Timestamp};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

pub use souk_domain::access::Caller;

/// Query parameters of every request: `livemode` (default: live) and `locale` (default: the language cookie, else English).
/// Invalid values count as absent, because clients forward the whole query string of their page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestContext {
    pub mode: Mode,
    pub language: Language,
}

impl RequestContext {
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let query = |name: &str| {
            let query = request.uri().query().unwrap_or_default();
            url::form_urlencoded::parse(query.as_bytes()).find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
        };
        let tag = query("locale").or_else(|| cookie(request, LANGUAGE_COOKIE).map(ToOwned::to_owned));
        Self {
            mode: Mode::from_livemode(query("livemode").as_deref() != Some("false")),
            language: tag.map(|tag| Language::from_tag(&tag)).unwrap_or_default(),
        }
    }
}

impl<'a> FromRequest<'a> for RequestContext {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self::of(request))
    }
}

fn app(request: &Request) -> Result<&Arc<App>, Problem> {
    request.data::<Arc<App>>().ok_or_else(Problem::internal)
}

async fn caller(request: &Request) -> Result<Option<Caller>, Problem> {
    let Some(token) = cookie(request, LOGIN_COOKIE) else { return Ok(None) };
    Ok(access::caller_of(&app(request)?.ctx, &token_hash(token)).await?)
}

/// The signed-in user, or an anonymous visitor.
#[derive(Debug, Clone)]
pub struct MaybeUser(pub Option<Caller>);

impl<'a> FromRequest<'a> for MaybeUser {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self(caller(request).await?))
    }
}

/// The signed-in user; otherwise the request is rejected with 401. So is a request that also names an API key, because the audit log would
/// name the key.
#[derive(Debug, Clone)]
pub struct SignedIn(pub Caller);

impl<'a> FromRequest<'a> for SignedIn {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        if bearer(request).is_some() {
            return Err(Problem::signed_out().into());
        }
        Ok(caller(request).await?.map(Self).ok_or_else(Problem::signed_out)?)
    }
}

impl SignedIn {
    /// As [`Writes::check_recent`].
    pub fn check_recent(&self, app: &App) -> Result<(), Problem> {
        check_recent(app, Some(self.0.signed_in_at))
    }
}

/// A signed-in owner or admin; others are rejected with 403 before the body is read.
#[derive(Debug, Clone)]
pub struct AdminUser(pub SignedIn);

impl<'a> FromRequest<'a> for AdminUser {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let user = SignedIn::from_request(request, body).await?;
        if user.0.is_admin() { Ok(Self(user)) } else { Err(Problem::forbidden().into()) }
    }
}

/// A signed-in owner; others are rejected with 403 before the body is read.
#[derive(Debug, Clone)]
pub struct OwnerUser(pub SignedIn);

impl<'a> FromRequest<'a> for OwnerUser {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let user = SignedIn::from_request(request, body).await?;
        if user.0.holds(Role::Owner) { Ok(Self(user)) } else { Err(Problem::forbidden().into()) }
    }
}

/// A signed-in user with a developer passport, which an administrator needs as well; others are rejected with 403 before the body is read.
#[derive(Debug, Clone)]
pub struct DeveloperUser(pub SignedIn);

impl<'a> FromRequest<'a> for DeveloperUser {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let user = SignedIn::from_request(request, body).await?;
        if user.0.holds(Role::Developer) { Ok(Self(user)) } else { Err(Problem::forbidden().into()) }
    }
}

/// A signed-in user who judges versions: a reviewer, an admin or an owner; others are rejected with 403.
#[derive(Debug, Clone)]
pub struct ReviewerUser(pub SignedIn);

impl<'a> FromRequest<'a> for ReviewerUser {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let user = SignedIn::from_request(request, body).await?;
        if user.0.is_reviewer() { Ok(Self(user)) } else { Err(Problem::forbidden().into()) }
    }
}

/// A resource for which API keys have scopes.
pub trait Resource: Send + Sync + 'static {
    /// One of `Scope::RESOURCES`.
    const NAME: &'static str;
}

/// One type per resource, so that an extractor can name its resource as a type parameter.
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
        Invoices = "invoices";
        PaymentIntents = "payment_intents";
        Customers = "customers";
        Subscriptions = "subscriptions";
        Refunds = "refunds";
        CreditNotes = "credit_notes";
        Disputes = "disputes";
        UsageRecords = "usage_records";
        TestClocks = "test_clocks";
    }
}

/// Permission to read a resource across the whole store: an owner, an admin, or an API key with the scope.
/// `mode` is the key's mode, or the mode that a user's request names; handlers must not return objects of the other mode.
#[derive(Debug, Clone, Copy)]
pub struct Reads<R> {
    pub mode: Mode,
    resource: PhantomData<R>,
}

/// Permission to write a resource across the whole store; see [`Reads`].
#[derive(Debug, Clone, Copy)]
pub struct Writes<R> {
    pub mode: Mode,
    /// When the user last proved their identity; `None` for an API key.
    signed_in_at: Option<Timestamp>,
    resource: PhantomData<R>,
}

impl<'a, R: Resource> FromRequest<'a> for Reads<R> {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self { mode: permit(request, R::NAME, false).await?.mode, resource: PhantomData })
    }
}

impl<'a, R: Resource> FromRequest<'a> for Writes<R> {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        let Permit { mode, signed_in_at } = permit(request, R::NAME, true).await?;
        Ok(Self { mode, signed_in_at, resource: PhantomData })
    }
}

impl<R> Writes<R> {
    /// Checks that a user has signed in recently, because the call moves money out of the store. An API key has no sign-in.
    ///
    /// # Errors
    /// 403 with a code of its own, after which the page asks the user to sign in again.
    pub fn check_recent(&self, app: &App) -> Result<(), Problem> {
        check_recent(app, self.signed_in_at)
    }
}

fn check_recent(app: &App, signed_in_at: Option<Timestamp>) -> Result<(), Problem> {
    match signed_in_at {
        Some(at) if app.ctx.now().since(at) > app.sign_in_again_after => Err(Problem::sign_in_again()),
        _ => Ok(()),
    }
}

/// The reader of a resource that belongs to individual customers: a signed-in user, or an API key with the scope.
#[derive(Debug, Clone)]
pub enum Reader<R> {
    Person(Box<Caller>, Mode),
    /// An API key; it is restricted to its own mode.
    Key(Mode, PhantomData<R>),
}

impl<R> Reader<R> {
    /// The mode that the user's request names, or the key's mode.
    pub const fn mode(&self) -> Mode {
        match self {
            Self::Person(_, mode) | Self::Key(mode, _) => *mode,
        }
    }

    /// Returns whether the reader may read an object of `holder` in `mode`. A key may not read objects of the other mode.
    pub fn may_read(&self, holder: &Did, mode: Mode) -> bool {
        match self {
            Self::Person(caller, _) => caller.user.did == *holder || caller.is_admin(),
            Self::Key(key_mode, _) => *key_mode == mode,
        }
    }
}

impl<R: Resource> Reader<R> {
    /// Returns whether the caller acts for the store.
    pub fn is_store(&self) -> bool {
        match self {
            Self::Person(caller, _) => caller.is_admin(),
            Self::Key(..) => true,
        }
    }

    /// As [`Writes::check_recent`], for a user who acts for the store.
    pub fn check_recent(&self, app: &App) -> Result<(), Problem> {
        match self {
            Self::Person(caller, _) if caller.is_admin() => check_recent(app, Some(caller.signed_in_at)),
            Self::Person(..) | Self::Key(..) => Ok(()),
        }
    }

    /// Returns `None` if nobody is signed in and the request has no API key.
    async fn of(request: &Request, write: bool) -> Result<Option<Self>, Problem> {
        if let Some(key) = api_key(request).await? {
            return match key.scopes.iter().any(|scope| scope.allows(R::NAME, write)) {
                true => Ok(Some(Self::Key(key.mode, PhantomData))),
                false => Err(Problem::forbidden()),
            };
        }
        Ok(caller(request).await?.map(|caller| Self::Person(Box::new(caller), RequestContext::of(request).mode)))
    }
}

impl<'a, R: Resource> FromRequest<'a> for Reader<R> {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self::of(request, false).await?.ok_or_else(Problem::signed_out)?)
    }
}

/// Like [`Reader`], for writes: an API key needs the write scope.
#[derive(Debug, Clone)]
pub struct Actor<R>(pub Reader<R>);

impl<'a, R: Resource> FromRequest<'a> for Actor<R> {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self(Reader::of(request, true).await?.ok_or_else(Problem::signed_out)?))
    }
}

/// A [`Reader`], or the holder of an email link (`authToken`), which grants access to one object only.
#[derive(Debug, Clone)]
pub struct LinkHolder<R> {
    reader: Option<Reader<R>>,
    /// The id of the object that the link grants access to.
    linked_id: Option<String>,
    /// The mode that the request names, or the key's mode.
    mode: Mode,
}

/// Like [`LinkHolder`], for writes: an API key needs the write scope.
#[derive(Debug, Clone)]
pub struct LinkActor<R>(pub LinkHolder<R>);

impl<R> LinkHolder<R> {
    /// Returns whether the caller holds the link of one of `ids`.
    pub fn has_link(&self, ids: &[&str]) -> bool {
        self.linked_id.as_ref().is_some_and(|linked| ids.contains(&linked.as_str()))
    }

    /// The mode that the request names, or the key's mode.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns whether the caller is an API key, which cannot fill in a form.
    pub const fn is_key(&self) -> bool {
        matches!(self.reader, Some(Reader::Key(..)))
    }

    /// Returns whether the caller may read an object of `holder` in `mode`. A link of any of `ids` grants access as well.
    pub fn may_open(&self, ids: &[&str], holder: &Did, mode: Mode) -> bool {
        self.has_link(ids) || self.reader.as_ref().is_some_and(|reader| reader.may_read(holder, mode))
    }
}

impl<R: Resource> LinkHolder<R> {
    /// Returns whether the caller acts for the store.
    pub fn is_store(&self) -> bool {
        self.reader.as_ref().is_some_and(Reader::is_store)
    }

    /// # Errors
    /// 401 if nobody is signed in and the request has neither an API key nor a valid link.
    pub async fn of(request: &Request) -> Result<Self, Problem> {
        Self::find(request, false).await
    }

    async fn find(request: &Request, write: bool) -> Result<Self, Problem> {
        let app = app(request)?;
        let query = request.uri().query().unwrap_or_default();
        let token =
            url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "authToken").map(|(_, value)| value.into_owned());
        let linked_id = match token {
            Some(token) => open_link(&app.ctx, &app.tokens, &token).await?,
            None => None,
        };
        let reader = Reader::of(request, write).await?;
        let mode = reader.as_ref().map_or_else(|| RequestContext::of(request).mode, Reader::mode);
        match (&reader, &linked_id) {
            (None, None) => Err(Problem::signed_out()),
            _ => Ok(Self { reader, linked_id, mode }),
        }
    }
}

impl<'a, R: Resource> FromRequest<'a> for LinkHolder<R> {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self::of(request).await?)
    }
}

impl<'a, R: Resource> FromRequest<'a> for LinkActor<R> {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self(LinkHolder::find(request, true).await?))
    }
}

/// What a caller may do across the whole store.
struct Permit {
    mode: Mode,
    signed_in_at: Option<Timestamp>,
}

async fn permit(request: &Request, resource: &str, write: bool) -> Result<Permit, Problem> {
    if let Some(key) = api_key(request).await? {
        return match key.scopes.iter().any(|scope| scope.allows(resource, write)) {
            true => Ok(Permit { mode: key.mode, signed_in_at: None }),
            false => Err(Problem::forbidden()),
        };
    }
    match caller(request).await? {
        Some(caller) if caller.is_admin() => Ok(Permit { mode: RequestContext::of(request).mode, signed_in_at: Some(caller.signed_in_at) }),
        Some(_) => Err(Problem::forbidden()),
        None => Err(Problem::signed_out()),
    }
}

/// Returns the token of an `Authorization: Bearer` header if it has the prefix of Souk's API keys.
pub fn bearer(request: &Request) -> Option<&str> {
    let value = request.headers().get(header::AUTHORIZATION)?;
    value.to_str().ok()?.strip_prefix("Bearer ").filter(|secret| secret.starts_with("souk_"))
}

/// Minimum time between two updates of a key's `last_used_at`.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// The API key of an `Authorization: Bearer` header. An invalid key is rejected with 401, never treated as anonymous.
async fn api_key(request: &Request) -> Result<Option<ApiKey>, Problem> {
    if !request.headers().contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    let Some(secret) = bearer(request) else { return Err(Problem::signed_out()) };
    let ctx = &app(request)?.ctx;
    let mut unit = ctx.store.read().await?;
    let Some(key) = unit.api_keys().find(&token_hash(secret)).await? else { return Err(Problem::signed_out()) };
    drop(unit);
    note_use(ctx, &key).await?;
    Ok(Some(key))
}

/// Stores when an API key was last used, to [`TOUCH_INTERVAL`].
pub async fn note_use(ctx: &Context, key: &ApiKey) -> Result<(), StorageError> {
    let now = ctx.now();
    if key.last_used_at.is_none_or(|used| now.since(used) > TOUCH_INTERVAL) {
        let mut unit = ctx.store.begin().await?;
        unit.api_keys().touch(&key.id, now).await?;
        unit.commit().await?;
    }
    Ok(())
}
