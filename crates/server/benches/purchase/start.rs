//! Measures the start time of a store and its memory when idle.

use crate::report::Figure;
use crate::souk::Settings;
use std::time::{Duration, Instant};

const STARTS: usize = 5;
/// Time after which a new process is idle.
const SETTLE_TIME: Duration = Duration::from_secs(5);

pub async fn measure() -> Vec<Figure> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    // Only the first start loads the demo store; the others measure a restart.
    settings.start().await.kill().await;
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        let souk = settings.start().await;
        let ready = reqwest::get(souk.address.join("readyz").expect("a path")).await.expect("answers");
        assert!(ready.status().is_success(), "not ready: {}", souk.log());
        times.push(begun.elapsed().as_secs_f64());
        souk.kill().await;
    }
    times.sort_by(f64::total_cmp);
    let souk = settings.start().await;
    tokio::time::sleep(SETTLE_TIME).await;
    let idle = resident(souk.pid());
    souk.kill().await;
    vec![
        Figure { name: "cold_start".to_owned(), value: times[STARTS / 2], unit: "s", baseline: None, aim: 1.0 },
        Figure { name: "idle_rss".to_owned(), value: idle, unit: "MB", baseline: None, aim: 60.0 },
    ]
}

/// Resident memory of a process, in MB.
fn resident(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes * 1_024.0 / 1_000_000.0
}
