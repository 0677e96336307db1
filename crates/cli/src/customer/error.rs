//! Why a customer's command fails, with the code that scripts read and the exit code of the process.

use super::folder::FolderError;
use super::stores::StoresError;
use crate::error::FileError;
use crate::store::StoreError;
use crate::tool_session::ToolSessionError;
use serde_json::{Value, json};
use souk_adapters::bundles::{InspectError, UnpackError};
use souk_domain::access::Did;
use std::sync::Arc;
use std::time::Duration;

/// How a failure is told to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A file or folder of this computer, or anything else.
    Failed,
    /// The user is not signed in.
    SignInRequired,
    /// The user does not have the app.
    PurchaseRequired,
    /// The store does not offer the app or the version.
    NotOffered,
    /// What was received is not what was signed, or the store has another key.
    NotVerified,
    /// The store does not answer.
    Unreachable,
    /// The user has not agreed.
    NotConfirmed,
}

impl Reason {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failed => "FAILED",
            Self::SignInRequired => "SIGN_IN_REQUIRED",
            Self::PurchaseRequired => "PURCHASE_REQUIRED",
            Self::NotOffered => "NOT_OFFERED",
            Self::NotVerified => "NOT_VERIFIED",
            Self::Unreachable => "UNREACHABLE",
            Self::NotConfirmed => "NOT_CONFIRMED",
        }
    }

    /// 2 is the code of arguments that are not valid.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::SignInRequired => 3,
            Self::PurchaseRequired => 4,
            Self::NotOffered => 5,
            Self::NotVerified => 6,
            Self::Unreachable => 7,
            Self::NotConfirmed => 8,
        }
    }
}

/// What is wrong with what a store has sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    #[error("its public key does not belong to its DID")]
    StoreKey,
    #[error("the signature of the store is not valid")]
    StoreSignature,
    #[error("the statement of the store cannot be understood")]
    Statement,
    #[error("the statement of the store is about something else")]
    OtherStatement,
    /// Only who names such a version gets it.
    #[error("the store offers a version that is not published")]
    NotPublished,
    #[error("the statement of the store is not valid at this time: set the clock of this computer, or try again")]
    Time,
    #[error("the document of the developer is not the one that the store names")]
    DocumentDigest,
    #[error("the document of the developer cannot be understood: {0}")]
    Document(String),
    #[error("the signature of the developer is not valid")]
    DeveloperSignature,
    #[error("the document of the developer says otherwise about {0}")]
    Differs(&'static str),
    #[error("the bundle is not the one that the developer has signed")]
    BundleDigest,
    #[error("the bundle is larger than the developer has signed")]
    BundleSize,
}

