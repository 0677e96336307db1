//! The relay in Phoenix frames (payment-kit.md 4), over a websocket or a long poll. Public, so it carries event names and ids
//! only.

mod channels;
mod frame;
mod longpoll;
mod websocket;

use poem::{EndpointExt, IntoEndpoint, Route, get};

pub fn routes() -> impl IntoEndpoint {
    let poll = get(longpoll::poll).post(longpoll::push);
    Route::new().at("/websocket", get(websocket::relay)).at("/longpoll", poll.data(longpoll::LongPollSessions::default()))
}
