//! Endpoints for operators and integrators, tested in an empty store on networks that move no money.

pub mod app;
mod checkout_sessions;
mod payment_currencies;
mod payment_links;
mod payment_methods;
mod prices;
mod products;
mod unit_pricing;
