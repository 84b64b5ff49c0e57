//! When a request is answered: after its IO has ended, and not before the model says so.
//!
//! There is no clock in here. Callers pass the time, so that tests can set it.

use flatwater_core::slab::{Key as _, Slab};
use flatwater_core::slab_key;
use flatwater_model::storage::{Command, Device, Ended, Failure};

slab_key!(
    /// A request under way.
    pub FlightId
);

/// The requests of one device, from their arrival until they may be answered. `T` is an answer.
pub struct Pacing<T> {
    device: Box<dyn Device>,
    flights: Slab<Flight<T>, FlightId>,
    /// Requests whose IO has ended and that the model has ended too.
    ready: Vec<FlightId>,
    ended: Vec<Ended>,
    now_ns: u64,
}

struct Flight<T> {
    arrived_ns: u64,
    /// The answer, once its IO has ended.
    answer: Option<T>,
    /// When and how the model ended it.
    ended: Option<(u64, Result<(), Failure>)>,
}

/// A request that may be answered now.
#[derive(Debug, PartialEq, Eq)]
pub struct Due<T> {
    /// The answer.
    pub answer: T,
    /// The result of the model.
    pub result: Result<(), Failure>,
    /// When it arrived.
    pub arrived_ns: u64,
    /// When the model ended it.
    pub ended_ns: u64,
}

impl<T> Pacing<T> {
    /// No request in flight, on a device whose time is `now_ns`.
    pub fn new(device: Box<dyn Device>, now_ns: u64) -> Self {
        Self { device, flights: Slab::new(), ready: Vec::new(), ended: Vec::new(), now_ns }
    }

    /// The device.
    pub fn device(&mut self) -> &mut dyn Device {
        &mut *self.device
    }

    /// Requests that were not answered yet.
    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// A request arrives: the model begins with it. Returns its id for `finish`.
    pub fn arrive(&mut self, now_ns: u64, command: Command) -> FlightId {
        self.pass(now_ns);
        let id = self.flights.insert(Flight { arrived_ns: self.now_ns, answer: None, ended: None });
        self.device.submit(self.now_ns, id.number().into(), command);
        id
    }

    /// The IO of a request has ended.
    pub fn finish(&mut self, id: FlightId, answer: T) {
        let flight = &mut self.flights[id];
        flight.answer = Some(answer);
        if flight.ended.is_some() {
            self.ready.push(id);
        }
    }

    /// Appends the requests that may be answered now, in the order in which the model ended them.
    pub fn take_due(&mut self, now_ns: u64, due: &mut Vec<Due<T>>) {
        self.pass(now_ns);
        let first = due.len();
        for id in self.ready.drain(..) {
            if let Flight { arrived_ns, answer: Some(answer), ended: Some((ended_ns, result)) } =
                self.flights.remove(id)
            {
                due.push(Due { answer, result, arrived_ns, ended_ns });
            }
        }
        due[first..].sort_by_key(|request| request.ended_ns);
    }

    /// When the next event of the model is due; None: it waits for requests.
    pub fn next_ns(&self) -> Option<u64> {
        self.device.next_ns()
    }

    /// Lets time pass to `now_ns`. If that is earlier than before (two threads race for the lock), time stands still.
    fn pass(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        while self.device.next_ns().is_some_and(|next_ns| next_ns <= self.now_ns) {
            self.device.advance(self.now_ns, &mut self.ended);
            for Ended { tag, at_ns, result } in self.ended.drain(..) {
                let id = FlightId::from_number(tag as u32);
                let flight = &mut self.flights[id];
                flight.ended = Some((at_ns, result));
                if flight.answer.is_some() {
                    self.ready.push(id);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flatwater_model::storage::{Opening, Operation, Spec};

    /// A clock that a test moves.
    struct HandMovedClock(u64);

    impl HandMovedClock {
        fn after(&mut self, ns: u64) -> u64 {
            self.0 += ns;
            self.0
        }
    }

    /// An appliance with a latency of 1000 ns whose link moves a byte a nanosecond.
    fn pacing() -> Pacing<&'static str> {
        let spec = r#"{"kind":"memory","capacity_bytes":4096,"latency_ns":1000,
            "read_bytes_per_s":1e9,"write_bytes_per_s":1e9}"#;
        let spec: Spec = serde_json::from_str(spec).unwrap();
        Pacing::new(spec.open(Opening { seed: 1, used_bytes: 0 }).unwrap(), 0)
    }

    fn read(offset: u64, bytes: u64) -> Command {
        Command { operation: Operation::Read, offset, bytes }
    }

    fn due(pacing: &mut Pacing<&'static str>, now_ns: u64) -> Vec<(&'static str, u64)> {
        let mut due = Vec::new();
        pacing.take_due(now_ns, &mut due);
        due.into_iter().map(|request| (request.answer, request.ended_ns)).collect()
    }

    #[test]
    fn an_answer_waits_for_the_model() {
        let (mut pacing, mut clock) = (pacing(), HandMovedClock(0));
        let one = pacing.arrive(clock.after(500), read(0, 500));
        pacing.finish(one, "read");
        assert_eq!(pacing.next_ns(), Some(2000));
        assert_eq!(due(&mut pacing, clock.after(1499)), []);
        assert_eq!(due(&mut pacing, clock.after(1)), [("read", 2000)]);
        assert_eq!((pacing.in_flight(), pacing.next_ns()), (0, None));
    }

    #[test]
    fn an_answer_waits_for_its_io() {
        let (mut pacing, mut clock) = (pacing(), HandMovedClock(0));
        let one = pacing.arrive(0, read(0, 0));
        assert_eq!(due(&mut pacing, clock.after(5000)), []);
        assert_eq!(pacing.in_flight(), 1);
        pacing.finish(one, "slow");
        assert_eq!(due(&mut pacing, clock.after(1)), [("slow", 1000)]);
    }

    #[test]
    fn many_are_in_flight_and_leave_in_the_models_order() {
        let (mut pacing, mut clock) = (pacing(), HandMovedClock(0));
        let first = pacing.arrive(0, read(0, 1000));
        let second = pacing.arrive(clock.after(10), read(0, 1000));
        pacing.finish(second, "second");
        pacing.finish(first, "first");
        assert_eq!(due(&mut pacing, clock.after(5000)), [("first", 2000), ("second", 3000)]);
        let third = pacing.arrive(clock.after(0), read(0, 0));
        assert!(third == first || third == second, "ids are used again");
    }

    #[test]
    fn a_clock_that_goes_back_stands_still() {
        let mut pacing = pacing();
        let one = pacing.arrive(5000, read(0, 0));
        pacing.finish(one, "one");
        let two = pacing.arrive(4000, read(0, 0));
        pacing.finish(two, "two");
        assert_eq!(due(&mut pacing, 6000), [("one", 6000), ("two", 6000)]);
    }

    #[test]
    fn a_request_that_the_model_refuses_fails() {
        let mut pacing = pacing();
        let one = pacing.arrive(0, read(4096, 1));
        pacing.finish(one, "beyond");
        let mut due = Vec::new();
        pacing.take_due(0, &mut due);
        assert_eq!(due[0].result, Err(Failure::Full));
    }
}
