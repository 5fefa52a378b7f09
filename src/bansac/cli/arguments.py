"""Arguments and options shared by several commands."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from bansac.engine.option_fields import Checked, documentation
from bansac.estimate.presets import PRESETS, Options, resolve_options
from bansac.executors import Executor, short_items, threads
from bansac.problems.estimators import MODELS
from bansac.problems.polynomial import polynomial


def out_option(metavar: str, text: str) -> Any:
    """Return the option ``--out`` for a file or a folder, with a text for its help."""
    return typer.Option("--out", metavar=metavar, help=text)


JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document to standard output, and nothing else.")]
OverwriteFlag = Annotated[
    bool, typer.Option("--overwrite", help="Replace an earlier result in --out, its figure included.")
]


def _parse_threshold(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor 'auto'.") from None


# The type of a flag and how its values are written: by the type of the option, or by its name.
_VALUES: dict[str, tuple[Any, dict[str, Any]]] = {
    "float": (float | None, {}),
    "int": (int | None, {}),
    "str": (str | None, {}),
    "threshold": (str | None, {"metavar": "FLOAT|auto", "parser": _parse_threshold}),
}

# Defaults that depend on the model.
_DEFAULTS = {
    "threshold": "It is in pixels for H and F, and for E with --calib; in normalised units for E without; in the unit "
    "of the points for curves. By default, and with auto, it is estimated from the data.",
    "restarts": "Default: 16.",
    "max_iterations": "Default: 20000 for H and F, 12000 for E, 3000 for curves.",
}


def takes_options(function: Callable[[Any], None]) -> Callable[..., None]:
    """Make a command of a function of a dataclass ``asked``; its ``settings`` are ``--preset`` and the other flags."""
    options = inspect.get_annotations(function, eval_str=True)["asked"]
    own, parameters = inspect.get_annotations(options), inspect.signature(options).parameters.values()

    @functools.wraps(function)
    def run(**values: Any) -> None:
        function(options(**values))

    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        sorted(parameters, key=lambda parameter: parameter.name not in own)
    )
    flags = [_flag("preset", str | None, f"A set of options: {', '.join(PRESETS)}. Other flags take precedence.")]
    return with_flags(run, "settings", flags + flags_of(Options))


def with_flags(function: Callable[..., None], name: str, flags: Iterable[inspect.Parameter]) -> Callable[..., None]:
    """Replace the parameter ``name`` of a command by flags; it receives the values that are neither None nor False."""
    signature = inspect.signature(function, eval_str=True)
    flags = list(flags)

    @functools.wraps(function)
    def run(**values: Any) -> None:
        chosen = {flag.name: values.pop(flag.name) for flag in flags}
        function(**values, **{name: {key: one for key, one in chosen.items() if one is not None and one is not False}})

    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += flags if parameter.name == name else [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _flag(name: str, kind: Any, text: str, **values: Any) -> inspect.Parameter:
    annotation = Annotated[kind, typer.Option(help=text, **values)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def flags_of(options: type[Checked]) -> list[inspect.Parameter]:
    """Return the flags of the options that declare one."""
    texts = documentation(options)
    return [_flag_of(field, texts) for field in dataclasses.fields(options) if field.metadata["flag"]]


def _text_of(texts: Mapping[str, tuple[str, str]], name: str) -> str:
    """Return the first sentence on an option, if Python keeps docstrings."""
    return texts[name][1].replace("``", "") if texts else ""


def _flag_of(field: dataclasses.Field[Any], texts: Mapping[str, tuple[str, str]]) -> inspect.Parameter:
    words, choices = [_text_of(texts, field.name)], field.metadata["choices"]
    if choices:
        words.append(f"One of {', '.join(choices)}.")
    words.append(_DEFAULTS.get(field.name, f"Default: {field.default}."))
    kind, values = _VALUES.get(field.name) or _VALUES["str" if choices else str(field.type).partition(" | ")[0]]
    return _flag(field.name, kind, " ".join(words), **values)


SeedOption = Annotated[int, typer.Option(help=_text_of(documentation(Options), "seed"))]
NoScoresFlag = Annotated[
    bool, typer.Option("--no-scores", help="Do not use the quality of the matches as prior probability or order.")
]
CalibrationOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Camera matrices: JSON or npz with K, or K1 and K2; or text with the 3 rows of K, or 6 rows for two. "
        "JSON and npz may have distortion, or distortion1 and distortion2: OpenCV's k1 k2 p1 p2 [k3 [k4 k5 k6]]. Other "
        "cameras, such as fisheyes: JSON with COLMAP's model and params, or a row of its cameras.txt.",
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on the workers of this dask.distributed scheduler, such as tcp://host:8786. They need the same "
        "version of bansac, and to see the same files.",
    ),
]
PairWorkersOption = Annotated[
    int | None, typer.Option(help="Processes, for many pairs; threads in the first second. Default: all cores.")
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shared:
    """Options that the commands ``estimate`` and ``match`` share."""

    calib: CalibrationOption = None
    settings: dict[str, Any]
    no_scores: NoScoresFlag = False
    out: Annotated[
        Path | None,
        out_option("DIR|FILE", "Folder of the result and a figure; of many pairs a .npz, .h5 or .parquet file."),
    ] = None
    overwrite: OverwriteFlag = False
    workers: PairWorkersOption = None
    scheduler: SchedulerOption = None
    json: JsonFlag = False

    def ignored(self, model: str) -> tuple[str, ...]:
        """Return the data per match that the estimation of a model does not use."""
        return () if uses_scores(model, self.settings, self.no_scores) else ("scores",)

    def refuse(self, why: str, *names: str) -> None:
        """Raise a ValueError with the reason ``why`` if one of the options is given."""
        for name in names:
            if getattr(self, name) is not None:
                raise ValueError(f"--{name} {why}")


def pair_executor(scheduler: str | None, workers: int | None, **settings: Any) -> tuple[Executor, int]:
    """Return the cluster of --scheduler, or the executor of this machine without it, and the number of workers."""
    count = threads.count_workers(workers)
    return (short_items if scheduler is None else connect(scheduler, workers, **settings)), count


def connect(scheduler: str, workers: int | None, **settings: Any) -> Executor:
    """Return the executor for the cluster of --scheduler; raise a ValueError if --workers is given."""
    if workers is not None:
        raise ValueError("--workers does not go with --scheduler: the cluster has its own workers")
    from bansac.executors.cluster import ClusterExecutor

    return ClusterExecutor(scheduler, **settings)


def uses_scores(model: str, settings: Mapping[str, Any], no_scores: bool) -> bool:
    """Return whether the estimation of a model uses scores, and --no-scores is not given."""
    options = dict(settings)
    threshold = options.pop("threshold", None)
    problem = polynomial(1) if MODELS[model].problem is None else MODELS[model].load_problem()
    resolved, _ = resolve_options(problem, 1.0 if threshold is None else threshold, options)
    return not no_scores and resolved.uses_scores(problem)
