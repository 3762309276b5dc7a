--- Options, and the start of the server by the version of Neovim.

local M = {}

local lenses = require('iverson.lenses')
local messages = require('iverson.messages')
local server = require('iverson.server')
local views = require('iverson.views')

--- The options of `setup`.
M.options = {
  --- The command of the server and its arguments; nil searches for it.
  cmd = nil,
  --- Show inlay hints in programs, if this Neovim can.
  inlay_hints = true,
  --- Show lenses in programs, and keep them current.
  lenses = true,
  --- Settings of the server, as in the book's page on editors: `{ hints = { cost = true } }`.
  settings = {},
  --- Called with the client and the buffer.
  on_attach = nil,
}

local modern = vim.lsp.config ~= nil and vim.lsp.enable ~= nil

local function on_attach(client, buffer)
  if M.options.inlay_hints and vim.lsp.inlay_hint and client.server_capabilities.inlayHintProvider then
    vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
  end
  if M.options.lenses and client.server_capabilities.codeLensProvider then
    lenses.attach(buffer)
  end
  views.attach(buffer)
  if M.options.on_attach then
    M.options.on_attach(client, buffer)
  end
end

local function config()
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.workspace = capabilities.workspace or {}
  capabilities.workspace.codeLens = { refreshSupport = true }
  return {
    name = 'iverson',
    capabilities = capabilities,
    -- Neovim 0.7 has no other way to send settings.
    init_options = { views = true, iverson = next(M.options.settings) and M.options.settings or vim.empty_dict() },
    settings = { iverson = M.options.settings },
    handlers = {
      ['iverson/viewsChanged'] = function(_, params)
        views.changed(params.uri)
      end,
      ['workspace/codeLens/refresh'] = function()
        lenses.refresh()
        return vim.NIL
      end,
      ['window/showMessage'] = function(_, params)
        messages.show_message(params.message, params.type)
      end,
    },
    on_attach = on_attach,
  }
end

--- Registers the server with Neovim 0.11 and later, which start it themselves.
local function enable()
  local own = config()
  local cmd = M.options.cmd or server.find(vim.fn.getcwd())
  if cmd == nil then
    return false
  end
  own.cmd = cmd
  own.filetypes = { 'iverson' }
  own.root_markers = { '.git' }
  vim.lsp.config('iverson', own)
  vim.lsp.enable('iverson')
  if vim.v.vim_did_enter == 0 then
    -- Neovim handles already open programs only after its start, when it runs its command line.
    vim.api.nvim_create_autocmd('VimEnter', {
      once = true,
      callback = function()
        vim.lsp.enable('iverson')
      end,
    })
  end
  return true
end

--- The servers that an older Neovim runs, by folder.
local started = {}

local function attach_old(buffer)
  local file = vim.api.nvim_buf_get_name(buffer)
  local root = server.root(file)
  local id = started[root]
  if id == nil or vim.lsp.get_client_by_id(id) == nil then
    local own = config()
    own.cmd = M.options.cmd or server.find(root)
    if own.cmd == nil then
      return server.tell_missing()
    end
    own.root_dir = root
    id = vim.lsp.start_client(own)
    started[root] = id
  end
  if id then
    vim.lsp.buf_attach_client(buffer, id)
  end
end

local enabled = false

local function on_filetype(buffer)
  -- A view is not a program, because it has no file.
  if vim.api.nvim_buf_get_option(buffer, 'buftype') ~= '' then
    return
  end
  if not modern then
    return attach_old(buffer)
  end
  if not enabled then
    enabled = enable()
    if not enabled then
      server.tell_missing()
    end
  end
end

--- Changes options. Running servers keep theirs until `:IversonRestart`.
function M.setup(options)
  M.options = vim.tbl_deep_extend('force', M.options, options or {})
  enabled = false
end

--- Stops the server and starts it again with the current options.
function M.restart()
  local ids = vim.tbl_map(function(client)
    return client.id
  end, server.clients())
  for _, id in ipairs(ids) do
    vim.lsp.stop_client(id)
  end
  enabled, started = false, {}
  local function again(left)
    local runs = false
    for _, id in ipairs(ids) do
      runs = runs or vim.lsp.get_client_by_id(id) ~= nil
    end
    if runs and left > 0 then
      return vim.defer_fn(function()
        again(left - 1)
      end, 50)
    end
    for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
      if vim.api.nvim_buf_is_loaded(buffer) and vim.api.nvim_buf_get_option(buffer, 'filetype') == 'iverson' then
        on_filetype(buffer)
      end
    end
  end
  again(100)
end

--- The plugin calls this once.
function M.start()
  require('iverson.commands').define()
  views.define()
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('iverson', { clear = true }),
    pattern = 'iverson',
    callback = function(event)
      on_filetype(event.buf)
    end,
  })
end

return M
