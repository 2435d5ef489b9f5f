defmodule Shop.CartTest do
  use ExUnit.Case

  describe "push" do
    test "adds an item", %{cart: cart} do
      assert cart
    end
  end

  defp cart, do: nil
end
