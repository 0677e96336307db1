//! Who may call which endpoint: every one of the API, by every kind of caller. An endpoint that is missing here fails the test.

mod endpoints;

use crate::admin::app::Who;
use crate::blocklets::{Publishing, enroll_developer, signed_headers};
use endpoints::{BODIES, ENDINGS, ENDPOINTS, Group, INVOLVED, OF_APP, OF_VERSION, ROUTES, UNDESCRIBED};
use poem::http::{Method, StatusCode};
use serde_json::Value;
use souk_adapters::identity::AppKey;
use souk_adapters::testing::upload::TestUpload;
use souk_domain::access::{Did, Role, end_device};
use souk_domain::publishing::bundle::FileRole;
use std::collections::BTreeSet;
use std::time::Duration;

enum Caller {
    User(Who),
    /// A tool whose access token of the developer has expired.
    ExpiredToken(Box<AppKey>),
}

/// A store with a draft, and everybody who calls.
struct Matrix {
    store: Publishing,
    draft: TestUpload,
    /// The SHA-256 of the draft's logo.
    logo: String,
    callers: Vec<(&'static str, Caller)>,
}

impl Matrix {
    async fn open() -> Self {
        let store = Publishing::open().await;
        let draft = store.version("hello", "1.0.0");
        assert_eq!(store.upload(&draft.sign()).await.0, StatusCode::OK);
        let mut unit = store.app.ctx.store.read().await.expect("reads");
        let version = semver::Version::new(1, 0, 0);
        let found = unit.uploads().find_version(&draft.did(), &version).await.expect("reads").expect("exists");
        let logo = found.files.iter().find(|file| file.role == FileRole::Logo).expect("a logo").sha256.clone();
        drop(unit);
        let other = TestUpload::new(2, "any", "1.0.0", store.app.ctx.now()).key;
        let callers = vec![
            ("visitor", Caller::User(Who::Nobody)),
            ("customer", Caller::User(store.app.person(None).await)),
            ("developer", Caller::User(store.developer.clone())),
            ("other developer", Caller::User(enroll_developer(&store.app, &other).await)),
            ("reviewer", Caller::User(store.app.person(Some(Role::Reviewer)).await)),
            ("admin", Caller::User(store.app.person(Some(Role::Admin)).await)),
            ("owner", Caller::User(store.app.owner().await)),
            ("expired token", Caller::ExpiredToken(Box::new(store.version("any", "1.0.0").key))),
        ];
        // Access tokens end after an hour, logins do not.
        store.app.clock.advance(Duration::from_secs(3_600));
        Self { store, draft, logo, callers }
    }

    /// The path of a call with the draft in place of its parameters.
    fn path(&self, pattern: &str) -> String {
        let segment = |segment: &str| match segment.trim_matches(['{', '}', ':']) {
            name if name.len() == segment.len() => name.to_owned(),
            "did" => self.draft.did().to_string(),
            "version" => "1.0.0".to_owned(),
            "tarball" => "hello-1.0.0.tgz".to_owned(),
            "sha256" => self.logo.clone(),
            "index" => "0".to_owned(),
            "action" => "login".to_owned(),
            _ => "unknown_1".to_owned(),
        };
        pattern.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    /// Makes a call. Returns the status and the code of the answer.
    async fn call(&self, caller: &Caller, call: &str, body: &str) -> (u16, String) {
        let (method, pattern) = call.split_once(' ').expect("a method and a path");
        let (method, path) = (method.parse::<Method>().expect("a method"), self.path(pattern));
        let app = &self.store.app;
        let (status, answer) = match caller {
            Caller::User(who) => app.send(who, method, &path, body.to_owned()).await,
            Caller::ExpiredToken(key) => {
                let mut request = app.client.request(method.clone(), &path);
                for (name, value) in signed_headers(app, key, &method, &path, body, "nonce-0123456789") {
                    request = request.header(name, value);
                }
                let mut response = request.content_type("application/json").body(body.to_owned()).send().await.0;
                let text = response.take_body().into_string().await.unwrap_or_default();
                (response.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::Null))
            }
        };
        (status, answer["code"].as_str().unwrap_or_default().to_owned())
    }

    /// Makes a call that a computer has signed. Returns the status of the answer.
    async fn read_from(&self, computer: &AppKey, call: &str) -> u16 {
        let path = self.path(call.trim_start_matches("GET "));
        let mut request = self.store.app.client.get(&path);
        for (name, value) in signed_headers(&self.store.app, computer, &Method::GET, &path, "", "nonce-0123456789") {
            request = request.header(name.replace("token", "device"), value);
        }
        request.send().await.0.status().as_u16()
    }
}

#[tokio::test]
async fn a_draft_is_installed_by_its_own_people_only() {
    let matrix = Matrix::open().await;
    let (store, computer) = (&matrix.store, TestUpload::new(3, "any", "1.0.0", matrix.store.app.ctx.now()).key);
    for (name, caller) in &matrix.callers {
        let expected = if INVOLVED.contains(name) { 200 } else { 404 };
        for call in OF_VERSION {
            let (status, code) = matrix.call(caller, call, "").await;
            assert_eq!(status, expected, "{name} {call}: {code}");
        }
        let Caller::User(Who::Cookie(token)) = caller else { continue };
        let user = Did::from_verified(token.trim_start_matches("token-of-"));
        store.sign_in_on(&computer, &user).await;
        for call in OF_VERSION {
            assert_eq!(matrix.read_from(&computer, call).await, expected, "the computer of the {name} {call}");
        }
        assert!(end_device(&store.app.ctx, &user, computer.did()).await.expect("ends"));
    }
}

fn is_unsigned(caller: &str) -> bool {
    matches!(caller, "visitor" | "expired token")
}

/// The statuses with which a caller is refused. Empty: the endpoint looks at the call.
fn refusals(group: Group, caller: &str) -> &'static [u16] {
    let is_admitted = match group {
        Group::Everybody => return &[],
        _ if is_unsigned(caller) => return &[401],
        Group::Keys => return &[401],
        Group::SignedIn | Group::Holders => true,
        Group::Developers => matches!(caller, "developer" | "other developer"),
        Group::Reviewers => matches!(caller, "reviewer" | "admin" | "owner"),
        Group::Admins => matches!(caller, "admin" | "owner"),
        Group::Owners => caller == "owner",
    };
    if is_admitted { &[] } else { &[403] }
}

