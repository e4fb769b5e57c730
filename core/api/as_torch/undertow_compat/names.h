// names.h: torch's namespaces. Every name of undertow is one of torch, at and c10 too.
#pragma once
#include <undertow/undertow.h>

#include <undertow/extension/boxed.h>

// What torch's headers include, and programs therefore do not.
#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <undertow_compat/half.h>

// Using-directives, and not aliases: a program may add names of its own to these namespaces. Nested namespaces
// (torch::autograd, torch::nn) are undertow's, found through the directive.
namespace torch {
using namespace undertow;
}
namespace at {
using namespace undertow;
}
namespace c10 {
using namespace undertow;
}
