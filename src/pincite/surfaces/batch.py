"""A file of many questions: one JSON line in, one JSON line out, resumable after anything.

Each line has a run of its own whose id follows from the batch and the line, so that the same command started again
goes on: what is answered is not asked again, what was broken off is resumed from its ledger.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import IO, Any, Final

import anyio

from pincite.domain.errors import InvalidInput, PinciteError, RunFenced, RunNotFound
from pincite.domain.events import Json, RunStatus
from pincite.domain.frozen import dataclass
from pincite.domain.requests import ResearchRequest
from pincite.domain.search import Constraints
from pincite.engine import BATCH_PRIORITY, Engine, RunOptions
from pincite.runtime.system import replace_file
from pincite.surfaces.requests import read_row

# A question has 20,000 characters at most (`research.service`), escaped and with its members.
MAX_LINE_CHARS: Final = 100_000
# How often the database is asked whether workers are done; answers take minutes.
_LOOK_S: Final = 0.5
_LIMITS: Final = tuple(one.name for one in fields(Constraints))
_PLAIN: Final = ResearchRequest("?")
_ROW_HINT: Final = 'Write a question on each line, as {"question": "..."}.'
ACTIVE: Final = (RunStatus.QUEUED, RunStatus.RUNNING)
_BROKEN_OFF: Final = (RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.DEAD_LETTER)
OnAnswer = Callable[["BatchProgress"], None]


@dataclass(frozen=True, slots=True)
class Item:
    """One question of the file."""

    key: str
    asked: ResearchRequest

    @property
    def question(self) -> str:
        """What is asked."""
        return self.asked.question


@dataclass(slots=True)
class BatchProgress:
    """How far a batch is."""

    total: int
    answered: int = 0
    failed: int = 0
    kept: int = 0

    @property
    def done(self) -> int:
        """Lines that need nothing more."""
        return self.answered + self.failed + self.kept


def read_items(path: Path) -> tuple[Item, ...]:
    """The questions of a file of JSON lines: a text, or an object with `question` and what limits it.

    Errors: InvalidInput (names the first line that can't be used; nothing has been asked then).
    """
    items: list[Item] = []
    known: set[str] = set()
    for number, line in _lines(path):
        item = _item(number, line)
        if item.key in known:
            raise InvalidInput(f"line {number}: the id {item.key!r} occurs twice", reason="batch_id_twice")
        known.add(item.key)
        items.append(item)
    if not items:
        raise InvalidInput(f"{path} holds no question", hint=_ROW_HINT, reason="batch_empty")
    return tuple(items)


class Batch:
    """The questions of a file being answered into another.

    Args:
        name: of the batch; runs are filed under it as their project.
        out: the file of answers; lines that are in it already are not asked again.
    """

    def __init__(self, engine: Engine, name: str, items: tuple[Item, ...], out: Path) -> None:
        self._engine = engine
        self._name = name
        self._items = items
        self._out = out
        self._writing = anyio.Lock()
        self.progress = BatchProgress(len(items))

    async def run(self, slots: int, on_answer: OnAnswer, *, queued: bool = False) -> BatchProgress:
        """Answer what is not answered, `slots` at a time; with `queued` workers do it and this waits for them.

        Errors: StorageUnavailable, StorageFull, ... (a question that fails alone is a line with `error`).
        """
        # The file of answers is the memory of the batch: it survives with what was paid for, wherever it is moved to.
        answered = _answered(self._out)
        waiting = [item for item in self._items if item.key not in answered]
        self.progress.kept = len(self._items) - len(waiting)
        on_answer(self.progress)
        with self._out.open("a", encoding="utf-8") as out:
            if queued:
                await self._leave_to_workers(waiting, out, on_answer)
            else:
                await self._answer_here(waiting, out, slots, on_answer)
        return self.progress

    async def _answer_here(self, waiting: list[Item], out: IO[str], slots: int, on_answer: OnAnswer) -> None:
        # One iterator for all of them: each takes the next line when it has a place.
        places = iter(waiting)

        async def work() -> None:
            for item in places:
                await self._answer(item, out, on_answer)

        async with anyio.create_task_group() as tasks:
            for _ in range(min(slots, len(waiting))):
                tasks.start_soon(work)

    async def _answer(self, item: Item, out: IO[str], on_answer: OnAnswer) -> None:
        try:
            run_id, status = await self._stored(item)
            if status in (*ACTIVE, *_BROKEN_OFF):
                await self._engine.resume(run_id)
            line = await self._line(item, run_id)
        except RunFenced:
            return  # another process answers this batch, too
        except PinciteError as error:
            line = self._failed(item, error)
        await self._write(line, out, on_answer)

    async def _leave_to_workers(self, waiting: list[Item], out: IO[str], on_answer: OnAnswer) -> None:
        left: dict[str, Item] = {}
        for item in waiting:
            try:
                run_id, status = await self._stored(item, for_workers=True)
            except PinciteError as error:
                await self._write(self._failed(item, error), out, on_answer)
                continue
            if status in _BROKEN_OFF:
                await self._engine.queue(run_id, priority=BATCH_PRIORITY)
            left[run_id] = item
        while left:
            for run_id, item in tuple(left.items()):
                record = await self._engine.run(run_id)
                if record.status not in ACTIVE:
                    del left[run_id]
                    await self._write(await self._line(item, run_id), out, on_answer)
            await anyio.sleep(_LOOK_S)

    async def _stored(self, item: Item, *, for_workers: bool = False) -> tuple[str, RunStatus]:
        """The run of a question, made now if there is none."""
        run_id = self._run_id(item)
        try:
            return run_id, (await self._engine.run(run_id)).status
        except RunNotFound:
            run_options = RunOptions(run_id, self._name, BATCH_PRIORITY, for_workers=for_workers)
            await self._engine.start(item.asked, run_options=run_options)
            return run_id, RunStatus.QUEUED

    def _failed(self, item: Item, error: PinciteError) -> dict[str, Any]:
        """The line of a question that failed alone. Errors: `error`, where the next question would meet it as well."""
        if error.code in _ENDS_ALL:
            raise error
        return {"id": item.key, "question": item.question, "run_id": self._run_id(item), "error": error.as_dict()}

    async def _line(self, item: Item, run_id: str) -> dict[str, Any]:
        view = await self._engine.view(run_id)
        line: dict[str, Any] = {"id": item.key, "question": item.question, "run_id": run_id}
        if view.report is None:
            error = {"code": "INSUFFICIENT_EVIDENCE", "reason": view.record.reason or "no_report"}
            return line | {"error": {**error, "message": f"the run is {view.record.status}"}}
        line["status"] = str(view.report.status)
        if item.asked.metadata:
            line["metadata"] = dict(item.asked.metadata)
        if item.asked.output_schema is not None:
            line["answer"] = await self._engine.answer(run_id)
        return line | {"report": json.loads(await self._engine.export(view.report, "json"))}

    async def _write(self, line: Mapping[str, Any], out: IO[str], on_answer: OnAnswer) -> None:
        text = json.dumps(line, ensure_ascii=False) + "\n"
        # One line at a time: two tasks that write side by side would tear both.
        async with self._writing:
            await anyio.to_thread.run_sync(_append, out, text)
        if "error" in line:
            self.progress.failed += 1
        else:
            self.progress.answered += 1
        on_answer(self.progress)

    def _run_id(self, item: Item) -> str:
        # What the first lines could say is said as it was then, so that a batch goes on where an earlier version was.
        first = (*_LIMITS, "question", "urls")
        more = {
            one.name: repr(getattr(item.asked, one.name))
            for one in fields(ResearchRequest)
            if one.name not in first and getattr(item.asked, one.name) != getattr(_PLAIN, one.name)
        }
        asked: list[Any] = [
            self._name,
            item.key,
            item.question,
            *item.asked.urls,
            repr(replace(item.asked, time_range=None).constraints()),
        ]
        asked += [more] if more else []
        # A hash of what is asked: the same line finds its run again, a changed one begins a new one.
        return "run_" + hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:26]


# Errors that the next question would meet as well.
_ENDS_ALL: Final = frozenset(
    {"STORAGE_UNAVAILABLE", "STORAGE_FULL", "SCHEMA_MISMATCH", "LIBRARY_NOT_FOUND", "INVALID_SETTING", "PROVIDER_AUTH"}
)


def _append(out: IO[str], text: str) -> None:
    out.write(text)
    out.flush()


def _answered(out: Path) -> set[str]:
    """The ids that have an answer in the file; a torn last line and lines with an error are taken out of it."""
    if not out.exists():
        return set()
    kept: list[str] = []
    ids: set[str] = set()
    lines = out.read_text(encoding="utf-8").splitlines()
    for line in lines:
        try:
            found = json.loads(line)
            if "error" not in found and found["id"] not in ids:
                ids.add(found["id"])
                kept.append(line)
        except (ValueError, KeyError, TypeError):
            continue
    if len(kept) != len(lines):
        replace_file(out, "".join(line + "\n" for line in kept))
    return ids


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if len(line) > MAX_LINE_CHARS:
                    raise InvalidInput(f"line {number} has {len(line)} characters", reason="batch_line")
                if line.strip():
                    yield number, line
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"{path} can't be read: {why}", hint="Give a file of JSON lines in UTF-8.") from error


def _item(number: int, line: str) -> Item:
    try:
        found: Json = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"line {number} is not JSON: {error}", hint=_ROW_HINT, reason="batch_line") from error
    if isinstance(found, str):
        found = {"question": found}
    if not isinstance(found, dict) or not isinstance(found.get("question"), str) or not str(found["question"]).strip():
        raise InvalidInput(f"line {number} has no question", hint=_ROW_HINT, reason="batch_line")
    key = str(found.pop("id", number))
    try:
        asked = read_row(ResearchRequest, {**found, "question": str(found["question"]).strip()})
        asked.constraints()
    except InvalidInput as error:
        raise InvalidInput(
            f"line {number}: {error.message}", reason="batch_line", hint=error.hint.replace("Known: ", "Known: id, ", 1)
        ) from error
    return Item(key, asked)