#[tokio::test]
async fn each_endpoint_answers_its_callers_and_refuses_all_others() {
    let matrix = Matrix::open().await;
    let grouped = ENDPOINTS.iter().flat_map(|(group, calls)| calls.iter().map(move |call| (*group, *call)));
    let endpoints: Vec<_> = grouped.chain(ENDINGS).collect();
    for (name, caller) in &matrix.callers {
        for (group, call) in &endpoints {
            let body = BODIES.iter().find(|(of, _)| of == call).map_or("{}", |(_, body)| *body);
            let (status, code) = matrix.call(caller, call, body).await;
            let expected = refusals(*group, name);
            let is_guarded = status == 401 || (status == 403 && code == "forbidden");
            // What belongs to somebody else may be forbidden.
            let may_be_forbidden = *group == Group::Holders && !matches!(*name, "admin" | "owner") && status == 403;
            // An endpoint that fails has not looked at the call.
            let is_admitted = status < 500 && (!is_guarded || may_be_forbidden);
            let is_as_expected = if expected.is_empty() { is_admitted } else { expected.contains(&status) };
            assert!(is_as_expected, "{name} {call}: {status} {code}");
        }
    }
}

#[tokio::test]
async fn the_endpoints_of_an_app_exist_for_its_own_people_only() {
    let matrix = Matrix::open().await;
    for (name, caller) in &matrix.callers {
        for (call, body, allowed) in OF_APP {
            let (status, code) = matrix.call(caller, call, body).await;
            match is_unsigned(name) {
                true => assert_eq!(status, 401, "{name} {call}: {code}"),
                false if allowed.contains(name) => {
                    assert!(status < 500 && ![401, 403, 404].contains(&status), "{name} {call}: {status} {code}");
                }
                false => assert_eq!(status, 404, "{name} {call}: {code}"),
            }
        }
    }
}

#[tokio::test]
async fn no_cookie_opens_or_closes_the_calls_of_tools_and_wallets() {
    let matrix = Matrix::open().await;
    for (name, caller) in &matrix.callers {
        // The relay waits for events, or for a socket.
        for call in UNDESCRIBED.iter().filter(|call| !call.contains("/relay/")) {
            let (status, code) = matrix.call(caller, call, "{}").await;
            assert!(status < 500 && ![401, 403].contains(&status), "{name} {call}: {status} {code}");
        }
    }
    let (status, answer) = matrix.store.upload(&matrix.store.version("hello", "1.1.0").sign()).await;
    assert_eq!((status, answer["code"].as_str()), (StatusCode::UNAUTHORIZED, Some("TOKEN_EXPIRED")));
}

/// The first argument of each call of a function in a source text.
fn arguments<'s>(source: &'s str, function: &'s str) -> impl Iterator<Item = &'s str> {
    source.split(function).skip(1).filter_map(|rest| rest.split('"').next())
}

#[test]
fn every_endpoint_is_in_the_matrix() {
    let document: Value = serde_json::from_str(&souk_api::document()).expect("JSON");
    let methods = |(path, methods): (&String, &Value)| {
        let methods = methods.as_object().expect("methods").keys().map(|method| method.to_uppercase());
        methods.map(|method| format!("{method} {path}")).collect::<Vec<_>>()
    };
    let described: BTreeSet<String> = document["paths"].as_object().expect("paths").iter().flat_map(methods).collect();
    let grouped = ENDPOINTS.iter().flat_map(|(_, calls)| calls.iter().copied());
    let listed = grouped.chain(ENDINGS.map(|(_, call)| call)).chain(OF_APP.map(|(call, ..)| call));
    let listed: BTreeSet<String> = listed.map(ToOwned::to_owned).collect();
    assert_eq!(described.difference(&listed).collect::<Vec<_>>(), Vec::<&String>::new(), "endpoints without permissions in this file");
    assert_eq!(listed.difference(&described).collect::<Vec<_>>(), Vec::<&String>::new(), "endpoints that do not exist any more");

    let routed = ROUTES.iter().flat_map(|(prefix, source)| arguments(source, ".at(\"").map(move |path| format!("{prefix}{path}")));
    let routed: BTreeSet<String> = routed.collect();
    let listed: BTreeSet<String> = UNDESCRIBED.iter().filter_map(|call| call.split_once(' ')).map(|(_, path)| path.to_owned()).collect();
    assert_eq!(routed, listed, "calls that the document does not describe");
    let nested: BTreeSet<_> = arguments(ROUTES[0].1, ".nest(\"").collect();
    let followed: BTreeSet<_> = ROUTES.iter().map(|(prefix, _)| *prefix).filter(|prefix| !prefix.is_empty()).collect();
    assert_eq!(nested, followed, "routes of other files");
}
