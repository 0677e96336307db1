//! Counts connections, and closes the ones that have waited longest for a request when a limit is reached.

use super::Capacity;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The connections of a listener. Taking a place costs a lock and two tree operations, and so do the begin and the end of a request.
pub struct Registry {
    state: Mutex<State>,
    capacity: Capacity,
    slots: Arc<Semaphore>,
    /// Notified when a connection begins to wait while all slots are taken.
    waiting: Notify,
}

#[derive(Default)]
struct State {
    /// The number of the last wait. Waits are ordered by it, and begin with 1.
    last: u64,
    /// The connections whose request is not complete, longest waiting first.
    waiting: BTreeMap<u64, Arc<Seat>>,
    peers: HashMap<IpAddr, Peer>,
    /// Connections that were told to close and have not done so yet.
    closing: usize,
}

#[derive(Default)]
struct Peer {
    open: usize,
    waiting: BTreeSet<u64>,
}

/// What a connection's socket and its requests share.
pub struct Seat {
    registry: Arc<Registry>,
    /// The address or network that counts; `None` if it is exempt.
    peer: Option<IpAddr>,
    /// The number of its current wait; 0: it has never waited. Changed under the registry's lock.
    wait: AtomicU64,
    /// Asked to close, or closed. Changed under the registry's lock.
    is_closing: AtomicBool,
    close: Notify,
    /// Increases with each change of what the client has to do; the lowest bits say what ([`Phase`]).
    phase: AtomicU64,
    /// The client sent a part of its body too slowly.
    pub is_slow: AtomicBool,
    /// The current request's body was not read to its end.
    pub has_unread_body: AtomicBool,
}

/// The current phase of a connection.
pub struct CurrentPhase {
    pub phase: Phase,
    /// No other phase of this connection has it.
    pub number: u64,
}

/// What the connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The rest of the headers.
    Headers,
    /// A response, or the body of a request.
    Request,
    /// The next request.
    Idle,
    /// The messages of another protocol, which has its own time limits.
    Upgraded,
}

/// A connection's place in the registry, held by its socket.
pub struct Place {
    seat: Arc<Seat>,
    _slot: OwnedSemaphorePermit,
}

impl Registry {
    pub fn new(mut capacity: Capacity) -> Self {
        // An IPv4 address may be given in IPv6 notation; peers are compared in their canonical form.
        capacity.exempt.iter_mut().for_each(|address| *address = address.to_canonical());
        let slots = Arc::new(Semaphore::new(capacity.total));
        Self { state: Mutex::default(), capacity, slots, waiting: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a free slot. If there is none, it closes the connection that has waited longest for a request.
    pub async fn slot(&self) -> OwnedSemaphorePermit {
        loop {
            if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
                return slot;
            }
            self.state().close_longest_waiting();
            tokio::select! {
                // The semaphore is never closed.
                Ok(slot) = Arc::clone(&self.slots).acquire_owned() => return slot,
                () = self.waiting.notified() => {}
            }
        }
    }

    /// Gives a new connection a place. If its address has reached its limit, that address's own longest waiting connection is closed;
    /// `None` if all of them are busy with requests.
    pub fn enter(self: &Arc<Self>, slot: OwnedSemaphorePermit, address: IpAddr) -> Option<Place> {
        let address = address.to_canonical();
        let peer = (!self.capacity.exempt.contains(&address)).then(|| network(address));
        let mut state = self.state();
        if let Some(peer) = peer {
            let known = state.peers.entry(peer).or_default();
            if known.open >= self.capacity.per_address {
                let longest = known.waiting.first().copied()?;
                state.close(longest);
            }
            state.peers.entry(peer).or_default().open += 1;
        }
        let seat = Arc::new(Seat {
            registry: Arc::clone(self),
            peer,
            wait: AtomicU64::default(),
            is_closing: AtomicBool::default(),
            close: Notify::new(),
            phase: AtomicU64::new(Phase::Headers as u64),
            is_slow: AtomicBool::default(),
            has_unread_body: AtomicBool::default(),
        });
        state.begin_wait(&seat);
        Some(Place { seat, _slot: slot })
    }

    /// Closes all connections without a request in progress. One whose body is still arriving has begun.
    pub fn close_waiting(&self) {
        let mut state = self.state();
        let begun = |seat: &Seat| seat.phase().phase == Phase::Request;
        let without: Vec<_> = state.waiting.iter().filter(|(_, seat)| !begun(seat)).map(|(number, _)| *number).collect();
        without.into_iter().for_each(|number| state.close(number));
    }

    /// A connection has begun to wait, so that it can make room.
    fn notify_waiting(&self) {
        if self.slots.available_permits() == 0 {
            self.waiting.notify_one();
        }
    }

    #[cfg(test)]
    pub fn counts(&self) -> Counts {
        let state = self.state();
        let arriving = state.waiting.values().filter(|seat| seat.phase().phase == Phase::Request).count();
        let open = state.peers.values().map(|peer| peer.open).sum();
        Counts { open, waiting: state.waiting.len() - arriving, arriving, closing: state.closing }
    }
}

/// The numbers of connections that are open, that wait for a request, whose request's body is arriving, and that are being closed.
#[cfg(test)]
#[derive(Debug, PartialEq, Eq)]
pub struct Counts {
    pub open: usize,
    pub waiting: usize,
    pub arriving: usize,
    pub closing: usize,
}

impl State {
    fn begin_wait(&mut self, seat: &Arc<Seat>) {
        // The socket may be dropped before the request that it carried.
        if seat.is_closing.load(Ordering::Relaxed) {
            return;
        }
        self.end_wait(seat);
        self.last += 1;
        let number = self.last;
        seat.wait.store(number, Ordering::Relaxed);
        self.waiting.insert(number, Arc::clone(seat));
        if let Some(peer) = seat.peer {
            self.peers.entry(peer).or_default().waiting.insert(number);
        }
    }

