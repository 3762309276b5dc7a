--- Finds the language server, and speaks to it.

local M = {}

local messages = require('iverson.messages')

--- The folder that a file belongs to: that of the repository, else its own.
function M.root(file)
  local folder = vim.fn.fnamemodify(file ~= '' and file or vim.fn.getcwd() .. '/x', ':p:h')
  local git = vim.fn.finddir('.git', vim.fn.escape(folder, ' ,;') .. ';')
  if git == '' then
    git = vim.fn.findfile('.git', vim.fn.escape(folder, ' ,;') .. ';')
  end
  return git ~= '' and vim.fn.fnamemodify(git, ':p:h:s?/\\.git/*$??') or folder
end

--- The server as a command: of the PATH, of cargo's folder, of the builds in `folder`.
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

--- Says, once, that there is no server.
function M.tell_missing()
  if not told then
    told = true
    vim.notify(
      'Iverson: iverson-lsp is not on the PATH. `cargo install --locked --path lang-lsp` in a checkout of Iverson '
        .. "builds it, and require('iverson').setup { cmd = { path } } says where else it is.",
      vim.log.levels.WARN
    )
  end
end

--- The clients of ours that run; of those of `buffer` if it is given.
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

--- Asks the server of `buffer`. Says so where there is none; else gives true.
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

--- What evaluates for so long, in milliseconds, is told of.
local LONG = 1000

--- The commands that evaluate; they are answered when that has ended.
local evaluates = { ['iverson.run'] = true, ['iverson.evaluate'] = true }

--- Has the server run one of its commands.
function M.execute(buffer, command, arguments)
  local ended = not evaluates[command]
  local asked = M.request(buffer, 'workspace/executeCommand', { command = command, arguments = arguments }, function(error)
    ended = true
    if error then
      messages.tell(error.message, 1)
    end
  end)
  if asked then
    vim.defer_fn(function()
      if not ended then
        messages.note('it runs; :IversonStop stops it')
      end
    end, LONG)
  end
end

return M
