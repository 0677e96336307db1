//! The stripe rail against the sandbox's card processor, over a real socket.

mod bench;
mod faults;
mod payments;
mod processor;
mod saved;
mod webhooks;
