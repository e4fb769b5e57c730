// nvrtc.cpp: NVRTC's functions. A program is compiled by the host's compiler into a shared library, whose bytes are its
// "CUBIN". Knows nothing of the driver; modules.cpp loads what this makes.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "driver_types.h"
#include "embedded_headers.h"

extern "C" char** environ;

namespace {

namespace fs = std::filesystem;

enum nvrtcResult : int {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
  NVRTC_ERROR_INVALID_INPUT = 3,
  NVRTC_ERROR_INVALID_PROGRAM = 4,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
  NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
  NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
  NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
  NVRTC_ERROR_INTERNAL_ERROR = 11,
};

struct Program {
  std::string name;
  std::string source;
  std::map<std::string, std::string> headers = {};
  std::map<std::string, std::string> lowered = {};  // by name expression
  bool compiled = false;
  std::string image = {};
  std::string log = {};
};

// A folder that goes with its content.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "emulated_nvrtc_XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make a folder in " + pattern);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void write_file(const fs::path& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// FNV-1a
constexpr uint64_t kHashBegin = 14695981039346656037u;
uint64_t hashed(std::string_view text, uint64_t hash) {
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

// A C identifier that reads like the expression and is the same in every process, because programs keep it with the
// image.
std::string lowered_name(const std::string& expression) {
  std::string result;
  for (char c : expression) {
    const bool word = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (word)
      result += c;
    else if (!result.empty() && result.back() != '_')
      result += '_';
  }
  const uint64_t hash = hashed(expression, kHashBegin);
  char digits[17];
  std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(hash ^ hash >> 32));
  return result + "_" + digits;
}

// The names in `extern "C" __global__ void name(...)`, with __launch_bounds__(...) anywhere between.
std::vector<std::string> kernels_with_c_linkage(const std::string& source) {
  constexpr std::string_view kBegin = "extern \"C\"";
  std::vector<std::string> result;
  for (size_t at = source.find(kBegin); at != source.npos; at = source.find(kBegin, at + 1)) {
    bool is_kernel = false;
    std::string word, before;
    for (size_t i = at + kBegin.size(); i < source.size(); ++i) {
      const char c = source[i];
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
        word += c;
        continue;
      }
      if (!word.empty()) before = std::exchange(word, "");
      is_kernel |= before == "__global__";
      if (c == '(' && before == "__launch_bounds__") {
        i = source.find(')', i);
      } else if (!std::isspace(static_cast<unsigned char>(c))) {
        const bool is_new = std::find(result.begin(), result.end(), before) == result.end();
        if (c == '(' && is_kernel && is_new) result.push_back(before);
        break;
      }
    }
  }
  return result;
}

// The end of the source: a symbol for each name expression, and for each kernel with C linkage.
std::string symbols(const Program& program) {
  std::string result = "\n";
  auto add = [&](const std::string& name, const std::string& expression) {
    result += "UNDERTOW_EMULATED_SYMBOL(" + name + ", " + expression + ")\n";
  };
  for (const auto& [expression, name] : program.lowered) {
    const size_t begin = expression.find_first_not_of(" &");
    add(name, expression.substr(begin == expression.npos ? 0 : begin));
  }
  for (const std::string& name : kernels_with_c_linkage(program.source)) add(name, name);
  return result;
}

struct Options {
  std::vector<std::string> arguments;  // for the host's compiler
  std::string standard = "-std=c++17";
  std::string architecture = "900";
};

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }
std::string after(const std::string& text, char mark) { return text.substr(text.find(mark) + 1); }