    /// Returns `false` if the seat was not waiting.
    fn end_wait(&mut self, seat: &Seat) -> bool {
        let number = seat.wait.load(Ordering::Relaxed);
        let was_waiting = self.waiting.remove(&number).is_some();
        if let Some(peer) = seat.peer.and_then(|peer| self.peers.get_mut(&peer)) {
            peer.waiting.remove(&number);
        }
        was_waiting
    }

    /// Counts the connection out of its address at once, and asks it to close.
    fn close(&mut self, number: u64) {
        let Some(seat) = self.waiting.get(&number).cloned() else { return };
        self.end_wait(&seat);
        self.count_out(&seat);
        self.closing += 1;
        seat.is_closing.store(true, Ordering::Relaxed);
        seat.close.notify_one();
    }

    fn close_longest_waiting(&mut self) {
        // One that is already closing will free a slot.
        if self.closing == 0
            && let Some(longest) = self.waiting.keys().next().copied()
        {
            self.close(longest);
        }
    }

    fn count_out(&mut self, seat: &Seat) {
        let Some(address) = seat.peer else { return };
        let Some(peer) = self.peers.get_mut(&address) else { return };
        peer.open = peer.open.saturating_sub(1);
        if peer.open == 0 {
            self.peers.remove(&address);
        }
    }
}

impl Seat {
    /// Ends the wait for a request. Returns `false` if the connection is closing, so that the request must not be handled.
    pub fn begin_request(&self) -> bool {
        let may_begin = self.registry.state().end_wait(self);
        self.enter(Phase::Request);
        may_begin
    }

    /// The response is complete; the connection waits for the next request.
    pub fn end_request(self: &Arc<Self>) {
        self.enter(Phase::Idle);
        self.registry.state().begin_wait(self);
        self.registry.notify_waiting();
    }

    /// The request's handler waits for the rest of the body.
    pub fn begin_body_wait(self: &Arc<Self>) {
        self.registry.state().begin_wait(self);
        self.registry.notify_waiting();
    }

    /// The body is complete, or nobody reads it any more. Returns `false` if the connection is closing, so that the request must not be
    /// handled.
    pub fn end_body_wait(&self) -> bool {
        let mut state = self.registry.state();
        // A body that outlives its response must not end the wait for the next request.
        if self.phase().phase == Phase::Request {
            state.end_wait(self);
        }
        !self.is_closing.load(Ordering::Relaxed)
    }

    pub fn enter(&self, phase: Phase) {
        let next = (self.phase.load(Ordering::Relaxed) | 3) + 1;
        self.phase.store(next | phase as u64, Ordering::Relaxed);
    }

    pub fn phase(&self) -> CurrentPhase {
        let number = self.phase.load(Ordering::Relaxed);
        let phase = match number & 3 {
            0 => Phase::Headers,
            1 => Phase::Request,
            2 => Phase::Idle,
            _ => Phase::Upgraded,
        };
        CurrentPhase { phase, number }
    }

