//! Tests of devices of their own.

use super::ids::{PAGE_BYTES, PageNo};
use super::placement::Placement;
use super::spec::{Other, Part};
use super::touches::What;
use super::*;

fn on(name: &str, holds: Vec<Part>, own: &Spec) -> Other {
    Other { name: name.into(), device: own.device.clone(), holds }
}

/// Busy share of each device's link, by the prefix of its series, and transactions a second.
fn busy(spec: Spec, names: &[&str]) -> (f64, Vec<f64>) {
    let mut run = Fleet::start(spec).unwrap();
    let (mut transactions, mut sums) = (0, vec![0.0; names.len()]);
    for second in 0..10 {
        let (interval, told) = run.next_interval().unwrap();
        assert_eq!(run.failure(), None);
        if second >= 5 {
            transactions += interval.kinds.iter().map(|kind| kind.operations).sum::<u64>();
            for (sum, name) in sums.iter_mut().zip(names) {
                let full = format!("{name}link_busy_pct");
                *sum += told.series.iter().find(|(own, _)| *own == full).unwrap_or_else(|| panic!("{name}")).1 / 5.0;
            }
        }
    }
    (transactions as f64 / 5.0, sums)
}

#[test]
fn logs_and_the_doublewrite_buffer_may_have_devices_of_their_own() {
    let own = spec(&[("/settings/log_bin", true.into()), ("/settings/sync_binlog", 1.into())]);
    let mut apart = own.clone();
    apart.others =
        vec![on("log", vec![Part::Log, Part::Binlog], &own), on("doublewrite", vec![Part::Doublewrite], &own)];
    let (together, all) = busy(own, &[""]);
    let (faster, parts) = busy(apart, &["", "log_", "doublewrite_"]);
    assert!(parts.iter().all(|busy| *busy > 1.0), "{parts:?}");
    assert!(faster > 1.05 * together, "{faster} and {together} tps, {parts:?} and {all:?}");
    // What left the data's device makes room there.
    assert!(parts[0] / faster < 0.8 * all[0] / together, "{parts:?} and {all:?}");
}

#[test]
fn tables_may_be_on_another_device_and_nothing_else_changes() {
    let own = spec(&[("/settings/log_bin", true.into())]);
    let mut apart = own.clone();
    let tables = ["sbtest2", "sbtest3"].map(|name| Part::Table(name.into()));
    apart.others = vec![on("sbtest2", tables.to_vec(), &own)];
    let undo = own.generation.undo_logs();
    let touches = touches::open(&own.workload, &own.measured, undo, &[], own.connections, own.seed).unwrap();
    let place = |spec: &Spec, before: &[u64]| Placement::new(spec, touches.as_ref(), 0, before).unwrap();
    let (one, two) = (place(&own, &[0]), place(&apart, &[0, 0]));
    let mut seen = std::collections::BTreeSet::new();
    for page in PageNo::new(0).through(PageNo::new(touches.pages() - 1)) {
        let (device, offset) = two.of_page(page);
        let (_, first) = touches.tables().iter().rev().find(|(_, first)| *first <= page).unwrap().clone();
        let name = &touches.tables().iter().find(|(_, own)| *own == first).unwrap().0;
        assert_eq!(device == 1, name == "sbtest2" || name == "sbtest3", "{page:?} of {name}");
        assert!(seen.insert((device, offset)), "{page:?} has a place that another one has");
        assert_eq!(one.of_page(page), (0, one.of_page(PageNo::new(0)).1 + u64::from(page.number()) * PAGE_BYTES));
    }
    let (together, _) = busy(own, &[""]);
    let (faster, parts) = busy(apart, &["", "sbtest2_"]);
    assert!(parts.iter().all(|busy| *busy > 5.0), "{parts:?}");
    assert!(faster > 1.1 * together, "two devices serve more than one: {faster} and {together}");
}

#[test]
fn a_tables_new_pages_are_on_its_device() {
    let mut own = spec(&[("/device/latency_ns", 10_000.into())]);
    own.workload = serde_json::from_value(serde_json::json!({
        "kind": "tpcc", "warehouses": 2, "pipeline": false, "keying_and_think": false,
    }))
    .unwrap();
    for (name, of_new_orders) in [("order_line", true), ("orders", true), ("history", false), ("stock", false)] {
        own.others = vec![on("fast", vec![Part::Table(name.into())], &own)];
        let (undo, apart) = (own.generation.undo_logs(), own.tables_apart());
        let mut touches = touches::open(&own.workload, &own.measured, undo, &apart, 1, own.seed).unwrap();
        let placement = Placement::new(&own, touches.as_ref(), 0, &[0, 0]).unwrap();
        let (mut made, mut out) = ([[0_u32; 2]; 5], Vec::new());
        for _ in 0..20_000 {
            out.clear();
            let kind = touches.next(0, &mut out);
            // Splits of secondary indexes make pages, too, before the rooms into which tables grow.
            let (_, growth) = touches.tables().iter().find(|(name, _)| name == "growth").unwrap();
            for touch in out.iter().filter(|touch| touch.what == What::Create && touch.page >= *growth) {
                made[kind][placement.of_page(touch.page).0] += 1;
            }
        }
        let apart: u32 = made.iter().map(|own| own[1]).sum();
        let [order, payment] = [made[0], made[1]];
        match name {
            "stock" => assert_eq!(apart, 0, "it does not grow"),
            _ if of_new_orders => assert!(order[1] > 20 && payment[1] == 0, "{name}: {made:?}"),
            _ => assert!(payment[0] == 0 && payment[1] > 20 && order[1] == 0, "{name}: {made:?}"),
        }
    }
}

#[test]
fn hot_tables_on_a_quick_device_help_more_than_cold_ones() {
    let mut own = spec(&[("/device/latency_ns", 2_000_000.into())]);
    own.workload = serde_json::from_value(serde_json::json!({
        "kind": "tpcc", "warehouses": 10, "pipeline": false, "keying_and_think": false,
    }))
    .unwrap();
    let with = |tables: &[&str]| {
        let mut own = own.clone();
        if !tables.is_empty() {
            let holds = tables.iter().map(|name| Part::Table((*name).into())).collect();
            own.others = vec![on("fast", holds, &spec(&[]))];
        }
        run(own, 3, 7, &[]).0
    };
    let (none, hot, cold) = (with(&[]), with(&["stock", "customer", "order_line"]), with(&["history", "item"]));
    assert!(hot > 1.5 * none && hot > 1.3 * cold, "{none}, hot ones {hot}, cold ones {cold}");
}

#[test]
fn a_table_that_is_not_there_is_told() {
    let mut own = spec(&[]);
    own.others = vec![on("stok", vec![Part::Table("stok".into())], &own)];
    let told = Fleet::start(own).err().unwrap();
    assert!(told.starts_with("database.tables.stok: there is no such table") && told.contains("sbtest4"), "{told}");
}
