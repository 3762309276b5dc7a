--- Messages of the language server. `init.lua`, `server.lua` and `commands.lua` call this module.
---
--- A short message goes to the message line. A longer one opens a window at the bottom, because in
--- the message line it would cause a hit-enter prompt.

local M = {}

--- The log levels of the message types 1 and 2 of LSP. Other types are information.
local levels = { vim.log.levels.ERROR, vim.log.levels.WARN }

--- The scratch buffer of the result window, and the last message.
local buffer
local last_message

--- The largest height of the result window on a screen below 24 lines. On a larger screen, half of
--- the screen is the limit.
local SMALL_SCREEN_LIMIT = 12

--- Replaces the text of the buffer, and creates the buffer if necessary.
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

--- Returns the result window, if it is open in this tab page.
local function result_window()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(window) == buffer then
      return window
    end
  end
end

--- Returns the height of the result window for these lines. A long line takes several screen lines,
--- because the window wraps it.
local function height(lines)
  local rows = 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / vim.o.columns))
  end
  return math.min(rows, math.max(SMALL_SCREEN_LIMIT, math.floor(vim.o.lines / 2)))
end

--- Shows a whole text in the result window. The cursor stays in its window.
local function open(text)
  local lines = vim.split(text, '\n')
  fill(lines)
  local window = result_window()
  if window == nil then
    local current_window = vim.api.nvim_get_current_win()
    vim.cmd('noautocmd botright split')
    window = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(window, buffer)
    for option, value in pairs({ wrap = true, number = false, relativenumber = false, winfixheight = true }) do
      vim.api.nvim_win_set_option(window, option, value)
    end
    vim.api.nvim_set_current_win(current_window)
  end
  vim.api.nvim_win_set_height(window, height(lines))
  vim.api.nvim_win_set_cursor(window, { 1, 0 })
end

--- Shows the first line of a text in the message line, cut to its width.
local function echo(text, kind)
  local line = text:gsub('%s*\n.*', ' …')
  -- A very narrow terminal has no room for a message; the loop ends because `…` has one column.
  local space = math.max(vim.v.echospace, 1)
  while vim.fn.strdisplaywidth(line) > space do
    line = vim.fn.strcharpart(line, 0, math.min(vim.fn.strchars(line) - 2, space)) .. '…'
  end
  -- A redraw removes the previous message, because two messages would cause a hit-enter prompt.
  vim.cmd('redraw')
  vim.notify(line, levels[kind] or vim.log.levels.INFO)
end

--- Shows a message. `kind` is its LSP message type: 1 is an error, 2 a warning.
function M.show_message(message, kind)
  last_message = message:gsub('%s+$', '')
  local line = 'Iverson: ' .. last_message
  local fits = vim.o.cmdheight > 0 and not line:find('\n', 1, true) and vim.fn.strdisplaywidth(line) <= vim.v.echospace
  -- No window can open from the command-line window, for example. The message line then shows the
  -- first line of the message.
  if (fits and result_window() == nil) or not pcall(open, last_message) then
    echo(line, kind)
  end
end

--- Shows a note on progress. It does not replace the last message.
function M.show_progress(text)
  echo('Iverson: ' .. text, 3)
end

--- Shows the whole last message in the result window, for `:IversonResult`.
function M.show_last_message()
  if last_message == nil then
    vim.notify('Iverson: there is no result yet.')
  else
    open(last_message)
  end
end

return M
