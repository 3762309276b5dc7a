--- Neovim test steps: `nvim.lua` runs them in a new version of Neovim, `nvim07.lua` in an old one.
--- Each step checks a feature of the plugin. The first failed check ends Neovim with an error.

local M = {}

local test_folder = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local test_name

local function log(message)
  io.stderr:write(message .. '\n')
end

--- Logs a failure and ends Neovim with an error.
local function fail(message)
  log(('%s: FAILED: %s'):format(test_name, message))
  vim.cmd('silent! wall')
  os.exit(1)
end

--- Logs a passed check. Fails if the condition is false or nil.
function M.check(condition, message)
  if not condition then
    fail(message)
  end
  log(('%s: ok: %s'):format(test_name, message))
end

--- Waits until `condition` returns a true value, and returns that value.
function M.wait(message, condition, seconds)
  local result
  local satisfied = vim.wait((seconds or 20) * 1000, function()
    local succeeded, value = pcall(condition)
    result = succeeded and value
    return result and true or false
  end, 20)
  M.check(satisfied, message)
  return result
end

--- Sends a request to the language server and returns the result.
function M.request(method, params)
  local responses, problem = vim.lsp.buf_request_sync(0, method, params, 20000)
  for _, response in pairs(responses or {}) do
    local error_message = response.error and ': ' .. response.error.message or ''
    M.check(response.error == nil, 'the language server answers the request ' .. method .. error_message)
    return response.result
  end
  fail(('the language server does not answer the request %s: %s'):format(method, problem or 'no response'))
end

local function document_id()
  return { uri = vim.uri_from_bufnr(0) }
end

--- Returns the parameters of a request at a position. Line and character count from 0.
local function position_params(line, character)
  return { textDocument = document_id(), position = { line = line, character = character } }
end

local function buffer_text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer or 0, 0, -1, false), '\n')
end

--- Replaces the first occurrence of `from` in the program by `to`.
function M.replace(from, to)
  for k, line in ipairs(vim.api.nvim_buf_get_lines(M.source, 0, -1, false)) do
    local first, last = line:find(from, 1, true)
    if first then
      vim.api.nvim_buf_set_text(M.source, k - 1, first - 1, k - 1, last, { to })
      return
    end
  end
  fail('the program does not contain ' .. from)
end

--- Returns the highlights in a buffer of the lines of a view, or of their origins in the program.
local function origin_highlights(buffer)
  local space = vim.api.nvim_get_namespaces().iverson_origins
  return vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })
end

--- Returns the number, from 1, of the first line of a buffer that contains `part`.
local function line_of(buffer, part)
  for k, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    if line:find(part, 1, true) then
      return k
    end
  end
  fail('no line of the buffer contains ' .. part)
end

--- Moves the cursor. Triggers `CursorMoved`, because Neovim does not do so while a script runs.
local function move_cursor(window, line, column)
  vim.api.nvim_set_current_win(window)
  vim.api.nvim_win_set_cursor(window, { line, column })
  vim.cmd('doautocmd CursorMoved')
end

--- Loads the plugin, opens a copy of the program, and waits for the language server that
--- IVERSON_LSP names. `name` is the prefix of all messages.
function M.open(name)
  test_name = name
  local server = os.getenv('IVERSON_LSP')
  if server == nil or vim.fn.executable(server) ~= 1 then
    fail('IVERSON_LSP must name the executable of the language server')
  end
  vim.o.swapfile = false
  vim.o.columns, vim.o.lines = 160, 40
  vim.opt.runtimepath:append(vim.fn.fnamemodify(test_folder, ':h') .. '/nvim')
  vim.cmd('filetype plugin on | syntax on | runtime! ftdetect/iverson.vim plugin/iverson.lua')
  require('iverson').setup({ cmd = { server } })

  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder .. '/.git', 'p')
  vim.fn.writefile(vim.fn.readfile(test_folder .. '/program.iv'), folder .. '/program.iv')
  vim.cmd('edit ' .. folder .. '/program.iv')
  M.source = vim.api.nvim_get_current_buf()
  M.window = vim.api.nvim_get_current_win()
  M.check(vim.bo.filetype == 'iverson', 'a .iv file has the filetype iverson')
  M.wait('the language server attaches to the program', function()
    return #require('iverson.server').clients(M.source) == 1
  end)
