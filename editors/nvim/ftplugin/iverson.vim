if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

" The line after a comment `-- >>> expr` is mostly code, so `o` begins a line of code.
setlocal commentstring=--\ %s comments=:--\|,:-- formatoptions-=t formatoptions-=o formatoptions+=crql
setlocal expandtab shiftwidth=2 softtabstop=2 tabstop=2 suffixesadd=.iv
setlocal iskeyword=@,48-57,_,192-255,'

let b:undo_ftplugin = 'setlocal commentstring< comments< formatoptions< expandtab< shiftwidth< softtabstop< tabstop< '
      \ . 'suffixesadd< iskeyword<'
