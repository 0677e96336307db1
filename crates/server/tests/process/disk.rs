//! The disk fills up while customers pay.

use crate::audit::{audit, report};
use crate::buyer::{Buyer, End, GOOD, Plan};
use crate::crash::links;
use crate::drain::drain;
use crate::souk::{Settings, Souk};
use crate::store_client::{CallError, CallResult, StoreClient};
use serde_json::{Value, json};
use souk_adapters::persistence::Database;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

const DISK_MIB: u32 = 48;
const RESERVE_MIB: &str = "8";
const MIB: u64 = 1_024 * 1_024;
/// Below the reserve, and more than a purchase writes.
const LITTLE: u64 = 6 * MIB;
/// Longer than the store waits between two checkpoints.
const CHECKPOINTS: Duration = Duration::from_millis(1_500);
const DEADLINE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// A small disk in a mount namespace of its own, which lives as long as this value. Needs the permission to mount: root, or user
/// namespaces.
struct SmallDisk {
    holder: Child,
    folder: PathBuf,
}

impl SmallDisk {
    async fn at(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).expect("a folder");
        let mut holder = Command::new("unshare");
        holder.arg("--mount").args((!is_root()).then_some("--map-root-user"));
        let mount = "mount -t tmpfs -o \"$0\" tmpfs \"$1\" && echo mounted && exec sleep infinity";
        holder.args(["sh", "-c", mount, &format!("size={DISK_MIB}m")]).arg(folder);
        let mut holder = holder.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("unshare runs");
        let line = BufReader::new(holder.stdout.take().expect("its output")).lines().next_line().await.expect("reads");
        assert_eq!(line.as_deref(), Some("mounted"), "the test may mount a file system");
        Self { holder, folder: folder.to_owned() }
    }

    fn pid(&self) -> String {
        self.holder.id().expect("it runs").to_string()
    }

    /// Starts the demo store with this disk.
    async fn start(&self, settings: &Settings) -> Souk {
        let pid = self.pid();
        let user: &[_] = if is_root() { &[] } else { &["--user", "--preserve-credentials"] };
        settings.start_through(&[&["nsenter", "--target", &pid, "--mount"], user].concat()).await
    }

    /// The folder as the test sees it.
    fn folder(&self) -> PathBuf {
        let outside = self.folder.strip_prefix("/").expect("an absolute path");
        Path::new("/proc").join(self.pid()).join("root").join(outside)
    }

    /// Copies all files of the disk.
    fn copy_to(&self, target: &Path) {
        std::fs::create_dir_all(target).expect("a folder");
        for entry in std::fs::read_dir(self.folder()).expect("a folder").flatten().filter(|entry| entry.path().is_file()) {
            std::fs::copy(entry.path(), target.join(entry.file_name())).expect("copies");
        }
    }
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// A file that takes the space of a disk.
struct Ballast {
    path: PathBuf,
    file: File,
}

impl Ballast {
    fn on(folder: &Path) -> Self {
        let path = folder.join("ballast");
        let file = OpenOptions::new().create(true).append(true).open(&path).expect("a file");
        Self { path, file }
    }

    /// Grows until the disk has at most `free` bytes.
    fn leave(&mut self, free: u64) {
        let disk = rustix::fs::statvfs(&self.path).expect("a disk");
        let size = (disk.f_bavail * disk.f_frsize).saturating_sub(free);
        self.file.write_all(&vec![1; usize::try_from(size).expect("small")]).expect("writes");
    }

