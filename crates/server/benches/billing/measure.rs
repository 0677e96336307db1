//! The measurements of the billing benchmark.

use crate::baseline::Baseline;
use crate::report::Figure;
use crate::setup::Setup;
use futures_util::stream::{self, StreamExt};
use souk_adapters::concurrency_limit::NetworkConcurrencyLimit;
use souk_adapters::persistence::statement_counter;
use souk_domain::billing::{self, InvoiceFilter, Scope, TestClock};
use souk_domain::context::Context;
use souk_domain::payment;
use souk_domain::shared::{AttemptId, ClockId, CustomerId, Mode, Page, Timestamp};
use std::sync::Arc;
use std::time::{Duration, Instant};

const BATCH: u32 = 200;
/// Number of rounds of the store and of the baseline, which alternate.
const ROUNDS: u32 = 60;
const FEW: u64 = 1_000;
const MANY: u64 = 1_000_000;
/// Number of times a store is reopened for claims, and number of claims each time.
const REOPENINGS: usize = 12;
const CLAIMS: usize = 10;
/// Number of attempts per message, and number of messages that a process handles concurrently.
const MESSAGE: usize = 100;
const WORKERS: usize = 8;
/// Number of concurrent charges at a network: the default of `--charge-concurrency`.
const CONCURRENCY: usize = 32;
const LATENCY: Duration = Duration::from_millis(50);
const QUARTER: Duration = Duration::from_secs(90 * 86_400);

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

pub async fn renewals() -> Vec<Figure> {
    let setups = Setup::both(u64::from(BATCH * (ROUNDS + 1) * 2), Duration::ZERO).await;
    let mut figures = Vec::new();
    let mut baselines = Vec::new();
    for setup in &setups {
        baselines.push(Baseline::open(setup).await);
    }
    let (mut ours, mut theirs) = (vec![Vec::new(); setups.len()], vec![Vec::new(); setups.len()]);
    let (mut statements, mut commits) = (vec![0; setups.len()], vec![0; setups.len()]);
    for round in 0..=ROUNDS {
        for (at, setup) in setups.iter().enumerate() {
            let before = statement_counter::sent();
            let begun = Instant::now();
            let done = billing::renew_due(&setup.ctx, &Scope::Wall, setup.now, BATCH).await.expect("renews");
            let rate = f64::from(BATCH) / begun.elapsed().as_secs_f64();
            assert_eq!(done.due, BATCH as usize);
            let after = statement_counter::sent();
            let begun = Instant::now();
            baselines[at].renew(setup.now.micros(), i64::from(BATCH)).await;
            let baseline = f64::from(BATCH) / begun.elapsed().as_secs_f64();
            // The first round of each is a warm-up that prepares its statements.
            if round == 0 {
                continue;
            }
            ours[at].push(rate);
            statements[at] += after.statements - before.statements;
            commits[at] += after.commits - before.commits;
            theirs[at].push(baseline);
        }
    }
    let count = f64::from(BATCH * ROUNDS);
    for (at, setup) in setups.iter().enumerate() {
        let baseline = Some(median(theirs[at].clone()));
        figures.push(Figure { name: setup.name("renewals"), value: median(ours[at].clone()), unit: "/s", baseline, aim: 0.6 });
        figures.push(Figure {
            name: setup.name("commits_per_renewal"),
            value: commits[at] as f64 / count,
            unit: "",
            baseline: None,
            aim: 0.05,
        });
        let value = statements[at] as f64 / count;
        figures.push(Figure { name: setup.name("statements_per_renewal"), value, unit: "", baseline: None, aim: 12.0 });
    }
    figures
}

