//! `souk connect`: the page of a store creates an access token, and sends it sealed to this computer (reference/store.md 5.2).

use crate::Failure;
use crate::args::ConnectArgs;
use crate::profile::{Profile, ProfileError, Profiles};
use crate::report::printable;
use crate::store::{Http, StoreError};
use crate::tool_session::{POLL_EVERY, ToolRequest, ToolSessionError, ask};
use anstream::println;
use serde::Deserialize;
use souk_adapters::identity::AppKey;
use souk_domain::shared::Random;
use std::time::Duration;
use url::Url;

/// The component of a store, whose place a site with several components names.
const STORE_COMPONENT: &str = "z8ia29UsENBg6tLZUKi2HABj38Cw1LmHZocbQ";
const REQUEST: ToolRequest<'static> = ToolRequest { action: "connect-cli", command: "souk connect", source: "Souk CLI" };

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(transparent)]
    Session(#[from] ToolSessionError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

pub async fn run(args: &ConnectArgs, random: &dyn Random) -> Result<(), Failure> {
    let profiles = Profiles::of_user()?;
    let (store, is_replaced) = (mount_point(&args.store).await?, args.replace);
    profiles.check_replaces(&store, is_replaced)?;
    let show = |page: &Url, code: &str| println!("Open this page, compare the code {code}, and approve the connection:\n\n{page}\n");
    let connection = connect(Http::new(store)?, random, POLL_EVERY, &show).await?;
    profiles.write(&connection)?;
    let name = if connection.name.is_empty() { &connection.developer_did } else { &connection.name };
    println!("Connected to {} as {}.", connection.store, printable(name));
    println!("The access token is in {}. Anybody who can read it can publish for you.", profiles.file().display());
    Ok(())
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Site {
    component_mount_points: Vec<MountPoint>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MountPoint {
    did: String,
    mount_point: String,
}

/// Where the store is on its site. A site that does not say so is the store itself.
pub async fn mount_point(address: &Url) -> Result<Url, StoreError> {
    let Ok(origin) = address.join("/") else { return Ok(address.clone()) };
    let site: Site = Http::new(origin.clone())?.get("__blocklet__.js?type=json&nocache=1").await.unwrap_or_default();
    let mounted = site.component_mount_points.into_iter().find(|mounted| mounted.did == STORE_COMPONENT);
    let path = mounted.map(|mounted| format!("/{}/", mounted.mount_point.trim_matches('/')));
    // A site cannot send the connection to another one.
    let joined = path.and_then(|path| origin.join(&path.replace("//", "/")).ok()).filter(|joined| joined.origin() == origin.origin());
    Ok(joined.unwrap_or_else(|| address.clone()))
}

/// The content of the sealed answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    secret_key: String,
    #[serde(default)]
    developer_did: String,
    #[serde(default)]
    name: String,
}

/// Begins a connection, shows its page, and waits for the sealed answer.
async fn connect(http: Http, random: &dyn Random, every: Duration, show: &dyn Fn(&Url, &str)) -> Result<Profile, ConnectError> {
    let (_, store_did) = http.info().await?;
    let opened = ask(&http, random, &REQUEST, every, show).await?;
    let config = serde_json::from_slice(&opened).map_err(|_| REQUEST.sealed())?;
    let Config { secret_key, developer_did, name } = config;
    AppKey::from_token_secret(&secret_key).ok_or_else(|| REQUEST.sealed())?;
    Ok(Profile { store: http.address.to_string(), store_did: store_did.to_string(), access_token: secret_key, developer_did, name })
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use crypto_box::SecretKey;
    use souk_adapters::testing::SeededRandom;
    use souk_domain::publishing::tools::comparison_code;
    use std::sync::{Arc, Mutex};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    // The golden vector of reference/store.md 5.1.
    const SECRET: [u8; 32] = [7; 32];
    const PUBLIC: &str = "E75P6uryBMf9M1j8nAByGIHRdCeBKCJ-xnTzf3_pe20";
    const SEALED: &str = "Fx1nOOmPFxNvnIwD+J1quDZo/v7yhFpVWACOLy61MEyVV+FVORU3tKCj0WeoB6pNLjzzDLjIfw==";
    const STORE: &str = r#"{"id":"zNKtCNqYWLYWYW3gWRA1vnRykfCBZYHZvzKr"}"#;
    const TOKEN: &str = "z5HicV7RRRbTqoHUe1XfcngQsyNZhM7Vuiexg7hkDkBXFEk7s8zevb4jYQjHpUzm6VUfe1sh38437cCjiTKBftz8N";

    #[test]
    fn a_box_that_libsodium_has_sealed_is_opened() {
        let key = SecretKey::from_bytes(SECRET);
        assert_eq!(URL_SAFE_NO_PAD.encode(key.public_key().as_bytes()), PUBLIC);
        assert_eq!(comparison_code(key.public_key().as_bytes()), "2EZ4-ZTQA");
        assert_eq!(key.unseal(&STANDARD.decode(SEALED).expect("base64")).expect("opens"), br#"{"a":1}"#);
        assert!(SecretKey::from_bytes([8; 32]).unseal(&STANDARD.decode(SEALED).expect("base64")).is_err());
    }

    /// Answers each request by its path. `answer` gets the path and the number of requests before.
    pub async fn site(answer: impl Fn(&str, usize) -> String + Send + Sync + 'static) -> Url {
        site_of_requests(move |request, count| answer(path_of(request), count)).await
    }

    /// The path of a request.
    pub fn path_of(request: &str) -> &str {
        request.split(' ').nth(1).unwrap_or_default()
    }

    /// Answers each request. `answer` gets its head and body, and the number of requests before.
    pub async fn site_of_requests(answer: impl Fn(&str, usize) -> String + Send + Sync + 'static) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = Url::parse(&format!("http://{}/", listener.local_addr().expect("an address"))).expect("an address");
        tokio::spawn(async move {
            let mut count = 0;
            while let Ok((mut stream, _)) = listener.accept().await {
                let (mut request, mut buffer) = (Vec::new(), [0; 1_024]);
                while !is_whole(&request) {
                    match stream.read(&mut buffer).await {
                        Ok(read) if read > 0 => request.extend_from_slice(&buffer[..read]),
                        _ => return,
                    }
                }
                let body = answer(&String::from_utf8_lossy(&request), count);
                count += 1;
                let status = if body.contains("not found") { "400 Bad Request" } else { "200 OK" };
                let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
                stream.write_all(format!("{head}{body}").as_bytes()).await.expect("answers");
            }
        });
        address
    }

    fn is_whole(request: &[u8]) -> bool {
        let text = String::from_utf8_lossy(request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
        let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        body.len() >= length.unwrap_or(0)
    }

    fn sealed_for(path: &str) -> String {
        let (_, query) = path.split_once('?').expect("a query");
        let to = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "_ek_").expect("a key").1;
        let to: [u8; 32] = URL_SAFE_NO_PAD.decode(to.as_bytes()).expect("base64").try_into().expect("32 bytes");
        let config = format!(r#"{{"developerDid":"z1dev","secretKey":"{TOKEN}","email":"","name":"Ada"}}"#);
        let sealed = crypto_box::PublicKey::from_bytes(to).seal(&mut crypto_box::aead::OsRng, config.as_bytes()).expect("seals");
        STANDARD.encode(sealed)
    }

    #[tokio::test]
    async fn a_token_arrives_sealed_once_the_page_is_approved() {
        let sealed = Mutex::new(String::new());
        let address = site(move |path, count| match path.split('?').next().unwrap_or_default() {
            "/api/store.json" => STORE.to_owned(),
            "/api/did/connect-cli/token" => {
                *sealed.lock().expect("a lock") = sealed_for(path);
                r#"{"token":"0a1b2c3d","status":"created","url":"https://store.example/?_t_=0a1b2c3d"}"#.to_owned()
            }
            "/api/did/connect-cli/status" if count < 4 => r#"{"status":"created"}"#.to_owned(),
            "/api/did/connect-cli/status" => format!(r#"{{"status":"succeed","config":"{}"}}"#, sealed.lock().expect("a lock")),
            _ => r#"{"error":"not found"}"#.to_owned(),
        })
        .await;
        let shown = Arc::new(Mutex::new(None));
        let shows = Arc::clone(&shown);
        let show = move |page: &Url, _: &str| *shows.lock().expect("a lock") = Some(page.clone());
        let profile = connect(Http::new(address).expect("a client"), &SeededRandom::new(1), Duration::ZERO, &show).await;
        let profile = profile.map_err(|error| error.to_string()).unwrap_or_else(|error| panic!("{error}"));
        assert!(profile.access_token == TOKEN && profile.name == "Ada" && profile.developer_did == "z1dev");
        assert!(STORE.contains(&profile.store_did), "{}", profile.store_did);
        let page = shown.lock().expect("a lock").take().expect("a page was shown");
        let parameter = |wanted: &str| page.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned());
        let inner = URL_SAFE_NO_PAD.decode(parameter("__connect_url__").expect("an address")).expect("base64");
        assert_eq!((page.path(), inner.as_slice()), ("/connect-cli", b"https://store.example/?_t_=0a1b2c3d".as_slice()));
        assert_eq!(parameter("source").as_deref(), Some(REQUEST.source));
    }

    #[tokio::test]
    async fn a_connection_that_ends_says_why_and_what_to_do() {
        for (status, message) in [
            (r#"{"status":"error","error":"Developer passport required"}"#, "Developer passport required: run `souk connect` again"),
            (r#"{"error":"Session not found or expired"}"#, "Session not found or expired"),
            (r#"{"status":"succeed"}"#, "cannot be opened"),
            (r#"{"status":"succeed","config":"AAAA"}"#, "cannot be opened"),
            ("<html>", "does not answer as a store does"),
        ] {
            let address = site(move |path, _| match path.split('?').next().unwrap_or_default() {
                "/api/store.json" => STORE.to_owned(),
                "/api/did/connect-cli/token" => r#"{"token":"0a1b2c3d","url":"https://store.example/?_t_=0a1b2c3d"}"#.to_owned(),
                _ => status.to_owned(),
            });
            let http = Http::new(address.await).expect("a client");
            let refused = connect(http, &SeededRandom::new(1), Duration::ZERO, &|_, _| {}).await;
            let refused = refused.err().expect("refused").to_string();
            assert!(refused.contains(message), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_site_says_where_its_store_is() {
        let mounted = |point: &'static str| async move {
            let body = format!(r#"{{"componentMountPoints":[{{"did":"{STORE_COMPONENT}","mountPoint":"{point}"}}]}}"#);
            let address = site(move |_, _| body.clone()).await;
            mount_point(&address.join("/x/").expect("a path")).await.expect("an address").path().to_owned()
        };
        assert_eq!(mounted("/").await, "/");
        assert_eq!(mounted("/store").await, "/store/");
        let silent = site(|_, _| "<html>".to_owned()).await;
        assert_eq!(mount_point(&silent.join("/x/").expect("a path")).await.expect("an address").path(), "/x/");
    }
}
