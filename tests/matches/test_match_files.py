"""Readers: what pandas, NumPy, matchers and OpenCV write is read; what is damaged is refused in one line."""

import json
import struct
import zipfile

import cv2
import h5py
import numpy as np
import pandas
import pytest

import bansac
from bansac.geometry.camera import Camera
from bansac.matches import Matches
from bansac.matches.array_files import Reader
from bansac.matches.match_files import read_calibration, read_data, read_matches, read_single_camera
from tests.arrays import write_arrays

TABLE = np.random.default_rng(0).uniform(-500, 1500, (30, 5))
TABLE[:, 4] = np.linspace(0, 1, 30)
NAMES = ["x1", "y1", "x2", "y2", "score"]
DEPTHS = np.where(np.arange(30) % 7 == 3, np.nan, np.linspace(1, 9, 30))


def assert_read(path, scores=True):
    matches = read_matches(path)
    np.testing.assert_array_equal(np.hstack([matches.x1, matches.x2]), TABLE[:, :4])
    if scores:
        np.testing.assert_array_equal(matches.scores, TABLE[:, 4])
    else:
        assert matches.scores is None


def assert_depths(matches, missing="nan"):
    unknown = float(missing or "nan")
    for depths, expected in ((matches.depth1, DEPTHS[::-1]), (matches.depth2, DEPTHS)):
        np.testing.assert_array_equal(depths, np.where(np.isnan(expected), unknown, expected))


class TestText:
    def write(self, path, table=TABLE, **settings):
        np.savetxt(path, table, fmt="%.17g", **settings)
        return path

    @pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".CSV"])
    @pytest.mark.parametrize("separator", [" ", "\t", ",", "; ", ", "])
    @pytest.mark.parametrize("header", ["", "x1{0}y1{0}x2{0}y2{0}score", '"x1"{0}"y1"{0}"x2"{0}"y2"{0}"score"'])
    def test_separators_and_headers(self, tmp_path, suffix, separator, header):
        settings = {"header": header.format(separator), "comments": ""} if header else {}
        assert_read(self.write(tmp_path / f"table{suffix}", delimiter=separator, **settings))

    def test_pandas_with_index_quotes_and_other_columns(self, tmp_path):
        frame = pandas.DataFrame(TABLE, columns=NAMES)
        frame.insert(0, "label", ["wall, left"] * 30)
        for settings in ({}, {"index": False}, {"sep": "\t"}, {"quoting": 1}, {"quoting": 2}, {"index_label": "id"}):
            frame.to_csv(tmp_path / "frame.csv", float_format="%.17g", **settings)
            assert_read(tmp_path / "frame.csv")
        frame[["y2", "x1", "y1", "x2"]].to_csv(tmp_path / "frame.tsv", sep="\t", float_format="%.17g")
        assert_read(tmp_path / "frame.tsv", scores=False)

    def test_byte_order_mark_and_separators_at_the_end(self, tmp_path):
        path = tmp_path / "sheet.csv"
        path.write_text("\ufeffx1,y1,x2,y2,\r\n1,2,3,4,\r\n# remark\r\n\r\n5,6,7,8,\r\n", encoding="utf-8")
        assert read_matches(str(path)).x2.tolist() == [[3, 4], [7, 8]]

    def test_depths_may_be_unknown(self, tmp_path):
        frame = pandas.DataFrame(TABLE, columns=NAMES).assign(depth2=DEPTHS, Depth1=DEPTHS[::-1])
        for missing in ("", "nan", "inf"):
            path = tmp_path / "depths.csv"
            frame.to_csv(path, float_format="%.17g", na_rep=missing)
            assert_read(path)
            assert_depths(read_matches(path), missing)
        read_data(path, {"points": ("x1", "y1")})  # depths that are not used

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "holds no rows"),
            ("x1,y1,x2,y2,depth1\n1,2,3,4,far\n", "line 2: 'far' is no finite number"),
            ("x1,y1,x2,y2,depth1\n1,2,3,,5\n", "line 2: '' is no finite number"),
            ("x1,y1,x2,y2,depth1,depth1\n1,2,3,4,5,6\n", "the header has the column depth1 2 times"),
            ("x1,y1,x2,y2\n", "holds no rows"),
            ("1,2,3\n", "line 1 has 3 columns, expected 4 or 5"),
            ("a,b,c,d\n1,2,3,4\n", "the header has no column x1, y1, x2, y2"),
            ("x1,y1,x2,y2,x1\n1,2,3,4,5\n", "the header has the column x1 2 times"),
            ("x1,y1,x2,y2,score,Score\n1,2,3,4,5,6\n", "the header has the column score 2 times"),
            ("x1,y1,x2\n1,2,3\n", "the header has no column y2"),
            (",x1,y1,x2,y2\n0,1,2,3\n", "line 2 has 4 columns, expected 5"),
            ("1,5;2,5;3,5;4,5\n", "'1,5' is no finite number"),
            ("1_0,2,3,4\n", "line 1: '1_0' is no finite number"),
            ("1,2,3,4\n1,2_0,3,4\n", "line 2: '2_0' is no finite number"),
            ("1,2,3,4\n1,,3,4\n", "line 2: '' is no finite number"),
            ('1,2,3,"4\n', "line 1: unexpected end of data"),
            ("1,2,3," + "4" * 200_000 + "\n", "line 1: field larger than field limit"),
            ("1,2,3,1e999\n", "is no finite number"),
            ("# a comment\n1,2,3,4\n\n1,2,3\n", "line 4 has 3 columns, expected 4"),
            ("# a comment\n1,2,3,4\n\n1,2,3,4,5,6\n", "line 4"),
            ("# a comment\n1,2,3,4\n\n1,2,3,nan\n", "line 4: 'nan' is no finite number"),
            ('# a comment\n1,2,3,4\n\n1,2,3,"\n', "line 4"),
            ("nan,2,3,4\n1,2,3,4", "line 1: 'nan' is no finite number"),
            ("Infinity,2,3,4", "line 1: 'Infinity' is no finite number"),
            ("x1,y1,x2,y2,score\n1,2,3,4,", "line 2: '' is no finite number"),
            ("1,2,3," + 5000 * "9", f"line 1: '{39 * '9'}"),
        ],
    )
    def test_refused(self, tmp_path, text, message):
        path = tmp_path / "bad.csv"
        path.write_text(text)
        with pytest.raises(ValueError, match=r"bad\.csv: ") as error:
            read_matches(path)
        assert message in str(error.value)

    def test_another_suffix_is_named(self, tmp_path):
        with pytest.raises(ValueError, match=r"a\.xlsx: the suffix must be one of \.csv, \.tsv, .*, \.hdf5"):
            read_matches(self.write(tmp_path / "a.xlsx"))

    def test_points(self, tmp_path):
        path = self.write(tmp_path / "points.tsv", TABLE[:, :2], delimiter="\t")
        data, scores = read_data(path, {"points": ("x", "y")})
        np.testing.assert_array_equal(data["points"], TABLE[:, :2])
        assert scores is None


