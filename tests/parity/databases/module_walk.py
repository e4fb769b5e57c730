"""One module built in both libraries from torch's module database, and every difference between the two.

Yields one sentence per difference; test_module_db.py chooses the modules and inputs.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import io
import pickle
import re
import warnings

import torch
from carry import Untranslatable, difference, tensors_in, to_ut

import undertow as ut

TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-9}
# torch computes it in chunks and has no second derivative: None where ours is a number.
NO_SECOND = {"LinearCrossEntropyLoss"}
_built: dict[int, tuple] = {}  # modules among the arguments of another: id -> (module, class, args, kwargs)


def _remember_construction() -> None:
    """Modules passed to other modules are built here from the arguments they were built with in torch."""
    for cls in (torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer):
        own = cls.__init__

        @functools.wraps(own)
        def init(self, *args, _own=own, _cls=cls, **kwargs):
            _own(self, *args, **kwargs)
            _built[id(self)] = (self, _cls, args, kwargs)

        cls.__init__ = init


_remember_construction()


def our_class(cls: type) -> type:
    """The class of the same name in the module of the same name."""
    home = importlib.import_module(cls.__module__.replace("torch", "undertow", 1))
    return getattr(home, cls.__name__)


def carried(x):
    """As carry.to_ut, and modules, packed sequences and functions of nn.functional too."""
    if isinstance(x, torch.nn.Module):
        _, cls, args, kwargs = _built[id(x)]
        ours = our_class(cls)(*carried(args), **carried(kwargs))
        ours.load_state_dict(to_ut(dict(x.state_dict())))
        return ours.train(x.training)
    if isinstance(x, torch.nn.utils.rnn.PackedSequence):
        return ut.nn.utils.rnn.PackedSequence(*(to_ut(v) if isinstance(v, torch.Tensor) else v for v in x))
    if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size) and not hasattr(x, "_fields"):
        return type(x)(carried(v) for v in x)
    if isinstance(x, dict):
        return {k: carried(v) for k, v in x.items()}
    if isinstance(x, torch.nn.LinearCrossEntropyOptions):
        return ut.nn.LinearCrossEntropyOptions(**{f.name: carried(getattr(x, f.name)) for f in dataclasses.fields(x)})
    name = getattr(x, "__name__", None)
    if callable(x) and name is not None and getattr(torch.nn.functional, name, None) is x:
        return getattr(ut.nn.functional, name)
    if callable(x) and name == "<lambda>":
        return x  # of tensors' own methods and operators
    return to_ut(x)


def words(x) -> str:
    return str(x).replace("undertow.", "torch.")


class Walk:
    """The walk over one entry of a module's inputs."""

    def __init__(self, info, entry, dtype, training: bool) -> None:
        self.info, self.entry, self.dtype, self.training = info, entry, dtype, training
        self.found: list[str] = []
        self.tolerance = TOLERANCE[dtype]

    def say(self, what: str) -> None:
        self.found.append(what)

    def same(self, want, got, what: str) -> bool:
        if want != got:
            self.say(f"{what}: torch {want!r}, here {got!r}")
        return want == got

    def values(self, want, got, what: str) -> None:
        """Tensors, or containers and packed sequences of them."""
        if isinstance(want, torch.nn.utils.rnn.PackedSequence):
            want, got = tuple(want), tuple(got)
        if isinstance(want, (list, tuple)):
            if self.same((type(want).__name__, len(want)), (type(got).__name__, len(got)), f"{what}: container"):
                for i, (a, b) in enumerate(zip(want, got, strict=True)):
                    self.values(a, b, f"{what}[{i}]")
            return
        if isinstance(want, torch.Tensor) and not isinstance(got, ut.Tensor):
            self.say(f"{what}: not a tensor but {got!r}")
            return
        said = difference(want, got, what, self.tolerance)
        if said:
            self.say(said)
        elif isinstance(want, torch.Tensor):
            self.same(want.requires_grad, got.requires_grad, f"{what}: requires_grad")

    def build(self):
        c = self.entry.constructor_input
        theirs = self.info.module_cls(*c.args, **c.kwargs)
        ours = our_class(self.info.module_cls)(*carried(c.args), **carried(c.kwargs))
        return theirs.to(self.dtype).train(self.training), ours.to(getattr(ut, words(self.dtype)[6:])).train(self.training)

    def arguments(self):
        f = self.entry.forward_input
        args, kwargs = _leaves(f.args), _leaves(f.kwargs)
        return (args, kwargs), (carried(args), carried(kwargs))

    def run(self) -> list[str]:
        theirs, ours = self.build()
        if self.info.is_lazy and self.entry.forward_input is not None:
            (ta, tk), (oa, ok) = self.arguments()
            theirs(*ta, **tk), ours(*oa, **ok)
        self.structure(theirs, ours, "")
        ours.load_state_dict(to_ut(dict(theirs.state_dict())))
        if self.entry.forward_input is None:
            return self.found
        self.forward_and_back(theirs, ours, "")
        self.copies(theirs, ours)
        self.non_contiguous(theirs, ours)
        return self.found

    def structure(self, theirs, ours, where: str) -> None:
        self.same(words(repr(theirs)), words(repr(ours)), f"{where}repr")
        self.same(theirs.extra_repr(), ours.extra_repr(), f"{where}extra_repr")
        self.same(list(theirs.state_dict()), list(ours.state_dict()), f"{where}state_dict keys")
        for name in ("named_parameters", "named_buffers", "named_modules", "named_children"):
            self.same([k for k, _ in getattr(theirs, name)()], [k for k, _ in getattr(ours, name)()], f"{where}{name}")
        for (name, a), (_, b) in zip(theirs.named_modules(), ours.named_modules(), strict=False):
            self.same(type(a).__name__, type(b).__name__, f"{where}class of {name!r}")
            self.same(a.training, b.training, f"{where}training of {name!r}")
            self.same(sorted(getattr(a, "_non_persistent_buffers_set", ())), sorted(b._non_persistent_buffers_set), f"{where}buffers not saved of {name!r}")
            missing = sorted(k for k in a.__dict__ if not k.startswith("_") and not hasattr(b, k))
            self.same([], missing, f"{where}attributes missing of {name!r}")
        for (name, a), b in zip(theirs.named_parameters(), ours.parameters(), strict=False):
            self.same(
                (tuple(a.shape), words(a.dtype), a.requires_grad), (tuple(b.shape), words(b.dtype), b.requires_grad), f"{where}parameter {name}"
            )
            self.same(type(a).__name__, type(b).__name__, f"{where}class of parameter {name}")

    def forward_and_back(self, theirs, ours, where: str, arguments=None) -> None:
        (ta, tk), (oa, ok) = arguments or self.arguments()
        torch.manual_seed(3), ut.manual_seed(3)
        want = theirs(*ta, **tk)
        try:
            got = ours(*oa, **ok)
        except Exception as error:  # noqa: BLE001 - it is what is reported
            self.say(f"{where}forward raised {type(error).__name__}: {error}")
            return
        self.values(want, got, f"{where}output")
        for name, a in theirs.named_buffers():
            self.values(a, dict(ours.named_buffers())[name], f"{where}buffer {name} after forward")
        outs, our_outs = ([t for t in tensors_in(_flat(x), k) if t.requires_grad] for x, k in ((want, torch.Tensor), (got, ut.Tensor)))
        leaves = [t for t in tensors_in(_flat((ta, tk)), torch.Tensor) if t.requires_grad] + list(theirs.parameters())
        our_leaves = [t for t in tensors_in(_flat((oa, ok)), ut.Tensor) if t.requires_grad] + list(ours.parameters())
        if not outs or len(outs) != len(our_outs) or not leaves or self.found:
            return
        if any(t.is_complex() for t in (*outs, *leaves)):
            return
        self.gradients(outs, our_outs, leaves, our_leaves, where)

    def gradients(self, outs, our_outs, leaves, our_leaves, where: str) -> None:
        seeds = [torch.cos(torch.arange(o.numel(), dtype=o.dtype)).reshape(o.shape).requires_grad_() for o in outs]
        our_seeds = to_ut(seeds)
        second = self.info.supports_gradgrad and self.info.module_cls.__name__ not in NO_SECOND
        options = {"create_graph": second, "allow_unused": True}
        want = torch.autograd.grad(outs, leaves, seeds, **options)
        try:
            got = ut.autograd.grad(our_outs, our_leaves, our_seeds, **options)
        except Exception as error:  # noqa: BLE001
            self.say(f"{where}backward raised {type(error).__name__}: {error}")
            return
        for i, (a, b) in enumerate(zip(want, got, strict=True)):
            self.same(a is None, b is None, f"{where}gradient {i} is None")
            said = difference(a, b, f"{where}gradient {i}", self.tolerance * 10)
            if said:
                self.say(said)
        if not second or self.found:
            return
        pairs = [(a, b) for a, b in zip(want, got, strict=True) if a is not None and a.requires_grad]
        if not pairs:
            return
        if not all(b.requires_grad for _, b in pairs):
            self.say(f"{where}gradients have no graph")
            return
        total = sum((a * a).sum() for a, _ in pairs)
        try:
            wanted = torch.autograd.grad(total, [*leaves, *seeds], allow_unused=True)
        except RuntimeError:
            return  # torch has no second derivative
        try:
            gotten = ut.autograd.grad(sum((b * b).sum() for _, b in pairs), [*our_leaves, *our_seeds], allow_unused=True)
        except Exception as error:  # noqa: BLE001
            self.say(f"{where}second backward raised {type(error).__name__}: {error}")
            return
        for i, (a, b) in enumerate(zip(wanted, gotten, strict=True)):
            scale = 1.0 if a is None else float(a.abs().max()) if a.numel() else 1.0
            said = difference(a, b, f"{where}second gradient {i}", self.tolerance * 100 * max(1.0, scale))
            if said:
                self.say(said)

    def copies(self, theirs, ours) -> None:
        """Pickled, saved, copied and cast modules equal the module."""
        if self.found:
            return
        for name, make in (("deepcopy", copy.deepcopy), ("pickle", lambda m: pickle.loads(pickle.dumps(m)))):
            try:
                again = make(ours)
            except Exception as error:  # noqa: BLE001
                try:
                    make(theirs)
                except Exception:  # noqa: BLE001
                    continue
                self.say(f"{name} raised {type(error).__name__}: {error}")
                continue
            self.structure(theirs, again, f"after {name}: ")
            for key, value in theirs.state_dict().items():
                self.values(value, again.state_dict()[key], f"after {name}: {key}")
            shared = {p.data_ptr() for p in ours.parameters() if p.numel()} & {p.data_ptr() for p in again.parameters()}
            self.same(set(), shared, f"after {name}: memory shared")
            self.forward_and_back(copy.deepcopy(theirs), again, f"after {name}: ")
        buffer = io.BytesIO()
        ut.save(ours.state_dict(), buffer)
        buffer.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.same(list(theirs.state_dict()), list(torch.load(buffer)), "keys torch reads from our file")

    def non_contiguous(self, theirs, ours) -> None:
        if self.found:
            return
        (ta, tk), _ = self.arguments()
        ta, tk = _strided(ta), _strided(tk)
        try:
            self.forward_and_back(theirs, ours, "non-contiguous: ", ((ta, tk), (carried(ta), carried(tk))))
        except (ValueError, RuntimeError) as error:
            self.say(f"non-contiguous: {error}")


