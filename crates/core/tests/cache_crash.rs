//! The flash cache with the power cut after every single IO: nothing that was acknowledged as durable is lost, nothing
//! torn or stale or never written is ever found, and what is found stays.
//!
//! `FLATWATER_SEED` replays the world of a failure; `FLATWATER_CUTS` says how many cuts are made in all. The digest of
//! each world is printed: a change of the engine's shape that changes none of its deeds leaves them all as they were
//! (`scripts/digests.py`).

#[path = "cache_crash/damage.rs"]
mod damage;
#[path = "cache_crash/disk.rs"]
mod disk;
#[path = "cache_crash/faults.rs"]
mod faults;
#[path = "cache_crash/memory.rs"]
mod memory;
#[path = "cache_crash/offline.rs"]
mod offline;
#[path = "cache_crash/oracle.rs"]
mod oracle;
#[path = "cache_crash/pages.rs"]
mod pages;
#[path = "cache_crash/plan.rs"]
mod plan;
#[path = "cache_crash/users.rs"]
mod users;
#[path = "cache_crash/world.rs"]
mod world;

use world::World;

/// Cuts in a world: enough for a dozen lives.
const CUTS_A_WORLD: u64 = 1500;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: not a number")))
}

#[test]
fn nothing_durable_is_lost_whenever_the_power_fails() {
    let cuts = number("FLATWATER_CUTS").unwrap_or(100_000);
    let seeds = match number("FLATWATER_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + cuts.div_ceil(CUTS_A_WORLD),
    };
    let mut made = 0;
    for seed in seeds.clone() {
        let mut world = World::new(seed);
        if let Err(what) = world.run(CUTS_A_WORLD) {
            panic!("{what}");
        }
        made += world.cuts;
        println!("digest {seed} {:08x}", world.digest);
    }
    println!("{made} cuts");
    // A world whose lives end before the power fails would find nothing, and say nothing.
    let asked = seeds.count() as u64 * CUTS_A_WORLD;
    assert!(asked >= CUTS_A_WORLD && made >= asked, "{made} cuts were made, {asked} were asked for");
}

#[test]
fn what_rotted_or_was_made_up_is_refused_or_right() {
    let seeds = match number("FLATWATER_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..41,
    };
    let (mut refused, mut started) = (0, 0);
    for seed in seeds.clone() {
        match damage::damaged(seed) {
            Ok(more) => (refused, started) = (refused + more.0, started + more.1),
            Err(what) => panic!("{what}"),
        }
    }
    println!("{refused} refused, {started} started");
    assert!(seeds.count() == 1 || (refused > 100 && started > 100));
}

#[test]
fn failing_devices_lose_nothing_that_the_other_one_has() {
    let seeds = match number("FLATWATER_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..41,
    };
    let mut made = 0;
    for seed in seeds.clone() {
        let mut world = World::new(seed);
        world.fail();
        if let Err(what) = world.run(400) {
            panic!("{what}");
        }
        made += world.cuts;
        println!("digest failing {seed} {:08x}", world.digest);
    }
    println!("{made} cuts");
    // A world ends where one of its devices fails for good: a quarter of the cuts is what these get to.
    assert!(seeds.count() == 1 || made > 40 * 400 / 4, "{made} cuts were made");
}
