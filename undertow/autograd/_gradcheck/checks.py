"""The checks of one call of gradcheck: whole Jacobians, random projections of them, undefined and zero gradients.

Jacobians are NumPy arrays, one row per element of the input and one column per element of the output. A complex output is
treated as two real outputs, its real and imaginary parts; the gradient of a real r with respect to a complex x is
dr/dRe(x) + i dr/dIm(x), which is torch's convention.
"""

from __future__ import annotations

import undertow as ut
from undertow.autograd import forward_ad
from undertow.autograd._backward import grad as _grad
from undertow.autograd._gradcheck import batched
from undertow.autograd._gradcheck.numerical import (
    all_specified,
    array,
    as_tuple,
    differentiable,
    elements_of,
    numerical_jacobians,
    random_units,
    slopes,
    tensor,
    units,
    within,
)
from undertow.autograd.gradcheck import GradcheckError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    import numpy as np

    from undertow import Tensor

_NONDETERMINISTIC = (
    "\n\nNOTE: If your op relies on non-deterministic operations i.e., it is listed here:\n"
    "`nondet_tol` is the tolerance for the difference of two runs; set it to a value greater than zero."
)

_ABOUT_UNDEFINED = (
    'Please look at "Notes about undefined output gradients" of torch; a backward that called set_materialize_grads(False) gets '
    "None for missing gradients, and check_undefined_grad=False disables this check"
)


def _wanted(inputs: tuple) -> list[Tensor]:
    return [x for x in inputs if isinstance(x, ut.Tensor) and x.requires_grad]


def _check_inputs(inputs: tuple) -> None:
    import warnings

    any_required = False
    for i, x in enumerate(inputs):
        if not (isinstance(x, ut.Tensor) and x.requires_grad):
            continue
        if x.dtype not in (ut.float64, ut.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. "
                "This check will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=4,
            )
        content = elements_of(x)
        if any(stride == 0 and size > 1 for stride, size in zip(content.stride(), content.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be "
                "able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
                "to gradcheck."
            )
        any_required = True
    if not any_required:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")


# ---- analytical ----


def _rows_of_gradient(outputs: Tensor, inputs: list[Tensor], unit: complex) -> list[np.ndarray]:
    """Run one backward pass per element of the output, with `unit` there and zero elsewhere; return one Jacobian per input."""
    import numpy as np

    dtype = [array(x).dtype for x in inputs]
    jacobians = [np.zeros((x.numel(), outputs.numel()), d) for x, d in zip(inputs, dtype, strict=True)]
    for k, direction in enumerate(units(outputs)):
        grads = _grad(outputs, inputs, tensor(direction * unit, outputs), retain_graph=True, allow_unused=True)
        for j, g in enumerate(grads):
            if g is None:
                continue
            if g.shape != inputs[j].shape:
                raise GradcheckError("Analytical gradient has incorrect size")
            jacobians[j][:, k] = array(g).reshape(-1)
    return jacobians


def _check_repeatable(first: list[np.ndarray], second: list[np.ndarray], tolerance: float) -> None:
    for a, b in zip(first, second, strict=True):
        if a.size and abs(a - b).max() > tolerance:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                f"values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {tolerance}."
                + _NONDETERMINISTIC
            )


def _close(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> bool:
    import numpy as np

    return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=False))


def _mismatch(analytical: Any, numerical: Any, output: int, input_: int, part: str, forward: bool = False) -> GradcheckError:
    prefix = f"While considering the {part} part of complex {'inputs' if forward else 'outputs'} only, " if part else ""
    mode = "computed with forward mode " if forward else ""
    shown = [ut.tensor(x.tolist(), dtype=ut.complex128 if x.dtype.kind == "c" else ut.float64) for x in (numerical, analytical)]
    return GradcheckError(
        f"{prefix}Jacobian {mode}mismatch for output {output} with respect to input {input_},\nnumerical:{shown[0]}\nanalytical:{shown[1]}\n"
    )


def _parts(o: Tensor) -> list[tuple[str, complex]]:
    """Return the real functions that an output consists of (itself, or its real and imaginary parts), each with its cotangent."""
    return [("imaginary", 1j), ("real", 1)] if o.is_complex() else [("", 1)]


def _picked(values: np.ndarray, part: str) -> np.ndarray:
    return values.imag if part == "imaginary" else values.real


