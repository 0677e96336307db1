//! The baseline: a bare handler of the same web framework that inserts one row and commits, on the same kind of database with the same
//! durability, in a separate process.

use poem::http::StatusCode;
use poem::listener::{Acceptor, Listener, TcpListener};
use poem::web::Data;
use poem::{EndpointExt, Route, Server, handler, post};
use souk_adapters::persistence::{Database, Sql};
use std::sync::atomic::{AtomicI64, Ordering};

pub const SERVE: &str = "serve-baseline";

static NEXT: AtomicI64 = AtomicI64::new(1);

#[handler]
async fn insert(database: Data<&Database>, body: String) -> StatusCode {
    let mut connection = database.begin().await.expect("begins");
    let query = connection.query("INSERT INTO baseline (id, body) VALUES ($1, $2)").bind(NEXT.fetch_add(1, Ordering::Relaxed)).bind(body);
    query.execute().await.expect("inserts");
    connection.commit().await.expect("commits");
    StatusCode::NO_CONTENT
}

/// Serves until it is killed.
pub async fn serve(address: &str) {
    let database = Database::open(address).await.expect("opens");
    let mut connection = database.begin().await.expect("begins");
    let create = Sql {
        sqlite: "CREATE TABLE baseline (id INTEGER NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT",
        postgres: "CREATE TABLE baseline (id BIGINT NOT NULL PRIMARY KEY, body TEXT NOT NULL)",
    };
    connection.query_per_dialect(create).execute().await.expect("creates");
    connection.commit().await.expect("commits");
    let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.expect("listens");
    let address = acceptor.local_addr()[0].as_socket_addr().copied().expect("an address");
    println!("http://{address}/");
    Server::new_with_acceptor(acceptor).run(Route::new().at("/", post(insert)).data(database)).await.expect("serves");
}
