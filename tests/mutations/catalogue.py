"""Mutations: small falsehoods in what decides a figure or a verdict, each with the tests that must see it.

A mutation replaces `old`, which its file has exactly once, by `new`. Every test that it names must then fail. Whoever
changes such a line changes its entry here; whoever adds a limit or a formula of this kind adds one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """`file` is below the repository's root; `tests` are pytest's names, or cargo's for a file of Rust."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.file.rpartition('/')[2]}: {self.old.strip()} -> {self.new.strip()}"


def _python(module: str, old: str, new: str, *tests: str) -> Mutation:
    return Mutation(f"python/flatwater/{module}", old, new, tuple(f"tests/{test}" for test in tests))


LIMITS = "analysis/test_limits.py::"
TALLY = "runner/test_tally.py::"
JOURNAL = "runner/test_journal.py::"
PROBE = "probe/test_server.py::"
HEALTH = "health/"
BOUNDS = "analysis/bound/test_bounds.py::"
REDO = "analysis/bound/test_redo.py::"

PYTHON = (
    # Pass or fail.
    _python(
        "analysis/thresholds.py",
        "passed = told.value >= limit",
        "passed = told.value > limit",
        "analysis/test_thresholds.py::test_the_limit_itself_passes_and_beyond_it_fails",
    ),
    _python(
        "analysis/thresholds.py",
        "passed = told.value <= limit",
        "passed = told.value < limit",
        "analysis/test_thresholds.py::test_the_limit_itself_passes_and_beyond_it_fails",
    ),
    _python(
        "analysis/thresholds.py",
        "if found.low < limit <= found.high:",
        "if found.low <= limit <= found.high:",
        "analysis/test_thresholds.py::test_the_whole_interval_of_a_ratio_counts",
    ),
    # Trends over runs.
    _python(
        "analysis/change_points.py",
        "P_MAX = 0.001",
        "P_MAX = 0.01",
        "analysis/test_change_points.py::test_the_goals_in_small",
    ),
    _python(
        "analysis/change_points.py",
        "alone.sum() - _both_out(n, before, limit).sum()",
        "alone.sum()",
        "analysis/test_change_points.py::test_the_chance_is_that_of_noise[40-1.3]",
    ),
    _python(
        "analysis/trend/trends.py",
        "line.regressed_newest_runs <= newest",
        "line.regressed_newest_runs < newest",
        "analysis/trend/test_trends.py::test_a_regression_counts_while_it_is_among_the_newest_and_the_last_change",
    ),
    _python(
        "analysis/trend/trends.py",
        '(change.after < change.before) == (direction == "higher")',
        "change.after < change.before",
        "analysis/trend/test_trends.py::test_less_latency_is_better_and_a_state_is_neither",
    ),
    # Cost.
    _python(
        "cost/life.py",
        "return min(known, default=None)",
        "return max(known, default=None)",
        "cost/test_life.py::test_the_shorter_one_counts",
    ),
    _python(
        "cost/sums.py",
        "return math.ceil(years / max(life, 1 / HOURS_PER_YEAR)) - 1",
        "return math.floor(years / max(life, 1 / HOURS_PER_YEAR))",
        "cost/test_sums.py::test_a_worn_drive_is_bought_again",
    ),
    _python(
        "cost/frontier.py",
        "at_least = other.cost <= point.cost",
        "at_least = other.cost < point.cost",
        "cost/test_frontier.py::test_less_for_as_much_is_off_it",
    ),
    # The verdict.
    _python(
        "analysis/verdict.py",
        "FLATNESS_MIN = 0.85",
        "FLATNESS_MIN = 0.80",
        LIMITS + "TestFlatness::test_a_flat_line_keeps_85_per_cent",
    ),
    _python(
        "analysis/verdict.py",
        "if share < flatness_min(events):",
        "if share <= flatness_min(events):",
        LIMITS + "TestFlatness::test_a_flat_line_keeps_85_per_cent",
    ),
    _python(
        "analysis/verdict.py",
        "DIP_TIME_MAX = 0.01",
        "DIP_TIME_MAX = 0.02",
        LIMITS + "TestFlatness::test_one_dip_may_take_a_hundredth_of_the_time",
    ),
    _python(
        "analysis/verdict.py",
        "if abs(creep) > RISE_MAX:",
        "if creep > RISE_MAX:",
        LIMITS + "TestFlatness::test_a_level_may_creep_by_a_tenth",
        "analysis/test_verdict.py::test_drifting",
    ),
    _python(
        "analysis/verdict.py",
        "SAMPLES_MIN = 10",
        "SAMPLES_MIN = 9",
        "analysis/test_verdict.py::test_too_few_samples_and_none_at_all",
    ),
    _python(
        "analysis/verdict.py",
        "throughput if stalls else settled, rounds",
        "settled, rounds",
        "analysis/test_verdict.py::test_with_a_stall_the_mean_is_that_of_the_whole_phase_also_after_a_transient",
    ),
    _python(
        "analysis/steady.py",
        "RANGE_MAX = 0.20",
        "RANGE_MAX = 0.21",
        "analysis/test_steady.py::test_snia_limits",
    ),
    _python(
        "analysis/steady.py",
        "RISE_MAX = 0.10",
        "RISE_MAX = 0.11",
        LIMITS + "TestFlatness::test_a_level_may_creep_by_a_tenth",
    ),
    # What bounds a run.
    _python(
        "analysis/bound/redo.py",
        "max_bytes * 7 / 8, max_bytes, max_bytes",
        "max_bytes * 6 / 8, max_bytes, max_bytes",
        REDO + "test_mariadb_makes_nobody_wait_before_the_last_limit",
        BOUNDS + "test_the_log_s_limit_is_the_server_s_own",
    ),
    _python(
        "analysis/bound/redo.py",
        "max_bytes * 15 / 16",
        "max_bytes * 14 / 16",
        REDO + "test_mysql_5_5_with_two_logs_of_2000_mib",
    ),
    _python(
        "analysis/bound/finding.py",
        "if not share >= LISTED_MIN:",
        "if not share >= 0:",
        BOUNDS + "test_small_shares_are_not_told_and_none_is_made_up",
    ),
    _python(
        "analysis/bound/diagnosis.py",
        "if not ranked or ranked[0].share < MAIN_MIN:",
        "if not ranked:",
        BOUNDS + "test_small_shares_are_not_told_and_none_is_made_up",
    ),
    _python(
        "analysis/bound/processors.py",
        "return (self.time.cpu_wait or 0.0) * used / whole if whole > 0 else 0.0",
        "return (self.time.cpu_wait or 0.0)",
        BOUNDS + "test_a_served_device_is_no_neighbour",
    ),
    # Dips and stalls.
    _python("analysis/dips.py", "DEPTH_MIN = 0.20", "DEPTH_MIN = 0.21", LIMITS + "TestDips::test_a_fifth_deep"),
    _python(
        "analysis/dips.py",
        "RECOVERED = 0.10",
        "RECOVERED = 0.12",
        LIMITS + "TestDips::test_it_lasts_until_nine_tenths_are_there_again",
    ),
    _python(
        "analysis/dips.py",
        "USUAL_PCT = 75.0",
        "USUAL_PCT = 50.0",
        LIMITS + "TestDips::test_the_usual_level_is_held_for_a_quarter_of_the_time",
    ),
    _python(
        "analysis/dips.py",
        "PERIOD_SCATTER_MAX = 0.25",
        "PERIOD_SCATTER_MAX = 0.28",
        LIMITS + "TestDips::test_a_period_scatters_by_a_quarter",
    ),
    _python(
        "analysis/stalls.py",
        "EXPECTED_MIN = 10.0",
        "EXPECTED_MIN = 8.0",
        LIMITS + "TestStalls::test_ten_requests_would_have_finished",
    ),
    # Statistics.
    _python(
        "analysis/flatness.py",
        "BAD_SECOND_PCT = 5.0",
        "BAD_SECOND_PCT = 6.0",
        LIMITS + "TestFlatness::test_golden",
    ),
    _python("analysis/flatness.py", "values.std(ddof=1)", "values.std()", LIMITS + "TestFlatness::test_golden"),
    _python(
        "analysis/autocorrelation.py",
        "CONFIDENCE = 0.95",
        "CONFIDENCE = 0.90",
        LIMITS + "TestIntervals::test_of_95_per_cent",
    ),
    _python(
        "analysis/autocorrelation.py",
        "tau = max(2.0 * float(kept.sum()) - 1.0, 1.0)",
        "tau = max(float(kept.sum()), 1.0)",
        LIMITS + "TestIntervals::test_numbers_that_come_in_pairs_count_half",
        "analysis/test_autocorrelation.py::test_effective_samples_of_a_known_process",
    ),
    _python(
        "analysis/autocorrelation.py",
        "values.std(ddof=1)) / math.sqrt(effective), effective - 1.0",
        "values.std(ddof=1)) / math.sqrt(len(values)), effective - 1.0",
        "analysis/test_autocorrelation.py::test_the_interval_covers_the_true_mean",
    ),
    _python(
        "analysis/warmup.py",
        "DIFFERENCE_MIN = 0.02",
        "DIFFERENCE_MIN = 0.03",
        LIMITS + "TestTransient::test_two_per_cent_change_nobodys_mind",
    ),
    _python(
        "analysis/warmup.py",
        "LIMIT = 0.5",
        "LIMIT = 0.6",
        LIMITS + "TestTransient::test_one_that_takes_more_than_half_never_ended",
    ),
    # Quantiles and totals.
    _python(
        "runner/tally.py",
        "for q in (0.5, 0.95, 0.99, 0.999)",
        "for q in (0.5, 0.95, 0.98, 0.999)",
        TALLY + "test_percentiles_are_golden",
    ),
    _python(
        "runner/tally.py",
        "histogram.quantile_ns(share) / 1000",
        "histogram.quantile_ns(share * 0.99) / 1000",
        TALLY + "test_percentiles_are_golden",
    ),
    _python(
        "results/latencies.py",
        'SERVING = ("connect", "fsync")',
        "SERVING = ()",
        TALLY + "test_what_serves_others_is_no_operation",
        TALLY + "test_all_is_of_both_kinds_and_of_no_fsync",
    ),
    # NOTPM, and the journal.
    _python(
        "runner/journal.py",
        '"NOTPM": ("workload.new_order_ops_per_s", 60.0)',
        '"NOTPM": ("workload.ops_per_s", 60.0)',
        JOURNAL + "test_throughput_is_in_the_unit_of_the_experiment",
    ),
    _python(
        "runner/journal.py",
        "(metrics[rate] - taken_back) * factor",
        "metrics[rate] - taken_back",
        JOURNAL + "test_throughput_is_in_the_unit_of_the_experiment",
    ),
    _python(
        "runner/journal.py",
        '"time_s": round(offset_s + interval["end_s"], 6)',
        '"time_s": round(interval["end_s"], 6)',
        JOURNAL + "test_goes_on_where_it_ended",
        JOURNAL + "test_what_is_kept_of_a_figure",
    ),
    _python(
        "runner/journal.py",
        'if line["phase"] == MEASURE:',
        'if line["phase"] in (MEASURE, "warmup"):',
        JOURNAL + "test_what_is_kept_of_a_figure",
    ),
    _python(
        "runner/journal.py",
        "            _trim(path)\n",
        "",
        JOURNAL + "test_a_torn_line_is_cut_off",
    ),
    # Redo ages.
    _python(
        "probe/server/limit.py",
        "return max(0.0, 0.9 * (0.9 * usable - free))",
        "return max(0.0, 0.9 * usable - free)",
        PROBE + "test_the_limit_by_rule",
    ),
    _python("probe/server/limit.py", "soft = 0.95 * hard", "soft = 0.97 * hard", PROBE + "test_the_limit_by_rule"),
    _python(
        "probe/server/names.py",
        'max(0.0, found["lsn"] - found["checkpoint_lsn"])',
        'max(0.0, found["lsn"])',
        PROBE + "test_an_age_is_what_lies_behind_the_checkpoint",
    ),
    _python(
        "probe/server/probe.py",
        "if delta >= 0:",
        "if delta > -1e9:",
        PROBE + "test_a_counter_that_jumps_back_has_no_rate",
    ),
    # The health of drives.
    _python(
        "health/life.py",
        "return max(0.0, 100 - used) / (used * growth_per_s) / YEAR_S if used > 0 else None",
        "return max(0.0, 100 - used) / growth_per_s / YEAR_S if used > 0 else None",
        HEALTH + "test_life.py::test_the_mean_over_its_hours",
    ),
    _python(
        "health/life.py",
        "return after - before if after - before >= 20 * (step or 0) else None",
        "return after - before",
        HEALTH + "test_life.py::test_write_amplification_between_two_readings",
    ),
    _python(
        "health/nvme_log.py",
        "DATA_UNIT_BYTES = 512_000.0",
        "DATA_UNIT_BYTES = 512_512.0",
        HEALTH + "test_recorded.py::test_a_drive_is_read_as_it_was_published",
    ),
    _python(
        "health/around.py",
        "APART_MAX = 0.02",
        "APART_MAX = 0.05",
        HEALTH + "test_around.py::test_further_apart_the_counts_are_doubted",
    ),
    _python(
        "health/attributes.py",
        "left += [min(both)] if both else []",
        "left += both[:1]",
        HEALTH + "test_smartctl_ata.py::test_wear_and_bytes",
    ),
    _python(
        "health/modelled.py",
        "self.pct_per_s / YEAR_S / self.card.scale if",
        "self.pct_per_s / YEAR_S if",
        HEALTH + "test_modelled.py::test_of_a_scaled_card_the_whole_ones_life_is_told",
    ),
    _python(
        "health/warnings/spare.py",
        "if spare <= threshold:",
        "if spare < threshold:",
        HEALTH + "test_warnings.py::test_spare",
    ),
    _python(
        "health/warnings/together.py",
        "_APART_PCT = 3.0",
        "_APART_PCT = 4.0",
        HEALTH + "test_warnings.py::test_together_by_the_wear",
    ),
)


