//! Trusted publishing: a run of CI shows the store the token that its provider gives it, and gets an access token of 15 minutes.

use crate::args::{StoreArgs, is_loopback};
use crate::profile::Connection;
use crate::report::printable;
use crate::store::{Http, StoreError};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::json;
use souk_adapters::identity::{AppKey, parse_did};
use souk_domain::access::Did;
use souk_domain::publishing::trusted::CI_ACCESS_LIFETIME;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

/// The variable that holds the token of a run, such as an ID token of GitLab.
const ID_TOKEN: &str = "SOUK_ID_TOKEN";
/// The variables with which GitHub Actions says where a job gets its token.
const REQUEST_URL: &str = "ACTIONS_ID_TOKEN_REQUEST_URL";
const REQUEST_TOKEN: &str = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";
/// The variable that names the trusted publisher, if several developers have registered the repository.
const PUBLISHER: &str = "SOUK_PUBLISHER";
/// The variable that names the developer for whom this CI publishes.
const DEVELOPER: &str = "SOUK_DEVELOPER_DID";
/// The variables by which providers make themselves known.
const PROVIDERS: [&str; 2] = ["GITHUB_ACTIONS", "GITLAB_CI"];
/// How old an access token gets before the next one is requested.
const RENEWED_AFTER: Duration = Duration::from_secs(10 * 60);

