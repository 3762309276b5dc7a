--- Derived forms of definitions in buffers beside the program. They follow its edits. A line and
--- its origin are highlighted together, in both directions.

local M = {}

local server = require('iverson.server')

local marks = vim.api.nvim_create_namespace('iverson_origins')
local notes = vim.api.nvim_create_namespace('iverson_notes')

--- The open views, by buffer: `{ source, def, stage, lines, encoding, asked }`.
local shown = {}

--- Returns the byte offset in the text `line` of a position in the client's units.
local function byte(line, character, encoding)
  if encoding == 'utf-8' then
    return math.min(character, #line)
  end
  local good, at
  if vim.fn.has('nvim-0.11') == 1 then
    good, at = pcall(vim.str_byteindex, line, encoding, character, false)
  else
    good, at = pcall(vim.str_byteindex, line, character, encoding == 'utf-16')
  end
  return good and at or #line
end

--- Returns a range in bytes: first line and byte, last line and byte.
local function place(buffer, range, encoding)
  local function at(position)
    local text = vim.api.nvim_buf_get_lines(buffer, position.line, position.line + 1, false)[1]
    return position.line, text and byte(text, position.character, encoding) or 0
  end
  local row, column = at(range.start)
  local last, stop = at(range['end'])
  return row, column, last, stop
end

local function mark(buffer, row, column, last, stop)
  local count = vim.api.nvim_buf_line_count(buffer)
  if row < count then
    if last >= count then
      last, stop = count, 0
    end
    vim.api.nvim_buf_set_extmark(buffer, marks, row, column, {
      end_row = last,
      end_col = stop,
      hl_group = 'IversonOrigin',
      priority = 150,
      strict = false,
    })
  end
end

--- Scrolls the windows of this tab that show the buffer to the first of `rows`, if none is visible.
local function into_sight(buffer, rows)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(window) == buffer and window ~= vim.api.nvim_get_current_win() and rows[1] then
      local top, bottom = vim.fn.line('w0', window) - 1, vim.fn.line('w$', window) - 1
      local seen = false
      for _, row in ipairs(rows) do
        seen = seen or (row >= top and row <= bottom)
      end
      if not seen and rows[1] < vim.api.nvim_buf_line_count(buffer) then
        vim.api.nvim_win_set_cursor(window, { rows[1] + 1, 0 })
      end
    end
  end
end

--- Highlights the origin in the program of a line of a view.
local function to_source(view)
  local it = shown[view]
  if it == nil or not vim.api.nvim_buf_is_loaded(it.source) then
    return
  end
  vim.api.nvim_buf_clear_namespace(view, marks, 0, -1)
  vim.api.nvim_buf_clear_namespace(it.source, marks, 0, -1)
  local here = vim.api.nvim_win_get_cursor(0)[1] - 1
  local rows = {}
  for _, entry in ipairs(it.lines) do
    if entry.line == here then
      for _, range in ipairs(entry.origins) do
        mark(it.source, place(it.source, range, it.encoding))
        table.insert(rows, range.start.line)
      end
    end
  end
  into_sight(it.source, rows)
end

--- Highlights the lines of the views that come from the cursor's position in the program.
local function to_views(source)
  vim.api.nvim_buf_clear_namespace(source, marks, 0, -1)
  local cursor = vim.api.nvim_win_get_cursor(0)
  local row, column = cursor[1] - 1, cursor[2]
  for view, it in pairs(shown) do
    if it.source == source and vim.api.nvim_buf_is_loaded(view) then
      vim.api.nvim_buf_clear_namespace(view, marks, 0, -1)
      local rows = {}
      for _, entry in ipairs(it.lines) do
        for _, range in ipairs(entry.origins) do
          local first, from, last, to = place(source, range, it.encoding)
          local after = row > first or (row == first and column >= from)
          local before = row < last or (row == last and column < to)
          if after and before then
            mark(view, entry.line, 0, entry.line + 1, 0)
            table.insert(rows, entry.line)
            break
          end
        end
      end
      into_sight(view, rows)
    end
  end
end

local function follow(buffer)
  if shown[buffer] then
    to_source(buffer)
  else
    to_views(buffer)
  end
end

local function put(view, text)
  local lines = vim.split(text, '\n')
  if lines[#lines] == '' then
    table.remove(lines)
  end
  if not vim.deep_equal(lines, vim.api.nvim_buf_get_lines(view, 0, -1, false)) then
    vim.api.nvim_buf_set_option(view, 'modifiable', true)
    vim.api.nvim_buf_set_lines(view, 0, -1, false, lines)
    vim.api.nvim_buf_set_option(view, 'modifiable', false)
  end
end

local function say(view, note)
  vim.api.nvim_buf_clear_namespace(view, notes, 0, -1)
  if note then
    local first = vim.split(note, '\n')[1]
    vim.api.nvim_buf_set_extmark(view, notes, 0, 0, { virt_text = { { '  ' .. first, 'Comment' } } })
  end
end

--- Requests the text of a view.
local function refresh(view)
  local it = shown[view]
  it.asked = it.asked + 1
  local turn = it.asked
  local params = { uri = vim.uri_from_bufnr(it.source), def = it.def, stage = it.stage }
  server.request(it.source, 'iverson/view', params, function(error, result, client)
    -- A later request has a newer answer.
    if shown[view] ~= it or turn ~= it.asked or not vim.api.nvim_buf_is_loaded(view) then
      return
    end
    if error or result == nil then
      local message = error and error.message or 'there is no such view'
      it.lines = {}
      if it.filled then
        -- If the program has errors, the view keeps its text and reports that.
        return say(view, 'outdated: ' .. message)
      end
      return put(view, '-- ' .. message:gsub('\n', '\n-- '))
    end
    it.filled = true
    it.lines, it.encoding = result.lines, client.offset_encoding or 'utf-16'
    put(view, result.text)
    say(view, result.note)
    local current = vim.api.nvim_get_current_buf()
    if current == view or current == it.source then
      follow(current)
    end
  end)
end

--- Refreshes the views of a document, which may have changed.
function M.changed(uri)
  for view, it in pairs(shown) do
    if vim.api.nvim_buf_is_loaded(it.source) and vim.uri_from_bufnr(it.source) == vim.uri_from_fname(vim.uri_to_fname(uri)) then
      refresh(view)
    end
  end
end

local function window_of_view()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if shown[vim.api.nvim_win_get_buf(window)] then
      return window
    end
  end
end

--- Opens a view beside the program; the cursor stays in the program.
function M.show(source, def, stage)
  for view, it in pairs(shown) do
    if it.source == source and it.def == def and it.stage == stage and vim.fn.bufwinid(view) ~= -1 then
      return refresh(view)
    end
  end
  local view = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(view, ('iverson-view://%d/%s.%s.iv'):format(view, def, stage))
  shown[view] = { source = source, def = def, stage = stage, lines = {}, encoding = 'utf-16', asked = 0 }
  local set = function(option, value)
    vim.api.nvim_buf_set_option(view, option, value)
  end
  local here = vim.api.nvim_get_current_win()
  local there = window_of_view()
  if there then
    vim.api.nvim_set_current_win(there)
  else
    vim.cmd('vertical rightbelow split')
  end
  vim.api.nvim_win_set_buf(0, view)
  vim.cmd('setlocal nowrap')
  vim.api.nvim_set_current_win(here)
  set('bufhidden', 'wipe')
  -- The text of a cost is prose, not code.
  set('filetype', stage == 'cost' and 'iverson-cost' or 'iverson')
  set('modifiable', false)
  local group = vim.api.nvim_create_augroup('iverson_view_' .. view, { clear = true })
  vim.api.nvim_create_autocmd('CursorMoved', {
    group = group,
    buffer = view,
    callback = function()
      to_source(view)
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    buffer = view,
    callback = function()
      shown[view] = nil
      if vim.api.nvim_buf_is_loaded(source) then
        vim.api.nvim_buf_clear_namespace(source, marks, 0, -1)
      end
    end,
  })
  refresh(view)
end

--- Returns the program and the definition of the view in `buffer`.
function M.subject(buffer)
  return shown[buffer]
end

--- Follows the cursor in a program.
function M.attach(buffer)
  vim.api.nvim_create_autocmd({ 'CursorMoved', 'CursorMovedI' }, {
    group = vim.api.nvim_create_augroup('iverson_source_' .. buffer, { clear = true }),
    buffer = buffer,
    callback = function()
      if next(shown) then
        to_views(buffer)
      end
    end,
  })
  -- A restarted server must refresh the open views.
  for view, it in pairs(shown) do
    if it.source == buffer then
      refresh(view)
    end
  end
end

--- Fills a buffer with a document without a file: a library module or the page of a code.
local function read_library(buffer)
  local client = server.clients()[1]
  local uri = vim.api.nvim_buf_get_name(buffer):match('iverson%-library:/.*')
  local text = '-- The language server is not running.'
  if client then
    local params = { uri = uri }
    local answer
    if vim.fn.has('nvim-0.11') == 1 then
      answer = client:request_sync('workspace/textDocumentContent', params, 10000, buffer)
    else
      answer = client.request_sync('workspace/textDocumentContent', params, 10000, buffer)
    end
    text = answer and answer.result and answer.result.text or '-- There is no ' .. uri .. '.'
  end
  vim.api.nvim_buf_set_option(buffer, 'buftype', 'nofile')
  vim.api.nvim_buf_set_option(buffer, 'swapfile', false)
  vim.api.nvim_buf_set_option(buffer, 'modifiable', true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(text:gsub('\n$', ''), '\n'))
  vim.api.nvim_buf_set_option(buffer, 'modified', false)
  vim.api.nvim_buf_set_option(buffer, 'modifiable', false)
  vim.api.nvim_buf_set_option(buffer, 'filetype', uri:match('%.md$') and 'markdown' or 'iverson')
end

--- The plugin calls this once: documents of the library, colours, and the command of code actions.
function M.define()
  vim.cmd('highlight default link IversonOrigin Visual')
  -- Semantic groups that only the server knows; older versions of Neovim lack them.
  if vim.fn.has('nvim-0.9') == 1 then
    vim.cmd('highlight default link @lsp.type.index.iverson Identifier')
    vim.cmd('highlight default link @lsp.type.size.iverson Number')
  end
  vim.api.nvim_create_autocmd('BufReadCmd', {
    group = vim.api.nvim_create_augroup('iverson_library', { clear = true }),
    pattern = { 'iverson-library:/*', '*/iverson-library:/*' },
    callback = function(event)
      read_library(event.buf)
    end,
  })
  vim.lsp.commands['iverson.showView'] = function(command)
    local uri, def, stage = unpack(command.arguments)
    M.show(vim.uri_to_bufnr(uri), def, stage)
  end
end

return M
