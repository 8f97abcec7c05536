#include "huddle/schedule/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "huddle/base/random.h"

namespace huddle {
namespace {

Matrix random_matrix(int rows, int columns, Random::Seed seed) {
  Random random(seed);
  Matrix matrix(rows, columns);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) matrix(i, j) = random.normal();
  return matrix;
}

TEST(LargestEigenvalue, KnowsThePathGraph) {
  for (const int size : {1, 2, 3, 10, 57}) {
    Matrix path(size, size);
    for (int i = 0; i + 1 < size; ++i) path(i, i + 1) = path(i + 1, i) = 1;
    const double expected = size == 1 ? 0 : 2 * std::cos(std::numbers::pi / (size + 1));
    EXPECT_NEAR(largest_eigenvalue(path), expected, 1e-13);
  }
}

TEST(LargestEigenvalue, MayBeNegative) {
  Matrix matrix = Matrix::identity(4);
  matrix.scale(-2);
  matrix(3, 3) = -0.5;
  EXPECT_NEAR(largest_eigenvalue(matrix), -0.5, 1e-14);
}

TEST(LargestEigenvalue, AgreesWithPowerIteration) {
  const Matrix factor = random_matrix(30, 30, 3);
  const Matrix gram = factor * transposed(factor);
  Matrix vector = random_matrix(30, 1, 4);
  double value = 0;
  for (int i = 0; i < 5000; ++i) {
    vector = gram * vector;
    value = frobenius_norm(vector);
    vector.scale(1 / value);
  }
  EXPECT_NEAR(largest_eigenvalue(gram), value, 1e-9 * value);
}

TEST(Eigenvalues, AreThoseOfThePathGraphLargestFirst) {
  for (const int size : {1, 2, 3, 10, 57}) {
    Matrix path(size, size);
    for (int i = 0; i + 1 < size; ++i) path(i, i + 1) = path(i + 1, i) = 1;
    const std::vector<double> values = eigenvalues(path);
    ASSERT_EQ(values.size(), static_cast<std::size_t>(size));
    for (int i = 0; i < size; ++i)
      EXPECT_NEAR(values[static_cast<std::size_t>(i)],
                  2 * std::cos(std::numbers::pi * (i + 1) / (size + 1)), 1e-13);
  }
}

TEST(SpectralNorm, IsTheSameForTheTranspose) {
  const Matrix wide = random_matrix(5, 23, 1);
  EXPECT_NEAR(spectral_norm(wide), spectral_norm(transposed(wide)), 1e-12);
  EXPECT_LT(spectral_norm(wide), frobenius_norm(wide));
}

TEST(SpectralNorm, OfRankOneIsTheProductOfLengths) {
  const Matrix column = random_matrix(9, 1, 5);
  const Matrix row = random_matrix(1, 6, 6);
  EXPECT_NEAR(spectral_norm(column * row), frobenius_norm(column) * frobenius_norm(row), 1e-12);
}

TEST(SpectralNorm, OfNothingIsZero) {
  EXPECT_EQ(spectral_norm(Matrix()), 0);
  EXPECT_EQ(spectral_norm(Matrix(3, 4)), 0);
}

}  // namespace
}  // namespace huddle
