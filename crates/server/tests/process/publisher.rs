//! A developer's commands against a store: connect, pack, check, publish, status, yank.

use crate::buyer::Buyer;
use crate::souk::Settings;
use crate::store_client::{CallOptions, StoreClient};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use souk_adapters::identity::{Ed25519TokenKeys, app_did_of_name};
use souk_adapters::system::SystemClock;
use souk_adapters::testing::upload::png;
use souk_adapters::testing::{SiteAnswer, StandInIssuer, site};
use souk_domain::publishing::access_tokens::TokenKeys;
use souk_domain::shared::Clock;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, BufReader, Lines};
use tokio::process::Command;
use url::Url;

pub const MANIFEST: &str = "name: night-sky\nversion: 1.0.0\ntitle: Night sky\ndescription: Shows the stars above you\ngroup: static\n\
                        logo: logo.png\nlicense: MIT\nscreenshots: [1.png, 2.png, 3.png]\n";

/// The variables of a job. These tests can run in one.
const OF_CI: [&str; 7] = [
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "SOUK_ID_TOKEN",
    "SOUK_PUBLISHER",
    "SOUK_DEVELOPER_DID",
];

/// A store with a developer and a reviewer, and the developer's computer.
pub struct Computer {
    settings: Settings,
    client: Arc<StoreClient>,
    app: PathBuf,
    home: PathBuf,
    token: String,
    pub developer: Buyer,
    pub reviewer: Buyer,
}

/// What a command has printed, and whether it was successful.
pub struct Printed {
    out: String,
    error: String,
    is_success: bool,
}

impl Computer {
    pub async fn of(settings: Settings, client: Arc<StoreClient>, folder: &Path) -> Self {
        let (developer, reviewer) = (Buyer::arrive(Arc::clone(&client), 1).await, Buyer::arrive(Arc::clone(&client), 2).await);
        let computer =
            Self { settings, client, app: folder.join("night-sky"), home: folder.join("home"), token: String::new(), developer, reviewer };
        for (who, role) in [(&computer.developer, "developer"), (&computer.reviewer, "admin")] {
            let issued = computer.souk(&["passport", "issue", "--did", &who.address(), "--role", role], "").await;
            assert!(issued.is_success, "{}", issued.error);
        }
        computer.prefer("review_required", json!(true)).await;
        let token =
            json!({ "name": "laptop", "scopes": ["publish-new", "publish-update", "yank"], "apps": ["night-*"], "lifetime_days": 30 });
        let created = computer.call(&computer.developer, Method::POST, "api/developer/access-tokens", token).await;
        let token = created["secret_key"].as_str().expect("a secret").to_owned();
        Self { token, ..computer }
    }

    /// Changes a preference of the store.
    pub async fn prefer(&self, name: &str, value: Value) {
        let mut preferences = self.client.get("api/console/preferences", Some(&self.reviewer.cookies)).await.expect("reads");
        preferences[name] = value;
        self.call(&self.reviewer, Method::PUT, "api/console/preferences", preferences).await;
    }

    pub async fn call(&self, who: &Buyer, method: Method, path: &str, json: Value) -> Value {
        let options = CallOptions { cookies: Some(&who.cookies), json: Some(json), ..CallOptions::default() };
        self.client.call(method, path, options).await.unwrap_or_else(|error| panic!("{path}: {error:?}")).body
    }

    pub fn write(&self, path: &str, content: &[u8]) {
        let path = self.app.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("creates");
        std::fs::write(path, content).expect("writes");
    }

    /// Writes an app that the store accepts.
    pub fn write_app(&self) {
        for (path, content) in [
            ("blocklet.yml", MANIFEST.as_bytes().to_vec()),
            ("blocklet.md", b"# Night sky\n".to_vec()),
            ("LICENSE", b"Permission is hereby granted\n".to_vec()),
            ("index.html", b"<h1>Stars</h1>\n".to_vec()),
            ("logo.png", png(256, 256, 0)),
            ("screenshots/1.png", png(1_280, 720, 1)),
            ("screenshots/2.png", png(1_280, 720, 2)),
            ("screenshots/3.png", png(1_280, 720, 3)),
        ] {
            self.write(path, &content);
        }
    }

