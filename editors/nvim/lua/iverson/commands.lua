--- The commands.

local M = {}

local messages = require('iverson.messages')
local server = require('iverson.server')
local snippets = require('iverson.snippets')
local views = require('iverson.views')

--- Returns the name that a line defines or has a rule for.
local function defined(line)
  for _, word in ipairs({ 'def', 'derivative', 'adjoint' }) do
    local name = line:match('^%s*' .. word .. "%s+([%w_'\128-\255]+)%s*%(")
    if name then
      return name
    end
  end
end

--- Whether a line begins an item.
local function begins(line)
  local word = line:match('^%s*(%a+)%f[^%w_]')
  return word == 'def' or word == 'type' or word == 'import' or word == 'do' or line:match('^let%f[^%w_]') ~= nil
end

--- Returns the definition around line `at`, from 0. Documentation belongs to the item below it.
function M.definition_at(buffer, at)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  local number = at + 1
  while lines[number] and lines[number]:match('^%s*%-%-|') and lines[number + 1] do
    number = number + 1
  end
  for k = math.min(number, #lines), 1, -1 do
    local name = defined(lines[k])
    if name or begins(lines[k]) then
      return name
    end
  end
end

--- Returns the program and the definition that a command is about, if any.
local function about(name)
  local buffer = vim.api.nvim_get_current_buf()
  local view = views.subject(buffer)
  if view then
    return view.source, name ~= '' and name or view.def
  end
  if name == '' then
    name = M.definition_at(buffer, vim.api.nvim_win_get_cursor(0)[1] - 1)
  end
  return buffer, name
end

--- Returns the same, or reports that there is none.
local function subject(name)
  local buffer, def = about(name)
  if def == nil then
    vim.notify('Iverson: the cursor is not in a definition.', vim.log.levels.WARN)
  end
  return buffer, def
end

local function names(beginning)
  local buffer = vim.api.nvim_get_current_buf()
  local view = views.subject(buffer)
  local found = {}
  for _, line in ipairs(vim.api.nvim_buf_get_lines(view and view.source or buffer, 0, -1, false)) do
    local name = line:match('^%s*def') and defined(line)
    if name and vim.startswith(name, beginning) then
      table.insert(found, name)
    end
  end
  return found
end

function M.define()
  local function command(name, action, options)
    vim.api.nvim_create_user_command(name, action, options or {})
  end
  local one = { nargs = '?', complete = names }
  for _, stage in ipairs({ 'adjoint', 'forward', 'ssa', 'core', 'lifted', 'pairs', 'pushed', 'cost' }) do
    command('Iverson' .. stage:sub(1, 1):upper() .. stage:sub(2), function(given)
      local buffer, def = subject(given.args)
      if def then
        views.show(buffer, def, stage)
      end
    end, vim.tbl_extend('force', { desc = 'Show the ' .. stage .. ' of a definition beside it' }, one))
  end
  command('IversonRun', function(given)
    -- Outside definitions, for example in a `do`, it runs the file.
    local buffer, def = about(given.args)
    server.execute(buffer, 'iverson.run', { vim.uri_from_bufnr(buffer), def or '' })
  end, vim.tbl_extend('force', { desc = 'Run a definition' }, one))
  command('IversonRunFile', function()
    local buffer = vim.api.nvim_get_current_buf()
    server.execute(buffer, 'iverson.run', { vim.uri_from_bufnr(buffer), '' })
  end, { desc = 'Run the file' })
  command('IversonEvaluate', function()
    local buffer = vim.api.nvim_get_current_buf()
    local line = vim.api.nvim_win_get_cursor(0)[1] - 1
    server.execute(buffer, 'iverson.evaluate', { vim.uri_from_bufnr(buffer), line })
  end, { desc = 'Evaluate the comment -- >>> of this line' })
  command('IversonStop', function()
    local buffer = vim.api.nvim_get_current_buf()
    local view = views.subject(buffer)
    server.execute(view and view.source or buffer, 'iverson.stop', {})
  end, { desc = 'Stop the running evaluation' })
  -- Lenses refer to the same commands.
  for _, evaluates in ipairs({ 'iverson.run', 'iverson.evaluate' }) do
    vim.lsp.commands[evaluates] = function(lens)
      server.execute(vim.uri_to_bufnr(lens.arguments[1]), evaluates, lens.arguments)
    end
  end
  command('IversonResult', messages.show_last_message, { desc = 'Show the last result in full' })
  command('IversonSnippet', function(given)
    snippets.insert(given.args)
  end, { nargs = 1, complete = snippets.names, desc = 'Insert a snippet' })
  command('IversonBuild', function()
    server.build(require('iverson').restart)
  end, { desc = 'Build the language server and its evaluator' })
  command('IversonRestart', function()
    require('iverson').restart()
  end, { desc = 'Restart the language server' })
end

return M
