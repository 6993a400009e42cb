from __future__ import annotations

import json
import multiprocessing
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.errors import InputError, StoreError
from rubricgrade.store.recorded import RecordedQuote, Verdict, beside, read_verdicts, write_verdicts
from rubricgrade.store.verdicts import VerdictCache, default_cache


def verdict(number: int = 0, **fields: Any) -> Verdict:
    made = Verdict(
        question=f"sha256:q{number}",
        criterion=f"c{number}",
        answer="yes",
        evidence=(RecordedQuote(quote="“quoted”\n", where="[1].text"),),
        recorded_by="acme/judge",
        key=f"sha256:k{number}",
    )
    return made.model_copy(update=fields)


@pytest.fixture
def cache(tmp_path: Path) -> VerdictCache:
    return VerdictCache(tmp_path / "below" / "verdicts.sqlite")


def put_many(path: Path, start: int, count: int) -> None:
    cache = VerdictCache(path)
    for number in range(start, start + count):
        cache.put(verdict(number))


def put_one(files: list[Path], number: int, start: Any) -> None:
    for file in files:
        start.wait()
        VerdictCache(file).put(verdict(number))


class TestCache:
    def test_what_is_kept_comes_back(self, cache: VerdictCache) -> None:
        assert cache.get("sha256:k0") is None
        cache.put(verdict())
        assert cache.get("sha256:k0") == verdict()
        assert VerdictCache(cache.path).get("sha256:k0") == verdict()

    def test_the_first_answer_stays(self, cache: VerdictCache) -> None:
        cache.put(verdict())
        cache.put(verdict(answer="no"))
        found = cache.get("sha256:k0")
        assert found is not None
        assert found.answer == "yes"

    def test_info_and_clear(self, cache: VerdictCache) -> None:
        for number in range(3):
            cache.put(verdict(number, recorded_by="a" if number else "b"))
        info = cache.info()
        assert (info.entries, dict(info.models)) == (3, {"a": 2, "b": 1})
        assert info.bytes > 0
        assert cache.clear() == 3
        assert cache.info().entries == 0

    def test_export_and_load(self, cache: VerdictCache, tmp_path: Path) -> None:
        for number in (2, 0, 1):
            cache.put(verdict(number))
        assert cache.export(tmp_path / "v.jsonl") == 3
        first = (tmp_path / "v.jsonl").read_bytes()
        other = VerdictCache(tmp_path / "other.sqlite")
        assert other.load(tmp_path / "v.jsonl") == 3
        assert other.load(tmp_path / "v.jsonl") == 3
        assert other.get("sha256:k2") == verdict(2, imported="v.jsonl")
        other.export(tmp_path / "again.jsonl")
        imported = [each.model_copy(update={"imported": ""}) for each in read_verdicts(tmp_path / "again.jsonl")]
        write_verdicts(tmp_path / "same.jsonl", imported)
        assert (tmp_path / "same.jsonl").read_bytes() == first

    def test_what_is_imported_says_from_where_whatever_the_file_says(self, cache: VerdictCache, tmp_path: Path) -> None:
        file = tmp_path / "theirs\u202e\n.jsonl"
        write_verdicts(file, [verdict(imported="ours.jsonl", recorded_by="hand: Ada")])
        assert cache.load(file) == 1
        found = cache.get("sha256:k0")
        assert found is not None
        assert found.imported.startswith("theirs\\u202e")
        assert "\n" not in found.imported
        assert not found.by_hand

    def test_what_was_asked_here_stays_ours(self, cache: VerdictCache, tmp_path: Path) -> None:
        cache.put(verdict())
        write_verdicts(tmp_path / "v.jsonl", [verdict(answer="no")])
        cache.load(tmp_path / "v.jsonl")
        assert cache.get("sha256:k0") == verdict()

    def test_lines_by_hand_are_no_cache_entries(self, cache: VerdictCache, tmp_path: Path) -> None:
        write_verdicts(tmp_path / "v.jsonl", [verdict(key=None, recorded_by="hand: Ada"), verdict(1)])
        assert cache.load(tmp_path / "v.jsonl") == 1

    def test_it_opens_again_after_closing(self, cache: VerdictCache) -> None:
        cache.put(verdict())
        cache.close()
        assert cache.get("sha256:k0") == verdict()

    def test_who_looks_something_up_waits_for_nobody_who_writes(self, tmp_path: Path) -> None:
        cache = VerdictCache(tmp_path / "v.sqlite")
        cache.put(verdict(1))
        other = VerdictCache(cache.path)
        with closing(sqlite3.connect(cache.path, isolation_level=None)) as somebody, ThreadPoolExecutor(1) as thread:
            somebody.execute("BEGIN IMMEDIATE")
            writing = thread.submit(cache.put, verdict(2))
            for reading in (cache, other):
                assert reading.get("sha256:k1") == verdict(1)
                assert reading.get("sha256:k2") is None
            assert not writing.done()
            somebody.execute("ROLLBACK")
            writing.result()
            assert cache.get("sha256:k2") == verdict(2)

    def test_several_threads(self, cache: VerdictCache) -> None:
        threads = [threading.Thread(target=put_all, args=(cache, start)) for start in (0, 10, 20, 30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert cache.info().entries == 40

    @pytest.mark.parametrize("method", ["spawn", "fork"])
    @pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")  # forking is what is tested
    def test_several_processes(self, cache: VerdictCache, method: str) -> None:
        cache.put(verdict(999))
        context: Any = multiprocessing.get_context(method)
        workers = [context.Process(target=put_many, args=(cache.path, start, 25)) for start in (0, 10, 40)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [worker.exitcode for worker in workers] == [0, 0, 0]
        assert cache.info().entries == 61

    def test_several_processes_that_find_no_file(self, tmp_path: Path) -> None:
        context: Any = multiprocessing.get_context("spawn")
        start = context.Barrier(4)
        files = [tmp_path / str(number) / "v.sqlite" for number in range(10)]
        workers = [context.Process(target=put_one, args=(files, number, start)) for number in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [worker.exitcode for worker in workers] == [0] * 4
        assert [VerdictCache(file).info().entries for file in files] == [4] * 10
        assert {path.name.split("-")[0] for file in files for path in file.parent.iterdir()} <= {"v.sqlite"}

    def test_an_empty_file_is_an_empty_cache(self, tmp_path: Path) -> None:
        (tmp_path / "v.sqlite").touch()
        assert VerdictCache(tmp_path / "v.sqlite").get("k") is None

    def test_a_file_that_is_no_database(self, tmp_path: Path) -> None:
        file = tmp_path / "v.sqlite"
        file.write_bytes(b"not a database" * 100)
        with pytest.raises(StoreError, match="verdict cache"):
            VerdictCache(file).get("k")

    def test_an_entry_that_is_no_verdict(self, cache: VerdictCache) -> None:
        import sqlite3

        cache.put(verdict())
        database = sqlite3.connect(cache.path)
        with database:
            database.execute("""UPDATE verdicts SET line = '{"answer": "yes"}'""")
        database.close()
        with pytest.raises(StoreError, match="no verdict"):
            cache.get("sha256:k0")

    def test_a_folder_that_cannot_be(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(StoreError):
            VerdictCache(tmp_path / "file" / "v.sqlite").put(verdict())

    def test_options(self, tmp_path: Path) -> None:
        assert VerdictCache.of(False) is None
        given = VerdictCache.of(tmp_path / "v")
        assert given is not None
        assert given.path == tmp_path / "v"


def put_all(cache: VerdictCache, start: int) -> None:
    for number in range(start, start + 10):
        cache.put(verdict(number))


class TestWhere:
    def test_the_users_cache_folder(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert default_cache() == tmp_path / "rubricgrade" / "verdicts.sqlite"
        assert VerdictCache().path == default_cache()

    def test_never_a_relative_one(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", "cache")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert default_cache() == tmp_path / ".cache" / "rubricgrade" / "verdicts.sqlite"

    def test_only_the_user_can_read_it(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        VerdictCache().put(verdict())
        assert (tmp_path / "rubricgrade").stat().st_mode & 0o077 == 0


class TestFiles:
    def test_a_line_says_little(self) -> None:
        assert json.loads(verdict(key=None, evidence=()).to_line()) == {
            "schema": "rubricgrade.verdict/1",
            "question": "sha256:q0",
            "criterion": "c0",
            "answer": "yes",
            "recorded_by": "acme/judge",
        }

    def test_a_skeleton_shows_what_to_fill_in(self) -> None:
        line = json.loads(Verdict(question="sha256:q", criterion="c", asked="names the total").to_line())
        assert line == {
            "schema": "rubricgrade.verdict/1", "question": "sha256:q", "criterion": "c", "asked": "names the total",
            "answer": None, "reasoning": "", "evidence": [], "recorded_by": "",
        }  # fmt: skip

    @given(
        st.builds(
            Verdict,
            question=st.text(),
            answer=st.none() | st.text(),
            reasoning=st.text(),
            recorded_by=st.text(min_size=1),
        )
    )
    def test_they_come_back_equal(self, given_verdict: Verdict) -> None:
        assert Verdict.model_validate_json(given_verdict.to_line()) == given_verdict

    def test_every_bad_line_is_named(self, tmp_path: Path) -> None:
        file = tmp_path / "v.jsonl"
        lines = [
            verdict().to_line(), "\n", "{not json\n", '{"question": "q", "anwser": "yes"}\n', '{"answer": "yes"}\n',
            '{"question": "q", "answer": "yes"}\n', '{"question": "q", "answer": true, "recorded_by": "x"}\n',
            '{"question": "q", "schema": "rubricgrade.verdict/9"}\n',
        ]  # fmt: skip
        file.write_text("".join(lines), encoding="utf-8")
        with pytest.raises(InputError) as caught:
            read_verdicts(file)
        assert [fault.line for fault in caught.value.faults] == [3, 4, 5, 6, 7, 8]
        assert all(fault.file == str(file) for fault in caught.value.faults)

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"answer": "no"}, "'yes' there, 'no' here"),
            ({"reasoning": "it was not"}, "other reasons or quotes"),
            ({"evidence": ()}, "other reasons or quotes"),
        ],
    )
    def test_two_lines_for_one_vote_say_the_same(self, tmp_path: Path, fields: dict[str, Any], words: str) -> None:
        file = tmp_path / "v.jsonl"
        hand = verdict(key=None, recorded_by="hand: Ada")
        write_verdicts(file, [hand, verdict(1), hand.model_copy(update=fields), hand])
        with pytest.raises(InputError) as caught:
            read_verdicts(file)
        (fault,) = caught.value.faults
        assert fault.line == 3
        assert "line 1 records another verdict by 'hand: Ada' on the same question" in fault.message
        assert words in fault.message

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"recorded_at": "2026-11-30"},
            {"recorded_by": "hand: Bob"},
            {"vote": 1},
            {"key": "k2"},
            {"question": "q"},
        ],
    )
    def test_the_same_again_and_other_votes_may_stand_beside_it(self, tmp_path: Path, fields: dict[str, Any]) -> None:
        file = tmp_path / "v.jsonl"
        answer = "no" if fields and "recorded_at" not in fields else "yes"
        write_verdicts(file, [verdict(), verdict(answer=answer, **fields)])
        assert len(read_verdicts(file)) == 2

    def test_a_key_that_stands_twice_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "v.jsonl"
        line = verdict(answer="no").to_line()
        file.write_text(line + line.replace("{", '{"answer": "yes", ', 1))
        with pytest.raises(InputError, match=r"v\.jsonl:2: the key 'answer' stands twice"):
            read_verdicts(file)

    def test_those_beside_a_rubric(self, tmp_path: Path) -> None:
        assert beside(tmp_path / "rubric.yaml") == ()
        write_verdicts(tmp_path / "verdicts.jsonl", [verdict()])
        assert beside(tmp_path / "rubric.yaml") == (tmp_path / "verdicts.jsonl",)

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="can't read"):
            read_verdicts(tmp_path / "none.jsonl")

    def test_a_changed_file_is_read_again(self, tmp_path: Path) -> None:
        file = tmp_path / "v.jsonl"
        write_verdicts(file, [verdict()])
        assert len(read_verdicts(file)) == 1
        write_verdicts(file, [verdict(), verdict(1)])
        assert len(read_verdicts(file)) == 2

    def test_nothing_is_left_of_a_write_that_fails(self, tmp_path: Path) -> None:
        (tmp_path / "v.jsonl").mkdir()
        with pytest.raises(StoreError):
            write_verdicts(tmp_path / "v.jsonl", [verdict()])
        assert [path.name for path in tmp_path.iterdir()] == ["v.jsonl"]


