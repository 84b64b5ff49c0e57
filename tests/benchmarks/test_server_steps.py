"""Steps of the matrix as far as they need no server: accounts, certificates, what is required of what was recorded."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from benchmarks.servers import encrypted, faults, networked, replayed, watched
from benchmarks.servers.bench import Running, StepFailed
from benchmarks.servers.certificates import PROGRAM, Authority, why_no_certificates
from benchmarks.servers.encrypted import Account, tls_of, told_of
from benchmarks.servers.tls_server import NAMES, PASSWORD

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment.database.login import Login, Tcp, Tls
from flatwater.server import Binary

LOGIN = Login(Tcp(("127.0.0.1", 1)), "free", PASSWORD, None)


def binary(flavour: str, *version: int) -> Binary:
    return cast(Binary, SimpleNamespace(flavour=flavour, version=version))


class TestLogins:
    def test_names_of_accounts_are_short_enough_for_old_servers(self) -> None:
        accounts = [Account(plugin) for plugin in (*encrypted._PLUGINS, encrypted._ED25519)]
        names = [name for account in accounts for name in (account.free, account.bound)]
        assert len({*names}) == len(names) and all(len(name) <= 16 for name in names)

    @pytest.mark.parametrize(
        ("server", "plugin", "words"),
        [
            (binary("percona", 5, 1, 65), encrypted.NATIVE, "REQUIRE SSL"),
            (binary("mysql", 5, 6, 24), encrypted.SHA256, "SET old_passwords = 2"),
            (binary("mysql", 5, 7, 22), encrypted.SHA256, "WITH sha256_password BY"),
            (binary("mysql", 9, 7, 4), "caching_sha2_password", "WITH caching_sha2_password BY"),
            (binary("mariadb", 10, 2, 11), encrypted.NATIVE, "REQUIRE SSL"),
            (binary("mariadb", 11, 8, 9), encrypted._ED25519, "VIA ed25519 USING PASSWORD"),
        ],
    )
    def test_accounts_are_made_in_the_words_of_the_server(self, server: Binary, plugin: str, words: str) -> None:
        bound = " ".join(encrypted.statements(server, "a", plugin, bound=True))
        free = " ".join(encrypted.statements(server, "a", plugin, bound=False))
        assert words in bound and bound.count("REQUIRE SSL") == 1 and "REQUIRE SSL" not in free
        # The password has a quote in it, which each of them doubles.
        assert all(PASSWORD.replace("'", "''") in text for text in (bound, free))

    def test_authorities_are_named_where_they_are_looked_at(self) -> None:
        assert tls_of(None, "ca") is None and tls_of("REQUIRED", "ca") == Tls("REQUIRED", None)
        assert all(tls_of(mode, "ca") == Tls(mode, "ca") for mode in ("VERIFY_CA", "VERIFY_IDENTITY"))  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("error", "failure"),
        [
            (UserError("refused", where="database.url", hint="do it"), ""),
            (UserError("refused"), "one hint"),
            (UserError(f"refused {PASSWORD}", hint="do it"), "the password"),
            (None, "was let in"),
        ],
    )
    def test_a_login_that_must_fail(
        self, monkeypatch: pytest.MonkeyPatch, error: UserError | None, failure: str
    ) -> None:
        def describe(_: Login) -> None:
            if error is not None:
                raise error

        monkeypatch.setattr(encrypted, "describe", describe)
        if not failure:
            assert told_of(LOGIN) == "database.url: refused (hint: do it)"
            return
        with pytest.raises(StepFailed, match=failure):
            told_of(LOGIN)


@pytest.mark.skipif(why_no_certificates() is not None, reason=str(why_no_certificates()))
class TestCertificates:
    def test_keys_have_the_form_that_old_libraries_read(self, tmp_path: Path) -> None:
        pair = Authority.make(tmp_path / "authority").sign("server", *NAMES)
        pair.write_old_key(tmp_path / "old.key")
        assert (tmp_path / "old.key").read_text().startswith("-----BEGIN RSA PRIVATE KEY-----")
        same = [
            subprocess.run([PROGRAM, "rsa", "-in", path, "-noout", "-modulus"], capture_output=True, check=True).stdout
            for path in (pair.key, tmp_path / "old.key")
        ]
        assert same[0] == same[1] != b""

    def test_a_certificate_that_cannot_be_made_says_why_in_one_line(self, tmp_path: Path) -> None:
        authority = Authority.make(tmp_path / "authority")
        with pytest.raises(FlatwaterError, match=r"^openssl: [^\n]+$"):
            authority.sign("server", *NAMES, end="never")


def test_no_openssl_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert why_no_certificates() == "no openssl on PATH"
    bench = cast(Any, SimpleNamespace(folder=tmp_path))
    assert encrypted.logins(bench) == ((), ("TLS: no openssl on PATH",))


class TestNetwork:
    INTERVALS = ({"start_s": 0.0, "time_s": 1.0}, {"start_s": 1.0, "time_s": 2.0}, {"start_s": 2.0, "time_s": 3.0})

    def test_what_is_whole(self) -> None:
        networked.require_whole(self.INTERVALS, [1.0, 2.0, 3.0, 4.0])

    @pytest.mark.parametrize(
        ("intervals", "recorded", "failure"),
        [
            ((), [], "has no interval"),
            ((INTERVALS[0], INTERVALS[2]), [1.0, 3.0], r"missing before \[2.0\]"),
            (INTERVALS, [1.0, 2.0], r"not in the result: \[3.0\]"),
        ],
    )
    def test_what_is_lost_is_told(self, intervals: Any, recorded: list[float], failure: str) -> None:
        with pytest.raises(StepFailed, match=failure):
            networked.require_whole(intervals, recorded)

    def test_faults_and_their_ends_are_known_by_their_words(self) -> None:
        cut = '{"event": {"kind": "fault", "text": "the server does not answer: timed out"}}\n'
        mended = '{"event": {"kind": "recovered", "text": "the server answers again"}}\n'
        assert networked._CUT.search(cut) and not networked._CUT.search(mended)
        # An interval after it, and not before.
        assert not networked._MENDED.search('{"metrics": {}}\n' + mended)
        assert networked._MENDED.search(mended + '{"metrics": {}}\n')


def test_statements_are_counted_by_their_forms() -> None:
    lines = [
        {"flatwater_digests": 1, "samples": True},
        {"statement": 1, "schema": "sampled", "digest": "a", "text": "SELECT `a` FROM `sampled_rows` WHERE `id` = ?"},
        {"statement": 2, "schema": "sampled", "digest": "b", "text": "UPDATE sampled_rows SET a = ? WHERE id = ? "},
        {"statement": 3, "schema": "", "digest": "c", "text": "SHOW GLOBAL STATUS"},
        {"sample": 1, "sql": "SELECT a FROM sampled_rows WHERE id = 7"},
        {"start_s": 0.0, "end_s": 1.0, "counts": [[1, 17, 2.0], [2, 4, 2.0], [3, 1, 9.0]]},
        {"start_s": 1.0, "end_s": 2.0, "counts": [[1, 3, 2.0]]},
    ]
    assert replayed.counts(lines) == {"select": 20, "update": 4}


def test_a_running_verb_is_waited_for_in_any_file_of_its_result(tmp_path: Path) -> None:
    ended = cast(Any, SimpleNamespace(poll=lambda: 1))
    tmp_path.with_suffix(".err").write_text("error: it failed\n")
    (tmp_path / "digests").write_text('{"sample":1}\n')
    running = Running(ended, tmp_path)
    assert running.until(re.compile('"sample"'), "a sample", "digests")
    with pytest.raises(StepFailed, match="it ended before a sample: it failed"):
        running.until(re.compile('"sample"'), "a sample")


WARNING = "observing took 0.60 % of a core, more than the 0.5 % that it should"


@pytest.mark.parametrize(
    ("here", "there", "warnings", "failure"),
    [
        (0.2, 0.1, [], ""),
        (0.5, None, [], ""),
        (0.4, 0.2, [WARNING], ""),
        (0.4, 0.2, ["steal"], "and the result says"),
        (0.2, 0.1, [WARNING], "and the result says"),
        (1.0, 0.01, [WARNING], r"more than 1\.0 % together"),
        (None, 0.1, [], "not recorded"),
    ],
)
def test_observing_is_cheap_or_the_result_says_so(
    here: float | None, there: float | None, warnings: list[str], failure: str
) -> None:
    means = {"workload.observer_cpu_pct": here, "workload.observer_server_cpu_pct": there}
    if not failure:
        told = watched.require_cheap(means, warnings)
        assert told.startswith(f"{here:.2g} % of a core here") and ("in the server" in told) == (there is not None)
        return
    with pytest.raises(StepFailed, match=failure):
        watched.require_cheap(means, warnings)


def test_the_text_of_an_event_is_told_whole() -> None:
    reason = f'Disk is full writing "./binlog.000001" {"and so on " * 30}until someone frees room'
    line = f'"fault", "time_s": 3, "text": "{reason.replace(chr(34), chr(92) + chr(34))}"}}}}'
    assert faults.text_of(line) == reason
    assert faults.text_of('"fault", "kind": 1}') == "the disk is full"