    /// A command in the folder of the app, for the store that the computer is connected to.
    fn command(&self, words: &[&str]) -> Command {
        std::fs::create_dir_all(&self.app).expect("creates");
        let mut command = self.settings.command(words);
        command.current_dir(&self.app).env("XDG_CONFIG_HOME", &self.home).env("NO_PROXY", "127.0.0.1");
        for variable in ["SOUK_STORE", "SOUK_STORE_DID", "SOUK_ACCESS_TOKEN"].iter().chain(&OF_CI) {
            command.env_remove(variable);
        }
        command
    }

    async fn run(mut command: Command) -> Printed {
        let output = command.output().await.expect("souk runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Printed { out: text(output.stdout), error: text(output.stderr), is_success: output.status.success() }
    }

    /// Runs a command with the address of the store and an access token as variables.
    async fn souk(&self, words: &[&str], token: &str) -> Printed {
        let mut command = self.command(words);
        command.env("SOUK_STORE", self.client.address().await.as_str()).env("SOUK_ACCESS_TOKEN", token);
        let printed = Self::run(command).await;
        assert!(token.is_empty() || !(printed.out.contains(token) || printed.error.contains(token)), "the token is printed");
        printed
    }

    /// The output of a publisher's command that must succeed.
    pub async fn done(&self, words: &[&str]) -> String {
        let printed = self.souk(words, &self.token).await;
        assert!(printed.is_success, "souk {words:?}: {}{}", printed.out, printed.error);
        printed.out
    }

    /// The error of a publisher's command that must fail.
    async fn refused(&self, words: &[&str], token: &str) -> String {
        let printed = self.souk(words, token).await;
        assert!(!printed.is_success, "souk {words:?} succeeded: {}", printed.out);
        printed.error
    }
}

/// Reads what a command prints until the page of a tool session, and returns the session as its page sends it, with what was printed before.
pub async fn session_of(lines: &mut Lines<impl AsyncBufRead + Unpin>) -> (Value, String) {
    let mut shown = String::new();
    let page = loop {
        let line = lines.next_line().await.expect("reads").unwrap_or_else(|| panic!("no page is shown: {shown}"));
        if line.starts_with("http") {
            break Url::parse(&line).expect("an address");
        }
        shown += &line;
    };
    let inner = page.query_pairs().find(|(name, _)| name == "__connect_url__").expect("a session").1.into_owned();
    let inner = String::from_utf8(URL_SAFE_NO_PAD.decode(inner).expect("base64")).expect("text");
    (json!({ "token": inner.split_once("_t_=").expect("a token").1 }), shown)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_developer_packs_corrects_publishes_and_yanks_a_version() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path().join("data"));
    let souk = settings.start().await;
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let computer = Computer::of(settings, client, folder.path()).await;

    assert!(computer.refused(&["publish"], &computer.token).await.contains("there is no blocklet.yml"));
    computer.write_app();
    computer.write("key.pem", concat!("-----BEGIN ", "PRIVATE KEY-----\n").as_bytes());
    let did = app_did_of_name("night-sky");
    assert!(computer.done(&["status"]).await.contains("You have uploaded no version"));
    let checked = computer.souk(&["pack", "--check"], "").await;
    assert!(!checked.is_success && checked.error.contains("1 check failed"), "{}", checked.error);
    for line in ["failed  secrets", "secrets.private_key key.pem:1", "Remove the private key", "look_alike: checked by the store"] {
        assert!(checked.out.contains(line), "{}", checked.out);
    }
    // The store finds the same.
    let refused = computer.souk(&["publish"], &computer.token).await;
    assert!(!refused.is_success && refused.error.contains("stays a draft"), "{}{}", refused.out, refused.error);
    assert!(refused.out.contains("secrets.private_key key.pem:1"), "{}", refused.out);

