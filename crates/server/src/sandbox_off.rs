//! What answers below `/sandbox` while the sandbox is off: a named refusal, as JSON for programs and as a page for people.

use poem::http::{HeaderMap, HeaderValue, StatusCode, header};
use poem::{Endpoint, IntoResponse, Request, Response};
use souk_api::problem::Problem;
use souk_domain::payment::SandboxOff;

/// Both languages are sent, because the page has no scripts that know the visitor's choice.
const PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
<title>The sandbox is switched off · 沙盒已关闭</title>\
<style>body{background:Canvas;color:CanvasText;font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem}h1{font-size:1.25rem;margin-top:2rem}a{color:inherit}</style>\
<main><section><h1>The sandbox is switched off</h1>\
<p>Test payments can't be made in this store now. Purchases, subscriptions and invoices of test mode remain, and their payments continue \
once the sandbox is switched on again.</p><p><a href=\"/\">Back to store</a></p></section>\
<section lang=\"zh\"><h1>沙盒已关闭</h1>\
<p>此商店目前无法进行测试付款。测试模式下的购买、订阅和账单都会保留，沙盒重新开启后，相关付款将继续。</p><p><a href=\"/\">返回商店</a></p></section></main></html>";

pub struct SandboxOffEndpoint;

impl Endpoint for SandboxOffEndpoint {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let mut response = if wants_page(request.headers()) {
            PAGE.with_content_type("text/html; charset=utf-8").with_status(StatusCode::SERVICE_UNAVAILABLE).into_response()
        } else {
            Problem::from(SandboxOff).into_response()
        };
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }
}

/// Whether a browser navigates. Programs do not name HTML.
fn wants_page(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).is_some_and(|accept| accept.contains("text/html"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use poem::Route;
    use serde_json::Value;

    async fn answer(path: &str, accept: &str) -> (StatusCode, String) {
        let routes = Route::new().nest("/sandbox", SandboxOffEndpoint);
        let request = Request::builder().uri(path.parse().expect("a path")).header(header::ACCEPT, accept).finish();
        let mut response = routes.get_response(request).await;
        (response.status(), response.take_body().into_string().await.expect("text"))
    }

    #[tokio::test]
    async fn wallet_faucet_cards_and_ledger_answer_the_same_named_refusal() {
        for path in
            ["/sandbox/wallet", "/sandbox/arcblock/faucet", "/sandbox/arcblock/api/", "/sandbox/stripe/v1/payment_intents", "/sandbox"]
        {
            let (status, body) = answer(path, "application/json").await;
            let body: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{path}: {body}"));
            assert_eq!((status, body["code"].as_str()), (StatusCode::SERVICE_UNAVAILABLE, Some("SANDBOX_OFF")), "{path}");
        }
    }

    #[tokio::test]
    async fn people_read_a_page_in_both_languages() {
        let (status, body) = answer("/sandbox/wallet?url=x", "text/html,application/xhtml+xml,*/*;q=0.8").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(body.contains("The sandbox is switched off") && body.contains("<section lang=\"zh\"><h1>沙盒已关闭"), "{body}");
    }
}
