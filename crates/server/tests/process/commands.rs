//! An operator's commands: start, stop, keys, migrations, dead letters, invalid options.

use crate::buyer::{Buyer, End, Plan};
use crate::crash::links;
use crate::drain::drain;
use crate::souk::Settings;
use crate::store_client::StoreClient;
use serde_json::json;
use souk_adapters::arcblock::TestWallet;
use souk_adapters::persistence::Database;
use souk_adapters::testing::TestDatabase;
use souk_domain::events::{Message, Outbox, Topic};
use souk_domain::shared::EventId;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

/// Maximum time of the process to end after SIGTERM.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

async fn run(settings: &Settings, words: &[&str]) -> Output {
    settings.command(words).output().await.expect("souk runs")
}

/// The output of a command, which must succeed.
async fn printed(settings: &Settings, words: &[&str]) -> String {
    let output = run(settings, words).await;
    assert!(output.status.success(), "souk {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

async fn status(client: &StoreClient, path: &str) -> u16 {
    let url = client.address().await.join(path).expect("a path");
    let client = reqwest::Client::builder().timeout(Duration::from_secs(30)).no_proxy().build().expect("a client");
    client.get(url).send().await.expect("answers").status().as_u16()
}

#[tokio::test]
async fn an_invalid_option_is_rejected_with_a_message() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    for (words, expected) in [
        (["serve", "--listen", "8080"], "expected an address and a port, such as 127.0.0.1:8080"),
        (["serve", "--secret-key", "abc"], "expected 64 hex digits (32 random bytes)"),
        (["serve", "--database-url", "mysql://x"], "expected postgres://user@host/name, or sqlite://path/to/file"),
        (["serve", "--errors-sample-rate", "2"], "expected a number from 0 to 1"),
        (["key", "revoke", "ak_1"], "key"),
    ] {
        let output = run(&settings, &words).await;
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{words:?} was accepted");
        assert!(error.contains(expected), "{words:?}: {error}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let output = run(&settings, &["serve", "--listen", &address]).await;
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains(&format!("cannot listen on {address}")), "{error}");
}

#[tokio::test]
async fn a_command_whose_reader_has_gone_away_ends_without_an_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let app = folder.path().join("app");
    let mut command = Settings::sqlite(folder.path()).command(&["init", "--name", "night-sky", "--dir", app.to_str().expect("a text")]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().await.expect("ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(app.join("blocklet.yml").exists(), "the manifest was not written");
}

#[tokio::test]
async fn a_corrupt_secret_is_rejected_and_not_overwritten() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let secret = folder.path().join("secret.key");
    std::fs::write(&secret, "not a key").expect("writes");
    let output = run(&Settings::sqlite(folder.path()), &["migrate"]).await;
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("expected 64 hex digits"));
    assert_eq!(std::fs::read_to_string(&secret).expect("reads"), "not a key");
}

#[tokio::test]
async fn concurrent_first_starts_agree_on_one_secret() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    let starts = (0..8).map(|_| {
        let settings = settings.clone();
        tokio::spawn(async move { run(&settings, &["migrate"]).await })
    });
    for start in starts.collect::<Vec<_>>() {
        let output = start.await.expect("runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mode = std::fs::metadata(folder.path().join("secret.key")).expect("a secret").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept = std::fs::read_dir(folder.path()).expect("lists").flatten();
    let secrets = kept.filter(|file| file.file_name().to_string_lossy().contains("secret")).count();
    assert_eq!(secrets, 1, "drafts of the secret were left behind");
}

/// The output of `souk doctor` for a running store, and whether everything is in place.
async fn doctor(settings: &Settings, souk: &Url, words: &[&str]) -> (String, bool) {
    let listen = format!("{}:{}", souk.host_str().expect("a host"), souk.port().expect("a port"));
    let output = run(settings, &[&["doctor", "--listen", &listen], words].concat()).await;
    (String::from_utf8(output.stdout).expect("text"), output.status.success())
}

#[tokio::test]
async fn the_doctor_prints_what_each_method_lacks_for_gas_and_stakes_it() {
    diagnose_gas("1.30.24").await;
}

#[tokio::test]
async fn the_doctor_prints_what_each_method_lacks_for_gas_in_generation_1_20_8() {
    diagnose_gas("1.20.8").await;
}

/// Runs the doctor before and after the store has staked for gas.
async fn diagnose_gas(generation: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    let mut souk = settings.start().await;
    let http = reqwest::Client::builder().timeout(Duration::from_secs(30)).no_proxy().build().expect("a client");
    let ledger = souk.address.join("sandbox/arcblock/").expect("a path");
    let (free, complete) = doctor(&settings, &souk.address, &[]).await;
    assert!(complete && free.contains("ok: the network charges nothing for transactions"), "{free}");
    assert!(free.ends_with("Everything is in place.\n"), "{free}");

    let priced =
        http.put(ledger.join("chain").expect("a path")).json(&json!({ "generation": generation, "gasPrice": 10_000_000_000_000_u64 }));
    assert_eq!(priced.send().await.expect("an answer").status(), 204);
    let (lacking, complete) = doctor(&settings, &souk.address, &[]).await;
    assert!(!complete && lacking.contains("not ok: the network charges about"), "{lacking}");
    let account = lacking.split_once(", the store's account").and_then(|(before, _)| before.rsplit_once(" to ")).expect("an account").1;
    assert!(lacking.contains("or with `souk doctor --stake-for-gas`."), "{lacking}");

    let funded = http.post(ledger.join("faucet").expect("a path")).json(&json!({ "address": account })).send().await;
    assert_eq!(funded.expect("an answer").status(), 200);
    let (ready, complete) = doctor(&settings, &souk.address, &[]).await;
    assert!(!complete && !ready.contains("Send ") && ready.contains("  Stake "), "{ready}");
    let (staked, complete) = doctor(&settings, &souk.address, &["--stake-for-gas"]).await;
    assert!(complete && staked.contains("are staked for gas, so nobody is charged for transactions"), "{staked}");
    let database = Database::open_file(&folder.path().join("souk.db")).await.expect("opens");
    let entries = "SELECT COUNT(*) AS n FROM audit_log WHERE actor_kind = 'command' AND operation = 'payment_method.stake_for_gas'";
    let recorded: i64 = database.read().await.expect("reads").query(entries).one().await.expect("reads").get("n").expect("a number");
    assert_eq!(recorded, 1, "the audit log shows what the command staked");
    database.close().await;
    souk.terminate().await;
    assert!(souk.ended(SHUTDOWN_TIMEOUT).await.is_some());
}

#[tokio::test]
async fn keys_are_created_listed_and_revoked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    assert_eq!(printed(&settings, &["migrate"]).await, "The database is up to date.\n");
    let made = printed(&settings, &["key", "create", "--name", "shop", "--scope", "products:write,invoices:read"]).await;
    let (id, secret) = made.lines().next().and_then(|line| line.split_once("  ")).expect("an id and a secret");
    assert!(secret.starts_with("souk_test_"), "{made}");
    let listed = printed(&settings, &["key", "list"]).await;
    assert!(listed.contains(id) && listed.contains("shop") && listed.contains("valid") && !listed.contains(secret), "{listed}");
    printed(&settings, &["key", "revoke", id]).await;
    assert!(printed(&settings, &["key", "list"]).await.contains("revoked"));
    assert!(!run(&settings, &["key", "revoke", id]).await.status.success(), "a key was revoked twice");
    let unknown = run(&settings, &["key", "create", "--name", "x", "--scope", "moon:read"]).await;
    assert!(!unknown.status.success() && String::from_utf8_lossy(&unknown.stderr).contains("unknown scope moon:read"));
}

#[tokio::test]
async fn passports_are_issued_listed_and_revoked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path().join("data"));
    printed(&settings, &["migrate"]).await;
    let mode = std::fs::metadata(folder.path().join("data")).expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "the data folder is not for others");
    let did = TestWallet::from_seed(&[1; 32]).did().to_string();
    let stranger = run(&settings, &["passport", "issue", "--did", &did, "--role", "admin"]).await;
    assert!(!stranger.status.success() && String::from_utf8_lossy(&stranger.stderr).contains("has signed in with this DID yet"));
    let database = Database::open_file(&folder.path().join("data/souk.db")).await.expect("opens");
    let mut connection = database.begin().await.expect("begins");
    let insert = "INSERT INTO users (did, public_key, full_name, email, phone, language, created_at, updated_at, examined_at)
                  VALUES ($1, 'z', '', '', '', 'en', 0, 0, 0)";
    connection.query(insert).bind(did.as_str()).execute().await.expect("inserts");
    connection.commit().await.expect("commits");
    database.close().await;
    let made = printed(&settings, &["passport", "issue", "--did", &did, "--role", "admin"]).await;
    let id = made.split_whitespace().next().expect("an id");
    assert!(!run(&settings, &["passport", "issue", "--did", &did, "--role", "admin"]).await.status.success(), "issued twice");
    let listed = printed(&settings, &["passport", "list"]).await;
    assert!(listed.contains(id) && listed.contains(&did) && listed.contains("admin") && listed.contains("valid"), "{listed}");
    printed(&settings, &["passport", "revoke", id]).await;
    assert!(printed(&settings, &["passport", "list"]).await.contains("revoked"));
    assert!(!run(&settings, &["passport", "revoke", id]).await.status.success(), "a passport was revoked twice");
}

