//! sysbench's tables and what is in them.

use flatwater_core::seed::{Rng, stream};
use flatwater_core::workload::oltp::{C_BYTES, Ids, OltpSpec, PAD_BYTES, write_c, write_pad};

use crate::database::load::{Chunk, Dataset, Row, Rows};

/// Rows of a chunk: some 20 MB, a second's work.
const CHUNK_ROWS: u64 = 100_000;

/// The tables of a workload.
pub struct OltpData {
    spec: OltpSpec,
    ids: Ids,
    seed: u64,
}

impl OltpData {
    /// Tables as the workload needs them; all that is in them follows from the seed.
    pub fn new(spec: &OltpSpec, seed: u64) -> Self {
        Self { spec: spec.clone(), ids: Ids::new(spec.distribution, spec.rows), seed }
    }
}

impl Dataset for OltpData {
    fn create(&self) -> Vec<String> {
        (1..=self.spec.tables).map(|table| create_table(&self.spec, table)).collect()
    }

    fn chunks(&self) -> Vec<Chunk> {
        let (tables, rows) = (self.spec.tables, self.spec.loaded_rows());
        // Part by part over all tables: loaders that work beside each other mostly have a table of their own.
        let parts = (0..rows.div_ceil(CHUNK_ROWS)).flat_map(|part| (1..=tables).map(move |table| (part, table)));
        let chunk = |(part, table)| Chunk {
            table: format!("sbtest{table}"),
            columns: "id, k, c, pad",
            part,
            rows: CHUNK_ROWS.min(rows - part * CHUNK_ROWS),
        };
        parts.map(chunk).collect()
    }

    fn rows<'a>(&'a self, chunk: &Chunk) -> Box<dyn Rows + 'a> {
        let table: u64 = chunk.table.trim_start_matches("sbtest").parse().unwrap_or(0);
        let first = chunk.part * CHUNK_ROWS;
        Box::new(Part {
            ids: &self.ids,
            rng: stream(self.seed, "oltp rows", table << 32 | chunk.part),
            before: first,
            last: first + chunk.rows,
            c: [0; C_BYTES],
            pad: [0; PAD_BYTES],
        })
    }

    fn finish(&self) -> Vec<Vec<String>> {
        (1..=self.spec.tables).map(|table| vec![create_index(table)]).collect()
    }
}

/// sysbench's statement, to the byte.
fn create_table(spec: &OltpSpec, table: u32) -> String {
    let auto_increment = if spec.auto_inc { " AUTO_INCREMENT" } else { "" };
    let key = if spec.secondary { "KEY xid" } else { "PRIMARY KEY" };
    format!(
        "CREATE TABLE sbtest{table}(\n  id INTEGER NOT NULL{auto_increment},\n  k INTEGER DEFAULT '0' NOT NULL,\n  \
         c CHAR(120) DEFAULT '' NOT NULL,\n  pad CHAR(60) DEFAULT '' NOT NULL,\n  {key} (id)\n) \
         /*! ENGINE = innodb */ "
    )
}

/// sysbench's statement, to the byte.
fn create_index(table: u32) -> String {
    format!("CREATE INDEX k_{table} ON sbtest{table}(k)")
}

/// The rows of a chunk.
struct Part<'a> {
    ids: &'a Ids,
    rng: Rng,
    /// The id before the next one.
    before: u64,
    last: u64,
    c: [u8; C_BYTES],
    pad: [u8; PAD_BYTES],
}

impl Rows for Part<'_> {
    fn next(&mut self, row: &mut Row) -> bool {
        if self.before == self.last {
            return false;
        }
        self.before += 1;
        write_c(&mut self.rng, &mut self.c);
        write_pad(&mut self.rng, &mut self.pad);
        row.int(self.before as i64);
        row.int(self.ids.next(&mut self.rng) as i64);
        row.text(&self.c);
        row.text(&self.pad);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::load::Form;
    use flatwater_core::workload::oltp::{Distribution, Mode};

    fn spec() -> OltpSpec {
        OltpSpec {
            mode: Mode::ReadWrite,
            tables: 2,
            rows: 250_000,
            range_size: 100,
            distribution: Distribution::Uniform,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_selects: true,
            skip_trx: false,
            auto_inc: true,
            secondary: false,
            prepared: true,
            pipeline: false,
        }
    }

    fn rows_of(data: &OltpData, chunk: &Chunk, most: usize) -> (usize, String) {
        let mut rows = data.rows(chunk);
        let mut row = Row::new(Form::Line);
        let mut count = 0;
        while count < most && rows.next(&mut row) {
            count += 1;
        }
        (count, format!("{row:?}"))
    }

    #[test]
    fn tables_are_sysbenchs_to_the_byte() {
        let data = OltpData::new(&spec(), 1);
        let table = "CREATE TABLE sbtest2(
  id INTEGER NOT NULL AUTO_INCREMENT,
  k INTEGER DEFAULT '0' NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL,
  PRIMARY KEY (id)
) /*! ENGINE = innodb */ ";
        assert_eq!(data.create().len(), 2);
        assert_eq!(data.create()[1], table);
        assert_eq!(data.finish(), [["CREATE INDEX k_1 ON sbtest1(k)"], ["CREATE INDEX k_2 ON sbtest2(k)"]]);
        let other = OltpData::new(&OltpSpec { auto_inc: false, secondary: true, ..spec() }, 1).create().remove(1);
        assert_eq!(other, table.replace(" AUTO_INCREMENT", "").replace("PRIMARY KEY", "KEY xid"));
    }

    #[test]
    fn chunks_cover_every_row_once() {
        let data = OltpData::new(&spec(), 1);
        let chunks: Vec<_> = data.chunks().into_iter().map(|chunk| (chunk.table, chunk.part, chunk.rows)).collect();
        let expected = [(0, 100_000), (1, 100_000), (2, 50_000)]
            .map(|(part, rows)| [1, 2].map(|table| (format!("sbtest{table}"), part, rows)));
        assert_eq!(chunks, expected.concat());
        let last = data.chunks().remove(5);
        assert_eq!(rows_of(&data, &last, usize::MAX).0, 50_000);
        let empty = OltpSpec { mode: Mode::Insert, auto_inc: false, ..spec() };
        assert_eq!(OltpData::new(&empty, 1).chunks(), []);
    }

    #[test]
    fn rows_are_the_same_whenever_they_are_asked_for() {
        let data = OltpData::new(&spec(), 1);
        let mut first: Vec<String> = data.chunks().iter().map(|chunk| rows_of(&data, chunk, 1).1).collect();
        let again = OltpData::new(&spec(), 1);
        assert_eq!(rows_of(&data, &data.chunks()[3], 100), rows_of(&again, &again.chunks()[3], 100));
        let other = OltpData::new(&spec(), 2);
        first.extend(other.chunks().iter().map(|chunk| rows_of(&other, chunk, 1).1));
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), 12, "a chunk repeats another one's rows");
    }
}