// What the host's compiler understands is passed on; what concerns the device's code is accepted. False: unknown.
bool read_option(const std::string& option, Options& options) {
  static const char* const kOfTheDevice[] = {"-use_fast_math",
                                             "-ftz",
                                             "-prec-",
                                             "-fmad",
                                             "-extra-device-vectorization",
                                             "-maxrregcount",
                                             "-default-device",
                                             "-device-debug",
                                             "-G",
                                             "-generate-line-info",
                                             "-lineinfo",
                                             "-restrict",
                                             "-dopt",
                                             "-device-as-default",
                                             "-disable-warnings",
                                             "-w",
                                             "-diag-",
                                             "-display-error-number",
                                             "-no-display-error-number",
                                             "-split-compile",
                                             "-minimal",
                                             "-no-cache",
                                             "-device-int128",
                                             "-relocatable-device-code",
                                             "-rdc",
                                             "-dlto",
                                             "-time",
                                             "-ptxas-options",
                                             "-Xptxas",
                                             "-pch",
                                             "-no-source-include",
                                             "-builtin-",
                                             "-err-no",
                                             "-brief-diagnostics"};
  const std::string plain = starts_with(option, "--") ? option.substr(1) : option;
  if (starts_with(plain, "-gpu-architecture=") || starts_with(plain, "-arch=")) {
    std::string digits;
    for (char c : after(plain, '=')) {
      if (std::isdigit(static_cast<unsigned char>(c))) digits += c;
    }
    options.architecture = digits + "0";
  } else if (starts_with(plain, "-std=")) {
    options.standard = plain;
  } else if (starts_with(plain, "-define-macro=")) {
    options.arguments.push_back("-D" + after(plain, '='));
  } else if (starts_with(plain, "-include-path=")) {
    options.arguments.push_back("-I" + fs::absolute(after(plain, '=')).string());
  } else if (starts_with(plain, "-I") && plain.size() > 2) {
    options.arguments.push_back("-I" + fs::absolute(plain.substr(2)).string());
  } else if ((starts_with(plain, "-D") || starts_with(plain, "-U")) && plain.size() > 2) {
    options.arguments.push_back(plain);
  } else {
    return std::any_of(std::begin(kOfTheDevice), std::end(kOfTheDevice),
                       [&](const char* prefix) { return starts_with(plain, prefix); });
  }
  return true;
}

std::vector<std::string> compiler() {
  const char* given = std::getenv("UNDERTOW_EMULATOR_CXX");
  std::istringstream words(given && *given ? given : "g++");
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(word);
  return result;
}

// Runs a command in a folder; what it writes goes to `log`. Returns its exit status, or -1.
int run(const std::vector<std::string>& command, const fs::path& folder, const fs::path& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

nvrtcResult compile(Program& program, const Options& options) {
  TemporaryFolder folder;
  const fs::path sources = folder.path() / "sources";
  const fs::path device_headers = folder.path() / "device";
  for (const auto& header : emulator::kEmbeddedHeaders) write_file(device_headers / header.name, header.text);
  for (const auto& [name, content] : program.headers) write_file(sources / name, content);
  write_file(sources / program.name, program.source + symbols(program));
  const fs::path image = folder.path() / "image.so";
  const fs::path log = folder.path() / "log";

  std::vector<std::string> command = compiler();
  const std::string compiler_name = command[0];
  // No symbols but the exported ones, and no function that no kernel calls: see cuda_on_host_warp.h.
  for (const char* flag :
       {"-x", "c++", "-O1", "-fPIC", "-shared", "-w", "-s", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
        "-fno-gnu-unique", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-DUNDERTOW_EMULATED"}) {
    command.push_back(flag);
  }
  command.push_back("-DUNDERTOW_EMULATED_ARCH=" + options.architecture);
  command.push_back(options.standard);
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  command.insert(command.end(),
                 {"-include", (device_headers / "cuda_on_host.h").string(), "-I.", program.name, "-o", image.string()});
  const int status = run(command, sources, log);
  program.log = read_file(log);
  if (status < 0) program.log += "cannot run " + compiler_name;
  if (status != 0) return NVRTC_ERROR_COMPILATION;
  program.image = read_file(image);
  program.compiled = true;
  return NVRTC_SUCCESS;
}

using nvrtcProgram = Program*;

}  // namespace

#define NVRTC_API EMULATOR_API(nvrtcResult)

// No version of NVIDIA's, and another one when a header of the device language changes: programs that keep compiled
// images by the compiler's version must not mix them.
NVRTC_API nvrtcVersion(int* major, int* minor) {
  constexpr int kEmulated = 1000;
  uint64_t hash = kHashBegin;
  for (const auto& header : emulator::kEmbeddedHeaders) hash = hashed(header.text, hash);
  *major = kEmulated;
  *minor = static_cast<int>(hash & 0x7fffffff);
  return NVRTC_SUCCESS;
}
NVRTC_API nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return NVRTC_SUCCESS;
}
NVRTC_API nvrtcGetSupportedArchs(int* architectures) {
  *architectures = 90;
  return NVRTC_SUCCESS;
}

