"""A pytest plugin that runs our tests on torch: `import undertow` gives torch. See test_autograd_parity.py.

    pytest -p as_torch tests/autograd/test_hooks.py
"""

from __future__ import annotations

import importlib
import sys

import pytest
import torch

torch.set_num_threads(1)
for name in ("autograd.forward_ad", "autograd.functional", "autograd.graph", "func", "testing", "utils.hooks"):
    importlib.import_module(f"torch.{name}")
for name in list(sys.modules):
    if name == "torch" or name.startswith("torch."):
        sys.modules["undertow" + name[len("torch") :]] = sys.modules[name]
torch._C._get_num_workers = lambda: 1  # what tests/conftest.py looks at after each test
torch._C.is_anomaly_enabled = torch.is_anomaly_enabled

# Tests of what we promise beyond torch, or of our own additions.
BEYOND = {
    "test_an_exception_in_the_innermost_pass_is_raised_by_the_outermost": "torch loses a Python exception beyond depth 60",
    "test_a_cycle_through_node_metadata_is_collected": "torch leaks it",
    "test_a_cycle_through_create_graph_is_collected": "torch leaks it, and warns",
    "test_all_methods_give_the_same_hessian[writes]": "torch raises on a write to a tangent that is zero",
    "test_gradient_of_complex_silu_is_conjugated": "torch has no complex derivative of silu",
    "test_a_deep_pass_still_records_lines_if_its_caller_does": "lines are ours",
    "test_nodes_made_in_a_deep_pass_come_after_those_before_it_and_before_those_after_it": "torch counts from the start in its pool threads",
    "test_a_gradient_does_not_keep_a_larger_tensor_alive": "torch keeps a view of the larger tensor",
    "test_a_raw_saved_tensor_shows_what_is_stored": "torch crashes",
    "test_writing_is_writing_each_sample[one for each sample-strangers]": "torch writes the values in another order",
}


def pytest_collection_modifyitems(items):
    for item in items:
        reason = BEYOND.get(item.originalname) or BEYOND.get(item.name)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
        item.add_marker(pytest.mark.filterwarnings("ignore:Using backward"))
        item.add_marker(pytest.mark.filterwarnings("ignore:.*torch.jit.script.*"))
        item.add_marker(pytest.mark.filterwarnings("ignore:Sparse invariant checks"))
        item.add_marker(pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node"))
