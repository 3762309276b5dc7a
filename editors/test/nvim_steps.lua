--- The steps of the Neovim tests `nvim.lua` and `nvim07.lua`, which test the plugin in new and in
--- old editors. The steps open, break, mend, inspect and run a program. The first failed check
--- ends the editor with an error.

local M = {}

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local name

local function say(text)
  io.stderr:write(text .. '\n')
end

--- Ends the editor with a message.
local function fail(text)
  say(('%s: %s'):format(name, text))
  vim.cmd('silent! wall')
  os.exit(1)
end

function M.check(good, text)
  if not good then
    fail('FAILED: ' .. text)
  end
  say(('%s: ok: %s'):format(name, text))
end

--- Waits until `test` returns a true value, and returns it.
function M.wait(text, test, seconds)
  local found
  local good = vim.wait((seconds or 20) * 1000, function()
    local fine, value = pcall(test)
    found = fine and value
    return found and true or false
  end, 20)
  M.check(good, text)
  return found
end

--- Sends a request to the server and returns its answer.
function M.ask(method, params)
  local answers, problem = vim.lsp.buf_request_sync(0, method, params, 20000)
  for _, answer in pairs(answers or {}) do
    M.check(answer.error == nil, method .. ' is answered' .. (answer.error and ': ' .. answer.error.message or ''))
    return answer.result
  end
  fail(('FAILED: %s: %s'):format(method, problem or 'no answer'))
end

local function document()
  return { uri = vim.uri_from_bufnr(0) }
end

local function at(line, character)
  return { textDocument = document(), position = { line = line, character = character } }
end

local function text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer or 0, 0, -1, false), '\n')
end

--- Replaces the first `from` of the program by `to`.
function M.replace(from, to)
  for k, line in ipairs(vim.api.nvim_buf_get_lines(M.source, 0, -1, false)) do
    local first, last = line:find(from, 1, true)
    if first then
      vim.api.nvim_buf_set_text(M.source, k - 1, first - 1, k - 1, last, { to })
      return
    end
  end
  fail('the program has no ' .. from)
end

local function marks(buffer)
  local space = vim.api.nvim_get_namespaces().iverson_origins
  return vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })
end

--- Returns the line, from 1, of a buffer that contains `part`.
local function line_of(buffer, part)
  for k, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    if line:find(part, 1, true) then
      return k
    end
  end
  fail('no line has ' .. part)
end

--- Moves the cursor and triggers `CursorMoved`, because a running script must do so itself.
local function move(window, line, column)
  vim.api.nvim_set_current_win(window)
  vim.api.nvim_win_set_cursor(window, { line, column })
  vim.cmd('doautocmd CursorMoved')
end

--- Loads the plugin, and starts the server that IVERSON_LSP names on a copy of the program.
function M.open(test)
  name = test
  local server = os.getenv('IVERSON_LSP')
  if server == nil or vim.fn.executable(server) ~= 1 then
    fail('IVERSON_LSP has to name the program of the server')
  end
  vim.o.swapfile = false
  vim.o.columns, vim.o.lines = 160, 40
  vim.opt.runtimepath:append(vim.fn.fnamemodify(here, ':h') .. '/nvim')
  vim.cmd('filetype plugin on | syntax on | runtime! ftdetect/iverson.vim plugin/iverson.lua')
  require('iverson').setup({ cmd = { server } })

  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder .. '/.git', 'p')
  vim.fn.writefile(vim.fn.readfile(here .. '/program.iv'), folder .. '/program.iv')
  vim.cmd('edit ' .. folder .. '/program.iv')
  M.source = vim.api.nvim_get_current_buf()
  M.window = vim.api.nvim_get_current_win()
  M.check(vim.bo.filetype == 'iverson', 'a .iv file is a program')
  M.wait('the server answers', function()
    return #require('iverson.server').clients(M.source) == 1
  end)
end

--- Checks that diagnostics come and go.
function M.diagnose()
  M.wait('a good program has no diagnostics', function()
    return #vim.diagnostic.get(M.source) == 0
  end)
  M.replace('conv(x, c)', 'unknown(x, c)')
  local found = M.wait('an unknown name is told', function()
    local all = vim.diagnostic.get(M.source)
    return #all > 0 and all
  end)
  M.check(found[1].lnum == 5, 'at its line')
  M.check(found[1].message:find('unknown', 1, true), 'by its name: ' .. found[1].message)
  M.replace('unknown(x, c)', 'conv(x, c)')
  M.wait('and no more when it is mended', function()
    return #vim.diagnostic.get(M.source) == 0
  end)
