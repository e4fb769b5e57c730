"""`torch.fx`: programs as graphs in Python. A `Tracer` records what a module calls, a `GraphModule` runs the recorded graph as Python code.

It is plain Python over `__torch_function__`: nothing is compiled or optimized. Libraries use it to generate code (e3nn) or to rewrite models.
"""

from undertow.as_torch.shims.fx._symbolic_trace import ProxyableClassMeta as ProxyableClassMeta
from undertow.as_torch.shims.fx._symbolic_trace import Tracer as Tracer
from undertow.as_torch.shims.fx._symbolic_trace import symbolic_trace as symbolic_trace
from undertow.as_torch.shims.fx._symbolic_trace import wrap as wrap
from undertow.as_torch.shims.fx.graph import CodeGen as CodeGen
from undertow.as_torch.shims.fx.graph import Graph as Graph
from undertow.as_torch.shims.fx.graph_module import GraphModule as GraphModule
from undertow.as_torch.shims.fx.interpreter import Interpreter as Interpreter
from undertow.as_torch.shims.fx.interpreter import Transformer as Transformer
from undertow.as_torch.shims.fx.node import Node as Node
from undertow.as_torch.shims.fx.node import has_side_effect as has_side_effect
from undertow.as_torch.shims.fx.node import map_arg as map_arg
from undertow.as_torch.shims.fx.proxy import Proxy as Proxy

__all__ = [
    "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "Tracer", "Transformer", "has_side_effect", "map_arg",
    "symbolic_trace", "wrap",
]  # fmt: skip
