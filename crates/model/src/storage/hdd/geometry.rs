//! Where a sector is, and how long the arm and the platter take to bring a head there.

use super::spec::{SeekSpec, Spec};

/// Bytes of a sector.
pub const SECTOR_BYTES: u64 = 512;
/// The share of the full stroke at which the curve of seeks changes from a square root to a line. On a shorter way the arm
/// does not reach its full speed. Ruemmler and Wilkes (1994) found 0.2 (HP 97560) and 0.3 (HP C2200A).
const COASTING_SHARE: f64 = 0.3;

/// The time of a seek by its distance d (Ruemmler and Wilkes 1994): a + b sqrt(d), and from some distance on c + e d.
#[derive(Clone, Copy, Debug)]
pub struct SeekCurve {
    one_share: f64,
    a_ns: f64,
    b_ns: f64,
    c_ns: f64,
    e_ns: f64,
}

impl SeekCurve {
    /// The curve that takes `track_to_track_ns` for one cylinder, `full_stroke_ns` for all cylinders, and `average_ns` on
    /// average over pairs of random cylinders, and that has no step.
    fn new(spec: &SeekSpec, cylinders: u64) -> Result<Self, String> {
        let [one, average, full] = [spec.track_to_track_ns, spec.average_ns, spec.full_stroke_ns].map(|ns| ns as f64);
        let (k, one_share) = (COASTING_SHARE, 1.0 / (cylinders.max(2) - 1) as f64);
        let (root, first) = (k.sqrt(), one_share.min(k).sqrt());
        // Distances of random pairs have the density 2 (1 - x). With a = one - b first and c = full - e, the mean is
        // one s + b (r - first s) + full (1 - s) + e (m - (1 - s)), and no step at k means
        // one + b (root - first) = full - e (1 - k).
        let s = 2.0 * k - k * k;
        let r = 4.0 / 3.0 * k * root - 4.0 / 5.0 * k * k * root;
        let m = (1.0 - 2.0 / 3.0) - (k * k - 2.0 / 3.0 * k * k * k);
        let per_e = (1.0 - k) / (root - first);
        let b_at_0 = (full - one) / (root - first);
        let e = (average - one * s - full * (1.0 - s) - b_at_0 * (r - first * s))
            / ((m - (1.0 - s)) - per_e * (r - first * s));
        let b = b_at_0 - per_e * e;
        if !(b.is_finite() && e.is_finite() && b >= 0.0 && e >= 0.0) {
            return Err("seek: no curve of a disk has these track-to-track, average and full-stroke times".into());
        }
        Ok(Self { one_share, a_ns: one - b * first, b_ns: b, c_ns: full - e, e_ns: e })
    }

    /// Time to move over `cylinders`, ns.
    pub fn ns(&self, cylinders: u64) -> u64 {
        let share = cylinders as f64 * self.one_share;
        match share {
            0.0 => 0,
            share if share <= COASTING_SHARE => (self.a_ns + self.b_ns * share.sqrt()).max(0.0) as u64,
            share => (self.c_ns + self.e_ns * share) as u64,
        }
    }
}

/// Where the head of the disk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Its cylinder.
    pub cylinder: u64,
    /// Its track.
    pub track: u64,
}

/// The place of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its cylinder, counted from the outside.
    pub cylinder: u64,
    /// Its track, counted over all cylinders.
    pub track: u64,
    /// Its number on its track.
    pub sector: u64,
    /// Sectors of that track.
    pub track_sectors: u64,
    /// The time in a revolution at which its beginning passes under the head, ns.
    pub angle_ns: u64,
}

impl Place {
    /// Where the head is that is over this place.
    pub const fn head(&self) -> Head {
        Head { cylinder: self.cylinder, track: self.track }
    }
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    first_sector: u64,
    track_sectors: u64,
}

/// The zones, tracks and skews of a disk.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// One revolution, ns.
    pub revolution_ns: u64,
    /// Time of seeks.
    pub seek: SeekCurve,
    heads: u64,
    head_switch_ns: u64,
    cylinder_switch_ns: u64,
    zone_cylinders: u64,
    zones: Vec<Zone>,
}

impl Geometry {
    /// A disk with as many cylinders as the capacity needs, in zones of equal size. The media rate falls from the first zone
    /// to the last.
    pub fn new(spec: &Spec) -> Result<Self, String> {
        let heads = u64::from(spec.heads);
        let per_cylinder_ns =
            heads * spec.revolution_ns + (heads - 1) * spec.head_switch_ns + spec.seek.track_to_track_ns;
        let count = u64::from(spec.zones);
        let track_sectors = (0..count).map(|zone| {
            let share = if count == 1 { 0.0 } else { zone as f64 / (count - 1) as f64 };
            let rate = spec.outer_bytes_per_s + (spec.inner_bytes_per_s - spec.outer_bytes_per_s) * share;
            // The rate is a sustained one: it includes the switch to the next track.
            ((rate * per_cylinder_ns as f64 / 1e9 / heads as f64 / SECTOR_BYTES as f64) as u64).max(1)
        });
        let track_sectors: Vec<u64> = track_sectors.collect();
        let sectors = spec.capacity_bytes.div_ceil(SECTOR_BYTES);
        let zone_cylinders = sectors.div_ceil(heads * track_sectors.iter().sum::<u64>());
        let mut first_sector = 0;
        let zones = track_sectors.iter().map(|&track_sectors| {
            let zone = Zone { first_sector, track_sectors };
            first_sector += zone_cylinders * heads * track_sectors;
            zone
        });
        let zones = zones.collect();
        let seek = SeekCurve::new(&spec.seek, zone_cylinders * count)?;
        Ok(Self {
            revolution_ns: spec.revolution_ns,
            cylinder_switch_ns: seek.ns(1),
            seek,
            heads,
            head_switch_ns: spec.head_switch_ns,
            zone_cylinders,
            zones,
        })
    }

