"""Distributed checkpoints over real processes, their index as Hugging Face reads it, and folders that are not checkpoints."""

from __future__ import annotations

import json

import pytest
from ranks import failures, needs_mpi

import undertow as ut
from undertow.distributed import checkpoint as dcp


@pytest.mark.mpi
@needs_mpi
@pytest.mark.parametrize("size", [2, 3])
def test_checkpoints_come_back_on_any_number_of_ranks(size):
    assert failures("checkpoints", size) == {}


def test_one_process_needs_no_group_and_the_files_are_safetensors(tmp_path):
    dcp.save({"a": {"w": ut.arange(6.0).view(2, 3)}, "b": ut.tensor(7), "steps": [1, 2]}, checkpoint_id=tmp_path)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == 32 and set(index["weight_map"]) == {"a.w", "b"}
    stored = ut.load(tmp_path / index["weight_map"]["a.w"])
    assert stored["a.w"].tolist() == [[0, 1, 2], [3, 4, 5]] and stored["b"].item() == 7
    state = {"a": {"w": ut.zeros(2, 3)}, "b": ut.tensor(0), "steps": [0, 0]}
    dcp.load(state, checkpoint_id=tmp_path)
    assert state["a"]["w"].tolist() == [[0, 1, 2], [3, 4, 5]] and state["steps"] == [1, 2]


def test_models_and_optimizers_are_saved_by_their_state_dicts(tmp_path):
    model = ut.nn.Linear(2, 2)
    dcp.save({"model": model}, storage_writer=dcp.FileSystemWriter(tmp_path))
    other = ut.nn.Linear(2, 2)
    dcp.load({"model": other}, storage_reader=dcp.FileSystemReader(tmp_path))
    assert ut.equal(model.weight, other.weight)


def test_a_folder_that_is_not_a_checkpoint_raises(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no checkpoint in"):
        dcp.load({"x": ut.zeros(1)}, checkpoint_id=tmp_path)
    for content in ({"weight_map": {"x": "../elsewhere.safetensors"}}, {"weight_map": 3}, []):
        (tmp_path / "model.safetensors.index.json").write_text(json.dumps(content))
        with pytest.raises(RuntimeError, match="weight_map must name files in the folder"):
            dcp.load({"x": ut.zeros(1)}, checkpoint_id=tmp_path)