EMULATOR_API(const char*) nvrtcGetErrorString(nvrtcResult result) {
  static const char* const kNames[] = {"NVRTC_SUCCESS",
                                       "NVRTC_ERROR_OUT_OF_MEMORY",
                                       "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                       "NVRTC_ERROR_INVALID_INPUT",
                                       "NVRTC_ERROR_INVALID_PROGRAM",
                                       "NVRTC_ERROR_INVALID_OPTION",
                                       "NVRTC_ERROR_COMPILATION",
                                       "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                       "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                       "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                       "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                       "NVRTC_ERROR_INTERNAL_ERROR"};
  return result >= 0 && result < static_cast<int>(std::size(kNames)) ? kNames[result] : "NVRTC_ERROR unknown";
}

NVRTC_API nvrtcCreateProgram(nvrtcProgram* out, const char* source, const char* name, int count,
                             const char* const* headers, const char* const* names) {
  if (!out || !source || count < 0 || (count && (!headers || !names))) return NVRTC_ERROR_INVALID_INPUT;
  auto* program =
      new Program{.name = name && *name ? fs::path(name).filename().string() : "default_program", .source = source};
  for (int i = 0; i < count; ++i) {
    const fs::path path(names[i]);
    const bool inside = path.is_relative() && path.lexically_normal().string().rfind("..", 0) != 0;
    if (!inside) {
      delete program;
      return NVRTC_ERROR_INVALID_INPUT;
    }
    program->headers[names[i]] = headers[i];
  }
  *out = program;
  return NVRTC_SUCCESS;
}

NVRTC_API nvrtcDestroyProgram(nvrtcProgram* program) {
  if (!program || !*program) return NVRTC_ERROR_INVALID_PROGRAM;
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

NVRTC_API nvrtcAddNameExpression(nvrtcProgram program, const char* expression) {
  if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
  if (program->compiled) return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
  program->lowered[expression] = lowered_name(expression);
  return NVRTC_SUCCESS;
}

NVRTC_API nvrtcGetLoweredName(nvrtcProgram program, const char* expression, const char** name) {
  if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
  if (!program->compiled) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
  auto it = program->lowered.find(expression);
  if (it == program->lowered.end()) return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
  *name = it->second.c_str();
  return NVRTC_SUCCESS;
}

NVRTC_API nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* given) {
  if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
  try {
    Options options;
    for (int i = 0; i < count; ++i) {
      if (read_option(given[i], options)) continue;
      program->log = std::string("unknown option ") + given[i];
      return NVRTC_ERROR_INVALID_OPTION;
    }
    return compile(*program, options);
  } catch (const std::exception& error) {
    program->log = error.what();
    return NVRTC_ERROR_INTERNAL_ERROR;
  }
}

NVRTC_API nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes) {
  if (!program || !program->compiled) return NVRTC_ERROR_INVALID_PROGRAM;
  *bytes = program->image.size();
  return NVRTC_SUCCESS;
}
NVRTC_API nvrtcGetCUBIN(nvrtcProgram program, char* out) {
  if (!program || !program->compiled) return NVRTC_ERROR_INVALID_PROGRAM;
  std::memcpy(out, program->image.data(), program->image.size());
  return NVRTC_SUCCESS;
}
// The same bytes: the driver takes either.
NVRTC_API nvrtcGetPTXSize(nvrtcProgram program, size_t* bytes) { return nvrtcGetCUBINSize(program, bytes); }
NVRTC_API nvrtcGetPTX(nvrtcProgram program, char* out) { return nvrtcGetCUBIN(program, out); }

NVRTC_API nvrtcGetProgramLogSize(nvrtcProgram program, size_t* bytes) {
  if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
  *bytes = program->log.size() + 1;
  return NVRTC_SUCCESS;
}
NVRTC_API nvrtcGetProgramLog(nvrtcProgram program, char* out) {
  if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
  std::memcpy(out, program->log.c_str(), program->log.size() + 1);
  return NVRTC_SUCCESS;
}
