//! `make bench SET=publishing`: measures uploads and downloads of bundles as ratios, in one run on one machine.

#[expect(dead_code, reason = "shared with the process tests, which use all of it")]
#[path = "../../tests/process/buyer.rs"]
mod buyer;
#[expect(dead_code, reason = "shared with the process tests, which use all of it")]
#[path = "../../tests/process/developer.rs"]
mod developer;
mod download;
mod file_server;
#[expect(dead_code, reason = "shared with another set, which uses all of it")]
#[path = "../purchase/report.rs"]
mod report;
#[path = "../purchase/server.rs"]
mod server;
#[expect(dead_code, reason = "shared with the process tests, which use all of it")]
#[path = "../../tests/process/souk.rs"]
mod souk;
mod stage;
#[expect(dead_code, reason = "shared with the process tests, which use all of it")]
#[path = "../../tests/process/store_client.rs"]
mod store_client;
mod upload_memory;

use report::Figure;
use std::path::Path;

/// The store's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let words: Vec<_> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // The benchmark starts this binary again as the baseline.
        [file_server::SERVE, file] => runtime.block_on(file_server::serve(Path::new(file))),
        _ => report::publish(&runtime.block_on(publishing())),
    }
}

async fn publishing() -> Vec<Figure> {
    vec![download::measure().await, upload_memory::measure().await]
}
