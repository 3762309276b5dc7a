--- Lenses: what stands above a definition, kept current.

local M = {}

local buffers = {}

local function refresh(buffer)
  if vim.fn.has('nvim-0.11') == 1 then
    vim.lsp.codelens.refresh({ bufnr = buffer })
  else
    vim.api.nvim_buf_call(buffer, vim.lsp.codelens.refresh)
  end
end

--- Asks again for the lenses of all programs.
function M.refresh()
  for buffer in pairs(buffers) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      refresh(buffer)
    else
      buffers[buffer] = nil
    end
  end
end

function M.attach(buffer)
  if buffers[buffer] then
    return refresh(buffer)
  end
  buffers[buffer] = true
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'TextChanged' }, {
    group = vim.api.nvim_create_augroup('iverson_lenses_' .. buffer, { clear = true }),
    buffer = buffer,
    callback = function()
      refresh(buffer)
    end,
  })
  refresh(buffer)
end

return M
