#include "huddle/schedule/linear.h"

#include <algorithm>
#include <cmath>

#include "huddle/base/error.h"

namespace huddle {
namespace {

// The diagonal and the squares of its neighbours, all that the eigenvalues depend on.
struct Tridiagonal {
  std::vector<double> diagonal;
  std::vector<double> neighbour_squares;
};

// Applies to the rows and columns after `step` the reflection along `direction` (of length 1).
void reflect(Matrix& a, int step, const std::vector<double>& direction) {
  const int size = a.rows();
  const auto at = [&](int i) { return direction[static_cast<std::size_t>(i)]; };
  std::vector<double> image(static_cast<std::size_t>(size));
  double along = 0;
  for (int i = step + 1; i < size; ++i) {
    double sum = 0;
    for (int j = step + 1; j < size; ++j) sum += a(i, j) * at(j);
    image[static_cast<std::size_t>(i)] = sum;
    along += at(i) * sum;
  }
  for (int i = step + 1; i < size; ++i) image[static_cast<std::size_t>(i)] -= along * at(i);
  for (int i = step + 1; i < size; ++i)
    for (int j = step + 1; j < size; ++j)
      a(i, j) -= 2 * (at(i) * image[static_cast<std::size_t>(j)] +
                      image[static_cast<std::size_t>(i)] * at(j));
}

Tridiagonal tridiagonal_of(Matrix a) {
  Tridiagonal result;
  const int size = a.rows();
  for (int step = 0; step < size; ++step) {
    result.diagonal.push_back(a(step, step));
    if (step + 1 == size) break;
    double below = 0;
    for (int i = step + 1; i < size; ++i) below += a(i, step) * a(i, step);
    result.neighbour_squares.push_back(below);
    std::vector<double> direction(static_cast<std::size_t>(size), 0.0);
    for (int i = step + 1; i < size; ++i) direction[static_cast<std::size_t>(i)] = a(i, step);
    double& head = direction[static_cast<std::size_t>(step) + 1];
    head += std::copysign(std::sqrt(below), head);
    double length = 0;
    for (const double each : direction) length += each * each;
    if (length == 0) continue;
    for (double& each : direction) each /= std::sqrt(length);
    reflect(a, step, direction);
  }
  return result;
}

// Sturm's count: whether more than `rank` eigenvalues are larger than `bound`.
bool has_more_above(const Tridiagonal& matrix, int rank, double bound) {
  double pivot = 1;
  int above = 0;
  for (std::size_t i = 0; i < matrix.diagonal.size(); ++i) {
    const double coupling = i == 0 ? 0 : matrix.neighbour_squares[i - 1] / pivot;
    pivot = matrix.diagonal[i] - bound - coupling;
    if (pivot > 0 && ++above > rank) return true;
    if (pivot == 0) pivot = -1e-300;
  }
  return false;
}

// The eigenvalue that `rank` others are larger than; none is larger than `size` in size.
double eigenvalue(const Tridiagonal& matrix, int rank, double size) {
  constexpr double kRounding = 1e-19;
  double upper = size;
  double lower = -size;
  while (true) {
    const double middle = lower + (upper - lower) / 2;
    if (middle <= lower || middle >= upper || upper - lower < kRounding * size) return upper;
    (has_more_above(matrix, rank, middle) ? lower : upper) = middle;
  }
}

}  // namespace

Matrix::Matrix(int rows, int columns) : rows_(rows), columns_(columns) {
  check(rows >= 0 && columns >= 0, "a matrix of negative size");
  values_.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
}

Matrix Matrix::identity(int size) {
  Matrix matrix(size, size);
  for (int i = 0; i < size; ++i) matrix(i, i) = 1;
  return matrix;
}

void Matrix::add(double factor, const Matrix& other) {
  check(rows_ == other.rows_ && columns_ == other.columns_, "matrices of different shapes");
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += factor * other.values_[i];
}

void Matrix::scale(double factor) {
  for (double& value : values_) value *= factor;
}

Matrix operator*(const Matrix& left, const Matrix& right) {
  check(left.columns() == right.rows(), "matrices that cannot be multiplied");
  Matrix product(left.rows(), right.columns());
  for (int i = 0; i < left.rows(); ++i)
    for (int k = 0; k < left.columns(); ++k) {
      const double factor = left(i, k);
      if (factor == 0) continue;
      double* const to = product.row(i);
      const double* const from = right.row(k);
      for (int j = 0; j < right.columns(); ++j) to[j] += factor * from[j];
    }
  return product;
}

Matrix transposed(const Matrix& matrix) {
  Matrix result(matrix.columns(), matrix.rows());
  for (int i = 0; i < matrix.rows(); ++i)
    for (int j = 0; j < matrix.columns(); ++j) result(j, i) = matrix(i, j);
  return result;
}

double trace(const Matrix& matrix) {
  double sum = 0;
  for (int i = 0; i < matrix.rows(); ++i) sum += matrix(i, i);
  return sum;
}

double frobenius_norm(const Matrix& matrix) {
  double sum = 0;
  for (int i = 0; i < matrix.rows(); ++i)
    for (int j = 0; j < matrix.columns(); ++j) sum += matrix(i, j) * matrix(i, j);
  return std::sqrt(sum);
}

double largest_eigenvalue(Matrix symmetric) {
  check(symmetric.rows() == symmetric.columns() && symmetric.rows() > 0, "not a square matrix");
  const double size = frobenius_norm(symmetric);
  return eigenvalue(tridiagonal_of(std::move(symmetric)), 0, size);
}

std::vector<double> eigenvalues(Matrix symmetric) {
  check(symmetric.rows() == symmetric.columns() && symmetric.rows() > 0, "not a square matrix");
  const double size = frobenius_norm(symmetric);
  const Tridiagonal tridiagonal = tridiagonal_of(std::move(symmetric));
  std::vector<double> values;
  for (std::size_t rank = 0; rank < tridiagonal.diagonal.size(); ++rank)
    values.push_back(eigenvalue(tridiagonal, static_cast<int>(rank), size));
  return values;
}

double spectral_norm(const Matrix& matrix) {
  if (matrix.rows() == 0 || matrix.columns() == 0) return 0;
  const Matrix across = transposed(matrix);
  Matrix gram = matrix.rows() <= matrix.columns() ? matrix * across : across * matrix;
  return std::sqrt(std::max(0.0, largest_eigenvalue(std::move(gram))));
}

}  // namespace huddle
