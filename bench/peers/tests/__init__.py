"""Tests of the comparison that need neither a GPU nor any peer."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
