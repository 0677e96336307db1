//! Limits requests for test tokens. The sandbox's ledger only knows the address that gets them, and anybody can make up addresses.

use poem::http::Method;
use poem::{Endpoint, IntoResponse, Request, Response};
use souk_api::Limits;
use std::sync::Arc;

/// The routes of the sandbox's ledger, with a limited faucet.
pub struct FaucetLimit<E> {
    pub inner: E,
    pub limits: Arc<Limits>,
}

impl<E: Endpoint> Endpoint for FaucetLimit<E> {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        if request.method() == Method::POST && request.uri().path().trim_end_matches('/').ends_with("/faucet") {
            self.limits.admit_faucet(&request)?;
        }
        self.inner.call(request).await.map(IntoResponse::into_response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poem::http::uri::Scheme;
    use poem::http::{StatusCode, Uri};
    use poem::web::{LocalAddr, RemoteAddr};
    use poem::{Addr, Body, RequestParts, Route, handler};

    #[handler]
    fn given() -> &'static str {
        "given"
    }

    async fn status(endpoint: &FaucetLimit<Route>, method: Method, path: &str) -> StatusCode {
        let request = poem::http::Request::builder().method(method).uri(path.parse::<Uri>().expect("a path")).body(()).expect("a request");
        let from = RemoteAddr(Addr::SocketAddr("192.0.2.1:1000".parse().expect("an address")));
        let parts = RequestParts::from((request.into_parts().0, LocalAddr::default(), from, Scheme::HTTP));
        endpoint.get_response(Request::from_parts(parts, Body::empty())).await.status()
    }

    #[tokio::test]
    async fn one_visitor_gets_test_tokens_a_limited_number_of_times_however_many_accounts_are_named() {
        let inner = Route::new().at("/faucet", poem::post(given)).at("/api", poem::post(given));
        let endpoint = FaucetLimit { inner, limits: Arc::new(Limits::default()) };
        let mut refused = 0;
        for _ in 0..700 {
            refused += usize::from(status(&endpoint, Method::POST, "/faucet").await == StatusCode::TOO_MANY_REQUESTS);
        }
        assert_eq!(refused, 100);
        assert_eq!(status(&endpoint, Method::POST, "/faucet/").await, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(status(&endpoint, Method::POST, "/api").await, StatusCode::OK, "the ledger itself is not limited");
    }
}
