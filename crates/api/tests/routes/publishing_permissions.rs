//! Who may call the endpoints of publishing.

use crate::app::{Browser, TestApp};
use poem::http::Method;
use souk_domain::access::Role;

/// Who calls. Each role has its own passport only.
const CALLERS: [&str; 6] = ["visitor", "customer", "developer", "reviewer", "admin", "owner"];

const ADMINS: &[&str] = &["admin", "owner"];
const REVIEWERS: &[&str] = &["reviewer", "admin", "owner"];
const SIGNED_IN: &[&str] = &["customer", "developer", "reviewer", "admin", "owner"];
const DEVELOPERS: &[&str] = &["developer"];

/// The endpoints, and who may call them. Everybody else is refused before the call is looked at.
const ENDPOINTS: [(Method, &str, &[&str]); 18] = [
    (Method::GET, "/api/console/preferences", ADMINS),
    (Method::PUT, "/api/console/preferences", ADMINS),
    (Method::GET, "/api/console/invitations", ADMINS),
    (Method::POST, "/api/console/invitations", ADMINS),
    (Method::DELETE, "/api/console/invitations/inv_1", ADMINS),
    (Method::GET, "/api/console/developers", ADMINS),
    (Method::DELETE, "/api/console/developers/pass_1", ADMINS),
    (Method::GET, "/api/developer/apps", DEVELOPERS),
    (Method::PUT, "/api/developer/apps/z1unknown/visibility", SIGNED_IN),
    (Method::PUT, "/api/developer/apps/z1unknown/auto-publish", SIGNED_IN),
    (Method::GET, "/api/publication-log", &CALLERS),
    (Method::GET, "/api/console/reviews", REVIEWERS),
    (Method::POST, "/api/invitations/preview", SIGNED_IN),
    (Method::POST, "/api/invitations/accept", SIGNED_IN),
    (Method::GET, "/api/developer/access-tokens", DEVELOPERS),
    (Method::POST, "/api/developer/access-tokens", DEVELOPERS),
    (Method::DELETE, "/api/developer/access-tokens/z1unknown", DEVELOPERS),
    // Signed by a token; nobody's cookie counts.
    (Method::GET, "/api/developer/access-tokens/current", &[]),
];

async fn browser(app: &TestApp, caller: &str) -> Browser {
    match Role::from_name(caller) {
        Some(Role::Owner) => app.owner().await.browser,
        Some(role) => app.holder_of(role).await.browser,
        None if caller == "customer" => app.sign_in(caller).await.browser,
        None => app.browser(),
    }
}

#[tokio::test]
async fn each_endpoint_answers_its_roles_and_refuses_all_others() {
    let app = TestApp::open().await;
    for caller in CALLERS {
        let browser = browser(&app, caller).await;
        for (method, path, allowed) in &ENDPOINTS {
            let answer = browser.call(method.clone(), path).json(&serde_json::json!({})).send().await;
            let unsigned = caller == "visitor" || path.ends_with("/current");
            let expected = if allowed.contains(&caller) { None } else { Some(if unsigned { 401 } else { 403 }) };
            match expected {
                Some(status) => drop(answer.refused(status)),
                None => assert!(![401, 403].contains(&answer.status), "{caller} {method} {path}: {}", answer.text()),
            }
        }
    }
    app.finish().await;
}
