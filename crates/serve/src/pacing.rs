//! When a request is answered: not before its IO is done, and not before the model says so.
//!
//! No clock in here: callers say what time it is, so that tests can move it by hand.

use flatwater_model::storage::{Command, Device, Ended, Failure};

/// Requests of one device, from their arrival to the moment at which they may be answered; `T` is the answer.
pub struct Pacing<T> {
    device: Box<dyn Device>,
    flights: Vec<Option<Flight<T>>>,
    free: Vec<usize>,
    /// Flights whose IO and whose model are both done.
    ready: Vec<usize>,
    ended: Vec<Ended>,
    now_ns: u64,
}

struct Flight<T> {
    arrived_ns: u64,
    /// What is to be sent, once its IO is done.
    answer: Option<T>,
    /// When the model said that it is over, and how.
    over: Option<(u64, Result<(), Failure>)>,
}

/// A request that may be answered now.
#[derive(Debug, PartialEq, Eq)]
pub struct Due<T> {
    /// What its IO gave.
    pub answer: T,
    /// What the model says of it.
    pub result: Result<(), Failure>,
    /// When it came.
    pub arrived_ns: u64,
    /// When the model was done with it.
    pub over_ns: u64,
}

impl<T> Pacing<T> {
    /// Nothing in flight on a device whose time has come to `now_ns`.
    pub fn new(device: Box<dyn Device>, now_ns: u64) -> Self {
        Self { device, flights: Vec::new(), free: Vec::new(), ready: Vec::new(), ended: Vec::new(), now_ns }
    }

    /// The device.
    pub fn device(&mut self) -> &mut dyn Device {
        &mut *self.device
    }

    /// Requests that were not answered yet.
    pub fn in_flight(&self) -> usize {
        self.flights.len() - self.free.len()
    }

    /// A request arrives: the model's time of it begins. Gives the number by which `done` knows it.
    pub fn arrive(&mut self, now_ns: u64, command: Command) -> usize {
        self.pass(now_ns);
        let number = self.free.pop().unwrap_or_else(|| {
            self.flights.push(None);
            self.flights.len() - 1
        });
        self.flights[number] = Some(Flight { arrived_ns: self.now_ns, answer: None, over: None });
        self.device.submit(self.now_ns, number as u64, command);
        number
    }

    /// The IO of a request is done.
    pub fn done(&mut self, number: usize, answer: T) {
        if let Some(flight) = &mut self.flights[number] {
            flight.answer = Some(answer);
            if flight.over.is_some() {
                self.ready.push(number);
            }
        }
    }

    /// Appends what may be answered now, in the model's order.
    pub fn due(&mut self, now_ns: u64, due: &mut Vec<Due<T>>) {
        self.pass(now_ns);
        let first = due.len();
        for number in self.ready.drain(..) {
            if let Some(Flight { arrived_ns, answer: Some(answer), over: Some((over_ns, result)) }) =
                self.flights[number].take()
            {
                self.free.push(number);
                due.push(Due { answer, result, arrived_ns, over_ns });
            }
        }
        due[first..].sort_by_key(|one| one.over_ns);
    }

    /// When the model says something next; None when it waits for requests.
    pub fn next_ns(&self) -> Option<u64> {
        self.device.next_ns()
    }

    /// Lets the device's time pass. A clock that went back (two threads that race for the lock) stands still.
    fn pass(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        while self.device.next_ns().is_some_and(|next_ns| next_ns <= self.now_ns) {
            self.device.advance(self.now_ns, &mut self.ended);
            for Ended { tag, at_ns, result } in self.ended.drain(..) {
                if let Some(flight) = &mut self.flights[tag as usize] {
                    flight.over = Some((at_ns, result));
                    if flight.answer.is_some() {
                        self.ready.push(tag as usize);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flatwater_model::storage::{Opening, Operation, Spec};

    /// A clock that only goes on when it is told to.
    struct HandMovedClock(u64);

    impl HandMovedClock {
        fn after(&mut self, ns: u64) -> u64 {
            self.0 += ns;
            self.0
        }
    }

    /// An appliance whose every request takes 1000 ns and whose link moves a byte a nanosecond.
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
        pacing.due(now_ns, &mut due);
        due.into_iter().map(|one| (one.answer, one.over_ns)).collect()
    }

    #[test]
    fn an_answer_waits_for_the_model() {
        let (mut pacing, mut clock) = (pacing(), HandMovedClock(0));
        let one = pacing.arrive(clock.after(500), read(0, 500));
        pacing.done(one, "read");
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
        pacing.done(one, "slow");
        assert_eq!(due(&mut pacing, clock.after(1)), [("slow", 1000)]);
    }

    #[test]
    fn many_are_in_flight_and_leave_in_the_models_order() {
        let (mut pacing, mut clock) = (pacing(), HandMovedClock(0));
        let first = pacing.arrive(0, read(0, 1000));
        let second = pacing.arrive(clock.after(10), read(0, 1000));
        pacing.done(second, "second");
        pacing.done(first, "first");
        assert_eq!(due(&mut pacing, clock.after(5000)), [("first", 2000), ("second", 3000)]);
        let third = pacing.arrive(clock.after(0), read(0, 0));
        assert!(third == first || third == second, "numbers are used again");
    }

    #[test]
    fn a_clock_that_goes_back_stands_still() {
        let mut pacing = pacing();
        let one = pacing.arrive(5000, read(0, 0));
        pacing.done(one, "one");
        let two = pacing.arrive(4000, read(0, 0));
        pacing.done(two, "two");
        assert_eq!(due(&mut pacing, 6000), [("one", 6000), ("two", 6000)]);
    }

    #[test]
    fn what_the_model_refuses_is_told() {
        let mut pacing = pacing();
        let one = pacing.arrive(0, read(4096, 1));
        pacing.done(one, "beyond");
        let mut due = Vec::new();
        pacing.due(0, &mut due);
        assert_eq!(due[0].result, Err(Failure::Full));
    }
}
