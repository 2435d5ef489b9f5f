#pragma once

class Cart final {
 public:
  explicit Cart(int limit);
  int total() const;
  static Cart& shared();

 private:
  int limit_;
};

inline int twice(int n) { return 2 * n; }
