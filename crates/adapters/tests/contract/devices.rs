//! The computers on which users are signed in with the command line, and the licenses that they get.

use crate::catalogue::{app, shelve};
use crate::checkout_fixtures::{all_at_once, at, begin, context, did, entitlement, id, read, user};
use souk_adapters::identity::{AppDidAuthTokens, AppKey, Ed25519TokenKeys, SodiumToolSeals, parse_did};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::access::{DEVICE_LIFETIME_DAYS, DEVICES_MAX, Device, DidAuthTokens, end_device, end_other_logins, list_devices};
use souk_domain::operation::VisitorNetwork;
use souk_domain::publishing::access_tokens::{RequestPurpose, SIGNED_REQUEST_SKEW, SignedRequest, TokenKeys};
use souk_domain::publishing::installing::{LICENSE_LIFETIME, License, LicenseError, issue_license, verify_device_request};
use souk_domain::publishing::tools::{
    AnswerToolError, NewToolSession, ToolAction, ToolApproval, ToolIssuer, ToolToken, approve_tool, begin_tool_session,
};
use souk_domain::shared::{Mode, StorageError};
use souk_domain::store::{App, Availability, Entitlement, RevokedPurchase};

const DAY: i64 = 86_400;
/// The key of the vector in reference/store.md 5.1.
const KEY: &str = "E75P6uryBMf9M1j8nAByGIHRdCeBKCJ-xnTzf3_pe20";

fn device(name: &str, used: i64, expires: i64) -> Device {
    Device {
        id: did(&format!("z1{name}")),
        user: did("z1anna"),
        name: format!("Souk CLI on {name}"),
        public_key: "zKey".to_owned(),
        created_at: at(0),
        used_at: at(used),
        expires_at: at(expires),
    }
}

/// A device whose key signs.
fn signing() -> (AppKey, Device) {
    let key = AppKey::from_token_secret(&Ed25519TokenKeys.create(&[5; 32]).secret).expect("a key");
    let device = Device { id: key.did().clone(), public_key: key.public_key_base58(), ..device("laptop", 0, 400 * DAY) };
    (key, device)
}

async fn insert(db: &Database, devices: &[Device]) {
    let mut unit = begin(db).await;
    for (holder, name) in [("z1anna", "Anna"), ("z1bob", "Bob")] {
        unit.users().upsert(&user(holder, name, "")).await.expect("inserts");
    }
    for device in devices {
        unit.devices().insert(device).await.expect("inserts");
    }
    unit.commit().await.expect("commits");
}

fn store_keys() -> AppDidAuthTokens {
    AppDidAuthTokens::new(AppKey::from_seed(&[9; 32]))
}

/// Puts one app into the catalogue, and grants what was bought.
async fn sell(db: &Database, sold: App, bought: &[Entitlement]) {
    shelve(db, &[sold]).await;
    let mut unit = begin(db).await;
    unit.entitlements().grant_all(bought).await.expect("grants");
    unit.commit().await.expect("commits");
}

fn paid() -> App {
    App { test_link: Some(id("plink_1")), ..app("z8app", "Night sky") }
}

async fn license(db: &Database, device: &Device, now: i64) -> Result<License, LicenseError> {
    let keys = store_keys();
    let signed = issue_license(&context(db, at(now)), &keys, device, &did("z8app")).await?;
    assert!(Ed25519TokenKeys.is_valid(&signed.public_key, &Ed25519TokenKeys.digest(signed.text.as_bytes()), &signed.signature));
    assert_eq!(signed.public_key, keys.app_key());
    // The DIDs of this test are no DIDs.
    Ok(License::parse(&signed.text, &|text| Some(did(text))).expect("a license"))
}

async fn approve(db: &Database, now: i64, token: &str) -> Result<(), AnswerToolError> {
    ask(db, now, token).await;
    answer(db, now, token).await
}

/// Asks for a sign-in.
async fn ask(db: &Database, now: i64, token: &str) {
    let (ctx, seals) = (context(db, at(now)), SodiumToolSeals);
    let new = NewToolSession {
        token: token.to_owned(),
        action: ToolAction::LoginCli,
        source: "Souk CLI on laptop",
        address: None,
        encryption_key: KEY,
        apps: "",
    };
    begin_tool_session(&ctx, &seals, new, &VisitorNetwork::default()).await.expect("begins");
}

