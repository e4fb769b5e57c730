// test_files.cpp: save and load from C++: what is written is read again, and corrupt files raise. With arguments it is
// a tool of tests/package/test_cpp_files.py: `copy FROM TO` loads and saves, `print FILE` prints the tensors of a list.
#include <undertow/undertow.h>

#include <cstring>
#include <fstream>
#include <iostream>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

using namespace undertow;

static IValue sample() {
  Tensor base = arange(12, kFloat);
  return IValue::dict({{"weight", base.view({3, 4})},
                       {"transposed", base.view({3, 4}).t()},
                       {"part", base.slice(0, 2, 5)},
                       {"numbers", IValue::List{1, -70000, int64_t{1} << 40, 2.5, true, IValue(), "text"}},
                       {"pair", IValue::tuple({1, "a"})},
                       {"complex", std::complex<double>(1, -2)},
                       {"narrow", tensor({1, 2}, kUInt16)},
                       {"half", tensor({1.5}, kHalf)},
                       {"leaf", ones({2}, requires_grad())}});
}

static void test_what_is_saved_is_loaded() {
  IValue got = pickle_load(pickle_save(sample()));
  Tensor w = got.at("weight").toTensor(), t = got.at("transposed").toTensor();
  CHECK(w.sizes() == std::vector<int64_t>({3, 4}) && equal(w.t(), t) && w.data_ptr() == t.data_ptr());
  CHECK(got.at("part").toTensor().storage_offset() == 2 && got.at("leaf").toTensor().requires_grad());
  const IValue::List& n = got.at("numbers").toListRef();
  CHECK(n[0].toInt() == 1 && n[1].toInt() == -70000 && n[2].toInt() == int64_t{1} << 40 && n[3].toDouble() == 2.5);
  CHECK(n[4].toBool() && n[5].isNone() && n[6].toStringRef() == "text" && got.at("pair").toTupleRef().size() == 2);
  CHECK(got.at("complex").toComplexDouble() == std::complex<double>(1, -2));
  CHECK(got.at("narrow").toTensor().dtype() == kUInt16 && got.at("half").toTensor().item<float>() == 1.5f);
  CHECK(throws([&] { got.at("pair").toTensor(); }, "expected a Tensor, but the value is a tuple"));
  CHECK(throws([&] { got.at("missing"); }, "has no key 'missing'"));
  CHECK(throws([&] { pickle_save(Tensor()); }, "only strided tensors"));
  IValue list{IValue::List()};
  list.toListRef().push_back(list);
  CHECK(throws([&] { pickle_save(list); }, "contains itself"));
  list.toListRef().clear();
}

// Every file with one byte changed or cut off at any place loads, or raises our error.
static void test_corrupt_files_raise(const std::vector<char>& good) {
  int rejected = 0;
  auto survives = [&](const std::vector<char>& bytes) {
    try {
      pickle_load(bytes);
    } catch (const Error&) {
      rejected++;
    } catch (...) {
      return false;
    }
    return true;
  };
  for (size_t cut = 0; cut < good.size(); cut += 7)
    CHECK(survives({good.begin(), good.begin() + static_cast<ptrdiff_t>(cut)}));
  CHECK(rejected > 0);
  for (size_t at = 0; at < good.size(); at++)
    for (char flip : {'\x01', '\x80', '\xff'}) {
      std::vector<char> bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      CHECK(survives(bad));
    }
}

// A zip archive around any pickle, so that the interpreter sees it.
static std::vector<char> archive_of(const std::string& pickle) {
  std::vector<char> bytes = pickle_save(IValue(std::string(pickle.size(), 'x')));
  // The record's pickle is: 80 02 'X' length text '.'; replace it and both checksums.
  auto crc = [](const std::string& s) {
    uint32_t c = ~0u;
    for (unsigned char b : s) {
      c ^= b;
      for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    }
    return ~c;
  };
  std::string all(bytes.begin(), bytes.end());
  std::string text(pickle.size(), 'x');
  std::string old = std::string("\x80\x02X", 3);
  for (size_t i = 0; i < 4; i++) old += static_cast<char>(pickle.size() >> (8 * i));
  old += text + ".";
  std::string now = pickle + std::string(old.size() - pickle.size(), '.');
  auto little = [](uint32_t v) {
    std::string s;
    for (int i = 0; i < 4; i++) s += static_cast<char>(v >> (8 * i));
    return s;
  };
  std::string from = little(crc(old)), to = little(crc(now));
  for (size_t at = all.find(from); at != std::string::npos; at = all.find(from, at + 4)) all.replace(at, 4, to);
  all.replace(all.find(old), old.size(), now);
  return {all.begin(), all.end()};
}

