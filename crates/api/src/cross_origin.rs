//! The calls that pages of other origins may make. Such a call never uses a cookie: the caller is anonymous or sends an `authToken`.

use poem::http::{HeaderMap, HeaderValue, Method, header};

/// Public data, with everything below these paths.
const PUBLIC: [&str; 7] =
    ["/api/apps", "/api/blocklets", "/api/blocklet-instances", "/api/categories", "/api/store", "/api/store.json", "/api/settings"];

/// The calls of the published browser client that this store answers (payment-kit.md 1.2). `:` stands for one segment.
const BROWSER_CALLS: [(Method, &str); 23] = [
    (Method::POST, "/api/checkout-sessions/start/:"),
    (Method::GET, "/api/checkout-sessions/retrieve/:"),
    (Method::PUT, "/api/checkout-sessions/:/submit"),
    (Method::POST, "/api/checkout-sessions/:/fast-checkout-confirm"),
    (Method::POST, "/api/checkout-sessions/:/abort-stripe"),
    (Method::PUT, "/api/checkout-sessions/:/upsell"),
    (Method::PUT, "/api/checkout-sessions/:/downsell"),
    (Method::GET, "/api/checkout-sessions/:/cross-sell"),
    (Method::PUT, "/api/checkout-sessions/:/cross-sell"),
    (Method::DELETE, "/api/checkout-sessions/:/cross-sell"),
    (Method::PUT, "/api/checkout-sessions/:/amount"),
    (Method::PUT, "/api/checkout-sessions/:/adjust-quantity"),
    (Method::GET, "/api/customers/me"),
    (Method::GET, "/api/customers/:/overdue/invoices"),
    (Method::GET, "/api/subscriptions/:"),
    (Method::GET, "/api/subscriptions/:/overdue/invoices"),
    (Method::GET, "/api/subscriptions/:/recover-info"),
    (Method::PUT, "/api/subscriptions/:/recover"),
    (Method::GET, "/api/invoices"),
    (Method::POST, "/api/invoices/pay-stripe"),
    (Method::GET, "/api/payment-intents"),
    (Method::GET, "/api/products/:"),
    (Method::GET, "/__blocklet__.js"),
];

/// How long browsers may keep the answer to a preflight request, in seconds.
const PREFLIGHT_MAX_AGE: &str = "600";

/// The method that a request calls; for a preflight request, the one that it asks about.
pub fn called_method(method: &Method, headers: &HeaderMap) -> Method {
    let asked = headers.get(header::ACCESS_CONTROL_REQUEST_METHOD).and_then(|asked| Method::from_bytes(asked.as_bytes()).ok());
    match *method {
        Method::OPTIONS => asked.unwrap_or(Method::GET),
        // HEAD requests read the same data as GET requests.
        Method::HEAD => Method::GET,
        _ => method.clone(),
    }
}

/// Returns whether pages of other origins may call `path`, without the mount prefix.
pub fn is_open(method: &Method, path: &str) -> bool {
    let is_public = || *method == Method::GET && PUBLIC.iter().any(|root| is_below(root, path));
    is_connect_call(path) || is_public() || BROWSER_CALLS.iter().any(|(known, pattern)| known == method && is_match(pattern, path))
}

/// The calls of DID Connect (did-connect.md 2.1). Wallets authenticate themselves by their signature, and dialogs act only by the token of
/// their session. Without a cookie, a session yields no login, and its status does not name the wallet. Developers' tools act by the token of
/// their session as well; what they are answered is sealed to their key.
fn is_connect_call(path: &str) -> bool {
    const CALLS: [&str; 5] = ["token", "status", "timeout", "auth", "auth/submit"];
    let call = path.strip_prefix("/api/did/").and_then(|rest| rest.split_once('/'));
    call.is_some_and(|(action, call)| !action.is_empty() && CALLS.contains(&call))
}

fn is_below(root: &str, path: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_match(pattern: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    let matches =
        pattern.split('/').all(|wanted| segments.next().is_some_and(|found| wanted == found || (wanted == ":" && !found.is_empty())));
    matches && segments.next().is_none()
}

/// Adds the headers of a call that is open. `*` for headers covers all but `Authorization`: API keys do not belong in browsers.
pub fn add_headers(headers: &mut HeaderMap, is_preflight: bool) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    if is_preflight {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PUT, DELETE"));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(PREFLIGHT_MAX_AGE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_listed_calls_are_open() {
        for (method, path, expected) in [
            (Method::GET, "/api/apps/z1/1.0.0/bundle", true),
            (Method::POST, "/api/settings", false),
            (Method::GET, "/api/appsandmore", false),
            (Method::GET, "/api/blocklet-instances/zNK1", true),
            (Method::PUT, "/api/blocklet-instances/zNK1", false),
            (Method::PUT, "/api/checkout-sessions/cs_1/submit", true),
            (Method::POST, "/api/checkout-sessions/cs_1/submit", false),
            (Method::PUT, "/api/checkout-sessions//submit", false),
            (Method::PUT, "/api/checkout-sessions/cs_1/submit/more", false),
            (Method::PUT, "/api/checkout-sessions/cs_1", false),
            (Method::GET, "/api/invoices", true),
            (Method::GET, "/api/invoices/in_1", false),
            (Method::GET, "/api/invoices/in_1/pdf", false),
            (Method::POST, "/api/invoices/in_1/void", false),
            (Method::GET, "/api/customers/cus_1", false),
            (Method::PUT, "/api/customers/me", false),
            (Method::PUT, "/api/subscriptions/sub_1/cancel", false),
            (Method::POST, "/api/did/login/auth", true),
            (Method::POST, "/api/did/login/auth/submit", true),
            (Method::GET, "/api/did/login/token", true),
            (Method::GET, "/api/did/collect-batch/status", true),
            (Method::GET, "/api/did/collect-batch/timeout", true),
            (Method::GET, "/api/did/connect-cli/status", true),
            (Method::POST, "/api/tool-sessions/approve", false),
            (Method::GET, "/api/did/login/more/auth", false),
            (Method::GET, "/api/did//auth", false),
            (Method::GET, "/api/did/auth", false),
            (Method::GET, "/api/session", false),
        ] {
            assert_eq!(is_open(&method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn a_preflight_request_asks_about_another_method() {
        let asking = HeaderMap::from_iter([(header::ACCESS_CONTROL_REQUEST_METHOD, HeaderValue::from_static("PUT"))]);
        assert_eq!(called_method(&Method::OPTIONS, &asking), Method::PUT);
        assert_eq!(called_method(&Method::OPTIONS, &HeaderMap::new()), Method::GET);
        assert_eq!(called_method(&Method::HEAD, &asking), Method::GET);
        assert_eq!(called_method(&Method::POST, &asking), Method::POST);
    }
}
