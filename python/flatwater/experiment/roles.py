"""The role of each field in a comparison of two runs: it decides whether their ratio means something.

Every field of the format has a role here; `tests/experiment/test_roles.py` fails for a field without one. A field
inside a table (`database.fault.kind`, an entry of `database.settings`, any field of `[cache]`) has the role of its
table.
"""

from __future__ import annotations

from typing import Literal

#: workload   the requests: other requests are another question
#: data size  the amount of data that the requests use
#: direction  what the figure counts, in which unit, and whether more is better
#: stack      what serves the requests: settings, devices, their initial state, faults
#: timing     the length of the measurement, its recording and its checks
#: about      descriptions and views: they change nothing in the run
Role = Literal["workload", "data size", "direction", "stack", "timing", "about"]

#: If one of these differs or is unknown, a ratio would compare the answers to two questions.
DECISIVE: tuple[Role, ...] = ("workload", "data size", "direction")


def _all(role: Role, table: str, names: str) -> dict[str, Role]:
    return {f"{table}{name}": role for name in names.split()}


#: Field, or table, by its dotted name -> its role.
ROLES: dict[str, Role] = {
    **_all(
        "workload",
        "workload.",
        "kind mode read_pct rw_ratio block_size files threads queue_depth sync fsync_every fsync fsync_call "
        "distribution zipf_theta pareto_h hotspot_access_pct hotspot_data_pct compressible_pct rate_per_s arrival "
        "variant all_warehouses connections reconnect_every pipeline prepared keying_and_think secondary auto_inc "
        "point_selects simple_ranges sum_ranges "
        "order_ranges distinct_ranges range_selects range_size index_updates non_index_updates delete_inserts "
        "skip_trx spec_iter spec_pct spec_res zipfian_exp trace format speed offsets repeat "
        "transactions parameters on_connect allow_writes log",
    ),
    **_all(
        "data size",
        "workload.",
        "warehouses rows tables table_sets foreign_keys history_key partitions setup setup_file",
    ),
    **_all("data size", "storage.", "size fill capacity_scale"),
    # Each of several servers has a copy of all data.
    "database.instances": "data size",
    "workload.unit": "direction",
    # The path of a request, and the initial state of the device, belong to the stack, although the fields are in the
    # workload's table.
    # Only another way to say how many connections there are, which are compared.
    "workload.terminals_per_warehouse": "stack",
    **_all("stack", "workload.", "engine direct precondition_passes precondition_block_size"),
    **_all(
        "stack",
        "database.",
        "kind binary url ssl_mode ssl_ca ssl_cert ssl_key server_public_key_path settings schema_name on_crash load "
        "fault generation servers flushing machine cores cpu workload warm memory log_device doublewrite_device "
        "binlog_device tables placement storages",
    ),
    # The settings of a cache do not change the requests.
    "cache": "stack",
    **_all(
        "stack",
        "storage.",
        "kind path overwrite purge keep fault device parameters exclusive_writes real_time file_system initial "
        "simulate_initial reserve_pct occupied_pct life_used_pct events",
    ),
    "twin": "stack",
    # The same requests, sent from elsewhere.
    "load": "stack",
    **_all(
        "timing",
        "workload.",
        "duration_s warmup_s steady_state round_s rounds_max on_error verify record_latency check_consistency "
        "errors_max_pct samples",
    ),
    "record.interval_s": "timing",
    **_all("timing", "", "repeat seed"),
    **_all("about", "", "name title about source scale scaled_by sweep report published expected cost thresholds"),
}

_RANDOM = "workload.distribution"
#: Field -> another field, and the values of that one with which the first has an effect; (): any value but zero.
MATTERS_WITH: dict[str, tuple[str, tuple[str, ...]]] = {
    "workload.read_pct": ("workload.mode", ("seqrw", "rndrw")),
    "workload.zipf_theta": (_RANDOM, ("zipf",)),
    "workload.pareto_h": (_RANDOM, ("pareto",)),
    "workload.hotspot_access_pct": (_RANDOM, ("hotspot",)),
    "workload.hotspot_data_pct": (_RANDOM, ("hotspot",)),
    "workload.zipfian_exp": (_RANDOM, ("zipfian",)),
    "workload.spec_iter": (_RANDOM, ("special", "gaussian")),
    "workload.spec_pct": (_RANDOM, ("special",)),
    "workload.spec_res": (_RANDOM, ("special",)),
    "workload.round_s": ("workload.steady_state", ("snia",)),
    "workload.rounds_max": ("workload.steady_state", ("snia",)),
    "workload.duration_s": ("workload.steady_state", ("none",)),
    "workload.arrival": ("workload.rate_per_s", ()),
    "workload.precondition_block_size": ("workload.precondition_passes", ()),
}


def role_of(field: str) -> Role | None:
    """The role of a field by its dotted name: its own, or that of its table; None for an unknown field."""
    while field:
        if field in ROLES:
            return ROLES[field]
        field = field.rpartition(".")[0]
    return None


def role_with(field: str, workload_kind: str | None) -> Role | None:
    """The role of a field for a kind of workload.

    The workload decides the size of a database. So the size of the storage under a database belongs to the stack.
    """
    role = role_of(field)
    if role == "data size" and field.startswith("storage.") and workload_kind in ("tpcc", "oltp", "sql", "query-log"):
        return "stack"
    return role
