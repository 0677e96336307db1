//! Authentication and authorization. A handler's signature is its permission check: the extractors among its parameters have
//! already verified the caller.

mod cookies;
mod key;
mod request_context;
mod signed_request;

pub use cookies::{
    BROWSER_COOKIE, LANGUAGE_COOKIE, LOGIN_COOKIE, VISITOR_COOKIE, browser_cookie, browser_mark, cookie, language_cookie, login_cookie,
    token_hash,
};
pub use key::{CreatedKey, NewKey, create_key};
pub use request_context::{
    Actor, AdminUser, Caller, DeveloperUser, LinkActor, LinkHolder, MaybeUser, OwnerUser, Reader, Reads, RequestContext, Resource,
    ReviewerUser, SignedIn, Writes, bearer, note_use, resources,
};
pub use signed_request::{Downloader, Publisher, SignedByDevice, SignedByToken, is_signed, token_of};
