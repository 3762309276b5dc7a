-- Shows the program of IVERSON_PROGRAM with the adjoint of `loss` beside it, and a selected line.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
vim.opt.runtimepath:append(vim.fn.fnamemodify(here, ':h') .. '/nvim')
vim.cmd('runtime! ftdetect/iverson.vim')
vim.o.termguicolors, vim.o.background, vim.o.swapfile = true, 'light', false
vim.o.number, vim.o.laststatus, vim.o.ruler, vim.o.showcmd, vim.o.wrap = true, 2, false, false, false
vim.diagnostic.config({ virtual_text = true })
require('iverson').setup({ cmd = { os.getenv('IVERSON_LSP') } })

local function later(test, action)
  local timer = vim.uv.new_timer()
  timer:start(100, 100, vim.schedule_wrap(function()
    if not timer:is_closing() and test() then
      timer:close()
      action()
    end
  end))
end

vim.api.nvim_create_autocmd('VimEnter', {
  nested = true,
  callback = function()
    vim.cmd('edit ' .. vim.fn.fnameescape(os.getenv('IVERSON_PROGRAM')))
    local program = vim.api.nvim_get_current_buf()
    local views
    later(function()
      return #vim.lsp.codelens.get(program) > 0
    end, function()
      vim.cmd('IversonAdjoint loss')
      later(function()
        for _, window in ipairs(vim.api.nvim_list_wins()) do
          local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
          for k, line in ipairs(lines) do
            if line:find('y_adj = 2 * out_adj', 1, true) then
              views = { window, k }
              return true
            end
          end
        end
      end, function()
        vim.api.nvim_set_current_win(views[1])
        vim.api.nvim_win_set_cursor(views[1], { views[2], 2 })
        vim.api.nvim_win_set_width(views[1], 62)
        vim.wo[views[1]].cursorline = true
        vim.cmd('echo "ready"')
      end)
    end)
  end,
})
