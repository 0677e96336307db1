//! A customer's commands against a store: install, sign in, update, and what becomes of an app that is sold, refunded or blocked.

use crate::buyer::{Buyer, End, GOOD, Plan};
use crate::publisher::{Computer, MANIFEST, session_of};
use crate::souk::Settings;
use crate::store_client::StoreClient;
use reqwest::Method;
use serde_json::{Value, json};
use souk_adapters::identity::app_did_of_name;
use souk_domain::access::Did;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use url::Url;

/// The exit codes of docs/INSTALLING.md.
const FAILED: i32 = 1;
const SIGN_IN_REQUIRED: i32 = 3;
const PURCHASE_REQUIRED: i32 = 4;
const NOT_OFFERED: i32 = 5;
const NOT_VERIFIED: i32 = 6;
const UNREACHABLE: i32 = 7;
const NOT_CONFIRMED: i32 = 8;

/// The computer of a customer.
struct Customer {
    settings: Settings,
    home: PathBuf,
    app: Did,
}

impl Customer {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.settings.command(words);
        command.env("XDG_CONFIG_HOME", self.home.join("config")).env("XDG_DATA_HOME", self.home.join("data")).env("NO_PROXY", "127.0.0.1");
        for variable in ["SOUK_STORE", "SOUK_STORE_DID", "SOUK_APPS", "SOUK_ACCESS_TOKEN"] {
            command.env_remove(variable);
        }
        command
    }

    async fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().await.expect("souk runs")
    }

    /// What a command prints for scripts, after which it exits with this code.
    async fn json(&self, exit: i32, words: &[&str]) -> Value {
        let output = self.run(&[words, &["--json"]].concat()).await;
        read_json(&output, exit, words)
    }

    /// As [`Self::json`], for a command that the user has agreed to in advance.
    async fn agreed(&self, exit: i32, words: &[&str]) -> Value {
        self.json(exit, &[words, &["--yes"]].concat()).await
    }

    /// Signs in on the page of the store, as this visitor.
    async fn log_in(&self, developer: &Computer, visitor: &Buyer, store: &Url) -> Value {
        let mut login = self.command(&["login", store.as_str(), "--json"]);
        let mut login = login.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("souk runs");
        let mut lines = BufReader::new(login.stderr.take().expect("its output")).lines();
        let (session, shown) = session_of(&mut lines).await;
        let request = developer.call(visitor, Method::POST, "api/tool-sessions/preview", session.clone()).await;
        assert_eq!(request["action"], "login-cli");
        assert!(shown.contains(request["code"].as_str().expect("a code")), "{shown}");
        developer.call(visitor, Method::POST, "api/tool-sessions/approve", session).await;
        read_json(&login.wait_with_output().await.expect("ends"), 0, &["login"])
    }

    fn folder(&self) -> PathBuf {
        self.home.join("data/souk/apps").join(self.app.as_str())
    }

    fn stores(&self) -> PathBuf {
        self.home.join("config/souk/stores.json")
    }

    /// The version that is installed, by its own manifest.
    fn installed(&self) -> String {
        let manifest = std::fs::read_to_string(self.folder().join("current/app/blocklet.yml")).expect("is installed");
        manifest.lines().find_map(|line| line.strip_prefix("version: ")).expect("a version").to_owned()
    }

    fn has_license(&self) -> bool {
        self.folder().join("license.json").exists()
    }
}

fn read_json(output: &Output, exit: i32, words: &[&str]) -> Value {
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(exit), "souk {words:?}: {out}{error}");
    serde_json::from_str(&out).unwrap_or_else(|_| panic!("souk {words:?} prints no JSON object: {out}"))
}

/// A store with a developer who publishes an app without reviews, and a customer.
struct Scene {
    developer: Computer,
    client: Arc<StoreClient>,
    customer: Customer,
    store: Url,
    /// As `/api/store.json` says.
    store_did: String,
}

impl Scene {
    async fn of(settings: Settings, store: Url, folder: &Path) -> Self {
        let client = Arc::new(StoreClient::new());
        client.move_to(vec![store.clone()]);
        let info = client.get("api/store.json", None).await.expect("reads");
        let store_did = info["id"].as_str().expect("a DID").to_owned();
        let developer = Computer::of(settings.clone(), Arc::clone(&client), folder).await;
        developer.prefer("review_required", json!(false)).await;
        developer.write_app();
        let customer = Customer { settings, home: folder.join("customer"), app: app_did_of_name("night-sky") };
        Self { developer, client, customer, store, store_did }
    }

    /// Packs a version, with more lines of its manifest.
    async fn pack(&self, version: &str, more: &str) {
        let manifest = format!("{}{more}", MANIFEST.replace("1.0.0", version));
        self.developer.write("blocklet.yml", manifest.as_bytes());
        self.developer.done(&["pack"]).await;
    }

