"""Makes the helpers of this folder importable, also where pytest imports tests by their path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