    /// Grows until nothing more can be written.
    fn fill(&mut self) {
        loop {
            match self.file.write(&[1; 4_096]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn remove(self) {
        std::fs::remove_file(&self.path).expect("removes");
    }
}

async fn readiness(client: &StoreClient) -> Value {
    client.get("readyz", None).await.expect("the store stays ready")
}

/// Waits until the session is complete.
async fn completed(buyer: &Buyer, session: &str, souk: &Souk) {
    let polling = async {
        while buyer.session_status(session).await.as_deref() != Ok("complete") {
            tokio::time::sleep(POLL).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, polling).await.is_ok(), "{session} was not settled; the log ends:\n{}", souk.log());
}

/// Polls the session until the store fails to record what its network says.
async fn refused_poll(buyer: &Buyer, session: &str) -> CallError {
    let polling = async {
        loop {
            match buyer.session_status(session).await {
                Ok(status) => assert_eq!(status, "open", "nothing can be recorded"),
                Err(error) => return error,
            }
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(DEADLINE, polling).await.expect("the network is polled")
}

/// Repeats a write until the full disk refuses it for good: a refusal can end with the next checkpoint, which lets SQLite write over its
/// write-ahead log.
async fn until_refused<T>(write: impl AsyncFn() -> CallResult<T>) -> CallError {
    let (begun, mut last_success) = (Instant::now(), Instant::now());
    loop {
        match write().await {
            Ok(_) => last_success = Instant::now(),
            Err(error) if last_success.elapsed() > CHECKPOINTS => return error,
            Err(_) => tokio::time::sleep(POLL).await,
        }
        assert!(begun.elapsed() < DEADLINE, "the disk is not full");
    }
}

fn is_no_space(error: &CallError) -> bool {
    matches!(error, CallError::Rejected { status: 503, code, .. } if code == "NO_SPACE")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_during_a_full_disk_is_settled_once_when_space_returns() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The networks' own database is on another disk, so that they take payments that the store cannot record.
    let mount = folder.path().join("disk");
    let disk = SmallDisk::at(&mount).await;
    let database = |folder: &Path| Some(format!("sqlite://{}", folder.join("souk.db").display()));
    let settings = Settings {
        database: database(&mount),
        options: ["--disk-reserve", RESERVE_MIB].map(ToOwned::to_owned).to_vec(),
        ..Settings::sqlite(folder.path().join("data"))
    };
    let mut souk = disk.start(&settings).await;
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let buyer = Buyer::arrive(Arc::clone(&client), 1).await;
    let links = links(&client).await;
    let (first, second) = (buyer.open(&links[0]).await.expect("opens"), buyer.open(&links[1]).await.expect("opens"));
    let submitted = buyer.submit(&first, &first.card).await.expect("submits");
    let submitted_second = buyer.submit(&second, &second.card).await.expect("submits");
    assert_eq!(readiness(&client).await.get("degraded"), None);

    // Below the reserve: nothing new, but the payment in progress is recorded.
    let mut ballast = Ballast::on(&disk.folder());
    ballast.leave(LITTLE);
    let refused = buyer.open(&links[2]).await.err().expect("a new session is refused");
    assert!(is_no_space(&refused), "{refused:?}");
    let ready = readiness(&client).await;
    assert_eq!((&ready["status"], &ready["degraded"]), (&json!("ok"), &json!(["disk"])));
    buyer.pay_by_card(&first, &submitted, GOOD).await.expect("the network takes the card");
    completed(&buyer, &first.session, &souk).await;

    // Full: the network takes the payment, and the store cannot write.
    ballast.fill();
    let refused = until_refused(async || client.post("api/did/login/token?livemode=false&locale=en", None, json!({})).await).await;
    assert!(is_no_space(&refused), "{refused:?}");
    buyer.pay_by_card(&second, &submitted_second, GOOD).await.expect("the network takes the card");
    let refused = refused_poll(&buyer, &second.session).await;
    assert!(is_no_space(&refused), "{refused:?}");
    assert_eq!(readiness(&client).await["status"], "ok");

    // Space returns.
    ballast.remove();
    completed(&buyer, &second.session, &souk).await;
    buyer.open(&links[2]).await.expect("new sessions are accepted");
    assert_eq!(readiness(&client).await.get("degraded"), None);
    let failures = client.failures.lock().expect("no panic").clone();
    assert!(failures.is_empty(), "the store answered 500: {failures:?}");

    // The audit opens the database, so it moves to a disk that this process sees.
    souk.terminate().await;
    souk.ended(DEADLINE).await.expect("ends");
    let copy = folder.path().join("copy");
    disk.copy_to(&copy);
    let souk = Settings { database: database(&copy), ..settings }.start().await;
    audited(&client, &souk, &copy.join("souk.db")).await;
}

/// Finishes all work and checks the whole store.
async fn audited(client: &StoreClient, souk: &Souk, database: &Path) {
    client.move_to(vec![souk.address.clone()]);
    let database = Database::open_file(database).await.expect("opens");
    let left = drain(&database).await;
    assert!(left.is_empty(), "after the drain there were {left:?}; the log ends:\n{}", souk.log());
    assert_eq!(report("a full disk", &audit(client, &database).await), "");
    database.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_sandbox_and_queue_continue_by_themselves_when_space_returns() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = ["--disk-reserve", RESERVE_MIB].map(ToOwned::to_owned).to_vec();
    let mount = folder.path().join("data");
    let disk = SmallDisk::at(&mount).await;
    let settings = Settings { options, ..Settings::sqlite(&mount) };
    let mut souk = disk.start(&settings).await;
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let buyer = Buyer::arrive(Arc::clone(&client), 1).await;
    let links = links(&client).await;
    let mut ballast = Ballast::on(&disk.folder());
    ballast.fill();
    let address = buyer.address();
    until_refused(async || client.post("sandbox/arcblock/faucet", None, json!({ "address": address })).await).await;
    until_refused(async || client.post("api/did/login/token?livemode=false&locale=en", None, json!({})).await).await;
    assert_eq!(readiness(&client).await["degraded"], json!(["disk"]));

    ballast.remove();
    for plan in [Plan::Wallet, Plan::Card(GOOD)] {
        let bought = tokio::time::timeout(DEADLINE, buyer.buy(&links[usize::from(plan == Plan::Wallet)], plan)).await;
        assert!(matches!(bought, Ok(End::Complete(_))), "{plan:?}: {bought:?}; the log ends:\n{}", souk.log());
    }
    souk.terminate().await;
    souk.ended(DEADLINE).await.expect("ends");
    let copy = folder.path().join("copy");
    disk.copy_to(&copy);
    let souk = Settings { data: copy.clone(), ..settings }.start().await;
    audited(&client, &souk, &copy.join("souk.db")).await;
}
