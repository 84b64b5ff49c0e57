//! Tests of row locks without the rest of a server.

use super::super::host::tests::{host, ready};
use super::Answer::{Granted, Victim, Waits};
use super::Mode::{Exclusive, Shared};
use super::*;

const A: RowNo = RowNo::new(7);
const B: RowNo = RowNo::new(8);

fn thread(number: u32) -> ThreadNo {
    ThreadNo::new(number)
}

/// The locks of so many threads, and a host.
struct World {
    locks: RowLocks,
    host: Host,
}

impl World {
    fn new(threads: u32) -> Self {
        Self { locks: RowLocks::new(threads), host: host().0 }
    }

    /// A thread wants a row.
    fn ask(&mut self, number: u32, row: RowNo, mode: Mode) -> Answer {
        if self.locks.take(thread(number), row, mode) {
            return Granted;
        }
        self.locks.request(thread(number), row, mode, &mut self.host)
    }

    /// A thread ends its transaction. Returns the threads that go on.
    fn end(&mut self, number: u32) -> Vec<u32> {
        self.locks.release(thread(number), &mut self.host);
        ready(&mut self.host)
    }
}

#[test]
fn rows_are_given_in_the_order_in_which_they_were_wanted() {
    let mut world = World::new(4);
    assert_eq!(world.ask(0, A, Exclusive), Granted);
    assert_eq!([2, 1, 3].map(|number| world.ask(number, A, Exclusive)), [Waits; 3]);
    assert_eq!(world.ask(0, A, Exclusive), Granted, "its own");
    assert_eq!([0, 2, 1].map(|number| world.end(number)), [[2], [1], [3]]);
    assert!(world.end(3).is_empty());
    assert!(world.locks.is_free());
    assert_eq!(world.locks.counts.waits, 3);
}

#[test]
fn readers_share_and_overtake_nobody_who_wants_it_alone() {
    let mut world = World::new(5);
    assert_eq!([0, 1].map(|number| world.ask(number, A, Shared)), [Granted; 2]);
    assert_eq!(world.ask(2, A, Exclusive), Waits);
    assert_eq!([3, 4].map(|number| world.ask(number, A, Shared)), [Waits; 2]);
    assert_eq!((world.end(0), world.end(1)), (vec![], vec![2]));
    assert_eq!(world.end(2), [3, 4]);
    assert_eq!([3, 4].map(|number| world.end(number).len()), [0, 0]);
    assert!(world.locks.is_free());
}

#[test]
fn a_row_that_was_wanted_once_is_locked_at_its_moment() {
    let mut world = World::new(2);
    assert!(world.locks.take(thread(0), A, Exclusive));
    world.end(0);
    assert!(world.locks.take(thread(1), A, Exclusive), "nobody has waited");
    assert_eq!(world.ask(0, A, Exclusive), Waits);
    assert_eq!((world.end(1), world.end(0)), (vec![0], vec![]));
    assert!(!world.locks.take(thread(1), A, Exclusive), "though it is free");
    assert_eq!(world.ask(1, A, Exclusive), Granted);
    assert!(world.locks.take(thread(1), A, Exclusive), "it has it");
}

#[test]
fn waits_are_counted_from_their_beginning_to_their_end() {
    let mut world = World::new(3);
    world.ask(0, A, Exclusive);
    world.host.set_now_ns(100);
    world.ask(1, A, Exclusive);
    world.host.set_now_ns(130);
    world.ask(2, A, Exclusive);
    world.host.set_now_ns(150);
    world.end(0);
    assert_eq!(*world.locks.counts(), Counts { waits: 2, waited_ns: 50, deadlocks: 0 });
    world.host.set_now_ns(160);
    world.end(1);
    assert_eq!(world.locks.counts().waited_ns, 80);
    world.locks.begin_interval();
    assert_eq!(*world.locks.counts(), Counts::default());
}

