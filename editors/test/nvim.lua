-- The plugin in a Neovim of 0.11 or later, with the server that IVERSON_LSP names:
--
--   IVERSON_LSP=target/debug/iverson-lsp timeout 120 nvim --clean -l editors/test/nvim.lua </dev/null

package.path = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h') .. '/?.lua;' .. package.path
local steps = require('nvim_steps')

steps.open('nvim ' .. tostring(vim.version()))
steps.diagnose()
steps.features()

steps.wait('inferred ranges are shown', function()
  for _, found in ipairs(vim.lsp.inlay_hint.get({ bufnr = steps.source })) do
    local label = found.inlay_hint.label
    label = type(label) == 'string' and label or label[1].value
    if found.inlay_hint.position.line == 5 and label:find('< n', 1, true) then
      return true
    end
  end
end)
local tokens = steps.ask('textDocument/semanticTokens/full', { textDocument = { uri = vim.uri_from_bufnr(0) } })
steps.check(#tokens.data > 0 and #tokens.data % 5 == 0, 'names are coloured by what they are')

steps.views()
steps.comments()
steps.library()
steps.colours()
steps.run()
steps.prompts()
steps.snippets()
steps.build()
steps.close()