def _rust(crate: str, file: str, old: str, new: str, *tests: str) -> Mutation:
    return Mutation(f"crates/{crate}/src/{file}", old, new, tests)


#: Run by `make test-slow`: a compilation each.
RUST = (
    _rust(
        "core",
        "interval.rs",
        '("p99", 0.99)',
        '("p99", 0.98)',
        "interval::tests::the_percentiles_of_an_interval_are_golden",
    ),
    _rust(
        "core",
        "histogram.rs",
        "self.0.value_at_quantile(quantile).min(self.max_ns())",
        "self.0.value_at_quantile(quantile - 0.01).min(self.max_ns())",
        "histogram::tests::quantiles_are_golden",
    ),
    _rust(
        "core",
        "histogram.rs",
        "const SIGNIFICANT_DIGITS: u8 = 3;",
        "const SIGNIFICANT_DIGITS: u8 = 2;",
        "histogram::tests::quantiles_are_golden",
    ),
    _rust(
        "core",
        "histogram.rs",
        "let _ = self.0.add(&other.0);",
        "let _ = &other.0;",
        "histogram::tests::survives_encoding_and_merging",
    ),
    _rust(
        "core",
        "interval/flights.rs",
        "self.now_ns - self.oldest_start_ns",
        "self.now_ns",
        "interval::flights::tests::the_oldest_is_the_earliest_start_of_all",
    ),
    _rust(
        "core",
        "interval.rs",
        "if kind.counts {",
        "if true {",
        "interval::tests::the_percentiles_of_an_interval_are_golden",
    ),
    _rust(
        "core",
        "cache/journal/page.rs",
        "&& get64(page, 24) == life.number",
        "",
        "cache::journal::page::tests::a_page_is_believed_in_its_own_life_only",
    ),
    _rust(
        "core",
        "cache/journal/page.rs",
        "&& get32(page, 4) == crc32c::crc32c(&page[8..])",
        "",
        "cache::journal::page::tests::a_changed_bit_is_never_believed",
    ),
    _rust(
        "model",
        "database/log/ages.rs",
        "modified_async: margin - margin / 8,\n            modified_sync: margin - margin / 16,",
        "modified_async: margin - margin / 8,\n            modified_sync: margin - margin / 32,",
        "database::log::ages::tests::ages_are_those_of_2x2000_mib",
        "database::log::ages::tests::the_sync_age_of_2x1900_mib_is_the_one_seen_on_a_stalled_server",
    ),
    _rust(
        "model",
        "database/log/redo.rs",
        "self.lsn - self.checkpoint\n",
        "self.durable - self.checkpoint\n",
        "database::log::redo::tests::an_age_counts_what_is_not_durable_yet",
    ),
    _rust(
        "model",
        "database/log/redo.rs",
        "const BLOCK_OVERHEAD_BYTES: u64 = 16;",
        "const BLOCK_OVERHEAD_BYTES: u64 = 12;",
        "database::log::redo::tests::lsns_count_headers_and_trailers",
    ),
    _rust(
        "model",
        "database/log/ages.rs",
        "modified_sync: less_margin(limit - limit / 16),",
        "modified_sync: less_margin(limit - limit / 15),",
        "database::log::ages::tests::the_first_mysql_8_takes_a_margin_off_each_limit",
    ),
    _rust(
        "model",
        "database/purge.rs",
        "log.ended_ns < oldest_ns",
        "log.ended_ns <= oldest_ns",
        "database::purge::tests::what_a_transaction_under_way_may_read_stays",
    ),
    _rust(
        "model",
        "database/flushing/mariadb.rs",
        "self.last_pages += view.flushed_lru + own;",
        "self.last_pages += own;",
        "database::flushing::mariadb::tests::pages_for_frames_count_and_those_for_the_logs_age_do_not",
    ),
    _rust(
        "model",
        "database/purge.rs",
        "settings.innodb_purge_threads.max(1)",
        "4",
        "database::purge::tests::it_has_as_many_threads_and_as_large_batches_as_the_settings_say",
    ),
)