#[tokio::test]
async fn dead_letters_are_listed_and_retried() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    printed(&settings, &["migrate"]).await;
    assert_eq!(printed(&settings, &["dead-letters"]).await, "");
    let database = Database::open_file(&folder.path().join("souk.db")).await.expect("opens");
    let now = souk_domain::shared::Timestamp::from_seconds(1_800_000_000);
    let id = EventId::parse("evt_dead").expect("an id");
    let mut connection = database.begin().await.expect("begins");
    let message = Message::new(Topic::ReceiptMail, now).with("invoice", "in_1");
    souk_adapters::persistence::SqlOutbox(&mut connection).publish(&id, &message, now).await.expect("publishes");
    let bury = "UPDATE outbox SET dead_at = $1, attempts = 10, last_error = 'no such mailbox'";
    connection.query(bury).bind(now).execute().await.expect("buries");
    connection.commit().await.expect("commits");
    database.close().await;
    let listed = printed(&settings, &["dead-letters"]).await;
    assert!(listed.contains("evt_dead") && listed.contains("receipt_mail") && listed.contains("no such mailbox"), "{listed}");
    printed(&settings, &["dead-letters", "--retry", "evt_dead"]).await;
    assert_eq!(printed(&settings, &["dead-letters"]).await, "");
    assert!(!run(&settings, &["dead-letters", "--retry", "evt_dead"]).await.status.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_finishes_requests_in_progress_and_the_next_start_finds_all_data() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    let mut souk = settings.start().await;
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    assert_eq!(status(&client, "healthz").await, 200);
    assert_eq!(status(&client, "readyz").await, 200);
    let buyer = Buyer::arrive(Arc::clone(&client), 1).await;
    let link = links(&client).await.remove(0);
    let End::Complete(session) = buyer.buy(&link, Plan::Wallet).await else { panic!("not bought: {}", souk.log()) };

    // A request whose headers were sent and whose body is incomplete counts as in progress.
    let address = souk.address.socket_addrs(|| None).expect("an address")[0];
    let mut slow = half_a_request(address).await;
    souk.terminate().await;
    slow.write_all(b"}").await.expect("sends the rest");
    let mut answer = String::new();
    let read = tokio::time::timeout(SHUTDOWN_TIMEOUT, slow.read_to_string(&mut answer)).await;
    read.expect("within 10 s").expect("reads");
    assert!(answer.starts_with("HTTP/1.1 200"), "the request in hand was not finished: {answer}");
    let ended = souk.ended(SHUTDOWN_TIMEOUT).await.expect("it ends within 10 s");
    assert!(ended.success(), "{ended}");
    assert!(TcpStream::connect(address).await.is_err(), "the port is still served");

    let again = settings.start().await;
    client.move_to(vec![again.address.clone()]);
    let body = client.get(&format!("api/checkout-sessions/retrieve/{session}?livemode=false"), None).await.expect("reads");
    assert_eq!(body["checkoutSession"]["status"], "complete");
    let database = Database::open_file(&folder.path().join("souk.db")).await.expect("opens");
    assert_eq!(drain(&database).await, Vec::<String>::new());
    let again_bought = buyer.buy(&link, Plan::Card(crate::buyer::GOOD)).await;
    assert!(matches!(again_bought, End::Complete(_)), "the login of before is not known: {again_bought:?}");
    again.kill().await;
}

