"""The paper's experiments over image pairs: its tables, ablations and curves, one row each over :class:`.Grid`.

``stopping-criteria``: PROSAC's criterion needs an order of the matches, which BANSAC gets from the scores. BANSAC keeps
P^0 = 0.5 and tau = 0.01, so that the sampling is the same in all rows.

``cpt-robustness``: "We found that probability update is robust to slight variations of the reported parameters"
(supplement, on tab:prob_C). Each entry of P(x^k | c^k, x^{k-1}) changes by +-0.05 and +-0.1 if the result is a
probability. The function gamma_1 of P(c^k | x^{k-1}) changes by +-0.05.

``readings`` is the main table with other readings of the algorithm. The framework that the authors used has SPRT
verification: an iteration whose models are all rejected does not update the network. Without SPRT every iteration
updates it, as in Algorithm 1, and RANSAC's criterion replaces SPRT's. Two criteria end P-BANSAC early. With scores as
the prior, many matches are below tau = .1 after a few votes. PROSAC's bound assumes samples from the best matches,
which the network does not draw. A smallest number of updates, a smaller tau, and SPRT's bound alone avoid one or both.
The framework passes matches unsorted, and so does the last reading. The rule for a second named setting: P-BANSAC gains
beyond the interval in a rate of E and in one of F, loses beyond it in none, and takes at most 1.1 times as long.

``scoring`` is not in the paper. The paper scores a model by its inlier count. A wrong model wins if it has one more
inlier by chance. This matters more for a run that scores more models, and local optimisation adds many.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.engine.dbn import PAPER_CPT, gamma_1
from bansac.engine.option_groups import Network
from bansac_lab import summary
from bansac_lab.charts import Chart, Series, plot_charts
from bansac_lab.grid import Grid
from bansac_lab.measurement import Measurement, Report, Row, Setup
from bansac_lab.peers.library import Method, Task
from bansac_lab.peers.methods import BANSAC, LOCAL_OPTIMIZATION, METHODS, P_BANSAC, PAPER_METHODS, RANSAC
from bansac_lab.tables import Table, TableRow

Methods = Mapping[str, Method]
"""Methods with settings by name."""

_OURS = (BANSAC, P_BANSAC)
_OUR_LABELS = tuple(method.label for method in _OURS)
_LEADS_BELOW = "half of its 95 % interval by a bootstrap over pairs. Positive numbers are better, also for times."
_ABLATED = "all pairs of sacre_coeur, 5 repeats"
_F_PRINTED = f"E and F (the paper: F, with the figures of E), {_ABLATED}"


def _report(setup: Setup, rows: Iterable[Row], **tables: Callable[[summary.Summary], Table]) -> Report:
    """Return a report with the tables that functions of the means build."""
    runs = summary.Summary(rows)
    return Report(tables={name: make(runs) for name, make in tables.items()}, notes=runs.notes())


def _each(
    suffix: str, settings: Mapping[str, Any], methods: Sequence[Method] = PAPER_METHODS, **columns: Any
) -> dict[str, Method]:
    """Return all methods with the same settings and the same further columns of their rows."""
    names = {f"{method.label}{suffix}": method for method in methods}
    return {name: method.configured(name, settings, columns=columns) for name, method in names.items()}


def _labels(configurations: Methods) -> dict[str, str]:
    return {name: method.label for name, method in configurations.items()}


def _over(group: Methods, *, baselines: bool) -> summary.Leads:
    """Compare ours of a group with all others, or with the baselines among them."""
    rivals = [name for name, method in group.items() if not (baselines and method.label in _OUR_LABELS)]
    ours = (name for name, method in group.items() if method.label in _OUR_LABELS)
    return {name: [rival for rival in rivals if rival != name] for name in ours}


def _main_table() -> Measurement:
    plain = _each("", {}, local_optimization=False)
    local = _each("+LO", LOCAL_OPTIMIZATION, local_optimization=True)
    groups = {"Without Local Optimization": _labels(plain), "With Local Optimization": _labels(local)}
    leads = {
        "Over the best baseline": _over(plain, baselines=True),
        "Over the best other method": _over(plain, baselines=False),
        "With LO, over the best baseline": _over(local, baselines=True),
        "With LO, over the best other method": _over(local, baselines=False),
    }
    baselines = "RANSAC, NAPSAC, P-NAPSAC and PROSAC"
    title = f"BANSAC and P-BANSAC beside {baselines}, with and without the local optimization of LO-RANSAC."
    leads_title = f"Lead of BANSAC and P-BANSAC in each row of the main table, and {_LEADS_BELOW}"
    return Grid((*plain.values(), *local.values()), models=("E", "F", "H")).experiment(
        name="main-table",
        title="Six methods on E, F and H, with and without local optimisation",
        reference="tab:results_E_F_H_LO",
        defaults="first 4000 pairs of a scene, 5 repeats (E, F); all pairs, 10 repeats, both errors (H)",
        report=partial(
            _report,
            main_table=partial(summary.metric_table, title=title, groups=groups, extra_h=(summary.ITERATIONS,)),
            leads=partial(summary.lead_table, title=leads_title, groups=leads, labels=_labels(plain | local)),
        ),
    )


PRINTED = "as printed"
UNSORTED = "PROSAC's bound on unsorted matches"
READINGS: Mapping[str, Mapping[str, Any]] = {
    PRINTED: {},
    "without SPRT": {"verification": None},
    "20 updates": {"network": Network(min_updates=20)},
    "50 updates": {"network": Network(min_updates=50)},
    "tau = .01": {"network": Network(tau=0.01)},
    "SPRT's bound alone": {"stopping": "sprt"},
    UNSORTED: {},
}
"""The settings of each reading, by the title of its group of columns."""


def unsorted(task: Task) -> tuple[Task, Row]:
    """Return a task with the order of the file as that of quality; the scores are the prior only."""
    return dataclasses.replace(task, scores=np.linspace(1.0, 0.0, len(task.x1))), {"priors": task.scores}


def _readings() -> Measurement:
    of_all = (PRINTED, "without SPRT")  # these change the baselines, too
    groups: dict[str, dict[str, Method]] = {
        title: _each(f", {title}", settings, PAPER_METHODS if title in of_all else _OURS)
        for title, settings in READINGS.items()
    }
    name = f"{P_BANSAC.label}, {UNSORTED}"
    groups[UNSORTED] = {name: P_BANSAC.configured(name, {}, adapt=unsorted)}
    configurations = {name: method for group in groups.values() for name, method in group.items()}
    gains = {
        title: {name: [f"{of.label}, {PRINTED}"] for name, of in group.items() if of.label in _OUR_LABELS}
        for title, group in groups.items()
        if title != PRINTED
    }
    title = "Readings of the paper: the algorithm as printed, and others."
    extra = (summary.AUC_10, summary.ITERATIONS, summary.MODELS_TESTED)
    columns = {title: _labels(group) for title, group in groups.items()}
    gains_title = f"Gain of each reading over the algorithm as printed, and {_LEADS_BELOW}"
    return Grid(tuple(configurations.values())).experiment(
        name="readings",
        title="Other readings of the paper's algorithm",
        reference="not in the paper",
        defaults="E and F, first 4000 pairs of a scene, 5 repeats",
        report=partial(
            _report,
            readings=partial(summary.metric_table, title=title, groups=columns, extra=extra),
            gains=partial(summary.lead_table, title=gains_title, groups=gains, labels=_labels(configurations)),
        ),
    )


def scene_table(runs: summary.Summary) -> Table:
    """Return the paper's table: one row for each scene, one column for each method, a section for each metric."""
    names = [method.label for method in PAPER_METHODS]
    scenes = list(dict.fromkeys(scene for model in runs.models for scene in runs.sets(model)))
    lines = []
    for metric, scene in itertools.product((summary.ROTATION_10, summary.TRANSLATION_10, summary.TIME), scenes):
        values = tuple(runs.of_set(metric, model, scene, name) for model in runs.models for name in names)
        lines.append(TableRow((scene,), values, metric.better, metric.heading))
    title = "Calibrated and uncalibrated relative pose estimation for each scene."
    groups = tuple((summary.MODEL_TITLES[model], len(names)) for model in runs.models)
    return Table(title, ("Seq.",), tuple(names) * len(runs.models), tuple(lines), groups)


