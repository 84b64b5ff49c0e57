//! tpcc-mysql's tables and what is in them, chunk by chunk.

use flatwater_core::workload::tpcc::population::{Population, Table};

use super::rows::{
    write_customer, write_district, write_history, write_item, write_new_order, write_order, write_order_line,
    write_stock, write_warehouse,
};
use super::tables::{CREATE, FINISH, KEYLESS, columns};
use crate::database::load::{Chunk, Dataset, Row, Rows};

/// How much of the other tables is loaded when order_line is: the rest takes two sessions about as long as the index of
/// order_line takes one of them (measured on MariaDB 10.11: 2.4 s of 6 s and 7 s).
const ORDER_LINE_AHEAD: f64 = 0.6;

/// The tables of a scale.
pub struct TpccData(Population);

impl TpccData {
    /// So many warehouses; all that is in them follows from the seed.
    pub fn new(warehouses: u32, seed: u64) -> Self {
        Self(Population { warehouses, seed })
    }
}

impl Dataset for TpccData {
    fn create(&self) -> Vec<String> {
        CREATE.iter().map(ToString::to_string).collect()
    }

    fn chunks(&self) -> Vec<Chunk> {
        let warehouses = self.0.warehouses;
        let chunk = |table: Table, part: u32| Chunk {
            table: table.name().into(),
            columns: columns(table),
            part: part.into(),
            rows: table.rows_a_part(warehouses).into(),
        };
        let mut chunks: Vec<(f64, Chunk)> = Vec::new();
        for table in Table::ALL {
            let parts = table.parts(warehouses);
            // All tables grow evenly side by side, so that sessions mostly work on different ones; only order_line is
            // ahead, because its index takes longest.
            let share = if table == Table::OrderLine { ORDER_LINE_AHEAD } else { 1.0 };
            let place = |part| share * (f64::from(part) + 0.5) / f64::from(parts);
            chunks.extend((0..parts).map(|part| (place(part), chunk(table, part))));
        }
        chunks.sort_by(|a, b| a.0.total_cmp(&b.0));
        chunks.into_iter().map(|(_, chunk)| chunk).collect()
    }

    fn rows<'a>(&'a self, chunk: &Chunk) -> Box<dyn Rows + 'a> {
        let (all, part) = (self.0, chunk.part as u32);
        match Table::named(&chunk.table).expect("chunks are of these tables") {
            Table::Item => write(all.items(part), write_item),
            Table::Warehouse => write(all.warehouses(), write_warehouse),
            Table::District => write(all.districts(), write_district),
            Table::Stock => write(all.stock(part), write_stock),
            Table::Customer => write(all.customers(part), write_customer),
            Table::History => write(all.history(part), write_history),
            Table::Orders => write(all.orders(part), write_order),
            Table::NewOrders => write(all.new_orders(part), write_new_order),
            Table::OrderLine => write(all.order_lines(part), write_order_line),
        }
    }

    fn finish(&self) -> Vec<Vec<String>> {
        // The statistics of tables that just were empty make servers choose absurd plans until they are renewed.
        let analyze = |table: Table| format!("ANALYZE TABLE {}", table.name());
        let keyed = FINISH.iter().map(|(table, sql)| vec![sql.to_string(), analyze(*table)]);
        keyed.chain(KEYLESS.iter().map(|table| vec![analyze(*table)])).collect()
    }

    fn finishes(&self, list: usize) -> Option<String> {
        let table = FINISH.get(list).map_or_else(|| KEYLESS[list - FINISH.len()], |(table, _)| *table);
        Some(table.name().to_owned())
    }
}

/// Rows of an iterator, and how each is written.
struct Written<I, W>(I, W);

impl<I: Iterator, W: FnMut(I::Item, &mut Row)> Rows for Written<I, W> {
    fn next(&mut self, row: &mut Row) -> bool {
        let Some(item) = self.0.next() else { return false };
        (self.1)(item, row);
        true
    }
}

