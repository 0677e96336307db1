//! Limits what strangers make the sandbox store. The sandbox only knows the accounts that they name, and anybody can make up accounts.

use souk_api::Limits;
use souk_sandbox::{Admission, Write};
use std::sync::Arc;

pub fn admission(limits: Arc<Limits>) -> Admission {
    Admission::new(move |request, write| {
        match write {
            Write::TestTokens => limits.admit_faucet(request),
            Write::Transaction { kibibytes } => limits.admit_sandbox_transaction(request, kibibytes),
            Write::Card => limits.admit_sandbox_card(request),
            Write::CardStep => limits.admit_sandbox_card_step(request),
        }
        .map_err(poem::Error::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use poem::http::uri::Scheme;
    use poem::http::{Method, StatusCode, Uri};
    use poem::web::{LocalAddr, RemoteAddr};
    use poem::{Addr, Body, Endpoint, Request, RequestParts, Route};
    use serde_json::json;
    use souk_adapters::arcblock::TestWallet;
    use souk_adapters::identity::AppKey;
    use souk_sandbox::ledger::{Ledger, LedgerConfig};
    use souk_sandbox::store::SandboxDb;
    use souk_sandbox::{cards, ledger, time};

    const PUBLISHABLE: &str = "pk_sandbox_1";
    const SECRET: &str = "sk_sandbox_1";

    async fn sandbox(folder: &std::path::Path) -> Route {
        let clock = time::Clock::new(|| 1_000_000_000_000_000);
        let db = SandboxDb::open_sqlite(&folder.join("sandbox.db")).await.expect("opens");
        let app = AppKey::from_seed(&[2; 32]);
        let ledger = Ledger::open(db.clone(), clock.clone(), app.did().as_str(), LedgerConfig::default()).await.expect("opens");
        let config = cards::CardProcessorConfig {
            secret_key: cards::Secret::new(SECRET),
            publishable_key: PUBLISHABLE.to_owned(),
            webhook: None,
            faults: false,
        };
        let processor = cards::CardProcessor::open(db, clock, time::Random::new(|bytes| bytes.fill(1)), config).await.expect("opens");
        let admission = admission(Arc::new(Limits::default()));
        let ledger = ledger::routes(Arc::new(ledger), admission.clone());
        Route::new().nest("/arcblock", ledger).nest("/stripe", cards::routes(processor, admission))
    }

    async fn post(sandbox: &Route, path: &str, key: &str, body: String) -> StatusCode {
        let uri = path.parse::<Uri>().expect("a path");
        let request = poem::http::Request::builder().method(Method::POST).uri(uri).header("authorization", format!("Bearer {key}"));
        let from = RemoteAddr(Addr::SocketAddr("192.0.2.1:1000".parse().expect("an address")));
        let parts = RequestParts::from((request.body(()).expect("a request").into_parts().0, LocalAddr::default(), from, Scheme::HTTP));
        sandbox.get_response(Request::from_parts(parts, Body::from(body))).await.status()
    }

    /// The number of these requests that are refused because of a limit.
    async fn refused(sandbox: &Route, path: &str, key: &str, count: u32, body: impl Fn(u32) -> String) -> u32 {
        let mut refused = 0;
        for number in 0..count {
            refused += u32::from(post(sandbox, path, key, body(number)).await == StatusCode::TOO_MANY_REQUESTS);
        }
        refused
    }

    #[tokio::test]
    async fn one_visitor_gets_test_tokens_a_limited_number_of_times_however_many_accounts_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let sandbox = sandbox(folder.path()).await;
        let account = |number: u32| {
            let seed = std::array::from_fn(|index| number.to_le_bytes().get(index).copied().unwrap_or(7));
            json!({ "address": TestWallet::from_seed(&seed).did().as_str() }).to_string()
        };
        assert_eq!(refused(&sandbox, "/arcblock/faucet", "", 610, account).await, 10);
    }

    #[tokio::test]
    async fn one_visitor_sends_a_limited_number_of_transactions_to_the_ledger() {
        let folder = tempfile::tempdir().expect("a folder");
        let sandbox = sandbox(folder.path()).await;
        let send = |_| json!({ "query": "mutation{sendTx(tx: \"AAAA\"){code}}" }).to_string();
        assert_eq!(refused(&sandbox, "/arcblock/api", "", 266, send).await, 10);
        let read = |_| json!({ "query": "{getChainInfo{code}}" }).to_string();
        assert_eq!(refused(&sandbox, "/arcblock/api", "", 10, read).await, 0, "reads are not limited");
    }

    #[tokio::test]
    async fn one_visitor_takes_a_limited_number_of_steps_at_the_card_processor_and_the_store_any_number() {
        let folder = tempfile::tempdir().expect("a folder");
        let sandbox = sandbox(folder.path()).await;
        let path = "/stripe/v1/payment_intents/pi_1/confirm";
        assert!(refused(&sandbox, path, PUBLISHABLE, 400, |_| String::new()).await > 50);
        assert_eq!(refused(&sandbox, path, SECRET, 400, |_| String::new()).await, 0);
    }
}