class TestNpy:
    def test_matches_and_points_with_and_without_scores(self, tmp_path):
        path = tmp_path / "table.npy"
        for width in (4, 5):
            np.save(path, np.asfortranarray(TABLE[:, :width]))
            assert_read(path, scores=width == 5)
        np.save(path, TABLE[:, [0, 1, 4]].astype(np.float32))
        data, scores = read_data(path, {"points": ("x", "y")})
        points = data["points"]
        assert (points.shape, scores.shape, points.dtype) == ((30, 2), (30,), np.float64)
        np.save(path, np.empty((0, 4)))
        assert len(read_matches(path)) == 0

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.zeros((3, 3)), r"the array must have shape \(N, 4\), got \(3, 3\)"),
            (np.zeros(4), "must have shape"),
            (np.zeros((3, 4), bool), "got booleans"),
            (np.zeros((3, 4), complex), "got complex numbers"),
            (np.full((3, 4), np.nan), "must be finite"),
            (np.array([[None] * 4]), "cannot be read"),
        ],
    )
    def test_refused(self, tmp_path, array, message):
        np.save(tmp_path / "bad.npy", array, allow_pickle=True)
        with pytest.raises((ValueError, OSError), match=rf"bad\.npy.*{message}"):
            read_matches(tmp_path / "bad.npy")


suffixes = pytest.mark.parametrize("suffix", [".npz", ".h5"])
PAIRS = np.array([[4, 0], [0, 3], [2, 2]])


@suffixes
@pytest.mark.parametrize("form", ["x1", "matches", "keypoints"])
def test_arrays_of_depths(tmp_path, suffix, form):
    first, second, own = TABLE[:, :2], TABLE[:, 2:4], np.repeat(np.arange(30)[:, None], 2, axis=1)
    arrays = {
        "x1": {"x1": first, "x2": second},
        "matches": {"matches": TABLE[:, :4]},
        "keypoints": {"keypoints1": first, "keypoints2": second, "matches": own},
    }[form]
    path = write_arrays(tmp_path / f"depths{suffix}", **arrays, scores=TABLE[:, 4], depth1=DEPTHS[::-1], depth2=DEPTHS)
    assert_read(path)
    assert_depths(read_matches(path))
    write_arrays(path, **arrays, depth2=DEPTHS[:4])
    with pytest.raises(ValueError, match=r"depth2 must have shape \(30,\), got \(4,\)"):
        read_matches(path)