    std::fs::remove_file(computer.app.join("key.pem")).expect("removes");
    computer.write("blocklet.yml", MANIFEST.replace("1.0.0", "1.0.1").as_bytes());
    assert!(computer.refused(&["publish"], &computer.token).await.contains("run `souk pack` again"));
    let packed = computer.done(&["pack", "--check"]).await;
    assert!(packed.contains("Packed night-sky 1.0.1: 8 files"), "{packed}");

    let unknown = Ed25519TokenKeys.create(&[9; 32]).secret;
    let refused = computer.refused(&["publish"], &unknown).await;
    assert!(refused.contains("AccessToken does not exist, make sure you have set a right AccessToken"), "{refused}");
    assert!(refused.contains("/developer/access-tokens"), "{refused}");
    assert!(computer.refused(&["publish"], "z1").await.contains("SOUK_ACCESS_TOKEN is no access token"));

    let refused = computer.refused(&["publish", "--category", "nowhere"], &computer.token).await;
    assert!(refused.contains("the store has no category nowhere: it has "), "{refused}");
    let draft = computer.done(&["publish", "--draft"]).await;
    assert!(draft.contains("passed  secrets") && draft.contains("1.0.1: draft"), "{draft}");
    let published = computer.done(&["publish"]).await;
    assert!(published.contains("passed  secrets") && published.contains("1.0.1: waiting for review"), "{published}");
    let status = computer.done(&["status"]).await;
    assert!(status.contains("1.0.1: waiting for review") && status.contains("1.0.0: draft"), "{status}");
    // The same command again changes nothing.
    assert!(computer.done(&["publish"]).await.contains("1.0.1: waiting for review"));

