// The papers' gradients and Jacobians in handwritten C++: the formulas' plain loops in their order,
// derivatives derived by hand. run.py compiles and calls it; functions write to a buffer argument.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

using Vec = std::vector<double>;
using Size = std::int64_t;

void cross(const double *a, const double *b, double *out) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// A rotation about r by its length: the matrix, and the parts of its derivatives by r.
struct Turn {
  double theta, sine, cosine, axis[3], matrix[9];
  explicit Turn(const double *r) {
    theta = std::sqrt(dot(r, r));
    sine = std::sin(theta);
    cosine = std::cos(theta);
    for (Size k = 0; k < 3; k++) axis[k] = theta == 0 ? 0 : r[k] / theta;
    for (Size i = 0; i < 3; i++) {
      for (Size j = 0; j < 3; j++) matrix[3 * i + j] = (i == j) * cosine + (1 - cosine) * axis[i] * axis[j];
    }
    matrix[1] -= sine * axis[2];
    matrix[2] += sine * axis[1];
    matrix[3] += sine * axis[2];
    matrix[5] -= sine * axis[0];
    matrix[6] -= sine * axis[1];
    matrix[7] += sine * axis[0];
  }
  // The derivatives of the rotated x by r: column k in by[k].
  void by_rotation(const double *x, double by[3][3]) const {
    double around[3], moved[3], turned[3];
    cross(axis, x, around);
    const double along = dot(axis, x);
    for (Size k = 0; k < 3; k++) {
      if (theta == 0) {
        double unit[3] = {0, 0, 0};
        unit[k] = 1;
        cross(unit, x, by[k]);
        continue;
      }
      for (Size i = 0; i < 3; i++) moved[i] = ((i == k) - axis[i] * axis[k]) / theta;
      cross(moved, x, turned);
      const double moved_along = dot(moved, x);
      for (Size i = 0; i < 3; i++) {
        by[k][i] = axis[k] * (-sine * x[i] + cosine * around[i] + sine * along * axis[i]) + sine * turned[i] +
                   (1 - cosine) * (moved[i] * along + axis[i] * moved_along);
      }
    }
  }
};

// The projection of a point, with derivatives by the camera (2 by 11) and by the point (2 by 3).
void project(const Turn &turn, const double *cam, const double *point, double *seen, double *by_camera, double *by_point) {
  double x[3], y[3], by[3][3];
  for (Size k = 0; k < 3; k++) x[k] = point[k] - cam[3 + k];
  for (Size k = 0; k < 3; k++) y[k] = dot(&turn.matrix[3 * k], x);
  turn.by_rotation(x, by);
  const double focal = cam[6], p[2] = {y[0] / y[2], y[1] / y[2]};
  const double square = p[0] * p[0] + p[1] * p[1], spread = 1 + cam[9] * square + cam[10] * square * square;
  const double slope = 2 * (cam[9] + 2 * cam[10] * square);
  for (Size e = 0; e < 2; e++) {
    seen[e] = focal * spread * p[e] + cam[7 + e];
    // By the point in the plane, and by the point in space before the projection.
    const double by_p[2] = {focal * ((e == 0) * spread + slope * p[e] * p[0]),
                            focal * ((e == 1) * spread + slope * p[e] * p[1])};
    const double by_y[3] = {by_p[0] / y[2], by_p[1] / y[2], -(by_p[0] * p[0] + by_p[1] * p[1]) / y[2]};
    double *row = &by_camera[11 * e];
    for (Size k = 0; k < 3; k++) {
      by_point[3 * e + k] =
          by_y[0] * turn.matrix[k] + by_y[1] * turn.matrix[3 + k] + by_y[2] * turn.matrix[6 + k];
      row[k] = dot(by_y, by[k]);
      row[3 + k] = -by_point[3 * e + k];
    }
    row[6] = spread * p[e];
    row[7] = e == 0;
    row[8] = e == 1;
    row[9] = focal * p[e] * square;
    row[10] = focal * p[e] * square * square;
  }
}

}  // namespace

