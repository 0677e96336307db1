//! The real binary: started, bought from, killed, and counted.

mod books;
mod buyer;
mod commands;
mod crash;
mod drain;
mod front;
mod history;
mod plans;
mod scale;
mod souk;
mod storm;