end

--- Checks that an error causes a diagnostic, and that its correction removes the diagnostic.
function M.diagnostics()
  M.wait('a correct program has no diagnostics', function()
    return #vim.diagnostic.get(M.source) == 0
  end)
  M.replace('conv(x, c)', 'unknown(x, c)')
  local diagnostics = M.wait('an unknown name causes a diagnostic', function()
    local all = vim.diagnostic.get(M.source)
    return #all > 0 and all
  end)
  local diagnostic = diagnostics[1]
  M.check(diagnostic.lnum == 5, 'the diagnostic marks the line of the unknown name')
  local contains_name = diagnostic.message:find('unknown', 1, true)
  M.check(contains_name, 'the diagnostic contains the unknown name: ' .. diagnostic.message)
  M.replace('unknown(x, c)', 'conv(x, c)')
  M.wait('a corrected program has no diagnostics', function()
    return #vim.diagnostic.get(M.source) == 0
  end)
end

local function hover_text(result)
  local contents = result and result.contents
  return type(contents) == 'table' and (contents.value or vim.inspect(contents)) or tostring(contents)
end

--- Checks hovers, lenses, definitions, references, renaming, symbols, completion and formatting.
function M.features()
  local hover = hover_text(M.request('textDocument/hover', position_params(1, 4)))
  M.check(hover:find('conv', 1, true), 'the hover of a definition contains its name')

  local lenses = M.wait('the program has lenses', function()
    local all = vim.lsp.codelens.get(M.source)
    return #all > 0 and all
  end)
  local titles = {}
  for _, lens in ipairs(lenses) do
    table.insert(titles, lens.command and lens.command.title or '')
  end
  titles = table.concat(titles, ' · ')
  M.check(titles:find('run', 1, true) and titles:find('adjoint', 1, true), 'the lens titles contain "run" and "adjoint": ' .. titles)

  local target = M.request('textDocument/definition', position_params(5, 11))
  target = target[1] or target
  local range = target.targetSelectionRange or target.range
  M.check(range.start.line == 1, 'go-to-definition leads from a call to the definition')

  local params = position_params(1, 4)
  params.context = { includeDeclaration = true }
  M.check(#M.request('textDocument/references', params) == 2, 'a references request returns the definition and its call')

  params = position_params(1, 4)
  params.newName = 'convolve'
  local edit = M.request('textDocument/rename', params)
  local count = 0
  for _, text_edits in pairs(edit.changes or {}) do
    count = count + #text_edits
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    count = count + #(change.edits or {})
  end
  M.check(count == 2, 'a rename edits the definition and its call')

  local symbols = vim.inspect(M.request('textDocument/documentSymbol', { textDocument = document_id() }))
  M.check(symbols:find('"loss"', 1, true), 'the document symbols contain the definition `loss`')

  local completion = vim.inspect(M.request('textDocument/completion', position_params(5, 12)))
  M.check(completion:find('"conv"', 1, true), 'completion suggests the definition `conv`')

  local options = { tabSize = 2, insertSpaces = true }
  local edits = M.request('textDocument/formatting', { textDocument = document_id(), options = options })
  M.check(edits == nil or edits == vim.NIL or #edits == 0, 'formatting leaves a formatted program unchanged')
end

--- Checks that the adjoint view follows the program, and that each highlights lines of the other.
function M.views()
  move_cursor(M.window, 6, 10)
  vim.cmd('IversonAdjoint')
  local view = M.wait('the command IversonAdjoint opens the adjoint of `loss` in a window', function()
    for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      local buffer = vim.api.nvim_win_get_buf(window)
      if buffer ~= M.source and buffer_text(buffer):find('loss_adj', 1, true) then
        return window
      end
    end
  end)
  local buffer = vim.api.nvim_win_get_buf(view)
  M.check(vim.api.nvim_get_current_win() == M.window, 'the cursor stays in the program when the adjoint opens')
  M.check(buffer_text(buffer):find('2 * out_adj', 1, true), 'the adjoint view contains the derivative of the square')
  M.check(not vim.bo[buffer].modifiable, 'the adjoint view is read-only')
  M.check(not vim.wo[view].wrap, 'the window of the adjoint does not wrap lines')
  M.check(vim.wo[M.window].wrap, 'the window of the program still wraps lines')
  M.check(#require('iverson.server').clients(buffer) == 0, 'the adjoint view has no language server')

  M.replace('^2', '^3')
  M.wait('the adjoint view follows an edit of the exponent', function()
    return buffer_text(buffer):find('3 * out_adj', 1, true)
  end)

  local line = line_of(buffer, '3 * out_adj')
  move_cursor(view, line, 0)
  M.check(#origin_highlights(M.source) > 0, 'a line of the adjoint view highlights its origin in the program')
  M.check(origin_highlights(M.source)[1][2] == 5, 'the highlight in the program is on the line of the square')
  move_cursor(M.window, 6, 34)
  local rows = vim.tbl_map(function(mark)
    return mark[2] + 1
  end, origin_highlights(buffer))
  M.check(vim.tbl_contains(rows, line), 'the cursor in the program highlights the derived line of the adjoint view')

  M.replace('conv(x, c)', 'unknown(x, c)')
  M.wait('the adjoint view shows a note while the program has an error', function()
    local space = vim.api.nvim_get_namespaces().iverson_notes
    return #vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, {}) > 0
  end)
  M.check(buffer_text(buffer):find('3 * out_adj', 1, true), 'the adjoint view keeps its text while the program has an error')
  M.replace('unknown(x, c)', 'conv(x, c)')
  M.replace('^3', '^2')
  M.wait('the adjoint view follows the corrected program', function()
    return buffer_text(buffer):find('2 * out_adj', 1, true)
  end)

  vim.cmd('IversonCost')
  local cost = M.wait('the command IversonCost opens the cost in the window of the adjoint', function()
    local current = vim.api.nvim_win_get_buf(view)
    return buffer_text(current):find('proved for all sizes', 1, true) and current
  end)
  vim.api.nvim_set_current_win(view)
  local row = line_of(cost, 'proved for all sizes')
  local column = vim.api.nvim_buf_get_lines(cost, row - 1, row, false)[1]:find('for all', 1, true)
  M.check(vim.fn.synID(row, column, 1) == 0, 'the cost view has no syntax highlighting, because its text is prose')
  vim.api.nvim_set_current_win(M.window)
end

--- Checks that the Enter key continues documentation, and that `o` does not continue a comment.
function M.comments()
  vim.api.nvim_win_set_buf(M.window, vim.api.nvim_create_buf(false, true))
  vim.bo.filetype = 'iverson'
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { '-- >>> square(3.0)' })
  vim.cmd('normal! odef')
  M.check(buffer_text() == '-- >>> square(3.0)\ndef', 'the command `o` on a comment inserts a line of code')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { '--| The square' })
  vim.cmd('normal! A\rof a number.')
  M.check(buffer_text() == '--| The square\n--| of a number.', 'the Enter key continues documentation on the next line')
  vim.api.nvim_win_set_buf(M.window, M.source)
end

--- Checks that library modules and pages of error codes, which have no file, open as buffers.
function M.library()
  vim.api.nvim_set_current_win(M.window)
  vim.cmd('hide edit iverson-library:/stats.iv')
  M.check(buffer_text():find('def variance', 1, true), 'a library module opens by its URI')
  M.check(not vim.bo.modifiable and vim.bo.filetype == 'iverson', 'a library module is read-only and has the filetype iverson')
  vim.cmd('hide edit iverson-library:/errors/E0100.md')
  M.check(buffer_text():find('# E0100', 1, true), 'the page of an error code opens by its URI')
  vim.api.nvim_win_set_buf(M.window, M.source)
end

--- Checks the syntax highlighting of the program.
function M.highlighting()
  local function check_group(line, column, expected)
    local group = vim.fn.synIDattr(vim.fn.synID(line, column, 1), 'name')
    local message = ('line %d, column %d has the syntax group %s'):format(line, column, expected)
    M.check(group == expected, message .. (group ~= expected and ', not ' .. group or ''))
  end
  vim.api.nvim_set_current_win(M.window)
  check_group(1, 1, 'iversonDoc')
  check_group(2, 1, 'iversonItem')
  check_group(2, 5, 'iversonDefined')
  check_group(2, 24, 'iversonType')
  check_group(2, 52, 'iversonGenerator')
  check_group(2, 63, 'iversonBinder')
  check_group(6, 11, 'iversonCall')
  check_group(6, 45, 'iversonOperator')
  check_group(8, 34, 'iversonReal')
end

--- Checks that `:IversonRun` shows the value of a definition.
function M.run()
  move_cursor(M.window, 8, 4)
  vim.cmd('IversonRun')
  M.wait('the command IversonRun shows the value of a definition as a message', function()
    return vim.fn.execute('messages'):find('answer = 0.5625', 1, true)
  end, 60)
end

--- Checks that no message causes a hit-enter prompt in a terminal.
function M.prompts()
  local program, socket = vim.fn.tempname() .. '.iv', vim.fn.tempname()
  local lines = vim.fn.readfile(test_folder .. '/program.iv')
  vim.list_extend(lines, { '', 'def long() -> [40]f64 = for i < 40: 0.5 + f64(i)' })
  vim.list_extend(lines, { '', 'def endless() -> f64 = loop x = 1.0 while x > 0.0: x + 1.0' })
  vim.list_extend(lines, { '', 'def pick(k: i64) -> f64 = [1.0, 2.0][k]', 'def wrong() -> f64 = pick(2)' })
  vim.fn.writefile(lines, program)
  local setup = ('vim.opt.runtimepath:append(%q) require("iverson").setup({ cmd = { %q } })'):format(
    vim.fn.fnamemodify(test_folder, ':h') .. '/nvim',
    os.getenv('IVERSON_LSP')
  )
  local child = { vim.v.progpath, '--clean', '-n', '--listen', socket, '--cmd', 'lua ' .. setup, program }
  local job = vim.fn.jobstart(child, { pty = true, width = 80, height = 24, env = { TERM = 'xterm' } })
  local channel = M.wait('a child Neovim starts in a terminal', function()
    local connection = vim.fn.sockconnect('pipe', socket, { rpc = true })
    return connection > 0 and connection
  end)
  --- Evaluates a Lua expression in the child Neovim. Fails if a prompt waits for input there.
  local function evaluate_in_child(expression)
    if vim.fn.rpcrequest(channel, 'nvim_get_mode').blocking then
      fail('a prompt of the child Neovim waits for input')
    end
    local value = vim.fn.rpcrequest(channel, 'nvim_exec_lua', 'return ' .. expression, {})
    return value ~= vim.NIL and value
  end
  M.wait('the language server starts in the child Neovim', function()
    return evaluate_in_child([[#vim.tbl_filter(function(c) return c.initialized end, require('iverson.server').clients())]]) == 1
  end)
  --- Runs a definition, waits until the Lua expression `condition` is true, and checks for prompts.
  local function run(def, message, condition)
    vim.fn.rpcrequest(channel, 'nvim_input', ':IversonRun ' .. def .. '<CR>')
    M.wait(message, function()
      return evaluate_in_child(condition)
    end, 60)
    vim.wait(300)
    -- This evaluation only detects an open prompt.
    evaluate_in_child('0')
  end
  local window = evaluate_in_child('vim.api.nvim_get_current_win()')
  run('answer', 'a short value appears as a message', [[vim.fn.execute('messages'):find('answer = 0.5625', 1, true)]])
  M.check(evaluate_in_child('#vim.api.nvim_list_wins()') == 1, 'a short value opens no window')
  run('endless', 'a long evaluation shows a message that names the command IversonStop', [[vim.fn.execute('messages'):find(':IversonStop', 1, true)]])
  vim.fn.rpcrequest(channel, 'nvim_input', ':IversonStop<CR>')
  M.wait('the command IversonStop stops the evaluation', function()
    return evaluate_in_child([[vim.fn.execute('messages'):find('endless was stopped', 1, true)]])
  end)
  local last_window_text = [[table.concat(vim.api.nvim_buf_get_lines(vim.fn.winbufnr(vim.fn.winnr('$')), 0, -1, false), '\n')]]
  run('long', 'a long value appears in full in the result window', last_window_text .. [[:find('long =\n.*39%.5')]])
  M.check(evaluate_in_child('#vim.api.nvim_list_wins()') == 2, 'a long value opens exactly one window')
  M.check(evaluate_in_child('vim.api.nvim_get_current_win()') == window, 'the cursor stays in the program when the result window opens')
  run('answer', 'the open result window shows the next short value', last_window_text .. [[:find('answer = 0.5625', 1, true)]])
  run('wrong', 'the open result window shows a runtime error', last_window_text .. [[:find('out of bounds', 1, true)]])
  evaluate_in_child([[require('iverson').setup({ settings = { evaluate = { seconds = 1 } } })]])
  vim.fn.rpcrequest(channel, 'nvim_input', ':IversonRestart<CR>')
  M.wait('the command IversonRestart applies new settings', function()
    return evaluate_in_child([[#vim.tbl_filter(function(c) return c.initialized and c.config.settings.iverson.evaluate end, require('iverson.server').clients(0))]]) == 1
  end)
  evaluate_in_child([[vim.lsp.commands['iverson.run']({ arguments = { vim.uri_from_bufnr(0), 'endless' } })]])
  M.wait('the message of the time limit names the definition that a lens ran', function()
    return evaluate_in_child(last_window_text .. [[:find('endless was stopped after 1 s', 1, true)]])
  end, 60)
  vim.fn.jobstop(job)
end

--- Checks the insertion of snippets. The snippets must be the same as those of VS Code.
function M.snippets()
  local function read(file)
    return vim.fn.readfile(test_folder .. '/../' .. file)
  end
  M.check(
    vim.deep_equal(read('nvim/snippets/iverson.json'), read('vscode/snippets/iverson.json')),
    'Neovim and VS Code have the same snippets'
  )
  M.check(vim.deep_equal(vim.fn.getcompletion('IversonSnippet b', 'cmdline'), { 'bracket' }), 'the command IversonSnippet completes snippet names')
  vim.cmd('new')
  vim.cmd('IversonSnippet defdoc')
  local line = vim.api.nvim_buf_get_lines(0, 1, 2, false)[1]
  M.check(line == 'def f(x: [n]f64) -> f64 = ', 'the command IversonSnippet inserts a snippet: ' .. line)
  vim.cmd('bwipeout!')
end

--- Checks the build of the language server. A script replaces cargo and only records its arguments.
function M.build()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, 'p')
  local record = folder .. '/record'
  vim.fn.writefile({ '#!/bin/sh', 'echo "$@" >> "' .. record .. '"' }, folder .. '/cargo')
  vim.fn.setfperm(folder .. '/cargo', 'rwxr-xr-x')
  local path = vim.env.PATH
  vim.env.PATH = folder .. ':' .. path
  local built = false
  require('iverson.server').build(function()
    built = true
  end)
  M.wait('the build of the language server ends', function()
    return built
  end)
  vim.env.PATH = path
  M.check(
    vim.deep_equal(vim.fn.readfile(record), { 'install --locked --path lang-lsp', 'install --locked --path lang-repl' }),
    'the build installs the language server and its evaluator'
  )
end

--- Stops the language server, and ends Neovim without an error.
function M.close()
  local client = require('iverson.server').clients(M.source)[1]
  vim.lsp.stop_client(client.id)
  M.wait('the language server stops', function()
    return vim.lsp.get_client_by_id(client.id) == nil
  end)
  log(test_name .. ': all checks passed')
  os.exit(0)
end

return M
