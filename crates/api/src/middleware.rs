//! Middleware of every request: mount prefix, origin check, size limits, idempotency, response headers and the error format.

use crate::audit::Audited;
use crate::auth::{LOGIN_COOKIE, cookie};
use crate::cross_origin;
use crate::idempotency;
use crate::problem::{BAD_REQUEST, Problem};
use crate::state::App;
use poem::error::ReadBodyError;
use poem::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use poem::{Endpoint, IntoResponse, Middleware, PathPattern, Request, Response};
use souk_domain::operation::RestoreHeld;
use std::sync::Arc;

/// Integrators may mount the payment kit under this prefix (payment-kit.md 1.1).
const MOUNT_PREFIX: &str = "/payment";
/// Where users change their own picture.
const PICTURE: &str = "/api/session/picture";
/// Maximum body of an API request, in bytes.
const BODY_MAX: usize = 1 << 20;

/// What pages may use: payment requests, also by the card processor's form, and passkeys.
const PERMISSIONS: &str = "payment=(self \"https://js.stripe.com\"), publickey-credentials-get=(self), publickey-credentials-create=(self), \
    camera=(), microphone=(), geolocation=(), usb=(), serial=(), bluetooth=(), midi=(), display-capture=()";

/// The method that the client sent, because routes see a HEAD request as GET.
#[derive(Clone)]
pub struct RequestMethod(pub Method);

/// The address that the client has called, without the mount prefix.
#[derive(Clone)]
pub struct CalledUri(pub Uri);

pub struct RequestMiddleware(pub Arc<App>);

pub struct MiddlewareEndpoint<E> {
    app: Arc<App>,
    inner: Audited<E>,
}

impl<E: Endpoint<Output = Response>> Middleware<E> for RequestMiddleware {
    type Output = MiddlewareEndpoint<E>;

    fn transform(&self, inner: E) -> Self::Output {
        MiddlewareEndpoint { app: Arc::clone(&self.0), inner: Audited(inner) }
    }
}

impl<E: Endpoint<Output = Response>> Endpoint for MiddlewareEndpoint<E> {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        strip_mount_prefix(&mut request);
        let path = request.uri().path().to_owned();
        let method = RequestMethod(request.method().clone());
        let checks = RequestChecks {
            is_open: cross_origin::is_open(&cross_origin::called_method(&method.0, request.headers()), &path),
            is_preflight: method.0 == Method::OPTIONS,
            origin: Origin::of(&self.app, &request),
            is_https: self.app.site.public_url.scheme() == "https",
            path,
        };
        request.extensions_mut().insert(method);
        let called = CalledUri(request.uri().clone());
        request.extensions_mut().insert(called);
        if checks.is_preflight && checks.is_open {
            let mut response = StatusCode::NO_CONTENT.into_response();
            add_headers(&checks, &mut response);
            return Ok(response);
        }
        let path = &checks.path;
        // The permit is held until the response is complete, apart from a streamed body.
        let (permit, admitted) = match self.app.limits.admit_request(&request) {
            Ok(permit) => (permit, admit(&mut request, &checks).await),
            Err(problem) => (None, Err(problem)),
        };
        let result = match admitted {
            Ok(()) if self.app.ctx.networks.is_held() && is_held_back(request.method(), path) => Err(Problem::from(RestoreHeld).into()),
            // An upload is idempotent by its content, and too large to be compared with a first request.
            Ok(()) if is_api(path) && !receives_file(request.method(), path) => idempotency::once(&self.app, &self.inner, request).await,
            // The sandbox stands in for an external network and has its own idempotency keys.
            Ok(()) => Ok(self.inner.get_response(request).await),
            Err(problem) => Err(problem.into()),
        };
        let mut response = match result {
            Ok(response) => response,
            Err(error) => error.into_response(),
        };
        if is_api(path) && response.status().is_client_error() | response.status().is_server_error() {
            response = as_problem(response).await;
        }
        drop(permit);
        add_headers(&checks, &mut response);
        Ok(response)
    }
}

/// What the middleware decides about a request before it is handled.
struct RequestChecks {
    /// Without the mount prefix.
    path: String,
    is_preflight: bool,
    /// Whether pages of other origins may make this call.
    is_open: bool,
    origin: Origin,
    /// Whether the store's address is under https.
    is_https: bool,
}

/// The page that makes a request, by its `Origin` header.
enum Origin {
    /// Not a page, or a page of the same origin that reads.
    Unnamed,
    Own(HeaderValue),
    Other,
}

impl Origin {
    fn of(app: &App, request: &Request) -> Self {
        match request.headers().get(header::ORIGIN) {
            None => Self::Unnamed,
            Some(origin) if origin.to_str().is_ok_and(|origin| app.site.is_own_origin(origin)) => Self::Own(origin.clone()),
            Some(_) => Self::Other,
        }
    }
}