/// Sends a faucet request except for the last byte of its body.
async fn half_a_request(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("connects");
    let body = format!(r#"{{"address": "{}""#, TestWallet::from_seed(&[1; 32]).did());
    let head = format!(
        "POST /sandbox/arcblock/faucet HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len() + 1
    );
    stream.write_all(head.as_bytes()).await.expect("sends");
    stream.flush().await.expect("sends");
    // A response on a later connection shows that the server has accepted this one.
    let mut other = TcpStream::connect(address).await.expect("connects");
    other.write_all(format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").as_bytes()).await.expect("queries");
    let mut seen = String::new();
    other.read_to_string(&mut seen).await.expect("answers");
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_without_its_redis_is_alive_and_not_ready() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = TestDatabase::postgres().await;
    let redis = Redis::start(folder.path());
    let settings =
        Settings { database: Some(database.address().to_owned()), redis: Some(redis.address.clone()), ..Settings::sqlite(folder.path()) };
    let mut souk = settings.start().await;
    let client = StoreClient::new();
    client.move_to(vec![souk.address.clone()]);
    assert_eq!(status(&client, "readyz").await, 200);
    drop(redis);
    assert_eq!(status(&client, "readyz").await, 503);
    assert_eq!(status(&client, "healthz").await, 200);
    souk.terminate().await;
    assert!(souk.ended(SHUTDOWN_TIMEOUT).await.is_some(), "without Redis it did not end within 10 s");
}

/// A Redis server for one test.
struct Redis {
    process: std::process::Child,
    address: String,
}

impl Redis {
    fn start(folder: &std::path::Path) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
        let words = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no", "--port", &port.to_string()];
        let mut command = std::process::Command::new("redis-server");
        command.args(words).current_dir(folder).stdout(Stdio::null());
        let process = command.spawn().expect("redis-server is installed: scripts/need.sh redis");
        let redis = Self { process, address: format!("redis://127.0.0.1:{port}") };
        let begun = std::time::Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(10), "Redis did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        redis
    }
}

impl Drop for Redis {
    #[expect(clippy::let_underscore_must_use, reason = "a panic while dropping would hide the failure of the test")]
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
