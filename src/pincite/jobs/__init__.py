"""Work that goes on beside a caller: workers that execute runs, and files of many questions."""
