"""Nodes: for each differentiable entry, the C++ class with its formulas, and the lines of a recorder that make one."""
from __future__ import annotations

import re

from .formula import Saved, all_saved, in_node, saved_for
from .schema import Entry


def node_name(e: Entry) -> str:
    """C++ for the node's name: a constant, or a string with the saved arguments in place of {arg}."""
    saved = {s.arg for s in all_saved(e) if s.type == "std::string"}
    parts = re.split(r"\{(\w+)\}", e.node)
    if not saved.issuperset(parts[1::2]):
        e.fail(f"node {e.node}: only str arguments that the derivative uses can be part of a node's name")
    return " + ".join(f"{part}_" if i % 2 else f'std::string("{part}")' for i, part in enumerate(parts)) if len(parts) > 1 else f'"{e.node}"'


def node_class(e: Entry) -> str:
    saved = all_saved(e)
    has_list = any(a.is_list for a in e.diff_args)
    # A Scalar in the place of a differentiable tensor keeps that tensor's edge, empty, so that next_functions and
    # node hooks look the same for x * 2 and x * y, as in torch.
    empty = sum(a.type == "Scalar" and a.name in e.spec.get("grad", {}) for a in e.args)
    base = "NodeWithEdgeList" if has_list else f"NodeWithEdges<{len(e.diff_args) + empty}>"
    final = "" if "inplace_node" in e.spec else " final"
    lines = [f"class {e.node_class}{final} : public {base} {{", " public:", f"  UT_NODE_MEMORY({e.node_class})",
             "  void apply(std::span<Tensor> grads, std::span<Tensor> grad_inputs) override;",
             f"  std::string name() const override {{ return {node_name(e)}; }}"]
    tensors = [s for s in saved if s.kind in ("tensor", "list")]
    if tensors:
        body = " ".join(f"{s.member}.release();" if s.kind == "tensor" else f"for (auto& s : {s.member}) s.release();" for s in tensors)
        lines.append(f"  void release_variables() override {{ {body} mark_released(); }}")
    if saved:
        lines.append("  const SavedField* saved_fields(size_t* count) const override;")
    lines += [f"  {s.type} {s.member}{{}};" if s.kind in ("value", "fact") else f"  {s.type} {s.member};" for s in saved]
    lines.append("};")
    if "inplace_node" in e.spec:
        name = e.inplace_node_class
        lines += [f"class {name} final : public {e.node_class} {{", " public:", f"  UT_NODE_MEMORY({name})",
                  f'  std::string name() const override {{ return "{e.spec["inplace_node"]}"; }}', "};"]
    return "\n".join(lines)


def node_apply(e: Entry) -> str:
    many = len(e.returns) > 1 or e.return_type == "Tensor[]"
    lines = [f"void {e.node_class}::apply(std::span<Tensor> grads, std::span<Tensor> grad_inputs) {{"]
    if many:
        lines.append("  if (none_defined(grads)) return;")
        if e.spec.get("materialize"):
            lines.append("  materialize(grads, *this);")
    else:
        lines.append("  Tensor& grad = grads[0];")
        lines.append("  if (!grad.defined()) return;")
    if "whole_grad" in e.spec:
        unpack, text = in_node(e, e.spec["whole_grad"])
        wanted = " | ".join(f"int64_t{{needs({i})}} << {i}" for i in range(len(e.diff_args)))
        places = ", ".join(f"grad_inputs[{i}]" for i in range(len(e.diff_args)))
        lines += ["  if (is_dispatched_whole(grad)) {", f"    const int64_t wanted = {wanted};", *(f"    {u}" for u in unpack),
                  f'#line {e.line} "ops/{e.file}"\n    std::tie({places}) = {text};\n    return;\n  }}']
    # In the order of the names, as in torch: a __torch_dispatch__ sees it.
    for group in sorted(e.grad_groups, key=lambda g: e.diff_args[g[0]].name):
        a, index = e.diff_args[group[0]], group[0]
        unpack, text = in_node(e, e.grad[a.name])
        body = "\n    ".join(unpack)
        at = f'#line {e.line} "ops/{e.file}"\n'
        if len(group) > 1:
            if re.search(r"\bwanted\b", text):
                condition = "const int64_t wanted = " + " | ".join(f"int64_t{{needs({i})}} << {bit}" for bit, i in enumerate(group))
            else:
                condition = " || ".join(f"needs({i})" for i in group)
            places = ", ".join(f"grad_inputs[{i}]" for i in group)
            lines.append(f"  if ({condition}) {{\n    {body}\n{at}    std::tie({places}) = {text};\n  }}")
        elif a.is_list:
            lines.append(f"  {{\n    {body}\n{at}    assign_list(*this, grad_inputs, {index}, {text});\n  }}")
        else:
            lines.append(f"  if (needs({index})) {{\n    {body}\n{at}    grad_inputs[{index}] = {text};\n  }}")
    lines.append("}")
    return "\n".join(lines)


