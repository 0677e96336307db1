//! Strangers who hold connections: the store keeps selling, its workers keep working, and health checks keep answering.

use crate::buyer::{Buyer, End, Plan};
use crate::crash::links;
use crate::souk::{Settings, Souk};
use crate::store_client::StoreClient;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use url::Url;

/// The descriptors of the process. With as many, 358 half-open connections once stopped it.
const OPEN_FILES: u32 = 256;
const HALF_OPEN: usize = 400;
/// The strangers connect from several loopback addresses, so that no single one is limited to its share.
const ADDRESSES: usize = 8;
/// Maximum time of a purchase under these conditions.
const PURCHASE: Duration = Duration::from_secs(60);
/// Maximum time until half-open connections are closed: 10 s for headers, and as much again on a busy machine.
const CLOSED: Duration = Duration::from_secs(20);
/// Memory that the strangers' connections may add, in KiB.
const MEMORY_MAX: u64 = 64 * 1024;

/// The memory of a process, in KiB.
pub fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn open_files(souk: &Souk) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", souk.pid())).expect("it runs").count()
}

/// Connects from `127.0.0.{n}` and sends the first half of a request.
pub async fn half_open(address: SocketAddr, number: usize) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().expect("a socket");
    let from = SocketAddr::from(([127, 0, 0, u8::try_from(2 + number % ADDRESSES).expect("an address")], 0));
    socket.bind(from).expect("a loopback address");
    let mut stream = socket.connect(address).await.ok()?;
    stream.write_all(b"GET /api/apps HTTP/1.1\r\nhost: a\r\n").await.ok()?;
    Some(stream)
}

async fn status(client: &reqwest::Client, base: &Url, path: &str) -> u16 {
    client.get(base.join(path).expect("a path")).send().await.expect("answers in time").status().as_u16()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_connections_beyond_the_limit_stop_neither_requests_nor_workers_nor_health_checks() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = vec!["--health-listen=127.0.0.1:0".to_owned()];
    let settings = Settings { options, ..Settings::sqlite(folder.path()) };
    let souk = settings.start_with_open_files(OPEN_FILES).await;
    let health = souk.health.clone().expect("a listener for health checks");
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let link = links(&client).await.remove(0);
    let address = souk.address.socket_addrs(|| None).expect("an address")[0];
    let (memory, files) = (resident(souk.pid()), open_files(&souk));

    let mut strangers = Vec::new();
    for number in 0..HALF_OPEN {
        strangers.extend(half_open(address, number).await);
    }
    let begun = Instant::now();
    let patient = reqwest::Client::builder().timeout(Duration::from_secs(10)).no_proxy().build().expect("a client");
    for path in ["healthz", "readyz", "metrics"] {
        assert_eq!(status(&patient, &health, path).await, 200, "{path}");
    }
    assert_eq!(status(&patient, &souk.address, "readyz").await, 200);
    let buyer = Buyer::arrive(Arc::clone(&client), 1).await;
    let bought = tokio::time::timeout(PURCHASE, buyer.buy(&link, Plan::Wallet)).await.expect("a purchase in time");
    assert!(matches!(bought, End::Complete(_)), "{bought:?}; the log ends:\n{}", souk.log());
    // The receipt is written by a worker.
    let mail = folder.path().join("mail");
    while !std::fs::read_dir(&mail).is_ok_and(|mut mails| mails.next().is_some()) {
        assert!(begun.elapsed() < PURCHASE, "the workers do not work");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (memory_now, files_now) = (resident(souk.pid()), open_files(&souk));
    println!(
        "{HALF_OPEN} half-open connections: {memory} to {memory_now} KiB, {files} to {files_now} open files, all answered in {:?}",
        begun.elapsed()
    );
    assert!(files_now <= OPEN_FILES as usize - 16, "{files_now} files are open");
    assert!(memory_now < memory + MEMORY_MAX, "memory grew from {memory} to {memory_now} KiB");

    // Each is closed without an answer, at the latest when the time for headers is over.
    for mut stranger in strangers {
        let left = CLOSED.saturating_sub(begun.elapsed());
        let mut answer = Vec::new();
        let ended = tokio::time::timeout(left, stranger.read_to_end(&mut answer)).await;
        assert!(ended.is_ok(), "a half-open connection is still open after {:?}", begun.elapsed());
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 503"), "{}", String::from_utf8_lossy(&answer));
    }
    assert!(!souk.whole_log().contains("could not be accepted"), "the process ran out of descriptors");
    souk.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_too_long_gets_a_413_that_its_sender_can_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let souk = Settings::sqlite(folder.path()).start().await;
    let address = souk.address.socket_addrs(|| None).expect("an address")[0];
    let head = "POST /api/checkout-sessions/start/plink_1 HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
    let spaces = " ".repeat(6 << 20);
    let announced = format!("{head}content-length: {}\r\n\r\n{spaces}", spaces.len());
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{spaces}\r\n0\r\n\r\n", spaces.len());
    for request in [announced, chunked] {
        let mut stream = TcpStream::connect(address).await.expect("connects");
        // The whole body is sent before anything is read.
        stream.write_all(request.as_bytes()).await.expect("the store takes the body");
        let mut answer = String::new();
        let read = tokio::time::timeout(CLOSED, stream.read_to_string(&mut answer)).await;
        read.expect("an answer in time").expect("the connection is not reset");
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
        assert!(answer.contains("BODY_TOO_LARGE") && answer.contains("The body is too large"), "{answer}");
    }
    souk.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn out_of_descriptors_the_loop_pauses_and_then_goes_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let souk = Settings::sqlite(folder.path()).start().await;
    let address = souk.address.socket_addrs(|| None).expect("an address")[0];
    let pid = Pid::from_raw(i32::try_from(souk.pid()).expect("a process id")).expect("a process id");
    let maximum = getrlimit(Resource::Nofile).maximum;
    // Only the standard streams fit, whatever gaps there are among the open descriptors.
    let few = Rlimit { current: Some(3), maximum };
    let usual = prlimit(Some(pid), Resource::Nofile, few).expect("limits the process");
    let failures = || souk.whole_log().matches("a connection could not be accepted").count();
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).await.expect("the system accepts it");
    while failures() < 3 {
        assert!(begun.elapsed() < CLOSED, "the loop did not try again; the log ends:\n{}", souk.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (count, lasted) = (failures(), begun.elapsed());
    assert!(count as u128 <= lasted.as_millis() / 200 + 2, "{count} tries in {lasted:?}: the loop spins");
    prlimit(Some(pid), Resource::Nofile, usual).expect("restores the limit");
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.expect("sends");
    let mut answer = String::new();
    let read = tokio::time::timeout(CLOSED, stream.read_to_string(&mut answer)).await;
    read.expect("an answer in time").expect("reads");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    souk.kill().await;
}

#[tokio::test]
async fn too_few_open_files_are_refused_at_start() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let souk = Settings::sqlite(folder.path()).command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", "ulimit -n 100 && exec \"$0\" \"$@\""]).arg(souk.as_std().get_program()).args(souk.as_std().get_args());
    let output = command.env("SOUK_DATA", folder.path()).output().await.expect("runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("the limit of open files is 100"), "{error}");
}