@suffixes
@pytest.mark.parametrize("names", [("keypoints0", "keypoints1"), ("keypoints1", "keypoints2")])
def test_indices_of_keypoints(tmp_path, suffix, names):
    arrays = dict(zip(names, (TABLE[:6, :2], TABLE[:5, 2:4]), strict=True))
    path = write_arrays(tmp_path / f"glue{suffix}", **arrays, matches=PAIRS, scores=np.array([0.2, 0.9, 0.5]))
    matches = read_matches(path)
    np.testing.assert_array_equal(matches.x1, TABLE[[4, 0, 2], :2])
    np.testing.assert_array_equal(matches.x2, TABLE[[0, 3, 2], 2:4])
    np.testing.assert_array_equal(matches.scores, [0.2, 0.9, 0.5])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"matches": PAIRS + 2}, "matches must be indices of the 6 keypoints1, got 6"),
        ({"matches": TABLE[:, :4]}, r"matches must be integers of shape \(N, 2\), got float64 of shape \(30, 4\)"),
        ({"scores": np.ones(2)}, r"scores must have shape \(3,\)"),
        ({"keypoints2": TABLE[:, :3]}, r"keypoints2 must have shape \(N, 2\)"),
    ],
)
def test_bad_indices_are_refused(tmp_path, change, message):
    arrays = {"keypoints1": TABLE[:6, :2], "keypoints2": TABLE[:9, 2:4], "matches": PAIRS, "scores": np.ones(3)}
    with pytest.raises(ValueError, match=rf"glue\.npz: .*{message}"):
        read_matches(write_arrays(tmp_path / "glue.npz", **arrays | change))


class TestOpenCV:
    def keypoints(self, points):
        return [cv2.KeyPoint(float(x), float(y), 3.0) for x, y in points.astype(np.float32)]

    def test_keypoints_and_matches(self):
        keypoints1, keypoints2 = self.keypoints(TABLE[:6, :2]), self.keypoints(TABLE[:5, 2:4])
        found = [cv2.DMatch(int(i), int(j), 0.5) for i, j in PAIRS]
        matches = Matches.from_opencv(keypoints1, tuple(keypoints2), found, scores=[1, 0.5, 0])
        np.testing.assert_allclose(matches.x1, TABLE[[4, 0, 2], :2], rtol=1e-6)
        np.testing.assert_allclose(matches.x2, TABLE[[0, 3, 2], 2:4], rtol=1e-6)
        assert matches.scores.tolist() == [1, 0.5, 0]
        near = [cv2.DMatch(0, 0, 30.0), cv2.DMatch(1, 1, 20.0)]
        assert Matches.from_opencv(keypoints1, keypoints2, near).scores.tolist() == [-30.0, -20.0]
        with pytest.raises(ValueError, match=r"^x1 must be .*KeyPoint; bansac\.matches\.Matches\.from_opencv"):
            bansac.estimate_homography(keypoints1, keypoints2)
        assert len(Matches.from_opencv(keypoints1, keypoints2, [])) == 0
        assert len(Matches.from_opencv([], [], [])) == 0
        with pytest.raises(ValueError, match=r"matches must be a sequence of cv2\.DMatch; of the pairs of knnMatch"):
            Matches.from_opencv(keypoints1, keypoints2, [(found[0], found[1])])
        with pytest.raises(ValueError, match=r"keypoints2 must be a sequence of cv2\.KeyPoint"):
            Matches.from_opencv(keypoints1, TABLE, found)
        with pytest.raises(ValueError, match="pairs must be indices of the 3 keypoints1, got 4"):
            Matches.from_opencv(keypoints1[:3], keypoints2, found)