def saved_table(e: Entry) -> str:
    saved = all_saved(e)
    if not saved:
        return ""
    rows = [f'    {{"{s.public}", UT_OFFSET_IN({e.node_class}, {s.member}), SavedKind::{saved_kind(s)}}},' for s in saved]
    return (f"const SavedField* {e.node_class}::saved_fields(size_t* count) const {{\n  static const SavedField fields[] = {{\n" + "\n".join(rows)
            + f"\n  }};\n  *count = {len(saved)};\n  return fields;\n}}")


def saved_kind(s: Saved) -> str:
    return {"SavedTensor": "Tensor", "std::vector<SavedTensor>": "TensorList", "Scalar": "Scalar", "int64_t": "Int", "double": "Float", "bool": "Bool",
            "Dims": "Ints", "std::optional<Dims>": "OptInts", "DType": "DType", "Device": "Device", "std::optional<DType>": "OptDType", "std::string": "String",
            "std::optional<int64_t>": "OptInt", "std::optional<double>": "OptFloat", "std::optional<Scalar>": "OptScalar", "std::optional<bool>": "OptBool",
            "std::vector<Dims>": "IntsList", "std::vector<DType>": "DTypeList", "std::optional<std::string>": "OptString"}[s.type]


def needs_expr(e: Entry, member: str) -> str:
    """C++ condition under which a member must be saved: some argument whose formula uses it requires grad."""
    args = [a for a in e.diff_args if member in {s.member for s in saved_for(e, e.grad[a.name])}]
    if len(args) == len(e.diff_args) or not args:
        return ""
    flags = " | ".join(f"{a.name}_flags" for a in args)
    return f"({flags}) & kRequiresGrad" if len(args) > 1 else f"{flags} & kRequiresGrad"


def make_node(e: Entry, inplace: bool = False) -> list[str]:
    """Creates the node, its edges, and what is saved before the forward runs."""
    lines = [f"  auto* node = new {e.inplace_node_class if inplace else e.node_class};", "  NodeGuard guard(node);"]
    has_list = any(a.is_list for a in e.diff_args)
    if has_list:
        counts = " + ".join(f"{a.name}.size()" if a.is_list else "1" for a in e.diff_args)
        lines.append(f"  node->set_num_edges({counts});")
        lines.append("  size_t edge = 0;")
        for a in e.diff_args:
            if a.is_list:
                lines.append(f"  for (const Tensor& t : {a.name}) node->edges()[edge++] = edge_of(t);")
            else:
                lines.append(f"  node->edges()[edge++] = edge_of({a.name});")
    else:
        for i, a in enumerate(e.diff_args):
            lines.append(f"  set_edge(node->edges()[{i}], {a.name}, {a.name}_flags);")
    for s in all_saved(e):
        if s.arg in e.returns:
            continue
        when = needs_expr(e, s.member)
        if s.kind == "tensor":
            source = f"clone({s.source}, std::nullopt)" if inplace and s.arg == "self" else s.source
            act = f"node->{s.member}.save({source}, node);"
        elif s.kind == "list":
            act = f"save_list(node->{s.member}, {s.source}, node);"
        elif s.kind == "fact" and s.type == "Dims" and e.spec.get("hot"):  # without a temporary, where speed matters more than size
            act = f"for (int64_t n : {s.source[len('Dims('):-1]}) node->{s.member}.push_back(n);"
        else:
            act = f"node->{s.member} = to_saved({s.source});"
        lines.append(f"  if ({when}) {act}" if when else f"  {act}")
    lines.append("  node->finish_recording();")
    return lines


def save_results(e: Entry, source: dict[str, str]) -> list[str]:
    lines = []
    for s in all_saved(e):
        if s.arg not in e.returns:
            continue
        when = needs_expr(e, s.member)
        what = source[s.arg]
        if s.kind == "tensor":
            nondiff = s.arg in e.spec.get("nondiff", [])
            act = f"node->{s.member}.{'save' if nondiff else 'save_output'}({what}, node);"
        else:
            act = f"node->{s.member} = to_saved({s.source.replace(s.arg, what)});"
        lines.append(f"  if ({when}) {act}" if when else f"  {act}")
    return lines
