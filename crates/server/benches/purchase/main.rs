//! `make bench SET=purchase`: measures a purchase as ratios, in one run on one machine (DESIGN.md 10).
//!
//! Prints a table and writes `target/bench.json`: `{name: {value, unit, baseline, ratio, aim}}`.

mod baseline;
#[expect(dead_code, reason = "shared with the process tests, which use all of it")]
#[path = "../../tests/process/buyer.rs"]
mod buyer;
mod report;
mod server;
#[expect(dead_code, reason = "shared with the process tests, which use all of it")]
#[path = "../../tests/process/souk.rs"]
mod souk;
mod start;
#[expect(dead_code, reason = "shared with the process tests, which use all of it")]
#[path = "../../tests/process/store_client.rs"]
mod store_client;
mod submit;

use report::Figure;
use std::process::ExitCode;

const SETS: [&str; 1] = ["purchase"];

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // The benchmark starts this binary again as the baseline.
        [baseline::SERVE, address] => {
            runtime.block_on(baseline::serve(address));
            ExitCode::SUCCESS
        }
        [] | ["purchase"] => {
            report::publish(&runtime.block_on(purchase()));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("the sets are: {}", SETS.join(", "));
            ExitCode::FAILURE
        }
    }
}

async fn purchase() -> Vec<Figure> {
    let mut figures = submit::on_sqlite().await;
    match std::env::var("TEST_PG") {
        Ok(_) => figures.extend(submit::on_postgres().await),
        Err(_) => eprintln!("TEST_PG names no PostgreSQL server: its figures are left out"),
    }
    figures.extend(start::measure().await);
    figures.extend(report::sizes());
    figures
}