end

local function hover_text(result)
  local contents = result and result.contents
  return type(contents) == 'table' and (contents.value or vim.inspect(contents)) or tostring(contents)
end

--- Checks hovers, lenses, definitions, references, renaming, symbols, completion and formatting.
function M.features()
  local hover = hover_text(M.ask('textDocument/hover', at(1, 4)))
  M.check(hover:find('conv', 1, true), 'a hover tells of the definition')

  local lenses = M.wait('there are lenses', function()
    local all = vim.lsp.codelens.get(M.source)
    return #all > 0 and all
  end)
  local titles = {}
  for _, lens in ipairs(lenses) do
    table.insert(titles, lens.command and lens.command.title or '')
  end
  titles = table.concat(titles, ' · ')
  M.check(titles:find('run', 1, true) and titles:find('adjoint', 1, true), 'of running and of the adjoint: ' .. titles)

  local target = M.ask('textDocument/definition', at(5, 11))
  target = target[1] or target
  local range = target.targetSelectionRange or target.range
  M.check(range.start.line == 1, 'a use leads to its definition')

  local params = at(1, 4)
  params.context = { includeDeclaration = true }
  M.check(#M.ask('textDocument/references', params) == 2, 'a name has its references')

  params = at(1, 4)
  params.newName = 'convolve'
  local edit = M.ask('textDocument/rename', params)
  local count = 0
  for _, edits in pairs(edit.changes or {}) do
    count = count + #edits
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    count = count + #(change.edits or {})
  end
  M.check(count == 2, 'and is renamed with them')

  local symbols = vim.inspect(M.ask('textDocument/documentSymbol', { textDocument = document() }))
  M.check(symbols:find('"loss"', 1, true), 'definitions are symbols')

  local completion = vim.inspect(M.ask('textDocument/completion', at(5, 12)))
  M.check(completion:find('"conv"', 1, true), 'names are completed')

  local options = { tabSize = 2, insertSpaces = true }
  local edits = M.ask('textDocument/formatting', { textDocument = document(), options = options })
  M.check(edits == nil or edits == vim.NIL or #edits == 0, 'a formatted program stays so')
end

--- Checks that the adjoint view follows the program, with highlights in both directions.
function M.views()
  move(M.window, 6, 10)
  vim.cmd('IversonAdjoint')
  local view = M.wait('the adjoint opens beside the code', function()
    for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      local buffer = vim.api.nvim_win_get_buf(window)
      if buffer ~= M.source and text(buffer):find('loss_adj', 1, true) then
        return window
      end
    end
  end)
  local buffer = vim.api.nvim_win_get_buf(view)
  M.check(vim.api.nvim_get_current_win() == M.window, 'the cursor stays in the program')
  M.check(text(buffer):find('2 * out_adj', 1, true), 'it is the adjoint of the program')
  M.check(not vim.bo[buffer].modifiable, 'it cannot be edited')
  M.check(not vim.wo[view].wrap and vim.wo[M.window].wrap, 'its lines are not wrapped, those of the program are')
  M.check(#require('iverson.server').clients(buffer) == 0, 'it is not sent to the server')

  M.replace('^2', '^3')
  M.wait('it follows an edit', function()
    return text(buffer):find('3 * out_adj', 1, true)
  end)

  local line = line_of(buffer, '3 * out_adj')
  move(view, line, 0)
  M.check(#marks(M.source) > 0, 'a line of it stands out in the program')
  M.check(marks(M.source)[1][2] == 5, 'where it comes from')
  move(M.window, 6, 34)
  local rows = vim.tbl_map(function(mark)
    return mark[2] + 1
  end, marks(buffer))
  M.check(vim.tbl_contains(rows, line), 'and what is selected in the program stands out in it')

  M.replace('conv(x, c)', 'unknown(x, c)')
  M.wait('of a broken program it says that it is as before', function()
    local space = vim.api.nvim_get_namespaces().iverson_notes
    return #vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, {}) > 0
  end)
  M.check(text(buffer):find('3 * out_adj', 1, true), 'and is so')
  M.replace('unknown(x, c)', 'conv(x, c)')
  M.replace('^3', '^2')
  M.wait('and follows again when it is mended', function()
    return text(buffer):find('2 * out_adj', 1, true)
  end)

  vim.cmd('IversonCost')
  local cost = M.wait('the cost takes its place', function()
    local shown = vim.api.nvim_win_get_buf(view)
    return text(shown):find('proved for all sizes', 1, true) and shown
  end)
  vim.api.nvim_set_current_win(view)
  local row = line_of(cost, 'proved for all sizes')
  local column = vim.api.nvim_buf_get_lines(cost, row - 1, row, false)[1]:find('for all', 1, true)
  M.check(vim.fn.synID(row, column, 1) == 0, 'and no word of it is coloured as code')
  vim.api.nvim_set_current_win(M.window)
end

--- Checks that Enter continues documentation, and that `o` does not continue a comment.
function M.comments()
  vim.api.nvim_win_set_buf(M.window, vim.api.nvim_create_buf(false, true))
  vim.bo.filetype = 'iverson'
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { '-- >>> square(3.0)' })
  vim.cmd('normal! odef')
  M.check(text() == '-- >>> square(3.0)\ndef', 'a line opened beneath a comment is none')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { '--| The square' })
  vim.cmd('normal! A\rof a number.')
  M.check(text() == '--| The square\n--| of a number.', 'documentation goes on in the next line')
  vim.api.nvim_win_set_buf(M.window, M.source)
end

--- Checks that library modules and the pages of error codes, which have no file, can be read.
function M.library()
  vim.api.nvim_set_current_win(M.window)
  vim.cmd('hide edit iverson-library:/stats.iv')
  M.check(text():find('def variance', 1, true), 'a library module can be read')
  M.check(not vim.bo.modifiable and vim.bo.filetype == 'iverson', 'and not edited')
  vim.cmd('hide edit iverson-library:/errors/E0100.md')
  M.check(text():find('# E0100', 1, true), 'and so can the page of a code')
  vim.api.nvim_win_set_buf(M.window, M.source)
end

--- Checks the highlighting of the program.
function M.colours()
  local function is(line, column, expected)
    local word = vim.fn.synIDattr(vim.fn.synID(line, column, 1), 'name')
    M.check(word == expected, ('line %d, column %d is %s'):format(line, column, expected) .. (word ~= expected and ', not ' .. word or ''))
  end
  vim.api.nvim_set_current_win(M.window)
  is(1, 1, 'iversonDoc')
  is(2, 1, 'iversonItem')
  is(2, 5, 'iversonDefined')
  is(2, 24, 'iversonType')
  is(2, 52, 'iversonGenerator')
  is(2, 63, 'iversonBinder')
  is(6, 11, 'iversonCall')
  is(6, 45, 'iversonOperator')
  is(8, 34, 'iversonReal')
end

function M.run()
  move(M.window, 8, 4)
  vim.cmd('IversonRun')
  M.wait('a definition is run and its value told', function()
    return vim.fn.execute('messages'):find('answer = 0.5625', 1, true)
  end, 60)
end

--- Checks that no message asks to press ENTER in a terminal.
function M.prompts()
  local program, socket = vim.fn.tempname() .. '.iv', vim.fn.tempname()
  local lines = vim.fn.readfile(here .. '/program.iv')
  vim.list_extend(lines, { '', 'def long() -> [40]f64 = for i < 40: 0.5 + f64(i)' })
  vim.list_extend(lines, { '', 'def endless() -> f64 = loop x = 1.0 while x > 0.0: x + 1.0' })
  vim.list_extend(lines, { '', 'def pick(k: i64) -> f64 = [1.0, 2.0][k]', 'def wrong() -> f64 = pick(2)' })
  vim.fn.writefile(lines, program)
  local setup = ('vim.opt.runtimepath:append(%q) require("iverson").setup({ cmd = { %q } })'):format(
    vim.fn.fnamemodify(here, ':h') .. '/nvim',
    os.getenv('IVERSON_LSP')
  )
  local child = { vim.v.progpath, '--clean', '-n', '--listen', socket, '--cmd', 'lua ' .. setup, program }
  local job = vim.fn.jobstart(child, { pty = true, width = 80, height = 24, env = { TERM = 'xterm' } })
  local channel = M.wait('an editor starts in a terminal', function()
    local open = vim.fn.sockconnect('pipe', socket, { rpc = true })
    return open > 0 and open
  end)
  --- Evaluates a Lua expression in that editor. Fails if a prompt waits for an answer there.
  local function there(expression)
    if vim.fn.rpcrequest(channel, 'nvim_get_mode').blocking then
      fail('FAILED: a prompt asks to be answered')
    end
    local value = vim.fn.rpcrequest(channel, 'nvim_exec_lua', 'return ' .. expression, {})
    return value ~= vim.NIL and value
  end
  M.wait('with a server', function()
    return there([[#vim.tbl_filter(function(c) return c.initialized end, require('iverson.server').clients())]]) == 1
  end)
  --- Runs a definition, waits until the expression `shown` is true, and checks for prompts.
  local function run(def, text, shown)
    vim.fn.rpcrequest(channel, 'nvim_input', ':IversonRun ' .. def .. '<CR>')
    M.wait(text, function()
      return there(shown)
    end, 60)
    vim.wait(300)
    there('0')
  end
  local window = there('vim.api.nvim_get_current_win()')
  run('answer', 'a short value stands where messages do', [[vim.fn.execute('messages'):find('answer = 0.5625', 1, true)]])
  M.check(there('#vim.api.nvim_list_wins()') == 1, 'and in no window')
  run('endless', 'what takes long says how to stop it', [[vim.fn.execute('messages'):find(':IversonStop', 1, true)]])
  vim.fn.rpcrequest(channel, 'nvim_input', ':IversonStop<CR>')
  M.wait('and is stopped so', function()
    return there([[vim.fn.execute('messages'):find('endless was stopped', 1, true)]])
  end)
  local below = [[table.concat(vim.api.nvim_buf_get_lines(vim.fn.winbufnr(vim.fn.winnr('$')), 0, -1, false), '\n')]]
  run('long', 'a long one has a window, all of it', below .. [[:find('long =\n.*39%.5')]])
  M.check(there('#vim.api.nvim_list_wins()') == 2, 'of its own')
  M.check(there('vim.api.nvim_get_current_win()') == window, 'and the cursor stays in the program')
  run('answer', 'which has the next one too', below .. [[:find('answer = 0.5625', 1, true)]])
  run('wrong', 'and so is a mistake', below .. [[:find('out of bounds', 1, true)]])
  there([[require('iverson').setup({ settings = { evaluate = { seconds = 1 } } })]])
  vim.fn.rpcrequest(channel, 'nvim_input', ':IversonRestart<CR>')
  M.wait('a server started anew has other settings', function()
    return there([[#vim.tbl_filter(function(c) return c.initialized and c.config.settings.iverson.evaluate end, require('iverson.server').clients(0))]]) == 1
  end)
  there([[vim.lsp.commands['iverson.run']({ arguments = { vim.uri_from_bufnr(0), 'endless' } })]])
  M.wait('what takes too long is told by its name, where a lens ran it', function()
    return there(below .. [[:find('endless was stopped after 1 s', 1, true)]])
  end, 60)
  vim.fn.jobstop(job)
end

--- Checks that snippets are inserted, and are those of VS Code.
function M.snippets()
  local function read(file)
    return vim.fn.readfile(here .. '/../' .. file)
  end
  M.check(
    vim.deep_equal(read('nvim/snippets/iverson.json'), read('vscode/snippets/iverson.json')),
    'snippets are those of VS Code'
  )
  M.check(vim.deep_equal(vim.fn.getcompletion('IversonSnippet b', 'cmdline'), { 'bracket' }), 'and are completed')
  vim.cmd('new')
  vim.cmd('IversonSnippet defdoc')
  local line = vim.api.nvim_buf_get_lines(0, 1, 2, false)[1]
  M.check(line == 'def f(x: [n]f64) -> f64 = ', 'a snippet is put in: ' .. line)
  vim.cmd('bwipeout!')
end

--- Checks the build of the server, with a script in place of cargo that only records arguments.
function M.build()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, 'p')
  local noted = folder .. '/noted'
  vim.fn.writefile({ '#!/bin/sh', 'echo "$@" >> "' .. noted .. '"' }, folder .. '/cargo')
  vim.fn.setfperm(folder .. '/cargo', 'rwxr-xr-x')
  local path = vim.env.PATH
  vim.env.PATH = folder .. ':' .. path
  local built = false
  require('iverson.server').build(function()
    built = true
  end)
  M.wait('the server is built', function()
    return built
  end)
  vim.env.PATH = path
  M.check(
    vim.deep_equal(vim.fn.readfile(noted), { 'install --locked --path lang-lsp', 'install --locked --path lang-repl' }),
    'and what evaluates for it'
  )
end

--- Stops the server, and ends the editor without an error.
function M.close()
  local client = require('iverson.server').clients(M.source)[1]
  vim.lsp.stop_client(client.id)
  M.wait('the server ends', function()
    return vim.lsp.get_client_by_id(client.id) == nil
  end)
  say(name .. ': all good')
  os.exit(0)
end

return M
