//! A test browser with cookies, a language and a mode, and its responses.

use super::Service;
use poem::http::uri::Scheme;
use poem::http::{HeaderMap, Method, Uri, header};
use poem::web::{LocalAddr, RemoteAddr};
use poem::{Addr, Body, Endpoint, Request, RequestParts};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

#[derive(Clone)]
pub struct Browser {
    service: Service,
    cookies: Arc<Mutex<BTreeMap<String, String>>>,
    language: &'static str,
    livemode: &'static str,
    agent: Option<&'static str>,
    address: RemoteAddr,
}

impl Browser {
    pub fn new(service: Service, visitor: &str) -> Self {
        let cookies = BTreeMap::from([("vid".to_owned(), visitor.to_owned())]);
        Self {
            service,
            cookies: Arc::new(Mutex::new(cookies)),
            language: "en",
            livemode: "false",
            agent: None,
            address: RemoteAddr::default(),
        }
    }

    /// The same browser, which describes itself.
    pub fn with_agent(&self, agent: &'static str) -> Self {
        Self { agent: Some(agent), ..self.clone() }
    }

    /// The same browser, which connects from an address. Without one, no limit counts it.
    pub fn connecting_from(&self, address: &str) -> Self {
        let address = RemoteAddr(Addr::SocketAddr(address.parse().expect("an address and a port")));
        Self { address, ..self.clone() }
    }

    /// The same browser, with Chinese as its language.
    pub fn in_chinese(&self) -> Self {
        Self { language: "zh", ..self.clone() }
    }

    /// The same browser, in live mode.
    pub fn live(&self) -> Self {
        Self { livemode: "true", ..self.clone() }
    }

    /// The same browser, at a service that was started later.
    pub fn at(&self, service: Service) -> Self {
        Self { service, ..self.clone() }
    }

    pub fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.lock().expect("cookies").get(name).cloned()
    }

    pub fn set_cookie(&self, name: &str, value: &str) {
        self.cookies.lock().expect("cookies").insert(name.to_owned(), value.to_owned());
    }

    pub fn call(&self, method: Method, path: &str) -> Call<'_> {
        Call { browser: self, method, path: path.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path).send().await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call(Method::POST, path).json(body).send().await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.call(Method::PUT, path).json(body).send().await
    }

    fn keep_cookies(&self, headers: &HeaderMap) {
        let mut cookies = self.cookies.lock().expect("cookies");
        for set in headers.get_all(header::SET_COOKIE) {
            let set = set.to_str().expect("text");
            let (name, value) = set.split(';').next().and_then(|pair| pair.split_once('=')).expect("a cookie");
            if value.is_empty() {
                cookies.remove(name)
            } else {
                cookies.insert(name.to_owned(), value.to_owned())
            };
        }
    }
}

pub struct Call<'b> {
    browser: &'b Browser,
    method: Method,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Call<'_> {
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string().into_bytes())
    }

    pub fn body(mut self, kind: &str, body: Vec<u8>) -> Self {
        self.body = body;
        self.header("content-type", kind)
    }

    pub async fn send(self) -> Answer {
        let browser = self.browser;
        let mut path = self.path;
        if !path.contains("livemode=") {
            let separator = if path.contains('?') { '&' } else { '?' };
            path = format!("{path}{separator}locale={}&livemode={}", browser.language, browser.livemode);
        }
        let mut request = poem::http::Request::builder().method(self.method).uri(path.parse::<Uri>().expect("an address"));
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        if let Some(agent) = browser.agent {
            request = request.header("user-agent", agent);
        }
        let cookies: Vec<_> = browser.cookies.lock().expect("cookies").iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        let parts = request.body(()).expect("a request").into_parts().0;
        let parts = RequestParts::from((parts, LocalAddr::default(), browser.address.clone(), Scheme::HTTP));
        let request = Request::from_parts(parts, Body::from(self.body));
        let answer = Answer::of(browser.service.get_response(request).await).await;
        browser.keep_cookies(&answer.headers);
        answer
    }
}

pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Answer {
    async fn of(mut response: poem::Response) -> Self {
        let bytes = response.take_body().into_vec().await.expect("a body");
        Self { status: response.status().as_u16(), headers: response.headers().clone(), bytes }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("text"))
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// The body of the response, which must have status 200.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// The body of an error response with the given status, which must contain `error`.
    #[track_caller]
    pub fn refused(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        let body = self.json();
        assert!(body["error"].as_str().is_some_and(|error| !error.is_empty()), "{body}");
        body
    }
}
