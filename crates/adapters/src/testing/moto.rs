//! Moto's server, which plays an S3-compatible store.

use super::required;
use crate::files::{Bucket, BucketKeys};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use url::Url;

/// A server for one test, with the bucket `shop`. It ends when dropped.
pub struct Moto {
    server: Child,
    pub endpoint: Url,
}

impl Moto {
    /// Starts a server.
    ///
    /// # Panics
    /// `MOTO_SERVER` does not name moto's program, or the server does not answer.
    pub async fn start() -> Self {
        let program = required("MOTO_SERVER", "moto's server");
        let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
        let mut command = Command::new(&program);
        command.args(["-H", "127.0.0.1", "-p", &free.port().to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        let server = command.spawn().unwrap_or_else(|error| panic!("MOTO_SERVER={program}: {error}"));
        let moto = Self { server, endpoint: Url::parse(&format!("http://{free}/")).expect("an address") };
        let client = reqwest::Client::builder().timeout(Duration::from_secs(5)).build().expect("a client");
        let bucket = moto.endpoint.join("shop").expect("an address");
        // The server answers as soon as it listens.
        for _ in 0..600 {
            match client.put(bucket.clone()).send().await {
                Ok(created) => {
                    assert!(created.status().is_success(), "{created:?}");
                    return moto;
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        panic!("moto does not answer at {}", moto.endpoint);
    }

    /// The part of a bucket that belongs to a store.
    #[must_use]
    pub fn bucket(&self, name: &str) -> Bucket {
        Bucket {
            name: name.to_owned(),
            prefix: "souk/files".to_owned(),
            region: "us-east-1".to_owned(),
            endpoint: Some(self.endpoint.clone()),
            keys: Some(BucketKeys { id: "id".to_owned(), secret: "secret".to_owned() }),
        }
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let ended = self.server.kill().and_then(|()| self.server.wait());
        assert!(ended.is_ok() || std::thread::panicking(), "{ended:?}");
    }
}
