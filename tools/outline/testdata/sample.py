"""A small shop.

def not_a_function(): this is a docstring
"""
import asyncio

TAX = 0.2  # def neither_is_this


class Cart(dict[str, int]):
    """class Inner: no"""

    LIMIT = 20

    @property
    def total(self) -> int:
        def helper(x):
            return x
        return sum(map(helper, self.values()))

    async def send(
        self,
        to: str,
        *,
        retries: int = 3,
    ) -> None:
        text = '''
    def in_a_string(self):
'''
        await asyncio.sleep(0)

    class Error(Exception):
        def __str__(self): return "def no(): it's"


def main(argv=None):
    print("class Nope:")


if __name__ == "__main__":
    main()
