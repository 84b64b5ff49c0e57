//! When dirty pages are written in the background: one file a policy, met in `open`.
//!
//! A policy is asked in rounds what the master thread or the page cleaner should write now. What threads write themselves,
//! because the log is at its limit or no page is free, is not a policy's affair: see `innodb/logs.rs` and `innodb/pages.rs`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::generation::{CleanerGeneration, Generation};
use super::settings::{AdaptiveMethod, Settings};

mod estimate;
mod keep_average;
mod mariadb;
mod mysql56;
mod mysql57;
mod mysql80;
mod mysql8011;
mod native;
mod none;
mod policy;
mod rates;
mod reflex;

pub use policy::{FlushList, Order, Policy, View};

/// A built-in policy by name, whatever server it came with.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    /// Writes nothing by itself.
    None,
    /// A policy of a master thread.
    #[serde(untagged)]
    Master(AdaptiveMethod),
    /// The policy of a page cleaner.
    #[serde(untagged)]
    Cleaner(CleanerGeneration),
}

impl Name {
    /// The one that a server with these settings has.
    pub const fn of(generation: Generation, settings: &Settings) -> Self {
        match generation {
            Generation::Cleaner(cleaner) => Self::Cleaner(cleaner),
            Generation::Master(_) if settings.innodb_adaptive_flushing => {
                Self::Master(settings.innodb_adaptive_flushing_method)
            }
            Generation::Master(_) => Self::None,
        }
    }
}

/// A policy with a server's settings.
pub fn open(name: Name, settings: &Settings) -> Box<dyn Policy> {
    let capacity = settings.innodb_io_capacity;
    let loops = settings.innodb_flushing_avg_loops;
    let rates = rates::Rates::of(settings);
    match name {
        Name::None => Box::new(none::Nothing),
        Name::Master(AdaptiveMethod::Native) => Box::new(native::Native::new(capacity)),
        Name::Master(AdaptiveMethod::Estimate) => Box::new(estimate::Estimate::new(settings.innodb_doublewrite)),
        Name::Master(AdaptiveMethod::KeepAverage) => Box::new(keep_average::KeepAverage::default()),
        Name::Master(AdaptiveMethod::Reflex) => Box::new(reflex::Reflex::new(capacity)),
        Name::Cleaner(CleanerGeneration::Mysql56) => Box::new(mysql56::Mysql56::new(rates, loops)),
        Name::Cleaner(CleanerGeneration::Mysql57) => Box::new(mysql57::Mysql57::new(rates, loops)),
        Name::Cleaner(CleanerGeneration::Mysql8011) => Box::new(mysql8011::Mysql8011::new(rates, loops)),
        Name::Cleaner(CleanerGeneration::Mysql80) => Box::new(mysql80::Mysql80::new(rates, loops)),
        Name::Cleaner(CleanerGeneration::Mariadb1011) => Box::new(mariadb::Mariadb::new(rates, loops)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_opens_a_policy_and_is_that_of_its_server() {
        let settings = super::super::settings::tests::settings();
        let of = |name: &str| serde_json::from_value::<Name>(name.into());
        for name in ["none", "reflex", "estimate", "keep_average", "native"] {
            open(of(name).unwrap(), &settings);
        }
        for name in ["mysql-5.6", "mysql-5.7", "mysql-8.0.11", "mysql-8.0", "mariadb-10.11"] {
            let generation = serde_json::from_value(name.into()).unwrap();
            assert_eq!(of(name).unwrap(), Name::of(generation, &settings), "{name}");
        }
        assert!(of("mysql-5.5").is_err());
        let percona = serde_json::from_value("percona-5.5".into()).unwrap();
        assert_eq!(Name::of(percona, &settings), Name::Master(AdaptiveMethod::Estimate));
        let off = Settings { innodb_adaptive_flushing: false, ..settings };
        assert_eq!(Name::of(percona, &off), Name::None);
    }
}
