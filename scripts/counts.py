"""Count what makes a Python tree easy or hard to inherit: size, shreds, tails, cycles, comments.

    python scripts/counts.py                 # src/pincite
    python scripts/counts.py PATH [PATH...]  # other trees, side by side
    python scripts/counts.py --helpers       # where the small functions with one caller are

Tests, vendored and generated files of other trees are left out by folder name. Nothing is imported or run.
"""

import argparse
import ast
import io
import re
import statistics
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LEFT_OUT = frozenset({"tests", "test", "testing", "vendor", "_vendor", "third_party", "node_modules", "build", "dist"})
HELPER_LINES = 6
"""A function of fewer lines with one caller is a place to jump to that says little by itself."""


@dataclass(slots=True)
class Module:
    """What one file says about itself."""

    name: str
    path: Path
    tree: ast.Module
    lines: int
    comments: int
    code: int
    imports: set[str] = field(default_factory=set)


def read(root: Path, *, everything: bool) -> list[Module]:
    """Every module below `root` that can be parsed; its own tests are left out unless `everything`."""
    modules = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if not everything and (LEFT_OUT & set(parts[:-1]) or parts[-1].startswith(("test_", "conftest"))):
            continue
        source = path.read_text(encoding="utf-8", errors="replace")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        comments, code = line_kinds(source)
        name = ".".join((root.name, *parts)).removesuffix(".py").removesuffix(".__init__")
        modules.append(Module(name, path, tree, source.count("\n"), comments, code))
    known = {module.name for module in modules}
    for module in modules:
        module.imports = set(imported(module, known)) - {module.name}
    return modules


def line_kinds(source: str) -> tuple[int, int]:
    """How many lines are a comment, and how many hold code (docstrings count as neither)."""
    comments: set[int] = set()
    code: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                if token.line.lstrip().startswith("#"):
                    comments.add(token.start[0])
            elif token.type == tokenize.STRING and token.line.strip().startswith(('"""', "'''", 'r"""')):
                continue
            elif token.type not in (
                tokenize.NL,
                tokenize.NEWLINE,
                tokenize.INDENT,
                tokenize.DEDENT,
                tokenize.ENDMARKER,
            ):
                code.update(range(token.start[0], token.end[0] + 1))
    except (tokenize.TokenError, IndentationError):
        pass
    return len(comments), len(code)


def imported(module: Module, known: set[str]) -> Iterator[str]:
    """The modules of the same tree that are imported when this one is (those for type checkers only are not)."""
    package = module.name if module.path.name == "__init__.py" else module.name.rpartition(".")[0]
    for node in at_run_time(module.tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join(
                    [*package.split(".")[: len(package.split(".")) - node.level + 1], *filter(None, [base])]
                )
            names = [n if (n := f"{base}.{alias.name}") in known else base for alias in node.names]
        for name in names:
            while name and name not in known:
                name = name.rpartition(".")[0]
            if name:
                yield name


def at_run_time(tree: ast.Module) -> Iterator[ast.AST]:
    """The top-level statements that run on import, `if TYPE_CHECKING` left out."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            todo += node.orelse
            continue
        yield node
        todo += list(ast.iter_child_nodes(node))


def functions(modules: Iterable[Module]) -> Iterator[tuple[Module, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield module, node


def largest_cycle(modules: Sequence[Module]) -> int:
    """How many modules the largest import cycle has; 0 without one (Tarjan 1972, without recursion)."""
    graph = {module.name: sorted(module.imports) for module in modules}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    largest = 0
    for start in graph:
        if start in index:
            continue
        todo: list[tuple[str, Iterator[str]]] = [(start, iter(graph[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        while todo:
            name, rest = todo[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    todo.append((other, iter(graph[other])))
                    break
                if other in stack:
                    low[name] = min(low[name], index[other])
            else:
                todo.pop()
                if todo:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[name])
                if low[name] == index[name]:
                    place = stack.index(name)
                    size = len(stack) - place
                    del stack[place:]
                    largest = max(largest, size if size > 1 else 0)
    return largest


def one_caller_helpers(modules: Sequence[Module]) -> Iterator[str]:
    """Functions and methods with a body of fewer than six lines that are named once besides their definition.

    Methods that override a library's and call it, callbacks and members that only pages use are among them.
    """
    used: Counter[str] = Counter()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name):
                used[node.id] += 1
            elif isinstance(node, ast.Attribute):
                used[node.attr] += 1
            elif isinstance(node, ast.alias):
                used[node.name.rpartition(".")[2]] += 1
    defined = Counter(node.name for _, node in functions(modules))
    for module, node in functions(modules):
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
        is_named_once = used[node.name] == 1 and defined[node.name] == 1
        if not node.name.startswith("__") and lines < HELPER_LINES and is_named_once:
            yield f"{module.path}:{node.lineno} {node.name}"


def counts(root: Path, *, everything: bool = False) -> dict[str, str]:
    """The figures of one tree, by what they count."""
    modules = read(root, everything=everything)
    if not modules:
        raise SystemExit(f"no Python module below {root}")
    sizes = [module.lines for module in modules]
    spans = sorted((node.end_lineno or node.lineno) - node.lineno + 1 for _, node in functions(modules))
    lines, code = sum(sizes), sum(module.code for module in modules)
    regexes = sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("re", "regex")
        for module in modules
        for node in ast.walk(module.tree)
    )
    return {
        "files": f"{len(modules)}",
        "lines": f"{lines:,}",
        "module median / max": f"{statistics.median(sizes):.0f} / {max(sizes):,}",
        "function p95 / max": f"{spans[int(0.95 * (len(spans) - 1))]} / {spans[-1]}" if spans else "- / -",
        "largest import cycle": f"{largest_cycle(modules)}",
        "comment lines": f"{sum(module.comments for module in modules) / max(lines, 1):.1%}",
        f"one-caller helpers < {HELPER_LINES} lines": f"{len(list(one_caller_helpers(modules)))}",
        "regex calls / 1,000 code lines": f"{1000 * regexes / max(code, 1):.1f}",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=re.split(r"\n\s*\n", __doc__ or "")[0])
    parser.add_argument("trees", nargs="*", type=Path, default=[Path("src/pincite")], help="package folders")
    parser.add_argument("--all", action="store_true", help="count tests and testing folders of the trees as well")
    parser.add_argument("--helpers", action="store_true", help="list the small functions with one caller instead")
    given = parser.parse_args()
    # Ours ships its fakes: they count.
    own = Path("src/pincite").resolve()
    if given.helpers:
        for tree in given.trees:
            print(*one_caller_helpers(read(tree, everything=given.all or tree.resolve() == own)), sep="\n")
        return 0
    columns = {tree.name: counts(tree, everything=given.all or tree.resolve() == own) for tree in given.trees}
    width = max(len(name) for column in columns.values() for name in column)
    print(" " * width, *(f"{name:>16}" for name in columns))
    for name in next(iter(columns.values())):
        print(f"{name:<{width}}", *(f"{column[name]:>16}" for column in columns.values()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
