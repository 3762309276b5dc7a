-- Command-line test: Neovim opens a program of its command line, and the language server starts.

vim.api.nvim_create_autocmd('VimEnter', {
  callback = function()
    vim.schedule(function()
      local attached = vim.wait(30000, function()
        local client = vim.lsp.get_clients({ name = 'iverson' })[1]
        return client ~= nil and client.initialized and vim.lsp.buf_is_attached(0, client.id)
      end, 50)
      io.stderr:write(
        ('nvim: %s: the language server attaches to a program of the command line\n'):format(attached and 'ok' or 'FAILED')
      )
      vim.cmd(attached and 'qall!' or 'cquit')
    end)
  end,
})
