"""Reading drives: their gauges, what they said before, how long they last, and what is worth a warning.

machine.py     the one way to the kernel's files, to programs and to devices; bounded, and never raising
disks.py       which disks there are, and which of them a file stands on
places.py      which disks a file is on whose file system spans several
untrusted.py   JSON of other programs, read with suspicion
drive.py       what a drive says at one moment
reading.py     all sources of one drive, the best first: smartctl (ATA, SCSI, NVMe), nvme-cli, the kernel's ioctl, sysfs
arrays/        drives that hold data together; one file a kind
controller.py  batteries and patrol reads; storcli.py, megacli.py; schedules.py what the machine checks
history.py     what drives said before
life.py        what is left, at a rate of writing
warnings/      one file each
checkup.py     all of it together; text.py, as_json.py, page.py, openmetrics.py what is printed of it
around.py      the drives under a real run, before and after it; modelled.py those of a model
"""

from flatwater.health.checkup import Checkup, look_over
from flatwater.health.evidence import Warranty
from flatwater.health.machine import Machine

__all__ = ["Checkup", "Machine", "Warranty", "look_over"]