#[derive(Debug, thiserror::Error)]
pub enum CiError {
    #[error("SOUK_STORE is not set: set it to the address of the store that trusts this CI")]
    NoStore,
    #[error(
        "this job has no token for {0}: give it the permission `id-token: write` (GitHub Actions) or the ID token {ID_TOKEN} (GitLab), or \
         set SOUK_ACCESS_TOKEN"
    )]
    NoToken(Url),
    #[error("{REQUEST_URL} is no address that begins with https://")]
    BadEndpoint,
    #[error("the CI gives no token ({0}): run the job again")]
    NotGiven(String),
    #[error("the answer of {0} is no access token: check its address")]
    BadAnswer(Url),
    #[error("the access token of this job has expired, and {ID_TOKEN} gives one only once: `souk publish` in another job goes on")]
    Expired,
    #[error("{DEVELOPER} is no DID")]
    BadDeveloper,
    #[error("the store would publish for {found}, and {DEVELOPER} is {expected}")]
    OtherDeveloper { found: String, expected: Did },
    #[error(
        "this app is new, and it would belong to {found}, who has registered this repository: set {DEVELOPER}={did} or \
         {PUBLISHER}={publisher} if that is right"
    )]
    NewApp { found: String, did: String, publisher: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CiError {
    /// Whether the same call can have another answer soon.
    pub const fn may_pass(&self) -> bool {
        match self {
            Self::NotGiven(_) => true,
            Self::Store(error) => error.may_pass(),
            _ => false,
        }
    }
}

/// Where a run gets its token. Without `Debug`, so that no message contains one.
enum Source {
    Given(String),
    Endpoint { address: Url, token: String },
}

/// A run of CI, and the store that is to trust it.
pub struct CiRun {
    store: Url,
    store_did: Option<Did>,
    source: Source,
    publisher: Option<String>,
    developer: Option<Did>,
}

impl CiRun {
    /// The run in which this command is. `None`: it is in none.
    ///
    /// # Errors
    /// No store is named, the run has no token, or the developer is no DID.
    pub fn find(args: &StoreArgs, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, CiError> {
        let variable = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let source = match (variable(ID_TOKEN), variable(REQUEST_URL), variable(REQUEST_TOKEN)) {
            (Some(token), ..) => Some(Source::Given(token)),
            (None, Some(address), Some(token)) => Some(Source::Endpoint { address: parse_endpoint(&address)?, token }),
            _ => None,
        };
        if source.is_none() && PROVIDERS.iter().all(|provider| variable(provider).is_none()) {
            return Ok(None);
        }
        let store = args.store.clone().ok_or(CiError::NoStore)?;
        let source = source.ok_or_else(|| CiError::NoToken(store.clone()))?;
        let developer = variable(DEVELOPER).map(|did| parse_did(&did)).transpose().map_err(|_| CiError::BadDeveloper)?;
        Ok(Some(Self { store, store_did: args.store_did.clone(), source, publisher: variable(PUBLISHER), developer }))
    }

    /// Gets an access token for an app.
    ///
    /// # Errors
    /// The CI gives no token, another store answers, it does not trust this run, or it would publish for another developer.
    pub async fn connect(self, did: Did, name: String) -> Result<(CiAccess, Connection), CiError> {
        let http = Http::new(self.store)?;
        // A store that is not the one that is meant must not get the token: it could pass it on.
        let (_, found) = http.info().await?;
        if let Some(expected) = self.store_did.filter(|expected| *expected != found) {
            return Err(StoreError::OtherStore { store: http.address.into(), expected, found }.into());
        }
        let store = http.address.clone();
        let (source, publisher, developer) = (self.source, self.publisher, self.developer);
        let publishes_for = String::new();
        let mut access = CiAccess { http, source, publisher, developer, publishes_for, did, name, since: Instant::now() };
        let key = access.exchange().await?;
        Ok((access, Connection { store, did: Some(found), key }))
    }
}

fn parse_endpoint(text: &str) -> Result<Url, CiError> {
    let is_safe = |address: &Url| address.scheme() == "https" || (address.scheme() == "http" && is_loopback(address));
    Url::parse(text).ok().filter(is_safe).ok_or(CiError::BadEndpoint)
}

/// The access of a run of CI to one app.
pub struct CiAccess {
    http: Http,
    source: Source,
    publisher: Option<String>,
    developer: Option<Did>,
    /// The name and the DID of the developer, as the store gives them.
    pub publishes_for: String,
    did: Did,
    name: String,
    /// When the current access token was requested.
    since: Instant,
}

#[derive(Deserialize)]
struct Issued {
    value: String,
}

#[derive(Deserialize)]
struct Exchanged {
    secret_key: String,
    publisher: String,
    developer: String,
    developer_name: String,
    new_app: bool,
}

impl Exchanged {
    /// The name of the developer, if it is known, and the DID.
    fn developer(&self) -> String {
        match self.developer_name.trim() {
            "" => printable(&self.developer),
            name => printable(&format!("{name} ({})", self.developer)),
        }
    }
}

impl CiAccess {
    /// The key of the next access token. `None`: the current one is valid long enough.
    ///
    /// # Errors
    /// There is no next one.
    pub async fn renew(&mut self) -> Result<Option<AppKey>, CiError> {
        let (age, is_given) = (self.since.elapsed(), matches!(self.source, Source::Given(_)));
        match () {
            () if is_given && age >= CI_ACCESS_LIFETIME => Err(CiError::Expired),
            () if is_given || age < RENEWED_AFTER => Ok(None),
            () => self.exchange().await.map(Some),
        }
    }

    async fn exchange(&mut self) -> Result<AppKey, CiError> {
        let (since, token) = (Instant::now(), self.token().await?);
        let body = json!({ "token": token, "did": self.did.as_str(), "name": self.name, "publisher": self.publisher });
        let call = self.http.request(Method::POST, "api/trusted-publishing/token")?;
        let exchanged: Exchanged = self.http.send(call.header(CONTENT_TYPE, "application/json").body(body.to_string())).await?;
        self.check_developer(&exchanged)?;
        let key = AppKey::from_token_secret(&exchanged.secret_key).ok_or_else(|| CiError::BadAnswer(self.http.address.clone()))?;
        (self.since, self.publishes_for) = (since, exchanged.developer());
        Ok(key)
    }

    /// A new app belongs to whoever has registered the repository, which anybody can: so the run says who is meant.
    fn check_developer(&self, exchanged: &Exchanged) -> Result<(), CiError> {
        let found = exchanged.developer();
        if let Some(expected) = &self.developer {
            let is_expected = parse_did(&exchanged.developer).is_ok_and(|did| did == *expected);
            return if is_expected { Ok(()) } else { Err(CiError::OtherDeveloper { found, expected: expected.clone() }) };
        }
        if !exchanged.new_app || self.publisher.as_ref() == Some(&exchanged.publisher) {
            return Ok(());
        }
        Err(CiError::NewApp { found, did: printable(&exchanged.developer), publisher: printable(&exchanged.publisher) })
    }

    /// A token of this run, for this store.
    async fn token(&self) -> Result<String, CiError> {
        let (mut address, bearer) = match &self.source {
            Source::Given(token) => return Ok(token.clone()),
            Source::Endpoint { address, token } => (address.clone(), token),
        };
        address.query_pairs_mut().append_pair("audience", self.http.address.as_str().trim_end_matches('/'));
        let issued: Result<Issued, StoreError> = async {
            let http = Http::new(address)?;
            http.send(http.request(Method::GET, "")?.bearer_auth(bearer)).await
        }
        .await;
        issued.map(|issued| issued.value).map_err(|error| CiError::NotGiven(reason(&error)))
    }
}

/// Why the endpoint of a CI has given no token. It is no store, so the message names none.
fn reason(error: &StoreError) -> String {
    match error {
        StoreError::Unreachable { cause, .. } | StoreError::NotAStore { cause, .. } => cause.clone(),
        StoreError::Refused { message, .. } => message.clone(),
        StoreError::Redirects { to, .. } => printable(&format!("it redirects to {to}")),
        StoreError::OtherStore { .. } => "it is a store".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::tests::{path_of, site, site_of_requests};
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex};

    // The published example key of `@ocap/wallet`.
    const SECRET: &str = "z5HicV7RRRbTqoHUe1XfcngQsyNZhM7Vuiexg7hkDkBXFEk7s8zevb4jYQjHpUzm6VUfe1sh38437cCjiTKBftz8N";
    const STORE: &str = "zNKtCNqYWLYWYW3gWRA1vnRykfCBZYHZvzKr";
    const OTHER: &str = "z8ia29UsENBg6tLZUKi2HABj38Cw1LmHZocbQ";
    const APP: &str = "z8ia4e5vAeDsQEE2P26bQqz9oWR1Lxg9qUMaV";

    fn args(store: Option<&Url>, did: Option<&str>) -> StoreArgs {
        StoreArgs { store: store.cloned(), store_did: did.map(|did| parse_did(did).expect("a DID")) }
    }

    fn run_in(args: &StoreArgs, variables: &[(&str, &str)]) -> Result<Option<CiRun>, CiError> {
        let variables: HashMap<_, _> = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        CiRun::find(args, |name| variables.get(name).cloned())
    }

    fn url(text: &str) -> Url {
        Url::parse(text).expect(text)
    }

    /// The answer of a store, for a first version or an update of the app.
    fn exchanged(new_app: bool) -> String {
        let answer = json!({
            "secret_key": SECRET, "token": {}, "publisher": "tp_1", "developer": OTHER, "developer_name": "Ada", "new_app": new_app,
        });
        answer.to_string()
    }

    /// Connects a run that publishes the app `hello`.
    async fn connect(store: &Url, did: Option<&str>, variables: &[(&str, &str)]) -> Result<(CiAccess, Connection), CiError> {
        let run = run_in(&args(Some(store), did), variables)?.expect("a run");
        run.connect(parse_did(APP).expect("a DID"), "hello".to_owned()).await
    }

    #[test]
    fn a_run_is_found_by_the_variables_of_its_provider() {
        let store = url("https://store.example/");
        let named = args(Some(&store), None);
        let found = |variables: &[(&str, &str)]| run_in(&named, variables).map(|run| run.is_some());
        let request = (REQUEST_URL, "https://actions.example/token?api-version=2.0");
        assert!(!found(&[]).expect("is no run"));
        assert!(!found(&[(ID_TOKEN, " "), (PUBLISHER, "tp_1")]).expect("is no run"));
        assert!(found(&[(ID_TOKEN, "a.b.c")]).expect("a run"));
        assert!(found(&[request, (REQUEST_TOKEN, "secret")]).expect("a run"));
        for (variables, message) in [
            (&[("GITHUB_ACTIONS", "true")][..], "`id-token: write`"),
            (&[("GITLAB_CI", "true"), request], "SOUK_ID_TOKEN"),
            (&[(REQUEST_URL, "http://actions.example/token"), (REQUEST_TOKEN, "secret")], "begins with https://"),
        ] {
            let refused = found(variables).expect_err("is refused").to_string();
            assert!(refused.contains(message) && !refused.contains("secret"), "{refused}");
        }
        let refused = run_in(&args(None, None), &[(ID_TOKEN, "a.b.c")]).err().expect("is refused").to_string();
        assert!(refused.contains("SOUK_STORE is not set"), "{refused}");
    }

    #[tokio::test]
    async fn a_job_of_github_exchanges_a_token_for_this_store_and_this_app() {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let store = site_of_requests(move |request, _| {
            seen.lock().expect("a lock").push(request.to_owned());
            match path_of(request) {
                "/api/store.json" => format!(r#"{{"id":"{STORE}"}}"#),
                "/api/trusted-publishing/token" => exchanged(true),
                _ => r#"{"value":"issued"}"#.to_owned(),
            }
        })
        .await;
        let endpoint = store.join("ci?api-version=2.0").expect("an address").to_string();
        let variables = [(REQUEST_URL, endpoint.as_str()), (REQUEST_TOKEN, "bearer-of-the-job"), (PUBLISHER, "tp_1")];
        let (mut access, connection) = connect(&store, Some(STORE), &variables).await.map_err(|error| error.to_string()).expect("connects");
        assert_eq!((&connection.store, connection.did.as_ref().map(Did::as_str)), (&store, Some(STORE)));
        assert_eq!(connection.key.did(), AppKey::from_token_secret(SECRET).expect("a key").did());
        let requests = || requests.lock().expect("a lock").clone();
        let [_, issued, exchanged] = <[String; 3]>::try_from(requests()).expect("three requests");
        let audience = url::form_urlencoded::byte_serialize(store.as_str().trim_end_matches('/').as_bytes()).collect::<String>();
        assert_eq!(path_of(&issued), format!("/ci?api-version=2.0&audience={audience}"));
        assert!(issued.to_ascii_lowercase().contains("authorization: bearer bearer-of-the-job"), "{issued}");
        let body: serde_json::Value = serde_json::from_str(exchanged.split_once("\r\n\r\n").expect("a body").1).expect("is JSON");
        assert_eq!(body, json!({ "token": "issued", "did": APP, "name": "hello", "publisher": "tp_1" }));
        assert!(access.renew().await.expect("is valid").is_none());
        access.since = Instant::now().checked_sub(RENEWED_AFTER).expect("a time");
        assert!(access.renew().await.expect("renews").is_some());
        assert!(access.renew().await.expect("is valid").is_none());
        assert_eq!(requests().len(), 5);
    }

    #[tokio::test]
    async fn a_token_that_is_given_once_is_not_renewed() {
        let store = site(|path, _| match path {
            "/api/store.json" => format!(r#"{{"id":"{STORE}"}}"#),
            _ => exchanged(false),
        })
        .await;
        let connected = connect(&store, None, &[(ID_TOKEN, "a.b.c")]).await;
        let (mut access, _) = connected.map_err(|error| error.to_string()).expect("connects");
        access.since = Instant::now().checked_sub(RENEWED_AFTER).expect("a time");
        assert!(access.renew().await.expect("is valid").is_none());
        access.since = Instant::now().checked_sub(CI_ACCESS_LIFETIME).expect("a time");
        assert!(access.renew().await.expect_err("has expired").to_string().contains("has expired"));
    }

    #[tokio::test]
    async fn a_new_app_is_published_for_nobody_whom_the_run_does_not_name() {
        for (new_app, named, message) in [
            (false, None, ""),
            (true, Some((DEVELOPER, OTHER)), ""),
            (true, Some((PUBLISHER, "tp_1")), ""),
            (true, None, "it would belong to Ada (z8ia29UsENBg6tLZUKi2HABj38Cw1LmHZocbQ)"),
            (true, Some((PUBLISHER, "tp_2")), "set SOUK_DEVELOPER_DID=z8ia29UsENBg6tLZUKi2HABj38Cw1LmHZocbQ or SOUK_PUBLISHER=tp_1"),
            (false, Some((DEVELOPER, APP)), "the store would publish for Ada"),
            (false, Some((DEVELOPER, "Ada")), "is no DID"),
        ] {
            let store = site(move |path, _| match path {
                "/api/store.json" => format!(r#"{{"id":"{STORE}"}}"#),
                _ => exchanged(new_app),
            })
            .await;
            let variables: Vec<_> = [(ID_TOKEN, "a.b.c")].into_iter().chain(named).collect();
            match connect(&store, None, &variables).await {
                Ok((access, _)) => assert_eq!((access.publishes_for.as_str(), message), (format!("Ada ({OTHER})").as_str(), "")),
                Err(error) => assert!(!message.is_empty() && error.to_string().contains(message), "{named:?} {error}"),
            }
        }
    }

    #[tokio::test]
    async fn another_store_gets_no_token_and_a_refusal_says_what_to_do() {
        let requests = Arc::new(Mutex::new(0));
        let seen = Arc::clone(&requests);
        let store = site(move |path, _| {
            *seen.lock().expect("a lock") += 1;
            let refusal = r#"{"error":"The repository is not found","code":"PUBLISHER_NOT_REGISTERED"}"#;
            if path == "/api/store.json" { format!(r#"{{"id":"{STORE}"}}"#) } else { refusal.to_owned() }
        })
        .await;
        let refused = connect(&store, Some(OTHER), &[(ID_TOKEN, "a.b.c")]).await.err().expect("is refused").to_string();
        assert!(refused.contains(OTHER), "{refused}");
        assert_eq!(*requests.lock().expect("a lock"), 1);
        let refused = connect(&store, None, &[(ID_TOKEN, "a.b.c")]).await.err().expect("is refused").to_string();
        assert!(refused.contains("is not found") && refused.contains("developer/access-tokens"), "{refused}");
    }
}
