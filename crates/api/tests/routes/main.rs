//! The whole HTTP side over real SQL, without a socket. One file for each resource.

mod app;
mod checkout_sessions;
mod payment_currencies;
mod payment_links;
mod payment_methods;
mod prices;
mod products;
