//! `make bench SET=billing`: measures the billing engine on both databases, in one run on one machine.

mod baseline;
mod measure;
#[expect(dead_code, reason = "shared with the process tests, which use all of it")]
#[path = "../../tests/process/plans.rs"]
mod plans;
mod remote;
#[expect(dead_code, reason = "shared with the other set, which uses all of it")]
#[path = "../purchase/report.rs"]
mod report;
mod rows;
mod setup;

use report::Figure;

/// The store's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    report::publish(&runtime.block_on(billing()));
}

async fn billing() -> Vec<Figure> {
    let mut figures = Vec::new();
    figures.extend(measure::renewals().await);
    figures.extend(measure::claim_due().await);
    figures.extend(measure::charge_concurrency().await);
    figures.extend(measure::invoice_page().await);
    figures.extend(measure::clock_year().await);
    figures
}
