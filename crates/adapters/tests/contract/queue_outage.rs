//! A temporary outage of Redis.

use super::queue::{Deployment, Recorder, eventually, now};
use souk_adapters::queue::QueueBackend;
use souk_adapters::testing::RunningClock;
use souk_domain::events::{Message, Topic};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use url::Url;

/// A proxy in front of a server that can be shut: existing connections end, and new ones are closed at once.
struct OutageProxy {
    address: String,
    shut: Arc<AtomicBool>,
    refused: Arc<AtomicU32>,
    ends: Arc<std::sync::Mutex<CancellationToken>>,
}

impl OutageProxy {
    async fn before(server: &str) -> Self {
        let mut address = Url::parse(server).expect("an address");
        let target = format!("{}:{}", address.host_str().expect("a host"), address.port().unwrap_or(6379));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let port = listener.local_addr().expect("an address").port();
        address.set_host(Some("127.0.0.1")).expect("a host");
        address.set_port(Some(port)).expect("a port");
        let door = Self { address: address.into(), shut: Arc::default(), refused: Arc::default(), ends: Arc::default() };
        let (shut, refused, ends) = (door.shut.clone(), door.refused.clone(), door.ends.clone());
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                if shut.load(Ordering::SeqCst) {
                    refused.fetch_add(1, Ordering::SeqCst);
                    continue;
                }
                let (target, end) = (target.clone(), ends.lock().expect("a lock").clone());
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(target).await.expect("connects");
                    tokio::select! {
                        () = end.cancelled() => {}
                        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                    }
                });
            }
        });
        door
    }

    fn shut(&self) {
        self.shut.store(true, Ordering::SeqCst);
        std::mem::take(&mut *self.ends.lock().expect("a lock")).cancel();
    }

    fn open(&self) {
        self.shut.store(false, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_published_during_a_redis_outage_are_delivered_after_it() {
    let mut at = Deployment::scaled().await;
    let QueueBackend::Redis(server) = &at.backend else { panic!("the scaled deployment has a Redis") };
    let door = OutageProxy::before(server).await;
    at.backend = QueueBackend::Redis(door.address.clone());
    let recorder = Recorder::new(|_| async { Ok(()) });
    let started = at.start(at.work(Arc::new(RunningClock), recorder.clone())).await;
    at.publish(Message::new(Topic::Realtime, now())).await;
    at.until_empty().await;
    door.shut();
    for _ in 0..20 {
        at.publish(Message::new(Topic::Realtime, now())).await;
    }
    eventually("the queue was asked for in vain", || async { door.refused.load(Ordering::SeqCst) > 2 }).await;
    assert_eq!(at.rows().await, 20);
    door.open();
    at.until_empty().await;
    started.stop().await;
    let mut ids: Vec<_> = recorder.seen().into_iter().map(|job| job.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), recorder.seen().len()), (21, 21));
}