def _ablation(
    option: str,
    headings: Mapping[Any, str],
    *,
    name: str,
    caption: str,
    methods: Sequence[Method] = (BANSAC,),
    label: str = "{}",
    **described: Any,
) -> Measurement:
    """Return an experiment over the values of an option, reported as a table of metrics by value.

    ``headings`` maps values to column headings; several methods have a group of columns each. ``label`` formats the
    name of a configuration.
    """
    groups: dict[str, dict[str, str]] = {}
    configurations = []
    for method, value in itertools.product(methods, headings):
        group = method.label if len(methods) > 1 else ""
        own_name = ", ".join(filter(None, [group, label.format(value)]))
        of_network = option in Network.__dataclass_fields__
        settings = {"network": Network(**{option: value})} if of_network else {option: value}
        configurations.append(method.configured(own_name, settings, columns={option: value}))
        groups.setdefault(group, {})[own_name] = headings[value]
    table = partial(summary.metric_table, title=caption, groups=groups)
    grid = Grid(tuple(configurations), ablation=True)
    tables: dict[str, Any] = {name.replace("-", "_"): table}
    return grid.experiment(name=name, report=partial(_report, **tables), **described)


_PANELS = (summary.ROTATION_ERROR, summary.TRANSLATION_ERROR, summary.TIME)
_METRICS = (*_PANELS, summary.ROTATION_10, summary.TRANSLATION_10, summary.AUC_10)


