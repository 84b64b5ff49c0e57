"""The storage layer: where the bytes go. Real and modelled storages stand beside each other; they meet here.

real.py    files and block devices of this machine
modelled/  devices of `devices/`: virtual.py in virtual time; emulated.py in real time, served as a file

Under a real cache, a storage of either sort is a `Device`.
"""

from __future__ import annotations

from flatwater.experiment import Experiment, ModelledStorage
from flatwater.experiment.database import Server
from flatwater.experiment.storage import Storage as StorageFields
from flatwater.runner.stack.layers.storage import SLOW, Device, Role, Storage


def open_storage(cell: Experiment) -> Storage:
    """The storage of a cell."""
    if cell.cache.kind == "flash" and not cell.in_virtual_time:
        return open_device(cell.storage, SLOW)
    if isinstance(cell.storage, ModelledStorage):
        if not cell.storage.real_time:
            from flatwater.runner.stack.storage.modelled.virtual import VirtualDevice

            return VirtualDevice()
        from flatwater.runner.stack.storage.modelled.emulated import EmulatedFiles

        return EmulatedFiles()
    from flatwater.runner.stack.storage.real import Elsewhere, LocalFiles

    attached = isinstance(cell.database, Server) and cell.database.attached
    return Elsewhere() if attached else LocalFiles()


def open_device(storage: StorageFields, role: Role) -> Device:
    """The storage that a real cache uses in one of its two roles."""
    if isinstance(storage, ModelledStorage):
        from flatwater.runner.stack.storage.modelled.emulated import EmulatedDevice

        return EmulatedDevice(role, storage)
    from flatwater.runner.stack.storage.real import FileDevice

    return FileDevice(role, storage)
