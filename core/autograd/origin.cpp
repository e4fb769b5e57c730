// origin.cpp: records where nodes were created, if anomaly mode or line recording is on.
#include "core/autograd/origin.h"

#include "core/autograd/recording.h"
#include "core/graph/diagnostics/provenance.h"
#include "core/graph/diagnostics/trace.h"
#include "core/graph/engine/graph_task.h"

namespace undertow::core {

NodeOrigin* (*make_node_origin)() = nullptr;

namespace ops {
void attach_origin(Node* node) {
  provenance::adopt_process_mode();
  if (trace::on()) trace::node_recorded(node);
  if (!make_node_origin) return;
  NodeOrigin* o = make_node_origin();
  if (!o) return;
  node->make_extra().origin = Ref<NodeOrigin>(o);
  if (current_node && current_node->extra() && current_node->extra()->origin) {
    o->parent = current_node->extra()->origin;
    o->parent_name = current_node->name();
  }
}
}  // namespace ops

}  // namespace undertow::core
