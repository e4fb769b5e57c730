// test_storage.cpp: the pool, the caching allocator, storages and tensor handles: what is freed, and when.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "core/base/object_pool.h"
#include "core/tensor/layout.h"
#include "core/tensor/storage/allocator.h"
#include "core/tensor/tensor.h"
#include "tests/cpp/check.h"

using namespace undertow::core;

static void test_blocks_are_aligned_and_reused() {
  for (size_t bytes : {size_t{1}, size_t{600}, size_t{4097}, size_t{100000}, size_t{5} << 20}) {
    void* p = allocate_bytes(bytes);
    CHECK(reinterpret_cast<uintptr_t>(p) % 64 == 0);
    std::memset(p, 1, bytes);
    deallocate_bytes(p, bytes);
    void* q = allocate_bytes(bytes);
    CHECK(q == p);
    deallocate_bytes(q, bytes);
  }
}

static void test_statistics_follow() {
  empty_cache();
  AllocatorStats before = allocator_stats();
  reset_peak_stats();
  size_t bytes = size_t{8} << 20;
  void* p = allocate_bytes(bytes);
  CHECK(allocator_stats().in_use >= before.in_use + bytes);
  CHECK(allocator_stats().in_use <= before.in_use + bytes + bytes / 8);  // size classes are 1/8 apart
  deallocate_bytes(p, bytes);
  CHECK(allocator_stats().in_use == before.in_use);
  CHECK(allocator_stats().peak_in_use >= before.in_use + bytes);
  CHECK(allocator_stats().cached >= bytes);
  empty_cache();
  CHECK(allocator_stats().cached == 0);
}

static void test_every_size_fits_its_class() {
  std::vector<std::pair<char*, size_t>> blocks;
  for (size_t bytes = 1; bytes < 3000; bytes += 7) {
    char* p = static_cast<char*>(allocate_bytes(bytes));
    std::memset(p, static_cast<int>(bytes & 0xff), bytes);
    blocks.emplace_back(p, bytes);
  }
  for (auto [p, bytes] : blocks) {
    CHECK(p[0] == static_cast<char>(bytes & 0xff) && p[bytes - 1] == static_cast<char>(bytes & 0xff));
    deallocate_bytes(p, bytes);
  }
}

static void test_pool_blocks_cross_threads() {
  std::vector<void*> blocks;
  for (int i = 0; i < 5000; i++) blocks.push_back(pool_alloc(96));
  std::thread([&] {
    for (void* p : blocks) pool_free(p, 96);
  }).join();
  std::vector<void*> again;
  for (int i = 0; i < 5000; i++) {
    again.push_back(pool_alloc(96));
    std::memset(again.back(), i & 0xff, 96);
  }
  for (int i = 0; i < 5000; i++) CHECK(static_cast<unsigned char*>(again[static_cast<size_t>(i)])[95] == (i & 0xff));
  for (void* p : again) pool_free(p, 96);
}

static void test_threads_allocate_and_free_for_each_other() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([] {
      std::vector<Tensor> mine;
      for (int i = 0; i < 2000; i++) {
        int64_t sizes[] = {int64_t{1} << (i % 15)};
        mine.push_back(empty(sizes, DType::Float32));
        if (mine.size() > 20) mine.erase(mine.begin());
      }
    });
  for (auto& t : threads) t.join();
}

static void test_a_borrowed_storage_calls_its_deleter_once() {
  static int deleted = 0;
  float data[4] = {1, 2, 3, 4};
  {
    Ref<Storage> s = Storage::borrow(data, sizeof data, [](void* c) { ++*static_cast<int*>(c); }, &deleted);
    Ref<Storage> second = s;
    CHECK(s->data() == reinterpret_cast<char*>(data) && !s->resizable() && deleted == 0);
  }
  CHECK(deleted == 1);
}

static void test_resizing_keeps_bytes_and_identity() {
  for (size_t start : {size_t{8}, size_t{4000}}) {
    Ref<Storage> s = Storage::allocate(start);
    std::memset(s->data(), 7, start);
    for (size_t bytes : {start * 3, start * 100, start}) {
      s->resize(bytes);
      CHECK(s->nbytes() == bytes && s->data()[0] == 7 && s->data()[start - 1] == 7);
    }
    s->resize(0);
    CHECK(s->nbytes() == 0);
  }
}

static void test_swapped_storages_keep_their_versions() {
  Ref<Storage> a = Storage::allocate(16), b = Storage::allocate(4096);
  a->data()[0] = 'a';
  b->data()[0] = 'b';
  a->set_version(3);
  a->swap_bytes(*b);
  CHECK(a->data()[0] == 'b' && b->data()[0] == 'a' && a->nbytes() == 4096 && b->nbytes() == 16);
  CHECK(a->version() == 3 && b->version() == 0);
}

static void test_aliases_share_bytes_and_version() {
  int64_t sizes[] = {2, 3, 4, 5, 6, 7};  // more dimensions than are stored inline
  Tensor t = empty(sizes, DType::Float64);
  Tensor u = alias(t);
  CHECK(u.dim() == 6 && u.data() == t.data() && u.numel() == 5040 && u.is_contiguous());
  t.bump_version("a test");
  CHECK(u.version() == 1);
  CHECK(t.storage().use_count() == 2);
  t.reset();
  CHECK(u.storage().use_count() == 1 && u.size(-1) == 7 && u.stride(0) == 2520);
}

static void test_bad_sizes_raise() {
  auto raises = [](std::vector<int64_t> sizes, const char* part) {
    try {
      empty(sizes, DType::Float32);
    } catch (const Error& e) {
      return std::strstr(e.what(), part) != nullptr;
    }
    return false;
  };
  CHECK(raises({2, -1}, "negative dimension"));
  CHECK(raises({int64_t{1} << 40, int64_t{1} << 40}, "overflow"));
  CHECK(raises({int64_t{1} << 46}, "cannot allocate") || raises({int64_t{1} << 46}, "not enough memory"));
  int64_t nothing[] = {0, int64_t{1} << 40};
  CHECK(empty(nothing, DType::Float32).numel() == 0);
}

static void test_memory_works_after_a_fork() {
  int64_t sizes[] = {1 << 16};
  Tensor before = empty(sizes, DType::Float32);
  pid_t child = fork();
  if (child == 0) {
    before.reset();
    for (int i = 0; i < 100; i++) std::memset(empty(sizes, DType::Float32).data(), 0, sizeof(float) << 16);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main() {
  test_blocks_are_aligned_and_reused();
  test_statistics_follow();
  test_every_size_fits_its_class();
  test_pool_blocks_cross_threads();
  test_threads_allocate_and_free_for_each_other();
  test_a_borrowed_storage_calls_its_deleter_once();
  test_resizing_keeps_bytes_and_identity();
  test_swapped_storages_keep_their_versions();
  test_aliases_share_bytes_and_version();
  test_bad_sizes_raise();
  test_memory_works_after_a_fork();
  return report("test_storage");
}
