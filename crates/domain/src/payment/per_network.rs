//! Places of the networks in batches.

use crate::shared::MethodId;
use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::{self, StreamExt};
use std::collections::BTreeMap;

/// Runs tasks concurrently, at most `places` of each network at a time, so that a network that hangs takes no place of another. Returns
/// the results in the order of the tasks.
pub(crate) async fn per_network<'t, T>(tasks: impl Iterator<Item = (MethodId, BoxFuture<'t, T>)>, places: usize) -> Vec<T> {
    let mut by_network = BTreeMap::<_, Vec<_>>::new();
    for (index, (method, task)) in tasks.enumerate() {
        by_network.entry(method).or_default().push(async move { (index, task.await) });
    }
    let networks = by_network.into_values().map(|tasks| stream::iter(tasks).buffer_unordered(places).collect::<Vec<_>>());
    let mut results: Vec<_> = join_all(networks).await.into_iter().flatten().collect();
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
