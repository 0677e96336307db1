//! `/metrics` and the log, as an operator's tools read them.

use crate::buyer::{Buyer, End, GOOD, Plan};
use crate::crash::links;
use crate::souk::Settings;
use crate::store_client::StoreClient;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TOKEN: &str = "0123456789abcdef";

/// The value of the first series that begins with `name` and has each of `labels`.
fn value(text: &str, name: &str, labels: &[&str]) -> Option<f64> {
    let of = |line: &&str| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{'])) && labels.iter().all(|label| line.contains(label))
    };
    text.lines().find(of).and_then(|line| line.rsplit(' ').next()?.parse().ok())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_tell_what_the_store_did_and_how_far_it_is_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = vec!["--health-listen=127.0.0.1:0".to_owned(), format!("--metrics-token={TOKEN}"), "--log-format=json".to_owned()];
    let souk = Settings { options, ..Settings::sqlite(folder.path()) }.start().await;
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let mut links = links(&client).await;
    links.truncate(2);
    let buyer = Buyer::arrive(Arc::clone(&client), 1).await;
    for (link, plan) in links.iter().zip([Plan::Wallet, Plan::Card(GOOD)]) {
        let bought = buyer.buy(link, plan).await;
        assert!(matches!(bought, End::Complete(_)), "{bought:?}");
    }
    client.get("api/checkout-sessions/retrieve/cs_unknown", None).await.expect_err("no such session");

    let http = reqwest::Client::builder().timeout(Duration::from_secs(30)).no_proxy().build().expect("a client");
    let health = souk.health.clone().expect("a listener for health checks").join("metrics").expect("a path");
    let begun = Instant::now();
    let text = loop {
        let answer = http.get(health.clone()).send().await.expect("answers");
        assert!(answer.headers()["content-type"].to_str().expect("text").starts_with("application/openmetrics-text"));
        let text = answer.text().await.expect("text");
        if value(&text, "souk_mails_total", &["done"]).is_some_and(|mails| mails >= 2.0) {
            break text;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the receipts are not counted:\n{text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let submit = ["method=\"PUT\"", "route=\"/api/checkout-sessions/:param0/submit\"", "status=\"200\""];
    assert!(value(&text, "souk_http_requests_total", &submit).is_some_and(|count| count >= 2.0), "{text}");
    assert!(value(&text, "souk_http_requests_total", &["checkout-sessions/retrieve/:param0", "status=\"404\""]).is_some(), "{text}");
    assert!(!links.iter().any(|link| text.contains(link)) && !text.contains("cs_unknown"), "a path of a client is a label: {text}");
    for network in ["arcblock", "stripe"] {
        let label = format!("network=\"{network}\"");
        assert!(value(&text, "souk_attempt_outcomes_total", &[&label, "settled"]).is_some_and(|count| count >= 1.0), "{text}");
        assert_eq!(value(&text, "souk_network_breaker", &[&label, "method=\"pm_"]), Some(0.0), "{text}");
    }
    for work in ["renewals", "retries", "attempts", "stakes"] {
        assert!(value(&text, "souk_due_lag_seconds", &[&format!("work=\"{work}\"")]).is_some(), "{work}: {text}");
    }
    for work in ["renewals", "retries", "attempts", "stakes", "subscriptions", "payments"] {
        assert_eq!(value(&text, "souk_waiting_rows", &[&format!("work=\"{work}\"")]), Some(0.0), "{work}: {text}");
    }
    for name in ["souk_outbox_age_seconds", "souk_dead_letters", "souk_database_connections", "souk_database_pool_waits"] {
        assert!(value(&text, name, &[]).is_some(), "{name}: {text}");
    }
    assert!(value(&text, "souk_jobs_total", &["receipt_mail", "done"]).is_some_and(|count| count >= 2.0), "{text}");

    // On the store's own address, only the token opens them.
    let public = souk.address.join("metrics").expect("a path");
    assert_eq!(http.get(public.clone()).send().await.expect("answers").status().as_u16(), 401);
    assert_eq!(http.get(public.clone()).bearer_auth("0123456789abcdeg").send().await.expect("answers").status().as_u16(), 401);
    let permitted = http.get(public).bearer_auth(TOKEN).send().await.expect("answers");
    assert_eq!(permitted.status().as_u16(), 200);

    let log = souk.whole_log();
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).expect("a JSON object per line")).collect();
    assert!(lines.iter().any(|line| line["message"] == "a job is done" && line["level"] == "DEBUG"), "{log}");
    souk.kill().await;
}

#[tokio::test]
async fn without_an_address_or_a_token_there_are_no_metrics() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let souk = Settings::sqlite(folder.path()).start().await;
    let answer = reqwest::get(souk.address.join("metrics").expect("a path")).await.expect("answers");
    let text = answer.text().await.expect("text");
    assert!(!text.contains("souk_http_requests"), "{text}");
    souk.kill().await;
}
