--- Finds the language server, and communicates with it.

local M = {}

local messages = require('iverson.messages')

--- Returns the folder of a file: that of its repository, else its own.
function M.root(file)
  local folder = vim.fn.fnamemodify(file ~= '' and file or vim.fn.getcwd() .. '/x', ':p:h')
  local git = vim.fn.finddir('.git', vim.fn.escape(folder, ' ,;') .. ';')
  if git == '' then
    git = vim.fn.findfile('.git', vim.fn.escape(folder, ' ,;') .. ';')
  end
  return git ~= '' and vim.fn.fnamemodify(git, ':p:h:s?/\\.git/*$??') or folder
end

--- Returns the command of the server: from the PATH, cargo's folder, or the builds in `folder`.
function M.find(folder)
  local places = {
    vim.fn.exepath('iverson-lsp'),
    (os.getenv('CARGO_HOME') or vim.fn.expand('~/.cargo')) .. '/bin/iverson-lsp',
    folder .. '/target/release/iverson-lsp',
    folder .. '/target/debug/iverson-lsp',
  }
  for _, place in ipairs(places) do
    if place ~= '' and vim.fn.executable(place) == 1 then
      return { place }
    end
  end
end

local told = false

--- Returns the checkout of the language: that of this plugin, else the current folder if it is one.
local function project()
  local own = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h:h:h:h')
  for _, folder in ipairs({ own, vim.fn.getcwd() }) do
    if vim.fn.filereadable(folder .. '/lang-lsp/Cargo.toml') == 1 then
      return folder
    end
  end
end

--- Reports once that the server is missing, and suggests a fix.
function M.tell_missing()
  if not told then
    told = true
    local build = project() and ':IversonBuild' or '`cargo install --locked --path lang-lsp` in a checkout of Iverson'
    vim.notify(
      'Iverson: iverson-lsp is not on the PATH. ' .. build .. ' builds it. '
        .. "require('iverson').setup { cmd = { path } } sets another path.",
      vim.log.levels.WARN
    )
  end
end

--- Builds the server and its evaluator `iverson` in a window below; then calls `after`.
function M.build(after)
  local folder = project()
  if folder == nil then
    return vim.notify('Iverson: neither this plugin nor the current folder is in a checkout of Iverson.', vim.log.levels.WARN)
  end
  local parts = { 'lang-lsp', 'lang-repl' }
  local function build(nth)
    local part = parts[nth]
    if part == nil then
      vim.notify('Iverson: the server is built.')
      return after()
    end
    vim.cmd('botright 12new')
    local buffer = vim.api.nvim_get_current_buf()
    local options = {
      cwd = folder,
      on_exit = function(_, code)
        if code ~= 0 then
          return vim.notify('Iverson: ' .. part .. ' cannot be built.', vim.log.levels.ERROR)
        end
        -- A successful build needs no output.
        if vim.api.nvim_buf_is_valid(buffer) then
          vim.api.nvim_buf_delete(buffer, { force = true })
        end
        build(nth + 1)
      end,
    }
    local command = { 'cargo', 'install', '--locked', '--path', part }
    local started, job = pcall(function()
      if vim.fn.has('nvim-0.11') == 1 then
        options.term = true
        return vim.fn.jobstart(command, options)
      end
      return vim.fn.termopen(command, options)
    end)
    vim.cmd('wincmd p')
    if not started or job <= 0 then
      vim.api.nvim_buf_delete(buffer, { force = true })
      vim.notify('Iverson: cargo, which builds the server, is not on the PATH.', vim.log.levels.ERROR)
    end
  end
  build(1)
end

--- Returns the running clients of the plugin, or those of `buffer`.
function M.clients(buffer)
  local all
  if vim.lsp.get_clients then
    all = vim.lsp.get_clients({ name = 'iverson', bufnr = buffer })
  else
    all = buffer and vim.lsp.buf_get_clients(buffer) or vim.lsp.get_active_clients()
  end
  local own = {}
  for _, client in pairs(all) do
    if client.name == 'iverson' then
      table.insert(own, client)
    end
  end
  return own
end

--- Sends a request to the server of `buffer`. Returns true, or reports that the server is missing.
function M.request(buffer, method, params, answer)
  local client = M.clients(buffer)[1]
  if client == nil then
    local is_view = vim.api.nvim_buf_get_name(buffer):find('^iverson%-view:') ~= nil
    local why = is_view and 'this is a view: go to the window of its program.'
      or 'the language server is not running for this buffer.'
    vim.notify('Iverson: ' .. why, vim.log.levels.WARN)
    return
  end
  local function done(error, result)
    answer(error, result, client)
  end
  -- From 0.11 on it is a method.
  if vim.fn.has('nvim-0.11') == 1 then
    client:request(method, params, done, buffer)
  else
    client.request(method, params, done, buffer)
  end
  return true
end

--- An evaluation that takes this long, in milliseconds, gets a note.
local LONG = 1000

--- The commands that evaluate; their answer arrives at the end of the evaluation.
local evaluates = { ['iverson.run'] = true, ['iverson.evaluate'] = true }

--- Makes the server run one of its commands.
function M.execute(buffer, command, arguments)
  local ended = not evaluates[command]
  local asked = M.request(buffer, 'workspace/executeCommand', { command = command, arguments = arguments }, function(error)
    ended = true
    if error then
      messages.show_message(error.message, 1)
    end
  end)
  if asked then
    vim.defer_fn(function()
      if not ended then
        messages.show_progress('a program is running; :IversonStop stops it')
      end
    end, LONG)
  end
end

return M
