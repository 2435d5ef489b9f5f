// class Commented {};
#include <string>

namespace shop {

template <typename T>
class Stack : public Base<T> {
 public:
  explicit Stack(int limit = 1'000);
  virtual ~Stack() = default;
  void push(const T& item) {
    if (full()) {
      grow(2);
    }
    items_.push_back(item);
  }
  bool operator==(const Stack& other) const;

 private:
  std::vector<T> items_;
};

enum class Level { kLow, kHigh };

struct Point {
  int x = 0;
  int length() const { return x; }
};

const char* text = R"x(int in_string() { " )x";

template <typename T>
void Stack<T>::clear() {
  items_.clear();
}

static std::string join(const std::vector<std::string>& parts,
                        char by) {
  return "";
}

}  // namespace shop

int main() { return 0; }
