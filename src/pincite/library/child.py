"""The reader process: gets an extractor, then pages one by one, and answers with what the index keeps of each."""

import os
import pickle
import sys

from pincite.domain.errors import Internal
from pincite.library.reading import PreparedPage, Unread, prepare


def main() -> int:
    """0 when the parent closed the pipe."""
    answers = os.fdopen(os.dup(1), "wb")
    # What a native library prints must not get between the frames.
    os.dup2(2, 1)
    questions = sys.stdin.buffer
    extractor = pickle.loads(_frame(questions.read(8)))  # noqa: S301  # the parent wrote it
    while head := questions.read(8):
        page = pickle.loads(_frame(head))  # noqa: S301  # the parent wrote it
        answer: PreparedPage | Unread
        try:
            answer = prepare(extractor, page)
        except Exception as error:  # border of the task: one page must not end the reader
            answer = Unread(Internal.default_reason, f"{type(error).__name__}: {error}"[:500])
        data = pickle.dumps(answer)
        answers.write(len(data).to_bytes(8, "big") + data)
        answers.flush()
    return 0


def _frame(head: bytes) -> bytes:
    return sys.stdin.buffer.read(int.from_bytes(head, "big"))


if __name__ == "__main__":
    sys.exit(main())
