" Iverson. The words and symbols between the marks are made from the language's tables: `cargo xtask bless`.

if exists('b:current_syntax')
  finish
endif

syn case match
syn iskeyword @,48-57,_,192-255,'

syn match iversonName /\v%([[:alpha:]_]|[^\x00-\x7f])%([[:alnum:]_']|[^\x00-\x7f])*/
syn match iversonCall /\v%([[:alpha:]_]|[^\x00-\x7f])%([[:alnum:]_']|[^\x00-\x7f])*\ze\(/

" table: symbols
" table end
" table: words
" table end

syn match iversonInteger /\v<\d[0-9_]*/
syn match iversonReal /\v<\d[0-9_]*%(\.\d[0-9_]*%([eE][+-]?\d+)?|[eE][+-]?\d+)/
syn match iversonPosition /\v%([[:alnum:]_')\]}]\.)@5<=\d+/

syn match iversonField /\v%([[:alnum:]_')\]}]\.)@5<=%([[:alpha:]_]|[^\x00-\x7f])%([[:alnum:]_']|[^\x00-\x7f])*/
syn match iversonItem /\v^\s*%(derivative|adjoint)\ze\s+\k+\s*\(/
syn match iversonDefined /\v^\s*%(def|derivative|adjoint)\s+\zs%([[:alpha:]_]|[^\x00-\x7f])%([[:alnum:]_']|[^\x00-\x7f])*/
syn match iversonDefinedType /\v^\s*type\s+\zs%([[:alpha:]_]|[^\x00-\x7f])%([[:alnum:]_']|[^\x00-\x7f])*/

syn region iversonString start=/"/ end=/"/ oneline contains=iversonEscape
syn match iversonEscape /\\[nt"\\]/ contained

syn match iversonComment /--.*$/ contains=@Spell
syn match iversonDoc /--|.*$/ contains=iversonCode,@Spell
syn match iversonCode /`[^`]*`/ contained contains=@NoSpell

hi def link iversonItem Keyword
hi def link iversonControl Keyword
hi def link iversonGenerator Repeat
hi def link iversonBinder Repeat
hi def link iversonTruth Boolean
hi def link iversonConstant Constant
hi def link iversonType Type
hi def link iversonDerivative Special
hi def link iversonForm Function
hi def link iversonFunction Function
hi def link iversonCall Function
hi def link iversonOperator Operator
hi def link iversonInteger Number
hi def link iversonReal Float
hi def link iversonPosition Number
hi def link iversonDefined Function
hi def link iversonDefinedType Type
hi def link iversonString String
hi def link iversonEscape SpecialChar
hi def link iversonComment Comment
hi def link iversonDoc SpecialComment
hi def link iversonCode Identifier

let b:current_syntax = 'iverson'
