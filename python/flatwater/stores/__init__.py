"""Results in object stores: `s3://BUCKET/PREFIX`.

address.py   an address as the user writes it
names.py     which names of objects may become files here, and in which order files are uploaded
store.py     what a store can do; registry.py has one for each scheme
s3.py        S3 through boto3; s3_errors.py its errors in our words
index.py     `uploaded.json` in the store: whose a result is, and what belongs to it
state.py     `upload.json` in a folder here: where it is uploaded to
claim.py     a place in a store is claimed before anything is measured
upload.py    uploading a folder to its place
fetch.py     fetching a result, file by file, each compared with what was uploaded
mirror.py    a result of a store as a temporary folder, for whoever reads folders

A measurement never waits for a store: it goes into a folder of this machine, and from there into the store.
"""

from flatwater.stores.address import Address, is_address, parse_address
from flatwater.stores.mirror import Mirror, behind, is_mirror, local_copy, readable, shown, told
from flatwater.stores.names import is_small
from flatwater.stores.store import StoreGone

__all__ = [
    "Address",
    "Mirror",
    "StoreGone",
    "behind",
    "is_address",
    "is_mirror",
    "is_small",
    "local_copy",
    "parse_address",
    "readable",
    "shown",
    "told",
]
