//! Files in an S3-compatible store.

use super::FileStore;
use futures_util::StreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as ObjectPath;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use souk_domain::operation::UnlimitedDisk;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// How long one request may take, as long as the slowest client may take to receive a bundle.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long failed requests are repeated.
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
const RETRIES: usize = 5;

/// A bucket and the part of it that belongs to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    pub name: String,
    /// Before the names of all files; empty: none.
    pub prefix: String,
    pub region: String,
    /// The address of the service; `None`: that of Amazon in the region.
    pub endpoint: Option<Url>,
    /// `None`: the machine provides credentials, as cloud machines do.
    pub keys: Option<BucketKeys>,
}

/// The credentials of a bucket. Their `Debug` output does not contain the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketKeys {
    pub id: String,
    pub secret: String,
}

impl fmt::Debug for BucketKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketKeys").field("id", &self.id).finish_non_exhaustive()
    }
}

impl FileStore {
    /// Opens a bucket, and checks that it answers.
    ///
    /// # Errors
    /// The bucket does not exist, cannot be reached or refuses the credentials.
    pub async fn open_bucket(bucket: &Bucket) -> io::Result<Self> {
        let is_plain = bucket.endpoint.as_ref().is_some_and(|endpoint| endpoint.scheme() == "http");
        let client = ClientOptions::new().with_timeout(REQUEST_TIMEOUT).with_connect_timeout(CONNECT_TIMEOUT).with_allow_http(is_plain);
        let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() };
        let mut builder = AmazonS3Builder::new().with_bucket_name(&bucket.name).with_region(&bucket.region);
        builder = builder.with_retry(retry).with_client_options(client);
        if let Some(endpoint) = &bucket.endpoint {
            builder = builder.with_endpoint(endpoint.as_str().trim_end_matches('/'));
        }
        if let Some(keys) = &bucket.keys {
            builder = builder.with_access_key_id(&keys.id).with_secret_access_key(&keys.secret);
        }
        let objects: Arc<dyn ObjectStore> = Arc::new(builder.build().map_err(io::Error::other)?);
        let prefix = ObjectPath::parse(bucket.prefix.trim_matches('/')).map_err(io::Error::other)?;
        let store = Self { objects, prefix, folder: None, disk: Arc::new(UnlimitedDisk) };
        // An absent file looks like an absent bucket, but a list does not.
        match store.list().next().await {
            Some(Err(error)) => Err(error),
            _ => Ok(store),
        }
    }
}
