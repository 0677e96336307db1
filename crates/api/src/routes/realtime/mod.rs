//! The realtime relay in Phoenix frames (payment-kit.md 4), over a websocket or long polling. Anybody can join
//! it, so its events contain names and ids only, and each event goes only to pages of the user of its login cookie, or of the browser whose
//! visitor cookie started or submitted the session. A frame on another site has no cookies, because they are `SameSite=Lax`; it polls.

mod channels;
mod frame;
mod longpoll;
mod websocket;

use poem::{EndpointExt, IntoEndpoint, Route, get};

pub fn routes() -> impl IntoEndpoint {
    let poll = get(longpoll::poll).post(longpoll::push);
    Route::new().at("/websocket", get(websocket::relay)).at("/longpoll", poll.data(longpoll::LongPollSessions::default()))
}
