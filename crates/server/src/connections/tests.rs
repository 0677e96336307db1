//! The limits of connections, seen by clients on real sockets.

use super::registry::Counts;
use super::*;
use poem::endpoint::make_sync;
use poem::http::StatusCode;
use poem::web::websocket::{Message, WebSocket};
use poem::{Body, IntoResponse, Route, get, handler, post};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

/// Longer than anything that a test waits for.
const LIMIT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(20);

struct Running {
    address: SocketAddr,
    registry: Arc<Registry>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

fn pace() -> Pace {
    Pace { headers: LIMIT, idle: LIMIT, write_grace: LIMIT, body_grace: LIMIT, body_total: LIMIT, linger: LIMIT, ..Pace::default() }
}

async fn start(total: usize, pace: Pace) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let capacity = Capacity { total, per_address: total, exempt: Vec::new() };
    let server = Server::new(listener, capacity, pace).expect("an address");
    let (address, registry, stop) = (server.address, Arc::clone(&server.registry), CancellationToken::new());
    let endless = make_sync(|_| Body::from_bytes_stream(futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b'x'; 65_536]))));
    let refusing = make_sync(|_| "too large".with_status(StatusCode::PAYLOAD_TOO_LARGE));
    let routes = Route::new()
        .at("/", get(make_sync(|_| "hello")))
        .at("/endless", get(endless))
        .at("/refuse", post(refusing))
        .at("/length", post(length))
        .at("/socket", get(socket));
    let routes = poem::EndpointExt::map_to_response(routes);
    let task = tokio::spawn(server.run(routes, stop.clone(), Duration::from_secs(5)));
    Running { address, registry, stop, task }
}

#[handler]
async fn length(body: Body) -> Response {
    match body.into_bytes().await {
        Ok(bytes) => bytes.len().to_string().into_response(),
        Err(error) => error.to_string().with_status(StatusCode::BAD_REQUEST).into_response(),
    }
}

#[handler]
fn socket(socket: WebSocket) -> impl IntoResponse {
    use futures_util::{SinkExt, StreamExt};
    socket.on_upgrade(|mut stream| async move {
        while let Some(Ok(Message::Text(text))) = stream.next().await {
            stream.send(Message::Text(text)).await.expect("sends");
        }
    })
}

impl Running {
    async fn connect(&self, bytes: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("connects");
        stream.write_all(bytes.as_bytes()).await.expect("sends");
        stream
    }

    /// Waits until this number of connections is open.
    async fn until_open(&self, count: usize) {
        let begun = Instant::now();
        while self.registry.counts().open != count {
            assert!(begun.elapsed() < LIMIT, "{:?} are open, expected {count}", self.registry.counts());
            tokio::time::sleep(BRIEF).await;
        }
    }

    /// Waits until the bodies of this number of requests are arriving.
    async fn until_arriving(&self, count: usize) {
        let begun = Instant::now();
        while self.registry.counts().arriving != count {
            assert!(begun.elapsed() < LIMIT, "{:?}, expected {count} arriving", self.registry.counts());
            tokio::time::sleep(BRIEF).await;
        }
    }
}

/// What the server sends until it closes the connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(LIMIT, stream.read_to_end(&mut bytes)).await.expect("the connection is closed in time");
    if let Err(error) = read {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "the server closes or resets the connection");
    }
    String::from_utf8(bytes).expect("text")
}

#[tokio::test]
async fn headers_have_a_total_time_however_slowly_they_trickle() {
    let server = start(10, Pace { headers: Duration::from_millis(300), ..pace() }).await;
    let mut stream = server.connect("GET / HTTP/1.1\r\nhost: a\r\n").await;
    let begun = Instant::now();
    let mut byte = [0];
    while tokio::time::timeout(BRIEF, stream.read(&mut byte)).await.is_err() {
        assert!(begun.elapsed() < LIMIT, "a trickle of headers keeps the connection");
        if stream.write_all(b"x-trickle: 1\r\n").await.is_err() {
            break;
        }
    }
    server.until_open(0).await;
    assert_eq!(rest(&mut server.connect("").await).await, "", "a connection without a byte is closed as well");
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_a_used_one_is_not() {
    let server = start(10, Pace { headers: Duration::from_millis(100), idle: Duration::from_secs(4), ..pace() }).await;
    let request = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    let mut stream = server.connect(request).await;
    let begun = Instant::now();
    let mut bytes = [0; 1_024];
    for _ in 0..3 {
        assert!(stream.read(&mut bytes).await.expect("answers") > 0);
        let idle = tokio::time::timeout(Duration::from_millis(400), stream.read(&mut bytes)).await;
        assert!(idle.is_err(), "closed after {:?}, before the idle time", begun.elapsed());
        stream.write_all(request.as_bytes()).await.expect("sends");
    }
    let answers = rest(&mut stream).await;
    assert!(answers.starts_with("HTTP/1.1 200"), "{answers}");
    server.until_open(0).await;
}

#[tokio::test]
async fn a_body_below_the_minimum_rate_is_answered_with_408() {
    let server = start(10, Pace { body_grace: Duration::from_millis(200), ..pace() }).await;
    let mut stream = server.connect("POST /length HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n123").await;
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("REQUEST_TOO_SLOW"), "{answer}");
    let mut whole = server.connect("POST /length HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 3\r\n\r\n123").await;
    assert!(rest(&mut whole).await.ends_with("\r\n\r\n3"));
}

