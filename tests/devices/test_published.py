"""Modelled cards stand where the published ones stood: small copies of them, within what the project promises."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

from flatwater.experiment import load

sys.path.insert(0, str(Path(__file__).parent))  # the import mode of pytest does not
from known_cards import DUO, PEAKS, STEADY, SYNCHRONOUS, TACHION, at_fill, peak, steady, synchronous

from flatwater.results import open_result


def rms(errors: list[float]) -> float:
    return math.sqrt(sum(error**2 for error in errors) / len(errors))


@pytest.mark.parametrize(("used_bytes", "published"), TACHION)
def test_tachion_within_7_percent_at_every_fill(used_bytes: float, published: float) -> None:
    assert at_fill("virident-tachion-400-slc", used_bytes) == pytest.approx(published, rel=0.07)


@pytest.mark.parametrize("points", [DUO[:5], DUO[5:], DUO], ids=["the table", "the files", "all"])
def test_duo_within_10_percent_rms(points: list[tuple[float, float]]) -> None:
    errors = [at_fill("fusion-io-duo-320-slc", used) / published - 1 for used, published in points]
    assert rms(errors) < 0.10, errors


@pytest.mark.parametrize("used_bytes", [DUO[0][0], *(used for used, _ in DUO[5:])])
def test_reserving_space_is_not_using_it(used_bytes: float) -> None:
    whole = at_fill("fusion-io-duo-320-slc", used_bytes)
    assert at_fill("fusion-io-duo-320-slc", used_bytes, reserve_pct=25) == pytest.approx(whole, rel=0.03)


@pytest.mark.parametrize(("device", "mode"), STEADY)
def test_steady_within_10_percent(device: str, mode: str) -> None:
    assert steady(device, mode) == pytest.approx(STEADY[device, mode], rel=0.10)


def test_tachion_reads_more_than_1000_with_16_to_64_threads() -> None:
    for threads in (16, 32, 64):
        assert synchronous("virident-tachion-400-slc", "rndrd", threads)["MiB/s"] > 1000


@pytest.mark.parametrize("case", SYNCHRONOUS, ids=lambda case: "-".join(map(str, case)))
def test_threads_within_20_percent(case: tuple[str, str, int, str]) -> None:
    device, mode, threads, metric = case
    assert synchronous(device, mode, threads)[metric] == pytest.approx(SYNCHRONOUS[case], rel=0.20)


def test_flashmax_2_waits_longer_and_reads_no_more_past_128_threads() -> None:
    at_128, at_256 = (synchronous("virident-flashmax-2-2200-mlc", "rndrd", threads) for threads in (128, 256))
    assert at_256["MiB/s"] == pytest.approx(at_128["MiB/s"], rel=0.03)
    assert at_256["p50_us"] == pytest.approx(2 * at_128["p50_us"], rel=0.20)


@pytest.mark.parametrize(("device", "mode"), [case for case in PEAKS if case[0] != "intel-910-2x200"])
def test_the_peak_is_where_it_was(device: str, mode: str) -> None:
    least, most = PEAKS[device, mode]
    assert least <= peak(device, mode) <= most


def test_two_modules_are_near_their_peak_with_16_threads() -> None:
    """Requests fall on two modules at random: 16 of them leave one idle now and then, a shared link would not."""
    line = {threads: synchronous("intel-910-2x200", "rndrd", threads)["MiB/s"] for threads in (8, 16, 256)}
    assert line[8] < 0.9 * line[256]
    assert line[16] > 0.9 * line[256]


@pytest.mark.slow
def test_the_write_curve_has_three_phases(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from flatwater import cli

    out = tmp_path / "curve"
    ran = CliRunner().invoke(cli.make_app(), ["run", "card-write-curve-reviews", "--out", str(out)])
    assert ran.exit_code == 0, ran.output
    experiment = load("card-write-curve-reviews")
    minutes = {}
    for cell in open_result(out).cells:
        assert cell.summary is not None
        transition = json.loads(cell.summary.model_dump_json())["transition"]
        assert transition["fast"] > transition["steady"]
        minutes[cell.set["storage.device"]] = transition["transition_s"] / 60 / experiment.storage.capacity_scale
    # 18 to 45 minutes, within 30 %.
    for device in ("virident-flashmax-1400-mlc", "virident-tachion-400-slc", "intel-910-200"):
        assert 18 * 0.7 <= minutes[device] <= 45 * 1.3, minutes
