"""The tables' keys and their reference agree, and `opgen --show` prints everything generated for an operator."""

from __future__ import annotations

import re
import tomllib
from functools import cache

import pytest
from paths import ROOT

from tools.opgen import emit_cpp, formula, schema
from tools.opgen.show import PARTS, show

REFERENCE = ROOT / "docs/operator_tables.md"


def test_every_operator_of_the_tables_has_a_name_for_dispatch():
    from undertow._aten._from_core import translation
    from undertow._vmap._dispatch import OPERATORS

    assert all(callable(translation(key)) for key in OPERATORS)


@cache
def entries() -> list[schema.Entry]:
    return schema.load(ROOT / "ops")


def rows() -> dict[str, tuple[str, str]]:
    """The reference's rows by key: the entry of the example, and the line that the example shows."""
    found = {}
    for line in REFERENCE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if len(cells) == 5 and re.fullmatch(r"`\w+`", cells[1]):
            entry, text = re.fullmatch(r"`([\w.]+)`: `(.+)`", cells[3]).groups()
            assert cells[1].strip("`") not in found, f"{cells[1]} is documented twice"
            found[cells[1].strip("`")] = entry, text.replace("\\|", "|")
    return found


def test_exactly_the_known_keys_are_documented():
    assert set(rows()) == schema.KEYS


@pytest.mark.parametrize("key", sorted(schema.KEYS))
def test_every_key_is_used(key: str):
    assert any(key in e.spec for e in entries()), f"no entry has {key}: take it out of KEYS, with the code that reads it"


@pytest.mark.parametrize("key", sorted(schema.KEYS))
def test_the_example_of_a_key_is_in_the_tables(key: str):
    name, line = rows()[key]
    e = next(e for e in entries() if name == e.name + (f".{e.overload}" if e.overload else ""))
    for k, value in tomllib.loads(line).items():
        assert k == key or k.startswith("scalar_")
        if isinstance(value, str) and value.endswith("..."):
            assert e.spec[k].strip().startswith(value.removesuffix("..."))
        elif isinstance(value, dict):
            assert value.items() <= e.spec[k].items()
        else:
            assert e.spec[k] == value


def test_an_unknown_key_is_an_error():
    with pytest.raises(schema.TableError, match="unknown keys"):
        schema.resolve("f", "", {"sig": "f(Tensor self) -> Tensor", "no_such_key": 1}, "family", "family.toml", 1)


def parts(name: str) -> dict[str, str]:
    found = re.split(r"^// ---- (\w+) ----$", show(entries(), name), flags=re.M)
    return dict(zip(found[1::2], found[2::2], strict=True))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        pytest.param("sigmoid", {
            "entry": "ops/activation.toml", "stub": "def sigmoid(", "binding": "ops::sigmoid_out(", "recorder": "const Tensor& sigmoid_(const Tensor& self)",
            "node": "void SigmoidBackward0::apply", "forward": "Tensor sigmoid(const Tensor& self)", "loop": "void fill_sigmoid_float(",
            "functor": "operator()(T self) const { return sigmoid(self); }",
        }, id="pointwise"),
        pytest.param("matmul", {
            "stub": "def matmul(", "binding": "return ops::matmul(self, other)", "recorder": "return matmul_composite(self, other)",
            "node": "none", "forward": "none", "loop": "none", "functor": "none",
        }, id="composite"),
        pytest.param("transpose", {
            "stub": "def transpose_(", "binding": "ops::transpose_(", "recorder": "as_view_of(self, result)", "node": "class TransposeBackward0_inplace",
            "forward": "written by hand in core/forward/shape/", "loop": "none",
        }, id="view"),
        pytest.param("sum", {
            "entry": "int[1]? dim", "stub": "def sum(", "binding": "plain_sum_dim_0", "recorder": "wants_record(flags)", "node": "class SumBackward1",
            "forward": "written by hand in core/forward/reduce/", "loop": "none",
        }, id="reduction"),
        pytest.param("zeros", {
            "stub": "requires_grad", "binding": "FactoryArgs factory", "recorder": "fwd::zeros(size, dtype, device)", "node": "none",
            "forward": "written by hand in core/forward/create/", "loop": "none",
        }, id="factory"),
        pytest.param("sigmoid_backward", {
            "stub": "none", "binding": '"sigmoid_backward pointwise grad_output,output"', "node": "SigmoidBackwardBackward0", "loop": "fill_direct",
        }, id="without a Python name"),
    ],
)
def test_show_prints_everything_generated_for_an_operator(name: str, wanted: dict[str, str]):
    found = parts(name)
    assert tuple(found) == PARTS
    for part, text in wanted.items():
        assert text in found[part], f"{part} of {name}"


