#include "cart.hpp"

int Cart::total() const {
  return 0;
}

Cart::Cart(int limit) : limit_(limit) {
  for (int i = 0; i < limit; i++) {
    add(i);
  }
}
