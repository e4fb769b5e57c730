"""The public names of func; see undertow/_lazy.py."""

from .._vmap import vmap as vmap
from ._batch_norm import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from ._forward import jvp as jvp
from ._forward import linearize as linearize
from ._functional_call import functional_call as functional_call
from ._functionalize import debug_unwrap as debug_unwrap
from ._functionalize import functionalize as functionalize
from ._jacobian import hessian as hessian
from ._jacobian import jacfwd as jacfwd
from ._jacobian import jacrev as jacrev
from ._modules import stack_module_state as stack_module_state
from ._rearrange import rearrange as rearrange
from ._reverse import grad as grad
from ._reverse import grad_and_value as grad_and_value
from ._reverse import vjp as vjp