#[derive(Debug, thiserror::Error)]
pub enum CustomerError {
    /// The app must not be installed.
    #[error("{store} sent something that cannot be trusted: {error}. Nothing was installed")]
    NotVerified { store: String, error: VerifyError },
    #[error("this computer is not signed in to {0}: run `souk login {0}`")]
    SignedOut(String),
    #[error("{message}: buy it at {page}")]
    NotBought { message: String, page: String },
    /// In the words of the store, and its code; empty: there is no such app.
    #[error("{message}")]
    NotOffered { message: String, code: String },
    #[error("{0} is not installed: run `souk install {0}`")]
    NotInstalled(Did),
    #[error("you have not agreed, so nothing was changed")]
    Declined,
    #[error("nobody can be asked here: add --yes to agree to what is shown above")]
    NobodyToAsk,
    /// The DID of the new one.
    #[error(
        "the developer of this app has changed, which --yes does not include: add --yes --accept-developer {0} to agree to what is shown \
         above"
    )]
    OtherDeveloper(String),
    #[error("{title} is installed from another store, {other}: remove {folder} first")]
    OtherStore { title: String, other: String, folder: String },
    #[error("the download was interrupted {times} times, and {received} of {size} are kept: run the command again to go on")]
    Interrupted { times: u32, received: String, size: String },
    #[error("the store has sent nothing for {} seconds", .0.as_secs())]
    Stalled(Duration),
    /// The store has accepted it under other rules.
    #[error("the bundle cannot be unpacked safely: {0}. Nothing was installed")]
    Archive(InspectError),
    /// Its store could not be contacted for another app of the same command.
    #[error("{0}")]
    Contact(Arc<Self>),
    #[error("not all apps were updated: {0}")]
    Partly(String, Reason),
    #[error(transparent)]
    Stores(#[from] StoresError),
    #[error(transparent)]
    Session(#[from] ToolSessionError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl From<UnpackError> for CustomerError {
    fn from(error: UnpackError) -> Self {
        match error {
            UnpackError::Inspect(error) => Self::Archive(error),
            UnpackError::Write { path, error } => Self::File(FileError { path, error }),
        }
    }
}

impl CustomerError {
    pub fn reason(&self) -> Reason {
        match self {
            Self::NotVerified { .. } | Self::Archive(_) => Reason::NotVerified,
            Self::SignedOut(_) | Self::Session(ToolSessionError::Ended { .. } | ToolSessionError::TimedOut { .. }) => {
                Reason::SignInRequired
            }
            Self::NotBought { .. } => Reason::PurchaseRequired,
            Self::NotOffered { .. } => Reason::NotOffered,
            Self::Declined | Self::NobodyToAsk | Self::OtherDeveloper(_) => Reason::NotConfirmed,
            Self::Interrupted { .. } | Self::Stalled(_) => Reason::Unreachable,
            Self::Contact(error) => error.reason(),
            Self::Partly(_, reason) => *reason,
            Self::Stores(error) => error.reason(),
            Self::Store(error) | Self::Session(ToolSessionError::Store(error)) => reason_of(error),
            Self::NotInstalled(_)
            | Self::OtherStore { .. }
            | Self::Folder(_)
            | Self::File(_)
            | Self::Session(ToolSessionError::Sealed { .. }) => Reason::Failed,
        }
    }

    /// The failure as `--json` prints it.
    pub fn json(&self) -> Value {
        json!({ "error": self.to_string(), "code": self.reason().name() })
    }
}

fn reason_of(error: &StoreError) -> Reason {
    match error {
        StoreError::Unreachable { .. } => Reason::Unreachable,
        StoreError::OtherStore { .. } => Reason::NotVerified,
        StoreError::Refused { status: 429 | 500..=599, .. } => Reason::Unreachable,
        StoreError::Refused { code, .. } if code == "DEVICE_SIGNED_OUT" => Reason::SignInRequired,
        StoreError::Refused { .. } | StoreError::Redirects { .. } | StoreError::NotAStore { .. } => Reason::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_own_exit_code_and_name() {
        use Reason::{Failed, NotConfirmed, NotOffered, NotVerified, PurchaseRequired, SignInRequired, Unreachable};
        let all = [Failed, SignInRequired, PurchaseRequired, NotOffered, NotVerified, Unreachable, NotConfirmed];
        let codes: std::collections::BTreeSet<_> = all.map(Reason::exit_code).into();
        let names: std::collections::BTreeSet<_> = all.map(Reason::name).into();
        assert_eq!((codes.len(), names.len()), (all.len(), all.len()));
        assert!(!codes.contains(&0) && !codes.contains(&2));
    }

    #[test]
    fn a_refusal_of_the_store_keeps_its_reason() {
        let refused = |status, code: &str| StoreError::Refused { status, code: code.to_owned(), message: "No".to_owned(), next: None };
        for (error, reason) in [
            (refused(401, "DEVICE_SIGNED_OUT"), Reason::SignInRequired),
            (refused(503, ""), Reason::Unreachable),
            (refused(400, "BAD_REQUEST"), Reason::Failed),
        ] {
            assert_eq!(CustomerError::from(error).reason(), reason);
        }
        let (message, code) = ("This app has been blocked".to_owned(), "APP_BLOCKED".to_owned());
        let shown = CustomerError::NotOffered { message, code }.json();
        assert_eq!(shown, json!({ "error": "This app has been blocked", "code": "NOT_OFFERED" }));
    }
}
