defmodule Shop.Cart do
  @moduledoc """
  def in_text(a), do: a
  """
  use GenServer

  @type t :: %__MODULE__{items: list()}

  defstruct items: [], limit: 20

  # def commented(a)
  def new(limit \\ 20), do: %__MODULE__{limit: limit}

  def push(%__MODULE__{} = cart, item) when is_binary(item) do
    inner = fn x -> x end
    %{cart | items: [inner.(item) | cart.items]}
  end

  defp full?(cart), do: length(cart.items) >= cart.limit

  defmacro trace(call) do
    quote do: unquote(call)
  end

  defmodule Error do
    defexception [:message]
  end
end

defprotocol Shop.Price do
  @doc "def no"
  def of(thing)
end

defimpl Shop.Price, for: Shop.Cart do
  def of(_), do: 0
end
