"""Known vulnerabilities of what flatwater depends on: pip-audit for Python's packages, cargo-audit for Rust's.

Run by `make advisories`. Their data are on the network: where it cannot be had, this says so, and is no failure. The
exit code is 1 when something is known.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ("run.txt", "dev.txt")
#: Of a data base that does not answer.
PATIENCE_S = 120

#: What is known, a line each; or why it cannot be told.
Found = list[str] | str


def ask(command: list[str]) -> tuple[str, str]:
    """What a program says on both streams."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return "", f"no answer within {PATIENCE_S} s"
    return done.stdout, done.stderr


def read_pip_audit(told: str, error: str) -> Found:
    """What pip-audit found. It calls a package that its index tells nothing of skipped, and that no failure."""
    try:
        packages = json.loads(told)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return last_line(error)
    skipped = [one for one in packages if "skip_reason" in one]
    if skipped:
        return f"{len(skipped)} of {len(packages)} packages are not known there: {skipped[0]['skip_reason']}"
    return [f"{one['name']} {one['version']}: {bug['id']}" for one in packages for bug in one["vulns"]]


def read_cargo_audit(told: str, error: str) -> Found:
    """What cargo-audit found; without its data base it prints no JSON."""
    try:
        bugs = json.loads(told)["vulnerabilities"]["list"]
    except (ValueError, KeyError, TypeError):
        return last_line(error)
    return [f"{bug['package']['name']} {bug['package']['version']}: {bug['advisory']['id']}" for bug in bugs]


def last_line(text: str) -> str:
    """Why, in a line."""
    return (text.strip().splitlines() or ["it said nothing"])[-1]


def check_python(requirements: str) -> Found:
    """Of one set of requirements."""
    program = Path(sys.executable).with_name("pip-audit")
    if not program.exists():
        return "pip-audit is not installed (hint: make advisories)"
    options = ["--progress-spinner", "off", "--require-hashes", "--disable-pip", "--format", "json"]
    return read_pip_audit(*ask([str(program), *options, "--requirement", f"requirements/{requirements}"]))


def check_rust() -> Found:
    """Of Cargo.lock."""
    if shutil.which("cargo-audit") is None:
        return "cargo-audit is not installed (hint: cargo install --locked cargo-audit)"
    return read_cargo_audit(*ask(["cargo", "audit", "--json"]))


def tell(what: str, found: Found) -> bool:
    """Says what was found of something; whether anything was."""
    if isinstance(found, str):
        print(f"advisories: {what}: NOT CHECKED: {found}")
        return False
    print(f"advisories: {what}: {len(found) or 'none'} known")
    for line in found:
        print(f"  {line}")
    return bool(found)


def main() -> int:
    """Checks all."""
    known = [tell(f"requirements/{name}", check_python(name)) for name in REQUIREMENTS]
    known.append(tell("Cargo.lock", check_rust()))
    return int(any(known))


if __name__ == "__main__":
    sys.exit(main())
