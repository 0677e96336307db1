//! For which publisher a run of CI publishes.

use super::super::access_tokens::matches_app;
use super::claims::CiClaims;
use super::issuer::CiProvider;
use super::publisher::TrustedPublisher;
use crate::access::Did;
use crate::shared::TrustedPublisherId;

/// Why no publisher fits a run of CI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublisherError {
    #[error("No developer has registered the repository {0} as a trusted publisher")]
    NotRegistered(String),
    #[error("The trusted publisher of this repository is not valid for the app {0}")]
    OtherApp(String),
    #[error("The trusted publisher of this repository is for another workflow")]
    OtherWorkflow,
    #[error("The trusted publisher of this repository is for another environment")]
    OtherEnvironment,
    #[error("Workflows that {0} starts may publish only with an environment that is registered")]
    NeedsEnvironment(String),
    #[error("The trusted publisher of this repository accepts protected branches and tags only")]
    UnprotectedRef,
    #[error("The repository {0} is not the one that was registered. Register it again.")]
    OtherRepository(String),
    #[error("Several developers have registered this repository. Name the trusted publisher that is meant.")]
    Ambiguous,
}

/// The app that a run publishes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub app: &'a Did,
    pub name: &'a str,
    /// The developer of the app; `None`: this is its first version.
    pub owner: Option<&'a Did>,
    /// The publisher that the run names.
    pub publisher: Option<&'a TrustedPublisherId>,
}

/// Chooses among the publishers of the repository, which are the oldest first. The refusal is that of the last rule that some have passed.
///
/// An app that exists is published for its developer only. So nobody gets an app by registering somebody else's repository; of a new app,
/// the run names the publisher if several developers have registered the repository.
pub(super) fn choose<'p>(
    publishers: &'p [TrustedPublisher],
    provider: CiProvider,
    claims: &CiClaims,
    wanted: &Wanted<'_>,
) -> Result<&'p TrustedPublisher, PublisherError> {
    let is_for_app = |publisher: &TrustedPublisher| {
        wanted.owner.is_none_or(|owner| *owner == publisher.owner) && matches_app(&publisher.apps, wanted.app, wanted.name)
    };
    let is_environment = |required: &String| match (provider, &claims.environment) {
        (_, None) => false,
        // GitHub distinguishes no cases.
        (CiProvider::GitHub, Some(found)) => found.eq_ignore_ascii_case(required),
        (CiProvider::GitLab, Some(found)) => found == required,
    };
    let mut left: Vec<_> = publishers.iter().filter(|one| wanted.publisher.is_none_or(|named| *named == one.id)).collect();
    let mut keep = |rule: &dyn Fn(&TrustedPublisher) -> bool, refusal: PublisherError| {
        left.retain(|publisher| rule(publisher));
        if left.is_empty() { Err(refusal) } else { Ok(()) }
    };
    keep(&|_| true, PublisherError::NotRegistered(claims.repository.clone()))?;
    keep(&is_for_app, PublisherError::OtherApp(wanted.name.to_owned()))?;
    keep(&|one| one.workflow.is_none() || one.workflow == claims.workflow, PublisherError::OtherWorkflow)?;
    keep(&|one| one.environment.as_ref().is_none_or(is_environment), PublisherError::OtherEnvironment)?;
    // Rules of an environment can require somebody's approval.
    let is_guarded = |one: &TrustedPublisher| one.environment.is_some() || !claims.is_started_by_anybody();
    keep(&is_guarded, PublisherError::NeedsEnvironment(claims.event.clone()))?;
    keep(&|one| claims.is_ref_protected || !one.protected_refs_only, PublisherError::UnprotectedRef)?;
    let is_same = |one: &TrustedPublisher| one.repository_id.as_ref().is_none_or(|id| *id == claims.repository_id);
    keep(&is_same, PublisherError::OtherRepository(claims.repository.clone()))?;
    match left.as_slice() {
        [first, others @ ..] if others.iter().all(|other| other.owner == first.owner) => Ok(*first),
        _ => Err(PublisherError::Ambiguous),
    }
}

#[cfg(test)]
mod tests {
    use super::super::claims::tests::claims;
    use super::*;
    use crate::publishing::access_tokens::{AppPattern, TokenScope};
    use crate::publishing::trusted::GITHUB_ISSUER;
    use crate::shared::{PassportId, Timestamp};

