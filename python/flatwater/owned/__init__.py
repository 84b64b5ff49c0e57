"""flatwater's files below a user's path. Only this room makes, opens, renames and deletes them there.

witness.py  recognises a file or a folder that flatwater made, even if another file has got its inode since
folder.py   a folder of flatwater, held open, with a ledger of the entries that flatwater made in it
mounted.py  mounts: under a path, and inside a folder, where a deletion would reach them
writing.py  files that are replaced atomically, under a name that nobody can guess
reading.py  the records that lie beside what it made
permit.py   the files that the engine may write to, by their identity: it opens all others read-only

A file that is not provably flatwater's is never written, renamed or deleted. A name that has become a link is not
followed.
"""

from flatwater.owned.folder import Folder, create_folder
from flatwater.owned.mounted import mounted_below
from flatwater.owned.permit import Identity, Permit
from flatwater.owned.reading import read_record
from flatwater.owned.witness import Witness
from flatwater.owned.writing import (
    FOLDER_FLAGS,
    create_file,
    is_random_name,
    make_folder,
    own_alone,
    publish,
    random_name,
    require_replaceable,
    unwritten,
    write_atomic,
    write_new,
)

__all__ = [
    "FOLDER_FLAGS",
    "Folder",
    "Identity",
    "Permit",
    "Witness",
    "create_file",
    "create_folder",
    "is_random_name",
    "make_folder",
    "mounted_below",
    "own_alone",
    "publish",
    "random_name",
    "read_record",
    "require_replaceable",
    "unwritten",
    "write_atomic",
    "write_new",
]
