//! Making, pairing, looking at and emptying a cache offline, and that all of it survives cuts.

use flatwater_core::cache::journal::recovery::{self, Blocks, Devices, Layout, Report, Sizes, Terms, Trouble};
use flatwater_core::cache::journal::witness::WITNESS_OFFSETS;
use flatwater_core::cache::journal::{Holding, PAIR_BYTES, Witness};
use flatwater_core::seed;
use rand::Rng as _;

use crate::disk::{Cut, Disk};
use crate::world::{End, World};

const FAST_BYTES: u64 = 1 << 20;
const SLOW_BYTES: u64 = 2 << 20;

fn disks() -> [Disk; 3] {
    [FAST_BYTES, SLOW_BYTES, PAIR_BYTES].map(|bytes| Disk::new(bytes as usize))
}

fn devices(disks: &mut [Disk; 3]) -> Devices<'_> {
    let [fast, slow, pair] = disks;
    Devices { fast, slow, pair }
}

fn layout(id: u8) -> Layout {
    Layout { uuid: [id; 16], fast_bytes: FAST_BYTES, slow_bytes: SLOW_BYTES, block_bytes: 4096 }
}

fn made(id: u8) -> [Disk; 3] {
    let mut disks = disks();
    recovery::format(devices(&mut disks), &layout(id), Sizes::default(), false).unwrap();
    disks
}

fn said<T>(result: Result<T, Trouble>) -> String {
    result.map(drop).unwrap_err().to_string()
}

#[test]
fn what_a_device_holds_is_named_and_kept() {
    for (at, magic, name) in
        [(0, &b"XFSB"[..], "an XFS file system"), (0x1_0040, b"_BHRfS_M", "btrfs"), (0, b"LUKS\xba\xbe", "LUKS")]
    {
        let mut disks = disks();
        disks[0].overwrite(at, magic);
        let before = content(&mut disks[0]);
        let what = said(recovery::format(devices(&mut disks), &layout(1), Sizes::default(), false));
        assert!(what.contains(name), "{what}");
        assert!(content(&mut disks[0]) == before, "it was written to");
        assert!(said(recovery::recover(devices(&mut disks), false)).contains(name));
        recovery::format(devices(&mut disks), &layout(1), Sizes::default(), true).unwrap();
        recovery::recover(devices(&mut disks), false).unwrap();
    }
}

