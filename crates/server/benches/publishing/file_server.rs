//! The baseline of downloads: a bare server of one file, on the same libraries as the store, in a separate process. It knows no paths, no
//! permissions and no limits, and counts nothing.

use futures_util::TryStreamExt;
use http_body::{Body, Frame};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_LENGTH;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::io;
use std::path::{Path, PathBuf};
use tokio::fs::File;
use tokio::net::TcpListener;
use tokio_util::io::ReaderStream;

pub const SERVE: &str = "serve-file";

/// The bytes that are read at a time, as many as by the store.
const CHUNK: usize = 256 << 10;

/// Serves a file until it is killed.
pub async fn serve(file: &Path) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
    println!("http://{}/", listener.local_addr().expect("an address"));
    loop {
        let (socket, _) = listener.accept().await.expect("accepts");
        let file = file.to_owned();
        tokio::spawn(async move {
            let service = service_fn(move |_: Request<Incoming>| send(file.clone()));
            if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await {
                eprintln!("a connection ended early: {error}");
            }
        });
    }
}

async fn send(file: PathBuf) -> io::Result<Response<impl Body<Data = Bytes, Error = io::Error>>> {
    let file = File::open(file).await?;
    let size = file.metadata().await?.len();
    let body = StreamBody::new(ReaderStream::with_capacity(file, CHUNK).map_ok(Frame::data));
    Response::builder().header(CONTENT_LENGTH, size).body(body).map_err(io::Error::other)
}
