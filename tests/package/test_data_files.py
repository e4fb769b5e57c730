"""Large data files: the source tree has them as they are, an installed package compressed."""

from __future__ import annotations

import pytest

from tools import compressed_data
from undertow import _data_files


@pytest.mark.parametrize("name", compressed_data.FILES)
def test_a_compressed_data_file_has_the_same_text(name, repository, tmp_path, monkeypatch):
    compressed_data.main(tmp_path)
    monkeypatch.setattr(_data_files, "__file__", str(tmp_path / "_data_files.py"))
    assert _data_files.read_text(name) == (repository / "undertow" / name).read_text(encoding="utf-8")
    assert (tmp_path / f"{name}.gz").stat().st_size < (repository / "undertow" / name).stat().st_size / 2


def test_a_wheel_leaves_out_what_it_has_compressed(repository):
    import tomllib

    project = tomllib.loads((repository / "pyproject.toml").read_text())
    excluded = {name for name in project["tool"]["scikit-build"]["wheel"]["exclude"] if "*" not in name}
    assert excluded == {f"undertow/{name}" for name in compressed_data.FILES}
