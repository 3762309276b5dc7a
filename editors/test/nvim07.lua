-- The plugin in an old Neovim, 0.7 to 0.10, which has no vim.lsp.config, with the server that IVERSON_LSP names:
--
--   IVERSON_LSP=target/debug/iverson-lsp timeout 120 nvim --headless --clean -u NONE -S editors/test/nvim07.lua

local file = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
package.path = file .. '/?.lua;' .. package.path
local good, problem = pcall(function()
  local steps = require('nvim_steps')
  local version = vim.version()
  steps.open(('nvim %d.%d.%d'):format(version.major, version.minor, version.patch))
  steps.diagnose()
  steps.features()
  steps.views()
  steps.comments()
  steps.library()
  steps.colours()
  steps.run()
  steps.prompts()
  steps.snippets()
steps.build()
steps.close()
end)
if not good then
  io.stderr:write(tostring(problem) .. '\n')
  os.exit(1)
end