    /// Publishes a version, with more lines of its manifest.
    async fn publish(&self, version: &str, more: &str) {
        self.pack(version, more).await;
        let categories = self.client.get("api/categories", None).await.expect("reads");
        let category = categories["list"][0]["slug"].as_str().expect("a category");
        let published = self.developer.done(&["publish", "--category", category]).await;
        assert!(published.contains(&format!("{version}: published")), "{published}");
    }

    /// Takes a step of a reviewer.
    async fn review(&self, version: &str, step: Value) {
        let path = format!("api/apps/{}/versions/{version}/review", self.customer.app);
        self.developer.call(&self.developer.reviewer, Method::PUT, &path, step).await;
    }

    /// Sells the app for a price in dollars, of which its developer gets a part. Returns the payment link.
    async fn sell(&self) -> String {
        self.developer.prefer("paid_apps_allowed", json!(true)).await;
        let (developer, app) = (&self.developer.developer, &self.customer.app);
        let path = format!("api/developer/apps/{app}/price?livemode=false");
        let pricing = self.client.get(&path, Some(&developer.cookies)).await.expect("reads");
        let dollar = pricing["currencies"].as_array().into_iter().flatten().find(|currency| currency["symbol"] == "USD");
        let shares = json!([{ "beneficiary": developer.address(), "percent": "70" }]);
        let price = json!({ "type": "one_time", "currency_id": dollar.expect("is sold in")["id"], "amount": "9.90", "shares": shares });
        let priced = self.developer.call(developer, Method::PUT, &path, price).await;
        assert_eq!((&priced["in_force"]["type"], &priced["in_force"]["amount"]), (&json!("one_time"), &json!("990")), "{priced}");
        let shown = self.client.get(&format!("api/apps/{app}?livemode=false"), None).await.expect("reads");
        shown["payment_link_id"].as_str().expect("a link").to_owned()
    }

    /// Buys the app by card. Returns the invoice.
    async fn buy(&self, visitor: &Buyer, link: &str) -> String {
        let End::Complete(session) = visitor.buy(link, Plan::Card(GOOD)).await else { panic!("not bought") };
        let path = format!("api/checkout-sessions/retrieve/{session}?livemode=false");
        let bought = self.client.get(&path, Some(&visitor.cookies)).await.expect("reads");
        bought["checkoutSession"]["invoice_id"].as_str().expect("an invoice").to_owned()
    }

