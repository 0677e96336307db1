//! Differences of what two manifests say.

use crate::publishing::bundle::{Component, ComponentSource, Manifest};
use std::collections::{BTreeMap, BTreeSet};

/// The most entries of one kind that are compared. A manifest may have more of few kinds only.
pub const ENTRIES_MAX: usize = 200;

/// Something that only one of two manifests names, or of which they say something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared<T> {
    pub name: String,
    pub before: Option<T>,
    pub after: Option<T>,
}

/// What a version needs of another app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyNeed {
    /// Empty: any.
    pub version: String,
    pub is_required: bool,
}

/// What differs between two manifests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ComparedFacts {
    pub permissions: Vec<Compared<()>>,
    pub scripts: Vec<Compared<String>>,
    /// Other apps, by their source.
    pub dependencies: Vec<Compared<DependencyNeed>>,
    /// Fields of the listing and requirements, by their names in the manifest.
    pub fields: Vec<Compared<String>>,
}

/// Compares two manifests; `None`: there is nothing to compare with.
#[must_use]
pub fn compare_facts(before: Option<&Manifest>, after: &Manifest) -> ComparedFacts {
    ComparedFacts {
        permissions: compare(before, after, permissions),
        scripts: compare(before, after, |manifest| manifest.scripts.clone()),
        dependencies: compare(before, after, dependencies),
        fields: compare(before, after, fields),
    }
}

fn compare<T: PartialEq>(before: Option<&Manifest>, after: &Manifest, read: impl Fn(&Manifest) -> BTreeMap<String, T>) -> Vec<Compared<T>> {
    let (mut before, mut after) = (before.map(&read).unwrap_or_default(), read(after));
    let names: BTreeSet<_> = before.keys().chain(after.keys()).cloned().collect();
    let compared = |name: String| Compared { before: before.remove(&name), after: after.remove(&name), name };
    names.into_iter().map(compared).filter(|one| one.before != one.after).take(ENTRIES_MAX).collect()
}

fn permissions(manifest: &Manifest) -> BTreeMap<String, ()> {
    manifest.capabilities.iter().map(|name| (name.clone(), ())).collect()
}

fn dependencies(manifest: &Manifest) -> BTreeMap<String, DependencyNeed> {
    let dependency = |component: &Component| {
        let (source, version) = match &component.source {
            ComponentSource::Url(url) => (url.clone(), String::new()),
            ComponentSource::Store { store, name, version } => (format!("{name} ({store})"), version.clone()),
        };
        (source, DependencyNeed { version, is_required: component.required })
    };
    manifest.components.iter().map(dependency).collect()
}

/// The fields that have a value.
fn fields(manifest: &Manifest) -> BTreeMap<String, String> {
    let requirements = &manifest.requirements;
    let all = [
        ("title", manifest.title.clone()),
        ("group", manifest.group.map(|group| group.name().to_owned()).unwrap_or_default()),
        ("keywords", manifest.keywords.join(", ")),
        ("author", manifest.author.clone()),
        ("license", manifest.license.clone()),
        ("homepage", manifest.homepage.clone().unwrap_or_default()),
        ("requirements.server", requirements.server.clone()),
        ("requirements.nodejs", requirements.nodejs.clone()),
        ("requirements.os", requirements.os.join(", ")),
        ("requirements.cpu", requirements.cpu.join(", ")),
        ("docker", if manifest.has_docker { "true".to_owned() } else { String::new() }),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Did;
    use crate::publishing::bundle::{BundlePath, Dist, Requirements};

    fn manifest() -> Manifest {
        let path = |text: &str| BundlePath::parse(text).expect("a path");
        Manifest {
            did: Did::from_verified("z1"),
            name: "app".into(),
            version: semver::Version::new(1, 0, 0),
            title: "App".into(),
            description: "An app".into(),
            group: None,
            logo: path("logo.png"),
            screenshots: Vec::new(),
            keywords: Vec::new(),
            author: "Dora".into(),
            license: "MIT".into(),
            homepage: None,
            requirements: Requirements::default(),
            components: Vec::new(),
            has_docker: false,
            is_paid: false,
            capabilities: vec!["camera".into()],
            scripts: BTreeMap::from([("preInstall".into(), "a".into())]),
            dist: Dist { tarball: "app.tgz".into(), integrity: "sha512-".into(), size: 1 },
        }
    }

    fn component(version: &str, required: bool) -> Component {
        let source = ComponentSource::Store { store: "https://s.example".into(), name: "other".into(), version: version.into() };
        Component { source, required, title: String::new() }
    }

    #[test]
    fn what_two_manifests_say_differently_is_named() {
        let before = Manifest { components: vec![component("1.0.0", false)], ..manifest() };
        let after = Manifest {
            title: "New app".into(),
            license: String::new(),
            capabilities: vec!["files".into()],
            scripts: BTreeMap::from([("preInstall".into(), "b".into())]),
            components: vec![component("2.0.0", true)],
            has_docker: true,
            ..manifest()
        };
        assert_eq!(compare_facts(Some(&before), &before), ComparedFacts::default());
        let facts = compare_facts(Some(&before), &after);
        let permissions: Vec<_> = facts.permissions.iter().map(|one| (one.name.as_str(), one.after.is_some())).collect();
        assert_eq!(permissions, [("camera", false), ("files", true)]);
        assert_eq!(facts.scripts, [Compared { name: "preInstall".into(), before: Some("a".into()), after: Some("b".into()) }]);
        let need = |version: &str, is_required| Some(DependencyNeed { version: version.into(), is_required });
        let dependency = Compared { name: "other (https://s.example)".into(), before: need("1.0.0", false), after: need("2.0.0", true) };
        assert_eq!(facts.dependencies, [dependency]);
        let fields: Vec<_> = facts.fields.iter().map(|one| (one.name.as_str(), one.before.as_deref(), one.after.as_deref())).collect();
        let expected = [("docker", None, Some("true")), ("license", Some("MIT"), None), ("title", Some("App"), Some("New app"))];
        assert_eq!(fields, expected);
    }

    #[test]
    fn everything_of_a_first_version_is_new() {
        let facts = compare_facts(None, &manifest());
        assert!(facts.fields.iter().all(|one| one.before.is_none() && one.after.is_some()));
        assert_eq!((facts.permissions.len(), facts.scripts.len(), facts.dependencies.len()), (1, 1, 0));
    }
}
