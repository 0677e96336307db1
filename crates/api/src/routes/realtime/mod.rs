//! The realtime relay in Phoenix frames (payment-kit.md 4), over a websocket or long polling. Anybody can join
//! it, so its events contain names and ids only, those about reviews also a status. Each event goes only to pages of its users, as long as
//! the login of their cookie exists, and of the browser whose visitor cookie started or submitted the session. A frame on another site has
//! no cookies, because they are `SameSite=Lax`; it polls.
//! The state of a connect session goes to the channel of its token, `relay:{store}:{token}` (did-connect.md 2.1), with or without cookies.

mod channels;
mod frame;
mod login_events;
mod longpoll;
mod websocket;

use crate::state::App;
use poem::{EndpointExt, IntoEndpoint, Route, get};
use souk_domain::events::RealtimeMessage;
use souk_domain::payment;

pub fn routes() -> impl IntoEndpoint {
    let poll = get(longpoll::poll).post(longpoll::push);
    Route::new().at("/websocket", get(websocket::relay)).at("/longpoll", poll.data(longpoll::LongPollSessions::default()))
}

/// The current state of the connect session whose channel a client has joined. Published dialogs stop polling once their socket is open,
/// so they would miss a change from before they joined.
async fn state_after_join(app: &App, token: Option<String>) -> Option<RealtimeMessage> {
    let token = token?;
    match payment::current_connect_session(&app.ctx, &token).await {
        Ok(session) => session?.update().map(RealtimeMessage::Connect),
        Err(error) => {
            tracing::warn!(%error, "the state of a connect session could not be read");
            None
        }
    }
}
