//! Measures the peak memory of a process that gets an upload of 500 MB, against one that gets 5 MB.

use crate::report::Figure;
use crate::souk::Souk;
use crate::stage::{Stage, VERSION};

/// In MiB: 5 and 500 MB.
const SMALL: u64 = 5;
const LARGE: u64 = 477;

pub async fn measure() -> Figure {
    let stage = Stage::set().await;
    let baseline = peak(&stage, "granary", SMALL).await;
    let value = peak(&stage, "lighthouse", LARGE).await;
    Figure { name: "upload_memory".to_owned(), value, unit: "MB", baseline: Some(baseline), aim: 1.5 }
}

/// The most memory, in MB, that a process uses while it receives, stores and checks a bundle, and nothing else.
async fn peak(stage: &Stage, name: &str, mebibytes: u64) -> f64 {
    let upload = stage.developer.version(name, VERSION);
    let bundle = stage.pack(&upload, mebibytes);
    let souk = stage.start().await;
    forget_peak(&souk);
    stage.upload(&souk, &upload, &bundle).await;
    let peak = peak_memory(&souk);
    souk.kill().await;
    peak
}

/// Forgets what the start has used. Where the system cannot do that, the start counts as well.
fn forget_peak(souk: &Souk) {
    if let Err(error) = std::fs::write(format!("/proc/{}/clear_refs", souk.pid()), "5") {
        eprintln!("the peak of the memory includes that of the start: {error}");
    }
}

fn peak_memory(souk: &Souk) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", souk.pid())).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes * 1_024.0 / 1_000_000.0
}
