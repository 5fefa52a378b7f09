"""Make the picture of the README: run the demo command and shrink its figure of the beliefs.

Usage: python scripts/readme_picture.py [FILE]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

DEFAULT = Path(__file__).resolve().parents[1] / "docs" / "images" / "demo.jpg"
WIDTH = 1600


def main(target: Path) -> None:
    """Write the picture to ``target``."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "bansac.cli", "demo", "--out", folder], check=True)
        picture = Image.open(Path(folder) / "demo_beliefs.png").convert("RGB")
    height = round(picture.height * WIDTH / picture.width)
    target.parent.mkdir(parents=True, exist_ok=True)
    picture.resize((WIDTH, height), Image.Resampling.LANCZOS).save(target, quality=88, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
