//! The replacement of a store's key.

use crate::backup::printed;
use crate::buyer::{Buyer, End, Plan};
use crate::crash::links;
use crate::souk::Settings;
use crate::store_client::StoreClient;
use std::sync::Arc;
use std::time::Duration;

/// Buys with a wallet and by card, and returns the store's DID.
async fn buys(settings: &Settings, seed: u64) -> String {
    let souk = settings.start().await;
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let buyer = Buyer::arrive(Arc::clone(&client), seed).await;
    let links = links(&client).await;
    for (link, plan) in links.iter().zip([Plan::Wallet, Plan::Card("4242424242424242")]) {
        let end = buyer.buy(link, plan).await;
        assert!(matches!(end, End::Complete(_)), "{end:?}: {}", souk.log());
    }
    let did = client.get("api/store", None).await.expect("answers")["appPid"].as_str().expect("a DID").to_owned();
    souk.kill().await;
    did
}

async fn refused(settings: &Settings, words: &[&str]) -> String {
    let output = settings.command(words).output().await.expect("souk runs");
    assert!(!output.status.success(), "souk {words:?} was not refused");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_with_a_new_key_keeps_its_identity_and_sells() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings::sqlite(folder.path());
    let did = buys(&settings, 1).await;
    let souk = settings.start().await;
    let message = refused(&settings, &["rotate-key"]).await;
    assert!(message.contains("another souk command uses the data folder"), "{message}");
    souk.kill().await;
    let key = folder.path().join("secret.key");
    let old = std::fs::read_to_string(&key).expect("a key");
    let said = printed(&settings, &["rotate-key"]).await;
    assert!(said.contains("Its account and DID stay the same") && !said.contains(&old), "{said}");
    let new = std::fs::read_to_string(&key).expect("a key");
    assert!(new != old && !folder.path().join("secret.key.next").exists());
    assert_eq!(buys(&settings, 2).await, did);
    printed(&settings, &["verify"]).await;
    std::fs::write(&key, &old).expect("writes");
    let message = refused(&settings, &["migrate"]).await;
    assert!(message.contains("secret.key is not the key of this store's database") && !message.contains(&old), "{message}");

    // A configured key is replaced by a configured one.
    std::fs::rename(&key, folder.path().join("unused")).expect("moves");
    let next = folder.path().join("new-key");
    std::fs::write(&next, "7c".repeat(32)).expect("writes");
    let configured = |words: &'static [&'static str], key: &str| {
        let mut command = settings.command(words);
        command.env("SOUK_SECRET_KEY", key.trim());
        command
    };
    let output = configured(&["rotate-key"], &new).output().await.expect("runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--new-key-file"));
    let output = configured(&["rotate-key"], &new).args(["--new-key-file", next.to_str().expect("text")]).output().await.expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = configured(&["key", "list"], &new).output().await.expect("runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("SOUK_SECRET_KEY is not the key of this store's database"));
    assert!(configured(&["key", "list"], &"7c".repeat(32)).output().await.expect("runs").status.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_rotation_leaves_a_store_that_opens() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings::sqlite(folder.path());
    printed(&settings, &["migrate"]).await;
    settings.start().await.kill().await;
    let key = folder.path().join("secret.key");
    let mut changes = 0;
    // On a busy machine no rotation reaches the database in the usual delays.
    for delay in (0..30).map(|step| step * 6).chain([400, 800, 1_600, 3_200, 6_400]) {
        if delay > 180 && changes > 0 {
            break;
        }
        let before = std::fs::read_to_string(&key).expect("a key");
        let mut rotation = settings.command(&["rotate-key"]).spawn().expect("starts");
        tokio::time::sleep(Duration::from_millis(delay)).await;
        rotation.kill().await.expect("kills");
        // Completes what was interrupted, or finds the old key.
        printed(&settings, &["key", "list"]).await;
        changes += usize::from(std::fs::read_to_string(&key).expect("a key") != before);
    }
    assert!(changes > 0, "no rotation reached the database");
    let left = std::fs::read_dir(folder.path())
        .expect("lists")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains("secret.key"));
    assert!(left.count() <= 40, "the folder fills with drafts");
    buys(&settings, 3).await;
}