fn write<'a, I>(rows: I, write: impl FnMut(I::Item, &mut Row) + 'a) -> Box<dyn Rows + 'a>
where
    I: Iterator + 'a,
{
    Box::new(Written(rows, write))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::load::Form;
    use flatwater_core::workload::tpcc::population::LOADED_AT;

    /// The values of a chunk's first row, apart by tabs, and its number of rows.
    fn first_row_and_count(data: &TpccData, chunk: &Chunk) -> (String, u64) {
        let mut rows = data.rows(chunk);
        let mut first = Row::new(Form::Line);
        assert!(rows.next(&mut first), "{} has a row", chunk.table);
        let mut count = 1;
        while rows.next(&mut Row::new(Form::Line)) {
            count += 1;
        }
        (String::from_utf8_lossy(first.as_bytes()).into_owned(), count)
    }

    #[test]
    fn every_table_has_its_columns_and_rows() {
        let data = TpccData::new(2, 1);
        for create in CREATE {
            let (table, definitions) = create["CREATE TABLE ".len()..].split_once(" (").expect("a definition");
            let chunks: Vec<Chunk> = data.chunks().into_iter().filter(|chunk| chunk.table == table).collect();
            for column in chunks[0].columns.split(", ") {
                assert!(definitions.contains(&format!("{column} ")), "{table}.{column}");
            }
            let (row, count) = first_row_and_count(&data, &chunks[0]);
            assert_eq!(row.split('\t').count(), chunks[0].columns.split(", ").count(), "{table}: {row}");
            let told = chunks[0].rows;
            let slack = if table == "order_line" { told / 50 } else { 0 };
            assert!(told.abs_diff(count) <= slack, "{table}: {count} rows, told {told}");
        }
    }

    #[test]
    fn every_table_is_finished_once() {
        let data = TpccData::new(1, 1);
        let lists = data.finish();
        let mut tables: Vec<String> = (0..lists.len()).filter_map(|list| data.finishes(list)).collect();
        for (table, list) in tables.iter().zip(&lists) {
            assert!(list.iter().all(|sql| sql.split(' ').nth(2) == Some(table)), "{table}: {list:?}");
        }
        tables.sort_unstable();
        let mut all = Table::ALL.map(|table| table.name().to_owned());
        all.sort_unstable();
        assert_eq!(tables, all);
    }

    #[test]
    fn chunks_are_all_parts_once() {
        let chunks = TpccData::new(10, 1).chunks();
        assert_eq!(chunks.iter().map(|chunk| chunk.rows).sum::<u64>(), 5_090_110);
        let mut parts: Vec<(&str, u64)> = chunks.iter().map(|chunk| (chunk.table.as_str(), chunk.part)).collect();
        parts.sort_unstable();
        parts.dedup();
        assert_eq!(parts.len(), chunks.len());
        let parts = Table::ALL.iter().map(|table| table.parts(10) as usize).sum::<usize>();
        assert_eq!(chunks.len(), parts);
        assert!(chunks.iter().all(|chunk| chunk.rows <= 50_000), "a chunk is little work to lose");
    }

    #[test]
    fn money_and_dates_are_as_the_specification_begins() {
        let data = TpccData::new(1, 1);
        let first = |table: Table| {
            let chunk = data.chunks().into_iter().find(|chunk| chunk.table == table.name()).expect("a chunk");
            first_row_and_count(&data, &chunk).0
        };
        assert!(first(Table::Warehouse).ends_with("\t300000.00"));
        assert!(first(Table::District).ends_with("\t30000.00\t3001"));
        assert!(
            first(Table::Customer).contains("\t50000\t0.")
                && first(Table::Customer).contains("\t-10.00\t10.00\t1\t0\t")
        );
        assert!(first(Table::History).contains("\t10.00\t"));
        assert!(first(Table::OrderLine).contains(&format!("\t{LOADED_AT}\t5\t0.00\t")));
    }
}
