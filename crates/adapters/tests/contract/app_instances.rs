//! Public instances of apps.

use crate::catalogue::{app, shelve};
use crate::checkout_fixtures::{at, begin, context, did, read};
use async_trait::async_trait;
use serde_json::Map;
use souk_adapters::identity::{AppDidAuthTokens, AppKey};
use souk_adapters::on_both;
use souk_domain::operation::VisitorNetwork;
use souk_domain::publishing::instances::{
    AppInstance, INSTANCES_OF_VISITOR_MAX, InstanceClaim, InstanceCounts, InstanceError, InstanceProbe, InstanceProbeError, list_instances,
    register_instance, withdraw_instance,
};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The DID of an app of the catalogue.
const APP: &str = "z8ia4e5vAeDsQEE2P26bQqz9oWR1Lxg9qUMaV";

fn visitor(network: &str) -> VisitorNetwork {
    VisitorNetwork { network: network.to_owned(), site: network.to_owned() }
}

fn instance(name: &str, updated: i64) -> AppInstance {
    AppInstance {
        id: did(name),
        app: did(APP),
        owner: did("z1operator"),
        url: format!("https://{name}.example"),
        created_at: at(0),
        updated_at: at(updated),
    }
}

/// Answers with this id.
struct Answers(Result<String, InstanceProbeError>, AtomicUsize);

impl Answers {
    fn with(id: &str) -> Self {
        Self(Ok(id.to_owned()), AtomicUsize::new(0))
    }
}

#[async_trait]
impl InstanceProbe for Answers {
    async fn app_id(&self, _: &str) -> Result<String, InstanceProbeError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.clone()
    }
}