    let categories = computer.client.get("api/categories", None).await.expect("reads");
    let approval = json!({ "step": "approve", "comment": "Works as described", "category_id": categories["list"][0]["id"] });
    for step in [json!({ "step": "start" }), approval] {
        computer.call(&computer.reviewer, Method::PUT, &format!("api/apps/{did}/versions/1.0.1/review"), step).await;
    }
    assert!(computer.done(&["publish"]).await.contains("1.0.1: published"));
    let shown = computer.client.get(&format!("api/apps/{did}"), None).await.expect("is shown");
    assert_eq!(shown["version"], "1.0.1");
    let yanked = computer.done(&["yank", &format!("{did}@1.0.1"), "--reason", "It shows the wrong stars"]).await;
    assert!(yanked.contains("1.0.1: published, and withdrawn by the developer"), "{yanked}");
    assert!(computer.done(&["yank", &format!("{did}@1.0.1"), "--undo"]).await.contains("1.0.1: published\n"));
    let unknown = format!("{}@1.0.0", app_did_of_name("unknown-app"));
    let refused = computer.refused(&["yank", &unknown, "--reason", "It loses data"], &computer.token).await;
    assert!(refused.contains("you have uploaded no version 1.0.0 of"), "{refused}");
    souk.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connected_computer_publishes_to_its_store_and_to_no_other() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path().join("data"));
    let souk = settings.start().await;
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let computer = Computer::of(settings, client, folder.path()).await;
    computer.write_app();
    computer.done(&["pack"]).await;
    let unconnected = Computer::run(computer.command(&["publish"])).await;
    assert!(unconnected.error.contains("this computer is connected to no store"), "{}", unconnected.error);

    let mut connecting = computer.command(&["connect", souk.address.as_str()]);
    let mut connecting = connecting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("souk runs");
    let mut lines = BufReader::new(connecting.stdout.take().expect("its output")).lines();
    let (session, shown) = session_of(&mut lines).await;
    let request = computer.call(&computer.developer, Method::POST, "api/tool-sessions/preview", session.clone()).await;
    assert!(shown.contains(request["code"].as_str().expect("a code")), "{shown}");
    let mut approval = session;
    approval["scopes"] = json!(["publish-new", "publish-update", "yank"]);
    computer.call(&computer.developer, Method::POST, "api/tool-sessions/approve", approval).await;
    let ended = connecting.wait_with_output().await.expect("ends");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));

    let profile = computer.home.join("souk/publisher.json");
    assert_eq!(std::fs::metadata(&profile).expect("is written").permissions().mode() & 0o777, 0o600);
    let published = Computer::run(computer.command(&["publish"])).await;
    assert!(published.is_success && published.out.contains("1.0.0: waiting for review"), "{}{}", published.out, published.error);
    // Another store at the same address.
    let mut stored: Value = serde_json::from_slice(&std::fs::read(&profile).expect("reads")).expect("JSON");
    stored["store_did"] = json!(app_did_of_name("another-store").as_str());
    std::fs::write(&profile, stored.to_string()).expect("writes");
    let refused = Computer::run(computer.command(&["status"])).await;
    assert!(!refused.is_success && refused.error.contains("answers as the store"), "{}{}", refused.out, refused.error);
    souk.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_the_store_trusts_publishes_without_a_stored_secret() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The issuer of this test is on this machine.
    let settings = Settings { options: vec!["--allow-private-networks".to_owned()], ..Settings::sqlite(folder.path().join("data")) };
    let souk = settings.start().await;
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let computer = Computer::of(settings, client, folder.path()).await;
    computer.write_app();
    computer.done(&["pack"]).await;

    let issuer = Arc::new(StandInIssuer::open().await);
    computer.prefer("github_issuers", json!([issuer.address])).await;
    let (signer, issued) = (Arc::clone(&issuer), AtomicUsize::new(0));
    let endpoint = site(move |path| {
        let asked = Url::parse(&format!("http://ci.example{path}")).expect("an address");
        let audience = asked.query_pairs().find(|(name, _)| name == "audience").expect("an audience").1.into_owned();
        let (id, now) = (issued.fetch_add(1, Ordering::Relaxed), SystemClock.now().seconds());
        let claims = json!({
            "iss": signer.address, "aud": audience, "jti": format!("job-{id}"), "iat": now, "exp": now + 300,
            "repository": "octo/night-sky", "repository_id": "42", "event_name": "push", "ref_protected": "true",
        });
        SiteAnswer::ok(json!({ "value": signer.sign(&claims) }).to_string())
    })
    .await;
    let job = async |words: &[&str]| {
        let mut command = computer.command(words);
        command.env("SOUK_STORE", souk.address.as_str()).env("GITHUB_ACTIONS", "true");
        command.env("ACTIONS_ID_TOKEN_REQUEST_URL", format!("{endpoint}/token?api-version=2.0"));
        command.env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "of-the-job").env("SOUK_DEVELOPER_DID", computer.developer.address());
        Computer::run(command).await
    };
    let unknown = job(&["publish"]).await;
    assert!(!unknown.is_success && unknown.error.contains("octo/night-sky"), "{}{}", unknown.out, unknown.error);
    assert!(unknown.error.contains("/developer/access-tokens"), "{}", unknown.error);

    let publisher = json!({
        "issuer": issuer.address, "repository": "octo/night-sky", "scopes": ["publish-new", "publish-update"], "apps": ["night-*"],
    });
    computer.call(&computer.developer, Method::POST, "api/developer/trusted-publishers", publisher).await;
    let published = job(&["publish"]).await;
    assert!(published.is_success && published.out.contains("1.0.0: waiting for review"), "{}{}", published.out, published.error);
    let developer = computer.developer.address();
    assert!(published.out.contains("which publishes for") && published.out.contains(&developer), "{}", published.out);
    let tokens = computer.client.get("api/developer/access-tokens", Some(&computer.developer.cookies)).await.expect("reads");
    assert_eq!((&tokens["count"], &tokens["list"][0]["name"]), (&json!(1), &json!("laptop")), "that of the job is not listed");
    souk.kill().await;
}
