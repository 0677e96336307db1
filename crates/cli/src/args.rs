//! The options of the publisher's and the customer's commands.

use clap::{Args, Subcommand};
use semver::Version;
use souk_adapters::identity::parse_did;
use souk_domain::access::Did;
use souk_domain::publishing::bundle::parse_version;
use std::path::PathBuf;
use url::{Host, Url};

#[derive(Debug, Clone, Subcommand)]
pub enum PublisherCommand {
    /// Connect this computer to a store, whose page gives it an access token.
    Connect(ConnectArgs),
    /// Create the manifest of a new app.
    Init(InitArgs),
    /// Pack an app into a bundle.
    Pack(PackArgs),
    /// Upload the packed version, then request its review, or publish it if none is needed or once it is approved. A CI that the store
    /// trusts needs no access token.
    Publish(PublishArgs),
    /// Show the versions of an app, and what is decided about them.
    Status(StatusArgs),
    /// Withdraw a published version, which new installs no longer get, or bring it back.
    Yank(YankArgs),
}

#[derive(Debug, Clone, Subcommand)]
pub enum CustomerCommand {
    /// Sign in to a store on this computer, to install what you have bought there.
    Login(LoginArgs),
    /// Sign out of a store on this computer.
    Logout(LogoutArgs),
    /// Install an app of a store.
    Install(InstallArgs),
    /// Update installed apps, and renew the licenses of those that you have bought.
    Update(UpdateArgs),
}

impl CustomerCommand {
    /// Whether the standard output is for scripts.
    pub const fn is_json(&self) -> bool {
        match self {
            Self::Login(args) => args.output.json,
            Self::Logout(args) => args.output.json,
            Self::Install(args) => args.consent.output.json,
            Self::Update(args) => args.consent.output.json,
        }
    }
}

#[derive(Debug, Clone, Args)]
pub struct OutputArgs {
    /// Print one JSON object, for scripts. Questions are not asked: see --yes.
    #[arg(long)]
    pub json: bool,
}

/// What a command may do without asking.
#[derive(Debug, Clone, Args)]
pub struct ConsentArgs {
    /// Agree to what the apps may do, which is printed. An update from another developer is not included.
    #[arg(long, short)]
    pub yes: bool,
    /// With --yes: agree to updates from this developer, whoever the developer was before. Can be repeated.
    #[arg(long, requires = "yes", value_name = "DID", value_parser = parse_developer)]
    pub accept_developer: Vec<Did>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which store is expected to answer.
#[derive(Debug, Clone, Args)]
pub struct ExpectedStoreArgs {
    /// The DID of the store, so that the first contact is verified as well. Without a terminal, a store that this computer does not know
    /// needs it.
    #[arg(long, env = "SOUK_STORE_DID", value_name = "DID", value_parser = parse_store_did)]
    pub store_did: Option<Did>,
}

/// Where installed apps live.
#[derive(Debug, Clone, Args)]
pub struct AppsFolderArgs {
    /// The folder with the installed apps. Default: ~/.local/share/souk/apps.
    #[arg(long, env = "SOUK_APPS", value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub struct LoginArgs {
    /// The address of the store.
    #[arg(value_name = "STORE", value_parser = parse_store)]
    pub store: Url,
    #[command(flatten)]
    pub expected: ExpectedStoreArgs,
    /// Trust the key with which the store answers now, in place of the one that this computer knows.
    #[arg(long)]
    pub new_key: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Clone, Args)]
pub struct LogoutArgs {
    /// The address of the store. Default: the one at which you have signed in last.
    #[arg(value_name = "STORE", value_parser = parse_store)]
    pub store: Option<Url>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Clone, Args)]
pub struct InstallArgs {
    /// The DID of the app, and a version if it is not the one that new installs get, such as z8ia…@1.2.0-beta.1.
    #[arg(value_name = "DID[@VERSION]", value_parser = parse_app_choice)]
    pub app: AppChoice,
    /// The address of the store. Default: the one at which you have signed in last.
    #[arg(long, env = "SOUK_STORE", value_name = "URL", value_parser = parse_store)]
    pub store: Option<Url>,
    #[command(flatten)]
    pub expected: ExpectedStoreArgs,
    #[command(flatten)]
    pub folder: AppsFolderArgs,
    #[command(flatten)]
    pub consent: ConsentArgs,
}

