//! Cookie names, cookie attributes, and the hash under which a token is stored.

use poem::Request;
use poem::http::header;
use sha2::{Digest, Sha256};
use souk_domain::access::{CONNECT_LIFETIME, LOGIN_LIFETIME_DAYS, TokenHash};
use souk_domain::checkout::BrowserMark;
use souk_domain::shared::Language;

/// Holds the token of the browser session.
pub const LOGIN_COOKIE: &str = "login_token";
/// Identifies the browser that began a connect session, for the lifetime of that session.
pub const BROWSER_COOKIE: &str = "connect_browser";
/// Identifies a browser, signed in or not, so that repeated checkout starts by one visitor give one session, and its pages receive the
/// realtime events of the sessions that it started. Published clients read this name. The pages set it.
pub const VISITOR_COOKIE: &str = "vid";
/// Holds the language of the pages, which set it when a visitor chooses one. Published clients read this name.
pub const LANGUAGE_COOKIE: &str = "nf_lang";
/// How long a chosen language is kept, in seconds: a year, as the pages do.
const LANGUAGE_MAX_AGE: u32 = 365 * 86_400;
/// Maximum length of a cookie value in bytes; longer values are ignored.
const VALUE_MAX: usize = 256;

/// Returns the value of a cookie of the request.
#[must_use]
pub fn cookie<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    let headers = request.headers().get_all(header::COOKIE).iter();
    headers
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(found, value)| *found == name && !value.is_empty() && value.len() <= VALUE_MAX)
        .map(|(_, value)| value)
}

#[must_use]
pub fn token_hash(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

/// The `Set-Cookie` value of a login; an empty token deletes the cookie. `secure`: the store is served over HTTPS.
#[must_use]
pub fn login_cookie(token: &str, secure: bool) -> String {
    let age = if token.is_empty() { 0 } else { LOGIN_LIFETIME_DAYS * 86_400 };
    let secure = if secure { "; Secure" } else { "" };
    format!("{LOGIN_COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}{secure}")
}

/// The `Set-Cookie` value for the browser that began a connect session; an empty value deletes the cookie.
#[must_use]
pub fn browser_cookie(value: &str, secure: bool) -> String {
    let age = if value.is_empty() { 0 } else { CONNECT_LIFETIME.as_secs() };
    let secure = if secure { "; Secure" } else { "" };
    format!("{BROWSER_COOKIE}={value}; Path=/api/did; HttpOnly; SameSite=Lax; Max-Age={age}{secure}")
}

/// The `Set-Cookie` value of the language of the pages. Scripts of the pages read and change it, so it is not `HttpOnly`.
#[must_use]
pub fn language_cookie(language: Language, secure: bool) -> String {
    let secure = if secure { "; Secure" } else { "" };
    format!("{LANGUAGE_COOKIE}={}; Path=/; SameSite=Lax; Max-Age={LANGUAGE_MAX_AGE}{secure}", language.tag())
}

/// The browser of a request, by its visitor cookie.
#[must_use]
pub fn browser_mark(request: &Request) -> Option<BrowserMark> {
    cookie(request, VISITOR_COOKIE).map(|value| BrowserMark(hex::encode(token_hash(value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_matched_by_its_exact_name() {
        let request = Request::builder().header("cookie", "xvid=1; vid=2; empty=").finish();
        assert_eq!(cookie(&request, "vid"), Some("2"));
        assert_eq!(cookie(&request, "id"), None);
        assert_eq!(cookie(&request, "empty"), None);
    }
}