def test_cameras_of_named_models(tmp_path):
    fisheye = Camera("OPENCV_FISHEYE", (900.0, 910.0, 320.0, 240.0, 0.02, -0.01, 0.0, 0.0), 640, 480)
    radial = Camera("SIMPLE_RADIAL", (800.0, 320.0, 240.0, -0.1), 640, 480)
    documents = {
        "one.json": vars(fisheye),
        "two.json": {"camera1": vars(fisheye), "camera2": vars(radial)},
        "small.json": {"model": radial.model, "params": radial.params},
    }
    for name, document in documents.items():
        (tmp_path / name).write_text(json.dumps(document))
    rows = [f"{k} {c.model} 640 480 {' '.join(map(str, c.params))}\n" for k, c in enumerate((fisheye, radial), 1)]
    (tmp_path / "cameras.txt").write_text("# Camera list\n" + rows[0])
    (tmp_path / "both.txt").write_text("".join(rows))
    assert read_calibration(tmp_path / "one.json") == (fisheye, fisheye)
    assert read_calibration(tmp_path / "cameras.txt") == (fisheye, fisheye)
    assert read_calibration(tmp_path / "two.json") == (fisheye, radial)
    assert read_calibration(tmp_path / "both.txt") == (fisheye, radial)
    assert read_single_camera(tmp_path / "small.json") == Camera(radial.model, radial.params)
    with pytest.raises(ValueError, match=r"both\.txt: must hold one camera"):
        read_single_camera(tmp_path / "both.txt")


class TestDamage:
    """Only errors that name the file, whatever the damage; no memory is asked for that the file does not hold."""

    def refused(self, path):
        with pytest.raises((OSError, ValueError)) as error:
            read_matches(path)
        assert str(error.value).startswith(f"{path}: ")
        assert "\n" not in str(error.value)
        return str(error.value)

    def test_circular_links(self, tmp_path):
        path = tmp_path / "links.h5"
        with h5py.File(path, "w") as file:
            file["x1"] = h5py.SoftLink("/x1")
            file["x2"] = TABLE[:, 2:4]
        assert "cannot be read" in self.refused(path)
        with h5py.File(path, "a") as file:
            del file["x1"]
            file["x1"], file["other"], file["loop"] = TABLE[:, :2], h5py.SoftLink("/other"), h5py.SoftLink("/")
        assert_read(path, scores=False)
        with h5py.File(path, "a") as file:
            del file["x2"]
            file["x2"] = h5py.ExternalLink(str(path), "/x2")
        assert "cannot be read" in self.refused(path)
        with Reader(path) as reader, pytest.raises(OSError, match=r"links\.h5"):
            reader.array("other", (-1,))

    def test_claims_of_1e11_rows_in_h5(self, tmp_path):
        path = tmp_path / "claims.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("matches", (10**11, 4), dtype=np.float64, chunks=(1000, 4))
        assert "its header claims 3.2e+12 bytes, and 0 are stored" in self.refused(path)
        with Reader(path) as reader, pytest.raises(OSError, match=r"claims\.h5.*claims 3\.2e\+12 bytes"):
            reader.array("matches", (-1, 4))

    def npy(self, shape, version=1):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
        length = struct.pack("<H" if version == 1 else "<I", len(header))
        return b"\x93NUMPY" + bytes([version, 0]) + length + header + TABLE.tobytes()

    @pytest.mark.parametrize("shape", [(10**11, 4), (31, 5), (2**62, 4), (2**40, 2**40, 2**40)])
    @pytest.mark.parametrize("version", [1, 2, 3])
    def test_claims_of_npy_headers(self, tmp_path, shape, version):
        path = tmp_path / "claims.npy"
        path.write_bytes(self.npy(shape, version))
        assert "cannot be read" in self.refused(path)
        path = tmp_path / "claims.npz"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("matches.npy", self.npy(shape, version))
        assert "cannot be read" in self.refused(path)

    def test_claims_of_zip_entries(self, tmp_path):
        path = tmp_path / "claims.npz"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("matches.npy", self.npy((10**8, 4)))
        size = struct.pack("<I", len(self.npy((10**8, 4))))
        path.write_bytes(path.read_bytes().replace(size, struct.pack("<I", 0xFFFFFFF0)))
        assert "cannot be read" in self.refused(path)

    def test_camera_files(self, tmp_path):
        path = tmp_path / "camera.json"
        for text in (
            "[" * 100_000,
            '{"K": [[1e999, 0, 0], [0, 1, 0], [0, 0, 1]]}',
            '{"K": [["1", 0, 0]]}',
            "\x00",
            '{"model": "SIMPLE_PINHOLE", "params": [NaN, 1, 2]}',
            '{"model": "PINHOLE", "params": [1, 2]}',
            '{"model": [], "params": [1, 2]}',
            '{"model": "PINHOLE", "params": 3}',
            '{"model": "PINHOLE"}',
            '{"model": "PINHOLE", "params": [1, 1, 2, 2], "width": 1e999}',
            '{"camera1": 1, "camera2": 2}',
        ):
            path.write_text(text)
            with pytest.raises(ValueError, match=r"camera\.json: "):
                read_calibration(str(path))
