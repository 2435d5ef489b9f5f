--[[ function commented() end ]]
local M = {}

local text = [==[
function in_string()
]==]

-- function also_commented() end
function M.new(limit)
  local function inner() end
  return setmetatable({}, M)
end

function M:push(item)
  self[#self + 1] = item -- "function no()"
end

local function helper(a, b)
  return a + b
end

M.pop = function(self)
  return table.remove(self)
end

return M
