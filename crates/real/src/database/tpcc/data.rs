//! tpcc-mysql's tables and what is in them.

use flatwater_core::workload::tpcc::population::{Address, LOADED_AT, Population, Table};

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
            Table::Item => write(all.items(part), |item, row| {
                row.int(item.id.into());
                row.int(item.image.into());
                row.text(item.name.as_bytes());
                row.decimal(item.price_cents.into(), 2);
                row.text(item.data.as_bytes());
            }),
            Table::Warehouse => write(all.warehouses(), |warehouse, row| {
                row.int(warehouse.id.into());
                row.text(warehouse.name.as_bytes());
                write_address(&warehouse.address, row);
                row.decimal(warehouse.tax_cents.into(), 2);
                row.decimal(30_000_000, 2);
            }),
            Table::District => write(all.districts(), |district, row| {
                row.int(district.id.into());
                row.int(district.warehouse.into());
                row.text(district.name.as_bytes());
                write_address(&district.address, row);
                row.decimal(district.tax_cents.into(), 2);
                row.decimal(3_000_000, 2);
                row.int(3001);
            }),
            Table::Stock => write(all.stock(part), |stock, row| {
                row.int(stock.item.into());
                row.int(stock.warehouse.into());
                row.int(stock.quantity.into());
                stock.districts.iter().for_each(|info| row.text(info));
                (0..3).for_each(|_| row.int(0));
                row.text(stock.data.as_bytes());
            }),
            Table::Customer => write(all.customers(part), |customer, row| {
                row.int(customer.id.into());
                row.int(customer.district.into());
                row.int(customer.warehouse.into());
                row.text(customer.first.as_bytes());
                row.text(b"OE");
                row.text(customer.last.as_bytes());
                write_address(&customer.address, row);
                row.text(customer.phone.as_bytes());
                row.datetime(LOADED_AT);
                row.text(if customer.bad_credit { b"BC" } else { b"GC" });
                row.int(50_000);
                row.decimal(customer.discount_cents.into(), 2);
                row.decimal(-1_000, 2);
                row.decimal(1_000, 2);
                row.int(1);
                row.int(0);
                row.text(customer.data.as_bytes());
            }),
            Table::History => write(all.history(part), |history, row| {
                row.int(history.customer.into());
                row.int(history.district.into());
                row.int(history.warehouse.into());
                row.int(history.district.into());
                row.int(history.warehouse.into());
                row.datetime(LOADED_AT);
                row.decimal(1_000, 2);
                row.text(history.data.as_bytes());
            }),
            Table::Orders => write(all.orders(part), |order, row| {
                row.int(order.id.into());
                row.int(order.district.into());
                row.int(order.warehouse.into());
                row.int(order.customer.into());
                row.datetime(LOADED_AT);
                match order.carrier {
                    Some(carrier) => row.int(carrier.into()),
                    None => row.null(),
                }
                row.int(order.lines.into());
                row.int(1);
            }),
            Table::NewOrders => write(all.new_orders(part), |order, row| {
                row.int(order.order.into());
                row.int(order.district.into());
                row.int(order.warehouse.into());
            }),
            Table::OrderLine => write(all.order_lines(part), |line, row| {
                row.int(line.order.into());
                row.int(line.district.into());
                row.int(line.warehouse.into());
                row.int(line.number.into());
                row.int(line.item.into());
                row.int(line.warehouse.into());
                if line.delivered {
                    row.datetime(LOADED_AT)
                } else {
                    row.null()
                }
                row.int(5);
                row.decimal(line.amount_cents.into(), 2);
                row.text(&line.info);
            }),
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

fn write_address(address: &Address, row: &mut Row) {
    row.text(address.street_1.as_bytes());
    row.text(address.street_2.as_bytes());
    row.text(address.city.as_bytes());
    row.text(address.state.as_bytes());
    row.text(address.zip.as_bytes());
}

fn columns(table: Table) -> &'static str {
    match table {
        Table::Item => "i_id, i_im_id, i_name, i_price, i_data",
        Table::Warehouse => "w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd",
        Table::District => {
            "d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, d_next_o_id"
        }
        Table::Stock => {
            "s_i_id, s_w_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, \
             s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data"
        }
        Table::Customer => {
            "c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
             c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, \
             c_data"
        }
        Table::History => "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data",
        Table::Orders => "o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local",
        Table::NewOrders => "no_o_id, no_d_id, no_w_id",
        Table::OrderLine => {
            "ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, \
             ol_dist_info"
        }
    }
}

