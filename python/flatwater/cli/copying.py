"""`flatwater copy`: a result between this machine and an object store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import Json

if TYPE_CHECKING:
    from flatwater.stores import Address

NAME = "copy"
TAKES = ("source", "target")
EXAMPLES = """\
[bold]Examples[/bold]

flatwater copy results/monday s3://bucket/results/monday

flatwater copy s3://bucket/results/monday monday     and then, for example, flatwater tag monday kernel=6.12

AWS_ENDPOINT_URL=http://minio:9000 flatwater copy results/monday s3://bucket/monday
"""


def verb(
    source: Annotated[Path, typer.Argument(metavar="FROM", help="A result folder, or s3://BUCKET/PREFIX.")],
    target: Annotated[Path, typer.Argument(metavar="TO", help="The other of the two: a place that is empty.")],
    as_json: Json = False,
) -> None:
    """Copy a result into an object store, or from there; each file is compared with what was sent.

    What was copied before is not sent again: a copy that broke off, or a result that has new tags, is copied with the
    same call. Nothing is written over objects that are not of the same result.

    Login and server come from where every S3 tool takes them: AWS_PROFILE, AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, ...
    """
    from flatwater.errors import UserError
    from flatwater.stores import is_address, parse_address

    if is_address(source) and is_address(target):
        raise UserError("copies between this machine and a store", where="FROM TO", hint="make a folder of it first")
    if not is_address(source) and not is_address(target):
        raise UserError("neither is s3://BUCKET/PREFIX", where="FROM TO", hint=f"cp -r {source} {target}")
    if is_address(target):
        address = parse_address(target, to_write=True)
        _send(source, address)
        made = str(address)
    else:
        _fetch(parse_address(source), target)
        made = str(target)
    typer.echo(json.dumps({"result": made}) if as_json else f"result: {made}")


def _send(folder: Path, address: Address) -> None:
    from flatwater.cli.stores import claim, upload_now
    from flatwater.printing import make_console
    from flatwater.results.collection import INDEX
    from flatwater.results.opening import require_result
    from flatwater.stores.state import read_state

    if not (folder / INDEX).exists():
        require_result(folder)
    with make_console(stderr=True).status("uploading..."):
        upload_now(claim(address, folder, again=read_state(folder, address) is not None))


def _fetch(address: Address, folder: Path) -> None:
    from flatwater.cli.stores import fetch_uploaded
    from flatwater.printing import make_console

    with make_console(stderr=True).status("fetching..."):
        fetch_uploaded(address, folder)
