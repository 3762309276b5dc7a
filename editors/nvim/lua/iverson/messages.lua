--- Messages of the server: in one line if it fits, else in a window below, without a prompt.

local M = {}

local levels = { vim.log.levels.ERROR, vim.log.levels.WARN }

--- The buffer of the window below, and the last message.
local buffer
local last

--- The largest height of that window, on screens that are at least twice as tall.
local TALLEST = 12

local function fill(lines)
  if buffer == nil or not vim.api.nvim_buf_is_valid(buffer) then
    buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, 'iverson-results://' .. buffer)
    vim.api.nvim_buf_set_option(buffer, 'filetype', 'iverson')
    vim.api.nvim_buf_set_keymap(buffer, 'n', 'q', '<Cmd>quit<CR>', { noremap = true, silent = true })
  end
  vim.api.nvim_buf_set_option(buffer, 'modifiable', true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.api.nvim_buf_set_option(buffer, 'modifiable', false)
end

--- Returns the window below, if it is open.
local function below()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(window) == buffer then
      return window
    end
  end
end

--- Counts the screen lines of these lines, because a value may be one very long line.
local function height(lines)
  local rows = 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / vim.o.columns))
  end
  return math.min(rows, math.max(TALLEST, math.floor(vim.o.lines / 2)))
end

--- Shows a whole text below; the cursor stays.
local function open(text)
  local lines = vim.split(text, '\n')
  fill(lines)
  local window = below()
  if window == nil then
    local here = vim.api.nvim_get_current_win()
    vim.cmd('noautocmd botright split')
    window = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(window, buffer)
    for option, value in pairs({ wrap = true, number = false, relativenumber = false, winfixheight = true }) do
      vim.api.nvim_win_set_option(window, option, value)
    end
    vim.api.nvim_set_current_win(here)
  end
  vim.api.nvim_win_set_height(window, height(lines))
  vim.api.nvim_win_set_cursor(window, { 1, 0 })
end

--- Shows a text in the message line, cut to its width.
local function echo(text, kind)
  local line = text:gsub('%s*\n.*', ' …')
  while vim.fn.strdisplaywidth(line) > vim.v.echospace do
    line = vim.fn.strcharpart(line, 0, math.min(vim.fn.strchars(line) - 2, vim.v.echospace)) .. '…'
  end
  -- The existing text there gives way.
  vim.cmd('redraw')
  vim.notify(line, levels[kind] or vim.log.levels.INFO)
end

--- Shows a message with a type of the protocol: 1 is an error, 2 a warning.
function M.tell(message, kind)
  last = message:gsub('%s+$', '')
  local line = 'Iverson: ' .. last
  local fits = vim.o.cmdheight > 0 and not line:find('\n', 1, true) and vim.fn.strdisplaywidth(line) <= vim.v.echospace
  -- If no other window can open, as from the command-line window, show the beginning.
  if (fits and below() == nil) or not pcall(open, last) then
    echo(line, kind)
  end
end

--- Shows a note on progress, which is not a result.
function M.note(text)
  echo('Iverson: ' .. text, 3)
end

--- Shows the whole last message.
function M.again()
  if last == nil then
    vim.notify('Iverson: nothing was told yet.')
  else
    open(last)
  end
end

return M
