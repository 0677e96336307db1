//! What a signed-in user decides about the requests of developers' tools. The tools' own calls are those of `routes::connect`.

mod api;
mod model;

pub use api::ToolSessionsApi;
