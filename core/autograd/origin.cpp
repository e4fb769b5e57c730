// origin.cpp: where nodes were made, when anomaly mode or line recording is on.
#include "core/autograd/origin.h"

#include "core/autograd/recording.h"

namespace undertow {

NodeOrigin* (*make_node_origin)() = nullptr;

namespace ops {
void attach_origin(Node* node) {
  if (!make_node_origin) return;
  if (NodeOrigin* o = make_node_origin()) node->make_extra().origin = Ref<NodeOrigin>(o);
}
}  // namespace ops

}  // namespace undertow