fn strip_mount_prefix(request: &mut Request) {
    let Some(rest) = request.uri().path_and_query().and_then(|path| path.as_str().strip_prefix(MOUNT_PREFIX)) else { return };
    if !rest.starts_with('/') {
        return;
    }
    if let Ok(uri) = rest.parse::<Uri>() {
        *request.uri_mut() = uri;
    }
}

/// What a restored store answers while it is held: reads, sign-ins, events of networks, and what an owner confirms.
const ANSWERED_WHILE_HELD: [&str; 5] = ["/api/did/login/", "/api/session", "/api/webhooks/", "/api/clock/confirm", "/api/restore/confirm"];

/// Whether the call waits until a restored store continues: it would change something that the original may have changed as well. Wallets
/// also send transactions in answer to a GET request.
fn is_held_back(method: &Method, path: &str) -> bool {
    let is_read = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) && !path.starts_with("/api/did/");
    let is_answered = ANSWERED_WHILE_HELD.iter().any(|answered| path.starts_with(answered)) && !is_picture(path);
    is_api(path) && !is_read && !is_answered
}

/// Whether a path is that of uploads, whose bodies are large and take long.
#[must_use]
pub fn is_upload(path: &str) -> bool {
    path.strip_prefix(MOUNT_PREFIX).unwrap_or(path) == "/api/blocklets/upload"
}

fn is_picture(path: &str) -> bool {
    path.trim_end_matches('/') == PICTURE
}

/// Whether the body is a file. The route authenticates the sender, and then receives the body and limits it.
fn receives_file(method: &Method, path: &str) -> bool {
    match *method {
        Method::POST => is_upload(path),
        Method::PUT => is_picture(path),
        _ => false,
    }
}

fn is_api(path: &str) -> bool {
    path.starts_with("/api/")
}

/// Rejects writes that another site makes with the login cookie, and bodies that are too large. Removes the cookies of all other requests
/// from other sites, so that they are anonymous.
async fn admit(request: &mut Request, checks: &RequestChecks) -> Result<(), Problem> {
    if matches!(checks.origin, Origin::Other) {
        check_origin(request, checks)?;
        request.headers_mut().remove(header::COOKIE);
    }
    if !is_api(&checks.path) || receives_file(request.method(), &checks.path) {
        return Ok(());
    }
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    match length {
        Some(length) if length > BODY_MAX => Err(Problem::body_too_large()),
        // The HTTP server ensures that the body does not exceed its announced length.
        Some(_) => Ok(()),
        None => {
            let body = request.take_body().into_bytes_limit(BODY_MAX).await.map_err(|error| match error {
                ReadBodyError::PayloadTooLarge => Problem::body_too_large(),
                error => Problem::malformed(error),
            })?;
            request.set_body(body);
            Ok(())
        }
    }
}

fn check_origin(request: &Request, checks: &RequestChecks) -> Result<(), Problem> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    match is_read || checks.is_open || !is_api(&checks.path) || cookie(request, LOGIN_COOKIE).is_none() {
        true => Ok(()),
        false => Err(Problem::forbidden()),
    }
}

/// Converts errors of the framework, such as an unknown route or an invalid JSON body, to `{error}`.
async fn as_problem(mut response: Response) -> Response {
    let is_json = response.content_type().is_some_and(|kind| kind.starts_with("application/json"));
    if is_json {
        return response;
    }
    let status = response.status();
    let message = response.take_body().into_string().await.unwrap_or_default();
    let problem = match status {
        StatusCode::NOT_FOUND => Problem::not_found(),
        StatusCode::BAD_REQUEST if !message.is_empty() => Problem::malformed(message.chars().take(500).collect::<String>()),
        status if status.is_server_error() => Problem { status, ..Problem::internal() },
        _ => Problem::new(status, BAD_REQUEST).code("BAD_REQUEST"),
    };
    let mut converted = problem.into_response();
    // Metrics count by the route's pattern.
    if let Some(pattern) = response.data::<PathPattern>() {
        converted.set_data(pattern.clone());
    }
    if let Some(allow) = response.headers().get(header::ALLOW) {
        converted.headers_mut().insert(header::ALLOW, allow.clone());
    }
    converted
}

fn add_headers(checks: &RequestChecks, response: &mut Response) {
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "strict-origin-when-cross-origin");
    if checks.is_https {
        // Without includeSubDomains: other hosts of the domain are not the store's to decide about.
        set(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    if !is_api(&checks.path) {
        set(HeaderName::from_static("permissions-policy"), PERMISSIONS);
    }
    if is_api(&checks.path) {
        set(header::CACHE_CONTROL, "no-store");
    }
    match &checks.origin {
        _ if checks.is_open => cross_origin::add_headers(headers, checks.is_preflight),
        Origin::Own(origin) => {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
        Origin::Unnamed | Origin::Other => {}
    }
    if matches!(checks.origin, Origin::Other) {
        // An anonymous response must not replace the cookies of the visitor.
        headers.remove(header::SET_COOKIE);
    }
}
