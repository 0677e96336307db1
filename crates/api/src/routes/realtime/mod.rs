//! The realtime relay in Phoenix frames (payment-kit.md 4), over a websocket or long polling. It is public, so its events contain
//! names and ids only.

mod channels;
mod frame;
mod longpoll;
mod websocket;

use poem::{EndpointExt, IntoEndpoint, Route, get};

pub fn routes() -> impl IntoEndpoint {
    let poll = get(longpoll::poll).post(longpoll::push);
    Route::new().at("/websocket", get(websocket::relay)).at("/longpoll", poll.data(longpoll::LongPollSessions::default()))
}