#[test]
fn who_closes_a_circle_is_rolled_back_unless_it_has_done_more() {
    for (more, victim) in [(false, 1), (true, 0)] {
        let mut world = World::new(2);
        world.ask(0, A, Exclusive);
        world.ask(1, B, Exclusive);
        if more {
            world.ask(1, RowNo::new(9), Exclusive);
        }
        assert_eq!(world.ask(0, B, Exclusive), Waits);
        let answer = world.ask(1, A, Exclusive);
        assert_eq!(world.locks.counts.deadlocks, 1);
        if victim == 1 {
            assert_eq!(answer, Victim);
            assert_eq!(world.end(1), [0], "what it had, the other wanted");
            assert_eq!(world.ask(0, B, Exclusive), Granted);
        } else {
            assert_eq!((answer, ready(&mut world.host)), (Waits, vec![0]));
            assert_eq!(world.ask(0, B, Exclusive), Victim, "it finds out when it goes on");
            assert_eq!(world.end(0), [1]);
            assert_eq!(world.ask(1, A, Exclusive), Granted);
        }
        world.end(1 - victim);
        assert!(world.locks.is_free());
    }
}

#[test]
fn a_circle_of_many_is_found_and_two_that_share_a_row_and_want_it_alone() {
    let mut world = World::new(5);
    let rows = [10, 11, 12, 13].map(RowNo::new);
    for (number, row) in (0..).zip(rows) {
        world.ask(number, row, Exclusive);
    }
    for number in 0..3 {
        assert_eq!(world.ask(number, rows[number as usize + 1], Exclusive), Waits);
    }
    assert_eq!(world.ask(4, rows[0], Exclusive), Waits, "it is in no circle");
    assert_eq!(world.ask(3, rows[0], Exclusive), Victim);
    let mut world = World::new(2);
    assert_eq!([0, 1].map(|number| world.ask(number, A, Shared)), [Granted; 2]);
    assert_eq!([0, 1].map(|number| world.ask(number, A, Exclusive)), [Waits, Victim]);
    assert_eq!(world.end(1), [0]);
    assert_eq!(world.ask(0, A, Exclusive), Granted);
    world.end(0);
    assert!(world.locks.is_free());
}

/// Threads that lock rows in any order, and end when they have all that they want: nobody is forgotten, no row is held by
/// two, and all is free in the end.
#[test]
fn whatever_is_locked_everybody_comes_to_an_end() {
    let draw = |state: &mut u64, below: u64| {
        *state = splitmix(*state);
        *state % below
    };
    for seed in 0..20 {
        let (mut world, mut state, threads) = (World::new(12), seed, 12);
        // Transactions that each thread has left, and the rows that the one under way still wants.
        let mut left = vec![10; threads];
        let plan = |state: &mut u64| -> Vec<(RowNo, Mode)> {
            let mode = |state: &mut u64| if draw(state, 3) == 0 { Shared } else { Exclusive };
            (0..1 + draw(state, 5)).map(|_| (RowNo::new(draw(state, 6) as u32), mode(state))).collect()
        };
        let mut plans: Vec<_> = (0..threads).map(|_| plan(&mut state)).collect();
        let mut at = vec![0; threads];
        let mut running: Vec<usize> = (0..threads).collect();
        let mut steps = 0;
        while !running.is_empty() {
            steps += 1;
            assert!(steps < 200_000, "seed {seed}: transactions do not end");
            let own = running.swap_remove(draw(&mut state, running.len() as u64) as usize);
            world.host.set_now_ns(steps);
            let answer = plans[own].get(at[own]).map(|(row, mode)| world.ask(own as u32, *row, *mode));
            match answer {
                Some(Granted) => at[own] += 1,
                Some(Waits) => {}
                Some(Victim) => {
                    world.locks.release(thread(own as u32), &mut world.host);
                    at[own] = 0;
                }
                None => {
                    world.locks.release(thread(own as u32), &mut world.host);
                    assert!(world.locks.threads[own].held.is_empty());
                    (left[own], at[own]) = (left[own] - 1, 0);
                    plans[own] = plan(&mut state);
                }
            }
            if answer != Some(Waits) && left[own] > 0 {
                running.push(own);
            }
            running.extend(ready(&mut world.host).into_iter().map(|number| number as usize));
            for row in world.locks.rows.values() {
                if let Row::Queue(queue) = row {
                    assert!(queue.is_sound(), "seed {seed}: {queue:?}");
                }
            }
        }
        assert_eq!(left, vec![0; threads], "seed {seed}: a thread was never woken");
        assert!(world.locks.is_free(), "seed {seed}");
    }
}
