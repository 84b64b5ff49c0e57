from __future__ import annotations

import pytest
from cases import case, finding, on_storage, served

from flatwater.advise.rules.io_scheduler import IoScheduler

WAITS = finding("device latency", 0.5, "4 sessions were waiting")


@pytest.mark.parametrize(
    ("scheduler", "rotational", "better"),
    [
        ("none mq-deadline [bfq]", False, "none"),
        ("none mq-deadline [bfq]", True, "mq-deadline"),
        ("noop deadline [cfq]", False, "noop"),
        ("noop deadline [cfq]", True, "deadline"),
    ],
)
def test_none_on_flash_and_a_deadline_on_disks(scheduler: str, rotational: bool, better: str) -> None:
    told = IoScheduler().advise(case(WAITS, machine=on_storage(scheduler=scheduler, rotational=rotational)))
    assert told is not None
    assert told.change.lines == (f"echo {better} > /sys/block/nvme0n1/queue/scheduler",)
    assert told.share == 0.5


def test_silent_of_a_plain_scheduler_and_where_nobody_waits() -> None:
    fair = on_storage(scheduler="none mq-deadline [bfq]")
    assert IoScheduler().advise(case(WAITS, machine=on_storage())) is None
    assert IoScheduler().advise(case(finding("CPU"), machine=fair)) is None
    assert IoScheduler().advise(served(case(WAITS, machine=fair))) is None


def test_a_hostile_device_name_stays_out_of_the_command() -> None:
    bad = on_storage(scheduler="none [bfq]", device="/dev/sda; reboot")
    told = IoScheduler().advise(case(WAITS, machine=bad))
    assert told is not None
    assert "reboot" not in "".join(told.change.lines) + "".join(told.evidence)
