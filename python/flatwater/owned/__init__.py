"""What is flatwater's below a user's path, and how it is made, opened, renamed and deleted there: only here.

witness.py  what tells a file or a folder that flatwater made from any other, also from one that took its inode
folder.py   a folder of flatwater's, held by its descriptor, with a ledger of what flatwater made in it
mounted.py  what is mounted where: under a path, and in a folder, where it would be deleted with it
writing.py  files as a whole: replaced at once or not at all, under a name that nobody can guess
permit.py   what the engine may write to, by what it is: it opens everything else read-only

What is not provably flatwater's is never written, renamed or deleted. No link that a name has become is followed.
"""

from flatwater.owned.folder import Folder
from flatwater.owned.mounted import mounted_below
from flatwater.owned.permit import Identity, Permit
from flatwater.owned.witness import Witness
from flatwater.owned.writing import (
    FOLDER_FLAGS,
    create_file,
    is_random_name,
    own_alone,
    publish,
    require_replaceable,
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
    "is_random_name",
    "mounted_below",
    "own_alone",
    "publish",
    "require_replaceable",
    "write_atomic",
    "write_new",
]
