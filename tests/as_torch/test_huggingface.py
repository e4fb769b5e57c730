"""Hugging Face's loaders on the meta device: `from_pretrained` with files written by the test, and accelerate's empty weights."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
MODELS = {
    "GPT2LMHeadModel": "transformers.GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=100, n_positions=64, bos_token_id=1, eos_token_id=2)",
    "BertModel": "transformers.BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=100)",
    "LlamaForCausalLM": "transformers.LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, vocab_size=100)",
}
LOADED = """
import os, tempfile, torch, transformers
assert "undertow" in torch.__version__
torch.manual_seed(0)
model = transformers.{name}({config}).eval()
ids = torch.arange(8).reshape(1, 8)
with tempfile.TemporaryDirectory() as folder:
    if {safe}:
        model.save_pretrained(folder)
    else:
        model.config.save_pretrained(folder)
        torch.save(model.state_dict(), os.path.join(folder, "pytorch_model.bin"))
    loaded = transformers.{name}.from_pretrained(folder).eval()
assert torch.equal(model(ids)[0], loaded(ids)[0])
"""
EMPTY = """
import tempfile, torch, transformers
from accelerate import init_empty_weights, load_checkpoint_and_dispatch
config = {config}
with init_empty_weights():
    empty = transformers.GPT2LMHeadModel(config)
assert all(p.is_meta for p in empty.parameters())
torch.manual_seed(0)
model = transformers.GPT2LMHeadModel(config).eval()
empty.tie_weights()
assert sum(p.numel() for p in empty.parameters()) == sum(p.numel() for p in model.parameters())
ids = torch.arange(8).reshape(1, 8)
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    filled = load_checkpoint_and_dispatch(empty, folder, device_map={{"": "cpu"}}).eval()
assert all(p.is_cpu for p in filled.parameters())
assert torch.equal(filled(ids)[0], model(ids)[0])
"""


def run(program: str) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "undertow.as_torch", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("safe", [True, False], ids=["safetensors", "bin"])
@pytest.mark.parametrize("name", MODELS)
def test_from_pretrained_loads_what_was_saved(name, safe):
    pytest.importorskip("transformers")
    run(LOADED.format(name=name, config=MODELS[name], safe=safe))


def test_empty_weights_are_filled_from_a_checkpoint():
    pytest.importorskip("accelerate")
    pytest.importorskip("transformers")
    run(EMPTY.format(config=MODELS["GPT2LMHeadModel"]))
