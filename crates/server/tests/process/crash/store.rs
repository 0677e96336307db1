//! Kills the process at random moments while developers upload and publish versions, their checks run, and visitors download bundles.
//! After each start no version is half there, no answer was wrong, and the sweeper deletes what the killed process has left in its folders.
//! `make crash SET=store` runs 100 rounds.

mod inspection;
mod public_log;
mod publishers;
mod storage;
mod visitors;

use super::{SEED, Victim, kill_later, rounds, seed, start_or_kill};
use crate::audit::{all_delivered, report};
use crate::developer::Developer;
use crate::drain::drain;
use crate::souk::Souk;
use crate::store_client::StoreClient;
use inspection::Inspector;
use publishers::{Publisher, Sent, SentApp};
use sha2::{Digest, Sha256};
use souk_adapters::persistence::Database;
use souk_adapters::testing::SeededRandom;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use storage::Storage;
use tokio::task::JoinSet;
use visitors::{Downloads, Visitor};

/// The developers' apps. No name looks like another one, because a check would find it.
const APPS: [&str; 3] = ["granary", "lighthouse", "watermark"];
const VISITORS: u64 = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_leave_no_half_version_and_no_orphaned_file_on_sqlite() {
    run(&Victim::on_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_leave_no_half_version_and_no_orphaned_file_on_postgres() {
    run(&Victim::on_postgres().await).await;
}

async fn run(victim: &Victim) {
    let (seed, rounds, begun) = (seed(), rounds(), Instant::now());
    println!("crash test of the store on {}: {rounds} rounds, {SEED}={seed}", victim.name);
    let random = SeededRandom::new(seed);
    let client = Arc::new(StoreClient::new());
    let publishers = enroll(victim, &client, seed).await;
    let (closing, mut working, mut visiting) = (Arc::new(AtomicBool::new(false)), JoinSet::new(), JoinSet::new());
    for publisher in &publishers {
        working.spawn(Arc::clone(publisher).work(Arc::clone(&closing)));
    }
    for number in 0..VISITORS {
        visiting.spawn(Visitor::new(Arc::clone(&client), seed ^ (100 + number)).download(Arc::clone(&closing)));
    }

    let mut watch = Watch { victim, publishers, inspector: Inspector::default(), swept: 0, seed };
    for _ in 0..rounds {
        let orphans = watch.age().await;
        let Some(souk) = start_or_kill(&victim.settings, &random).await else { continue };
        watch.check(&souk, orphans).await;
        // Only now do developers and visitors reach it.
        client.move_to(vec![souk.address.clone()]);
        kill_later(souk, &client, &random).await;
    }
    let orphans = watch.age().await;
    let souk = victim.settings.start().await;
    watch.check(&souk, orphans).await;
    client.move_to(vec![souk.address.clone()]);
    closing.store(true, Ordering::Relaxed);
    working.join_all().await;
    let mut downloads = Downloads::default();
    visiting.join_all().await.into_iter().for_each(|one| downloads.add(one));

    let database = Database::open(&victim.address).await.expect("opens");
    let left = drain(&database).await;
    assert!(left.is_empty(), "after the drain there were {left:?}; {SEED}={seed}; the log ends:\n{}", souk.log());
    // Everything is read once more.
    watch.inspector.forget();
    watch.check(&souk, Vec::new()).await;
    watch.check_nothing_left(&souk).await;
    let delivered = all_delivered(&database).await;
    database.close().await;

    let apps = watch.sent();
    let with = |has: fn(&Sent) -> bool| apps.iter().flat_map(|app| app.versions.values()).filter(|sent| has(sent)).count();
    let (uploaded, published) = (with(|sent| sent.is_uploaded), with(|sent| sent.is_published));
    let title = format!(
        "{}: killed {rounds} times in {} s; {uploaded} versions uploaded, {} uploads repeated, {published} versions published by their \
         developers; {} downloads, cut {} times; {} files of killed processes swept",
        victim.name,
        begun.elapsed().as_secs(),
        apps.iter().map(|app| app.unanswered).sum::<usize>(),
        downloads.whole,
        downloads.cut,
        watch.swept,
    );
    let wrong = report(&title, &[delivered]);
    assert_eq!(wrong, "", "{SEED}={seed}; the log ends:\n{}", souk.log());
    assert!(downloads.wrong.is_empty(), "downloads were wrong: {:?}; {SEED}={seed}", downloads.wrong);
    assert!(uploaded > 0 && published > 0, "{uploaded} versions were uploaded, {published} published; {SEED}={seed}");
    assert!(downloads.whole > 0, "nobody could download anything; {SEED}={seed}");
    let failures = client.failures.lock().expect("no panic").clone();
    assert!(failures.is_empty(), "the store answered 500: {failures:?}; {SEED}={seed}; the log ends:\n{}", souk.log());
    let verified = victim.settings.command(&["verify"]).output().await.expect("souk verify runs");
    assert!(verified.status.success(), "{SEED}={seed}: {}", String::from_utf8_lossy(&verified.stdout));
    souk.kill().await;
}

/// Starts a first process, which loads the demo store, and enrolls the developers there.
async fn enroll(victim: &Victim, client: &Arc<StoreClient>, seed: u64) -> Vec<Arc<Publisher>> {
    let souk = victim.settings.start().await;
    client.move_to(vec![souk.address.clone()]);
    let mut publishers = Vec::new();
    for (number, name) in (1..).zip(APPS) {
        let developer = Developer::enroll(Arc::clone(client), &victim.settings, seed ^ number).await;
        publishers.push(Arc::new(Publisher::new(developer, name, seed ^ (10 + number))));
    }
    client.move_to(Vec::new());
    souk.kill().await;
    publishers
}

/// What is watched over all processes.
struct Watch<'w> {
    victim: &'w Victim,
    publishers: Vec<Arc<Publisher>>,
    inspector: Inspector,
    swept: usize,
    seed: u64,
}

impl Watch<'_> {
    fn sent(&self) -> Vec<SentApp> {
        self.publishers.iter().map(|publisher| publisher.sent()).collect()
    }

    async fn storage(&self) -> Storage<'_> {
        Storage::open(&self.victim.settings.data, &self.victim.address).await
    }

    /// Lets the time pass for the orphans that a killed process has left, and returns them.
    async fn age(&self) -> Vec<PathBuf> {
        let storage = self.storage().await;
        let orphans = storage.age().await;
        storage.close().await;
        orphans
    }

    /// Checks a process that only its jobs use.
    async fn check(&mut self, souk: &Souk, orphans: Vec<PathBuf>) {
        let client = StoreClient::new();
        client.move_to(vec![souk.address.clone()]);
        let apps = self.sent();
        let mut wrong = self.inspector.inspect(&client, &apps).await;
        let storage = self.storage().await;
        wrong.extend(storage.wrong().await);
        wrong.extend(storage.unswept(&orphans).await);
        storage.close().await;
        self.swept += orphans.len();
        self.assert_right(souk, &wrong);
    }

    /// Without an upload or a job in progress, every file has a row.
    async fn check_nothing_left(&self, souk: &Souk) {
        let storage = self.storage().await;
        let wrong: Vec<_> = storage.orphans().await.iter().map(|file| format!("no row refers to {}", file.display())).collect();
        storage.close().await;
        self.assert_right(souk, &wrong);
    }

    fn assert_right(&self, souk: &Souk, wrong: &[String]) {
        assert!(wrong.is_empty(), "{}\n{SEED}={}; the log ends:\n{}", wrong.join("\n"), self.seed, souk.log());
    }
}

/// In lower-case hex.
fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