    /// Where a sector is.
    pub fn place(&self, sector: u64) -> Place {
        let number = self.zones.partition_point(|zone| zone.first_sector <= sector) - 1;
        let zone = self.zones[number];
        let tracks_in = (sector - zone.first_sector) / zone.track_sectors;
        let track = number as u64 * self.zone_cylinders * self.heads + tracks_in;
        let on_track = (sector - zone.first_sector) % zone.track_sectors;
        let cylinder = track / self.heads;
        let skew = (track - cylinder) * self.head_switch_ns + cylinder * self.cylinder_switch_ns;
        let angle_ns = (skew + on_track * self.revolution_ns / zone.track_sectors) % self.revolution_ns;
        Place { cylinder, track, sector: on_track, track_sectors: zone.track_sectors, angle_ns }
    }

    /// Time to move the head from one track to another, ns.
    pub fn move_ns(&self, from: Head, to: &Place) -> u64 {
        match from.cylinder.abs_diff(to.cylinder) {
            0 if from.track == to.track => 0,
            0 => self.head_switch_ns,
            distance => self.seek.ns(distance),
        }
    }

    /// Time until a place passes under a head that is on its track, ns.
    pub fn wait_ns(&self, at_ns: u64, place: &Place) -> u64 {
        (place.angle_ns + self.revolution_ns - at_ns % self.revolution_ns) % self.revolution_ns
    }

    /// Time in which `sectors` sectors of one track pass under the head, ns.
    pub fn pass_ns(&self, place: &Place, sectors: u64) -> u64 {
        let at = |sector| sector * self.revolution_ns / place.track_sectors;
        at(place.sector + sectors) - at(place.sector)
    }

    /// Time to switch from the last sector of a track to the first of the next track, ns.
    pub fn switch_ns(&self, place: &Place) -> u64 {
        if (place.track + 1).is_multiple_of(self.heads) { self.cylinder_switch_ns } else { self.head_switch_ns }
    }

    /// Time to transfer `sectors` sectors from `sector` on when the head is over the first, ns.
    pub fn transfer_ns(&self, sector: u64, sectors: u64) -> u64 {
        let (mut at, end, mut ns) = (sector, sector + sectors, 0);
        loop {
            let place = self.place(at);
            let here = (place.track_sectors - place.sector).min(end - at);
            ns += self.pass_ns(&place, here);
            at += here;
            if at >= end {
                return ns;
            }
            ns += self.switch_ns(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::disk;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_curve_takes_the_times_of_the_datasheet() {
        let spec = disk();
        let geometry = Geometry::new(&spec).unwrap();
        let cylinders = geometry.zone_cylinders * u64::from(spec.zones);
        let near = |ns: u64, wanted: u64| assert!(ns.abs_diff(wanted) <= wanted / 50, "{ns} {wanted}");
        near(geometry.seek.ns(1), spec.seek.track_to_track_ns);
        near(geometry.seek.ns(cylinders - 1), spec.seek.full_stroke_ns);
        let (mut sum, mut pairs) = (0, 0);
        for from in (0..cylinders).step_by(cylinders as usize / 300) {
            for to in (0..cylinders).step_by(cylinders as usize / 300) {
                sum += geometry.seek.ns(from.abs_diff(to));
                pairs += 1;
            }
        }
        near(sum / pairs, spec.seek.average_ns);
        assert!((1..cylinders - 1).all(|d| geometry.seek.ns(d) <= geometry.seek.ns(d + 1)));
    }

    #[test]
    fn impossible_seeks_are_refused() {
        let mut spec = disk();
        spec.seek.average_ns = spec.seek.full_stroke_ns * 2;
        assert!(Geometry::new(&spec).unwrap_err().contains("seek"));
    }

    proptest! {
        #[test]
        fn each_sector_has_a_place_of_its_own_and_follows_its_neighbour(sector in 0u64..400_000) {
            let geometry = Geometry::new(&disk()).unwrap();
            let (here, next) = (geometry.place(sector), geometry.place(sector + 1));
            prop_assert!(here.sector < here.track_sectors);
            if here.track == next.track {
                prop_assert_eq!(next.sector, here.sector + 1);
            } else {
                prop_assert_eq!((next.track, next.sector), (here.track + 1, 0));
                prop_assert_eq!(here.sector, here.track_sectors - 1);
            }
            // The next sector arrives just when the head is ready for it, also after a switch of tracks.
            let mut at_ns = 12 * geometry.revolution_ns + here.angle_ns + geometry.pass_ns(&here, 1);
            if here.track != next.track {
                at_ns += geometry.switch_ns(&here);
            }
            prop_assert_eq!(geometry.wait_ns(at_ns, &next), 0, "{:?} {:?}", here, next);
        }
    }
}