on_both! {
    async fn instances_of_an_app_are_listed_by_their_last_proof(db: &TestDatabase) {
        shelve(db, &[app(APP, "Atlas"), app("z8other", "Orbit")]).await;
        let mut unit = begin(db).await;
        for (name, updated) in [("zNKa", 10), ("zNKb", 30), ("zNKc", 20)] {
            unit.app_instances().upsert(&instance(name, updated), &visitor("v1")).await.expect("writes");
        }
        let names = |list: Vec<AppInstance>| list.into_iter().map(|one| one.id.to_string()).collect::<Vec<_>>();
        let listed = unit.app_instances().list(&did(APP), at(0), 10).await.expect("lists");
        assert_eq!(names(listed), ["zNKb", "zNKc", "zNKa"]);
        assert_eq!(names(unit.app_instances().list(&did(APP), at(10), 1).await.expect("lists")), ["zNKb"]);
        assert_eq!(unit.app_instances().list(&did("z8other"), at(0), 10).await.expect("lists"), []);
        let moved = AppInstance { url: "https://new.example".to_owned(), created_at: at(99), ..instance("zNKa", 40) };
        unit.app_instances().upsert(&moved, &visitor("v2")).await.expect("writes");
        let expected = AppInstance { created_at: at(0), ..moved };
        assert_eq!(unit.app_instances().find(&did("zNKa")).await.expect("reads"), Some(expected));
        let others = unit.app_instances().count_others(&did("zNKa"), &did(APP), &visitor("v1")).await.expect("counts");
        assert_eq!(others, InstanceCounts { of_app: 2, of_visitor: 2, total: 2 });
        let others = unit.app_instances().count_others(&did("zNKnew"), &did("z8other"), &visitor("v2")).await.expect("counts");
        assert_eq!(others, InstanceCounts { of_app: 0, of_visitor: 1, total: 3 });
        assert!(unit.app_instances().delete(&did("zNKb")).await.expect("deletes"));
        assert!(!unit.app_instances().delete(&did("zNKb")).await.expect("answers"));
        assert_eq!(unit.app_instances().prune(at(19), 10).await.expect("prunes"), 0);
        assert_eq!(unit.app_instances().prune(at(20), 10).await.expect("prunes"), 1);
        assert_eq!(names(unit.app_instances().list(&did(APP), at(0), 10).await.expect("lists")), ["zNKa"]);
    }

    async fn an_instance_proves_its_key_and_its_address(db: &TestDatabase) {
        shelve(db, &[app(APP, "Atlas")]).await;
        let (ctx, store, key) = (context(db, at(0)), AppDidAuthTokens::new(AppKey::from_seed(&[1; 32])), AppKey::from_seed(&[2; 32]));
        let (id, pk, proof) = (key.did().to_string(), key.public_key_base58(), key.sign_envelope(Map::new(), at(0)));
        let owner = AppKey::from_seed(&[3; 32]).did().to_string();
        let claim = InstanceClaim {
            named: &id,
            id: &id,
            public_key: &pk,
            proof: &proof,
            url: "https://atlas.example/",
            app: APP,
            owner: &owner,
        };
        let probe = Answers::with(&format!("did:abt:{id}"));
        let refused = async |claim: InstanceClaim<'_>, probe: &Answers| {
            let registered = register_instance(&ctx, &store, probe, &claim, &visitor("v1")).await;
            registered.err().map(|error| error.to_string()).unwrap_or_default()
        };
        for (changed, message) in [
            (InstanceClaim { public_key: "", ..claim }, "The parameter appPK is required"),
            (InstanceClaim { id: " ", ..claim }, "The parameter appId is required"),
            (InstanceClaim { proof: "", ..claim }, "The parameter appToken is required"),
            (InstanceClaim { url: "", ..claim }, "The parameter appUrl is required"),
            (InstanceClaim { app: "", ..claim }, "The parameter blockletDid is required"),
            (InstanceClaim { owner: "", ..claim }, "The parameter ownerDid is required"),
            (InstanceClaim { id: APP, ..claim }, "The parameter appId is not application id"),
            (InstanceClaim { id: "zNK", ..claim }, "The parameter appId is invalid"),
            (InstanceClaim { named: &owner, ..claim }, "The parameter appId is invalid"),
            (InstanceClaim { public_key: "zKey", ..claim }, "The parameter appPK is invalid"),
            (InstanceClaim { proof: "a.b.c", ..claim }, "The parameter appToken is invalid"),
            (InstanceClaim { url: "javascript:alert(1)", ..claim }, "The parameter appUrl is invalid"),
            (InstanceClaim { url: "https://user@atlas.example", ..claim }, "The parameter appUrl is invalid"),
            (InstanceClaim { app: "z8unknown", ..claim }, "The parameter blockletDid is invalid"),
            (InstanceClaim { app: &owner, ..claim }, "The blocklet does not exist"),
            (InstanceClaim { owner: "nobody", ..claim }, "The parameter ownerDid is invalid"),
        ] {
            assert_eq!(refused(changed, &probe).await, message, "{changed:?}");
        }
        assert_eq!(probe.1.load(Ordering::Relaxed), 0, "nobody is asked before the key is proved");
        assert_eq!(refused(claim, &Answers::with(&owner)).await, "The parameter appId is invalid");
        for (error, message) in [
            (InstanceProbeError::NoInstance, "The blocklet instance does not exist"),
            (InstanceProbeError::Busy, "Too many instances are being checked, please try again"),
        ] {
            assert_eq!(refused(claim, &Answers(Err(error), AtomicUsize::new(0))).await, message);
        }
        assert_eq!(list_instances(&ctx, &did(APP)).await.expect("lists"), []);
        let registered = register_instance(&ctx, &store, &probe, &claim, &visitor("v1")).await.expect("is registered");
        assert_eq!(list_instances(&ctx, &did(APP)).await.expect("lists"), std::slice::from_ref(&registered));
        let later = context(db, at(91 * 86_400));
        assert_eq!(list_instances(&later, &did(APP)).await.expect("lists"), [], "it has not proved itself for long");

        let foreign = InstanceClaim { proof: "a.b.c", ..claim };
        assert!(matches!(withdraw_instance(&ctx, &store, &foreign).await, Err(InstanceError::Invalid("appToken"))));
        assert!(matches!(withdraw_instance(&ctx, &store, &claim).await, Err(InstanceError::Used)), "a proof cannot be used twice");
        assert!(matches!(register_instance(&ctx, &store, &Answers::with(&id), &claim, &visitor("v1")).await, Err(InstanceError::Used)));
        for (seconds, was_listed) in [(1, true), (2, false)] {
            let next = key.sign_envelope(Map::new(), at(seconds));
            let claim = InstanceClaim { proof: &next, ..claim };
            assert_eq!(withdraw_instance(&ctx, &store, &claim).await.expect("answers"), was_listed, "its address is not asked");
        }
        let mut unit = begin(db).await;
        // Each is valid for 300 s, and accepted for 5 s more.
        assert_eq!(unit.app_instances().prune_proofs(at(306), 10).await.expect("prunes"), 1);
        assert_eq!(unit.app_instances().prune_proofs(at(308), 10).await.expect("prunes"), 2);
        assert_eq!(probe.1.load(Ordering::Relaxed), 1);
    }

    async fn a_visitor_lists_a_limited_number_of_instances(db: &TestDatabase) {
        shelve(db, &[app(APP, "Atlas")]).await;
        let mut unit = begin(db).await;
        for number in 0..INSTANCES_OF_VISITOR_MAX {
            unit.app_instances().upsert(&instance(&format!("zNK{number}"), 1), &visitor("v1")).await.expect("writes");
        }
        unit.commit().await.expect("commits");
        let (ctx, store, key) = (context(db, at(0)), AppDidAuthTokens::new(AppKey::from_seed(&[1; 32])), AppKey::from_seed(&[2; 32]));
        let (id, pk, proof) = (key.did().to_string(), key.public_key_base58(), key.sign_envelope(Map::new(), at(0)));
        let claim =
            InstanceClaim { named: &id, id: &id, public_key: &pk, proof: &proof, url: "https://atlas.example", app: APP, owner: &id };
        let probe = Answers::with(&id);
        let refused = register_instance(&ctx, &store, &probe, &claim, &visitor("v1")).await;
        assert!(matches!(refused, Err(InstanceError::TooMany)), "{refused:?}");
        assert_eq!(probe.1.load(Ordering::Relaxed), 0);
        let neighbor = VisitorNetwork { network: "another network".to_owned(), ..visitor("v1") };
        let refused = register_instance(&ctx, &store, &probe, &claim, &neighbor).await;
        assert!(matches!(refused, Err(InstanceError::TooMany)), "networks of one site count together: {refused:?}");
        register_instance(&ctx, &store, &probe, &claim, &visitor("v2")).await.expect("another visitor may");
        assert_eq!(read(db).await.app_instances().find(key.did()).await.expect("reads").map(|one| one.owner), Some(key.did().clone()));
    }
}
