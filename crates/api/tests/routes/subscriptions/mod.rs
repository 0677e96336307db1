//! Subscriptions: who sees them, who may change them, and what follows.

mod collect;
mod manage;
mod read;