def test_who_waited_for_nothing_waits_little_until_the_file_is_free(
    cache: VerdictCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rubricgrade.store.database._WAIT", 1.5)
    monkeypatch.setattr("rubricgrade.store.database._SHORT", 0.1)

    def waited(number: int) -> float:
        since = time.monotonic()
        with pytest.raises(StoreError, match="locked"):
            cache.put(verdict(number))
        return time.monotonic() - since

    cache.put(verdict(0))
    with closing(sqlite3.connect(cache.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        first, second = waited(1), waited(2)
        assert cache.get("sha256:k0") == verdict(0), "who looks something up waits for nobody"
        other.execute("COMMIT")
        cache.put(verdict(3))
        assert cache.get("sha256:k3") == verdict(3)
        other.execute("BEGIN EXCLUSIVE")
        third = waited(4)
    assert second < 1.4 <= min(first, third)


@pytest.mark.parametrize("other", ["hand: ANNA", "hand:  anna "])
def test_a_person_has_one_vote_however_the_name_is_written(tmp_path: Path, other: str) -> None:
    file = tmp_path / "v.jsonl"
    write_verdicts(file, [verdict(key=None, recorded_by="hand: Anna"), verdict(vote=1, recorded_by=other)])
    assert len({each.of_vote for each in read_verdicts(file)}) == 1
    write_verdicts(file, [verdict(key=None, recorded_by="hand: Anna"), verdict(vote=1, recorded_by=other, answer="no")])
    with pytest.raises(InputError, match="another verdict by"):
        read_verdicts(file)


def test_two_people_and_two_models_have_votes_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "v.jsonl"
    names = ("hand: Anna", "hand: Bob", "acme/judge", "acme/Judge")
    write_verdicts(file, [verdict(key=None, recorded_by=by, answer=by) for by in names])
    assert len({each.of_vote for each in read_verdicts(file)}) == 4
