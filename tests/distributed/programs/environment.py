"""Prints torchrun's variables of this process, in one line. Not a file of checks."""

import json
import os
import sys

names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_NAME", "TORCHELASTIC_RUN_ID", "OMP_NUM_THREADS", "MASTER_ADDR")
os.write(1, (json.dumps([os.environ[name] for name in names] + sys.argv[1:]) + "\n").encode())
sys.exit(int(os.environ.get("CODE", "0")) if os.environ["RANK"] == "1" else 0)