/// Claims 100 due subscriptions among few and among many. Takes the lower quartile of the medians of repeatedly opened connections,
/// because the placement of a connection's thread can make the same claim 50 % slower for the lifetime of the connection.
pub async fn claim_due() -> Vec<Figure> {
    let (few, many) = (Setup::both(FEW, Duration::ZERO).await, Setup::both(MANY, Duration::ZERO).await);
    let mut figures = Vec::new();
    for (few, many) in few.iter().zip(&many) {
        let mut places = [Vec::new(), Vec::new()];
        for setup in [few, many] {
            setup.write("UPDATE subscriptions SET due_at = anchor, clock_id = NULL WHERE id <= 'sub_storm_10000099'").await;
            setup.write("UPDATE subscriptions SET due_at = NULL WHERE id > 'sub_storm_10000099'").await;
            setup.settle().await;
        }
        for _ in 0..REOPENINGS {
            for (places, setup) in places.iter_mut().zip([few, many]) {
                let store = setup.reopen().await;
                let mut times = Vec::new();
                for _ in 0..CLAIMS {
                    let begun = Instant::now();
                    let mut unit = store.begin().await.expect("begins");
                    let due = unit.subscriptions().lock_due(&Scope::Wall, setup.now, 100, &[]).await.expect("claims");
                    times.push(begun.elapsed().as_secs_f64() * 1_000.0);
                    assert_eq!(due.len(), 100);
                    unit.commit().await.expect("ends");
                }
                places.push(median(times));
            }
        }
        let [few_times, many_times] = places.map(|mut places| {
            places.sort_by(f64::total_cmp);
            places[places.len() / 4]
        });
        figures.push(Figure { name: few.name("claim_due"), value: many_times, unit: "ms", baseline: Some(few_times), aim: 1.5 });
    }
    figures
}

pub async fn charge_concurrency() -> Vec<Figure> {
    const CHARGES: u32 = 1_600;
    let mut figures = Vec::new();
    for setup in Setup::both(u64::from(CHARGES), LATENCY).await {
        let mut attempts: Vec<AttemptId> = Vec::new();
        while attempts.len() < CHARGES as usize {
            attempts.extend(billing::renew_due(&setup.ctx, &Scope::Wall, setup.now, BATCH).await.expect("renews").attempts);
        }
        // Handle the messages of a batch as the workers of one process do.
        let networks = setup.ctx.networks.clone().with_concurrency_limit(Arc::new(NetworkConcurrencyLimit::of(CONCURRENCY)));
        let ctx = Context { networks, ..setup.ctx.clone() };
        let begun = Instant::now();
        let sent = stream::iter(attempts.chunks(MESSAGE)).map(|ids| {
            let (ctx, ids) = (ctx.clone(), ids.to_vec());
            tokio::spawn(async move { payment::charge(&ctx, &ids).await })
        });
        let sent: Vec<_> = sent.buffer_unordered(WORKERS).collect().await;
        sent.into_iter().for_each(|sent| sent.expect("ends").expect("charges"));
        let value = f64::from(CHARGES) / begun.elapsed().as_secs_f64();
        let baseline = Some(CONCURRENCY as f64 / LATENCY.as_secs_f64());
        figures.push(Figure { name: setup.name("charge_concurrency"), value, unit: "/s", baseline, aim: 0.9 });
    }
    figures
}

