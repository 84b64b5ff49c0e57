from __future__ import annotations

from cases import case, device, load

from flatwater.advise.rules.real_time_lag import RealTimeLag


def test_a_device_that_is_later_than_its_model() -> None:
    told = RealTimeLag().advise(case(device=device("ssd", lag_late_pct=40, lag_p95_us=900)))
    assert told is not None
    assert (told.change.kind, told.share) == ("measurement", 0.4)
    assert "900 us" in told.evidence[1]


def test_silent_of_one_that_keeps_up_and_of_a_real_one() -> None:
    assert RealTimeLag().advise(case(device=device("ssd", lag_late_pct=1))) is None
    assert RealTimeLag().advise(case(device=device())) is None


def test_silent_where_the_lag_takes_hardly_any_time() -> None:
    late = {"lag_late_pct": 20, "read_ops_per_s": 500, "write_ops_per_s": 500}
    assert RealTimeLag().advise(case(device=device("ssd", **late, lag_p95_us=80), load=load(in_flight=16))) is None
    told = RealTimeLag().advise(case(device=device("ssd", **late, lag_p95_us=20_000), load=load(in_flight=16)))
    assert told is not None
    assert round(told.share, 2) == 0.25
