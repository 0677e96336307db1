//! Serves the web entries `index.html`, `checkout.html` and `wallet.html`, and their assets, which the build has compressed.

use crate::checkout_prerender::checkout_prerender;
use crate::html_shell::{HtmlShell, is_front};
use poem::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use poem::{Endpoint, IntoResponse, Request, Response};
use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};
use souk_api::auth::LOGIN_COOKIE;
use souk_domain::context::Context;
use souk_domain::shared::Random;
use std::sync::Arc;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Web;

/// Identifies a browser before the user signs in.
const VISITOR_COOKIE: &str = "vid";

pub struct Pages {
    pub html_shell: HtmlShell,
    pub ctx: Context,
    pub random: Arc<dyn Random>,
    pub secure: bool,
    /// The origins of the configured analytics script and error reports, which store pages may reach.
    pub outside: String,
}

impl Endpoint for Pages {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Ok(StatusCode::METHOD_NOT_ALLOWED.into_response());
        }
        let path = request.uri().path().trim_start_matches('/');
        // A page's path may look like a file (`/apps/{did}/1.4.0`), so only files of the build count. The entries are served only at
        // their own URLs, with their content security policies.
        let found = if path.is_empty() || path.ends_with(".html") { None } else { file(path, request.headers()) };
        let Some(mut response) = found else {
            return Ok(if path.starts_with("assets/") {
                StatusCode::NOT_FOUND.into_response()
            } else {
                self.page(path, request.uri().query(), request.headers()).await
            });
        };
        // Vite puts a content hash into the names of assets.
        let lifetime = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "public, max-age=3600" };
        if response.status() == StatusCode::OK {
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(lifetime));
        }
        Ok(response)
    }
}

impl Pages {
    async fn page(&self, path: &str, query: Option<&str>, headers: &HeaderMap) -> Response {
        let (entry, policy) = match path {
            "sandbox/wallet" => ("wallet.html", Policy::Wallet),
            path if path.starts_with("checkout/") => ("checkout.html", Policy::Checkout),
            _ => ("index.html", Policy::Store),
        };
        let cookies = headers.get(header::COOKIE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let has_cookie =
            |name: &str| cookies.split(';').any(|pair| pair.trim().strip_prefix(name).is_some_and(|rest| rest.starts_with('=')));
        let order = if matches!(policy, Policy::Checkout) { checkout_prerender(&self.ctx, path, query).await } else { None };
        let filled = || {
            let page = String::from_utf8(Web::get(entry)?.data.into_owned()).ok()?;
            let page = match policy {
                Policy::Checkout => self.html_shell.fill_checkout(&page, order.as_ref(), has_cookie(LOGIN_COOKIE)),
                _ => self.html_shell.fill(&page, is_front(path, query)),
            };
            let page = page.into_bytes();
            let tag = tag(&Sha256::digest(&page));
            Some(unchanged(&tag, headers).unwrap_or_else(|| body(entry, tag, page)))
        };
        let found = if matches!(policy, Policy::Wallet) { file(entry, headers) } else { filled() };
        let Some(mut response) = found else {
            let message = "The web pages have not been built. Run `make build`, or `npm ci && npm run build` in the web folder.";
            return message.with_status(StatusCode::SERVICE_UNAVAILABLE).into_response();
        };
        let set = response.headers_mut();
        set.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let Ok(policy) = HeaderValue::from_str(&policy.text(&self.outside)) {
            set.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        if !has_cookie(VISITOR_COOKIE) {
            let mut bytes = [0; 16];
            self.random.fill(&mut bytes);
            let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let secure = if self.secure { "; Secure" } else { "" };
            let cookie = format!("{VISITOR_COOKIE}={name}; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000{secure}");
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                set.append(header::SET_COOKIE, cookie);
            }
        }
        response
    }
}

/// The content security policy of each entry.
#[derive(Clone, Copy)]
enum Policy {
    Store,
    /// May be framed by other sites, and may load the card processor's form.
    Checkout,
    /// Allows `eval`, which one of the published wallet libraries needs; only this page loads it.
    Wallet,
}

impl Policy {
    fn text(self, outside: &str) -> String {
        let rest = match self {
            Self::Store => {
                return format!(
                    "default-src 'self'; script-src 'self' {outside}; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; \
                     connect-src 'self' {outside}; object-src 'none'; base-uri 'self'; \
                     form-action 'self'; frame-ancestors 'self'"
                );
            }
            Self::Checkout => {
                "default-src 'self'; script-src 'self' https://js.stripe.com; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; \
                 connect-src 'self' https://api.stripe.com; frame-src 'self' https://js.stripe.com https://hooks.stripe.com; \
                 object-src 'none'; base-uri 'self'; form-action 'self'"
            }
            Self::Wallet => {
                "default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; \
                 connect-src *; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
            }
        };
        rest.to_owned()
    }
}

/// A file of the build, in the best encoding that the client accepts.
fn file(path: &str, headers: &HeaderMap) -> Option<Response> {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accepts = |name: &str| accepted.split(',').any(|part| part.split(';').next().unwrap_or_default().trim() == name);
    let variants = [("br", ".br"), ("gzip", ".gz")].into_iter().filter(|(name, _)| accepts(name));
    let compressed = variants.filter_map(|(name, ending)| Some((Some(name), Web::get(&format!("{path}{ending}"))?))).next();
    let (encoding, found) = match compressed {
        Some(found) => found,
        None => (None, Web::get(path)?),
    };
    let tag = tag(&found.metadata.sha256_hash());
    if let Some(unchanged) = unchanged(&tag, headers) {
        return Some(unchanged);
    }
    let mut response = body(path, tag, found.data.into_owned());
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Some(encoding) = encoding {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    Some(response)
}

fn tag(digest: &[u8]) -> String {
    format!("\"{}\"", digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn unchanged(tag: &str, headers: &HeaderMap) -> Option<Response> {
    let known = headers.get(header::IF_NONE_MATCH)?.to_str().ok()?;
    let matches = known.split(',').any(|known| known.trim() == tag);
    matches.then(|| StatusCode::NOT_MODIFIED.with_header(header::ETAG, tag).into_response())
}

fn body(path: &str, tag: String, bytes: Vec<u8>) -> Response {
    Response::builder().content_type(kind(path)).header(header::ETAG, tag).body(bytes)
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" | "webmanifest" => "application/json; charset=utf-8",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_every_page_are_sent_to_the_store_only() {
        for policy in [Policy::Store, Policy::Checkout, Policy::Wallet] {
            let text = policy.text("https://analytics.example");
            assert!(text.split("; ").any(|directive| directive == "form-action 'self'"), "{text}");
        }
    }
}
