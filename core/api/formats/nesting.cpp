// nesting.cpp: see nesting.h.
// build: small
#include "core/api/formats/nesting.h"

#include <vector>

#include "core/api/formats/file.h"

namespace undertow::formats {

namespace {

// The containers among the elements of a value.
std::vector<const IValue*> containers_in(const IValue& v) {
  std::vector<const IValue*> out;
  auto add = [&](const IValue& c) {
    if (c.isList() || c.isTuple() || c.isGenericDict()) out.push_back(&c);
  };
  if (v.isList())
    for (const IValue& c : v.toListRef()) add(c);
  if (v.isTuple())
    for (const IValue& c : v.toTupleRef()) add(c);
  if (v.isGenericDict())
    for (const auto& [k, c] : v.toGenericDict()) add(c);
  return out;
}

}  // namespace

void check_nesting(const IValue& value, size_t most_visits) {
  struct Open {
    std::vector<const IValue*> children;
    size_t next = 0;
  };
  size_t visits = 0;
  std::vector<Open> path;
  path.push_back({containers_in(value), 0});
  while (!path.empty()) {
    if (path.back().next == path.back().children.size()) {
      path.pop_back();
      continue;
    }
    const IValue* next = path.back().children[path.back().next++];
    UT_FORMAT_CHECK(path.size() < kDeepest, "load: containers that contain themselves, or are nested more than ",
                    kDeepest, " deep");
    UT_FORMAT_CHECK(++visits <= most_visits, "load: containers that share others too often");
    path.push_back({containers_in(*next), 0});
  }
}

}  // namespace undertow::formats
