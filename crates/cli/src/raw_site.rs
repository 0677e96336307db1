//! A site for tests that answers with any bytes.

use crate::args::parse_store;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use url::Url;

/// Answers each request with bytes, and closes the connection. `answer` gets the head of the request in lower case, and the number of
/// requests before.
pub async fn raw_site(answer: impl Fn(&str, usize) -> Vec<u8> + Send + Sync + 'static) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}/", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let mut count = 0;
        while let Ok((mut stream, _)) = listener.accept().await {
            let (mut head, mut buffer) = (Vec::new(), [0; 1_024]);
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut buffer).await {
                    Ok(read) if read > 0 => head.extend_from_slice(&buffer[..read]),
                    _ => return,
                }
            }
            let answered = answer(&String::from_utf8_lossy(&head).to_lowercase(), count);
            count += 1;
            // A client that has seen enough closes the connection first.
            if stream.write_all(&answered).await.is_ok() {
                stream.shutdown().await.expect("closes");
            }
        }
    });
    parse_store(&address).expect("an address")
}
