// As much linear algebra as the analysis of schedules needs: small dense matrices and the
// eigenvalues of symmetric ones.

#pragma once

#include <cstddef>
#include <vector>

namespace huddle {

// Dense, in rows.
class Matrix {
 public:
  Matrix() = default;
  Matrix(int rows, int columns);  // Zeros. REQUIRES: neither is negative.
  static Matrix identity(int size);

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  double& operator()(int row, int column) { return values_[place(row, column)]; }
  double operator()(int row, int column) const { return values_[place(row, column)]; }
  double* row(int row) { return values_.data() + place(row, 0); }
  const double* row(int row) const { return values_.data() + place(row, 0); }

  // Adds factor * other. REQUIRES: the same shape.
  void add(double factor, const Matrix& other);
  void scale(double factor);

 private:
  std::size_t place(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
           static_cast<std::size_t>(column);
  }

  int rows_ = 0;
  int columns_ = 0;
  std::vector<double> values_;
};

Matrix operator*(const Matrix& left, const Matrix& right);
Matrix transposed(const Matrix& matrix);
double diagonal_sum(const Matrix& matrix);

// Root of the sum of squares; an upper bound of the spectral norm.
double frobenius_norm(const Matrix& matrix);

// Of a symmetric matrix, largest first, to about 1e-15 of the largest in size, by LAPACK. REQUIRES:
// symmetric, not empty.
std::vector<double> eigenvalues(Matrix symmetric);
double largest_eigenvalue(Matrix symmetric);

// The largest singular value; 0 for an empty matrix.
double spectral_norm(const Matrix& matrix);

}  // namespace huddle
