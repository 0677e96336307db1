//! Who calls. A handler's signature is its permission check: what it takes as a parameter has been established.

mod call;
mod cookies;
mod key;

pub use call::{Actor, Call, Caller, Guest, Opener, Reader, Reads, Resource, SignedIn, Writes, bearer, resources};
pub use cookies::{LOGIN_COOKIE, VISITOR_COOKIE, cookie, login_cookie, token_hash};
pub use key::{NewKey, create_key};
