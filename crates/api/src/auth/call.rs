//! Extractors.

use super::cookies::{LOGIN_COOKIE, cookie, token_hash};
use crate::problem::Problem;
use crate::state::App;
use poem::http::header;
use poem::{FromRequest, Request, RequestBody};
use souk_domain::access::{self, ApiKey, Did};
use souk_domain::shared::{Language, Mode};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

pub use souk_domain::access::Caller;

/// What every call carries in its query: `livemode` (absent: live) and `locale` (absent: the language cookie, else English).
/// Values that make no sense count as absent, because clients forward whatever their page was opened with.
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
        let tag = query("locale").or_else(|| cookie(request, "nf_lang").map(ToOwned::to_owned));
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
    request.data::<Arc<App>>().ok_or_else(|| Problem::new(poem::http::StatusCode::INTERNAL_SERVER_ERROR, crate::problem::FAILED))
}

async fn caller(request: &Request) -> Result<Option<Caller>, Problem> {
    let Some(token) = cookie(request, LOGIN_COOKIE) else { return Ok(None) };
    Ok(access::caller_of(&app(request)?.ctx, &token_hash(token)).await?)
}

/// Anybody; who it is when they are signed in.
#[derive(Debug, Clone)]
pub struct MaybeUser(pub Option<Caller>);

impl<'a> FromRequest<'a> for MaybeUser {
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

/// Who reads a resource of which everybody has their own: somebody who is signed in, or a key with the scope.
#[derive(Debug, Clone)]
pub enum Reader<R> {
    Person(Box<Caller>, Mode),
    /// The key's own mode.
    Key(Mode, PhantomData<R>),
}

impl<R> Reader<R> {
    /// What the call asks for, or the key's.
    pub const fn mode(&self) -> Mode {
        match self {
            Self::Person(_, mode) | Self::Key(mode, _) => *mode,
        }
    }

    /// Whether they may read what belongs to a holder, in this mode. A key does not reach into the other one.
    pub fn may_read(&self, holder: &Did, mode: Mode) -> bool {
        match self {
            Self::Person(caller, _) => caller.user.did == *holder || caller.is_admin(),
            Self::Key(own, _) => *own == mode,
        }
    }
}

impl<R: Resource> Reader<R> {
    /// Whether they act for the store.
    pub fn is_store(&self) -> bool {
        match self {
            Self::Person(caller, _) => caller.is_admin(),
            Self::Key(..) => true,
        }
    }

    /// `None`: nobody is signed in, and there is no key.
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

/// The same for who changes something that is their own: a key needs the scope to write.
#[derive(Debug, Clone)]
pub struct Actor<R>(pub Reader<R>);

impl<'a, R: Resource> FromRequest<'a> for Actor<R> {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self(Reader::of(request, true).await?.ok_or_else(Problem::signed_out)?))
    }
}

/// Who opens a page: a reader, or whoever holds the link of a mail (`authToken`), which opens one object and no other.
#[derive(Debug, Clone)]
pub struct LinkHolder<R> {
    reader: Option<Reader<R>>,
    /// The id that the link opens.
    page: Option<String>,
}

impl<R> LinkHolder<R> {
    /// Whether they hold the link of one of these.
    pub fn has_link(&self, ids: &[&str]) -> bool {
        self.page.as_ref().is_some_and(|page| ids.contains(&page.as_str()))
    }

    /// Whether it is a key, and nobody who could fill in a form.
    pub const fn is_key(&self) -> bool {
        matches!(self.reader, Some(Reader::Key(..)))
    }

    /// Whether they may see what belongs to a holder in this mode. The link of any of `ids` opens it.
    pub fn may_open(&self, ids: &[&str], holder: &Did, mode: Mode) -> bool {
        self.has_link(ids) || self.reader.as_ref().is_some_and(|reader| reader.may_read(holder, mode))
    }
}

impl<R: Resource> LinkHolder<R> {
    /// Whether they act for the store.
    pub fn is_store(&self) -> bool {
        self.reader.as_ref().is_some_and(Reader::is_store)
    }

    /// 401 when nobody is signed in and there is neither a key nor a link.
    pub async fn of(request: &Request) -> Result<Self, Problem> {
        let app = app(request)?;
        let query = request.uri().query().unwrap_or_default();
        let token =
            url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "authToken").map(|(_, value)| value.into_owned());
        let page = token.and_then(|token| app.tokens.subject(&token, app.ctx.now()).map(ToOwned::to_owned));
        let reader = Reader::of(request, false).await?;
        match (&reader, &page) {
            (None, None) => Err(Problem::signed_out()),
            _ => Ok(Self { reader, page }),
        }
    }
}

impl<'a, R: Resource> FromRequest<'a> for LinkHolder<R> {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self::of(request).await?)
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
        Some(caller) if caller.is_admin() => Ok(RequestContext::of(request).mode),
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