async fn answer(db: &Database, now: i64, token: &str) -> Result<(), AnswerToolError> {
    let issuer = ToolIssuer { store: &did("zNstore"), seals: &SodiumToolSeals, token_keys: &Ed25519TokenKeys };
    let approval =
        ToolApproval { token: ToolToken { name: None, scopes: Default::default(), apps: Vec::new(), lifetime_days: 0 }, keys: Vec::new() };
    approve_tool(&context(db, at(now)), issuer, &user("z1anna", "Anna", ""), token, approval).await.map(drop)
}

on_both! {
    async fn a_device_is_stored_with_all_its_values_until_it_expires(db: &TestDatabase) {
        let (first, last) = (device("first", 5, 100), device("last", 9, 90));
        insert(db, &[first.clone(), last.clone(), Device { user: did("z1bob"), ..device("other", 7, 100) }]).await;
        let mut unit = begin(db).await;
        assert_eq!(unit.devices().find(&first.id, at(99)).await.expect("reads"), Some(first.clone()));
        assert_eq!(unit.devices().find(&first.id, at(100)).await.expect("reads"), None);
        let listed = unit.devices().list(&did("z1anna"), at(0), 10).await.expect("lists");
        assert_eq!(listed, [last.clone(), first.clone()], "the last used one comes first");
        assert_eq!(unit.devices().list(&did("z1anna"), at(0), 1).await.expect("lists"), std::slice::from_ref(&last));
        assert_eq!(unit.devices().list(&did("z1anna"), at(90), 10).await.expect("lists"), std::slice::from_ref(&first));
        assert_eq!(unit.devices().prune(at(89), 10).await.expect("prunes"), 0);
        assert_eq!(unit.devices().prune(at(90), 10).await.expect("prunes"), 1);
        assert_eq!(unit.devices().prune(at(100), 1).await.expect("prunes"), 1);
    }

    async fn the_last_use_of_a_device_is_stored_once_a_minute(db: &TestDatabase) {
        let used = device("laptop", 0, 999);
        insert(db, std::slice::from_ref(&used)).await;
        let mut unit = begin(db).await;
        for (now, stored) in [(30, 0), (60, 60), (90, 60), (120, 120)] {
            unit.devices().touch(&used.id, at(now)).await.expect("touches");
            let found = unit.devices().find(&used.id, at(now)).await.expect("reads").expect("exists");
            assert_eq!(found.used_at, at(stored), "{now}");
        }
    }

    async fn only_its_user_signs_a_device_out_and_signing_out_everywhere_ends_all(db: &TestDatabase) {
        let devices = ["one", "two", "three"].map(|name| device(name, 0, 100));
        insert(db, &devices).await;
        let ctx = context(db, at(1));
        assert!(!end_device(&ctx, &did("z1bob"), &devices[0].id).await.expect("answers"));
        assert!(end_device(&ctx, &did("z1anna"), &devices[0].id).await.expect("ends"));
        assert!(!end_device(&ctx, &did("z1anna"), &devices[0].id).await.expect("answers"));
        assert_eq!(list_devices(&ctx, &did("z1anna")).await.expect("lists").len(), 2);
        assert_eq!(end_other_logins(&ctx, &did("z1anna"), &[0; 32]).await.expect("ends"), 2);
        assert_eq!(list_devices(&ctx, &did("z1anna")).await.expect("lists"), []);
    }

    async fn an_approval_signs_one_computer_in_and_needs_no_passport(db: &TestDatabase) {
        insert(db, &[]).await;
        approve(db, 0, "00ff").await.expect("approves");
        let answers = all_at_once(db, 3, |db, _| async move { answer(&db, 1, "00ff").await });
        assert!(answers.await.iter().all(|result| matches!(result, Err(AnswerToolError::Answered))));
        let listed = list_devices(&context(db, at(1)), &did("z1anna")).await.expect("lists");
        assert_eq!(listed.len(), 1);
        assert_eq!((listed[0].name.as_str(), listed[0].expires_at), ("Souk CLI on laptop", at(DEVICE_LIFETIME_DAYS as i64 * DAY)));
        parse_did(listed[0].id.as_str()).expect("the DID of a key");
        let session = read(db).await.tool_sessions().find("00ff", at(1)).await.expect("reads").expect("is readable");
        assert!(session.config.is_some_and(|sealed| !sealed.contains("secretKey")), "it is sealed");
    }

    async fn the_number_of_computers_is_bounded(db: &TestDatabase) {
        let devices: Vec<_> = (1..DEVICES_MAX).map(|number| device(&format!("d{number}"), 0, 100)).collect();
        insert(db, &devices).await;
        let tokens = ["00ff", "00fe"];
        for token in tokens {
            ask(db, 1, token).await;
        }
        let answers = all_at_once(db, 2, move |db, number| async move { answer(&db, 1, tokens[number as usize]).await }).await;
        let refused = answers.iter().position(Result::is_err).expect("one is too many");
        assert!(matches!(answers[refused], Err(AnswerToolError::TooManyDevices)) && answers[1 - refused].is_ok(), "{answers:?}");
        // The request is still open, and expired ones do not count. Keys are the same again in this test, so the first computer leaves.
        let laptops = list_devices(&context(db, at(1)), &did("z1anna")).await.expect("lists");
        let laptop = laptops.iter().find(|listed| listed.name == "Souk CLI on laptop").expect("is signed in");
        assert!(end_device(&context(db, at(1)), &laptop.user, &laptop.id).await.expect("ends"));
        answer(db, 100, tokens[refused]).await.expect("approves");
    }

    async fn a_request_is_verified_by_the_key_of_a_computer_that_is_signed_in(db: &TestDatabase) {
        let (key, laptop) = signing();
        insert(db, std::slice::from_ref(&laptop)).await;
        let (store, other) = (did("zNstore"), did("zNother"));
        let unsigned = SignedRequest {
            store: &store,
            purpose: RequestPurpose::Read,
            method: "GET",
            path: "/api/apps/z8app/license",
            body_digest: "abcd",
            token: &laptop.id,
            signed_at: at(0).seconds(),
            nonce: "0123456789abcdef",
            signature: "",
        };
        let signature = key.sign_base58(unsigned.text().as_bytes());
        let signed = SignedRequest { signature: &signature, ..unsigned };
        let verify = async |request: SignedRequest<'_>, now| {
            let verified = verify_device_request(&context(db, at(now)), &Ed25519TokenKeys, &request).await;
            verified.map_err(|error| error.to_string())
        };
        assert_eq!(verify(signed, 0).await, Ok(laptop.clone()));
        assert_eq!(verify(signed, 1).await, Ok(laptop.clone()), "it may be repeated");
        for changed in [
            SignedRequest { store: &other, ..signed },
            SignedRequest { method: "DELETE", ..signed },
            SignedRequest { path: "/api/apps/z8other/license", ..signed },
            SignedRequest { purpose: RequestPurpose::Write, ..signed },
        ] {
            assert_eq!(verify(changed, 0).await, Err("invalid signature".to_owned()), "{changed:?}");
        }
        let late = SIGNED_REQUEST_SKEW.as_secs() as i64 + 1;
        assert!(verify(signed, late).await.is_err_and(|error| error.contains("differs from the store's")));
        let signed_out = Err("This computer is not signed in, or its sign-in has expired".to_owned());
        assert_eq!(verify(SignedRequest { token: &other, ..signed }, 0).await, signed_out);
        end_device(&context(db, at(0)), &laptop.user, &laptop.id).await.expect("ends");
        assert_eq!(verify(signed, 0).await, signed_out);
    }

    async fn a_license_is_issued_for_thirty_days_to_those_who_have_the_app(db: &TestDatabase) {
        let (_, laptop) = signing();
        insert(db, std::slice::from_ref(&laptop)).await;
        sell(db, paid(), &[]).await;
        assert!(matches!(license(db, &laptop, 1).await, Err(LicenseError::NotBought)));
        let mut unit = begin(db).await;
        let bought = Entitlement { invoice_item_id: Some(id("ii_1")), invoice_id: Some(id("in_1")), ..entitlement("z1anna", "z8app") };
        unit.entitlements().grant(&bought).await.expect("grants");
        unit.commit().await.expect("commits");
        let issued = license(db, &laptop, 100).await.expect("issues");
        let expected = License {
            store: store_keys().app_did().clone(),
            app: did("z8app"),
            holder: did("z1anna"),
            device: laptop.id.clone(),
            mode: Mode::Test,
            issued_at: at(100),
            expires_at: at(100).plus(LICENSE_LIFETIME),
        };
        assert_eq!(issued, expected);
        let found = read(db).await.devices().find(&laptop.id, at(100)).await.expect("reads").expect("exists");
        assert_eq!(found.used_at, at(100));
        // During a dispute there is none, and afterwards there is.
        for (is_suspended, is_licensed) in [(true, false), (false, true)] {
            let mut unit = begin(db).await;
            let invoices = [id("in_1")];
            let changed: Result<(), StorageError> = match is_suspended {
                true => unit.entitlements().suspend(&invoices, &[], at(101)).await,
                false => unit.entitlements().reinstate(&invoices, &[]).await,
            };
            changed.expect("writes");
            unit.commit().await.expect("commits");
            assert_eq!(license(db, &laptop, 102).await.is_ok(), is_licensed);
        }
        let mut unit = begin(db).await;
        unit.entitlements().revoke_all(&[RevokedPurchase { item: id("ii_1"), at: at(200) }]).await.expect("revokes");
        unit.commit().await.expect("commits");
        assert!(matches!(license(db, &laptop, 201).await, Err(LicenseError::NotBought)), "after a refund");
    }

    async fn a_license_is_refused_for_a_blocked_or_free_app_and_to_a_computer_that_is_signed_out(db: &TestDatabase) {
        let (_, laptop) = signing();
        insert(db, std::slice::from_ref(&laptop)).await;
        sell(db, paid(), &[entitlement("z1anna", "z8app")]).await;
        for (availability, is_licensed) in
            [(Availability::Blocked, false), (Availability::Withdrawn, true), (Availability::Available, true)]
        {
            let mut unit = begin(db).await;
            unit.apps().set_availability(&did("z8app"), availability).await.expect("writes");
            unit.commit().await.expect("commits");
            let issued = license(db, &laptop, 1).await;
            assert_eq!(issued.is_ok(), is_licensed, "{availability:?}: {issued:?}");
        }
        end_device(&context(db, at(2)), &laptop.user, &laptop.id).await.expect("ends");
        assert!(matches!(license(db, &laptop, 2).await, Err(LicenseError::SignedOut)));
    }

    async fn a_purchase_in_test_mode_does_not_license_an_app_that_is_sold_in_live_mode(db: &TestDatabase) {
        let (_, laptop) = signing();
        insert(db, std::slice::from_ref(&laptop)).await;
        let bought = entitlement("z1anna", "z8app");
        sell(db, App { live_link: Some(id("plink_2")), ..paid() }, std::slice::from_ref(&bought)).await;
        assert!(matches!(license(db, &laptop, 1).await, Err(LicenseError::NotBought)));
        let mut unit = begin(db).await;
        let live = Entitlement { id: id("ent_2"), mode: Mode::Live, session_id: id("cs_2"), ..bought };
        unit.entitlements().grant(&live).await.expect("grants");
        unit.commit().await.expect("commits");
        assert_eq!(license(db, &laptop, 1).await.expect("issues").mode, Mode::Live);
    }

    async fn a_free_or_unknown_app_has_no_license(db: &TestDatabase) {
        let (_, laptop) = signing();
        insert(db, std::slice::from_ref(&laptop)).await;
        assert!(matches!(license(db, &laptop, 1).await, Err(LicenseError::NotFound)));
        sell(db, app("z8app", "Night sky"), &[]).await;
        assert!(matches!(license(db, &laptop, 1).await, Err(LicenseError::Free)));
    }
}
