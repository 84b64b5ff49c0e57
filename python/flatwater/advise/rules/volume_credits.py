"""A rented volume whose credits are used up: it serves its baseline."""

from __future__ import annotations

from dataclasses import replace

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import modelled_device
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.device import Device
from flatwater.analysis.bound.finding import LISTED_MIN
from flatwater.experiment.device.volume import VolumeDevice

#: What a gp3 volume of any size does without credits (Amazon EBS User Guide, General Purpose SSD volumes, gp3).
_GP3_IOPS, _GP3_MIB_PER_S = 3000, 125
#: Less than one request or byte is none.
_SPENT = 1.0


def credits_spent(device: Device) -> float:
    """The share of the time in which a volume had no credits; 0 if it was too small to tell."""
    lines = [one for one in (device.credits, device.byte_credits) if one is not None]
    share = max((one.share(one.value < _SPENT) for one in lines), default=0.0)
    return share if share >= LISTED_MIN else 0.0


class VolumeCredits(Rule):
    """The credits of a network volume ran out."""

    name = "volume-credits"
    about = "a network volume without credits"
    source = (
        "Amazon EBS User Guide, General Purpose SSD volumes: gp2 has burst credits, gp3 does 3,000 IOPS at any size"
    )
    elsewhere = "it is the new baseline over the old one at most, where the load can use it"

    def advise(self, case: Case) -> Advice | None:
        """A volume with the baseline that is needed."""
        device = case.evidence.device
        share = credits_spent(device) if device is not None else 0.0
        if device is None or not share or case.is_served:
            return None
        model = modelled_device(case.evidence)
        overrides: tuple[str, ...] = ()
        if isinstance(model, VolumeDevice) and model.iops.baseline < _GP3_IOPS:
            overrides = (f"storage.parameters.iops.baseline={_GP3_IOPS}",)
            if model.throughput.baseline_mib_per_s < _GP3_MIB_PER_S:
                overrides += (f"storage.parameters.throughput.baseline_mib_per_s={_GP3_MIB_PER_S}",)
        ops = [one.mean for one in (device.read_ops_per_s, device.write_ops_per_s) if one is not None]
        advice = self.advice(
            "The volume's burst credits ran out: it served its baseline and no more.",
            Change(
                "hardware",
                "Use a volume whose baseline is what the load needs: gp3 with provisioned IOPS instead of gp2, or a "
                "larger gp2. Figures from before the credits ran out do not last.",
                (),
                overrides,
            ),
            f"there were no credits left in {100 * share:.0f} % of the seconds",
            f"{sum(ops):,.0f} requests a second were served" if ops else None,
            confidence="high",
        )
        return replace(advice, share=share)