/// tpcc-mysql's tables: its names, its types, its keys.
const CREATE: [&str; 9] = [
    "CREATE TABLE warehouse (w_id smallint not null, w_name varchar(10), w_street_1 varchar(20), \
     w_street_2 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9), w_tax decimal(4,2), \
     w_ytd decimal(12,2), primary key (w_id)) ENGINE=InnoDB",
    "CREATE TABLE district (d_id tinyint not null, d_w_id smallint not null, d_name varchar(10), \
     d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2), d_zip char(9), \
     d_tax decimal(4,2), d_ytd decimal(12,2), d_next_o_id int, primary key (d_w_id, d_id)) ENGINE=InnoDB",
    "CREATE TABLE customer (c_id int not null, c_d_id tinyint not null, c_w_id smallint not null, \
     c_first varchar(16), c_middle char(2), c_last varchar(16), c_street_1 varchar(20), c_street_2 varchar(20), \
     c_city varchar(20), c_state char(2), c_zip char(9), c_phone char(16), c_since datetime, c_credit char(2), \
     c_credit_lim bigint, c_discount decimal(4,2), c_balance decimal(12,2), c_ytd_payment decimal(12,2), \
     c_payment_cnt smallint, c_delivery_cnt smallint, c_data text, primary key (c_w_id, c_d_id, c_id)) ENGINE=InnoDB",
    "CREATE TABLE history (h_c_id int, h_c_d_id tinyint, h_c_w_id smallint, h_d_id tinyint, h_w_id smallint, \
     h_date datetime, h_amount decimal(6,2), h_data varchar(24)) ENGINE=InnoDB",
    "CREATE TABLE new_orders (no_o_id int not null, no_d_id tinyint not null, no_w_id smallint not null, \
     primary key (no_w_id, no_d_id, no_o_id)) ENGINE=InnoDB",
    "CREATE TABLE orders (o_id int not null, o_d_id tinyint not null, o_w_id smallint not null, o_c_id int, \
     o_entry_d datetime, o_carrier_id tinyint, o_ol_cnt tinyint, o_all_local tinyint, \
     primary key (o_w_id, o_d_id, o_id)) ENGINE=InnoDB",
    "CREATE TABLE order_line (ol_o_id int not null, ol_d_id tinyint not null, ol_w_id smallint not null, \
     ol_number tinyint not null, ol_i_id int, ol_supply_w_id smallint, ol_delivery_d datetime, ol_quantity tinyint, \
     ol_amount decimal(6,2), ol_dist_info char(24), primary key (ol_w_id, ol_d_id, ol_o_id, ol_number)) ENGINE=InnoDB",
    "CREATE TABLE item (i_id int not null, i_im_id int, i_name varchar(24), i_price decimal(5,2), \
     i_data varchar(50), primary key (i_id)) ENGINE=InnoDB",
    "CREATE TABLE stock (s_i_id int not null, s_w_id smallint not null, s_quantity smallint, s_dist_01 char(24), \
     s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24), s_dist_06 char(24), \
     s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24), s_ytd decimal(8,0), \
     s_order_cnt smallint, s_remote_cnt smallint, s_data varchar(50), primary key (s_w_id, s_i_id)) ENGINE=InnoDB",
];

/// Tables without indexes and foreign keys of their own.
const KEYLESS: [Table; 2] = [Table::Item, Table::Warehouse];

/// tpcc-mysql's indexes and foreign keys, the longest work first. All of a table go in one statement, so that its rows
/// are read once for them.
const FINISH: [(Table, &str); 7] = [
    (
        Table::OrderLine,
        "ALTER TABLE order_line ADD INDEX fkey_order_line_2 (ol_supply_w_id, ol_i_id), \
     ADD CONSTRAINT fkey_order_line_1 FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) \
     REFERENCES orders (o_w_id, o_d_id, o_id), \
     ADD CONSTRAINT fkey_order_line_2 FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id)",
    ),
    (
        Table::Stock,
        "ALTER TABLE stock ADD INDEX fkey_stock_2 (s_i_id), \
     ADD CONSTRAINT fkey_stock_1 FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id), \
     ADD CONSTRAINT fkey_stock_2 FOREIGN KEY (s_i_id) REFERENCES item (i_id)",
    ),
    (
        Table::Customer,
        "ALTER TABLE customer ADD INDEX idx_customer (c_w_id, c_d_id, c_last, c_first), \
     ADD CONSTRAINT fkey_customer_1 FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id)",
    ),
    (
        Table::History,
        "ALTER TABLE history \
     ADD CONSTRAINT fkey_history_1 FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) \
     REFERENCES customer (c_w_id, c_d_id, c_id), \
     ADD CONSTRAINT fkey_history_2 FOREIGN KEY (h_w_id, h_d_id) REFERENCES district (d_w_id, d_id)",
    ),
    (
        Table::Orders,
        "ALTER TABLE orders ADD INDEX idx_orders (o_w_id, o_d_id, o_c_id, o_id), \
     ADD CONSTRAINT fkey_orders_1 FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)",
    ),
    (
        Table::NewOrders,
        "ALTER TABLE new_orders ADD CONSTRAINT fkey_new_orders_1 FOREIGN KEY (no_w_id, no_d_id, no_o_id) \
     REFERENCES orders (o_w_id, o_d_id, o_id)",
    ),
    (
        Table::District,
        "ALTER TABLE district ADD CONSTRAINT fkey_district_1 FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id)",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::load::Form;

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
