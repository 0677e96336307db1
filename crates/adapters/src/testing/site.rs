//! A web site of a test on 127.0.0.1.

use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The largest head of a request, in bytes.
const HEAD_MAX: usize = 16 << 10;

/// What the site answers.
#[derive(Debug, Clone)]
pub struct SiteAnswer {
    pub status: u16,
    pub body: Vec<u8>,
    /// Where it redirects to.
    pub location: Option<String>,
}

impl SiteAnswer {
    #[must_use]
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, body: body.into(), location: None }
    }

    #[must_use]
    pub fn redirect(to: &str) -> Self {
        Self { status: 302, body: Vec::new(), location: Some(to.to_owned()) }
    }
}

/// Answers each request by its path with query. Returns the address, without a slash at its end. The site ends with the test's runtime.
///
/// # Panics
/// There is no free port.
pub async fn site(answer: impl Fn(&str) -> SiteAnswer + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move { serve(stream, &*answer).await });
        }
    });
    address
}

/// Answers one request. A client that goes away gets nothing.
async fn serve(mut stream: TcpStream, answer: &(impl Fn(&str) -> SiteAnswer + Sync)) -> Option<()> {
    let (mut head, mut buffer) = (Vec::new(), [0; 1_024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0 && head.len() < HEAD_MAX)?;
        head.extend_from_slice(buffer.get(..read)?);
    }
    let path = String::from_utf8_lossy(&head).split(' ').nth(1)?.to_owned();
    let SiteAnswer { status, body, location } = answer(&path);
    let location = location.map(|to| format!("location: {to}\r\n")).unwrap_or_default();
    let head = format!("HTTP/1.1 {status} Answer\r\nconnection: close\r\n{location}content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(&body).await.ok()?;
    stream.shutdown().await.ok()
}
