-- Screenshot script: opens the program that IVERSON_PROGRAM names and the adjoint of `loss` beside
-- it, and moves the cursor to a line of the adjoint.

local test_folder = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
vim.opt.runtimepath:append(vim.fn.fnamemodify(test_folder, ':h') .. '/nvim')
vim.cmd('runtime! ftdetect/iverson.vim')
vim.o.termguicolors, vim.o.background, vim.o.swapfile = true, 'light', false
vim.o.number, vim.o.laststatus, vim.o.ruler, vim.o.showcmd, vim.o.wrap = true, 2, false, false, false
vim.diagnostic.config({ virtual_text = true })
require('iverson').setup({ cmd = { os.getenv('IVERSON_LSP') } })

--- Runs `action` as soon as `condition` returns a true value.
local function run_when(condition, action)
  local timer = vim.uv.new_timer()
  timer:start(100, 100, vim.schedule_wrap(function()
    if not timer:is_closing() and condition() then
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
    local adjoint
    run_when(function()
      return #vim.lsp.codelens.get(program) > 0
    end, function()
      vim.cmd('IversonAdjoint loss')
      run_when(function()
        for _, window in ipairs(vim.api.nvim_list_wins()) do
          local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
          for row, line in ipairs(lines) do
            if line:find('y_adj = 2 * out_adj', 1, true) then
              adjoint = { window = window, row = row }
              return true
            end
          end
        end
      end, function()
        vim.api.nvim_set_current_win(adjoint.window)
        vim.api.nvim_win_set_cursor(adjoint.window, { adjoint.row, 2 })
        vim.api.nvim_win_set_width(adjoint.window, 62)
        vim.wo[adjoint.window].cursorline = true
        vim.cmd('echo "ready"')
      end)
    end)
  end,
})
