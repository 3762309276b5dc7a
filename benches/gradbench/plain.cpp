// GradBench's tasks in handwritten C++: the formulas' plain loops in their order, and derivatives
// derived by hand. run.py compiles and calls it; functions get their arguments and write a result.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

using Vec = std::vector<double>;
using Size = std::int64_t;

double log_sum_exp(const double *x, Size n) {
  double top = x[0];
  for (Size i = 1; i < n; i++) top = std::max(top, x[i]);
  double sum = 0;
  for (Size i = 0; i < n; i++) sum += std::exp(x[i] - top);
  return top + std::log(sum);
}

double sign(double t) { return t > 0 ? 1.0 : t < 0 ? -1.0 : 0.0; }

// The index of entry (r, c) of a strictly lower triangle in column-major order.
Size packed(Size d, Size r, Size c) { return c * d - c * (c + 1) / 2 + r - c - 1; }

double log_gamma(double a, Size p) {
  double sum = double(p * (p - 1)) / 4 * std::log(M_PI);
  for (Size j = 0; j < p; j++) sum += std::lgamma(a - double(j) / 2);
  return sum;
}

}  // namespace

extern "C" {

void llsq_primal(const double *x, Size m, Size n, double *out) {
  double sum = 0;
  for (Size i = 0; i < n; i++) {
    const double t = -1 + 2 * double(i) / double(n - 1);
    double s = sign(t), power = 1;
    for (Size j = 0; j < m; j++) {
      s -= x[j] * power;
      power *= t;
    }
    sum += s * s;
  }
  *out = sum / 2;
}

void llsq_gradient(const double *x, Size m, Size n, double *out) {
  std::fill(out, out + m, 0.0);
  for (Size i = 0; i < n; i++) {
    const double t = -1 + 2 * double(i) / double(n - 1);
    double s = sign(t), power = 1;
    for (Size j = 0; j < m; j++) {
      s -= x[j] * power;
      power *= t;
    }
    power = 1;
    for (Size j = 0; j < m; j++) {
      out[j] -= s * power;
      power *= t;
    }
  }
}

void lse_primal(const double *x, Size n, double *out) { *out = log_sum_exp(x, n); }

void lse_gradient(const double *x, Size n, double *out) {
  double top = x[0];
  for (Size i = 1; i < n; i++) top = std::max(top, x[i]);
  double sum = 0;
  for (Size i = 0; i < n; i++) {
    out[i] = std::exp(x[i] - top);
    sum += out[i];
  }
  for (Size i = 0; i < n; i++) out[i] /= sum;
}

void gmm_objective(Size d, Size k, Size n, const double *x, Size m, double gamma, const double *alpha, const double *mu,
                   const double *q, const double *l, double *out) {
  const Size triangle = d * (d - 1) / 2;
  Vec scale(k * d), weight(k), term(k), centred(d);
  for (Size c = 0; c < k; c++) {
    weight[c] = alpha[c];
    for (Size r = 0; r < d; r++) {
      scale[c * d + r] = std::exp(q[c * d + r]);
      weight[c] += q[c * d + r];
    }
  }
  double likelihood = 0;
  for (Size i = 0; i < n; i++) {
    for (Size c = 0; c < k; c++) {
      for (Size r = 0; r < d; r++) centred[r] = x[i * d + r] - mu[c * d + r];
      double distance = 0;
      for (Size r = 0; r < d; r++) {
        double row = scale[c * d + r] * centred[r];
        for (Size s = 0; s < r; s++) row += l[c * triangle + packed(d, r, s)] * centred[s];
        distance += row * row;
      }
      term[c] = weight[c] - distance / 2;
    }
    likelihood += log_sum_exp(term.data(), k);
  }
  double squares = 0, sums = 0;
  for (Size c = 0; c < k; c++) {
    for (Size r = 0; r < d; r++) {
      squares += scale[c * d + r] * scale[c * d + r];
      sums += q[c * d + r];
    }
    for (Size s = 0; s < triangle; s++) squares += l[c * triangle + s] * l[c * triangle + s];
  }
  const double prior = gamma * gamma / 2 * squares - double(m) * sums;
  const double free = double(d + m + 1);
  const double constant = free * double(d) * (std::log(gamma) - std::log(2.0) / 2) - log_gamma(free / 2, d);
  *out = likelihood - double(n) * (double(d) / 2 * std::log(2 * M_PI) + log_sum_exp(alpha, k)) - prior +
         double(k) * constant;
}

// The result: alpha [k], mu [k, d], q [k, d], l [k, d (d - 1) / 2], one after the other.
void gmm_jacobian(Size d, Size k, Size n, const double *x, Size m, double gamma, const double *alpha, const double *mu,
                  const double *q, const double *l, double *out) {
  const Size triangle = d * (d - 1) / 2;
  double *by_alpha = out, *by_mu = by_alpha + k, *by_q = by_mu + k * d, *by_l = by_q + k * d;
  std::fill(out, out + k + 2 * k * d + k * triangle, 0.0);
  Vec scale(k * d), weight(k), term(k), centred(k * d), rows(k * d);
  for (Size c = 0; c < k; c++) {
    weight[c] = alpha[c];
    for (Size r = 0; r < d; r++) {
      scale[c * d + r] = std::exp(q[c * d + r]);
      weight[c] += q[c * d + r];
    }
  }
  for (Size i = 0; i < n; i++) {
    for (Size c = 0; c < k; c++) {
      double *y = &centred[c * d], *row = &rows[c * d];
      for (Size r = 0; r < d; r++) y[r] = x[i * d + r] - mu[c * d + r];
      double distance = 0;
      for (Size r = 0; r < d; r++) {
        row[r] = scale[c * d + r] * y[r];
        for (Size s = 0; s < r; s++) row[r] += l[c * triangle + packed(d, r, s)] * y[s];
        distance += row[r] * row[r];
      }
      term[c] = weight[c] - distance / 2;
    }
    const double total = log_sum_exp(term.data(), k);
    for (Size c = 0; c < k; c++) {
      const double share = std::exp(term[c] - total), *y = &centred[c * d], *row = &rows[c * d];
      by_alpha[c] += share;
      for (Size r = 0; r < d; r++) {
        const double by_row = -share * row[r];
        by_q[c * d + r] += share + by_row * scale[c * d + r] * y[r];
        by_mu[c * d + r] -= by_row * scale[c * d + r];
        for (Size s = 0; s < r; s++) {
          by_l[c * triangle + packed(d, r, s)] += by_row * y[s];
          by_mu[c * d + s] -= by_row * l[c * triangle + packed(d, r, s)];
        }
      }
    }
  }
  const double all = log_sum_exp(alpha, k);
  for (Size c = 0; c < k; c++) {
    by_alpha[c] -= double(n) * std::exp(alpha[c] - all);
    for (Size r = 0; r < d; r++) {
      by_q[c * d + r] -= gamma * gamma * scale[c * d + r] * scale[c * d + r] - double(m);
    }
    for (Size s = 0; s < triangle; s++) by_l[c * triangle + s] -= gamma * gamma * l[c * triangle + s];
  }
}

}  // extern "C"

