#include "huddle/schedule/linear.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_eigvalsh.h>

#include <algorithm>
#include <cmath>

#include "huddle/base/error.h"

namespace huddle {

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

double diagonal_sum(const Matrix& matrix) {
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

std::vector<double> eigenvalues(Matrix symmetric) {
  check(symmetric.rows() == symmetric.columns() && symmetric.rows() > 0, "not a square matrix");
  const at::Tensor values = at::linalg_eigvalsh(
      at::from_blob(symmetric.row(0), {symmetric.rows(), symmetric.columns()}, at::kDouble));
  const double* const first = values.const_data_ptr<double>();
  std::vector<double> largest_first(first, first + values.numel());
  std::reverse(largest_first.begin(), largest_first.end());
  return largest_first;
}

double largest_eigenvalue(Matrix symmetric) { return eigenvalues(std::move(symmetric)).front(); }

double spectral_norm(const Matrix& matrix) {
  if (matrix.rows() == 0 || matrix.columns() == 0) return 0;
  const Matrix across = transposed(matrix);
  Matrix gram = matrix.rows() <= matrix.columns() ? matrix * across : across * matrix;
  return std::sqrt(std::max(0.0, largest_eigenvalue(std::move(gram))));
}

}  // namespace huddle
