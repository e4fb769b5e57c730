"""Arguments that change while they are read, contain themselves, or are no text: clear errors, never a crash.

What crashes takes the interpreter with it, so each case runs in a process of its own.
"""

import subprocess
import sys

import pytest

import undertow as ut
from tools.fuzz.hostile_values import CHANGING_SEQUENCES

SHRINKING = CHANGING_SEQUENCES + """
import warnings
import undertow as ut
import undertow.nn.functional as F
from undertow.storage import TypedStorage
warnings.simplefilter("ignore")
"""
READERS = {
    "tensor": "ut.tensor({})",
    "tensor, nested": "ut.tensor([{}, {}])",
    "tensor of a dtype": "ut.tensor({}, dtype=ut.float64)",
    "as_tensor": "ut.as_tensor({})",
    "Tensor": "ut.Tensor({})",
    "assignment": "ut.zeros(8)[:] = {}",
    "index": "ut.zeros(8)[{}]",
    "indices": "ut.zeros(8, 8)[{}, {}]",
    "assignment by index": "ut.zeros(8)[{}] = 1",
    "unravel_index": "ut.unravel_index(ut.tensor(3), {})",
    "randint": "ut.randint(3, {})",
    "zeros": "ut.zeros({})",
    "view": "ut.zeros(8).view({})",
    "permute": "ut.zeros(1, 1, 1).permute({})",
    "conv3d": "F.conv3d(ut.zeros(1, 1, 3, 3, 3), ut.zeros(1, 1, 1, 1, 1), padding={})",
    "max_pool2d": "F.max_pool2d(ut.zeros(1, 1, 8, 8), {})",
    "pad": "F.pad(ut.zeros(8, 8), {})",
    "sum": "ut.zeros(8, 8).sum({})",
    "split": "ut.zeros(8).split({})",
    "TypedStorage": "TypedStorage({}, dtype=ut.float32)",
    "UntypedStorage": "ut.UntypedStorage({})",
    "Size": "ut.Size({})",
    "cat": "ut.cat({})",
    "stack": "ut.stack({})",
    "einsum": "ut.einsum('i,i', {})",
    "set_": "ut.zeros(8).set_(ut.zeros(8).untyped_storage(), 0, {})",
    "as_strided": "ut.zeros(8).as_strided({}, {})",
    "normalize": "F.layer_norm(ut.zeros(1, 1), {})",
    "broadcast_shapes": "ut.broadcast_shapes({})",
    "increment_version": "ut.autograd.graph.increment_version({})",
}


def run(program: str) -> str:
    """Run a program in a new process and return what it printed; fail if it did not end by itself."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stdout[-300:]}{done.stderr[-2000:]}"
    return done.stdout


def test_sequences_may_change_their_length_while_they_are_read():
    attempts = "\n".join(
        f"print({name!r}, {sequence!r}, flush=True)\ntry:\n    {code.replace('{}', sequence)}\nexcept Exception as e:\n    texts.append(str(e))"
        for name, code in READERS.items()
        for sequence in ("shrinking()", "Shorter()", "Longer()", "tuple(shrinking())")
    )
    printed = run(
        SHRINKING + "texts = []\n" + attempts + "\nassert not [t for t in texts if 'internal error' in t or 'std::' in t], texts\nprint('end')"
    )
    assert printed.endswith("end\n")
    assert printed.count("\n") == 4 * len(READERS) + 1


def test_a_list_of_tensors_may_change_while_another_argument_is_read():
    program = """
class Swaps:
    def __index__(self): tensors[:] = ["not a tensor"] * len(tensors); return 0
tensors = [ut.zeros(2), ut.zeros(2)]
try:
    ut.cat(tensors, dim=Swaps())
    print("joined")
except TypeError as e:
    print(e)
"""
    assert run(SHRINKING + program) in ("joined\n", "expected Tensor as element 0, but got str\n")


def test_lists_that_contain_themselves_are_recursion_errors():
    program = """
loop = []; loop.append(loop)
late = [1, loop]
for make in (lambda: ut.tensor(loop), lambda: ut.tensor(late), lambda: ut.zeros(2)[late], lambda: ut.cat([loop])):
    try:
        make()
    except (RecursionError, ValueError, TypeError, IndexError) as e:
        print(type(e).__name__)
"""
    assert len(run(SHRINKING + program).split()) == 4


LONE = "\ud800"


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.type(LONE),
        lambda x: x.to(LONE),
        lambda x: ut.zeros(2, device=LONE),
        lambda x: ut.device(LONE),
        lambda x: ut.sum(x, **{LONE: 1}),
        lambda x: x.sum(**{LONE: 1}),
        lambda x: ut.einsum(LONE, x),
        lambda x: ut.nn.functional.gelu(x, approximate=LONE),
        lambda x: ut.div(x, x, rounding_mode=LONE),
        lambda x: ut.linalg.norm(x, LONE),
        lambda x: ut.searchsorted(x, x, side=LONE),
        lambda x: x.scatter_reduce(0, ut.zeros(2, dtype=ut.int64), x, LONE),
        lambda x: ut.nn.functional.interpolate(x.view(1, 1, 2), 3, mode=LONE),
        lambda x: ut.nn.functional.pad(x, (1, 1), mode=LONE),
        lambda x: ut.tensor([LONE]),
        lambda x: ut.tensor(LONE),
        lambda x: ut.meshgrid(x, x, indexing=LONE),
        lambda x: ut.finfo(LONE),
        lambda x: ut.set_default_device(LONE),
        lambda x: getattr(x.requires_grad_().exp().grad_fn, "_saved_" + LONE),
        lambda x: getattr(x, LONE),
        lambda x: ut.frombuffer(LONE, dtype=ut.uint8),
        lambda x: ut.load(LONE),
        lambda x: ut.Generator(LONE),
    ],
)
def test_half_of_a_surrogate_pair_is_an_error(use):
    with pytest.raises((UnicodeEncodeError, ValueError, TypeError, RuntimeError, IndexError, AttributeError, OSError)) as info:
        use(ut.ones(2))
    text = str(info.value).encode("utf-8", "backslashreplace").decode()
    assert text
    assert "basic_string" not in text
    assert "internal error" not in text


def test_an_object_without_a_truth_value_raises_its_own_error():
    class Undecided:
        def __bool__(self):
            raise ZeroDivisionError("undecided")

    for use in (ut.autograd.enforce_grad_layout_policy, ut._C._set_multithreading_enabled, ut._C._record_lines, ut._C._enter_inference_mode):
        with pytest.raises(ZeroDivisionError, match="undecided"):
            use(Undecided())


def test_a_product_across_devices_raises():
    for a, b in [(ut.rand(2, 3), ut.empty(3, 3, device="meta")), (ut.empty(2, 3, device="meta"), ut.rand(3, 3))]:
        for product in (ut.matmul, ut.mm, lambda x, y: x @ y, ut.nn.functional.linear):
            with pytest.raises(RuntimeError, match="not on the expected device"):
                product(a, b)
