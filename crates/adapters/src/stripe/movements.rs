//! Lists the payments of an account since a time, for a restored store.

use super::rail::{INTENTS, StripeRail};
use serde::Deserialize;
use souk_domain::payment::{ChargedPeriod, Currency, Method, Movement, RailError};
use souk_domain::shared::{Amount, AttemptId, Timestamp};
use std::collections::BTreeMap;

/// The most payments of one import, in pages of 100.
const MAX_PAGES: usize = 1_000;

#[derive(Deserialize)]
struct ListedIntent {
    id: String,
    status: String,
    amount: u64,
    amount_received: u64,
    currency: String,
    created: i64,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

impl StripeRail {
    /// Payments that were received or may still be. Payments that belong to other software on the same account name no attempt.
    pub(super) async fn movements_listed(
        &self,
        method: &Method,
        currencies: &[Currency],
        since: Timestamp,
    ) -> Result<Vec<Movement>, RailError> {
        let list = format!("{INTENTS}?created[gte]={}", since.seconds());
        let intents: Vec<ListedIntent> = self.objects(method, &list, MAX_PAGES).await?;
        Ok(intents.into_iter().filter_map(|intent| movement(intent, currencies)).collect())
    }
}

fn movement(intent: ListedIntent, currencies: &[Currency]) -> Option<Movement> {
    let amount = match intent.status.as_str() {
        "succeeded" => intent.amount_received,
        "processing" => intent.amount,
        _ => return None,
    };
    let field = |name: &str| intent.metadata.get(name).map(String::as_str);
    // Without it, another program that shares the account has made the payment.
    let attempt = AttemptId::parse(field("attempt")?).ok()?;
    Some(Movement {
        attempt: Some(attempt),
        period: ChargedPeriod::of(field),
        is_incoming: true,
        account: String::new(),
        amount: Amount::new(u128::from(amount)),
        currency_id: currencies.iter().find(|currency| currency.contract == intent.currency)?.id.clone(),
        at: Timestamp::from_seconds(intent.created),
        reference: intent.id,
    })
}
