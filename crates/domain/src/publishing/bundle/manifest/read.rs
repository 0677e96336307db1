//! Reads a manifest and checks every field that the store uses.

use super::super::super::version::parse_version;
use super::super::name::check_name;
use super::error::{At, ManifestErrors, ManifestProblem};
use super::fields::{Fields, Length, TEXT_MAX, is_web_address, text};
use super::signature::{self, ManifestSignature};
use super::{Component, ComponentSource, Dist, Group, Manifest, Requirements};
use crate::access::Did;
use crate::shared::Json;
use std::collections::BTreeMap;

const TITLE: Length = Length { min: 1, max: 40, wide: true };
const DESCRIPTION: Length = Length { min: 3, max: 160, wide: false };
const REQUIRED: Length = Length { min: 1, max: TEXT_MAX, wide: false };
const SCRIPT: Length = Length { min: 0, max: 4_096, wide: false };
const SCREENSHOTS_MAX: usize = 50;
const KEYWORDS_MAX: usize = 50;
const COMPONENTS_MAX: usize = 200;
const VIDEOS_MAX: usize = 3;
const RESOURCE_TYPES_MAX: usize = 10;
const PRICES_MAX: usize = 1;
const SHARES_MAX: usize = 4;
/// The characters of the base64 text of a SHA-512 digest.
const SHA512_BASE64: usize = 88;

/// DIDs and signatures, whose formats are known outside the domain.
pub trait AppDids: Send + Sync {
    /// Reads any DID in its canonical form.
    fn parse(&self, text: &str) -> Option<Did>;
    /// Whether the DID belongs to a key of the role for apps. Other DIDs must be derived from the app's name.
    fn is_app_key(&self, did: &Did) -> bool;
    /// The DID that is derived from a name.
    fn of_name(&self, name: &str) -> Did;
    /// Whether the key belongs to the signer, and has signed the text. Ed25519 only, strictly verified.
    fn verifies(&self, signature: &ManifestSignature) -> bool;
}

/// A manifest as it was uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestFile {
    pub manifest: Manifest,
    pub signature: ManifestSignature,
    /// The canonical text without signatures: equal for two uploads of the same version, although each was signed anew.
    pub content: String,
}

/// Reads the manifest of an upload.
///
/// # Errors
/// Everything that is wrong with it, up to a limit.
pub fn read_manifest(json: &Json, dids: &dyn AppDids) -> Result<ManifestFile, ManifestErrors> {
    let mut errors = ManifestErrors::default();
    let manifest = manifest(json, dids, &mut errors);
    let fields = Fields::of(json, At::ROOT, &mut ManifestErrors::default());
    let signature = fields.and_then(|fields| signature::read(json, &fields, &|text| dids.parse(text), &mut errors));
    match (manifest, signature) {
        (Some(manifest), Some(signature)) if errors.0.is_empty() => {
            Ok(ManifestFile { manifest, signature, content: json.clone().without(&["signatures"]).canonical() })
        }
        _ => Err(errors),
    }
}

/// Reads a manifest that nobody has signed yet, as the tool of a developer does before an upload.
///
/// # Errors
/// As [`read_manifest`].
pub fn read_unsigned_manifest(json: &Json, dids: &dyn AppDids) -> Result<Manifest, ManifestErrors> {
    let mut errors = ManifestErrors::default();
    let manifest = manifest(json, dids, &mut errors);
    manifest.filter(|_| errors.0.is_empty()).ok_or(errors)
}

