//! A store whose sandbox is switched off and on again.

use crate::buyer::{Buyer, End, Plan};
use crate::crash::links;
use crate::souk::{Settings, Souk};
use crate::store_client::StoreClient;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

async fn stop(mut souk: Souk) {
    souk.terminate().await;
    assert!(souk.ended(SHUTDOWN_TIMEOUT).await.is_some(), "it did not end: {}", souk.log());
}

async fn code_of(souk: &Souk, path: &str) -> (u16, String) {
    let client = reqwest::Client::builder().timeout(Duration::from_secs(30)).no_proxy().build().expect("a client");
    let answer = client.get(souk.address.join(path).expect("a path")).send().await.expect("an answer");
    let (status, text) = (answer.status().as_u16(), answer.text().await.expect("text"));
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    (status, body["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_without_its_sandbox_says_so_shows_its_test_orders_and_sells_again_when_it_is_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    let souk = settings.start().await;
    assert_eq!(souk.said, ["The sandbox of test mode is on, because this is a demo store."]);
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let buyer = Buyer::arrive(Arc::clone(&client), 1).await;
    let link = links(&client).await.remove(0);
    let End::Complete(session) = buyer.buy(&link, Plan::Wallet).await else { panic!("not bought: {}", souk.log()) };
    stop(souk).await;

    let souk = settings.start_plain(&["--sandbox", "off"]).await;
    assert_eq!(souk.said, ["The sandbox of test mode is off, because --sandbox off is set."]);
    client.move_to(vec![souk.address.clone()]);
    for path in ["sandbox/wallet", "sandbox/arcblock/faucet", "sandbox/arcblock/api/", "sandbox/stripe/v1/payment_intents"] {
        assert_eq!(code_of(&souk, path).await, (503, "SANDBOX_OFF".to_owned()), "{path}");
    }
    let bought = client.get(&format!("api/checkout-sessions/retrieve/{session}?livemode=false"), None).await.expect("reads");
    assert_eq!(bought["checkoutSession"]["status"], "complete");
    let store = client.get("api/store", None).await.expect("reads");
    assert_eq!(store["sandbox"], false);
    let listen = souk.address.authority().to_owned();
    let doctor = settings.command(&["doctor", "--sandbox", "off", "--listen", &listen]).output().await.expect("runs");
    let printed = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.status.success() && printed.contains("ok: the sandbox is off, so its payments and renewals wait"), "{printed}");
    stop(souk).await;

    let souk = settings.start_plain(&[]).await;
    assert_eq!(souk.said, ["The sandbox of test mode is on, because the store's address is not under https."]);
    client.move_to(vec![souk.address.clone()]);
    let again = buyer.buy(&link, Plan::Card(crate::buyer::GOOD)).await;
    assert!(matches!(again, End::Complete(_)), "{again:?}: {}", souk.log());
    stop(souk).await;
}

#[tokio::test]
async fn a_new_store_under_https_has_no_sandbox_and_a_demo_without_it_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    let refused = settings.command(&["serve", "--listen", "127.0.0.1:0", "--demo", "--sandbox", "off"]).output().await.expect("runs");
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("the demo store needs the sandbox: remove --demo or --sandbox off"), "{error}");

    let mut command = settings.command(&["serve", "--listen", "127.0.0.1:0", "--public-url", "https://store.example/"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("starts");
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(child.stdout.take().expect("its output")));
    let first = tokio::time::timeout(Duration::from_secs(60), lines.next_line()).await.expect("in time").expect("reads");
    assert_eq!(
        first.as_deref(),
        Some("The sandbox of test mode is off, because the store's address is under https; --sandbox on starts it.")
    );
    child.kill().await.expect("kills");
    assert!(!folder.path().join("sandbox.db").exists(), "a sandbox was opened");
}
