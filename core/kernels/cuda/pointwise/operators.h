// operators.h: the pointwise operators of the tables as device code: their functors, and the programs made of them.
#pragma once
#include <initializer_list>
#include <span>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/device/loop_nest_host.h"
#include "core/kernels/cuda/pointwise/loop_params.h"
#include "core/kernels/pointwise.h"

namespace undertow::core::cuda {

using undertow::PointwiseOperands;
using undertow::PointwiseValue;

// One operator as tools/opgen writes it (emit_cuda.py).
struct PointwiseSource {
  struct Functor {
    DType dtype;
    const char* text;
  };
  const char* name;  // PointwiseOp::kernel_name()
  // How each parameter is written, for float and complex dtypes and for integers: as an element of the dtype (T), as
  // int64, double or bool (their first letters), or not at all (-).
  const char *parameters, *integer_parameters;
  std::initializer_list<Functor> functors;
};
std::span<const PointwiseSource> pointwise_sources();

// The kernels of one functor, one for each kind of layout.
struct PointwiseProgram {
  KernelTemplate dense, vectors, strided;
  const char* functor;
  // `functor`: a template of one type in the text, see pointwise/loop.cuh.
  PointwiseProgram(const std::string& text, const char* functor);
};

// Runs a functor with operands of these widths in bytes. The caller has written the operator's parameters.
void run_program(PointwiseProgram& program, DType argument, const ElementwiseIter& iter, const int64_t* widths,
                 PointwiseOperands& operands);
// The same for a loop that is not dense; the kinds of the inputs are written too, and none of them is a scalar.
using PointwiseLoop = Loop<undertow::kPointwiseInputs + 1>;
void run_loop(const Launcher& on, PointwiseProgram& program, DType argument, PointwiseLoop loop, int operands,
              const int64_t* widths, PointwiseOperands& o);

// Found by the operator's address; the first use of an operator and a dtype composes its program.
PointwiseProgram& program_of(const PointwiseOp& op, DType compute);
// Writes the operator's parameters for computation in a dtype.
void write_parameters(const PointwiseOp& op, DType compute, const Scalar* params, PointwiseValue* to);

}  // namespace undertow::core::cuda
