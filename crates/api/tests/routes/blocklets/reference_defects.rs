//! The defects of the reference store (reference/store.md 8.1), each with the tests that show that this store does not have it.

use super::Publishing;
use super::reading::get;
use crate::admin::app::Who;
use poem::http::{Method, StatusCode};
use std::net::TcpListener;
use std::path::Path;

const API: &str = "crates/api/tests/routes";
const CONTRACT: &str = "crates/adapters/tests/contract";
const ADAPTERS: &str = "crates/adapters/src";
const DOMAIN: &str = "crates/domain/src/publishing";

/// A defect, and the tests: a folder, a file in it, and a name.
type Defect = (&'static str, &'static [(&'static str, &'static str, &'static str)]);

const DEFECTS: [Defect; 21] = [
    (
        "1. Every member of an organization has the rights of an administrator.",
        &[(API, "permissions/mod.rs", "each_endpoint_answers_its_callers_and_refuses_all_others")],
    ),
    (
        "2. Anybody sets the price of an app.",
        &[
            (API, "blocklets/selling.rs", "only_the_developer_of_an_app_sets_its_price_and_reviewers_see_it"),
            (API, "permissions/mod.rs", "the_endpoints_of_an_app_exist_for_its_own_people_only"),
        ],
    ),
    (
        "2. Anybody calls the webhook of payments, and a repetition grants the app again.",
        &[
            (API, "webhooks.rs", "only_events_signed_by_the_processor_are_accepted"),
            (API, "webhooks.rs", "an_event_settles_a_payment_whose_page_was_closed"),
            (CONTRACT, "entitlements.rs", "repeated_grants_for_one_purchase_create_one_entitlement"),
        ],
    ),
    (
        "3. What a stranger uploads is stored and unpacked before anything is checked.",
        &[
            (API, "blocklets/load.rs", "a_stranger_is_refused_before_the_bundle_is_received"),
            (API, "blocklets/hostile.rs", "a_hostile_upload_is_refused_with_its_message_and_leaves_nothing"),
        ],
    ),
    (
        "3. Uploads have no limits.",
        &[
            (API, "blocklets/load.rs", "the_memory_of_an_upload_does_not_grow_with_its_bundle"),
            (API, "blocklets/load.rs", "the_memory_of_a_hostile_upload_is_bounded"),
            (API, "blocklets/load.rs", "a_sender_without_progress_is_refused"),
            (API, "blocklets/load.rs", "a_developer_has_few_uploads_at_a_time"),
        ],
    ),
    (
        "3. Names in a manifest lead out of their folder.",
        &[
            (API, "blocklets/hostile.rs", "a_hostile_upload_is_refused_with_its_message_and_leaves_nothing"),
            (ADAPTERS, "bundles/hostile_tests.rs", "a_path_that_leaves_its_folder_is_refused_however_it_is_written"),
            (ADAPTERS, "bundles/unpack.rs", "nothing_is_written_outside_of_the_folder"),
        ],
    ),
    (
        "4. Whoever knows the DID reads drafts and rejected versions, with their pictures, texts and bundles.",
        &[
            (API, "blocklets/reading.rs", "a_draft_is_readable_by_its_developer_and_by_reviewers_only"),
            (API, "blocklets/comparison.rs", "comparisons_and_pictures_of_versions_exist_for_their_developer_and_for_reviewers_only"),
            (API, "blocklets/checks.rs", "checks_are_for_the_developer_and_for_reviewers"),
            (API, "blocklets/reviews.rs", "reviews_exist_for_the_developer_of_the_app_and_for_reviewers_only"),
        ],
    ),
    (
        "4. The extended document contains a delegation and internal remarks.",
        &[(API, "blocklets/reference_defects.rs", "a_query_adds_nothing_to_a_document")],
    ),
    (
        "5. Filters are a part of the statement.",
        &[
            (API, "blocklets/reference_defects.rs", "a_filter_is_a_value_and_no_part_of_a_statement"),
            (API, "malformed.rs", "malformed_queries_and_paths_cause_no_server_error"),
        ],
    ),
    (
        "6. The store fetches any address that a stranger names.",
        &[
            (API, "blocklets/reference_defects.rs", "no_query_makes_the_store_fetch_an_address"),
            (API, "blocklet_instances.rs", "an_instance_that_proves_nothing_is_refused_without_what_its_address_answers"),
            (ADAPTERS, "instances.rs", "an_instance_is_asked_within_its_limits"),
            (ADAPTERS, "outbound.rs", "a_name_of_this_machine_is_blocked_when_it_is_resolved"),
            (ADAPTERS, "ci_tokens/tests.rs", "an_issuer_in_a_private_network_is_not_asked"),
        ],
    ),
    (
        "7. The limits of bundles and pictures have no effect.",
        &[
            (API, "blocklets/hostile.rs", "a_hostile_upload_is_refused_with_its_message_and_leaves_nothing"),
            (API, "blocklets/reading.rs", "tools_learn_the_limit_of_bundles_from_the_store"),
            (DOMAIN, "bundle/limits.rs", "the_default_preferences_are_the_default_limits"),
        ],
    ),
    (
        "7. The limits of prices have no effect.",
        &[
            (API, "blocklets/selling.rs", "each_rule_about_prices_has_its_message"),
            (DOMAIN, "selling/terms.rs", "each_rule_of_the_store_has_its_refusal"),
        ],
    ),
    (
        "7. The limits of names and remarks differ from page to page.",
        &[(API, "access_tokens.rs", "a_token_that_is_not_valid_is_refused_by_name")],
    ),
    (
        "8. Downloads at the same time are lost.",
        &[(API, "apps.rs", "download_counts_survive_concurrency"), (CONTRACT, "apps.rs", "concurrent_downloads_are_all_counted")],
    ),
    ("8. A script raises an app in the lists.", &[(API, "apps.rs", "a_network_counts_once_a_day")]),
    (
        "9. Rejected and cancelled versions are published or reviewed again, and a step is taken by halves.",
        &[
            (DOMAIN, "review/table.rs", "each_step_in_each_status_by_each_role_is_legal_or_refused_by_name"),
            (DOMAIN, "review/histories.rs", "no_history_publishes_a_version_that_was_rejected_or_cancelled"),
            (API, "blocklets/reviews.rs", "a_version_is_reviewed_corrected_approved_and_published"),
        ],
    ),
    (
        "9. A deposit that is revoked while the store is down stays unnoticed.",
        &[
            (
                CONTRACT,
                "billing/developer_deposits.rs",
                "a_deposit_that_was_revoked_and_paid_out_while_the_store_was_down_withdraws_the_passport",
            ),
            (CONTRACT, "billing/app_deposits.rs", "a_revoked_deposit_blocks_its_app_even_after_downtime"),
        ],
    ),
    (
        "10. The signatures of a document are not valid for what is served.",
        &[
            (API, "blocklets/reading.rs", "a_draft_is_readable_by_its_developer_and_by_reviewers_only"),
            (ADAPTERS, "identity/app_dids.rs", "a_document_that_the_published_wallet_has_signed_is_verified_and_signed_alike"),
            (API, "blocklets/installing.rs", "a_release_says_what_is_published_and_is_signed_by_the_store"),
        ],
    ),
    (
        "10. Access tokens have neither scopes nor an end.",
        &[
            (CONTRACT, "access_tokens.rs", "a_token_is_valid_for_its_scopes_and_apps_until_it_expires"),
            (API, "blocklets/signed.rs", "a_token_that_has_ended_neither_reads_nor_publishes"),
        ],
    ),
    (
        "10. Nobody can withdraw the delegation to publish, or the right to download.",
        &[
            (API, "blocklets/reviews.rs", "the_store_publishes_updates_by_itself_as_long_as_the_developer_wants_that"),
            (API, "blocklets/installing.rs", "a_license_names_its_holder_and_computer_and_ends_with_a_refund_or_a_block"),
        ],
    ),
    (
        "11. Apps overwrite each other's files, and neither names nor versions are unique.",
        &[
            (ADAPTERS, "files/tests.rs", "stored_content_is_found_by_its_hash"),
            (CONTRACT, "uploads.rs", "a_name_and_a_did_belong_to_one_app"),
            (CONTRACT, "uploads.rs", "an_uploaded_version_is_read_as_written"),
        ],
    ),
];

#[test]
fn every_defect_of_the_reference_has_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (defect, tests) in DEFECTS {
        assert!(!tests.is_empty(), "{defect}");
        for (folder, file, name) in tests {
            let path = root.join(folder).join(file);
            let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(source.contains(&format!("fn {name}(")), "{defect} {file} has no test {name}");
        }
    }
    for number in 1..=11 {
        assert!(DEFECTS.iter().any(|(defect, _)| defect.starts_with(&format!("{number}. "))), "{number}");
    }
}

#[tokio::test]
async fn a_query_adds_nothing_to_a_document() {
    let store = Publishing::open().await;
    let upload = store.version("hello", "1.0.0");
    let signed = upload.sign();
    assert_eq!(store.upload(&signed).await.0, StatusCode::OK);
    for query in ["extended=true", "useDraft=true", "useReview=true", "version=1.0.0&extended=1"] {
        let path = format!("/api/blocklets/{}/1.0.0/blocklet.json?{query}", upload.did());
        let answer = get(&store, &store.developer, Method::GET, &path).await;
        assert!(answer.status == StatusCode::OK && answer.body == signed.document, "{query}");
        assert_eq!(get(&store, &Who::Nobody, Method::GET, &path).await.status, StatusCode::NOT_FOUND, "{query}");
    }
}

#[tokio::test]
async fn no_query_makes_the_store_fetch_an_address() {
    let store = Publishing::open().await;
    let did = store.version("hello", "1.0.0").did();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("is set");
    let url = format!("http://{}/blocklet.json", listener.local_addr().expect("an address"));
    for path in [format!("/api/blocklets/{did}/info"), format!("/api/blocklets/{did}/1.0.0/info"), "/api/blocklets/resolve".to_owned()] {
        let answer = get(&store, &store.developer, Method::GET, &format!("{path}?url={url}")).await;
        assert!(answer.status.is_client_error(), "{path}: {}", answer.status);
    }
    assert!(listener.accept().is_err(), "nobody has connected");
}

#[tokio::test]
async fn a_filter_is_a_value_and_no_part_of_a_statement() {
    let app = crate::app::TestApp::open().await;
    let browser = app.browser();
    assert_ne!(browser.get("/api/apps").await.ok()["count"], 0);
    for name in ["keyword", "category"] {
        for value in ["%27%20OR%20%271%27%3D%271", "%27%3B%20DROP%20TABLE%20apps%3B--", "%22%20OR%201%3D1--", "%25"] {
            let path = format!("/api/apps?{name}=zzqq{value}");
            assert_eq!(browser.get(&path).await.ok()["count"], 0, "{path}");
        }
    }
    assert_ne!(browser.get("/api/apps").await.ok()["count"], 0);
    app.finish().await;
}