#[derive(Debug, Clone, Args)]
pub struct UpdateArgs {
    /// The DIDs of apps. Default: all installed apps.
    #[arg(value_name = "DID", value_parser = parse_app)]
    pub apps: Vec<Did>,
    #[command(flatten)]
    pub folder: AppsFolderArgs,
    #[command(flatten)]
    pub consent: ConsentArgs,
}

/// An app, and which of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppChoice {
    pub did: Did,
    /// `None`: the one that new installs get.
    pub version: Option<Version>,
}

/// The folder of an app.
#[derive(Debug, Clone, Args)]
pub struct FolderArgs {
    /// The folder of the app, which contains its blocklet.yml.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub dir: PathBuf,
}

/// Which store is meant. Its access token comes from `SOUK_ACCESS_TOKEN`, from `souk connect` or from a CI that the store trusts, never
/// from an option: other users of the computer see the options of a process.
#[derive(Debug, Clone, Args)]
pub struct StoreArgs {
    /// The address of the store. Default: the one that `souk connect` has connected. SOUK_ACCESS_TOKEN can hold its access token.
    #[arg(long, env = "SOUK_STORE", value_name = "URL", value_parser = parse_store)]
    pub store: Option<Url>,
    /// The DID of the store, which `souk connect` remembers. A store of another DID gets no signed request.
    #[arg(long, env = "SOUK_STORE_DID", value_name = "DID", value_parser = parse_store_did)]
    pub store_did: Option<Did>,
}

#[derive(Debug, Clone, Args)]
pub struct ConnectArgs {
    /// The address of the store.
    #[arg(value_name = "STORE", value_parser = parse_store)]
    pub store: Url,
    /// Replace the connection to another store.
    #[arg(long)]
    pub replace: bool,
}

#[derive(Debug, Clone, Args)]
pub struct InitArgs {
    #[command(flatten)]
    pub folder: FolderArgs,
    /// The name of the app: lower-case letters, digits, '-', '_' and '.'. Default: that of the folder.
    #[arg(long)]
    pub name: Option<String>,
    /// The title that users see. Default: the name.
    #[arg(long)]
    pub title: Option<String>,
    /// The DID of the app, from the page /gen-key-pair of the store. Default: the one that is derived from the name.
    #[arg(long, value_parser = parse_app)]
    pub did: Option<Did>,
}

#[derive(Debug, Clone, Args)]
pub struct PackArgs {
    #[command(flatten)]
    pub folder: FolderArgs,
    /// Run the checks of the store on the bundle, and exit with 1 if one fails.
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Clone, Args)]
pub struct PublishArgs {
    #[command(flatten)]
    pub folder: FolderArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Only upload the version, as a draft.
    #[arg(long)]
    pub draft: bool,
    /// Go on although a check has failed.
    #[arg(long)]
    pub ignore_checks: bool,
    /// The category of an app that has none yet, where no reviewer chooses it.
    #[arg(long, value_name = "SLUG")]
    pub category: Option<String>,
    /// Wait up to this long for the decision of a review, and publish the version once it is approved. Exits with 1 if it is not published
    /// then.
    #[arg(long, value_name = "MINUTES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_440))]
    pub wait: u32,
}

#[derive(Debug, Clone, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub folder: FolderArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// The DID of the app. Default: the app of the folder.
    #[arg(value_parser = parse_app)]
    pub did: Option<Did>,
}

#[derive(Debug, Clone, Args)]
pub struct YankArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    /// The DID of the app and the version, such as z8ia…@1.2.0.
    #[arg(value_name = "DID@VERSION", value_parser = parse_app_version)]
    pub version: AppVersion,
    /// Why the version is withdrawn. Reviewers can read it.
    #[arg(long, required_unless_present = "undo")]
    pub reason: Option<String>,
    /// Bring back a version that you have withdrawn.
    #[arg(long, conflicts_with = "reason")]
    pub undo: bool,
}