/// Reads a deep page of a customer's 1,000 invoices, alone and among a million.
pub async fn invoice_page() -> Vec<Figure> {
    // In both stores one customer has a thousand invoices at the same depth. No invoice is moved to the customer afterwards, because
    // PostgreSQL would read the dead rows until it vacuums them.
    const CLONE: &str =
        "INSERT INTO invoices (id, livemode, document, number, status, reason, description, name, name_zh, name_others, customer_id, currency_id, method_id, bill_to,
            total, amount_paid, amount_credited, failure_count, created_at, finalized_at, updated_at)
        WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
        SELECT 'in_' || (10000000 + n.i), t.livemode, t.document, n.i, t.status, t.reason, t.description, t.name, t.name_zh, t.name_others,
            'cus_storm_' || CASE WHEN n.i BETWEEN 1001 AND 2000 THEN 0 ELSE 1 + n.i % 19 END,
            t.currency_id, t.method_id, t.bill_to, t.total, t.amount_paid, t.amount_credited, t.failure_count, t.created_at, t.finalized_at,
            t.updated_at
        FROM n CROSS JOIN (SELECT * FROM invoices ORDER BY id LIMIT 1) t";
    let mut figures = Vec::new();
    let (few, many) = (Setup::both(20, Duration::ZERO).await, Setup::both(20, Duration::ZERO).await);
    for (few, many) in few.iter().zip(&many) {
        let mut times = [Vec::new(), Vec::new()];
        for (setup, count) in [(few, FEW), (many, MANY)] {
            billing::renew_due(&setup.ctx, &Scope::Wall, setup.now, 20).await.expect("renews");
            let mut connection = setup.database.begin().await.expect("begins");
            connection.query(CLONE).bind(1_000u64).bind(count + 1_000).execute().await.expect("writes");
            connection.commit().await.expect("commits");
            setup.settle().await;
        }
        let customer = CustomerId::parse("cus_storm_0").expect("an id");
        let filter = InvoiceFilter { customer_id: Some(customer), ..InvoiceFilter::default() };
        let page = Page { starting_after: Some("in_10001100".to_owned()), ..Page::new(None, Some(20)) };
        for _ in 0..1_000 {
            for (times, setup) in times.iter_mut().zip([few, many]) {
                let begun = Instant::now();
                let mut unit = setup.ctx.store.read().await.expect("reads");
                let listed = unit.invoices().list(Mode::Test, &filter, &page).await.expect("lists");
                times.push(begun.elapsed().as_secs_f64() * 1_000.0);
                assert_eq!(listed.list.len(), 20);
            }
        }
        let p99 = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() * 99 / 100]
        };
        let [few_times, many_times] = &mut times;
        let baseline = Some(p99(few_times));
        figures.push(Figure { name: few.name("invoice_page"), value: p99(many_times), unit: "ms", baseline, aim: 2.0 });
    }
    figures
}

/// Advances the test clock of a customer with 1,000 monthly subscriptions by a year. A quarter passes first, after which PostgreSQL knows
/// that its tables have grown: a store knows that after its first minutes, but it would plan this whole year for empty tables. The databases
/// take turns, so that a slow moment of the machine meets both.
pub async fn clock_year() -> Vec<Figure> {
    let id = ClockId::parse("clock_bench").expect("an id");
    let setups = Setup::both(1_000, Duration::ZERO).await;
    for setup in &setups {
        let clock = TestClock {
            id: id.clone(),
            name: "A year".to_owned(),
            customer_id: CustomerId::parse("cus_storm_0").expect("an id"),
            now: setup.now,
            target: None,
            timeline: Vec::new(),
            created_at: setup.now,
        };
        let mut unit = setup.ctx.store.begin().await.expect("begins");
        unit.clocks().insert(&clock).await.expect("writes");
        unit.commit().await.expect("commits");
        setup.write("UPDATE subscriptions SET clock_id = 'clock_bench', customer_id = 'cus_storm_0'").await;
        advance(&setup.ctx, &id, setup.now.plus(QUARTER)).await;
        setup.settle().await;
    }
    let mut seconds = vec![0.0; setups.len()];
    for passed in 1..=4 {
        for (seconds, setup) in seconds.iter_mut().zip(&setups) {
            let begun = Instant::now();
            advance(&setup.ctx, &id, setup.now.plus(QUARTER + QUARTER * passed)).await;
            *seconds += begun.elapsed().as_secs_f64();
        }
    }
    let figures = setups.iter().zip(&seconds).enumerate().map(|(index, (setup, &value))| {
        // SQLite is the reference for PostgreSQL.
        let (baseline, aim) = if index == 0 { (None, f64::INFINITY) } else { (Some(seconds[0]), 1.5) };
        Figure { name: setup.name("clock_year"), value, unit: "s", baseline, aim }
    });
    figures.collect()
}

async fn advance(ctx: &Context, clock: &ClockId, target: Timestamp) {
    billing::aim_clock(ctx, clock, target).await.expect("aims");
    while !billing::advance_clock(ctx, clock).await.expect("advances") {}
}
