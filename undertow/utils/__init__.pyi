"""The public names of utils; see undertow/_lazy.py."""

from . import _pytree as _pytree
from . import benchmark as benchmark
from . import checkpoint as checkpoint
from . import collect_env as collect_env
from . import cpp_extension as cpp_extension
from . import data as data
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import flop_counter as flop_counter
from . import hooks as hooks
from . import module_tracker as module_tracker
from . import weak as weak