namespace {

// One Runge-Kutta step. The arguments b, c, d keep the points of evaluation for the derivatives.
struct Stages {
  Vec a, b, c, d;
  explicit Stages(Size n) : a(n), b(n), c(n), d(n) {}
  void of(const double *x, const double *y, Size n, double h) {
    a[0] = b[0] = c[0] = d[0] = x[0];
    for (Size i = 1; i < n; i++) a[i] = x[i] * y[i - 1];
    for (Size i = 1; i < n; i++) b[i] = x[i] * (y[i - 1] + h / 2 * a[i - 1]);
    for (Size i = 1; i < n; i++) c[i] = x[i] * (y[i - 1] + h / 2 * b[i - 1]);
    for (Size i = 1; i < n; i++) d[i] = x[i] * (y[i - 1] + h * c[i - 1]);
  }
  void step(const double *x, const double *y, Size n, double h, double *next) {
    of(x, y, n, h);
    for (Size i = 0; i < n; i++) next[i] = y[i] + h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]);
  }
};

}  // namespace

extern "C" {

void ode_primal(const double *x, Size n, Size s, double *out) {
  Stages stages(n);
  std::fill(out, out + n, 0.0);
  for (Size k = 0; k < s; k++) stages.step(x, out, n, 2 / double(s), out);
}

void ode_gradient(const double *x, Size n, Size s, double *out) {
  const double h = 2 / double(s);
  Stages stages(n);
  Vec states((s + 1) * n, 0.0);
  for (Size k = 0; k < s; k++) stages.step(x, &states[k * n], n, h, &states[(k + 1) * n]);
  std::fill(out, out + n, 0.0);
  Vec by_y(n, 0.0), by_a(n), by_b(n), by_c(n), by_d(n);
  by_y[n - 1] = 1;
  for (Size k = s - 1; k >= 0; k--) {
    const double *y = &states[k * n];
    stages.of(x, y, n, h);
    const Vec &a = stages.a, &b = stages.b, &c = stages.c;
    for (Size i = 0; i < n; i++) {
      by_a[i] = by_d[i] = h / 6 * by_y[i];
      by_b[i] = by_c[i] = h / 3 * by_y[i];
    }
    out[0] += by_d[0];
    for (Size i = 1; i < n; i++) {
      out[i] += by_d[i] * (y[i - 1] + h * c[i - 1]);
      by_y[i - 1] += x[i] * by_d[i];
      by_c[i - 1] += h * x[i] * by_d[i];
    }
    out[0] += by_c[0];
    for (Size i = 1; i < n; i++) {
      out[i] += by_c[i] * (y[i - 1] + h / 2 * b[i - 1]);
      by_y[i - 1] += x[i] * by_c[i];
      by_b[i - 1] += h / 2 * x[i] * by_c[i];
    }
    out[0] += by_b[0];
    for (Size i = 1; i < n; i++) {
      out[i] += by_b[i] * (y[i - 1] + h / 2 * a[i - 1]);
      by_y[i - 1] += x[i] * by_b[i];
      by_a[i - 1] += h / 2 * x[i] * by_b[i];
    }
    out[0] += by_a[0];
    for (Size i = 1; i < n; i++) {
      out[i] += by_a[i] * y[i - 1];
      by_y[i - 1] += x[i] * by_a[i];
    }
  }
}

void kmeans_cost(const double *points, Size n, Size d, const double *centroids, Size k, double *out) {
  double sum = 0;
  for (Size i = 0; i < n; i++) {
    double least = INFINITY;
    for (Size c = 0; c < k; c++) {
      double distance = 0;
      for (Size j = 0; j < d; j++) {
        const double apart = points[i * d + j] - centroids[c * d + j];
        distance += apart * apart;
      }
      least = std::min(least, distance);
    }
    sum += least;
  }
  *out = sum;
}

void kmeans_dir(const double *points, Size n, Size d, const double *centroids, Size k, double *out) {
  Vec slope(k * d, 0.0), curvature(k * d, 0.0);
  for (Size i = 0; i < n; i++) {
    double least = INFINITY;
    Size nearest = 0;
    for (Size c = 0; c < k; c++) {
      double distance = 0;
      for (Size j = 0; j < d; j++) {
        const double apart = points[i * d + j] - centroids[c * d + j];
        distance += apart * apart;
      }
      if (distance < least) {
        least = distance;
        nearest = c;
      }
    }
    for (Size j = 0; j < d; j++) {
      slope[nearest * d + j] += 2 * (centroids[nearest * d + j] - points[i * d + j]);
      curvature[nearest * d + j] += 2;
    }
  }
  for (Size p = 0; p < k * d; p++) out[p] = slope[p] / curvature[p];
}

}  // extern "C"
