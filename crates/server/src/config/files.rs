//! Where bundles and pictures are stored.

use super::Common;
use super::parse::{parse_bucket, parse_http};
use clap::Args;
use souk_adapters::files::{Bucket, BucketKeys};
use std::path::PathBuf;
use url::Url;

/// The region that services other than Amazon's expect.
const REGION: &str = "us-east-1";

#[derive(Debug, Clone, Args)]
pub struct FilesArgs {
    /// An S3-compatible bucket for bundles and pictures, as s3://bucket/prefix. Default: the data folder.
    #[arg(long, env = "SOUK_FILES_URL", value_name = "URL", value_parser = parse_bucket)]
    pub files_url: Option<BucketName>,
    /// The address of the S3-compatible service. Default: Amazon's in the region.
    #[arg(long, env = "SOUK_FILES_ENDPOINT", value_name = "URL", value_parser = parse_http, requires = "files_url")]
    pub files_endpoint: Option<Url>,
    /// The region of the bucket.
    #[arg(long, env = "SOUK_FILES_REGION", value_name = "REGION", default_value = REGION)]
    pub files_region: String,
    /// The id of the key for the bucket. Default: what the machine provides, as cloud machines do.
    #[arg(long, env = "SOUK_FILES_KEY_ID", value_name = "ID", requires = "files_url")]
    pub files_key_id: Option<String>,
    /// The secret of the key for the bucket.
    #[arg(long, env = "SOUK_FILES_SECRET", value_name = "SECRET", hide_env_values = true, requires = "files_key_id")]
    pub files_secret: Option<String>,
    /// A file with the secret of the key for the bucket.
    #[arg(long, env = "SOUK_FILES_SECRET_FILE", value_name = "FILE", conflicts_with = "files_secret", requires = "files_key_id")]
    pub files_secret_file: Option<PathBuf>,
}

/// A bucket and the part of it that belongs to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketName {
    pub bucket: String,
    pub prefix: String,
}

impl Common {
    /// The configured bucket; `None`: files are in the data folder.
    ///
    /// # Errors
    /// A key has no secret.
    pub fn bucket(&self) -> Result<Option<Bucket>, String> {
        let files = &self.files;
        let Some(BucketName { bucket, prefix }) = files.files_url.clone() else { return Ok(None) };
        let keys = match (files.files_key_id.clone(), files.files_secret.clone()) {
            (Some(id), Some(secret)) => Some(BucketKeys { id, secret }),
            (Some(_), None) => return Err("--files-key-id needs --files-secret or --files-secret-file".to_owned()),
            (None, _) => None,
        };
        Ok(Some(Bucket { name: bucket, prefix, region: files.files_region.clone(), endpoint: files.files_endpoint.clone(), keys }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Cli, Command, WorkArgs};
    use clap::Parser;

    fn parsed(options: &[&str]) -> Result<Common, String> {
        let cli = Cli::try_parse_from([&["souk", "work"], options].concat()).map_err(|error| error.to_string())?;
        let Command::Work(WorkArgs { common, .. }) = cli.command else { panic!("another command") };
        Ok(common)
    }

    #[test]
    fn files_are_in_the_data_folder_unless_a_bucket_is_named() {
        assert_eq!(parsed(&[]).expect("parses").bucket(), Ok(None));
        let options = ["--files-url", "s3://shop/souk/files/", "--files-endpoint", "http://127.0.0.1:9000", "--files-key-id", "id"];
        let without_secret = parsed(&options).expect("parses").bucket();
        assert!(without_secret.expect_err("no secret").contains("--files-secret"));
        let bucket =
            parsed(&[&options[..], &["--files-secret", "hunter2"]].concat()).expect("parses").bucket().expect("valid").expect("one");
        assert_eq!((bucket.name.as_str(), bucket.prefix.as_str(), bucket.region.as_str()), ("shop", "souk/files", REGION));
        assert!(!format!("{bucket:?}").contains("hunter2"));
    }

    #[test]
    fn options_of_a_bucket_need_one() {
        for options in [["--files-endpoint", "http://127.0.0.1:9000"], ["--files-key-id", "id"]] {
            assert!(parsed(&options).expect_err("no bucket").contains("--files-url"), "{options:?}");
        }
    }
}