# ---- the checks ----


class Check:
    """The state of one call of gradcheck."""

    if TYPE_CHECKING:
        eps: float
        atol: float
        rtol: float
        nondet_tol: float
        check_undefined_grad: bool
        check_grad_dtypes: bool
        check_batched_grad: bool
        check_batched_forward_grad: bool
        check_forward_ad: bool
        check_backward_ad: bool
        fast_mode: bool
        masked: bool | None

    def __init__(self, func: Callable[..., Any], inputs: Any, options: dict[str, Any]) -> None:
        self.func, self.inputs = func, as_tuple(inputs)
        self.__dict__.update(options)
        _check_inputs(self.inputs)
        self.results = as_tuple(func(*self.inputs))
        self.tensors = [o for o in self.results if isinstance(o, ut.Tensor)]
        if any(o.layout is not ut.strided for o in self.tensors):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn for gradcheck."
            )
        self.outputs = differentiable(self.results)
        self.wanted = _wanted(self.inputs)
        # What finite differences are taken of: unless masked, with all elements of sparse inputs specified.
        self.perturbed = self.inputs if self.masked else tuple(all_specified(x) for x in self.inputs)
        self.perturbed_wanted = _wanted(self.perturbed)
        self.found: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}  # numerical Jacobians, by input
        self.places = [k for k, o in enumerate(self.tensors) if o.requires_grad]

    def run(self) -> bool:
        if not self.outputs:
            self.no_derivative()
        elif self.fast_mode:
            self.projections()
        else:
            if self.check_backward_ad:
                self.backward()
            if self.check_forward_ad:
                self.forward()
        if self.check_forward_ad and self.check_undefined_grad and self.outputs:
            self.undefined_tangents()
        if self.check_batched_forward_grad and self.outputs:
            batched.check_tangents(self.func, self.inputs, self.wanted, self.rtol, self.atol)
        if not self.check_backward_ad or not self.outputs:
            return True
        if self.check_batched_grad:
            batched.check_gradients(self.outputs, self.wanted, self.rtol, self.atol)
        self.zero_cotangents()
        if self.check_undefined_grad:
            self.undefined_cotangents()
        return True

    def no_derivative(self) -> None:
        for x in self.perturbed_wanted:
            for real, imaginary in numerical_jacobians(self.func, self.perturbed, x, self.eps):
                if real.any() or imaginary.any():
                    raise GradcheckError("Numerical gradient for function expected to be zero")

    def numerical(self, j: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the slopes of every output along input j, computed on first use."""
        if j not in self.found:
            self.found[j] = numerical_jacobians(self.func, self.perturbed, self.perturbed_wanted[j], self.eps)
        return self.found[j]

    def backward(self) -> None:
        for i, o in enumerate(self.outputs):
            for part, unit in _parts(o):
                self.gradients(i, part, unit, range(len(self.wanted)))

    def gradients(self, i: int, part: str, unit: complex, inputs: Iterable[int]) -> None:
        """Compare the gradients of one real function, output i or a part of it, with its slopes."""
        o = self.outputs[i]
        analytical = _rows_of_gradient(o, self.wanted, unit)
        again = _rows_of_gradient(o, self.wanted, unit)
        if self.check_grad_dtypes:
            self.dtypes(o)
        for j in inputs:
            real, imaginary = (_picked(s, part) for s in self.numerical(j)[self.places[i]])
            n = real + 1j * imaginary if self.wanted[j].is_complex() else real
            if not _close(analytical[j], n, self.rtol, self.atol):
                raise _mismatch(analytical[j], n, i, j, part)
        _check_repeatable(analytical, again, self.nondet_tol)

    def dtypes(self, o: Tensor) -> None:
        grads = _grad(o, self.wanted, ut.ones_like(o), retain_graph=True, allow_unused=True)
        if any(g is not None and g.dtype != x.dtype for g, x in zip(grads, self.wanted, strict=True)):
            raise GradcheckError("Gradient has dtype mismatch")

    def forward(self) -> None:
        for j, x in enumerate(self.wanted):
            for part, unit in _parts(x):
                self.all_tangents(j, part, unit, range(len(self.outputs)))

    def all_tangents(self, j: int, part: str, unit: complex, outputs: Iterable[int]) -> None:
        """Compare the tangents along every unit vector of input j, or of its imaginary part, with the slopes."""
        import numpy as np

        x = self.wanted[j]
        columns = [self.tangents(x, direction * unit) for direction in units(x)]
        for i in outputs:
            n = self.numerical(j)[self.places[i]][1 if part == "imaginary" else 0]
            a = np.stack([c[self.places[i]] for c in columns]) if columns else np.zeros_like(n)
            if not _close(a, n, self.rtol, self.atol):
                raise _mismatch(a, n, i, j, part, forward=True)

    def tangents(self, x: Tensor, direction: np.ndarray) -> list[np.ndarray]:
        import numpy as np

        with forward_ad.dual_level():
            duals = [self.dual(t, tensor(direction, t) if t is x else None) for t in self.inputs]
            found = [forward_ad.unpack_dual(o) for o in as_tuple(self.func(*duals)) if isinstance(o, ut.Tensor)]
            return [np.zeros(f.primal.numel()) if f.tangent is None else array(f.tangent).copy().reshape(-1) for f in found]

    def dual(self, t: Any, tangent: Tensor | None) -> Any:
        """Return an input of a forward-mode run: with a tangent, by default zero, if it is differentiable. It does not require grad."""
        if not (isinstance(t, ut.Tensor) and t.requires_grad):
            return t
        return forward_ad.make_dual(t.detach(), ut.zeros_like(t) if tangent is None else tangent)

    def undefined_tangents(self) -> None:
        """Check that an input without a tangent gives the same tangents as one whose tangent is zero."""
        import numpy as np

        rng = np.random.default_rng(5)
        with forward_ad.dual_level():
            directions = {id(x): tensor(random_units(rng, x)[0], x) for x in self.wanted}
            duals = [self.dual(t, directions.get(id(t))) for t in self.inputs]
            for k, x in enumerate(self.inputs):
                if id(x) not in directions:
                    continue
                zero, absent = (self.tangents_of([*duals[:k], given, *duals[k + 1 :]]) for given in (self.dual(x, None), x.detach()))
                for i, (a, b) in enumerate(zip(zero, absent, strict=True)):
                    if a is not None and b is not None and not ut.allclose(a, b):
                        raise GradcheckError(
                            f"Mismatch in tangent values for output with index: {i} when input: {x} has an undefined tangent value. "
                            f"Got: {a} but expected: {b}"
                        )

    def tangents_of(self, inputs: list[Any]) -> list[Tensor | None]:
        found = (forward_ad.unpack_dual(o).tangent for o in as_tuple(self.func(*inputs)) if isinstance(o, ut.Tensor))
        return list(found)

    def projections(self) -> None:
        """Fast mode: compare one random projection of each Jacobian, u on the input side and v on the output side."""
        import numpy as np

        rng = np.random.default_rng(2)
        us, vs = [within(x, random_units(rng, x)) for x in self.wanted], [random_units(rng, o)[0].reshape(-1) for o in self.outputs]
        rises = [[slopes(self.func, self.perturbed, x, np.asarray(unit * u), self.eps) for u, unit in zip(both, (1.0, 1j), strict=False)]
                 for x, both in zip(self.perturbed_wanted, us, strict=True)]
        if self.check_backward_ad:
            for i, (o, v) in enumerate(zip(self.outputs, vs, strict=True)):
                for part, unit in _parts(o):
                    cotangent = tensor((v * unit).reshape(tuple(o.shape)), o)
                    first, second = (_grad(o, self.wanted, cotangent, retain_graph=True, allow_unused=True) for _ in range(2))
                    for j, (both, x) in enumerate(zip(us, self.wanted, strict=True)):
                        g, h = (np.zeros(tuple(x.shape)) if t is None else array(t) for t in (first[j], second[j]))
                        along = [_picked(s[self.places[i]], part) @ v for s in rises[j]]
                        found = [np.sum(p * u) for p, u in zip((g.real, g.imag), both, strict=False)]
                        self.compare_projection(_paired(found), _paired(along), i, j, part, both, v)
                        _check_repeatable([g], [h], self.nondet_tol)
        if self.check_forward_ad:
            for j, (x, both) in enumerate(zip(self.wanted, us, strict=True)):
                for part, unit in _parts(x):
                    which = 1 if part == "imaginary" else 0
                    tangents = self.tangents(x, np.asarray(both[which] * unit))
                    for i, v in enumerate(vs):
                        along_v = rises[j][which][self.places[i]] @ v
                        self.compare_projection(tangents[self.places[i]] @ v, along_v, i, j, part, both, v, forward=True)

    def compare_projection(
        self, analytical: Any, numerical: Any, i: int, j: int, part: str, us: list[np.ndarray], v: np.ndarray, forward: bool = False
    ) -> None:
        import numpy as np

        a, n = np.asarray(analytical), np.asarray(numerical)
        # The projection sums errors of up to atol, weighted by the non-negative u and v; a complex input has two u.
        atol = self.atol * sum(float(u.sum()) for u in us) * float(v.sum())
        if not _close(a, n, self.rtol, atol):
            raise GradcheckError(f"{_mismatch(a, n, i, j, part, forward)}{self.in_slow_mode(i, j, part, forward)}")

    def in_slow_mode(self, i: int, j: int, part: str, forward: bool) -> str:
        """Describe the whole Jacobians behind a projection, or report that they agree elementwise."""
        unit = 1j if part == "imaginary" else 1
        try:
            if forward:
                self.all_tangents(j, part, unit, [i])
            else:
                self.gradients(i, part, unit, [j])
            whole = "element by element they agree: the errors are small, and slow mode might pass"
        except GradcheckError as slow:
            whole = str(slow)
        return ("\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode: one random "
                f"projection. In slow mode, the whole Jacobians:\n{whole}")

    def zero_cotangents(self) -> None:
        grads = _grad(self.outputs, self.wanted, [ut.zeros_like(o) for o in self.outputs], retain_graph=True, allow_unused=True)
        for g, x in zip(grads, self.wanted, strict=True):
            if g is None:
                continue
            _check_layout(g, x)
            if array(g).any():
                raise GradcheckError("backward not multiplied by grad_output")
            if g.dtype != x.dtype:
                raise GradcheckError("grad is incorrect type")
            if g.device != x.device:
                raise GradcheckError("grad is incorrect device")
            if g.shape != x.shape:
                raise GradcheckError("grad is incorrect size")

    def undefined_cotangents(self) -> None:
        """Check that undefined gradients of all outputs, or of one of several, are accepted and treated as zero."""
        count = len(self.outputs)
        for left_out in [set(range(count)), *({k} for k in range(count) if count > 1)]:
            outputs = [_without_gradient(o) if k in left_out else o for k, o in enumerate(differentiable(self.func(*self.inputs)))]
            try:
                grads = _grad(outputs, self.wanted, [ut.zeros_like(o) for o in outputs], allow_unused=True)
            except RuntimeError as error:
                _warn_about_undefined()
                raise GradcheckError(f"Expected backward function to handle undefined output grads. {_ABOUT_UNDEFINED}") from error
            if any(g is not None and array(g).any() for g in grads):
                _warn_about_undefined()
                raise GradcheckError(
                    f"Expected all input grads to be undefined or zero when all output grads are undefined or zero. {_ABOUT_UNDEFINED}"
                )


def _check_layout(g: Tensor, x: Tensor) -> None:
    """Raise for a sparse gradient that is not in the layout of its input."""
    if g.layout is ut.strided:
        return
    if g.layout is not x.layout:
        raise GradcheckError(f"grad is incorrect layout ({g.layout} is not {x.layout})")
    kind = str(g.layout).rpartition(".")[2].replace("_coo", "")
    for name in ("sparse_dim", "dense_dim"):
        found, wanted = getattr(g, name)(), getattr(x, name)()
        if found != wanted:
            raise GradcheckError(f"grad is {kind} tensor, but has incorrect {name} {found}, expected {wanted}")


def _warn_about_undefined() -> None:
    import warnings

    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing callers "
        'of this function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable the feature',
        stacklevel=5,
    )


def _without_gradient(output: Tensor) -> Tensor:
    """Pass the output through a node that returns no gradient."""
    from undertow.autograd.function import Function

    class UndefinedGrad(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> None:
            return None

    return UndefinedGrad.apply(output)


def _paired(parts: list[Any]) -> complex | float:
    return complex(parts[0], parts[1]) if len(parts) == 2 else parts[0]
