# SPDX-License-Identifier: BSD-2-Clause
"""The generator is beside its tests."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
