//! Lists the transactions of the store's account since a time, for a restored store.

use super::graphql::quoted;
use super::outcome::{OK, net_change};
use super::rail::{ArcblockRail, Chain};
use serde_json::Value;
use souk_domain::access::Did;
use souk_domain::payment::{ChargedPeriod, Currency, Method, Movement, RailError};
use souk_domain::shared::Timestamp;

/// Transactions of one answer.
const PAGE: usize = 100;
/// The most pages of one import.
const MAX_PAGES: usize = 1_000;

impl ArcblockRail {
    pub(super) async fn movements_listed(
        &self,
        method: &Method,
        currencies: &[Currency],
        since: Timestamp,
    ) -> Result<Vec<Movement>, RailError> {
        let Chain { address, .. } = self.chain(method)?;
        let (app, mut cursor, mut movements) = (self.app().did(), String::new(), Vec::new());
        for _ in 0..MAX_PAGES {
            let answer = self.query(&address, &query(app, since, &cursor)).await?;
            let list = &answer["listTransactions"];
            let transactions = list["transactions"].as_array().ok_or_else(|| unreadable("the list of transactions is missing"))?;
            for transaction in transactions.iter().filter(|transaction| transaction["code"] == OK) {
                for currency in currencies {
                    movements.extend(movement(app, currency, transaction)?);
                }
            }
            let next = list["page"]["cursor"].as_str().unwrap_or_default();
            if list["page"]["next"] != true || next.is_empty() {
                return Ok(movements);
            }
            cursor = next.to_owned();
        }
        Err(unreadable("the list has too many transactions to read all of them"))
    }
}

fn query(app: &Did, since: Timestamp, cursor: &str) -> String {
    let (app, since, cursor) = (quoted(app.as_str()), quoted(&since.to_iso()), quoted(cursor));
    format!(
        "{{listTransactions(addressFilter: {{sender: {app}, receiver: {app}, direction: UNION}}, timeFilter: {{startDateTime: {since}, \
         field: \"time\"}}, validityFilter: {{validity: VALID}}, paging: {{size: {PAGE}, cursor: {cursor}}}){{code page{{cursor next}} \
         transactions{{code hash time sender tx{{from itxJson}} receipts{{address changes{{target action value}}}}}}}}}}"
    )
}

/// The amount of a currency that a transaction has moved to or from the store. `None`: it has moved nothing.
fn movement(app: &Did, currency: &Currency, transaction: &Value) -> Result<Option<Movement>, RailError> {
    let change = net_change(app.as_str(), &transaction["receipts"], currency).ok_or_else(|| unreadable("a receipt is not an amount"))?;
    if change.amount.is_zero() {
        return Ok(None);
    }
    let itx = &transaction["tx"]["itxJson"];
    let from = transaction["tx"]["from"].as_str().or(transaction["sender"].as_str()).unwrap_or_default();
    let account = match change.is_gain {
        true => from,
        false => itx["to"].as_str().or(itx["outputs"][0]["owner"].as_str()).unwrap_or_default(),
    };
    let data = &itx["data"]["value"];
    let hash = transaction["hash"].as_str().ok_or_else(|| unreadable("a transaction has no hash"))?;
    let at = transaction["time"].as_str().and_then(Timestamp::parse_iso).ok_or_else(|| unreadable("a transaction has no time"))?;
    Ok(Some(Movement {
        reference: hash.to_owned(),
        attempt: None,
        period: ChargedPeriod::of(|name| data[name].as_str()),
        is_incoming: change.is_gain,
        account: account.to_owned(),
        amount: change.amount,
        currency_id: currency.id.clone(),
        at,
    }))
}

fn unreadable(reason: &str) -> RailError {
    RailError::Unreachable(reason.to_owned())
}
