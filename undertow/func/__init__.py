"""Functions of functions: derivatives, Jacobians and vectorised maps that nest in each other."""

from undertow._vmap import vmap
from undertow.func._batch_norm import replace_all_batch_norm_modules_
from undertow.func._forward import jvp, linearize
from undertow.func._functional_call import functional_call
from undertow.func._functionalize import debug_unwrap, functionalize
from undertow.func._jacobian import hessian, jacfwd, jacrev
from undertow.func._modules import stack_module_state
from undertow.func._rearrange import rearrange
from undertow.func._reverse import grad, grad_and_value, vjp

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
