-- The server starts for a program on the command line.

vim.api.nvim_create_autocmd('VimEnter', {
  callback = function()
    vim.schedule(function()
      local good = vim.wait(30000, function()
        local client = vim.lsp.get_clients({ name = 'iverson' })[1]
        return client ~= nil and client.initialized and vim.lsp.buf_is_attached(0, client.id)
      end, 50)
      io.stderr:write(('nvim: %s: a program of the command line has its server\n'):format(good and 'ok' or 'FAILED'))
      vim.cmd(good and 'qall!' or 'cquit')
    end)
  end,
})
