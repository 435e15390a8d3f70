"""Fail on modules over 600 lines and functions over 80; report modules over 400 (docs: conventions)."""

import ast
import sys
from pathlib import Path

MODULE_SOFT, MODULE_HARD, FUNCTION_HARD = 400, 600, 80


def main() -> int:
    failures = []
    for path in sorted(Path("src").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        length = source.count("\n")
        if length > MODULE_HARD:
            failures.append(f"{path}: {length} lines, at most {MODULE_HARD}")
        elif length > MODULE_SOFT:
            print(f"note: {path}: {length} lines, aim for {MODULE_SOFT}")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                span = (node.end_lineno or node.lineno) - node.lineno + 1
                if span > FUNCTION_HARD:
                    failures.append(f"{path}:{node.lineno}: {node.name} has {span} lines, at most {FUNCTION_HARD}")
    print("\n".join(failures) or "sizes: all modules and functions within their limits")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
