//! `souk status`: the versions of an app, and what is decided about the newest one.

use crate::Failure;
use crate::args::StatusArgs;
use crate::profile::Profiles;
use crate::project::Project;
use crate::report::{self, printable};
use crate::store::{Store, UploadedVersion};
use anstream::println;
use souk_adapters::identity::parse_did;
use souk_domain::access::Did;
use souk_domain::publishing::bundle::parse_version;

/// The latest entries of a review that are shown.
const ENTRIES_SHOWN: usize = 10;

#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    #[error("the DID in the manifest is not valid: correct it, or name the DID of an app")]
    BadDid,
}

pub async fn run(args: &StatusArgs) -> Result<(), Failure> {
    let did = match &args.did {
        Some(did) => did.clone(),
        None => did_of(&Project::open(&args.folder.dir)?)?,
    };
    let store = Store::open(Profiles::of_user()?.connection(&args.store)?).await?;
    let uploads = match store.uploads(&did).await {
        Err(error) if error.is_not_found() => {
            println!("You have uploaded no version of {did} to {}.", store.http.address);
            return Ok(());
        }
        uploads => uploads?,
    };
    println!("{}  {}", printable(&uploads.app.name), printable(&uploads.app.did));
    if let Some(reason) = &uploads.app.block_reason {
        println!("The store has blocked this app: {}", printable(reason));
    }
    for version in &uploads.list {
        println!("{}  uploaded {}", describe(version), printable(&version.uploaded_at));
    }
    let hidden = uploads.count.saturating_sub(uploads.list.len() as u64);
    if hidden > 0 {
        println!("and {hidden} older versions");
    }
    let Some(version) = uploads.list.first().and_then(|version| parse_version(&version.version)) else { return Ok(()) };
    println!("\nChecks of {version}:");
    let checks = store.checks(&did, &version).await?;
    if checks.is_empty() {
        println!("have not run yet");
    }
    report::print_checks(&checks);
    let review = store.review(&did, &version).await?;
    if !review.thread.is_empty() {
        println!("\nReview of {version}:");
    }
    for entry in review.thread.iter().skip(review.thread.len().saturating_sub(ENTRIES_SHOWN)) {
        let [at, kind, name, comment] = [&entry.at, &entry.kind, &entry.actor_name, &entry.comment].map(|text| printable(text));
        let who = if name.is_empty() { String::new() } else { format!(" by {name}") };
        println!("{at}  {}{who}", kind.replace('_', " "));
        for line in comment.lines() {
            println!("    {line}");
        }
    }
    Ok(())
}

fn did_of(project: &Project) -> Result<Did, StatusError> {
    parse_did(project.text("did")).map_err(|_| StatusError::BadDid)
}

/// A version and its status in one line.
pub fn describe(version: &UploadedVersion) -> String {
    printable(&format!("{}: {}", version.version, version.state()))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn version(status: &str) -> UploadedVersion {
        UploadedVersion {
            version: "1.0.0".to_owned(),
            status: status.to_owned(),
            changes_requested: false,
            replaced_by: None,
            yanked_by: None,
            uploaded_at: String::new(),
        }
    }

    #[test]
    fn a_version_is_described_by_what_is_decided_about_it() {
        for (version, text) in [
            (version("PENDING_REVIEW"), "1.0.0: waiting for review"),
            (version("IN_REVIEW"), "1.0.0: in review"),
            (UploadedVersion { changes_requested: true, ..version("IN_REVIEW") }, "1.0.0: in review: changes are requested"),
            (UploadedVersion { replaced_by: Some("1.1.0".to_owned()), ..version("CANCELLED") }, "1.0.0: canceled: replaced by 1.1.0"),
            (
                UploadedVersion { yanked_by: Some("store".to_owned()), ..version("PUBLISHED") },
                "1.0.0: published, and withdrawn by the store",
            ),
            (version("NEW\u{1b}"), "1.0.0: NEW\u{fffd}"),
        ] {
            assert_eq!(describe(&version), text);
        }
    }
}