def _sweep(
    configure: Callable[[Method, Any], Method],
    values: Sequence[float],
    *,
    name: str,
    caption: str,
    label: str,
    **described: Any,
) -> Measurement:
    """Return an experiment over many values, reported as a figure and a table for each model.

    ``configure(method, value)`` returns the method of a point; ``label`` is the name of the values' axis.
    """
    curves = {method.label: {value: configure(method, value) for value in values} for method in PAPER_METHODS}
    names = {method: {value: point.name for value, point in points.items()} for method, points in curves.items()}
    report = partial(_report_curves, file=name.replace("-", "_"), caption=caption, label=label, names=names)
    by_value = tuple(points[value] for value in values for points in curves.values())
    grid = Grid(by_value, models=("F", "E"), ablation=True, default_models=("F",))
    return grid.experiment(name=name, defaults=f"F, {_ABLATED}", report=report, **described)


def _report_curves(
    setup: Setup, rows: Iterable[Row], *, file: str, caption: str, label: str, names: Mapping[str, Mapping[float, str]]
) -> Report:
    """Report the means of all metrics by value; ``names`` has the configuration of each method and value."""
    runs = summary.Summary(rows)
    note = "errors are means over the runs of a set, a failure counting 180°, and then over the sets"
    report = Report(notes=[*runs.notes(), note])
    values = list(next(iter(names.values())))
    for model in runs.models:
        charts: list[Chart] = []
        lines: list[TableRow] = []
        for metric in _METRICS:
            curves = {method: [runs.mean(metric, model, of[value]) for value in of] for method, of in names.items()}
            for value, *figures in zip(values, *curves.values(), strict=True):
                lines.append(TableRow((f"{value:g}",), tuple(figures), metric.better, metric.heading))
            series = [Series(method, values, means) for method, means in curves.items()]
            scale: Any = "linear" if metric is summary.TIME else "log"  # NAPSAC's errors are much larger
            charts.append(Chart(series, xlabel=label, ylabel=metric.label, yscale=scale))
        of_model = file if model == "F" else f"{file}_{model}"
        report.figures[of_model] = plot_charts([charts[: len(_PANELS)]])
        title = f"{caption} {summary.MODEL_TITLES[model]}."
        report.tables[of_model] = Table(title, (label,), tuple(names), tuple(lines))
    return report


_CRITERIA = ("ransac", "sprt", "prosac", "bansac")
_COMBINATIONS = (*_CRITERIA, "ransac+bansac", "sprt+bansac", "prosac+bansac")


def _stopped_by(stopping: str) -> Method:
    scores = {"scored": True, "prior": 0.5} if "prosac" in stopping else {}
    settings = {"stopping": stopping, "network": Network(tau=0.01)}
    return BANSAC.configured(stopping, settings, columns={"stopping": stopping}, **scores)


_PAPER = "paper"
_STATES = {1: "inlier", 0: "outlier"}