fn manifest(json: &Json, dids: &dyn AppDids, errors: &mut ManifestErrors) -> Option<Manifest> {
    let fields = Fields::of(json, At::ROOT, errors)?;
    let name = name(&fields, dids, errors);
    let did = did(&fields, name, dids, errors);
    let version = fields.required_text("version", REQUIRED, errors).and_then(|text| {
        let version = parse_version(text);
        if version.is_none() {
            errors.add(&fields.at.member("version"), ManifestProblem::Expected("a semantic version such as 1.2.0 or 1.2.0-beta.1"));
        }
        version
    });
    let description = fields.required_text("description", DESCRIPTION, errors);
    let title = fields.text("title", TITLE, errors);
    let group = fields.text("group", REQUIRED, errors).map(|text| {
        let group = Group::from_name(text);
        if group.is_none() {
            errors.add(&fields.at.member("group"), ManifestProblem::Expected("dapp, static, gateway or pack"));
        }
        group
    });
    for address in ["documentation", "community", "support"] {
        fields.url(address, errors);
    }
    fields.list("videos", VIDEOS_MAX, errors);
    check_resource(&fields, errors);
    let read = Manifest {
        title: title.or(name).unwrap_or_default().to_owned(),
        group: group.flatten(),
        screenshots: fields.paths("screenshots", SCREENSHOTS_MAX, errors),
        keywords: fields.texts("keywords", KEYWORDS_MAX, errors),
        author: author(&fields, errors),
        license: fields.text("license", Length::up_to(TEXT_MAX), errors).unwrap_or_default().to_owned(),
        homepage: fields.url("homepage", errors).map(ToOwned::to_owned),
        requirements: requirements(&fields, errors),
        components: components(&fields, errors),
        has_docker: fields.get("docker").is_some(),
        is_paid: is_paid(&fields, errors),
        capabilities: capabilities(&fields, errors),
        scripts: scripts(&fields, errors),
        logo: fields.path("logo", errors)?,
        dist: dist(&fields, errors)?,
        did: did?,
        name: name?.to_owned(),
        version: version?,
        description: description?.to_owned(),
    };
    Some(read)
}

fn name<'a>(fields: &Fields<'a>, dids: &dyn AppDids, errors: &mut ManifestErrors) -> Option<&'a str> {
    let name = fields.required_text("name", REQUIRED, errors)?;
    match check_name(name) {
        Err(error) if dids.parse(name).is_none_or(|did| did.as_str() != name) => {
            errors.add(&fields.at.member("name"), ManifestProblem::Name(error));
            None
        }
        _ => Some(name),
    }
}

fn did(fields: &Fields<'_>, name: Option<&str>, dids: &dyn AppDids, errors: &mut ManifestErrors) -> Option<Did> {
    let text = fields.required_text("did", REQUIRED, errors)?;
    let at = fields.at.member("did");
    // One app has one spelling, because it is the key of everything about the app.
    let Some(did) = dids.parse(text).filter(|did| did.as_str() == text) else {
        errors.add(&at, ManifestProblem::Expected("a DID"));
        return None;
    };
    let derived = dids.of_name(name?);
    if did != derived && !dids.is_app_key(&did) {
        errors.add(&at, ManifestProblem::ForeignDid(derived.to_string()));
        return None;
    }
    Some(did)
}

fn author(fields: &Fields<'_>, errors: &mut ManifestErrors) -> String {
    match fields.get("author") {
        None => String::new(),
        Some(Json::Text(name)) => name.chars().take(TEXT_MAX).collect(),
        Some(value) => {
            let author = Fields::of(value, fields.at.member("author"), errors);
            author.and_then(|author| author.text("name", Length::up_to(TEXT_MAX), errors)).unwrap_or_default().to_owned()
        }
    }
}

fn requirements(fields: &Fields<'_>, errors: &mut ManifestErrors) -> Requirements {
    let at = fields.at.member("requirements");
    let Some(needs) = fields.get("requirements").and_then(|value| Fields::of(value, at, errors)) else {
        return Requirements::default();
    };
    let mut text = |name: &str| needs.text(name, Length::up_to(TEXT_MAX), errors).unwrap_or_default().to_owned();
    let (server, nodejs) = (text("server"), text("nodejs"));
    Requirements { server, nodejs, os: needs.texts("os", KEYWORDS_MAX, errors), cpu: needs.texts("cpu", KEYWORDS_MAX, errors) }
}

fn components(fields: &Fields<'_>, errors: &mut ManifestErrors) -> Vec<Component> {
    let (at, mut components) = (fields.at.member("components"), Vec::new());
    for (index, item) in fields.list("components", COMPONENTS_MAX, errors).iter().enumerate() {
        let Some(entry) = Fields::of(item, at.item(index), errors) else { continue };
        let required = entry.flag("required", errors).unwrap_or_default();
        let title = entry.text("title", Length::up_to(TEXT_MAX), errors).unwrap_or_default().to_owned();
        if let Some(source) = source(&entry, errors) {
            components.push(Component { source, required, title });
        }
    }
    components
}