    /// Refunds an invoice, as an administrator of the store.
    async fn refund(&self, invoice: &str) {
        let order = json!({ "invoice_id": invoice, "reason": "requested_by_customer" });
        let refund = self.developer.call(&self.developer.reviewer, Method::POST, "api/refunds?livemode=false", order).await;
        assert_eq!((&refund["type"], &refund["amount"]), (&json!("refund"), &json!("990")), "{refund}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_customer_installs_an_app_and_updates_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path().join("data"));
    let souk = settings.start().await;
    let scene = Scene::of(settings, souk.address.clone(), folder.path()).await;
    let (customer, store) = (&scene.customer, scene.store.as_str());
    let app = customer.app.as_str();

    let unknown = customer.agreed(FAILED, &["install", app]).await;
    assert!(unknown["error"].as_str().is_some_and(|error| error.contains("--store URL")), "{unknown}");
    // A script names the store that it means.
    let unknown = customer.agreed(NOT_CONFIRMED, &["install", app, "--store", store]).await;
    assert!(unknown["error"].as_str().is_some_and(|error| error.contains(&scene.store_did)), "{unknown}");
    let named = ["install", app, "--store", store, "--store-did", &scene.store_did];
    assert_eq!(customer.agreed(NOT_OFFERED, &named).await["code"], "NOT_OFFERED");
    let unexpected = customer.agreed(NOT_VERIFIED, &["install", app, "--store", store, "--store-did", app]).await;
    assert_eq!(unexpected["code"], "NOT_VERIFIED");

    scene.publish("1.0.0", "").await;
    // A script must agree in advance, and sees what to.
    let asked = customer.run(&["install", app]).await;
    let shown = String::from_utf8_lossy(&asked.stderr);
    assert_eq!(asked.status.code(), Some(NOT_CONFIRMED), "{shown}");
    assert!(
        shown.contains("Night sky 1.0.0 (night-sky)") && shown.contains("asks for no permissions") && shown.contains("--yes"),
        "{shown}"
    );
    assert!(!customer.folder().join("current").exists());
    let installed = customer.agreed(0, &["install", app]).await;
    assert_eq!(
        (&installed["result"], &installed["version"], &installed["licensed_until"]),
        (&json!("installed"), &json!("1.0.0"), &Value::Null)
    );
    assert_eq!(installed["path"], customer.folder().join("current/app").to_str().expect("text"));
    assert_eq!(std::fs::read_to_string(customer.folder().join("current/app/index.html")).expect("a file"), "<h1>Stars</h1>\n");
    assert_eq!(customer.agreed(0, &["install", app]).await["result"], "unchanged");
    assert_eq!(customer.json(0, &["update"]).await["apps"][0]["result"], "unchanged");

    // An update that may do more is asked for.
    scene.publish("1.1.0", "capabilities:\n  clusterMode: true\nscripts:\n  preStart: node start.js\n").await;
    let asked = customer.run(&["update"]).await;
    let shown = String::from_utf8_lossy(&asked.stderr);
    assert_eq!((asked.status.code(), customer.installed().as_str()), (Some(NOT_CONFIRMED), "1.0.0"), "{shown}");
    assert!(shown.contains("+ permission: clusterMode") && shown.contains("+ script preStart: node start.js"), "{shown}");
    let updated = customer.agreed(0, &["update"]).await;
    assert_eq!((&updated["apps"][0]["result"], customer.installed().as_str()), (&json!("updated"), "1.1.0"));
    assert_eq!(updated["apps"][0]["may"]["permissions"], json!(["clusterMode"]));
    let versions = std::fs::read_dir(customer.folder().join("versions")).expect("a folder").count();
    assert_eq!(versions, 1, "the former version is removed");

    // A pre-release is installed by its name only, and stays until there is a newer release.
    let same = "capabilities:\n  clusterMode: true\nscripts:\n  preStart: node start.js\n";
    scene.publish("1.2.0-beta.1", same).await;
    assert_eq!(customer.json(0, &["update"]).await["apps"][0]["result"], "unchanged");
    let named = format!("{app}@1.2.0-beta.1");
    assert_eq!(customer.agreed(0, &["install", &named]).await["version"], "1.2.0-beta.1");
    assert_eq!(customer.json(0, &["update"]).await["apps"][0]["version"], "1.2.0-beta.1");
    scene.publish("1.2.0", same).await;
    assert_eq!(customer.json(0, &["update"]).await["apps"][0]["version"], "1.2.0");

    // A draft is for its developer and for reviewers, who are signed in and name it.
    scene.pack("1.3.0", same).await;
    scene.developer.done(&["publish", "--draft"]).await;
    let draft = format!("{app}@1.3.0");
    assert_eq!(customer.agreed(NOT_OFFERED, &["install", &draft]).await["code"], "NOT_OFFERED");
    customer.log_in(&scene.developer, &scene.developer.developer, &scene.store).await;
    assert_eq!(customer.json(0, &["update"]).await["apps"][0]["result"], "unchanged");
    let asked = customer.run(&["install", &draft]).await;
    let shown = String::from_utf8_lossy(&asked.stderr);
    assert_eq!((asked.status.code(), customer.installed().as_str()), (Some(NOT_CONFIRMED), "1.2.0"), "{shown}");
    assert!(shown.contains("! it is not published, and only its developer and reviewers get it: a draft"), "{shown}");
    let installed = customer.agreed(0, &["install", &draft]).await;
    assert_eq!((&installed["unpublished"], customer.installed().as_str()), (&json!("DRAFT"), "1.3.0"));
    let stays = customer.json(0, &["update"]).await;
    assert_eq!(stays["apps"][0]["result"], "unchanged");
    assert!(stays["apps"][0]["note"].as_str().is_some_and(|note| note.contains(&format!("souk install {app}@1.2.0"))), "{stays}");
    assert_eq!(customer.agreed(0, &["install", &format!("{app}@1.2.0")]).await["unpublished"], Value::Null);

    let withdrawn = format!("{app}@1.1.0");
    scene.developer.done(&["yank", &withdrawn, "--reason", "It loses data"]).await;
    assert_eq!(customer.agreed(NOT_OFFERED, &["install", &withdrawn]).await["code"], "NOT_OFFERED");
    assert_eq!(customer.installed(), "1.2.0");
    scene.review("1.2.0", json!({ "step": "block", "comment": "Spam" })).await;
    assert_eq!(customer.json(NOT_OFFERED, &["update"]).await["apps"][0]["code"], "NOT_OFFERED");
    scene.review("1.2.0", json!({ "step": "unblock" })).await;

    // Whoever answers at the address now is another store.
    let mut known: Value = serde_json::from_slice(&std::fs::read(customer.stores()).expect("reads")).expect("JSON");
    known["stores"][store]["did"] = json!(app);
    std::fs::write(customer.stores(), known.to_string()).expect("writes");
    let refused = customer.json(NOT_VERIFIED, &["update"]).await;
    let message = refused["apps"][0]["error"].as_str().expect("a message");
    assert!(message.contains("answers with another key than before") && message.contains("--new-key"), "{message}");
    souk.kill().await;
    assert_eq!(customer.json(UNREACHABLE, &["update"]).await["code"], "UNREACHABLE");
    assert_eq!(customer.installed(), "1.2.0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_that_is_sold_is_licensed_until_its_purchase_is_refunded() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path().join("data"));
    let souk = settings.start().await;
    let scene = Scene::of(settings, souk.address.clone(), folder.path()).await;
    let (customer, store) = (&scene.customer, scene.store.as_str());
    let app = customer.app.as_str();
    scene.publish("1.0.0", "").await;
    // What was installed while it was free stays, and its updates are bought, whatever a script has agreed to.
    customer.agreed(0, &["install", app, "--store", store, "--store-did", &scene.store_did]).await;
    let link = scene.sell().await;
    assert_eq!(customer.json(0, &["update"]).await["apps"][0]["result"], "unchanged");
    scene.publish("1.1.0", "").await;
    assert_eq!(customer.agreed(SIGN_IN_REQUIRED, &["update"]).await["code"], "SIGN_IN_REQUIRED");

    let visitor = Buyer::arrive(Arc::clone(&scene.client), 3).await;
    let signed_in = customer.log_in(&scene.developer, &visitor, &scene.store).await;
    assert_eq!((&signed_in["customer_did"], &signed_in["store"]), (&json!(visitor.address()), &json!(store)));
    assert_eq!(std::fs::metadata(customer.stores()).expect("is written").permissions().mode() & 0o777, 0o600);
    // Signing in again replaces the key of this computer.
    customer.log_in(&scene.developer, &visitor, &scene.store).await;
    let devices = scene.client.get("api/devices", Some(&visitor.cookies)).await.expect("reads");
    assert_eq!(devices["count"], 1, "{devices}");
    let unbought = customer.agreed(PURCHASE_REQUIRED, &["update"]).await;
    let message = unbought["apps"][0]["error"].as_str().expect("a message");
    assert!(message.contains(&format!("{store}apps/{app}")), "{message}");
    assert!(!customer.has_license() && customer.installed() == "1.0.0");

    let invoice = scene.buy(&visitor, &link).await;
    std::fs::remove_dir_all(customer.folder()).expect("removes");
    let installed = customer.agreed(0, &["install", app]).await;
    assert_eq!(installed["version"], "1.1.0");
    assert!(installed["licensed_until"].is_string() && customer.has_license(), "{installed}");
    let license: Value = serde_json::from_slice(&std::fs::read(customer.folder().join("license.json")).expect("reads")).expect("JSON");
    let statement = license["statement"].as_str().expect("a statement");
    for line in ["souk-license-1\n", &format!("app: {app}\n"), &format!("holder: {}\n", visitor.address()), "mode: test\n"] {
        assert!(statement.contains(line), "{statement}");
    }
    let unsigned = scene.client.get(&format!("api/blocklets/{app}/1.1.0/night-sky-1.1.0.tgz"), None).await;
    assert!(unsigned.is_err(), "the bundle is for those who have bought it");

    scene.publish("1.2.0", "").await;
    let updated = customer.json(0, &["update", app]).await;
    assert_eq!((&updated["apps"][0]["result"], customer.installed().as_str()), (&json!("updated"), "1.2.0"));
    scene.review("1.2.0", json!({ "step": "block", "comment": "Spam" })).await;
    assert_eq!(customer.json(NOT_OFFERED, &["update"]).await["code"], "NOT_OFFERED");
    assert!(!customer.has_license());
    scene.review("1.2.0", json!({ "step": "unblock" })).await;
    assert!(customer.json(0, &["update"]).await["apps"][0]["licensed_until"].is_string() && customer.has_license());

    scene.refund(&invoice).await;
    assert_eq!(customer.json(PURCHASE_REQUIRED, &["update"]).await["code"], "PURCHASE_REQUIRED");
    assert!(!customer.has_license() && customer.installed() == "1.2.0");

    assert_eq!(customer.json(0, &["logout"]).await["store"], store);
    let devices = scene.client.get("api/devices", Some(&visitor.cookies)).await.expect("reads");
    assert_eq!(devices["count"], 0, "{devices}");
    assert_eq!(customer.json(SIGN_IN_REQUIRED, &["update"]).await["code"], "SIGN_IN_REQUIRED");
    assert_eq!(customer.json(SIGN_IN_REQUIRED, &["logout", store]).await["code"], "SIGN_IN_REQUIRED");
    assert_eq!(*scene.client.failures.lock().expect("no panic"), Vec::<String>::new());
    souk.kill().await;
}