static void test_integers_of_a_few_bytes_keep_their_sign() {
  CHECK(pickle_load(archive_of(std::string("\x80\x02\x8a\x02\x00\xff.", 7))).toInt() == -256);
  CHECK(pickle_load(archive_of(std::string("\x80\x02\x8a\x03\x00\xff\x00.", 8))).toInt() == 0xff00);
}

static void test_hostile_pickles() {
  auto load = [](const std::string& p) { return pickle_load(archive_of("\x80\x02" + p)); };
  CHECK(load("K\x07.").toInt() == 7);
  CHECK(throws([&] { load("cos\nsystem\nX\x02\x00\x00\x00ls\x85R."); }, "Unsupported global: GLOBAL os.system"));
  CHECK(throws([&] { load("cbuiltins\neval\n."); }, "Unsupported global: GLOBAL builtins.eval"));
  CHECK(throws([&] { load("K\x01K\x02R."); }, "which load does not call"));
  CHECK(throws([&] { load("ccollections\nOrderedDict\n."); }, "cannot be loaded as a value"));
  const std::string put = "q\x01", get = "h\x01";
  CHECK(throws([&] { load("]" + put + get + "a."); }, "containers that"));
  std::string deep;
  for (int i = 0; i < 100000; i++) deep += "]";
  for (int i = 0; i < 99999; i++) deep += "a";
  CHECK(throws([&] { load(deep + "."); }, "nested more than"));
  std::string tuples(1, ')');
  for (int i = 0; i < 100000; i++) tuples += '\x85';
  CHECK(throws([&] { load(tuples + "."); }, "nested more than"));
  std::string wide = "]" + put;  // each list contains the previous one twice: 2^200 paths
  for (int i = 0; i < 200; i++) wide += "]" + get + "a" + get + "a" + put;
  CHECK(throws([&] { load(wide + std::string(201, '0') + get + "."); }, "share others too often"));
  CHECK(throws([&] { load("K\x01j" + std::string(4, '\x7f') + "."); }, "which it does not contain"));
  CHECK(throws([&] { load("X\xff\xff\xff\xff."); }, "are left"));
}

static void test_safetensors() {
  NamedTensors tensors = {
      {"a", arange(3, kByte)}, {"b \"q\" \n", arange(4, kDouble).view({2, 2}).t()}, {"e", empty({0, 3})}};
  std::string path = "test_files.safetensors";
  save_file(tensors, path, {{"format", "pt"}, {"note", "x"}});
  std::map<std::string, std::string> metadata;
  NamedTensors got = load_file(path, &metadata);
  CHECK(metadata["note"] == "x" && got.size() == 3 && got[1].first == tensors[1].first);
  for (size_t i = 0; i < 3; i++)
    CHECK(equal(got[i].second, tensors[i].second) && got[i].second.dtype() == tensors[i].second.dtype());
  CHECK(equal(load(path).at("a").toTensor(), tensors[0].second));
  std::ifstream in(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  test_corrupt_files_raise(bytes);
  std::remove(path.c_str());
  CHECK(throws([] { load("no_such_file.pt"); }, "No such file"));
  CHECK(throws([&] { save_file({{"a", ones({1})}, {"a", ones({1})}}, path); }, "occurs twice"));
  std::ifstream left(path);
  CHECK(!left.good());
}

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "copy") == 0) {
    save(load(argv[2]), argv[3]);
    return 0;
  }
  if (argc == 3 && std::strcmp(argv[1], "print") == 0) {
    for (const Tensor& t : load(argv[2]).toTensorVector()) std::cout << t << std::string(1, '\0');
    return 0;
  }
  test_what_is_saved_is_loaded();
  test_integers_of_a_few_bytes_keep_their_sign();
  test_corrupt_files_raise(pickle_save(IValue::List{arange(3), tensor({true, false}), 2, "x"}));
  test_hostile_pickles();
  test_safetensors();
  return report("test_files");
}
