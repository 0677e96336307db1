//! What operators and integrators do, in a store that sells nothing yet and on networks that move nothing.

mod app;
mod checkout_sessions;
mod payment_currencies;
mod payment_links;
mod payment_methods;
mod prices;
mod products;
mod rates;
