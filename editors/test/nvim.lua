-- Neovim test: runs the plugin in Neovim 0.11 or later, with the language server that IVERSON_LSP
-- names:
--
--   IVERSON_LSP=target/debug/iverson-lsp \
--     timeout 120 nvim --clean -l editors/test/nvim.lua </dev/null

package.path = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h') .. '/?.lua;' .. package.path
local steps = require('nvim_steps')

steps.open('nvim ' .. tostring(vim.version()))
steps.diagnostics()
steps.features()

steps.wait('an inlay hint shows the inferred range of the binder `sum i`', function()
  for _, found in ipairs(vim.lsp.inlay_hint.get({ bufnr = steps.source })) do
    local label = found.inlay_hint.label
    label = type(label) == 'string' and label or label[1].value
    if found.inlay_hint.position.line == 5 and label:find('< n', 1, true) then
      return true
    end
  end
end)
local tokens = steps.request('textDocument/semanticTokens/full', { textDocument = { uri = vim.uri_from_bufnr(0) } })
steps.check(#tokens.data > 0 and #tokens.data % 5 == 0, 'semantic tokens consist of five integers each')

steps.views()
steps.comments()
steps.library()
steps.highlighting()
steps.run()
steps.prompts()
steps.snippets()
steps.build()
steps.close()