def shifted_gamma(shift: float, inlier_ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return gamma_1 plus a constant, clipped to [0, 1]."""
    return np.clip(gamma_1(inlier_ratio) + shift, 0.0, 1.0)


def _varied() -> Iterator[tuple[str, float, dict[str, Any]]]:
    """Yield the entry that is varied, its value, and the settings."""
    for (before, state), (vote, evidence) in itertools.product(_STATES.items(), repeat=2):
        for change in (-0.1, -0.05, 0.05, 0.1):
            value = round(PAPER_CPT[0][before][vote] + change, 2)
            if 0 <= value <= 1:
                table = np.array(PAPER_CPT[0])
                table[before, vote] = value
                entry = f"P(x = inlier | x' = {state}, c = {evidence})"
                yield entry, value, {"network": Network(cpt=(table.tolist(),))}
    for change in (-0.05, 0.05):
        yield "γ₁ moved by", change, {"network": Network(gamma=partial(shifted_gamma, change))}


CPT_VARIATIONS = (
    BANSAC.configured(_PAPER, {}, columns={"entry": _PAPER, "value": None}),
    *(BANSAC.configured(f"{e}: {v:g}", settings, columns={"entry": e, "value": v}) for e, v, settings in _varied()),
)
"""BANSAC with the paper's tables, and with slight variations of them."""


_ALL = (
    _ablation(
        "order",
        {1: "1st Order", 2: "2nd Order", 3: "3rd Order"},
        label="order {}",
        name="markov-order",
        title="Orders 1 to 3 of the Markov assumption",
        reference="table:ablation_markov_assumptions",
        defaults=f"E and F (the paper: E), {_ABLATED}",
        caption="Ablation study on the Markov assumption: BANSAC with the orders 1, 2 and 3.",
    ),
    _sweep(
        lambda method, iterations: method.configured(
            f"{method.label}, {iterations} iterations",
            {"max_iterations": iterations, "stopping": None},
            columns={"fixed_iterations": iterations},
        ),
        range(1000, 10001, 1000),
        name="fixed-iterations",
        title="1000 to 10000 iterations without stopping criterion",
        reference="fig:ablation_fixed_iters",
        caption="A fixed number of iterations, without stopping criterion.",
        label="Iterations",
    ),
    _sweep(
        lambda method, ratio: method.configured(
            f"{method.label}, ratio {ratio:g}", {}, columns={"max_ratio": ratio}, max_ratio=ratio
        ),
        (0.82, 0.84, 0.86, 0.88, 0.90, 0.92),
        name="inlier-ratio",
        title="Matches with an SNN ratio below 0.82 to 0.92",
        reference="fig:ablation_inlier_rates",
        caption="The quality of the data: matches with an SNN ratio below the value in the first column are used.",
        label="SNN ratio below",
        options=(),
    ),
    _main_table(),
    Grid(tuple(_each("", {}).values())).experiment(
        name="per-scene",
        title="Six methods on E and F, scene by scene",
        reference="tab:photoTourism_results",
        defaults="first 4000 pairs of a scene, 5 repeats",
        report=partial(_report, per_scene=scene_table),
    ),
    _ablation(
        "gamma",
        {"gamma_1": "γ₁", "gamma_2": "γ₂", "gamma_3": "γ₃"},
        methods=_OURS,
        name="classification-cpt",
        title="Functions gamma_1 to gamma_3 of P(c | x)",
        reference="table:ablation_classification_CPT",
        defaults=_F_PRINTED,
        caption="BANSAC and P-BANSAC with different functions γ of the inlier ratio for P(c | x).",  # noqa: RUF001
    ),
    _ablation(
        "activation",
        {"rho_1": "ρ₁", "rho_2": "ρ₂", "rho_3": "ρ₃", "rho_4": "ρ₄"},
        name="sampling-activation",
        title="Functions rho_1 to rho_4 of the sampling weights",
        reference="table:ablation_sampling",
        defaults=_F_PRINTED,
        caption="BANSAC with different activation functions ρ for the sampling weights.",  # noqa: RUF001
    ),
    Grid(tuple(map(_stopped_by, _COMBINATIONS)), ablation=True).experiment(
        name="stopping-criteria",
        title="BANSAC with seven combinations of stopping criteria",
        reference="tab:stopping_criteria",
        defaults=_F_PRINTED,
        report=partial(
            _report,
            stopping_criteria=partial(
                summary.settings_table,
                title="BANSAC with different stopping criteria.",
                stub=tuple(map(str.upper, _CRITERIA)),
                labels={c: tuple("✓" if one in c.split("+") else "" for one in _CRITERIA) for c in _COMBINATIONS},
                iterations="not in the paper",
            ),
        ),
    ),
    Grid(CPT_VARIATIONS, ablation=True).experiment(
        name="cpt-robustness",
        title="Slight variations of the conditional probability tables",
        reference="supplement, on tab:prob_C (claimed without a table)",
        defaults=f"E and F, {_ABLATED}",
        report=partial(
            _report,
            cpt_robustness=partial(
                summary.settings_table,
                title="BANSAC with slight variations of the conditional probability tables of order 1.",
                stub=("Varied", "Value"),
                labels={
                    c.name: tuple(c.name.split(": ")) if c.name != _PAPER else (_PAPER, "") for c in CPT_VARIATIONS
                },
                iterations="Avg.",
            ),
        ),
    ),
    _readings(),
    _ablation(
        "scoring",
        {"inliers": "inliers", "msac": "MSAC"},
        methods=(RANSAC, METHODS["uniform-lo"], BANSAC, METHODS["bansac-lo"]),
        name="scoring",
        title="The count of inliers and MSAC's score, with and without local optimisation",
        reference="not in the paper",
        defaults=f"E and F, {_ABLATED}",
        caption="The count of inliers and MSAC's score, with and without local optimisation (-lo).",
    ),
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}