fn source(entry: &Fields<'_>, errors: &mut ManifestErrors) -> Option<ComponentSource> {
    let at = entry.at.member("source");
    let source = Fields::of(entry.require("source", errors)?, at, errors)?;
    match source.get("url") {
        // The first of several addresses is the preferred one.
        Some(Json::List(addresses)) if !addresses.is_empty() => {
            let (list_at, mut first) = (source.at.member("url"), None);
            for (index, address) in addresses.iter().enumerate().take(KEYWORDS_MAX) {
                let at = list_at.item(index);
                let Some(address) = text(address, &at, Length::up_to(2_048), errors) else { continue };
                if is_web_address(address) {
                    first = first.or(Some(address));
                } else {
                    errors.add(&at, ManifestProblem::Expected("an address that begins with http:// or https://"));
                }
            }
            first.map(|address| ComponentSource::Url(address.to_owned()))
        }
        Some(_) => source.url("url", errors).map(|address| ComponentSource::Url(address.to_owned())),
        None => {
            let name = source.text("name", REQUIRED, errors);
            let Some(name) = name else {
                errors.add(&source.at, ManifestProblem::Expected("an object with url, or with store, name and version"));
                return None;
            };
            let store = source.url("store", errors).unwrap_or_default().to_owned();
            let version = source.text("version", Length::up_to(TEXT_MAX), errors).unwrap_or_default().to_owned();
            Some(ComponentSource::Store { store, name: name.to_owned(), version })
        }
    }
}

fn capabilities(fields: &Fields<'_>, errors: &mut ManifestErrors) -> Vec<String> {
    let at = fields.at.member("capabilities");
    let Some(asked) = fields.get("capabilities").and_then(|value| Fields::of(value, at, errors)) else { return Vec::new() };
    let is_asked = |name: &&str| !matches!(asked.get(name), None | Some(Json::Bool(false)));
    asked.names().filter(is_asked).take(KEYWORDS_MAX).map(ToOwned::to_owned).collect()
}

fn scripts(fields: &Fields<'_>, errors: &mut ManifestErrors) -> BTreeMap<String, String> {
    let at = fields.at.member("scripts");
    let Some(scripts) = fields.get("scripts").and_then(|value| Fields::of(value, at, errors)) else { return BTreeMap::new() };
    let names: Vec<_> = scripts.names().take(KEYWORDS_MAX).collect();
    names.into_iter().filter_map(|name| Some((name.to_owned(), scripts.text(name, SCRIPT, errors)?.to_owned()))).collect()
}

fn check_resource(fields: &Fields<'_>, errors: &mut ManifestErrors) {
    let at = fields.at.member("resource");
    if let Some(resource) = fields.get("resource").and_then(|value| Fields::of(value, at, errors)) {
        resource.list("types", RESOURCE_TYPES_MAX, errors);
    }
}

/// Whether the app has a price above zero. A number is zero if none of its digits before an exponent is another one.
fn is_paid(fields: &Fields<'_>, errors: &mut ManifestErrors) -> bool {
    let at = fields.at.member("payment");
    let Some(payment) = fields.get("payment").and_then(|value| Fields::of(value, at, errors)) else { return false };
    payment.list("share", SHARES_MAX, errors);
    let (list_at, mut is_paid) = (payment.at.member("price"), false);
    for (index, price) in payment.list("price", PRICES_MAX, errors).iter().enumerate() {
        let Some(price) = Fields::of(price, list_at.item(index), errors) else { continue };
        let digits = match price.require("value", errors) {
            Some(Json::Number(text) | Json::Text(text)) => text.split(['e', 'E']).next().unwrap_or_default(),
            Some(_) => {
                errors.add(&price.at.member("value"), ManifestProblem::Expected("a number"));
                continue;
            }
            None => continue,
        };
        is_paid |= digits.bytes().any(|byte| !matches!(byte, b'0' | b'.'));
    }
    is_paid
}

