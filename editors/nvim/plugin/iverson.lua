-- Defines the commands, and starts the server when a program opens. `require('iverson').setup{…}`,
-- called before or after, changes the options.

if vim.g.loaded_iverson then
  return
end
vim.g.loaded_iverson = true

require('iverson').start()
