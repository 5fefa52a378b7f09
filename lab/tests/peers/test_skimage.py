"""scikit-image's own tests of ``ransac`` pass with that of ``bansac.compat.skimage`` in its place.

Wheels of scikit-image do not contain its tests. Its source is that of an editable installation, or the folder that the
environment variable ``SKIMAGE_SOURCE`` names: ``pip download scikit-image --no-binary scikit-image --no-deps``.
"""

import importlib.util
import inspect
import os
from pathlib import Path

import pytest

from bansac.compat.skimage import ransac

pytestmark = pytest.mark.filterwarnings("ignore::bansac.compat.DoubtWarning")

skimage = pytest.importorskip("skimage", reason="scikit-image is not installed")
SOURCE = Path(os.environ.get("SKIMAGE_SOURCE", Path(skimage.__file__).parents[2]))
FILE = SOURCE / "tests" / "skimage" / "measure" / "test_fit.py"
if not FILE.is_file():
    pytest.skip(f"scikit-image is installed without its tests ({FILE})", allow_module_level=True)

spec = importlib.util.spec_from_file_location("skimage_test_fit", FILE)
assert spec is not None
assert spec.loader is not None
theirs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(theirs)
theirs.ransac = ransac  # type: ignore[attr-defined]  # of the module that they read


ransac_params = theirs.ransac_params
for name, value in vars(theirs).items():
    if name.startswith("test_") and inspect.isfunction(value) and "ransac" in value.__code__.co_names:
        globals()[name] = value
of_deprecated = globals().get("test_custom_estimate_warning")
if of_deprecated:
    reason = "scikit-image's warning of a deprecated class names the line of bansac.compat that calls it"
    pytest.mark.xfail(strict=True, reason=reason)(of_deprecated)
