//! Measures downloads of a bundle against a bare server of the same file.

use crate::file_server::SERVE;
use crate::report::Figure;
use crate::server::BaselineServer;
use crate::stage::{Stage, VERSION, http};
use reqwest::Client;
use sha2::{Digest, Sha512};
use souk_adapters::testing::upload::PackedFile;
use std::time::Instant;
use tokio::task::JoinSet;
use url::Url;

const MEBIBYTES: u64 = 64;
/// Downloads at a time.
const CONNECTIONS: usize = 4;
/// Number of rounds of the store and of the baseline, which alternate.
const ROUNDS: usize = 11;

pub async fn measure() -> Figure {
    let stage = Stage::set().await;
    let souk = stage.start().await;
    let upload = stage.developer.version("granary", VERSION);
    let bundle = stage.pack(&upload, MEBIBYTES);
    stage.upload(&souk, &upload, &bundle).await;
    stage.developer.publish(&upload.did(), VERSION).await.expect("is published");
    let bare = BaselineServer::start(&[SERVE, bundle.path.to_str().expect("text")]).await;
    let own = souk.address.join(&format!("api/apps/{}/{VERSION}/bundle", upload.did())).expect("a path");

    // The clients are created beforehand, and the file is in memory.
    let clients: Vec<_> = (0..CONNECTIONS).map(|_| http()).collect();
    for url in [&own, &bare.address] {
        check(&clients[0], url, &bundle).await;
        round(&clients, url, bundle.size).await;
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(round(&clients, &bare.address, bundle.size).await);
        ours.push(round(&clients, &own, bundle.size).await);
    }
    println!("download: MB/s, ours {ours:.0?}, a bare file server {theirs:.0?}");
    souk.kill().await;
    Figure { name: "download".to_owned(), value: median(ours), unit: "MB/s", baseline: Some(median(theirs)), aim: 0.8 }
}

/// The bytes are those that were uploaded.
async fn check(client: &Client, url: &Url, bundle: &PackedFile) {
    let mut response = client.get(url.clone()).send().await.expect("answers");
    let mut sha512 = Sha512::new();
    while let Some(chunk) = response.chunk().await.expect("answers whole") {
        sha512.update(&chunk);
    }
    assert_eq!(sha512.finalize().to_vec(), bundle.sha512, "{url} serves other bytes");
}

/// Downloads once over each connection, all at the same time. Returns the MB per second of all together.
async fn round(clients: &[Client], url: &Url, size: u64) -> f64 {
    let (mut downloads, begun) = (JoinSet::new(), Instant::now());
    for client in clients {
        downloads.spawn(receive(client.clone(), url.clone()));
    }
    let received: u64 = downloads.join_all().await.into_iter().sum();
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(received, size * clients.len() as u64, "{url} does not serve the whole file");
    received as f64 / seconds / 1e6
}

/// Returns the number of bytes.
async fn receive(client: Client, url: Url) -> u64 {
    let mut response = client.get(url).send().await.expect("answers");
    let mut received = 0;
    while let Some(chunk) = response.chunk().await.expect("answers whole") {
        received += chunk.len() as u64;
    }
    received
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