fn dist(fields: &Fields<'_>, errors: &mut ManifestErrors) -> Option<Dist> {
    let dist = Fields::of(fields.require("dist", errors)?, fields.at.member("dist"), errors)?;
    let tarball = dist.path("tarball", errors);
    if tarball.as_ref().is_some_and(|path| path.as_str().contains('/') || !path.as_str().ends_with(".tgz")) {
        errors.add(&dist.at.member("tarball"), ManifestProblem::Expected("a file name that ends with .tgz"));
    }
    let integrity = dist.required_text("integrity", REQUIRED, errors);
    let is_digest = |text: &str| text.strip_prefix("sha512-").is_some_and(|digest| digest.len() == SHA512_BASE64 && digest.ends_with("=="));
    if integrity.is_some_and(|text| !is_digest(text)) {
        errors.add(&dist.at.member("integrity"), ManifestProblem::Expected("sha512- and the base64 digest of the bundle"));
    }
    let size = match dist.require("size", errors)? {
        Json::Number(text) => text.parse::<u64>().ok().filter(|size| *size > 0),
        _ => None,
    };
    if size.is_none() {
        errors.add(&dist.at.member("size"), ManifestProblem::Expected("the bytes of the bundle"));
    }
    Some(Dist { tarball: tarball?.to_string(), integrity: integrity?.to_owned(), size: size? })
}

#[cfg(test)]
mod tests {
    use super::super::ERRORS_MAX;
    use super::*;

    /// Any text that begins with `z` is a DID, of a key if it begins with `zk`.
    struct FakeDids;

    impl AppDids for FakeDids {
        fn parse(&self, text: &str) -> Option<Did> {
            text.starts_with('z').then(|| Did::from_verified(text))
        }

        fn is_app_key(&self, did: &Did) -> bool {
            did.as_str().starts_with("zk")
        }

        fn of_name(&self, name: &str) -> Did {
            Did::from_verified(format!("zn{name}"))
        }

        fn verifies(&self, _: &ManifestSignature) -> bool {
            true
        }
    }

    fn text(text: &str) -> Json {
        Json::Text(text.to_owned())
    }

    fn number(text: &str) -> Json {
        Json::Number(text.to_owned())
    }