fn content(disk: &mut Disk) -> Vec<u8> {
    let mut bytes = vec![0; disk.len()];
    disk.read(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn another_cache_is_named_with_what_would_be_lost() {
    let (mut world, dirty) = dirty_world(1);
    let plan = Layout { uuid: [99; 16], fast_bytes: 1 << 18, slow_bytes: 1 << 20, block_bytes: 4096 };
    let mut small = plan.clone();
    small.fast_bytes = world.disks[0].bytes();
    small.slow_bytes = world.disks[1].bytes();
    let what = said(recovery::format(world.devices(), &small, Sizes { journal_bytes: 1, region_bytes: 0 }, false));
    assert!(what.contains(&format!("with {dirty} dirty blocks")), "{what}");
    let what = said(recovery::format(world.devices(), &plan, Sizes::default(), true));
    assert!(what.contains("at least") || what.contains("bytes"), "{what}");
}

#[test]
fn the_wrong_partner_is_refused() {
    let (mut ours, mut theirs) = (made(1), made(2));
    std::mem::swap(&mut ours[2], &mut theirs[2]);
    let what = said(recovery::recover(devices(&mut ours), false));
    assert!(what.contains("01010101") && what.contains("02020202"), "{what}");
    let what = said(recovery::format(devices(&mut theirs), &layout(3), Sizes::default(), false));
    assert!(what.contains("02020202"), "{what}");
    ours[2] = Disk::new(PAIR_BYTES as usize);
    assert!(said(recovery::recover(devices(&mut ours), false)).contains("no intact pairing record"));
    let mut fresh = disks();
    fresh[1] = Disk::new(SLOW_BYTES as usize);
    std::mem::swap(&mut theirs[2], &mut fresh[2]);
    assert!(said(recovery::drain(devices(&mut theirs), &mut |_| true)).contains("pairing record"));
}

#[test]
fn an_older_copy_of_either_side_is_refused() {
    let mut disks = made(1);
    recovery::recover(devices(&mut disks), false).unwrap();
    for side in [0, 2] {
        let old = content(&mut disks[side]);
        recovery::recover(devices(&mut disks), false).unwrap();
        let new = content(&mut disks[side]);
        disks[side].overwrite(0, &old);
        let what = said(recovery::recover(devices(&mut disks), false));
        assert!(what.contains("older copy"), "{what}");
        disks[side].overwrite(0, &new);
    }
    let mut short = Disk::new(SLOW_BYTES as usize / 2);
    std::mem::swap(&mut disks[1], &mut short);
    assert!(said(recovery::recover(devices(&mut disks), false)).contains("was made for a backing device of"));
}

#[test]
fn either_checkpoint_and_either_superblock_may_rot() {
    let mut disks = made(1);
    let geometry = recovery::recover(devices(&mut disks), false).unwrap().geometry;
    for at in geometry.checkpoint_offsets.into_iter().chain([0, 64 << 10]) {
        disks[0].save();
        disks[0].overwrite(at as usize, &[0x55; 8192]);
        recovery::recover(devices(&mut disks), false).unwrap();
        disks[0].restore();
        disks[2] = Disk::new(PAIR_BYTES as usize);
        recovery::format(devices(&mut disks), &layout(1), Sizes::default(), true).unwrap();
    }
    for offset in geometry.checkpoint_offsets {
        disks[0].overwrite(offset as usize, &[0x55; 8192]);
    }
    assert!(said(recovery::recover(devices(&mut disks), false)).contains("damaged"));
}

/// A world with dirty blocks, and how many.
fn dirty_world(seed: u64) -> (World, u64) {
    for seed in seed.. {
        let mut world = World::new(seed);
        world.make().unwrap();
        let end = world.run_to_end().unwrap();
        world.die(end == End::Stopped).unwrap();
        world.cut_all();
        let dirty = looked_at(&mut world).dirty_blocks;
        if end != End::Stopped && dirty > 2 {
            return (world, dirty);
        }
    }
    unreachable!()
}

fn looked_at(world: &mut World) -> Report {
    recovery::inspect(&mut world.disks[0], None, true, &mut |_| true).unwrap()
}

#[test]
fn a_dirty_cache_is_emptied_whatever_interrupts_it() {
    for seed in 1..30 {
        let (mut world, dirty) = dirty_world(seed * 100);
        let mut rng = seed::stream(seed, "drain", 0);
        // Interrupted by the user, and by cuts.
        for _ in 0..rng.random_range(0..3) {
            let patience = rng.random_range(1..=dirty);
            recovery::drain(world.devices(), &mut |progress| progress.done < patience).unwrap();
            world.disks[rng.random_range(0..3)].fuse = Some(rng.random_range(0..20));
            let _ = recovery::drain(world.devices(), &mut |_| true);
            world.disks.iter_mut().for_each(|disk| disk.cut(Cut::any(&mut rng), &mut rng));
        }
        let drained = recovery::drain(world.devices(), &mut |_| true).unwrap();
        assert_eq!((drained.left_blocks, drained.damaged.len()), (0, 0), "seed {seed}");
        let report = looked_at(&mut world);
        assert_eq!(
            (report.dirty_blocks, report.state.as_str(), report.damaged.len()),
            (0, "stopped", 0),
            "seed {seed}"
        );
        // The backing device alone is right now.
        let recovered = recovery::recover(world.devices(), false).unwrap();
        let mut alone = recovered;
        alone.held.clear();
        for (sector, &value) in world.content(&alone).unwrap().iter().enumerate() {
            world.oracle.after_cut(sector as u32, value).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        }
    }
}

#[test]
fn a_dirty_block_that_rotted_is_named_and_not_written() {
    let (mut world, dirty) = dirty_world(7);
    let report = looked_at(&mut world);
    let (offset, block_bytes) = (report.slots_offset as usize, report.block_bytes as usize);
    let slots = report.slots as usize;
    for slot in 0..slots {
        world.disks[0].flip_bit(offset + slot * block_bytes + 77, 3);
    }
    let below = content(&mut world.disks[1]);
    let report = looked_at(&mut world);
    assert!(report.damaged.iter().filter(|damage| damage.dirty).count() as u64 == report.dirty_blocks);
    let drained = recovery::drain(world.devices(), &mut |_| true).unwrap();
    assert_eq!(drained.written_blocks, 0);
    assert!(drained.damaged.len() as u64 <= dirty);
    assert!(content(&mut world.disks[1]) == below, "damaged blocks were written");
}

#[test]
fn another_backing_device_of_the_same_size_is_refused_and_not_written() {
    // Stopped and killed ones; with many seeds, so that what is dirty lies everywhere.
    let mut refused = 0;
    for seed in 1..40 {
        let (mut world, dirty) = dirty_world(seed * 300);
        let layout = world.layout();
        let places = Witness::newest(&mut world.disks[0], &layout).unwrap().compare(&mut world.disks[1]);
        assert_eq!(places.differ, 0, "seed {seed}: the right one");
        if places.places == 0 {
            // All of this small device was written since.
            continue;
        }
        refused += 1;
        let mut other = Disk::new(world.disks[1].len());
        other.overwrite(0, &vec![0x5a; other.len()]);
        let before = content(&mut other);
        std::mem::swap(&mut world.disks[1], &mut other);
        for what in [
            said(recovery::recover(world.devices(), false)),
            said(recovery::drain(world.devices(), &mut |_| true)),
            said(recovery::recover(world.devices(), true)),
        ] {
            assert!(what.contains("is not as it was left"), "seed {seed}: {what}");
        }
        assert!(content(&mut world.disks[1]) == before, "seed {seed}: it was written to");
        let [fast, slow, pair] = &mut world.disks;
        let report = recovery::inspect(fast, Some((pair, slow)), false, &mut |_| true).unwrap();
        assert!(report.changed.is_some_and(|what| what.contains("is not as it was left")));
        // The right one goes.
        std::mem::swap(&mut world.disks[1], &mut other);
        let drained = recovery::drain(world.devices(), &mut |_| true).unwrap();
        assert_eq!(drained.written_blocks, dirty, "seed {seed}");
        recovery::recover(world.devices(), false).unwrap();
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn a_backing_device_that_was_changed_is_taken_when_it_is_trusted_and_nothing_clean_is_believed() {
    let (mut world, dirty) = dirty_world(11);
    let end = world.disks[1].len();
    for at in (0..end).step_by(4096) {
        world.disks[1].flip_bit(at + 9, 1);
    }
    assert!(said(recovery::recover(world.devices(), false)).contains("is not as it was left"));
    let terms = Terms { trust: true, identity: Some("wwid:1".into()), ..Terms::default() };
    let recovered = recovery::recover_on(world.devices(), &terms).unwrap();
    assert_eq!(recovered.held.iter().filter(|held| held.entry.holding == Holding::Clean).count(), 0);
    assert_eq!(recovered.held.iter().filter(|held| held.entry.holding == Holding::Dirty).count() as u64, dirty);
    let recovered = recovery::recover(world.devices(), false).unwrap();
    assert_eq!(recovered.witness.unwrap().identity, "wwid:1", "it is kept");
}

#[test]
fn a_cache_of_an_older_version_starts_and_is_looked_at_from_then_on() {
    let mut disks = made(1);
    for offset in WITNESS_OFFSETS {
        disks[0].overwrite(offset as usize, &[0; 4096]);
    }
    recovery::recover(devices(&mut disks), false).unwrap();
    disks[1].overwrite(0, &vec![6; SLOW_BYTES as usize]);
    recovery::recover(devices(&mut disks), false).unwrap(); // an empty cache can do no harm
    // Started once more by an older version, which keeps no marks: what it wrote is not held against the device.
    let kept: Vec<u8> = content(&mut disks[0])[32 << 10..128 << 10].to_vec();
    recovery::recover(devices(&mut disks), false).unwrap();
    for (offset, from) in [(32 << 10, 0), (96 << 10, 64 << 10)] {
        disks[0].overwrite(offset, &kept[from..from + 4096]);
    }
    disks[1].overwrite(0, &vec![7; SLOW_BYTES as usize]);
    recovery::recover(devices(&mut disks), false).unwrap();
    let found = Witness::newest(&mut disks[0], &layout(1)).unwrap();
    assert_eq!((found.generation, found.compare(&mut disks[1]).differ), (5, 0), "it is looked at anew");
}
