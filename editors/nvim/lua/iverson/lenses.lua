--- Lenses above definitions, kept current. The plugin draws them itself, because Neovim's lenses
--- are at the end of the line; `vim.lsp.codelens.run()` runs them all the same.

local M = {}

local server = require('iverson.server')

local space = vim.api.nvim_create_namespace('iverson_lenses')

--- The programs with lenses, and the number of requests for each.
local buffers = {}

local function draw(buffer, lenses)
  vim.api.nvim_buf_clear_namespace(buffer, space, 0, -1)
  local rows = {}
  for _, lens in ipairs(lenses) do
    if lens.command then
      local row = lens.range.start.line
      rows[row] = rows[row] or {}
      table.insert(rows[row], lens.command.title)
    end
  end
  for row, titles in pairs(rows) do
    local line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1]
    if line then
      local chunks = { { line:match('^%s*'), 'LspCodeLens' } }
      for k, title in ipairs(titles) do
        if k > 1 then
          table.insert(chunks, { ' | ', 'LspCodeLensSeparator' })
        end
        table.insert(chunks, { title, 'LspCodeLens' })
      end
      if row > 0 then
        vim.api.nvim_buf_set_extmark(buffer, space, row, 0, { virt_lines = { chunks }, virt_lines_above = true })
      else
        -- The first line has no room above it.
        vim.api.nvim_buf_set_extmark(buffer, space, 0, 0, { virt_text = chunks })
      end
    end
  end
end

--- Resolves a lens whose title the server has left open.
local function resolve(buffer, lenses, done)
  local open = 1
  local function one()
    open = open - 1
    if open == 0 then
      done()
    end
  end
  for k, lens in ipairs(lenses) do
    if not lens.command then
      open = open + 1
      server.request(buffer, 'codeLens/resolve', lens, function(_, resolved)
        lenses[k] = resolved or lens
        one()
      end)
    end
  end
  one()
end

local function refresh(buffer)
  if #server.clients(buffer) == 0 then
    return
  end
  buffers[buffer] = buffers[buffer] + 1
  local turn = buffers[buffer]
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) } }
  server.request(buffer, 'textDocument/codeLens', params, function(error, lenses, client)
    if error or type(lenses) ~= 'table' then
      return
    end
    resolve(buffer, lenses, function()
      -- A later request has a newer answer.
      if buffers[buffer] == turn and vim.api.nvim_buf_is_loaded(buffer) then
        vim.lsp.codelens.save(lenses, buffer, client.id)
        draw(buffer, lenses)
      end
    end)
  end)
end

--- Refreshes the lenses of all programs.
function M.refresh()
  for buffer in pairs(buffers) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      refresh(buffer)
    else
      buffers[buffer] = nil
    end
  end
end

function M.attach(buffer)
  buffers[buffer] = buffers[buffer] or 0
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'TextChanged' }, {
    group = vim.api.nvim_create_augroup('iverson_lenses_' .. buffer, { clear = true }),
    buffer = buffer,
    callback = function()
      refresh(buffer)
    end,
  })
  refresh(buffer)
end

return M
