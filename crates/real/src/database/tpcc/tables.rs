//! tpcc-mysql's tables as statements: their columns, their types, their keys.

use flatwater_core::workload::tpcc::population::Table;

/// The columns of a table, in the order of its rows' values.
pub(super) fn columns(table: Table) -> &'static str {
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
pub(super) const CREATE: [&str; 9] = [
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
pub(super) const KEYLESS: [Table; 2] = [Table::Item, Table::Warehouse];

/// tpcc-mysql's indexes and foreign keys, the longest work first. All of a table go in one statement, so that its rows
/// are read once for them.
pub(super) const FINISH: [(Table, &str); 7] = [
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
