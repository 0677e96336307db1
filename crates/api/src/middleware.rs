//! Middleware of every request: mount prefix, origin check, size limits, idempotency, response headers and the error format.

use crate::auth::{LOGIN_COOKIE, cookie};
use crate::idempotency;
use crate::problem::{BAD_REQUEST, Problem};
use crate::state::App;
use poem::error::ReadBodyError;
use poem::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use poem::{Endpoint, IntoResponse, Middleware, PathPattern, Request, Response};
use std::sync::Arc;

/// Integrators may mount the payment kit under this prefix (payment-kit.md 1.1).
const MOUNT_PREFIX: &str = "/payment";
/// Maximum body of an API request, in bytes.
const BODY_MAX: usize = 1 << 20;

/// What pages may use: payment requests, also by the card processor's form, and passkeys.
const PERMISSIONS: &str = "payment=(self \"https://js.stripe.com\"), publickey-credentials-get=(self), publickey-credentials-create=(self), \
    camera=(), microphone=(), geolocation=(), usb=(), serial=(), bluetooth=(), midi=(), display-capture=()";

/// The method that the client sent, because routes see a HEAD request as GET.
#[derive(Clone)]
pub struct RequestMethod(pub Method);

pub struct RequestMiddleware(pub Arc<App>);

pub struct MiddlewareEndpoint<E> {
    app: Arc<App>,
    inner: E,
}

impl<E: Endpoint> Middleware<E> for RequestMiddleware {
    type Output = MiddlewareEndpoint<E>;

    fn transform(&self, inner: E) -> Self::Output {
        MiddlewareEndpoint { app: Arc::clone(&self.0), inner }
    }
}

impl<E: Endpoint> Endpoint for MiddlewareEndpoint<E> {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        strip_mount_prefix(&mut request);
        let path = request.uri().path().to_owned();
        let origin = request.headers().get(header::ORIGIN).cloned();
        let method = RequestMethod(request.method().clone());
        let is_open = is_open_to_other_origins(&path) || is_public_read(&method.0, &path);
        request.extensions_mut().insert(method);
        if *request.method() == Method::OPTIONS && is_open {
            let mut response = StatusCode::NO_CONTENT.into_response();
            add_headers(&self.app, &path, is_open, origin, &mut response);
            return Ok(response);
        }
        // The permit is held until the response is complete, apart from a streamed body.
        let (permit, admitted) = match self.app.limits.admit_request(&request) {
            Ok(permit) => (permit, admit(&self.app, &mut request, &path).await),
            Err(problem) => (None, Err(problem)),
        };
        let result = match admitted {
            Ok(()) if is_api(&path) => idempotency::once(&self.app, &self.inner, request).await,
            // The sandbox stands in for an external network and has its own idempotency keys.
            Ok(()) => Ok(self.inner.get_response(request).await),
            Err(problem) => Err(problem.into()),
        };
        let mut response = match result {
            Ok(response) => response,
            Err(error) => error.into_response(),
        };
        if is_api(&path) && response.status().is_client_error() | response.status().is_server_error() {
            response = as_problem(response).await;
        }
        drop(permit);
        add_headers(&self.app, &path, is_open, origin, &mut response);
        Ok(response)
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

fn is_api(path: &str) -> bool {
    path.starts_with("/api/")
}

/// Paths that wallets and other origins may call; they do not rely on the login cookie.
fn is_open_to_other_origins(path: &str) -> bool {
    (path.starts_with("/api/did/") && (path.ends_with("/auth") || path.ends_with("/auth/submit"))) || path == "/__blocklet__.js"
}

/// Public data that pages of any origin may read; browsers send such requests without the login cookie.
fn is_public_read(method: &Method, path: &str) -> bool {
    let public = ["/api/apps", "/api/categories", "/api/store", "/api/settings"];
    let below = |root: &&str| path.strip_prefix(*root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) && public.iter().any(below)
}

/// Rejects writes that another site makes with the login cookie, and bodies that are too large.
async fn admit(app: &App, request: &mut Request, path: &str) -> Result<(), Problem> {
    check_origin(app, request, path)?;
    if !is_api(path) {
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

fn check_origin(app: &App, request: &Request, path: &str) -> Result<(), Problem> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if is_read || !is_api(path) || is_open_to_other_origins(path) || cookie(request, LOGIN_COOKIE).is_none() {
        return Ok(());
    }
    let origin = request.headers().get(header::ORIGIN).map(|value| value.to_str().unwrap_or_default());
    match origin {
        Some(origin) if !app.site.is_own_origin(origin) => Err(Problem::forbidden()),
        _ => Ok(()),
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

fn add_headers(app: &App, path: &str, is_open: bool, origin: Option<HeaderValue>, response: &mut Response) {
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "strict-origin-when-cross-origin");
    if app.site.public_url.scheme() == "https" {
        // Without includeSubDomains: other hosts of the domain are not the store's to decide about.
        set(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    if !is_api(path) {
        set(HeaderName::from_static("permissions-policy"), PERMISSIONS);
    }
    if is_api(path) {
        set(header::CACHE_CONTROL, "no-store");
    }
    if is_open {
        set(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        set(header::ACCESS_CONTROL_ALLOW_HEADERS, "*");
    } else if let Some(origin) = origin.filter(|origin| origin.to_str().is_ok_and(|origin| app.site.is_own_origin(origin))) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
}