/// A version of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppVersion {
    pub did: Did,
    pub version: Version,
}

fn parse_app(text: &str) -> Result<Did, String> {
    parse_did(text).map_err(|error| format!("expected the DID of an app: {error}"))
}

fn parse_store_did(text: &str) -> Result<Did, String> {
    parse_did(text).map_err(|error| format!("expected the DID of a store: {error}"))
}

fn parse_developer(text: &str) -> Result<Did, String> {
    parse_did(text).map_err(|error| format!("expected the DID of a developer: {error}"))
}

fn parse_app_version(text: &str) -> Result<AppVersion, String> {
    let (did, version) = text.rsplit_once('@').ok_or("expected a DID and a version, such as z8ia…@1.2.0")?;
    let version = parse_version(version).ok_or("expected a semantic version such as 1.2.0 after the @")?;
    Ok(AppVersion { did: parse_app(did)?, version })
}

fn parse_app_choice(text: &str) -> Result<AppChoice, String> {
    if !text.contains('@') {
        return Ok(AppChoice { did: parse_app(text)?, version: None });
    }
    let AppVersion { did, version } = parse_app_version(text)?;
    Ok(AppChoice { did, version: Some(version) })
}

/// The address of a store, with a slash at its end, so that paths can be joined to it.
pub fn parse_store(text: &str) -> Result<Url, String> {
    let expected = || "expected the address of a store, such as https://store.example".to_owned();
    let mut url = Url::parse(text).map_err(|_| expected())?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    if !is_web || !url.username().is_empty() || url.password().is_some() {
        return Err(expected());
    }
    // Whoever is on the way could answer in the place of the store.
    if url.scheme() == "http" && !is_loopback(&url) {
        return Err("expected an address that begins with https:// (http:// is for a store on this computer only)".to_owned());
    }
    url.set_query(None);
    url.set_fragment(None);
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// Whether an address is on this computer.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_store_is_one_of_the_web_without_a_password() {
        for (text, expected) in
            [("https://store.example", "https://store.example/"), ("http://127.0.0.1:8080/apps?x=1#y", "http://127.0.0.1:8080/apps/")]
        {
            assert_eq!(parse_store(text).expect(text).as_str(), expected);
        }
        for text in ["http://localhost:8080", "http://souk.localhost", "http://[::1]:8080"] {
            assert!(parse_store(text).is_ok(), "{text}");
        }
        for text in ["http://store.example", "http://192.168.1.2:8080", "http://localhost.example"] {
            assert!(parse_store(text).expect_err(text).contains("https://"), "{text}");
        }
        for text in ["store.example", "file:///etc/passwd", "ftp://store.example", "https://user:secret@store.example", ""] {
            let message = parse_store(text).expect_err(text);
            assert!(message.contains("https://store.example") && !message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn a_version_of_an_app_is_named_by_its_did_and_its_number() {
        let did = "z8ia4e5vAeDsQEE2P26bQqz9oWR1Lxg9qUMaV";
        let parsed = parse_app_version(&format!("did:abt:{did}@1.2.0-beta.1")).expect("parses");
        assert_eq!((parsed.did.as_str(), parsed.version.to_string().as_str()), (did, "1.2.0-beta.1"));
        for text in [did.to_owned(), format!("{did}@1.2"), "hello@1.0.0".to_owned(), format!("{did}@"), "@".to_owned()] {
            assert!(parse_app_version(&text).is_err(), "{text}");
        }
        let chosen = parse_app_choice(did).expect("parses");
        assert_eq!((chosen.did.as_str(), chosen.version), (did, None));
        assert_eq!(parse_app_choice(&format!("{did}@1.2.0")).expect("parses").version, Some(Version::new(1, 2, 0)));
        for text in ["hello".to_owned(), format!("{did}@"), format!("{did}@latest")] {
            assert!(parse_app_choice(&text).is_err(), "{text}");
        }
    }
}
