"""Synthetic data with ground truth: points on a model with Gaussian noise, and uniformly distributed outliers.

Every generator is a pure function: the same arguments and seed give the same data, bit for bit.
"""

from bansac.synthetic.curves import CurvePoints as CurvePoints
from bansac.synthetic.curves import circle_points as circle_points
from bansac.synthetic.curves import line_points as line_points
from bansac.synthetic.curves import polynomial_points as polynomial_points
from bansac.synthetic.depths import depth_matches as depth_matches
from bansac.synthetic.depths import with_depths as with_depths
from bansac.synthetic.two_views import SceneMatches as SceneMatches
from bansac.synthetic.two_views import epipolar_matches as epipolar_matches
from bansac.synthetic.two_views import homography_matches as homography_matches
from bansac.synthetic.two_views import planar_scene_matches as planar_scene_matches
from bansac.synthetic.two_views import rotation_matches as rotation_matches
