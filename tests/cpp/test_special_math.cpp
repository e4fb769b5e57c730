// test_special_math.cpp: special_math.h against values computed to 40 digits, and torch's edge cases.
// No test framework, no tensors.
#include "core/kernels/cpu/math/special_math.h"
#include "core/kernels/cpu/math/vec_math.h"

#include <cmath>
#include <cstdio>
#include <limits>

namespace special = undertow::core::special;
namespace vm = undertow::core::vm;

namespace {

struct Value {
  const char* name;
  double got;
  double want;
};

int failures = 0;

void expect(bool truth, const char* sentence) {
  if (truth) return;
  ++failures;
  std::printf("FAIL %s\n", sentence);
}

void check_values() {
  const Value values[] = {
      {"lgamma", special::lgamma(0.1), 2.252712651734206},
      {"lgamma", special::lgamma(3.5), 1.2009736023470743},
      {"lgamma", special::lgamma(100.25), 360.28455963776423},
      {"lgamma", special::lgamma(-2.5), -0.056243716497674054},
      {"digamma", special::digamma(0.1), -10.423754940411076},
      {"digamma", special::digamma(1.0), -0.5772156649015329},
      {"digamma", special::digamma(2.5), 0.7031566406452432},
      {"digamma", special::digamma(40.0), 3.676327374034843},
      {"digamma", special::digamma(-0.5), 0.03648997397857652},
      {"digamma", special::digamma(-3.3), 3.620353460592126},
      {"trigamma", special::trigamma(0.1), 101.43329915079275},
      {"trigamma", special::trigamma(1.0), 1.6449340668482264},
      {"trigamma", special::trigamma(5.7), 0.19172248602981626},
      {"trigamma", special::trigamma(60.0), 0.016806327117635387},
      {"trigamma", special::trigamma(-3.3), 14.817739525515929},
      {"polygamma", special::polygamma(2, 0.3), -75.27253658872604},
      {"polygamma", special::polygamma(3, 7.5), 0.005772436656578694},
      {"polygamma", special::polygamma(5, 20.0), 8.48426620615823e-06},
      {"polygamma", special::polygamma(2, -1.5), -0.2362040516417274},
      {"polygamma", special::polygamma(0, 2.5), 0.7031566406452432},
      {"polygamma", special::polygamma(1, 2.5), 0.49035775610023485},
      {"zeta", special::zeta(1.1, 0.3), 13.925622630916047},
      {"zeta", special::zeta(2.0, 1.0), 1.6449340668482264},
      {"zeta", special::zeta(3.5, 20.0), 0.00023798942002684447},
      {"zeta", special::zeta(29.0, 12.0), 5.618580226101674e-32},
      {"zeta", special::zeta(40.0, 1.5), 9.043772695905904e-08},
      {"zeta", special::zeta(60.0, 40.0), 9.767463619540871e-97},
      {"erfcx", special::erfcx(-2.0), 108.94090438997797},
      {"erfcx", special::erfcx(0.2), 0.8090195199015807},
      {"erfcx", special::erfcx(0.7), 0.525930337349441},
      {"erfcx", special::erfcx(5.0), 0.11070463773306863},
      {"erfcx", special::erfcx(26.9), 0.02095912807445141},
      {"erfcx", special::erfcx(27.1), 0.020804658843080567},
      {"erfcx", special::erfcx(10000.0), 5.641895807268084e-05},
      {"log_ndtr", special::log_ndtr(-100.0), -5005.524208694205},
      {"log_ndtr", special::log_ndtr(-5.0), -15.064998393988725},
      {"log_ndtr", special::log_ndtr(-1.0), -1.8410216450092636},
      {"log_ndtr", special::log_ndtr(0.5), -0.3689464152886564},
      {"log_ndtr", special::log_ndtr(6.0), -9.865876455243758e-10},
      {"i0", special::i0(0.3), 1.022626879351597},
      {"i0", special::i0(-7.5), 268.16131151518937},
      {"i0", special::i0(19.9), 39513376.52006682},
      {"i0", special::i0(20.1), 48017874.1071365},
      {"i0", special::i0(300.0), 4.475847367935052e+128},
      {"i0e", special::i0e(0.3), 0.7575806251825479},
      {"i0e", special::i0e(-30.0), 0.0731459464822373},
      {"i0e", special::i0e(1000.0), 0.012617240455891257},
      {"i1", special::i1(0.3), 0.15169384000359276},
      {"i1", special::i1(-7.5), -249.58436542268814},
      {"i1", special::i1(19.9), 38507423.87486228},
      {"i1", special::i1(20.1), 46807739.533029884},
      {"i1", special::i1(300.0), 4.468381385036955e+128},
      {"i1e", special::i1e(0.3), 0.1123775606398388},
      {"i1e", special::i1e(-30.0), -0.07191633059864755},
      {"i1e", special::i1e(1000.0), 0.012610930256928629},
      {"sinc", vm::sinc(-1.5), -0.2122065907891938},
      {"entr", special::entr(0.25), 0.34657359027997264},
      {"entr", special::entr(3.0), -3.295836866004329},
  };
  for (const Value& v : values) {
    if (std::fabs(v.got - v.want) <= 2e-14 * std::fabs(v.want)) continue;
    ++failures;
    std::printf("FAIL %s: got %.17g, want %.17g\n", v.name, v.got, v.want);
  }
}

void check_edges() {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  expect(special::digamma(0.0) == -inf && special::digamma(-0.0) == inf, "digamma has signed poles at zero");
  expect(std::isnan(special::digamma(-2.0)), "digamma is nan at negative integers");
  expect(special::digamma(inf) == inf && std::isnan(special::digamma(-inf)), "digamma at the infinities");
  expect(special::trigamma(0.0) == inf && special::trigamma(inf) == 0.0, "trigamma at zero and infinity");
  expect(special::lgamma(-1.0) == inf && special::lgamma(0.0) == inf, "lgamma is inf at its poles");
  expect(special::zeta(1.0, 2.0) == inf && special::zeta(2.0, -1.0) == inf, "zeta is inf at its poles");
  expect(std::isnan(special::zeta(0.5, 2.0)) && std::isnan(special::zeta(2.5, -1.5)), "zeta is nan outside its domain");
  expect(special::log_ndtr(-inf) == -inf && special::log_ndtr(inf) == 0.0, "log_ndtr at the infinities");
  expect(special::i0e(inf) == 0.0 && std::isnan(special::i0(inf)), "i0 at infinity is torch's");
  expect(std::isnan(special::i0(nan)) && std::isnan(special::i1e(nan)), "Bessel functions keep nan");
  expect(vm::sinc(0.0) == 1.0, "sinc is one at zero");
  expect(special::xlogy(0.0, 0.0) == 0.0 && std::isnan(special::xlogy(0.0, nan)),
         "xlogy is zero at zero unless y is nan");
  expect(special::xlog1py(0.0, -1.0) == 0.0 && special::xlog1py(1.0, -1.0) == -inf, "xlog1py at the pole");
  expect(special::entr(0.0) == 0.0 && special::entr(-1.0) == -inf, "entr at zero and below");
}

}  // namespace

int main() {
  check_values();
  check_edges();
  if (failures == 0) std::printf("test_special_math: all passed\n");
  return failures == 0 ? 0 : 1;
}