def _flat(x):
    if isinstance(x, (torch.nn.utils.rnn.PackedSequence, ut.nn.utils.rnn.PackedSequence)):
        return [x.data]
    if isinstance(x, (list, tuple)):
        return [_flat(v) for v in x]
    if isinstance(x, dict):
        return [_flat(v) for v in x.values()]
    return x


def _leaves(x):
    """Fresh leaves of the same values."""
    if isinstance(x, torch.Tensor):
        return x.detach().clone().requires_grad_(x.requires_grad)
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(_leaves(v) for v in x)
    if isinstance(x, dict):
        return {k: _leaves(v) for k, v in x.items()}
    return x


def _strided(x):
    """The same values, every second element of a larger memory, as leaves."""
    if isinstance(x, torch.Tensor):
        if x.dim() == 0 or x.numel() == 0:
            return x
        wide = torch.repeat_interleave(x.detach(), 2, dim=-1)
        return wide[..., ::2].requires_grad_(x.requires_grad)
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(_strided(v) for v in x)
    if isinstance(x, dict):
        return {k: _strided(v) for k, v in x.items()}
    return x


def inputs_of(info, dtype, training: bool):
    torch.manual_seed(11)
    return info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)


def differences(info, dtype, training: bool, first: int | None = None) -> list[str]:
    """The differences over all inputs of a module, or over the first few."""
    found = []
    for i, entry in enumerate(inputs_of(info, dtype, training)[:first]):
        walk = Walk(info, entry, dtype, training)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                walk.run()
            except (Untranslatable, KeyError) as error:
                walk.say(f"cannot be carried over: {error!r}")
            except Exception as error:  # noqa: BLE001
                walk.say(f"raised {type(error).__name__}: {error}")
        found += [f"input {i} ({entry.desc}) {'train' if training else 'eval'} {words(dtype)}: {each}" for each in walk.found]
    return found


def error_differences(info, dtype, training: bool) -> list[str]:
    """Inputs that raise in torch raise here with the same class and a message that matches torch's pattern."""
    if info.module_error_inputs_func is None:
        return []
    found = []
    torch.manual_seed(11)
    for i, entry in enumerate(info.module_error_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)):
        c, f = entry.module_error_input.constructor_input, entry.module_error_input.forward_input
        said = []
        for cls, carry in ((info.module_cls, lambda x: x), (our_class(info.module_cls), carried)):
            try:
                m = cls(*carry(c.args), **carry(c.kwargs)).train(training)
                if f is not None:
                    m(*carry(f.args), **carry(f.kwargs))
                said.append(("nothing", ""))
            except Exception as error:  # noqa: BLE001 - what it is, is compared
                said.append((type(error).__name__, words(error)))
        (kind, text), (our_kind, our_text) = said
        if kind != our_kind or not (our_text.startswith(text.rstrip(".")) or re.search(entry.error_regex, our_text)):
            found.append(f"error input {i}: torch {kind}: {text!r}, here {our_kind}: {our_text!r}")
    return found
