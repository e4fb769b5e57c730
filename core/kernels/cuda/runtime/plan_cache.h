// plan_cache.h: what a library prepared for a shape, kept by a key. Knows no library.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>

namespace undertow::core::cuda {

// Key: a struct of nothing but int64_t, compared as bytes.
template <class Key, class Plan>
class PlanCache {
 public:
  // `make` returns the plan, or a shared pointer to it, and is called if the key is new.
  template <class Make>
  std::shared_ptr<Plan> get(const Key& key, Make&& make) {
    {
      std::lock_guard lock(mutex_);
      auto found = plans_.find(key);
      if (found != plans_.end()) return found->second;
    }
    std::shared_ptr<Plan> fresh;
    if constexpr (std::is_convertible_v<decltype(make()), std::shared_ptr<Plan>>)
      fresh = make();
    else
      fresh = std::make_shared<Plan>(make());
    std::lock_guard lock(mutex_);
    if (plans_.size() >= kMaxPlans) plans_.clear();  // shapes that always change
    plans_.emplace(key, fresh);
    return fresh;
  }

 private:
  static_assert(std::is_trivially_copyable_v<Key> && sizeof(Key) % sizeof(uint64_t) == 0, "compared as words");
  static constexpr size_t kMaxPlans = 4096, kWords = sizeof(Key) / sizeof(uint64_t);
  struct Hash {
    size_t operator()(const Key& key) const {
      uint64_t words[kWords], h = 0;
      std::memcpy(words, &key, sizeof(key));
      for (uint64_t w : words) {
        h = (h ^ w) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 29;
      }
      return h;
    }
  };
  struct Equal {
    bool operator()(const Key& a, const Key& b) const { return std::memcmp(&a, &b, sizeof(Key)) == 0; }
  };
  std::mutex mutex_;  // guards plans_
  std::unordered_map<Key, std::shared_ptr<Plan>, Hash, Equal> plans_;
};

}  // namespace undertow::core::cuda
