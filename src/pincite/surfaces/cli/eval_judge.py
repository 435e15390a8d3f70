"""`pincite eval judge`: measure what the judge of the settings is worth, on statements with known labels."""

from pathlib import Path
from typing import TYPE_CHECKING

from pincite.domain.errors import InvalidInput
from pincite.surfaces.cli.run import print_json, print_text, run_async

if TYPE_CHECKING:
    from pincite.evaluation.judging import JudgeEvaluation


def evaluate_judge(settings: dict[str, object], data: Path | None, *, fit: bool, as_json: bool) -> None:
    """Print how many true statements a judge keeps, how many false ones pass, by kind, and what that costs."""

    async def job() -> "JudgeEvaluation":
        from pincite.engine import Engine
        from pincite.evaluation.judging import evaluate_judge

        async with Engine.from_settings(**settings) as engine:
            return await evaluate_judge(engine, None if data is None else _text(data), fit=fit)

    found = run_async(job, as_json=as_json)
    if as_json:
        from pincite.domain.codec import to_json

        print_json(to_json(found, outside=True))
        return
    print_text(told(found, fitted=fit))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} can't be read: {error}", hint="Give a file of JSON Lines.") from None


def told(found: "JudgeEvaluation", *, fitted: bool) -> str:
    """The figures for a person."""
    rows = found.true_rows + found.false_rows
    lines = [
        f"judge: {found.judge}",
        (
            f"true statements: {found.true_rows}, supported {_share(found.kept, found.true_rows)}, "
            f"partly {_share(found.partly, found.true_rows)}, refused {_share(found.accused, found.true_rows)} "
            f"({found.accused_by_fact} of them by a figure)"
        ),
        f"false statements: {found.false_rows}, passed as supported {_share(found.passed, found.false_rows)}",
        f"unchecked: {_share(found.unchecked, rows)}; asked and not answered: {found.unanswered}",
        (
            f"cost: {found.calls} batches, {found.tokens_in:,} tokens in, {found.tokens_out:,} out, "
            f"{found.cost_usd:.4f} dollars, {found.seconds:.1f} s"
        ),
    ]
    if found.always:
        lines.append(f"NOTE: the judge found {found.always}: it tells nothing apart")
    if found.failure:
        lines.append(f"NOTE: {found.failure}")
    if found.auc is not None:
        lines.append(f"its likelihoods tell a true from a false statement with an AUC of {found.auc:.3f}")
        limits = found.thresholds
        if limits is not None:
            lines.append(
                f"thresholds: supported from {limits.supported_from:.3f}, refused to {limits.refused_to:.3f}; "
                f"{limits.measured}"
            )
        elif fitted:
            lines.append("thresholds: none reach 97 %: this judge can't tell, and may not support anything")
        else:
            lines.append("thresholds: not measured, so that it can only refuse; --fit measures them")
    lines.append("by kind (supported of all):")
    lines += [
        f"  {'true ' if kind.true else 'false'}  {kind.kind:<30} {kind.supported:>3} of {kind.rows}"
        for kind in found.by_kind
    ]
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.1f} %)" if whole else "0"
