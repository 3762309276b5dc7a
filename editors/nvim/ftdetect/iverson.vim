autocmd BufRead,BufNewFile *.iv setfiletype iverson
