//! Invitations: the first user who accepts one uses it up.

use crate::checkout_fixtures::{all_at_once, at, begin, context, did, id, read, user};
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_domain::access::{Caller, Passport, Role};
use souk_domain::publishing::invitations::{
    AcceptError, Invitation, InvitationStatus, InviteError, WithdrawError, accept_invitation, find_invitation, invite, revoke_invitation,
    withdraw_passport,
};
use souk_domain::shared::Page;

const TOKEN: [u8; 32] = [7; 32];
const DAY: i64 = 86_400;

/// Signs somebody in, with a passport for each role.
async fn caller(db: &TestDatabase, name: &str, roles: &[Role]) -> Caller {
    let user = user(&format!("z1{name}"), name, "");
    let mut unit = begin(db).await;
    unit.users().upsert(&user).await.expect("inserts");
    let mut passports = Vec::new();
    for role in roles {
        let passport = Passport {
            id: id(&format!("pass_{name}_{}", role.name())),
            holder: user.did.clone(),
            role: *role,
            issued_at: at(0),
            revoked_at: None,
            stake_id: None,
        };
        unit.users().issue_passport(&passport).await.expect("issues");
        passports.push(passport);
    }
    unit.commit().await.expect("commits");
    Caller { user, passports, signed_in_at: at(0) }
}

on_both! {
    async fn an_invitation_is_stored_listed_and_found_by_its_link(db: &TestDatabase) {
        let invitation = Invitation {
            id: id("inv_1"),
            role: Role::Reviewer,
            created_by: did("z1olga"),
            created_at: at(0),
            expires_at: at(60),
            used_by: None,
            used_at: None,
            revoked_at: None,
        };
        let mut unit = begin(db).await;
        unit.invitations().insert(&invitation, &TOKEN).await.expect("inserts");
        assert_eq!(unit.invitations().find(&invitation.id).await.expect("reads"), Some(invitation.clone()));
        assert_eq!(unit.invitations().find_by_token(&TOKEN).await.expect("reads"), Some(invitation.clone()));
        assert_eq!(unit.invitations().find_by_token(&[8; 32]).await.expect("reads"), None);
        assert_eq!(unit.invitations().list(10).await.expect("lists"), std::slice::from_ref(&invitation));
        assert_eq!(unit.invitations().count_open(at(59), 10).await.expect("counts"), 1);
        assert_eq!(unit.invitations().count_open(at(60), 10).await.expect("counts"), 0);
        assert!(!unit.invitations().accept(&invitation.id, &did("z1anna"), at(60)).await.expect("answers"), "it has expired");
        assert!(unit.invitations().accept(&invitation.id, &did("z1anna"), at(59)).await.expect("accepts"));
        assert!(!unit.invitations().revoke(&invitation.id, at(59)).await.expect("answers"), "it was used");
        let used = unit.invitations().find(&invitation.id).await.expect("reads").expect("exists");
        assert_eq!((used.used_by.clone(), used.used_at, used.status(at(99))), (Some(did("z1anna")), Some(at(59)), InvitationStatus::Used));
    }

    async fn of_several_users_at_once_one_accepts_an_invitation(db: &TestDatabase) {
        let owner = caller(db, "olga", &[Role::Owner]).await;
        invite(&context(db, at(0)), &owner, Role::Developer, 7, &TOKEN).await.expect("invites");
        for number in 0..4 {
            caller(db, &format!("user{number}"), &[]).await;
        }
        let accepted = all_at_once(db, 4, |db, number| async move {
            accept_invitation(&context(&db, at(1)), &did(&format!("z1user{number}")), &TOKEN).await
        });
        let accepted = accepted.await;
        assert_eq!(accepted.iter().filter(|result| result.is_ok()).count(), 1, "{accepted:?}");
        assert!(accepted.iter().all(|result| matches!(result, Ok(_) | Err(AcceptError::Used))), "{accepted:?}");
        let holders = read(db).await.users().list_valid_passports(&Page::new(None, None)).await.expect("lists");
        let developers = holders.list.iter().filter(|passport| passport.role == Role::Developer).count();
        assert_eq!((holders.count, developers), (2, 1));
    }

    async fn an_invitation_is_refused_by_name(db: &TestDatabase) {
        let owner = caller(db, "olga", &[Role::Owner]).await;
        let admin = caller(db, "adam", &[Role::Admin]).await;
        let developer = caller(db, "anna", &[Role::Developer]).await;
        let ctx = context(db, at(0));
        for (by, role) in [(&developer, Role::Developer), (&admin, Role::Admin), (&owner, Role::Owner)] {
            assert!(matches!(invite(&ctx, by, role, 7, &TOKEN).await, Err(InviteError::NotAllowed)), "{role:?}");
        }
        for days in [0, 31] {
            assert!(matches!(invite(&ctx, &owner, Role::Admin, days, &TOKEN).await, Err(InviteError::Lifetime)));
        }
        let of_admin = invite(&ctx, &admin, Role::Developer, 1, &TOKEN).await.expect("invites");
        let accept = async |seconds: i64, name: &str| accept_invitation(&context(db, at(seconds)), &did(name), &TOKEN).await;
        assert!(matches!(accept(1, "z1anna").await, Err(AcceptError::Held(Role::Developer))));
        assert!(matches!(find_invitation(&ctx, &[9; 32]).await, Err(AcceptError::Unknown)));
        assert_eq!(find_invitation(&ctx, &TOKEN).await.expect("is open"), of_admin);
        assert!(matches!(accept(DAY, "z1bob").await, Err(AcceptError::Expired)));
        withdraw_passport(&ctx, &owner, &id("pass_adam_admin")).await.expect("revokes");
        assert!(matches!(accept(1, "z1bob").await, Err(AcceptError::Revoked)), "who vouched for it is no admin any more");
        revoke_invitation(&ctx, &owner, &of_admin.id).await.expect("revokes");
        assert!(matches!(revoke_invitation(&ctx, &owner, &of_admin.id).await, Err(WithdrawError::NotFound)));
    }

    async fn passports_are_revoked_by_those_who_decide_about_their_role(db: &TestDatabase) {
        let owner = caller(db, "olga", &[Role::Owner]).await;
        let admin = caller(db, "adam", &[Role::Admin]).await;
        caller(db, "anna", &[Role::Developer, Role::Reviewer]).await;
        let ctx = context(db, at(5));
        let withdraw = async |by: &Caller, passport: &str| withdraw_passport(&ctx, by, &id(passport)).await;
        assert!(matches!(withdraw(&admin, "pass_adam_admin").await, Err(WithdrawError::NotAllowed)));
        assert!(matches!(withdraw(&owner, "pass_olga_owner").await, Err(WithdrawError::NotAllowed)), "the store keeps its owner");
        withdraw(&admin, "pass_anna_developer").await.expect("revokes");
        assert!(matches!(withdraw(&admin, "pass_anna_developer").await, Err(WithdrawError::NotFound)));
        withdraw(&owner, "pass_adam_admin").await.expect("revokes");
        let left = read(db).await.users().list_valid_passports(&Page::new(None, Some(10))).await.expect("lists");
        let mut roles: Vec<_> = left.list.iter().map(|passport| passport.role).collect();
        roles.sort();
        assert_eq!(roles, [Role::Reviewer, Role::Owner]);
    }
}
