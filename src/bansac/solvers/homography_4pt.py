"""Homography from four matches, in closed form."""

from bansac.maths.arrays import Floats, Ints
from bansac.maths.linalg import normalise_vector

# Three points are collinear if twice the area of their triangle is below this fraction of the squared sample size.
_COLLINEAR = 1e-6


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute the homography of four matches in closed form.

    Coordinates are relative to the fourth point. P and Q are the 3 x 3 matrices of the first three points of the two
    images. H = Q diag(w) adj(P) maps the columns of P to multiples of the columns of Q for all weights w. Let l_i be
    twice the signed area of the triangle of the fourth point and the first three without point i; m_i is the same in
    the second image. The fourth point is P (l_1, l_2, l_3) in the first image and Q (m_1, m_2, m_3) in the second. It
    is mapped correctly if w_i = m_i / l_i; multiplication by l_1 l_2 l_3 avoids the division. Because the fourth point
    is the origin, the l_i are cross products of two vectors and also the last column of adj(P). The last column of H is
    (0, 0, w . l).

    The points of a plane that is seen from one side are in front of both cameras. Then each of the four triangles of
    the sample has the same orientation in both images. If the cameras are on different sides of the plane, all four
    have opposite orientations (Marquez-Neila et al., Improving RANSAC for fast homography estimation, 2015). Samples
    that violate this, and samples with three collinear points, are rejected.
    """
    i1, i2, i3, i4 = sample[0], sample[1], sample[2], sample[3]
    ox, oy, ou, ov = data[0, i4], data[1, i4], data[2, i4], data[3, i4]
    x1, y1, u1, v1 = data[0, i1] - ox, data[1, i1] - oy, data[2, i1] - ou, data[3, i1] - ov
    x2, y2, u2, v2 = data[0, i2] - ox, data[1, i2] - oy, data[2, i2] - ou, data[3, i2] - ov
    x3, y3, u3, v3 = data[0, i3] - ox, data[1, i3] - oy, data[2, i3] - ou, data[3, i3] - ov

    l1, l2, l3 = x2 * y3 - x3 * y2, x3 * y1 - x1 * y3, x1 * y2 - x2 * y1
    m1, m2, m3 = u2 * v3 - u3 * v2, u3 * v1 - u1 * v3, u1 * v2 - u2 * v1
    l4, m4 = l1 + l2 + l3, m1 + m2 + m3  # areas of the first three points
    flat = _COLLINEAR * (x1 * x1 + y1 * y1 + x2 * x2 + y2 * y2 + x3 * x3 + y3 * y3)
    if not (abs(l1) > flat and abs(l2) > flat and abs(l3) > flat and abs(l4) > flat):
        return 0
    flat = _COLLINEAR * (u1 * u1 + v1 * v1 + u2 * u2 + v2 * v2 + u3 * u3 + v3 * v3)
    if not (abs(m1) > flat and abs(m2) > flat and abs(m3) > flat and abs(m4) > flat):
        return 0
    turned = (l4 > 0.0) != (m4 > 0.0)
    if ((l1 > 0.0) != (m1 > 0.0)) != turned:
        return 0
    if ((l2 > 0.0) != (m2 > 0.0)) != turned or ((l3 > 0.0) != (m3 > 0.0)) != turned:
        return 0

    w1, w2, w3 = m1 * l2 * l3, m2 * l3 * l1, m3 * l1 * l2
    # The first two columns of adj(P). The third row is minus the sum of the others.
    a1, b1 = y2 - y3, x3 - x2
    a2, b2 = y3 - y1, x1 - x3
    c1, c2 = w1 * u1 - w3 * u3, w2 * u2 - w3 * u3
    h11, h12 = c1 * a1 + c2 * a2, c1 * b1 + c2 * b2
    c1, c2 = w1 * v1 - w3 * v3, w2 * v2 - w3 * v3
    h21, h22 = c1 * a1 + c2 * a2, c1 * b1 + c2 * b2
    c1, c2 = w1 - w3, w2 - w3
    h31, h32 = c1 * a1 + c2 * a2, c1 * b1 + c2 * b2
    # Undo the shift of the fourth point to the origin, in image 1 and then in image 2.
    h13, h23 = -(h11 * ox + h12 * oy), -(h21 * ox + h22 * oy)
    h33 = l1 * l2 * l3 * m4 - (h31 * ox + h32 * oy)
    h11, h12, h13 = h11 + ou * h31, h12 + ou * h32, h13 + ou * h33
    h21, h22, h23 = h21 + ov * h31, h22 + ov * h32, h23 + ov * h33

    h = models[0]
    h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8] = h11, h12, h13, h21, h22, h23, h31, h32, h33
    return 1 if normalise_vector(h) else 0