    fn object(members: Vec<(&str, Json)>) -> Json {
        Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    fn valid() -> Json {
        let integrity = format!("sha512-{}==", "A".repeat(86));
        let entry = vec![
            ("type", text("ED25519")),
            ("name", text("hello")),
            ("signer", text("z1dev")),
            ("pk", text("zPk")),
            ("created", text("2026-01-01T00:00:00.000Z")),
            ("sig", text("zSig")),
        ];
        object(vec![
            ("did", text("zkapp")),
            ("name", text("hello-app")),
            ("version", text("1.2.0-beta.1")),
            ("description", text("Says hello")),
            ("logo", text("logo.png")),
            ("dist", object(vec![("tarball", text("hello-app-1.2.0.tgz")), ("integrity", text(&integrity)), ("size", number("12"))])),
            ("signatures", Json::List(vec![object(entry)])),
        ])
    }

    /// The valid manifest with another value at a member, or below it.
    fn with(path: &[&str], value: Json) -> Json {
        fn set(at: &mut Json, path: &[&str], value: Json) {
            let Json::Object(members) = at else { panic!("not an object") };
            match path {
                [name] => drop(members.insert((*name).to_owned(), value)),
                [name, rest @ ..] => set(members.entry((*name).to_owned()).or_insert(Json::Object(BTreeMap::new())), rest, value),
                [] => {}
            }
        }
        let mut manifest = valid();
        set(&mut manifest, path, value);
        manifest
    }

    fn refusal(json: &Json) -> String {
        read_manifest(json, &FakeDids).expect_err("refused").to_string()
    }

    #[test]
    fn a_valid_manifest_is_read() {
        let file = read_manifest(&valid(), &FakeDids).expect("reads");
        let Manifest { did, name, version, title, is_paid, .. } = &file.manifest;
        assert_eq!(
            (did.as_str(), name.as_str(), version.to_string().as_str(), title.as_str()),
            ("zkapp", "hello-app", "1.2.0-beta.1", "hello-app")
        );
        assert!(!is_paid);
        assert!(file.signature.signed.contains("\"signer\":\"z1dev\"") && !file.signature.signed.contains("zSig"));
        assert!(!file.content.contains("signatures"));
    }

    #[test]
    fn each_refusal_says_what_and_where() {
        let component = |source: Json| {
            Json::List(vec![object(vec![("source", object(vec![("url", text("https://a.example"))]))]), object(vec![("source", source)])])
        };
        for (path, value, message) in [
            (&["did"][..], text("zforeign"), "did must be the DID of an app's key, or the one that is derived from the name: znhello-app"),
            (&["did"], text("hello"), "did must be a DID"),
            (&["did"], Json::Null, "did is required"),
            (&["name"], text("Hello App"), "name may have lower-case letters"),
            (&["version"], text("1.2"), "version must be a semantic version"),
            (&["version"], text("1.2.0+build"), "version must be a semantic version"),
            (&["title"], text(&"应".repeat(21)), "title must have at most 40 characters"),
            (&["description"], text("Hi"), "description must have at least 3 characters"),
            (&["description"], text(&"a".repeat(161)), "description must have at most 160 characters"),
            (&["group"], text("other"), "group must be dapp, static, gateway or pack"),
            (&["logo"], text("../../logo.png"), "logo is not a path inside the bundle: the path has an empty segment, '.' or '..'"),
            (&["screenshots"], Json::List(vec![text("a.png"), text("A.png")]), "screenshots[1] occurs twice"),
            (&["homepage"], text("javascript:alert(1)"), "homepage must be an address that begins with http:// or https://"),
            (&["dist", "tarball"], text("../a.tgz"), "dist.tarball is not a path inside the bundle"),
            (&["dist", "tarball"], text("a.zip"), "dist.tarball must be a file name that ends with .tgz"),
            (&["dist", "integrity"], text("sha512-AA=="), "dist.integrity must be sha512- and the base64 digest"),
            (&["dist", "size"], number("-1"), "dist.size must be the bytes of the bundle"),
            (&["components"], component(text("x")), "components[1].source must be an object"),
            (
                &["components"],
                component(object(vec![])),
                "components[1].source must be an object with url, or with store, name and version",
            ),
            (&["components"], component(object(vec![("url", text("file:///etc"))])), "components[1].source.url must be an address"),
            (&["scripts"], object(vec![("preInstall", number("1"))]), "scripts.preInstall must be a text"),
            (&["resource", "types"], Json::List(vec![Json::Null; 11]), "resource.types must have at most 10 items"),
            (&["signatures"], Json::List(vec![]), "signatures must be a list of one signature"),
            (&["signatures"], Json::List(vec![object(vec![("excludes", Json::Null)])]), "signatures[0].excludes is not allowed here"),
        ] {
            let refusal = refusal(&with(path, value));
            assert!(refusal.starts_with("Invalid blocklet meta: ") && refusal.contains(message), "{refusal}");
        }
        assert_eq!(refusal(&Json::Null), "Invalid blocklet meta: the manifest must be an object");
    }

    #[test]
    fn a_manifest_without_a_signature_is_read_by_the_same_rules() {
        let unsigned = valid().without(&["signatures"]);
        let read = read_unsigned_manifest(&unsigned, &FakeDids).expect("reads");
        assert_eq!(read, read_manifest(&valid(), &FakeDids).expect("reads").manifest);
        let invalid = with(&["version"], text("1.2")).without(&["signatures"]);
        let refusal = read_unsigned_manifest(&invalid, &FakeDids).expect_err("refused").to_string();
        assert!(refusal.contains("version must be a semantic version") && !refusal.contains("signatures"), "{refusal}");
    }

    #[test]
    fn a_did_may_be_derived_from_the_name() {
        assert!(read_manifest(&with(&["did"], text("znhello-app")), &FakeDids).is_ok());
    }

    #[test]
    fn only_a_price_above_zero_makes_an_app_paid() {
        let price = |value: Json| with(&["payment", "price"], Json::List(vec![object(vec![("value", value)])]));
        for (value, is_paid) in
            [(number("0"), false), (number("0.00"), false), (number("0e5"), false), (number("0.01"), true), (number("5e-3"), true)]
        {
            assert_eq!(read_manifest(&price(value.clone()), &FakeDids).expect("reads").manifest.is_paid, is_paid, "{value:?}");
        }
    }

    #[test]
    fn the_number_of_errors_and_the_time_to_report_them_are_bounded() {
        // 200 components with long names of members, each of which is wrong in the same deep place.
        let long = "n".repeat(4_000);
        let item = object(vec![("source", object(vec![(long.as_str(), number("1"))])), ("title", number("1"))]);
        let error = read_manifest(&with(&["components"], Json::List(vec![item; 200])), &FakeDids).expect_err("refused");
        assert_eq!(error.0.len(), ERRORS_MAX);
        assert!(error.to_string().len() < 4_096);
    }
}
