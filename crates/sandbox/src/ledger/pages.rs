//! The explorer's HTML pages of a transaction and an account, without scripts.

use super::state::{Account, Entry};
use super::{TOKEN_DECIMALS, TOKEN_NAME, TOKEN_SYMBOL};
use crate::time::Timestamp;
use serde_json::Value;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1d2129;background:#fff}\
h1{font-size:1.25rem}dl{display:grid;grid-template-columns:9rem 1fr;gap:.5rem 1rem}dt{color:#5c6370}dd{margin:0;overflow-wrap:anywhere}\
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .5rem .4rem 0;border-bottom:1px solid #dfe1e6;overflow-wrap:anywhere}\
a{color:#0b5fff}pre{background:#f5f6f8;padding:1rem;overflow:auto;border-radius:6px}code{font-size:.875rem}.note{color:#5c6370}\
@media(prefers-color-scheme:dark){body{color:#e6e8ec;background:#14161a}dt,.note{color:#a0a6b1}a{color:#7aa7ff}pre{background:#1e2127}th,td{border-color:#33373f}}";

fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style><main><h1>{title}</h1>{body}\
         <p class=\"note\">This is the sandbox's ledger. Its money is not real.</p></main></html>"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn rows(facts: &[(&str, String)]) -> String {
    let rows: String = facts.iter().map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>")).collect();
    format!("<dl>{rows}</dl>")
}

/// An amount with its symbol.
pub fn tokens(base_units: u128) -> String {
    let unit = 10_u128.pow(TOKEN_DECIMALS);
    let fraction = format!("{:0width$}", base_units % unit, width = TOKEN_DECIMALS as usize);
    let shown = format!("{}.{fraction}", base_units / unit);
    format!("{} {TOKEN_SYMBOL}", shown.trim_end_matches('0').trim_end_matches('.'))
}

/// `up` is the relative path from the page to the explorer's root.
fn account_link(address: &str, up: &str) -> String {
    let address = escaped(address);
    format!("<a href=\"{up}accounts/{address}/tokens\"><code>{address}</code></a>")
}

fn time(micros: i64) -> String {
    format!("<time>{}</time>", Timestamp::from_micros(micros).to_iso())
}

pub fn transaction(entry: &Entry) -> String {
    let facts = [
        ("Hash", format!("<code>{}</code>", escaped(&entry.hash))),
        ("Result", escaped(&entry.code)),
        ("Time", time(entry.at)),
        ("Type", format!("<code>{}</code>", escaped(&entry.type_url))),
        ("From", account_link(&entry.sender, "../")),
        ("To", account_link(&entry.receiver, "../")),
    ];
    let itx = serde_json::to_string_pretty(&entry.tx["itxJson"]).unwrap_or_default();
    let body = format!("{}{}<pre><code>{}</code></pre>", rows(&facts), changes(&entry.receipts), escaped(&itx));
    page("Transaction", &body)
}

fn changes(receipts: &Value) -> String {
    let mut lines = String::new();
    for receipt in receipts.as_array().into_iter().flatten() {
        for change in receipt["changes"].as_array().into_iter().flatten() {
            let value = change["value"].as_str().unwrap_or_default();
            let (sign, digits) = value.strip_prefix('-').map_or(("+", value), |digits| ("\u{2212}", digits));
            let shown = digits.parse().map_or_else(|_| escaped(digits), tokens);
            let account = account_link(receipt["address"].as_str().unwrap_or_default(), "../");
            lines.push_str(&format!("<tr><td>{account}</td><td>{sign}{shown}</td></tr>"));
        }
    }
    if lines.is_empty() {
        return "<p>Nothing was moved.</p>".to_owned();
    }
    format!("<table><thead><tr><th scope=\"col\">Account</th><th scope=\"col\">Change</th></tr></thead><tbody>{lines}</tbody></table>")
}

pub fn account(account: &Account, entries: &[Entry]) -> String {
    let facts = [
        ("Address", format!("<code>{}</code>", escaped(&account.address))),
        (TOKEN_NAME, tokens(account.balance)),
        ("Known since", time(account.created_at)),
    ];
    let lines: String = entries
        .iter()
        .map(|entry| {
            let hash = escaped(&entry.hash);
            format!(
                "<tr><td><a href=\"../../txs/{hash}\"><code>{}…</code></a></td><td>{}</td><td>{}</td></tr>",
                hash.get(..12).unwrap_or(&hash),
                escaped(&entry.code),
                time(entry.at)
            )
        })
        .collect();
    let table = format!(
        "<table><thead><tr><th scope=\"col\">Transaction</th><th scope=\"col\">Result</th><th scope=\"col\">Time</th></tr></thead><tbody>{lines}</tbody></table>"
    );
    page("Account", &format!("{}{table}", rows(&facts)))
}

pub fn missing(what: &str) -> String {
    page("Not found", &format!("<p>The ledger knows no such {what}.</p>"))
}
