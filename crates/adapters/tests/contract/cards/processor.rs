//! The processor's own behavior: API keys, idempotency, refunds, saved cards, events, pages.

use super::bench::{ACCEPTED, ALWAYS_SECOND_STEP, Bench, DECLINED, HttpResponse, PUBLISHABLE_KEY, SECOND_STEP, SECRET_KEY, card};
use reqwest::Method as Verb;
use serde_json::json;
use souk_adapters::on_both;

pub struct Customer {
    pub id: String,
    pub method: String,
}

/// Creates a customer who has saved a card in the browser.
pub async fn customer_with(bench: &Bench, number: &str) -> Customer {
    let created = bench.server(Verb::POST, "/v1/customers", &[("name", "Ada"), ("email", "ada@example.org")]).await;
    let id = text(&created, "id");
    let setup = bench.server(Verb::POST, "/v1/setup_intents", &[("customer", &id), ("payment_method_types[]", "card")]).await;
    let (setup_id, secret) = (text(&setup, "id"), text(&setup, "client_secret"));
    let mut form = vec![("client_secret", secret.as_str())];
    form.extend(card(number));
    let mut confirmed = bench.browser(Verb::POST, &format!("/v1/setup_intents/{setup_id}/confirm"), &form).await;
    if confirmed.body["status"] == "requires_action" {
        let form = [("client_secret", secret.as_str()), ("success", "true")];
        confirmed = bench.browser(Verb::POST, &format!("/v1/setup_intents/{setup_id}/authenticate"), &form).await;
    }
    assert_eq!(confirmed.body["status"], "succeeded");
    Customer { id, method: text(&confirmed, "payment_method") }
}

fn text(seen: &HttpResponse, field: &str) -> String {
    seen.body[field].as_str().unwrap_or_else(|| panic!("{field} in {}", seen.body)).to_owned()
}

fn code(seen: &HttpResponse) -> (u16, &str) {
    (seen.status, seen.body["error"]["code"].as_str().unwrap_or_default())
}

async fn charge_off_session(bench: &Bench, customer: &Customer) -> HttpResponse {
    let form = [
        ("amount", "900"),
        ("currency", "usd"),
        ("customer", &customer.id),
        ("payment_method", &customer.method),
        ("confirm", "true"),
        ("off_session", "true"),
        ("metadata[attempt]", "att_1"),
    ];
    bench.server(Verb::POST, "/v1/payment_intents", &form).await
}

