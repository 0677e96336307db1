//! `/api/checkout-sessions`

mod buyer;
mod card;
mod credit;
mod fields;
mod free;
mod interrupted;
mod offers;
mod prices;
mod purchase;
mod races;
mod start;
mod stock;
mod submit;
mod subscription;
mod unknown;