def test_the_cuda_functor_of_a_dtype_has_its_own_expression_and_parameters():
    add = parts("add")["functor"]
    assert "T alpha;" in add and "return self + alpha * other;" in add
    assert re.search(r"// Bool\n(?:.*\n)*.*return bool\(self \| \(alpha & other\)\);", add)
    assert "int64_t decimals;" in parts("round")["functor"]


def test_show_finds_an_operator_by_its_python_name():
    assert "ops/special.toml" in parts("special.gammaincc")["entry"]
    assert show(entries(), "no_such_operator") == "no operator named no_such_operator"


def test_every_operator_is_a_method_or_function_of_the_cpp_api():
    tensor = (ROOT / "core/api/undertow/tensor.h").read_text()
    missing = []
    for e in entries():
        written = e.spec.get("cpp") == "written" and re.search(rf"\b{e.name}\(", tensor)
        if not written and not emit_cpp.methods_of(e) and not emit_cpp.functions_of(e):
            missing.append(e.key)
    assert not missing


def test_no_call_of_the_cpp_api_fits_two_overloads_through_default_values():
    ambiguous, known = [], {}
    for line in emit_cpp.functions(entries()).splitlines():
        found = re.match(r"inline [\w:<>&, ]+? (\w+)\((.*?)\) \{ ", line)
        if not found or "TensorOptions" in line:
            continue
        params = [p for p in re.split(r", (?![^<]*>)", found[2]) if p]
        types = [re.sub(r" \w+( = .*)?$", "", p) for p in params]
        least = sum(" = " not in p for p in params)
        for other, least_of_other in known.setdefault(found[1], []):
            for count in range(max(least, least_of_other), min(len(types), len(other)) + 1):
                if types[:count] == other[:count]:
                    ambiguous.append((found[1], types[:count]))
        known[found[1]].append((types, least))
    assert len(known) > 500 and not ambiguous


def test_the_cpp_api_spells_arguments_as_libtorch_does():
    by_key = {e.key: e for e in entries()}
    assert emit_cpp.methods_of(by_key["sum.dim"]) == [
        "Tensor sum(OptionalIntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) const { return ops::sum(checked(), dim, keepdim, dtype); }"
    ]
    assert emit_cpp.functions_of(by_key["ones"])[0].startswith("inline Tensor ones(IntArrayRef size, const TensorOptions& options = {}) {")
    assert emit_cpp.functions_of(by_key["add"])[-1].startswith("inline Tensor& add_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha = 1) {")
    without_step = "inline Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {"
    assert any(line.startswith(without_step) for line in emit_cpp.functions_of(by_key["arange.start_step"]))


def test_the_formulas_that_the_inspector_shows_are_python():
    import ast
    import json

    from undertow import _data_files

    for node, (_, _, forward, grads) in json.loads(_data_files.read_text("inspect/formulas.json")).items():
        for text in [forward, *(text for _, text in grads)]:
            if text is not None:
                tree = ast.parse(text, mode="eval")  # C++ has other operators
                names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
                assert not names & {"decltype", "nullopt", "Scalar", "true", "false"}, (node, text)


def test_a_conditional_of_the_tables_is_shown_as_python_writes_it():
    from tools.opgen.emit_formulas import readable

    assert readable("2 * (a ? f(b, c ? d : e) : g)") == "2 * (f(b, d if c else e) if a else g)"
    assert readable("a ? b : c ? d : e") == "b if a else d if c else e"
    assert readable("!a && std::b != decltype(x)(0.5)") == "not a and b != 0.5"


def test_a_node_keeps_no_tensor_only_to_show_it():
    entry, = schema.resolve("f", "", {"sig": "f(Tensor self) -> Tensor", "grad": {"self": "grad"}, "shown": ["self"]}, "family", "family.toml", 1)
    with pytest.raises(schema.TableError, match="shown: self is a tensor"):
        formula.all_saved(entry)