on_both! {
    async fn each_api_key_gives_access_to_its_own_endpoints(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        let path = format!("/v1/payment_intents/{}", intent.provider_id);
        assert_eq!(bench.call("", Verb::GET, &path, &[], None).await.status, 401);
        assert_eq!(bench.call("sk_wrong", Verb::GET, &path, &[], None).await.status, 401);
        assert_eq!(code(&bench.browser(Verb::POST, "/v1/payment_intents", &[("amount", "1000"), ("currency", "usd")]).await), (403, "secret_key_required"));
        assert_eq!(code(&bench.browser(Verb::POST, &format!("{path}/cancel"), &[]).await), (403, "secret_key_required"));
        assert_eq!(code(&bench.browser(Verb::GET, &path, &[]).await), (404, "resource_missing"));
        assert_eq!(code(&bench.browser(Verb::GET, &path, &[("client_secret", "pi_x_secret_x")]).await), (404, "resource_missing"));

        let seen = bench.browser(Verb::GET, &path, &[("client_secret", &intent.client_secret)]).await;
        assert_eq!((seen.status, &seen.body["status"]), (200, &"requires_payment_method".into()));
        assert!(seen.body.get("metadata").is_none(), "what the server notes is not the browser's");
        assert_eq!(bench.server(Verb::GET, &path, &[]).await.body["metadata"], json!({ "attempt": "att_1" }));
    }

    async fn an_intent_has_the_fields_of_stripes_intent(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        let seen = bench.server(Verb::GET, &format!("/v1/payment_intents/{}", intent.provider_id), &[]).await.body;
        let expected = json!({
            "id": intent.provider_id, "object": "payment_intent", "amount": 1000, "amount_capturable": 0, "amount_received": 0,
            "automatic_payment_methods": null, "canceled_at": null, "cancellation_reason": null, "capture_method": "automatic", "client_secret": intent.client_secret,
            "confirmation_method": "automatic", "created": 1_768_478_400, "currency": "usd", "customer": null, "description": "An app",
            "last_payment_error": null, "latest_charge": null, "livemode": false, "metadata": { "attempt": "att_1" }, "next_action": null,
            "payment_method": null, "payment_method_types": ["card"], "receipt_email": null, "setup_future_usage": null,
            "status": "requires_payment_method",
        });
        assert_eq!(seen, expected);
    }

    async fn an_idempotency_key_replays_its_response_and_rejects_other_parameters(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let post = async |form: &[(&str, &str)]| bench.call(SECRET_KEY, Verb::POST, "/v1/payment_intents", form, Some("key_1")).await;
        let refused = post(&[("amount", "1"), ("currency", "usd")]).await;
        assert_eq!(code(&refused), (400, "amount_too_small"));
        let first = post(&[("amount", "1000"), ("currency", "usd")]).await;
        assert_eq!((first.status, first.replayed), (200, false), "a refused call does not use up its key");
        let again = post(&[("currency", "usd"), ("amount", "1000")]).await;
        assert_eq!((again.status, again.replayed, &again.body), (200, true, &first.body));
        let other = post(&[("amount", "1001"), ("currency", "usd")]).await;
        assert_eq!((other.status, &other.body["error"]["type"]), (400, &"idempotency_error".into()));
        let elsewhere = bench.call(SECRET_KEY, Verb::POST, "/v1/customers", &[], Some("key_1")).await;
        assert_eq!((elsewhere.status, &elsewhere.body["error"]["type"]), (400, &"idempotency_error".into()));
    }

    async fn requests_that_stripe_rejects_are_rejected(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let good = [("amount", "1000"), ("currency", "usd")];
        for (more, status, expected) in [
            (("amount", "0"), 400, "parameter_invalid_integer"),
            (("amount", "-5"), 400, "parameter_invalid_integer"),
            (("amount", "10.5"), 400, "parameter_invalid_integer"),
            (("amount", "49"), 400, "amount_too_small"),
            (("amount", "100000000"), 400, "amount_too_large"),
            (("currency", "xyz"), 400, "parameter_invalid"),
            (("currency", "usdc"), 400, "parameter_invalid"),
            (("currency", ""), 400, "parameter_missing"),
            (("payment_method_types[]", "sepa_debit"), 400, "parameter_invalid"),
            (("automatic_payment_methods[allow_redirects]", "never"), 400, "parameter_missing"),
            (("automatic_payment_methods[enabled]", "maybe"), 400, "parameter_invalid_boolean"),
            (("automatic_payment_methods[color]", "red"), 400, "parameter_unknown"),
            (("expand[]", "invoice"), 400, "parameter_invalid"),
            (("off_session", "true"), 400, "parameter_invalid"),
            (("confirm", "yes"), 400, "parameter_invalid_boolean"),
            (("color", "red"), 400, "parameter_unknown"),
            (("customer", "cus_none"), 404, "resource_missing"),
            (("payment_method", "pm_none"), 404, "resource_missing"),
        ] {
            let mut form: Vec<_> = good.into_iter().filter(|(name, _)| *name != more.0).collect();
            form.push(more);
            let seen = bench.server(Verb::POST, "/v1/payment_intents", &form).await;
            assert_eq!(code(&seen), (status, expected), "{more:?}");
        }
        assert_eq!(bench.server(Verb::GET, "/v1/unheard_of", &[]).await.status, 404);
        let intent = bench.open_intent("att_1", 1_000).await;
        assert_eq!(code(&bench.confirm(&intent, "4242424242424241").await), (402, "incorrect_number"));
        let live = bench.confirm(&intent, "5555555555554444").await;
        assert_eq!(live.body["error"]["decline_code"], "test_mode_live_card");
        assert!(bench.charged().await.is_empty());
    }

    async fn a_currency_is_read_in_upper_case_and_shown_in_lower_case(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        for currency in ["USD", "Eur", "jpy"] {
            let seen = bench.server(Verb::POST, "/v1/payment_intents", &[("amount", "1000"), ("currency", currency)]).await;
            assert_eq!((seen.status, &seen.body["currency"]), (200, &currency.to_lowercase().into()), "{}", seen.body);
        }
    }

    async fn automatic_payment_methods_exclude_a_list_of_types(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let automatic = ("automatic_payment_methods[enabled]", "true");
        let form = [("amount", "1000"), ("currency", "usd"), automatic, ("automatic_payment_methods[allow_redirects]", "never")];
        let opened = bench.server(Verb::POST, "/v1/payment_intents", &form).await;
        let expected = json!({ "enabled": true, "allow_redirects": "never" });
        assert_eq!((opened.status, &opened.body["automatic_payment_methods"]), (200, &expected), "{}", opened.body);
        let (path, secret) = (format!("/v1/payment_intents/{}/confirm", text(&opened, "id")), text(&opened, "client_secret"));
        let mut form = vec![("client_secret", secret.as_str())];
        form.extend(card(ACCEPTED));
        assert_eq!(bench.browser(Verb::POST, &path, &form).await.body["status"], "succeeded");

        let setup = bench.server(Verb::POST, "/v1/setup_intents", &[automatic]).await;
        assert_eq!(setup.body["automatic_payment_methods"], json!({ "enabled": true, "allow_redirects": "always" }), "{}", setup.body);
        let both = [("amount", "1000"), ("currency", "usd"), automatic, ("payment_method_types[]", "card")];
        assert_eq!(code(&bench.server(Verb::POST, "/v1/payment_intents", &both).await), (400, "parameter_invalid"));
        assert_eq!(code(&bench.server(Verb::POST, "/v1/setup_intents", &both[2..]).await), (400, "parameter_invalid"));
    }

    async fn the_latest_charge_can_be_expanded(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        let path = format!("/v1/payment_intents/{}", intent.provider_id);
        let read = async || bench.server(Verb::GET, &path, &[("expand[]", "latest_charge")]).await.body["latest_charge"].clone();
        assert_eq!(read().await, json!(null), "nothing was charged");
        bench.confirm(&intent, ACCEPTED).await;
        let charge = read().await;
        assert_eq!((&charge["object"], &charge["amount"], &charge["payment_intent"]), (&"charge".into(), &1000.into(), &json!(intent.provider_id)));
        let plain = bench.server(Verb::GET, &path, &[]).await.body["latest_charge"].clone();
        assert_eq!(plain, charge["id"]);
        let form = [("client_secret", intent.client_secret.as_str()), ("expand[]", "latest_charge")];
        assert!(bench.browser(Verb::GET, &path, &form).await.body.get("latest_charge").is_none(), "a browser does not see the charge");
    }

    async fn each_answer_has_its_own_request_id(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let form = [("amount", "1000"), ("currency", "usd")];
        let mut ids = Vec::new();
        for _ in 0..2 {
            ids.push(bench.call(SECRET_KEY, Verb::POST, "/v1/payment_intents", &form, Some("key_1")).await.request_id);
        }
        ids.push(bench.server(Verb::GET, "/v1/unheard_of", &[]).await.request_id);
        ids.push(bench.call("", Verb::GET, "/v1/balance", &[], None).await.request_id);
        assert!(ids.iter().all(|id| id.starts_with("req_") && id.len() > 10), "{ids:?}");
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 4);
    }

    async fn refunds_never_exceed_the_charge(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        let refund = async |form: &[(&str, &str)]| {
            let mut whole = vec![("payment_intent", intent.provider_id.as_str())];
            whole.extend(form);
            bench.server(Verb::POST, "/v1/refunds", &whole).await
        };
        assert_eq!(code(&refund(&[]).await), (400, "payment_intent_unexpected_state"), "nothing was charged");
        bench.confirm(&intent, ACCEPTED).await;
        assert_eq!(code(&refund(&[("amount", "1001")]).await), (400, "amount_too_large"));

        let race = futures_util::future::join_all((0..6).map(|_| refund(&[("amount", "300")]))).await;
        assert_eq!(race.iter().filter(|seen| seen.status == 200).count(), 3);
        assert!(race.iter().filter(|seen| seen.status != 200).all(|seen| code(seen) == (400, "amount_too_large")));

        let rest = refund(&[]).await;
        assert_eq!((rest.status, &rest.body["amount"], &rest.body["status"]), (200, &100.into(), &"succeeded".into()));
        assert_eq!(code(&refund(&[]).await), (400, "charge_already_refunded"));
        let balance = bench.server(Verb::GET, "/v1/balance", &[]).await.body;
        assert_eq!(balance, json!({ "object": "balance", "available": [{ "amount": 0, "currency": "usd" }], "pending": [], "livemode": false }));
    }

    async fn a_saved_card_is_charged_off_session(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let customer = customer_with(&bench, ACCEPTED).await;
        let seen = charge_off_session(&bench, &customer).await;
        assert_eq!((seen.status, &seen.body["status"], &seen.body["amount_received"]), (200, &"succeeded".into(), &900.into()));
        let stranger = customer_with(&bench, ACCEPTED).await;
        let stolen = Customer { id: stranger.id, method: customer.method };
        assert_eq!(code(&charge_off_session(&bench, &stolen).await), (400, "payment_method_unexpected_state"));
        assert_eq!(bench.charged().await, ["att_1"]);
    }

    async fn a_card_that_requires_authentication_cannot_be_charged_off_session(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let customer = customer_with(&bench, ALWAYS_SECOND_STEP).await;
        let seen = charge_off_session(&bench, &customer).await;
        assert_eq!(code(&seen), (402, "authentication_required"));
        let intent = &seen.body["error"]["payment_intent"];
        assert_eq!((&intent["status"], &intent["last_payment_error"]["code"]), (&"requires_payment_method".into(), &"authentication_required".into()));
        assert!(bench.charged().await.is_empty());
    }

    async fn a_declined_card_cannot_be_attached(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let customer = text(&bench.server(Verb::POST, "/v1/customers", &[]).await, "id");
        for (number, status) in [(ACCEPTED, 200), (DECLINED, 402)] {
            let form = [("type", "card"), ("card[number]", number), ("card[exp_month]", "12"), ("card[exp_year]", "30"), ("card[cvc]", "123")];
            let method = text(&bench.browser(Verb::POST, "/v1/payment_methods", &form).await, "id");
            let attached = bench.server(Verb::POST, &format!("/v1/payment_methods/{method}/attach"), &[("customer", &customer)]).await;
            assert_eq!(attached.status, status);
        }
    }

    async fn events_are_listed_newest_first_in_pages(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        for name in ["a", "b", "c"] {
            bench.server(Verb::POST, "/v1/customers", &[("name", name)]).await;
            bench.clock.advance(std::time::Duration::from_secs(1));
        }
        let first = bench.server(Verb::GET, "/v1/events", &[("limit", "2")]).await.body;
        assert_eq!((&first["has_more"], &first["data"][0]["data"]["object"]["name"]), (&true.into(), &"c".into()));
        let last = first["data"][1]["id"].as_str().expect("an id").to_owned();
        let second = bench.server(Verb::GET, "/v1/events", &[("limit", "2"), ("starting_after", &last)]).await.body;
        assert_eq!((&second["has_more"], &second["data"][0]["data"]["object"]["name"]), (&false.into(), &"a".into()));
        assert_eq!(second["data"].as_array().expect("a list").len(), 1);
        let one = bench.server(Verb::GET, &format!("/v1/events/{last}"), &[]).await.body;
        assert_eq!(one, first["data"][1]);
    }

    async fn pages_show_a_payment_without_its_secrets(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let form = [("amount", "1000"), ("currency", "usd"), ("description", "<script>alert(1)</script>"), ("receipt_email", "ada@example.org")];
        let intent = bench.server(Verb::POST, "/v1/payment_intents", &form).await;
        let (id, secret) = (text(&intent, "id"), text(&intent, "client_secret"));
        let (status, page) = bench.page(&format!("/dashboard/payments/{id}")).await;
        assert_eq!(status, 200);
        assert!(page.contains(&id) && page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
        for hidden in ["<script>", secret.as_str(), "ada@example.org"] {
            assert!(!page.contains(hidden), "{hidden}");
        }
        assert_eq!(bench.page("/dashboard/payments/pi_none").await.0, 404);
    }

    async fn the_verification_step_has_its_own_page(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        let action = bench.confirm(&intent, SECOND_STEP).await.body["next_action"].clone();
        let address = action["challenge_url"].as_str().expect("an address").strip_prefix("/sandbox/stripe").expect("the mount");
        let (status, page) = bench.page(address).await;
        assert!(status == 200 && page.contains("method=\"post\""), "{page}");
        let done = reqwest::Client::builder().no_proxy().build().expect("a client").post(format!("{}/sandbox/stripe{address}", bench.address)).form(&[("success", "true")]).send().await;
        assert_eq!(done.expect("an answer").status(), 200);
        assert_eq!(bench.charged().await, ["att_1"]);
    }

    async fn preflight_requests_are_answered(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        assert_eq!(bench.call(PUBLISHABLE_KEY, Verb::OPTIONS, "/v1/payment_intents", &[], None).await.status, 204);
    }
}
