-- Old Neovim test: runs the plugin in Neovim 0.7 to 0.10, which lacks `vim.lsp.config`, with the
-- language server that IVERSON_LSP names:
--
--   IVERSON_LSP=target/debug/iverson-lsp \
--     timeout 120 nvim --headless --clean -u NONE -S editors/test/nvim07.lua

local folder = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
package.path = folder .. '/?.lua;' .. package.path
local succeeded, problem = pcall(function()
  local steps = require('nvim_steps')
  local version = vim.version()
  steps.open(('nvim %d.%d.%d'):format(version.major, version.minor, version.patch))
  steps.diagnostics()
  steps.features()
  steps.views()
  steps.comments()
  steps.library()
  steps.highlighting()
  steps.run()
  steps.prompts()
  steps.snippets()
  steps.build()
  steps.close()
end)
if not succeeded then
  io.stderr:write(tostring(problem) .. '\n')
  os.exit(1)
end