    fn publisher(id: &str, owner: &str) -> TrustedPublisher {
        TrustedPublisher {
            id: TrustedPublisherId::parse(id).expect("an id"),
            owner: Did::from_verified(owner),
            passport_id: PassportId::parse("pass_1").expect("an id"),
            issuer: GITHUB_ISSUER.to_owned(),
            repository: "octo/atlas".to_owned(),
            repository_id: None,
            workflow: None,
            environment: None,
            protected_refs_only: true,
            scopes: [TokenScope::PublishNew].into(),
            apps: vec![AppPattern::parse("atlas*").expect("a pattern")],
            created_at: Timestamp::from_seconds(0),
            last_used_at: None,
        }
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_run_publishes_for_the_publisher_whose_every_condition_it_fulfills() {
        let (app, ada, bob) = (Did::from_verified("z8app"), Did::from_verified("z1ada"), Did::from_verified("z1bob"));
        let (one, two) = (publisher("tp_1", "z1ada"), publisher("tp_2", "z1bob"));
        let second = TrustedPublisherId::parse("tp_2").expect("an id");
        let new = Wanted { app: &app, name: "atlas-notes", owner: None, publisher: None };
        let named = Wanted { publisher: Some(&second), ..new };
        let (of_ada, of_bob) = (Wanted { owner: Some(&ada), ..new }, Wanted { owner: Some(&bob), ..new });
        let by_did = TrustedPublisher { apps: vec![AppPattern::parse("z8app").expect("a pattern")], ..one.clone() };
        let strict = TrustedPublisher { workflow: text("release.yml"), environment: text("production"), ..one.clone() };
        let other_file = TrustedPublisher { workflow: text("test.yml"), ..one.clone() };
        let other_place = TrustedPublisher { environment: text("staging"), ..one.clone() };
        let (pinned, stolen) =
            (TrustedPublisher { repository_id: text("42"), ..one.clone() }, TrustedPublisher { repository_id: text("41"), ..one.clone() });
        let both = vec![one.clone(), two];
        let other_app = || Err(PublisherError::OtherApp("atlas-notes".to_owned()));
        let cases: Vec<(Vec<TrustedPublisher>, Wanted<'_>, Result<&str, PublisherError>)> = vec![
            (vec![one.clone()], new, Ok("tp_1")),
            (vec![by_did], of_ada, Ok("tp_1")),
            (vec![strict.clone()], new, Ok("tp_1")),
            (vec![pinned], new, Ok("tp_1")),
            (vec![], new, Err(PublisherError::NotRegistered("Octo/Atlas".to_owned()))),
            (vec![one.clone()], named, Err(PublisherError::NotRegistered("Octo/Atlas".to_owned()))),
            (vec![one.clone()], Wanted { name: "orbit", ..new }, Err(PublisherError::OtherApp("orbit".to_owned()))),
            (vec![one.clone()], of_bob, other_app()),
            (vec![other_file.clone()], new, Err(PublisherError::OtherWorkflow)),
            (vec![other_place], new, Err(PublisherError::OtherEnvironment)),
            (vec![stolen], new, Err(PublisherError::OtherRepository("Octo/Atlas".to_owned()))),
            (vec![other_file, strict], new, Ok("tp_1")),
            (both.clone(), new, Err(PublisherError::Ambiguous)),
            (both.clone(), named, Ok("tp_2")),
            (both.clone(), of_bob, Ok("tp_2")),
            (vec![one.clone(), one], new, Ok("tp_1")),
        ];
        for (publishers, wanted, expected) in cases {
            let chosen = choose(&publishers, CiProvider::GitHub, &claims(), &wanted).map(|one| one.id.as_str());
            assert_eq!(chosen, expected, "{publishers:?} {wanted:?}");
        }
    }

    #[test]
    fn what_starts_a_run_and_where_it_runs_are_conditions() {
        use CiProvider::{GitHub, GitLab};
        let app = Did::from_verified("z8app");
        let wanted = Wanted { app: &app, name: "atlas", owner: None, publisher: None };
        let any = TrustedPublisher { protected_refs_only: false, ..publisher("tp_1", "z1ada") };
        let workflow = TrustedPublisher { workflow: text("release.yml"), ..any.clone() };
        let environment = TrustedPublisher { environment: text("Production"), ..any.clone() };
        let protected = TrustedPublisher { protected_refs_only: true, ..any.clone() };
        let (foreign, comment) = (CiClaims { workflow: None, ..claims() }, CiClaims { event: "issue_comment".to_owned(), ..claims() });
        let (nowhere, branch) = (CiClaims { environment: None, ..claims() }, CiClaims { is_ref_protected: false, ..claims() });
        let refusal = || Err(PublisherError::NeedsEnvironment("issue_comment".to_owned()));
        let cases: Vec<(&TrustedPublisher, CiProvider, CiClaims, Result<(), PublisherError>)> = vec![
            (&workflow, GitHub, foreign, Err(PublisherError::OtherWorkflow)),
            (&environment, GitHub, claims(), Ok(())),
            (&environment, GitLab, claims(), Err(PublisherError::OtherEnvironment)),
            (&environment, GitHub, nowhere, Err(PublisherError::OtherEnvironment)),
            (&any, GitHub, comment.clone(), refusal()),
            (&environment, GitHub, comment, Ok(())),
            (&any, GitHub, branch.clone(), Ok(())),
            (&protected, GitHub, branch, Err(PublisherError::UnprotectedRef)),
            (&protected, GitHub, claims(), Ok(())),
        ];
        for (publisher, provider, claims, expected) in cases {
            let chosen = choose(std::slice::from_ref(publisher), provider, &claims, &wanted);
            assert_eq!(chosen.map(|_| ()), expected, "{publisher:?} {provider:?} {claims:?}");
        }
    }
}
