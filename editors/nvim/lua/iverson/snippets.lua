--- Snippets from `snippets/iverson.json`, where snippet plugins look, and a command to insert one.

local M = {}

--- The snippet bodies by prefix, in the order of the names in the file.
local function all()
  local file = vim.api.nvim_get_runtime_file('snippets/iverson.json', false)[1]
  local found = {}
  for _, snippet in pairs(file and vim.fn.json_decode(vim.fn.readfile(file)) or {}) do
    local body = snippet.body
    found[snippet.prefix] = type(body) == 'table' and table.concat(body, '\n') or body
  end
  return found
end

--- Returns the snippets whose names have this prefix.
function M.names(beginning)
  local names = vim.tbl_filter(function(name)
    return vim.startswith(name, beginning)
  end, vim.tbl_keys(all()))
  table.sort(names)
  return names
end

--- Returns the body without placeholders, and the position of the cursor.
local function plain(body)
  body = body:gsub('%${%d+:([^}]*)}', '%1')
  local before = body:find('$0', 1, true)
  return (body:gsub('%$0', '')), before and before - 1 or #body
end

--- Inserts the snippet of that name at the cursor.
function M.insert(name)
  local body = all()[name]
  if body == nil then
    return vim.notify('Iverson: there is no snippet ' .. name .. '; the snippets are ' .. table.concat(M.names(''), ', '), vim.log.levels.WARN)
  end
  if vim.snippet then
    return vim.snippet.expand(body)
  end
  local text, at = plain(body)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  vim.api.nvim_buf_set_text(0, row - 1, column, row - 1, column, vim.split(text, '\n'))
  local before = vim.split(text:sub(1, at), '\n')
  local last = #before[#before]
  vim.api.nvim_win_set_cursor(0, { row + #before - 1, #before == 1 and column + last or last })
end

return M