    /// Waits until the registry closes this connection.
    pub async fn closed(&self) {
        self.close.notified().await;
    }
}

impl Place {
    pub fn seat(&self) -> Arc<Seat> {
        Arc::clone(&self.seat)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.seat.registry.state();
        if self.seat.is_closing.swap(true, Ordering::Relaxed) {
            state.closing = state.closing.saturating_sub(1);
        } else {
            state.end_wait(&self.seat);
            state.count_out(&self.seat);
        }
    }
}

/// A provider gives a customer at least a /64 network of IPv6, so its addresses count together.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn registry(total: usize, per_address: usize) -> Arc<Registry> {
        let exempt = ["192.0.2.9", "::ffff:192.0.2.10"].map(|address| address.parse().expect("an address")).to_vec();
        Arc::new(Registry::new(Capacity { total, per_address, exempt }))
    }

    fn connect(registry: &Arc<Registry>, address: &str) -> Option<Place> {
        let slot = registry.slot().now_or_never().expect("a free slot");
        registry.enter(slot, address.parse().expect("an address"))
    }

    fn is_closed(place: &Place) -> bool {
        place.seat().is_closing.load(Ordering::Relaxed)
    }

    #[test]
    fn an_address_at_its_limit_loses_its_own_longest_waiting_connection() {
        let registry = registry(10, 2);
        let other = connect(&registry, "192.0.2.2").expect("a place");
        let first = connect(&registry, "192.0.2.1").expect("a place");
        let second = connect(&registry, "192.0.2.1").expect("a place");
        assert!(first.seat().begin_request());
        let third = connect(&registry, "192.0.2.1").expect("a place");
        assert_eq!([&first, &second, &third, &other].map(is_closed), [false, true, false, false]);
        assert!(!second.seat().begin_request(), "a closing connection must not begin a request");
        assert!(third.seat().begin_request());
        assert!(connect(&registry, "192.0.2.1").is_none(), "all of its connections are busy");
        drop(third);
        assert!(connect(&registry, "192.0.2.1").is_some());
    }

    #[test]
    fn trusted_proxies_have_no_limit_of_their_own() {
        let registry = registry(10, 2);
        for proxy in ["192.0.2.9", "192.0.2.10"] {
            let proxied: Vec<_> = (0..5).filter_map(|_| connect(&registry, proxy)).collect();
            assert_eq!(proxied.iter().filter(|place| is_closed(place)).count(), 0, "{proxy}");
            assert_eq!(proxied.len(), 5, "{proxy}");
        }
    }

    #[test]
    fn addresses_of_an_ipv6_network_count_together() {
        let registry = registry(10, 1);
        let first = connect(&registry, "2001:db8::1").expect("a place");
        let _second = connect(&registry, "2001:db8::2").expect("a place");
        let other = connect(&registry, "2001:db8:0:1::1").expect("a place");
        assert_eq!([&first, &other].map(is_closed), [true, false]);
    }

    #[tokio::test]
    async fn when_all_slots_are_taken_the_longest_waiting_connection_makes_room() {
        let registry = registry(2, 2);
        let busy = connect(&registry, "192.0.2.1").expect("a place");
        assert!(busy.seat().begin_request());
        let waiting = connect(&registry, "192.0.2.2").expect("a place");
        let mut slot = std::pin::pin!(registry.slot());
        assert!(slot.as_mut().now_or_never().is_none());
        assert_eq!([&busy, &waiting].map(is_closed), [false, true]);
        drop(waiting);
        let slot = slot.await;
        let last = registry.enter(slot, "192.0.2.3".parse().expect("an address")).expect("a place");
        assert!(last.seat().begin_request());

        // All are busy: the next one waits until a request ends.
        let mut slot = std::pin::pin!(registry.slot());
        assert!(slot.as_mut().now_or_never().is_none());
        assert!(!is_closed(&busy));
        busy.seat().end_request();
        assert!(slot.as_mut().now_or_never().is_none());
        assert!(is_closed(&busy));
        drop(busy);
        drop(slot.await);
        drop(last);
        assert_eq!(registry.counts(), Counts { open: 0, waiting: 0, arriving: 0, closing: 0 });
    }

    #[test]
    fn the_first_connection_keeps_its_place_when_another_one_connects() {
        let registry = registry(10, 10);
        let first = connect(&registry, "192.0.2.1").expect("a place");
        let second = connect(&registry, "192.0.2.1").expect("a place");
        assert!(first.seat().begin_request() && second.seat().begin_request());
    }

    #[test]
    fn a_connection_can_be_closed_until_its_body_is_complete_and_its_request_is_then_not_handled() {
        let registry = registry(10, 1);
        let first = connect(&registry, "192.0.2.1").expect("a place");
        assert!(first.seat().begin_request());
        first.seat().begin_body_wait();
        let second = connect(&registry, "192.0.2.1").expect("the place of the incomplete request");
        assert!(is_closed(&first));
        assert!(!first.seat().end_body_wait(), "a closing connection must not handle its request");
        assert!(second.seat().begin_request());
        second.seat().begin_body_wait();
        assert!(second.seat().end_body_wait());
        assert!(connect(&registry, "192.0.2.1").is_none(), "a complete request is busy");
        second.seat().end_request();
        assert!(second.seat().end_body_wait(), "a body that is dropped late");
        registry.close_waiting();
        assert!(is_closed(&second), "the wait for the next request goes on");
    }

    #[test]
    fn each_phase_has_its_own_number() {
        let registry = registry(1, 1);
        let place = connect(&registry, "192.0.2.1").expect("a place");
        let seat = place.seat();
        let first = seat.phase();
        assert!(seat.begin_request());
        let request = seat.phase();
        seat.end_request();
        let idle = seat.phase();
        seat.enter(Phase::Headers);
        let again = seat.phase();
        assert_eq!([first.phase, request.phase, idle.phase, again.phase], [Phase::Headers, Phase::Request, Phase::Idle, Phase::Headers]);
        assert!(first.number < request.number && request.number < idle.number && idle.number < again.number);
    }
}
