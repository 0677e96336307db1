//! What only the process knows about the installation: its options, its machine and the requests that it has seen.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Where the store's key is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum KeyPlace {
    /// In an option or a file of the operator.
    #[default]
    Configured,
    /// In the data folder. `others_read`: the mode of the file lets other users of the machine read it.
    Folder { path: String, others_read: bool },
}

/// The facts of an installation. The default is one without any concern.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Installation {
    /// The store's address, if it is neither local nor under https.
    pub insecure_address: Option<String>,
    /// The sandbox is on although the store's address is under https.
    pub exposed_sandbox: bool,
    pub key: KeyPlace,
    /// Emails are written to a folder, because there is no mail server.
    pub mails_to_folder: bool,
    /// PostgreSQL is used without Redis.
    pub lacks_redis: bool,
    /// An address that sent forwarded addresses without being a trusted proxy.
    pub untrusted_proxy: Option<String>,
    /// The version of this process; empty: not known.
    pub version: String,
    /// The machine of this process.
    pub host: String,
    /// The options that all processes of a store must share, such as the days of retries. Empty: this process neither serves nor works.
    pub shared_options: BTreeMap<String, String>,
}

/// Reads the facts of the running process.
pub trait InstallationProbe: Send + Sync {
    fn inspect(&self) -> Installation;
}

/// The first address of a private network that sent forwarded addresses without being a trusted proxy. Others can send what they like.
#[derive(Debug, Clone, Default)]
pub struct SeenProxy(Arc<OnceLock<String>>);

impl SeenProxy {
    pub fn see(&self, address: &str) {
        self.0.get_or_init(|| address.to_owned());
    }

    #[must_use]
    pub fn address(&self) -> Option<String> {
        self.0.get().cloned()
    }
}

/// For tests and benchmarks.
#[derive(Debug, Clone, Default)]
pub struct KnownInstallation(pub Installation);

impl InstallationProbe for KnownInstallation {
    fn inspect(&self) -> Installation {
        self.0.clone()
    }
}