extern "C" {

void df_dot_gradient(Size n, const double *, const double *v, double *out) { std::copy(v, v + n, out); }

void df_greatest_gradient(Size n, const double *v, double *out) {
  double top = v[0];
  Size place = 0;
  for (Size i = 1; i < n; i++) {
    if (v[i] > top) {
      top = v[i];
      place = i;
    }
  }
  std::fill(out, out + n, 0.0);
  out[place] = 1;
}

void df_added_jacobian(Size n, const double *, const double *, double *out) {
  std::fill(out, out + n * n, 0.0);
  for (Size i = 0; i < n; i++) out[i * n + i] = 1;
}

void df_scaled_derivative(Size n, const double *v, double, double *out) { std::copy(v, v + n, out); }

void df_scaled_jacobian(Size n, const double *, double s, double *out) {
  std::fill(out, out + n * n, 0.0);
  for (Size i = 0; i < n; i++) out[i * n + i] = s;
}

void df_nnmf_gradient(Size n, Size m, const double *a, const double *u, const double *v, double *out) {
  double *by_u = out, *by_v = out + n;
  std::fill(out, out + n + m, 0.0);
  for (Size i = 0; i < n; i++) {
    double sum = 0;
    for (Size j = 0; j < m; j++) {
      const double inverse = 1 / (u[i] * v[j]), slope = inverse - a[i * m + j] * inverse * inverse;
      sum += slope * v[j];
      by_v[j] += slope * u[i];
    }
    by_u[i] = sum;
  }
}

void df_projected_jacobian(Size n, const double *cam, const double *points, double *out) {
  const Turn turn(cam);
  double seen[2], by_point[6];
  for (Size i = 0; i < n; i++) project(turn, cam, &points[3 * i], seen, &out[22 * i], by_point);
}

void atl_by_signal(Size n, Size m, const double *x, const double *c, const double *z, double *out) {
  std::fill(out, out + n + m - 1, 0.0);
  for (Size i = 0; i < n; i++) {
    double y = -z[i];
    for (Size j = 0; j < m; j++) y += x[i + j] * c[j];
    for (Size j = 0; j < m; j++) out[i + j] += 2 * y * c[j];
  }
}

void atl_by_kernel(Size n, Size m, const double *x, const double *c, const double *z, double *out) {
  std::fill(out, out + m, 0.0);
  for (Size i = 0; i < n; i++) {
    double y = -z[i];
    for (Size j = 0; j < m; j++) y += x[i + j] * c[j];
    for (Size j = 0; j < m; j++) out[j] += 2 * y * x[i + j];
  }
}

void atl_batched_gradient(Size b, Size n, Size m, const double *x, const double *z, const double *w, double *out) {
  std::fill(out, out + m, 0.0);
  for (Size k = 0; k < b; k++) {
    const double *signal = &x[k * (n + m - 1)];
    for (Size i = 0; i < n; i++) {
      double y = -z[k * n + i];
      for (Size j = 0; j < m; j++) y += signal[i + j] * w[j];
      for (Size j = 0; j < m; j++) out[j] += 2 * y * signal[i + j];
    }
  }
}

void atl_column_row_gradient(Size n, const double *x, double *out) {
  std::fill(out, out + n, 0.0);
  out[0] = 2 * x[0];
}

void pdn_dots_gradient(Size n, const double *u, const double *v, double *out) {
  std::copy(v, v + n, out);
  std::copy(u, u + n, out + n);
}

void pdn_sum_matvec_gradient(Size n, Size m, const double *a, const double *x, double *out) {
  double *by_x = out + n * m;
  std::fill(by_x, by_x + m, 0.0);
  for (Size i = 0; i < n; i++) {
    for (Size j = 0; j < m; j++) {
      out[i * m + j] = x[j];
      by_x[j] += a[i * m + j];
    }
  }
}

void pdn_rotated_jacobian(Size n, const double *v, const double *q, double *out) {
  for (Size i = 0; i < n; i++) {
    const double *x = &v[3 * i], *u = &q[4 * i], s = u[3];
    double around[3];
    cross(u, x, around);
    const double uv = dot(u, x), scale = s * s - dot(u, u);
    double *by_v = &out[9 * i], *by_q = &out[9 * n + 12 * i];
    for (Size r = 0; r < 3; r++) {
      for (Size k = 0; k < 3; k++) {
        by_v[3 * r + k] = 2 * u[r] * u[k] + (r == k) * scale;
        by_q[4 * r + k] = 2 * (u[r] * x[k] - x[r] * u[k] + (r == k) * uv);
      }
      by_q[4 * r + 3] = 2 * (s * x[r] + around[r]);
    }
    // The matrices of the quaternion product with u from the left, and with v from the right.
    const Size places[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const double signs[6] = {-1, 1, 1, -1, -1, 1};
    for (Size e = 0; e < 6; e++) {
      const Size r = places[e][0], k = places[e][1], of = places[e][2];
      by_v[3 * r + k] += 2 * s * signs[e] * u[of];
      by_q[4 * r + k] -= 2 * s * signs[e] * x[of];
    }
  }
}

void pdn_network_gradient(Size h, Size d, Size k, Size n, const double *a, const double *b, const double *w, const double *e,
                          const double *x, const double *c, double *out) {
  double *by_a = out, *by_b = by_a + h * d, *by_w = by_b + h, *by_e = by_w + k * h;
  std::fill(out, by_e + k, 0.0);
  Vec hidden(h), by_hidden(h), last(k), y(k);
  for (Size i = 0; i < n; i++) {
    for (Size r = 0; r < h; r++) {
      double sum = b[r];
      for (Size j = 0; j < d; j++) sum += a[r * d + j] * x[i * d + j];
      hidden[r] = std::max(sum, 0.0);
    }
    double top = 0, sum = 0, mean = 0;
    for (Size r = 0; r < k; r++) {
      double s = e[r];
      for (Size j = 0; j < h; j++) s += w[r * h + j] * hidden[j];
      last[r] = std::max(s, 0.0);
      top = std::max(top, last[r]);
    }
    for (Size r = 0; r < k; r++) {
      y[r] = std::exp(last[r] - top);
      sum += y[r];
    }
    for (Size r = 0; r < k; r++) {
      y[r] /= sum;
      mean += c[r] * y[r];
    }
    std::fill(by_hidden.begin(), by_hidden.end(), 0.0);
    for (Size r = 0; r < k; r++) {
      if (last[r] == 0) continue;
      const double slope = y[r] * (c[r] - mean);
      by_e[r] += slope;
      for (Size j = 0; j < h; j++) {
        by_w[r * h + j] += slope * hidden[j];
        by_hidden[j] += slope * w[r * h + j];
      }
    }
    for (Size r = 0; r < h; r++) {
      if (hidden[r] == 0) continue;
      by_b[r] += by_hidden[r];
      for (Size j = 0; j < d; j++) by_a[r * d + j] += by_hidden[r] * x[i * d + j];
    }
  }
}

// A step is linear, so the adjoint needs no stored states.
void pdn_particles_gradient(Size n, Size steps, const double *p, const double *v, double *out) {
  Vec at(p, p + 2 * n), velocity(v, v + 2 * n);
  for (Size k = 0; k < steps; k++) {
    for (Size i = 0; i < 2 * n; i++) {
      const double a = -0.5 * at[i] - 0.2 * velocity[i];
      at[i] += 0.05 * velocity[i];
      velocity[i] += 0.05 * a;
    }
  }
  double *by_p = out, *by_v = out + 2 * n;
  for (Size i = 0; i < n; i++) {
    by_p[2 * i] = at[2 * i + 1];
    by_p[2 * i + 1] = at[2 * i];
    by_v[2 * i] = by_v[2 * i + 1] = 0;
  }
  for (Size k = 0; k < steps; k++) {
    for (Size i = 0; i < 2 * n; i++) {
      const double by_a = 0.05 * by_v[i];
      by_v[i] += 0.05 * by_p[i] - 0.2 * by_a;
      by_p[i] -= 0.5 * by_a;
    }
  }
}

// The result: by the camera [p, 2, 11], the point [p, 2, 3], the weight [p, 2], weight errors [p].
void accelerate_errors_jacobian(Size, Size, Size p, const double *cameras, const double *points, const double *weights,
                                const Size *observed, const double *features, double *out) {
  double *by_camera = out, *by_point = by_camera + 22 * p, *by_weight = by_point + 6 * p, *of_weights = by_weight + 2 * p;
  for (Size o = 0; o < p; o++) {
    const double *cam = &cameras[11 * observed[2 * o]];
    double seen[2];
    project(Turn(cam), cam, &points[3 * observed[2 * o + 1]], seen, &by_camera[22 * o], &by_point[6 * o]);
    for (Size k = 0; k < 22; k++) by_camera[22 * o + k] *= weights[o];
    for (Size k = 0; k < 6; k++) by_point[6 * o + k] *= weights[o];
    for (Size k = 0; k < 2; k++) by_weight[2 * o + k] = seen[k] - features[2 * o + k];
    of_weights[o] = -2 * weights[o];
  }
}

}  // extern "C"
