// test_gpt.cpp: examples/cpp/gpt.cpp learns a short text. With arguments it is that program:
// tests/nn/test_cpp_modules.py compares its losses with those of examples/demo.py.
#define main gpt_main
#include "examples/cpp/gpt.cpp"
#undef main

int main(int count, char** arguments) {
  if (count > 1) return gpt_main(count, arguments);
  char path[] = "/tmp/test_gpt.XXXXXX";
  if (mkstemp(path) < 0) return 2;
  {
    std::ofstream file(path);
    for (int k = 0; k < 150; k++) file << "When forty winters shall besiege thy brow,\n";
  }
  std::string words[] = {"gpt", "--steps", "5", "--text", path};
  char* pointers[5];
  for (int k = 0; k < 5; k++) pointers[k] = words[k].data();
  int status = gpt_main(5, pointers);
  std::remove(path);
  return status;
}
