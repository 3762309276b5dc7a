-- Neovim runs this file at its start. It defines the commands, and starts the language server when
-- an Iverson program opens. A call of `require('iverson').setup{…}`, before or after, changes the
-- options.

if vim.g.loaded_iverson then
  return
end
vim.g.loaded_iverson = true

require('iverson').start()