#[tokio::test]
async fn a_burst_of_a_body_does_not_pay_for_a_silence_after_it() {
    let server = start(10, Pace { body_grace: Duration::from_millis(200), ..pace() }).await;
    let mut stream = server.connect("POST /length HTTP/1.1\r\nhost: a\r\ncontent-length: 1048576\r\n\r\n").await;
    stream.write_all(&vec![b'x'; (1 << 20) - 1]).await.expect("sends all but one byte");
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test]
async fn a_body_has_a_total_time_however_steadily_it_arrives() {
    let server = start(10, Pace { body_total: Duration::from_millis(300), ..pace() }).await;
    let mut stream = server.connect("POST /length HTTP/1.1\r\nhost: a\r\ncontent-length: 1048576\r\n\r\n").await;
    let begun = Instant::now();
    let mut begin = [0; 12];
    while tokio::time::timeout(BRIEF, stream.read_exact(&mut begin)).await.is_err() {
        assert!(begun.elapsed() < LIMIT, "a steady body keeps the connection");
        if stream.write_all(&[b'x'; 256]).await.is_err() {
            break;
        }
    }
    assert_eq!(begin, *b"HTTP/1.1 408");
}

#[tokio::test]
async fn connections_with_incomplete_bodies_make_room_for_requests() {
    let server = start(2, pace()).await;
    let mut incomplete = Vec::new();
    for number in 1..=2 {
        incomplete.push(server.connect("POST /length HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n12345678").await);
        server.until_arriving(number).await;
    }
    let mut normal = server.connect("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(rest(&mut normal).await.ends_with("hello"));
    assert_eq!(rest(&mut incomplete[0]).await, "", "the one that has waited longest is closed");
    incomplete[1].write_all(b"9").await.expect("sends");
    let mut status = [0; 12];
    incomplete[1].read_exact(&mut status).await.expect("the other one is answered");
    assert_eq!(status, *b"HTTP/1.1 200");
}

#[tokio::test]
async fn a_refusal_can_be_read_by_a_client_that_sends_its_whole_body_first() {
    let server = start(10, pace()).await;
    let body = vec![b'x'; 8 << 20];
    let mut stream = server.connect(&format!("POST /refuse HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", body.len())).await;
    stream.write_all(&body).await.expect("the body is taken");
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.ends_with("too large"), "{answer}");
    drop(stream);
    server.until_open(0).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_its_response_is_disconnected() {
    let server = start(10, Pace { write_grace: Duration::from_millis(200), ..pace() }).await;
    let mut stream = server.connect("GET /endless HTTP/1.1\r\nhost: a\r\n\r\n").await;
    stream.read_u8().await.expect("the response begins");
    server.until_open(0).await;
    drop(stream);
}

#[tokio::test]
async fn a_client_that_reads_a_little_before_each_time_limit_is_disconnected() {
    let server = start(10, Pace { write_grace: Duration::from_millis(300), min_rate: 64 << 20, ..pace() }).await;
    let mut stream = server.connect("GET /endless HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let reads = tokio::spawn(async move {
        let mut bytes = vec![0; 65_536];
        while stream.read(&mut bytes).await.is_ok_and(|count| count > 0) {
            tokio::time::sleep(BRIEF).await;
        }
    });
    server.until_open(0).await;
    reads.abort();
}

#[tokio::test]
async fn many_half_open_connections_leave_room_for_requests() {
    let server = start(4, pace()).await;
    let mut half_open = Vec::new();
    for _ in 0..20 {
        half_open.push(server.connect("GET / HTTP/1.1\r\nhost: a\r\n").await);
        let mut normal = server.connect("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
        assert!(rest(&mut normal).await.ends_with("hello"));
    }
    assert!(server.registry.counts().open <= 4);
    drop(half_open);
    server.until_open(0).await;
}

#[tokio::test]
async fn a_websocket_keeps_its_place_until_it_closes() {
    let server = start(10, Pace { headers: Duration::from_millis(50), idle: Duration::from_millis(50), ..pace() }).await;
    let upgrade = "GET /socket HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let mut stream = server.connect(upgrade).await;
    let mut bytes = [0; 4];
    while bytes != *b"\r\n\r\n" {
        bytes.rotate_left(1);
        bytes[3] = stream.read_u8().await.expect("the upgrade is accepted");
    }
    // Longer than the time limits of requests.
    assert!(tokio::time::timeout(Duration::from_millis(300), stream.read_u8()).await.is_err());
    // A masked text frame "hi", and the unmasked frame that comes back.
    stream.write_all(&[0x81, 0x82, 0, 0, 0, 0, b'h', b'i']).await.expect("sends");
    let mut frame = [0; 4];
    stream.read_exact(&mut frame).await.expect("echoes");
    assert_eq!(frame, [0x81, 2, b'h', b'i']);
    assert_eq!(
        server.registry.counts(),
        Counts { open: 1, waiting: 0, arriving: 0, closing: 0 },
        "an upgraded connection counts and does not wait for a request"
    );
    drop(stream);
    server.until_open(0).await;
}

#[tokio::test]
async fn stopping_closes_waiting_connections_and_finishes_requests() {
    let server = start(10, pace()).await;
    let _half_open = server.connect("GET / HTTP/1.1\r\n").await;
    let mut slow = server.connect("POST /length HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n12").await;
    server.until_open(2).await;
    server.until_arriving(1).await;
    assert_eq!(server.registry.counts().waiting, 1);
    server.stop.cancel();
    server.until_open(1).await;
    slow.write_all(b"3").await.expect("sends");
    assert!(rest(&mut slow).await.ends_with("\r\n\r\n3"));
    tokio::time::timeout(LIMIT, server.task).await.expect("stops").expect("no panic");
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[test]
fn the_refusal_announces_its_own_length() {
    let text = std::str::from_utf8(BUSY).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").expect("a body");
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
}
