//! The messages for a page that was opened with a login. They end with the login: a user who ends a stolen login also stops the pages that
//! somebody has opened with it.

use crate::state::App;
use async_trait::async_trait;
use souk_domain::access::{self, TokenHash};
use souk_domain::events::{Audience, RealtimeMessage, Subscription};
use std::sync::Arc;

/// The login of a page.
#[derive(Debug, Clone)]
pub struct PageLogin {
    pub token: TokenHash,
    /// Whose page it is: the user of the login, and the browser.
    pub listener: Audience,
}

impl PageLogin {
    /// Whether the page may receive the message only because of its login.
    fn is_needed_for(&self, message: &RealtimeMessage) -> bool {
        let RealtimeMessage::Event(event) = message else { return false };
        let without_login = Audience { user: None, browser: self.listener.browser.clone() };
        event.audience.includes(&self.listener) && !event.audience.includes(&without_login)
    }

    /// Whether the login still exists. If the database does not answer, the page is closed, and connects again.
    async fn exists(&self, app: &App) -> bool {
        match access::caller_of(&app.ctx, &self.token).await {
            Ok(caller) => caller.is_some_and(|caller| self.listener.user.as_deref() == Some(caller.user.did.as_str())),
            Err(error) => {
                tracing::warn!(%error, "the login of a page could not be read");
                false
            }
        }
    }
}

pub struct LoginEvents {
    pub app: Arc<App>,
    pub login: PageLogin,
    pub events: Box<dyn Subscription>,
    /// A message whose recipient is being checked. The caller may drop the future of `next` meanwhile.
    pub unchecked: Option<RealtimeMessage>,
}

#[async_trait]
impl Subscription for LoginEvents {
    async fn next(&mut self) -> Option<RealtimeMessage> {
        if self.unchecked.is_none() {
            self.unchecked = Some(self.events.next().await?);
        }
        let needs_login = self.unchecked.as_ref().is_some_and(|message| self.login.is_needed_for(message));
        if needs_login && !self.login.exists(&self.app).await {
            return None;
        }
        self.unchecked.take()
    }
}
